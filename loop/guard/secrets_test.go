package guard

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// Secrets are put together here, so that scanners of this repository do not find them. None opens anything.
var (
	personal     = "ghp" + "_" + "k3VfQ9sLw7XbT2mZr8NcYd5HaJ6pEuG4xRt1"
	installation = "ghs" + "_" + "k3VfQ9sLw7XbT2mZr8NcYd5HaJ6pEuG4xRt1"
	long         = "ghs" + "_" + "1234567.eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiI5ODc2NTQzIiwiaWF0IjoxfQ"
	fineGrained  = "github" + "_pat_" + "11ABCDEFG0k3VfQ9sLw7Xb_T2mZr8NcYd5HaJ6pEuG4xRt1Vf0Qs9Lw8Xb7T6mZr5NcYd4HaJ3pEuG2xRt1Kq7Wn5"
	keyLines     = strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 4)
	keyBegin     = "-----BEGIN " + "PRIVATE KEY-----"
	keyEnd       = "-----END " + "PRIVATE KEY-----"
)

// adding is a case in which one file is added.
func adding(name, path, text string, want loop.Severity) sample {
	return sample{name: name, base: files{"a": "a\n"}, change: files{path: text}, want: want}
}

func TestSecrets(t *testing.T) {
	runSamples(t, "secret", []sample{
		adding("case 84: personal token", "a.py", "TOKEN = '"+personal+"'\n", block),
		adding("case 84: installation token", "a.py", "x = '"+installation+"'\n", block),
		adding("case 84: long installation token", "a.py", "x = '"+long+"'\n", block),
		adding("case 84: fine-grained token", "a.py", "x = '"+fineGrained+"'\n", block),
		adding("case 84: in a lockfile, which gitleaks passes over", "package-lock.json", `{"resolved": "https://x:`+personal+`@host/x"}`+"\n", block),
		adding("case 84: in an image of text", "logo.svg", "<!-- "+personal+" -->\n", block),
		adding("case 85: put together from pieces", "a.js", "const t = '"+personal[:12]+"' +\n  '"+personal[12:]+"';\n", block),
		adding("case 87: private key", "key.pem", keyBegin+"\n"+keyLines+keyEnd+"\n", block),
		adding("case 87: private key in a fixture", "testdata/key.pem", keyBegin+"\n"+keyLines+keyEnd+"\n", block),
		adding("case 87: private key in one string", "a.go", "const k = \""+strings.ReplaceAll(keyBegin+"\n"+keyLines+keyEnd, "\n", `\n`)+"\"\n", block),
		adding("case 87: private key in quoted lines", "a.py", "k = ('"+strings.ReplaceAll(keyBegin+"\n"+strings.TrimSpace(keyLines), "\n", "\\n'\n  '")+"')\n", block),
		adding("cloud key", "a.py", "AWS = 'AKIA"+"Z7QW3R5T2XKLMPVN'\n", block),
		adding("silenced by a comment", "a.py", "x = '"+personal+"'  # gitleaks:allow\n", block),
		adding("guessed, in source", "a.py", `api_key = "k3VfQ9sLw7XbT2mZr8Nc5d1H"`+"\n", block),
		adding("guessed, in a test", "tests/test_a.py", `api_key = "k3VfQ9sLw7XbT2mZr8Nc5d1H"`+"\n", note),
		{name: "moved from another file", base: files{"a.py": "x = '" + personal + "'\n"}, change: files{"a.py": "x = ''\n", "b.py": "y = '" + personal + "'\n"}, want: note},
		adding("innocent: placeholder", "README.md", "export GITHUB_TOKEN=ghp"+"_"+strings.Repeat("x", 36)+"\n", nothing),
		adding("innocent: head of a key in a check", "a.go", "if strings.HasPrefix(s, \""+keyBegin+"\") { return parse(s) }\n", nothing),
		adding("innocent: prose about prefixes", "docs/t.md", "Tokens begin with ghp_, gho_, ghu_, ghs_ or ghr_ and 36 characters that nobody should write down.\n", nothing),
		adding("innocent: repeated in a test", "a_test.go", "package a\nvar t = \"ghp"+"_\" + strings.Repeat(\"a\", 36)\n", nothing),
		adding("innocent: name of a cache", "a.py", `cache_key = "user-profile-2024-settings-v2"`+"\n", nothing),
		adding("innocent: from the environment", "a.py", `api_key = os.environ["SERVICE_API_KEY"]`+"\n", nothing),
		adding("innocent: published example", "a.py", "AWS = 'AKIAIOSFODNN7"+"EXAMPLE'\n", nothing),
		adding("innocent: checksum in go.sum", "go.sum", "example.com/m v1.0.0 h1:k3VfQ9sLw7XbT2mZr8NcYd5HaJ6pEuG4xRt1k3VfQ9s=\n", nothing),
		adding("innocent: commit ids", "CHANGELOG.md", "- fixed in 9fceb02d0ae598e95dc970b74767f19372d61af8\n", nothing),
		{name: "innocent: removed", base: files{"a.py": "x = '" + personal + "'\n"}, change: files{"a.py": "x = ''\n"}},
	})
}

// Case 83: the server's own values, in whatever spelling, are refused in any file.
func TestServerSecrets(t *testing.T) {
	v := serverSecret
	b64 := base64.StdEncoding
	spread := func(s, between string) string {
		var parts []string
		for len(s) > 7 {
			parts, s = append(parts, s[:7]), s[7:]
		}
		return strings.Join(append(parts, s), between)
	}
	bytesOf := func(format, between string) string {
		var parts []string
		for i := range len(v) {
			parts = append(parts, fmt.Sprintf(format, v[i]))
		}
		return strings.Join(parts, between)
	}
	for name, text := range map[string]string{
		"plain": v, "reversed": reverse(v), "hex": hex.EncodeToString([]byte(v)), "hex upper": strings.ToUpper(hex.EncodeToString([]byte(v))),
		"base64": b64.EncodeToString([]byte(v)), "base64 of more": b64.EncodeToString([]byte("p=" + v + ";x")), "base64 aligned by 1": b64.EncodeToString([]byte("!" + v)),
		"base64 for URLs": base64.URLEncoding.EncodeToString([]byte("??" + v)), "base64 twice": b64.EncodeToString([]byte(b64.EncodeToString([]byte(v)))),
		"base64 in lines": spread(b64.EncodeToString([]byte(v)), "\n"), "base64 reversed": reverse(b64.EncodeToString([]byte(v))),
		"over lines": spread(v, "\n"), "concatenated": spread(v, `" + "`), "in a list": spread(v, "', '"), "concatenated over lines": spread(v, "\" \\\n  \""),
		"spaced": strings.Join(strings.Split(v, ""), " "), "rot13": rot13(v), "bytes": bytesOf("%d", ", "), "escaped bytes": bytesOf(`\x%02x`, ""), "byte literals": bytesOf("0x%02X", ", "),
		"url": bytesOf("%%%02X", ""), "html": bytesOf("&#x%02x;", ""), "half of it": v[6:30],
		"short one": serverPassword, "short one in a URL": url.QueryEscape(serverPassword), "short one in base64": b64.EncodeToString([]byte("x" + serverPassword + "y")),
	} {
		t.Run(name, func(t *testing.T) {
			r := request(files{}, files{"docs/notes.txt": "first\nx = \"" + text + "\"\n"})
			found := of(check(t, r), "secret")
			if len(found) == 0 || found[0].Severity != block {
				t.Fatalf("%q is not found: %+v", text, found)
			}
			if strings.Contains(found[0].Message, v[:8]) {
				t.Errorf("the message gives it away: %s", found[0].Message)
			}
		})
	}
	t.Run("name of a file", func(t *testing.T) {
		if found := of(check(t, request(files{}, files{"x-" + v: "x\n"})), "secret"); len(found) == 0 {
			t.Error("not found")
		}
	})
	t.Run("line", func(t *testing.T) {
		found := of(check(t, request(files{}, files{"a": "1\n2\n" + v + "\n"})), "secret")
		if len(found) == 0 || found[0].Line != 3 {
			t.Errorf("found %+v, want line 3", found)
		}
	})
	for name, text := range map[string]string{
		"its prefix": "whsec-", "words": "the webhook secret is in the environment", "other random": "Yq7wU4nLy0Sx3MqZc8OdKe6ItH5gFbV7",
	} {
		t.Run("innocent: "+name, func(t *testing.T) {
			if found := of(check(t, request(files{}, files{"docs/notes.txt": text + "\n"})), "secret"); len(found) > 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// A multi-line value of the server, such as its App's key, is known by each of its lines; the head that all keys share
// gives nothing away.
func TestServerKeyByLine(t *testing.T) {
	g, err := New(Config{Secrets: []string{"-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx7Vq2Zk9Lw3Rt5Yp8Nc1Hd6Jf4Gs0Ua\nQ9w8E7r6T5y4U3i2O1p0A9s8D7f6G5h4J3k2L1z0X9c8V7b6\n-----END RSA " + "PRIVATE KEY-----\n", "short"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"x = Q9w8E7r6T5y4U3i2O1p0A9s8D7f6G5h4J3k2L1z0X9c8V7b6": true,
		"-----BEGIN RSA " + "PRIVATE KEY-----":                 false,
		"MIIEpAIBAAKCAQEA":                                     false,
		"too short to be looked for":                           false,
	} {
		if got := g.secrets.own(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Quoted source does not leave with another finding where the file holds a secret.
func TestSecretsAreNotQuoted(t *testing.T) {
	r := request(files{"a_test.go": "package a\n"}, files{"a_test.go": "package a\n\nfunc init() { os.Exit(0) } // " + personal + "\n"})
	findings := check(t, r)
	if len(of(findings, "test-exit")) == 0 {
		t.Fatalf("no other finding to look at: %+v", findings)
	}
	for _, f := range findings {
		if strings.Contains(f.Message, personal) {
			t.Errorf("%s quotes it: %s", f.Rule, f.Message)
		}
	}
}

func FuzzServerSecret(f *testing.F) {
	f.Add("prefix ", " suffix", 3)
	f.Add("\xff\"", "'+\n", 0)
	g, err := theGuard()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, before, after string, cut int) {
		if !g.secrets.own(before + serverSecret + after) {
			t.Errorf("not found plain between %q and %q", before, after)
		}
		if !g.secrets.own(base64.StdEncoding.EncodeToString([]byte(before + serverSecret + after))) {
			t.Errorf("not found in base64 between %q and %q", before, after)
		}
		at := max(cut, -cut) % len(serverSecret)
		if at >= 0 && !g.secrets.own(serverSecret[:at]+"\"\n + \""+serverSecret[at:]) {
			t.Errorf("not found cut at %d", at)
		}
	})
}
