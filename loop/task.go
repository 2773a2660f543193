package loop

import "time"

// Repo names a repository and how to reach it. It never holds a credential.
type Repo struct {
	// ID is GitHub's numeric id, which survives renames; 0 for a local repository.
	ID int64 `json:"id,omitempty"`
	// Owner and Name are as GitHub spells them now; for a local repository Owner is "local".
	Owner string `json:"owner"`
	Name  string `json:"name"`
	// Installation is the GitHub App installation that grants access; 0 for a local repository.
	Installation int64 `json:"installation,omitempty"`
	// CloneURL is an http(s) URL without credentials, or a file path for a local repository.
	CloneURL string `json:"clone_url"`
	// DefaultBranch is the branch that pull requests are opened against.
	DefaultBranch string `json:"default_branch"`
	// Private says whether outsiders can read the repository.
	Private bool `json:"private,omitempty"`
}

// FullName is OWNER/NAME.
func (r Repo) FullName() string { return r.Owner + "/" + r.Name }

// Source says where a task comes from.
type Source string

// The sources of a task.
const (
	SourceIssue    Source = "issue"    // the label on an issue
	SourceSchedule Source = "schedule" // a discovery loop
	SourceCLI      Source = "cli"      // autocode run
)

// Comment is one comment that was there when the task was asked for and whose author had write
// access, or was vouched for (security.md, rule 7).
type Comment struct {
	ID     int64     `json:"id,omitempty"`
	Author string    `json:"author"`
	Body   string    `json:"body"`
	At     time.Time `json:"at"`
}

// Issue is the issue's text as it was when an authorised person acted on it.
// Later edits are not in it.
type Issue struct {
	Number int    `json:"number,omitempty"` // 0 where there is no issue (autocode run)
	NodeID string `json:"node_id,omitempty"`
	URL    string `json:"url,omitempty"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	// Author is the login of the issue's author, "ghost" where the account is gone.
	Author string `json:"author"`
	// AuthorTrusted says whether the author had write access when the task was asked for.
	AuthorTrusted bool      `json:"author_trusted"`
	Comments      []Comment `json:"comments,omitempty"`
}

// Task is what an issue, a schedule or a command line asks for. It does not change: attempts
// at it are runs.
type Task struct {
	ID     string `json:"id"`
	Repo   Repo   `json:"repo"`
	Source Source `json:"source"`
	Issue  Issue  `json:"issue"`
	// Requester is the login of the person whose authority the task stands on.
	Requester string `json:"requester"`
	// Label is the label that asked for the task, which stands as long as the issue has it; "": the server's.
	Label   string    `json:"label,omitempty"`
	Created time.Time `json:"created"`
}

// Trigger says what started a run.
type Trigger string

// The triggers of a run.
const (
	TriggerLabel  Trigger = "label"
	TriggerRetry  Trigger = "retry"  // /autocode retry or the Retry button
	TriggerReview Trigger = "review" // review comments on autocode's own pull request
	TriggerCI     Trigger = "ci"     // failing check suites of other apps
	TriggerBase   Trigger = "base"   // the base branch moved, and the pull request conflicts with it
	TriggerRerun  Trigger = "rerun"  // GitHub's own Re-run: verification only
	TriggerCLI    Trigger = "cli"
)

// Run is one attempt at a task.
type Run struct {
	ID     string `json:"id"`
	TaskID string `json:"task"`
	// Number counts the runs of a task from 1.
	Number  int     `json:"number"`
	Trigger Trigger `json:"trigger"`
	// RequestedBy is the login of the person who asked for this run.
	RequestedBy string `json:"requested_by"`
	// RequesterID is that account's number on GitHub, by which the server's configuration trusts a
	// bot; 0 where it is not known.
	RequesterID int64 `json:"requester_id,omitempty"`
	// Guidance is what that person added: the rest of a retry command, or a review's comments.
	Guidance string `json:"guidance,omitempty"`
	// Remarks are the conversations of the review that started this run; each is answered.
	Remarks []Remark `json:"remarks,omitempty"`
	// From is the commit that the run starts from, the pull request's head for a retry;
	// empty: the base.
	From string `json:"from,omitempty"`
	// Branch is the branch that autocode owns for this task; the engine names it in the first
	// run, later runs inherit it.
	Branch string `json:"branch,omitempty"`
	// PullRequest is the number of the pull request that exists already, else 0.
	PullRequest int       `json:"pull_request,omitempty"`
	Created     time.Time `json:"created"`
}
