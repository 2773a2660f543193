package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// readDirBatch is how many names are held at once of a directory that is being emptied.
const readDirBatch = 4096

// removeTree removes dir and all below it. The directory is first moved into the trash, so that it
// is gone for everybody else at once and what a kill leaves is removed at the next start.
func (w *Workspace) removeTree(dir string) error {
	trash := filepath.Join(w.config.Root, trashDir)
	if err := os.Rename(dir, filepath.Join(trash, rand.Text())); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return emptyTrash(trash)
}

// emptyTrash removes everything in a directory, however deep it is nested, whatever its modes are,
// without following a link and with a bounded number of open files: a directory within a directory
// is moved up into the trash before it is emptied itself, so that no path is longer than three
// names. Two processes may do it at the same time.
func emptyTrash(trash string) error {
	root, err := os.OpenRoot(trash)
	if err != nil {
		return fmt.Errorf("open the trash: %w", err)
	}
	defer root.Close()
	for {
		entries, err := readNames(root, ".")
		if err != nil {
			return fmt.Errorf("read the trash: %w", err)
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			if err := removeFlat(root, e); err != nil {
				return fmt.Errorf("empty the trash: %w", err)
			}
		}
	}
}

// removeFlat removes one entry of the trash; directories below it become entries of the trash.
func removeFlat(trash *os.Root, entry fs.DirEntry) error {
	name := entry.Name()
	if !entry.IsDir() {
		return ignoreMissing(trash.Remove(name))
	}
	if err := makeAccessible(trash, name); err != nil {
		return ignoreMissing(err)
	}
	dir, err := trash.OpenRoot(name)
	if err != nil {
		return ignoreMissing(err)
	}
	defer dir.Close()
	for {
		entries, err := readNames(dir, ".")
		if err != nil {
			return ignoreMissing(err)
		}
		if len(entries) == 0 {
			return ignoreMissing(trash.Remove(name))
		}
		for _, e := range entries {
			if e.IsDir() {
				// Moving a directory to another parent needs write access to itself.
				if err := makeAccessible(dir, e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				err = trash.Rename(name+"/"+e.Name(), rand.Text())
			} else {
				err = dir.Remove(e.Name())
			}
			if err = ignoreMissing(err); err != nil {
				return err
			}
		}
	}
}

// makeAccessible gives the owner all rights on a directory that lacks some.
func makeAccessible(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
		return nil
	}
	return root.Chmod(name, info.Mode().Perm()|0o700)
}

// readNames reads at most readDirBatch entries of a directory.
func readNames(root *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(readDirBatch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
