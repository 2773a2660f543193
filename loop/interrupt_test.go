package loop_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

func TestQuestionAndAnswer(t *testing.T) {
	w := newWorld(t)
	asks := func() (loop.Spec, *loop.Plan, error) {
		s := goodSpec()
		s.Questions = []loop.Question{{Text: "Metres or feet?"}}
		return s, nil, nil
	}
	w.specs = []func() (loop.Spec, *loop.Plan, error){asks, func() (loop.Spec, *loop.Plan, error) { return goodSpec(), nil, nil }}
	w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){codeEnd(loop.CodeAsk, "Round up?"), edit("a.go")}
	wants(t, w.drive(t), loop.PhaseClarifying, "Metres")
	if s := w.drive(t); s.Phase != loop.PhaseClarifying || s.Asked != 1 {
		t.Errorf("driving a run that waits: %s, asked %d", s.Phase, s.Asked)
	}
	w.signal(loop.SignalAnswer, "metres")
	wants(t, w.drive(t), loop.PhaseClarifying, "Round up")
	w.signal(loop.SignalAnswer, "yes")
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if got := w.requests[len(w.requests)-1].Answers; !slices.Equal(got, []string{"metres", "yes"}) {
		t.Errorf("answers %v", got)
	}
	if len(w.hub.notices) != 3 {
		t.Errorf("notices %v", slices.Sorted(maps.Keys(w.hub.notices)))
	}
}

func TestApprovals(t *testing.T) {
	t.Run("plan", func(t *testing.T) {
		w := newWorld(t)
		w.configure(func(c *loop.Config) { c.Autonomy = loop.AutonomyApprovePlan })
		wants(t, w.drive(t), loop.PhaseApproving, "approves plans")
		w.signal(loop.SignalApprove, "")
		wants(t, w.drive(t), loop.PhaseDone, "ready")
	})
	t.Run("change", func(t *testing.T) {
		w := newWorld(t)
		w.guards = []func() []loop.Finding{func() []loop.Finding {
			return []loop.Finding{{Rule: "migration", Severity: loop.SeverityApprove, File: "a.go", Message: "a migration"}}
		}}
		wants(t, w.drive(t), loop.PhaseApproving, "a migration")
		if len(w.pushes) != 0 {
			t.Error("pushed before the approval")
		}
		w.signal(loop.SignalApprove, "")
		wants(t, w.drive(t), loop.PhaseDone, "ready")
		w.signal(loop.SignalApprove, "")
	})
	secrets := func(t *testing.T) *world {
		w := newWorld(t)
		s := w.store.newest()
		s.Task.Issue.AuthorTrusted = false
		w.store.snapshots = nil
		w.store.put(s)
		w.git.branches["main"] = w.git.commit("", "first", map[string]string{".github/workflows/ci.yml": "env: ${{ secrets.KEY }}"})
		return w
	}
	t.Run("workflow with secrets", func(t *testing.T) {
		w := secrets(t)
		wants(t, w.drive(t), loop.PhaseApproving, "ci.yml")
		if len(w.pushes) != 0 {
			t.Error("pushed before the approval")
		}
		w.signal(loop.SignalApprove, "")
		wants(t, w.drive(t), loop.PhaseDone, "ready")
		w.pushed(t, 1)
	})
	t.Run("workflow with secrets, hand-over", func(t *testing.T) {
		w := secrets(t)
		w.verdicts = []func() (loop.Verdict, error){says(red("TestA"))}
		wants(t, w.drive(t), loop.PhaseEscalated, "Nothing was pushed")
		w.pushed(t, 0)
	})
	t.Run("asked for by the coder", func(t *testing.T) {
		w := newWorld(t)
		w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){codeEnd(loop.CodeApproval, "drop the table?"), edit("a.go")}
		wants(t, w.drive(t), loop.PhaseApproving, "drop the table")
		w.signal(loop.SignalApprove, "")
		wants(t, w.drive(t), loop.PhaseDone, "ready")
	})
	t.Run("stopped while waiting", func(t *testing.T) {
		w := newWorld(t)
		w.configure(func(c *loop.Config) { c.Autonomy = loop.AutonomyApprovePlan })
		w.drive(t)
		w.signal(loop.SignalStop, "")
		wants(t, w.drive(t), loop.PhaseStopped, "by mary")
	})
}

// TestStops: a command shows the best state as a draft, a label that is gone shows nothing more.
func TestStops(t *testing.T) {
	for _, c := range []struct {
		kind   loop.SignalKind
		pushes int
	}{{loop.SignalStop, 1}, {loop.SignalCancel, 0}} {
		for _, when := range []string{"second round", "clean room"} {
			t.Run(string(c.kind)+" in the "+when, func(t *testing.T) {
				w := newWorld(t)
				if when == "second round" {
					w.verdicts = []func() (loop.Verdict, error){says(red("TestA"))}
					w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){edit("a.go"), signalling(w, c.kind)}
				} else {
					w.proofs = []func() (loop.Verdict, error){func() (loop.Verdict, error) { w.signal(c.kind, "the label is gone"); return green(), nil }}
				}
				if when == "clean room" && c.kind == loop.SignalCancel {
					w.proofs = []func() (loop.Verdict, error){func() (loop.Verdict, error) {
						w.hub.standing = loop.Standing{Reason: "the label is gone"}
						return green(), nil
					}}
				}
				s := w.drive(t)
				if when == "clean room" && c.kind == loop.SignalStop {
					// It came to its end before the stop was heard, or a draft was made: either shows the state once.
					if w.hub.pulls != 1 {
						t.Errorf("%d pull requests", w.hub.pulls)
					}
					return
				}
				wants(t, s, loop.PhaseStopped, "")
				w.pushed(t, c.pushes)
				if c.pushes > 0 && !w.hub.pull.Draft {
					t.Error("the stopped run's pull request is no draft")
				}
			})
		}
	}
}

// signalling is a coder in whose round a signal comes; it is taken into account after the phase.
func signalling(w *world, kind loop.SignalKind) func(loop.CodeRequest) (loop.CodeResult, error) {
	return func(r loop.CodeRequest) (loop.CodeResult, error) {
		w.signal(kind, "the label is gone")
		return edit("a.go")(r)
	}
}

func TestLeaseLost(t *testing.T) {
	w := newWorld(t)
	w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){func(r loop.CodeRequest) (loop.CodeResult, error) {
		w.store.epoch++ // another worker has taken it
		return edit("a.go")(r)
	}}
	s := w.drive(t)
	if s.Phase != loop.PhaseCoding || len(w.pushes) != 0 {
		t.Errorf("the run is %s with %d pushes", s.Phase, len(w.pushes))
	}
}

// TestResume: a run whose rounds are used up says what to do, and goes on with what was added.
func TestResume(t *testing.T) {
	w := newWorld(t)
	w.configure(func(c *loop.Config) { c.Limits.Rounds = 1 })
	w.verdicts = []func() (loop.Verdict, error){says(red("TestA")), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseEscalated, "budget +2rounds")
	w.signal(loop.SignalResume, "")
	s = w.drive(t)
	wants(t, s, loop.PhaseEscalated, "budget +2rounds")
	if len(s.Rounds) != 1 || len(w.hub.notices) != 2 {
		t.Errorf("%d rounds, notices %v", len(s.Rounds), slices.Sorted(maps.Keys(w.hub.notices)))
	}
	_ = w.store.Signal(context.Background(), "r1", loop.Signal{Kind: loop.SignalBudget, More: loop.Limits{Rounds: 1}})
	w.signal(loop.SignalResume, "")
	s = w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if len(s.Rounds) != 2 || w.hub.pulls != 1 || w.hub.pull.Draft {
		t.Errorf("%d rounds, %d pull requests, %+v", len(s.Rounds), w.hub.pulls, w.hub.pull)
	}
}

func TestResumeThenStop(t *testing.T) {
	w := newWorld(t)
	w.verdicts = []func() (loop.Verdict, error){says(red("TestA"))}
	w.drive(t)
	calls := len(w.store.ledger)
	w.signal(loop.SignalResume, "")
	w.signal(loop.SignalStop, "")
	if s := w.drive(t); s.Phase != loop.PhaseEscalated || len(w.store.ledger) != calls {
		t.Errorf("the run went on although it was stopped: %s", story(s))
	}
}

// TestWallTime: time runs out in the middle of a phase; what is best is shown.
func TestWallTime(t *testing.T) {
	late := func(w *world) func() (loop.Verdict, error) {
		return func() (loop.Verdict, error) {
			w.clock.advance(26 * time.Minute) // the limit and a verification's share beyond it
			return loop.Verdict{}, context.Canceled
		}
	}
	drive := func(w *world) loop.Snapshot {
		e := w.engine()
		e.Verifier = waiting{fakeVerifier{w}}
		if err := e.Drive(context.Background(), "r1"); err != nil {
			t.Fatal(err)
		}
		return w.settled(t)
	}
	t.Run("the best round is shown", func(t *testing.T) {
		w := newWorld(t)
		w.verdicts = []func() (loop.Verdict, error){says(red("TestA")), late(w)}
		s := drive(w)
		wants(t, s, loop.PhaseEscalated, "wall-time")
		w.pushed(t, 1)
		if s.Final == "" || s.Rounds[s.Best].Number != 1 {
			t.Errorf("round %d is shown", s.Rounds[s.Best].Number)
		}
	})
	t.Run("a coder that took all the time has its candidate verified", func(t *testing.T) {
		w := newWorld(t)
		w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){func(r loop.CodeRequest) (loop.CodeResult, error) {
			w.clock.advance(19*time.Minute + 50*time.Second)
			return edit("a.go")(r)
		}}
		w.verdicts = []func() (loop.Verdict, error){func() (loop.Verdict, error) {
			w.clock.advance(2 * time.Minute)
			return green(), nil
		}}
		wants(t, drive(w), loop.PhaseDone, "ready")
	})
	t.Run("where nothing was verified, what the guard passed is shown", func(t *testing.T) {
		w := newWorld(t)
		w.verdicts = []func() (loop.Verdict, error){late(w)}
		s := drive(w)
		wants(t, s, loop.PhaseEscalated, "wall-time")
		w.pushed(t, 1)
		if !w.hub.pull.Draft || s.Verdict != nil {
			t.Errorf("draft %v, verdict %v", w.hub.pull.Draft, s.Verdict)
		}
		for _, n := range w.hub.notices {
			if !strings.Contains(n.Markdown, loop.UnverifiedText) {
				t.Errorf("the notice hides that nothing was verified:\n%s", n.Markdown)
			}
		}
	})
	t.Run("what the guard blocks is not", func(t *testing.T) {
		w := newWorld(t)
		w.verdicts = []func() (loop.Verdict, error){late(w)}
		w.guards = []func() []loop.Finding{func() []loop.Finding { return nil }, func() []loop.Finding { return blocked().Guard }}
		s := drive(w)
		wants(t, s, loop.PhaseEscalated, "wall-time")
		w.pushed(t, 0)
	})
	t.Run("an earlier run's state is not replaced by what was not verified", func(t *testing.T) {
		w := newWorld(t)
		from := w.git.commit(w.git.branches["main"], "before", map[string]string{"a.go": "earlier", "b.go": "old"})
		w.git.branches["autocode/3-x"] = from
		w.start(loop.Run{ID: "r1", TaskID: "t1", Number: 2, Trigger: loop.TriggerRetry, RequestedBy: "mary", From: from, Branch: "autocode/3-x"}, loop.Snapshot{})
		w.verdicts = []func() (loop.Verdict, error){late(w)}
		s := drive(w)
		wants(t, s, loop.PhaseEscalated, "wall-time")
		w.pushed(t, 0)
	})
}

// waiting is a verifier whose cancelled answers come once the context has really ended.
type waiting struct{ fakeVerifier }

func (v waiting) Verify(ctx context.Context, r loop.VerifyRequest) (loop.Outcome, error) {
	o, err := v.fakeVerifier.Verify(ctx, r)
	if errors.Is(err, context.Canceled) {
		<-ctx.Done()
	}
	return o, err
}
