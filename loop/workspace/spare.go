package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A spare is a clone without an owner that waits at the tip of the default branch: writing tens of
// thousands of files is most of the time that a clone takes, and a tree that differs in a few files
// is changed in no time. No sandbox has ever seen it, and it is used once.

// spareFile marks a spare as complete: its commit, and the objects that it borrows.
const spareFile = "spare"

// makingPrefix is what the name of a spare in the making starts with.
const makingPrefix = "making-"

// takeSpare moves a spare of the same lender to dir and returns its commit; "" where there is none.
func (w *Workspace) takeSpare(src source, from lender, dir string) (string, error) {
	home := filepath.Join(w.config.Root, sparesDir, src.key)
	entries, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) || len(from.shallow) > 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), makingPrefix) {
			continue
		}
		// The move decides who gets it.
		if err := os.Rename(filepath.Join(home, e.Name()), dir); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return "", err
		}
		commit, objects, err := readSpare(dir)
		if err == nil && objects == from.objects && w.sameSparse(dir, src) {
			return commit, nil
		}
		// Of a mirror that has been replaced, of another configuration, or cut off in the making.
		if err := w.removeTree(dir); err != nil {
			return "", err
		}
	}
	return "", nil
}

func readSpare(dir string) (commit, objects string, err error) {
	content, err := os.ReadFile(filepath.Join(dir, spareFile))
	if err != nil {
		return "", "", err
	}
	commit, objects, ok := strings.Cut(strings.TrimSuffix(string(content), "\n"), "\n")
	if !ok || !isObjectID(commit) {
		return "", "", fmt.Errorf("the spare %s is damaged", dir)
	}
	return commit, objects, nil
}

// refill makes spares in the background, at the default branch or, where that is not known, at the
// commit that was just opened.
func (w *Workspace) refill(src source, from lender, commit string) {
	if w.config.Spares == 0 || len(from.shallow) > 0 {
		return
	}
	if from.tip != "" {
		commit = from.tip
	}
	w.background.Go(func() {
		if err := w.makeSpares(w.stopped, src, from, commit); err != nil && w.stopped.Err() == nil {
			w.config.Warn(w.stopped, "make a spare clone of "+src.repo.FullName(), err)
		}
	})
}

// makeSpares brings the number of spares up to what is configured.
func (w *Workspace) makeSpares(ctx context.Context, src source, from lender, commit string) error {
	unlock, err := w.locks.lock(ctx, "spare "+src.key)
	if err != nil {
		return err
	}
	defer unlock()
	home := filepath.Join(w.config.Root, sparesDir, src.key)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	for {
		entries, err := os.ReadDir(home)
		if err != nil || len(entries) >= w.config.Spares {
			return err
		}
		if err := w.makeSpare(ctx, src, from, home, commit); err != nil {
			return err
		}
	}
}

func (w *Workspace) makeSpare(ctx context.Context, src source, from lender, home, commit string) error {
	name := makingPrefix + rand.Text()
	c := &clone{w: w, src: src, from: from, name: name, dir: filepath.Join(home, name)}
	w.setOpen(name, true)
	defer w.setOpen(name, false)
	err := c.makeDirs()
	if err == nil {
		commit, err = resolveCommit(ctx, w.git, c.gitDir(), commit)
	}
	if err == nil {
		err = c.checkout(ctx, commit)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, spareFile), []byte(commit+"\n"+from.objects+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(c.dir, filepath.Join(home, strings.TrimPrefix(name, makingPrefix)))
	}
	if err != nil {
		return errors.Join(err, w.removeTree(c.dir))
	}
	return nil
}
