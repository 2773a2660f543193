package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reap removes the clones of owners that are not alive, what a killed process left half made or
// half removed, mirrors that were replaced, and the least recently used mirrors while all of them
// together are over their limit. Clones that this process has open stay.
func (w *Workspace) Reap(ctx context.Context, alive func(owner string) bool) error {
	errs := []error{emptyTrash(filepath.Join(w.config.Root, trashDir)), w.reapClones(alive), w.reapSpares()}
	if err := ctx.Err(); err != nil {
		return errors.Join(append(errs, err)...)
	}
	return errors.Join(append(errs, w.reapMirrors(ctx))...)
}

func (w *Workspace) reapClones(alive func(owner string) bool) error {
	clones := filepath.Join(w.config.Root, clonesDir)
	entries, err := os.ReadDir(clones)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(clones, e.Name())
		owner, err := os.ReadFile(filepath.Join(dir, ownerFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		if w.isOpen(e.Name()) || (err == nil && alive(string(owner))) {
			continue
		}
		errs = append(errs, w.removeTree(dir))
	}
	return errors.Join(errs...)
}

// reapSpares removes spares that were not finished.
func (w *Workspace) reapSpares() error {
	making, err := filepath.Glob(filepath.Join(w.config.Root, sparesDir, "*", makingPrefix+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range making {
		if !w.isOpen(filepath.Base(dir)) {
			errs = append(errs, w.removeTree(dir))
		}
	}
	return errors.Join(errs...)
}

// cached is the mirror of one repository, as Reap sees it.
type cached struct {
	key  string
	size int64
	used time.Time
}

func (w *Workspace) reapMirrors(ctx context.Context) error {
	if !w.borrowing.TryLock() {
		return nil // a clone is being made; the next Reap will do
	}
	defer w.borrowing.Unlock()
	borrowed, err := w.borrowed()
	if err != nil {
		return err
	}
	homes, err := os.ReadDir(filepath.Join(w.config.Root, mirrorsDir))
	if err != nil {
		return err
	}
	var mirrors []cached
	var total int64
	var errs []error
	for _, h := range homes {
		m, err := w.reapGenerations(ctx, h.Name(), borrowed)
		errs = append(errs, err)
		mirrors = append(mirrors, m)
		total += m.size
	}
	slices.SortFunc(mirrors, func(a, b cached) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.key, b.key)) })
	for _, m := range mirrors {
		if total <= w.config.MaxCacheBytes {
			break
		}
		gone, err := w.dropMirror(ctx, m.key, borrowed)
		if errs = append(errs, err); gone {
			total -= m.size
		}
	}
	return errors.Join(errs...)
}

// reapGenerations removes the mirrors of one repository that were replaced and that no clone
// borrows from any more.
func (w *Workspace) reapGenerations(ctx context.Context, key string, borrowed map[string]bool) (cached, error) {
	m := cached{key: key}
	err := w.withMirrorLock(ctx, key, func(home string, _ *os.File) error {
		current, err := currentGeneration(home)
		if err != nil {
			return err
		}
		for n := 1; n < current; n++ {
			if dir := generationDir(home, n); !borrowed[filepath.Join(dir, "objects")] {
				if err := w.removeTree(dir); err != nil {
					return err
				}
			}
		}
		dir := generationDir(home, current)
		if info, err := os.Stat(filepath.Join(dir, refsFile)); err == nil {
			m.used = info.ModTime()
		}
		m.size, err = dirSize(filepath.Join(dir, "objects", "pack"))
		return ignoreMissing(err)
	})
	return m, err
}

// dropMirror removes a repository's mirrors and spares, unless a clone borrows from them.
func (w *Workspace) dropMirror(ctx context.Context, key string, borrowed map[string]bool) (bool, error) {
	gone := false
	err := w.withMirrorLock(ctx, key, func(home string, _ *os.File) error {
		for objects := range borrowed {
			if strings.HasPrefix(objects, home+string(filepath.Separator)) {
				return nil
			}
		}
		gone = true
		current, err := currentGeneration(home)
		if err != nil {
			return err
		}
		errs := []error{w.removeTree(filepath.Join(w.config.Root, sparesDir, key))}
		for n := 1; n <= current; n++ {
			errs = append(errs, w.removeTree(generationDir(home, n)))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		err = fmt.Errorf("drop the mirror %s: %w", strconv.Quote(key), err)
	}
	return gone, err
}

// borrowed lists the object directories that clones use.
func (w *Workspace) borrowed() (map[string]bool, error) {
	lists, err := filepath.Glob(filepath.Join(w.config.Root, clonesDir, "*", gitSubdir, "objects", "info", "alternates"))
	if err != nil {
		return nil, err
	}
	borrowed := map[string]bool{}
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if ignoreMissing(err) != nil {
			return nil, err
		}
		for line := range strings.Lines(string(content)) {
			borrowed[strings.TrimSuffix(line, "\n")] = true
		}
	}
	return borrowed, nil
}
