package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	// keepPayload is how long a delivery's payload is kept for a person who looks into a fault.
	keepPayload = 7 * 24 * time.Hour
	// keepDelivery is how long its id and key are remembered, so that a replay does nothing. GitHub
	// redelivers what is at most three days old.
	keepDelivery = 30 * 24 * time.Hour
	// pruneEvery is how often old deliveries are looked for.
	pruneEvery = time.Hour
	// sweepBatch is how many rows one transaction of the sweeper changes at most, so that the
	// writer is free for webhooks in between.
	sweepBatch = 200
)

// sweepUntil does what is due, in every interval, until the context ends.
func (s *Store) sweepUntil(ctx context.Context) {
	pruned := time.Time{}
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Error().Err(err).Msg("due work could not be enqueued; the next sweep tries again")
		}
		if now := s.now(); now.Sub(pruned) >= pruneEvery {
			pruned = now
			if err := s.prune(ctx, now); err != nil && ctx.Err() == nil {
				s.log.Error().Err(err).Msg("old deliveries could not be removed")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-s.clock.After(s.config.SweepInterval):
		}
	}
}

// sweep hands on what a worker that died held, and writes tickets for what became due. It looks
// before it writes, so that it costs the writer nothing where nothing is due.
func (s *Store) sweep(ctx context.Context) error {
	now := s.now()
	if err := s.holdDeliveries(ctx, now); err != nil {
		return err
	}
	if err := s.expireLeases(ctx, now); err != nil {
		return err
	}
	if err := s.wakeDeliveries(ctx, now); err != nil {
		return err
	}
	return s.wakeRuns(ctx, now)
}

// expireLeases frees the runs whose lease has not been renewed in time.
func (s *Store) expireLeases(ctx context.Context, now time.Time) error {
	runs, err := s.names(ctx, "SELECT id FROM runs WHERE lease_until IS NOT NULL AND lease_until < ? ORDER BY lease_until LIMIT ?", micros(now), sweepBatch)
	if err != nil {
		return fmt.Errorf("look for expired leases: %w", err)
	}
	for _, run := range runs {
		err := s.write(ctx, func(ctx context.Context, t tx) error {
			r, err := lockRow(ctx, t, run)
			if err != nil {
				return err
			}
			if !r.until.Valid || r.until.Int64 >= micros(now) {
				return nil // renewed meanwhile
			}
			s.log.Warn().Str("run", run).Str("worker", r.worker).Msg("lease expired; the run is handed on")
			return s.free(ctx, t, r, r.seen, now)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wakeRuns writes a ticket where a run is due that this process could drive: its delay is over, or
// its ticket was used up while its repository had all the workers that one may have.
func (s *Store) wakeRuns(ctx context.Context, now time.Time) error {
	if s.seats.taken() >= s.config.Workers {
		return nil
	}
	key, due, err := nextRepository(ctx, s.reader(), micros(now), s.seats.full(s.config.perRepository()))
	if err != nil || !due {
		return err
	}
	return s.write(ctx, func(ctx context.Context, t tx) error {
		var run string
		var epoch int64
		err := t.row(ctx, "SELECT id, epoch FROM runs WHERE repo_key = ? AND ready_at IS NOT NULL ORDER BY ready_at, num LIMIT 1", key).Scan(&run, &epoch)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // taken meanwhile
		}
		if err != nil {
			return fmt.Errorf("look for due runs: %w", err)
		}
		return s.ticket(ctx, t, run, epoch)
	})
}

// holdDeliveries keeps the deliveries that this process has in hand from being handed on.
func (s *Store) holdDeliveries(ctx context.Context, now time.Time) error {
	held := s.hands.all()
	if len(held) == 0 {
		return nil
	}
	// Most are done long before: only those that will be due soon are touched.
	soon := now.Add(s.config.LeaseTTL / 2)
	args := append([]any{string(deliveryHandling), micros(soon)}, anys(held)...)
	long, err := s.names(ctx, "SELECT id FROM deliveries WHERE state = ? AND due_at < ? AND id IN ("+marks(len(held))+")", args...)
	if err != nil {
		return fmt.Errorf("look at deliveries in hand: %w", err)
	}
	if len(long) == 0 {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, t tx) error {
		args := append([]any{micros(now.Add(s.config.LeaseTTL)), string(deliveryHandling)}, anys(long)...)
		if _, err := t.exec(ctx, "UPDATE deliveries SET due_at = ? WHERE state = ? AND id IN ("+marks(len(long))+")", args...); err != nil {
			return fmt.Errorf("keep deliveries in hand: %w", err)
		}
		return nil
	})
}

// wakeDeliveries writes tickets for deliveries that are due: a retry, one whose process died, one
// whose ticket got lost.
func (s *Store) wakeDeliveries(ctx context.Context, now time.Time) error {
	const due = "SELECT id FROM deliveries WHERE state IN ('pending', 'handling') AND due_at <= ? ORDER BY due_at LIMIT ?"
	ids, err := s.names(ctx, due, micros(now), sweepBatch)
	if err != nil {
		return fmt.Errorf("look for due deliveries: %w", err)
	}
	if len(ids) == 0 {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, t tx) error {
		var woken []deliveryJob
		for _, id := range ids {
			ticket := deliveryJob{ID: id}
			err := t.row(ctx, "UPDATE deliveries SET state = ?, due_at = ? WHERE id = ? AND state IN ('pending', 'handling') AND due_at <= ? RETURNING attempts",
				string(deliveryPending), micros(s.ticketDue(now)), id, micros(now)).Scan(&ticket.Attempts)
			if errors.Is(err, sql.ErrNoRows) {
				continue // handled meanwhile
			}
			if err != nil {
				return fmt.Errorf("wake delivery %s: %w", id, err)
			}
			woken = append(woken, ticket)
		}
		if len(woken) == 0 {
			return nil
		}
		return s.deliveryTickets(ctx, t, woken...)
	})
}

// prune drops what deliveries no longer need, and measures the database's clock again.
func (s *Store) prune(ctx context.Context, now time.Time) error {
	if s.dialect == postgres {
		if err := s.readSkew(ctx); err != nil {
			return err
		}
	}
	for _, old := range []struct {
		change string
		before time.Time
	}{
		{"UPDATE deliveries SET payload = NULL WHERE id IN (SELECT id FROM deliveries WHERE received_at < ? AND payload IS NOT NULL AND state IN ('handled', 'failed') ORDER BY received_at LIMIT ?)", now.Add(-keepPayload)},
		{"DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE received_at < ? AND state IN ('handled', 'failed') ORDER BY received_at LIMIT ?)", now.Add(-keepDelivery)},
	} {
		for n := int64(sweepBatch); n == sweepBatch; {
			err := s.write(ctx, func(ctx context.Context, t tx) (err error) {
				n, err = t.exec(ctx, old.change, micros(old.before), sweepBatch)
				return err
			})
			if err != nil {
				return fmt.Errorf("drop old deliveries: %w", err)
			}
		}
	}
	return nil
}

// recoverAll sets everything free that the last process of this data directory held; the lock on
// the directory proves that it is gone. The queue is built anew from our own tables: that leaves
// no ticket that a dead process has in hand, and none too many.
func (s *Store) recoverAll(ctx context.Context) error {
	now := s.now()
	return s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, "DELETE FROM river_job"); err != nil {
			return fmt.Errorf("empty the queue: %w", err)
		}
		due, err := texts(ctx, t.conn, "SELECT id FROM runs WHERE lease_until IS NULL AND ready_at IS NOT NULL ORDER BY ready_at, num LIMIT ?", s.config.Workers)
		if err != nil {
			return fmt.Errorf("look for waiting runs: %w", err)
		}
		held, err := texts(ctx, t.conn, "SELECT id FROM runs WHERE lease_until IS NOT NULL ORDER BY num")
		if err != nil {
			return fmt.Errorf("look for interrupted runs: %w", err)
		}
		for _, run := range held {
			r, err := lockRow(ctx, t, run)
			if err != nil {
				return err
			}
			if err := s.free(ctx, t, r, r.seen, now); err != nil {
				return err
			}
		}
		for _, run := range due {
			if err := s.ticket(ctx, t, run, 0); err != nil {
				return err
			}
		}
		var open []deliveryJob
		err = t.each(ctx, func(rows *sql.Rows) error {
			var ticket deliveryJob
			if err := rows.Scan(&ticket.ID, &ticket.Attempts); err != nil {
				return err
			}
			open = append(open, ticket)
			return nil
		}, "SELECT id, attempts FROM deliveries WHERE state IN ('pending', 'handling') ORDER BY received_at, id")
		if err != nil {
			return fmt.Errorf("look for unhandled deliveries: %w", err)
		}
		if len(open) == 0 {
			return nil
		}
		if _, err := t.exec(ctx, "UPDATE deliveries SET state = ?, due_at = ? WHERE state IN ('pending', 'handling')",
			string(deliveryPending), micros(s.ticketDue(now))); err != nil {
			return fmt.Errorf("free unhandled deliveries: %w", err)
		}
		return s.deliveryTickets(ctx, t, open...)
	})
}

// names reads a list of texts outside of a transaction.
func (s *Store) names(ctx context.Context, query string, args ...any) ([]string, error) {
	return texts(ctx, s.reader(), query, args...)
}

func texts(ctx context.Context, c conn, query string, args ...any) ([]string, error) {
	var list []string
	err := c.each(ctx, func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		list = append(list, text)
		return nil
	}, query, args...)
	return list, err
}
