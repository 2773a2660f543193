package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Engine drives runs. Its parts are given by the composition root; all are required.
type Engine struct {
	Store     Store
	Knowledge Knowledge
	Workspace Workspace
	Runner    Runner
	Verifier  Verifier
	Guard     Guard
	Index     Index
	Model     Model
	Planner   Planner
	Coder     Coder
	Critic    Critic
	Publisher Publisher
	Clock     Clock
	Observer  Observer
	Log       zerolog.Logger
	Settings  Settings

	// busy counts the workers that are taken: one for each run that is driven, and one for each
	// candidate that is worked on beside a run's first.
	busy atomic.Int64
}

// Settings are the server's own, for every repository.
type Settings struct {
	// Worker names this process in leases.
	Worker string
	// Ceiling is what no repository can exceed, and the default of what it leaves out.
	Ceiling Config
	// Heartbeat is how often the lease is renewed and signals are read; at most a third of the
	// lease's time to live.
	Heartbeat time.Duration
	// Workers is how many runs and candidates are worked on at once; with 0 candidates are made one
	// after another.
	Workers int
	// BranchPrefix is put before the name of every branch that autocode owns.
	BranchPrefix string
	// PromptsVersion is written into every verdict.
	PromptsVersion string
}

// Observer is told of every stored state. It must not block.
type Observer interface {
	Observe(snapshot Snapshot)
}

// Causes of a cancelled phase. They never leave this package.
var (
	errStopSignal   = errors.New("stopped by command")
	errCancelSignal = errors.New("no longer wanted")
	errWallTime     = errors.New("wall time used up")
)

// Drive takes a run from its newest snapshot as far as it goes: to an end, to a phase that waits
// for a person, or to the loss of the lease. It may be called again at any time for any run; a
// call for a run that another worker drives does nothing. An error means that nothing went wrong
// with the run itself and that the call should be repeated later.
func (e *Engine) Drive(ctx context.Context, runID string) error {
	lease, snapshot, err := e.Store.Acquire(ctx, runID, e.Settings.Worker)
	if errors.Is(err, ErrLeaseLost) {
		return nil // another worker has it
	}
	if err != nil {
		return fmt.Errorf("take run %s: %w", runID, err)
	}
	log := e.Log.With().Str("task", snapshot.Task.ID).Str("run", runID).Logger()
	ctx, cancel := context.WithCancelCause(log.WithContext(ctx))
	defer cancel(nil)

	d := &drive{Engine: e, lease: lease, s: snapshot, log: log}
	defer d.closeClone()
	defer d.closeHeld()
	e.busy.Add(1)
	defer e.busy.Add(-1)
	beats := d.heartbeat(ctx, cancel)
	err = d.run(ctx)
	shutdown := ctx.Err() != nil
	cancel(nil)
	<-beats

	if errors.Is(err, ErrLeaseLost) || errors.Is(context.Cause(ctx), ErrLeaseLost) {
		log.Warn().Msg("another worker has taken the run over")
		return nil
	}
	if err != nil {
		d.postpone(context.WithoutCancel(ctx), err, shutdown)
	}
	return err
}

// drive is one worker's turn at one run.
type drive struct {
	*Engine
	lease Lease
	log   zerolog.Logger

	// s is the state in memory; mutex guards what the heartbeat shares with it. It is never held over a call of the store.
	s       Snapshot
	mutex   sync.Mutex
	signals []Signal
	// reading lets one reader at a time ask for signals, so that none is taken twice; it guards lastSeen.
	reading  sync.Mutex
	lastSeen int64
	// interrupt ends the phase in progress; nil between phases.
	interrupt context.CancelCauseFunc
	// calls counts the model's calls in the phase in progress; mutex guards it.
	calls int
	// began is when the phase in progress began; zero between phases.
	began time.Time

	clone    Clone
	ready    bool // the clone's dependencies are installed
	baseline *Outcome

	// held are the clones of the candidates of the round in progress, by number; mutex guards it.
	held map[int]Clone
	// saving lets one candidate at a time store what came of it.
	saving sync.Mutex
	meter  meter
}

// run goes from phase to phase. Every turn of the loop ends with a stored snapshot.
func (d *drive) run(ctx context.Context) error {
	d.lastSeen = d.s.SeenSignal
	if err := d.readLedger(ctx); err != nil {
		return err
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := d.readSignals(ctx); err != nil {
			return err
		}
		d.takeSignals()
		if d.s.Phase.Ended() && d.s.Last != ResultAnswered {
			return d.rest(ctx)
		}
		if d.s.Phase.Waits() && d.s.Last == ResultNone {
			return d.rest(ctx)
		}
		if err := d.turn(ctx); err != nil {
			return err
		}
		if d.s.Phase.Ended() || d.s.Phase.Waits() {
			// Save has given the lease up.
			return nil
		}
	}
}

// rest gives the lease up without a new state.
func (d *drive) rest(ctx context.Context) error {
	return d.Store.Release(ctx, d.lease, 0)
}

// stepDecided is the step of a phase that is over and whose decision is stored, so that trouble in
// telling people about it does not repeat the phase.
const stepDecided = "decided"

// turn does the current phase, decides what follows, tells people, and stores it.
func (d *drive) turn(ctx context.Context) error {
	decision := d.s.Decision
	if d.s.Step != stepDecided || d.stopped() {
		var err error
		if decision, err = d.decide(ctx); err != nil {
			return err
		}
	}
	if err := d.apply(ctx, decision); err != nil {
		return err
	}
	if err := d.announce(ctx); err != nil {
		return err
	}
	return d.save(ctx)
}

// decide does the current phase and decides what follows.
func (d *drive) decide(ctx context.Context) (Decision, error) {
	if d.s.Phase.Ended() {
		d.reopen()
	} else if !d.stopped() {
		if err := d.phase(ctx); err != nil {
			return Decision{}, err
		}
		d.takeSignals()
	}
	decision := Decide(d.s)
	decision.At = d.Clock.Now()
	if err := d.recordDecision(ctx, decision); err != nil {
		return Decision{}, err
	}
	if !CanFollow(d.s.Phase, decision.Next) {
		return Decision{}, fmt.Errorf("run %s: rule %s leads from %s to %s, which the state machine forbids",
			d.s.Run.ID, decision.Rule, d.s.Phase, decision.Next)
	}
	if (decision.Next.Ended() || decision.Next.Waits()) && !d.s.Phase.Waits() {
		d.s.Step, d.s.Decision = stepDecided, decision
		return decision, d.save(ctx)
	}
	return decision, nil
}

// reopen prepares an ended run to go on, as `/autocode resume` asks.
func (d *drive) reopen() {
	d.s.Ending, d.s.Ended = "", ""
	d.s.Phase, d.s.Last, d.s.LastDetail = PhaseQueued, ResultNone, ""
}

// stopped says that a signal ended the run before the phase began.
func (d *drive) stopped() bool { return d.s.Last == ResultStop || d.s.Last == ResultCancel }

// phase runs the current phase with the limits and interruptions that hold for it, and writes
// its result into the snapshot. The error is one that another attempt may not meet.
func (d *drive) phase(ctx context.Context) error {
	if why, tired := d.s.exhausted(); tired {
		d.s.Last, d.s.LastDetail = ResultError, why
		return nil
	}
	timed := d.s.Phase.timed()
	left := d.timeLeft()
	if timed && left <= 0 {
		over := d.outOfTime()
		d.s.Last, d.s.LastDetail = over.result, over.detail
		return nil
	}
	work, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	if timed {
		over := d.Clock.After(left)
		go func() {
			select {
			case <-over:
				interrupt(errWallTime)
			case <-work.Done():
			}
		}()
	}
	d.mutex.Lock()
	d.interrupt = interrupt
	d.mutex.Unlock()
	d.began, d.calls = d.Clock.Now(), 0
	d.log.Info().Str("phase", string(d.s.Phase)).Int("round", len(d.s.Rounds)).Msg("phase begins")

	result, err := d.contained(work)
	if errors.Is(err, ErrNoAccess) && d.reachable(work) {
		result, err = d.contained(work)
	}

	d.mutex.Lock()
	d.interrupt = nil
	d.s.Spent.Wall, d.began = d.wall(), time.Time{}
	d.mutex.Unlock()
	d.s.Last, d.s.LastDetail = result.result, result.detail
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause // shut down, or the lease is lost: the phase is done again
	}
	switch cause := context.Cause(work); {
	case errors.Is(cause, errStopSignal), errors.Is(cause, errCancelSignal):
		return nil // takeSignals tells the rest
	case errors.Is(cause, errWallTime):
		over := d.outOfTime()
		d.s.Last, d.s.LastDetail = over.result, over.detail
		return nil
	}
	last, known := resultOf(err)
	if !known {
		return fmt.Errorf("run %s, phase %s: %w", d.s.Run.ID, d.s.Phase, err)
	}
	d.s.Last, d.s.LastDetail = last, err.Error()
	d.log.Warn().Err(err).Str("phase", string(d.s.Phase)).Msg("phase ended early")
	return nil
}

// reachable says whether a repository that refuses access may give it at a second try: it is called
// otherwise by now, since git follows no redirection with a token, or took the token for bad.
func (d *drive) reachable(ctx context.Context) bool {
	was := d.s.Task.Repo
	now, err := d.Publisher.Locate(ctx, was)
	if err != nil || now.ID != was.ID {
		return false // the refusal stands, and says why
	}
	d.log.Info().Str("was", was.FullName()).Str("now", now.FullName()).Msg("the repository is there all the same; the phase is done again")
	d.closeClone()
	d.s.Task.Repo = now
	return true
}

// ended is what a phase returns.
type ended struct {
	result Result
	detail string
}

func ok() (ended, error) { return ended{result: ResultOK}, nil }

func with(result Result, format string, args ...any) (ended, error) {
	return ended{result: result, detail: fmt.Sprintf(format, args...)}, nil
}

// contained calls the phase's own function; a panic is a fault of autocode that ends this run, and
// no other.
func (d *drive) contained(ctx context.Context) (result ended, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error().Str("phase", string(d.s.Phase)).Bytes("stack", debug.Stack()).Msgf("panic: %v", p)
			result, err = ended{result: ResultError, detail: fmt.Sprintf("a fault of autocode in the phase %s: %v", d.s.Phase, p)}, nil
		}
	}()
	return d.dispatch(ctx)
}

// dispatch calls the phase's own function.
func (d *drive) dispatch(ctx context.Context) (ended, error) {
	switch d.s.Phase {
	case PhaseQueued:
		return ok()
	case PhasePreparing:
		return d.prepare(ctx)
	case PhaseSpecifying:
		return d.specify(ctx)
	case PhasePlanning:
		return d.plan(ctx)
	case PhaseCoding:
		return d.code(ctx)
	case PhaseVerifying:
		return d.verify(ctx)
	case PhaseReviewing:
		return d.review(ctx)
	case PhasePublishing:
		return d.publish(ctx)
	case PhaseClarifying, PhaseApproving:
		return ended{result: d.s.Last, detail: d.s.LastDetail}, nil
	case PhaseDone, PhaseEscalated, PhaseStopped, PhaseFailed:
		return ended{}, fmt.Errorf("an ended run has no phase to do")
	}
	return ended{}, fmt.Errorf("unknown phase %q", d.s.Phase)
}

// Unavailable is implemented by errors of the sandbox that mean that no command can be run here
// until a person does something about it.
type Unavailable interface {
	error
	Unavailable() bool
}

// resultOf maps the errors that belong to a run to its result; all others are repeated later.
func resultOf(err error) (Result, bool) {
	var limit *LimitError
	var model *ModelError
	var unavailable Unavailable
	switch {
	case errors.As(err, &limit):
		return ResultLimit, true
	case errors.As(err, &model):
		switch model.Fault {
		case ModelMalformed, ModelRefused, ModelOverflow:
			return ResultRefused, true
		case ModelUnreachable, ModelUnauthorised, ModelRateLimited, ModelBroken, ModelRejected:
			return ResultModelDown, true
		}
		return ResultModelDown, true
	case errors.Is(err, ErrNoAccess):
		return ResultNoAccess, true
	case errors.Is(err, ErrEmptyRepository):
		return ResultEmpty, true
	case errors.As(err, &unavailable):
		return ResultNoTools, true
	default:
		return ResultNone, false
	}
}

// apply writes a decision into the snapshot.
func (d *drive) apply(ctx context.Context, decision Decision) error {
	s := &d.s
	if decision.Rollback {
		if c := s.Current(); c != nil && c.Commit != "" && s.Head == c.Commit {
			c.RolledBack = true
			s.Head, s.Verdict, s.Review = c.Parent, s.verdictOf(c.Parent), nil
			if d.clone != nil {
				if err := d.clone.Reset(ctx, s.Head, true); err != nil {
					return fmt.Errorf("undo round %d: %w", c.Number, err)
				}
			}
		}
	}
	if decision.Ending != "" {
		s.Ending = decision.Ending
	}
	if decision.Strategy != "" {
		s.Strategy = decision.Strategy
	}
	s.Strong = s.Strong || decision.Strong
	if decision.Next.Ended() {
		s.Ended = decision.Reason
	}
	if decision.Next == PhaseCoding {
		// Another candidate is another commit to push, and another question for who approved this one.
		s.Final = ""
		s.Approved = slices.DeleteFunc(s.Approved, func(key string) bool { return key == ApproveChange || key == ApproveSecrets })
	}
	d.log.Info().Str("rule", decision.Rule).Str("next", string(decision.Next)).Str("reason", decision.Reason).Msg("decided")
	s.Decision = decision
	s.History = append(s.History, decision)
	s.Phase, s.Step = decision.Next, ""
	s.Last, s.Failures, s.Trouble = ResultNone, 0, ""
	return nil
}

// save stores the snapshot as the next one of the run.
func (d *drive) save(ctx context.Context) error {
	d.mutex.Lock()
	d.s.Schema = SnapshotSchema
	d.s.Seq++
	d.s.Updated = d.Clock.Now()
	snapshot := d.s
	snapshot.Spent.Wall = d.wall()
	d.mutex.Unlock()
	if err := d.Store.Save(ctx, d.lease, snapshot); err != nil {
		d.mutex.Lock()
		d.s.Seq--
		d.mutex.Unlock()
		return fmt.Errorf("store snapshot %d of run %s: %w", snapshot.Seq, snapshot.Run.ID, err)
	}
	d.Observer.Observe(snapshot)
	return nil
}

// closeClone removes the run's clone, as far as this worker has it.
func (d *drive) closeClone() {
	if d.clone == nil {
		return
	}
	if err := d.clone.Close(); err != nil {
		d.log.Warn().Err(err).Msg("the clone could not be removed; it is reaped at the next start")
	}
	d.clone, d.ready = nil, false
}
