package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// claimed is a run that this process has been given to drive.
type claimed struct {
	run   string
	repo  string // the repository's key
	epoch int64  // as it was when the run was given
}

// seats counts the runs that this process drives, by repository.
type seats struct {
	claiming sync.Mutex // one choice at a time
	mutex    sync.Mutex
	busy     map[string]int
	total    int
}

func (s *seats) enter(repo string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.busy[repo]++
	s.total++
}

func (s *seats) leave(repo string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.total--
	if s.busy[repo]--; s.busy[repo] == 0 {
		delete(s.busy, repo)
	}
}

// full lists the repositories that have as many runs as one may have.
func (s *seats) full(most int) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var repos []string
	for repo, n := range s.busy {
		if n >= most {
			repos = append(repos, repo)
		}
	}
	return repos
}

func (s *seats) taken() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.total
}

// nextRepository names the repository whose turn it is: of those with a run that is due, the one
// that has the fewest runs in progress, then the one that was not served for the longest time.
// So a repository with a thousand runs gets one turn in a round, like every other.
func nextRepository(ctx context.Context, c conn, now int64, full []string) (key string, ok bool, err error) {
	query := `SELECT r.repo_key FROM
			(SELECT repo_key, min(ready_at) AS since FROM runs WHERE ready_at IS NOT NULL AND ready_at <= ? GROUP BY repo_key) r
		LEFT JOIN (SELECT repo_key, count(*) AS n FROM runs WHERE lease_until IS NOT NULL GROUP BY repo_key) a ON a.repo_key = r.repo_key
		LEFT JOIN turns t ON t.repo_key = r.repo_key`
	args := []any{now}
	if len(full) > 0 {
		query += " WHERE r.repo_key NOT IN (" + marks(len(full)) + ")"
		args = append(args, anys(full)...)
	}
	err = c.row(ctx, query+" ORDER BY coalesce(a.n, 0), coalesce(t.at, 0), r.since, r.repo_key LIMIT 1", args...).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("choose the next repository: %w", err)
	}
	return key, true, nil
}

// claim chooses the next run and hands it to the caller for the time of a lease, in which the
// handler must acquire it. The caller must leave the seat.
func (s *Store) claim(ctx context.Context) (c claimed, ok bool, err error) {
	s.seats.claiming.Lock()
	defer s.seats.claiming.Unlock()
	now := s.now()
	full := s.seats.full(s.config.perRepository())
	if s.writer != nil { // a look costs the writer nothing, and most tickets find nothing to do
		if _, due, err := nextRepository(ctx, s.reader(), micros(now), full); err != nil || !due {
			return claimed{}, false, err
		}
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		c, ok = claimed{}, false
		if t.dialect == postgres {
			if _, err := t.exec(ctx, "SELECT pg_advisory_xact_lock(?)", int64(claimLock)); err != nil {
				return fmt.Errorf("wait for another process's choice: %w", err)
			}
		}
		key, due, err := nextRepository(ctx, t.conn, micros(now), full)
		if err != nil || !due {
			return err
		}
		err = t.row(ctx, "SELECT id, epoch FROM runs WHERE repo_key = ? AND ready_at IS NOT NULL AND ready_at <= ? ORDER BY ready_at, num LIMIT 1"+t.forUpdate(),
			key, micros(now)).Scan(&c.run, &c.epoch)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // acquired by someone else just now
		}
		if err != nil {
			return fmt.Errorf("choose the next run: %w", err)
		}
		c.repo = key
		if _, err := t.exec(ctx, "UPDATE runs SET ready_at = NULL, lease_worker = '', lease_until = ? WHERE id = ?", micros(now.Add(s.config.LeaseTTL)), c.run); err != nil {
			return fmt.Errorf("hand out run %s: %w", c.run, err)
		}
		if _, err := t.exec(ctx, "INSERT INTO turns (repo_key, at) VALUES (?, ?) ON CONFLICT (repo_key) DO UPDATE SET at = excluded.at", key, micros(now)); err != nil {
			return fmt.Errorf("note the turn of a repository: %w", err)
		}
		ok = true
		return nil
	})
	if err != nil || !ok {
		return claimed{}, false, err
	}
	s.seats.enter(c.repo)
	return c, true, nil
}

// settleRun does after a handler returned what it left undone: it frees a lease that was not given
// back, and puts distance between the tries of a run whose handler fails. Each failure in a row
// doubles the distance; a new snapshot ends the row. interrupted says that we ended the handler:
// then another may go on at once.
func (s *Store) settleRun(ctx context.Context, c claimed, failure error, interrupted bool) error {
	now := s.now()
	return s.write(ctx, func(ctx context.Context, t tx) error {
		r, err := lockRow(ctx, t, c.run)
		if errors.Is(err, loop.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.epoch > c.epoch+1 {
			return nil // it went on elsewhere
		}
		kept := r.until.Valid
		if !kept && (!r.ready.Valid || failure == nil) {
			return nil // given back in order
		}
		at := now
		if !interrupted {
			r.attempts++
			at = now.Add(backoff(r.attempts, maxRunDelay))
		}
		if kept {
			return s.free(ctx, t, r, r.seen, at)
		}
		if !interrupted && r.ready.Int64 > micros(at) {
			at = time.UnixMicro(r.ready.Int64) // the handler asked for more
		}
		_, err = t.exec(ctx, "UPDATE runs SET ready_at = ?, attempts = ? WHERE id = ?", micros(at), r.attempts, c.run)
		return err
	})
}
