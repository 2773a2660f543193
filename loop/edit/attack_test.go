package edit_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-7a986423/autocode/loop/edit"
)

// refused applies reply to a tree with one file and wants it refused as kind, and nothing written.
func refused(t *testing.T, reply string, kind edit.Kind) {
	t.Helper()
	tree := files{"a.txt": "a\n", "src/A.go": "package a\n"}
	parent := t.TempDir()
	dir := filepath.Join(parent, "repo")
	if err := os.Rename(plant(t, tree), dir); err != nil {
		t.Fatal(err)
	}
	result := apply(t, dir, reply, edit.Options{})
	if len(result.Errors) == 0 || result.Errors[0].Kind != kind {
		t.Errorf("%q gives %+v, want %s", reply, result, kind)
	}
	sameTree(t, harvest(t, parent), files{"repo/a.txt": "a\n", "repo/src/A.go": "package a\n"})
}

// Each bad path as the target of a creation, an edit, a deletion and of both sides of a renaming.
func refusedPath(t *testing.T, path string) {
	t.Helper()
	for name, reply := range map[string]string{
		"create":      block(path, "", "x\n"),
		"edit":        block(path, "a\n", "x\n"),
		"delete":      path + " (delete)\n",
		"rename to":   "a.txt -> " + path + "\n",
		"rename from": path + " -> b.txt\n",
		"backticks":   block("`"+path+"`", "", "x\n"),
		"beside good": block("a.txt", "a\n", "b\n") + block(path, "", "x\n"),
	} {
		t.Run(name, func(t *testing.T) { refused(t, reply, edit.KindUnsafePath) })
	}
}

func TestAttackPaths(t *testing.T) {
	long := strings.Repeat("x", 256)
	cases := map[string]string{
		"45 git directory":                 ".git/config",
		"45 git directory, upper case":     ".GIT/config",
		"45 git directory, mixed case":     ".Git/hooks/post-checkout",
		"45 git directory below":           "sub/.git/config",
		"45 git file":                      "sub/.git",
		"45 short name":                    "git~1/config",
		"45 short name, upper case":        "GIT~1/config",
		"45 other short name":              "git~2/config",
		"45 hashed short name":             "gi7eba~1/config",
		"45 zero-width":                    ".g\u200cit/config",
		"45 zero-width joiner":             ".gi\u200dt/config",
		"45 byte order mark inside":        ".git\ufeff/config",
		"45 right-to-left mark":            "\u200f.git/config",
		"45 soft hyphen":                   ".g\u00adit/config",
		"45 trailing dot":                  ".git./config",
		"45 trailing space":                ".git /config",
		"45 trailing dots and spaces":      ".git. . /config",
		"45 stream":                        ".git::$INDEX_ALLOCATION/config",
		"45 full-width letters":            ".ｇｉｔ/config",
		"109 absolute path with a space":   "/etc/my passwd.txt",
		"110 parent and a space":           "../my x.txt",
		"45 behind a dot segment":          "./.git/config",
		"45 behind a doubled slash":        "src//.git/config",
		"109 absolute path":                "/etc/passwd.txt",
		"109 doubled slash":                "//host/share.txt",
		"109 drive":                        "C:/x.txt",
		"109 drive with backslash":         `C:\x.txt`,
		"109 drive without slash":          "C:x.txt",
		"109 unc path":                     `\\host\share\x.txt`,
		"109 home":                         "~/x.txt",
		"109 stream":                       "a.txt:hidden",
		"110 parent":                       "../x.txt",
		"110 parent inside":                "src/../../x.txt",
		"110 parent that stays inside":     "src/../b.txt",
		"110 parent at the end":            "src/..",
		"110 parent alone":                 "..",
		"110 backslash":                    `src\b.txt`,
		"110 backslash parent":             `..\x.txt`,
		"111 nul":                          "b\x00.txt",
		"111 carriage return":              "b\r.txt",
		"111 tab":                          "src/b\x0b.txt",
		"111 escape":                       "b\x1b[31m.txt",
		"111 delete":                       "b\x7f.txt",
		"111 next line":                    "b\u0085.txt",
		"111 line separator":               "b\u2028.txt",
		"111 right-to-left override":       "b\u202etxt.exe.txt",
		"113 invalid utf-8":                "b\xff.txt",
		"113 overlong slash":               "..\xc0\xafx.txt",
		"113 surrogate":                    "b\xed\xa0\x80.txt",
		"109 name beyond the longest name": "src/" + long + ".txt",
	}
	for name, path := range cases {
		t.Run(name, func(t *testing.T) { refusedPath(t, path) })
	}
}

func TestAttack111Newline(t *testing.T) {
	// A newline ends the path's line: what is behind it is the path, and what is before it is text.
	dir := plant(t, files{"a.txt": "a\n"})
	result := apply(t, dir, block("evil\nb.txt", "", "x\n"), edit.Options{})
	if !result.OK() || result.Applied[0].Path != "b.txt" {
		t.Errorf("%+v", result)
	}
	refused(t, strings.Replace(block("b.txt", "", "x\n"), "SEARCH", "SEARCH b\rc.txt", 1), edit.KindUnsafePath)
}

func TestAttack112TenMegabytes(t *testing.T) {
	good := block("a.txt", "a\n", "b\n")
	refused(t, good+strings.Repeat("x", edit.MaxReply-len(good)), edit.KindMalformed)
	refused(t, block("b.txt", "", strings.Repeat("x\n", edit.MaxReply)), edit.KindMalformed)
	refused(t, strings.Repeat("<<<<<<< SEARCH\n", 100_000), edit.KindMalformed)
}

func TestAttack113InvalidUTF8(t *testing.T) {
	refused(t, block("a.txt", "a\n", "\xff\xfe\n"), edit.KindMalformed)
	refused(t, block("b.txt", "", "\xc3\x28\n"), edit.KindMalformed)
	refused(t, block("b.txt", "", "nul \x00\n"), edit.KindMalformed)
}

func TestAttack114SameFileTwice(t *testing.T) {
	// Serial and deterministic: each block sees what the blocks before it left.
	reply := block("a.txt", "a\n", "b\n") + block("./a.txt", "b\n", "c\n") + block("a.txt", "c\n", "d\n")
	for range 20 {
		dir := plant(t, files{"a.txt": "a\n"})
		if result := apply(t, dir, reply, edit.Options{}); !result.OK() {
			t.Fatalf("%+v", result)
		}
		sameTree(t, harvest(t, dir), files{"a.txt": "d\n"})
	}
}

func TestAttack115Case(t *testing.T) {
	cases := map[string]string{
		"file":                      block("A.txt", "", "x\n"),
		"folder":                    block("SRC/b.go", "", "package a\n"),
		"file in a folder":          block("src/a.go", "", "package a\n"),
		"two new files":             block("n.txt", "", "x\n") + block("N.txt", "", "x\n"),
		"two new folders":           block("n/x.txt", "", "x\n") + block("N/y.txt", "", "x\n"),
		"renaming":                  "src/A.go -> A.TXT\n",
		"renaming into a folder":    "a.txt -> Src/b.txt\n",
		"composed and decomposed":   block("caf\u00e9.txt", "", "x\n") + block("cafe\u0301.txt", "", "x\n"),
		"letters with two folds":    block("stra\u017fe.txt", "", "x\n") + block("strase.txt", "", "x\n"),
		"kelvin sign":               block("k.txt", "", "x\n") + block("\u212a.txt", "", "x\n"),
		"new file and its own twin": "a.txt -> b.txt\n" + block("B.txt", "", "x\n"),
	}
	for name, reply := range cases {
		t.Run(name, func(t *testing.T) { refused(t, reply, edit.KindUnsafePath) })
	}
	t.Run("edit with the wrong case", func(t *testing.T) { refused(t, block("A.TXT", "a\n", "x\n"), edit.KindNotFound) })
	t.Run("names that are in the tree already", func(t *testing.T) {
		dir := plant(t, files{"a.txt": "a\n", "A.txt": "a\n"})
		if len(harvest(t, dir)) != 2 {
			t.Skip("the file system ignores case")
		}
		if result := apply(t, dir, block("A.txt", "a\n", "b\n"), edit.Options{}); !result.OK() {
			t.Errorf("%+v", result)
		}
		sameTree(t, harvest(t, dir), files{"a.txt": "a\n", "A.txt": "b\n"})
	})
}

func TestAttack116AmbiguousBlock(t *testing.T) {
	dir := plant(t, files{"a.go": "package a\n\nfunc a() {\n\treturn\n}\n\nfunc b() {\n\treturn\n}\n"})
	result := apply(t, dir, block("a.go", "\treturn\n}\n", "\tpanic(1)\n}\n"), edit.Options{})
	if len(result.Errors) != 1 || result.Errors[0].Kind != edit.KindAmbiguous {
		t.Fatalf("%+v", result)
	}
	near := result.Errors[0].Nearest
	if len(near) != 2 || near[0].Line != 4 || near[1].Line != 8 {
		t.Errorf("places %v, want lines 4 and 8", near)
	}
}

// Names that only look like git's directory.
func TestHarmlessNames(t *testing.T) {
	for _, path := range []string{".gitignore", ".github/workflows/a.txt", "git/a.txt", ".gitattributes", "a.git.txt", "git~/a.txt", "legit~1.txt",
		"..a.txt", "a..b.txt", "...txt", "x/..y/z.txt", "-a.txt", "a b/c d.txt", "a@b.txt", "ä/ö.txt", "[id]/page.tsx.txt", "(group)/a.txt", "$x.txt", "a+b.txt", "a,b.txt", "a'b.txt"} {
		t.Run(path, func(t *testing.T) {
			dir := plant(t, files{})
			result := apply(t, dir, block("File: "+path, "", "x\n"), edit.Options{})
			if !result.OK() {
				t.Errorf("%+v", result)
			}
			sameTree(t, harvest(t, dir), files{path: "x\n"})
		})
	}
}

func TestAttack41Links(t *testing.T) {
	outside := plant(t, files{"secret.txt": "secret\n"})
	dir := plant(t, files{"real/a.txt": "a\n"})
	for name, target := range map[string]string{
		"link.txt": "real/a.txt", "out.txt": filepath.Join(outside, "secret.txt"), "dangling.txt": "nowhere", "folder": "real", "outside": outside, "up": "../..",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, reply := range map[string]string{
		"edit through a link":               block("link.txt", "a\n", "x\n"),
		"edit through a link outside":       block("out.txt", "secret\n", "x\n"),
		"create over a dangling link":       block("dangling.txt", "", "x\n"),
		"delete a link":                     "link.txt (delete)\n",
		"rename a link":                     "link.txt -> b.txt\n",
		"rename onto a link":                "real/a.txt -> link.txt\n",
		"edit in a linked folder":           block("folder/a.txt", "a\n", "x\n"),
		"create in a linked folder":         block("folder/n.txt", "", "x\n"),
		"create outside":                    block("outside/n.txt", "", "x\n"),
		"create outside by a relative link": block("up/n.txt", "", "x\n"),
		"delete outside":                    "outside/secret.txt (delete)\n",
		"rename to outside":                 "real/a.txt -> outside/a.txt\n",
		"fifo":                              block("fifo.txt", "a\n", "x\n"),
	} {
		t.Run(name, func(t *testing.T) {
			result := apply(t, dir, reply, edit.Options{})
			if len(result.Errors) != 1 || result.Errors[0].Kind != edit.KindUnsafePath {
				t.Errorf("%+v", result)
			}
			sameTree(t, harvest(t, dir), files{"real/a.txt": "a\n"})
			sameTree(t, harvest(t, outside), files{"secret.txt": "secret\n"})
		})
	}
}
