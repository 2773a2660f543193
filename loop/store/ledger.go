package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// RecordUsage implements loop.Store.
func (s *Store) RecordUsage(ctx context.Context, lease loop.Lease, usage ...loop.Usage) error {
	if len(usage) == 0 {
		return nil
	}
	now := s.now()
	lines := make([][]byte, len(usage))
	for i := range usage {
		if usage[i].At.IsZero() {
			usage[i].At = now
		}
		data, err := s.codec.encode(usage[i])
		if err != nil {
			return err
		}
		lines[i] = data
	}
	return s.write(ctx, func(ctx context.Context, t tx) error {
		if err := s.renew(ctx, t, lease, now); err != nil {
			return err
		}
		for i, u := range usage {
			_, err := t.exec(ctx, `INSERT INTO ledger (run, task, repo_key, at, tokens, usd, data)
				SELECT id, task, repo_key, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS DOUBLE PRECISION), ? FROM runs WHERE id = ?`,
				micros(u.At), u.PromptTokens+u.CompletionTokens, u.USD, lines[i], lease.Run)
			if err != nil {
				return fmt.Errorf("write the ledger of run %s: %w", lease.Run, err)
			}
		}
		return nil
	})
}

// Ledger implements loop.Store.
func (s *Store) Ledger(ctx context.Context, run string) ([]loop.Usage, error) {
	var lines []loop.Usage
	err := s.reader().each(ctx, func(rows *sql.Rows) error {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		var u loop.Usage
		if err := s.codec.decode(data, &u); err != nil {
			return err
		}
		lines = append(lines, u)
		return nil
	}, "SELECT data FROM ledger WHERE run = ? ORDER BY id", run)
	if err != nil {
		return nil, fmt.Errorf("ledger of run %q: %w", run, err)
	}
	return lines, nil
}

// Spending implements loop.Store. Rounds and wall time are not in the ledger and stay 0.
func (s *Store) Spending(ctx context.Context, run string, since time.Time) (loop.Spending, error) {
	var task, key string
	if err := s.reader().row(ctx, "SELECT task, repo_key FROM runs WHERE id = ?", run).Scan(&task, &key); err != nil {
		return loop.Spending{}, notFound(err, "spending of run %q", run)
	}
	var spending loop.Spending
	for _, sum := range []struct {
		of    *loop.Spent
		where string
		args  []any
	}{
		{&spending.Run, "run = ?", []any{run}},
		{&spending.Task, "task = ?", []any{task}},
		{&spending.RepoDay, "repo_key = ? AND at >= ?", []any{key, micros(since)}},
	} {
		err := s.reader().row(ctx, "SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(usd), 0.0) FROM ledger WHERE "+sum.where, sum.args...).
			Scan(&sum.of.ModelCalls, &sum.of.Tokens, &sum.of.USD)
		if err != nil {
			return loop.Spending{}, fmt.Errorf("spending of run %q: %w", run, err)
		}
	}
	return spending, nil
}
