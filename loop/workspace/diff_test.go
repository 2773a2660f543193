package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	long := strings.Repeat("line\n", 30)
	src.write("edit.txt", "one\ntwo\nthree\n")
	src.write("noeol", "one")
	src.write("gone.txt", "gone\n")
	src.write("mode.sh", "echo\n")
	src.write("old name.txt", long)
	src.write("becomes-link", "text\n")
	src.write("bin", "a\x00b")
	src.write("dir/\"quoted\" a b/ü\n.txt", "x\n")
	src.write("trick.txt", "a\n")
	src.write(".gitattributes", "*.txt -diff\nedit.txt binary\n")
	from := src.commit("from")
	w := newWorkspace(t, nil)
	c := open(t, w, localRepo(src.dir), "")
	dir := c.Dir()
	writeFile(t, dir, "edit.txt", "one\n2\nthree\nfour\n")
	writeFile(t, dir, "noeol", "one\n")
	writeFile(t, dir, "new.txt", "new\n")
	writeFile(t, dir, "empty", "")
	writeFile(t, dir, "bin", "a\x00c")
	writeFile(t, dir, "huge.txt", strings.Repeat("0123456789\n", 300_000))
	writeFile(t, dir, "dir/\"quoted\" a b/ü\n.txt", "y\n")
	writeFile(t, dir, "trick.txt", "a\n--- a/x\n+++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\n")
	for _, err := range []error{
		os.Remove(filepath.Join(dir, "gone.txt")), os.Chmod(filepath.Join(dir, "mode.sh"), 0o755),
		os.Rename(filepath.Join(dir, "old name.txt"), filepath.Join(dir, "new name.txt")),
		os.Remove(filepath.Join(dir, "becomes-link")), os.Symlink("edit.txt", filepath.Join(dir, "becomes-link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	to, err := c.Commit(t.Context(), "to")
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Diff(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range d.Files {
		added, removed := loop.Diff{Files: []loop.FileDiff{f}}.Count()
		got = append(got, fmt.Sprintf("%s %q %q %s %s %t +%d -%d", f.Op, f.OldPath, f.Path, f.OldMode, f.NewMode, f.Binary, added, removed))
	}
	slices.Sort(got)
	want := []string{
		`add "" "empty"  100644 false +0 -0`,
		`add "" "huge.txt"  100644 true +0 -0`,
		`add "" "new.txt"  100644 false +1 -0`,
		`delete "gone.txt" "gone.txt" 100644  false +0 -1`,
		`modify "becomes-link" "becomes-link" 100644 120000 false +1 -1`,
		`modify "bin" "bin" 100644 100644 true +0 -0`,
		`modify "dir/\"quoted\" a b/ü\n.txt" "dir/\"quoted\" a b/ü\n.txt" 100644 100644 false +1 -1`,
		`modify "edit.txt" "edit.txt" 100644 100644 false +2 -1`,
		`modify "mode.sh" "mode.sh" 100644 100755 false +0 -0`,
		`modify "noeol" "noeol" 100644 100644 false +1 -1`,
		`modify "trick.txt" "trick.txt" 100644 100644 false +4 -0`,
		`rename "old name.txt" "new name.txt" 100644 100644 false +0 -0`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("diff\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	i := slices.IndexFunc(d.Files, func(f loop.FileDiff) bool { return f.Path == "edit.txt" })
	wantLines := []loop.DiffLine{
		{Op: loop.LineContext, Old: 1, New: 1, Text: "one"}, {Op: loop.LineRemoved, Old: 2, Text: "two"}, {Op: loop.LineAdded, New: 2, Text: "2"},
		{Op: loop.LineContext, Old: 3, New: 3, Text: "three"}, {Op: loop.LineAdded, New: 4, Text: "four"},
	}
	if i < 0 || !slices.Equal(d.Files[i].Lines, wantLines) {
		t.Errorf("lines of edit.txt %+v", d.Files)
	}
	if !strings.Contains(d.Patch, "+four\n") {
		t.Error("the patch lacks a line")
	}
}

// TestDiffCapped is attack case 103 as far as it is git's: a diff of any size costs bounded memory.
func TestDiffCapped(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	from := src.commit("from")
	block := strings.Repeat("0123456789abcdef\n", 100_000)
	const files = 24
	for i := range files {
		src.write(fmt.Sprintf("f%02d", i), fmt.Sprint(i)+block)
	}
	to := src.commit("to")
	c := open(t, newWorkspace(t, nil), localRepo(src.dir), "")
	d, err := c.Diff(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Files) != files || len(d.Patch) > maxPatch {
		t.Errorf("%d files, patch of %d bytes", len(d.Files), len(d.Patch))
	}
	first, last := d.Files[0], d.Files[files-1]
	if first.Binary || len(first.Lines) != 100_000 || !last.Binary || len(last.Lines) != 0 {
		t.Errorf("first binary %t with %d lines, last binary %t with %d lines", first.Binary, len(first.Lines), last.Binary, len(last.Lines))
	}
}

func FuzzFillLines(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n\\ No newline at end of file\n")
	f.Add("diff --git a/x b/x\nBinary files a/x and b/x differ\n")
	f.Fuzz(func(t *testing.T, patch string) {
		files := []loop.FileDiff{{Path: "x", Op: loop.OpModify, OldMode: loop.ModeRegular, NewMode: loop.ModeRegular}}
		if err := fillLines(files, splitPatch(patch)); err == nil {
			if added, removed := (loop.Diff{Files: files}).Count(); added+removed > strings.Count(patch, "\n")+1 {
				t.Errorf("%d lines of a patch with %d", added+removed, strings.Count(patch, "\n"))
			}
		}
	})
}

func FuzzParseRaw(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add(":100644 100644 " + id + " " + id + " R100\x00a\x00b\x00")
	f.Add(":000000 100644 " + id + " " + id + " A\x00a\x00")
	f.Fuzz(func(t *testing.T, out string) {
		files, err := parseRaw(splitNUL([]byte(out)))
		for _, file := range files {
			if err == nil && file.Op == "" {
				t.Errorf("file without an operation: %+v", file)
			}
		}
	})
}

func FuzzParseBundle(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add([]byte("# v2 git bundle\n-" + id + " subject\n" + id + " refs/heads/x\n\nPACK"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := parseBundle(b)
		if err == nil && len(parsed.pack) > len(b) {
			t.Error("the pack is longer than the bundle")
		}
	})
}

func FuzzParseListing(f *testing.F) {
	f.Add([]byte("100644 blob " + strings.Repeat("a", 40) + "      12\tpath\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		files, err := parseListing(out)
		if err == nil && len(files) > len(out) {
			t.Error("more files than bytes")
		}
	})
}
