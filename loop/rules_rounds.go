package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/feedback"
)

func ruleGaveUp(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseCoding || s.Last != ResultGaveUp {
		return Decision{}, false
	}
	if !s.Strong {
		return another(s, ActionAdjust, StrategyRethink, detail(s, "the coder gave up; the stronger model tries once")), true
	}
	return end(s, ActionEscalate, PhaseEscalated, detail(s, "the coder is out of its depth")), true
}

func ruleSameRefusal(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseCoding || s.Last != ResultRefused || len(s.Rounds) < 2 {
		return Decision{}, false
	}
	last, before := s.Rounds[len(s.Rounds)-1], s.Rounds[len(s.Rounds)-2]
	if last.Refused == "" || last.Refused != before.Refused {
		return Decision{}, false
	}
	d := changeCourse(s, "the same refusal twice: "+last.Refused)
	d.Rollback = true
	return d, true
}

func ruleRefused(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseCoding || s.Last != ResultRefused {
		return Decision{}, false
	}
	strategy := StrategyRefused
	if c := s.Current(); c != nil && blocks(c.Guard) {
		strategy = StrategyGuard
	}
	d := another(s, ActionRetry, strategy, detail(s, "the candidate was refused"))
	d.Rollback = true
	return d, true
}

func ruleCoderStalled(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseCoding || s.Last != ResultStalled {
		return Decision{}, false
	}
	return changeCourse(s, detail(s, "the coder made no candidate")), true
}

func ruleReverified(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseVerifying || s.Run.Trigger != TriggerRerun || s.Last != ResultOK {
		return Decision{}, false
	}
	return Decision{Action: ActionContinue, Next: PhasePublishing, Reason: repeated(s)}, true
}

// published ends a run whose pull request is in place; a re-run shows what it found, red or green.
func published(s *Snapshot) Decision {
	d := Decision{Action: ActionTerminate, Next: PhaseDone, Reason: "the pull request is ready"}
	if s.Run.Trigger == TriggerRerun {
		d.Reason = repeated(s)
	}
	return d
}

func repeated(s *Snapshot) string {
	if s.Verdict != nil && s.Verdict.Pass {
		return "the verification was repeated: it is green"
	}
	return "the verification was repeated: it is red"
}

func ruleGuardBlocked(s *Snapshot) (Decision, bool) {
	judged := s.Phase == PhaseVerifying && s.Last == ResultOK || s.Phase == PhasePublishing && s.Last == ResultRefused
	if !judged || s.Verdict == nil || !s.Verdict.Blocked() {
		return Decision{}, false
	}
	f := s.Verdict.blocking()
	if len(s.Rounds) >= 2 && blocks(s.Rounds[len(s.Rounds)-2].Guard) {
		d := changeCourse(s, "the guard blocked two candidates in a row: "+f.String())
		d.Rollback = true
		return d, true
	}
	d := another(s, ActionRetry, StrategyGuard, "the guard blocks it: "+f.String())
	d.Rollback = true
	return d, true
}

func ruleEnvironment(s *Snapshot) (Decision, bool) {
	judged := s.Phase == PhaseVerifying || s.Phase == PhasePublishing && s.Last == ResultRefused
	if !judged || !environmentTrouble(s.Verdict) {
		return Decision{}, false
	}
	// Rebuilt once, never repaired in the source.
	if s.Strategy != StrategyEnvironment {
		return Decision{
			Action: ActionAdjust, Next: s.Phase, Strategy: StrategyEnvironment,
			Reason: "the environment is broken: it is rebuilt, the source is left alone",
		}, true
	}
	return end(s, ActionEscalate, PhaseEscalated, "the environment is still broken after it was rebuilt: "+firstFailure(s.Verdict)), true
}

// environmentTrouble says whether a verdict is red for what no change of the source can mend.
func environmentTrouble(v *Verdict) bool {
	if v == nil || v.Pass {
		return false
	}
	switch v.Class {
	case feedback.ClassEnvironment, feedback.ClassInfrastructure:
		return true
	case feedback.ClassCode, feedback.ClassFlaky, feedback.ClassTimeout, feedback.ClassOOM, feedback.ClassNone:
	}
	return false
}

// ruleCoverageAdvised goes on with a candidate that lacks nothing but the coverage that no configuration asks for, once
// a round was spent on it, or where none is left for it.
func ruleCoverageAdvised(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseVerifying || s.Verdict == nil || !s.Config.coverageAdvised() || !s.Verdict.onlyCoverage() {
		return Decision{}, false
	}
	tried := slices.ContainsFunc(s.Rounds, func(r Round) bool { return r.Strategy == StrategyCoverage })
	if !tried && roundsLeft(s) > 0 {
		return Decision{}, false
	}
	return passed(s, "every check passed but the coverage, which no configuration asks for: "+firstFailure(s.Verdict)), true
}

// ruleCoverageGivenUp goes on with the candidate before a round that was to raise its coverage and came to nothing:
// that round was an extra, and what it was to add to stands without it.
func ruleCoverageGivenUp(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseCoding || s.Strategy != StrategyCoverage || !s.Config.coverageAdvised() {
		return Decision{}, false
	}
	before, begun := s.Head, false
	if c := s.Current(); c != nil && c.Strategy == StrategyCoverage {
		before, begun = c.Parent, true
	}
	if v := s.verdictOf(before); v == nil || !v.onlyCoverage() {
		return Decision{}, false
	}
	switch s.Last {
	case ResultLimit, ResultGaveUp, ResultRefused, ResultStalled, ResultNothing, ResultModelDown:
		return Decision{
			Action: ActionContinue, Next: PhasePublishing, Rollback: begun,
			Reason: detail(s, "no tests came that raise the coverage; every other check passed before"),
		}, true
	case ResultNone, ResultOK, ResultStop, ResultCancel, ResultNoAccess, ResultWorkflows, ResultEmpty, ResultNoTools, ResultError, ResultMoved,
		ResultQuestion, ResultAnswered, ResultApproval, ResultApproved:
	}
	return Decision{}, false
}

func ruleGreen(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseVerifying || s.Verdict == nil || !s.Verdict.Pass {
		return Decision{}, false
	}
	return passed(s, "every check passed"), true
}

// passed goes on with a candidate that the checks let pass: to the critic, where one is wanted, else out.
func passed(s *Snapshot, reason string) Decision {
	if s.Config.Critic && s.Reviews < maxReviews {
		return Decision{Action: ActionContinue, Next: PhaseReviewing, Reason: reason + "; the critic reads it"}
	}
	return Decision{Action: ActionContinue, Next: PhasePublishing, Reason: reason}
}

func ruleNoProgress(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseVerifying || s.Verdict == nil || s.Verdict.Pass {
		return Decision{}, false
	}
	reason, stalled := Stalled(s.Rounds)
	if !stalled {
		return Decision{}, false
	}
	d := changeCourse(s, reason)
	d.Rollback = len(s.Verdict.Regressions()) > 0
	return d, true
}

func ruleRegression(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseVerifying || s.Verdict == nil || s.Verdict.Pass {
		return Decision{}, false
	}
	broken := s.Verdict.Regressions()
	if len(broken) == 0 {
		return Decision{}, false
	}
	d := another(s, ActionRetry, StrategyRegression,
		fmt.Sprintf("what passed on the base fails now, so the round is undone: %s", few(broken)))
	d.Rollback = true
	return d, true
}

func ruleRed(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseVerifying || s.Verdict == nil || s.Verdict.Pass {
		return Decision{}, false
	}
	return another(s, ActionRetry, redStrategy(s.Verdict), firstFailure(s.Verdict)), true
}

func ruleReviewBlocks(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseReviewing || s.Last != ResultOK {
		return Decision{}, false
	}
	blocking := s.Review.Blocking()
	if len(blocking) == 0 {
		return Decision{}, false
	}
	if s.Reviews >= maxReviews {
		return end(s, ActionEscalate, PhaseEscalated, "coder and critic do not agree: "+blocking[0].Message), true
	}
	return another(s, ActionRetry, StrategyReview, "the critic blocks it: "+blocking[0].Message), true
}

func ruleUnproved(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePublishing || s.Last != ResultRefused || s.Verdict == nil || !stagesPass(s.Verdict) {
		return Decision{}, false
	}
	if s.Verdict.NoTestRuns() {
		return end(s, ActionEscalate, PhaseEscalated, detail(s, "the repository's tests cannot be run here, before the change or after it, so that no round could prove anything")), true
	}
	if roundsLeft(s) <= 0 || proofsTried(s) {
		// A draft with the list of what is unproved is an honest result.
		return end(s, ActionEscalate, PhaseEscalated, detail(s, "criteria stay unproved")), true
	}
	return another(s, ActionRetry, StrategyProve, detail(s, "criteria are unproved")), true
}

func ruleCleanRoomRed(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePublishing || s.Last != ResultRefused {
		return Decision{}, false
	}
	if s.Verdict == nil {
		return end(s, ActionEscalate, PhaseEscalated, detail(s, "it could not be published")), true
	}
	d := another(s, ActionRetry, redStrategy(s.Verdict), detail(s, "the clean room did not confirm it"))
	if len(s.Verdict.Regressions()) > 0 {
		d.Strategy, d.Rollback = StrategyRegression, true
	}
	return d, true
}

// proofsTried says whether a round was spent on missing proofs already.
func proofsTried(s *Snapshot) bool {
	return slices.ContainsFunc(s.Rounds, func(r Round) bool { return r.Strategy == StrategyProve })
}

func blocks(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == SeverityBlock })
}

// stagesPass says whether every stage that ran passed, whatever acceptance and guard say.
func stagesPass(v *Verdict) bool {
	for _, st := range v.Stages {
		if !st.NotRun && !st.Pass {
			return false
		}
	}
	return true
}

// redStrategy chooses how to repair a red verdict: by its class, else by the first stage that is red.
func redStrategy(v *Verdict) Strategy {
	switch v.Class {
	case feedback.ClassTimeout:
		return StrategyTimeout
	case feedback.ClassOOM:
		return StrategyMemory
	case feedback.ClassFlaky:
		return StrategyFlaky
	case feedback.ClassEnvironment, feedback.ClassInfrastructure:
		return StrategyEnvironment
	case feedback.ClassCode, feedback.ClassNone:
	}
	for _, name := range Stages() {
		st, there := v.Stages[name]
		if !there || st.NotRun || st.Pass {
			continue
		}
		switch name {
		case StageEnvironment, StageCompile:
			return StrategyFixCompile
		case StageUnit, StageIntegration, StageE2E:
			return StrategyFixTests
		case StageLint, StageTypes, StageSecurity:
			if unit, ran := v.Stages[StageUnit]; ran && !unit.NotRun && !unit.Pass {
				return StrategyFixTests
			}
			return StrategyFixLint
		case StageCoverage:
			return StrategyCoverage
		}
	}
	if slices.ContainsFunc(v.Acceptance, func(a Acceptance) bool { return a.Proof == ProofNone }) {
		return StrategyProve
	}
	return StrategyFixTests
}

// firstFailure is the verdict's first failure in one line.
func firstFailure(v *Verdict) string {
	all := v.Failures()
	if len(all) == 0 {
		for _, name := range Stages() {
			if st, there := v.Stages[name]; there && !st.NotRun && !st.Pass {
				return fmt.Sprintf("%s is red: %s", name, st.Reason)
			}
		}
		return "the verification is red"
	}
	text := all[0].line()
	if len(all) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	return text
}

// few names at most three of several.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
