package loop

import (
	"context"
	"time"
)

// Forge answers what the event handlers must ask of GitHub before they believe an event, and
// says the little that they say by themselves. An error is never a yes.
type Forge interface {
	// Repository looks a repository up by id and name with the installation's own access; the
	// payload's word for it is not enough. ErrNoAccess where it is not the installation's, or where
	// the name is another repository's.
	Repository(ctx context.Context, installation, id int64, owner, name string) (Repo, error)
	// CanWrite says whether a person may push: permission admin or write, asked now.
	CanWrite(ctx context.Context, repo Repo, login string) (bool, error)
	// LabelEvent returns who put a label on an issue last, and when. ErrNotFound where it cannot
	// be looked up, or where the label was taken off again.
	LabelEvent(ctx context.Context, repo Repo, issue int, label string) (Labelling, error)
	// BodyBefore returns an issue's body as it was before the second of a moment, whatever it is
	// now. ErrNotFound where the history of edits cannot be had.
	BodyBefore(ctx context.Context, repo Repo, issue int, at time.Time) (string, error)
	// Thread returns the comments of an issue or pull request, oldest first.
	Thread(ctx context.Context, repo Repo, number int) ([]ThreadComment, error)
	// PullHead returns where a pull request stands.
	PullHead(ctx context.Context, repo Repo, number int) (PullHead, error)
	// Review reads a review of a pull request: its text and its remarks, each with file and line.
	Review(ctx context.Context, repo Repo, pull int, review int64) (PullReview, error)
	// SuiteFailures renders what is red in a check suite: its failing check runs with their
	// annotations, and what the logs of GitHub Actions say where the App may read them. Empty where
	// nothing is.
	SuiteFailures(ctx context.Context, repo Repo, suite int64) (string, error)
	// StatusFailures renders the commit statuses of a commit that are red now. Empty where none is,
	// ErrNoAccess where the App may not read them.
	StatusFailures(ctx context.Context, repo Repo, commit string) (string, error)
	// RepoConfig reads the repository's configuration from its default branch, laid over the default one. A
	// file with faults is none.
	RepoConfig(ctx context.Context, repo Repo) (Config, error)
	// SkipCheck puts the check run `autocode` on a commit as skipped, where autocode has none on it.
	SkipCheck(ctx context.Context, repo Repo, commit string) error
	// React puts a reaction on a comment, once; on a comment of a review where onReview is set.
	React(ctx context.Context, repo Repo, comment int64, onReview bool, reaction Reaction) error
	// Reply comments on an issue or pull request, once per key. The Markdown is sanitised.
	Reply(ctx context.Context, repo Repo, number int, key, markdown string) error
}

// Labelling is a label put on an issue.
type Labelling struct {
	Actor string // login
	At    time.Time
	// Title is the issue's title before the second of At, where it was renamed in or after it;
	// empty: it was not.
	Title string
}

// PullReview is a review of a pull request.
type PullReview struct {
	// Text is the review's own text, and what it answered in earlier conversations.
	Text string
	// Remarks are those that begin a conversation.
	Remarks []Remark
}

// ThreadComment is a comment with what decides whether it may be believed.
type ThreadComment struct {
	Comment
	Updated time.Time
	Bot     bool
	// Key is that of autocode's own notice or reply, empty for everything else.
	Key string
}

// PullHead is where a pull request stands.
type PullHead struct {
	Number int
	Head   string // commit
	Branch string
	// Fork says that the branch is in another repository: it is never pushed to.
	Fork bool
	Open bool
	// Conflicts says whether it conflicts with its base; nil: GitHub has not worked it out yet.
	Conflicts *bool
}

// Reaction is one of GitHub's reactions.
type Reaction string

// The reactions that are used.
const (
	ReactionSeen    Reaction = "eyes"
	ReactionDone    Reaction = "+1"
	ReactionRefused Reaction = "-1"
	ReactionUnclear Reaction = "confused"
)
