package guard

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// junkDirs are directories that only tools write.
var junkDirs = map[string]string{
	"node_modules": "installed packages", "bower_components": "installed packages", "__pycache__": "Python's byte code", ".pytest_cache": "pytest's cache",
	".mypy_cache": "mypy's cache", ".ruff_cache": "ruff's cache", ".tox": "tox' environments", ".nox": "nox' environments", ".venv": "a virtual environment", ".eggs": "setuptools' downloads",
	".hypothesis": "hypothesis' database", "htmlcov": "a coverage report", ".nyc_output": "a coverage report", ".ipynb_checkpoints": "Jupyter's checkpoints", ".gradle": "Gradle's cache",
	".next": "Next's build output", ".nuxt": "Nuxt's build output", ".svelte-kit": "SvelteKit's build output", ".parcel-cache": "Parcel's cache", ".turbo": "Turborepo's cache", ".cache": "a cache",
	".terraform": "Terraform's plugins", ".dart_tool": "Dart's cache", ".stack-work": "Stack's build output", ".bloop": "Bloop's cache", ".metals": "Metals' cache", ".vs": "Visual Studio's cache",
}

// outputDirs are directories that hold build output only beside one of the given files.
var outputDirs = map[string][]string{
	"target": {"Cargo.toml", "pom.xml", "build.sbt"}, "build": {"build.gradle", "build.gradle.kts", "CMakeLists.txt", "setup.py", "pubspec.yaml"},
	"dist": {"package.json", "setup.py", "pyproject.toml"}, "coverage": {"package.json"}, "venv": {"setup.py", "pyproject.toml", "requirements.txt", "manage.py"},
	"obj": {"*.csproj", "*.fsproj"}, "bin": {"*.csproj", "*.fsproj"}, "_build": {"mix.exs", "rebar.config", "dune-project"}, "deps": {"mix.exs"},
	"cmake-build-debug": {"CMakeLists.txt"}, "CMakeFiles": {"CMakeLists.txt"},
}

// junkNames matches the names of files that only tools and editors write.
var junkNames = regexp.MustCompile(`(?i)(?:\.(?:py[cod]|class|o|obj|swp|swo|swn|orig|rej|bak|tmp|gcda|gcno|tsbuildinfo|egg|stackdump|profraw)|~|\.egg-info)$|^(?:\.DS_Store|Thumbs\.db|desktop\.ini|\.coverage(?:\..*)?|coverage\.out|cover\.out|lcov\.info|\.eslintcache|npm-debug\.log.*|yarn-(?:debug|error)\.log.*|nohup\.out|core\.[0-9]+|hs_err_pid[0-9]+\.log|\.#.*|#.*#|.*_(?:BACKUP|BASE|LOCAL|REMOTE)_[0-9]+\..*)$`)

// localNames matches files that hold one machine's settings and often its secrets.
var localNames = regexp.MustCompile(`(?i)^(?:\.env|\.env\.(?:[a-z]+\.)?local|id_(?:rsa|dsa|ecdsa|ed25519)|\.htpasswd|\.pgpass|\.bash_history|\.python_history)$`)

// fixtureDir matches directories whose files may look like anything, since tests read them.
var fixtureDir = regexp.MustCompile(`(?i)(?:^|/)(?:testdata|fixtures?|__fixtures__|goldens?|samples?|examples?)/`)

// checkJunk looks at new files only: what a repository tracks already, it tracks on purpose.
func checkJunk(c *change) ([]loop.Finding, error) {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		if !isNew(f) {
			continue
		}
		what, err := c.junk(f.Path)
		if err != nil {
			return nil, err
		}
		if what != "" {
			findings = append(findings, loop.Finding{File: f.Path, Message: fmt.Sprintf("%s is %s: delete it, and keep it out with .gitignore where it comes back", f.Path, what)})
		}
	}
	return findings, nil
}

// junk says what a new file is, "" for a file that may be.
func (c *change) junk(p string) (string, error) {
	segments := strings.Split(p, "/")
	for i, s := range segments[:len(segments)-1] {
		dir := strings.Join(segments[:i+1], "/")
		what := junkDirs[strings.ToLower(s)]
		if strings.HasSuffix(strings.ToLower(s), ".egg-info") {
			what = "setuptools' metadata"
		}
		if what == "" {
			beside, err := c.beside(dirOf(dir), outputDirs[s])
			if err != nil {
				return "", err
			}
			if beside != "" {
				what = "build output (beside " + beside + ")"
			}
		}
		if what == "" {
			continue
		}
		tracked, err := c.inBase(dir)
		if err != nil || !tracked {
			return what, err
		}
	}
	name := path.Base(p)
	switch {
	case localNames.MatchString(name):
		return "a file with the settings of one machine", nil
	case junkNames.MatchString(name) && !fixtureDir.MatchString(p):
		return "left behind by a tool or an editor", nil
	}
	return "", nil
}

// beside returns the first of the names that the base has in a directory.
func (c *change) beside(dir string, names []string) (string, error) {
	for _, name := range names {
		if suffix, wild := strings.CutPrefix(name, "*"); wild {
			if _, err := c.inBase(dir); err != nil {
				return "", err
			}
			for p := range c.listed {
				if dirOf(p) == dir && strings.HasSuffix(p, suffix) {
					return path.Base(p), nil
				}
			}
			continue
		}
		there, err := c.inBase(path.Join(dir, name))
		if err != nil {
			return "", err
		}
		if there {
			return name, nil
		}
	}
	return "", nil
}
