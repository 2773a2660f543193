package verify

import (
	"testing"
	"testing/fstest"
)

// TestNodeTests: how the tests of a package are run, and whose output the reader is told to expect.
func TestNodeTests(t *testing.T) {
	for _, c := range []struct{ name, manifest, command, speaks string }{
		{"one runner", `{"scripts": {"test": "mocha test/*.js"}}`, "npm test --silent -- --reporter spec", "npm test --silent -- --reporter spec; mocha test/*.js"},
		{"a runner in the middle", `{"scripts": {"test": "xo && ava && tsd"}}`, "npm test --silent", "npm test --silent; xo && ava && tsd"},
		{"a runner at the end", `{"scripts": {"test": "eslint . && jest"}}`, "npm test --silent -- --ci --verbose", "npm test --silent -- --ci --verbose; eslint . && jest"},
		{"scripts of scripts", `{"scripts": {"pretest": "tsc", "test": "npm run unit", "unit": "node --test"}}`, "npm test --silent", "npm test --silent; tsc; npm run unit; node --test"},
		{"scripts in a circle", `{"scripts": {"test": "npm run a", "a": "npm test"}}`, "npm test --silent", "npm test --silent; npm run a; npm test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{"package.json": &fstest.MapFile{Data: []byte(c.manifest)}}
			s := scan{fsys: fsys, dir: ".", files: []string{"package.json"}}
			j, ok := nodeTests(s, readPackage(s), "npm")
			if !ok || j.command() != c.command || j.speaks != c.speaks {
				t.Errorf("%q speaking %q; want %q, %q", j.command(), j.speaks, c.command, c.speaks)
			}
		})
	}
}
