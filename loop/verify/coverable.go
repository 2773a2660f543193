package verify

import (
	"cmp"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/verify/coverage"
)

// cover is how the coverage of a project's tests is measured.
type cover struct {
	// unit gives a job of the unit stage the form in which it measures as it runs, with the same
	// results; nil: measuring takes a run of its own, which is job.
	unit func(job) job
	// job runs after the tests, or makes them run once more; without arguments: nothing does.
	job     job
	format  coverage.Format
	reports []string // where the tool writes: patterns below the project's directory or the cache
	// strip is what stands before the path in the names of a report: Go's module.
	strip string
	// note is what a reader of the total must know.
	note string
	// why says that nothing can be measured, and what is missing.
	why string
}

// coverageDir is emptied before tests are measured: what lies in it is of this run.
const coverageDir = cachePlaceholder + "/coverage"

// lcovFile is where lcov reports are asked for.
const lcovFile = coverageDir + "/lcov.info"

// coverageOf chooses how to measure a project's coverage with what is there already; false where
// nobody measures it. Files are the changed ones of the project, none for the whole of it.
func coverageOf(s scan, p project, files []string) (cover, bool) {
	if !slices.ContainsFunc(p.jobs, func(j job) bool { return j.stage == loop.StageUnit }) {
		return cover{}, false
	}
	switch p.ecosystem {
	case "go":
		return goCoverage(s, p, files), true
	case "python":
		return pythonCoverage(s, p), true
	case "node":
		return nodeCoverage(s, p), true
	case "rust":
		return cover{
			job:    job{stage: loop.StageCoverage, args: []string{"cargo", "llvm-cov", "--offline", "--lcov", "--output-path", lcovFile}, optional: true},
			format: coverage.LCOV, reports: []string{lcovFile},
		}, true
	case "maven":
		if !strings.Contains(s.read("pom.xml"), "jacoco-maven-plugin") {
			return cover{}, false
		}
		return cover{ // the agent that the pom configures measures the unit stage
			unit:   unchangedJob,
			job:    job{stage: loop.StageCoverage, args: []string{"mvn", "-B", "-o", "-q", "-Dstyle.color=never", "jacoco:report"}},
			format: coverage.JaCoCo, reports: below("target/site/jacoco/jacoco.xml"),
		}, true
	case "gradle":
		build := s.read("build.gradle") + s.read("build.gradle.kts")
		if !strings.Contains(build, "jacoco") {
			return cover{}, false
		}
		return cover{
			unit:   unchangedJob, // Gradle does not run tests again whose inputs are the same
			job:    job{stage: loop.StageCoverage, args: []string{gradleProgram(s), "--offline", "--console=plain", "jacocoTestReport"}},
			format: coverage.JaCoCo, reports: below("build/reports/jacoco/test/jacocoTestReport.xml"),
		}, true
	default:
		return cover{}, false
	}
}

// unchangedJob is for tests that measure by themselves.
func unchangedJob(j job) job { return j }

// below lists where the modules of a project leave a report.
func below(report string) []string {
	return []string{report, "*/" + report, "*/*/" + report}
}

// moduleLine finds a module's path.
var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)

// fewPackages is the size of a module up to which all of it is measured. Every measured package is
// compiled and linked into the test of every other, so that the cost grows with the square.
const fewPackages = 30

// goCoverage measures a small module as a whole, of a larger one the packages that the change
// touches: a package's code is often run by another package's tests.
func goCoverage(s scan, p project, files []string) cover {
	const profile = coverageDir + "/go.out"
	c := cover{format: coverage.GoProfile, reports: []string{profile}}
	if m := moduleLine.FindStringSubmatch(s.read("go.mod")); m != nil {
		c.strip = m[1] + "/"
	}
	packages := "./..."
	if dirs := goPackages(files, p); len(dirs) > 0 && s.moreGoPackages(fewPackages) {
		packages, c.note = strings.Join(dirs, ","), "the total is that of the packages that the change touches"
	}
	c.unit = func(j job) job {
		if !slices.Equal(j.args[:min(len(j.args), 2)], []string{"go", "test"}) {
			return j
		}
		j.args = slices.Insert(slices.Clone(j.args), 2, "-covermode=set", "-coverpkg="+packages, "-coverprofile="+profile)
		return j
	}
	return c
}

// goPackages lists the packages of changed files as the go command takes them.
func goPackages(files []string, p project) []string {
	dirs := map[string]bool{}
	for _, f := range files {
		if path.Ext(f) == ".go" {
			dirs["./"+relative(p.dir, path.Dir(f))] = true
		}
	}
	if dirs["./"+p.dir] { // of the root itself
		delete(dirs, "./"+p.dir)
		dirs["."] = true
	}
	return keys(dirs)
}

// moreGoPackages says whether more than so many directories below hold Go files.
func (s scan) moreGoPackages(most int) bool {
	seen := map[string]bool{}
	err := fs.WalkDir(s.fsys, s.dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case entry.IsDir():
			if base := entry.Name(); name != s.dir && (skipped[base] || strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
		case path.Ext(name) == ".go":
			if seen[path.Dir(name)] = true; len(seen) > most {
				return fs.SkipAll
			}
		}
		return nil
	})
	return err != nil || len(seen) > most
}

// distributed finds pytest-xdist in a configuration: its workers are not measured from outside.
var distributed = regexp.MustCompile(`(?m)^\s*addopts\s*=.*(?:\s|["'])(?:-n|--numprocesses)[\s=]*(?:\d|auto|logical)`)

// pythonCoverage runs the unit stage's commands under coverage.py, where the interpreter has it.
func pythonCoverage(s scan, p project) cover {
	if !slices.Contains(p.interpreter.modules, "coverage") {
		return cover{why: "the Python that runs the tests has no module coverage"}
	}
	const data, report = coverageDir + "/data", coverageDir + "/coverage.json"
	python := job{args: []string{cmp.Or(p.interpreter.path, "python3")}}.command()
	config := s.read("pyproject.toml") + "\n" + s.read("setup.cfg") + "\n" + s.read("tox.ini") + "\n" + s.read("pytest.ini")
	own := strings.Contains(config, "--cov")
	if !own && distributed.MatchString(config) {
		return cover{why: "pytest-xdist runs the tests in processes that nobody measures: put --cov into addopts"}
	}
	// Each process writes a file of its own, as a configuration may ask for anyway: then nothing can be appended to.
	run := []string{"-m", "coverage", "run", "--parallel-mode"}
	if s.read(".coveragerc") == "" && !strings.Contains(config, "[tool.coverage") && !strings.Contains(config, "[coverage:") {
		run = append(run, "--source=.")
	}
	return cover{
		unit: func(j job) job {
			if j.args[0] != "python3" {
				return j
			}
			j.env = append(slices.Clone(j.env), "COVERAGE_FILE="+data)
			if own && slices.Contains(j.args, "pytest") {
				return j // pytest-cov measures already
			}
			j.args = slices.Concat(j.args[:1], run, j.args[1:])
			return j
		},
		job: job{
			stage: loop.StageCoverage, env: []string{"COVERAGE_FILE=" + data},
			args: []string{"/bin/sh", "-c", python + ` -m coverage combine --append >/dev/null 2>&1; ` + python + ` -m coverage json -i -o "$0"`, report},
		},
		format: coverage.CoveragePy, reports: []string{report},
	}
}

// coverageTool finds a coverage tool in a script.
var coverageTool = regexp.MustCompile(`(?:^|[\s;&/])(c8|nyc)(?:$|\s)`)

// nodeCoverage asks the runner that the package has; where it has none that measures, V8 does.
func nodeCoverage(s scan, p project) cover {
	const dir = coverageDir
	pkg := readPackage(s)
	manager, _ := packageManagerOf(s, pkg)
	var spoken []string // what the unit stage runs
	for _, j := range p.jobs {
		if j.stage == loop.StageUnit {
			spoken = append(spoken, cmp.Or(j.speaks, j.command()))
		}
	}
	script := strings.Join(spoken, "; ")
	has := func(name string) bool {
		return pkg.Dependencies[name] != "" || pkg.DevDependencies[name] != ""
	}
	runner := ""
	for _, command := range spoken {
		if m := runnerWord.FindStringSubmatch(lastCommand(command)); m != nil {
			runner = m[1]
		}
	}
	c := cover{format: coverage.LCOV, reports: []string{lcovFile}}
	shell := func(text string) job {
		return job{stage: loop.StageCoverage, args: []string{"/bin/sh", "-c", `PATH="$PWD/node_modules/.bin:$PATH"; export PATH; ` + text, dir}}
	}
	further := func(args ...string) func(job) job {
		return func(j job) job {
			m := runnerWord.FindStringSubmatch(lastCommand(cmp.Or(j.speaks, j.command())))
			switch {
			case m == nil || m[1] != runner: // another command of a chain
			case j.args[0] == "sh": // of a script that was taken apart
				j.args = slices.Clone(j.args)
				j.args[len(j.args)-1] += " " + job{args: args}.command()
			default:
				j.args = slices.Concat(j.args, args)
			}
			return j
		}
	}
	tool := coverageTool.FindStringSubmatch(script)
	switch {
	case tool != nil && tool[1] == "c8":
		c.unit, c.job = unchangedJob, shell(`exec c8 report --reporter=lcovonly --reports-dir="$0"`)
	case tool != nil:
		c.unit, c.job = unchangedJob, shell(`exec nyc report --reporter=lcovonly --report-dir="$0"`)
	case runner == "jest":
		// A threshold of its own would make the tests red.
		c.unit = further("--coverage", "--coverageReporters=lcovonly", "--coverageDirectory="+dir, "--coverageThreshold={}")
	case runner == "vitest" && !has("@vitest/coverage-v8") && !has("@vitest/coverage-istanbul"):
		return cover{why: "vitest measures with @vitest/coverage-v8, which the package does not have"}
	case runner == "vitest" && vitestThreshold(s):
		separator := " -- "
		if manager == "yarn" {
			separator = " "
		}
		c.job = shell(manager + " test" + separator + `--run --coverage.enabled --coverage.reporter=lcovonly --coverage.reportsDirectory="$0"`)
	case runner == "vitest":
		c.unit = further("--coverage.enabled", "--coverage.reporter=lcovonly", "--coverage.reportsDirectory="+dir)
	default:
		const v8 = coverageDir + "/v8"
		c.format, c.reports = coverage.V8, []string{v8 + "/coverage-*.json"}
		c.unit = func(j job) job {
			j.env = append(slices.Clone(j.env), "NODE_V8_COVERAGE="+v8)
			return j
		}
	}
	return c
}

// vitestThreshold says whether the package's configuration makes vitest red for its coverage.
func vitestThreshold(s scan) bool {
	for _, name := range []string{"vitest.config", "vite.config"} {
		for _, ext := range []string{".ts", ".mts", ".js", ".mjs", ".cjs"} {
			if strings.Contains(s.read(name+ext), "threshold") {
				return true
			}
		}
	}
	return false
}

// comment matches lines that hold no code, in the languages whose coverage is read.
var comment = regexp.MustCompile(`^\s*(?://|#|/\*|\*|"""|'''|[\])}\s;,]*$)`)

// coveredLanguages are the extensions of sources whose coverage can be measured.
var coveredLanguages = []string{
	".go", ".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".rs", ".java", ".kt", ".groovy", ".scala",
}

// coverable says whether a file's coverage can be measured.
func coverable(file string) bool { return slices.Contains(coveredLanguages, path.Ext(file)) }

// changedCode lists, by file, the added lines of a diff that hold code and are no test's.
func changedCode(diff loop.Diff) map[string][]int {
	changed := map[string][]int{}
	for _, f := range diff.Files {
		if f.Binary || IsTestFile(f.Path) || f.Op == loop.OpDelete {
			continue
		}
		for _, l := range f.Lines {
			if l.Op == loop.LineAdded && !comment.MatchString(l.Text) {
				changed[f.Path] = append(changed[f.Path], l.New)
			}
		}
	}
	return changed
}

// nameIn makes a report's name of a file relative to the worktree; "" where it lies outside. Of
// JaCoCo's names, which lack the directory of the sources, the changed files say which they mean.
func (c cover) nameIn(worktree string, p project, changed map[string][]int) func(string) string {
	return func(name string) string {
		switch {
		case c.format == coverage.JaCoCo:
			for file := range changed {
				if within(file, p.dir) && strings.HasSuffix("/"+file, "/"+name) {
					return file
				}
			}
			return name
		case c.strip != "":
			rest, own := strings.CutPrefix(name, c.strip)
			if !own {
				return ""
			}
			return p.file(rest)
		case path.IsAbs(name):
			inside, own := strings.CutPrefix(path.Clean(name), worktree+"/")
			if !own {
				return ""
			}
			return inside
		default:
			return p.file(path.Clean(name))
		}
	}
}
