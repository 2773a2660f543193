package loop

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Round is one coding → verifying cycle of a run.
type Round struct {
	Number   int      `json:"number"`
	Strategy Strategy `json:"strategy,omitempty"`
	Strong   bool     `json:"strong,omitempty"`
	// Parent is the commit that the round began from, Commit what it made; "" where it made none.
	Parent    string            `json:"parent"`
	Commit    string            `json:"commit,omitempty"`
	End       CodeEnd           `json:"end,omitempty"`
	RootCause string            `json:"root_cause,omitempty"`
	Files     []string          `json:"files,omitempty"`
	Why       map[string]string `json:"why,omitempty"`
	Message   string            `json:"message,omitempty"`
	// Remarks is what the coder said about the remarks of Run, by their numbers from 1.
	Remarks map[int]RemarkReply `json:"remarks,omitempty"`
	// Refused says why the candidate was thrown away before it was verified.
	Refused string `json:"refused,omitempty"`
	// Verdict of the candidate; nil where it was never verified.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Guard holds the findings on the candidate.
	Guard []Finding `json:"guard,omitempty"`
	// Hooks are the tests of criteria as they ended on the candidate, by the criterion's id; those
	// that the output did not name are left out.
	Hooks map[string]CaseStatus `json:"hooks,omitempty"`
	// Candidates are all solutions of a round that made several; the round's own fields are those of
	// the chosen one, whose number is Candidate. Choice says in a sentence why it was chosen.
	Candidates []Tried `json:"candidates,omitempty"`
	Candidate  int     `json:"candidate,omitempty"`
	Choice     string  `json:"choice,omitempty"`
	// RolledBack says that the round's commit was undone.
	RolledBack bool `json:"rolled_back,omitempty"`
	// Superseded says that somebody pushed to the branch meanwhile: the round's commit lacks what
	// they did and is shown no more.
	Superseded bool          `json:"superseded,omitempty"`
	Added      int           `json:"added,omitempty"`
	Removed    int           `json:"removed,omitempty"`
	Steps      int           `json:"steps,omitempty"`
	Duration   time.Duration `json:"duration_ns,omitempty"`
	At         time.Time     `json:"at"`
}

// Current is the round in progress or just ended; nil before the first.
func (s *Snapshot) Current() *Round {
	if len(s.Rounds) == 0 {
		return nil
	}
	return &s.Rounds[len(s.Rounds)-1]
}

// Shown is the round that made the candidate at Head, which need not be the current one: an earlier
// one may be the best. It is nil where none did.
func (s *Snapshot) Shown() *Round {
	for i := len(s.Rounds) - 1; i >= 0; i-- {
		if r := &s.Rounds[i]; r.Commit != "" && r.Commit == s.Head {
			return r
		}
	}
	return nil
}

// shownCandidate is the number of the current round's chosen candidate, 0 where it made one only.
func (s *Snapshot) shownCandidate() int {
	if c := s.Current(); c != nil {
		return c.Candidate
	}
	return 0
}

// line are the rounds whose commits lead to Head, oldest first.
func (s *Snapshot) line() []Round {
	var rounds []Round
	at := s.Head
	for _, r := range slices.Backward(s.Rounds) {
		if r.Commit != "" && r.Commit == at {
			rounds, at = append(rounds, r), r.Parent
		}
	}
	slices.Reverse(rounds)
	return rounds
}

// Outcome says in a line how a round came out: what refused it with rule and place, what is red,
// whether it was undone, and which criteria were proved.
func (r Round) Outcome() string {
	text := r.result()
	if r.RolledBack && r.Commit != "" {
		text += " (undone)"
	}
	if proof := r.proof(); proof != "" {
		text += "; " + proof
	}
	if r.Choice != "" {
		text += "; " + r.Choice
	}
	return text
}

func (r Round) result() string {
	switch v := r.Verdict; {
	case r.Refused != "":
		return "refused: " + r.Refused
	case v == nil && r.Commit != "":
		return "not verified"
	case v == nil:
		return "no candidate: " + firstSentence(r.Message, string(r.End))
	case v.Pass:
		return "green"
	case v.Blocked():
		text := "the guard refused it: " + v.blocking().String()
		if n := len(v.Failures()); n > 0 {
			text += fmt.Sprintf("; %d failure(s) besides", n)
		}
		return text
	case stagesPass(v) && len(v.Stages) > 0:
		return "green, but not proved"
	case len(v.Failures()) == 0:
		return firstFailure(v)
	default:
		return fmt.Sprintf("red, %d failure(s): %s", len(v.Failures()), v.Failures()[0].line())
	}
}

// proof says which criteria the clean room proved; before that, whose tests pass.
func (r Round) proof() string {
	if r.Verdict == nil {
		return ""
	}
	var parts []string
	for _, a := range r.Verdict.Acceptance {
		if a.Proof == ProofNone {
			parts = append(parts, a.ID+" unproved")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s proved (%s)", a.ID, a.Proof))
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	for id, status := range r.Hooks {
		switch status {
		case CasePassed:
			parts = append(parts, id+"'s test passes")
		case CaseFailed:
			parts = append(parts, id+"'s test fails")
		case CaseSkipped:
			parts = append(parts, id+"'s test is skipped")
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// hooks looks the criteria's tests up among the tests that ran.
func hooks(spec *Spec, cases map[string]CaseStatus) map[string]CaseStatus {
	if spec == nil {
		return nil
	}
	var found map[string]CaseStatus
	for _, c := range spec.Criteria {
		if status, ran := cases[c.TestHook]; ran && c.TestHook != "" {
			if found == nil {
				found = map[string]CaseStatus{}
			}
			found[c.ID] = status
		}
	}
	return found
}

// Change is one file of the final diff.
type Change struct {
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitempty"` // of a rename
	Op      FileOp `json:"op"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	// Why is the coder's own word for it, else the plan's; "" where nobody gave one.
	Why string `json:"why,omitempty"`
}

// changesOf lists the files of a diff with the reasons that the rounds which led to it gave, the
// newest first, or else the plan's.
func changesOf(diff Diff, rounds []Round, plan *Plan) []Change {
	var changes []Change
	for _, f := range diff.Files {
		c := Change{Path: f.Path, Op: f.Op, Why: whyOf(f, rounds, plan)}
		if f.OldPath != f.Path {
			c.OldPath = f.OldPath
		}
		c.Added, c.Removed = Diff{Files: []FileDiff{f}}.Count()
		changes = append(changes, c)
	}
	return changes
}

func whyOf(f FileDiff, rounds []Round, plan *Plan) string {
	for _, r := range slices.Backward(rounds) {
		for _, path := range []string{f.Path, f.OldPath} {
			if why := r.Why[path]; path != "" && why != "" {
				return why
			}
		}
	}
	if plan != nil {
		for _, step := range plan.Steps {
			if slices.Contains(step.Files, f.Path) {
				return step.Title
			}
		}
	}
	return ""
}
