package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/seed-7a986423/autocode/loop"
)

// The two queues. Deliveries have workers of their own, so that one is handled at once also while
// every worker for runs is busy.
const (
	runQueue      = "runs"
	deliveryQueue = "deliveries"
)

const (
	// deliveryWorkers is how many deliveries are handled at a time: they wait for GitHub most of
	// the time, and one that waits long must not hold up the next.
	deliveryWorkers = 16
	// deliveryTimeout bounds the handling of one delivery: some calls of GitHub's API.
	deliveryTimeout = time.Minute
	// rescueAfter is when River takes a ticket for lost. It is a net below the sweeper, which
	// goes by our own tables and within seconds.
	rescueAfter = time.Hour
	// keepTickets is how long River keeps used tickets; only a person who debugs reads them.
	keepTickets = 15 * time.Minute
	// fetchPoll is how often a queue is looked into where no notification came.
	fetchPoll = 250 * time.Millisecond
	// stopPatience is how long Work waits, after the grace, for handlers that ignore their context.
	stopPatience = 10 * time.Second
)

// runJob is the ticket of a run: it says that there is one more run to drive, and names the one that
// it was written for, so that a person who reads the queue can follow. Which run is driven is
// chosen when a worker is free (claim), fairly among repositories.
type runJob struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch,omitempty"`
}

// Kind is the name of these jobs in the queue.
func (runJob) Kind() string { return "run" }

// InsertOpts sends the job to its queue.
func (runJob) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: runQueue} }

// deliveryJob is the ticket of a delivery for one try. Attempts says how many there were before: a ticket that
// was written twice must not bring the next try on before its time.
type deliveryJob struct {
	ID       string `json:"id"`
	Attempts int    `json:"attempts,omitempty"`
}

// Kind is the name of these jobs in the queue.
func (deliveryJob) Kind() string { return "delivery" }

// InsertOpts sends the job to its queue.
func (deliveryJob) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: deliveryQueue} }

// ticket enqueues a job that drives a run.
func (s *Store) ticket(ctx context.Context, t tx, run string, epoch int64) error {
	if _, err := s.insert.InsertManyFastTx(ctx, t.raw, []river.InsertManyParams{{Args: runJob{Run: run, Epoch: epoch}}}); err != nil {
		return fmt.Errorf("enqueue run %s: %w", run, err)
	}
	return nil
}

// riverConfig is what all our River clients have in common.
func (s *Store) riverConfig() *river.Config {
	return &river.Config{
		Logger:                      s.riverLog(),
		JobTimeout:                  deliveryTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: keepTickets,
		FetchCooldown:               s.config.FetchCooldown,
		FetchPollInterval:           fetchPoll,
		SoftStopTimeout:             s.config.StopGrace,
	}
}

// session is one call of Work.
type session struct {
	*Store
	drive   func(ctx context.Context, run string) error
	deliver func(ctx context.Context, delivery loop.Delivery) error
	// stop ends as soon as Work's context does. Runs are interrupted by it at once, since they
	// go on from their last snapshot; deliveries are short and get the grace.
	stop context.Context
}

// Work implements loop.Queue. It returns nil once its context has ended and all handlers have
// returned; work in progress is free for others then. Only one call at a time is allowed.
func (s *Store) Work(ctx context.Context, drive func(ctx context.Context, run string) error, deliver func(ctx context.Context, delivery loop.Delivery) error) error {
	ctx, err := s.beginWork(ctx)
	if err != nil {
		return err
	}
	defer s.endWork()
	w := &session{Store: s, drive: drive, deliver: deliver, stop: ctx}
	workers := river.NewWorkers()
	river.AddWorker(workers, &runWorker{session: w})
	river.AddWorker(workers, &deliveryWorker{session: w})
	config := s.riverConfig()
	config.Workers = workers
	config.Queues = map[string]river.QueueConfig{
		runQueue:      {MaxWorkers: s.config.Workers},
		deliveryQueue: {MaxWorkers: deliveryWorkers},
	}
	client, err := river.NewClient(s.driver, config)
	if err != nil {
		return fmt.Errorf("make queue: %w", err)
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start queue: %w", err)
	}
	s.sweepUntil(ctx)

	patience, done := context.WithTimeout(context.WithoutCancel(ctx), s.config.StopGrace+stopPatience)
	defer done()
	if err := client.Stop(patience); err != nil {
		return fmt.Errorf("stop queue: a handler has not returned within %s: %w", s.config.StopGrace+stopPatience, err)
	}
	return nil
}

// work is a call of Work in progress.
type work struct {
	stop context.CancelFunc
	done chan struct{}
}

// beginWork returns a context that also ends when the store is closed.
func (s *Store) beginWork(ctx context.Context) (context.Context, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.work != nil {
		return nil, errors.New("work: another call of Work is in progress")
	}
	ctx, stop := context.WithCancel(ctx)
	s.work = &work{stop: stop, done: make(chan struct{})}
	return ctx, nil
}

func (s *Store) endWork() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.work.stop()
	close(s.work.done)
	s.work = nil
}

// runWorker turns tickets into driven runs.
type runWorker struct {
	river.WorkerDefaults[runJob]
	*session
}

// Timeout is none: a run's own limits bound it, and its lease notices a worker that hangs.
func (*runWorker) Timeout(*river.Job[runJob]) time.Duration { return -1 }

// Work drives runs until there is none that this process may drive.
func (w *runWorker) Work(context.Context, *river.Job[runJob]) error {
	for w.stop.Err() == nil {
		c, ok, err := w.claim(w.stop)
		if err != nil && w.stop.Err() == nil {
			return err
		}
		if !ok {
			return nil
		}
		w.driveOne(c)
	}
	return nil
}

// driveOne calls the handler for a claimed run and settles what it leaves behind.
func (w *session) driveOne(c claimed) {
	defer w.seats.leave(c.repo)
	err := contain(func() error { return w.drive(w.stop, c.run) })
	if errors.Is(err, loop.ErrLeaseLost) {
		return
	}
	interrupted := w.stop.Err() != nil
	if err != nil && !interrupted {
		w.log.Error().Err(err).Str("run", c.run).Msg("run could not be driven; it is tried again")
	}
	if err := w.settleRun(context.WithoutCancel(w.stop), c, err, interrupted); err != nil {
		w.log.Error().Err(err).Str("run", c.run).Msg("run is not settled; its lease will expire")
	}
}

// deliveryWorker turns tickets into handled deliveries.
type deliveryWorker struct {
	river.WorkerDefaults[deliveryJob]
	*session
}

// Work handles one delivery.
func (w *deliveryWorker) Work(ctx context.Context, job *river.Job[deliveryJob]) error {
	id := job.Args.ID
	if !w.hands.take(id) {
		return nil // another ticket of the same
	}
	defer w.hands.drop(id)
	delivery, ok, err := w.takeDelivery(ctx, job.Args)
	if err != nil || !ok {
		return err
	}
	failure := contain(func() error { return w.deliver(ctx, delivery) })
	interrupted := failure != nil && w.stop.Err() != nil && ctx.Err() != nil
	switch {
	case errors.Is(failure, loop.ErrLater):
		w.log.Debug().Err(failure).Str("delivery", id).Str("event", delivery.Event).Msg("delivery is handled later")
	case failure != nil && !interrupted:
		w.log.Error().Err(failure).Str("delivery", id).Str("event", delivery.Event).Msg("delivery could not be handled; it is tried again")
	}
	return w.settleDelivery(context.WithoutCancel(ctx), delivery, failure, interrupted)
}

// contain turns a panic of a handler into an error.
func contain(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// hands are the deliveries that this process handles at the moment.
type hands struct {
	mutex sync.Mutex
	held  map[string]struct{}
}

func (h *hands) take(id string) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if _, taken := h.held[id]; taken {
		return false
	}
	h.held[id] = struct{}{}
	return true
}

func (h *hands) drop(id string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.held, id)
}

func (h *hands) all() []string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	ids := make([]string, 0, len(h.held))
	for id := range h.held {
		ids = append(ids, id)
	}
	return ids
}
