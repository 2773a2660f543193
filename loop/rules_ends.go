package loop

// escalate builds a decision that hands over to a person, by way of publishing where there is a
// state worth showing.
func escalate(reason string) func(*Snapshot) Decision {
	return func(s *Snapshot) Decision { return end(s, ActionEscalate, PhaseEscalated, detail(s, reason)) }
}

// fail builds a decision that ends at once: there is nowhere to show anything.
func fail(reason string) func(*Snapshot) Decision {
	return func(s *Snapshot) Decision {
		return Decision{Action: ActionTerminate, Next: PhaseFailed, Ending: PhaseFailed, Reason: detail(s, reason)}
	}
}

// handOver ends at once: what could be shown is in somebody's way.
func handOver(s *Snapshot) Decision {
	return Decision{Action: ActionEscalate, Next: PhaseEscalated, Ending: PhaseEscalated, Reason: detail(s, "the branch is no longer autocode's alone")}
}

// needsWorkflows ends at once: nothing that holds these workflows can be pushed.
func needsWorkflows(s *Snapshot) Decision {
	return Decision{Action: ActionEscalate, Next: PhaseEscalated, Ending: PhaseEscalated, Reason: detail(s, "a person must push this")}
}

// giveUp ends a run that autocode cannot go on with; where publishing itself is at fault, at once.
func giveUp(s *Snapshot) Decision {
	if s.Phase == PhasePublishing {
		return fail("autocode could not go on")(s)
	}
	return end(s, ActionTerminate, PhaseFailed, detail(s, "autocode could not go on"))
}

// end goes to an end, by way of publishing where there is a state that the guard passed. A run that
// is bound for an end already goes there at once, so that publishing cannot lead to itself twice.
func end(s *Snapshot, action Action, ending Phase, reason string) Decision {
	d := Decision{Action: action, Next: ending, Ending: ending, Reason: reason}
	if s.worthShowing() && s.Ending == "" && CanFollow(s.Phase, PhasePublishing) {
		d.Next = PhasePublishing
	}
	return d
}

// worthShowing says whether there is a state that the guard passed and that people should see. What
// nothing verified is not put in the place of what an earlier run left on the branch.
func (s *Snapshot) worthShowing() bool {
	return s.Best >= 0 && (s.Run.From == "" || s.Rounds[s.Best].Verdict != nil)
}

// ruleStopped ends by a person's command: the best state is shown, also where the run was on its
// way to another end.
func ruleStopped(s *Snapshot) (Decision, bool) {
	if s.Last != ResultStop {
		return Decision{}, false
	}
	unbound := *s
	if s.Ending != PhaseStopped {
		unbound.Ending = ""
	}
	return end(&unbound, ActionTerminate, PhaseStopped, detail(s, "stopped")), true
}

func cancel(s *Snapshot) Decision {
	return Decision{Action: ActionTerminate, Next: PhaseStopped, Ending: PhaseStopped, Reason: detail(s, "no longer wanted")}
}

// ruleEnding ends a run that published its best state on the way.
func ruleEnding(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePublishing || s.Ending == "" {
		return Decision{}, false
	}
	d := Decision{Action: ActionTerminate, Next: s.Ending, Ending: s.Ending, Reason: s.Decision.Reason}
	if s.Ending == PhaseEscalated {
		d.Action = ActionEscalate
	}
	if s.Last != ResultOK && s.LastDetail != "" {
		d.Reason += ". " + s.LastDetail // why the best state is not to be seen
	}
	return d, true
}
