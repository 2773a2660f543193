package loop_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-7a986423/autocode/loop"
)

// fakeGit is remote and clones: a commit's id is made of its tree and parent.
type fakeGit struct {
	*world
	git      sync.Mutex // guards objects, parents and open
	objects  map[string]map[string]string
	parents  map[string]string
	branches map[string]string
	openErr  error
	open     int
}

func (g *fakeGit) commit(parent, message string, tree map[string]string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		fmt.Fprintf(&b, "%s=%s;", path, tree[path])
	}
	g.git.Lock()
	defer g.git.Unlock()
	id := fmt.Sprintf("%.40x", sha256.Sum256([]byte(parent+message+b.String())))
	g.objects[id], g.parents[id] = maps.Clone(tree), parent
	return id
}

func (g *fakeGit) Open(_ context.Context, repo loop.Repo, _, rev string, _ ...[]byte) (loop.Clone, error) {
	if g.openErr != nil {
		return nil, g.openErr
	}
	if g.hub.badToken {
		return nil, fmt.Errorf("authentication failed: %w", loop.ErrNoAccess)
	}
	if name := g.hub.renamed; name != "" && repo.Name != name {
		return nil, fmt.Errorf("it was renamed: %w", loop.ErrNoAccess)
	}
	if rev == "" {
		rev = g.branches["main"]
	}
	g.git.Lock()
	defer g.git.Unlock()
	if _, there := g.objects[rev]; !there {
		return nil, fmt.Errorf("no commit %q", rev)
	}
	g.open++
	return &fakeClone{fakeGit: g, head: rev, work: maps.Clone(g.objects[rev])}, nil
}

func (g *fakeGit) RemoteHead(_ context.Context, _ loop.Repo, branch string) (string, error) {
	return g.branches[branch], nil
}

func (g *fakeGit) Push(_ context.Context, _ loop.Repo, _ loop.Clone, commit, branch, expect string) error {
	return g.effect("push", func() error {
		if g.branches[branch] != expect {
			return fmt.Errorf("%s is at %q, not at %q: %w", branch, g.branches[branch], expect, loop.ErrHeadMoved)
		}
		g.branches[branch] = commit
		g.pushes = append(g.pushes, commit)
		if g.onPush != nil {
			g.onPush(commit)
		}
		return nil
	})
}

func (g *fakeGit) Reap(context.Context, func(string) bool) error { return nil }

type fakeClone struct {
	*fakeGit
	head string
	work map[string]string
}

func (c *fakeClone) Dir() string { return "/clone/work" }

func (c *fakeClone) Root() string { return "/clone" }

func (c *fakeClone) Head() string { return c.head }

func (c *fakeClone) Commit(_ context.Context, message string) (string, error) {
	if !maps.Equal(c.work, c.at(c.head)) {
		c.head = c.commit(c.head, message, c.work)
	}
	return c.head, nil
}

func (c *fakeClone) Reset(_ context.Context, commit string, _ bool) error {
	c.head, c.work = commit, maps.Clone(c.at(commit))
	return nil
}

func (c *fakeClone) Restore(_ context.Context, commit string, paths []string) error {
	tree := c.at(commit)
	for _, p := range paths {
		if text, there := tree[p]; there {
			c.work[p] = text
		} else {
			delete(c.work, p)
		}
	}
	return nil
}

func (c *fakeClone) Owner() string { return "run" }

func (c *fakeClone) Fresh(ctx context.Context, commit string) (loop.Clone, error) {
	return c.Open(ctx, loop.Repo{}, "", commit)
}

func (c *fakeClone) Diff(_ context.Context, from, to string) (loop.Diff, error) {
	var d loop.Diff
	old, now := c.at(from), c.at(to)
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		a, b := old[path], now[path]
		if a != b {
			d.Files = append(d.Files, loop.FileDiff{Path: path, Op: loop.OpModify, Lines: []loop.DiffLine{{Op: loop.LineAdded, New: 1, Text: b}}})
			d.Patch += path + ": " + b + "\n"
		}
	}
	return d, nil
}

func (c *fakeClone) Tree(_ context.Context, commit string) (loop.Tree, error) {
	return fakeTree{id: commit, files: c.at(commit)}, nil
}

func (c *fakeClone) Bundle(_ context.Context, _, commit string) ([]byte, error) {
	return []byte(commit), nil
}

func (c *fakeClone) Squash(_ context.Context, base, commit, message string, merged ...string) (string, error) {
	return c.commit(strings.Join(append([]string{base}, merged...), " "), message, c.at(commit)), nil
}

// Merge takes over what the other commit changed since main's first commit; a file that both changed
// is a conflict.
func (c *fakeClone) Merge(_ context.Context, with, message string) (loop.Merge, error) {
	past, ours := c.objects[c.parents[with]], c.objects[c.head]
	merged := maps.Clone(ours)
	var conflicts []string
	for path, text := range c.objects[with] {
		switch {
		case text == past[path]:
		case ours[path] == past[path]:
			merged[path] = text
		default:
			merged[path] = "<<<<<<< ours\n" + ours[path] + "\n=======\n" + text + "\n>>>>>>> theirs\n"
			conflicts = append(conflicts, path)
		}
	}
	return loop.Merge{Commit: c.commit(c.head+" "+with, message, merged), Conflicts: conflicts}, nil
}

func (c *fakeClone) Close() error {
	c.git.Lock()
	defer c.git.Unlock()
	c.open--
	return nil
}

// at is the tree of a commit.
func (c *fakeClone) at(commit string) map[string]string {
	c.git.Lock()
	defer c.git.Unlock()
	return c.objects[commit]
}

type fakeTree struct {
	id    string
	files map[string]string
}

func (t fakeTree) Commit() string { return t.id }

func (t fakeTree) Files(context.Context) ([]loop.TreeFile, error) {
	var files []loop.TreeFile
	for _, p := range slices.Sorted(maps.Keys(t.files)) {
		files = append(files, loop.TreeFile{Path: p, Mode: loop.ModeRegular})
	}
	return files, nil
}

func (t fakeTree) Read(_ context.Context, path string) ([]byte, error) {
	if text, there := t.files[path]; there {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (t fakeTree) ReadAll(context.Context, []string, int64, func(string, []byte) error) error {
	return nil
}

func (t fakeTree) History(context.Context, int) ([]loop.HistoryCommit, error) { return nil, nil }
