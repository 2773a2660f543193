package loop_test

import (
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// at is the state of a run whose phase ended with a result, and what it said to that.
func at(phase loop.Phase, result loop.Result, detail string, more ...func(*loop.Snapshot)) loop.Snapshot {
	spec, plan := goodSpec(), goodPlan()
	s := loop.Snapshot{
		Phase: phase, Last: result, LastDetail: detail, Config: loop.DefaultConfig(), Best: -1, Spec: &spec, Plan: &plan,
		Base: "base", Start: "base", Head: "base", Run: loop.Run{Trigger: loop.TriggerLabel},
	}
	for _, change := range more {
		change(&s)
	}
	return s
}

// rounds gives a state its rounds; the last one's candidate is the head, with its verdict.
func rounds(list ...loop.Round) func(*loop.Snapshot) {
	return func(s *loop.Snapshot) {
		for i := range list {
			list[i].Number = i + 1
		}
		s.Rounds = list
		last := list[len(list)-1]
		s.Verdict = last.Verdict
		if last.Commit != "" {
			s.Head = last.Commit
		}
	}
}

func round(commit string, v loop.Verdict) loop.Round {
	v.Settle()
	return loop.Round{Parent: "base", Commit: commit, Verdict: &v, Guard: v.Guard, End: loop.CodeEdited}
}

func refused(why string) loop.Round { return loop.Round{Parent: "base", Refused: why} }

func blocked() loop.Verdict {
	v := green()
	v.Guard = []loop.Finding{
		{Rule: "large", Severity: loop.SeverityNote, File: "b.go", Message: "a large change"},
		{Rule: "test-deleted", Severity: loop.SeverityBlock, File: "a_test.go", Line: 3, Message: "a test is gone"},
	}
	return v
}

// uncovered is green but for tests that run half of the changed lines.
func uncovered() loop.Verdict {
	v := green()
	v.Class, v.ClassRule = feedback.ClassCode, "red-without-reason"
	changed, threshold := 50.0, 60.0
	v.Stages[loop.StageCoverage] = loop.Stage{
		Changed: &changed, Threshold: &threshold,
		Errors: []loop.Failure{{Kind: string(feedback.KindGate), Rule: "coverage-threshold", Message: "tests run 50 % of the changed lines"}},
	}
	return v
}

// forCoverage is a round whose coder was asked for tests of what is not covered.
func forCoverage(r loop.Round) loop.Round {
	r.Strategy = loop.StrategyCoverage
	return r
}

func askingForCoverage(s *loop.Snapshot) { s.Strategy = loop.StrategyCoverage }

func asksForCoverage(s *loop.Snapshot) {
	least := 60.0
	s.Config.Verify.CoverageThreshold = &least
}

// unrunnable is unproved since the command of the tests fails before any test runs, as it does on the base.
func unrunnable() loop.Verdict {
	v := green()
	code := 1
	v.Stages[loop.StageUnit] = loop.Stage{Pass: true, Tests: &loop.Tests{}, ExitCode: &code}
	v.Acceptance = []loop.Acceptance{{ID: "AC1", Proof: loop.ProofNone}}
	return v
}

func brokenEnvironment() loop.Verdict {
	return loop.Verdict{Class: feedback.ClassEnvironment, Stages: map[loop.StageName]loop.Stage{loop.StageEnvironment: {Reason: "the registry answers 503"}}}
}

func strong(s *loop.Snapshot) { s.Strong = true }

func shown(s *loop.Snapshot) { s.Best = 0 }

func oneRound(s *loop.Snapshot) { s.Config.Limits.Rounds = len(s.Rounds) }

func ending(phase loop.Phase) func(*loop.Snapshot) {
	return func(s *loop.Snapshot) {
		s.Ending, s.Decision = phase, loop.Decision{Reason: "as announced"}
	}
}

// ruleCase is a state and what the engine must decide in it.
type ruleCase struct {
	name  string
	rule  string
	state loop.Snapshot
	want  loop.Decision // action, next, strategy, strong, rollback and ending count
	says  string        // part of the reason
}

func ruleCases() []ruleCase {
	const (
		goOn   = loop.ActionContinue
		retry  = loop.ActionRetry
		adjust = loop.ActionAdjust
		hand   = loop.ActionEscalate
		finish = loop.ActionTerminate
		wait   = loop.ActionWait
	)
	to := func(action loop.Action, next loop.Phase) loop.Decision {
		return loop.Decision{Action: action, Next: next}
	}
	ends := func(action loop.Action, next, ending loop.Phase) loop.Decision {
		return loop.Decision{Action: action, Next: next, Ending: ending}
	}
	again := func(action loop.Action, strategy loop.Strategy) loop.Decision {
		return loop.Decision{Action: action, Next: loop.PhaseCoding, Strategy: strategy, Strong: strategy == loop.StrategyRethink}
	}
	undone := func(d loop.Decision) loop.Decision { d.Rollback = true; return d }
	stronger := func(d loop.Decision) loop.Decision { d.Strong = true; return d }

	return []ruleCase{
		{"while coding", "stopped", at(loop.PhaseCoding, loop.ResultStop, "by mary"), ends(finish, loop.PhaseStopped, loop.PhaseStopped), "by mary"},
		{"with something to show", "stopped", at(loop.PhaseVerifying, loop.ResultStop, "by mary", rounds(round("c1", red("A"))), shown), ends(finish, loop.PhasePublishing, loop.PhaseStopped), "by mary"},
		{"on the way to another end", "stopped", at(loop.PhasePublishing, loop.ResultStop, "", rounds(round("c1", red("A"))), shown, ending(loop.PhaseEscalated)), ends(finish, loop.PhasePublishing, loop.PhaseStopped), ""},
		{"label gone", "cancelled", at(loop.PhaseVerifying, loop.ResultCancel, "the label was removed", rounds(round("c1", red("A"))), shown), ends(finish, loop.PhaseStopped, loop.PhaseStopped), "the label was removed"},
		{"gone", "no-access", at(loop.PhasePreparing, loop.ResultNoAccess, "404"), ends(finish, loop.PhaseFailed, loop.PhaseFailed), "404"},
		{"workflows", "workflows-permission", at(loop.PhasePublishing, loop.ResultWorkflows, "ci.yml"), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "ci.yml"},
		{"no commits", "empty-repository", at(loop.PhasePreparing, loop.ResultEmpty, ""), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "nothing to change yet"},
		{"money, in a round for coverage", "coverage-given-up", at(loop.PhaseCoding, loop.ResultLimit, "usd", rounds(round("c1", uncovered())), shown, askingForCoverage), to(goOn, loop.PhasePublishing), "usd"},
		{"refused, in a round for coverage", "coverage-given-up", at(loop.PhaseCoding, loop.ResultRefused, "no edit", rounds(round("c1", uncovered()), forCoverage(loop.Round{Parent: "c1", Refused: "no edit"})), askingForCoverage), undone(to(goOn, loop.PhasePublishing)), "no edit"},
		{"refused, in a round for coverage that is configured", "refused", at(loop.PhaseCoding, loop.ResultRefused, "no edit", rounds(round("c1", uncovered()), forCoverage(refused("no edit"))), askingForCoverage, asksForCoverage), undone(again(retry, loop.StrategyRefused)), "no edit"},
		{"money", "limit-reached", at(loop.PhaseCoding, loop.ResultLimit, "usd", rounds(round("c1", red("A"))), shown), ends(hand, loop.PhasePublishing, loop.PhaseEscalated), "usd"},
		{"401", "model-unavailable", at(loop.PhaseSpecifying, loop.ResultModelDown, "401"), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "401"},
		{"no cargo", "toolchain-missing", at(loop.PhasePreparing, loop.ResultNoTools, "no cargo"), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "no cargo"},
		{"panic", "internal-error", at(loop.PhaseCoding, loop.ResultError, "ouch"), ends(finish, loop.PhaseFailed, loop.PhaseFailed), "ouch"},
		{"panic with something to show", "internal-error", at(loop.PhaseCoding, loop.ResultError, "ouch", rounds(round("c1", red("A"))), shown), ends(finish, loop.PhasePublishing, loop.PhaseFailed), "ouch"},
		{"panic while publishing", "internal-error", at(loop.PhasePublishing, loop.ResultError, "ouch", rounds(round("c1", green())), shown), ends(finish, loop.PhaseFailed, loop.PhaseFailed), "ouch"},
		{"a person pushed", "branch-moved", at(loop.PhasePublishing, loop.ResultMoved, "somebody", rounds(round("c1", green())), shown), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "somebody"},
		{"shown", "ending", at(loop.PhasePublishing, loop.ResultOK, "", rounds(round("c1", red("A"))), ending(loop.PhaseEscalated)), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "as announced"},
		{"not to be shown", "ending", at(loop.PhasePublishing, loop.ResultNothing, "The guard holds it.", ending(loop.PhaseStopped)), ends(finish, loop.PhaseStopped, loop.PhaseStopped), "as announced. The guard holds it."},

		{"first", "picked-up", at(loop.PhaseQueued, loop.ResultNone, ""), to(goOn, loop.PhasePreparing), ""},
		{"faults", "config-broken", at(loop.PhasePreparing, loop.ResultRefused, "autocode.yml:2"), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "autocode.yml:2"},
		{"button", "rerun", at(loop.PhasePreparing, loop.ResultOK, "", func(s *loop.Snapshot) { s.Run.Trigger = loop.TriggerRerun }), to(goOn, loop.PhaseVerifying), "only the verification"},
		{"base merged", "base-merged", at(loop.PhasePreparing, loop.ResultOK, "", func(s *loop.Snapshot) { s.Run.Trigger = loop.TriggerBase }), to(goOn, loop.PhaseVerifying), "without conflicts"},
		{"base conflicts", "spec-inherited", at(loop.PhasePreparing, loop.ResultOK, "", func(s *loop.Snapshot) {
			s.Run.Trigger, s.Run.From, s.Merge = loop.TriggerBase, "c0", &loop.BaseMerge{Conflicts: []string{"a.go"}}
		}), again(goOn, loop.StrategyFollowUp), ""},
		{"a person's commit", "candidate-inherited", at(loop.PhasePreparing, loop.ResultOK, "", func(s *loop.Snapshot) {
			rounds(round("c1", red("A")))(s)
			s.Head, s.Verdict = "theirs", nil
		}), to(goOn, loop.PhaseVerifying), ""},
		{"environment mended", "candidate-inherited", at(loop.PhasePreparing, loop.ResultOK, "", rounds(round("c1", brokenEnvironment()))), to(goOn, loop.PhaseVerifying), ""},
		{"retry", "spec-inherited", at(loop.PhasePreparing, loop.ResultOK, "", func(s *loop.Snapshot) {
			s.Run.Trigger, s.Run.From = loop.TriggerRetry, "c0"
		}), again(goOn, loop.StrategyFollowUp), ""},
		{"resumed while red", "spec-inherited", at(loop.PhasePreparing, loop.ResultOK, "", rounds(round("c1", red("A")))), again(goOn, loop.StrategyFixTests), ""},
		{"new", "prepared", at(loop.PhasePreparing, loop.ResultOK, "", func(s *loop.Snapshot) { s.Spec, s.Plan = nil, nil }), to(goOn, loop.PhaseSpecifying), ""},

		{"planner", "nothing-to-do", at(loop.PhaseSpecifying, loop.ResultNothing, "it is so"), to(finish, loop.PhaseDone), "it is so"},
		{"coder, first round", "nothing-to-do", at(loop.PhaseCoding, loop.ResultNothing, "it is so", rounds(loop.Round{Parent: "base", End: loop.CodeNothing})), to(finish, loop.PhaseDone), "it is so"},
		{"coder stands by its green candidate", "nothing-to-do", at(loop.PhaseCoding, loop.ResultNothing, "", rounds(round("c1", green()))), to(goOn, loop.PhasePublishing), "stands by"},
		{"coder, after red", "nothing-to-do", at(loop.PhaseCoding, loop.ResultNothing, "", rounds(round("c1", red("A")), loop.Round{Parent: "c1", End: loop.CodeNothing}), func(s *loop.Snapshot) {
			v := red("A")
			v.Settle()
			s.Verdict = &v
		}), again(adjust, loop.StrategyRethink), "not accepted"},
		{"first", "question", at(loop.PhaseSpecifying, loop.ResultQuestion, "metres?"), to(wait, loop.PhaseClarifying), "metres?"},
		{"third", "asked-enough", at(loop.PhaseCoding, loop.ResultQuestion, "feet?", func(s *loop.Snapshot) { s.Asked = 2 }), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "2 questions"},
		{"valid", "specified", at(loop.PhaseSpecifying, loop.ResultOK, ""), to(goOn, loop.PhasePlanning), ""},
		{"invalid", "spec-refused", at(loop.PhaseSpecifying, loop.ResultRefused, "no goal"), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "no goal"},

		{"autonomy", "plan-only", at(loop.PhasePlanning, loop.ResultOK, "", func(s *loop.Snapshot) { s.Config.Autonomy = loop.AutonomyPlan }), to(finish, loop.PhaseDone), "plans only"},
		{"autonomy", "plan-approval", at(loop.PhasePlanning, loop.ResultOK, "", func(s *loop.Snapshot) { s.Config.Autonomy = loop.AutonomyApprovePlan }), to(wait, loop.PhaseApproving), "approves plans"},
		{"red zone", "plan-approval", at(loop.PhasePlanning, loop.ResultOK, "", func(s *loop.Snapshot) { s.Spec.Zone, s.Spec.ZoneWhy = loop.ZoneRed, "payment" }), to(wait, loop.PhaseApproving), "payment"},
		{"valid", "planned", at(loop.PhasePlanning, loop.ResultOK, ""), again(goOn, loop.StrategyImplement), ""},
		{"approved before", "planned", at(loop.PhasePlanning, loop.ResultOK, "", func(s *loop.Snapshot) {
			s.Config.Autonomy, s.Approved = loop.AutonomyApprovePlan, []string{loop.ApprovePlan}
		}), again(goOn, loop.StrategyImplement), ""},
		{"invalid", "plan-refused", at(loop.PhasePlanning, loop.ResultRefused, "a cycle"), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "a cycle"},

		{"before the plan", "answered", at(loop.PhaseClarifying, loop.ResultAnswered, "", func(s *loop.Snapshot) { s.Plan = nil }), to(goOn, loop.PhaseSpecifying), ""},
		{"after the plan", "answered", at(loop.PhaseClarifying, loop.ResultAnswered, ""), again(goOn, loop.StrategyImplement), ""},
		{"plan", "approved", at(loop.PhaseApproving, loop.ResultApproved, "", func(s *loop.Snapshot) { s.Pending = &loop.Approval{Key: loop.ApprovePlan} }), again(goOn, loop.StrategyImplement), ""},
		{"change", "approved", at(loop.PhaseApproving, loop.ResultApproved, "", func(s *loop.Snapshot) { s.Pending = &loop.Approval{Key: loop.ApproveChange} }), to(goOn, loop.PhasePublishing), "approved the change"},
		{"secrets", "approved", at(loop.PhaseApproving, loop.ResultApproved, "", func(s *loop.Snapshot) { s.Pending = &loop.Approval{Key: loop.ApproveSecrets} }), to(goOn, loop.PhasePublishing), "approved the change"},
		{"still", "waiting", at(loop.PhaseApproving, loop.ResultNone, "", ending("")), to(wait, loop.PhaseApproving), "as announced"},

		{"edited", "candidate", at(loop.PhaseCoding, loop.ResultOK, "", rounds(loop.Round{Commit: "c1"})), to(goOn, loop.PhaseVerifying), ""},
		{"by the guard", "approval-needed", at(loop.PhasePublishing, loop.ResultApproval, "a migration", rounds(round("c1", green()))), to(wait, loop.PhaseApproving), "a migration"},
		{"first", "out-of-depth", at(loop.PhaseCoding, loop.ResultGaveUp, "too hard", rounds(loop.Round{})), again(adjust, loop.StrategyRethink), "too hard"},
		{"stronger model too", "out-of-depth", at(loop.PhaseCoding, loop.ResultGaveUp, "too hard", rounds(loop.Round{}), strong), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "too hard"},
		{"first", "same-refusal", at(loop.PhaseCoding, loop.ResultRefused, "no edit", rounds(refused("no edit"), refused("no edit"))), undone(again(adjust, loop.StrategyRethink)), "no edit"},
		{"stronger model too", "same-refusal", at(loop.PhaseCoding, loop.ResultRefused, "no edit", rounds(refused("no edit"), refused("no edit")), strong), undone(ends(hand, loop.PhaseEscalated, loop.PhaseEscalated)), "no edit"},
		{"by the edit engine", "refused", at(loop.PhaseCoding, loop.ResultRefused, "no edit", rounds(refused("no edit"))), undone(again(retry, loop.StrategyRefused)), "no edit"},
		{"by the guard", "refused", at(loop.PhaseCoding, loop.ResultRefused, "a key", rounds(loop.Round{Refused: "a key", Guard: blocked().Guard})), undone(again(retry, loop.StrategyGuard)), "a key"},
		{"other than before", "refused", at(loop.PhaseCoding, loop.ResultRefused, "two", rounds(refused("one"), refused("two"))), undone(again(retry, loop.StrategyRefused)), "two"},
		{"circles", "coder-stalled", at(loop.PhaseCoding, loop.ResultStalled, "circles", rounds(loop.Round{})), again(adjust, loop.StrategyRethink), "circles"},

		{"first time", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", uncovered()))), again(retry, loop.StrategyCoverage), "50 %"},
		{"second time", "coverage-advised", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", uncovered()), forCoverage(round("c2", uncovered())))), to(goOn, loop.PhasePublishing), "50 %"},
		{"no round left", "coverage-advised", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", uncovered())), oneRound), to(goOn, loop.PhasePublishing), "50 %"},
		{"second time, for the critic", "coverage-advised", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", uncovered()), forCoverage(round("c2", uncovered()))), func(s *loop.Snapshot) { s.Config.Critic = true }), to(goOn, loop.PhaseReviewing), ""},
		{"second time, configured", "no-progress", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", uncovered()), forCoverage(round("c2", uncovered()))), asksForCoverage), again(adjust, loop.StrategyRethink), ""},

		{"green", "reverified", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", green())), func(s *loop.Snapshot) { s.Run.Trigger = loop.TriggerRerun }), to(goOn, loop.PhasePublishing), "it is green"},
		{"red", "reverified", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("A"))), func(s *loop.Snapshot) { s.Run.Trigger = loop.TriggerRerun }), to(goOn, loop.PhasePublishing), "it is red"},
		{"after verification", "guard-blocked", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", blocked()))), undone(again(retry, loop.StrategyGuard)), "test-deleted: a test is gone (a_test.go:3)"},
		{"twice", "guard-blocked", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", blocked()), round("c2", blocked()))), undone(again(adjust, loop.StrategyRethink)), "two candidates in a row: test-deleted: a test is gone"},
		{"after the clean room", "guard-blocked", at(loop.PhasePublishing, loop.ResultRefused, "", rounds(round("c1", blocked()))), undone(again(retry, loop.StrategyGuard)), "a test is gone"},
		{"first", "environment-broken", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", brokenEnvironment()))), loop.Decision{Action: adjust, Next: loop.PhaseVerifying, Strategy: loop.StrategyEnvironment}, "rebuilt"},
		{"still", "environment-broken", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", brokenEnvironment())), func(s *loop.Snapshot) { s.Strategy = loop.StrategyEnvironment }), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "503"},
		{"in the clean room", "environment-broken", at(loop.PhasePublishing, loop.ResultRefused, "", rounds(round("c1", brokenEnvironment()))), loop.Decision{Action: adjust, Next: loop.PhasePublishing, Strategy: loop.StrategyEnvironment}, "rebuilt"},
		{"without a critic", "green", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", green()))), to(goOn, loop.PhasePublishing), ""},
		{"with a critic", "green", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", green())), func(s *loop.Snapshot) { s.Config.Critic = true }), to(goOn, loop.PhaseReviewing), ""},
		{"the critic had its say", "green", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", green())), func(s *loop.Snapshot) { s.Config.Critic, s.Reviews = true, 2 }), to(goOn, loop.PhasePublishing), ""},
		{"same twice", "no-progress", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("A")), round("c2", red("A")))), again(adjust, loop.StrategyRethink), "twice"},
		{"same twice, a regression", "no-progress", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("!A")), round("c2", red("!A")))), undone(again(adjust, loop.StrategyRethink)), "twice"},
		{"no fewer", "no-progress", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("A")), round("c2", red("B")), round("c3", red("C"))), strong), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "no fewer failures in 2 rounds (1, then 1)"},
		{"one", "regression", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("!A", "B")))), undone(again(retry, loop.StrategyRegression)), "A"},
		{"many", "regression", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("!A", "!B", "!C", "!D")))), undone(again(retry, loop.StrategyRegression)), "A, B, C and 1 more"},
		{"tests", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("A", "B")))), again(retry, loop.StrategyFixTests), "A: A failed (and 1 more)"},
		{"with the stronger model", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("A"))), strong), stronger(again(retry, loop.StrategyFixTests)), "A failed"},
		{"compile", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", stageRed(loop.StageCompile)))), again(retry, loop.StrategyFixCompile), "compile is red"},
		{"lint", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", stageRed(loop.StageLint)))), again(retry, loop.StrategyFixLint), "lint is red"},
		{"types and unit", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", stageRed(loop.StageTypes, loop.StageUnit)))), again(retry, loop.StrategyFixTests), "types is red"},
		{"security", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", stageRed(loop.StageSecurity)))), again(retry, loop.StrategyFixLint), "security is red"},
		{"coverage", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", stageRed(loop.StageCoverage)))), again(retry, loop.StrategyCoverage), "coverage is red"},
		{"end-to-end", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", stageRed(loop.StageE2E)))), again(retry, loop.StrategyFixTests), "e2e is red"},
		{"timeout", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", classRed(feedback.ClassTimeout)))), again(retry, loop.StrategyTimeout), ""},
		{"memory", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", classRed(feedback.ClassOOM)))), again(retry, loop.StrategyMemory), ""},
		{"flaky", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", classRed(feedback.ClassFlaky)))), again(retry, loop.StrategyFlaky), ""},
		{"unproved", "red", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", unproved()))), again(retry, loop.StrategyProve), ""},

		{"first", "review-blocks", at(loop.PhaseReviewing, loop.ResultOK, "", rounds(round("c1", green())), reviewed(true, 1)), again(retry, loop.StrategyReview), "racy"},
		{"second", "review-blocks", at(loop.PhaseReviewing, loop.ResultOK, "", rounds(round("c1", green())), shown, reviewed(true, 2)), ends(hand, loop.PhasePublishing, loop.PhaseEscalated), "do not agree: racy"},
		{"no JSON", "review-unusable", at(loop.PhaseReviewing, loop.ResultRefused, "no JSON", rounds(round("c1", green()))), to(goOn, loop.PhasePublishing), ""},
		{"content", "reviewed", at(loop.PhaseReviewing, loop.ResultOK, "", rounds(round("c1", green())), reviewed(false, 1)), to(goOn, loop.PhasePublishing), ""},

		{"first", "unproved", at(loop.PhasePublishing, loop.ResultRefused, "AC1", rounds(round("c1", unproved()))), again(retry, loop.StrategyProve), "AC1"},
		{"no test can be run", "unproved", at(loop.PhasePublishing, loop.ResultRefused, "AC1", rounds(round("c1", unrunnable()))), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "cannot be run here"},
		{"tried before", "unproved", at(loop.PhasePublishing, loop.ResultRefused, "AC1", rounds(loop.Round{Strategy: loop.StrategyProve}, round("c1", unproved())), shown), ends(hand, loop.PhasePublishing, loop.PhaseEscalated), "AC1"},
		{"no rounds left", "unproved", at(loop.PhasePublishing, loop.ResultRefused, "AC1", rounds(round("c1", unproved())), oneRound), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "AC1"},
		{"tests", "clean-room-red", at(loop.PhasePublishing, loop.ResultRefused, "A", rounds(round("c1", red("A")))), again(retry, loop.StrategyFixTests), "did not confirm it: A"},
		{"a regression", "clean-room-red", at(loop.PhasePublishing, loop.ResultRefused, "A", rounds(round("c1", red("!A")))), undone(again(retry, loop.StrategyRegression)), "did not confirm it: A"},
		{"without a verdict", "clean-room-red", at(loop.PhasePublishing, loop.ResultRefused, "no room"), ends(hand, loop.PhaseEscalated, loop.PhaseEscalated), "no room"},
		{"green", "published", at(loop.PhasePublishing, loop.ResultOK, "", rounds(round("c1", green()))), to(finish, loop.PhaseDone), "ready"},

		{"red", "rounds-used-up", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("A"))), shown, oneRound), ends(hand, loop.PhasePublishing, loop.PhaseEscalated), "budget +2rounds"},
		{"a regression", "rounds-used-up", at(loop.PhaseVerifying, loop.ResultOK, "", rounds(round("c1", red("!A"))), shown, oneRound), undone(ends(hand, loop.PhasePublishing, loop.PhaseEscalated)), "called for another"},
	}
}

func stageRed(names ...loop.StageName) loop.Verdict {
	v := loop.Verdict{Class: feedback.ClassCode, Stages: map[loop.StageName]loop.Stage{}}
	for _, n := range names {
		v.Stages[n] = loop.Stage{Reason: "exit code 1"}
	}
	return v
}

func classRed(class loop.Class) loop.Verdict {
	v := red("A")
	v.Class = class
	return v
}

func reviewed(blocks bool, exchanges int) func(*loop.Snapshot) {
	return func(s *loop.Snapshot) {
		s.Reviews = exchanges
		s.Review = &loop.Review{Findings: []loop.ReviewFinding{{Blocking: blocks, File: "a.go", Line: 1, Message: "racy"}}}
	}
}

// TestRules holds every rule to at least one state in which it decides.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range ruleCases() {
		seen[c.rule] = true
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			got := loop.Decide(c.state)
			if got.Rule != c.rule {
				t.Fatalf("decided by %s: %s", got.Rule, got)
			}
			if !strings.Contains(got.Reason, c.says) || got.Reason == "" {
				t.Errorf("the reason is %q, want %q in it", got.Reason, c.says)
			}
			if !loop.CanFollow(c.state.Phase, got.Next) {
				t.Errorf("%s is forbidden", got)
			}
			if got.From != c.state.Phase || got.Round != len(c.state.Rounds) {
				t.Errorf("from %s in round %d", got.From, got.Round)
			}
			got.Rule, got.Reason, got.From, got.Round = "", "", "", 0
			if got != c.want {
				t.Errorf("decided %+v, want %+v", got, c.want)
			}
		})
	}
	names := map[string]bool{}
	for _, rule := range loop.Rules() {
		if names[rule[0]] || rule[1] == "" {
			t.Errorf("the rule %q is there twice, or says nothing", rule[0])
		}
		names[rule[0]] = true
		if !seen[rule[0]] {
			t.Errorf("the rule %q has no case here", rule[0])
		}
	}
}

// TestNoRule: what no rule knows ends the run and says so, whatever the state is.
func TestNoRule(t *testing.T) {
	d := loop.Decide(at(loop.PhaseSpecifying, "no such result", ""))
	if d.Rule != "no-rule" || d.Next != loop.PhaseFailed || !strings.Contains(d.Reason, "no such result") {
		t.Errorf("decided %s", d)
	}
}

// TestDecideIsPure: the same state gives the same decision, and is left as it was.
func TestDecideIsPure(t *testing.T) {
	for _, c := range ruleCases() {
		before := jsonOf(t, c.state)
		if first, second := loop.Decide(c.state), loop.Decide(c.state); first != second {
			t.Errorf("%s/%s: %s, then %s", c.rule, c.name, first, second)
		}
		if after := jsonOf(t, c.state); before != after {
			t.Errorf("%s/%s: the state was changed from\n%s\nto\n%s", c.rule, c.name, before, after)
		}
	}
}
