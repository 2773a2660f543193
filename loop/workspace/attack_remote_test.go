package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestAttack38URLs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s, func(c *Config) { c.AllowFile = false })
	p := newTrap(t)
	for _, url := range []string{
		"", "-x", "--upload-pack=" + p.path, "ext::" + p.path, "ext::sh -c id", "file://" + src.dir, src.dir, "src", "git@example.com:octo/demo.git",
		"ssh://example.com/octo/demo", "git://example.com/octo/demo", "http://example.com/octo/demo", "https://example.com/octo/demo",
		strings.Replace(s.URL, "http://", "http://user:secret@", 1) + "/octo/demo.git", s.URL + "/octo/../octo/demo.git", s.URL + "/octo/demo.git?x=y",
		s.URL + "/octo/demo.git#x", s.URL + "/octo/de mo.git", s.URL + "/octo/demo%2f.git", s.URL + "/octo/demo\n.git", s.URL + ".evil.example/octo/demo.git",
		strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/octo/demo.git", "HTTP::" + s.URL, "fd::17", "/proc/self/fd/0",
	} {
		bad := r
		bad.CloneURL = url
		if _, err := w.Open(t.Context(), bad, "run-1", ""); err == nil {
			t.Errorf("%q was opened", url)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats a credential: %v", err)
		}
		if _, err := w.RemoteHead(t.Context(), bad, "main"); err == nil {
			t.Errorf("%q was asked for its branches", url)
		}
	}
	for _, rev := range []string{"-x", "--upload-pack=" + p.path, "ext::" + p.path, "refs/heads/main", "main:README.md", "main^{/x}", "a b", "HEAD~1"} {
		if _, err := w.Open(t.Context(), r, "run-1", rev); err == nil {
			t.Errorf("revision %q was opened", rev)
		}
	}
	p.check()
}

func TestAttack39BranchNames(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	c := open(t, w, r, "")
	for _, name := range []string{"autocode/a;b", "autocode/$(id)", "autocode/a\u3000b", "autocode/a@{b", "autocode/a b", "autocode/\x1b[0m", "autocode/../x", "autocode/x:main", "+autocode/x"} {
		if err := w.Push(t.Context(), r, c, c.Head(), name, ""); err == nil || !strings.Contains(err.Error(), "is refused") {
			t.Errorf("push to %q: %v", name, err)
		}
		if _, err := w.RemoteHead(t.Context(), r, name); err == nil {
			t.Errorf("%q was asked for", name)
		}
	}
	if n := s.count("git-receive-pack"); n != 0 {
		t.Errorf("%d push requests reached the server", n)
	}
}

// TestAttack86TokenStaysInside looks, while git talks to the server, at what other users of the
// machine could see and at every file of the workspace.
func TestAttack86TokenStaysInside(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, _, _ := sample(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	secrets := [][]byte{[]byte(testToken), []byte(basicAuth(testToken))}
	seen := 0
	s.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		seen++
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil || len(lines) == 0 {
			t.Error("no command line to look at")
		}
		for _, path := range lines {
			holdsNone(t, path, secrets)
		}
		filesHoldNone(t, w.config.Root, secrets)
		return false
	})
	c := open(t, w, r, "")
	commit := change(t, c, "x")
	if err := w.Push(t.Context(), r, c, commit, "autocode/1", ""); err != nil {
		t.Fatal(err)
	}
	if seen < 4 {
		t.Errorf("only %d requests were looked at", seen)
	}
	// A server that repeats what it was sent.
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "denied: %s %s", testToken, r.Header.Get("Authorization"))
		return true
	})
	_, openErr := w.Open(t.Context(), r, "run-1", "")
	pushErr := w.Push(t.Context(), r, c, commit, "autocode/2", "")
	for _, err := range []error{openErr, pushErr} {
		if !errors.Is(err, loop.ErrNoAccess) {
			t.Errorf("error %v", err)
		}
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		for _, secret := range secrets {
			if strings.Contains(text, string(secret)) {
				t.Errorf("the error holds the token: %s", text)
			}
		}
	}
	filesHoldNone(t, w.config.Root, secrets)
}

func holdsNone(t *testing.T, path string, secrets [][]byte) {
	content, err := os.ReadFile(path)
	if err != nil {
		return // a process or a temporary file that ended meanwhile
	}
	for _, secret := range secrets {
		if bytes.Contains(content, secret) {
			t.Errorf("%s holds the token", path)
		}
	}
}

func filesHoldNone(t *testing.T, dir string, secrets [][]byte) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			holdsNone(t, path, secrets)
		}
		return nil // what vanishes during the walk is no finding
	})
}

func TestAttack104Bombs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	t.Run("pack larger than the mirror's quota", func(t *testing.T) {
		src := newRepo(t)
		noise := make([]byte, 2<<20)
		for i, x := 0, uint64(1); i < len(noise); i++ {
			x = x*6364136223846793005 + 1442695040888963407
			noise[i] = byte(x >> 56)
		}
		src.write("noise", string(noise))
		src.commit("noise")
		w := newWorkspace(t, s, func(c *Config) { c.MaxMirrorBytes = 1 << 20 })
		_, err := w.Open(t.Context(), s.add(t, 30, "noise", src), "run-1", "")
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("small pack, large worktree", func(t *testing.T) {
		src := newRepo(t)
		src.write("zeros", strings.Repeat("0", 8<<20))
		src.commit("zeros")
		w := newWorkspace(t, s, func(c *Config) { c.MaxCloneBytes = 4 << 20 })
		_, err := w.Open(t.Context(), s.add(t, 31, "zeros", src), "run-1", "")
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "MaxCloneBytes") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("tree that stands for ten billion files", func(t *testing.T) {
		src := newRepo(t)
		src.write("f", "x")
		src.commit("f")
		entry := "100644 blob " + gitCmd(t, src.dir, "rev-parse", "HEAD:f")
		for range 10 {
			var entries []string
			for i := range 10 {
				entries = append(entries, fmt.Sprintf("%s\td%d", entry, i))
			}
			entry = "040000 tree " + mktree(t, src.dir, entries...)
		}
		tree := strings.Fields(entry)[2]
		gitCmd(t, src.dir, "update-ref", "refs/heads/main", gitCmd(t, src.dir, "commit-tree", "-m", "bomb", tree))
		w := newWorkspace(t, s)
		_, err := w.Open(t.Context(), s.add(t, 32, "bomb", src), "run-1", "")
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "MaxCloneFiles") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("snapshot larger than a bundle may be", func(t *testing.T) {
		src, _, second := sample(t)
		w := newWorkspace(t, nil, func(c *Config) { c.MaxBundleBytes = 100 })
		c := open(t, w, localRepo(src.dir), "")
		if _, err := c.Bundle(t.Context(), second, change(t, c, "x")); !errors.Is(err, ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
}
