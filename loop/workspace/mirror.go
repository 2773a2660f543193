package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// ErrTooLarge is returned for a repository, a worktree, a file or a bundle over its limit.
var ErrTooLarge = errors.New("larger than the limit")

const (
	refsFile = "autocode-refs" // in a mirror: the refs of the last complete fetch
	// bigFile is from where git streams a blob instead of holding it in memory.
	bigFile = "64m"
	// quotaPoll is how often a running transfer's size on disk is looked at.
	quotaPoll = 200 * time.Millisecond
	// maxPacks is how many packs a mirror collects before they are joined: each costs every
	// reader a look.
	maxPacks = 40
)

// oldFaults are fsck's findings that old histories of well-known repositories carry. They are
// harmless to a reader; everything else that fsck calls an error ends a transfer.
var oldFaults = []string{
	"badDate", "badDateOverflow", "badEmail", "badName", "badTagName", "badTimezone", "missingAuthor", "missingEmail",
	"missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTaggerEntry",
	"multipleAuthors", "zeroPaddedDate", "zeroPaddedFilemode",
}

// fetchConfig checks every object on its way in.
func fetchConfig() []setting {
	settings := []setting{
		{"transfer.fsckObjects", "true"},
		{"fetch.fsckObjects", "true"},
		{"fetch.unpackLimit", "1"},
		{"core.bigFileThreshold", bigFile},
	}
	for _, fault := range oldFaults {
		settings = append(settings, setting{"fetch.fsck." + fault, "warn"})
	}
	return settings
}

// mirror is one generation of a repository's mirror: a bare git directory that only ever gains
// objects while clones borrow from it. A broken one is not repaired but replaced by the next.
type mirror struct {
	dir  string
	refs map[string]string
}

// mirrorOf brings the mirror of a repository up to date, made where it is missing. A mirror that
// turned out to be broken is named, so that a new one is made in its stead.
func (w *Workspace) mirrorOf(ctx context.Context, src source, broken string) (mirror, error) {
	var m mirror
	err := w.withMirrorLock(ctx, src.key, func(home string, lock *os.File) error {
		refs, err := w.lsRemote(ctx, src)
		if err != nil {
			return err
		}
		if len(refs) == 0 {
			return fmt.Errorf("%s: %w (push a first commit)", src.repo.FullName(), loop.ErrEmptyRepository)
		}
		generation, err := currentGeneration(home)
		if err != nil {
			return err
		}
		if broken == generationDir(home, generation) {
			generation++
		}
		m = mirror{dir: generationDir(home, generation), refs: refs}
		err = w.update(ctx, src, m, lock)
		if err != nil && isCorruption(err) {
			w.config.Warn(ctx, "rebuilding the mirror of "+src.repo.FullName(), err)
			m.dir = generationDir(home, generation+1)
			err = w.update(ctx, src, m, lock)
		}
		return err
	})
	return m, err
}

// withMirrorLock calls do while no other goroutine or process changes the mirror.
func (w *Workspace) withMirrorLock(ctx context.Context, key string, do func(home string, lock *os.File) error) error {
	unlock, err := w.locks.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	home := filepath.Join(w.config.Root, mirrorsDir, key)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	lock, err := lockFile(ctx, filepath.Join(home, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	return do(home, lock)
}

func generationDir(home string, n int) string { return filepath.Join(home, strconv.Itoa(n)+".git") }

// currentGeneration returns the number of the newest mirror, 1 where there is none.
func currentGeneration(home string) (int, error) {
	entries, err := os.ReadDir(home)
	if err != nil {
		return 0, err
	}
	newest := 1
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".git")); err == nil {
			newest = max(newest, n)
		}
	}
	return newest, nil
}

// update fetches what changed. The caller holds the lock.
func (w *Workspace) update(ctx context.Context, src source, m mirror, lock *os.File) error {
	stored, err := os.ReadFile(filepath.Join(m.dir, refsFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = initGitDir(m.dir, gitDirOptions{})
	}
	if err != nil {
		return fmt.Errorf("make the mirror: %w", err)
	}
	want := renderRefs(m.refs)
	if string(stored) == want {
		// Its time says when the mirror was last of use.
		now := time.Now()
		return os.Chtimes(filepath.Join(m.dir, refsFile), now, now)
	}
	if err := clearStale(m.dir); err != nil {
		return fmt.Errorf("clear what a killed fetch left: %w", err)
	}
	if err := w.fetch(ctx, src, m.dir, lock, "--prune", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return err
	}
	if err := w.joinPacks(ctx, m.dir, lock); err != nil {
		w.config.Warn(ctx, "join the packs of a mirror", err)
	}
	return writeFileAtomic(filepath.Join(m.dir, refsFile), []byte(want))
}

func renderRefs(refs map[string]string) string {
	var b strings.Builder
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		b.WriteString(refs[ref] + "\t" + ref + "\n")
	}
	return b.String()
}

// fetchCommits gets commits that no branch or tag of the remote leads to, and that the mirror
// lacks: a snapshot's base that was rewritten since. The remote decides whether it still has them.
func (w *Workspace) fetchCommits(ctx context.Context, src source, m mirror, ids []string) error {
	return w.withMirrorLock(ctx, src.key, func(_ string, lock *os.File) error {
		var refspecs []string
		for _, id := range ids {
			refspecs = append(refspecs, id+":refs/autocode/wanted/"+id)
		}
		return w.fetch(ctx, src, m.dir, lock, "--no-prune", refspecs...)
	})
}

// fetch runs one fetch into a mirror, within its quota.
func (w *Workspace) fetch(ctx context.Context, src source, dir string, lock *os.File, prune string, refspecs ...string) error {
	args := append([]string{
		"fetch", prune, "--quiet", "--force", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--no-show-forced-updates", "--end-of-options", src.url.String(),
	}, refspecs...)
	c, err := w.authorize(ctx, call{args: args, gitDir: dir, config: fetchConfig(), timeout: w.config.FetchTimeout, lock: lock}, src, loop.AccessRead)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watchQuota(ctx, filepath.Join(dir, "objects", "pack"), stop)
	}()
	_, err = w.remote(ctx, c)
	stop(nil)
	<-watched
	if err == nil {
		err = w.checkQuota(filepath.Join(dir, "objects", "pack"))
	}
	if errors.Is(err, ErrTooLarge) {
		// A partial pack is of no use to anybody and fills the disk.
		return errors.Join(fmt.Errorf("fetch %s: %w", src.repo.FullName(), err), clearStale(dir))
	}
	if strings.Contains(stderrOf(err), fsckRefusal) {
		return fmt.Errorf("fetch %s: it holds an object that git's own check refuses (run `git fsck` on it and repair its history): %w", src.repo.FullName(), err)
	}
	if err != nil {
		return explainRemote("fetch "+src.repo.FullName(), err)
	}
	return nil
}

// watchQuota ends a transfer that fills the disk.
func (w *Workspace) watchQuota(ctx context.Context, packs string, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(quotaPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := w.checkQuota(packs); err != nil {
				stop(err)
				return
			}
		}
	}
}

func (w *Workspace) checkQuota(packs string) error {
	size, err := dirSize(packs)
	if err == nil && size > w.config.MaxMirrorBytes {
		return fmt.Errorf("the repository has over %d bytes of objects, MaxMirrorBytes is %d: %w", size, w.config.MaxMirrorBytes, ErrTooLarge)
	}
	return nil
}

// dirSize sums up the sizes of the files directly in dir.
func dirSize(dir string) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, e := range entries {
		// A file that is renamed while this reads is counted the next time.
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	return size, nil
}

// joinPacks keeps the number of packs small without dropping an object that a clone may need.
func (w *Workspace) joinPacks(ctx context.Context, dir string, lock *os.File) error {
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) <= maxPacks {
		return err
	}
	_, err = w.git.run(ctx, call{gitDir: dir, args: []string{"repack", "--quiet", "--geometric=2", "-d", "--no-write-bitmap-index"}, timeout: w.config.FetchTimeout, lock: lock})
	return err
}

// clearStale removes temporary packs and lock files. The caller holds the mirror's lock, so no
// living process owns them.
func clearStale(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		name := d.Name()
		if !d.Type().IsRegular() || (!strings.HasPrefix(name, "tmp_") && !strings.HasSuffix(name, ".lock")) {
			return nil
		}
		return ignoreMissing(os.Remove(path))
	})
}

// fsckRefusal is what git says of a transfer that brought a malformed or hostile object.
const fsckRefusal = "fsck error"

// corruption is what git says of a git directory whose files are damaged.
var corruption = regexp.MustCompile(`(?i)corrupt|bad object|bad tree object|missing (?:blob|tree|commit)|unable to read|could not read [0-9a-f]{40}|` +
	`inflate|not a git repository|loose object|packfile .* (?:cannot|does not|is|has|claims)|index file .*|pack has|broken|` +
	`unable to (?:parse|find|normalize)|invalid (?:sha1|object|index-pack)|not a valid object|did not send all necessary objects|bad config|premature end|badly formed|unresolved deltas`)

// isCorruption says whether an error is of a damaged mirror rather than of the remote.
func isCorruption(err error) bool {
	var failed *Error
	return !errors.Is(err, loop.ErrNoAccess) && errors.As(err, &failed) && failed.Err == nil &&
		!strings.Contains(failed.Stderr, fsckRefusal) && corruption.MatchString(failed.Stderr)
}

func writeFileAtomic(path string, content []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
