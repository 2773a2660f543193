package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tools are what of the caller's search path is shown inside.
type tools struct {
	mounts []string // host directories and files, shown read-only at the same path
	path   []string // the search path inside
	env    []string // where the version managers find their parts
	links  []Mount  // links to make: Target points to Source
}

// standardPath is the search path of every root.
var standardPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// manager describes a version manager by the directory that it lives in: which parts hold
// programs, and the variable that names the directory. Everything else of it (credentials,
// settings, histories) stays out.
type manager struct {
	dir string
	// shows are the parts; empty: the whole directory, which holds programs only.
	shows    []string
	variable string
	// inHome says that the manager writes into its directory: it gets one in the sandbox's home, with
	// links to the parts.
	inHome bool
	// beside is a further manager's directory next to this one that its programs need.
	beside string
}

var managers = []manager{
	{dir: ".pyenv", variable: "PYENV_ROOT"},
	{dir: ".rbenv", variable: "RBENV_ROOT"},
	{dir: ".nodenv", variable: "NODENV_ROOT"},
	{dir: ".goenv", variable: "GOENV_ROOT"},
	{dir: ".jenv", variable: "JENV_ROOT"},
	{dir: ".phpenv", variable: "PHPENV_ROOT"},
	{dir: ".nvm", shows: []string{"versions", "alias"}, variable: "NVM_DIR"},
	{dir: ".cargo", shows: []string{"bin"}, beside: ".rustup"},
	{dir: ".rustup", shows: []string{"toolchains", "settings.toml"}, inHome: true},
	{dir: ".sdkman", shows: []string{"candidates"}},
	{dir: ".asdf", shows: []string{"asdf.sh", "bin", "lib", "libexec", "shims", "installs", "plugins"}, variable: "ASDF_DIR"},
	{dir: ".local/share/mise", shows: []string{"shims", "installs"}},
	{dir: ".local/share/fnm", shows: []string{"node-versions", "aliases"}},
	{dir: ".local/share/pipx", shows: []string{"venvs"}},
	{dir: ".local/share/uv", shows: []string{"tools", "python"}},
	{dir: ".local/share/pnpm", shows: []string{"nodejs", "global"}},
	{dir: ".volta", shows: []string{"bin", "tools"}, variable: "VOLTA_HOME"},
	{dir: ".deno", shows: []string{"bin"}},
	{dir: ".bun", shows: []string{"bin"}},
	{dir: ".ghcup", shows: []string{"bin", "ghc", "cabal"}},
	{dir: ".dotnet", shows: []string{"dotnet", "sdk", "shared", "host", "packs", "sdk-manifests", "templates"}, variable: "DOTNET_ROOT"},
	{dir: ".linuxbrew", shows: []string{"bin", "sbin", "lib", "opt", "share", "include", "Cellar"}},
}

// prefixParts are the parts of an installation prefix (the parent of a bin directory) that
// programs load; configuration, which may hold secrets, is not among them.
var prefixParts = []string{"bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share", "jre", "jmods", "boot", "plugins", "VERSION", "release"}

// knownPrefixes are installations whose layout differs, recognised by a file; they too show
// nothing of their own but these parts.
var knownPrefixes = []struct {
	marker string
	parts  []string
}{
	{"src/runtime/proc.go", []string{"bin", "pkg", "src", "lib", "misc", "api", "VERSION", "go.env"}}, // a Go distribution
	{"jmods", []string{"bin", "lib", "conf", "jmods", "legal", "include", "release"}},                 // a Java development kit
	{"jre/lib", []string{"bin", "lib", "jre", "include", "release"}},                                  // the same, version 8
	{"bin/mvn", []string{"bin", "boot", "lib", "conf/logging"}},                                       // Maven without its settings
}

// findTools looks at every directory of searchPath outside the roots that are shown anyway and
// decides which parts are toolchains. Whatever is not recognised as one is left out.
func findTools(searchPath, home string) tools {
	var t tools
	for _, dir := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || slices.Contains(t.path, dir) {
			continue
		}
		if !inSystemRoot(real) && !t.show(real, home) {
			continue
		}
		if real != dir && !inSystemRoot(dir) {
			dir = real // a link outside the root is not visible inside
		}
		t.path = append(t.path, dir)
	}
	// Programs that were linked into /usr/local/bin from where they are installed.
	for _, dir := range []string{"/usr/local/bin", "/usr/local/sbin"} {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if entry.Type()&os.ModeSymlink == 0 {
				continue
			}
			if real, err := filepath.EvalSymlinks(filepath.Join(dir, entry.Name())); err == nil && !inSystemRoot(real) {
				t.show(filepath.Dir(real), home)
			}
		}
	}
	for _, dir := range standardPath {
		if !slices.Contains(t.path, dir) {
			t.path = append(t.path, dir)
		}
	}
	return t
}

// systemRoot is what of the host is shown read-only where no image is configured. /nix/store is
// the system directory of NixOS, and world-readable by design.
var systemRoot = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"}

func inSystemRoot(path string) bool {
	return slices.ContainsFunc(systemRoot, func(dir string) bool { return within(path, dir) })
}

// show adds what of the toolchain with programs in dir may be seen; false: dir is not one.
func (t *tools) show(dir, home string) bool {
	for _, m := range managers {
		if root, found := managerRoot(dir, m.dir); found {
			t.showManager(root, m)
			return true
		}
	}
	name, prefix := filepath.Base(dir), filepath.Dir(dir)
	if name != "bin" && name != "sbin" && name != "condabin" {
		return false
	}
	// ~/bin and ~/.local/bin: the directory alone, and what installers link from there.
	if prefix == home || prefix == filepath.Join(home, ".local") || filepath.Dir(prefix) == "/home" || prefix == "/root" {
		t.add(dir)
		for _, m := range managers {
			if strings.HasPrefix(m.dir, ".local/") {
				t.showManager(filepath.Join(home, m.dir), m)
			}
		}
		return true
	}
	if prefix == "/" || within(home, prefix) || slices.Contains(systemDirs, prefix) {
		return false
	}
	parts := prefixParts
	for _, known := range knownPrefixes {
		if _, err := os.Stat(filepath.Join(prefix, known.marker)); err == nil {
			parts = known.parts
			break
		}
	}
	if len(parts) == len(prefixParts) && within(prefix, home) {
		// A directory of a user's that is not known as a toolchain (a Go workspace, a project):
		// its programs, not its files.
		parts = []string{name}
	}
	for _, part := range parts {
		t.add(filepath.Join(prefix, part))
	}
	return true
}

func (t *tools) showManager(root string, m manager) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return
	}
	if len(m.shows) == 0 {
		t.add(root)
	}
	for _, part := range m.shows {
		path := filepath.Join(root, part)
		t.add(path)
		link := Mount{Source: path, Target: filepath.Join(insideHome, m.dir, part)}
		if m.inHome && !slices.Contains(t.links, link) {
			t.links = append(t.links, link)
		}
	}
	if variable := m.variable + "=" + root; m.variable != "" && !slices.Contains(t.env, variable) {
		t.env = append(t.env, variable)
	}
	for _, other := range managers {
		if m.beside == other.dir {
			t.showManager(filepath.Join(filepath.Dir(root), other.dir), other)
		}
	}
}

// add shows path if it exists, is no link out of sight, and is not shown yet.
func (t *tools) add(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || slices.ContainsFunc(t.mounts, func(shown string) bool { return within(path, shown) }) {
		return
	}
	if real != path {
		if inSystemRoot(real) {
			return
		}
		path = real
	}
	t.mounts = append(t.mounts, path)
}

// managerRoot finds the manager's directory among the parents of dir.
func managerRoot(dir, name string) (string, bool) {
	at := strings.Index(dir+"/", "/"+name+"/")
	if at < 0 {
		return "", false
	}
	return dir[:at+1+len(name)], true
}
