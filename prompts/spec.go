package prompts

import "github.com/seed-7a986423/autocode/loop"

// Issue is an issue as prompts show it, cut to what a context bears.
type Issue struct {
	Title    string
	Body     string
	Comments []loop.Comment
	// Guidance is what the person added who asked for this run; Answers are to earlier questions.
	Guidance string
	Answers  []string
}

// Bounds of what an issue may take of a prompt, in bytes: long logs belong to the locator, which
// reads them whole, and not to the model.
const (
	maxBody     = 12_000
	maxComment  = 2_000
	maxComments = 12
	maxGuidance = 8_000 // a review with its remarks
)

// NewIssue cuts an issue for a prompt; of many comments the newest are kept.
func NewIssue(task loop.Task, run loop.Run, answers []string) Issue {
	issue := Issue{
		Title: task.Issue.Title, Body: Cut(task.Issue.Body, maxBody),
		Guidance: Cut(run.Guidance, maxGuidance),
	}
	comments := task.Issue.Comments
	if len(comments) > maxComments {
		comments = comments[len(comments)-maxComments:]
	}
	for _, c := range comments {
		c.Body = Cut(c.Body, maxComment)
		issue.Comments = append(issue.Comments, c)
	}
	for _, a := range answers {
		issue.Answers = append(issue.Answers, Cut(a, maxGuidance))
	}
	return issue
}

// Repository is what is worth knowing of a repository besides its code.
type Repository struct {
	// Tests are the commands that verify it, as the verifier runs them.
	Tests []string
	// TestIDs are a few ids of existing tests, spelled as hooks are to be.
	TestIDs []string
	// Red are failures that the base has already.
	Red []loop.Failure
	// NoTestRuns says that on the base the command of the tests fails before it runs any.
	NoTestRuns bool
	// Memory are its instruction files, Lessons similar cases of the past, both rendered.
	Memory  string
	Lessons string
	// Files are paths that the locator ranked, best first; those shown in the code included.
	Files []string
}

// SpecData is what the planner is shown.
type SpecData struct {
	Issue    Issue
	Repo     Repository
	Code     string // packed
	Previous *loop.Spec
	Faults   []string
}

// Spec is the call that understands an issue.
func Spec(data SpecData) (Prompt, error) { return prompt("spec", data) }

// Faults sends the faults of a structured reply back to the model.
func Faults(list []string) (string, error) { return render("faults", list) }

// NeedData is what a planner is shown that asked for places before it writes its spec.
type NeedData struct {
	Code     string   // packed
	Listings []string // of directories, fenced
	Missing  []string // places that the repository does not have
}

// Need answers a planner that asked to see places.
func Need(data NeedData) (string, error) { return render("need", data) }

// PlanData is what the planner is shown when the plan that came with the spec cannot be used.
type PlanData struct {
	Issue  Issue
	Repo   Repository
	Code   string
	Spec   loop.Spec
	Draft  *loop.Plan
	Faults []string
}

// Plan is the call that plans a spec.
func Plan(data PlanData) (Prompt, error) { return prompt("plan", data) }
