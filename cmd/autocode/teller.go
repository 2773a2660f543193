package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/seed-7a986423/autocode/loop"
)

// teller tells a person at a terminal what happens: one line per decision, the failures of a red
// round, the proof of a green one.
type teller struct {
	out   io.Writer
	mutex sync.Mutex
	told  map[string]int // decisions told, by run
}

// Observe implements loop.Observer.
func (t *teller) Observe(s loop.Snapshot) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.told == nil {
		t.told = map[string]int{}
	}
	for ; t.told[s.Run.ID] < len(s.History); t.told[s.Run.ID]++ {
		d := s.History[t.told[s.Run.ID]]
		fmt.Fprintf(t.out, "%s  %-12s → %-12s %s  [%s]\n", d.At.Format("15:04:05"), d.From, d.Next, loop.Inline(d.Reason), d.Rule)
		if c := s.Current(); c != nil && d.From == loop.PhaseVerifying {
			t.tried(*c)
		}
		if d.From == loop.PhaseVerifying || d.From == loop.PhasePublishing && s.Verdict != nil {
			t.verdict(s)
		}
		if d.From == loop.PhaseCoding {
			t.coded(s)
		}
		if text := takesLong(d); text != "" {
			fmt.Fprintf(t.out, "          %s\n", text)
		}
	}
}

// takesLong says what the phase that begins does, where a person would else wait without a word.
func takesLong(d loop.Decision) string {
	switch d.Next {
	case loop.PhasePreparing:
		return "cloning, and verifying the base, so that old failures are told from new ones …"
	case loop.PhasePublishing:
		if d.Ending == "" {
			return "proving it in a clean room: a fresh clone, the tests of the criteria on base and head …"
		}
	case loop.PhaseQueued, loop.PhaseSpecifying, loop.PhaseClarifying, loop.PhasePlanning, loop.PhaseApproving, loop.PhaseCoding,
		loop.PhaseVerifying, loop.PhaseReviewing, loop.PhaseDone, loop.PhaseEscalated, loop.PhaseStopped, loop.PhaseFailed:
	}
	return ""
}

// coded prints what the coder made: one solution, or each of several that are verified next.
func (t *teller) coded(s loop.Snapshot) {
	if len(s.Candidates) > 0 {
		fmt.Fprintf(t.out, "          round %d: %d candidates\n", s.Candidates[0].Made.Number, len(s.Candidates))
		for _, c := range s.Candidates {
			text := fmt.Sprintf("%s (+%d -%d)", loop.Inline(c.Made.RootCause), c.Made.Added, c.Made.Removed)
			switch {
			case c.Same > 0:
				text = fmt.Sprintf("the same change as number %d", c.Same)
			case c.Result != loop.ResultOK:
				text = loop.Inline(c.Detail)
			}
			fmt.Fprintf(t.out, "            %s: %s\n", candidateName(c.Number, c.Variation), text)
		}
		return
	}
	c := s.Current()
	if c == nil {
		return
	}
	if c.RootCause != "" {
		fmt.Fprintf(t.out, "          round %d: %s\n", c.Number, loop.Inline(c.RootCause))
		fmt.Fprintf(t.out, "          files: %s (+%d -%d)\n", strings.Join(c.Files, ", "), c.Added, c.Removed)
	}
	t.tried(*c)
}

// tried prints how the candidates of a round came out and why one was chosen.
func (t *teller) tried(r loop.Round) {
	for _, c := range r.Candidates {
		mark := " "
		if c.Number == r.Candidate {
			mark = "→"
		}
		fmt.Fprintf(t.out, "          %s %s: %s\n", mark, candidateName(c.Number, c.Variation), loop.Inline(c.Outcome))
	}
	if r.Choice != "" {
		fmt.Fprintf(t.out, "          %s\n", loop.Inline(r.Choice))
	}
}

// candidateName is a candidate's number with what it was asked to do otherwise.
func candidateName(number int, variation loop.Variation) string {
	if variation == loop.VariationNone {
		return fmt.Sprintf("candidate %d", number)
	}
	return fmt.Sprintf("candidate %d (%s)", number, variation)
}

// verdict prints the stages and what is red, at most a screen.
func (t *teller) verdict(s loop.Snapshot) {
	c := s.Current()
	if c == nil || c.Verdict == nil {
		return
	}
	v := c.Verdict
	var stages []string
	for _, name := range loop.Stages() {
		st, there := v.Stages[name]
		switch {
		case !there:
		case st.NotRun:
			stages = append(stages, string(name)+" –")
		case st.Pass && st.Tests != nil && st.Tests.Passed > 0:
			stages = append(stages, fmt.Sprintf("%s ✓ (%d passed)", name, st.Tests.Passed))
		case st.Pass:
			stages = append(stages, string(name)+" ✓")
		case st.Tests != nil && len(st.Tests.Failed) > 0:
			stages = append(stages, fmt.Sprintf("%s ✗ (%d failed)", name, len(st.Tests.Failed)))
		default:
			stages = append(stages, string(name)+" ✗")
		}
	}
	fmt.Fprintf(t.out, "          %s\n", strings.Join(stages, "  "))
	const shown = 5
	for i, f := range v.Failures() {
		if i == shown {
			fmt.Fprintf(t.out, "            … and %d more\n", len(v.Failures())-shown)
			break
		}
		message, _, _ := strings.Cut(f.Message, "\n")
		fmt.Fprintf(t.out, "            ✗ %s:%d %s %s\n", f.File, f.Line, f.ID, loop.Inline(message))
	}
	for _, a := range v.Acceptance {
		fmt.Fprintf(t.out, "            %s: %s\n", a.ID, loop.ProofText(a))
	}
}
