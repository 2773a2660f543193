package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// lessonsShown is how many similar cases a prompt gets.
const lessonsShown = 3

// specify turns the issue into a spec.
func (d *drive) specify(ctx context.Context) (ended, error) {
	s := &d.s
	request, err := d.specRequest(ctx)
	if err != nil {
		return ended{}, err
	}
	spec, draft, err := d.Planner.Specify(ctx, request)
	if err != nil {
		return ended{}, err
	}
	if err := spec.Validate(); err != nil {
		return with(ResultRefused, "%s", err)
	}
	s.Spec, s.PlanDraft, s.Question = &spec, draft, nil
	text, err := yaml.Marshal(spec)
	if err != nil {
		return ended{}, fmt.Errorf("write spec.yaml: %w", err)
	}
	if err := d.Store.PutArtifact(ctx, d.lease, "spec.yaml", text); err != nil {
		return ended{}, err
	}
	switch {
	case spec.NothingToDo != "":
		return with(ResultNothing, "%s", spec.NothingToDo)
	case len(spec.Questions) > 0:
		s.Question = &spec.Questions[0]
		var all []string
		for _, q := range spec.Questions {
			all = append(all, q.Text)
		}
		return with(ResultQuestion, "%s", strings.Join(all, " "))
	}
	return ok()
}

// plan turns the spec into a plan.
func (d *drive) plan(ctx context.Context) (ended, error) {
	s := &d.s
	request, err := d.specRequest(ctx)
	if err != nil {
		return ended{}, err
	}
	plan, err := d.Planner.Plan(ctx, PlanRequest{SpecRequest: request, Spec: *s.Spec, Draft: s.PlanDraft})
	if err != nil {
		return ended{}, err
	}
	if err := plan.Validate(*s.Spec); err != nil {
		return with(ResultRefused, "%s", err)
	}
	s.Plan, s.PlanDraft = &plan, nil
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return ended{}, fmt.Errorf("write plan.json: %w", err)
	}
	if err := d.Store.PutArtifact(ctx, d.lease, "plan.json", text); err != nil {
		return ended{}, err
	}
	if s.Spec.Zone == ZoneRed || s.Config.Autonomy == AutonomyApprovePlan {
		s.Pending = &Approval{Key: ApprovePlan, Reason: "the plan"}
	}
	return ok()
}

// specRequest gathers what the planner is shown.
func (d *drive) specRequest(ctx context.Context) (SpecRequest, error) {
	s := &d.s
	baseline, err := d.verifiedBase(ctx)
	if err != nil {
		return SpecRequest{}, err
	}
	clone, err := d.workClone(ctx)
	if err != nil {
		return SpecRequest{}, err
	}
	tree, err := clone.Tree(ctx, s.Head)
	if err != nil {
		return SpecRequest{}, err
	}
	lessons, err := d.lessons(ctx)
	if err != nil {
		return SpecRequest{}, err
	}
	return SpecRequest{
		Task: s.Task, Run: s.Run, Model: meteredModel{d: d}, Index: d.Index, Tree: tree, Answers: s.Answers,
		Baseline: baseline, Lessons: lessons, Previous: s.Spec,
	}, nil
}

// lessons renders the cases of this repository that are most like the task.
func (d *drive) lessons(ctx context.Context) (string, error) {
	s := &d.s
	cases, err := d.Knowledge.Recall(ctx, s.Task.Repo.FullName(), s.Task.Issue.Title+"\n"+s.Task.Issue.Body, lessonsShown)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("recall lessons: %w", err)
	}
	var b strings.Builder
	for _, c := range cases {
		outcome := "did not work"
		if c.Worked {
			outcome = "worked"
		}
		fmt.Fprintf(&b, "- %s: %s (%s; %d of %d times)\n", c.Problem, c.Change, outcome, c.Successes, c.Uses)
	}
	return b.String(), nil
}
