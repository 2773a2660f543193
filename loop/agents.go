package loop

import "context"

// SpecRequest is what the planner is given to understand a task.
type SpecRequest struct {
	Task  Task
	Run   Run
	Model Model
	Index Index
	Tree  Tree
	// Answers are what people answered to earlier questions, oldest first.
	Answers []string
	// Baseline shows what is red on the base already; nil where it was not verified.
	Baseline *Outcome
	// Lessons are similar cases of this repository, rendered.
	Lessons string
	// Faults are the reasons why an earlier reply was refused.
	Faults []string
	// Previous are spec and plan of an earlier run, for a retry; nil: none.
	Previous *Spec
}

// PlanRequest is what the planner is given to plan a spec.
type PlanRequest struct {
	SpecRequest
	Spec Spec
	// Draft is the plan that came with the spec; its faults are in Faults.
	Draft *Plan
}

// Planner turns an issue into a spec and a spec into a plan.
type Planner interface {
	// Specify returns a valid spec. A plan may come along in the same reply; it is nil where
	// the reply had none, and has not been validated.
	Specify(ctx context.Context, request SpecRequest) (Spec, *Plan, error)
	// Plan returns a plan that is valid for the spec.
	Plan(ctx context.Context, request PlanRequest) (Plan, error)
}

// CodeRequest is what the coder is given for one round.
type CodeRequest struct {
	Task   Task
	Run    Run
	Spec   Spec
	Plan   Plan
	Round  int
	Model  Model
	Strong bool // the stronger model is to be used
	Index  Index
	Clone  Clone // edits go into its worktree
	Runner Runner
	Config Config
	// Strategy says how to go about this round; its text is part of the prompt.
	Strategy Strategy
	// Variation is what this candidate is to do otherwise than the others of its round.
	Variation Variation
	// Kept says whether the last round's change is in the worktree, and so in every file that is
	// shown: false in the first round, where the last one changed nothing, and where it was undone.
	Kept bool
	// Verdict is the last one of this run, nil in the first round. It is that of the last round's
	// change also where that was undone; its Head says which commit it judged.
	Verdict *Verdict
	// Baseline is the verified base.
	Baseline *Outcome
	// Attempts tell what earlier rounds tried and how it came out, oldest first.
	Attempts []Round
	// Findings of guard and critic that the last candidate must answer to.
	Findings []Finding
	// Explain says in a sentence what a rule of the guard means; nil: nobody can.
	Explain func(rule string) string
	Review  *Review
	// Refused is why the last candidate was thrown away before it was verified; where the guard did
	// it, Findings says so and this is empty.
	Refused string
	// UndonePatch is the diff of the last round where it was rolled back, so that what was good
	// in it need not be thought out again.
	UndonePatch string
	Answers     []string
	Lessons     string
	// Log reads a stored log of the last verdict by its name; nil: there are none.
	Log func(name string) ([]byte, bool)
	// Before is called before each action of the agent; an error ends the round (limits, stop).
	Before func(ctx context.Context) error
}

// CodeEnd says how the coder's turn ended.
type CodeEnd string

// The ends of a coder's turn.
const (
	CodeEdited   CodeEnd = "edited"   // the worktree has changed and the coder is content
	CodeNothing  CodeEnd = "nothing"  // the coder says that nothing needs changing
	CodeAsk      CodeEnd = "ask"      // a question for a person
	CodeApproval CodeEnd = "approval" // something needs a person's approval first
	CodeGiveUp   CodeEnd = "give-up"  // out of its depth
	CodeStalled  CodeEnd = "stalled"  // steps used up, or the same action again and again
)

// CodeResult is what the coder did.
type CodeResult struct {
	End CodeEnd
	// RootCause in five sentences at most, and the files that it declared, with reasons where it
	// gave them.
	RootCause string
	Files     []string
	// Why has a sentence for each changed file, by path.
	Why map[string]string
	// Message is the question, the reason to give up, or the final words.
	Message string
	Choices []string
	// Remarks is what was said about each of Run.Remarks, by their numbers from 1.
	Remarks map[int]RemarkReply
	Steps   int
}

// Coder changes a worktree until it believes that the spec is met.
type Coder interface {
	Code(ctx context.Context, request CodeRequest) (CodeResult, error)
}

// ReviewRequest is what the critic is given: never the coder's reasoning.
type ReviewRequest struct {
	Task    Task
	Spec    Spec
	Model   Model
	Index   Index
	Tree    Tree // of the candidate
	Diff    Diff
	Verdict Verdict
}

// Review is the critic's judgement of a green candidate: the content of review.md.
type Review struct {
	// Scores from 1 (poor) to 5 (excellent) by dimension: correctness, security, readability, scope.
	Scores   map[string]int  `json:"scores"`
	Findings []ReviewFinding `json:"findings"`
	Summary  string          `json:"summary"`
}

// ReviewFinding is one remark. A blocking one has file and line.
type ReviewFinding struct {
	Blocking bool   `json:"blocking"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Message  string `json:"msg"`
}

// Blocking lists the findings that the coder must answer to.
func (r *Review) Blocking() []ReviewFinding {
	if r == nil {
		return nil
	}
	var blocking []ReviewFinding
	for _, f := range r.Findings {
		if f.Blocking {
			blocking = append(blocking, f)
		}
	}
	return blocking
}

// Critic reviews a green candidate.
type Critic interface {
	Review(ctx context.Context, request ReviewRequest) (Review, error)
}
