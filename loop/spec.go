package loop

import (
	"errors"
	"fmt"
)

// Kind is the kind of change that a task asks for; it chooses the recipe.
type Kind string

// The kinds of change.
const (
	KindBug        Kind = "bug"
	KindFeature    Kind = "feature"
	KindRefactor   Kind = "refactor"
	KindTests      Kind = "tests"
	KindDependency Kind = "dependency"
	KindDocs       Kind = "docs"
)

// Zone is how much harm a wrong change could do.
type Zone string

// The risk zones.
const (
	ZoneGreen Zone = "green" // unattended
	ZoneAmber Zone = "amber" // unattended, reviewed with care
	ZoneRed   Zone = "red"   // payment, authentication, secrets, production data, migrations: a plan, not a patch
)

// ProofKind is how a criterion is proved.
type ProofKind string

// The kinds of proof.
const (
	ProofRedGreen   ProofKind = "red-green"   // its test fails on the base for the right reason and passes on the head
	ProofGreenGreen ProofKind = "green-green" // behaviour tests pass on both (refactors, dependency bumps)
	ProofReview     ProofKind = "review"      // a person's or the critic's reading (docs)
	ProofNone       ProofKind = "none"        // unproved: the pull request stays a draft
)

// Criterion is one acceptance criterion.
type Criterion struct {
	ID    string `json:"id" yaml:"id"` // AC1, AC2, …
	Given string `json:"given" yaml:"given"`
	When  string `json:"when" yaml:"when"`
	Then  string `json:"then" yaml:"then"`
	// TestHook is the id of the test that proves the criterion, spelled as `autocode feedback`
	// prints it, with "dir//" before it below the root; empty where no test can (docs).
	// It may name a test that does not exist yet.
	TestHook string    `json:"test_hook" yaml:"test_hook"`
	Proof    ProofKind `json:"proof" yaml:"proof"`
}

// Spec is what autocode understood of a task: the content of spec.yaml.
type Spec struct {
	Schema      string      `json:"schema" yaml:"schema"` // autocode.spec/v1
	Goal        string      `json:"goal" yaml:"goal"`
	Kind        Kind        `json:"kind" yaml:"kind"`
	Criteria    []Criterion `json:"criteria" yaml:"criteria"`
	Constraints []string    `json:"constraints,omitempty" yaml:"constraints,omitempty"`
	OutOfScope  []string    `json:"out_of_scope,omitempty" yaml:"out_of_scope,omitempty"`
	// Questions that a person must answer before the work can start; empty when all is clear.
	Questions []Question `json:"questions,omitempty" yaml:"questions,omitempty"`
	Zone      Zone       `json:"zone" yaml:"zone"`
	ZoneWhy   string     `json:"zone_why" yaml:"zone_why"`
	// NothingToDo is set, with the reason, where the issue asks for nothing that is not so already.
	NothingToDo string `json:"nothing_to_do,omitempty" yaml:"nothing_to_do,omitempty"`
}

// Question is something only a person can answer.
type Question struct {
	Text    string   `json:"text" yaml:"text"`
	Choices []string `json:"choices,omitempty" yaml:"choices,omitempty"`
}

// SpecSchema names the version of Spec.
const SpecSchema = "autocode.spec/v1"

// Validate reports everything that is wrong with s, one error per fault, joined.
func (s Spec) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Schema != SpecSchema {
		fault("schema: is %q, must be %q", s.Schema, SpecSchema)
	}
	if s.Goal == "" {
		fault("goal: is empty; say in one sentence what will be different")
	}
	switch s.Kind {
	case KindBug, KindFeature, KindRefactor, KindTests, KindDependency, KindDocs:
	default:
		fault("kind: %q is not one of bug, feature, refactor, tests, dependency, docs", s.Kind)
	}
	switch s.Zone {
	case ZoneGreen, ZoneAmber, ZoneRed:
	default:
		fault("zone: %q is not one of green, amber, red", s.Zone)
	}
	if len(s.Criteria) == 0 && len(s.Questions) == 0 && s.NothingToDo == "" {
		fault("criteria: there are none, and no question that would lead to one")
	}
	seen := map[string]bool{}
	for i, c := range s.Criteria {
		if c.ID == "" || seen[c.ID] {
			fault("criteria[%d].id: %q is empty or used twice", i, c.ID)
		}
		seen[c.ID] = true
		if c.Then == "" {
			fault("criteria[%d].then: is empty; say what can be observed", i)
		}
		switch c.Proof {
		case ProofRedGreen, ProofGreenGreen, ProofReview:
		case ProofNone:
			fault("criteria[%d].proof: a criterion is asked for with red-green, green-green or review", i)
		default:
			fault("criteria[%d].proof: %q is not one of red-green, green-green, review", i, c.Proof)
		}
	}
	return errors.Join(faults...)
}
