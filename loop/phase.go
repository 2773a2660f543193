package loop

import "slices"

// Phase is where a run stands.
type Phase string

// The phases of a run, in the order of a run without trouble, and its four ends.
const (
	PhaseQueued     Phase = "queued"
	PhasePreparing  Phase = "preparing"  // clone, configuration, baseline
	PhaseSpecifying Phase = "specifying" // issue → spec
	PhaseClarifying Phase = "clarifying" // waits for a person's answer
	PhasePlanning   Phase = "planning"   // spec → plan
	PhaseApproving  Phase = "approving"  // waits for a person's approval
	PhaseCoding     Phase = "coding"     // plan and feedback → edits, committed
	PhaseVerifying  Phase = "verifying"  // edits → verdict
	PhaseReviewing  Phase = "reviewing"  // critic on a green candidate
	PhasePublishing Phase = "publishing" // guard, push, clean room, pull request

	PhaseDone      Phase = "done"      // pull request ready, or the answer that nothing needs changing
	PhaseEscalated Phase = "escalated" // handed over to a person
	PhaseStopped   Phase = "stopped"   // by command, label or issue
	PhaseFailed    Phase = "failed"    // autocode itself could not go on
)

// transitions is the state machine: which phases may follow which. Every phase but an end may
// also go to escalated, stopped and failed; those arrows are added by CanFollow, not listed.
var transitions = map[Phase][]Phase{
	PhaseQueued: {PhasePreparing},
	// Coding follows at once where a retry brings spec and plan along, verifying for a re-run.
	PhasePreparing:  {PhaseSpecifying, PhaseCoding, PhaseVerifying},
	PhaseSpecifying: {PhaseClarifying, PhasePlanning, PhaseDone},
	PhaseClarifying: {PhaseSpecifying, PhaseCoding, PhasePublishing, PhaseClarifying},
	PhasePlanning:   {PhaseApproving, PhaseCoding, PhaseClarifying, PhaseDone},
	PhaseApproving:  {PhaseCoding, PhaseSpecifying, PhasePublishing, PhaseApproving},
	PhaseCoding:     {PhaseVerifying, PhaseCoding, PhaseClarifying, PhaseApproving, PhasePublishing, PhaseDone},
	PhaseVerifying:  {PhaseCoding, PhaseReviewing, PhasePublishing, PhaseVerifying, PhaseApproving},
	PhaseReviewing:  {PhaseCoding, PhasePublishing},
	// Publishing follows itself where what cannot be shown as ready is shown as a draft.
	PhasePublishing: {PhaseDone, PhaseApproving, PhaseCoding, PhasePublishing},

	// Only `/autocode resume` leads back from an end.
	PhaseEscalated: {PhaseQueued},
	PhaseStopped:   {PhaseQueued},
	PhaseFailed:    {PhaseQueued},
}

// Phases lists every phase in the order of the constants.
func Phases() []Phase {
	return []Phase{
		PhaseQueued, PhasePreparing, PhaseSpecifying, PhaseClarifying, PhasePlanning, PhaseApproving,
		PhaseCoding, PhaseVerifying, PhaseReviewing, PhasePublishing,
		PhaseDone, PhaseEscalated, PhaseStopped, PhaseFailed,
	}
}

// Ended says whether p is one of the four ends.
func (p Phase) Ended() bool {
	switch p {
	case PhaseDone, PhaseEscalated, PhaseStopped, PhaseFailed:
		return true
	case PhaseQueued, PhasePreparing, PhaseSpecifying, PhaseClarifying, PhasePlanning, PhaseApproving,
		PhaseCoding, PhaseVerifying, PhaseReviewing, PhasePublishing:
	}
	return false
}

// Waits says whether p waits for a person and holds no worker meanwhile.
func (p Phase) Waits() bool { return p == PhaseClarifying || p == PhaseApproving }

// Followers lists the phases that may follow p, the listed ones first.
func Followers(p Phase) []Phase {
	if p.Ended() {
		return slices.Clone(transitions[p])
	}
	return append(slices.Clone(transitions[p]), PhaseEscalated, PhaseStopped, PhaseFailed)
}

// CanFollow says whether the state machine has an arrow from one phase to another.
func CanFollow(from, to Phase) bool { return slices.Contains(Followers(from), to) }
