package loop

import "fmt"

// Bounds of the loop's patience. They are not configuration: each has been chosen so that every
// run ends, whatever model and repository say.
const (
	// maxQuestions is how often a run may ask before it hands over.
	maxQuestions = 2
	// maxReviews bounds the debate between coder and critic.
	maxReviews = 2
	// stalledAfter is the number of rounds without fewer failures after which the loop changes
	// course.
	stalledAfter = 2
)

// Decide is the decision engine: from the state after a phase to the next action, with the name
// of the rule that decided. It is pure; the first rule that applies wins. Only the limit of rounds
// overrules it, whichever rule asked for one more.
func Decide(s Snapshot) Decision {
	d := firstRule(&s)
	if d.Next == PhaseCoding && roundsLeft(&s) <= 0 {
		d = roundsUsedUp(&s, d)
	}
	d.From, d.Round = s.Phase, len(s.Rounds)
	return d
}

func firstRule(s *Snapshot) Decision {
	for _, r := range ruleBook() {
		if d, applies := r.decide(s); applies {
			d.Rule = r.name
			return d
		}
	}
	d := end(s, ActionTerminate, PhaseFailed,
		detail(s, fmt.Sprintf("no rule knows what follows %s with the result %q: this is a fault of autocode", s.Phase, s.Last)))
	d.Rule = "no-rule"
	return d
}

// The rule that stands above the book.
const (
	roundsRule    = "rounds-used-up"
	roundsRuleDoc = "another round is called for, and there is none left"
)

// roundsUsedUp hands over instead of beginning a round that the limit does not allow.
func roundsUsedUp(s *Snapshot, wanted Decision) Decision {
	d := end(s, ActionEscalate, PhaseEscalated, fmt.Sprintf(
		"all %d rounds of this run are used up; %s. What called for another: %s", s.Config.Limits.Rounds, LimitRounds.remedy(), wanted.Reason))
	d.Rule, d.Rollback = roundsRule, wanted.Rollback
	return d
}

// roundsLeft is how many rounds may still begin.
func roundsLeft(s *Snapshot) int { return s.Config.Limits.Rounds - len(s.Rounds) }

// Rules lists the names of the rules with what they say, in the order in which they are tried.
func Rules() [][2]string {
	var names [][2]string
	for _, r := range ruleBook() {
		names = append(names, [2]string{r.name, r.doc})
	}
	return append(names, [2]string{roundsRule, roundsRuleDoc})
}

// rule is one line of the rule book.
type rule struct {
	name   string
	doc    string
	decide func(s *Snapshot) (Decision, bool)
}

// ruleBook returns the rules, first match wins: ends that hold in any phase, then the phases in
// the order of a run.
func ruleBook() []rule {
	return []rule{
		{"stopped", "a person stopped the run; what is best so far is shown", ruleStopped},
		{"cancelled", "the label, the issue or the right to act is gone: no further side effect", inAnyPhase(ResultCancel, cancel)},
		{"no-access", "the repository refuses to be read or written", inAnyPhase(ResultNoAccess, fail("the repository cannot be reached or written"))},
		{"workflows-permission", "the push brings workflows along, which the App may not push", inAnyPhase(ResultWorkflows, needsWorkflows)},
		{"empty-repository", "the repository has no commits", inAnyPhase(ResultEmpty, escalate("there is nothing to change yet"))},
		{"coverage-given-up", "a round for coverage that no configuration asks for came to nothing; the candidate before it stands", ruleCoverageGivenUp},
		{"limit-reached", "a limit is used up", inAnyPhase(ResultLimit, escalate("a limit is reached"))},
		{"model-unavailable", "the model's endpoint cannot be had", inAnyPhase(ResultModelDown, escalate("the model cannot be had"))},
		{"toolchain-missing", "the host lacks what the repository needs", inAnyPhase(ResultNoTools, escalate("the repository's toolchain is missing here"))},
		{"internal-error", "autocode could not go on", inAnyPhase(ResultError, giveUp)},
		{"branch-moved", "somebody else pushed to the branch", inAnyPhase(ResultMoved, handOver)},
		{"ending", "the best state is shown, the run ends as announced", ruleEnding},

		{"picked-up", "a worker took the run", phaseRule(PhaseQueued, goOn(PhasePreparing, "a worker has taken the run"))},
		{"config-broken", "the repository's configuration has faults", on(PhasePreparing, ResultRefused, escalate("the repository's configuration is broken"))},
		{"rerun", "GitHub's Re-run asks for the verification only", ruleRerun},
		{"base-merged", "the base was merged into the pull request without conflicts", ruleBaseMerged},
		{"candidate-inherited", "a resumed run has a candidate that was not found wanting", ruleCandidateInherited},
		{"spec-inherited", "there are a spec and a plan to go on with", ruleSpecInherited},
		{"prepared", "clone, configuration and baseline are there", on(PhasePreparing, ResultOK, goOn(PhaseSpecifying, "the workspace is ready"))},

		{"nothing-to-do", "what is asked for is so already", ruleNothing},
		{"question", "only a person can answer", ruleQuestion},
		{"asked-enough", "too many questions: a person must go on", ruleAskedEnough},
		{"specified", "the spec is valid", on(PhaseSpecifying, ResultOK, goOn(PhasePlanning, "the spec is valid"))},
		{"spec-refused", "no valid spec came out", on(PhaseSpecifying, ResultRefused, escalate("the planner made no valid spec"))},

		{"plan-only", "autonomy `plan`: the plan is the result", rulePlanOnly},
		{"plan-approval", "the plan needs a person's approval", rulePlanApproval},
		{"planned", "the plan is valid", on(PhasePlanning, ResultOK, code("the plan is valid"))},
		{"plan-refused", "no valid plan came out", on(PhasePlanning, ResultRefused, escalate("the planner made no valid plan"))},

		{"answered", "the question was answered", ruleAnswered},
		{"approved", "a person approved", ruleApproved},
		{"waiting", "a person must act", ruleWaiting},

		{"candidate", "the coder made a candidate", on(PhaseCoding, ResultOK, goOn(PhaseVerifying, "the coder made a candidate"))},
		{"approval-needed", "something needs a person's approval", ruleApprovalNeeded},
		{"out-of-depth", "the coder gave up", ruleGaveUp},
		{"same-refusal", "the same refusal twice", ruleSameRefusal},
		{"refused", "the candidate was thrown away before verification", ruleRefused},
		{"coder-stalled", "the coder used up its steps or went in circles", ruleCoderStalled},

		{"reverified", "a re-run shows what it found", ruleReverified},
		{"guard-blocked", "the guard refused the candidate", ruleGuardBlocked},
		{"environment-broken", "the environment is broken, whatever the source", ruleEnvironment},
		{"green", "every check passed", ruleGreen},
		{"coverage-advised", "only coverage that no configuration asks for is missing, and a round was spent on it", ruleCoverageAdvised},
		{"no-progress", "the same failures twice, or no fewer in two rounds", ruleNoProgress},
		{"regression", "what passed on the base fails now", ruleRegression},
		{"red", "the verification failed", ruleRed},

		{"review-blocks", "the critic found something that must change", ruleReviewBlocks},
		{"review-unusable", "the critic's reply was of no use; the verification stands", on(PhaseReviewing, ResultRefused, goOn(PhasePublishing, "the critic gave no usable review; every check passed"))},
		{"reviewed", "the critic is content", on(PhaseReviewing, ResultOK, goOn(PhasePublishing, "the critic is content"))},

		{"unproved", "green, but a criterion has no proof", ruleUnproved},
		{"clean-room-red", "the clean room did not confirm the candidate", ruleCleanRoomRed},
		{"published", "the pull request is as it should be", on(PhasePublishing, ResultOK, published)},
	}
}

// on builds a rule for one result of one phase.
func on(phase Phase, result Result, decide func(*Snapshot) Decision) func(*Snapshot) (Decision, bool) {
	return func(s *Snapshot) (Decision, bool) {
		if s.Phase != phase || s.Last != result {
			return Decision{}, false
		}
		return decide(s), true
	}
}

// inAnyPhase builds a rule for one result of whichever phase.
func inAnyPhase(result Result, decide func(*Snapshot) Decision) func(*Snapshot) (Decision, bool) {
	return func(s *Snapshot) (Decision, bool) {
		if s.Last != result {
			return Decision{}, false
		}
		return decide(s), true
	}
}

// phaseRule builds a rule for a phase without work of its own.
func phaseRule(phase Phase, decide func(*Snapshot) Decision) func(*Snapshot) (Decision, bool) {
	return func(s *Snapshot) (Decision, bool) {
		if s.Phase != phase || (s.Last != ResultOK && s.Last != ResultNone) {
			return Decision{}, false
		}
		return decide(s), true
	}
}

func goOn(next Phase, reason string) func(*Snapshot) Decision {
	return func(*Snapshot) Decision { return Decision{Action: ActionContinue, Next: next, Reason: reason} }
}

// code goes on to a round of coding, in the way that the state calls for.
func code(reason string) func(*Snapshot) Decision {
	return func(s *Snapshot) Decision {
		return Decision{Action: ActionContinue, Next: PhaseCoding, Strategy: nextStrategy(s), Reason: reason}
	}
}

// another asks for one more round.
func another(s *Snapshot, action Action, strategy Strategy, reason string) Decision {
	return Decision{
		Action: action, Next: PhaseCoding, Strategy: strategy, Reason: reason,
		Strong: s.Strong || strategy == StrategyRethink,
	}
}

// changeCourse tries the stronger model once, then hands over.
func changeCourse(s *Snapshot, reason string) Decision {
	if s.Strong {
		return end(s, ActionEscalate, PhaseEscalated, "no progress, also with the stronger model: "+reason)
	}
	return another(s, ActionAdjust, StrategyRethink, reason)
}

// detail adds what the phase said to a rule's own words.
func detail(s *Snapshot, reason string) string {
	if s.LastDetail == "" {
		return reason
	}
	return reason + ": " + s.LastDetail
}
