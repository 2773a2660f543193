package verify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// compare tells new, fixed and old failures apart, test by test and finding by finding. A stage
// whose every failure was there on the base is not red: it says nothing about the change.
func compare(name loop.StageName, stage *loop.Stage, base *loop.Outcome, now map[string]loop.CaseStatus) {
	if base == nil {
		return
	}
	before, ran := base.Verdict.Stages[name]
	if !ran || before.NotRun {
		return
	}
	fresh := newFindings(stage.Errors, before.Errors)
	if stage.Tests != nil {
		compareTests(stage, base.Cases, now)
	}
	if stage.Pass {
		return
	}
	newTests := stage.Tests != nil && len(stage.Tests.Failed) > len(stage.Tests.Preexisting)
	if len(fresh) == 0 && !newTests && (!before.Pass || len(before.Errors) > 0) {
		stage.Pass = true
		stage.Reason = fmt.Sprintf("every failure was there on the base already (%d)", len(stage.Errors)+failedCount(stage))
		stage.Errors = nil // they are not the change's, and nobody could see its own among them
		return
	}
	if len(fresh) > 0 && stage.Tests == nil {
		// Old findings would only distract from the new ones.
		stage.Reason = fmt.Sprintf("%d findings that the base has too are left out", len(stage.Errors)-len(fresh))
		if len(stage.Errors) == len(fresh) {
			stage.Reason = ""
		}
		stage.Errors = fresh
	}
}

func failedCount(stage *loop.Stage) int {
	if stage.Tests == nil {
		return 0
	}
	return len(stage.Tests.Failed)
}

// compareTests sorts the tests of a stage by what they did on the base.
func compareTests(stage *loop.Stage, base, now map[string]loop.CaseStatus) {
	t := stage.Tests
	for _, id := range t.Failed {
		switch base[id] {
		case loop.CasePassed:
			t.Regressions = append(t.Regressions, id)
		case loop.CaseFailed:
			t.Preexisting = append(t.Preexisting, id)
		case loop.CaseSkipped:
		default: // the base does not have it: a new test that is red
		}
	}
	for id, status := range base {
		if status == loop.CaseFailed && now[id] == loop.CasePassed {
			t.Fixed = append(t.Fixed, id)
		}
	}
	slices.Sort(t.Fixed)
}

// newFindings returns the findings that the base lacks. Lines move, so they do not count; the
// same finding twice where the base has it once is new once.
func newFindings(now, before []loop.Failure) []loop.Failure {
	left := map[string]int{}
	for _, f := range before {
		left[findingKey(f)]++
	}
	var fresh []loop.Failure
	for _, f := range now {
		if key := findingKey(f); left[key] > 0 {
			left[key]--
			continue
		}
		fresh = append(fresh, f)
	}
	return fresh
}

// numbers differ between two runs of the same finding.
var numbers = regexp.MustCompile(`[0-9]+`)

func findingKey(f loop.Failure) string {
	return f.File + "\x00" + f.Rule + "\x00" + f.ID + "\x00" + numbers.ReplaceAllString(f.Message, "#")
}

// mostReruns bounds how many tests are run again one by one; more than that is no flakiness.
const mostReruns = 20

// settleFlaky runs the tests that changed colour again. Those that pass in the majority of all
// runs are flaky, not broken.
func (s *session) settleFlaky(ctx context.Context, runs []ran, stage *loop.Stage, cases map[string]loop.CaseStatus) error {
	t := stage.Tests
	if len(t.Regressions) > mostReruns {
		return nil
	}
	for _, r := range runs {
		var ids []string // as the tool prints them
		for _, c := range r.report.Cases {
			if id := testID(c.Suite, c.ID); slices.Contains(t.Regressions, r.project.id(id)) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			continue
		}
		again := r.job
		if r.job.plain != nil {
			again = *r.job.plain // what is red only under measurement is not broken
		}
		if r.job.rerun != nil {
			if args := r.job.rerun(ids); args != nil {
				again.args = args
			}
		}
		passes := map[string]int{}
		for range s.Verifier.config.Reruns {
			rerun, err := s.run(ctx, r.project, again, reach{})
			if err != nil {
				return err
			}
			green := 0
			for _, c := range rerun.report.Cases {
				if id := testID(c.Suite, c.ID); c.Status == feedback.CasePassed && slices.Contains(ids, id) {
					passes[id]++
					green++
				}
			}
			if green == 0 {
				break // all red again: no majority can come of it
			}
		}
		for _, id := range ids {
			if total := s.Verifier.config.Reruns + 1; passes[id]*2 > total {
				markFlaky(stage, r.project.id(id), cases)
			}
		}
	}
	if len(t.Failed) == len(t.Preexisting) && len(t.Flaky) > 0 && len(stage.Errors) == 0 {
		stage.Pass = true
		stage.Reason = "flaky: " + strings.Join(t.Flaky, ", ") + " passed in the majority of runs"
	}
	return nil
}

// markFlaky takes a test off the failures.
func markFlaky(stage *loop.Stage, id string, cases map[string]loop.CaseStatus) {
	t := stage.Tests
	is := func(other string) bool { return other == id }
	t.Failed = slices.DeleteFunc(t.Failed, is)
	t.Regressions = slices.DeleteFunc(t.Regressions, is)
	t.Failures = slices.DeleteFunc(t.Failures, func(f loop.Failure) bool { return f.ID == id })
	t.Flaky = append(t.Flaky, id)
	cases[id] = loop.CasePassed
}
