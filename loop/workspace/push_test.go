package workspace

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// change commits one new file in a clone.
func change(t testing.TB, c *clone, path string) string {
	t.Helper()
	writeFile(t, c.Dir(), path, path+"\n")
	id, err := c.Commit(t.Context(), "add "+path)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPushRemote(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, second := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	c := open(t, w, r, "")
	one := change(t, c, "one")
	two := change(t, c, "two")
	rewritten, err := c.Squash(t.Context(), second, two, "squashed")
	if err != nil {
		t.Fatal(err)
	}
	const branch = "autocode/1-fix"
	push := func(commit, expect string, want error) {
		t.Helper()
		if err := w.Push(t.Context(), r, c, commit, branch, expect); !errors.Is(err, want) {
			t.Fatalf("push: %v, want %v", err, want)
		}
	}
	head := func(want string) {
		t.Helper()
		if got, err := w.RemoteHead(t.Context(), r, branch); err != nil || got != want {
			t.Fatalf("remote head %q, %v; want %q", got, err, want)
		}
	}
	head("")
	push(one, second, loop.ErrHeadMoved) // expected to exist
	head("")
	push(one, "", nil)
	head(one)
	push(one, "", nil) // a restart repeats it
	push(two, "", loop.ErrHeadMoved)
	head(one)
	push(two, one, nil)
	push(rewritten, two, nil) // autocode's own branch may be rewritten
	head(rewritten)
	// A person pushes to the branch meanwhile.
	gitCmd(t, src.dir, "fetch", "-q", "origin", branch)
	gitCmd(t, src.dir, "checkout", "-q", "FETCH_HEAD")
	src.write("person", "person")
	theirs := src.commit("a person's commit")
	gitCmd(t, src.dir, "push", "-q", "origin", "HEAD:refs/heads/"+branch)
	push(two, rewritten, loop.ErrHeadMoved)
	head(theirs)
	// A longer name that ends with the branch's is not the branch.
	gitCmd(t, src.dir, "push", "-q", "origin", "HEAD:refs/heads/other/refs/heads/autocode/2")
	if got, err := w.RemoteHead(t.Context(), r, "autocode/2"); err != nil || got != "" {
		t.Errorf("remote head of a branch that does not exist: %q, %v", got, err)
	}
	for _, c2 := range []struct{ name, branch, commit string }{
		{"default branch", "main", two},
		{"somebody's branch", "feature/one", two},
		{"prefix alone", "autocode", two},
		{"abbreviated commit", branch, two[:12]},
		{"unknown commit", branch, strings.Repeat("1", 40)},
		{"refspec", branch, two + ":refs/heads/main"},
	} {
		t.Run(c2.name, func(t *testing.T) {
			if err := w.Push(t.Context(), r, c, c2.commit, c2.branch, ""); err == nil {
				t.Error("was accepted")
			}
		})
	}
	if got, err := w.RemoteHead(t.Context(), r, "main"); err != nil || got != second {
		t.Errorf("main is at %q, %v", got, err)
	}
}

func TestPushRejectedByServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	r := s.add(t, 7, "demo", src)
	hook := filepath.Join(s.root, "octo/demo.git/hooks/pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho protected branch rules >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t, s)
	c := open(t, w, r, "")
	err := w.Push(t.Context(), r, c, change(t, c, "x"), "autocode/1", "")
	if !errors.Is(err, loop.ErrNoAccess) || errors.Is(err, loop.ErrHeadMoved) || !strings.Contains(err.Error(), "pre-receive hook declined") {
		t.Errorf("error %v", err)
	}
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.RawQuery+r.URL.Path, "git-receive-pack") {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	if err := w.Push(t.Context(), r, c, c.Head(), "autocode/1", ""); !errors.Is(err, loop.ErrNoAccess) {
		t.Errorf("an archived repository: %v", err)
	}
}

func TestPushLocal(t *testing.T) {
	t.Parallel()
	src, first, second := sample(t)
	src.write("uncommitted", "the user's own")
	gitCmd(t, src.dir, "add", "uncommitted")
	index := readFile(t, src.dir, ".git/index")
	w := newWorkspace(t, nil)
	r := localRepo(src.dir)
	c := open(t, w, r, "")
	one := change(t, c, "one")
	if err := w.Push(t.Context(), r, c, one, "fix-it", ""); err != nil {
		t.Fatal(err)
	}
	if got, err := w.RemoteHead(t.Context(), r, "fix-it"); err != nil || got != one {
		t.Errorf("branch is at %q, %v", got, err)
	}
	gitCmd(t, src.dir, "fsck", "--strict")
	two := change(t, c, "two")
	if err := w.Push(t.Context(), r, c, two, "fix-it", ""); !errors.Is(err, loop.ErrHeadMoved) {
		t.Errorf("wrong expectation: %v", err)
	}
	if err := w.Push(t.Context(), r, c, two, "fix-it", one); err != nil {
		t.Errorf("fast-forward: %v", err)
	}
	squashed, err := c.Squash(t.Context(), second, two, "squashed")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Push(t.Context(), r, c, squashed, "fix-it", two); err == nil {
		t.Error("a branch of the user's was rewritten")
	}
	if err := w.Push(t.Context(), r, c, two, "main", second); err == nil || !strings.Contains(err.Error(), "checked out") {
		t.Errorf("the branch that is checked out: %v", err)
	}
	gitCmd(t, src.dir, "worktree", "add", "-q", filepath.Join(t.TempDir(), "wt"), "feature/one")
	if err := w.Push(t.Context(), r, c, two, "feature/one", first); err == nil || !strings.Contains(err.Error(), "checked out") {
		t.Errorf("a branch that is checked out in another worktree: %v", err)
	}
	if readFile(t, src.dir, ".git/index") != index || gitCmd(t, src.dir, "rev-parse", "HEAD") != second {
		t.Error("the user's index or HEAD was touched")
	}
	if _, err := os.Stat(filepath.Join(src.dir, "one")); err == nil {
		t.Error("the user's worktree was touched")
	}
}

// TestBranchNames compares the rules with git's own: what is accepted here git accepts, too.
func TestBranchNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"main", true}, {"autocode/12-fix-the-parser", true}, {"feature/äöü", true}, {"release-1.2", true}, {"user@host", true},
		{"dependabot/npm_and_yarn/@types/node-20.1.0", true}, {"a+b=c,d%20#1", true}, {"修正/分頁", true},
		{"", false}, {"-x", false}, {"--upload-pack=x", false}, {"a b", false}, {"a;b", false}, {"$(id)", false}, {"a`b`", false},
		{"a\u3000b", false}, {"a@{1}", false}, {"@", false}, {"HEAD", false}, {"refs/heads/x", false}, {"a..b", false}, {"a//b", false},
		{"/a", false}, {"a/", false}, {"a.lock", false}, {"a.lock/b", false}, {".a", false}, {"a/.b", false}, {"a.", false}, {"a:b", false},
		{"a^b", false}, {"a~b", false}, {"a?b", false}, {"a*b", false}, {"a[b", false}, {`a\b`, false}, {"a\nb", false}, {"a\x00b", false},
		{"a\u200bb", false}, {"a\u202eb", false}, {"a\xffb", false}, {"ext::sh", false}, {strings.Repeat("a", 201), false},
		{"a|b", false}, {"a&b", false}, {"a'b", false}, {`a"b`, false}, {"a<b", false}, {"a(b)", false}, {"a!b", false}, {"{a}", false},
	} {
		if err := checkBranch(c.name); (err == nil) != c.ok {
			t.Errorf("%q: %v, want accepted %t", c.name, err, c.ok)
		}
		if c.ok {
			if err := exec.Command("git", "check-ref-format", "--branch", c.name).Run(); err != nil {
				t.Errorf("git refuses %q", c.name)
			}
		}
	}
}

func FuzzCheckBranch(f *testing.F) {
	f.Add("autocode/1-x")
	f.Add("a@{1}")
	f.Fuzz(func(t *testing.T, name string) {
		if checkBranch(name) == nil && (strings.ContainsAny(name, " ;$`\\~^:?*[\x00\n{}|&<>()'\"!") || strings.HasPrefix(name, "-") || strings.Contains(name, "..")) {
			t.Errorf("%q was accepted", name)
		}
	})
}
