package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// Restore writes the given files and directories as they are at a commit into the worktree; a path
// that the commit lacks is removed. Links in the way are replaced, never followed.
func (c *clone) Restore(ctx context.Context, commit string, paths []string) error {
	if err := checkCommit(commit); err != nil {
		return err
	}
	for _, p := range paths {
		if err := checkPath(p); err != nil {
			return fmt.Errorf("restore from %s: %w", commit, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := openTree(ctx, c.w.git, c.gitDir(), commit)
	if err != nil {
		return err
	}
	files, err := t.Files(ctx)
	if err != nil {
		return err
	}
	if _, err := c.scan(); err != nil { // directories become accessible
		return err
	}
	for _, p := range paths {
		if err := c.clear(p); err != nil {
			return fmt.Errorf("restore %q: %w", p, err)
		}
	}
	work, err := os.OpenRoot(c.Dir())
	if err != nil {
		return err
	}
	defer work.Close()
	places := map[string][]loop.TreeFile{} // by blob
	var blobs []string
	for _, f := range files {
		if !below(f.Path, paths) {
			continue
		}
		if f.Mode == loop.ModeSubmodule {
			if err := work.MkdirAll(f.Path, 0o755); err != nil {
				return fmt.Errorf("restore %q: %w", f.Path, err)
			}
			continue
		}
		if places[f.Blob] == nil {
			blobs = append(blobs, f.Blob)
		}
		places[f.Blob] = append(places[f.Blob], f)
	}
	return t.ReadAll(ctx, blobs, c.w.config.MaxCloneBytes, func(blob string, content []byte) error {
		for _, f := range places[blob] {
			if err := put(work, f, content); err != nil {
				return fmt.Errorf("restore %q: %w", f.Path, err)
			}
		}
		return nil
	})
}

// below says whether a file is one of paths or lies below one.
func below(file string, paths []string) bool {
	for _, p := range paths {
		if file == p || strings.HasPrefix(file, p+"/") {
			return true
		}
	}
	return false
}

// clear removes what is at a path, and whatever on the way to it is not a directory.
func (c *clone) clear(p string) error {
	work, err := os.OpenRoot(c.Dir())
	if err != nil {
		return err
	}
	defer work.Close()
	for i, r := range p {
		if r != '/' {
			continue
		}
		info, err := work.Lstat(p[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return work.Remove(p[:i])
		}
	}
	return c.discard(p)
}

// put writes one file or link of a tree; its place is free.
func put(work *os.Root, f loop.TreeFile, content []byte) error {
	if dir := path.Dir(f.Path); dir != "." {
		if err := work.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if f.Mode == loop.ModeSymlink {
		return work.Symlink(string(content), f.Path)
	}
	mode := fs.FileMode(0o644)
	if f.Mode == loop.ModeExecutable {
		mode = 0o755
	}
	out, err := work.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = bytes.NewReader(content).WriteTo(out)
	return errors.Join(err, out.Close())
}
