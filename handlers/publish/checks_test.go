package publish

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// failing is a verdict with n failures of a length.
func (w *world) failing(n, length int) loop.Verdict {
	v := w.verdict(false)
	unit := v.Stages[loop.StageUnit]
	tests := *unit.Tests
	tests.Failed, tests.Failures = nil, nil
	for i := range n {
		id := fmt.Sprintf("pkg/Test%04d", i)
		tests.Failed = append(tests.Failed, id)
		tests.Failures = append(tests.Failures, loop.Failure{ID: id, File: "fix.txt", Line: i, Message: strings.Repeat("m", length)})
	}
	unit.Tests = &tests
	v.Stages[loop.StageUnit] = unit
	return v
}

func TestAnnotationsInBatches(t *testing.T) {
	for _, n := range []int{0, 50, 51, 120} {
		w := newWorldOver(t, conforming(t))
		s := w.finished(false)
		w.must(w.StartCheck(w.ctx, s, w.head))
		w.must(w.FinishChecks(w.ctx, s, w.failing(n, 300)))
		for _, name := range []string{"autocode", "autocode / unit"} {
			if got := len(w.check(name).Annotations); got != n {
				t.Errorf("%s has %d annotations, want %d", name, got, n)
			}
		}
	}
}

// TestBatchesGoOn: the connection breaks between two batches; none is lost and none is there twice.
func TestBatchesGoOn(t *testing.T) {
	for _, drop := range []githubtest.Drop{githubtest.DropBefore, githubtest.DropAfter} {
		for skip := range 5 {
			w := newWorld(t)
			s, v := w.finished(false), w.failing(120, 50)
			w.must(w.StartCheck(w.ctx, s, w.head))
			w.Fault(githubtest.Fault{Route: "PATCH /repos/{owner}/{repo}/check-runs/{id}", Drop: drop, Skip: skip})
			for err := w.FinishChecks(w.ctx, s, v); err != nil; err = w.FinishChecks(w.ctx, s, v) {
				if skip%2 == 0 {
					w.restart(nil)
				}
			}
			w.must(w.FinishChecks(w.ctx, s, v)) // once more does nothing
			for _, name := range []string{"autocode", "autocode / unit"} {
				if got := len(w.check(name).Annotations); got != 120 {
					t.Errorf("%s, skip %d: %s has %d annotations", drop, skip, name, got)
				}
			}
		}
	}
}

// TestHugeVerdict: every limit holds, and verify.json stays valid JSON.
func TestHugeVerdict(t *testing.T) {
	w := newWorld(t)
	s := w.finished(false)
	v := w.failing(2000, 2000)
	w.must(w.FinishChecks(w.ctx, s, v))
	k := w.check("autocode")
	for what, text := range map[string]string{"summary": k.Summary, "text": k.Text} {
		if n := utf8.RuneCountInString(text); n > maxOutput || n == 0 {
			t.Errorf("%s has %d characters", what, n)
		}
	}
	_, rest, _ := strings.Cut(k.Text, "json\n")
	text, _, _ := strings.Cut(rest, "\n```")
	var back loop.Verdict
	if err := json.Unmarshal([]byte(text), &back); err != nil || back.Schema != loop.VerdictSchema {
		t.Errorf("verify.json: %v, %q", err, text[:min(len(text), 200)])
	}
}

// TestStrangeFailures: nothing that a tool prints makes GitHub refuse the check run.
func TestStrangeFailures(t *testing.T) {
	w := newWorldOver(t, conforming(t))
	v := w.verdict(false)
	unit := v.Stages[loop.StageUnit]
	unit.Tests.Failures = []loop.Failure{
		{}, {File: "/abs/path.go", Line: 3, Message: "x"}, {File: "a.go", Line: -4, Message: "\x00\x1b[31m"}, {File: "a.go", Line: 1 << 30, Message: strings.Repeat("日", 100_000)},
		{ID: strings.Repeat("i", 5000), File: "a.go", Message: "x"}, {File: "a\nb", Message: "x"}, {ID: "x", File: "b.go", Message: "```\n@org/team\n<img src=x>"},
	}
	v.Stages[loop.StageUnit] = unit
	w.must(w.FinishChecks(w.ctx, w.finished(false), v))
	if k := w.check("autocode / unit"); len(k.Annotations) != 4 || strings.Contains(k.Summary, "\n@org/team\n<img") && !strings.Contains(k.Summary, "````") {
		t.Errorf("%d annotations, %s", len(k.Annotations), k.Summary)
	}
}

func TestConclusions(t *testing.T) {
	green, red, slow := loop.Verdict{Pass: true}, loop.Verdict{}, loop.Verdict{Class: feedback.ClassTimeout}
	for name, c := range map[string]struct {
		phase, ending loop.Phase
		verdict       loop.Verdict
		want          string
	}{
		"green": {loop.PhasePublishing, "", green, "success"}, "red": {loop.PhasePublishing, "", red, "failure"}, "timed out": {loop.PhasePublishing, "", slow, "timed_out"},
		"approval": {loop.PhaseApproving, "", green, "action_required"}, "handed over": {loop.PhasePublishing, loop.PhaseEscalated, green, "failure"},
		"stopped": {loop.PhasePublishing, loop.PhaseStopped, green, "cancelled"},
	} {
		if got := Conclusion(loop.Snapshot{Phase: c.phase, Ending: c.ending}, c.verdict); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSettle: what a crash left in progress is completed as failure, by its own kind where it was
// stopped, and what belongs to others is left alone.
func TestSettle(t *testing.T) {
	for phase, want := range map[loop.Phase]string{loop.PhaseFailed: "failure", loop.PhaseStopped: "cancelled", loop.PhaseEscalated: "failure"} {
		w := newWorld(t)
		s := w.finished(false)
		w.must(w.StartCheck(w.ctx, s, w.head))
		other := s
		other.Run.ID = "r2"
		w.must(w.StartCheck(w.ctx, other, w.head))
		name, status := "autocode", "in_progress"
		_, err := w.OtherApp("some-ci").CreateCheckRun(testRepo, githubtest.CheckRunInput{Name: &name, HeadSHA: w.head, Status: &status})
		w.must(err)
		w.restart(nil) // the process died
		s.Phase = phase
		w.must(w.SettleChecks(w.ctx, s, "the model cannot be had, @org/team"))
		w.must(w.SettleChecks(w.ctx, s, "again"))
		var settled []githubtest.CheckRun
		for _, k := range w.CheckRuns(testRepo, w.head) {
			if k.Status == "completed" {
				settled = append(settled, k)
			}
		}
		if len(settled) != 1 || settled[0].Conclusion != want || settled[0].ExternalID != "r1/1/autocode" || strings.Contains(settled[0].Summary, "@org") {
			t.Errorf("%s: %+v", phase, settled)
		}
		if len(settled) == 1 && len(settled[0].Actions) == 0 {
			t.Error("no button")
		}
	}
}

// TestButtonsOfCheckRuns: Retry always, Approve where something waits.
func TestButtonsOfCheckRuns(t *testing.T) {
	for phase, want := range map[loop.Phase]int{loop.PhasePublishing: 1, loop.PhaseApproving: 2} {
		w := newWorldOver(t, conforming(t))
		s := w.finished(true)
		s.Phase = phase
		w.must(w.FinishChecks(w.ctx, s, *s.Verdict))
		if k := w.check("autocode"); len(k.Actions) != want || k.DetailsURL != "https://panel.example/runs/r1" {
			t.Errorf("%s: %+v", phase, k)
		}
	}
}

// TestNoPermission: a refusal that stays one is told as such, with the remedy.
func TestNoPermission(t *testing.T) {
	w := newWorld(t)
	w.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/check-runs", Status: http.StatusForbidden, Message: "Resource not accessible by integration", Times: -1})
	err := w.StartCheck(w.ctx, w.finished(true), w.head)
	if err == nil || !strings.Contains(err.Error(), "permissions") {
		t.Errorf("error %v", err)
	}
}
