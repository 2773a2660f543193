package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-7a986423/autocode/feedback"
)

// verify runs the pyramid on the candidate, or on each of the round's, and lets the guard compare
// its tests with the base's.
func (d *drive) verify(ctx context.Context) (ended, error) {
	s := &d.s
	baseline, err := d.verifiedBase(ctx)
	if err != nil {
		return ended{}, err
	}
	if s.dropStaleCandidates(); len(s.Candidates) > 0 {
		return d.verifySeveral(ctx, baseline)
	}
	if s.Strategy == StrategyEnvironment {
		d.closeClone() // a fresh clone, with everything installed anew
	}
	clone, err := d.workClone(ctx)
	if err != nil {
		return ended{}, err
	}
	outcome, _, err := d.verifyCommit(ctx, clone, baseline, s.Head, len(s.Rounds), 0)
	if err != nil {
		return ended{}, err
	}
	s.Verdict = &outcome.Verdict
	if c := s.Current(); c != nil && c.Commit == s.Head {
		c.Verdict, c.Guard, c.Hooks = &outcome.Verdict, outcome.Verdict.Guard, hooks(s.Spec, outcome.Cases)
	}
	s.Best = best(s.Rounds)
	return d.publishRound(ctx, clone)
}

// verifyCommit runs the pyramid on a commit that the clone is set to, and judges it. The candidate is
// that of a round with several, else 0.
func (d *drive) verifyCommit(ctx context.Context, clone Clone, baseline *Outcome, commit string, round, candidate int) (*Outcome, Diff, error) {
	s := &d.s
	diff, err := clone.Diff(ctx, s.Base, commit)
	if err != nil {
		return nil, Diff{}, err
	}
	outcome, err := d.Verifier.Verify(ctx, VerifyRequest{
		Clone: clone, Config: s.Config.Verify, Base: baseline, BaseCommit: s.Base, HeadCommit: commit,
		Changed: diff.Paths(), Spec: s.Spec, Limits: d.commandLimits(),
	})
	if err != nil {
		return nil, Diff{}, err
	}
	return &outcome, diff, d.judge(ctx, clone, diff, commit, round, candidate, &outcome)
}

// judge completes an outcome with the guard's findings, its place in the run, and the next
// action, and stores verdict and logs.
func (d *drive) judge(ctx context.Context, clone Clone, diff Diff, commit string, round, candidate int, outcome *Outcome) error {
	findings, err := d.guard(ctx, clone, commit, diff, outcome)
	if err != nil {
		return err
	}
	v := &outcome.Verdict
	v.Task, v.Run, v.Round, v.Prompts = d.s.Task.ID, d.s.Run.ID, round, d.Settings.PromptsVersion
	v.Guard = findings
	if v.CleanRoom && d.s.Config.coverageAdvised() {
		v.tellCoverage()
	}
	v.Settle()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write verify.json: %w", err)
	}
	label := roundLabel(round, candidate)
	name := verdictName(label)
	if v.CleanRoom {
		name = "verify.json"
	}
	if err := d.Store.PutArtifact(ctx, d.lease, name, text); err != nil {
		return err
	}
	for stage, log := range outcome.Logs {
		if err := d.Store.PutArtifact(ctx, d.lease, logName(label, stage), log); err != nil {
			return err
		}
	}
	return nil
}

// uncoveredOnly says whether a stage is red for the coverage of changed lines and for nothing else.
func (s *Stage) uncoveredOnly() bool {
	return !s.NotRun && !s.Pass && s.Changed != nil && s.Threshold != nil && *s.Changed < *s.Threshold &&
		(s.Tests == nil || len(s.Failed) == 0) &&
		!slices.ContainsFunc(s.Errors, func(f Failure) bool { return f.Kind != string(feedback.KindGate) })
}

// onlyCoverage says whether nothing but the coverage of changed lines keeps a verdict from green.
func (v *Verdict) onlyCoverage() bool {
	st := v.Stages[StageCoverage]
	if !st.uncoveredOnly() {
		return false
	}
	without := *v
	without.Stages = maps.Clone(v.Stages)
	delete(without.Stages, StageCoverage)
	without.Settle()
	return without.Pass
}

// tellCoverage makes the shortfall of changed lines' coverage a remark: it is told and refuses nothing.
func (v *Verdict) tellCoverage() {
	st := v.Stages[StageCoverage]
	if !st.uncoveredOnly() {
		return
	}
	st.Pass = true
	st.Reason = fmt.Sprintf("tests run %.1f %% of the changed lines; %g %% are advised, and no configuration asks for it", *st.Changed, *st.Threshold)
	v.Stages[StageCoverage] = st
	if v.Class == feedback.ClassCode {
		v.Class, v.ClassRule = "", "" // settled anew
	}
}

// verdictName is the artifact that holds the verdict of a round or candidate.
func verdictName(label string) string { return "verify/" + label + ".json" }

// Settle computes Pass and NextAction from the parts of the verdict, which may have been added by
// different hands, and fills in what nobody set: lists that are null, the class.
func (v *Verdict) Settle() {
	v.Schema = VerdictSchema
	if v.Stages == nil {
		v.Stages = map[StageName]Stage{}
	}
	if v.Acceptance == nil {
		v.Acceptance = []Acceptance{}
	}
	if v.Guard == nil {
		v.Guard = []Finding{}
	}
	ran := false
	for _, st := range v.Stages {
		ran = ran || !st.NotRun
	}
	unproved := slices.ContainsFunc(v.Acceptance, func(a Acceptance) bool { return a.Proof == ProofNone })
	v.Pass = ran && stagesPass(v) && !v.Blocked() && !unproved
	if v.Class == "" {
		v.Class = feedback.ClassNone
		if !v.Pass {
			v.Class = feedback.ClassCode
		}
	}
	v.NextAction = nextAction(v, unproved)
}

// The next actions of verify.json, by table: what a reader should do first.
const (
	NextNone        = "none"
	NextGuard       = "answer_guard"
	NextEnvironment = "repair_environment"
	NextCompile     = "fix_compile"
	NextLintUnit    = "fix_lint_then_unit"
	NextLint        = "fix_lint"
	NextUnit        = "fix_unit"
	NextCoverage    = "write_tests"
	NextProve       = "prove_acceptance"
	NextSlow        = "fix_later_stages"
	NextRerun       = "rerun_flaky"
)

// nextAction looks the next action up: the first line that applies.
func nextAction(v *Verdict, unproved bool) string {
	red := func(names ...StageName) bool {
		return slices.ContainsFunc(names, func(n StageName) bool {
			st, there := v.Stages[n]
			return there && !st.NotRun && !st.Pass
		})
	}
	lint, unit := red(StageLint, StageTypes), red(StageUnit)
	for _, line := range []struct {
		when bool
		then string
	}{
		{red(StageEnvironment), NextEnvironment},
		{v.Class == feedback.ClassEnvironment && red(Stages()...), NextEnvironment},
		{red(StageCompile), NextCompile},
		{lint && unit, NextLintUnit},
		{lint, NextLint},
		{unit, NextUnit},
		{red(StageCoverage), NextCoverage},
		{red(StageIntegration, StageE2E, StageSecurity), NextSlow},
		{v.Blocked(), NextGuard},
		{unproved, NextProve},
	} {
		if line.when {
			return line.then
		}
	}
	return NextNone
}

// review lets the critic read the green candidate.
func (d *drive) review(ctx context.Context) (ended, error) {
	s := &d.s
	clone, err := d.workClone(ctx)
	if err != nil {
		return ended{}, err
	}
	diff, err := clone.Diff(ctx, s.Base, s.Head)
	if err != nil {
		return ended{}, err
	}
	tree, err := clone.Tree(ctx, s.Head)
	if err != nil {
		return ended{}, err
	}
	review, err := d.Critic.Review(ctx, ReviewRequest{
		Task: s.Task, Spec: *s.Spec, Model: meteredModel{d: d}, Index: d.Index, Tree: tree, Diff: diff, Verdict: *s.Verdict,
	})
	if err != nil {
		return ended{}, err
	}
	s.Review = &review
	s.Reviews++
	if err := d.Store.PutArtifact(ctx, d.lease, "review.md", []byte(review.Markdown())); err != nil {
		return ended{}, err
	}
	return ok()
}
