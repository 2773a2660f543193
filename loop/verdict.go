package loop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/feedback"
)

// VerdictSchema names the version of Verdict.
const VerdictSchema = "autocode.verify/v1"

// StageName is a layer of the verification pyramid.
type StageName string

// The stages, cheap ones first.
const (
	StageEnvironment StageName = "environment"
	StageCompile     StageName = "compile"
	StageLint        StageName = "lint"
	StageTypes       StageName = "types"
	StageUnit        StageName = "unit"
	StageCoverage    StageName = "coverage"
	StageIntegration StageName = "integration"
	StageE2E         StageName = "e2e"
	StageSecurity    StageName = "security"
)

// Stages lists the stages in the order in which they run.
func Stages() []StageName {
	return []StageName{
		StageEnvironment, StageCompile, StageLint, StageTypes, StageUnit,
		StageCoverage, StageIntegration, StageE2E, StageSecurity,
	}
}

// Class is what kind of trouble a red verdict is; it chooses the repair strategy.
type Class = feedback.Class

// Failure is one failing case or finding. Its JSON is that of verify.json: "msg" is the message.
type Failure struct {
	ID       string `json:"id,omitempty"`
	File     string `json:"file,omitempty"` // relative to the repository's root
	Line     int    `json:"line,omitempty"` // from 1; 0 where it is not known
	Message  string `json:"msg"`
	Rule     string `json:"rule,omitempty"`
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	Kind     string `json:"kind,omitempty"`
}

// line is the failure in one line: what failed and how.
func (f Failure) line() string {
	text, _, _ := strings.Cut(strings.TrimSpace(f.Message), "\n")
	switch {
	case f.ID != "":
		return f.ID + ": " + text
	case f.File != "":
		return place(f.File, f.Line) + ": " + text
	default:
		return text
	}
}

// Stage is the outcome of one layer. A stage that did not run is written as
// {"skipped": true, "reason": "…"} and nothing else.
type Stage struct {
	Pass bool `json:"pass"`
	// NotRun says that the stage was left out; Reason says why.
	NotRun bool `json:"-"`
	// Reason says why a stage did not run, why one without a failing case is red, or what a green one falls short of.
	Reason     string `json:"reason,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Command    string `json:"command,omitempty"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	Tool       string `json:"tool,omitempty"`

	// Errors are findings of the environment, compile, lint, types and security stages.
	Errors []Failure `json:"errors,omitempty"`

	// Tests is set by stages that run tests.
	*Tests

	// Total, Changed and Threshold are percentages of the coverage stage.
	Total     *float64 `json:"total,omitempty"`
	Changed   *float64 `json:"changed,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`

	// Parts is set in a monorepo: the same per directory and tool; the totals above are sums.
	Parts []Part `json:"parts,omitempty"`
}

// NoTestRuns says whether the command of the tests ends in failure before any test is run: a build step that lacks
// something here.
func (v *Verdict) NoTestRuns() bool {
	unit, there := v.Stages[StageUnit]
	if !there || unit.NotRun || unit.Tests == nil || unit.Passed+unit.Skipped > 0 {
		return false
	}
	failed := func(code *int) bool { return code != nil && *code != 0 }
	return failed(unit.ExitCode) || slices.ContainsFunc(unit.Parts, func(p Part) bool { return failed(p.ExitCode) })
}

// Tests is the share of a stage that runs tests. The lists hold test ids.
type Tests struct {
	Passed      int       `json:"passed"`
	Failed      []string  `json:"failed"`
	Skipped     int       `json:"skipped"`
	Failures    []Failure `json:"failures"`
	Regressions []string  `json:"regressions"` // passed on the base
	Fixed       []string  `json:"fixed"`       // failed on the base
	Preexisting []string  `json:"preexisting"` // failed on the base already
	Flaky       []string  `json:"flaky"`       // changed colour in a rerun
	// Altered lists tests that pass only since the change altered them: as they were on the base
	// they fail on the head. They are for a reader's eye.
	Altered []string `json:"altered,omitempty"`
}

// notRun is the JSON of a stage that did not run.
type notRun struct {
	Skipped bool   `json:"skipped"`
	Reason  string `json:"reason"`
}

// MarshalJSON writes a stage that did not run in its short form.
func (s Stage) MarshalJSON() ([]byte, error) {
	if s.NotRun {
		return json.Marshal(notRun{Skipped: true, Reason: s.Reason})
	}
	type plain Stage
	return json.Marshal(plain(s))
}

// UnmarshalJSON reads both forms.
func (s *Stage) UnmarshalJSON(data []byte) error {
	var short struct {
		Skipped json.RawMessage `json:"skipped"`
		Reason  string          `json:"reason"`
	}
	if err := json.Unmarshal(data, &short); err != nil {
		return err
	}
	if string(short.Skipped) == "true" {
		*s = Stage{NotRun: true, Reason: short.Reason}
		return nil
	}
	type plain Stage
	return json.Unmarshal(data, (*plain)(s))
}

// Part is one directory's share of a stage.
type Part struct {
	Dir        string   `json:"dir"`
	Tool       string   `json:"tool"`
	Pass       bool     `json:"pass"`
	Command    string   `json:"command,omitempty"`
	ExitCode   *int     `json:"exit_code,omitempty"`
	DurationMS int64    `json:"duration_ms,omitempty"`
	Passed     int      `json:"passed,omitempty"`
	Failed     []string `json:"failed,omitempty"`
	Skipped    int      `json:"skipped,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// ProofState is how a criterion's test ended on one side.
type ProofState string

// The ends of a criterion's test.
const (
	ProofPass    ProofState = "pass"
	ProofFail    ProofState = "fail"
	ProofError   ProofState = "error"   // it did not fail for the right reason: it could not run
	ProofMissing ProofState = "missing" // there is no such test
)

// Acceptance is the proof of one criterion.
type Acceptance struct {
	ID    string     `json:"id"`
	Proof ProofKind  `json:"proof"` // what was reached; none when it was not
	Hook  string     `json:"hook,omitempty"`
	Base  ProofState `json:"base,omitempty"`
	Head  ProofState `json:"head,omitempty"`
	// Note says in a sentence why a proof was not reached, or quotes the assertion that failed on the base.
	Note string `json:"note,omitempty"`
}

// Severity is what a guard's finding does.
type Severity string

// The severities of findings.
const (
	SeverityBlock   Severity = "block"   // the change is refused
	SeverityApprove Severity = "approve" // a person must approve before anything is pushed
	SeverityNote    Severity = "note"    // it is shown
)

// Finding is something that the guard saw in the diff.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"`
	Message  string   `json:"msg"`
}

// String is rule: message (file:line).
func (f Finding) String() string {
	text := f.Rule + ": " + f.Message
	if f.File != "" {
		text += " (" + place(f.File, f.Line) + ")"
	}
	return text
}

// Verdict is what a machine verified: the content of verify.json.
type Verdict struct {
	Schema     string              `json:"schema"` // autocode.verify/v1
	Task       string              `json:"task,omitempty"`
	Run        string              `json:"run,omitempty"`
	Round      int                 `json:"round,omitempty"`
	Base       string              `json:"base,omitempty"`
	Head       string              `json:"head,omitempty"`
	Pass       bool                `json:"pass"`
	CleanRoom  bool                `json:"clean_room,omitempty"`
	Stages     map[StageName]Stage `json:"stages"`
	Acceptance []Acceptance        `json:"acceptance"`
	Guard      []Finding           `json:"guard"`
	Class      Class               `json:"class"`
	// ClassRule names the rule that decided the class.
	ClassRule  string `json:"class_rule,omitempty"`
	NextAction string `json:"next_action"`
	// Prompts is the version of the prompts that the candidate was made with.
	Prompts string `json:"prompts,omitempty"`
}

// CaseStatus is how a single test ended.
type CaseStatus string

// The ends of a single test.
const (
	CasePassed  CaseStatus = "passed"
	CaseFailed  CaseStatus = "failed"
	CaseSkipped CaseStatus = "skipped"
)

// Outcome is a verdict with every single test behind it, by id, so that a later verdict can be
// compared with it test by test. Logs names the stored raw output per stage.
type Outcome struct {
	Verdict Verdict               `json:"verdict"`
	Cases   map[string]CaseStatus `json:"cases"`
	Logs    map[string][]byte     `json:"-"`
}

// Complete says whether the cases name (nearly) all tests that the tools say passed. Where they do
// not, the absence of a test from Cases proves nothing. Tests of the same name are one case, hence
// "nearly".
func (o Outcome) Complete() bool {
	const enough = 0.9
	named, total := 0, o.Passed()
	for _, status := range o.Cases {
		if status == CasePassed {
			named++
		}
	}
	return float64(named) >= enough*float64(total)
}

// Passed is how many tests passed, over all stages.
func (o Outcome) Passed() int {
	total := 0
	for _, st := range o.Verdict.Stages {
		if st.Tests != nil {
			total += st.Tests.Passed
		}
	}
	return total
}

// NoTests says whether no test ran at all.
func (o Outcome) NoTests() bool { return len(o.Cases) == 0 }

// Failures lists every failure of the red stages, in the order of the pyramid. What a green stage
// still tells (a test that failed before) is not in it.
func (v Verdict) Failures() []Failure {
	var all []Failure
	for _, name := range Stages() {
		s := v.Stages[name]
		if s.Pass {
			continue
		}
		all = append(all, s.Errors...)
		if s.Tests != nil {
			all = append(all, s.Tests.Failures...)
		}
	}
	return all
}

// Regressions lists the tests that passed on the base and fail now, over all stages.
func (v Verdict) Regressions() []string {
	var all []string
	for _, name := range Stages() {
		if t := v.Stages[name].Tests; t != nil {
			all = append(all, t.Regressions...)
		}
	}
	return all
}

// blocking is the first finding that refuses the change; the zero value where there is none.
func (v Verdict) blocking() Finding { return blocking(v.Guard) }

func blocking(findings []Finding) Finding {
	for _, f := range findings {
		if f.Severity == SeverityBlock {
			return f
		}
	}
	return Finding{}
}

// Blocked says whether the guard found something that refuses the change.
func (v Verdict) Blocked() bool {
	return slices.ContainsFunc(v.Guard, func(f Finding) bool { return f.Severity == SeverityBlock })
}
