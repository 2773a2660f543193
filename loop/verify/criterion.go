package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// prover decides criteria from what the tests did on both sides.
type prover struct {
	base  loop.Outcome // the head's tests on the base's source
	head  loop.Outcome
	tests testChange
	kind  loop.Kind
	code  bool                     // source code is changed
	fresh []string                 // the head's tests that the base does not have
	read  func(name string) string // a file of the head, "" where there is none
}

// testsRan says whether any tests of the repository were run, also by a command whose output names no test.
func testsRan(o loop.Outcome) bool {
	for _, name := range []loop.StageName{loop.StageUnit, loop.StageIntegration, loop.StageE2E} {
		if stage, there := o.Verdict.Stages[name]; there && !stage.NotRun {
			return true
		}
	}
	return false
}

// namelessTests says whether tests passed of which only the number is known.
func namelessTests(o loop.Outcome) bool {
	unit := o.Verdict.Stages[loop.StageUnit]
	return unit.Tests != nil && unit.Passed > 0
}

// sourceExtensions are those of files that are run or compiled; what a page is made of is not among them.
var sourceExtensions = []string{
	".bash", ".c", ".cc", ".clj", ".cpp", ".cs", ".cxx", ".dart", ".erl", ".ex", ".exs", ".fs", ".go", ".h", ".hpp", ".hs", ".java", ".js", ".jsx",
	".kt", ".kts", ".lua", ".m", ".mjs", ".cjs", ".mm", ".php", ".pl", ".pm", ".ps1", ".py", ".r", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".ts", ".tsx", ".vue", ".zig",
}

// isSource says whether a path is that of source code.
func isSource(p string) bool {
	return slices.Contains(sourceExtensions, strings.ToLower(path.Ext(p)))
}

// prove decides one criterion.
func (p prover) prove(c loop.Criterion) loop.Acceptance {
	a := loop.Acceptance{ID: c.ID, Hook: c.TestHook, Proof: loop.ProofNone}
	switch c.Proof {
	case loop.ProofReview:
		if p.code && !testsRan(p.head) {
			a.Note = "source code is changed and the repository has no tests that could be run: reading alone proves nothing of what it does"
			return a
		}
		a.Proof = loop.ProofReview
		return a
	case loop.ProofGreenGreen:
		return p.unchanged(a)
	case loop.ProofRedGreen, loop.ProofNone:
	}
	ids := hookCases(c.TestHook, p.head.Cases)
	if len(ids) == 0 {
		if ids = nearestNew(c.TestHook, p.fresh); len(ids) > 0 {
			a.Hook = withoutParameters(ids[0])
		}
	}
	a.Head = stateOf(ids, p.head.Cases)
	switch a.Head {
	case loop.ProofMissing:
		switch {
		case p.head.NoTests() && namelessTests(p.head):
			a.Note = "the tests pass, but what runs them names none of them, so that none can be told from another, whatever it is called: " +
				"verify.unit in .github/autocode.yml can run them with a reporter that names them"
		case p.head.NoTests():
			a.Note = "no test of the repository could be run, so nothing is proved: " + reasonOf(p.head, "the repository has none")
		case c.TestHook == "":
			a.Note = "the criterion names no test"
		case len(ids) > 0:
			a.Note = "its test is skipped on the head"
		default:
			a.Note = "no test of this name ran on the head; write it, named exactly so"
		}
		return a
	case loop.ProofFail, loop.ProofError:
		a.Note = "its test fails on the head"
		return a
	case loop.ProofPass:
	}
	a.Base, a.Note = p.onBase(ids)
	switch {
	case a.Base == loop.ProofFail:
		a.Proof = loop.ProofRedGreen
	case a.Base == loop.ProofPass && p.kind == loop.KindTests && p.tests.only:
		// Tests for what is there already cannot be red before: the source is the same.
		a.Proof, a.Note = loop.ProofGreenGreen, ""
	}
	return a
}

// foreign are the kinds of failure that say something about the machine, not about the change.
var foreign = []string{string(feedback.KindEnvironment), string(feedback.KindInstall), string(feedback.KindOOM), string(feedback.KindConfig)}

// onBase is what the head's test did on the base, and the words of its failure.
func (p prover) onBase(ids []string) (loop.ProofState, string) {
	there := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := p.base.Cases[id]; return !ok })
	failures := p.base.Verdict.Failures()
	for _, f := range failures {
		// A parent test often fails by its subtests alone: their words are its.
		if !slices.ContainsFunc(there, func(id string) bool { return id == f.ID || isUnder(nameParts(f.ID), nameParts(id)) }) {
			continue
		}
		if slices.Contains(foreign, f.Kind) {
			return loop.ProofError, "on the base its test could not run: " + firstLine(f.Message)
		}
		return loop.ProofFail, firstLine(f.Message)
	}
	switch state := stateOf(there, p.base.Cases); state {
	case loop.ProofFail:
		return state, ""
	case loop.ProofPass:
		return state, "its test passes on the base already, so it proves nothing about the change; assert what was wrong"
	case loop.ProofMissing, loop.ProofError:
	}
	// The test did not even run on the base: right where the test itself uses what the change
	// brings, wrong where anything else is broken.
	own := p.definedIn(ids)
	for _, f := range failures {
		if slices.Contains(own, f.File) && p.base.Verdict.Class == feedback.ClassCode && !slices.Contains(foreign, f.Kind) {
			return loop.ProofFail, "on the base it cannot be built or loaded: " + firstLine(f.Message)
		}
	}
	return loop.ProofError, "its test did not run on the base, for a reason that is not in the test: " + reasonOf(p.base, "it is not there")
}

// definedIn lists the changed test files that may be why a test cannot be loaded: those that hold
// its name, and the changed ones beside them, which are built together with it. Where no file
// holds the name (it is put together at run time), it may be any.
func (p prover) definedIn(ids []string) []string {
	var dirs, files []string
	for _, file := range p.tests.all {
		text := p.read(file)
		if slices.ContainsFunc(ids, func(id string) bool { return mentions(text, id) }) {
			dirs = append(dirs, path.Dir(file))
		}
	}
	if len(dirs) == 0 {
		return p.tests.all
	}
	for _, file := range p.tests.all {
		if slices.Contains(dirs, path.Dir(file)) {
			files = append(files, file)
		}
	}
	return files
}

// mentions says whether a text holds the last part of a test's name, or the one before it where
// the last is a parameter or a subtest.
func mentions(text, id string) bool {
	parts := nameParts(id)
	const tail = 2
	for _, part := range parts[max(0, len(parts)-tail):] {
		if part = parameters.ReplaceAllString(part, ""); part != "" && (strings.Contains(text, part) || strings.Contains(text, strings.ReplaceAll(part, "_", " "))) {
			return true
		}
	}
	return false
}

// unchanged proves that behaviour stayed: what passed on the base passes on the head.
func (p prover) unchanged(a loop.Acceptance) loop.Acceptance {
	ids := hookCases(a.Hook, p.head.Cases)
	if len(ids) == 0 {
		if a.Hook != "" {
			a.Note = "no test of this name ran on the head"
			return a
		}
		for id, status := range p.base.Cases {
			if status == loop.CasePassed {
				ids = append(ids, id)
			}
		}
	}
	a.Base, a.Head = stateOf(ids, p.base.Cases), stateOf(ids, p.head.Cases)
	switch {
	case a.Base == loop.ProofPass && a.Head == loop.ProofPass:
		a.Proof = loop.ProofGreenGreen
	case len(p.base.Cases) == 0:
		a.Note = "no test ran on the base, so nothing shows that the behaviour stayed"
	case a.Base == loop.ProofMissing:
		a.Note = "its test does not run on the base, so it cannot show that the behaviour stayed"
	default:
		a.Note = fmt.Sprintf("its tests: %s on the base, %s on the head", a.Base, a.Head)
	}
	return a
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// reasonOf says in a line why an outcome is red.
func reasonOf(o loop.Outcome, otherwise string) string {
	if all := o.Verdict.Failures(); len(all) > 0 {
		return firstLine(all[0].Message)
	}
	return otherwise
}
