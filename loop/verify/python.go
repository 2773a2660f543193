package verify

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// pythonManifests mark the root of a Python project.
var pythonManifests = []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini", "Pipfile"}

// pythonNeeds is what a project's tests ask of an interpreter. A machine often has several, and
// the first in the search path is not always the one with the test runner.
type pythonNeeds struct {
	// modules must be importable: pytest, or nothing.
	modules []string
	// least is the oldest version that the project takes, "" where it says nothing.
	least string
	// without are the jobs for an interpreter without the modules: unittest, which every Python
	// has; nil where the tests cannot do without.
	without []job
}

// python verifies Python projects with pytest or unittest.
func python() ecosystem {
	return ecosystem{
		name: "python",
		nested: func(parent, child scan) bool {
			// A nested package with a build of its own, as monorepos have it.
			return child.has("pyproject.toml") && !parent.has("setup.py") && !strings.Contains(parent.read("pyproject.toml"), "[project]")
		},
		detect: func(s scan) (project, bool) {
			marked := slices.ContainsFunc(pythonManifests, s.has)
			tests := slices.ContainsFunc(s.below, isPythonTest)
			if !marked && !(s.dir == "." && tests) {
				return project{}, false
			}
			if !slices.ContainsFunc(s.below, func(f string) bool { return strings.HasSuffix(f, ".py") }) {
				return project{}, false // a requirements.txt of something else
			}
			manifest := readPyproject(s)
			p := project{needs: []string{"python3"}, python: &pythonNeeds{least: leastVersion(manifest.Project.RequiresPython)}}
			if p.python.least != "" {
				p.versions = []minimum{{program: "python3", args: []string{"python3", "--version"}, least: p.python.least, manifest: "pyproject.toml"}}
			}
			if slices.ContainsFunc(s.below, func(f string) bool { return strings.HasPrefix(f, "src/") && strings.HasSuffix(f, ".py") }) {
				// The src layout wants the project installed; its own tests find it there as well.
				p.env = []string{"PYTHONPATH=" + srcDir}
			}
			p.install = pythonInstall(s, manifest)
			p.jobs = []job{{
				stage: loop.StageCompile, direct: true,
				// Bytecode goes to the cache (PYTHONPYCACHEPREFIX), not beside the source, and is checked by
				// the source's hash: two edits within a second would else share one.
				args: []string{"python3", "-m", "compileall", "-q", "-f", "--invalidation-mode", "checked-hash", "-x", notCompiled, "."},
			}}
			p.jobs = append(p.jobs, pythonLinters(s)...)
			if tests {
				pythonTests(s, &p)
			}
			return p, true
		},
	}
}

// notCompiled are the directories whose Python is not the project's, or is broken on purpose.
const notCompiled = `(^|/)(\.[^/]|node_modules/|venv/|testdata/|test_data/|fixtures/|templates?/|[^/]*cookiecutter)`

// pythonLinters are the linters and type checkers that the project configures.
func pythonLinters(s scan) []job {
	config := s.read("pyproject.toml") + "\n" + s.read("setup.cfg") + "\n" + s.read("tox.ini")
	var jobs []job
	if s.has("ruff.toml") || s.has(".ruff.toml") || strings.Contains(config, "[tool.ruff") {
		jobs = append(jobs, job{stage: loop.StageLint, args: []string{"ruff", "check", "--output-format=concise", "--no-cache", "."}, optional: true})
	}
	if s.has(".flake8") || strings.Contains(config, "[flake8]") {
		jobs = append(jobs, job{stage: loop.StageLint, args: []string{"flake8"}, optional: true})
	}
	own := s.read("mypy.ini") + s.read(".mypy.ini")
	if own != "" || strings.Contains(config, "[tool.mypy]") || strings.Contains(config, "[mypy]") {
		args := []string{"mypy"}
		if !mypyFiles.MatchString(config + own) {
			args = append(args, ".")
		}
		jobs = append(jobs, job{stage: loop.StageTypes, args: args, optional: true})
	}
	return jobs
}

// mypyFiles says that mypy's configuration names what it checks.
var mypyFiles = regexp.MustCompile(`(?m)^(files|packages|modules)\s*=`)

// isPythonTest says whether a path is a test by the naming rules of pytest and unittest.
func isPythonTest(p string) bool {
	name := path.Base(p)
	return strings.HasSuffix(name, ".py") &&
		(strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test.py") || name == "tests.py" || name == "test.py")
}

var (
	importsPytest = regexp.MustCompile(`(?m)^\s*(?:import|from)\s+_?pytest\b`)
	unittestCase  = regexp.MustCompile(`(?m)\bTestCase\b|^\s*(?:import|from)\s+unittest\b`)
	// bareTest is a test function outside a class, which unittest does not see.
	bareTest = regexp.MustCompile(`(?m)^(?:async\s+)?def\s+test`)
	// testClass is a class that only pytest takes for a test.
	testClass = regexp.MustCompile(`(?m)^class\s+Test\w*\s*(?:\(\s*(?:object)?\s*\))?:`)
)

// pythonTests chooses the test runner: pytest where the project names it or its tests are written
// for it, else unittest, which every Python has.
func pythonTests(s scan, p *project) {
	names := s.has("pytest.ini") || s.has(".pytest.ini")
	for _, manifest := range []string{"pyproject.toml", "setup.cfg", "tox.ini", "setup.py", "Pipfile", "requirements.txt", "noxfile.py"} {
		names = names || strings.Contains(s.read(manifest), "pytest")
	}
	for _, file := range requirementFiles {
		names = names || strings.Contains(s.read(file), "pytest")
	}
	needs := false // tests that unittest would not find, or could not run
	for _, f := range s.below {
		switch {
		case path.Base(f) == "conftest.py":
			needs = true
		case isPythonTest(f):
			text := s.read(f)
			if importsPytest.MatchString(text) || bareTest.MatchString(text) || testClass.MatchString(text) && !unittestCase.MatchString(text) {
				needs = true
			}
		}
	}
	unittest := unittestJobs(s)
	if !names && !needs && len(unittest) > 0 {
		p.jobs = append(p.jobs, unittest...)
		return
	}
	p.python.modules = []string{"pytest"}
	if !needs {
		p.python.without = unittest
	}
	pytest := []string{"python3", "-m", "pytest", "-vv", "--tb=short", "--color=no"}
	p.jobs = append(p.jobs, job{
		stage: loop.StageUnit, args: pytest, direct: true,
		rerun: func(ids []string) []string { return slices.Concat(pytest, ids) },
	})
}

// unittestJobs discovers tests as unittest does: from each directory that is not itself part of a
// package, since discovery descends into packages only and imports by the path below its start.
func unittestJobs(s scan) []job {
	type start struct{ dir, pattern string }
	var starts []start
	for _, f := range s.below {
		if !isPythonTest(f) || !unittestCase.MatchString(s.read(f)) {
			continue
		}
		at := start{dir: path.Dir(f), pattern: "test*.py"}
		for at.dir != "." && slices.Contains(s.below, path.Join(at.dir, "__init__.py")) {
			at.dir = path.Dir(at.dir)
		}
		if !strings.HasPrefix(path.Base(f), "test") {
			at.pattern = "*_test.py"
		}
		if !slices.Contains(starts, at) {
			starts = append(starts, at)
		}
	}
	var jobs []job
	for _, at := range starts {
		args := []string{"python3", "-m", "unittest", "discover", "-v"}
		if at.dir != "." {
			args = append(args, "-s", at.dir)
		}
		if at.pattern != "test*.py" {
			args = append(args, "-p", at.pattern)
		}
		jobs = append(jobs, job{stage: loop.StageUnit, args: args, direct: true})
	}
	return jobs
}
