package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

// Planner asks a model for spec and plan in one call.
type Planner struct{ config Config }

var _ loop.Planner = (*Planner)(nil)

// NewPlanner returns a planner.
func NewPlanner(config Config) *Planner { return &Planner{config: config.withDefaults()} }

const (
	purposeSpec = "spec"
	purposePlan = "plan"
)

// Specify returns a valid spec and, unvalidated, the plan that came with it.
func (p *Planner) Specify(ctx context.Context, request loop.SpecRequest) (loop.Spec, *loop.Plan, error) {
	s, err := newSurvey(ctx, request.Index, request.Tree)
	if err != nil {
		return loop.Spec{}, nil, err
	}
	var spec loop.Spec
	var plan *loop.Plan
	err = shrinking(p.config.PlannerBudget, func(budget int) error {
		code, repo, err := p.look(ctx, s, request, budget)
		if err != nil {
			return err
		}
		prompt, err := prompts.Spec(prompts.SpecData{
			Issue: prompts.NewIssue(request.Task, request.Run, request.Answers),
			Repo:  repo, Code: code, Previous: request.Previous, Faults: request.Faults,
		})
		if err != nil {
			return err
		}
		shown := false
		return structured(ctx, request.Model, loop.ModelRequest{
			Role: loop.RolePlanner, Purpose: purposeSpec, Schema: specSchema(), SchemaName: "spec",
		}, prompt, func(raw json.RawMessage) (faulty, error) {
			if wanted := needOf(raw); len(wanted) > 0 && !shown {
				shown = true
				more, err := s.need(ctx, wanted, budget/needShare)
				return faulty{more: more}, err
			}
			var faults []string
			spec, plan, faults = specOf(raw, len(request.Answers))
			return faulty{faults: faults}, nil
		})
	})
	return spec, plan, err
}

// look gathers what a planner is shown, with a budget of tokens for code.
func (p *Planner) look(ctx context.Context, s *survey, request loop.SpecRequest, budget int) (string, prompts.Repository, error) {
	query := issueText(request.Task, request.Run, request.Answers)
	code, ranked, err := s.pack(ctx, query, nil, budget)
	if err != nil {
		return "", prompts.Repository{}, err
	}
	memory, err := s.memory(ctx, ranked)
	if err != nil {
		return "", prompts.Repository{}, err
	}
	return code, prompts.Repository{
		Tests: verifiedBy(request.Baseline), TestIDs: likelyIDs(request.Baseline, query+" "+strings.Join(ranked, " ")),
		Red: redOnBase(request.Baseline), NoTestRuns: request.Baseline != nil && request.Baseline.Verdict.NoTestRuns(), Memory: memory, Lessons: prompts.Cut(request.Lessons, maxLessons), Files: withTests(s, ranked),
	}, nil
}

// withTests lists ranked files with the tests that belong to them.
func withTests(s *survey, ranked []string) []string {
	const perFile = 2 // a source file with more test files than that is rare
	var list []string
	add := func(p string) {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, p := range ranked {
		add(p)
		tests := s.companions(p)
		for _, t := range tests[:min(len(tests), perFile)] {
			add(t)
		}
	}
	return list
}

// specReply is the object of specSchema.
type specReply struct {
	Goal        string           `json:"goal"`
	Kind        loop.Kind        `json:"kind"`
	Criteria    []loop.Criterion `json:"criteria"`
	Constraints []string         `json:"constraints"`
	OutOfScope  []string         `json:"out_of_scope"`
	Questions   []loop.Question  `json:"questions"`
	Zone        loop.Zone        `json:"zone"`
	ZoneWhy     string           `json:"zone_why"`
	NothingToDo string           `json:"nothing_to_do"`
	Steps       []loop.Step      `json:"steps"`
	Need        []string         `json:"need"`
}

const (
	// maxCriteria is where a spec stops being one task; four are asked for.
	maxCriteria = 6
	// maxAnswered is after how many answers no further question is accepted.
	maxAnswered = 2
)

// specOf makes a spec of a reply, tidied where only one thing can be meant, and lists its faults.
func specOf(raw json.RawMessage, answered int) (loop.Spec, *loop.Plan, []string) {
	var r specReply
	if err := json.Unmarshal(raw, &r); err != nil {
		return loop.Spec{}, nil, []string{err.Error()}
	}
	spec := loop.Spec{
		Schema: loop.SpecSchema, Goal: strings.TrimSpace(r.Goal), Kind: r.Kind,
		Constraints: filled(r.Constraints), OutOfScope: filled(r.OutOfScope),
		Zone: r.Zone, ZoneWhy: r.ZoneWhy, NothingToDo: nothing(r.NothingToDo),
	}
	renamed := map[string]string{}
	for _, c := range r.Criteria {
		if strings.TrimSpace(c.Then) == "" && strings.TrimSpace(c.TestHook) == "" {
			continue
		}
		id := fmt.Sprintf("AC%d", len(spec.Criteria)+1)
		renamed[c.ID], c.ID = id, id
		c.TestHook = strings.Trim(strings.TrimSpace(c.TestHook), "`'\"")
		recipe := loop.RecipeOf(r.Kind)
		c.Proof = recipe.Proves(c.Proof)
		if c.TestHook == "" && !recipe.Provable(c) && recipe.Proof == loop.ProofReview {
			c.Proof = loop.ProofReview
		}
		spec.Criteria = append(spec.Criteria, c)
	}
	for i := range r.Steps {
		for j, id := range r.Steps[i].Acceptance {
			if now, known := renamed[id]; known {
				r.Steps[i].Acceptance[j] = now
			}
		}
	}
	for _, q := range r.Questions {
		q.Text = strings.TrimSpace(q.Text)
		switch {
		case q.Text == "":
		case len(spec.Criteria) > 0:
			// A spec with a criterion can be worked on; the question is kept as what it leaves open.
			spec.Constraints = append(spec.Constraints, "not settled by the issue: "+q.Text)
		default:
			q.Choices = filled(q.Choices)
			spec.Questions = append(spec.Questions, q)
		}
	}
	faults := specFaults(spec, answered)
	var plan *loop.Plan
	if len(r.Steps) > 0 {
		plan = &loop.Plan{Schema: loop.PlanSchema, Steps: r.Steps}
	}
	return spec, plan, faults
}

// specFaults lists what is wrong with a tidied spec.
func specFaults(spec loop.Spec, answered int) []string {
	var faults []string
	for _, err := range split(spec.Validate()) {
		faults = append(faults, err.Error())
	}
	if len(spec.Criteria) > maxCriteria {
		faults = append(faults, fmt.Sprintf("criteria: there are %d; keep the at most 4 that the issue is about", len(spec.Criteria)))
	}
	if len(spec.Questions) > 0 && answered >= maxAnswered {
		faults = append(faults, "questions: people have answered already; take the likeliest reading and state criteria")
	}
	for i, c := range spec.Criteria {
		if !loop.RecipeOf(spec.Kind).Provable(c) {
			faults = append(faults, fmt.Sprintf("criteria[%d].test_hook: is empty; name the test that proves it", i))
		}
		if strings.ContainsAny(c.TestHook, "\n\r\t\x00") {
			faults = append(faults, fmt.Sprintf("criteria[%d].test_hook: name one test on one line", i))
		}
	}
	return faults
}

// split takes joined errors apart.
func split(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}

// filled drops empty lines.
func filled(list []string) []string {
	var kept []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// nothing reads nothing_to_do, where models write that there is something as a word.
func nothing(reason string) string {
	reason = strings.TrimSpace(reason)
	switch strings.ToLower(strings.Trim(reason, `."'`)) {
	case "", "no", "none", "false", "null", "n/a", "-":
		return ""
	}
	return reason
}

// Plan returns the draft where it is valid, else asks for another plan. Where a model cannot make
// one, the files that it did name well become one step.
func (p *Planner) Plan(ctx context.Context, request loop.PlanRequest) (loop.Plan, error) {
	s, err := newSurvey(ctx, request.Index, request.Tree)
	if err != nil {
		return loop.Plan{}, err
	}
	faults := request.Faults
	if request.Draft != nil {
		plan, why := s.tidy(*request.Draft, request.Spec)
		if len(why) == 0 {
			return s.withImpact(ctx, plan)
		}
		faults = append(slices.Clone(faults), why...)
	}
	var plan loop.Plan
	var ranked []string
	err = shrinking(p.config.PlannerBudget, func(budget int) error {
		code, repo, err := p.look(ctx, s, request.SpecRequest, budget)
		if err != nil {
			return err
		}
		ranked = repo.Files
		prompt, err := prompts.Plan(prompts.PlanData{
			Issue: prompts.NewIssue(request.Task, request.Run, request.Answers),
			Repo:  repo, Code: code, Spec: request.Spec, Draft: request.Draft, Faults: faults,
		})
		if err != nil {
			return err
		}
		return structured(ctx, request.Model, loop.ModelRequest{
			Role: loop.RolePlanner, Purpose: purposePlan, Schema: planSchema(), SchemaName: "plan",
		}, prompt, func(raw json.RawMessage) (faulty, error) {
			if err := json.Unmarshal(raw, &plan); err != nil {
				return faulty{faults: []string{err.Error()}}, nil
			}
			var faults []string
			plan, faults = s.tidy(plan, request.Spec)
			return faulty{faults: faults}, nil
		})
	})
	var fault *loop.ModelError
	if errors.As(err, &fault) && fault.Fault == loop.ModelMalformed {
		if saved, ok := s.salvage(plan, request, ranked); ok {
			return s.withImpact(ctx, saved)
		}
	}
	if err != nil {
		return loop.Plan{}, err
	}
	return s.withImpact(ctx, plan)
}
