package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// TestSecretsConfiguration: what may not be a secret is told by name, and never with its value.
func TestSecretsConfiguration(t *testing.T) {
	dir := t.TempDir()
	netrc := filepath.Join(dir, "netrc")
	if err := os.WriteFile(netrc, []byte("machine packages.example login ci password hunter2hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"COMPANY_TOKEN": "canary-canary-canary", "SHORT": "abc"}[name]
	}
	for _, c := range []struct {
		name, yaml string
		want       string // a part of the fault; empty: none
	}{
		{"a variable and a file", "{TOKEN: {env: COMPANY_TOKEN, repositories: [acme/*]}, NETRC: {file: " + netrc + ", repositories: [acme/widgets, other/x]}}", ""},
		{"no source", "{TOKEN: {repositories: [acme/*]}}", "secrets.TOKEN: needs either env"},
		{"two sources", "{TOKEN: {env: COMPANY_TOKEN, file: " + netrc + ", repositories: [acme/*]}}", "secrets.TOKEN: needs either env"},
		{"nobody may", "{TOKEN: {env: COMPANY_TOKEN}}", "secrets.TOKEN: needs repositories"},
		{"everybody", "{TOKEN: {env: COMPANY_TOKEN, repositories: ['*']}}", `secrets.TOKEN: "*" is not OWNER/NAME`},
		{"not set", "{TOKEN: {env: NOWHERE, repositories: [acme/*]}}", "the variable NOWHERE is not set"},
		{"too short", "{TOKEN: {env: SHORT, repositories: [acme/*]}}", "kept out of logs"},
		{"no such file", "{TOKEN: {file: " + dir + "/absent, repositories: [acme/*]}}", "no such file"},
		{"a directory", "{TOKEN: {file: " + dir + ", repositories: [acme/*]}}", "is not a file"},
		{"the sandbox's own variable", "{LD_PRELOAD: {env: COMPANY_TOKEN, repositories: [acme/*]}}", "secrets.LD_PRELOAD: this variable is the sandbox's own"},
		{"no variable's name", "{'a b': {env: COMPANY_TOKEN, repositories: [acme/*]}}", "is not the name of a variable"},
		{"a key that is mistaken", "{TOKEN: {environment: COMPANY_TOKEN}}", "environment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "autocode.yaml")
			if err := os.WriteFile(file, []byte("secrets: "+c.yaml+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := loadSettings(file, getenv)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				for _, value := range []string{"canary-canary-canary", "hunter2hunter2"} {
					if !slices.Contains(s.secrets(), value) {
						t.Errorf("%s is not redacted", value)
					}
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "canary-canary") || strings.Contains(err.Error(), "abc,") {
				t.Errorf("the fault tells the value: %v", err)
			}
		})
	}
}

// TestSparseConfiguration: faults are told with the repository's name.
func TestSparseConfiguration(t *testing.T) {
	for yaml, want := range map[string]string{
		"{acme/mono: [services/billing, libs]}": "",
		"{acme/mono: [../x]}":                   "sparse.acme/mono: path",
		"{acme/mono: []}":                       "sparse.acme/mono: no directory",
		"{acme/mono: ['services/*']}":           "sparse.acme/mono: directory",
		"{mono: [a]}":                           `sparse: "mono" is not OWNER/NAME`,
		"{acme/*: [a]}":                         `sparse: "acme/*" is not OWNER/NAME`,
	} {
		file := filepath.Join(t.TempDir(), "autocode.yaml")
		if err := os.WriteFile(file, []byte("sparse: "+yaml+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadSettings(file, func(string) string { return "" })
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", yaml, err, want)
		}
	}
}

// TestSetupOutputIsRedacted: what a command prints of a secret reaches nobody, in whichever encoding.
func TestSetupOutputIsRedacted(t *testing.T) {
	if ok, err := condition("sandbox"); err != nil || !ok {
		t.Skipf("no bubblewrap here (%v)", err)
	}
	s := settings{SetupSecrets: map[string]setupSecret{"T": {values: []string{"canary-canary-canary"}}}}
	s.DataDir = t.TempDir()
	s.Ceiling.Sandbox.Memory = defaultMemory
	s.Ceiling.Verify.Timeout = defaultTimeout
	runner, err := newRunner(s, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	result, err := runner.Run(t.Context(), loop.Command{
		Args: []string{"sh", "-c", `echo "$T"; echo "$T" | base64 >&2; echo "$T" | od -An -tx1 | tr -d ' \n'; echo eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl`},
		Dir:  t.TempDir(), Env: []string{"T=canary-canary-canary"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := string(result.Stdout) + string(result.Stderr)
	for _, secret := range []string{"canary-canary", "Y2FuYXJ5LWNhbmFyeS1", "63616e6172792d"} {
		if strings.Contains(out, secret) {
			t.Errorf("the output shows %q:\n%s", secret, out)
		}
	}
	if !strings.Contains(out, "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl") {
		t.Errorf("what only looks like a credential is gone:\n%s", out)
	}
}
