package feedback

import (
	"io/fs"
	"os"
	"path"
	"strings"
)

const (
	maxManifest      = 1 << 20 // bytes of a manifest that are read
	maxManifestFiles = 64      // manifests of a monorepo that are read
	manifestDepth    = 3       // directories below the root that are looked into
)

// fileManifest answers from the files of a checked-out repository. It reads manifests once, when first asked, and
// looks at names of files and directories only.
type fileManifest struct {
	fsys     fs.FS
	loaded   bool
	declared map[string]bool // normalised names that manifests declare
	own      map[string]bool // names of the project's own packages and modules
	dirs     []string        // directories where own modules may start
}

// newFileManifest reads the repository at root, which exists. Links out of it are not followed.
func newFileManifest(root string) Manifest {
	r, err := os.OpenRoot(root)
	if err != nil {
		return &fileManifest{loaded: true}
	}
	return &fileManifest{fsys: r.FS()}
}

// NewManifest reads the repository whose files fsys holds.
func NewManifest(fsys fs.FS) Manifest { return &fileManifest{fsys: fsys} }

// Owner implements Manifest.
func (m *fileManifest) Owner(name string) Ownership {
	if !m.loaded {
		m.load()
	}
	if m.fsys == nil {
		return OwnershipUnknown
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, `\`, "/"), "::", "/")
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		return OwnershipOwn
	}
	for _, cut := range prefixesOf(name) {
		if m.declared[normalName(cut)] {
			return OwnershipDeclared
		}
		if m.own[normalName(cut)] {
			return OwnershipOwn
		}
	}
	top, _, _ := strings.Cut(strings.ReplaceAll(name, ".", "/"), "/")
	for _, d := range m.dirs {
		for _, p := range []string{top, top + ".py", top + ".js", top + ".ts", top + ".rb", top + ".h", name} {
			if !fs.ValidPath(path.Join(d, p)) {
				continue
			}
			if _, err := fs.Stat(m.fsys, path.Join(d, p)); err == nil {
				return OwnershipOwn
			}
		}
	}
	return OwnershipUnknown
}

// prefixesOf gives the names that a module may be declared by, longest first: a/b/c, a/b, a.
func prefixesOf(name string) []string {
	out := []string{name}
	for {
		i := strings.LastIndexAny(name, "/.")
		if i <= 0 {
			return out
		}
		name = name[:i]
		out = append(out, name)
	}
}

// normalName folds the spellings that package managers treat as one.
func normalName(n string) string {
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(n))
}

var (
	jsonName    = newPattern(`"(@?[\w./-]+)"\s*:\s*"[^"]*"`)
	jsonOwn     = newPattern(`(?m)^\s*"name"\s*:\s*"([^"]+)"`)
	requirement = newPattern(`(?m)^\s*["']?([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~;,"']|$)`)
	tomlKey     = newPattern(`(?m)^\s*"?([A-Za-z0-9@][\w./-]*)"?\s*=`)
	tomlName    = newPattern(`(?m)^\s*name\s*=\s*"([^"]+)"`)
	tomlStrings = newPattern(`"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~;][^"]*)?"`)
	goModule    = newPattern(`(?m)^module\s+(\S+)`)
	goRequire   = newPattern(`(?m)^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\S+`)
	gemName     = newPattern(`(?m)^\s*gem\s+["']([^"']+)["']`)
	mavenName   = newPattern(`<(?:artifactId|groupId)>\s*([^<\s]+)\s*<`)
	gradleName  = newPattern(`["']([\w.-]+):([\w.-]+)(?::[^"']*)?["']`)
)

// load walks the first levels of the tree and reads the manifests there.
func (m *fileManifest) load() {
	m.loaded = true
	m.declared, m.own = map[string]bool{}, map[string]bool{}
	if m.fsys == nil {
		return
	}
	read := 0
	err := fs.WalkDir(m.fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a directory that cannot be read declares nothing
		}
		if d.IsDir() {
			switch d.Name() {
			case "node_modules", ".git", "vendor", "target", "dist", "build", "venv", ".venv", "__pycache__":
				return fs.SkipDir
			}
			if p != "." && strings.Count(p, "/") >= manifestDepth {
				return fs.SkipDir
			}
			if p == "." || d.Name() == "src" || d.Name() == "lib" || d.Name() == "tests" || d.Name() == "test" || d.Name() == "include" || d.Name() == "app" {
				m.dirs = append(m.dirs, p)
			}
			return nil
		}
		if read >= maxManifestFiles {
			return fs.SkipAll
		}
		if extract := manifestReader(d.Name()); extract != nil {
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.Size() <= maxManifest {
				if data, err := fs.ReadFile(m.fsys, p); err == nil {
					read++
					extract(m, string(data))
					m.dirs = append(m.dirs, path.Dir(p))
				}
			}
		}
		return nil
	})
	if err != nil {
		m.fsys = nil
	}
}

// manifestReader is the function that takes names from a file of that name, nil for other files.
func manifestReader(name string) func(*fileManifest, string) {
	declare := func(patterns ...*pattern) func(*fileManifest, string) {
		return func(m *fileManifest, text string) {
			for _, p := range patterns {
				for _, f := range p.FindAllStringSubmatch(text, -1) {
					for _, n := range f[1:] {
						m.declared[normalName(n)] = true
					}
				}
			}
		}
	}
	owned := func(own *pattern, next func(*fileManifest, string)) func(*fileManifest, string) {
		return func(m *fileManifest, text string) {
			next(m, text)
			if f := own.FindStringSubmatch(text); f != nil {
				delete(m.declared, normalName(f[1]))
				m.own[normalName(f[1])] = true
			}
		}
	}
	switch name {
	case "package.json", "composer.json":
		return owned(jsonOwn, declare(jsonName))
	case "pyproject.toml", "Pipfile":
		return owned(tomlName, declare(tomlStrings, tomlKey))
	case "Cargo.toml":
		return owned(tomlName, declare(tomlKey))
	case "setup.py", "setup.cfg", "environment.yml", "environment.yaml":
		return declare(requirement)
	case "go.mod":
		return owned(goModule, declare(goRequire))
	case "Gemfile":
		return declare(gemName)
	case "pom.xml":
		return declare(mavenName)
	case "build.gradle", "build.gradle.kts":
		return declare(gradleName)
	}
	if strings.HasPrefix(name, "requirements") && strings.HasSuffix(name, ".txt") {
		return declare(requirement)
	}
	return nil
}
