package loop_test

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

type fakePlanner struct{ *world }

func (p fakePlanner) Specify(ctx context.Context, r loop.SpecRequest) (loop.Spec, *loop.Plan, error) {
	if err := p.ask(ctx, r.Model, loop.RolePlanner); err != nil {
		return loop.Spec{}, nil, err
	}
	return next(p.world, &p.specs, func() (loop.Spec, *loop.Plan, error) { return goodSpec(), nil, nil })()
}

func (p fakePlanner) Plan(ctx context.Context, r loop.PlanRequest) (loop.Plan, error) {
	return goodPlan(), p.ask(ctx, r.Model, loop.RolePlanner)
}

type fakeCoder struct{ *world }

func (c fakeCoder) Code(ctx context.Context, r loop.CodeRequest) (loop.CodeResult, error) {
	c.turns.Lock()
	c.requests = append(c.requests, r)
	c.turns.Unlock()
	if err := c.ask(ctx, r.Model, loop.RoleCoder); err != nil {
		return loop.CodeResult{}, err
	}
	return next(c.world, &c.codes, edit("a.go"))(r)
}

// edit is a coder that writes the files and declares the first.
func edit(files ...string) func(loop.CodeRequest) (loop.CodeResult, error) {
	return func(r loop.CodeRequest) (loop.CodeResult, error) {
		for _, f := range files {
			r.Clone.(*fakeClone).work[f] = fmt.Sprintf("round %d", r.Round)
		}
		return loop.CodeResult{End: loop.CodeEdited, Files: files[:1], RootCause: "The cause."}, nil
	}
}

func codeEnd(end loop.CodeEnd, message string) func(loop.CodeRequest) (loop.CodeResult, error) {
	return func(loop.CodeRequest) (loop.CodeResult, error) {
		return loop.CodeResult{End: end, Message: message}, nil
	}
}

type fakeVerifier struct{ *world }

func (v fakeVerifier) Setup(context.Context, loop.Clone, loop.VerifyConfig) error { return v.setupErr }

func (v fakeVerifier) Verify(_ context.Context, r loop.VerifyRequest) (loop.Outcome, error) {
	if r.Base == nil {
		return loop.Outcome{Verdict: v.base, Cases: map[string]loop.CaseStatus{"TestOld": loop.CasePassed}}, nil
	}
	verdict, err := next(v.world, &v.verdicts, func() (loop.Verdict, error) { return green(), nil })()
	verdict.Base, verdict.Head = r.BaseCommit, r.HeadCommit
	return loop.Outcome{Verdict: verdict}, err
}

func (v fakeVerifier) Prove(_ context.Context, r loop.VerifyRequest) (loop.Outcome, error) {
	verdict, err := next(v.world, &v.proofs, func() (loop.Verdict, error) { return green(), nil })()
	verdict.Base, verdict.Head, verdict.CleanRoom = r.BaseCommit, r.HeadCommit, true
	return loop.Outcome{Verdict: verdict}, err
}

func (v fakeVerifier) ConfigKey(loop.VerifyConfig) string { return "key" }

type fakeGuard struct{ *world }

func (g fakeGuard) Check(context.Context, loop.GuardRequest) ([]loop.Finding, error) {
	return next(g.world, &g.guards, func() []loop.Finding { return nil })(), nil
}

type fakeCritic struct{ *world }

func (c fakeCritic) Review(ctx context.Context, r loop.ReviewRequest) (loop.Review, error) {
	if err := c.ask(ctx, r.Model, loop.RoleCritic); err != nil {
		return loop.Review{}, err
	}
	return next(c.world, &c.reviews, func() (loop.Review, error) { return loop.Review{}, nil })()
}

type fakeModel struct{ *world }

func (m fakeModel) Complete(context.Context, loop.ModelRequest) (loop.ModelReply, error) {
	return m.model()
}

func goodSpec() loop.Spec {
	return loop.Spec{
		Schema: loop.SpecSchema, Goal: "It works.", Kind: loop.KindBug, Zone: loop.ZoneGreen, ZoneWhy: "small",
		Criteria: []loop.Criterion{{ID: "AC1", Then: "it works", Proof: loop.ProofRedGreen, TestHook: "TestNew"}},
	}
}

func goodPlan() loop.Plan {
	return loop.Plan{Schema: loop.PlanSchema, Steps: []loop.Step{{ID: "S1", Title: "Mend it", Files: []string{"a.go"}, Acceptance: []string{"AC1"}}}}
}

func green() loop.Verdict {
	return loop.Verdict{
		Stages:     map[loop.StageName]loop.Stage{loop.StageUnit: {Pass: true, Tests: &loop.Tests{Passed: 2}}},
		Acceptance: []loop.Acceptance{{ID: "AC1", Proof: loop.ProofRedGreen, Hook: "TestNew"}}, Class: "none",
	}
}

// red is a verdict with these failing tests; those with a leading ! passed on the base.
func red(tests ...string) loop.Verdict {
	t := &loop.Tests{}
	for _, id := range tests {
		if name, regressed := strings.CutPrefix(id, "!"); regressed {
			id = name
			t.Regressions = append(t.Regressions, id)
		}
		t.Failed = append(t.Failed, id)
		t.Failures = append(t.Failures, loop.Failure{ID: id, File: "a_test.go", Line: 3, Message: id + " failed"})
	}
	sort.Strings(t.Failed)
	return loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Tests: t}}, Class: "code"}
}

func unproved() loop.Verdict {
	v := green()
	v.Acceptance = []loop.Acceptance{{ID: "AC1", Proof: loop.ProofNone, Note: "there is no such test"}}
	return v
}

func says(v loop.Verdict) func() (loop.Verdict, error) {
	return func() (loop.Verdict, error) { return v, nil }
}
