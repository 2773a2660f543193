package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// Verify runs the stages, cheap ones first. A red environment or compile stops the rest; lint,
// types and unit all run, so that the reader hears all of it at once; slower layers run only when
// nothing is red that the base has not.
func (v *Verifier) Verify(ctx context.Context, request loop.VerifyRequest) (loop.Outcome, error) {
	s, err := v.open(ctx, request.Clone, request.Config, request.Limits)
	if err != nil {
		return loop.Outcome{}, err
	}
	if err := s.survey(ctx); err != nil {
		return loop.Outcome{}, err
	}
	return s.verify(ctx, request)
}

// survey learns what the sandbox has.
func (s *session) survey(ctx context.Context) error {
	missing, err := s.missingPrograms(ctx)
	if err != nil {
		return err
	}
	s.missing = missing
	s.bringManagers()
	for i := range s.projects {
		if err := s.choosePython(ctx, &s.projects[i]); err != nil {
			return err
		}
	}
	return nil
}

// group says after which red stages a stage does not run any more.
var group = map[loop.StageName]int{
	loop.StageEnvironment: 0, loop.StageCompile: 1,
	loop.StageLint: 2, loop.StageTypes: 2, loop.StageUnit: 2,
	loop.StageCoverage: 3, loop.StageIntegration: 4, loop.StageE2E: 5, loop.StageSecurity: 5,
}

func (s *session) verify(ctx context.Context, request loop.VerifyRequest) (loop.Outcome, error) {
	outcome := loop.Outcome{
		Verdict: loop.Verdict{
			Schema: loop.VerdictSchema, Base: request.BaseCommit, Head: request.HeadCommit, Class: feedback.ClassNone,
			Stages: map[loop.StageName]loop.Stage{}, Acceptance: []loop.Acceptance{}, Guard: []loop.Finding{},
		},
		Cases: map[string]loop.CaseStatus{}, Logs: map[string][]byte{},
	}
	if err := s.planCoverage(ctx, request); err != nil {
		return loop.Outcome{}, err
	}
	redGroup, redStage := -1, loop.StageName("")
	// Of a base that does not compile, one wants to know what works all the same: its tests are what
	// a later commit is compared with.
	baseline := request.BaseCommit != "" && request.BaseCommit == request.HeadCommit
	for _, name := range loop.Stages() {
		if len(request.Only) > 0 && !slices.Contains(request.Only, name) && name != loop.StageEnvironment {
			continue
		}
		if redGroup >= 0 && group[name] > redGroup && !(baseline && redGroup == group[loop.StageCompile] && group[name] <= group[loop.StageUnit]) {
			if s.wants(name) {
				outcome.Verdict.Stages[name] = loop.Stage{NotRun: true, Reason: fmt.Sprintf("%s failed", redStage)}
			}
			continue
		}
		stage, runs, err := s.stage(ctx, name, request, &outcome)
		if err != nil {
			return loop.Outcome{}, err
		}
		if stage == nil {
			continue
		}
		outcome.Verdict.Stages[name] = *stage
		for _, r := range runs {
			outcome.Logs[string(name)] = append(outcome.Logs[string(name)], logOf(r)...)
		}
		if !stage.Pass && !stage.NotRun {
			if redGroup < 0 {
				redGroup, redStage = group[name], name
			}
			s.classify(&outcome.Verdict, runs)
		}
	}
	s.blameInstallation(&outcome.Verdict, request.Base)
	outcome.Verdict.Settle()
	return outcome, nil
}

// wants says whether any project has a job for a stage.
func (s *session) wants(name loop.StageName) bool {
	return slices.ContainsFunc(s.projects, func(p project) bool {
		return slices.ContainsFunc(p.jobs, func(j job) bool { return j.stage == name })
	})
}

// stage runs one stage over all projects; nil where there is nothing to run.
func (s *session) stage(ctx context.Context, name loop.StageName, request loop.VerifyRequest, outcome *loop.Outcome) (*loop.Stage, []ran, error) {
	if name == loop.StageEnvironment {
		stage, err := s.checkEnvironment(ctx)
		if err == nil && !stage.Pass {
			outcome.Verdict.Class, outcome.Verdict.ClassRule = feedback.ClassEnvironment, "environment-stage"
		}
		return stage, nil, err
	}
	if name == loop.StageCoverage {
		return s.measure(ctx, request, outcome)
	}
	began := time.Now()
	runs, out, err := s.runStage(ctx, name, request.Changed)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(runs) == 0 && len(out) == 0:
		return nil, nil, nil
	case len(runs) == 0:
		return &loop.Stage{NotRun: true, Reason: strings.Join(out, "; ")}, nil, nil
	}
	if name == loop.StageUnit {
		s.unit = runs
	}
	stage := s.summarise(runs, outcome.Cases)
	compare(name, &stage, request.Base, outcome.Cases)
	s.excuseForeign(&stage, runs, request.Base)
	if stage.Tests != nil && request.Base != nil && len(stage.Tests.Regressions) > 0 {
		if err := s.settleFlaky(ctx, runs, &stage, outcome.Cases); err != nil {
			return nil, nil, err
		}
	}
	if len(out) > 0 {
		if stage.Reason != "" {
			out = append([]string{stage.Reason}, out...)
		}
		stage.Reason = strings.Join(out, "; ")
	}
	stage.DurationMS = time.Since(began).Milliseconds()
	return &stage, runs, nil
}

// runStage runs a stage's jobs; out says why some were left out.
func (s *session) runStage(ctx context.Context, name loop.StageName, changed []string) (runs []ran, out []string, err error) {
	for _, p := range s.ordered(changed) {
		for _, j := range p.jobs {
			if j.stage != name {
				continue
			}
			why, err := s.leftOut(ctx, p, j, changed)
			if err != nil {
				return nil, nil, err
			}
			if why != "" {
				out = append(out, why)
				continue
			}
			r, err := s.runMeasured(ctx, p, j)
			if err != nil {
				return nil, nil, err
			}
			runs = append(runs, r)
		}
	}
	return runs, out, nil
}

// leftOut says why a job is not run, "" where it is.
func (s *session) leftOut(ctx context.Context, p project, j job, changed []string) (string, error) {
	failed := s.installFailure(p)
	if j.left != "" {
		return j.left, nil
	}
	if j.optional {
		if failed != "" {
			return fmt.Sprintf("%s is left out: without the project's dependencies it finds what is not there", j.args[0]), nil
		}
		where, err := s.locate(ctx, p, j)
		if err != nil {
			return "", err
		}
		if where != "" {
			s.foreign[j.command()] = !strings.HasPrefix(where, s.clone.Root()+"/") && strings.HasPrefix(where, "/")
			return "", nil
		}
		return j.args[0] + " is configured, but not installed where autocode runs", nil
	}
	if p.nested && failed != "" && (len(changed) == 0 || !p.touched(changed)) {
		return fmt.Sprintf("%s is left out: its dependencies could not be installed, and the change does not touch it", p.dir), nil
	}
	return "", nil
}

// excuseForeign makes a stage green whose only red tools are linters of this machine, not of the
// project's own dependencies, as long as there is no base to compare with: another version finds
// other things, and nobody can tell which of them concern the change.
func (s *session) excuseForeign(stage *loop.Stage, runs []ran, base *loop.Outcome) {
	if stage.Pass || base != nil || stage.Tests != nil {
		return
	}
	var tools []string
	for _, r := range runs {
		if !r.red() {
			continue
		}
		if !s.foreign[r.job.command()] {
			return
		}
		tools = append(tools, r.job.args[0])
	}
	stage.Pass = true
	stage.Reason = fmt.Sprintf("%d findings of %s, which is this machine's and not one of the project's dependencies: they count where the base lacks them",
		len(stage.Errors), strings.Join(tools, ", "))
}

// ordered puts the projects that a change touches first.
func (s *session) ordered(changed []string) []project {
	list := slices.Clone(s.projects)
	slices.SortStableFunc(list, func(a, b project) int {
		at, bt := a.touched(changed), b.touched(changed)
		switch {
		case at == bt:
			return 0
		case at:
			return -1
		default:
			return 1
		}
	})
	return list
}

// summarise turns the reports of a stage's jobs into one stage and collects every test case.
func (s *session) summarise(runs []ran, cases map[string]loop.CaseStatus) loop.Stage {
	stage := loop.Stage{Pass: true}
	testing := slices.Contains([]loop.StageName{loop.StageUnit, loop.StageIntegration, loop.StageE2E}, runs[0].job.stage)
	if testing {
		stage.Tests = &loop.Tests{Failed: []string{}, Failures: []loop.Failure{}, Regressions: []string{}, Fixed: []string{}, Preexisting: []string{}, Flaky: []string{}}
	}
	var commands []string
	for _, r := range runs {
		commands = append(commands, r.job.command())
		part := partOf(r)
		if r.red() {
			stage.Pass = false
			if stage.ExitCode == nil || *stage.ExitCode == 0 {
				code := r.result.ExitCode
				stage.ExitCode = &code
			}
		} else if stage.ExitCode == nil {
			stage.ExitCode = new(int)
		}
		failures := s.failures(r)
		if testing {
			addTests(&stage, r, failures, cases)
		} else {
			stage.Errors = append(stage.Errors, failures...)
		}
		if r.red() && len(failures) == 0 {
			// A red job that names no failure is a gate or a crash: its own words say why.
			stage.Errors = append(stage.Errors, loop.Failure{Message: r.report.Summary, Kind: string(feedback.KindGate), File: r.project.file("")})
			part.Reason = r.report.Summary
		}
		if r.result.Reason == loop.EndOutputLimit {
			// What came after the cut is unknown, so nothing of it counts as green.
			stage.Errors = append(stage.Errors, loop.Failure{Kind: string(feedback.KindCrash), File: r.project.file(""), Rule: "output-limit",
				Message: fmt.Sprintf("the command printed more than %d MB and was ended; make it print less", outputLimit>>20)})
		}
		if len(s.projects) > 1 {
			stage.Parts = append(stage.Parts, part)
		}
		stage.Tool = r.report.Tool
	}
	stage.Command = strings.Join(commands, " && ")
	if stage.Tests != nil {
		slices.Sort(stage.Tests.Failed)
		stage.Tests.Failed = slices.Compact(stage.Tests.Failed)
	}
	return stage
}

func partOf(r ran) loop.Part {
	code := r.result.ExitCode
	part := loop.Part{
		Dir: r.project.dir, Tool: r.report.Tool, Pass: !r.red(), Command: r.job.command(), ExitCode: &code,
		DurationMS: r.result.Wall.Milliseconds(),
	}
	for _, c := range r.report.Cases {
		switch c.Status {
		case feedback.CasePassed:
			part.Passed++
		case feedback.CaseFailed:
			part.Failed = append(part.Failed, r.project.id(testID(c.Suite, c.ID)))
		case feedback.CaseSkipped:
			part.Skipped++
		}
	}
	return part
}

// failures turns a report's failures into the verdict's, with ids and paths of the whole worktree.
func (s *session) failures(r ran) []loop.Failure {
	var failures []loop.Failure
	for _, f := range r.report.Failures {
		if f.Class == feedback.ClassFlaky {
			continue // an attempt that passed when it was repeated; the case is told as flaky
		}
		failure := loop.Failure{
			ID: r.project.id(testID(f.Suite, f.ID)), File: r.project.file(f.File), Line: f.Line, Message: f.Message, Kind: string(f.Kind),
		}
		switch f.Kind {
		case feedback.KindLint, feedback.KindType, feedback.KindSecurity, feedback.KindCompile:
			failure.Rule, failure.ID = f.ID, ""
		case feedback.KindTest, feedback.KindSetup, feedback.KindLink, feedback.KindGate, feedback.KindConfig, feedback.KindInstall,
			feedback.KindEnvironment, feedback.KindCrash, feedback.KindTimeout, feedback.KindOOM:
		}
		if f.Expected != nil {
			failure.Expected = *f.Expected
		}
		if f.Actual != nil {
			failure.Actual = *f.Actual
		}
		failures = append(failures, failure)
	}
	return failures
}

// testID spells a test's id over the whole run: with the package or file in which it is unique.
func testID(suite, id string) string {
	switch {
	case suite == "" || id == "" || strings.HasPrefix(id, suite+" > ") || strings.HasPrefix(id, suite+"::"):
		return id // it begins with its file or class already
	case goTest.MatchString("." + id):
		return suite + "." + id
	default:
		return suite + " > " + id
	}
}

// addTests adds one job's cases to a stage.
func addTests(stage *loop.Stage, r ran, failures []loop.Failure, cases map[string]loop.CaseStatus) {
	t := stage.Tests
	named := 0
	for _, c := range r.report.Cases {
		id := r.project.id(testID(c.Suite, c.ID))
		if cases[id] != loop.CaseFailed { // two jobs may have a test of one name: the red one counts
			cases[id] = loop.CaseStatus(c.Status)
		}
		switch c.Status {
		case feedback.CasePassed:
			t.Passed++
			named++
		case feedback.CaseFailed:
			t.Failed = append(t.Failed, id)
		case feedback.CaseSkipped:
			t.Skipped++
		}
		if c.Flaky {
			t.Flaky = append(t.Flaky, id)
		}
	}
	// The tool's own total counts where it names fewer tests than it ran; loop.Outcome.Complete sees it.
	if total := r.report.Counts.Passed; total != nil && *total > named {
		t.Passed += *total - named
	}
	if total := r.report.Counts.Skipped; total != nil && len(r.report.Cases) == 0 {
		t.Skipped += *total
	}
	for _, f := range failures {
		if f.ID == "" || f.Kind == string(feedback.KindCompile) {
			stage.Errors = append(stage.Errors, f)
			continue
		}
		if _, known := cases[f.ID]; !known {
			cases[f.ID] = loop.CaseFailed
			t.Failed = append(t.Failed, f.ID)
		}
		t.Failures = append(t.Failures, f)
	}
}

// classify gives the verdict the class of its first red stage, the most specific one of its runs.
func (s *session) classify(v *loop.Verdict, runs []ran) {
	if v.Class != feedback.ClassNone {
		return
	}
	if slices.ContainsFunc(runs, func(r ran) bool { return r.result.Reason == loop.EndOutputLimit }) {
		v.Class, v.ClassRule = feedback.ClassCode, "output-limit"
		return
	}
	for _, r := range runs {
		if r.red() && r.report.Class != feedback.ClassNone {
			v.Class, v.ClassRule = r.report.Class, r.report.Rule
			return
		}
	}
	v.Class, v.ClassRule = feedback.ClassCode, "red-without-reason"
}

// logOf is a job's raw output with its command before it.
func logOf(r ran) []byte {
	return fmt.Appendf(nil, "$ cd %s && %s\n%s\n[exit code %d, %s]\n", r.project.dir, r.job.command(), r.output, r.result.ExitCode, r.result.Reason)
}
