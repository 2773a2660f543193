package feedback

import "time"

// Status says how the run ended.
type Status string

const (
	StatusPass  Status = "pass"  // the tool did its job and is content
	StatusFail  Status = "fail"  // the tool did its job and reports failing tests or findings
	StatusError Status = "error" // the tool could not do its job: build, collection, installation, crash, kill
)

// Class says what kind of trouble it is, which decides who has to act.
type Class string

const (
	ClassCode           Class = "code"           // the repository's own files are wrong
	ClassEnvironment    Class = "environment"    // something the repository needs is absent here
	ClassTimeout        Class = "timeout"        // it took too long
	ClassOOM            Class = "oom"            // it was killed for its memory
	ClassFlaky          Class = "flaky"          // it failed and passed with the same code
	ClassInfrastructure Class = "infrastructure" // the machine itself broke: disk, runner, registry
	ClassNone           Class = "none"           // nothing is wrong
)

// Kind says what sort of failure an entry of a report is.
type Kind string

const (
	KindTest        Kind = "test"        // a test's assertion failed, or the test threw
	KindSetup       Kind = "setup"       // a fixture, hook or the collection of tests failed
	KindCompile     Kind = "compile"     // a compiler or parser refused a file
	KindLink        Kind = "link"        // a linker did not find or place something
	KindType        Kind = "type"        // a type checker's finding
	KindLint        Kind = "lint"        // a linter's or formatter's finding
	KindSecurity    Kind = "security"    // a finding about a vulnerability or a secret
	KindGate        Kind = "gate"        // all was green and a threshold was not reached
	KindConfig      Kind = "config"      // a tool refuses its configuration or arguments
	KindInstall     Kind = "install"     // dependencies could not be resolved or fetched
	KindEnvironment Kind = "environment" // a service, program or file of the machine is absent
	KindCrash       Kind = "crash"       // a program ended by an exception, panic or signal
	KindTimeout     Kind = "timeout"     // a limit of time was reached
	KindOOM         Kind = "oom"         // memory ran out
)

// Report is what a log says. Its JSON form is the contract of `autocode feedback`.
type Report struct {
	Tool      string    `json:"tool"`
	Status    Status    `json:"status"`
	Class     Class     `json:"class"`
	Rule      string    `json:"rule"`      // name of the rule that decided the class
	ExitCode  *int      `json:"exit_code"` // null when the caller does not know it
	Counts    Counts    `json:"counts"`
	Summary   string    `json:"summary"`   // one line, at most maxSummary characters
	Failures  []Failure `json:"failures"`  // ordered by likely cause, never null
	Omitted   int       `json:"omitted"`   // failures that the budget left out
	Truncated bool      `json:"truncated"` // the log was cut, or failures were left out
	Flaky     []string  `json:"flaky,omitempty"`
	Cases     []Case    `json:"-"` // every test case the log tells of; filled when Options.Cases is set
}

// Counts are the tool's own totals; nil means that the log does not tell.
// Failed includes errors, Skipped includes pending and todo.
type Counts struct {
	Passed  *int `json:"passed" jsonschema:"nullable"`
	Failed  *int `json:"failed" jsonschema:"nullable"`
	Skipped *int `json:"skipped" jsonschema:"nullable"`
}

// clone copies the numbers behind the pointers.
func (c Counts) clone() Counts {
	for _, p := range []**int{&c.Passed, &c.Failed, &c.Skipped} {
		if *p != nil {
			n := **p
			*p = &n
		}
	}
	return c
}

// Failure is one thing that is wrong.
type Failure struct {
	ID       string  `json:"id"`      // the test's name as the tool prints it, or the rule's code; empty where there is none
	File     string  `json:"file"`    // relative to Options.Root where it lies below it, with slashes; empty when not told
	Line     int     `json:"line"`    // from 1; 0 when not told
	Message  string  `json:"message"` // at most maxMessage characters, the assertion or error text first
	Expected *string `json:"expected" jsonschema:"nullable"`
	Actual   *string `json:"actual" jsonschema:"nullable"`
	Kind     Kind    `json:"kind"`
	Class    Class   `json:"class"`           // this failure's own class
	Log      int     `json:"log,omitempty"`   // line of the log where it starts, from 1: the anchor into the stored log
	Suite    string  `json:"suite,omitempty"` // the package or file in which ID is unique; empty where ID is unique in the log
	Tool     string  `json:"tool,omitempty"`  // the tool that reported it, where the log is of several tools

	rule string // the rule that decided Class
	// weak marks a consequence ("recipe failed", "lifecycle script failed"): it is left out where anything else
	// explains the failure.
	weak  bool
	inner bool // a part of a test case that the tool counts as one
	// flaky marks the failed attempt of a test that passed when it was tried again: it does not make a run red.
	flaky bool
}

// CaseStatus is the outcome of one test case.
type CaseStatus string

const (
	CasePassed  CaseStatus = "passed"
	CaseFailed  CaseStatus = "failed"
	CaseSkipped CaseStatus = "skipped"
)

// Case is one test case. Cases with the same Suite and ID in one log are merged: failed and passed in one run is Flaky with
// the last outcome as its status, durations are summed.
type Case struct {
	ID       string
	Suite    string // as in Failure
	File     string // empty when the log does not tell
	Status   CaseStatus
	Duration time.Duration // 0 when the log does not tell
	Flaky    bool
}
