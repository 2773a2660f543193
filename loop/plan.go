package loop

import (
	"errors"
	"fmt"
	"slices"
)

// PlanSchema names the version of Plan.
const PlanSchema = "autocode.plan/v1"

// Limits of one step of a plan: a larger step is split.
const (
	MaxStepTokens = 20_000
	MaxStepFiles  = 5
)

// Step is a node of the plan's graph.
type Step struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Files that the step will change or create, relative to the repository's root.
	Files          []string `json:"files"`
	DependsOn      []string `json:"depends_on"`
	Parallelizable bool     `json:"parallelizable"`
	// Acceptance names the criteria that the step serves.
	Acceptance  []string `json:"acceptance"`
	TokenBudget int      `json:"token_budget"`
	Risk        string   `json:"risk"`
	// Rollback says how the step is undone.
	Rollback string `json:"rollback_plan"`
	Minutes  int    `json:"estimated_minutes"`
}

// Plan is how the spec will be met: the content of plan.json.
type Plan struct {
	Schema string `json:"schema"` // autocode.plan/v1
	Steps  []Step `json:"steps"`
	// Impact lists callers and tests that the steps' files touch, as path or path:line.
	Impact []string `json:"impact,omitempty"`
}

// Files lists every file that the plan declares, sorted, each once.
func (p Plan) Files() []string {
	var files []string
	for _, s := range p.Steps {
		files = append(files, s.Files...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Validate reports everything that is wrong with p: unknown dependencies, cycles, steps over
// the limits, parallel steps that write the same file, unknown criteria.
func (p Plan) Validate(spec Spec) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if p.Schema != PlanSchema {
		fault("schema: is %q, must be %q", p.Schema, PlanSchema)
	}
	if len(p.Steps) == 0 {
		fault("steps: there are none")
	}
	criteria := map[string]bool{}
	for _, c := range spec.Criteria {
		criteria[c.ID] = true
	}
	byID := map[string]Step{}
	ordered := true // ids and dependencies make sense, so that a cycle is one
	for i, s := range p.Steps {
		if _, twice := byID[s.ID]; s.ID == "" || twice {
			fault("steps[%d].id: %q is empty or used twice", i, s.ID)
			ordered = false
		}
		byID[s.ID] = s
		if len(s.Files) > MaxStepFiles {
			fault("steps[%d].files: %d files, at most %d a step; split it", i, len(s.Files), MaxStepFiles)
		}
		if s.TokenBudget > MaxStepTokens {
			fault("steps[%d].token_budget: %d, at most %d a step; split it", i, s.TokenBudget, MaxStepTokens)
		}
		for _, a := range s.Acceptance {
			if !criteria[a] {
				fault("steps[%d].acceptance: the spec has no criterion %q", i, a)
			}
		}
	}
	for i, s := range p.Steps {
		for _, d := range s.DependsOn {
			if _, known := byID[d]; !known {
				fault("steps[%d].depends_on: there is no step %q", i, d)
				ordered = false
			}
		}
	}
	if _, acyclic := p.Order(); ordered && !acyclic {
		fault("steps: depends_on has a cycle")
	}
	for i, a := range p.Steps {
		for _, b := range p.Steps[i+1:] {
			if !a.Parallelizable || !b.Parallelizable || p.reaches(a.ID, b.ID) || p.reaches(b.ID, a.ID) {
				continue
			}
			for _, f := range a.Files {
				if slices.Contains(b.Files, f) {
					fault("steps %q and %q may run side by side but both write %s", a.ID, b.ID, f)
				}
			}
		}
	}
	return errors.Join(faults...)
}

// Order returns the steps so that each comes after those it depends on, otherwise in the
// plan's own order; acyclic is false when there is no such order.
func (p Plan) Order() (steps []Step, acyclic bool) {
	done := map[string]bool{}
	for len(steps) < len(p.Steps) {
		before := len(steps)
		for _, s := range p.Steps {
			if done[s.ID] || slices.ContainsFunc(s.DependsOn, func(d string) bool { return !done[d] }) {
				continue
			}
			done[s.ID] = true
			steps = append(steps, s)
		}
		if len(steps) == before {
			return steps, false
		}
	}
	return steps, true
}

// reaches says whether step from depends on step to, directly or through others.
func (p Plan) reaches(from, to string) bool {
	seen := map[string]bool{}
	var walk func(id string) bool
	walk = func(id string) bool {
		if seen[id] {
			return false
		}
		seen[id] = true
		for _, s := range p.Steps {
			if s.ID == id {
				return slices.ContainsFunc(s.DependsOn, func(d string) bool { return d == to || walk(d) })
			}
		}
		return false
	}
	return walk(from)
}
