package workspace

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// rawObject stores an object that git itself would not make.
func rawObject(t *testing.T, dir, kind, content string) string {
	t.Helper()
	cmd := exec.Command("git", "hash-object", "-t", kind, "-w", "--literally", "--stdin")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(content)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("hash-object: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// rawTree is a tree object with one entry.
func rawTree(t *testing.T, dir, mode, name, blob string) string {
	t.Helper()
	id, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	return rawObject(t, dir, "tree", mode+" "+name+"\x00"+string(id))
}

func TestFsckOfTransfers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const plain = "A U Thor <a@example.com> 1000000000 +0000"
	for i, c := range []struct {
		name, author, mode, file, tag string
		ok                            bool
	}{
		{name: "sound", ok: true},
		{name: "no space before the date", author: "A U Thor <a@example.com>1000000000 +0000", ok: true},
		{name: "bad time zone", author: "A U Thor <a@example.com> 1000000000 +051800", ok: true},
		{name: "bad date", author: "A U Thor <a@example.com> yesterday +0000", ok: true},
		{name: "date beyond the end of time", author: "A U Thor <a@example.com> 99999999999999999999 +0000", ok: true},
		{name: "zero-padded date", author: "A U Thor <a@example.com> 01000000000 +0000", ok: true},
		{name: "no mail address", author: "A U Thor 1000000000 +0000", ok: true},
		{name: "no name", author: "<a@example.com> 1000000000 +0000", ok: true},
		{name: "no space before the mail address", author: "A U Thor<a@example.com> 1000000000 +0000", ok: true},
		{name: "zero-padded file mode", mode: "0100644", ok: true},
		{name: "tag without a tagger", tag: "type commit\ntag v1\n\nv1\n", ok: true},
		{name: "tree with .git", file: ".git"},
		{name: "tree with .GIT", file: ".GIT"},
		{name: "tree with a slash", file: "a/b"},
		{name: "tree with dot dot", file: ".."},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := newRepo(t)
			setDefault(&c.author, plain)
			setDefault(&c.mode, "100644")
			setDefault(&c.file, "file")
			blob := rawObject(t, src.dir, "blob", "content")
			tree := rawTree(t, src.dir, c.mode, c.file, blob)
			commit := rawObject(t, src.dir, "commit", fmt.Sprintf("tree %s\nauthor %s\ncommitter %s\n\nold\n", tree, c.author, plain))
			gitCmd(t, src.dir, "update-ref", "refs/heads/main", commit)
			if c.tag != "" {
				gitCmd(t, src.dir, "update-ref", "refs/tags/v1", rawObject(t, src.dir, "tag", "object "+commit+"\n"+c.tag))
			}
			w := newWorkspace(t, s)
			clone, err := w.Open(t.Context(), s.add(t, int64(100+i), fmt.Sprintf("fsck-%d", i), src), "run-1", "")
			if (err == nil) != c.ok {
				t.Fatalf("error %v, want accepted %t", err, c.ok)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "git fsck") {
					t.Errorf("the error does not say what to do: %v", err)
				}
				return
			}
			tree2, err := clone.Tree(t.Context(), clone.Head())
			if err != nil {
				t.Fatal(err)
			}
			if history, err := tree2.History(t.Context(), 5); err != nil || len(history) != 1 {
				t.Errorf("history %v, %v", history, err)
			}
			if files, err := tree2.Files(t.Context()); err != nil || files[0].Mode != loop.ModeRegular {
				t.Errorf("files %v, %v", files, err)
			}
			if err := clone.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// overwrite replaces a read-only file.
func overwrite(t *testing.T, pattern string, change func(old []byte) []byte) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	for _, path := range paths {
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if b := change(old); b != nil {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCorruptedMirrorIsRebuilt(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, second := sample(t)
	src.write("large", strings.Repeat("a line of some length\n", 5000))
	third := src.commit("third")
	r := s.add(t, 7, "demo", src)
	garbage := func(old []byte) []byte { return bytes.Repeat([]byte("x"), len(old)) }
	gone := func([]byte) []byte { return nil }
	for _, c := range []struct {
		name, pattern string
		change        func([]byte) []byte
	}{
		{"packs gone", "objects/pack/*", gone},
		{"pack gone", "objects/pack/*.pack", gone},
		{"pack is garbage", "objects/pack/*.pack", garbage},
		{"pack cut off", "objects/pack/*.pack", func(old []byte) []byte { return old[:len(old)/2] }},
		{"a bit of the pack flipped", "objects/pack/*.pack", func(old []byte) []byte { old[len(old)*2/3] ^= 0x10; return old }},
		{"index of the pack is garbage", "objects/pack/*.idx", garbage},
		{"configuration is garbage", "config", garbage},
		{"HEAD gone", "HEAD", gone},
		{"HEAD empty", "HEAD", func([]byte) []byte { return []byte{} }},
		{"list of refs gone", refsFile, gone},
	} {
		for _, changed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, remote changed %t", c.name, changed), func(t *testing.T) {
				w := newWorkspace(t, s)
				first, err := w.Open(t.Context(), r, "run-1", "")
				if err != nil {
					t.Fatal(err)
				}
				dir := first.(*clone).from.gitDir
				if err := first.Close(); err != nil {
					t.Fatal(err)
				}
				overwrite(t, filepath.Join(dir, c.pattern), c.change)
				if changed {
					if err := writeFileAtomic(filepath.Join(dir, refsFile), []byte(second+"\trefs/heads/main\n")); err != nil {
						t.Fatal(err)
					}
				}
				again, err := w.Open(t.Context(), r, "run-1", "")
				if err != nil {
					t.Fatal(err)
				}
				if again.Head() != third || readFile(t, again.Dir(), "README.md") != "hello\n" {
					t.Errorf("head %s", again.Head())
				}
				if err := again.Close(); err != nil {
					t.Error(err)
				}
				if err := w.Reap(t.Context(), func(string) bool { return false }); err != nil {
					t.Error(err)
				}
				if left, _ := filepath.Glob(filepath.Join(w.config.Root, mirrorsDir, "*", "*.git")); len(left) != 1 {
					t.Errorf("mirrors left: %v", left)
				}
			})
		}
	}
}

func TestKilledFetchLeavesUsableMirror(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, second := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	posts := 0
	s.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		// git asks for the branches by one POST, and again before it asks for the objects.
		if r.Method == http.MethodPost {
			posts++
		}
		if posts < 3 {
			return false
		}
		// The server notices that the client is gone only after it has read all of the request.
		_, _ = io.Copy(io.Discard, r.Body)
		cancel(killed)
		<-r.Context().Done()
		return true
	})
	if _, err := w.Open(ctx, r, "run-1", ""); !errors.Is(err, killed) {
		t.Fatalf("error %v, want that of the one who cancelled", err)
	}
	s.intercept(nil)
	mirrors, err := filepath.Glob(filepath.Join(w.config.Root, mirrorsDir, "*", "*.git"))
	if err != nil || len(mirrors) != 1 {
		t.Fatalf("mirrors %v, %v", mirrors, err)
	}
	// What a fetch that was killed at other moments leaves.
	stale := []string{"objects/pack/tmp_pack_1", "objects/pack/tmp_idx_1", "refs/heads/main.lock", "packed-refs.lock", "HEAD.lock", "config.lock", "shallow.lock"}
	for _, path := range stale {
		writeFile(t, mirrors[0], path, "partial")
	}
	c := open(t, w, r, "")
	if c.Head() != second || c.from.gitDir != mirrors[0] {
		t.Errorf("head %s in %s", c.Head(), c.from.gitDir)
	}
	for _, path := range stale {
		if _, err := os.Stat(filepath.Join(mirrors[0], path)); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestManyFetchesJoinPacks(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	first := open(t, w, r, "")
	base := first.Head()
	var head string
	for i := range maxPacks + 2 {
		src.write("counter", fmt.Sprint(i))
		head = src.commit("count")
		gitCmd(t, src.dir, "push", "-q", "origin", "main")
		c, err := w.Open(t.Context(), r, "run-1", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(first.from.objects, "pack", "*.pack"))
	if err != nil || len(packs) > maxPacks/2 {
		t.Errorf("%d packs, %v", len(packs), err)
	}
	if got := open(t, w, r, "").Head(); got != head {
		t.Errorf("head %s, want %s", got, head)
	}
	if err := first.Reset(t.Context(), base, false); err != nil {
		t.Errorf("a clone lost its objects: %v", err)
	}
}

func TestConcurrentClones(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s, func(c *Config) { c.Spares = 2 })
	const runs = 8
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			err := func() error {
				c, err := w.Open(t.Context(), r, fmt.Sprint("run-", i), "")
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(c.Dir(), "mine"), []byte(fmt.Sprint(i)), 0o644); err != nil {
					return err
				}
				id, err := c.Commit(t.Context(), "mine")
				if err != nil {
					return err
				}
				return errors.Join(w.Push(t.Context(), r, c, id, fmt.Sprint("autocode/", i), ""), c.Close())
			}()
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	refs := gitCmd(t, filepath.Join(s.root, "octo/demo.git"), "for-each-ref", "--format=%(objectname)", "refs/heads/autocode")
	seen := map[string]bool{}
	for id := range strings.Lines(refs) {
		seen[id] = true
	}
	if len(seen) != runs {
		t.Errorf("%d different commits on the server, want %d", len(seen), runs)
	}
}

func TestLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockFile(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock that is held: %v", err)
	}
	// A child that inherited the file keeps the lock after its parent is gone.
	cmd := exec.Command("cat")
	cmd.ExtraFiles = []*os.File{first}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(ctx, path); err == nil {
		t.Error("the lock of a living child was given away")
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	again, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
