package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSpares(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, first, second := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s, func(c *Config) { c.Spares = 1 })
	spares := func() []string {
		t.Helper()
		w.background.Wait()
		found, err := filepath.Glob(filepath.Join(w.config.Root, sparesDir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	fromSpare := func(c *clone) bool {
		_, err := os.Stat(filepath.Join(c.dir, spareFile))
		return err == nil
	}
	if c := open(t, w, r, ""); fromSpare(c) || len(spares()) != 1 {
		t.Fatalf("spares %v", spares())
	}
	// At another commit than the spare's: it is brought there, files that are gone included.
	writeFile(t, src.dir, "later", "later")
	third := src.commit("third")
	gitCmd(t, src.dir, "push", "-q", "origin", "main")
	for _, want := range []string{first, third, second} {
		c := open(t, w, r, want)
		if !fromSpare(c) || c.Head() != want {
			t.Errorf("from spare %t, head %s, want %s", fromSpare(c), c.Head(), want)
		}
		files := []string{".gitignore", "README.md", "link", "src/", "src/a.go"}
		if want == third {
			files = slices.Insert(files, 2, "later")
		}
		if got := listWork(t, c.Dir()); !slices.Equal(got, files) {
			t.Errorf("worktree %q, want %q", got, files)
		}
		if id, err := c.Commit(t.Context(), "nothing"); err != nil || id != want {
			t.Errorf("commit of nothing: %s, %v", id, err)
		}
		spares()
	}
	// A spare that was not finished, and one of a mirror that was replaced.
	for _, name := range []string{makingPrefix + "x", "damaged"} {
		if err := os.MkdirAll(filepath.Join(filepath.Dir(spares()[0]), name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Reap(t.Context(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(spares()[0], spareFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	c := open(t, w, r, "")
	if c.Head() != third {
		t.Errorf("head %s", c.Head())
	}
	for _, dir := range spares() {
		if filepath.Base(dir) == makingPrefix+"x" {
			t.Error("an unfinished spare is still there")
		}
	}
}

func TestReap(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	r, other := s.add(t, 7, "demo", src), s.add(t, 8, "other", func() *repo { o, _, _ := sample(t); return o }())
	var root string
	before := newWorkspace(t, s, func(c *Config) { root = c.Root })
	for _, owner := range []string{"dead", "alive"} {
		if _, err := before.Open(t.Context(), r, owner, ""); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := before.Open(t.Context(), other, "dead", ""); err != nil {
		t.Fatal(err)
	} else if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// What kills at other moments leave: a clone without an owner, a half removed one.
	writeFile(t, root, clonesDir+"/half/work/file", "x")
	makeDeep(t, filepath.Join(root, trashDir, "half"), 300)

	// The next process.
	after := newWorkspace(t, s, func(c *Config) { c.Root, c.MaxCacheBytes = root, 1 })
	mine := open(t, after, r, "")
	if err := after.Reap(t.Context(), func(owner string) bool { return owner == "alive" }); err != nil {
		t.Fatal(err)
	}
	var owners []string
	clones, err := filepath.Glob(filepath.Join(root, clonesDir, "*", ownerFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range clones {
		owners = append(owners, readFile(t, filepath.Dir(path), ownerFile))
	}
	slices.Sort(owners)
	if !slices.Equal(owners, []string{"alive", "run-1"}) {
		t.Errorf("clones of %q are left", owners)
	}
	if left, _ := filepath.Glob(filepath.Join(root, trashDir, "*")); len(left) != 0 {
		t.Errorf("trash %v", left)
	}
	// Over the limit: the mirror that nobody borrows from goes, the other one stays.
	mirrors, err := filepath.Glob(filepath.Join(root, mirrorsDir, "*", "*.git"))
	if err != nil || len(mirrors) != 1 || mirrors[0] != mine.from.gitDir {
		t.Errorf("mirrors %v, %v", mirrors, err)
	}
	if change(t, mine, "still-works") == "" {
		t.Error("no commit")
	}
	if c := open(t, after, other, ""); c.Head() == "" {
		t.Error("a dropped mirror cannot be made again")
	}
}
