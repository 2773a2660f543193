package loop

import (
	"context"
	"fmt"
	"time"
)

const (
	// releaseTimeout bounds the last writes of a worker that is being shut down.
	releaseTimeout = 5 * time.Second
	// firstRetry is how long a run rests after the first trouble outside of it (GitHub down); each
	// further one doubles it, up to lastRetry.
	firstRetry = 5 * time.Second
	lastRetry  = 10 * time.Minute
	// maxFailures is after how many attempts in a row, more than two hours, a step is given up. The
	// run is failed then, and a person may resume it.
	maxFailures = 20
)

// postpone gives a run back after trouble outside of it: its last stored state stays, with the time
// that was worked, and another attempt is made later, at once where this process only ends.
func (d *drive) postpone(ctx context.Context, trouble error, shutdown bool) {
	ctx, done := context.WithTimeout(ctx, releaseTimeout)
	defer done()
	stored, err := d.Store.Snapshot(ctx, d.lease.Run)
	if err != nil {
		d.log.Error().Err(err).Msg("the state could not be read; the lease will expire")
		return
	}
	if stored.Phase.Waits() || stored.Phase.Ended() {
		// A signal woke it, and was heard but not stored. The queue frees the lease of a drive that
		// failed and looks at the signals again; giving it back here would forget them.
		return
	}
	d.mutex.Lock()
	stored.Spent = d.s.Spent
	d.mutex.Unlock()
	stored.Spent.Rounds = len(stored.Rounds)
	delay := time.Duration(0)
	if !shutdown {
		delay = retryDelay(stored.Failures)
		stored.Failures++
		stored.Trouble = trouble.Error()
	}
	stored.Seq++
	stored.Updated = d.Clock.Now()
	if err := d.Store.Save(ctx, d.lease, stored); err != nil {
		d.log.Error().Err(err).Msg("the attempt could not be noted")
	}
	if err := d.Store.Release(ctx, d.lease, delay); err != nil {
		d.log.Error().Err(err).Msg("the lease could not be given back; it will expire")
	}
}

// retryDelay is how long a run rests that failed before.
func retryDelay(failures int) time.Duration {
	delay := firstRetry
	for range failures {
		if delay *= 2; delay >= lastRetry {
			return lastRetry
		}
	}
	return delay
}

// exhausted says, for a step that met trouble too often, why it is given up.
func (s *Snapshot) exhausted() (string, bool) {
	if s.Failures < maxFailures {
		return "", false
	}
	return fmt.Sprintf("%d attempts at the phase %s failed, the last one with: %s", s.Failures, s.Phase, s.Trouble), true
}
