package prompts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// CodeData is what the coder's first message is made of.
type CodeData struct {
	Issue Issue
	Spec  loop.Spec
	Plan  loop.Plan
	Repo  Repository
	// Code is the packed code of the state that the round begins from, exact text.
	Code  string
	Round int
	// Remarks is how many remarks of a review the guidance lists; each is to be answered.
	Remarks int
	// Strategy chooses how this round goes about it.
	Strategy loop.Strategy
	// Variation is what this candidate is to do otherwise than the others of the round.
	Variation loop.Variation
	// Failures of the last verdict, new ones first; More counts those left out.
	Failures []loop.Failure
	More     int
	// Reasons say why a stage without a failing case is red.
	Reasons []string
	// Unproved are the criteria whose proof is missing.
	Unproved []loop.Acceptance
	// Findings are the guard's on the last change.
	Findings []Finding
	Review   []loop.ReviewFinding
	Refused  string
	// UndonePatch is the diff of a round that was rolled back.
	UndonePatch string
	Attempts    []Attempt
	// State says which state of the files is shown; with StateKept and StateUndoneKept FilesOf is
	// the round that made it.
	State   State
	FilesOf int
	// Logs are names under which stored logs can be read.
	Logs []string
	// Protected are patterns of paths that are never changed.
	Protected []string
	MaxSteps  int
	// Commands lists what run_command may run; empty: anything.
	Commands []string
}

// Attempt is an earlier round in short.
type Attempt struct {
	Number    int
	RootCause string
	Files     []string
	// Outcome has a line for each thing that is known of how it came out.
	Outcome []string
}

// Finding is a guard's finding with what its rule means.
type Finding struct {
	loop.Finding
	Meaning string
}

// State says which state of the repository's files a prompt shows.
type State string

// The states. The ones that are undone say it, since a model otherwise looks for its last change.
const (
	StateBase            State = "base"             // the repository without any change
	StateInherited       State = "inherited"        // what the run began from, which has a change already
	StateKept            State = "kept"             // with the change of a round
	StateUndoneBase      State = "undone-base"      // the last round undone, nothing left
	StateUndoneInherited State = "undone-inherited" // the last round undone, what the run began from left
	StateUndoneKept      State = "undone-kept"      // the last round undone, that of an earlier one left
)

// Code is the coder's first message.
func Code(data CodeData) (Prompt, error) { return prompt("code", data) }

// Strategy is what a round is told to do.
func Strategy(s loop.Strategy) (string, error) {
	name := "strategy." + string(s)
	if templates.Lookup(name) == nil {
		return "", fmt.Errorf("there is no prompt for the strategy %q", s)
	}
	return render(name, nil)
}

// Recipe is how a kind of change is gone about.
func Recipe(k loop.Kind) (string, error) {
	name := "recipe." + string(k)
	if templates.Lookup(name) == nil {
		return "", fmt.Errorf("there is no recipe for the kind %q", k)
	}
	text, err := render(name, nil)
	if err != nil {
		return "", err
	}
	recipe := loop.RecipeOf(k)
	return fmt.Sprintf("%s The work, in one reply where you can: %s. Where %s, end with give_up or a question and say so.", text, strings.Join(recipe.Phases, "; "), recipe.Stop), nil
}

// SourceMayChange says whether a round of this strategy may edit the repository at all: trouble
// of the environment is never fixed in the source.
func SourceMayChange(s loop.Strategy) bool { return s != loop.StrategyEnvironment }

// StrategyText and RecipeText are for the template of the first message.
func (d CodeData) StrategyText() (string, error) {
	if d.Strategy == loop.StrategyRethink && d.onlyGuard() {
		return render("strategy.rethink-guard", nil)
	}
	return Strategy(d.Strategy)
}

// VariationText is what this candidate is to do otherwise, "" for the first or only one.
func (d CodeData) VariationText() (string, error) {
	if d.Variation == loop.VariationNone {
		return "", nil
	}
	return render("variation."+string(d.Variation), nil)
}

// onlyGuard says whether nothing is wrong but what the guard blocks.
func (d CodeData) onlyGuard() bool {
	blocked := slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Severity == loop.SeverityBlock })
	return blocked && len(d.Failures) == 0 && len(d.Reasons) == 0 && len(d.Unproved) == 0
}

// StateText says which state of the files is shown. A first round without any change needs no word.
func (d CodeData) StateText() (string, error) {
	if d.State == "" || d.State == StateBase && len(d.Attempts) == 0 {
		return "", nil
	}
	return render("state."+string(d.State), d)
}

// RecipeText is how the spec's kind of change is gone about.
func (d CodeData) RecipeText() (string, error) { return Recipe(d.Spec.Kind) }

// MayEdit says whether this round may change files.
func (d CodeData) MayEdit() bool { return SourceMayChange(d.Strategy) }

// parts puts the parts of a split step together again: the limits of a step are the engine's
// business, and a plan that says everything twice is only longer.
func parts(plan loop.Plan) []loop.Step {
	var steps []loop.Step
	for _, step := range plan.Steps {
		title, _, split := strings.Cut(step.Title, " (part ")
		whole, _, _ := strings.Cut(step.ID, ".")
		if last := len(steps) - 1; split && last >= 0 && steps[last].ID == whole {
			steps[last].Files = append(slices.Clip(steps[last].Files), step.Files...)
			continue
		}
		if split {
			step.ID, step.Title = whole, title
		}
		steps = append(steps, step)
	}
	return steps
}
