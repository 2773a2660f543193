package codemap

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-7a986423/autocode/loop"
)

// Config bounds an Index. The zero value is usable.
type Config struct {
	// MaxBytes is an estimate of the heap that the index may hold, in bytes; repositories that were not asked
	// for longest are dropped beyond it. 0 means DefaultMaxBytes.
	MaxBytes int64
	// CacheDir is a directory where what is known of each repository is kept between processes, a file each. It is
	// made if it is missing. Empty means none.
	CacheDir string
	// CacheBytes bounds the files in CacheDir, in bytes; those that were not used longest are removed beyond it.
	// 0 means DefaultCacheBytes.
	CacheBytes int64
	// Warn hears that the cache could not be written, which fails nothing. Nil means nobody does.
	Warn func(error)
}

// DefaultMaxBytes holds some ten repositories of 50 MB of source.
const DefaultMaxBytes = 1 << 30

// Index is a code index over any number of repositories, which it tells apart by the blobs that they share.
// It is safe for concurrent use.
type Index struct {
	config  Config
	mu      sync.Mutex
	clock   int64
	shelves []*shelf
	loading sync.Mutex // one shelf is put up at a time
	count   counter
}

var _ loop.Index = (*Index)(nil)

// New returns an empty index.
func New(config Config) *Index {
	if config.MaxBytes <= 0 {
		config.MaxBytes = DefaultMaxBytes
	}
	if config.CacheBytes <= 0 {
		config.CacheBytes = DefaultCacheBytes
	}
	if config.Warn == nil {
		config.Warn = func(error) {}
	}
	return &Index{config: config}
}

// ErrSecret is returned where a file's name says that it holds credentials, which are never shown.
var ErrSecret = errors.New("the file is a place for secrets and is not shown")

// Stats says what was indexed for a tree.
type Stats struct {
	Files int   // with indexed text
	Bytes int64 // of their text
}

// Load indexes a tree, so that the queries that follow answer at once, and says what it indexed.
func (x *Index) Load(ctx context.Context, tree loop.Tree) (Stats, error) {
	_, v, err := x.open(ctx, tree)
	if err != nil {
		return Stats{}, err
	}
	return Stats{Files: v.indexed, Bytes: v.bytes}, nil
}

// Locate ranks files and their spans for a query, best first, at most top files.
func (x *Index) Locate(ctx context.Context, tree loop.Tree, text string, top int) ([]loop.Located, error) {
	s, v, err := x.open(ctx, tree)
	if err != nil {
		return nil, err
	}
	q := parseQuery(v.withoutForm(text))
	s.mu.RLock()
	all, m, weigh := s.rank(v, q)
	s.mu.RUnlock()
	all = all[:min(max(top, 0), len(all))]
	spans, err := s.spans(ctx, tree, v, q, all, m, weigh)
	if err != nil {
		return nil, err
	}
	x.keep(s)
	out := make([]loop.Located, 0, len(all))
	for i, r := range all {
		out = append(out, loop.Located{Path: v.files[r.file].path, Score: r.score, Spans: spans[i]})
	}
	return out, nil
}

// sampleBlobs is how many blobs of a tree are looked up to recognise its repository.
const sampleBlobs = 256

// open finds the shelf of a tree's repository, or puts up a new one, and brings it up to date.
func (x *Index) open(ctx context.Context, tree loop.Tree) (*shelf, *view, error) {
	files, err := tree.Files(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the files of %s: %w", tree.Commit(), err)
	}
	s := x.shelf(tree, files)
	v, err := s.at(ctx, tree, files)
	if err != nil {
		return nil, nil, err
	}
	x.trim(s)
	return s, v, nil
}

// shelf finds the shelf of a tree's repository, in memory or in the cache directory, or puts up a new one.
func (x *Index) shelf(tree loop.Tree, files []loop.TreeFile) *shelf {
	sample := make([]string, 0, sampleBlobs)
	step := max(1, len(files)/sampleBlobs)
	for i := 0; i < len(files) && len(sample) < sampleBlobs; i += step {
		sample = append(sample, files[i].Blob)
	}
	if s := x.known(tree.Commit(), sample); s != nil {
		return s
	}
	x.loading.Lock()
	defer x.loading.Unlock()
	if s := x.known(tree.Commit(), sample); s != nil {
		return s
	}
	file := x.cacheFile(tree)
	s := loadShelf(file)
	if s == nil {
		s = newShelf()
		s.file = file
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clock++
	s.used = x.clock
	x.shelves = append(x.shelves, s)
	return s
}

// known finds the shelf in memory that has a commit, or else the most of a sample of its blobs.
func (x *Index) known(commit string, sample []string) *shelf {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clock++
	var best *shelf
	most := 0
	for _, s := range x.shelves {
		if s.ready(commit) != nil {
			s.used = x.clock
			return s
		}
		if n := s.overlap(sample); n > most {
			best, most = s, n
		}
	}
	// A tenth in common is a fork or an old commit; less are licences and empty files.
	if best == nil || most*10 < len(sample) {
		return nil
	}
	best.used = x.clock
	return best
}

// trim drops the shelves that were not used longest until the rest fits. The one in use goes too if it
// has grown to twice its size at first, by words of old commits: the next call builds it anew.
func (x *Index) trim(inUse *shelf) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		total := int64(0)
		drop := -1
		for i, s := range x.shelves {
			s.mu.RLock()
			total += s.bytes
			grown := s.bytes > 2*s.fresh
			s.mu.RUnlock()
			if (s != inUse || grown) && (drop < 0 || s.used < x.shelves[drop].used) {
				drop = i
			}
		}
		if total <= x.config.MaxBytes || drop < 0 {
			return
		}
		x.shelves = append(x.shelves[:drop:drop], x.shelves[drop+1:]...)
	}
}
