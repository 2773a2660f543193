package codemap

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// cacheSuffix ends the names of cache files; others in the directory are left alone.
	cacheSuffix = ".codemap"
	// DefaultCacheBytes bounds a cache directory: some thirty repositories of 50 MB of source.
	DefaultCacheBytes = 1 << 30
	// maxCacheFile bounds one repository's file, in bytes.
	maxCacheFile = 512 << 20
	// saveShare is the share of a shelf that must be new before it is written again: what a commit changes is
	// read again in less time than all of it is written.
	saveShare = 50
	// saveEvery is the least time between two writings of a shelf but for Flush: a batch asks a hundred queries.
	saveEvery = time.Minute
	// bloated is how often its size at first a shelf may have to be written: words of hundreds of old commits would
	// make every later start slower.
	bloated = 3
)

// stored is a tree that knows which store of objects it reads. Trees of one repository have one store, clones that
// borrow from it included; without it a repository is not cached.
type stored interface{ ObjectStore() string }

// cacheFile is the path of a tree's cache file, empty if it has none.
func (x *Index) cacheFile(tree loop.Tree) string {
	t, ok := tree.(stored)
	if x.config.CacheDir == "" || !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(t.ObjectStore()))
	return filepath.Join(x.config.CacheDir, hex.EncodeToString(sum[:16])+cacheSuffix)
}

// loadShelf reads a shelf from a cache file. A file that is missing, broken, cut short, of another version or not
// ours is no error: there is no shelf then, and the file is written anew.
func loadShelf(path string) *shelf {
	if path == "" {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCacheFile {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	s, err := decodeShelf(data)
	if err != nil {
		return nil
	}
	s.file, s.saved = path, s.bytes
	now := time.Now()
	_ = os.Chtimes(path, now, now) // the least recently used file goes first; not vital
	return s
}

// keep writes a shelf after a query, but not after each of many.
func (x *Index) keep(s *shelf) {
	if s.file == "" {
		return
	}
	s.building.Lock()
	defer s.building.Unlock()
	if time.Since(s.savedAt) < saveEvery {
		return
	}
	if err := x.save(s); err != nil {
		x.config.Warn(err)
	}
}

// Flush writes what the index has learnt of repositories since it was last written, if it has a cache directory.
func (x *Index) Flush() error {
	x.mu.Lock()
	shelves := slices.Clone(x.shelves)
	x.mu.Unlock()
	var failed []error
	for _, s := range shelves {
		s.building.Lock()
		failed = append(failed, x.save(s))
		s.building.Unlock()
	}
	return errors.Join(failed...)
}

// save writes a shelf if it is worth it; s.building is held.
func (x *Index) save(s *shelf) error {
	s.mu.RLock()
	file, unsaved, total := s.file, s.bytes-s.saved, s.bytes
	s.mu.RUnlock()
	outlines := s.parsed.news()
	if file == "" || total > bloated*s.fresh || unsaved*saveShare <= total && outlines == 0 {
		return nil
	}
	s.savedAt = time.Now()
	s.mu.RLock()
	data := encodeShelf(s)
	s.mu.RUnlock()
	if len(data) > maxCacheFile {
		return nil
	}
	if err := writeCache(file, data); err != nil {
		return fmt.Errorf("keep the index of a repository in %s (set another cache directory, or none): %w", x.config.CacheDir, err)
	}
	s.mu.Lock()
	s.saved = total
	s.mu.Unlock()
	s.parsed.kept(outlines)
	return pruneCache(x.config.CacheDir, file, x.config.CacheBytes)
}

// writeCache puts a file in the place of another in one step, so that no reader sees half of it.
func writeCache(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*"+cacheSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// pruneCache removes the cache files that were not used longest until the rest is within limit; keep stays. Files
// that another process removes meanwhile are gone as well.
func pruneCache(dir, keep string, limit int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look through the cache directory: %w", err)
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), cacheSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= limit {
			break
		}
		if path := filepath.Join(dir, f.Name()); path != keep {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove an old cache file: %w", err)
			}
			total -= f.Size()
		}
	}
	return nil
}
