package agent

import (
	"path"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// alwaysProtected are paths that no round may edit; the guard holds a longer list on the final
// tree. Telling the coder at once spares a round.
var alwaysProtected = []string{
	".git/", ".github/workflows/", ".github/actions/", ".github/autocode.yml", ".github/autocode.yaml",
	"CODEOWNERS", ".gitlab-ci.yml", ".circleci/", "Jenkinsfile", "AGENTS.md", "CLAUDE.md",
	".github/copilot-instructions.md", ".gitmodules", ".npmrc", ".husky/", ".devcontainer/",
}

// protects says whether one of the patterns, written as in .gitignore without negation, covers a
// path. Case and Unicode form make no difference, as on the file systems that ignore them.
func protects(patterns []string, p string) bool {
	p = strings.ToLower(norm.NFC.String(path.Clean(p)))
	for _, pattern := range patterns {
		if form := patternForm(strings.ToLower(norm.NFC.String(pattern))); form != nil && form.MatchString(p) {
			return true
		}
	}
	return false
}

// patternForm turns a pattern of .gitignore into a regular expression; nil: it covers nothing.
func patternForm(pattern string) *regexp.Regexp {
	pattern = strings.TrimSpace(pattern)
	if pattern == "" || strings.HasPrefix(pattern, "#") {
		return nil
	}
	pattern = strings.TrimSuffix(pattern, "/") // a directory covers all below it anyway
	anchored := strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	var b strings.Builder
	b.WriteString("^")
	if !anchored {
		b.WriteString("(?:.*/)?")
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString("(?:/.*)?$")
	form, err := regexp.Compile(b.String())
	if err != nil {
		return nil // bytes that are no UTF-8 cannot name a path here
	}
	return form
}

var (
	secretName    = regexp.MustCompile(`(?i)^(\.env(\..+)?|.*\.(pem|key|p12|pfx|jks|keystore|kdbx)|id_(rsa|dsa|ecdsa|ed25519)|\.npmrc|\.netrc|\.pypirc|\.pgpass|\.htpasswd|\.git-credentials|credentials(\.json)?|secrets?\.(ya?ml|json|toml))$`)
	secretExample = regexp.MustCompile(`(?i)\.(example|sample|template|dist|defaults?)$`)
)

// secretFile says whether a file is likely to hold secrets, so that it is kept out of prompts.
func secretFile(p string) bool {
	base := path.Base(p)
	return secretName.MatchString(base) && !secretExample.MatchString(base)
}
