package codemap

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// many is a repository of n files with some words in common.
func many(n int, salt string) *fakeTree {
	files := map[string]string{}
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "package p%d\n\n", i)
		for k := range 12 {
			fmt.Fprintf(&b, "// handle%s%d_%d does work %d of kind %d.\nfunc handle%s%d_%d(input int) int {\n\tresult := input * %d\n\treturn result + shared%d(result)\n}\n\n", salt, i, k, k, i%7, salt, i, k, k, i%5)
		}
		files[fmt.Sprintf("pkg%d/file%s%d.go", i%9, salt, i)] = b.String()
	}
	return newTree(files)
}

func TestDeterministic(t *testing.T) {
	tree := many(60, "a")
	const query = "shared3 result of kind 4 is wrong in handlea17"
	first, err := New(Config{}).Locate(t.Context(), tree, query, 30)
	if err != nil || len(first) == 0 {
		t.Fatal(first, err)
	}
	for range 5 {
		again, err := New(Config{}).Locate(t.Context(), tree, query, 30)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("two indexes disagree:\n%+v\n%+v", first, again)
		}
	}
}

func TestIncrementalEqualsCold(t *testing.T) {
	base := many(50, "a")
	base.name = "base"
	next := base.with("next", "Teach shared3 about zebras", map[string]string{
		"pkg1/new.go":    "package pkg1\n\n// zebraCount counts zebras.\nfunc zebraCount() int { return shared3(1) }\n",
		"pkg0/filea0.go": "", "pkg3/filea3.go": "package p3\n\nfunc zebra() {}\n",
	})
	warm := New(Config{})
	if _, err := warm.Load(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	next.read = 0
	got, err := warm.Locate(t.Context(), next, "zebra count of shared3", 20)
	if err != nil {
		t.Fatal(err)
	}
	// The two changed blobs are indexed; the best files are read once more for their syntax trees.
	if next.read > 2+parsedFiles {
		t.Errorf("%d blobs were read for a commit that changed two", next.read)
	}
	want, err := New(Config{}).Locate(t.Context(), next, "zebra count of shared3", 20)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("incremental:\n%+v\ncold:\n%+v", got, want)
	}
}

func TestHistoryLeadsToTheTree(t *testing.T) {
	base := many(20, "a")
	base.name = "base"
	next := base.with("next", "Quagga support", map[string]string{"pkg1/filea1.go": "package quaggafree\n"})
	x := New(Config{})
	for _, tree := range []*fakeTree{next, base} {
		if _, err := x.Load(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
	}
	// The message of a later commit must not speak for the earlier tree.
	got, err := x.Locate(t.Context(), base, "quagga", 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 0 {
		t.Errorf("the base located %+v by a commit of its future", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	x := New(Config{MaxBytes: 2 << 20})
	for i := range 12 {
		if _, err := x.Load(t.Context(), many(120, fmt.Sprintf("repo%c", 'a'+i))); err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, s := range x.shelves {
			total += s.bytes
		}
		if total > x.config.MaxBytes && len(x.shelves) > 1 {
			t.Fatalf("%d repositories hold %d bytes, more than %d", len(x.shelves), total, x.config.MaxBytes)
		}
	}
	if len(x.shelves) == 12 {
		t.Error("no repository was dropped; the test is too small")
	}
}

func TestManyCommitsAreBounded(t *testing.T) {
	x := New(Config{})
	tree := many(30, "a")
	tree.name = "c0"
	for i := range 60 {
		change := map[string]string{}
		for k := range 30 {
			change[fmt.Sprintf("pkg%d/filea%d.go", k%9, k)] = many(30, fmt.Sprintf("v%d", i)).files[fmt.Sprintf("pkg%d/filev%d%d.go", k%9, i, k)]
		}
		change["stable.go"] = "package stable\n"
		tree = tree.with(fmt.Sprintf("c%d", i+1), "Rewrite", change)
		// A tenth stays, so that it is the same repository.
		for k := range 8 {
			tree.files[fmt.Sprintf("keep%d.go", k)] = fmt.Sprintf("package keep%d\n", k)
		}
		if _, err := x.Load(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
	}
	docs, tips := 0, 0
	for _, s := range x.shelves {
		docs += len(s.docs)
		tips += len(s.past.tips)
	}
	if docs > 60*30/2 {
		t.Errorf("%d blobs are kept of 60 rewrites of 30 files", docs)
	}
	if tips > keepTips+1 {
		t.Errorf("%d histories are kept", tips)
	}
}

func TestHugeAndOddFiles(t *testing.T) {
	tree := newTree(map[string]string{
		"huge.go":           "package huge\n" + strings.Repeat("var walrus = 1\n", 100_000),
		"small.go":          "package small\n\nfunc walrus() {}\n",
		"empty.go":          "",
		"crlf.go":           "package crlf\r\n\r\nfunc narwhal() {\r\n}\r\n",
		"latin1.py":         "# caf\xe9\ndef seal(): pass\n",
		"with space/a b.go": "package odd\n\nfunc octopus() {}\n",
		"no-newline-at-end": "manatee",
		"line\nbreak.go":    "package lb\n\nfunc dugong() {}\n",
		"deep/" + strings.Repeat("d/", 100) + "x.go": "package deep\n\nfunc beluga() {}\n",
	})
	tree.links = map[string]string{"link.go": "/etc/passwd"}
	for query, want := range map[string]string{
		"walrus": "small.go", "narwhal": "crlf.go", "seal": "latin1.py", "octopus": "with space/a b.go", "manatee": "no-newline-at-end", "dugong": "line\nbreak.go",
	} {
		if got := locate(t, tree, query, 3); len(got) == 0 || got[0] != want {
			t.Errorf("%s: located %q, want %q first", query, got, want)
		}
	}
	if got := locate(t, tree, "link passwd etc", 5); len(got) != 0 {
		t.Errorf("a link was located: %q", got)
	}
}

func TestConcurrent(t *testing.T) {
	x := New(Config{MaxBytes: 4 << 20})
	base := many(40, "a")
	base.name = "base"
	want := locate(t, base, "shared3 handlea17", 10)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			tree := &fakeTree{files: maps.Clone(base.files), name: "base"}
			if i%2 == 1 {
				tree = base.with(fmt.Sprintf("c%d", i), "Change", map[string]string{"pkg1/x.go": fmt.Sprintf("package x%d\n", i)})
			}
			got, err := x.Locate(t.Context(), tree, "shared3 handlea17", 10)
			if err != nil {
				t.Error(err)
				return
			}
			if i%2 == 0 && !reflect.DeepEqual(paths(got), want) {
				t.Errorf("located %q, want %q", paths(got), want)
			}
			if _, err := x.Pack(t.Context(), tree, got, nil, 2000); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestTreeFails(t *testing.T) {
	tree := shop()
	tree.fail = errors.New("disk on fire")
	x := New(Config{})
	if _, err := x.Locate(t.Context(), tree, "discount", 5); !errors.Is(err, tree.fail) {
		t.Errorf("error %v, want the tree's", err)
	}
	tree.fail = nil
	if got, err := x.Locate(t.Context(), tree, "discount", 5); err != nil || len(got) == 0 {
		t.Errorf("after the tree's recovery: %v, %v", got, err)
	}
}
