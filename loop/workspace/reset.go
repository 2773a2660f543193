package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Reset sets the worktree to a commit, whatever a sandbox made of it: tracked files as there,
// untracked files removed; ignored files are kept only with keepIgnored.
func (c *clone) Reset(ctx context.Context, commit string, keepIgnored bool) error {
	if err := checkCommit(commit); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := resolveCommit(ctx, c.w.git, c.gitDir(), commit)
	if err != nil {
		return fmt.Errorf("reset the worktree: %w", err)
	}
	if err := c.restoreTracked(ctx, id, keepIgnored); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("reset the worktree: %w", err)
		}
		// Some worktrees are beyond repair (a file in the place of the top, a name that git cannot
		// unlink). A new one always works; only caches are lost.
		c.w.config.Warn(ctx, "reset of a worktree, made anew", err)
		if err := c.renew(ctx, id); err != nil {
			return fmt.Errorf("reset the worktree: %w", err)
		}
	}
	return c.setHead(id)
}

// restoreTracked works on the worktree as it is.
func (c *clone) restoreTracked(ctx context.Context, commit string, keepIgnored bool) error {
	found, err := c.scan()
	if err != nil {
		return err
	}
	for _, p := range append(found.dotGit, found.tooDeep...) {
		if err := c.discard(p); err != nil {
			return err
		}
		c.pruneParents(p)
	}
	if err := ignoreMissing(os.Remove(filepath.Join(c.gitDir(), "index.lock"))); err != nil {
		return err
	}
	// A link in the place of a directory can show git the files that it expects; it goes away as an
	// untracked file, and the second time the directory is written.
	for range 2 {
		if _, err := c.w.git.run(ctx, c.readTree(commit)); err != nil {
			return err
		}
		left, err := c.removeUntracked(ctx, keepIgnored)
		if err != nil || left == 0 {
			return err
		}
	}
	return errors.New("some files could not be set back")
}

// readTree sets index and worktree to a commit.
func (c *clone) readTree(commit string) call {
	return c.workCall("read-tree", "--reset", "-u", "--no-recurse-submodules", commit)
}

// removeUntracked removes what the index does not have, and returns how many tracked files may not
// be as the index has them. .gitignore is the commit's own by now.
func (c *clone) removeUntracked(ctx context.Context, keepIgnored bool) (left int, err error) {
	args := []string{"ls-files", "-z", "-t", "--modified", "--deleted", "--others"}
	if keepIgnored {
		args = append(args, "--exclude-standard")
	} else {
		args = append(args, "--directory")
	}
	out, err := c.w.git.run(ctx, c.workCall(args...))
	if err != nil {
		return 0, err
	}
	for _, entry := range splitNUL(out) {
		tag, p, _ := strings.Cut(entry, " ")
		if tag != "?" {
			left++
			continue
		}
		p = strings.TrimSuffix(p, "/")
		if info, err := os.Lstat(filepath.Join(c.Dir(), p)); err == nil && info.Mode().Type() == fs.ModeSymlink {
			left++ // it may have stood for a directory of tracked files
		}
		if err := c.discard(p); err != nil {
			return 0, err
		}
		if keepIgnored {
			c.pruneParents(p)
		}
	}
	return left, nil
}

// discard moves an entry of the worktree into the trash and removes it there. The path is resolved
// below the workspace's root, so that no link leads out of it.
func (c *clone) discard(p string) error {
	root, err := os.OpenRoot(c.w.config.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	full, err := filepath.Rel(c.w.config.Root, filepath.Join(c.Dir(), p))
	if err != nil {
		return err
	}
	info, err := root.Lstat(full)
	if err != nil {
		return ignoreMissing(err)
	}
	if !info.IsDir() {
		return ignoreMissing(root.Remove(full))
	}
	if err := makeAccessible(root, full); err != nil {
		return err
	}
	return c.w.removeTree(filepath.Join(c.w.config.Root, full))
}

// pruneParents removes the directories that an entry leaves empty.
func (c *clone) pruneParents(p string) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if os.Remove(filepath.Join(c.Dir(), dir)) != nil {
			return // not empty: something tracked or ignored is in it
		}
	}
}

// renew replaces the worktree by a new one. A sandbox that has the old directory mounted keeps the
// old one.
func (c *clone) renew(ctx context.Context, commit string) error {
	err := errors.Join(
		c.w.removeTree(c.Dir()),
		ignoreMissing(os.Remove(filepath.Join(c.gitDir(), "index"))),
		os.Mkdir(c.Dir(), 0o755),
	)
	if err != nil {
		return err
	}
	_, err = c.w.git.run(ctx, c.readTree(commit))
	return err
}
