package edit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-7a986423/autocode/loop/edit"
)

func TestCreate(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"file":                     {abc, block("n.txt", "", "x\ny\n"), with(files{"n.txt": "x\ny\n"}), "create n.txt exact 1", ""},
		"in new folders":           {abc, block("p/q/n.txt", "", "x\n"), with(files{"p/q/n.txt": "x\n"}), "create p/q/n.txt exact 1", ""},
		"empty":                    {abc, block("n.txt", "", ""), with(files{"n.txt": ""}), "create n.txt exact 1", ""},
		"blank line in SEARCH":     {abc, block("n.txt", "\n", "x\n"), with(files{"n.txt": "x\n"}), "create n.txt exact 1", ""},
		"content with blank ends":  {abc, block("n.txt", "", "\nx\n\n"), with(files{"n.txt": "\nx\n\n"}), "create n.txt exact 1", ""},
		"over a file":              {abc, block("a.txt", "", "x\n"), nil, "error conflict 1 a.txt", "exists already"},
		"over a folder":            {abc, block("src", "", "x\n"), nil, "error conflict 1 src", "folder"},
		"below a file":             {abc, block("a.txt/n.txt", "", "x\n"), nil, "error conflict 1 a.txt/n.txt", "is a file"},
		"below a new file":         {abc, block("n.txt", "", "x\n") + block("n.txt/m.txt", "", "x\n"), nil, "error conflict 2 n.txt/m.txt", "is a file"},
		"over a new folder":        {abc, block("n.d/m.txt", "", "x\n") + block("File: n.d", "", "x\n"), nil, "error conflict 2 n.d", "folder"},
		"SEARCH on a missing file": {abc, block("n.txt", "x\n", "y\n"), nil, "error not-found 1 n.txt", "does not exist"},
		"path that names a folder": {abc, block("src/", "", "x\n"), nil, "error unsafe-path 1 src/", "folder"},
		"fence that belongs to it": {abc, "n.md\n````\n" + block("", "", "```go\nx\n```\n") + "````\n", with(files{"n.md": "```go\nx\n```\n"}), "create n.md exact 1", ""},
		"binary file":              {files{"a.bin": "a\x00b\n"}, block("a.bin", "a\n", "x\n"), nil, "error conflict 1 a.bin", "binary"},
		"file in utf-16":           {files{"a.txt": "\xff\xfea\x00\n\x00"}, block("a.txt", "a\n", "x\n"), nil, "error conflict 1 a.txt", "binary"},
		"file beyond the limit":    {files{"a.txt": strings.Repeat("0123456789abcde\n", edit.MaxFile/16+1)}, block("a.txt", "a\n", "x\n"), nil, "error conflict 1 a.txt", "too large"},
		"long line":                {files{"a.txt": strings.Repeat("x", 1<<20) + "\nb\n"}, block("a.txt", "b\n", "c\n"), files{"a.txt": strings.Repeat("x", 1<<20) + "\nc\n"}, "edit a.txt exact 2", ""},
	})
}

func TestSyntax(t *testing.T) {
	const goSrc = "package a\n\nfunc f() int {\n\treturn 1\n}\n"
	runScenarios(t, map[string]scenario{
		"go broken":                         {files{"a.go": goSrc}, block("a.go", "\treturn 1\n", "\treturn (1\n"), nil, "error conflict 1 a.go", "line 4"},
		"go fine":                           {files{"a.go": goSrc}, block("a.go", "\treturn 1\n", "\treturn (1)\n"), files{"a.go": strings.Replace(goSrc, "1", "(1)", 1)}, "edit a.go exact 4", ""},
		"go, brace left out":                {files{"a.go": goSrc}, block("a.go", "\treturn 1\n}\n", "\treturn 1\n"), nil, "error conflict 1 a.go", "no longer parses"},
		"broken before, as broken after":    {files{"a.go": "package a\n\nfunc f( {\n}\n\nvar x = 1\n"}, block("a.go", "var x = 1\n", "var x = 2\n"), files{"a.go": "package a\n\nfunc f( {\n}\n\nvar x = 2\n"}, "edit a.go exact 6", ""},
		"broken before, mended":             {files{"a.go": "package a\n\nfunc f( {\n}\n"}, block("a.go", "func f( {\n", "func f() {\n"), files{"a.go": "package a\n\nfunc f() {\n}\n"}, "edit a.go exact 3", ""},
		"new file broken":                   {abc, block("n.py", "", "def f(:\n    pass\n"), nil, "error conflict 1 n.py", "line 1"},
		"python broken":                     {files{"a.py": "def f():\n    return 1\n"}, block("a.py", "    return 1\n", "    return (1\n"), nil, "error conflict 1 a.py", ""},
		"python, body lost its indentation": {files{"a.py": "def f():\n    x = 1\n    return x\n"}, block("a.py", "    x = 1\n    return x\n", "x = 1\nreturn x\n"), nil, "error conflict 1 a.py", "line 1"},
		"python, line too deep":             {files{"a.py": "def f():\n    x = 1\n    return x\n"}, block("a.py", "    return x\n", "        return x\n"), nil, "error conflict 1 a.py", "line 3"},
		"json broken":                       {files{"a.json": "{\n  \"a\": 1\n}\n"}, block("a.json", "  \"a\": 1\n", "  \"a\": 1,\n"), nil, "error conflict 1 a.json", "line 3"},
		"yaml broken":                       {files{"a.yml": "a:\n  b: 1\n"}, block("a.yml", "  b: 1\n", "  b: 1\n c: 2\n"), nil, "error conflict 1 a.yml", ""},
		"toml broken":                       {files{"a.toml": "[a]\nb = 1\n"}, block("a.toml", "b = 1\n", "b = \n"), nil, "error conflict 1 a.toml", "line 2"},
		"typescript broken":                 {files{"a.ts": "export const a = [1];\n"}, block("a.ts", "export const a = [1];\n", "export const a = [1;\n"), nil, "error conflict 1 a.ts", ""},
		"text of no language":               {files{"a.txt": "((\n"}, block("a.txt", "((\n", "(((\n"), files{"a.txt": "(((\n"}, "edit a.txt exact 1", ""},
		"two blocks mend each other": {files{"a.go": goSrc}, block("a.go", "func f() int {\n", "func f() int {\n\tif true {\n") + block("a.go", "\treturn 1\n", "\treturn 1\n\t}\n\treturn 2\n"),
			files{"a.go": "package a\n\nfunc f() int {\n\tif true {\n\treturn 1\n\t}\n\treturn 2\n}\n"}, "edit a.go exact 3; edit a.go exact 5", ""},
		"the block that broke it is named": {files{"a.go": goSrc + "\nfunc g() int {\n\treturn 2\n}\n"}, block("a.go", "\treturn 1\n", "\treturn 3\n") + block("a.go", "\treturn 2\n", "\treturn 2)\n"), nil, "error conflict 2 a.go", "line 8"},
		"renamed and broken":               {files{"a.go": goSrc}, "a.go -> b.go\n" + block("b.go", "\treturn 1\n", "\treturn (1\n"), nil, "error conflict 2 b.go", ""},
	})
}

func TestModesAreKept(t *testing.T) {
	dir := plant(t, files{"run.sh": "a\n", "ro.txt": "a\n", "old.sh": "a\n", "moved.sh": "a\n"})
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "ro.txt": 0o440, "old.sh": 0o750, "moved.sh": 0o711} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	result := apply(t, dir, block("run.sh", "a\n", "b\n")+block("ro.txt", "a\n", "b\n")+"old.sh -> new.sh\n"+block("new.sh", "a\n", "b\n")+"moved.sh -> bin/moved.sh\n"+block("n.txt", "", "n\n"), edit.Options{})
	if !result.OK() {
		t.Fatalf("%+v", result)
	}
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "ro.txt": 0o440, "new.sh": 0o750, "bin/moved.sh": 0o711, "n.txt": 0o644} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

func TestHardLinkIsNotWrittenThrough(t *testing.T) {
	dir := plant(t, files{"a.txt": "a\n"})
	other := filepath.Join(t.TempDir(), "other.txt")
	if err := os.Link(filepath.Join(dir, "a.txt"), other); err != nil {
		if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
			t.Fatal("hard links cannot be made here:", err)
		}
		t.Skip("hard links cannot be made here:", err)
	}
	if result := apply(t, dir, block("a.txt", "a\n", "b\n"), edit.Options{}); !result.OK() {
		t.Fatalf("%+v", result)
	}
	if content, err := os.ReadFile(other); err != nil || string(content) != "a\n" {
		t.Errorf("the linked file outside is %q, %v", content, err)
	}
}

func TestUntouchedFilesAreNotWritten(t *testing.T) {
	dir := plant(t, files{"a.txt": "a\n", "b.txt": "b\n"})
	inode := func(name string) uint64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	b := inode("b.txt")
	if result := apply(t, dir, block("a.txt", "a\n", "x\n"), edit.Options{}); !result.OK() {
		t.Fatalf("%+v", result)
	}
	if inode("b.txt") != b {
		t.Error("b.txt was written anew")
	}
}

func TestCancelled(t *testing.T) {
	dir := plant(t, abc)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := edit.Apply(ctx, root, []byte(block("a.txt", "one\n", "1\n")), edit.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	sameTree(t, harvest(t, dir), abc)
}

// A folder that cannot be written stops the third of five files; the first two must be as before.
func TestWriteFailureTakesEverythingBack(t *testing.T) {
	if me, err := user.Current(); err == nil && me.Uid == "0" {
		t.Skip("root may write everywhere; TestFullDisk covers this")
	}
	dir := plant(t, files{"1.txt": "a\n", "2.txt": "a\n", "locked/3.txt": "a\n", "4.txt": "a\n"})
	if err := os.Chmod(filepath.Join(dir, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	checkFailure(t, dir, block("1.txt", "a\n", "b\n")+"2.txt (delete)\n"+block("locked/3.txt", "a\n", "b\n")+"4.txt -> n/4.txt\n")
}

// checkFailure wants the reply to fail while it is written, and the tree below dir to be as before, folders included.
func checkFailure(t *testing.T, dir, reply string) {
	t.Helper()
	before, folders := harvest(t, dir), listFolders(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	result, err := edit.Apply(context.Background(), root, []byte(reply), edit.Options{})
	if err == nil || len(result.Applied) != 0 {
		t.Errorf("result %+v, error %v; want a failure", result, err)
	}
	sameTree(t, harvest(t, dir), before)
	if after := listFolders(t, dir); after != folders {
		t.Errorf("folders %s, before %s", after, folders)
	}
}

func listFolders(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(at string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			names = append(names, strings.TrimPrefix(at, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(names)
}

// The disk fills at the third of five files.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" && os.Getuid() == 0 {
			t.Fatalf("a small tmpfs cannot be mounted: %v", err)
		}
		t.Skip("a small tmpfs cannot be mounted: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	for i := 1; i <= 5; i++ {
		content := fmt.Sprintf("a%d\n%s", i, strings.Repeat("0123456789abcde\n", 512))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Repeat("fedcba9876543210\n", 5_000) // 85 KB, so that the third does not fit
	var reply strings.Builder
	for i := 1; i <= 5; i++ {
		reply.WriteString(block(fmt.Sprintf("%d.txt", i), fmt.Sprintf("a%d\n", i), large))
	}
	checkFailure(t, dir, reply.String())
	checkFailure(t, dir, "1.txt -> d/1.txt\n2.txt (delete)\n"+block("d/e/n.txt", "", large)+block("m.txt", "", large)+block("o.txt", "", large))
}

func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 250) + ".txt" // nearly as long as names may be: its temporary name must fit as well
	dir := plant(t, files{"a.txt": "a\n"})
	for _, reply := range []string{block(long, "", "x\n"), block(long, "x\n", "y\n")} {
		if result := apply(t, dir, reply, edit.Options{}); !result.OK() {
			t.Fatalf("%+v", result)
		}
	}
	sameTree(t, harvest(t, dir), files{"a.txt": "a\n", long: "y\n"})
}
