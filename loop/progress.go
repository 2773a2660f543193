package loop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Stalled says whether the rounds make no progress, and why: the same failures at the same
// places twice running, or no fewer failures in two rounds than before them.
func Stalled(rounds []Round) (reason string, stalled bool) {
	var prints []string
	var counts []int
	for _, r := range rounds {
		if r.Verdict == nil {
			continue // it was refused; ruleSameRefusal watches those
		}
		prints = append(prints, Fingerprint(*r.Verdict))
		counts = append(counts, failureCount(*r.Verdict))
	}
	n := len(prints)
	if n >= 2 && prints[n-1] == prints[n-2] {
		return "the same failures at the same places twice", true
	}
	if n > stalledAfter && counts[n-1] >= counts[n-1-stalledAfter] && counts[n-2] >= counts[n-1-stalledAfter] {
		return fmt.Sprintf("no fewer failures in %d rounds (%d, then %d)", stalledAfter, counts[n-1-stalledAfter], counts[n-1]), true
	}
	return "", false
}

// failureCount counts what is red: failing tests where the log names them, else findings.
func failureCount(v Verdict) int {
	n := 0
	for _, st := range v.Stages {
		n += len(st.Errors)
		if st.Tests != nil {
			n += len(st.Tests.Failed)
		}
		if !st.NotRun && !st.Pass && len(st.Errors) == 0 && (st.Tests == nil || len(st.Tests.Failed) == 0) {
			n++
		}
	}
	for _, a := range v.Acceptance {
		if a.Proof == ProofNone {
			n++
		}
	}
	return n
}

// Fingerprint identifies what is red in a verdict, whatever the order and the numbers in the
// messages.
func Fingerprint(v Verdict) string {
	var parts []string
	for _, name := range Stages() {
		st, there := v.Stages[name]
		if !there || st.NotRun || st.Pass {
			continue
		}
		parts = append(parts, string(name))
		failures := st.Errors
		if st.Tests != nil {
			failures = append(slices.Clone(failures), st.Tests.Failures...)
		}
		for _, f := range failures {
			parts = append(parts, fmt.Sprintf("%s|%s|%d|%s", f.ID, f.File, f.Line, normalize(f.Message)))
		}
	}
	for _, a := range v.Acceptance {
		if a.Proof == ProofNone {
			parts = append(parts, "unproved|"+a.ID+"|"+string(a.Base)+"|"+string(a.Head))
		}
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "\n")
}

// variable matches what differs between two runs of the same failure: numbers, addresses, times.
var variable = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:ns|µs|us|ms|s)?`)

// normalize takes out of a message what changes from run to run, and cuts it to what identifies it.
func normalize(message string) string {
	const enough = 300 // bytes; what comes later are traces and diffs
	message = variable.ReplaceAllString(strings.Join(strings.Fields(message), " "), "#")
	if len(message) > enough {
		message = strings.ToValidUTF8(message[:enough], "")
	}
	return message
}

// rank orders rounds by how good their state is; a higher one is better. Rounds whose commit was
// refused, or that lack what a person pushed later, have no rank. One that the guard passed and that
// nothing verified yet (the time was up, a person stopped it) comes last: it is shown only where there
// is nothing else.
func rank(r Round) (score int, ok bool) {
	if r.Commit == "" || r.Superseded || r.Refused != "" || blocks(r.Guard) {
		return 0, false
	}
	if r.Verdict == nil {
		return -unverifiedWeight, true
	}
	if r.Verdict.Blocked() {
		return 0, false
	}
	score = -failureCount(*r.Verdict)
	score -= regressionWeight * len(r.Verdict.Regressions())
	if r.Verdict.Pass {
		score += passWeight
	}
	return score, true
}

// A pass outranks every number of failures; a regression is worse than any failure that was there
// before, so that a round which breaks something is not the best state unless nothing else is; what was
// not verified is worse than all that was.
const (
	passWeight       = 1_000_000
	regressionWeight = 1_000
	unverifiedWeight = 1_000_000_000
)

// best returns the index of the best round, -1 when no round can be shown to anybody. Of equals
// the later one wins: it has answered more feedback.
func best(rounds []Round) int {
	index, top := -1, 0
	for i, r := range rounds {
		score, ok := rank(r)
		if ok && (index < 0 || score >= top) {
			index, top = i, score
		}
	}
	return index
}
