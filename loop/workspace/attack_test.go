package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// The numbers are those of the attack list in SECURITY.md.

// trap is a program that leaves a trace where it is run.
type trap struct {
	t      *testing.T
	canary string
	path   string
}

func newTrap(t *testing.T) trap {
	t.Helper()
	canary := filepath.Join(t.TempDir(), "canary")
	// A filter that only left a trace would fail and hide what it did.
	return trap{t, canary, script(t, "touch '"+canary+"'\ncat")}
}

func (p trap) check() {
	p.t.Helper()
	if _, err := os.Stat(p.canary); err == nil {
		p.t.Error("a program that the repository names was run on the host")
	}
}

// everything does what a run does to a clone.
func everything(t *testing.T, w *Workspace, r loop.Repo, branch string, prepare func(dir string)) {
	t.Helper()
	c := open(t, w, r, "")
	base := c.Head()
	if prepare != nil {
		prepare(c.Dir())
	}
	writeFile(t, c.Dir(), "changed.txt", "changed\n")
	commit, err := c.Commit(t.Context(), "change")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Diff(t.Context(), base, commit); err != nil {
		t.Fatal(err)
	}
	tree, err := c.Tree(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.History(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if err := c.Restore(t.Context(), base, []string{"changed.txt", "a.txt"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Reset(t.Context(), base, true); err != nil {
		t.Fatal(err)
	}
	if err := c.Reset(t.Context(), commit, false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bundle(t.Context(), base, commit); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fresh(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	if err := w.Push(t.Context(), r, c, commit, branch, ""); err != nil {
		t.Fatal(err)
	}
}

// evilAttributes names drivers for every file.
const evilAttributes = "* filter=evil diff=evil merge=evil ident text=auto eol=crlf\n"

// evilSettings are the keys of git's configuration that name a program.
var evilSettings = map[string][]string{
	"30_fsmonitor": {"core.fsmonitor"},
	"31_filters":   {"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver"},
	"32_programs": {"diff.external", "diff.evil.command", "diff.evil.textconv", "core.sshCommand", "core.gitProxy", "core.pager", "core.editor",
		"credential.helper", "gpg.program", "gpg.ssh.program", "core.alternateRefsCommand", "uploadpack.packObjectsHook", "sequence.editor", "core.askPass"},
}

// TestAttack30To32Configuration opens repositories whose configuration names programs, on the
// user's side and in a worktree that a sandbox wrote.
func TestAttack30To32Configuration(t *testing.T) {
	t.Parallel()
	for name, keys := range evilSettings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := newRepo(t)
			src.write(".gitattributes", evilAttributes)
			src.write("a.txt", "a\n$Id$\n")
			src.commit("a")
			p := newTrap(t)
			for _, key := range keys {
				gitCmd(t, src.dir, "config", key, p.path)
			}
			gitCmd(t, src.dir, "config", "filter.evil.required", "true")
			gitCmd(t, src.dir, "config", "commit.gpgSign", "true")
			gitCmd(t, src.dir, "config", "log.showSignature", "true")
			config := readFile(t, src.dir, ".git/config")
			everything(t, newWorkspace(t, nil), localRepo(src.dir), "fix", func(dir string) {
				// What a sandbox leaves beside the worktree's files is not read either.
				writeFile(t, dir, "config", config)
				writeFile(t, dir, "HEAD", "ref: refs/heads/main\n")
			})
			p.check()
		})
	}
}

func TestAttack31ContentIsByteExact(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	contents := map[string]string{
		"crlf.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\n", "ident.txt": "$Id$ $Id: x $\n", "utf16.txt": "\xff\xfea\x00\n\x00", "bin.dat": "\x00\r\n\xff",
	}
	for path, content := range contents {
		src.write(path, content)
	}
	src.commit("content")
	src.write(".gitattributes", evilAttributes+"* working-tree-encoding=UTF-16\n[attr]binary text\n")
	blob := gitCmd(t, src.dir, "hash-object", "-w", "--no-filters", ".gitattributes")
	gitCmd(t, src.dir, "update-index", "--add", "--cacheinfo", "100644,"+blob+",.gitattributes")
	gitCmd(t, src.dir, "commit", "-q", "-m", "attributes")
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	for path, content := range contents {
		if got := readFile(t, c.Dir(), path); got != content {
			t.Errorf("%s checked out as %q, want %q", path, got, content)
		}
		writeFile(t, c.Dir(), path, content+"\r\n$Id$\n")
	}
	id, err := c.Commit(t.Context(), "more")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := c.Tree(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range contents {
		if got, err := tree.Read(t.Context(), path); err != nil || string(got) != content+"\r\n$Id$\n" {
			t.Errorf("%s committed as %q, %v", path, got, err)
		}
	}
}

func TestAttack33Hooks(t *testing.T) {
	t.Parallel()
	src, _, _ := sample(t)
	src.write("a.txt", "a")
	src.commit("a")
	p := newTrap(t)
	hooks := filepath.Join(src.dir, "evil-hooks")
	for _, dir := range []string{hooks, filepath.Join(src.dir, ".git/hooks")} {
		for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "post-index-change", "pre-push", "pre-receive", "update",
			"post-receive", "post-update", "reference-transaction", "push-to-checkout", "proc-receive", "fsmonitor-watchman", "commit-msg", "prepare-commit-msg", "post-merge", "pre-auto-gc"} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(p.path, filepath.Join(dir, hook)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := newWorkspace(t, nil)
	everything(t, w, localRepo(src.dir), "fix-1", nil)
	gitCmd(t, src.dir, "config", "core.hooksPath", hooks)
	everything(t, w, localRepo(src.dir), "fix-2", nil)
	p.check()
}

// refusesCommit makes a clone, lets a sandbox change it, and wants Commit to refuse and Reset to heal.
func refusesCommit(t *testing.T, want error, change func(dir string)) {
	t.Helper()
	src, _, second := sample(t)
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	change(c.Dir())
	if id, err := c.Commit(t.Context(), "x"); !errors.Is(err, want) {
		t.Errorf("commit %s, %v; want %v", id, err, want)
	}
	if c.Head() != second {
		t.Errorf("head moved to %s", c.Head())
	}
	if err := c.Reset(t.Context(), second, true); err != nil {
		t.Fatal(err)
	}
	want2 := []string{".gitignore", "README.md", "link", "src/", "src/a.go"}
	if got := listWork(t, c.Dir()); !slices.Equal(got, want2) {
		t.Errorf("after the reset %q, want %q", got, want2)
	}
	if id, err := c.Commit(t.Context(), "x"); err != nil || id != second {
		t.Errorf("after the reset: commit %s, %v", id, err)
	}
}

func TestAttack34NestedRepository(t *testing.T) {
	t.Parallel()
	p := newTrap(t)
	refusesCommit(t, ErrNestedRepository, func(dir string) {
		nested := filepath.Join(dir, "src/nested")
		gitCmd(t, "", "init", "-q", nested)
		gitCmd(t, nested, "config", "core.fsmonitor", p.path)
		writeFile(t, nested, "x", "x")
	})
	p.check()
}

func TestAttack34IgnoredRepositoryIsNoReason(t *testing.T) {
	t.Parallel()
	src, _, _ := sample(t)
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	gitCmd(t, "", "init", "-q", filepath.Join(c.Dir(), "out/dependency"))
	writeFile(t, c.Dir(), "out/dependency/x", "x")
	writeFile(t, c.Dir(), "new", "new")
	id, err := c.Commit(t.Context(), "new")
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Diff(t.Context(), c.from.commit, id)
	if err != nil || !slices.Equal(d.Paths(), []string{"new"}) {
		t.Errorf("committed %q, %v", d.Paths(), err)
	}
}

func TestAttack35DotGitReplaced(t *testing.T) {
	t.Parallel()
	p := newTrap(t)
	elsewhere := t.TempDir()
	gitCmd(t, elsewhere, "init", "-q")
	gitCmd(t, elsewhere, "config", "core.fsmonitor", p.path)
	for name, change := range map[string]func(dir string){
		"directory": func(dir string) { gitCmd(t, dir, "init", "-q") },
		"file":      func(dir string) { writeFile(t, dir, ".git", "gitdir: "+elsewhere+"/.git\n") },
		"link": func(dir string) {
			if err := os.Symlink(elsewhere+"/.git", filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
		},
		"file in a directory": func(dir string) { writeFile(t, dir, "src/.git", "gitdir: "+elsewhere+"/.git\n") },
	} {
		t.Run(name, func(t *testing.T) { refusesCommit(t, ErrNestedRepository, change) })
	}
	p.check()
}

func TestAttack36RemoteRewritten(t *testing.T) {
	t.Parallel()
	s, other := newServer(t), newServer(t)
	src, _, _ := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	c := open(t, w, r, "")
	commit := change(t, c, "x")
	// The sandbox plants configuration that sends the server's URL elsewhere.
	config := "[url \"" + other.URL + "\"]\n\tinsteadOf = " + s.URL + "\n\tpushInsteadOf = " + s.URL + "\n[remote \"origin\"]\n\turl = " + other.URL + "/octo/demo.git\n"
	for _, path := range []string{".git/config", ".gitconfig", ".config/git/config", "config"} {
		writeFile(t, c.Dir(), path, config)
	}
	if err := w.Push(t.Context(), r, c, commit, "autocode/1", ""); err != nil {
		t.Fatal(err)
	}
	if n := other.count(""); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
	if got, err := w.RemoteHead(t.Context(), r, "autocode/1"); err != nil || got != commit {
		t.Errorf("the server's branch is at %q, %v", got, err)
	}
}

func TestAttack37Submodules(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	p := newTrap(t)
	sub, _, subCommit := sample(t)
	s.add(t, 9, "sub", sub)
	src.write(".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = ext::"+p.path+"\n\tupdate = checkout\n[submodule \"b\"]\n\tpath = b\n\turl = "+s.URL+"/octo/sub.git\n")
	gitCmd(t, src.dir, "add", ".gitmodules")
	for _, path := range []string{"a", "b"} {
		gitCmd(t, src.dir, "update-index", "--add", "--cacheinfo", "160000,"+subCommit+","+path)
	}
	gitCmd(t, src.dir, "commit", "-q", "-m", "submodules")
	r := s.add(t, 7, "demo", src)
	everything(t, newWorkspace(t, s), r, "autocode/1", func(dir string) { writeFile(t, dir, "a.txt", "a") })
	if n := s.count("sub.git"); n != 0 {
		t.Errorf("%d requests for the submodule", n)
	}
	p.check()
	for name, modules := range map[string]string{
		"url that is an option": "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch\n",
		"name that climbs":      "[submodule \"../../x\"]\n\tpath = x\n\turl = https://example.com/x\n",
	} {
		t.Run(name, func(t *testing.T) {
			evil, _, _ := sample(t)
			evil.write(".gitmodules", modules)
			evil.commit("evil")
			if _, err := newWorkspace(t, s).Open(t.Context(), s.add(t, 20, "evil-"+name[:3], evil), "run-1", ""); err == nil {
				t.Error("fsck let it pass")
			}
		})
	}
	t.Run("carriage return in a path", func(t *testing.T) {
		evil, _, _ := sample(t)
		evil.write(".gitmodules", "[submodule \"x\"]\n\tpath = \"sub\r\"\n\turl = ext::"+p.path+"\n")
		evil.write("a.txt", "a")
		evil.commit("evil")
		everything(t, newWorkspace(t, nil), localRepo(evil.dir), "fix", nil)
		p.check()
	})
}
