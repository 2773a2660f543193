package workspace

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// The size of the repository that the figures are about: 20,000 files and 10,000 commits.
const (
	benchFiles   = 20_000
	benchCommits = 10_000
)

// generated makes a large bare repository by git fast-import and returns its directory.
func generated(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "large.git")
	gitCmd(b, "", "init", "-q", "--bare", "-b", "main", dir)
	var in bytes.Buffer
	path := func(i int) string { return fmt.Sprintf("dir%02d/sub%02d/file%d.go", i%40, i/40%25, i) }
	commit := func(n int, from string) {
		fmt.Fprintf(&in, "commit refs/heads/main\nmark :%d\ncommitter Tess Tester <tess@example.com> %d +0000\ndata 8\ncommit\n\n%s", n, 1_500_000_000+n*60, from)
	}
	file := func(i, version int) {
		text := fmt.Sprintf("package p%d\n\n// version %d\n%s", i, version, strings.Repeat(fmt.Sprintf("func f%d() { println(%d) }\n", i, i), 40))
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path(i), len(text), text)
	}
	commit(1, "")
	for i := range benchFiles {
		file(i, 0)
	}
	for n := 2; n <= benchCommits; n++ {
		commit(n, fmt.Sprintf("from :%d\n", n-1))
		file(n*7%benchFiles, n)
	}
	cmd := exec.Command("git", "-C", dir, "fast-import", "--quiet")
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("fast-import: %v %s", err, out)
	}
	return dir
}

// BenchmarkWorkspace compares, on one repository and in one run, what autocode does with what plain
// git does. The ratios count, not the figures.
func BenchmarkWorkspace(b *testing.B) {
	s := newServer(b)
	dir := generated(b)
	served := filepath.Join(s.root, "octo", "large.git")
	gitCmd(b, "", "clone", "-q", "--bare", dir, served)
	remote := loop.Repo{ID: 1, Owner: "octo", Name: "large", CloneURL: s.URL + "/octo/large.git", DefaultBranch: "main"}

	b.Run("ready/git clone --depth 1", func(b *testing.B) {
		for b.Loop() {
			gitCmd(b, "", "clone", "-q", "--depth", "1", "file://"+dir, filepath.Join(b.TempDir(), "clone"))
		}
	})
	ready := func(spares int) func(b *testing.B) {
		return func(b *testing.B) {
			w := newWorkspace(b, s, func(c *Config) { c.Spares = spares })
			open(b, w, remote, "")
			w.background.Wait()
			for b.Loop() {
				c, err := w.Open(b.Context(), remote, "run-1", "")
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				w.background.Wait()
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		}
	}
	b.Run("ready/warm with a spare", ready(1))
	b.Run("ready/warm without a spare", ready(0))

	plain := filepath.Join(b.TempDir(), "plain")
	gitCmd(b, "", "clone", "-q", dir, plain)
	b.Run("snapshot and rollback/git stash and drop", func(b *testing.B) {
		for b.Loop() {
			writeFile(b, plain, "dir00/new.go", "package p\n")
			gitCmd(b, plain, "stash", "push", "-q", "--include-untracked")
			gitCmd(b, plain, "stash", "drop", "-q")
		}
	})
	w := newWorkspace(b, s)
	c := open(b, w, remote, "")
	base := c.Head()
	b.Run("snapshot and rollback/Commit and Reset", func(b *testing.B) {
		for b.Loop() {
			writeFile(b, c.Dir(), "dir00/new.go", "package p\n")
			if _, err := c.Commit(b.Context(), "snapshot"); err != nil {
				b.Fatal(err)
			}
			if err := c.Reset(b.Context(), base, true); err != nil {
				b.Fatal(err)
			}
		}
	})
	tree, err := OpenTree(b.Context(), dir, "")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("tree/ReadAll", func(b *testing.B) {
		files, err := tree.Files(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		var ids []string
		var size int64
		for _, f := range files {
			ids = append(ids, f.Blob)
			size += f.Size
		}
		b.SetBytes(size)
		for b.Loop() {
			if err := tree.ReadAll(b.Context(), ids, 1<<20, func(string, []byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tree/History of 2000", func(b *testing.B) {
		for b.Loop() {
			if _, err := tree.History(b.Context(), 2000); err != nil {
				b.Fatal(err)
			}
		}
	})
}
