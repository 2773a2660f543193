package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSparsePatterns(t *testing.T) {
	for _, c := range []struct {
		name string
		dirs []string
		want string
	}{
		{"one", []string{"a"}, "/* !/*/ /a/"},
		{"deep", []string{"a/b/c"}, "/* !/*/ /a/ !/a/*/ /a/b/ !/a/b/*/ /a/b/c/"},
		{"one within another", []string{"a/b", "a"}, "/* !/*/ /a/"},
		{"two beside each other, one twice", []string{"x/b", "x/a", "x/b"}, "/* !/*/ /x/ !/x/*/ /x/a/ /x/b/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(strings.Fields(sparsePatterns(c.dirs)), " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestCheckSparse(t *testing.T) {
	for _, dirs := range [][]string{nil, {""}, {"/a"}, {"../a"}, {"a/"}, {"a/*"}, {"a\nb"}, {".git/x"}, {"a", "."}} {
		if err := CheckSparse(dirs); err == nil {
			t.Errorf("%q is accepted", dirs)
		}
	}
	if err := CheckSparse([]string{"services/billing", "libs", "with space"}); err != nil {
		t.Error(err)
	}
}

// TestSparseWorktree: a worktree holds the configured directories only, through every operation, and what
// it does not hold stays as it is in commits.
func TestSparseWorktree(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src := newRepo(t)
	for _, path := range []string{"top.txt", "services/README", "services/billing/main.go", "services/billing/deep/x.go", "services/mail/main.go", "web/app.js", "web/lib/y.js"} {
		src.write(path, path+"\n")
	}
	first := src.commit("first")
	r := s.add(t, 9, "mono", src)
	w := newWorkspace(t, s, func(c *Config) {
		c.Spares = 1
		c.Sparse = map[string][]string{strings.ToUpper(r.FullName()): {"services/billing"}}
		c.MaxCloneFiles = 4 // of the seven
	})
	holdsOnly := func(c *clone, extra ...string) {
		t.Helper()
		want := append([]string{"services/", "services/README", "services/billing/", "services/billing/deep/", "services/billing/deep/x.go", "services/billing/main.go", "top.txt"}, extra...)
		slices.Sort(want)
		if got := listWork(t, c.Dir()); !slices.Equal(got, want) {
			t.Errorf("the worktree holds %q, want %q", got, want)
		}
	}
	names := func(c *clone, commit string) string {
		return gitCmd(t, c.gitDir(), "ls-tree", "-r", "--name-only", commit)
	}
	c := open(t, w, r, "")
	holdsOnly(c)
	if id, err := c.Commit(t.Context(), "nothing"); err != nil || id != first {
		t.Fatalf("a commit of nothing: %s, %v", id, err)
	}
	writeFile(t, c.Dir(), "services/billing/main.go", "changed\n")
	writeFile(t, c.Dir(), "services/billing/new.go", "new\n")
	second, err := c.Commit(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(c, second), strings.Replace(names(c, first), "services/billing/main.go", "services/billing/main.go\nservices/billing/new.go", 1); got != want {
		t.Errorf("the commit has\n%s\nwant\n%s", got, want)
	}
	// A file outside that is written all the same counts, as everywhere.
	writeFile(t, c.Dir(), "web/app.js", "changed\n")
	third, err := c.Commit(t.Context(), "third")
	if err != nil {
		t.Fatal(err)
	}
	if diff := gitCmd(t, c.gitDir(), "diff", "--name-only", second, third); diff != "web/app.js" {
		t.Errorf("the commit changes %q", diff)
	}
	if err := c.Reset(t.Context(), second, true); err != nil {
		t.Fatal(err)
	}
	holdsOnly(c, "services/billing/new.go")
	if err := os.RemoveAll(filepath.Join(c.Dir(), "services")); err != nil {
		t.Fatal(err)
	}
	if err := c.Reset(t.Context(), first, false); err != nil {
		t.Fatal(err)
	}
	holdsOnly(c)
	fresh, err := c.Fresh(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	holdsOnly(fresh.(*clone))
	// A spare of another configuration is not used.
	w.background.Wait()
	w.config.Sparse, w.config.MaxCloneFiles = nil, 100
	if whole := open(t, w, r, ""); len(listWork(t, whole.Dir())) != 13 {
		t.Errorf("the whole worktree holds %q", listWork(t, whole.Dir()))
	}
}
