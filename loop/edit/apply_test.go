package edit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/edit"
)

// files is a small tree: path → content.
type files map[string]string

// plant writes a tree and returns its directory.
func plant(t testing.TB, tree files) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range tree {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// harvest reads the tree below dir.
func harvest(t testing.TB, dir string) files {
	t.Helper()
	tree := files{}
	err := filepath.WalkDir(dir, func(at string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, at)
		tree[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func apply(t testing.TB, dir, reply string, options edit.Options) edit.Result {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	result, err := edit.Apply(context.Background(), root, []byte(reply), options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func sameTree(t testing.TB, got, want files) {
	t.Helper()
	for name, content := range want {
		if g, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		} else if g != content {
			t.Errorf("%s is\n%q\nwant\n%q", name, g, content)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there and should not be", name)
		}
	}
}

// options shortens the calls.
type options = edit.Options

// scenario is one reply on one tree. Without after the tree must stay as it is. want holds what was applied, as
// "op path match line", or the errors, as "error kind block path", joined by "; ".
type scenario struct {
	before files
	reply  string
	after  files
	want   string
	says   string // a part of the first error's message
}

func outcome(r edit.Result) string {
	var parts []string
	for _, a := range r.Applied {
		parts = append(parts, fmt.Sprintf("%s %s %s %d", a.Op, a.Path, a.Match, a.Line))
	}
	for _, e := range r.Errors {
		parts = append(parts, fmt.Sprintf("error %s %d %s", e.Kind, e.Block, e.Path))
	}
	return strings.Join(parts, "; ")
}

func runScenarios(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, s.before)
			dry := apply(t, dir, s.reply, edit.Options{DryRun: true})
			sameTree(t, harvest(t, dir), s.before)
			result := apply(t, dir, s.reply, edit.Options{})
			if got := outcome(result); got != s.want {
				t.Errorf("outcome %q, want %q\n%s", got, s.want, result.Text())
			}
			if outcome(dry) != outcome(result) {
				t.Errorf("the dry run says %q, the run %q", outcome(dry), outcome(result))
			}
			if s.says != "" && (len(result.Errors) == 0 || !strings.Contains(result.Errors[0].Message, s.says)) {
				t.Errorf("errors %+v, want one that says %q", result.Errors, s.says)
			}
			after := s.after
			if after == nil {
				after = s.before
			}
			sameTree(t, harvest(t, dir), after)
		})
	}
}

// block writes a block in the plain form.
func block(path, search, replace string) string {
	return path + "\n<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n"
}
