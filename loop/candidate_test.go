package loop_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func verified(number int, m loop.Measure) loop.Candidate {
	return loop.Candidate{Number: number, Result: loop.ResultOK, Measure: &m}
}

func TestChoose(t *testing.T) {
	green := func(number, risk, complexity, lines int) loop.Candidate {
		return verified(number, loop.Measure{Green: true, Risk: risk, Complexity: complexity, Lines: lines})
	}
	red := func(number, regressions, failures int) loop.Candidate {
		return verified(number, loop.Measure{Regressions: regressions, Failures: failures, Lines: 1})
	}
	refused := loop.Candidate{Number: 3, Result: loop.ResultRefused, Detail: "the edits change nothing"}
	for _, test := range []struct {
		name       string
		candidates []loop.Candidate
		want       int
		why        string
	}{
		{"the green one, though it is larger", []loop.Candidate{red(1, 0, 1), green(2, 50, 9, 300)}, 1, "1 of 2 candidates was green; number 2 was chosen because it alone is green"},
		{"risk before complexity and size", []loop.Candidate{green(1, 1, 0, 1), green(2, 0, 5, 50)}, 1, "2 of 2 candidates were green; number 2 was chosen because it has the smallest risk (0 point(s) of risk against 1)"},
		{"complexity before size", []loop.Candidate{green(1, 0, 2, 1), green(2, 0, -1, 50), red(3, 0, 0)}, 1, "2 of 3 candidates were green; number 2 was chosen because it is the simplest (-1 more branches than before against 2)"},
		{"size", []loop.Candidate{green(1, 0, 0, 9), green(2, 0, 0, 4)}, 1, "because it is the smallest (4 changed line(s) against 9)"},
		{"the first of equals", []loop.Candidate{green(1, 0, 0, 4), green(2, 0, 0, 4)}, 0, "because it is the first of equals"},
		{"what decided is told against the next best", []loop.Candidate{green(1, 0, 0, 90), green(2, 0, 0, 4), green(3, 7, 0, 1)}, 1, "(4 changed line(s) against 90)"},
		{"none green: regressions first", []loop.Candidate{red(1, 1, 1), red(2, 0, 5)}, 1, "none of 2 candidates was green; number 2 goes on because it has the fewest regressions (0 regression(s) against 1)"},
		{"none green: then failures", []loop.Candidate{red(1, 0, 5), red(2, 0, 3)}, 1, "number 2 goes on because it has the fewest failures (3 failure(s) against 5)"},
		{"none green: what the guard blocks is last", []loop.Candidate{verified(1, loop.Measure{Blocked: true}), red(2, 3, 9)}, 1, "because the guard blocks the others"},
		{"one came through", []loop.Candidate{refused, green(1, 0, 0, 4)}, 1, "1 of 2 candidates was green; number 1 was chosen because no other came to the verification"},
		{"all the same", []loop.Candidate{green(1, 0, 0, 4), {Number: 2, Result: loop.ResultOK, Same: 1}}, 0, "the others made the same change"},
		{"the same and a refused one", []loop.Candidate{green(1, 0, 0, 4), {Number: 2, Result: loop.ResultOK, Same: 1}, refused}, 0, "number 2 made the same change and number 3 did not come"},
		{"none verified: a refused change says most", []loop.Candidate{
			{Number: 1, Result: loop.ResultGaveUp}, {Number: 2, Result: loop.ResultQuestion},
			{Number: 3, Result: loop.ResultRefused, Made: loop.Round{Commit: "c"}},
		}, 2, "none of 3 candidates could be verified"},
		{"none verified: a question before giving up", []loop.Candidate{{Number: 1, Result: loop.ResultGaveUp}, {Number: 2, Result: loop.ResultQuestion}}, 1, "none of 2"},
		{"only what could not be made", []loop.Candidate{{Number: 1, Result: loop.ResultLimit}}, -1, "none of 1"},
		{"nothing", nil, -1, "none of 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, why := loop.Choose(test.candidates)
			if got != test.want || !strings.Contains(why, test.why) {
				t.Errorf("chosen is %d: %s\nwant %d: %s", got, why, test.want, test.why)
			}
		})
	}
}

func TestCandidatesWanted(t *testing.T) {
	for _, test := range []struct {
		name       string
		kind       loop.Kind
		strategy   loop.Strategy
		configured int
		want       int
	}{
		{"a bug fix begins with one", loop.KindBug, loop.StrategyImplement, 0, 1},
		{"also where more are allowed", loop.KindBug, loop.StrategyImplement, 5, 1},
		{"a refactoring with three", loop.KindRefactor, loop.StrategyImplement, 0, 3},
		{"fewer where the configuration bounds it", loop.KindRefactor, loop.StrategyImplement, 2, 2},
		{"one where it says one", loop.KindRefactor, loop.StrategyImplement, 1, 1},
		{"more where it says more", loop.KindRefactor, loop.StrategyImplement, 5, 5},
		{"three after failed tests", loop.KindBug, loop.StrategyFixTests, 0, 3},
		{"three after a regression", loop.KindFeature, loop.StrategyRegression, 0, 3},
		{"three without progress", loop.KindBug, loop.StrategyRethink, 0, 3},
		{"a linter's finding has one answer", loop.KindRefactor, loop.StrategyFixLint, 0, 1},
		{"so has a review's", loop.KindRefactor, loop.StrategyReview, 5, 1},
		{"the environment is no matter of the source", loop.KindBug, loop.StrategyEnvironment, 0, 1},
		{"a follow-up says what to do", loop.KindRefactor, loop.StrategyFollowUp, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := loop.Snapshot{Strategy: test.strategy, Spec: &loop.Spec{Kind: test.kind}, Config: loop.Config{Candidates: test.configured}}
			if got := loop.CandidatesWanted(&s); got != test.want {
				t.Errorf("%d candidates, want %d", got, test.want)
			}
		})
	}
}

func TestCandidatesAffordable(t *testing.T) {
	limits := loop.Limits{Wall: 1e12, ModelCalls: 100, Tokens: 1_000_000, USD: 10, TaskTokens: 1e9, TaskUSD: 1e9, RepoDayTokens: 1e9, RepoDayUSD: 1e9}
	spent := loop.Spent{ModelCalls: 2, Tokens: 20_000, USD: 0.2}
	for _, test := range []struct {
		name   string
		change func(*loop.Limits, *loop.Spending)
		rounds []loop.Round
		want   int
	}{
		{"plenty", func(*loop.Limits, *loop.Spending) {}, nil, 3},
		{"calls for two and a round after", func(l *loop.Limits, _ *loop.Spending) { l.ModelCalls = 12 }, nil, 2},
		{"calls for one", func(l *loop.Limits, _ *loop.Spending) { l.ModelCalls = 5 }, nil, 1},
		{"tokens", func(l *loop.Limits, _ *loop.Spending) { l.Tokens = 120_000 }, nil, 2},
		{"money of the repository's day", func(l *loop.Limits, s *loop.Spending) { l.RepoDayUSD, s.RepoDay.USD = 30, 29.5 }, nil, 1},
		{"time", func(l *loop.Limits, _ *loop.Spending) { l.Wall = 100 }, []loop.Round{{Duration: 30}}, 2},
		{"a model that is free", func(l *loop.Limits, s *loop.Spending) { s.Run.USD = 0 }, nil, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, s := limits, loop.Spending{Run: spent, Task: spent, RepoDay: spent}
			test.change(&l, &s)
			if got := loop.Affordable(3, l, s, test.rounds); got != test.want {
				t.Errorf("%d candidates, want %d", got, test.want)
			}
		})
	}
}

func TestComplexity(t *testing.T) {
	line := func(op loop.DiffOp, text string) loop.DiffLine { return loop.DiffLine{Op: op, Text: text} }
	for _, test := range []struct {
		name, path string
		lines      []loop.DiffLine
		want       int
	}{
		{"a branch", "a.go", []loop.DiffLine{line("+", "if a && b {")}, 2},
		{"a branch less", "a.go", []loop.DiffLine{line("-", "for {"), line("-", "case 1:"), line("+", "return x")}, -2},
		{"context counts for nothing", "a.go", []loop.DiffLine{line(" ", "if a {")}, 0},
		{"words within words", "a.py", []loop.DiffLine{line("+", "notify(format, case_of(x), orders)")}, 0},
		{"Python's operators", "a.py", []loop.DiffLine{line("+", "elif a and not b or c:")}, 3},
		{"strings", "a.js", []loop.DiffLine{line("+", `say("if and only if", 'for', `+"`while`"+`)`)}, 0},
		{"comments", "a.py", []loop.DiffLine{line("+", "x = 1  # if so"), line("+", "# for now"), line("+", "y = 2 // if so")}, 0},
		{"tests", "pkg/a_test.go", []loop.DiffLine{line("+", "if a {")}, 0},
		{"tests in a folder", "tests/a.py", []loop.DiffLine{line("+", "if a:")}, 0},
		{"a name that only begins like tests", "attest/latest.py", []loop.DiffLine{line("+", "if a:")}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			diff := loop.Diff{Files: []loop.FileDiff{{Path: test.path, Lines: test.lines}}}
			if got := loop.Complexity(diff); got != test.want {
				t.Errorf("%d branches, want %d", got, test.want)
			}
		})
	}
}

// several makes a world in which each round after the first red one makes three candidates.
func several(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.configure(func(c *loop.Config) { c.Candidates = 0 })
	return w
}

// write is a coder that writes a text of its own into a.go.
func write(text string) func(loop.CodeRequest) (loop.CodeResult, error) {
	return func(r loop.CodeRequest) (loop.CodeResult, error) {
		r.Clone.(*fakeClone).work["a.go"] = text
		return loop.CodeResult{End: loop.CodeEdited, Files: []string{"a.go"}, RootCause: text + "."}, nil
	}
}

type coderScript = []func(loop.CodeRequest) (loop.CodeResult, error)

type verdictScript = []func() (loop.Verdict, error)

func TestSeveralCandidates(t *testing.T) {
	w := several(t)
	w.codes = coderScript{write("first"), write("left"), write("middle"), write("right")}
	w.verdicts = verdictScript{says(red("A", "B")), says(red("A")), says(green()), says(red("A", "B"))}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	w.once(t)
	if len(s.Rounds) != 2 || len(w.requests) != 4 || len(s.Candidates) != 0 {
		t.Fatalf("%d rounds, %d calls of the coder, %d candidates left", len(s.Rounds), len(w.requests), len(s.Candidates))
	}
	r := s.Rounds[1]
	if r.Candidate != 2 || !strings.Contains(r.Outcome(), "1 of 3 candidates was green; number 2 was chosen") || r.RootCause != "middle." {
		t.Errorf("candidate %d of cause %q: %s", r.Candidate, r.RootCause, r.Outcome())
	}
	if got := w.git.objects[s.Final]["a.go"]; got != "middle" {
		t.Errorf("%q was published", got)
	}
	seen := map[loop.Variation]bool{}
	for _, request := range w.requests[1:] {
		seen[request.Variation] = true
		if request.Round != 2 || request.Clone.Head() == s.Base {
			t.Errorf("a candidate of round %d begins from %.8s", request.Round, request.Clone.Head())
		}
	}
	if len(seen) != 3 {
		t.Errorf("the variations are %v", seen)
	}
	for i := range 3 {
		name := fmt.Sprintf("verify/round-2-candidate-%d.json", i+1)
		if _, there := w.store.artifacts[name]; !there {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestNoneOfSeveralIsGreen(t *testing.T) {
	w := several(t)
	w.codes = coderScript{write("first"), write("left"), write("middle"), write("right"), write("fourth")}
	w.verdicts = verdictScript{says(red("A", "B", "C")), says(red("!TestOld")), says(red("A")), says(red("A", "B")), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if len(s.Rounds) != 3 || s.Rounds[1].Candidate != 2 || s.Rounds[1].RolledBack {
		t.Errorf("the second round: %s", s.Rounds[1].Outcome())
	}
	if s.Rounds[2].Parent != s.Rounds[1].Commit {
		t.Error("the third round does not go on from the best of the second")
	}
}

func TestSeveralThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		codes coderScript
		phase loop.Phase
		rule  string
	}{
		{"a question is asked where no other has an answer", coderScript{write("first"), codeEnd(loop.CodeGiveUp, "too hard"), codeEnd(loop.CodeAsk, "Metres?"), codeEnd(loop.CodeStalled, "in circles")}, loop.PhaseClarifying, "question"},
		{"a question is not asked where another has an answer", coderScript{write("first"), codeEnd(loop.CodeAsk, "Metres?"), write("left"), codeEnd(loop.CodeGiveUp, "too hard")}, loop.PhaseDone, "candidate"},
		{"all give up", coderScript{write("first"), codeEnd(loop.CodeGiveUp, "too hard")}, loop.PhaseEscalated, "out-of-depth"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := several(t)
			w.codes = test.codes
			w.verdicts = verdictScript{says(red("A", "B")), says(green())}
			s := w.drive(t)
			if s.Phase != test.phase || !strings.Contains(strings.Join(rules(s), " "), test.rule) {
				t.Errorf("the run is %s:\n%s", s.Phase, story(s))
			}
		})
	}
}

// TestSameCandidates: what makes the same change is verified once.
func TestSameCandidates(t *testing.T) {
	w := several(t)
	w.codes = coderScript{write("first"), write("same")}
	verified := 0
	verdict := func(v loop.Verdict) func() (loop.Verdict, error) {
		return func() (loop.Verdict, error) { verified++; return v, nil }
	}
	w.verdicts = verdictScript{verdict(red("A")), verdict(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if verified != 2 || !strings.Contains(s.Rounds[1].Choice, "the others made the same change") {
		t.Errorf("%d verifications: %s", verified, s.Rounds[1].Choice)
	}
}

// TestCandidatesAreNotPaidTwice: trouble at any effect of a round of three loses at most the step in
// flight: a candidate that is finished is neither made nor verified again.
func TestCandidatesAreNotPaidTwice(t *testing.T) {
	const calls = 1 + 1 + 1 + 3 // spec, plan, first round, three candidates
	play := func(failAt int, late bool) (*world, loop.Snapshot) {
		w := several(t)
		w.failAt, w.late = failAt, late
		w.codes = coderScript{write("first"), write("left"), write("middle"), write("right")}
		w.verdicts = verdictScript{says(red("A", "B")), says(red("A")), says(green())}
		for range 3 {
			_ = w.engine().Drive(t.Context(), "r1")
		}
		return w, w.settled(t)
	}
	clean, _ := play(0, false)
	if len(clean.store.ledger) != calls {
		t.Fatalf("%d calls without trouble, want %d", len(clean.store.ledger), calls)
	}
	for at := 1; at <= clean.effects; at++ {
		for _, late := range []bool{false, true} {
			w, s := play(at, late)
			if s.Phase != loop.PhaseDone {
				t.Errorf("trouble at effect %d: the run is %s:\n%s", at, s.Phase, story(s))
			}
			if more := len(w.store.ledger) - calls; more > 1 {
				t.Errorf("trouble at effect %d, late %t: %d calls too many", at, late, more)
			}
		}
	}
}

// TestLimitAmongCandidates: a limit that is reached while candidates are made leaves those that are.
func TestLimitAmongCandidates(t *testing.T) {
	for _, test := range []struct {
		name       string
		calls      int
		candidates int
	}{{"fewer from the start", 10, 1}, {"two", 13, 2}, {"all", 40, 3}} {
		t.Run(test.name, func(t *testing.T) {
			w := several(t)
			w.configure(func(c *loop.Config) { c.Limits.ModelCalls = test.calls })
			w.codes = coderScript{write("first"), write("left"), write("middle"), write("right")}
			w.verdicts = verdictScript{says(red("A")), says(green())}
			s := w.drive(t)
			wants(t, s, loop.PhaseDone, "ready")
			if made := len(w.requests) - 1; made != test.candidates {
				t.Errorf("%d candidates, want %d", made, test.candidates)
			}
		})
	}
	t.Run("reached in between", func(t *testing.T) {
		w := several(t)
		w.configure(func(c *loop.Config) { c.Limits.Tokens = 2_000 })
		w.codes = coderScript{write("first"), write("left"), func(r loop.CodeRequest) (loop.CodeResult, error) {
			for {
				if err := w.ask(t.Context(), r.Model, loop.RoleCoder); err != nil {
					return loop.CodeResult{}, err
				}
			}
		}}
		w.verdicts = verdictScript{says(red("A")), says(green())}
		s := w.drive(t)
		wants(t, s, loop.PhaseDone, "ready")
		if s.Spent.Tokens > 2_000+100 || s.Rounds[1].Candidate != 1 || !strings.Contains(s.Rounds[1].Candidates[1].Outcome, "not made: the limit") {
			t.Errorf("%d tokens; %+v", s.Spent.Tokens, s.Rounds[1].Candidates)
		}
	})
}

// TestCandidatesSideBySide: with idle workers the candidates of a round are made and verified at the same
// time; without they are made one after another.
func TestCandidatesSideBySide(t *testing.T) {
	for workers, want := range []int{0: 1, 1: 1, 2: 2, 3: 3, 9: 3} {
		if want == 0 {
			continue
		}
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			w := several(t)
			// Each waits until as many are at work as can be.
			var arrived sync.WaitGroup
			arrived.Add(want)
			meet := func(next func(loop.CodeRequest) (loop.CodeResult, error), waits bool) func(loop.CodeRequest) (loop.CodeResult, error) {
				return func(r loop.CodeRequest) (loop.CodeResult, error) {
					if waits {
						arrived.Done()
						arrived.Wait()
					}
					return next(r)
				}
			}
			w.codes = coderScript{write("first"), meet(write("left"), true), meet(write("middle"), want > 1), meet(write("right"), want > 2)}
			w.verdicts = verdictScript{says(red("A", "B")), says(red("A")), says(green()), says(red("A", "B"))}
			e := w.engine()
			e.Settings.Workers = workers
			if err := e.Drive(t.Context(), "r1"); err != nil {
				t.Fatal(err)
			}
			s := w.settled(t)
			wants(t, s, loop.PhaseDone, "ready")
			if len(s.Rounds[1].Candidates) != 3 || s.Spent.ModelCalls != 6 {
				t.Errorf("%d candidates, %d calls", len(s.Rounds[1].Candidates), s.Spent.ModelCalls)
			}
		})
	}
}
