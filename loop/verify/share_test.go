package verify

import (
	"testing"
	"testing/fstest"

	"github.com/seed-7a986423/autocode/loop"
)

// TestSharedKey: an installation is handed on only to a clone of the same owner whose manifests
// are the same, and never where the repository has a say in how it runs.
func TestSharedKey(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tree := func(change map[string]string) fstest.MapFS {
		fsys := fstest.MapFS{"package.json": file(`{"name": "a"}`), "package-lock.json": file(`{}`), "src/a.js": file("1\n")}
		for name, text := range change {
			fsys[name] = file(text)
		}
		return fsys
	}
	npm := []project{{dir: ".", ecosystem: "node", install: []job{{args: []string{"npm", "ci"}}}}}
	reference := sharedKey(tree(nil), "run", "node", npm, loop.VerifyConfig{})
	if reference == "" {
		t.Fatal("nothing is shared")
	}
	const same, other, none = "same", "other", "none"
	for _, c := range []struct {
		name     string
		change   map[string]string
		owner    string
		projects []project
		config   loop.VerifyConfig
		want     string
	}{
		{name: "another source", change: map[string]string{"src/a.js": "2\n"}, want: same},
		{name: "another manifest", change: map[string]string{"package.json": `{"name": "b"}`}, want: other},
		{name: "another lock file", change: map[string]string{"package-lock.json": `{"a": 1}`}, want: other},
		{name: "a workspace's manifest", change: map[string]string{"packages/b/package.json": `{}`}, want: other},
		{name: "another owner", owner: "other run", want: other},
		{name: "no owner", owner: "-", want: none},
		{name: "another command", projects: []project{{dir: ".", ecosystem: "node", install: []job{{args: []string{"npm", "install"}}}}}, want: other},
		{name: "nothing to install", projects: []project{{dir: ".", ecosystem: "node"}}, want: none},
		{name: "a harmless setting", change: map[string]string{".npmrc": "package-lock=false\n@me:registry=https://example.com/\n"}, want: other},
		{name: "a setting that names a program", change: map[string]string{".npmrc": "fund=false\ngit=./evil\n"}, want: none},
		{name: "options of node", change: map[string]string{".npmrc": "node-options=--require ./evil.js\n"}, want: none},
		{name: "a package manager of the repository's own", change: map[string]string{".yarnrc.yml": "yarnPath: x\n"}, want: none},
		{name: "a hook of pnpm", change: map[string]string{".pnpmfile.cjs": "x\n"}, want: none},
		{name: "packages run scripts", config: loop.VerifyConfig{InstallScripts: true}, want: none},
		{name: "with a secret", config: loop.VerifyConfig{Secrets: []string{"TOKEN"}}, want: other},
		{name: "what an installation left", change: map[string]string{"node_modules/b/package.json": `{}`}, want: same},
	} {
		t.Run(c.name, func(t *testing.T) {
			owner, projects := "run", npm
			switch c.owner {
			case "":
			case "-":
				owner = ""
			default:
				owner = c.owner
			}
			if c.projects != nil {
				projects = c.projects
			}
			got := other
			switch sharedKey(tree(c.change), owner, "node", projects, c.config) {
			case "":
				got = none
			case reference:
				got = same
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
