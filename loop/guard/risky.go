package guard

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/syntax"
)

var (
	// migrationFile matches what the common migration tools run.
	migrationFile = regexp.MustCompile(`(?i)(?:^|/)(?:db/migrate/.+\.(?:rb|sql)|(?:\w+[_-])?migrations?/(?:.+/)?[^/]*[0-9][^/]*\.(?:py|rb|sql|php|[cm]?[jt]s|go|exs|cs|xml|ya?ml|kt|java)|migrations?/.+\.sql|alembic/versions/.+\.py|prisma/migrations/.+\.sql|db/changelog/.+|(?:[VURB][0-9][\w.]*__[^/]+|R__[^/]+)\.(?:sql|java))$`)
	// sensitivePath matches names of authentication, permissions, payment and cryptography.
	sensitivePath = regexp.MustCompile(`(?i)(?:^|[/_.-])(?:auth|authn|authz|authentication|authorization|oauth2?|oidc|saml|sso|login|signin|session|sessions|password|passwords|passwd|credential|credentials|permission|permissions|acl|rbac|csrf|jwt|crypto|cryptography|encryption|payment|payments|billing|invoice|invoices|checkout|stripe|paypal|refund|refunds|payout|payouts)(?:[/_.-]|$)`)
	// code matches source files: a page about logging in is not.
	prose = regexp.MustCompile(`(?i)\.(?:md|mdx|rst|txt|adoc|html?|css|scss|svg|po|pot)$|(?:^|/)docs?/`)
)

func checkMigrations(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		for _, p := range []string{f.Path, oldPath(f)} {
			if migrationFile.MatchString(p) && !isTest(p) {
				findings = append(findings, loop.Finding{File: p, Message: "a database migration is " + done(f.Op) + ": it cannot be undone by taking the change back"})
				break
			}
		}
	}
	return findings, nil
}

// done says what happened to a file.
func done(op loop.FileOp) string {
	switch op {
	case loop.OpAdd:
		return "added"
	case loop.OpModify:
		return "changed"
	case loop.OpDelete:
		return "deleted"
	case loop.OpRename:
		return "renamed"
	}
	return string(op)
}

func checkSensitive(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if isTest(f.Path) || prose.MatchString(f.Path) || !sensitivePath.MatchString(strings.TrimSuffix(f.Path, path.Ext(f.Path))+"/") {
			continue
		}
		message := f.Path + " has to do with authentication, permissions, payment or cryptography: review it with care"
		if c.Spec != nil && c.Spec.Zone == loop.ZoneGreen {
			message += "; the spec took the task for harmless (zone green)"
		}
		findings = append(findings, loop.Finding{File: f.Path, Message: message})
	}
	return findings, nil
}

// privateDir matches directories whose names nobody outside uses.
var privateDir = regexp.MustCompile(`(?:^|/)(?:internal|cmd|examples?|scripts?|benchmarks?|tools|\.[^/]+)/|(?:^|/)_`)

// checkAPI compares the exported definitions of changed sources. What moved to another changed file is not gone.
func checkAPI(c *change) ([]loop.Finding, error) {
	gone, err := c.goneNames()
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		p := oldPath(f)
		if f.Op == loop.OpAdd || isTest(p) || privateDir.MatchString(p) || len(removed(f)) == 0 {
			continue
		}
		before, err := c.before(f)
		if err != nil {
			return nil, err
		}
		lang := syntax.LanguageOf(p, []byte(before))
		lines := strings.Split(before, "\n")
		for _, s := range outline(p, before) {
			if gone[s.Name] && exported(lang, s, lines) {
				findings = append(findings, loop.Finding{File: p, Line: s.Start, Message: fmt.Sprintf("the exported %s %s is gone: whoever uses it breaks", s.Kind, s.Name)})
			}
		}
	}
	return findings, nil
}

// exported says whether a definition can be used from outside, as far as its text tells.
func exported(lang syntax.Language, s syntax.Symbol, lines []string) bool {
	line := s.Signature
	if s.Start >= 1 && s.Start <= len(lines) {
		line = lines[s.Start-1] + " " + line
	}
	has := func(word string) bool { return slices.Contains(strings.Fields(line), word) }
	switch lang {
	case syntax.Go:
		return unicode.IsUpper([]rune(s.Name)[0]) && (s.Parent == "" || unicode.IsUpper([]rune(s.Parent)[0]))
	case syntax.Python:
		return !strings.HasPrefix(s.Name, "_") && !strings.HasPrefix(s.Parent, "_") && (s.Kind == syntax.KindMethod || s.Parent == "" && (s.Kind == syntax.KindFunction || s.Kind == syntax.KindClass))
	case syntax.JavaScript, syntax.TypeScript, syntax.TSX:
		return has("export")
	case syntax.Java, syntax.CSharp, syntax.PHP:
		return has("public")
	case syntax.Rust:
		return has("pub")
	case syntax.Unknown, syntax.C, syntax.CPP, syntax.JSON, syntax.Ruby, syntax.TOML, syntax.XML, syntax.YAML:
		return false // the text does not tell
	}
	return false
}
