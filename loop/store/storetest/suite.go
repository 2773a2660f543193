package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// Backend is a store as the suite sees it.
type Backend interface {
	loop.Store
	loop.Queue
	loop.Inbox
	loop.Knowledge
	// Watch tells of changes of a run.
	Watch(ctx context.Context, run string) (<-chan struct{}, error)
	Close() error
}

// Options are what a test asks of a backend.
type Options struct {
	Workers int
	// Clock is what the backend must tell the time by.
	Clock loop.Clock
}

// Times that the suite expects a backend to be configured with.
const (
	// LeaseTTL is how long a lease lives.
	LeaseTTL = 15 * time.Second
	// Sweep is how often the backend looks for what is due.
	Sweep = time.Second
)

// Suite says how to get backends.
type Suite struct {
	// Open opens the database of a name; the same name within a test is the same database. The
	// suite closes what it opens.
	Open func(t *testing.T, name string, options Options) Backend
	// Shared says that several backends may have the same database open at a time.
	Shared bool
}

// patience is how long the suite waits for something that must happen: no measure of speed, only
// the end of a test that hangs.
const patience = 5 * time.Minute

// Run tests a database.
func Run(t *testing.T, suite Suite) {
	for _, group := range []struct {
		name string
		run  func(t *testing.T, suite Suite)
	}{
		{"runs", testRuns},
		{"lists", testLists},
		{"leases", testLeases},
		{"signals", testSignals},
		{"ledger", testLedger},
		{"artifacts", testArtifacts},
		{"inbox", testInbox},
		{"queue", testQueue},
		{"fairness", testFairness},
		{"recovery", testRecovery},
		{"knowledge", testKnowledge},
		{"watch", testWatch},
	} {
		t.Run(group.name, func(t *testing.T) { group.run(t, suite) })
	}
}

// bench is one test's store with its clock.
type bench struct {
	*testing.T
	Backend
	suite Suite
	clock *Clock
	stop  func() error // of the work that was started last
}

// open makes a store for a test.
func open(t *testing.T, suite Suite, workers int) *bench {
	t.Helper()
	clock := NewClock()
	b := &bench{T: t, suite: suite, clock: clock}
	b.Backend = suite.Open(t, "main", Options{Workers: workers, Clock: clock})
	t.Cleanup(func() {
		if b.stop != nil {
			b.stop()
		}
		b.Backend.Close()
	})
	return b
}

// reopen closes the store and opens the same database again.
func (b *bench) reopen(workers int) {
	b.Helper()
	if err := b.Backend.Close(); err != nil {
		b.Fatalf("close: %v", err)
	}
	b.Backend = b.suite.Open(b.T, "main", Options{Workers: workers, Clock: b.clock})
}

// drive and deliver are handlers that a test did not expect to be called.
func (b *bench) noDrive(_ context.Context, run string) error {
	b.Errorf("run %s was driven", run)
	return nil
}

func (b *bench) noDeliver(_ context.Context, d loop.Delivery) error {
	b.Errorf("delivery %s was handled", d.ID)
	return nil
}

// work starts the queue; it ends with the test, or by end.
func (b *bench) work(drive func(context.Context, string) error, deliver func(context.Context, loop.Delivery) error) {
	b.Helper()
	if drive == nil {
		drive = b.noDrive
	}
	if deliver == nil {
		deliver = b.noDeliver
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	backend := b.Backend
	go func() { done <- backend.Work(ctx, drive, deliver) }()
	b.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
}

// end stops the queue and waits until it has stopped.
func (b *bench) end() {
	b.Helper()
	if err := b.stop(); err != nil {
		b.Fatalf("work: %v", err)
	}
}

// task is an issue's task.
func task(repo int64, issue int) loop.Task {
	return loop.Task{
		Repo:      loop.Repo{ID: repo, Owner: "Octo", Name: "repo" + string(rune('a'+repo%26)), DefaultBranch: "main"},
		Source:    loop.SourceIssue,
		Issue:     loop.Issue{Number: issue, Title: "a title", Body: "a body with \x00"},
		Requester: "mona",
	}
}

// start starts a run that must be a new one.
func (b *bench) start(repo int64, issue int) loop.Snapshot {
	b.Helper()
	snapshot, started, err := b.StartRun(b.Context(), task(repo, issue), loop.Run{Trigger: loop.TriggerLabel}, loop.Snapshot{Best: -1})
	if err != nil || !started {
		b.Fatalf("start run: started %v, error %v", started, err)
	}
	return snapshot
}

// acquire takes a lease that must be free.
func (b *bench) acquire(run, worker string) (loop.Lease, loop.Snapshot) {
	b.Helper()
	lease, snapshot, err := b.Acquire(b.Context(), run, worker)
	if err != nil {
		b.Fatalf("acquire: %v", err)
	}
	return lease, snapshot
}

// save stores the next snapshot in a phase.
func (b *bench) save(lease loop.Lease, snapshot loop.Snapshot, phase loop.Phase) loop.Snapshot {
	b.Helper()
	snapshot.Seq++
	snapshot.Phase = phase
	if err := b.Save(b.Context(), lease, snapshot); err != nil {
		b.Fatalf("save %s: %v", phase, err)
	}
	return snapshot
}

// signal sends a signal.
func (b *bench) signal(run string, kind loop.SignalKind) {
	b.Helper()
	if err := b.Signal(b.Context(), run, loop.Signal{Kind: kind, By: "mona"}); err != nil {
		b.Fatalf("signal %s: %v", kind, err)
	}
}

// is fails the test unless err is target.
func (b *bench) is(err, target error, what string) {
	b.Helper()
	if !errors.Is(err, target) {
		b.Errorf("%s: error is %v, must be %v", what, err, target)
	}
}

// next waits for a value.
func next[T any](b *bench, from <-chan T) T {
	b.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		b.Fatalf("nothing came within %s", patience)
		panic("unreachable")
	}
}

// turn turns the clock, sweep by sweep, until a value comes.
func turn[T any](b *bench, from <-chan T) T {
	b.Helper()
	deadline := time.After(patience)
	for {
		b.clock.Advance(Sweep)
		select {
		case value := <-from:
			return value
		case <-deadline:
			b.Fatalf("nothing came within %s", patience)
		case <-time.After(time.Millisecond): // lets the backend's goroutines run between turns
		}
	}
}
