package loop

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// severalCandidates is how many solutions a round makes after a failed one where nobody says
// otherwise: what differs in three ways rarely fails in all.
const severalCandidates = 3

// MaxCandidates bounds what a configuration may ask for: there is a variation for each.
const MaxCandidates = 5

// Variation is what a candidate is asked to do otherwise than the others of its round, so that they
// differ; the coder's prompt has a line for each.
type Variation string

// The variations. The first candidate has none: it is what a round of one candidate would make.
const (
	VariationNone   Variation = ""
	VariationLeast  Variation = "least"  // the fewest changed lines
	VariationCause  Variation = "cause"  // another idea of where the cause lies
	VariationDesign Variation = "design" // the clearest code, also where that takes more lines
	VariationEdges  Variation = "edges"  // from the inputs at the edges
)

// Variations lists them in the order of a round's candidates.
func Variations() []Variation {
	return []Variation{VariationNone, VariationLeast, VariationCause, VariationDesign, VariationEdges}
}

// temperature is how freely a candidate's model speaks, nil: as configured. The further from the first
// candidate, the freer; more than 1 makes code that does not parse.
func (v Variation) temperature() *float64 {
	var t float64
	switch v {
	case VariationNone:
		return nil
	case VariationLeast:
		t = 0.4
	case VariationCause:
		t = 0.7
	case VariationDesign:
		t = 0.9
	case VariationEdges:
		t = 1
	}
	return &t
}

// Candidate is one of several solutions of the round in progress, as far as it got.
type Candidate struct {
	Number    int       `json:"number"` // from 1
	Variation Variation `json:"variation,omitempty"`
	// Made is the round as it would be with this candidate.
	Made Round `json:"made"`
	// Result and Detail say how its coding came out; ResultLimit and ResultModelDown, that it could
	// not be made.
	Result Result `json:"result"`
	Detail string `json:"detail,omitempty"`
	// Question is what its coder asks of a person.
	Question *Question `json:"question,omitempty"`
	// Change identifies the diff from the base; Same is the number of an earlier candidate with the
	// same one, which is not verified again.
	Change string `json:"change,omitempty"`
	Same   int    `json:"same,omitempty"`
	// Measure is what it is chosen by, once it was verified.
	Measure *Measure `json:"measure,omitempty"`
}

// refuse notes why a candidate is thrown away before it is verified.
func (c *Candidate) refuse(why string) error {
	c.Result, c.Detail, c.Made.Refused = ResultRefused, why, why
	return nil
}

// Tried is what is remembered of a candidate once its round has chosen.
type Tried struct {
	Number    int       `json:"number"`
	Variation Variation `json:"variation,omitempty"`
	Commit    string    `json:"commit,omitempty"`
	RootCause string    `json:"root_cause,omitempty"`
	Outcome   string    `json:"outcome"`
	Measure   *Measure  `json:"measure,omitempty"`
}

// changeID identifies what a diff does.
func changeID(diff Diff) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(diff.Patch))) }

// candidatesWanted is how many solutions the round that begins should make: one, but several for a
// refactoring and after a round whose verification was red for reasons of the code. Findings that
// name what to change (lint, guard, review, missing tests) have one answer.
func candidatesWanted(s *Snapshot) int {
	several := 1
	switch s.Strategy {
	case StrategyImplement:
		several = RecipeOf(specKind(s.Spec)).Candidates
	case StrategyFixCompile, StrategyFixTests, StrategyRegression, StrategyTimeout, StrategyMemory, StrategyRethink:
		several = severalCandidates
	case StrategyFixLint, StrategyRefused, StrategyGuard, StrategyReview, StrategyProve, StrategyCoverage,
		StrategyEnvironment, StrategyFlaky, StrategyFollowUp:
	}
	if several <= 1 {
		return 1
	}
	return min(cmp.Or(s.Config.Candidates, several), MaxCandidates)
}

// callsPerCandidate is what a candidate is reckoned at, in calls of the run's mean size: a look, a reply
// and a correction.
const callsPerCandidate = 3

// affordable is how many of the wanted candidates the limits allow: what they are likely to take must
// leave enough for one more round of one candidate. One may always be tried; its calls are checked
// one by one. The longest coding so far is what a candidate is reckoned at in time, as though one were
// made after another.
func affordable(wanted int, l Limits, s Spending, rounds []Round) int {
	var longest time.Duration
	for _, r := range rounds {
		longest = max(longest, r.Duration)
	}
	var mean Spent
	if n := s.Run.ModelCalls; n > 0 {
		mean.Tokens, mean.USD = s.Run.Tokens/n, s.Run.USD/float64(n)
	}
	for n := wanted; n > 1; n-- {
		calls := (n + 1) * callsPerCandidate
		more := Spent{ModelCalls: calls, Tokens: calls * mean.Tokens, USD: float64(calls) * mean.USD, Wall: longest * time.Duration(n+1)}
		if l.Check(s.plus(more)) == nil {
			return n
		}
	}
	return 1
}

// Measure is what candidates are compared by. All but Green are better when they are smaller.
type Measure struct {
	Green   bool `json:"green"`
	Blocked bool `json:"blocked,omitempty"` // by the guard
	// Regressions and Failures count what is red.
	Regressions int `json:"regressions,omitempty"`
	Failures    int `json:"failures,omitempty"`
	// Risk weighs what a reader must look at twice: findings of the guard and altered tests.
	Risk int `json:"risk"`
	// Complexity is how many branches the change adds outside of tests; below 0 where it removes some.
	Complexity int `json:"complexity"`
	// Lines are those added and removed.
	Lines int `json:"lines"`
}

// The weights of risk: what needs a person's approval outweighs all that is merely noted, and a test
// that was there before and was altered outweighs a note.
const (
	approvalRisk = 100
	alteredRisk  = 10
	noteRisk     = 1
)

// measure measures a verified candidate.
func measure(v Verdict, diff Diff) *Measure {
	added, removed := diff.Count()
	m := &Measure{Green: v.Pass, Blocked: v.Blocked(), Complexity: complexity(diff), Lines: added + removed}
	if !v.Pass {
		m.Regressions, m.Failures = len(v.Regressions()), failureCount(v)
	}
	for _, f := range v.Guard {
		switch f.Severity {
		case SeverityApprove:
			m.Risk += approvalRisk
		case SeverityNote:
			m.Risk += noteRisk
		case SeverityBlock: // it is not chosen for another reason
		}
	}
	for _, st := range v.Stages {
		if st.Tests != nil {
			m.Risk += alteredRisk * len(st.Tests.Altered)
		}
	}
	return m
}

// branching matches what makes code branch, in the languages that are common; what stands in strings and
// comments is taken out before.
var (
	branching = regexp.MustCompile(`\b(?:if|elif|elsif|unless|for|foreach|while|until|case|when|match|catch|except|rescue|and|or)\b|&&|\|\||\?\?`)
	unspoken  = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|//.*|(?:^|\\s)#.*|/\\*.*?\\*/|^\\s*\\*.*")
	testPath  = regexp.MustCompile(`(?i:(?:^|[/_.-])(?:tests?|specs?|testdata|__tests__)(?:[/_.-]|$))|[a-z](?:Test|Tests|Spec)\.[A-Za-z]+$`)
)

// complexity counts the branches that a diff adds, less those that it removes, outside of tests. It reads
// lines, not syntax trees: candidates of one round are in one language, and a count that errs alike for
// all of them still ranks them.
func complexity(diff Diff) int {
	n := 0
	for _, f := range diff.Files {
		if testPath.MatchString(f.Path) {
			continue
		}
		for _, l := range f.Lines {
			branches := len(branching.FindAllString(unspoken.ReplaceAllString(l.Text, " "), -1))
			switch l.Op {
			case LineAdded:
				n += branches
			case LineRemoved:
				n -= branches
			case LineContext:
			}
		}
	}
	return n
}

// criterion is one thing that candidates are compared by: the smaller value is better.
type criterion struct {
	name  string
	value func(Measure) int
	unit  string
}

// ranking lists what candidates are compared by, the weightiest first.
func ranking() []criterion {
	worse := func(bad bool) int {
		if bad {
			return 1
		}
		return 0
	}
	return []criterion{
		{"it alone is green", func(m Measure) int { return worse(!m.Green) }, ""},
		{"the guard blocks the others", func(m Measure) int { return worse(m.Blocked) }, ""},
		{"it has the fewest regressions", func(m Measure) int { return m.Regressions }, "regression(s)"},
		{"it has the fewest failures", func(m Measure) int { return m.Failures }, "failure(s)"},
		{"it has the smallest risk", func(m Measure) int { return m.Risk }, "point(s) of risk"},
		{"it is the simplest", func(m Measure) int { return m.Complexity }, "more branches than before"},
		{"it is the smallest", func(m Measure) int { return m.Lines }, "changed line(s)"},
	}
}

// Choose picks the candidate that the round goes on with, and says why. Of those that were verified the
// best by the ranking wins, of equals the first. Where none was verified it is the first that has the
// most to say to a person or to the next round. The index is -1 where there is no candidate.
func Choose(candidates []Candidate) (index int, why string) {
	index = -1
	for i, c := range candidates {
		if c.Measure != nil && (index < 0 || better(*c.Measure, *candidates[index].Measure)) {
			index = i
		}
	}
	if index < 0 {
		return unverifiedChoice(candidates), fmt.Sprintf("none of %d candidates could be verified", len(candidates))
	}
	return index, choiceText(candidates, index)
}

// better says whether a measure ranks before another.
func better(a, b Measure) bool {
	for _, c := range ranking() {
		if x, y := c.value(a), c.value(b); x != y {
			return x < y
		}
	}
	return false
}

// unverifiedChoice finds, among candidates of which none came to the verification, the one to go on with: a
// change that was refused says more than a question, and a question more than giving up.
func unverifiedChoice(candidates []Candidate) int {
	is := func(result Result) func(Candidate) bool {
		return func(c Candidate) bool { return c.Result == result }
	}
	for _, fits := range []func(Candidate) bool{
		is(ResultOK), // what the guard passed, where time or a person ended the round
		func(c Candidate) bool { return c.Result == ResultRefused && c.Made.Commit != "" },
		is(ResultQuestion), is(ResultApproval), is(ResultNothing), is(ResultRefused), is(ResultGaveUp), is(ResultStalled), is(ResultError),
	} {
		if i := slices.IndexFunc(candidates, fits); i >= 0 {
			return i
		}
	}
	return -1
}

// choiceText says how many of the candidates were green, and what decided between the chosen one and
// the next best.
func choiceText(candidates []Candidate, chosen int) string {
	greens, next := 0, -1
	for i, c := range candidates {
		if c.Measure == nil {
			continue
		}
		if c.Measure.Green {
			greens++
		}
		if i != chosen && (next < 0 || better(*c.Measure, *candidates[next].Measure)) {
			next = i
		}
	}
	text := fmt.Sprintf("%d of %d candidates %s green; number %d was chosen because ",
		greens, len(candidates), wasWere(greens), candidates[chosen].Number)
	if greens == 0 {
		text = fmt.Sprintf("none of %d candidates was green; number %d goes on because ", len(candidates), candidates[chosen].Number)
	}
	if next < 0 {
		return text + otherwise(candidates, chosen)
	}
	a, b := *candidates[chosen].Measure, *candidates[next].Measure
	for _, c := range ranking() {
		x, y := c.value(a), c.value(b)
		switch {
		case x == y:
		case c.unit == "":
			return text + c.name
		default:
			return text + fmt.Sprintf("%s (%d %s against %d)", c.name, x, c.unit, y)
		}
	}
	return text + "it is the first of equals"
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// otherwise says why only one candidate was verified.
func otherwise(candidates []Candidate, chosen int) string {
	var same, rest []string
	for i, c := range candidates {
		switch {
		case i == chosen:
		case c.Same > 0:
			same = append(same, fmt.Sprint(c.Number))
		default:
			rest = append(rest, fmt.Sprint(c.Number))
		}
	}
	switch {
	case len(rest) == 0 && len(same) > 0:
		return "the others made the same change"
	case len(rest) > 0 && len(same) == 0:
		return "no other came to the verification"
	case len(rest) > 0:
		return fmt.Sprintf("number %s made the same change and number %s did not come to the verification", strings.Join(same, ", "), strings.Join(rest, ", "))
	}
	return "there is no other"
}

// tried sums the candidates of a round up.
func tried(candidates []Candidate) []Tried {
	var list []Tried
	for _, c := range candidates {
		t := Tried{
			Number: c.Number, Variation: c.Variation, Commit: c.Made.Commit, RootCause: c.Made.RootCause, Outcome: c.Made.Outcome(), Measure: c.Measure,
		}
		switch {
		case c.Same > 0:
			t.Outcome = fmt.Sprintf("the same change as number %d", c.Same)
		case c.Result == ResultLimit || c.Result == ResultModelDown:
			t.Outcome = "not made: " + c.Detail
		}
		list = append(list, t)
	}
	return list
}

// dropStaleCandidates forgets the candidates of a round that is not the one in progress: somebody
// pushed meanwhile, or the base was merged in.
func (s *Snapshot) dropStaleCandidates() {
	fresh := slices.DeleteFunc(slices.Clone(s.Candidates), func(c Candidate) bool {
		return c.Made.Parent != s.Head || c.Made.Number != len(s.Rounds)+1
	})
	s.Candidates = fresh
}

// candidate finds one of the round in progress by its number.
func (s *Snapshot) candidate(number int) *Candidate {
	for i := range s.Candidates {
		if s.Candidates[i].Number == number {
			return &s.Candidates[i]
		}
	}
	return nil
}
