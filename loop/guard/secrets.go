package guard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/seed-7a986423/autocode/loop"
)

// secretScanner finds secrets by gitleaks' rules, by the forms of GitHub's tokens and of private keys in any file and
// across pieces of a string, and by the server's own values in any encoding.
type secretScanner struct {
	mutex    sync.Mutex // a detector is not safe for concurrent use
	detector *detect.Detector
	values   []disguised
}

func newSecretScanner(values []string) (*secretScanner, error) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("load the rules of gitleaks: %w", err)
	}
	detector.IgnoreGitleaksAllow = true // a comment in the change must not silence it
	s := &secretScanner{detector: detector}
	for _, v := range values {
		// Shorter ones would be found everywhere.
		if v = trim(v); len(v) >= shortestSecret {
			s.values = append(s.values, disguise(v))
		}
	}
	return s, nil
}

// shortestSecret is the length in bytes below which a value is not looked for.
const shortestSecret = 8

// glue is what stands between two pieces of one string literal, on one line or over two.
var glue = regexp.MustCompile("[\"'`]\\s*(?:\\+|\\.\\.?|,|&|\\|\\||<<|<>|~)?\\s*\\\\?\\s*(?:\\+|\\.\\.?|&|~)?\\s*[\"'`]")

// tokenForms are the forms of GitHub's tokens: with a prefix, fine-grained, and the long dotted one of installations.
var tokenForms = regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|ghs_[A-Za-z0-9_]+\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}|\bv1\.[0-9a-f]{40}\b`)

// keyHead matches the beginning of a private key; the body has to follow for it to be one.
var keyHead = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[23]:`)

// keyBody matches what follows a key's head in whatever quoting, and at least that much of it.
var keyBody = regexp.MustCompile(`^(?:[^A-Za-z0-9]|\\[nr]|(?:Proc-Type|DEK-Info|Encryption|Comment|Public-Lines|Version)[:=][^\n\\]*)*(?:[A-Za-z0-9/+=](?:\\n|[\s"'+\\,.])*){64}`)

// leak is a secret that a scan found.
type leak struct {
	line    int // index of the line in the text, from 0
	what    string
	secret  string
	ours    bool
	guessed bool // by its randomness and a name beside it, not by its form
}

// checkSecrets scans added lines. A secret that the diff also removes was there already and only moved: it is noted.
// What is merely guessed to be a secret is noted in tests, whose fixtures look like that; a known form is refused there
// too, since nobody sees whether it is real.
func checkSecrets(c *change) ([]loop.Finding, error) {
	old := removedText(c.Diff)
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		lines := added(f)
		if oldPath(f) != f.Path || f.Op == loop.OpAdd {
			if ours := c.guard.secrets.own(f.Path); ours {
				findings = append(findings, loop.Finding{Message: "a secret of this server is in the name of a file"})
			}
		}
		if len(lines) == 0 {
			continue
		}
		var text strings.Builder
		for _, l := range lines {
			text.WriteString(l.Text + "\n")
		}
		for _, found := range c.guard.secrets.scan(c.ctx, f.Path, text.String()) {
			finding := loop.Finding{File: f.Path, Line: lines[min(found.line, len(lines)-1)].New, Message: found.what + ": take it out, and read it from the environment or generate it at run time"}
			switch {
			case found.ours:
			case strings.Contains(old, found.secret):
				finding.Severity, finding.Message = loop.SeverityNote, "what looks like a secret was there before and is moved: "+found.what
			case found.guessed && isTest(f.Path):
				finding.Severity = loop.SeverityNote
			}
			findings = append(findings, finding)
		}
	}
	return findings, nil
}

func removedText(d loop.Diff) string {
	var b strings.Builder
	for _, f := range d.Files {
		for _, l := range removed(f) {
			b.WriteString(l.Text + "\n")
		}
	}
	return b.String()
}

// own says whether a text holds a value of the server.
func (s *secretScanner) own(text string) bool {
	seen := newSighting(text)
	for _, v := range s.values {
		if v.in(seen) {
			return true
		}
	}
	return false
}

// scan finds the secrets in a text. A leak's description never holds the secret.
func (s *secretScanner) scan(ctx context.Context, file, text string) []leak {
	var leaks []leak
	if s.own(text) {
		leaks = append(leaks, leak{line: s.ownLine(text), what: "a secret of this server is in the change", ours: true})
	}
	leaks = append(leaks, forms(text)...)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, found := range s.detector.DetectContext(ctx, detect.Fragment{Raw: text, FilePath: file}) {
		guessed := found.RuleID == "generic-api-key"
		if guessed && !random(found.Secret) {
			continue
		}
		secret := cmp.Or(found.Secret, found.Match)
		known := false
		for _, l := range leaks {
			known = known || l.secret != "" && (strings.Contains(secret, l.secret) || strings.Contains(l.secret, secret))
		}
		if !known {
			leaks = append(leaks, leak{line: max(found.StartLine, 0), what: strings.TrimSuffix(found.Description, "."), secret: secret, guessed: guessed})
		}
	}
	return leaks
}

// ownLine returns the index of the first line that holds a value by itself, 0 where it is spread.
func (s *secretScanner) ownLine(text string) int {
	for i, line := range strings.Split(text, "\n") {
		if s.own(line) {
			return i
		}
	}
	return 0
}

// forms finds tokens and private keys in a text, also where a string is put together from pieces.
func forms(text string) []leak {
	var leaks []leak
	seen := map[string]bool{}
	for i, t := range []string{text, glue.ReplaceAllString(text, "")} {
		for _, at := range tokenForms.FindAllStringIndex(t, -1) {
			token := t[at[0]:at[1]]
			if seen[token] || distinct(token) < leastDistinct {
				continue
			}
			seen[token] = true
			l := leak{what: "a GitHub token is in the change", secret: token}
			if i == 0 {
				l.line = strings.Count(t[:at[0]], "\n")
			} else {
				// The pieces' place: where the prefix stands.
				l.line = strings.Count(text[:max(strings.Index(text, token[:3]), 0)], "\n")
			}
			leaks = append(leaks, l)
		}
	}
	for _, at := range keyHead.FindAllStringIndex(text, -1) {
		if body := keyBody.FindString(text[at[1]:]); body != "" {
			leaks = append(leaks, leak{line: strings.Count(text[:at[0]], "\n"), what: "a private key is in the change", secret: text[at[0] : at[1]+len(body)]})
			break // one is enough for a file
		}
	}
	return leaks
}

// leastDistinct is how many different characters a real token has at least; placeholders such as ghp_xxxx have fewer.
const leastDistinct = 14

func distinct(s string) int {
	seen := map[rune]bool{}
	for _, r := range s {
		seen[r] = true
	}
	return len(seen)
}

const (
	// randomRun is the shortest piece of a guessed secret that can be judged.
	randomRun = 16
	// randomEntropy in bits a character parts identifiers and words from random characters of that length.
	randomEntropy = 3.3
)

// random says whether a guessed secret has a run of letters and digits that nobody wrote by hand.
func random(secret string) bool {
	for _, run := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune("-_. /", r) }) {
		if len(run) >= randomRun && strings.ContainsAny(run, "0123456789") && strings.IndexFunc(run, func(r rune) bool { return r >= 'A' && r <= 'z' }) >= 0 && entropy(run) >= randomEntropy {
			return true
		}
	}
	return false
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	counts := map[byte]int{}
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		p := float64(n) / float64(len(s))
		bits -= p * math.Log2(p)
	}
	return bits
}
