package codemap

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// maxBlob is the largest file that is read, in bytes: larger ones are data or generated.
	maxBlob = 1 << 20
	// maxData is the same for files of data, which say little and are many.
	maxData = 64 << 10
	// batchBytes is how much text a worker takes at a time.
	batchBytes = 4 << 20
)

// shelf holds what is known of one repository: its blobs, by id, over all its commits that were asked for.
type shelf struct {
	building sync.Mutex // one build at a time
	mu       sync.RWMutex
	dict     *dictionary
	words    *vocabulary
	docs     map[string]*doc // by blob
	paths    map[string]*pathDoc
	past     *past
	forms    map[string][]uint64 // marks of the lines of forms for issues, by blob
	views    []*view             // newest last, at most keepViews
	parsed   parsed
	bytes    int64 // estimate of the heap that it holds
	fresh    int64 // the same after its first commit
	used     int64 // the index's clock at its last use

	file    string    // where it is kept between processes, empty for nowhere
	saved   int64     // bytes when it was last written or read
	savedAt time.Time // when it was last written
}

// keepViews is how many commits of a repository are kept ready: a task's base and the rounds on top of it.
const keepViews = 4

// pathDoc is what a path says by itself.
type pathDoc struct {
	class  class
	secret bool
	dirs   []uint32 // identifiers of the directories
	base   []uint32 // identifiers of the file's name
}

// view is a commit's tree with its docs at hand.
type view struct {
	commit  string
	files   []file
	byPath  map[string]int
	bytes   int64 // of all indexed blobs
	indexed int   // files with a stream
	history []*commit
	forms   map[uint64]bool // marks of lines that nobody wrote for one issue; see withoutForm
}

// file is one file of a view.
type file struct {
	path  string
	blob  string
	size  int64
	class class
	doc   *doc // nil if not read
	name  *pathDoc
}

func newShelf() *shelf {
	d := newDictionary()
	return &shelf{dict: d, words: newVocabulary(), docs: map[string]*doc{}, paths: map[string]*pathDoc{}, past: newPast(), forms: map[string][]uint64{}, parsed: parsed{outlines: map[string]*outline{}}}
}

// overlap counts how many of a sample of blobs the shelf holds.
func (s *shelf) overlap(blobs []string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, b := range blobs {
		if s.docs[b] != nil {
			n++
		}
	}
	return n
}

// at returns the view of tree, reading what is new in it.
func (s *shelf) at(ctx context.Context, tree loop.Tree, files []loop.TreeFile) (*view, error) {
	if v := s.ready(tree.Commit()); v != nil {
		return v, nil
	}
	s.building.Lock()
	defer s.building.Unlock()
	if v := s.ready(tree.Commit()); v != nil {
		return v, nil
	}
	if err := s.read(ctx, tree, s.missing(files)); err != nil {
		return nil, err
	}
	if err := s.readForms(ctx, tree, files); err != nil {
		return nil, err
	}
	if err := s.remember(ctx, tree); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view(tree.Commit(), files)
	s.views = append(s.views, v)
	if len(s.views) > keepViews {
		s.views = append(s.views[:0:0], s.views[1:]...)
	}
	s.sweep()
	if s.fresh == 0 {
		s.fresh = s.bytes
	}
	return v, nil
}

// spareDocs is how many docs of commits that are no longer kept may stay for commits to come.
const spareDocs = 256

// sweep drops the docs that no kept view has where they are more than those that one has; s.mu is held for
// writing. The dictionary keeps their words; see Index.trim.
func (s *shelf) sweep() {
	live := map[string]bool{}
	for _, v := range s.views {
		for _, f := range v.files {
			live[f.blob] = true
		}
	}
	if len(s.docs) <= 2*len(live)+spareDocs {
		return
	}
	for blob, d := range s.docs {
		if !live[blob] {
			s.bytes -= d.heap()
			delete(s.docs, blob)
		}
	}
}

func (s *shelf) ready(commit string) *view {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, v := range s.views {
		if v.commit == commit {
			return v
		}
	}
	return nil
}

// readable tells whether the content of a file that is not secret is worth reading.
func readable(f loop.TreeFile, c class) bool {
	if f.Mode != loop.ModeRegular && f.Mode != loop.ModeExecutable {
		return false
	}
	limit := int64(maxBlob)
	if c == classData || c == classGenerated {
		limit = maxData
	}
	return f.Size <= limit
}

// missing lists the blobs that must be read for files.
func (s *shelf) missing(files []loop.TreeFile) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var blobs []string
	seen := map[string]bool{}
	for _, f := range files {
		p := s.pathDoc(f.Path)
		if !p.secret && readable(f, p.class) && s.docs[f.Blob] == nil && !seen[f.Blob] {
			seen[f.Blob] = true
			blobs = append(blobs, f.Blob)
		}
	}
	return blobs
}

// pathDoc returns what a path says; s.mu is held for writing.
func (s *shelf) pathDoc(path string) *pathDoc {
	if p, ok := s.paths[path]; ok {
		return p
	}
	p := &pathDoc{class: classOf(path), secret: Secret(path)}
	dir, base := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, base = path[:i], path[i+1:]
	}
	x := lexer{dict: s.dict}
	x.words([]byte(dir))
	for _, w := range x.line {
		p.dirs = append(p.dirs, w.id)
	}
	x.words([]byte(base))
	for _, w := range x.line {
		p.base = append(p.base, w.id)
	}
	s.paths[path] = p
	s.bytes += int64(len(path) + 160)
	return p
}

// part is what one worker made of its share of the blobs, with numbers of its own dictionary.
type part struct {
	dict *dictionary
	docs map[string]*doc
}

// read indexes blobs on all processors.
func (s *shelf) read(ctx context.Context, tree loop.Tree, blobs []string) error {
	if len(blobs) == 0 {
		return nil
	}
	type text struct {
		blob    string
		content []byte
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), len(blobs)/16))
	batches := make(chan []text)
	parts := make([]part, workers)
	var group sync.WaitGroup
	for i := range parts {
		parts[i] = part{newDictionary(), map[string]*doc{}}
		group.Go(func() {
			x := lexer{dict: parts[i].dict}
			for batch := range batches {
				for _, t := range batch {
					parts[i].docs[t.blob] = x.read(t.content)
				}
			}
		})
	}
	var batch []text
	size := 0
	send := func() error {
		select {
		case batches <- batch:
			batch, size = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := tree.ReadAll(ctx, blobs, maxBlob, func(blob string, content []byte) error {
		batch = append(batch, text{blob, append([]byte(nil), content...)})
		if size += len(content); size >= batchBytes {
			return send()
		}
		return nil
	})
	if err == nil && len(batch) > 0 {
		err = send()
	}
	close(batches)
	group.Wait()
	if err != nil {
		return fmt.Errorf("index %d files of commit %s: %w", len(blobs), tree.Commit(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range parts {
		s.merge(parts[i])
	}
	for _, b := range blobs {
		if s.docs[b] == nil { // larger than the tree's listing said, or gone
			s.docs[b] = &doc{kind: blobTooLarge}
		}
	}
	return nil
}

// merge takes a worker's docs over into the shelf's dictionary; s.mu is held for writing.
func (s *shelf) merge(p part) {
	to := make([]uint32, len(p.dict.names))
	for i, name := range p.dict.names {
		if i > 0 {
			to[i] = s.dict.add(name)
		}
	}
	for blob, d := range p.docs {
		for i, id := range d.stream {
			d.stream[i] = to[id&^inComment] | id&inComment
		}
		for i, id := range d.defs {
			d.defs[i] = to[id]
		}
		for i := range d.chunks {
			d.chunks[i].name = to[d.chunks[i].name]
		}
		s.docs[blob] = d
		s.bytes += d.heap()
	}
	s.bytes += s.words.grow(s.dict)
}

// heap estimates what a doc costs in bytes.
func (d *doc) heap() int64 {
	return int64(4*cap(d.stream) + 2*cap(d.perLine) + 16*cap(d.chunks) + 4*cap(d.defs) + 160)
}

// view lays out a commit; s.mu is held for writing.
func (s *shelf) view(commit string, files []loop.TreeFile) *view {
	s.bytes += s.words.grow(s.dict)
	v := &view{commit: commit, files: make([]file, 0, len(files)), byPath: make(map[string]int, len(files))}
	for _, f := range files {
		p := s.pathDoc(f.Path)
		if f.Mode != loop.ModeRegular && f.Mode != loop.ModeExecutable || p.secret {
			continue
		}
		entry := file{path: f.Path, blob: f.Blob, size: f.Size, class: p.class, name: p}
		if readable(f, p.class) {
			entry.doc = s.docs[f.Blob]
		}
		if entry.doc != nil {
			switch entry.doc.kind {
			case blobText:
			case blobBinary, blobTooLarge:
				entry.class = classData
			case blobMinified, blobMarked:
				entry.class = classGenerated
			}
			if len(entry.doc.stream) > 0 {
				v.indexed++
				v.bytes += int64(entry.doc.bytes)
			}
		}
		v.byPath[f.Path] = len(v.files)
		v.files = append(v.files, entry)
	}
	v.history, _ = s.past.of(commit)
	v.forms = s.boilerplate(files, v.history)
	return v
}
