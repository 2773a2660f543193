package loop

import (
	"fmt"
	"slices"
)

func ruleRerun(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePreparing || s.Last != ResultOK || s.Run.Trigger != TriggerRerun || s.Spec == nil {
		return Decision{}, false
	}
	return Decision{Action: ActionContinue, Next: PhaseVerifying, Reason: "only the verification is repeated"}, true
}

// ruleCandidateInherited goes on with a candidate that a resumed run was interrupted with, or that a
// person made meanwhile: what it is worth is for the verification to say. So it is where the
// environment was to blame, which a person may have mended.
func ruleCandidateInherited(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePreparing || s.Last != ResultOK || len(s.Rounds) == 0 || s.Spec == nil || s.Plan == nil ||
		s.Head == s.Base || s.Verdict != nil && !s.Verdict.Pass && !environmentTrouble(s.Verdict) {
		return Decision{}, false
	}
	return Decision{Action: ActionContinue, Next: PhaseVerifying, Reason: "there is a candidate to go on with"}, true
}

// ruleSpecInherited goes on with the spec and plan of an earlier run, or of this one before it
// ended. A retry without a pull request understands the issue anew, with the guidance.
func ruleSpecInherited(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePreparing || s.Last != ResultOK || s.Spec == nil || s.Plan == nil || s.Config.Autonomy == AutonomyPlan ||
		s.Run.Trigger == TriggerRetry && s.Run.From == "" && len(s.Rounds) == 0 {
		return Decision{}, false
	}
	if s.Run.From == "" {
		if _, needed := needsPlanApproval(s); needed {
			return Decision{}, false
		}
	}
	return code("there are a spec and a plan to go on with")(s), true
}

// nextStrategy is how the next round goes about it where no red verdict has just said so.
func nextStrategy(s *Snapshot) Strategy {
	if len(s.Rounds) == 0 {
		switch s.Run.Trigger {
		case TriggerRetry, TriggerReview, TriggerCI, TriggerBase:
			return StrategyFollowUp
		case TriggerLabel, TriggerRerun, TriggerCLI:
		}
	}
	if s.Verdict != nil && !s.Verdict.Pass {
		return redStrategy(s.Verdict)
	}
	if len(s.Rounds) > 0 && s.Strategy != "" {
		return s.Strategy
	}
	return StrategyImplement
}

func ruleNothing(s *Snapshot) (Decision, bool) {
	if s.Last != ResultNothing {
		return Decision{}, false
	}
	green := s.Verdict != nil && s.Verdict.Pass
	switch {
	case s.Phase != PhaseCoding, s.Verdict == nil && len(s.Rounds) <= 1, green && s.Head == s.Start:
		return Decision{Action: ActionTerminate, Next: PhaseDone, Reason: detail(s, "there is nothing to change")}, true
	case green:
		return Decision{Action: ActionContinue, Next: PhasePublishing, Reason: detail(s, "the coder stands by its green candidate")}, true
	default:
		// "Nothing to do" is no answer to a red verdict or a refusal.
		return another(s, ActionAdjust, StrategyRethink, "the coder changes nothing although its work was not accepted"), true
	}
}

func ruleQuestion(s *Snapshot) (Decision, bool) {
	if s.Last != ResultQuestion || s.Asked >= maxQuestions {
		return Decision{}, false
	}
	return Decision{Action: ActionWait, Next: PhaseClarifying, Reason: detail(s, "only a person can answer")}, true
}

func ruleAskedEnough(s *Snapshot) (Decision, bool) {
	if s.Last != ResultQuestion {
		return Decision{}, false
	}
	return end(s, ActionEscalate, PhaseEscalated,
		detail(s, fmt.Sprintf("%d questions were asked and it is still not clear", s.Asked))), true
}

func rulePlanOnly(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePlanning || s.Last != ResultOK || s.Config.Autonomy != AutonomyPlan {
		return Decision{}, false
	}
	return Decision{Action: ActionTerminate, Next: PhaseDone, Reason: "this repository asks for plans only"}, true
}

func rulePlanApproval(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePlanning || s.Last != ResultOK {
		return Decision{}, false
	}
	reason, needed := needsPlanApproval(s)
	return Decision{Action: ActionWait, Next: PhaseApproving, Reason: reason}, needed
}

// needsPlanApproval says whether a person must approve the plan before anything is changed, and why.
func needsPlanApproval(s *Snapshot) (reason string, needed bool) {
	switch {
	case slices.Contains(s.Approved, ApprovePlan):
		return "", false
	case s.Spec != nil && s.Spec.Zone == ZoneRed:
		return "the task is in the red zone: " + s.Spec.ZoneWhy, true
	case s.Config.Autonomy == AutonomyApprovePlan:
		return "this repository approves plans first", true
	default:
		return "", false
	}
}

func ruleAnswered(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseClarifying || s.Last != ResultAnswered {
		return Decision{}, false
	}
	if s.Plan != nil {
		return code("the question was answered")(s), true
	}
	return Decision{Action: ActionContinue, Next: PhaseSpecifying, Reason: "the question was answered"}, true
}

func ruleApproved(s *Snapshot) (Decision, bool) {
	if s.Phase != PhaseApproving || s.Last != ResultApproved {
		return Decision{}, false
	}
	if s.Pending != nil && (s.Pending.Key == ApproveChange || s.Pending.Key == ApproveSecrets) {
		return Decision{Action: ActionContinue, Next: PhasePublishing, Reason: "a person approved the change"}, true
	}
	return code("a person approved")(s), true
}

func ruleWaiting(s *Snapshot) (Decision, bool) {
	if !s.Phase.Waits() {
		return Decision{}, false
	}
	return Decision{Action: ActionWait, Next: s.Phase, Reason: s.Decision.Reason}, true
}

func ruleApprovalNeeded(s *Snapshot) (Decision, bool) {
	if s.Last != ResultApproval {
		return Decision{}, false
	}
	return Decision{Action: ActionWait, Next: PhaseApproving, Reason: detail(s, "a person must approve this")}, true
}
