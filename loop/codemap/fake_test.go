package codemap

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// fakeTree is a commit held in memory. It counts what is read of it.
type fakeTree struct {
	files   map[string]string
	links   map[string]string // path to target
	history []loop.HistoryCommit
	name    string

	read int // blobs handed out
	fail error
}

func newTree(files map[string]string) *fakeTree { return &fakeTree{files: files} }

// with returns the tree after a commit that changes some files; an empty content deletes.
func (t *fakeTree) with(name, message string, change map[string]string) *fakeTree {
	next := &fakeTree{files: maps.Clone(t.files), history: slices.Clone(t.history), name: name}
	c := loop.HistoryCommit{ID: name, Subject: message, At: time.Unix(int64(len(t.history)+1)*1000, 0)}
	for p, text := range change {
		if c.Files = append(c.Files, p); text == "" {
			delete(next.files, p)
			continue
		}
		next.files[p] = text
	}
	slices.Sort(c.Files)
	next.history = append([]loop.HistoryCommit{c}, next.history...)
	return next
}

func blobID(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (t *fakeTree) Commit() string {
	if t.name != "" {
		return t.name
	}
	all := ""
	for _, p := range slices.Sorted(maps.Keys(t.files)) {
		all += p + "\x00" + blobID(t.files[p])
	}
	return blobID(all)
}

func (t *fakeTree) Files(context.Context) ([]loop.TreeFile, error) {
	if t.fail != nil {
		return nil, t.fail
	}
	var out []loop.TreeFile
	for _, p := range slices.Sorted(maps.Keys(t.files)) {
		out = append(out, loop.TreeFile{Path: p, Mode: loop.ModeRegular, Blob: blobID(t.files[p]), Size: int64(len(t.files[p]))})
	}
	for _, p := range slices.Sorted(maps.Keys(t.links)) {
		out = append(out, loop.TreeFile{Path: p, Mode: loop.ModeSymlink, Blob: blobID(t.links[p]), Size: int64(len(t.links[p]))})
	}
	return out, nil
}

func (t *fakeTree) Read(_ context.Context, path string) ([]byte, error) {
	text, ok := t.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (t *fakeTree) ReadAll(ctx context.Context, blobs []string, maxBytes int64, each func(string, []byte) error) error {
	byBlob := map[string]string{}
	for _, text := range t.files {
		byBlob[blobID(text)] = text
	}
	for _, b := range blobs {
		text, ok := byBlob[b]
		if !ok {
			return errors.New("no such blob " + b)
		}
		if int64(len(text)) > maxBytes {
			continue
		}
		t.read++
		if err := each(b, []byte(text)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (t *fakeTree) History(_ context.Context, n int) ([]loop.HistoryCommit, error) {
	return t.history[:min(n, len(t.history))], nil
}

// locate returns the paths that an empty index ranks first for a query.
func locate(t *testing.T, tree loop.Tree, query string, top int) []string {
	t.Helper()
	located, err := New(Config{}).Locate(t.Context(), tree, query, top)
	if err != nil {
		t.Fatal(err)
	}
	return paths(located)
}

func paths(located []loop.Located) []string {
	out := []string{}
	for _, l := range located {
		out = append(out, l.Path)
	}
	return out
}
