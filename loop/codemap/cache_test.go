package codemap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// mirrored is a tree of a repository that has a place of its own.
type mirrored struct {
	*fakeTree
	store string
}

func (m mirrored) ObjectStore() string { return m.store }

const cachedQuery = "shared3 result of kind 4 is wrong in handlea17"

// warm returns a directory with the cache of a repository, and the answer to cachedQuery.
func warm(t *testing.T, tree loop.Tree) (dir string, answer []loop.Located) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "index")
	answer, err := New(Config{CacheDir: dir, Warn: func(err error) { t.Error(err) }}).Locate(t.Context(), tree, cachedQuery, 30)
	if err != nil {
		t.Fatal(err)
	}
	return dir, answer
}

func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCacheKeepsTheIndex(t *testing.T) {
	base := many(60, "a")
	base.name = "base"
	base = base.with("second", "Teach shared3 of kind 4 a result", map[string]string{"pkg1/filea1.go": "package p1\n"})
	tree := mirrored{base, "/mirrors/one"}
	dir, want := warm(t, tree)

	base.read = 0
	got, err := New(Config{CacheDir: dir}).Locate(t.Context(), tree, cachedQuery, 30)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("from the cache:\n%+v\nfresh:\n%+v", got, want)
	}
	if base.read != 0 {
		t.Errorf("%d blobs were read although all are known", base.read)
	}

	next := base.with("third", "Zebras", map[string]string{"pkg1/new.go": "package pkg1\n\n// zebraCount counts zebras.\nfunc zebraCount() int { return 1 }\n"})
	located, err := New(Config{CacheDir: dir}).Locate(t.Context(), mirrored{next, "/mirrors/one"}, "zebra count", 1)
	if err != nil || len(located) != 1 || located[0].Path != "pkg1/new.go" {
		t.Errorf("a new commit on top of the cache: %+v, %v", located, err)
	}
	if next.read > 2 { // the new blob, and once more for its syntax tree
		t.Errorf("%d blobs were read for a commit that adds one", next.read)
	}

	if info, err := os.Stat(cacheFiles(t, dir)[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: the cache tells what private code says", info.Mode(), err)
	}
	other := mirrored{base, "/mirrors/two"}
	base.read = 0
	if _, err := New(Config{CacheDir: dir}).Load(t.Context(), other); err != nil || base.read == 0 {
		t.Errorf("another repository's cache was taken: %v", err)
	}
}

func TestCacheBroken(t *testing.T) {
	base := many(20, "a")
	base.name = "base"
	tree := mirrored{base, "/mirrors/one"}
	dir, want := warm(t, tree)
	file := cacheFiles(t, dir)[0]
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		data := bytes.Clone(good)
		data[at] ^= 0x40
		return data
	}
	cases := []struct {
		name string
		data []byte
	}{
		{"empty", nil}, {"foreign", []byte("#!/bin/sh\n")}, {"cut short", good[:len(good)/2]}, {"longer", append(bytes.Clone(good), 0)},
		{"another version", flipped(len(cacheMagic) - 2)}, {"wrong checksum", flipped(len(cacheMagic))},
		{"one bit of its middle", flipped(len(good) / 2)}, {"one bit of its end", flipped(len(good) - 1)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := New(Config{CacheDir: dir}).Locate(t.Context(), tree, cachedQuery, 30)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, want)
			}
			if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, good) {
				t.Errorf("the file was not written anew: %v", err)
			}
		})
	}
	t.Run("a link is not followed", func(t *testing.T) {
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Rename(file, elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, file); err != nil {
			t.Fatal(err)
		}
		base.read = 0
		if _, err := New(Config{CacheDir: dir}).Load(t.Context(), tree); err != nil || base.read == 0 {
			t.Errorf("%d blobs read, %v", base.read, err)
		}
	})
}

func TestCacheCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var warned error
	tree := mirrored{many(5, "a"), "/mirrors/one"}
	x := New(Config{CacheDir: dir, Warn: func(err error) { warned = err }})
	if got, err := x.Locate(t.Context(), tree, cachedQuery, 3); err != nil || len(got) == 0 {
		t.Errorf("the query failed with the cache: %v, %v", got, err)
	}
	if warned == nil || x.Flush() == nil {
		t.Errorf("nobody was told: %v", warned)
	}
}

func TestCacheIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	old := time.Now().Add(-time.Hour)
	for i, store := range []string{"/a", "/b", "/c"} {
		tree := mirrored{many(20, store[1:]), store}
		if _, err := New(Config{CacheDir: dir}).Locate(t.Context(), tree, cachedQuery, 3); err != nil {
			t.Fatal(err)
		}
		for _, f := range cacheFiles(t, dir) {
			if info, err := os.Stat(f); err == nil && info.ModTime().After(old.Add(time.Minute)) {
				if err := os.Chtimes(f, old, old.Add(time.Duration(i)*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, used := cacheFiles(t, dir), int64(0)
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// Room for two; the first is read and with that the most recent; a fourth one comes.
	first, fourth := mirrored{many(20, "a"), "/a"}, mirrored{many(20, "d"), "/d"}
	config := Config{CacheDir: dir, CacheBytes: 2*info.Size() + info.Size()/2}
	for _, tree := range []loop.Tree{first, fourth} {
		if _, err := New(config).Locate(t.Context(), tree, cachedQuery, 3); err != nil {
			t.Fatal(err)
		}
	}
	left := map[string]bool{}
	for _, f := range cacheFiles(t, dir) {
		if left[f] = true; f != note {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			used += info.Size()
		}
	}
	x := New(config)
	if used > config.CacheBytes || !left[x.cacheFile(first)] || !left[x.cacheFile(fourth)] || !left[note] {
		t.Errorf("%d of %d bytes are used by %v", used, config.CacheBytes, left)
	}
}

// FuzzDecodeShelf gives bytes of any kind a right checksum: whatever is accepted must answer queries.
func FuzzDecodeShelf(f *testing.F) {
	tree := mirrored{many(3, "a"), "/mirrors/one"}
	tree.name = "base"
	tree.fakeTree = tree.with("second", "Teach shared3 a result", map[string]string{"a.go": "package a\n"})
	x := New(Config{})
	if _, err := x.Locate(context.Background(), tree, cachedQuery, 5); err != nil {
		f.Fatal(err)
	}
	skip := len(cacheMagic) + sha256.Size
	f.Add(encodeShelf(x.shelves[0])[skip:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		s, err := decodeShelf(append(append([]byte(cacheMagic), sum[:]...), body...))
		if err != nil {
			return
		}
		x := New(Config{})
		x.shelves = append(x.shelves, s)
		for _, query := range []string{cachedQuery, "package"} {
			if _, err := x.Locate(t.Context(), tree, query, 5); err != nil {
				t.Fatal(err)
			}
		}
	})
}
