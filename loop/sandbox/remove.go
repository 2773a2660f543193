package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes a tree that a hostile command wrote: directories without permissions and
// nesting beyond any path length are no obstacle, links are removed and never followed, and
// nothing outside dir is touched. A dir that does not exist is no error.
func RemoveAll(dir string) error {
	// os.RemoveAll works by directory descriptors: it follows no links and knows no path length.
	// All that stops it are permissions.
	first := os.RemoveAll(dir)
	if first == nil || !errors.Is(first, fs.ErrPermission) {
		return first
	}
	if err := unlock(dir); err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return os.RemoveAll(dir)
}

// level is an open directory and those of its directories that have not been entered yet.
type level struct {
	root  *os.Root
	names []string
}

// unlock gives the owner access to every directory of the tree. Each is opened from its parent's
// descriptor, which is closed as soon as nothing is left to enter there, so that neither depth
// nor the length of a path matters.
func unlock(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	levels := []level{{parent, []string{filepath.Base(dir)}}}
	defer func() {
		for _, l := range levels {
			l.root.Close()
		}
	}()
	for len(levels) > 0 {
		last := &levels[len(levels)-1]
		if len(last.names) == 0 {
			last.root.Close()
			levels = levels[:len(levels)-1]
			continue
		}
		name := last.names[len(last.names)-1]
		last.names = last.names[:len(last.names)-1]
		child, err := open(last.root, name)
		if len(last.names) == 0 {
			last.root.Close()
			levels = levels[:len(levels)-1]
		}
		if err != nil {
			return err
		}
		if child == nil {
			continue
		}
		names, err := directories(child)
		levels = append(levels, level{child, names})
		if err != nil {
			return err
		}
	}
	return nil
}

func directories(root *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, ignoreGone(err)
}

// open gives access to the directory name in parent and opens it; nil if it is none.
func open(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil || !info.IsDir() {
		return nil, ignoreGone(err)
	}
	const access = 0o700
	if info.Mode().Perm()&access != access {
		if err := parent.Chmod(name, access); err != nil {
			return nil, ignoreGone(err)
		}
	}
	root, err := parent.OpenRoot(name)
	return root, ignoreGone(err)
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
