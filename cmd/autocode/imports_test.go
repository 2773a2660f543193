package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modulePath is the prefix of our own packages, moduleRoot where they lie, seen from this package.
const (
	modulePath = "github.com/seed-7a986423/autocode/"
	moduleRoot = "../.."
)

// allowedImports says which of our own packages each package may import. Arrows never turn back: what a
// package is not allowed here, it must be given by interface. CONTRIBUTING.md gives the reasons where a row
// is more than the package's duty suggests.
var allowedImports = map[string][]string{
	"loop":                            {"feedback"},
	"loop/agent":                      {"loop", "loop/edit", "prompts"},
	"loop/codemap":                    {"loop", "loop/syntax"},
	"loop/edit":                       {"loop/syntax"},
	"loop/guard":                      {"loop", "loop/syntax"},
	"loop/model":                      {"loop"},
	"loop/model/modeltest":            nil,
	"loop/sandbox":                    {"loop/sandbox/guest"},
	"loop/sandbox/guest":              nil,
	"loop/store":                      {"loop"},
	"loop/syntax":                     nil,
	"loop/verify":                     {"loop", "feedback", "loop/verify/coverage"},
	"loop/verify/coverage":            nil,
	"loop/workspace":                  {"loop"},
	"feedback":                        nil,
	"prompts":                         {"loop", "feedback"},
	"handlers":                        {"loop"},
	"handlers/intake":                 {"loop"},
	"handlers/publish":                {"loop", "feedback"},
	"handlers/panel":                  {"loop"},
	"handlers/setup":                  nil,
	"handlers/githubtest":             nil,
	"loop/sandbox/sandboxtest":        {"loop/sandbox"},
	"loop/store/storetest":            {"loop"},
	"handlers/githubtest/conformance": nil,
}

// confined are packages of others that only some of ours may know, each with its reason.
var confined = []struct {
	name    string
	imports func(imported string) bool
	homes   []string
	reason  string
}{
	{
		"go-github", prefix("github.com/google/go-github/", "github.com/palantir/go-githubapp/", "github.com/shurcooL/githubv4"),
		[]string{"handlers", "handlers/...", "cmd/..."}, "the loop does not know GitHub: it publishes through loop.Publisher and loop.Forge",
	},
	{
		"os/exec", prefix("os/exec"),
		[]string{"loop/workspace", "loop/sandbox", "handlers/githubtest"}, "a program is started on the host only as hardened git or as the sandbox",
	},
	{
		"databases", prefix("database/sql", "github.com/riverqueue/", "modernc.org/sqlite", "github.com/jackc/", "github.com/pressly/goose"),
		[]string{"loop/store"}, "transactions are opaque outside of the store, which is the same on both databases",
	},
	{"go-openai", prefix("github.com/sashabaranov/go-openai"), []string{"loop/model"}, "limits and the ledger see every call"},
	{"tree-sitter", prefix("github.com/tree-sitter/"), []string{"loop/syntax"}, "cgo, and trees that must be closed, stay in one place"},
	{"gitleaks", prefix("github.com/zricethezav/gitleaks"), []string{"loop/guard"}, "its detector is costly and races: one owner"},
}

// testPackages are for tests; production code may not import them, except for the demo.
var testPackages = []string{"handlers/githubtest", "handlers/githubtest/conformance", "loop/model/modeltest", "loop/sandbox/sandboxtest", "loop/store/storetest"}

// demoFiles bring up stand-ins because that is what they are for.
var demoFiles = []string{"cmd/autocode/demo.go", "cmd/autocode/samples.go"}

func prefix(prefixes ...string) func(string) bool {
	return func(imported string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(imported, p) })
	}
}

// sourceFile is a Go file of this module.
type sourceFile struct {
	path    string // from the module's root, with slashes
	dir     string
	imports []string
	syntax  *ast.File
}

// productionFiles parses every Go file of the module that is no test.
func productionFiles(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	err := filepath.WalkDir(moduleRoot, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && name != moduleRoot
		if entry.IsDir() {
			if hidden || entry.Name() == "testdata" || entry.Name() == "autocode-data" {
				return filepath.SkipDir
			}
			return nil
		}
		if hidden || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(moduleRoot, name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file := sourceFile{path: filepath.ToSlash(relative), syntax: syntax}
		file.dir = path.Dir(file.path)
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			file.imports = append(file.imports, imported)
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const fewest = 100 // a walk that starts at the wrong place would find nothing to complain about
	if len(files) < fewest {
		t.Fatalf("found %d files below %s, want at least %d", len(files), moduleRoot, fewest)
	}
	return files
}

// within says whether a directory is one of the homes; "x/..." is everything below x.
func within(dir string, homes []string) bool {
	return slices.ContainsFunc(homes, func(home string) bool {
		below, all := strings.CutSuffix(home, "/...")
		return dir == home || all && strings.HasPrefix(dir, below+"/")
	})
}

func TestImports(t *testing.T) {
	known := map[string]bool{}
	for _, f := range productionFiles(t) {
		allowed, listed := allowedImports[f.dir]
		command := strings.HasPrefix(f.dir, "cmd/")
		if !listed && !command {
			t.Errorf("%s: the package %s is not in the table of imports; add it with its reason", f.path, f.dir)
		}
		known[f.dir] = true
		for _, imported := range f.imports {
			own, ours := strings.CutPrefix(imported, modulePath)
			if ours && !command && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s; %s may import %q of ours", f.path, own, f.dir, allowed)
			}
			if ours && slices.Contains(testPackages, own) && !slices.Contains(testPackages, f.dir) && !slices.Contains(demoFiles, f.path) {
				t.Errorf("%s imports %s, which is for tests and the demo", f.path, own)
			}
			for _, c := range confined {
				if c.imports(imported) && !within(f.dir, c.homes) {
					t.Errorf("%s imports %s; only %q may: %s", f.path, imported, c.homes, c.reason)
				}
			}
		}
	}
	for dir := range allowedImports {
		if !known[dir] {
			t.Errorf("the table of imports names %s, which does not exist", dir)
		}
	}
}

// Configuration has one door: what a package needs of the environment it is given.
func TestEnvironmentIsReadByCommandsOnly(t *testing.T) {
	readers := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}
	for _, f := range productionFiles(t) {
		if strings.HasPrefix(f.dir, "cmd/") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "os" && slices.Contains(readers, selector.Sel.Name) {
				t.Errorf("%s uses os.%s; only cmd reads the environment", f.path, selector.Sel.Name)
			}
			return true
		})
	}
}
