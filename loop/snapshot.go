package loop

import "time"

// SnapshotSchema names the version of Snapshot.
const SnapshotSchema = "autocode.snapshot/v1"

// Snapshot is the whole state of a run after a step: everything that Decide needs and that
// another worker needs to go on.
type Snapshot struct {
	Schema string `json:"schema"` // autocode.snapshot/v1
	// Seq counts the snapshots of a run from 1.
	Seq  int  `json:"seq"`
	Task Task `json:"task"`
	Run  Run  `json:"run"`

	Phase Phase `json:"phase"`
	// Step says how far the phase got, for phases with several effects; empty at their start.
	Step string `json:"step,omitempty"`
	// Config is read in the phase preparing from the default branch; Raised is what people added to
	// its limits.
	Config Config `json:"config"`
	Raised Limits `json:"raised"`

	// Base is the commit that the change is made against, Start the one that this run began
	// from (Base, or the pull request's head), Head the current candidate's commit.
	Base  string `json:"base,omitempty"`
	Start string `json:"start,omitempty"`
	Head  string `json:"head,omitempty"`
	// Merge is set where the base was merged into the pull request that the run goes on with.
	Merge *BaseMerge `json:"merge,omitempty"`
	// BaselineKey finds the verified base in the store; "" until it was verified.
	BaselineKey string `json:"baseline_key,omitempty"`

	Spec *Spec `json:"spec,omitempty"`
	// PlanDraft came with the spec and is not validated yet.
	PlanDraft *Plan `json:"plan_draft,omitempty"`
	Plan      *Plan `json:"plan,omitempty"`

	// Rounds are the rounds so far, the current one last.
	Rounds []Round `json:"rounds,omitempty"`
	// Candidates are those that are finished of the round in progress, where it makes several. They
	// leave for Rounds once one is chosen.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Verdict is that of Head; nil while Head is unverified.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Best is the index in Rounds of the best state that the guard passed, -1: none.
	Best int `json:"best"`
	// Strategy is how the next round is to go about it.
	Strategy Strategy `json:"strategy,omitempty"`
	// Strong says that the stronger model is in use.
	Strong bool `json:"strong,omitempty"`
	// Review is the critic's, of Head; Reviews counts the exchanges with it.
	Review  *Review `json:"review,omitempty"`
	Reviews int     `json:"reviews,omitempty"`
	// Asked counts the questions asked so far, Answers are what came back, Question the open one.
	Question *Question `json:"question,omitempty"`
	Asked    int       `json:"asked,omitempty"`
	Answers  []string  `json:"answers,omitempty"`
	// Pending is what waits for approval, Approved what a person approved.
	Pending  *Approval `json:"pending,omitempty"`
	Approved []string  `json:"approved,omitempty"`
	// Failures counts, since the last step, the attempts at it that met trouble outside the run;
	// Trouble is the last one.
	Failures int    `json:"failures,omitempty"`
	Trouble  string `json:"trouble,omitempty"`
	// SeenSignal is the id of the last signal taken into account.
	SeenSignal int64 `json:"seen_signal,omitempty"`

	// Changes are the files of the final diff, Base to Final: what a reader of the pull request sees.
	Changes []Change `json:"changes,omitempty"`
	// Final is the one commit that is or will be pushed; it is fixed before the push, so that a
	// restart pushes the same one.
	Final string `json:"final,omitempty"`
	// Pushed is the commit that is on Run.Branch on GitHub, as far as this run knows.
	Pushed string `json:"pushed,omitempty"`
	// BaseNow is the default branch's commit at the time of the push where it is no longer Base.
	BaseNow string       `json:"base_now,omitempty"`
	Pull    *PullRequest `json:"pull,omitempty"`

	// Spent is what this run used; the ledger in the store is the truth for money and tokens.
	Spent    Spent      `json:"spent"`
	Decision Decision   `json:"decision"`
	History  []Decision `json:"history,omitempty"`
	// Last is how the phase that just ended came out, LastDetail says it to a person; both are
	// input of Decide.
	Last       Result `json:"last"`
	LastDetail string `json:"last_detail,omitempty"`
	// Ending is set once the run is bound for an end that is not done: publishing then pushes
	// the best state as a draft and goes there.
	Ending Phase `json:"ending,omitempty"`
	// Ended tells a person how the run ended, in one or two sentences.
	Ended   string    `json:"ended,omitempty"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
}

// Approval is something that a person must approve.
type Approval struct {
	// Key is what Snapshot.Approved will hold.
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// The keys of approvals.
const (
	ApprovePlan    = "plan"    // the plan, for autonomy approve-plan and for red-zone tasks
	ApproveChange  = "change"  // guard findings of severity approve
	ApproveSecrets = "secrets" // a push that would start workflows with secrets (security.md, rule 12)
	ApproveRequest = "request" // the coder asked for a person's approval
)

// Result is how a phase came out, the part of the state that only the next decision reads.
type Result string

// The results of phases.
const (
	ResultNone      Result = ""
	ResultOK        Result = "ok"
	ResultNothing   Result = "nothing-to-do"
	ResultQuestion  Result = "question"
	ResultApproval  Result = "approval-needed"
	ResultAnswered  Result = "answered"
	ResultApproved  Result = "approved"
	ResultRefused   Result = "refused"      // the candidate or reply was thrown away
	ResultGaveUp    Result = "gave-up"      // the coder is out of its depth
	ResultStalled   Result = "stalled"      // no more steps, or going in circles
	ResultLimit     Result = "limit"        // a limit is used up
	ResultStop      Result = "stop"         // a person's command stopped it: the best state is shown
	ResultCancel    Result = "cancel"       // it is no longer wanted: no further side effect
	ResultMoved     Result = "moved"        // somebody else pushed to the branch
	ResultWorkflows Result = "no-workflows" // the push needs GitHub's permission for workflows
	ResultEmpty     Result = "empty"        // the repository has no commits
	ResultModelDown Result = "no-model"     // the model's endpoint cannot be had
	ResultNoAccess  Result = "no-access"    // the repository refuses
	ResultNoTools   Result = "no-tools"     // the toolchain is missing
	ResultError     Result = "error"        // anything else that autocode cannot get past
)

// verdictOf is the verdict of a commit that this run made; nil where it has none.
func (s *Snapshot) verdictOf(commit string) *Verdict {
	for _, r := range s.Rounds {
		if r.Commit == commit {
			return r.Verdict
		}
	}
	return nil
}

// NewSnapshot is the first state of a run. A run that goes on from another one's pull request
// inherits its base, spec, plan and last verdict, never its budget.
func NewSnapshot(task Task, run Run, inherited Snapshot) Snapshot {
	s := Snapshot{
		Schema: SnapshotSchema, Seq: 1, Task: task, Run: run, Phase: PhaseQueued, Config: DefaultConfig(), Best: -1,
		Base: inherited.Base, Spec: inherited.Spec, Plan: inherited.Plan, Verdict: inherited.Verdict, Pull: inherited.Pull,
	}
	if run.From != "" {
		s.Start, s.Head, s.Pushed = run.From, run.From, run.From
	}
	return s
}
