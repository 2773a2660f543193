package feedback

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// paths makes paths of a log relative to the project's root and tells its own files from a library's.
type paths struct {
	root   string   // slashed, without trailing slash; empty when not known
	fold   bool     // Windows: compare without case
	exists bool     // the root is on this machine
	roots  []string // further spellings of the root: resolved links
}

func newPaths(root string) paths {
	if root == "" {
		return paths{}
	}
	p := paths{root: strings.TrimRight(slashed(root), "/"), fold: drive.MatchString(root)}
	if fi, err := os.Stat(root); err == nil && fi.IsDir() {
		p.exists = true
		if real, err := filepath.EvalSymlinks(root); err == nil && slashed(real) != p.root {
			p.roots = append(p.roots, slashed(real))
		}
	}
	return p
}

var drive = newPattern(`^[A-Za-z]:[\\/]`)

// sourceFile matches the name of a test's source file.
var sourceFile = newPattern(`^[^\s:<>|"]+\.(?:[cm]?[jt]sx?|py|rb|php|go|rs|java|kt|cs|exs?|dart|swift|bats|lua|t|vue|svelte)$`)

// fileOfID is the source file that a test's id begins with ("a.test.js > adds", "a.py::test"), empty when it has none.
func fileOfID(id string) string {
	if strings.Contains(id, "/") && sourceFile.MatchString(id) {
		return id
	}
	for _, sep := range []string{" > ", "::"} {
		if file, _, ok := strings.Cut(id, sep); ok && sourceFile.MatchString(file) {
			return file
		}
	}
	return ""
}

// slashed turns a Windows path into one with slashes and leaves other backslashes (escaped blanks) alone.
func slashed(p string) string {
	if strings.IndexByte(p, '\\') < 0 {
		return p
	}
	return strings.ReplaceAll(p, `\`, "/")
}

// rel is p relative to the root where it lies below it; dir is where relative paths start.
func (ps *paths) rel(dir, p string) string {
	p = strings.TrimSpace(p)
	if p == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(p, "file://"); ok {
		p = rest
		if u, err := url.PathUnescape(p); err == nil {
			p = u
		}
		if len(p) > 2 && p[0] == '/' && drive.MatchString(p[1:]) {
			p = p[1:]
		}
	}
	p = slashed(p)
	p = strings.TrimPrefix(p, "webpack:///")
	if ps.root != "" {
		for _, r := range append([]string{ps.root}, ps.roots...) {
			if len(p) > len(r) && p[len(r)] == '/' && (p[:len(r)] == r || ps.fold && strings.EqualFold(p[:len(r)], r)) {
				return path.Clean(p[len(r)+1:])
			}
		}
	}
	if absolute(p) {
		if rel, ok := ps.foreignRoot(p); ok {
			return rel
		}
		return path.Clean(p)
	}
	if strings.HasPrefix(p, "<") || strings.Contains(p, "://") {
		return p
	}
	clean := path.Clean(p)
	if dir != "" && !strings.HasPrefix(clean, dir+"/") {
		clean = path.Join(dir, clean)
	}
	return clean
}

// foreignRoot finds a path of another machine (a container's /app, a runner's /home/runner/work) below the root
// by its longest ending that exists there.
func (ps *paths) foreignRoot(p string) (string, bool) {
	if !ps.exists || !ps.own(p) {
		return "", false
	}
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i := 1; i < len(parts); i++ {
		rest := strings.Join(parts[i:], "/")
		if !filepath.IsLocal(filepath.FromSlash(rest)) {
			return "", false
		}
		if fi, err := os.Lstat(filepath.Join(ps.root, filepath.FromSlash(rest))); err == nil && fi.Mode().IsRegular() {
			return rest, true
		}
	}
	return "", false
}

func absolute(p string) bool { return strings.HasPrefix(p, "/") || drive.MatchString(p) }

// foreign are parts of paths that only libraries, runtimes and tools have.
var foreign = []string{
	"/node_modules/", "/site-packages/", "/dist-packages/", "/.cargo/registry/", "/.cargo/git/", "/rustc/", "/rustlib/",
	"/go/pkg/mod/", "/pkg/mod/", "/usr/local/go/src/", "/usr/lib/", "/usr/include/", "/usr/share/", "/.pyenv/versions/", "/opt/hostedtoolcache/",
	"/usr/local/lib/", "/.rustup/", "/.gem/", "/gems/", "/.bundle/", "/vendor/bundle/", "/vendor/phpunit/", "/.m2/", "/.gradle/", "/.nvm/",
	"/_pytest/", "/unittest/", "/lib/python3", "/go1.", "/Library/Developer/", "/Xcode.app/", "/.yarn/", "/.pnpm/", "/.pnp.", "/jest-circus/", "/vendor/github.com/",
}

// own tells whether p belongs to the project.
func (ps *paths) own(p string) bool {
	p = slashed(strings.TrimPrefix(p, "file://"))
	switch {
	case p == "" || p[0] == '<' || p == "_testmain.go":
		return false
	case strings.HasPrefix(p, "node:"), strings.HasPrefix(p, "internal/"), strings.HasPrefix(p, "native "), strings.HasPrefix(p, "java.base/"):
		return false
	}
	rest := p
	if ps.root != "" && strings.HasPrefix(p, ps.root+"/") {
		rest = p[len(ps.root):]
	} else if !strings.HasPrefix(p, "/") {
		rest = "/" + p
	}
	for _, f := range foreign {
		if strings.Contains(rest, f) {
			return false
		}
	}
	return true
}
