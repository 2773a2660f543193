package loop

import (
	"context"
	"time"
)

// NoticeKind is what a comment of its own is for.
type NoticeKind string

// The kinds of notices: what a person must react to is a new comment, since edits notify nobody.
const (
	NoticeQuestion NoticeKind = "question"
	NoticePlan     NoticeKind = "plan"
	NoticeHandOver NoticeKind = "hand-over"
	NoticeResult   NoticeKind = "result"
	NoticeAnswer   NoticeKind = "answer" // there is nothing to change
	NoticeApproval NoticeKind = "approval"
)

// Notice is a comment of its own.
type Notice struct {
	Kind NoticeKind
	// Key makes the notice unique within its run, so that a restart does not say it twice.
	Key string
	// Markdown is trusted structure with untrusted parts already fenced; the publisher sanitises
	// the whole.
	Markdown string
}

// PullRequest is the pull request of a task.
type PullRequest struct {
	Number int    `json:"number"`
	NodeID string `json:"node_id,omitempty"`
	URL    string `json:"url"`
	Draft  bool   `json:"draft"`
	Head   string `json:"head"` // commit
	// NoDrafts says that the repository refuses drafts, so that it is a normal one titled WIP.
	NoDrafts bool `json:"no_drafts,omitempty"`
	Open     bool `json:"open"`
}

// Standing is what GitHub says about a task now, asked at the moment of acting.
type Standing struct {
	// Wanted is false when the label was removed or the issue was closed; Reason says which.
	Wanted bool
	Reason string
	// Authorised says whether the requester may still write.
	Authorised bool
	// Archived says that the repository is read-only.
	Archived bool
}

// Publisher writes to GitHub. Every effect carries a key and is looked up before it is made,
// so that each method may be called again after a crash.
type Publisher interface {
	// Acknowledge puts the reaction and the first progress comment on the issue.
	Acknowledge(ctx context.Context, snapshot Snapshot) error
	// Progress edits the task's one progress comment in place.
	Progress(ctx context.Context, snapshot Snapshot) error
	// Tell makes a comment of its own, once per key.
	Tell(ctx context.Context, snapshot Snapshot, notice Notice) error
	// AnswerRemark replies in the thread of a remark on the run's pull request, once per run.
	AnswerRemark(ctx context.Context, snapshot Snapshot, answer RemarkAnswer) error
	// Standing asks whether the task is still wanted and authorised.
	Standing(ctx context.Context, task Task, run Run) (Standing, error)
	// Locate returns the repository as it is called now: renaming changes name, owner and address. It asks
	// with new credentials, and so does whoever uses the repository next. ErrNoAccess where it is gone or
	// not the App's any more.
	Locate(ctx context.Context, repo Repo) (Repo, error)
	// StartCheck puts the check run `autocode` on a pushed commit, in progress.
	StartCheck(ctx context.Context, snapshot Snapshot, commit string) error
	// FinishChecks completes it from the verdict and posts one completed check run per stage.
	FinishChecks(ctx context.Context, snapshot Snapshot, verdict Verdict) error
	// SettleChecks completes, as failure, whatever check run of the run is still in progress.
	SettleChecks(ctx context.Context, snapshot Snapshot, reason string) error
	// OpenPull finds the pull request of the branch or opens one, as a draft where that is
	// possible, and brings title and body up to date.
	OpenPull(ctx context.Context, snapshot Snapshot) (PullRequest, error)
	// UpdatePull brings title and body up to date and makes it ready for review or a draft.
	UpdatePull(ctx context.Context, snapshot Snapshot, ready bool) (PullRequest, error)
}

// Clock tells the time, so that tests can.
type Clock interface {
	Now() time.Time
	// After fires once d has passed.
	After(d time.Duration) <-chan time.Time
}
