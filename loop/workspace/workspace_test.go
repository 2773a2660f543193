package workspace

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// sample is a repository with two commits on main and a branch and a tag.
func sample(t testing.TB) (r *repo, first, second string) {
	r = newRepo(t)
	r.write("README.md", "hello\n")
	r.write("src/a.go", "package a\n")
	r.write(".gitignore", "*.log\n/out/\n")
	r.link("link", "README.md")
	first = r.commit("first")
	gitCmd(t, r.dir, "branch", "feature/one")
	gitCmd(t, r.dir, "tag", "-m", "v1", "v1.0.0")
	r.write("src/a.go", "package a\n\nvar x = 1\n")
	second = r.commit("second")
	return r, first, second
}

func readFile(t testing.TB, dir, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// listWork lists everything in a worktree, directories with a slash.
func listWork(t testing.TB, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			rel += "/"
		}
		paths = append(paths, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestOpenRevisions(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, first, second := sample(t)
	remote := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	for _, r := range []loop.Repo{remote, localRepo(src.dir)} {
		for _, c := range []struct{ name, rev, want string }{
			{"default branch", "", second},
			{"branch", "feature/one", first},
			{"annotated tag", "v1.0.0", first},
			{"commit", first, first},
		} {
			t.Run(r.Owner+" "+c.name, func(t *testing.T) {
				clone := open(t, w, r, c.rev)
				if clone.Head() != c.want {
					t.Errorf("head %s, want %s", clone.Head(), c.want)
				}
				if got := readFile(t, clone.Dir(), "README.md"); got != "hello\n" {
					t.Errorf("README.md %q", got)
				}
				if target, err := os.Readlink(filepath.Join(clone.Dir(), "link")); target != "README.md" {
					t.Errorf("link %q, %v", target, err)
				}
				if _, err := os.Lstat(filepath.Join(clone.Dir(), ".git")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the worktree has a .git: %v", err)
				}
				if id, err := clone.Commit(t.Context(), "nothing"); err != nil || id != c.want {
					t.Errorf("commit of nothing: %s, %v", id, err)
				}
			})
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	remote := s.add(t, 7, "demo", src)
	empty := s.add(t, 8, "empty", newRepo(t))
	w := newWorkspace(t, s)
	gone, moved, forbidden, wrongDefault := remote, remote, remote, remote
	gone.CloneURL = s.URL + "/octo/gone.git"
	moved.CloneURL = s.URL + "/octo/moved.git"
	forbidden.CloneURL = s.URL + "/octo/forbidden.git"
	wrongDefault.DefaultBranch = "trunk"
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.Contains(r.URL.Path, "moved"):
			http.Redirect(w, r, s.URL+"/octo/demo.git"+strings.TrimPrefix(r.URL.Path, "/octo/moved.git")+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return true
		case strings.Contains(r.URL.Path, "forbidden"):
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	for _, c := range []struct {
		name string
		repo loop.Repo
		rev  string
		want error
		text string
	}{
		{"empty repository", empty, "", loop.ErrEmptyRepository, "push a first commit"},
		{"empty local repository", localRepo(newRepo(t).dir), "", loop.ErrEmptyRepository, ""},
		{"gone", gone, "", loop.ErrNoAccess, "check the app's installation"},
		{"forbidden", forbidden, "", loop.ErrNoAccess, "check the app's installation"},
		{"moved", moved, "", loop.ErrNoAccess, "renamed or moved"},
		{"unknown branch", remote, "nothing", fs.ErrNotExist, `no branch or tag "nothing"`},
		{"unknown commit", remote, strings.Repeat("1", 40), nil, "which no branch of octo/demo leads to"},
		{"default branch that is not there", wrongDefault, "", fs.ErrNotExist, "trunk"},
		{"unknown local revision", localRepo(src.dir), "nothing", fs.ErrNotExist, ""},
		{"no local repository", localRepo(t.TempDir()), "", nil, "is not a git repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Open(t.Context(), c.repo, "run-1", c.rev)
			if err == nil || (c.want != nil && !errors.Is(err, c.want)) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v\nwant %v with %q", err, c.want, c.text)
			}
			if err != nil && strings.Contains(err.Error(), testToken) {
				t.Error("the error holds the token")
			}
		})
	}
	left, err := os.ReadDir(filepath.Join(w.config.Root, clonesDir))
	if err != nil || len(left) != 0 {
		t.Errorf("refused clones were left behind: %v, %v", left, err)
	}
}

func TestMirrorFetchesOnlyChanges(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, second := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	open(t, w, r, "")
	s.count("")
	open(t, w, r, "")
	// One request for the protocol, one for the branches, none for objects.
	if n := s.count(""); n != 2 {
		t.Errorf("an unchanged repository took %d requests, want 2", n)
	}
	src.write("new", "new")
	third := src.commit("third")
	gitCmd(t, src.dir, "push", "-q", "origin", "main", ":feature/one")
	if got := open(t, w, r, "").Head(); got != third {
		t.Errorf("head %s, want %s", got, third)
	}
	if _, err := w.Open(t.Context(), r, "run-1", "feature/one"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed branch: %v", err)
	}
	// A branch that is rewritten; its old commit is still to be had by its id.
	gitCmd(t, src.dir, "reset", "-q", "--hard", second)
	src.write("other", "other")
	src.commit("rewritten")
	gitCmd(t, src.dir, "push", "-q", "-f", "origin", "main")
	if got := open(t, newWorkspace(t, s), r, third).Head(); got != third {
		t.Errorf("an orphaned commit: %s, want %s", got, third)
	}
}

func TestCommitResetSquashBundle(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, first, second := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	c := open(t, w, r, "")
	writeFile(t, c.Dir(), "src/b.go", "package a\n")
	writeFile(t, c.Dir(), "debug.log", "ignored")
	if err := os.Remove(filepath.Join(c.Dir(), "README.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(c.Dir(), "src/a.go"), 0o755); err != nil {
		t.Fatal(err)
	}
	one, err := c.Commit(t.Context(), "round 1")
	if err != nil || one == second || c.Head() != one {
		t.Fatalf("commit %s, %v", one, err)
	}
	if got := gitCmd(t, c.gitDir(), "log", "-1", "--format=%an <%ae> %ad %s %P", "--date=unix", one); got != "autocode <autocode@users.noreply.github.com> 1700000000 round 1 "+second {
		t.Errorf("commit is %q", got)
	}
	diff, err := c.Diff(t.Context(), second, one)
	if err != nil || !slices.Equal(diff.Paths(), []string{"README.md", "src/a.go", "src/b.go"}) {
		t.Errorf("diff %q, %v", diff.Paths(), err)
	}
	writeFile(t, c.Dir(), "src/c.go", "package a\n")
	two, err := c.Commit(t.Context(), "round 2")
	if err != nil {
		t.Fatal(err)
	}
	bundle1, err := c.Bundle(t.Context(), second, one)
	if err != nil {
		t.Fatal(err)
	}
	bundle2, err := c.Bundle(t.Context(), one, two)
	if err != nil {
		t.Fatal(err)
	}
	if none, err := c.Bundle(t.Context(), two, two); err != nil || none != nil {
		t.Errorf("bundle of nothing: %d bytes, %v", len(none), err)
	}
	squashed, err := c.Squash(t.Context(), second, two, "all")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := c.Diff(t.Context(), two, squashed); err != nil || len(d.Files) != 0 {
		t.Errorf("the squashed tree differs: %v, %v", d.Paths(), err)
	}

	if err := c.Reset(t.Context(), second, true); err != nil {
		t.Fatal(err)
	}
	want := []string{".gitignore", "README.md", "debug.log", "link", "src/", "src/a.go"}
	if got := listWork(t, c.Dir()); !slices.Equal(got, want) {
		t.Errorf("after a reset that keeps ignored files %q, want %q", got, want)
	}
	if err := c.Reset(t.Context(), first, false); err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(p string) bool { return p == "debug.log" })
	if got := listWork(t, c.Dir()); !slices.Equal(got, want) {
		t.Errorf("after a whole reset %q, want %q", got, want)
	}

	other := open(t, newWorkspace(t, s), r, two, bundle1, nil, bundle2)
	if other.Head() != two || readFile(t, other.Dir(), "src/c.go") != "package a\n" {
		t.Errorf("bundles did not restore %s", two)
	}
	fresh, err := other.Fresh(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Diff(t.Context(), second, one); err != nil {
		t.Errorf("a fresh clone needs the one that it was made of: %v", err)
	}
	if _, err := w.Open(t.Context(), r, "run-1", two, bundle2); err == nil {
		t.Error("a bundle was accepted without the one that it builds on")
	}
	if _, err := w.Open(t.Context(), r, "run-1", two, []byte("PACK")); err == nil {
		t.Error("bytes that are no bundle were accepted")
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	src, first, second := sample(t)
	w := newWorkspace(t, nil)
	c := open(t, w, localRepo(src.dir), "")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	// The directory of a file to restore was replaced by a link to the outside.
	if err := os.RemoveAll(filepath.Join(c.Dir(), "src")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(c.Dir(), "src")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, c.Dir(), "added\nby sandbox", "x")
	if err := os.Remove(filepath.Join(c.Dir(), "README.md")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, c.Dir(), "README.md/now/a/directory/x", "x")
	if err := c.Restore(t.Context(), first, []string{"src/a.go", "added\nby sandbox", "README.md", "link", "nowhere/x"}); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, c.Dir(), "src/a.go"); got != "package a\n" {
		t.Errorf("src/a.go %q", got)
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("wrote through a link: %v", left)
	}
	want := []string{".gitignore", "README.md", "link", "src/", "src/a.go"}
	if got := listWork(t, c.Dir()); !slices.Equal(got, want) {
		t.Errorf("worktree %q, want %q", got, want)
	}
	if err := c.Restore(t.Context(), second, []string{"src"}); err != nil {
		t.Fatal(err)
	}
	if id, err := c.Commit(t.Context(), "same"); err != nil || id != second {
		t.Errorf("everything restored, but commit gives %s, %v", id, err)
	}
	for _, bad := range []string{"../x", "/etc/passwd", "a/../../x", ".git/config", "x/.GIT/y", ".", "", "a//b"} {
		if err := c.Restore(t.Context(), first, []string{bad}); err == nil {
			t.Errorf("restore of %q was accepted", bad)
		}
	}
}
