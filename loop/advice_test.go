package loop_test

import (
	"testing"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// TestCoverageIsAdvice drives whole runs whose changed lines no test covers.
func TestCoverageIsAdvice(t *testing.T) {
	t.Run("one round is spent on it", func(t *testing.T) {
		w := newWorld(t)
		w.verdicts = []func() (loop.Verdict, error){says(uncovered()), says(uncovered())}
		w.proofs = []func() (loop.Verdict, error){says(uncovered())}
		s := w.drive(t)
		wants(t, s, loop.PhaseDone, "ready")
		if len(s.Rounds) != 2 || s.Rounds[1].Strategy != loop.StrategyCoverage {
			t.Errorf("%d rounds:\n%s", len(s.Rounds), story(s))
		}
		if s.Verdict.Class != feedback.ClassNone || s.Verdict.ClassRule != "" {
			t.Errorf("a green verdict is classed %s by %q", s.Verdict.Class, s.Verdict.ClassRule)
		}
		if st := s.Verdict.Stages[loop.StageCoverage]; !s.Verdict.Pass || st.Reason == "" || len(st.Errors) == 0 {
			t.Errorf("what is published does not say what it falls short of: %+v", st)
		}
	})
	t.Run("what comes of that round may be nothing", func(t *testing.T) {
		w := newWorld(t)
		w.verdicts = []func() (loop.Verdict, error){says(uncovered())}
		w.proofs = []func() (loop.Verdict, error){says(uncovered())}
		w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){edit("a.go"), codeEnd(loop.CodeGiveUp, "no idea")}
		s := w.drive(t)
		wants(t, s, loop.PhaseDone, "ready")
		if tree := w.git.objects[s.Final]; tree["a.go"] != "round 1" {
			t.Errorf("published %v, not the first round's work:\n%s", tree, story(s))
		}
	})
	t.Run("configured it is a gate", func(t *testing.T) {
		least := 60.0
		w := newWorld(t)
		w.configure(func(c *loop.Config) { c.Verify.CoverageThreshold = &least })
		w.verdicts = []func() (loop.Verdict, error){says(uncovered()), says(green())}
		w.proofs = []func() (loop.Verdict, error){says(uncovered()), says(green())}
		s := w.drive(t)
		wants(t, s, loop.PhaseDone, "ready")
		if len(s.Rounds) != 3 {
			t.Errorf("%d rounds:\n%s", len(s.Rounds), story(s))
		}
	})
}
