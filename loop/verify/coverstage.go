package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/verify/coverage"
)

// defaultThreshold is the least percentage of changed lines that tests must run, where the
// configuration names none.
const defaultThreshold = 60

// dearest is how long the unit stage may take for its tests to be run once more under measurement,
// where nobody has asked for coverage.
const dearest = 3 * time.Minute

// mostUncovered bounds how many places a red coverage stage names.
const mostUncovered = 20

// measuring is what a verification knows of its coverage stage before the tests run.
type measuring struct {
	asked   bool             // somebody named the stage
	changed map[string][]int // lines of code, by file
	// as is how the tests of a project measure as they run, by its cache directory.
	as map[string]cover
	// since is when they were started.
	since map[string]time.Time
}

// planCoverage decides, before any test runs, what is to be measured, so that the unit stage does it
// as it goes and no test runs twice.
func (s *session) planCoverage(ctx context.Context, request loop.VerifyRequest) error {
	s.measuring = measuring{asked: slices.Contains(request.Only, loop.StageCoverage), changed: map[string][]int{}, as: map[string]cover{}, since: map[string]time.Time{}}
	m := &s.measuring
	if len(request.Only) > 0 && !m.asked {
		return nil
	}
	if request.Base != nil {
		diff, err := s.clone.Diff(ctx, request.BaseCommit, request.HeadCommit)
		if err != nil {
			return err
		}
		m.changed = changedCode(diff)
	}
	if len(s.config.Commands[loop.StageCoverage]) > 0 {
		return nil
	}
	maps.DeleteFunc(m.changed, func(file string, _ []int) bool { return !coverable(file) })
	for _, p := range s.projects {
		files := s.owned(p)
		if len(files) == 0 && !m.asked {
			continue
		}
		c, measurable := coverageOf(scan{fsys: os.DirFS(s.clone.Dir()), dir: p.dir}, p, files)
		if !measurable {
			continue
		}
		if c.unit != nil {
			if err := s.emptyCoverage(p); err != nil {
				return err
			}
		}
		m.as[s.cacheDir(p)] = c
	}
	return nil
}

// owned lists the changed files of a project that are no nested project's of its kind.
func (s *session) owned(p project) []string {
	var files []string
	for _, file := range slices.Sorted(maps.Keys(s.measuring.changed)) {
		nested := func(q project) bool {
			return q.ecosystem == p.ecosystem && q.dir != p.dir && within(q.dir, p.dir) && within(file, q.dir)
		}
		if within(file, p.dir) && !slices.ContainsFunc(s.projects, nested) {
			files = append(files, file)
		}
	}
	return files
}

// emptyCoverage makes the directory for measurements anew: those of an earlier commit would count.
func (s *session) emptyCoverage(p project) error {
	root, err := os.OpenRoot(s.clone.Root())
	if err != nil {
		return err
	}
	defer root.Close()
	inside, err := filepath.Rel(s.clone.Root(), strings.ReplaceAll(coverageDir, cachePlaceholder, s.cacheDir(p)))
	if err != nil {
		return err
	}
	if err := root.RemoveAll(inside); err != nil {
		return fmt.Errorf("empty the directory for coverage: %w", err)
	}
	return root.MkdirAll(inside, 0o700)
}

// measured is a job of the unit stage as it is run: measuring, where its project is measured so.
func (s *session) measured(p project, j job) job {
	key := s.cacheDir(p)
	c, there := s.measuring.as[key]
	if j.stage != loop.StageUnit || !there || c.unit == nil {
		return j
	}
	if s.measuring.since[key].IsZero() {
		s.measuring.since[key] = time.Now()
	}
	plain := j
	j = c.unit(j)
	j.plain = &plain
	return j
}

// runMeasured runs a job, measuring where its project is measured so. Where no test runs under the measuring tool (a
// plugin of its configuration is missing, an option of it is refused) the tests run without: coverage is not worth a
// verdict about the code.
func (s *session) runMeasured(ctx context.Context, p project, j job) (ran, error) {
	r, err := s.run(ctx, p, s.measured(p, j), reach{})
	if err != nil || r.job.plain == nil || !r.red() || len(r.report.Cases) > 0 {
		return r, err
	}
	plain, err := s.run(ctx, p, *r.job.plain, reach{})
	if err != nil {
		return ran{}, err
	}
	if !plain.red() || len(plain.report.Cases) > 0 {
		s.measuring.as[s.cacheDir(p)] = cover{why: "no test runs under the measuring tool: " + lastWords(r.output)}
	}
	return plain, nil
}

// lastWords are the last lines of an output that say something, in one line.
func lastWords(output []byte) string {
	const most, width = 3, 300
	lines := strings.FieldsFunc(string(output), func(r rune) bool { return r == '\n' || r == '\r' })
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	text := loop.Inline(strings.Join(lines[max(0, len(lines)-most):], "; "))
	return strings.ToValidUTF8(text[:min(len(text), width)], "")
}

// measure is the coverage stage: what the unit stage has measured, else the tests once more with the
// tool that the project has. It is red only for changed lines that no test runs; what cannot be
// measured is told, not held against the change. nil: there is nothing to measure.
func (s *session) measure(ctx context.Context, request loop.VerifyRequest, outcome *loop.Outcome) (*loop.Stage, []ran, error) {
	changed := s.measuring.changed
	switch {
	case s.measuring.asked:
	case request.Base == nil, len(changed) == 0:
		return nil, nil, nil // of a base there are no changed lines
	}
	if len(s.config.Commands[loop.StageCoverage]) > 0 {
		return s.measureConfigured(ctx, request, changed, outcome)
	}
	unit := time.Duration(outcome.Verdict.Stages[loop.StageUnit].DurationMS) * time.Millisecond
	began := time.Now()
	var runs []ran
	var reasons, commands []string
	whole := &coverage.Report{Files: map[string]map[int]bool{}}
	for _, p := range s.projects {
		c, measurable := s.measuring.as[s.cacheDir(p)]
		if !measurable {
			continue
		}
		if c.why == "" && c.unit == nil && unit > dearest && !s.measuring.asked && s.config.CoverageThreshold == nil {
			c.why = fmt.Sprintf("the unit tests took %s, and measuring runs them once more: set verify.coverage_threshold to have it all the same", unit.Round(time.Second))
		}
		r, report, why, err := s.cover(ctx, p, c)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, r...)
		if report != nil {
			whole.Add(report)
		}
		for _, text := range []string{c.note, why} {
			if text != "" {
				reasons = append(reasons, text)
			}
		}
	}
	switch {
	case len(s.measuring.as) == 0:
		return nil, nil, nil
	case len(whole.Files) == 0:
		return &loop.Stage{NotRun: true, Reason: "coverage could not be measured: " + strings.Join(reasons, "; ")}, runs, nil
	}
	stage := judgeCoverage(whole, changed, s.threshold())
	stage.Reason = strings.Join(reasons, "; ")
	for _, r := range runs {
		commands = append(commands, r.job.command())
	}
	stage.Command, stage.DurationMS = strings.Join(commands, " && "), time.Since(began).Milliseconds()
	return &stage, runs, nil
}

// threshold is the least percentage of changed lines.
func (s *session) threshold() float64 {
	if t := s.config.CoverageThreshold; t != nil {
		return *t
	}
	return defaultThreshold
}

// cover measures one project; why says that it could not.
func (s *session) cover(ctx context.Context, p project, c cover) (runs []ran, report *coverage.Report, why string, err error) {
	if c.why != "" {
		return nil, nil, fmt.Sprintf("%s: %s", p.dir, c.why), nil
	}
	if c.job.optional {
		if where, err := s.locate(ctx, p, job{args: []string{c.job.args[0] + "-" + c.job.args[1]}}); err != nil || where == "" {
			return nil, nil, fmt.Sprintf("%s: %s %s is not installed where autocode runs", p.dir, c.job.args[0], c.job.args[1]), err
		}
	}
	began, ended := s.measuring.since[s.cacheDir(p)], 0
	var jobs []job
	if began.IsZero() { // no unit stage has measured
		began = time.Now()
		for _, j := range p.jobs {
			if j.stage == loop.StageUnit && c.unit != nil {
				jobs = append(jobs, s.measured(p, j))
			}
		}
	}
	if len(c.job.args) > 0 {
		jobs = append(jobs, c.job)
	}
	for _, j := range jobs {
		r, err := s.run(ctx, p, j, reach{})
		if err != nil {
			return nil, nil, "", err
		}
		runs, ended = append(runs, r), r.result.ExitCode
	}
	report, err = s.readCoverage(c, p, began, s.measuring.changed)
	if err != nil {
		return runs, nil, fmt.Sprintf("%s: the tests were measured, the tool ended with %d: %v", p.dir, ended, err), nil
	}
	return runs, report, "", nil
}

// errNoReport says that a tool left none.
var errNoReport = errors.New("it left no report")

// clocks of files are coarser than ours by up to this much.
const fileClock = 2 * time.Second

// readCoverage reads what a coverage tool has written since it was started. The file lies where
// code of the repository may write: it is opened without following links out of the clone.
func (s *session) readCoverage(c cover, p project, since time.Time, changed map[string][]int) (*coverage.Report, error) {
	root, err := os.OpenRoot(s.clone.Root())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	whole := &coverage.Report{Files: map[string]map[int]bool{}}
	for _, pattern := range c.reports {
		pattern = strings.ReplaceAll(pattern, cachePlaceholder, s.cacheDir(p))
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(s.clone.Dir(), filepath.FromSlash(p.dir), pattern)
		}
		inside, err := filepath.Rel(s.clone.Root(), pattern)
		if err != nil {
			return nil, err
		}
		names, err := fs.Glob(root.FS(), filepath.ToSlash(inside))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			info, err := root.Lstat(name)
			if err != nil || !info.Mode().IsRegular() || info.ModTime().Before(since.Add(-fileClock)) {
				continue // of another run, or no report
			}
			report, err := s.readReport(root, name, c.format)
			if err != nil {
				return nil, err
			}
			report.Rename(c.nameIn(s.clone.Dir(), p, changed))
			whole.Add(report)
		}
	}
	if len(whole.Files) == 0 {
		return nil, errNoReport
	}
	if c.format == coverage.V8 {
		whole.Recount() // each process has left a report
	}
	return whole, nil
}

// longestSource bounds a file whose lines are looked up for V8, in bytes; what is longer was generated.
const longestSource = 2 << 20

func (s *session) readReport(root *os.Root, name string, format coverage.Format) (*coverage.Report, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if format != coverage.V8 {
		return coverage.Read(format, file)
	}
	report, err := coverage.ReadV8(file, func(source string) string {
		inside, own := strings.CutPrefix(source, s.clone.Dir()+"/")
		if !own || slices.Contains(strings.Split(inside, "/"), "node_modules") || IsTestFile(inside) {
			return ""
		}
		text, err := fs.ReadFile(root.FS(), filepath.Join(filepath.Base(s.clone.Dir()), inside))
		if err != nil || len(text) > longestSource {
			return ""
		}
		return string(text)
	})
	if err != nil {
		return &coverage.Report{}, nil // a process that was killed while it wrote: the others count
	}
	return report, nil
}

// judgeCoverage compares the share of changed lines that tests run with the threshold.
func judgeCoverage(report *coverage.Report, changed map[string][]int, threshold float64) loop.Stage {
	total := coverage.Percent(report.Covered, report.Statements)
	stage := loop.Stage{Pass: true, Total: &total, Threshold: &threshold}
	run, all := 0, 0
	var errs []loop.Failure
	more := 0
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		var idle []int
		for _, line := range changed[file] {
			wasRun, executable := report.Files[file][line]
			if !executable {
				continue
			}
			if all++; wasRun {
				run++
			} else {
				idle = append(idle, line)
			}
		}
		for _, span := range spans(idle) {
			if len(errs) == mostUncovered {
				more++
				continue
			}
			errs = append(errs, loop.Failure{File: file, Line: span[0], Kind: string(feedback.KindGate), Rule: "uncovered", Message: uncovered(span)})
		}
	}
	if all == 0 {
		return stage
	}
	share := coverage.Percent(run, all)
	stage.Changed = &share
	if share >= threshold {
		return stage
	}
	stage.Pass = false
	message := fmt.Sprintf("tests run %.1f %% of the changed lines (%d of %d), %g %% are asked for", share, run, all, threshold)
	if more > 0 {
		message += fmt.Sprintf("; %d more places are not named here", more)
	}
	stage.Errors = append([]loop.Failure{{Kind: string(feedback.KindGate), Rule: "coverage-threshold", Message: message}}, errs...)
	return stage
}

// spans joins numbers that follow each other.
func spans(lines []int) [][2]int {
	var joined [][2]int
	for _, line := range slices.Sorted(slices.Values(lines)) {
		if last := len(joined) - 1; last >= 0 && line <= joined[last][1]+1 {
			joined[last][1] = line
			continue
		}
		joined = append(joined, [2]int{line, line})
	}
	return joined
}

func uncovered(span [2]int) string {
	if span[0] == span[1] {
		return fmt.Sprintf("no test runs line %d", span[0])
	}
	return fmt.Sprintf("no test runs lines %d to %d", span[0], span[1])
}

// knownReports are where coverage tools write by default.
var knownReports = []cover{
	{format: coverage.GoProfile, reports: []string{"coverage.out", "cover.out", "coverage.txt"}},
	{format: coverage.LCOV, reports: []string{"coverage/lcov.info", "lcov.info", "*/coverage/lcov.info"}},
	{format: coverage.Cobertura, reports: []string{"coverage.xml", "coverage/cobertura-coverage.xml", "cobertura.xml"}},
	{format: coverage.CoveragePy, reports: []string{"coverage.json"}},
	{format: coverage.JaCoCo, reports: append(below("target/site/jacoco/jacoco.xml"), below("build/reports/jacoco/test/jacocoTestReport.xml")...)},
}

// measureConfigured runs the configuration's own commands: their exit codes count, and so does a
// report that they leave where such tools write.
func (s *session) measureConfigured(ctx context.Context, request loop.VerifyRequest, changed map[string][]int, outcome *loop.Outcome) (*loop.Stage, []ran, error) {
	began := time.Now()
	runs, _, err := s.runStage(ctx, loop.StageCoverage, request.Changed)
	if err != nil || len(runs) == 0 {
		return nil, nil, err
	}
	stage := s.summarise(runs, outcome.Cases)
	compare(loop.StageCoverage, &stage, request.Base, outcome.Cases)
	at := runs[0].project
	module := scan{fsys: os.DirFS(s.clone.Dir()), dir: "."}
	for _, c := range knownReports {
		if m := moduleLine.FindStringSubmatch(module.read("go.mod")); m != nil && c.format == coverage.GoProfile {
			c.strip = m[1] + "/"
		}
		report, err := s.readCoverage(c, at, began, changed)
		if err != nil {
			continue // another tool's, or none
		}
		judged := judgeCoverage(report, changed, s.threshold())
		stage.Total, stage.Changed, stage.Threshold = judged.Total, judged.Changed, judged.Threshold
		stage.Pass = stage.Pass && judged.Pass
		stage.Errors = append(stage.Errors, judged.Errors...)
		break
	}
	stage.DurationMS = time.Since(began).Milliseconds()
	return &stage, runs, nil
}
