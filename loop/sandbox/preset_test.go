package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// fakeTool is a program that answers as the tool does with the given settings.
func fakeTool(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestPresetHosts(t *testing.T) {
	for _, test := range []struct {
		name      string
		ecosystem sandbox.Ecosystem
		tools     map[string]string // name → script
		files     map[string]string // below home
		env       []string
		want      []string
	}{
		{name: "go", ecosystem: sandbox.GoModules,
			tools: map[string]string{"go": `echo '{"GOPROXY":"https://mirror.example/go,https://user:pw@second.example|direct","GOSUMDB":"sums.example+key https://sums.mirror.example/x"}'`},
			want:  []string{"mirror.example", "second.example", "sums.example", "sums.mirror.example"}},
		{name: "go without checksums", ecosystem: sandbox.GoModules,
			tools: map[string]string{"go": `echo '{"GOPROXY":"https://mirror.example","GOSUMDB":"off"}'`}, want: []string{"mirror.example"}},
		{name: "npm", ecosystem: sandbox.NPM,
			tools: map[string]string{"npm": `echo '{"registry":"https://npm.example/","@team:registry":"https://private.example/npm/","proxy":"http://proxy.example","user-agent":"x"}'`},
			want:  []string{"npm.example", "private.example"}},
		{name: "pip, configured", ecosystem: sandbox.PyPI,
			tools: map[string]string{"python3": `echo "global.index-url='https://pip.example/simple'"; echo "global.extra-index-url='https://a.example https://b.example'"; echo "global.timeout='60'"`},
			want:  []string{"pip.example", "a.example", "b.example"}},
		{name: "pip, default", ecosystem: sandbox.PyPI,
			tools: map[string]string{"python3": `case "$*" in *help*) echo "  -i, --index-url <url>  Base URL (default"; echo "    https://default.example/simple). See"; echo "  --extra-index-url <url>  https://not.example";; esac`},
			want:  []string{"default.example"}},
		{name: "cargo, default", ecosystem: sandbox.Crates,
			tools: map[string]string{"cargo": `# ..sparse+https://index.example/..`}, want: []string{"index.example"}},
		{name: "cargo, replaced", ecosystem: sandbox.Crates,
			tools: map[string]string{"cargo": `# sparse+https://index.example/`},
			files: map[string]string{".cargo/config.toml": "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://crates.mirror.example/\"\n"},
			env:   []string{"CARGO_REGISTRIES_OWN_INDEX=https://own.example/git"}, want: []string{"own.example", "crates.mirror.example"}},
		{name: "maven, mirrored", ecosystem: sandbox.Maven,
			tools: map[string]string{"mvn": `echo "Maven home: /nonexistent"`},
			files: map[string]string{".m2/settings.xml": "<settings><!-- <url>https://comment.example</url> --><mirror><mirrorOf>*</mirrorOf><url> https://maven.example/all </url></mirror></settings>"},
			want:  []string{"maven.example"}},
		{name: "debian", ecosystem: sandbox.Debian,
			tools: map[string]string{"apt-get": "echo http://deb.example/debian; echo http://deb.example/debian; echo file:///cdrom"}, want: []string{"deb.example"}},
		{name: "nothing", ecosystem: sandbox.GoModules, tools: map[string]string{"go": `echo '{"GOPROXY":"off","GOSUMDB":"off"}'`}},
		{name: "missing tool", ecosystem: sandbox.NPM},
		{name: "failing tool", ecosystem: sandbox.NPM, tools: map[string]string{"npm": "echo broken >&2; exit 1"}},
		{name: "garbage", ecosystem: sandbox.NPM, tools: map[string]string{"npm": "echo nonsense"}},
		{name: "unknown", ecosystem: "cobol"},
	} {
		t.Run(test.name, func(t *testing.T) {
			home, bin := t.TempDir(), t.TempDir()
			for name, script := range test.tools {
				fakeTool(t, bin, name, script)
			}
			for path, content := range test.files {
				path = filepath.Join(home, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := sandbox.PresetHosts(context.Background(), test.ecosystem, sandbox.PresetEnv{Env: append(test.env, "PATH="+bin), Home: home})
			if (err != nil) != (test.want == nil) || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}
