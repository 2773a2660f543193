package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/verify"
)

// TestSecretsAreTheInstallationsAlone: in the real sandbox, setup commands have the secrets that the
// configuration lists, as variable and as file, and no command after them finds a trace of either.
func TestSecretsAreTheInstallationsAlone(t *testing.T) {
	const value, inFile, unlisted = "canary-of-a-variable", "canary-of-a-file", "canary-that-nobody-asked-for"
	file := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(file, []byte(inFile), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "", func(c *verify.Config) {
		c.Secrets = map[string]verify.Secret{"REGISTRY_TOKEN": {Value: value}, "NETRC": {File: file}, "OTHER": {Value: unlisted}}
		c.InstallTries = 1
	})
	commit := b.commit(map[string]string{"README.md": "x\n"})
	clone, err := b.space.Open(t.Context(), loop.Repo{Owner: "local", Name: "r", CloneURL: b.repo}, "t", commit)
	if err != nil {
		t.Fatal(err)
	}
	defer clone.Close()
	config := loop.VerifyConfig{
		Secrets: []string{"REGISTRY_TOKEN", "NETRC"},
		// What setup proves is left as a file of yes and no, without the values.
		Setup: []string{`{
			[ "$REGISTRY_TOKEN" = ` + value + ` ] && echo variable
			[ "$(cat "$NETRC")" = ` + inFile + ` ] && echo file
			(echo >>"$NETRC") 2>/dev/null || echo read-only
			[ -z "$OTHER" ] && echo unlisted absent
			[ "$npm_config_ignore_scripts" = true ] && echo no scripts
		} >seen`},
		Commands: map[loop.StageName][]string{loop.StageUnit: {
			`cat seen; env; cat /proc/*/environ; find / -name NETRC -o -name REGISTRY_TOKEN 2>/dev/null; ls /run/secrets; grep -rs canary-of /run /tmp "$HOME" .; exit 1`,
		}},
	}
	if err := b.verifier.Setup(t.Context(), clone, config); err != nil {
		t.Fatal(err)
	}
	outcome, err := b.verifier.Verify(t.Context(), loop.VerifyRequest{Clone: clone, Config: config, HeadCommit: commit})
	if err != nil {
		t.Fatal(err)
	}
	log := string(outcome.Logs["unit"])
	for _, want := range []string{"variable", "file", "read-only", "unlisted absent", "no scripts"} {
		if !strings.Contains(log, "\n"+want+"\n") {
			t.Errorf("setup did not find %q", want)
		}
	}
	for _, canary := range []string{value, inFile, unlisted, "REGISTRY_TOKEN="} {
		if strings.Contains(log, canary) {
			t.Errorf("a later command found %q:\n%s", canary, log)
		}
	}
}

// TestInstallScripts: packages run no scripts of their own unless the repository asks for it.
func TestInstallScripts(t *testing.T) {
	b := newBench(t, "node npm")
	commit := b.commit(map[string]string{
		"package.json":     `{"name": "a", "version": "1.0.0", "dependencies": {"dep": "file:./dep"}, "scripts": {"test": "ls; exit 1"}}`,
		"dep/package.json": `{"name": "dep", "version": "1.0.0", "scripts": {"postinstall": "touch ../ran-a-script ../../ran-a-script"}}`,
	})
	for name, c := range map[string]struct {
		config loop.VerifyConfig
		ran    bool
	}{
		"by itself":              {loop.VerifyConfig{}, false},
		"asked for":              {loop.VerifyConfig{InstallScripts: true}, true},
		"own command":            {loop.VerifyConfig{Setup: []string{"npm install --offline --no-audit"}}, false},
		"own command, asked for": {loop.VerifyConfig{Setup: []string{"npm install --offline --no-audit"}, InstallScripts: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			clone, err := b.space.Open(t.Context(), loop.Repo{Owner: "local", Name: "r", CloneURL: b.repo}, "t", commit)
			if err != nil {
				t.Fatal(err)
			}
			defer clone.Close()
			if err := b.verifier.Setup(t.Context(), clone, c.config); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(clone.Dir(), "node_modules", "dep")); err != nil {
				t.Fatal(err)
			}
			_, err = os.Stat(filepath.Join(clone.Dir(), "ran-a-script"))
			if ran := err == nil; ran != c.ran {
				t.Errorf("the package's script ran: %v, want %v", ran, c.ran)
			}
		})
	}
}
