package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seed-7a986423/autocode/loop"
)

// clone implements loop.Clone. Its operations run one at a time.
type clone struct {
	w    *Workspace
	src  source
	from lender
	name string // of its directory below clones, or in the making below spares
	dir  string

	owner string

	mu   sync.Mutex
	head string
}

var _ loop.Clone = (*clone)(nil)

// Dir is the absolute path of the worktree.
func (c *clone) Dir() string { return filepath.Join(c.dir, workDir) }

// Root is the absolute path of the directory that a sandbox may write.
func (c *clone) Root() string { return filepath.Join(c.dir, rootDir) }

// Owner is whose the clone is.
func (c *clone) Owner() string { return c.owner }

// GitDir is the absolute path of the git directory. It must never be writable in a sandbox.
func (c *clone) GitDir() string { return c.gitDir() }

func (c *clone) gitDir() string { return filepath.Join(c.dir, gitSubdir) }

// Head is the commit that the worktree was last set to or committed as.
func (c *clone) Head() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head
}

// call is a git command on the clone's objects, without its worktree.
func (c *clone) call(args ...string) call {
	return call{gitDir: c.gitDir(), args: args, config: cloneConfig}
}

// workCall is a git command on the clone's worktree and index.
func (c *clone) workCall(args ...string) call {
	in := c.call(args...)
	if len(c.w.sparse(c.src)) > 0 {
		in.config = append(slices.Clone(in.config), sparseConfig...)
	}
	in.workTree, in.index, in.dir = c.Dir(), filepath.Join(c.gitDir(), "index"), c.Dir()
	return in
}

// cloneConfig spares the clone what only matters to a repository that outlives a crash: what is
// worth keeping of a clone lies as bundles in the store.
var cloneConfig = []setting{
	{"core.fsync", "none"},
	{"core.looseCompression", "1"},
	{"core.bigFileThreshold", bigFile},
	{"checkout.workers", "0"}, // one per processor
}

// checkout sets a worktree that no sandbox has seen to a commit.
func (c *clone) checkout(ctx context.Context, commit string) error {
	if c.head == commit {
		return nil
	}
	if err := c.measure(ctx, commit); err != nil {
		return err
	}
	if _, err := c.w.git.run(ctx, c.readTree(commit)); err != nil {
		return fmt.Errorf("write the worktree of %s: %w", commit, err)
	}
	return c.setHead(commit)
}

func (c *clone) setHead(commit string) error {
	if err := writeFileAtomic(filepath.Join(c.gitDir(), "HEAD"), []byte(commit+"\n")); err != nil {
		return err
	}
	c.head = commit
	return nil
}

// Fresh makes another clone of the same objects, set to commit. It does not need this one to live.
func (c *clone) Fresh(ctx context.Context, commit string) (loop.Clone, error) {
	if err := checkCommit(commit); err != nil {
		return nil, err
	}
	other, err := c.w.emptyClone(c.src, c.from, c.owner)
	if err != nil {
		return nil, err
	}
	err = linkObjects(filepath.Join(c.gitDir(), "objects"), filepath.Join(other.gitDir(), "objects"))
	if err == nil {
		commit, err = resolveCommit(ctx, c.w.git, other.gitDir(), commit)
	}
	if err == nil {
		err = other.checkout(ctx, commit)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a fresh clone: %w", err), other.Close())
	}
	return other, nil
}

// Tree reads a commit of the clone.
func (c *clone) Tree(ctx context.Context, commit string) (loop.Tree, error) {
	if err := checkCommit(commit); err != nil {
		return nil, err
	}
	return openTree(ctx, c.w.git, c.gitDir(), commit)
}

// Squash makes one commit with the tree of commit on top of base, and of the commits that were merged
// in, and returns its id.
func (c *clone) Squash(ctx context.Context, base, commit, message string, merged ...string) (string, error) {
	for _, id := range append([]string{base, commit}, merged...) {
		if err := checkCommit(id); err != nil {
			return "", err
		}
	}
	return c.commitTree(ctx, commit+"^{tree}", base, message, merged...)
}

// commitTree makes a commit object in autocode's name.
func (c *clone) commitTree(ctx context.Context, tree, parent, message string, more ...string) (string, error) {
	if strings.ContainsRune(message, 0) || strings.TrimSpace(message) == "" {
		return "", fmt.Errorf("commit message %q: empty, or holds a NUL", message)
	}
	args := []string{"commit-tree", "-p", parent}
	for _, id := range more {
		args = append(args, "-p", id)
	}
	in := c.call(append(args, "-F", "-", tree)...)
	in.stdin = strings.NewReader(strings.TrimRight(message, "\n") + "\n")
	date := fmt.Sprintf("@%d +0000", c.w.config.Now().Unix())
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		in.env = append(in.env, "GIT_"+role+"_NAME="+c.w.config.AuthorName, "GIT_"+role+"_EMAIL="+c.w.config.AuthorMail, "GIT_"+role+"_DATE="+date)
	}
	id, err := c.w.git.line(ctx, in)
	if err != nil {
		return "", fmt.Errorf("make a commit on %s: %w", parent, err)
	}
	return id, nil
}

// Close removes the clone.
func (c *clone) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.w.setOpen(c.name, false)
	return c.w.removeTree(c.dir)
}
