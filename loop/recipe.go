package loop

import "slices"

// Recipe is how a kind of change is gone about: what differs from kind to kind stands here and in
// the prompt of the same name, and nowhere in the engine.
type Recipe struct {
	Kind Kind
	// Phases say in order what such a change consists of.
	Phases []string
	// Proof is how its criteria are proved; Proofs are the further kinds that a planner may choose.
	Proof  ProofKind
	Proofs []ProofKind
	// WholeSuite says that a criterion without a test hook is proved by all tests that passed before:
	// what the change is for is that nothing else changes.
	WholeSuite bool
	// Candidates is how many solutions a round makes where the configuration leaves it to the recipe.
	Candidates int
	// Stop says what ends such a run besides the rules that all have.
	Stop string
}

// Recipes lists the recipe of each kind.
func Recipes() []Recipe {
	return []Recipe{
		{
			Kind: KindBug, Proof: ProofRedGreen, Proofs: []ProofKind{ProofGreenGreen}, Candidates: 1,
			Phases: []string{"reproduce it by a test that fails", "mend the cause", "keep the test"},
			Stop:   "it cannot be reproduced",
		},
		{
			Kind: KindFeature, Proof: ProofRedGreen, Proofs: []ProofKind{ProofGreenGreen, ProofReview}, Candidates: 1,
			Phases: []string{"write a test for each criterion", "write the least code that passes them"},
			Stop:   "a criterion cannot be stated without a person",
		},
		{
			Kind: KindRefactor, Proof: ProofGreenGreen, Proofs: []ProofKind{ProofReview}, WholeSuite: true, Candidates: 3,
			Phases: []string{"see that the behaviour's tests are green", "change the form", "see that they still are"},
			Stop:   "no test was green before, so that nothing would show a change of behaviour",
		},
		{
			Kind: KindTests, Proof: ProofGreenGreen, Proofs: []ProofKind{ProofRedGreen}, Candidates: 1,
			Phases: []string{"write the missing tests", "leave the source alone"},
			Stop:   "a test shows that the source is wrong",
		},
		{
			Kind: KindDependency, Proof: ProofGreenGreen, Proofs: []ProofKind{ProofRedGreen, ProofReview}, WholeSuite: true, Candidates: 1,
			Phases: []string{"change the manifest and its lock file", "mend what the new version breaks", "see that all that was green still is"},
			Stop:   "the version cannot be had",
		},
		{
			Kind: KindDocs, Proof: ProofReview, Proofs: []ProofKind{ProofRedGreen, ProofGreenGreen}, Candidates: 1,
			Phases: []string{"change the text", "check every statement against the code"},
			Stop:   "the code does not do what is to be written",
		},
	}
}

// RecipeOf returns a kind's recipe; that of a bug fix, the strictest, for a kind that is unknown.
func RecipeOf(kind Kind) Recipe {
	recipes := Recipes()
	at := slices.IndexFunc(recipes, func(r Recipe) bool { return r.Kind == kind })
	return recipes[max(at, 0)]
}

// Proves says how a criterion is to be proved: as the planner chose, where the recipe allows it.
func (r Recipe) Proves(chosen ProofKind) ProofKind {
	if slices.Contains(r.Proofs, chosen) {
		return chosen
	}
	return r.Proof
}

// Provable says whether a criterion can be proved as it is written: by its test, by a reading, or
// by all tests that were green before.
func (r Recipe) Provable(c Criterion) bool {
	return c.TestHook != "" || c.Proof == ProofReview || r.WholeSuite && c.Proof == ProofGreenGreen
}
