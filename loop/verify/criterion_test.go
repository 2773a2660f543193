package verify

import (
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// side is an outcome whose unit stage did what the cases and failures say.
func side(cases map[string]loop.CaseStatus, failures ...loop.Failure) loop.Outcome {
	o := loop.Outcome{Cases: cases, Verdict: loop.Verdict{Class: feedback.ClassNone, Stages: map[loop.StageName]loop.Stage{}}}
	stage := loop.Stage{Pass: len(failures) == 0, Tests: &loop.Tests{}}
	for _, f := range failures {
		if o.Verdict.Class = feedback.ClassCode; f.ID == "" {
			stage.Errors = append(stage.Errors, f)
		} else {
			stage.Tests.Failures = append(stage.Tests.Failures, f)
		}
	}
	o.Verdict.Stages[loop.StageUnit] = stage
	return o
}

func TestProve(t *testing.T) {
	const id = "m/cart.TestTotal"
	type cases = map[string]loop.CaseStatus
	green, red := cases{id: loop.CasePassed}, cases{id: loop.CaseFailed}
	files := map[string]string{"cart/total_test.go": "func TestTotal(", "tax/tax_test.go": "func TestTax("}
	read := func(name string) string { return files[name] }
	change := testChange{all: []string{"cart/total_test.go", "tax/tax_test.go"}}
	env := side(cases{}, loop.Failure{File: "cart/total_test.go", Message: "cannot find module"})
	env.Verdict.Class = feedback.ClassEnvironment
	for _, c := range []struct {
		name       string
		base, head loop.Outcome
		ask        loop.ProofKind
		hook       string
		kind       loop.Kind
		tests      testChange
		want       loop.ProofKind
		state      loop.ProofState
		note       string
	}{
		{name: "red then green", base: side(red, loop.Failure{ID: id, Message: "got 4\nwant 5"}), head: side(green), want: loop.ProofRedGreen, state: loop.ProofFail, note: "got 4"},
		{name: "a parent that fails by its child", base: side(cases{id: loop.CaseFailed, id + "/x": loop.CaseFailed}, loop.Failure{ID: id + "/x", Message: "child says"}),
			head: side(cases{id: loop.CasePassed, id + "/x": loop.CasePassed}), want: loop.ProofRedGreen, state: loop.ProofFail, note: "child says"},
		{name: "green before", base: side(green), head: side(green), want: loop.ProofNone, state: loop.ProofPass, note: "passes on the base already"},
		{name: "tests for what is there", base: side(green), head: side(green), kind: loop.KindTests, tests: testChange{all: change.all, only: true}, want: loop.ProofGreenGreen, state: loop.ProofPass},
		{name: "does not compile on the base, by its own file", base: side(cases{}, loop.Failure{File: "cart/total_test.go", Message: "undefined: Total", Kind: "compile"}), head: side(green),
			want: loop.ProofRedGreen, state: loop.ProofFail, note: "undefined: Total"},
		{name: "another package's test does not compile", base: side(cases{}, loop.Failure{File: "tax/tax_test.go", Message: "undefined: Tax", Kind: "compile"}), head: side(green),
			want: loop.ProofNone, state: loop.ProofError, note: "not in the test"},
		{name: "the base's source is broken", base: side(cases{}, loop.Failure{File: "cart/cart.go", Message: "syntax error", Kind: "compile"}), head: side(green),
			want: loop.ProofNone, state: loop.ProofError, note: "syntax error"},
		{name: "a dependency is not installed", base: env, head: side(green), want: loop.ProofNone, state: loop.ProofError, note: "cannot find module"},
		{name: "red for want of a service", base: side(red, loop.Failure{ID: id, Message: "no database", Kind: "environment"}), head: side(green), want: loop.ProofNone, state: loop.ProofError, note: "no database"},
		{name: "red on the head", base: side(red), head: side(red, loop.Failure{ID: id}), want: loop.ProofNone, note: "fails on the head"},
		{name: "skipped on the head", base: side(red), head: side(cases{id: loop.CaseSkipped}), want: loop.ProofNone, note: "skipped"},
		{name: "not there", base: side(cases{}), head: side(cases{"m.TestOther": loop.CasePassed}), want: loop.ProofNone, note: "named exactly so"},
		{name: "no tests at all", base: side(cases{}), head: side(cases{}), want: loop.ProofNone, note: "nothing is proved"},
		{name: "tests without names", base: side(cases{}), head: loop.Outcome{Verdict: loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Pass: true, Tests: &loop.Tests{Passed: 3}}}}},
			want: loop.ProofNone, note: "names none of them"},
		{name: "docs", ask: loop.ProofReview, base: side(cases{}), head: side(cases{}), want: loop.ProofReview},
		{name: "docs that change code, without tests", ask: loop.ProofReview, tests: testChange{code: true, all: change.all}, base: side(cases{}), head: loop.Outcome{}, want: loop.ProofNone, note: "reading alone proves nothing"},
		{name: "docs that change code, with tests whose names nobody tells", ask: loop.ProofReview, tests: testChange{code: true, all: change.all}, base: side(cases{}),
			head: loop.Outcome{Verdict: loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Pass: true}}}}, want: loop.ProofReview},
		{name: "refactor", ask: loop.ProofGreenGreen, base: side(green), head: side(green), want: loop.ProofGreenGreen, state: loop.ProofPass},
		{name: "refactor without a hook", ask: loop.ProofGreenGreen, hook: "-", base: side(green), head: side(green), want: loop.ProofGreenGreen, state: loop.ProofPass},
		{name: "refactor that broke it", ask: loop.ProofGreenGreen, base: side(green), head: side(red, loop.Failure{ID: id}), want: loop.ProofNone, state: loop.ProofPass, note: "pass on the base, fail on the head"},
		{name: "refactor without tests", ask: loop.ProofGreenGreen, hook: "-", base: side(cases{}), head: side(cases{}), want: loop.ProofNone, state: loop.ProofMissing, note: "no test ran on the base"},
	} {
		t.Run(c.name, func(t *testing.T) {
			criterion := loop.Criterion{ID: "AC1", TestHook: "cart.TestTotal", Proof: loop.ProofRedGreen}
			if c.ask != "" {
				criterion.Proof = c.ask
			}
			if c.hook == "-" {
				criterion.TestHook = ""
			}
			tests := change
			if c.tests.all != nil {
				tests = c.tests
			}
			got := prover{base: c.base, head: c.head, tests: tests, kind: c.kind, code: tests.code, read: read}.prove(criterion)
			if got.Proof != c.want || got.Base != c.state || !strings.Contains(got.Note, c.note) {
				t.Errorf("proved %q, base %q, note %q; want %q, %q, …%q…", got.Proof, got.Base, got.Note, c.want, c.state, c.note)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	const id = "m.TestA"
	type cases = map[string]loop.CaseStatus
	old := loop.Failure{File: "a.go", Line: 3, Message: "unused x1", Rule: "unused"}
	moved := loop.Failure{File: "a.go", Line: 9, Message: "unused x2", Rule: "unused"}
	fresh := loop.Failure{File: "a.go", Line: 4, Message: "shadowed", Rule: "shadow"}
	lint := func(pass bool, errors ...loop.Failure) loop.Stage { return loop.Stage{Pass: pass, Errors: errors} }
	unit := func(failed ...string) loop.Stage {
		return loop.Stage{Pass: len(failed) == 0, Tests: &loop.Tests{Failed: failed}}
	}
	for _, c := range []struct {
		name                            string
		stage                           loop.StageName
		before, now                     loop.Stage
		baseCases, nowCases             cases
		pass                            bool
		regressions, preexisting, fixed int
		errors                          int
	}{
		{name: "a finding that moved is old", stage: loop.StageLint, before: lint(false, old), now: lint(false, moved), pass: true},
		{name: "the same finding once more is new", stage: loop.StageLint, before: lint(false, old), now: lint(false, old, moved), errors: 1},
		{name: "only new findings are told", stage: loop.StageLint, before: lint(false, old), now: lint(false, moved, fresh), errors: 1},
		{name: "the base did not run", stage: loop.StageLint, before: loop.Stage{NotRun: true}, now: lint(false, fresh), errors: 1},
		{name: "regression", stage: loop.StageUnit, before: unit(), now: unit(id), baseCases: cases{id: loop.CasePassed}, nowCases: cases{id: loop.CaseFailed}, regressions: 1},
		{name: "red before", stage: loop.StageUnit, before: unit(id), now: unit(id), baseCases: cases{id: loop.CaseFailed}, nowCases: cases{id: loop.CaseFailed}, pass: true, preexisting: 1},
		{name: "new red test", stage: loop.StageUnit, before: unit(id), now: unit(id, "m.TestB"), baseCases: cases{id: loop.CaseFailed},
			nowCases: cases{id: loop.CaseFailed, "m.TestB": loop.CaseFailed}, preexisting: 1},
		{name: "fixed", stage: loop.StageUnit, before: unit(id), now: unit(), baseCases: cases{id: loop.CaseFailed}, nowCases: cases{id: loop.CasePassed}, pass: true, fixed: 1},
		{name: "red by the exit code alone", stage: loop.StageUnit, before: unit(), now: loop.Stage{Errors: []loop.Failure{{Message: "exit code 1"}}, Tests: &loop.Tests{}}, errors: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := &loop.Outcome{Cases: c.baseCases, Verdict: loop.Verdict{Stages: map[loop.StageName]loop.Stage{c.stage: c.before}}}
			got := c.now
			compare(c.stage, &got, base, c.nowCases)
			if got.Pass != c.pass || len(got.Errors) != c.errors {
				t.Errorf("pass %v with %d errors, want %v with %d", got.Pass, len(got.Errors), c.pass, c.errors)
			}
			if got.Tests != nil && (len(got.Tests.Regressions) != c.regressions || len(got.Tests.Preexisting) != c.preexisting || len(got.Tests.Fixed) != c.fixed) {
				t.Errorf("regressions %v, old %v, fixed %v", got.Tests.Regressions, got.Tests.Preexisting, got.Tests.Fixed)
			}
		})
	}
}
