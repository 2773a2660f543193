package verify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// Prove verifies a commit in a clean room and proves each criterion of the spec.
//
// Three fresh clones are used, none of which has seen the work: the head as it is; the base with
// the head's test files put in, on which the new tests must fail; and, where the change touches
// tests that the base has, the head with the base's versions of them put back, which shows the
// tests that the change itself altered.
func (v *Verifier) Prove(ctx context.Context, request loop.VerifyRequest) (loop.Outcome, error) {
	clean, err := request.Clone.Fresh(ctx, request.HeadCommit)
	if err != nil {
		return loop.Outcome{}, fmt.Errorf("make the clean room: %w", err)
	}
	defer clean.Close()
	if err := v.Setup(ctx, clean, request.Config); err != nil {
		return loop.Outcome{}, err
	}
	head := request
	head.Clone = clean
	outcome, err := v.Verify(ctx, head)
	if err != nil {
		return loop.Outcome{}, err
	}
	outcome.Verdict.CleanRoom = true
	tests, err := v.changedTests(ctx, clean, request)
	if err != nil {
		return loop.Outcome{}, err
	}
	if len(tests.altered) > 0 && outcome.Verdict.Stages[loop.StageUnit].Tests != nil {
		if err := v.noteAltered(ctx, clean, request, tests.altered, &outcome); err != nil {
			return loop.Outcome{}, err
		}
	}
	if request.Spec != nil {
		if outcome.Verdict.Acceptance, err = v.accept(ctx, request, os.DirFS(clean.Dir()), tests, outcome); err != nil {
			return loop.Outcome{}, err
		}
	}
	outcome.Verdict.Settle()
	return outcome, nil
}

// testChange lists the test files that differ between base and head.
type testChange struct {
	all     []string // added, changed or removed
	only    bool     // nothing but tests differs
	code    bool     // source code differs
	altered []string // there on the base, and changed or removed
}

func (v *Verifier) changedTests(ctx context.Context, clone loop.Clone, request loop.VerifyRequest) (testChange, error) {
	diff, err := clone.Diff(ctx, request.BaseCommit, request.HeadCommit)
	if err != nil {
		return testChange{}, err
	}
	change := testChange{only: len(diff.Files) > 0}
	for _, f := range diff.Files {
		change.only = change.only && IsTestFile(f.Path)
		change.code = change.code || isSource(f.Path)
		for _, p := range []string{f.OldPath, f.Path} {
			if p == "" || !IsTestFile(p) || slices.Contains(change.all, p) {
				continue
			}
			change.all = append(change.all, p)
			if f.Op != loop.OpAdd && (p == f.OldPath || f.OldPath == "") {
				change.altered = append(change.altered, p)
			}
		}
	}
	return change, nil
}

// noteAltered runs the base's versions of changed test files on the head. What fails of them and
// passes in the head's version was altered by the change: a reader must look at it.
func (v *Verifier) noteAltered(ctx context.Context, clean loop.Clone, request loop.VerifyRequest, altered []string, outcome *loop.Outcome) error {
	if err := clean.Restore(ctx, request.BaseCommit, altered); err != nil {
		return err
	}
	before, err := v.Verify(ctx, loop.VerifyRequest{
		Clone: clean, Config: request.Config, BaseCommit: request.BaseCommit, HeadCommit: request.HeadCommit,
		Changed: request.Changed, Limits: request.Limits, Only: []loop.StageName{loop.StageCompile, loop.StageUnit},
	})
	if err != nil {
		return err
	}
	if err := clean.Reset(ctx, request.HeadCommit, true); err != nil {
		return err
	}
	unit := outcome.Verdict.Stages[loop.StageUnit]
	for id, status := range before.Cases {
		wasGreen := request.Base == nil || request.Base.Cases[id] == loop.CasePassed
		if status == loop.CaseFailed && wasGreen && outcome.Cases[id] != loop.CaseFailed {
			unit.Tests.Altered = append(unit.Tests.Altered, id)
		}
	}
	slices.Sort(unit.Tests.Altered)
	outcome.Verdict.Stages[loop.StageUnit] = unit
	return nil
}

// accept proves the criteria one by one.
func (v *Verifier) accept(ctx context.Context, request loop.VerifyRequest, headFiles fs.FS, tests testChange, head loop.Outcome) ([]loop.Acceptance, error) {
	read := func(name string) string {
		text, err := fs.ReadFile(headFiles, name)
		if err != nil {
			return "" // removed on the head, or not a file
		}
		return string(text)
	}
	var changed []string // ids whose colour changed, by the criteria
	if !slices.ContainsFunc(request.Spec.Criteria, func(c loop.Criterion) bool { return c.Proof != loop.ProofReview }) {
		tests.all = nil // nothing but readings: no test needs to run on the base
	}
	fresh := newTests(request.Base, head)
	for _, c := range request.Spec.Criteria {
		if c.Proof == loop.ProofRedGreen {
			ids := hookCases(c.TestHook, head.Cases)
			if len(ids) == 0 {
				ids = nearestNew(c.TestHook, fresh)
			}
			changed = append(changed, ids...)
		}
	}
	before, err := v.testsOnBase(ctx, request, tests, headFiles, changed)
	if err != nil {
		return nil, err
	}
	p := prover{base: before, head: head, tests: tests, kind: request.Spec.Kind, code: tests.code, fresh: fresh, read: read}
	proofs := make([]loop.Acceptance, 0, len(request.Spec.Criteria))
	for _, c := range request.Spec.Criteria {
		proofs = append(proofs, p.prove(c))
	}
	return proofs, nil
}

// newTests are the cases that the head has and the base has not; none where the base is not known.
func newTests(base *loop.Outcome, head loop.Outcome) []string {
	if base == nil || len(base.Cases) == 0 {
		return nil
	}
	var fresh []string
	for id := range head.Cases {
		if _, there := base.Cases[id]; !there {
			fresh = append(fresh, id)
		}
	}
	return fresh
}

// testsOnBase runs the head's tests on the base's source. What fails there and is a criterion's
// proof runs again: a test that is red on the base by chance proves nothing.
func (v *Verifier) testsOnBase(ctx context.Context, request loop.VerifyRequest, tests testChange, headFiles fs.FS, proofs []string) (loop.Outcome, error) {
	if len(tests.all) == 0 && request.Base != nil {
		return *request.Base, nil // the tests are the same: the baseline has the answer
	}
	base, err := request.Clone.Fresh(ctx, request.BaseCommit)
	if err != nil {
		return loop.Outcome{}, fmt.Errorf("make the clean room's base: %w", err)
	}
	defer base.Close()
	if err := base.Restore(ctx, request.HeadCommit, tests.all); err != nil {
		return loop.Outcome{}, err
	}
	if err := v.Setup(ctx, base, request.Config); err != nil {
		return loop.Outcome{}, err
	}
	s, err := v.open(ctx, base, request.Config, request.Limits)
	if err != nil {
		return loop.Outcome{}, err
	}
	if err := s.survey(ctx); err != nil {
		return loop.Outcome{}, err
	}
	// A test that does not compile against the base must not keep the other packages' tests from
	// running, so compile is left out: the test runner says what it cannot build.
	// A module that only the head has is the change's own, not one that nobody installed.
	s.manifest = feedback.NewManifest(headFiles)
	again := loop.VerifyRequest{
		Clone: base, Config: request.Config, BaseCommit: request.BaseCommit, HeadCommit: request.BaseCommit,
		Changed: request.Changed, Limits: request.Limits, Only: []loop.StageName{loop.StageUnit, loop.StageIntegration, loop.StageE2E},
	}
	outcome, err := s.verify(ctx, again)
	if err != nil {
		return loop.Outcome{}, err
	}
	return outcome, s.confirm(ctx, &outcome, proofs)
}

// confirm runs the proofs that failed again; what passes in the majority of all runs did not fail.
func (s *session) confirm(ctx context.Context, outcome *loop.Outcome, proofs []string) error {
	proofs = slices.DeleteFunc(slices.Clone(proofs), func(id string) bool { return outcome.Cases[id] != loop.CaseFailed })
	if len(proofs) == 0 || len(proofs) > mostReruns {
		return nil
	}
	unit := outcome.Verdict.Stages[loop.StageUnit]
	if unit.Tests == nil {
		return nil
	}
	unit.Tests.Regressions = proofs // what settleFlaky runs again
	if err := s.settleFlaky(ctx, s.unit, &unit, outcome.Cases); err != nil {
		return err
	}
	unit.Tests.Regressions = []string{}
	outcome.Verdict.Stages[loop.StageUnit] = unit
	return nil
}
