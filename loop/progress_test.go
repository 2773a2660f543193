package loop_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-7a986423/autocode/loop"
)

func TestStalled(t *testing.T) {
	r := func(tests ...string) loop.Round { return round("c", red(tests...)) }
	other := func(message string) loop.Round {
		v := red("A")
		v.Stages[loop.StageUnit].Tests.Failures[0].Message = message
		return round("c", v)
	}
	for _, c := range []struct {
		name   string
		rounds []loop.Round
		reason string // "" : it goes on
	}{
		{"none", nil, ""},
		{"one", []loop.Round{r("A")}, ""},
		{"the same twice", []loop.Round{r("A", "B"), r("B", "A")}, "the same failures"},
		{"the same, other numbers", []loop.Round{other("got 4 after 1.5s at 0x3f"), other("got 17 after 2ms at 0xaa")}, "the same failures"},
		{"the same test, another failure", []loop.Round{other("got 4"), other("nil pointer")}, ""},
		{"one less", []loop.Round{r("A", "B"), r("A")}, ""},
		{"the same with one between", []loop.Round{r("A"), r("B", "C"), r("A")}, "no fewer failures in 2 rounds (1, then 1)"},
		{"more and more", []loop.Round{r("A"), r("A", "B"), r("A", "B", "C")}, "no fewer failures in 2 rounds (1, then 3)"},
		{"better, then worse", []loop.Round{r("A", "B", "C"), r("A"), r("A", "B")}, ""},
		{"refusals between do not count", []loop.Round{r("A"), refused("x"), r("A")}, "the same failures"},
		{"unproved twice", []loop.Round{round("c", unproved()), round("c", unproved())}, "the same failures"},
		{"one build error each, elsewhere", []loop.Round{round("c", stageRed(loop.StageCompile)), round("c", stageRed(loop.StageLint))}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reason, stalled := loop.Stalled(c.rounds)
			if stalled != (c.reason != "") || !strings.HasPrefix(reason, c.reason) {
				t.Errorf("stalled %v: %q, want %q", stalled, reason, c.reason)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	if f := loop.Fingerprint(green()); f != "" {
		t.Errorf("a green verdict has the fingerprint %q", f)
	}
	v := red("A")
	v.Stages[loop.StageUnit].Tests.Failures[0].Message = strings.Repeat("ü", 1000)
	if f := loop.Fingerprint(v); !utf8.ValidString(f) || len(f) > 500 {
		t.Errorf("%d bytes, valid: %v", len(f), utf8.ValidString(f))
	}
	moved := red("A")
	moved.Stages[loop.StageUnit].Tests.Failures[0].Line = 4
	if loop.Fingerprint(red("A")) == loop.Fingerprint(moved) {
		t.Error("another place is the same failure")
	}
}

func TestBest(t *testing.T) {
	none := loop.Round{Parent: "base"}
	unverified := loop.Round{Parent: "base", Commit: "c"}
	for _, c := range []struct {
		name   string
		rounds []loop.Round
		want   int
	}{
		{"none", nil, -1},
		{"nothing to show", []loop.Round{none, {Parent: "base", Commit: "c", Refused: "conflict markers"}, {Parent: "base", Commit: "c", Superseded: true}, round("c", blocked())}, -1},
		{"not verified, where nothing else is", []loop.Round{none, unverified}, 1},
		{"verified before not verified", []loop.Round{round("c", red("!A", "!B")), unverified}, 0},
		{"green before red", []loop.Round{round("c", green()), round("c", red("A"))}, 0},
		{"fewer failures", []loop.Round{round("c", red("A", "B")), round("c", red("A")), round("c", red("A", "B", "C"))}, 1},
		{"of equals the later", []loop.Round{round("c", red("A")), round("c", red("B"))}, 1},
		{"a regression is worse than failures", []loop.Round{round("c", red("A", "B", "C")), round("c", red("!A"))}, 0},
		{"a regression where nothing else is", []loop.Round{round("c", red("!A", "!B")), round("c", red("!A"))}, 1},
		{"blocked is not to be shown", []loop.Round{round("c", red("A")), round("c", blocked())}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := loop.Best(c.rounds); got != c.want {
				t.Errorf("the best is %d, want %d", got, c.want)
			}
		})
	}
}

// TestRoundOutcome: a line says what refused or failed, where, whether it was undone, and what was proved.
func TestRoundOutcome(t *testing.T) {
	undone := func(r loop.Round) loop.Round { r.RolledBack = true; return r }
	withHooks := round("c", red("A"))
	withHooks.Hooks = map[string]loop.CaseStatus{"AC2": loop.CaseFailed, "AC1": loop.CasePassed, "AC3": loop.CaseSkipped}
	guarded := red("A")
	guarded.Guard = blocked().Guard
	guarded.Acceptance = nil
	onlyGuard := blocked()
	onlyGuard.Acceptance = nil
	for _, c := range []struct {
		name  string
		round loop.Round
		want  string
	}{
		{"refused before verification", loop.Round{Refused: "secret: a key (a.go:3)", Commit: "c", RolledBack: true}, "refused: secret: a key (a.go:3) (undone)"},
		{"no candidate", loop.Round{End: loop.CodeGiveUp, Message: "Too hard. Really."}, "no candidate: Too hard."},
		{"no candidate, no word", loop.Round{End: loop.CodeStalled}, "no candidate: stalled"},
		{"not verified", loop.Round{Commit: "c"}, "not verified"},
		{"green and proved", round("c", green()), "green; AC1 proved (red-green)"},
		{"not proved", round("c", unproved()), "green, but not proved; AC1 unproved"},
		{"red, tests of criteria", withHooks, "red, 1 failure(s): A: A failed; AC1's test passes, AC2's test fails, AC3's test is skipped"},
		{"a regression", undone(round("c", red("!A", "B"))), "red, 2 failure(s): A: A failed (undone)"},
		{"the guard", undone(round("c", onlyGuard)), "the guard refused it: test-deleted: a test is gone (a_test.go:3) (undone)"},
		{"the guard, and red", round("c", guarded), "the guard refused it: test-deleted: a test is gone (a_test.go:3); 1 failure(s) besides"},
		{"a stage without failures", round("c", stageRed(loop.StageLint)), "lint is red: exit code 1"},
	} {
		if got := c.round.Outcome(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBranchName(t *testing.T) {
	for title, want := range map[string]string{
		"It is broken":                  "autocode/3-it-is-broken",
		"":                              "autocode/3",
		"  ../../etc  ":                 "autocode/3-etc",
		"Größe; rm -rf $(x) `y` @{0}":   "autocode/3-gr-e-rm-rf-x-y-0",
		"\u3000日本語\u202e":               "autocode/3",
		"refs/heads/main.lock":          "autocode/3-refs-heads-main-lock",
		"-x":                            "autocode/3-x",
		strings.Repeat("a", 70):         "autocode/3-" + strings.Repeat("a", 60),
		strings.Repeat("a", 59) + " bc": "autocode/3-" + strings.Repeat("a", 59),
	} {
		if got := loop.BranchName("autocode", loop.Issue{Number: 3, Title: title}); got != want {
			t.Errorf("%q: %s, want %s", title, got, want)
		}
	}
	if got := loop.BranchName("autocode", loop.Issue{}); got != "autocode/change" {
		t.Errorf("without anything: %s", got)
	}
}

// TestFinalMessage: the message says what the pushed commit is, of the round that it holds, and
// calls nobody, closes nothing else and switches no checks off.
func TestFinalMessage(t *testing.T) {
	spec := goodSpec()
	s := loop.Snapshot{Spec: &spec, Head: "c1", Task: loop.Task{Issue: loop.Issue{Number: 3, Title: "Fails [skip ci] for @olga, closes #9\nSigned-off-by: x"}}}
	s.Rounds = []loop.Round{
		{Number: 1, Commit: "c1", RootCause: "The first cause.\n\nCo-authored-by: y <y@example.org>"},
		{Number: 2, Commit: "c2", RootCause: "The second cause."},
	}
	want := "fix: Fails (skip ci) for olga, closes 9 Signed-off-by: x\n\nThe first cause. Co-authored-by: y <yexample.org>\n\nFixes #3\n"
	if got := loop.FinalMessage(s); got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
	for cause, says := range map[string]string{
		"It is [skip\n ci] so.": "It is (skip ci) so.", "[skip [skip ci]ci]": "[skip (skip ci)ci]", "skip-checks: true": "skip-checks - true",
		"Co-authored-by: A <a@b.example>": "Co-authored-by - A <ab.example>", "The cause: a bound": "The cause: a bound",
	} {
		s.Rounds[0].RootCause = cause
		if got := loop.FinalMessage(s); !strings.Contains(got, "\n\n"+says+"\n") {
			t.Errorf("%q became\n%s", cause, got)
		}
	}
	s.Head = "c2"
	if got := loop.FinalMessage(s); !strings.Contains(got, "The second cause.") {
		t.Errorf("message\n%s", got)
	}
	s.Spec, s.Rounds, s.Task.Issue = nil, nil, loop.Issue{}
	if got := loop.FinalMessage(s); got != "fix: a change\n" {
		t.Errorf("without anything: %q", got)
	}
	s.Task.Issue.Title = strings.Repeat("ö", 100)
	if line, _, _ := strings.Cut(loop.FinalMessage(s), "\n"); utf8.RuneCountInString(line) > 77 || !strings.HasSuffix(line, "…") {
		t.Errorf("subject %q", line)
	}
	for kind, prefix := range map[loop.Kind]string{
		loop.KindBug: "fix: ", loop.KindFeature: "feat: ", loop.KindRefactor: "refactor: ", loop.KindTests: "test: ", loop.KindDependency: "build: ", loop.KindDocs: "docs: ",
	} {
		s.Spec = &loop.Spec{Kind: kind}
		if got := loop.FinalMessage(s); !strings.HasPrefix(got, prefix) {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

func TestMarkdownHelpers(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"quote", loop.Quote("  a\n```\nb\n"), "> a\n> ```\n> b"},
		{"quote nothing", loop.Quote(""), "> "},
		{"inline", loop.Inline(" a\n\n b\tc "), "a b c"},
		{"inline, long", loop.Inline(strings.Repeat("é", 400)), strings.Repeat("é", 299) + "…"},
		{"code", loop.Code("a"), "`a`"},
		{"code with backticks", loop.Code("a ``b`` c"), "```a ``b`` c```"},
		{"code that begins with one", loop.Code("`a"), "`` `a ``"},
		{"code of two lines", loop.Code("a\n/autocode stop"), "`a /autocode stop`"},
		{"no code", loop.Code(" \n "), ""},
		{"fence", loop.Fence("go", "x\n"), "```go\nx\n```"},
		{"fence around fences", loop.Fence("", "````\nx\n````"), "`````\n````\nx\n````\n`````"},
		{"visible", loop.Visible("a\u200bb\u202ec\U000e0041d\r\ne\u2028f\x00g\xff"), "abcd\ne\nfg\ufffd"},
		{"criterion", loop.CriterionText(loop.Criterion{Given: "g", When: "w", Then: "t\nu"}), "given g, when w, then t u"},
		{"criterion, short", loop.CriterionText(loop.Criterion{Then: "t"}), "then t"},
		{"red-green", loop.ProofText(loop.Acceptance{Proof: loop.ProofRedGreen, Hook: "T"}), "`T` fails on the base and passes on the head"},
		{"green-green", loop.ProofText(loop.Acceptance{Proof: loop.ProofGreenGreen, Hook: "T"}), "`T` passes on the base and on the head"},
		{"review", loop.ProofText(loop.Acceptance{Proof: loop.ProofReview}), "by review"},
		{"unproved", loop.ProofText(loop.Acceptance{Proof: loop.ProofNone, Hook: "T", Base: loop.ProofPass, Head: loop.ProofPass, Note: "it never failed"}), "unproved (`T`: base pass, head pass): it never failed"},
		{"spent", loop.SpentText(loop.Spent{Rounds: 2, ModelCalls: 3, Tokens: 400, USD: 0.125, Wall: 61_400_000_000}), "2 round(s), 3 model calls, 400 tokens, $0.12, 1m1s"},
		{"review.md", loop.Review{Summary: "Fine.", Scores: map[string]int{"scope": 5, "correctness": 4}, Findings: []loop.ReviewFinding{{Blocking: true, File: "a.go", Line: 2, Message: "racy"}, {File: "b.go", Message: "name"}}}.Markdown(),
			"# Review\n\nFine.\n\n- correctness: 4 of 5\n- scope: 5 of 5\n\n- blocking a.go:2: racy\n- note b.go: name\n"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestPlanMarkdown(t *testing.T) {
	spec, plan := goodSpec(), goodPlan()
	want := "**Goal** It works.\n\n- **AC1** then it works\n\n**Risk** green: small\n\n**Steps**\n\n1. Mend it (`a.go`)\n"
	if got := loop.PlanMarkdown(loop.Snapshot{Spec: &spec, Plan: &plan}); got != want {
		t.Errorf("plan\n%s", got)
	}
	if got := loop.PlanMarkdown(loop.Snapshot{}); got != "" {
		t.Errorf("nothing planned: %q", got)
	}
}

func TestPhases(t *testing.T) {
	for _, p := range loop.Phases() {
		followers := loop.Followers(p)
		if p.Ended() && p != loop.PhaseDone && !slices.Equal(followers, []loop.Phase{loop.PhaseQueued}) || p == loop.PhaseDone && len(followers) != 0 {
			t.Errorf("%s is followed by %v", p, followers)
		}
		if !p.Ended() && !loop.CanFollow(p, loop.PhaseFailed) {
			t.Errorf("%s cannot fail", p)
		}
		if p.Ended() && p.Waits() {
			t.Errorf("%s waits and has ended", p)
		}
	}
}
