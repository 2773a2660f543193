package loop

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound is returned for what the store does not have.
var ErrNotFound = errors.New("not found")

// ErrLeaseLost is returned to a worker whose run another worker has taken over; it must stop at
// once and write nothing more.
var ErrLeaseLost = errors.New("another worker has taken this run over")

// ErrLater is what the handler of a delivery returns that must wait for something of autocode's own,
// such as a run that is at work: it is no failure, and the queue comes back soon.
var ErrLater = errors.New("it has to wait")

// Lease is the right to write a run's state. Every write carries its epoch, and a write with an
// old one is refused with ErrLeaseLost.
type Lease struct {
	Run    string
	Worker string
	Epoch  int64
}

// SignalKind is what a person or GitHub says to a run from outside.
type SignalKind string

// The signals.
const (
	SignalStop    SignalKind = "stop"   // a person's command: the best state is pushed
	SignalCancel  SignalKind = "cancel" // label removed, issue closed, access gone: no further side effect
	SignalResume  SignalKind = "resume"
	SignalApprove SignalKind = "approve"
	SignalAnswer  SignalKind = "answer"
	SignalBudget  SignalKind = "budget"
)

// Signal is one message to a run. Signals are numbered by the store and taken into account once.
type Signal struct {
	ID   int64
	Kind SignalKind
	By   string // login
	Text string // the answer, or why it was stopped
	More Limits // what a budget signal adds
	At   time.Time
}

// RunInfo is what lists show of a run.
type RunInfo struct {
	Run      Run
	Task     Task
	Phase    Phase
	Round    int
	Decision Decision
	Spent    Spent
	Pull     *PullRequest
	Ended    string
	Started  time.Time
	Updated  time.Time
}

// RunFilter chooses runs for a list; zero values choose all.
type RunFilter struct {
	Task string
	Repo string // OWNER/NAME, as a run's repository was called when it started
	// RepoID is GitHub's number of the repository: it finds runs from before a renaming as well.
	RepoID int64
	Issue  int
	Pull   int
	Open   bool // only runs that have not ended
	Limit  int  // 0: 100
}

// Store keeps tasks, runs, snapshots, the ledger and artifacts. What it has accepted survives a
// kill. Transactions stay inside.
type Store interface {
	// StartRun stores the task (by its repository and issue number: an existing one is taken
	// instead, with the text of the new one), a run of it, its first snapshot and the job that
	// drives it, in one transaction. Where the task has a run that has not ended, that one is
	// returned and started is false. Task.ID, Run.ID and Run.Number are filled in by the store.
	StartRun(ctx context.Context, task Task, run Run, first Snapshot) (stored Snapshot, started bool, err error)

	// Acquire takes the lease of a run and returns its newest snapshot. It fails with
	// ErrLeaseLost while another worker's lease is alive.
	Acquire(ctx context.Context, run, worker string) (Lease, Snapshot, error)
	// Heartbeat keeps the lease alive and returns the signals after the given id, oldest first.
	Heartbeat(ctx context.Context, lease Lease, after int64) ([]Signal, error)
	// Save stores a snapshot under the lease; its Seq must be one more than the stored one's.
	// Where its phase waits or has ended the lease is given up in the same transaction.
	Save(ctx context.Context, lease Lease, snapshot Snapshot) error
	// Release gives the lease up without a new state, so that another worker may go on at once,
	// or after a delay.
	Release(ctx context.Context, lease Lease, delay time.Duration) error

	// Signal stores a signal and wakes the run up where it waits or has stopped or escalated
	// (resume only). ErrNotFound where there is no such run.
	Signal(ctx context.Context, run string, signal Signal) error

	// Snapshot returns the newest snapshot of a run, Snapshots all of them in order.
	Snapshot(ctx context.Context, run string) (Snapshot, error)
	Snapshots(ctx context.Context, run string) ([]Snapshot, error)
	// Runs lists runs, newest first.
	Runs(ctx context.Context, filter RunFilter) ([]RunInfo, error)

	// RecordUsage appends lines to the ledger of a run, at once, whatever becomes of its phase.
	RecordUsage(ctx context.Context, lease Lease, usage ...Usage) error
	// Ledger returns the lines of a run in order.
	Ledger(ctx context.Context, run string) ([]Usage, error)
	// Spending sums the ledger for a run, its task, and its repository since a time.
	Spending(ctx context.Context, run string, since time.Time) (Spending, error)

	// PutArtifact stores a named file of a run, replacing an older one of that name; Artifact
	// returns it or ErrNotFound; Artifacts lists the names, sorted.
	PutArtifact(ctx context.Context, lease Lease, name string, data []byte) error
	Artifact(ctx context.Context, run, name string) ([]byte, error)
	Artifacts(ctx context.Context, run string) ([]string, error)

	// PutBaseline caches the verified base of a repository under a key; Baseline returns it or
	// ErrNotFound.
	PutBaseline(ctx context.Context, repo, key string, outcome Outcome) error
	Baseline(ctx context.Context, repo, key string) (Outcome, error)
}

// Knowledge remembers, per repository, what failed and what fixed it.
type Knowledge interface {
	// Learn stores a lesson.
	Learn(ctx context.Context, lesson Lesson) error
	// Recall returns the lessons most like the text, best first, at most n.
	Recall(ctx context.Context, repo, text string, n int) ([]Lesson, error)
	// Judge records what became of the pull request of a run: merged, closed, reverted.
	Judge(ctx context.Context, run, outcome string) error
}

// Lesson is one remembered case.
type Lesson struct {
	ID        int64
	Repo      string // OWNER/NAME
	Run       string
	Signature string // normalised failure
	Problem   string
	Change    string // what was done, in a few sentences
	Files     []string
	Worked    bool
	Uses      int
	Successes int
	At        time.Time
}

// Queue works off what the store has enqueued. Handlers may be called again for the same
// thing after a crash.
type Queue interface {
	// Work runs until the context ends. drive is called with a run's id, deliver with a stored
	// delivery; an error of either is tried again later, with growing distance.
	Work(ctx context.Context, drive func(ctx context.Context, run string) error, deliver func(ctx context.Context, delivery Delivery) error) error
}

// Delivery is one webhook as it came, after its signature held.
type Delivery struct {
	ID       string // X-GitHub-Delivery
	Event    string // X-GitHub-Event
	Payload  []byte
	Received time.Time
	// Key identifies what happened, so that the same event under another delivery id does
	// nothing (security.md, rule 10); empty: only the id counts.
	Key string
}

// Inbox stores deliveries before they are answered.
type Inbox interface {
	// Receive stores the delivery and the job that handles it in one transaction. It returns
	// false where its id or key is known already; then nothing was enqueued.
	Receive(ctx context.Context, delivery Delivery) (fresh bool, err error)
}
