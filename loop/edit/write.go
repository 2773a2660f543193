package edit

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

const (
	newFileMode fs.FileMode = 0o644
	folderMode  fs.FileMode = 0o755
)

// write brings the tree's changes to disk. First every new content is written to a file of another name beside its place, which
// is where a full disk shows; only then names change, and each change can be taken back. On an error the tree is as before.
func (t *tree) write() (err error) {
	w := &writer{root: t.root, suffix: ".autocode-" + strings.ToLower(rand.Text()[:10])}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.rollBack())
		}
	}()
	var staged []stagedFile
	for _, p := range t.touched {
		f := t.files[p]
		if !f.exists {
			continue
		}
		s := stagedFile{path: p, from: f.source}
		if f.dirty {
			if s.temporary, err = w.stage(p, f); err != nil {
				return err
			}
		}
		if s.temporary != "" || s.from != p {
			staged = append(staged, s)
		}
	}
	// What goes away makes room first: a name may be taken by another file.
	for _, p := range t.touched {
		f := t.files[p]
		moved := !f.exists || f.source != p
		if info, statErr := t.root.Lstat(p); statErr == nil && info.Mode().IsRegular() {
			if err = w.setAside(p, moved); err != nil {
				return err
			}
		}
	}
	for _, s := range staged {
		from := s.temporary
		if from == "" {
			from = w.backup(s.from)
		}
		if path.Dir(from) != path.Dir(s.path) {
			if err = w.folders(s.path); err != nil {
				return err
			}
		}
		if err = w.move(from, s.path, s.temporary == ""); err != nil {
			return err
		}
	}
	w.finish()
	return nil
}

// stagedFile is a file that waits to be moved to its place: a temporary one, or without that the unchanged source.
type stagedFile struct {
	path, temporary, from string
}

// writer changes names and remembers how to take that back.
type writer struct {
	root    *os.Root
	suffix  string
	undo    []func() error
	backups []string
	unused  []string // temporary files
}

func (w *writer) name(p, kind string) string {
	dir, base := path.Split(p)
	// Long names leave no room for more.
	if len(base) > maxSegment-40 {
		base = strings.ToValidUTF8(base[:maxSegment-40], "")
	}
	return dir + "." + base + w.suffix + kind
}

func (w *writer) backup(p string) string { return w.name(p, ".old") }

// temporary is the name of p's new content: beside its place, or where a file that is about to go stands in the way of p's folder,
// beside that file.
func (w *writer) temporary(p string) string {
	for i, c := range p {
		if c != '/' {
			continue
		}
		if info, err := w.root.Lstat(p[:i]); err == nil && !info.IsDir() {
			return w.name(p[:i], fmt.Sprintf(".new%d", len(w.unused)))
		}
	}
	return w.name(p, ".new")
}

// stage writes the new content of p beside it.
func (w *writer) stage(p string, f *file) (string, error) {
	name := w.temporary(p)
	if path.Dir(name) == path.Dir(p) {
		if err := w.folders(p); err != nil {
			return "", err
		}
	}
	handle, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFileMode)
	if err != nil {
		return "", fmt.Errorf("make %s: %w", p, err)
	}
	w.unused = append(w.unused, name)
	_, err = handle.WriteString(f.text.String())
	if err == nil && f.source != "" {
		err = handle.Chmod(f.mode) // the umask has had its say on new files only
	}
	if closeErr := handle.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", p, err)
	}
	return name, nil
}

// folders makes the folders of p that are missing.
func (w *writer) folders(p string) error {
	for i, c := range p {
		if c != '/' {
			continue
		}
		dir := p[:i]
		if err := w.root.Mkdir(dir, folderMode); err == nil {
			w.undo = append(w.undo, func() error { return w.root.Remove(dir) })
		} else if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the folder of %s: %w", p, err)
		}
	}
	return nil
}

// setAside keeps the file p under another name. Where p is to be replaced (not away), it keeps its name as well until then, so
// that there is no moment without it; file systems without hard links see such a moment.
func (w *writer) setAside(p string, away bool) error {
	backup := w.backup(p)
	if away || w.root.Link(p, backup) != nil {
		if err := w.root.Rename(p, backup); err != nil {
			return fmt.Errorf("set %s aside: %w", p, err)
		}
	}
	w.backups = append(w.backups, backup)
	w.undo = append(w.undo, func() error {
		if err := w.root.Rename(backup, p); err != nil {
			return err
		}
		// Renaming one of two links to the other leaves both.
		if err := w.root.Remove(backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return nil
}

// move puts a staged file in its place. An original is moved back when that is undone, not removed.
func (w *writer) move(from, to string, original bool) error {
	if err := w.root.Rename(from, to); err != nil {
		return fmt.Errorf("put %s in place: %w", to, err)
	}
	w.undo = append(w.undo, func() error {
		if original {
			return w.root.Rename(to, from)
		}
		return w.root.Remove(to)
	})
	return nil
}

// rollBack takes back every change, the last one first.
func (w *writer) rollBack() error {
	var failures []error
	for _, name := range w.unused {
		// Those that were moved into place are gone from here.
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, err)
		}
	}
	for i := len(w.undo) - 1; i >= 0; i-- {
		if err := w.undo[i](); err != nil {
			failures = append(failures, fmt.Errorf("take back a change: %w", err))
		}
	}
	return errors.Join(failures...)
}

// finish removes the files that were set aside. One that cannot be removed does no harm to the edit.
func (w *writer) finish() {
	for _, name := range w.backups {
		_ = w.root.Remove(name)
	}
}
