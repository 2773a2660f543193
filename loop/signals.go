package loop

import (
	"context"
	"errors"
	"slices"
)

// heartbeat renews the lease and reads signals until the context ends; the channel is closed
// when it is done.
func (d *drive) heartbeat(ctx context.Context, cancel context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.Clock.After(d.Settings.Heartbeat):
			}
			if err := d.readSignals(ctx); errors.Is(err, ErrLeaseLost) {
				cancel(ErrLeaseLost)
				return
			} else if err != nil && ctx.Err() == nil {
				d.log.Warn().Err(err).Msg("heartbeat failed; the lease may expire")
			}
		}
	}()
	return done
}

// readSignals renews the lease and remembers new signals; a stop interrupts the phase in progress.
func (d *drive) readSignals(ctx context.Context) error {
	d.reading.Lock()
	defer d.reading.Unlock()
	fresh, err := d.Store.Heartbeat(ctx, d.lease, d.lastSeen)
	if err != nil {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, signal := range fresh {
		d.lastSeen = signal.ID
		d.signals = append(d.signals, signal)
		if d.interrupt == nil {
			continue
		}
		switch signal.Kind {
		case SignalStop:
			d.interrupt(errStopSignal)
		case SignalCancel:
			d.interrupt(errCancelSignal)
		case SignalResume, SignalApprove, SignalAnswer, SignalBudget:
		}
	}
	return nil
}

// takeSignals brings the signals that came meanwhile into the state.
func (d *drive) takeSignals() {
	d.mutex.Lock()
	signals := d.signals
	d.signals = nil
	d.mutex.Unlock()
	s := &d.s
	for _, signal := range signals {
		s.SeenSignal = signal.ID
		switch signal.Kind {
		case SignalStop:
			s.halt(ResultStop, "by "+signal.By)
		case SignalCancel:
			s.halt(ResultCancel, signal.Text)
		case SignalResume:
			if s.Phase.Ended() && s.Phase != PhaseDone || s.Phase == PhaseClarifying {
				s.Last, s.LastDetail, s.Question = ResultAnswered, "", nil
			}
			if signal.Text != "" {
				s.Answers = append(s.Answers, signal.Text)
			}
		case SignalAnswer:
			s.Answers = append(s.Answers, signal.Text)
			if s.Phase == PhaseClarifying {
				s.Last, s.LastDetail, s.Question = ResultAnswered, "", nil
			}
		case SignalApprove:
			if s.Phase == PhaseApproving && s.Pending != nil {
				if !slices.Contains(s.Approved, s.Pending.Key) {
					s.Approved = append(s.Approved, s.Pending.Key)
				}
				s.Last, s.LastDetail = ResultApproved, ""
			}
		case SignalBudget:
			s.Config.Limits, s.Raised = s.Config.Limits.Raise(signal.More), s.Raised.Raise(signal.More)
		}
	}
}

// halt notes that the run is to stop; a wish to go on that came before is void.
func (s *Snapshot) halt(result Result, why string) {
	switch {
	case s.Last == ResultCancel && result == ResultStop: // the stricter one holds
	case !s.Phase.Ended():
		s.Last, s.LastDetail = result, why
	case s.Last == ResultAnswered:
		s.Last = ResultNone
	}
}
