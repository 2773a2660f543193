package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/seed-7a986423/autocode/loop"
)

// maxBaselines is how many verified bases a repository keeps: default branches move on, and an old
// base is verified again in a minute.
const maxBaselines = 20

// PutArtifact implements loop.Store.
func (s *Store) PutArtifact(ctx context.Context, lease loop.Lease, name string, data []byte) error {
	if name == "" {
		return fmt.Errorf("store artifact of run %s: it has no name", lease.Run)
	}
	blob, err := s.codec.pack(data)
	if err != nil {
		return fmt.Errorf("store artifact %s of run %s: %w", name, lease.Run, err)
	}
	now := s.now()
	return s.write(ctx, func(ctx context.Context, t tx) error {
		if err := s.renew(ctx, t, lease, now); err != nil {
			return err
		}
		_, err := t.exec(ctx, `INSERT INTO artifacts (run, name, at, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (run, name) DO UPDATE SET at = excluded.at, data = excluded.data`, lease.Run, clean(name), micros(now), blob)
		if err != nil {
			return fmt.Errorf("store artifact %s of run %s: %w", name, lease.Run, err)
		}
		return nil
	})
}

// Artifact implements loop.Store.
func (s *Store) Artifact(ctx context.Context, run, name string) ([]byte, error) {
	var blob []byte
	if err := s.reader().row(ctx, "SELECT data FROM artifacts WHERE run = ? AND name = ?", run, clean(name)).Scan(&blob); err != nil {
		return nil, notFound(err, "artifact %q of run %q", name, run)
	}
	return s.codec.unpack(blob)
}

// Artifacts implements loop.Store.
func (s *Store) Artifacts(ctx context.Context, run string) ([]string, error) {
	var names []string
	err := s.reader().each(ctx, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
		return nil
	}, "SELECT name FROM artifacts WHERE run = ? ORDER BY name", run)
	if err != nil {
		return nil, fmt.Errorf("artifacts of run %q: %w", run, err)
	}
	return names, nil
}

// PutBaseline implements loop.Store. A repository keeps its newest maxBaselines.
func (s *Store) PutBaseline(ctx context.Context, repo, key string, outcome loop.Outcome) error {
	blob, err := s.codec.encode(outcome)
	if err != nil {
		return err
	}
	repo, key = clean(repo), clean(key)
	now := micros(s.now())
	return s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO baselines (repo, key, at, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (repo, key) DO UPDATE SET at = excluded.at, data = excluded.data`, repo, key, now, blob)
		if err != nil {
			return fmt.Errorf("store baseline of %s: %w", repo, err)
		}
		_, err = t.exec(ctx, `DELETE FROM baselines WHERE repo = ? AND key <> ? AND key NOT IN
			(SELECT key FROM baselines WHERE repo = ? ORDER BY at DESC, key LIMIT ?)`, repo, key, repo, maxBaselines)
		if err != nil {
			return fmt.Errorf("drop old baselines of %s: %w", repo, err)
		}
		return nil
	})
}

// Baseline implements loop.Store.
func (s *Store) Baseline(ctx context.Context, repo, key string) (loop.Outcome, error) {
	var blob []byte
	if err := s.reader().row(ctx, "SELECT data FROM baselines WHERE repo = ? AND key = ?", clean(repo), clean(key)).Scan(&blob); err != nil {
		return loop.Outcome{}, notFound(err, "baseline %q of %s", key, repo)
	}
	var outcome loop.Outcome
	if err := s.codec.decode(blob, &outcome); err != nil {
		return loop.Outcome{}, fmt.Errorf("baseline %q of %s: %w", key, repo, err)
	}
	return outcome, nil
}
