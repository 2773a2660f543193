package loop

import "testing"

func TestRecipes(t *testing.T) {
	for _, kind := range []Kind{KindBug, KindFeature, KindRefactor, KindTests, KindDependency, KindDocs} {
		r := RecipeOf(kind)
		if r.Kind != kind || len(r.Phases) == 0 || r.Stop == "" || r.Candidates < 1 {
			t.Errorf("%s: %+v", kind, r)
		}
	}
	if RecipeOf("unheard of").Kind != KindBug {
		t.Error("an unknown kind must get the strictest recipe")
	}
	for _, test := range []struct {
		name     string
		kind     Kind
		chosen   ProofKind
		hook     string
		proof    ProofKind
		provable bool
	}{
		{"a bug's test", KindBug, ProofRedGreen, "a.T", ProofRedGreen, true},
		{"a bug without a test", KindBug, ProofRedGreen, "", ProofRedGreen, false},
		{"a bug is not proved by reading", KindBug, ProofReview, "", ProofRedGreen, false},
		{"a refactoring has nothing that is red before", KindRefactor, ProofRedGreen, "", ProofGreenGreen, true},
		{"a dependency by the whole suite", KindDependency, ProofGreenGreen, "", ProofGreenGreen, true},
		{"tests need their own test", KindTests, ProofGreenGreen, "", ProofGreenGreen, false},
		{"docs by reading", KindDocs, ProofNone, "", ProofReview, true},
		{"docs by an example that is tested", KindDocs, ProofRedGreen, "a.T", ProofRedGreen, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := RecipeOf(test.kind)
			proof := r.Proves(test.chosen)
			if got := r.Provable(Criterion{TestHook: test.hook, Proof: proof}); proof != test.proof || got != test.provable {
				t.Errorf("%s, provable %v", proof, got)
			}
		})
	}
}
