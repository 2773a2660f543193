package loop

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// spendingDay is the window of the limits per repository and day.
const spendingDay = 24 * time.Hour

// meter knows the calls in flight. Candidates are made side by side, and each of their calls must be
// reckoned with by the others before it has a price.
type meter struct {
	mutex    sync.Mutex
	inFlight int
	dearest  Spent         // what the dearest call of the run took so far
	landed   chan struct{} // closed when a call in flight has ended
}

// meteredModel checks the limits before each call and writes each call into the ledger at once,
// so that not even a kill lets a bill run away.
type meteredModel struct {
	d *drive
	// temperature is for calls that name none; nil: the configured one.
	temperature *float64
}

// Complete fails with a *LimitError before a call that no limit allows.
func (m meteredModel) Complete(ctx context.Context, request ModelRequest) (ModelReply, error) {
	if err := m.d.admit(ctx); err != nil {
		return ModelReply{}, err
	}
	request.Strong = request.Strong || m.d.s.Strong
	request.Model = m.d.s.Config.Models[request.Role]
	if request.Temperature == nil {
		request.Temperature = m.temperature
	}
	began := m.d.Clock.Now()
	reply, err := m.d.Model.Complete(ctx, request)
	// What was spent and said is written down also when the call failed or the run was stopped.
	record := context.WithoutCancel(ctx)
	if stored := m.d.account(record, reply.Usage); stored != nil {
		return reply, fmt.Errorf("write the ledger: %w", stored)
	}
	call := ModelCall{Request: request, Reply: reply, At: began, Took: m.d.Clock.Now().Sub(began)}
	if err != nil {
		call.Error = err.Error()
	}
	if stored := m.d.recordCall(record, call); err == nil {
		err = stored
	}
	return reply, err
}

// admit returns once a call may begin, or with a *LimitError. Beside calls in flight it begins only
// where the limits allow it also if each of them turns out as dear as the dearest so far; else it waits
// for one to end. So a limit is passed by no more than it would be by one call after another.
func (d *drive) admit(ctx context.Context) error {
	for {
		landed, err := d.board(ctx)
		if landed == nil {
			return err
		}
		select {
		case <-landed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// board counts a call as in flight, or returns what to wait for.
func (d *drive) board(ctx context.Context) (wait <-chan struct{}, err error) {
	m := &d.meter
	m.mutex.Lock()
	defer m.mutex.Unlock()
	spending, err := d.spending(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.s.Config.Limits.Check(spending); err != nil {
		return nil, err
	}
	if n := m.inFlight; n > 0 {
		reserved := Spent{ModelCalls: n * max(m.dearest.ModelCalls, 1), Tokens: n * m.dearest.Tokens, USD: float64(n) * m.dearest.USD}
		if m.dearest.ModelCalls == 0 || d.s.Config.Limits.Check(spending.plus(reserved)) != nil {
			return m.landed, nil
		}
	}
	if m.inFlight == 0 {
		m.landed = make(chan struct{})
	}
	m.inFlight++
	return nil, nil
}

// account writes what a call took into the ledger and ends its being in flight.
func (d *drive) account(ctx context.Context, usage []Usage) error {
	m := &d.meter
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.inFlight--
	close(m.landed)
	m.landed = make(chan struct{})
	if len(usage) == 0 {
		return nil
	}
	if err := d.Store.RecordUsage(ctx, d.lease, usage...); err != nil {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var call Spent
	for _, u := range usage {
		call = call.Add(u)
	}
	// Field by field: the wall time is read without the lock.
	d.s.Spent.ModelCalls += call.ModelCalls
	d.s.Spent.Tokens += call.Tokens
	d.s.Spent.USD += call.USD
	m.dearest.ModelCalls = max(m.dearest.ModelCalls, call.ModelCalls)
	m.dearest.Tokens = max(m.dearest.Tokens, call.Tokens)
	m.dearest.USD = max(m.dearest.USD, call.USD)
	return nil
}

// readLedger brings what the run spent up to what the ledger says: a kill may have lost a state, the
// ledger never.
func (d *drive) readLedger(ctx context.Context) error {
	spending, err := d.Store.Spending(ctx, d.s.Run.ID, d.Clock.Now().Add(-spendingDay))
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	d.s.Spent.ModelCalls, d.s.Spent.Tokens, d.s.Spent.USD = spending.Run.ModelCalls, spending.Run.Tokens, spending.Run.USD
	return nil
}

// checkLimits returns a *LimitError when the next step must not begin.
func (d *drive) checkLimits(ctx context.Context) error {
	spending, err := d.spending(ctx)
	if err != nil {
		return err
	}
	return d.s.Config.Limits.Check(spending)
}

// spending is what limits are checked against now.
func (d *drive) spending(ctx context.Context) (Spending, error) {
	spending, err := d.Store.Spending(ctx, d.s.Run.ID, d.Clock.Now().Add(-spendingDay))
	if err != nil {
		return Spending{}, fmt.Errorf("read the ledger: %w", err)
	}
	spending.Run.Wall = d.wall()
	return spending, nil
}

// wall is the time that was worked so far, that of the phase in progress included.
func (d *drive) wall() time.Duration {
	if d.began.IsZero() {
		return d.s.Spent.Wall
	}
	return d.s.Spent.Wall + d.Clock.Now().Sub(d.began)
}

// timed says whether a phase may not go on once the wall time is used up. Publishing may take its
// time: what was found must reach the person also then, and its commands have limits of their own.
func (p Phase) timed() bool {
	return !p.Waits() && !p.Ended() && p != PhaseQueued && p != PhasePublishing
}

// verifyShare is the share of the wall time that a verification may take beyond it: what a candidate is worth is found
// out although its coder took long, for that costs no model's time. The round after it is not begun.
const verifyShare = 0.25

// timeLeft is how long the phase may take.
func (d *drive) timeLeft() time.Duration {
	all := d.s.Config.Limits.Wall
	if d.s.Phase == PhaseVerifying {
		all += time.Duration(verifyShare * float64(all))
	}
	return all - d.s.Spent.Wall
}

// outOfTime is the result of a phase that the wall time does not allow.
func (d *drive) outOfTime() ended {
	used := LimitError{Limit: LimitWall, Used: d.wall().Round(time.Second).String(), Of: d.s.Config.Limits.Wall.String()}
	return ended{result: ResultLimit, detail: used.Error()}
}
