package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

func TestHappyPath(t *testing.T) {
	w := newWorld(t)
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	w.once(t)
	want := []string{"picked-up", "prepared", "specified", "planned", "candidate", "green", "published"}
	if got := rules(s); !slices.Equal(got, want) {
		t.Errorf("rules %v, want %v", got, want)
	}
	if s.Spent.ModelCalls != 3 || s.Spent.Tokens != 300 || len(w.store.ledger) != 3 {
		t.Errorf("spent %+v", s.Spent)
	}
	if s.Run.Branch != "autocode/3-it-is-broken" || w.git.branches[s.Run.Branch] != s.Final || w.git.parents[s.Final] != s.Base {
		t.Errorf("branch %s at %s, final %s", s.Run.Branch, w.git.branches[s.Run.Branch], s.Final)
	}
}

// TestTroubleAtEachEffect fails each effect of a run once, before or after it was had, and drives again:
// there is exactly one of each in the end, and no phase that cost anything is done twice but the one in flight.
func TestTroubleAtEachEffect(t *testing.T) {
	plain := newWorld(t)
	plain.drive(t)
	for _, late := range []bool{false, true} {
		for at := 1; at <= plain.effects; at++ {
			t.Run(fmt.Sprintf("%d,late=%v", at, late), func(t *testing.T) {
				w := newWorld(t)
				w.failAt, w.late = at, late
				for try := 0; try < 3 && !w.store.newest().Phase.Ended(); try++ {
					err := w.engine().Drive(context.Background(), "r1")
					if err != nil && !errors.Is(err, errInjected) && !strings.Contains(err.Error(), "want") {
						t.Fatal(err)
					}
				}
				s := w.settled(t)
				wants(t, s, loop.PhaseDone, "ready")
				w.once(t)
				if calls := len(w.store.ledger); calls > 4 {
					t.Errorf("%d model calls, want at most one more than 3", calls)
				}
				if len(w.git.branches) != 2 {
					t.Errorf("branches %v", w.git.branches)
				}
			})
		}
	}
}

// TestTroubleIsGivenUp: a step that never succeeds ends the run after a bounded number of attempts,
// with growing distance, and a person can resume it.
func TestTroubleIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.failing["start-check"] = errInjected
	attempts := 0
	for !w.store.newest().Phase.Ended() {
		if attempts++; attempts > 100 {
			t.Fatal("it is tried for ever")
		}
		_ = w.engine().Drive(context.Background(), "r1")
	}
	s := w.settled(t)
	wants(t, s, loop.PhaseFailed, "GitHub answered 500")
	if !slices.IsSorted(w.store.released) || w.store.released[0] <= 0 {
		t.Errorf("distances %v", w.store.released)
	}
	delete(w.failing, "start-check")
	w.signal(loop.SignalResume, "")
	wants(t, w.drive(t), loop.PhaseDone, "ready")
}

func TestEnds(t *testing.T) {
	down := func(fault loop.ModelFault) func(*world) {
		return func(w *world) {
			w.model = func() (loop.ModelReply, error) {
				return loop.ModelReply{}, &loop.ModelError{Fault: fault, Model: "m", Err: errors.New("because")}
			}
		}
	}
	for _, c := range []struct {
		name   string
		set    func(*world)
		phase  loop.Phase
		text   string
		pushed bool
		draft  bool
	}{
		{"model unreachable", down(loop.ModelUnreachable), loop.PhaseEscalated, "unreachable: because", false, false},
		{"model unauthorised", down(loop.ModelUnauthorised), loop.PhaseEscalated, "unauthorised", false, false},
		{"model rate-limited", down(loop.ModelRateLimited), loop.PhaseEscalated, "rate-limited", false, false},
		{"model broken", down(loop.ModelBroken), loop.PhaseEscalated, "broken", false, false},
		{"model rejected", down(loop.ModelRejected), loop.PhaseEscalated, "rejected", false, false},
		{"model malformed", down(loop.ModelMalformed), loop.PhaseEscalated, "malformed", false, false},
		{"model refused", down(loop.ModelRefused), loop.PhaseEscalated, "refused", false, false},
		{"model overflow", down(loop.ModelOverflow), loop.PhaseEscalated, "overflow", false, false},
		{"no commits", func(w *world) { w.git.openErr = loop.ErrEmptyRepository }, loop.PhaseEscalated, "no commits", false, false},
		{"no access", func(w *world) { w.git.openErr = loop.ErrNoAccess }, loop.PhaseFailed, "refuses access", false, false},
		{"archived", func(w *world) { w.hub.standing.Archived = true }, loop.PhaseFailed, "archived", false, false},
		{"no longer wanted", func(w *world) { w.hub.standing = loop.Standing{Reason: "the label is gone"} }, loop.PhaseStopped, "label is gone", false, false},
		{"no sandbox", func(w *world) { w.setupErr = noSandbox{} }, loop.PhaseEscalated, "no bubblewrap", false, false},
		{"red for ever", func(w *world) {
			n := 0
			w.verdicts = []func() (loop.Verdict, error){func() (loop.Verdict, error) { n++; return red(fmt.Sprintf("Test%c", 'A'+n)), nil }}
		}, loop.PhaseEscalated, "no progress", true, true},
		{"same failure twice", func(w *world) { w.verdicts = []func() (loop.Verdict, error){says(red("TestA"))} }, loop.PhaseEscalated, "stronger model", true, true},
		{"never proved", func(w *world) { w.proofs = []func() (loop.Verdict, error){says(unproved())} }, loop.PhaseEscalated, "AC1", true, true},
		{"guard always blocks", func(w *world) {
			w.guards = []func() []loop.Finding{func() []loop.Finding {
				return []loop.Finding{{Rule: "secret", Severity: loop.SeverityBlock, File: "a.go", Message: "a key"}}
			}}
		}, loop.PhaseEscalated, "a key", false, false},
		{"coder gives up", func(w *world) {
			w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){codeEnd(loop.CodeGiveUp, "too hard")}
		}, loop.PhaseEscalated, "too hard", false, false},
		{"coder stalls", func(w *world) {
			w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){codeEnd(loop.CodeStalled, "in circles")}
		}, loop.PhaseEscalated, "in circles", false, false},
		{"coder says an unknown word", func(w *world) {
			w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){codeEnd("whatever", "")}
		}, loop.PhaseFailed, "whatever", false, false},
		{"panic", func(w *world) {
			w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){func(loop.CodeRequest) (loop.CodeResult, error) { panic("ouch") }}
		}, loop.PhaseFailed, "ouch", false, false},
		{"nothing to do", func(w *world) {
			w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){codeEnd(loop.CodeNothing, "it is so already")}
		}, loop.PhaseDone, "it is so already", false, false},
		{"nothing to do, says the planner", func(w *world) {
			w.specs = []func() (loop.Spec, *loop.Plan, error){func() (loop.Spec, *loop.Plan, error) {
				s := goodSpec()
				s.NothingToDo = "it works since March"
				return s, nil, nil
			}}
		}, loop.PhaseDone, "since March", false, false},
		{"task budget", func(w *world) { w.store.earlier.USD = 100 }, loop.PhaseEscalated, "task-usd", false, false},
		{"plan only", func(w *world) { w.configure(func(c *loop.Config) { c.Autonomy = loop.AutonomyPlan }) }, loop.PhaseDone, "plans only", false, false},
		{"critic content", func(w *world) { w.configure(func(c *loop.Config) { c.Critic = true }) }, loop.PhaseDone, "ready", true, false},
		{"critic of no use", func(w *world) {
			w.configure(func(c *loop.Config) { c.Critic = true })
			w.reviews = []func() (loop.Review, error){func() (loop.Review, error) {
				return loop.Review{}, &loop.ModelError{Fault: loop.ModelMalformed, Model: "m", Err: errors.New("no JSON")}
			}}
		}, loop.PhaseDone, "ready", true, false},
		{"critic never content", func(w *world) {
			w.configure(func(c *loop.Config) { c.Critic = true })
			w.reviews = []func() (loop.Review, error){func() (loop.Review, error) {
				return loop.Review{Findings: []loop.ReviewFinding{{Blocking: true, File: "a.go", Line: 1, Message: "racy"}}}, nil
			}}
		}, loop.PhaseEscalated, "racy", true, true},
		{"base without a toolchain", func(w *world) {
			w.base = loop.Verdict{Class: "environment", Stages: map[loop.StageName]loop.Stage{loop.StageEnvironment: {Reason: "no cargo here"}}}
		}, loop.PhaseEscalated, "no cargo here", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.set(w)
			s := w.drive(t)
			wants(t, s, c.phase, c.text)
			if pushed := len(w.pushes) > 0; pushed != c.pushed {
				t.Errorf("pushed is %v:\n%s", pushed, story(s))
			}
			if c.pushed && w.hub.pull.Draft != c.draft {
				t.Errorf("draft is %v:\n%s", w.hub.pull.Draft, story(s))
			}
			if w.hub.last.Phase != c.phase {
				t.Errorf("the progress comment shows %s", w.hub.last.Phase)
			}
			if c.phase != loop.PhaseStopped && len(w.hub.notices) != 1 {
				t.Errorf("%d notices", len(w.hub.notices))
			}
			for commit, state := range w.hub.checks {
				if state == "in progress" {
					t.Errorf("the check run of %.8s is left open", commit)
				}
			}
		})
	}
}

type noSandbox struct{}

func (noSandbox) Error() string { return "no bubblewrap here" }

func (noSandbox) Unavailable() bool { return true }

func TestRegressionIsUndone(t *testing.T) {
	w := newWorld(t)
	w.verdicts = []func() (loop.Verdict, error){says(red("!TestOld")), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if !s.Rounds[0].RolledBack || s.Rounds[1].Parent != s.Base {
		t.Errorf("rounds %+v", s.Rounds)
	}
	second := w.requests[1]
	if second.Kept {
		t.Error("the coder was told that an undone change is there")
	}
	if second.Strategy != loop.StrategyRegression || !strings.Contains(second.UndonePatch, "round 1") || len(second.Verdict.Regressions()) != 1 {
		t.Errorf("the coder was told %s, %q, %v", second.Strategy, second.UndonePatch, second.Verdict)
	}
}

// TestRedIsKept: a round that breaks nothing stays, and the next one is told so.
func TestRedIsKept(t *testing.T) {
	w := newWorld(t)
	w.verdicts = []func() (loop.Verdict, error){says(red("TestNew")), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	first, second := w.requests[0], w.requests[1]
	if first.Kept || !second.Kept || second.UndonePatch != "" || second.Verdict.Head != s.Rounds[0].Commit || s.Rounds[1].Parent != s.Rounds[0].Commit {
		t.Errorf("first kept %v, second kept %v, undone %q, verdict of %.8s", first.Kept, second.Kept, second.UndonePatch, second.Verdict.Head)
	}
}

func TestUndeclaredFilesAreLeftOut(t *testing.T) {
	w := newWorld(t)
	w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){edit("a.go", "cache.bin")}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if tree := w.git.objects[s.Final]; tree["cache.bin"] != "" || tree["a.go"] != "round 1" {
		t.Errorf("pushed %v", tree)
	}
}

func TestGuardBlockIsAnswered(t *testing.T) {
	w := newWorld(t)
	block := func() []loop.Finding {
		return []loop.Finding{{Rule: "test-deleted", Severity: loop.SeverityBlock, File: "a_test.go", Message: "a test is gone"}}
	}
	w.guards = []func() []loop.Finding{block, func() []loop.Finding { return nil }}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if second := w.requests[1]; second.Kept || second.Refused != "" || !strings.Contains(second.UndonePatch, "round 1") {
		t.Errorf("the coder was told kept %v, refused %q, undone %q", second.Kept, second.Refused, second.UndonePatch)
	}
	if !s.Rounds[0].RolledBack || w.requests[1].Strategy != loop.StrategyGuard || len(w.requests[1].Findings) != 1 {
		t.Errorf("%s\n%+v", story(s), w.requests[1].Findings)
	}
}

func TestBrokenConfiguration(t *testing.T) {
	w := newWorld(t)
	w.git.branches["main"] = w.git.commit("", "first", map[string]string{loop.ConfigPath: "budget:\n  rounds: many\nsetupp: []\n"})
	s := w.drive(t)
	wants(t, s, loop.PhaseEscalated, ".github/autocode.yml:2:")
	if !strings.Contains(s.Ended, "setupp") {
		t.Errorf("not all faults are told: %s", s.Ended)
	}
	// Mended on the default branch, the run goes on.
	w.git.branches["main"] = w.git.commit(w.git.branches["main"], "mended", map[string]string{loop.ConfigPath: "budget:\n  rounds: 2\n", "a.go": "old"})
	w.signal(loop.SignalResume, "")
	s = w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if s.Config.Limits.Rounds != 2 {
		t.Errorf("rounds %d", s.Config.Limits.Rounds)
	}
}

func TestEnvironmentIsRebuiltOnce(t *testing.T) {
	broken := loop.Verdict{Class: "environment", Stages: map[loop.StageName]loop.Stage{loop.StageEnvironment: {Reason: "registry answers 503"}}}
	w := newWorld(t)
	w.verdicts = []func() (loop.Verdict, error){says(broken), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if len(s.Rounds) != 1 || !slices.Contains(rules(s), "environment-broken") {
		t.Errorf("%d rounds:\n%s", len(s.Rounds), story(s))
	}
}

// TestHandOverHelps: the report of a hand-over says what was tried, what is known and still red, and
// what the person could do about the way in which it failed.
func TestHandOverHelps(t *testing.T) {
	edited := func(r loop.CodeRequest) (loop.CodeResult, error) {
		r.Clone.(*fakeClone).work["a.go"] += "x"
		return loop.CodeResult{End: loop.CodeEdited, RootCause: "The sum starts at 1. It should not.", Files: []string{"a.go"}}, nil
	}
	idle := func(loop.CodeRequest) (loop.CodeResult, error) {
		return loop.CodeResult{End: loop.CodeGiveUp, Message: "too hard"}, nil
	}
	lacking := red("A")
	lacking.Class = feedback.ClassEnvironment
	for name, c := range map[string]struct {
		code    func(loop.CodeRequest) (loop.CodeResult, error)
		verdict loop.Verdict
		says    []string
	}{
		"red":         {edited, red("A"), []string{"What was tried:\n\n1. The sum starts at 1.", "What is known:\n\n- the change of round", "in `a.go`", "What is still red:", "Say what `A` should really expect"}},
		"environment": {edited, lacking, []string{"name what it lacks under `setup`"}},
		"no edit":     {idle, red("A"), []string{"name the file or the function where it belongs"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for range 9 {
				w.codes = append(w.codes, c.code)
				w.verdicts = append(w.verdicts, says(c.verdict))
			}
			s := w.drive(t)
			if s.Phase != loop.PhaseEscalated {
				t.Fatalf("it ended as %s: %s", s.Phase, s.Ended)
			}
			var told string
			for _, n := range w.hub.notices {
				if n.Kind == loop.NoticeHandOver {
					told = n.Markdown
				}
			}
			for _, want := range append(c.says, "What to try next:", "/autocode resume") {
				if !strings.Contains(told, want) {
					t.Errorf("it does not say %q:\n%s", want, told)
				}
			}
		})
	}
}
