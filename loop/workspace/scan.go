package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// maxDepth is how deeply directories may be nested; git's own paths end at 4,096 bytes.
	maxDepth = 256
	// maxScanPath bounds a path relative to the worktree, in bytes.
	maxScanPath = 3000
	// scanFactor is how many entries a worktree may hold for each file that it may be cloned
	// with: dependencies and build output outnumber sources.
	scanFactor = 4
)

// findings is what a scan of a worktree came across.
type findings struct {
	dotGit  []string // entries that are a spelling of .git
	tooDeep []string // directories that were not entered
}

// scan walks a whole worktree without following links and makes every directory accessible to its
// owner. It comes before git looks at a worktree that a sandbox had.
func (c *clone) scan() (findings, error) {
	s := scanner{root: c.Dir(), left: c.w.config.MaxCloneFiles * scanFactor}
	// The top itself is the sandbox's to change, too.
	info, err := os.Lstat(s.root)
	if err != nil {
		return findings{}, fmt.Errorf("look through the worktree: %w", err)
	}
	if !info.IsDir() {
		return findings{}, fmt.Errorf("the worktree %s is not a directory any more", s.root)
	}
	if err := s.access(s.root, info); err != nil {
		return findings{}, err
	}
	return s.found, s.walk("", 0)
}

type scanner struct {
	root  string
	left  int
	found findings
}

func (s *scanner) walk(dir string, depth int) error {
	entries, err := os.ReadDir(filepath.Join(s.root, dir))
	if err != nil {
		return fmt.Errorf("look through the worktree: %w", err)
	}
	if s.left -= len(entries); s.left < 0 {
		return fmt.Errorf("the worktree holds too many files (in %q; was a build's output left in it?): %w", dir, ErrTooLarge)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if isDotGit(e.Name()) {
			s.found.dotGit = append(s.found.dotGit, path)
			continue
		}
		if !e.IsDir() {
			continue
		}
		if depth >= maxDepth || len(path) > maxScanPath {
			s.found.tooDeep = append(s.found.tooDeep, path)
			continue
		}
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("look through the worktree: %w", err)
		}
		if err := s.access(filepath.Join(s.root, path), info); err != nil {
			return err
		}
		if err := s.walk(path, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// access gives the owner all rights on a directory: mode 000 hides it from git, and a read-only
// one, as Go's module cache makes them, cannot be emptied.
func (s *scanner) access(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o700 == 0o700 {
		return nil
	}
	return os.Chmod(path, info.Mode().Perm()|0o700)
}
