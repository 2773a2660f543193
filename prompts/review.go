package prompts

import "github.com/seed-7a986423/autocode/loop"

// ReviewData is what the critic is shown: never the coder's reasoning.
type ReviewData struct {
	Issue Issue
	Spec  loop.Spec
	// Patch is the diff, cut; Cut says that it was.
	Patch string
	Cut   bool
	// Verified are the stages that ran, one line each.
	Verified   []string
	Acceptance []loop.Acceptance
	// Code is what surrounds the change.
	Code string
}

// Review is the call that reviews a green candidate.
func Review(data ReviewData) (Prompt, error) { return prompt("review", data) }
