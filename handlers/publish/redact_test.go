package publish

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// filler makes credentials of the right shape that are nobody's.
func filler(n int) string { return strings.Repeat("A1b2C3d4E5", n/10+1)[:n] }

const samplePEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789abcdefABCDEFghijklmnopqrstuvwx\nyzMIIEowIBAAKCAQEA0123456789abcdefABCDEFghijklmnopqrst\n-----END RSA PRIVATE KEY-----"

// tokenForms are credentials of every shape.
func tokenForms() map[string]string {
	jwt := "eyJ" + filler(40) + "." + filler(200) + "." + filler(86)
	return map[string]string{
		"classic":          "ghp_" + filler(36),
		"oauth":            "gho_" + filler(36),
		"user to server":   "ghu_" + filler(36),
		"installation":     "ghs_" + filler(36),
		"refresh":          "ghr_" + filler(76),
		"fine-grained":     "github_pat_" + filler(22) + "_" + filler(59),
		"long dotted":      "ghs_4711_" + jwt,
		"old installation": "v1." + strings.Repeat("0a1b2c3d", 5),
		"app jwt":          jwt,
		"openai":           "sk-" + filler(48),
		"openai project":   "sk-proj-" + filler(20) + "_" + filler(40) + "-x",
		"google":           "AIza" + filler(35),
		"groq":             "gsk_" + filler(52),
		"hugging face":     "hf_" + filler(34),
		"xai":              "xai-" + filler(80),
		"private key":      samplePEM,
	}
}

// TestAttack84EveryTokenForm: no form of credential gets through.
func TestAttack84EveryTokenForm(t *testing.T) {
	r := NewRedactor()
	for name, secret := range tokenForms() {
		for _, frame := range []string{"%", "before % after", "token=%&x=1", `{"token":"%"}`, "https://x-access-token:%@github.example/a/b", "(%)", "Authorization: Bearer %\n"} {
			text := strings.ReplaceAll(frame, "%", secret)
			got := r.String(text)
			if strings.Contains(got, filler(20)) || strings.Contains(got, secret) || strings.Contains(got, "0123456789abcdef") || !strings.Contains(got, redacted) {
				t.Errorf("%s in %q: %q", name, frame, got)
			}
			if again := r.String(got); again != got {
				t.Errorf("%s in %q: not idempotent: %q, then %q", name, frame, got, again)
			}
		}
	}
}

// TestRedactorLeavesTheRest: what is no secret stays.
func TestRedactorLeavesTheRest(t *testing.T) {
	r := NewRedactor("", "short", "correct-horse-battery")
	for _, text := range []string{
		"commit 0123456789abcdef0123456789abcdef01234567", "https://github.example/a/b/pull/1", "ghs_short", "sk-1",
		"task-with-a-rather-long-name-of-words", "a short text", "v1.2.3", "git@github.example:a/b.git", "pkg_test.TestOfSomething/with_a_long_name",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestAttack83OwnValuesEncoded: a configured value is found however it is written.
func TestAttack83OwnValuesEncoded(t *testing.T) {
	const secret = "Canary/Value+42?"
	r := NewRedactor(secret, samplePEM)
	backwards := []byte(secret)
	slices.Reverse(backwards)
	encode := base64.StdEncoding.EncodeToString
	cases := map[string]string{
		"as it is":           "x " + secret + " y",
		"base64":             encode([]byte(secret)),
		"base64 in a text":   encode([]byte("user:" + secret + ":and more")),
		"base64, one before": encode([]byte("u" + secret + "m")),
		"base64, url":        base64.URLEncoding.EncodeToString([]byte("ab" + secret)),
		"hex":                hex.EncodeToString([]byte(secret)),
		"HEX":                strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"reversed":           string(backwards),
		"query":              "q=" + url.QueryEscape(secret),
		"path":               url.PathEscape(secret),
		"one line of a key":  "MIIEowIBAAKCAQEA0123456789abcdefABCDEFghijklmnopqrstuvwx",
		"key in JSON":        strings.ReplaceAll(samplePEM, "\n", `\n`),
	}
	for name, text := range cases {
		if got := r.String(text); !strings.Contains(got, redacted) || strings.Contains(got, text) {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

// TestAttack85SplitAcrossChunks: every cut of every form, and byte by byte.
func TestAttack85SplitAcrossChunks(t *testing.T) {
	r := NewRedactor("canary-of-the-configuration")
	forms := tokenForms()
	forms["configured"] = "canary-of-the-configuration"
	for name, secret := range forms {
		text := "before " + secret + " after\nlast"
		want := r.String(text)
		for cut := 1; cut < len(text); cut++ {
			var out bytes.Buffer
			w := r.Writer(&out)
			for _, chunk := range []string{text[:cut], text[cut:]} {
				if n, err := w.Write([]byte(chunk)); err != nil || n != len(chunk) {
					t.Fatalf("write: %d, %v", n, err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if out.String() != want {
				t.Fatalf("%s cut at %d: %q, want %q", name, cut, out.String(), want)
			}
		}
	}
}

// TestWriterBoundsEndlessLines: a line without end is passed on in parts, its secrets not.
func TestWriterBoundsEndlessLines(t *testing.T) {
	secret := "ghs_" + filler(36)
	var out bytes.Buffer
	w := NewRedactor().Writer(&out).(*redactingWriter)
	chunk := []byte(strings.Repeat("x", 997) + " " + secret + " ")
	for range 2000 {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
		if len(w.held) > mostHeld+len(chunk) {
			t.Fatalf("%d bytes are held back", len(w.held))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), redacted); n != 2000 || strings.Contains(out.String(), filler(20)) {
		t.Errorf("%d of 2000 secrets are redacted", n)
	}
}

// brokenWriter refuses everything.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestWriterReportsErrors: a log that cannot be written is not lost in silence.
func TestWriterReportsErrors(t *testing.T) {
	if _, err := NewRedactor().Writer(brokenWriter{}).Write([]byte("line\n")); err == nil {
		t.Error("no error")
	}
}

// FuzzRedactor: whatever stands around a token, it does not get through.
func FuzzRedactor(f *testing.F) {
	f.Add("a", "b")
	f.Add("token: ", "\n-----BEGIN")
	f.Add("https://x:", "@h/")
	r := NewRedactor()
	const secret = "ghs_A1b2C3d4E5A1b2C3d4E5A1b2C3d4E5A1b2C3"
	f.Fuzz(func(t *testing.T, before, after string) {
		text := before + " " + secret + " " + after
		got := r.String(text)
		if strings.Contains(got, secret) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
