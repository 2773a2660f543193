package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// The parts of a clone's directory. Only what lies below rootDir is ever shown to a sandbox: the
// worktree, and beside it what tools keep between two commands.
const (
	rootDir   = "root"
	workDir   = rootDir + "/tree"
	gitSubdir = "git"
	ownerFile = "owner"
)

// lender is the repository whose objects a clone borrows: a mirror, or a local repository.
type lender struct {
	gitDir  string
	objects string
	shallow []byte
	commit  string // what the asked revision means; an id, perhaps of a tag
	tip     string // the default branch's commit, "" where it is not known
}

// Open brings the mirror of repo up to date and clones rev into a fresh worktree.
func (w *Workspace) Open(ctx context.Context, repo loop.Repo, owner, rev string, bundles ...[]byte) (loop.Clone, error) {
	if owner == "" {
		return nil, errors.New("open a clone: without an owner nobody could tell when to remove it")
	}
	packs, err := parseBundles(bundles)
	if err != nil {
		return nil, err
	}
	src, err := w.source(ctx, repo)
	if err != nil {
		return nil, err
	}
	w.borrowing.RLock()
	defer w.borrowing.RUnlock()
	var c *clone
	from, err := w.lender(ctx, src, rev, packs, "")
	if err == nil {
		c, err = w.newClone(ctx, src, from, owner, packs)
	}
	if err != nil && !src.local() && isCorruption(err) {
		w.config.Warn(ctx, "rebuilding the mirror of "+repo.FullName(), err)
		if from, err = w.lender(ctx, src, rev, packs, from.gitDir); err == nil {
			c, err = w.newClone(ctx, src, from, owner, packs)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", repo.FullName(), err)
	}
	w.refill(src, from, c.head)
	return c, nil
}

// lender finds the repository to borrow from and what rev means there. Its gitDir is set with an
// error, too, where there is a mirror that may be the reason for it.
func (w *Workspace) lender(ctx context.Context, src source, rev string, packs []bundle, broken string) (lender, error) {
	if src.local() {
		return w.localLender(ctx, src, rev)
	}
	m, err := w.mirrorOf(ctx, src, broken)
	if err != nil {
		return lender{gitDir: m.dir}, err
	}
	from := lender{gitDir: m.dir, objects: filepath.Join(m.dir, "objects")}
	branch := src.repo.DefaultBranch
	if branch == "" && rev == "" {
		if branch, err = w.remoteHeadBranch(ctx, src); err != nil {
			return from, err
		}
	}
	from.tip = m.refs["refs/heads/"+branch]
	if from.commit, err = revisionOf(src.repo, m.refs, rev, branch); err != nil {
		return from, err
	}
	missing, err := w.missing(ctx, m, wanted(from.commit, packs))
	if err != nil || len(missing) == 0 {
		return from, err
	}
	if err := w.fetchCommits(ctx, src, m, missing); err != nil {
		return from, fmt.Errorf("get %s, which no branch of %s leads to any more: %w", strings.Join(missing, ", "), src.repo.FullName(), err)
	}
	return from, nil
}

// revisionOf returns the id that a revision has among a remote's refs: a commit's own, a branch's,
// a tag's, or for none the default branch's.
func revisionOf(repo loop.Repo, refs map[string]string, rev, defaultBranch string) (string, error) {
	if isObjectID(rev) {
		return rev, nil
	}
	if rev == "" {
		if id := refs["refs/heads/"+defaultBranch]; id != "" {
			return id, nil
		}
		return "", fmt.Errorf("%s has no branch %q, its default branch was renamed or removed: %w", repo.FullName(), defaultBranch, fs.ErrNotExist)
	}
	if err := checkBranch(rev); err != nil {
		return "", err
	}
	if id := cmp.Or(refs["refs/heads/"+rev], refs["refs/tags/"+rev]); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("%s has no branch or tag %q: %w", repo.FullName(), rev, fs.ErrNotExist)
}

// wanted lists the commits that must be there before bundles are unpacked: what they build on, and
// the revision, unless a bundle brings it.
func wanted(commit string, packs []bundle) []string {
	var ids, brought []string
	for _, b := range packs {
		for _, id := range b.needs {
			if !slices.Contains(brought, id) {
				ids = append(ids, id)
			}
		}
		brought = append(brought, b.brings...)
	}
	if !slices.Contains(brought, commit) {
		ids = append(ids, commit)
	}
	return ids
}

// missing returns those of ids that the mirror does not have.
func (w *Workspace) missing(ctx context.Context, m mirror, ids []string) ([]string, error) {
	out, err := w.git.run(ctx, call{gitDir: m.dir, args: []string{"cat-file", "--batch-check"}, stdin: strings.NewReader(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	var missing []string
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), " missing"); ok {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// localLender lets a clone borrow from the user's repository itself, which is read and not changed.
func (w *Workspace) localLender(ctx context.Context, src source, rev string) (lender, error) {
	from := lender{gitDir: src.gitDir, objects: filepath.Join(src.common, "objects"), commit: rev}
	if strings.ContainsAny(from.objects, "\n") {
		return lender{}, fmt.Errorf("the path %q of the repository holds a line break", from.objects)
	}
	var err error
	if from.shallow, err = os.ReadFile(filepath.Join(src.common, "shallow")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return lender{}, err
	}
	if rev == "" && src.repo.DefaultBranch != "" {
		rev = "refs/heads/" + src.repo.DefaultBranch
	}
	if !isObjectID(rev) {
		if from.commit, err = resolveCommit(ctx, w.git, src.gitDir, rev); err != nil {
			return lender{}, err
		}
	}
	from.tip = from.commit
	return from, nil
}

// newClone makes a clone that borrows from a lender, out of a spare one where there is one.
func (w *Workspace) newClone(ctx context.Context, src source, from lender, owner string, packs []bundle) (*clone, error) {
	c, err := w.emptyClone(src, from, owner)
	if err != nil {
		return nil, err
	}
	err = func() error {
		for _, b := range packs {
			if err := c.unpack(ctx, b); err != nil {
				return err
			}
		}
		commit, err := resolveCommit(ctx, w.git, c.gitDir(), from.commit)
		if err != nil {
			return err
		}
		return c.checkout(ctx, commit)
	}()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// emptyClone makes the directories of a clone, or takes a spare.
func (w *Workspace) emptyClone(src source, from lender, owner string) (*clone, error) {
	name := rand.Text()
	c := &clone{w: w, src: src, from: from, name: name, dir: filepath.Join(w.config.Root, clonesDir, name), owner: owner}
	w.setOpen(name, true)
	err := func() error {
		spare, err := w.takeSpare(src, from, c.dir)
		if err != nil {
			return err
		}
		if c.head = spare; spare == "" {
			if err := c.makeDirs(); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(c.dir, ownerFile), []byte(owner), 0o600)
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a clone: %w", err), c.Close())
	}
	return c, nil
}

func (c *clone) makeDirs() error {
	if err := os.MkdirAll(c.Dir(), 0o755); err != nil {
		return err
	}
	err := initGitDir(c.gitDir(), gitDirOptions{
		sha256: len(c.from.commit) == 64, alternates: []string{c.from.objects}, shallow: c.from.shallow,
	})
	if err != nil {
		return err
	}
	return c.writeSparse()
}

func (w *Workspace) setOpen(name string, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if open {
		w.open[name] = true
	} else {
		delete(w.open, name)
	}
}

func (w *Workspace) isOpen(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[name]
}
