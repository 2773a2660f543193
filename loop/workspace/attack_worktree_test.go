package workspace

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestAttack40LinkIsNotRead(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	src.link("AGENTS.md", "/etc/passwd")
	src.link("dir", "/etc")
	src.commit("links")
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	tree, err := c.Tree(t.Context(), c.Head())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"AGENTS.md", "dir/passwd", "dir"} {
		if content, err := tree.Read(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %q, %v", path, content, err)
		}
	}
}

func TestAttack41LinkedDirectory(t *testing.T) {
	t.Parallel()
	src, _, second := sample(t)
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	outside := t.TempDir()
	writeFile(t, outside, "a.go", "package outside\n")
	writeFile(t, outside, "mine", "mine\n")
	swap := func() {
		if err := os.RemoveAll(filepath.Join(c.Dir(), "src")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(c.Dir(), "src")); err != nil {
			t.Fatal(err)
		}
	}
	swap()
	id, err := c.Commit(t.Context(), "linked")
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Diff(t.Context(), second, id)
	if err != nil || !slices.Equal(d.Paths(), []string{"src", "src/a.go"}) || d.Files[0].NewMode != loop.ModeSymlink {
		t.Errorf("committed %+v, %v", d.Files, err)
	}
	for _, keep := range []bool{true, false} {
		if err := c.Reset(t.Context(), second, keep); err != nil {
			t.Fatal(err)
		}
		swap()
	}
	if err := c.Restore(t.Context(), second, []string{"src/a.go"}); err != nil {
		t.Fatal(err)
	}
	// The directory itself is moved away and linked to: git sees the very files that it wrote.
	for _, keep := range []bool{true, false} {
		if err := c.Reset(t.Context(), second, keep); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(c.Dir(), "src"), filepath.Join(c.Dir(), "moved")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("moved", filepath.Join(c.Dir(), "src")); err != nil {
			t.Fatal(err)
		}
		if err := c.Reset(t.Context(), second, keep); err != nil {
			t.Fatal(err)
		}
		want := []string{".gitignore", "README.md", "link", "src/", "src/a.go"}
		if got := listWork(t, c.Dir()); !slices.Equal(got, want) {
			t.Errorf("worktree %q, want %q", got, want)
		}
	}
	if got := listWork(t, outside); !slices.Equal(got, []string{"a.go", "mine"}) || readFile(t, outside, "a.go") != "package outside\n" {
		t.Errorf("the link was followed: %q", got)
	}
}

func TestAttack42PipesAndDevices(t *testing.T) {
	t.Parallel()
	src, _, second := sample(t)
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	if err := syscall.Mkfifo(filepath.Join(c.Dir(), "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(c.Dir(), "README.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(c.Dir(), "README.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	// A device needs privileges; where they lack, a sandbox cannot make one either.
	_ = syscall.Mknod(filepath.Join(c.Dir(), "zero"), syscall.S_IFCHR|0o644, 1<<8|5)
	id, err := c.Commit(t.Context(), "pipes")
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Diff(t.Context(), second, id)
	if err != nil || len(d.Files) != 1 || d.Files[0].Path != "README.md" || d.Files[0].Op != loop.OpDelete {
		t.Errorf("committed %+v, %v", d.Files, err)
	}
	if err := c.Reset(t.Context(), second, false); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, c.Dir(), "README.md"); got != "hello\n" {
		t.Errorf("README.md %q", got)
	}
}

func TestAttack43ModesAreSeen(t *testing.T) {
	t.Parallel()
	src, _, second := sample(t)
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	if err := os.Symlink("/etc/passwd", filepath.Join(c.Dir(), "new-link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(c.Dir(), "README.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	id, err := c.Commit(t.Context(), "modes")
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Diff(t.Context(), second, id)
	if err != nil || len(d.Files) != 2 || d.Files[0].NewMode != loop.ModeExecutable || d.Files[1].NewMode != loop.ModeSymlink {
		t.Errorf("diff %+v, %v", d.Files, err)
	}
}

func TestAttack44LFS(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12\n"
	src.write(".lfsconfig", "[lfs]\n\turl = "+s.URL+"/lfs\n")
	src.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	src.write("a.bin", pointer)
	src.commit("lfs")
	w := newWorkspace(t, s)
	r := s.add(t, 7, "demo", src)
	everything(t, w, r, "autocode/1", nil)
	if n := s.count("lfs"); n != 0 {
		t.Errorf("%d requests for LFS", n)
	}
	if got := readFile(t, open(t, w, r, "").Dir(), "a.bin"); got != pointer {
		t.Errorf("the pointer became %q", got)
	}
}

func TestAttack45Spellings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".GIT", ".Git", "git~1", "GIT~1", ".g\u200cit", ".gi\ufefft", ".git ", ".git.", ".git. .", ".git::$INDEX_ALLOCATION", ".git\\config"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusesCommit(t, ErrNestedRepository, func(dir string) { writeFile(t, dir, name+"/config", "[core]\n") })
			if err := checkPath("src/" + name + "/config"); err == nil {
				t.Error("accepted as a path")
			}
			// A commit that holds it, made by plumbing that checks nothing.
			src, _, _ := sample(t)
			blob := gitCmd(t, src.dir, "hash-object", "-w", "README.md")
			evil := mktree(t, src.dir, "040000 tree "+mktree(t, src.dir, "100644 blob "+blob+"\tconfig")+"\t"+name)
			gitCmd(t, src.dir, "update-ref", "refs/heads/main", gitCmd(t, src.dir, "commit-tree", "-m", "evil", evil))
			w := newWorkspace(t, nil)
			if _, err := w.Open(t.Context(), localRepo(src.dir), "run-1", "main"); err == nil {
				t.Error("a commit that holds it was checked out")
			}
		})
	}
	for _, name := range []string{".gitignore", ".github", "git", "x.git", ".gitmodules", "git~2", "..git", ".g"} {
		if isDotGit(name) {
			t.Errorf("%q was taken for .git", name)
		}
	}
}

func mktree(t *testing.T, dir string, entries ...string) string {
	t.Helper()
	cmd := exec.Command("git", "mktree", "-z", "--missing")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(entries, "\x00") + "\x00")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mktree: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestAttack46EmbeddedBareRepository(t *testing.T) {
	t.Parallel()
	src, _, _ := sample(t)
	p := newTrap(t)
	embedded := filepath.Join(src.dir, "src/embedded")
	gitCmd(t, "", "init", "-q", "--bare", embedded)
	gitCmd(t, embedded, "config", "core.fsmonitor", p.path)
	gitCmd(t, embedded, "config", "core.worktree", "..")
	writeFile(t, embedded, "objects/keep", "")
	writeFile(t, embedded, "refs/keep", "")
	src.write("a.txt", "a")
	src.commit("embedded")
	everything(t, newWorkspace(t, nil), localRepo(src.dir), "fix", nil)
	p.check()
}

// TestAttack73HostileWorktree lets a sandbox make a worktree that is hard to remove.
func TestAttack73HostileWorktree(t *testing.T) {
	t.Parallel()
	src, _, second := sample(t)
	w := newWorkspace(t, nil)
	c := open(t, w, localRepo(src.dir), "")
	outside := t.TempDir()
	writeFile(t, outside, "precious", "precious")
	hostile := func() {
		t.Helper()
		makeDeep(t, filepath.Join(c.Dir(), "deep"), 10_000)
		writeFile(t, c.Dir(), "closed/inner/file", "x")
		writeFile(t, c.Dir(), "out/cache/file", "x")
		for path, target := range map[string]string{"to-dir": outside, "to-file": filepath.Join(outside, "precious"), "closed/to-dir": outside, "out/to-dir": outside} {
			if err := os.Symlink(target, filepath.Join(c.Dir(), path)); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"closed/inner", "closed", "out/cache", "src"} {
			if err := os.Chmod(filepath.Join(c.Dir(), path), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, keep := range []bool{true, false} {
		if err := c.Reset(t.Context(), second, false); err != nil {
			t.Fatal(err)
		}
		hostile()
		if _, err := c.Commit(t.Context(), "x"); !errors.Is(err, ErrTooLarge) {
			t.Errorf("commit of a tree of 10,000 levels: %v", err)
		}
		if err := c.Reset(t.Context(), second, keep); err != nil {
			t.Fatal(err)
		}
		want := []string{".gitignore", "README.md", "link", "src/", "src/a.go"}
		if keep {
			want = []string{".gitignore", "README.md", "link", "out/", "out/cache/", "out/cache/file", "out/to-dir", "src/", "src/a.go"}
		}
		if got := listWork(t, c.Dir()); !slices.Equal(got, want) {
			t.Errorf("keep %t: %q, want %q", keep, got, want)
		}
	}
	hostile()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(c.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the clone is still there: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(w.config.Root, trashDir))
	if err != nil || len(left) != 0 {
		t.Errorf("%d entries left in the trash, %v", len(left), err)
	}
	if readFile(t, outside, "precious") != "precious" {
		t.Error("a link was followed")
	}
}

// makeDeep nests directories beyond what a path can name.
func makeDeep(t *testing.T, dir string, levels int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range levels {
		if err := at.Mkdir("d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := at.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		_ = at.Close()
		at = next
	}
	_ = at.Close()
}
