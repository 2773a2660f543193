package verify

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// project is one directory that has a toolchain of its own.
type project struct {
	dir       string // relative to the worktree, "." for its root
	ecosystem string // as in the README's table: go, python, node, …
	// needs are the programs without which nothing of the project can run.
	needs []string
	// install brings dependencies in; it runs during setup, with network.
	install []job
	// jobs are the checks, by stage.
	jobs []job
	// env is added to the environment of every command of the project.
	env []string
	// versions are the least versions that the manifests ask for.
	versions []minimum
	// python says what its tests need of an interpreter; nil for other ecosystems.
	python *pythonNeeds
	// interpreter is the Python that was chosen for it.
	interpreter interpreter
	// manager is the package manager where it is not npm, and managerSpec how npm names it with its version.
	manager, managerSpec string
	// bin is a directory, absolute, that comes first in the search path of every command; "": none.
	bin string
	// nested says that the project lies below another of its kind.
	nested bool
}

// minimum is a version that a manifest asks for.
type minimum struct {
	program  string
	args     []string // prints the version that is there
	least    string   // 1.26 or 3.10.2
	manifest string   // which file asks for it
	// advice says that the tools only warn about an older one.
	advice bool
}

// job is one command of one stage in one project.
type job struct {
	stage loop.StageName
	args  []string
	env   []string
	// speaks names the program whose output it is, where the command (npm test) does not tell: a
	// reader that knows its tool from the first line misses nothing.
	speaks string
	// rerun returns the arguments that run only the given tests again; nil: the whole job.
	rerun func(ids []string) []string
	// optional says that a project may configure the tool without its being installed where
	// autocode runs: an absent linter is no finding.
	optional bool
	// direct says that the command is the tool itself, not a repository's script around it: when it
	// ends with 0, nothing failed, whatever the code under test printed.
	direct bool
	// left says why the job is only told of, and never run: it needs a browser, say.
	left string
	// plain is the job as it runs where nothing is measured; nil where this is it.
	plain *job
	// network is the preset of hosts for an installation: go, npm, pypi, crates, maven.
	network string
	// secrets are the names of the server's secrets that the command has.
	secrets []string
}

// command is the job as a person would type it.
func (j job) command() string {
	quoted := make([]string, len(j.args))
	for i, a := range j.args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"$&|;<>()*?[]{}`\\") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// scan is what detection knows of one directory.
type scan struct {
	fsys  fs.FS
	dir   string
	files []string // names in the directory
	// below lists every file below the directory that no nested project owns, relative to it.
	below []string
}

func (s scan) has(name string) bool { return slices.Contains(s.files, name) }

func (s scan) hasSuffix(suffix string) bool {
	return slices.ContainsFunc(s.files, func(n string) bool { return strings.HasSuffix(n, suffix) })
}

// read returns a file of the directory, "" where it cannot be read or is larger than a manifest
// can reasonably be.
func (s scan) read(name string) string {
	const largest = 1 << 20
	p := path.Join(s.dir, name)
	info, err := fs.Stat(s.fsys, p)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largest {
		return ""
	}
	text, err := fs.ReadFile(s.fsys, p)
	if err != nil {
		return ""
	}
	return string(text)
}

// head returns the beginning of a file of the directory, however long it is; "" where it cannot be read.
func (s scan) head(name string) string {
	const enough = 4 << 10
	file, err := s.fsys.Open(path.Join(s.dir, name))
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, enough))
	if err != nil {
		return ""
	}
	return string(text)
}

// list returns the names in a directory below, none where there is no such directory.
func (s scan) list(name string) []string {
	entries, err := fs.ReadDir(s.fsys, path.Join(s.dir, name))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// ecosystem detects one kind of project in a directory.
type ecosystem struct {
	name string
	// detect returns the project, or false where the directory is none of this kind.
	detect func(scan) (project, bool)
	// nested says that a directory below another of the same kind may be a project of its own.
	nested func(parent, child scan) bool
}

// ecosystems in the order in which they are asked; make, bats and prove are asked last, and only
// where nothing else was found.
func ecosystems() []ecosystem {
	return []ecosystem{golang(), node(), python(), rust(), maven(), gradle(), cmake(), ruby(), php(), dotnet(), elixir()}
}

// Bounds of the walk: a directory deeper than this, or more files than this, is no place where
// people keep projects.
const (
	deepest   = 8
	mostFiles = 200_000
)

// skipped are directories that hold other people's code, build output or fixtures; so are those
// whose name begins with a dot.
var skipped = map[string]bool{
	"node_modules": true, "vendor": true, "testdata": true, "third_party": true, "target": true, "dist": true, "build": true,
	"venv": true, "env": true, "site-packages": true, "bower_components": true, "Pods": true,
	"fixtures": true, "deps": true, "_build": true, "__pycache__": true, "_examples": true,
}

// detect finds the projects of a worktree, the root's first, then by path.
func detect(fsys fs.FS) ([]project, error) {
	dirs := map[string]*scan{}
	count := 0
	err := fs.WalkDir(fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			if entry != nil && entry.IsDir() {
				return fs.SkipDir // unreadable: nobody's project
			}
			return nil
		}
		if entry.IsDir() {
			name := entry.Name()
			if p != "." && (strings.HasPrefix(name, ".") || skipped[name] || strings.Count(p, "/") >= deepest) {
				return fs.SkipDir
			}
			dirs[p] = &scan{fsys: fsys, dir: p}
			return nil
		}
		if count++; count > mostFiles {
			return fs.SkipAll
		}
		if entry.Type().IsRegular() {
			s := dirs[path.Dir(p)]
			s.files = append(s.files, entry.Name())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(dirs))
	for p := range dirs {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	var found []project
	for _, e := range ecosystems() {
		found = append(found, detectOne(e, dirs, paths)...)
	}
	if len(found) == 0 {
		root := *dirs["."]
		for _, p := range paths {
			for _, f := range dirs[p].files {
				root.below = append(root.below, path.Join(p, f))
			}
		}
		if p, ok := lastResorts(root); ok {
			found = append(found, p)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].dir < found[j].dir })
	return found, nil
}

// detectOne finds the projects of one ecosystem; a directory below a project of the same kind
// belongs to it unless the ecosystem says otherwise.
func detectOne(e ecosystem, dirs map[string]*scan, paths []string) []project {
	var owners []string
	var found []project
	for _, p := range paths {
		s := *dirs[p]
		owner := ""
		for _, o := range owners {
			if within(p, o) && len(o) >= len(owner) {
				owner = o
			}
		}
		if owner != "" && (e.nested == nil || !e.nested(*dirs[owner], s)) {
			continue
		}
		for _, q := range paths {
			if within(q, p) {
				for _, f := range dirs[q].files {
					s.below = append(s.below, relative(p, path.Join(q, f)))
				}
			}
		}
		project, ok := e.detect(s)
		if !ok {
			continue
		}
		project.dir, project.ecosystem, project.nested = p, e.name, owner != ""
		owners = append(owners, p)
		found = append(found, project)
	}
	return found
}

// within says whether p is dir or lies below it.
func within(p, dir string) bool {
	return dir == "." || p == dir || strings.HasPrefix(p, dir+"/")
}

// relative returns p relative to dir.
func relative(dir, p string) string {
	if dir == "." {
		return p
	}
	return strings.TrimPrefix(p, dir+"/")
}

// touched says whether a change of the given paths concerns the project.
func (p project) touched(paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(c string) bool { return within(c, p.dir) })
}

// id puts the project's directory before a test's id, as verify.json spells it.
func (p project) id(id string) string {
	if p.dir == "." || id == "" {
		return id
	}
	return p.dir + "//" + id
}

// file makes a path that is relative to the project relative to the worktree.
func (p project) file(file string) string {
	if p.dir == "." || file == "" || path.IsAbs(file) {
		return file
	}
	return path.Join(p.dir, file)
}
