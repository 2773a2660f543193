package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// row is what a run's row says about who drives it.
type row struct {
	id       string
	phase    loop.Phase
	seq      int
	seen     int64 // the last signal that the newest snapshot took into account
	heard    int64 // the last signal that the lease's holder was told
	epoch    int64
	worker   string
	until    sql.NullInt64
	ready    sql.NullInt64
	attempts int
}

// lockRow reads a run's row and keeps it from changing until the transaction ends. All changes of
// who drives a run go through it, so that a signal that arrives while a snapshot is being stored
// comes either before it or after it, never between.
func lockRow(ctx context.Context, t tx, run string) (row, error) {
	r := row{id: run}
	err := t.row(ctx, `SELECT phase, seq, seen_signal, heard_signal, epoch, lease_worker, lease_until, ready_at, attempts
		FROM runs WHERE id = ?`+t.forUpdate(), run).
		Scan(&r.phase, &r.seq, &r.seen, &r.heard, &r.epoch, &r.worker, &r.until, &r.ready, &r.attempts)
	if err != nil {
		return row{}, notFound(err, "run %q", run)
	}
	return r, nil
}

// holds returns ErrLeaseLost unless the lease is the one that the row knows.
func (r row) holds(lease loop.Lease) error {
	if lease.Worker == "" || lease.Worker != r.worker || lease.Epoch != r.epoch {
		return fmt.Errorf("run %s, epoch %d of %s: %w", lease.Run, lease.Epoch, lease.Worker, loop.ErrLeaseLost)
	}
	return nil
}

// wakes says whether a signal gives a run in this phase something to do. The rest is for the
// phases in progress, which are driven anyway.
func wakes(phase loop.Phase, kind loop.SignalKind) bool {
	switch {
	case phase.Waits():
		return true
	case phase == loop.PhaseDone:
		return false
	case phase.Ended():
		return kind == loop.SignalResume
	default:
		return true
	}
}

// wanted says whether a run in a phase needs a worker: always while it is in progress, otherwise
// where a signal after the given one wakes it.
func wanted(ctx context.Context, t tx, run string, phase loop.Phase, after int64) (bool, error) {
	if !phase.Waits() && !phase.Ended() {
		return true, nil
	}
	woken := false
	err := t.each(ctx, func(rows *sql.Rows) error {
		var kind loop.SignalKind
		if err := rows.Scan(&kind); err != nil {
			return err
		}
		woken = woken || wakes(phase, kind)
		return nil
	}, "SELECT kind FROM signals WHERE run = ? AND id > ?", run, after)
	if err != nil {
		return false, fmt.Errorf("read signals: %w", err)
	}
	return woken, nil
}

// free takes the lease off a run and, where it is wanted, makes it ready from a time on. What is
// ready already gets a ticket at once, what is not yet one from the sweeper.
func (s *Store) free(ctx context.Context, t tx, r row, after int64, at time.Time) error {
	want, err := wanted(ctx, t, r.id, r.phase, after)
	if err != nil {
		return err
	}
	var ready sql.NullInt64
	if want {
		ready = sql.NullInt64{Int64: micros(at), Valid: true}
	}
	if _, err := t.exec(ctx, "UPDATE runs SET lease_worker = '', lease_until = NULL, ready_at = ?, attempts = ?, ended = ? WHERE id = ?",
		ready, r.attempts, flag(r.phase.Ended() && !want), r.id); err != nil {
		return fmt.Errorf("free run %s: %w", r.id, err)
	}
	if !want || at.After(s.now()) {
		return nil
	}
	return s.ticket(ctx, t, r.id, r.epoch)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Acquire implements loop.Store. A worker takes its own lease over: under the same name it is the
// same process, started again.
func (s *Store) Acquire(ctx context.Context, run, worker string) (lease loop.Lease, snapshot loop.Snapshot, err error) {
	if worker == "" {
		return loop.Lease{}, loop.Snapshot{}, fmt.Errorf("acquire run %q: the worker has no name", run)
	}
	now := s.now()
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		r, err := lockRow(ctx, t, run)
		if err != nil {
			return err
		}
		if r.worker != "" && r.worker != worker && r.until.Valid && r.until.Int64 > micros(now) {
			return fmt.Errorf("run %s is driven by %s: %w", run, r.worker, loop.ErrLeaseLost)
		}
		lease = loop.Lease{Run: run, Worker: worker, Epoch: r.epoch + 1}
		_, err = t.exec(ctx, "UPDATE runs SET epoch = ?, lease_worker = ?, lease_until = ?, ready_at = NULL, heard_signal = seen_signal WHERE id = ?",
			lease.Epoch, worker, micros(now.Add(s.config.LeaseTTL)), run)
		if err != nil {
			return fmt.Errorf("acquire run %s: %w", run, err)
		}
		snapshot, err = s.newest(ctx, t.conn, run)
		return err
	})
	if err != nil {
		return loop.Lease{}, loop.Snapshot{}, err
	}
	return lease, snapshot, nil
}

// Heartbeat implements loop.Store.
func (s *Store) Heartbeat(ctx context.Context, lease loop.Lease, after int64) (signals []loop.Signal, err error) {
	now := s.now()
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		signals = nil
		if err := s.renew(ctx, t, lease, now); err != nil {
			return err
		}
		err := t.each(ctx, func(rows *sql.Rows) error {
			var id int64
			var data []byte
			if err := rows.Scan(&id, &data); err != nil {
				return err
			}
			var signal loop.Signal
			if err := s.codec.decode(data, &signal); err != nil {
				return err
			}
			signal.ID = id
			signals = append(signals, signal)
			return nil
		}, "SELECT id, data FROM signals WHERE run = ? AND id > ? ORDER BY id", lease.Run, after)
		if err != nil {
			return fmt.Errorf("read signals of run %s: %w", lease.Run, err)
		}
		if len(signals) == 0 {
			return nil
		}
		last := signals[len(signals)-1].ID
		if _, err := t.exec(ctx, "UPDATE runs SET heard_signal = ? WHERE id = ? AND heard_signal < ?", last, lease.Run, last); err != nil {
			return fmt.Errorf("note signals of run %s: %w", lease.Run, err)
		}
		return nil
	})
	return signals, err
}

// renew is the fence of every write under a lease: it keeps the lease alive, and returns
// ErrLeaseLost where it is no longer the newest. The row stays locked until the transaction ends.
func (s *Store) renew(ctx context.Context, t tx, lease loop.Lease, now time.Time) error {
	if lease.Worker == "" {
		return fmt.Errorf("run %s without a worker: %w", lease.Run, loop.ErrLeaseLost)
	}
	n, err := t.exec(ctx, "UPDATE runs SET lease_until = ? WHERE id = ? AND epoch = ? AND lease_worker = ?",
		micros(now.Add(s.config.LeaseTTL)), lease.Run, lease.Epoch, lease.Worker)
	if err != nil {
		return fmt.Errorf("renew the lease of run %s: %w", lease.Run, err)
	}
	if n == 1 {
		return nil
	}
	r, err := lockRow(ctx, t, lease.Run)
	if err != nil {
		return err
	}
	return r.holds(lease)
}

// Save implements loop.Store. Where the phase waits or has ended although a signal came that the
// snapshot has not taken into account, the run is enqueued again in the same transaction.
func (s *Store) Save(ctx context.Context, lease loop.Lease, snapshot loop.Snapshot) error {
	if snapshot.Run.ID != lease.Run {
		return fmt.Errorf("save: the snapshot is of run %q, the lease of %q", snapshot.Run.ID, lease.Run)
	}
	snapshot.Schema = loop.SnapshotSchema
	data, err := s.codec.encode(snapshot)
	if err != nil {
		return err
	}
	info, err := s.codec.encode(infoOf(snapshot))
	if err != nil {
		return err
	}
	now := s.now()
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		r, err := lockRow(ctx, t, lease.Run)
		if err != nil {
			return err
		}
		if err := r.holds(lease); err != nil {
			return err
		}
		if snapshot.Seq != r.seq+1 {
			return fmt.Errorf("save run %s: snapshot %d follows snapshot %d, it must be %d", lease.Run, snapshot.Seq, r.seq, r.seq+1)
		}
		if err := putSnapshotData(ctx, t, snapshot, micros(now), data); err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE runs SET seq = ?, phase = ?, pull = ?, seen_signal = ?, info = ?, version = version + 1,
			attempts = 0, ended = 0, lease_until = ? WHERE id = ?`,
			snapshot.Seq, string(snapshot.Phase), pullOf(snapshot), snapshot.SeenSignal, info, micros(now.Add(s.config.LeaseTTL)), lease.Run)
		if err != nil {
			return fmt.Errorf("save run %s: %w", lease.Run, err)
		}
		if !snapshot.Phase.Waits() && !snapshot.Phase.Ended() {
			return nil
		}
		r.phase, r.attempts = snapshot.Phase, 0
		return s.free(ctx, t, r, snapshot.SeenSignal, now)
	})
	if err != nil {
		return err
	}
	s.hub.changed(lease.Run)
	return nil
}

// Release implements loop.Store. A run that waits or has ended is enqueued only where a signal
// came that the holder was not told by Heartbeat.
func (s *Store) Release(ctx context.Context, lease loop.Lease, delay time.Duration) error {
	now := s.now()
	return s.write(ctx, func(ctx context.Context, t tx) error {
		r, err := lockRow(ctx, t, lease.Run)
		if err != nil {
			return err
		}
		if err := r.holds(lease); err != nil {
			return err
		}
		return s.free(ctx, t, r, r.heard, now.Add(max(delay, 0)))
	})
}

// Signal implements loop.Store. A run that failed is woken by resume as well.
func (s *Store) Signal(ctx context.Context, run string, signal loop.Signal) error {
	now := s.now()
	if signal.At.IsZero() {
		signal.At = now
	}
	data, err := s.codec.encode(signal)
	if err != nil {
		return err
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		r, err := lockRow(ctx, t, run)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, "INSERT INTO signals (run, kind, at, data) VALUES (?, ?, ?, ?)", run, string(signal.Kind), micros(signal.At), data); err != nil {
			return fmt.Errorf("store signal %s for run %s: %w", signal.Kind, run, err)
		}
		if _, err := t.exec(ctx, "UPDATE runs SET version = version + 1 WHERE id = ?", run); err != nil {
			return fmt.Errorf("note signal for run %s: %w", run, err)
		}
		if r.until.Valid || !wakes(r.phase, signal.Kind) {
			return nil // its holder is told by Heartbeat, and Save looks once more; or it stays ended
		}
		if r.phase.Ended() {
			if err := alone(ctx, t, run); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, "UPDATE runs SET ready_at = ?, ended = 0 WHERE id = ?", micros(now), run); err != nil {
			return fmt.Errorf("wake run %s: %w", run, err)
		}
		return s.ticket(ctx, t, run, r.epoch)
	})
	if err != nil {
		return err
	}
	s.hub.changed(run)
	return nil
}

// alone returns an error where another run of the same task is open: two would fight for a branch.
func alone(ctx context.Context, t tx, run string) error {
	var other string
	err := t.row(ctx, "SELECT o.id FROM runs r JOIN runs o ON o.task = r.task AND o.ended = 0 AND o.id <> r.id WHERE r.id = ?", run).Scan(&other)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for an open run: %w", err)
	}
	return fmt.Errorf("run %s cannot be resumed: run %s of the same task is open, stop that one first", run, other)
}
