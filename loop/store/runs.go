package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// defaultRuns is how many runs a list has where the filter does not say.
const defaultRuns = 100

// repoKey identifies a repository also after it was renamed. A local one is its path: two
// directories of the same name are two repositories.
func repoKey(repo loop.Repo) string {
	if repo.ID != 0 {
		return "id:" + strconv.FormatInt(repo.ID, 10)
	}
	return clean("name:" + strings.ToLower(repo.FullName()) + "|" + repo.CloneURL)
}

// StartRun implements loop.Store. A task without an issue number is always a new one.
func (s *Store) StartRun(ctx context.Context, task loop.Task, run loop.Run, first loop.Snapshot) (stored loop.Snapshot, started bool, err error) {
	now := s.now()
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		stored, started = loop.Snapshot{}, false
		task, err := s.putTask(ctx, t, task, micros(now))
		if err != nil {
			return err
		}
		var open string
		err = t.row(ctx, "SELECT id FROM runs WHERE task = ? AND ended = 0", task.ID).Scan(&open)
		if err == nil {
			stored, err = s.newest(ctx, t.conn, open)
			return err
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("look for an open run: %w", err)
		}
		first.Task, first.Run = task, run
		stored, err = s.putRun(ctx, t, first)
		started = err == nil
		return err
	})
	if err != nil {
		return loop.Snapshot{}, false, fmt.Errorf("start a run of %s, issue %d: %w", task.Repo.FullName(), task.Issue.Number, err)
	}
	if started {
		s.hub.changed(stored.Run.ID)
	}
	return stored, started, nil
}

// putTask stores a task or, where its issue has one, gives that one the new text. On PostgreSQL
// the task stays locked until the transaction ends, so that two runs never start at once.
func (s *Store) putTask(ctx context.Context, t tx, task loop.Task, now int64) (loop.Task, error) {
	task.ID = newID(fromMicros(now))
	if task.Created.IsZero() {
		task.Created = fromMicros(now)
	}
	key := repoKey(task.Repo)
	if task.Issue.Number > 0 {
		var id string
		var created int64
		err := t.row(ctx, "SELECT id, created_at FROM tasks WHERE repo_key = ? AND issue = ?"+t.forUpdate(), key, task.Issue.Number).Scan(&id, &created)
		switch {
		case err == nil:
			task.ID, task.Created = id, fromMicros(created)
		case !errors.Is(err, sql.ErrNoRows):
			return task, fmt.Errorf("look for the task: %w", err)
		}
	}
	data, err := s.codec.encode(task)
	if err != nil {
		return task, err
	}
	name := clean(task.Repo.FullName())
	// Another process may insert the same issue's task just now; then this waits, and takes its id.
	var created int64
	err = t.row(ctx, `INSERT INTO tasks (id, repo_key, repo, issue, created_at, data) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (repo_key, issue) WHERE issue > 0 DO UPDATE SET repo = excluded.repo, data = excluded.data
		RETURNING id, created_at`,
		task.ID, key, name, task.Issue.Number, micros(task.Created), data).Scan(&task.ID, &created)
	if err != nil {
		return task, fmt.Errorf("store the task: %w", err)
	}
	task.Created = fromMicros(created)
	// A renamed repository is found by its new name from now on.
	if _, err := t.exec(ctx, "UPDATE runs SET repo = ? WHERE repo_key = ? AND repo <> ?", name, key, name); err != nil {
		return task, fmt.Errorf("rename the repository: %w", err)
	}
	return task, nil
}

// putRun stores a new run with its first snapshot and the ticket that drives it.
func (s *Store) putRun(ctx context.Context, t tx, first loop.Snapshot) (loop.Snapshot, error) {
	now := s.now()
	first.Schema, first.Seq = loop.SnapshotSchema, 1
	first.Run.ID, first.Run.TaskID = newID(now), first.Task.ID
	if first.Run.Created.IsZero() {
		first.Run.Created = now
	}
	if first.Phase == "" {
		first.Phase = loop.PhaseQueued
	}
	if first.Started.IsZero() {
		first.Started = now
	}
	if first.Updated.IsZero() {
		first.Updated = now
	}
	if err := t.row(ctx, "SELECT coalesce(max(number), 0) + 1 FROM runs WHERE task = ?", first.Task.ID).Scan(&first.Run.Number); err != nil {
		return first, fmt.Errorf("number the run: %w", err)
	}
	info, err := s.codec.encode(infoOf(first))
	if err != nil {
		return first, err
	}
	_, err = t.exec(ctx, `INSERT INTO runs (id, task, number, repo_key, repo, issue, pull, phase, seq, ready_at, info)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`,
		first.Run.ID, first.Task.ID, first.Run.Number, repoKey(first.Task.Repo), clean(first.Task.Repo.FullName()),
		first.Task.Issue.Number, pullOf(first), string(first.Phase), micros(now), info)
	if err != nil {
		return first, fmt.Errorf("store the run: %w", err)
	}
	if err := s.putSnapshot(ctx, t, first); err != nil {
		return first, err
	}
	return first, s.ticket(ctx, t, first.Run.ID, 0)
}

// putSnapshot appends a snapshot.
func (s *Store) putSnapshot(ctx context.Context, t tx, snapshot loop.Snapshot) error {
	data, err := s.codec.encode(snapshot)
	if err != nil {
		return err
	}
	return putSnapshotData(ctx, t, snapshot, micros(s.now()), data)
}

func putSnapshotData(ctx context.Context, t tx, snapshot loop.Snapshot, now int64, data []byte) error {
	_, err := t.exec(ctx, "INSERT INTO snapshots (run, seq, at, data) VALUES (?, ?, ?, ?)", snapshot.Run.ID, snapshot.Seq, now, data)
	if err != nil {
		return fmt.Errorf("store snapshot %d: %w", snapshot.Seq, err)
	}
	return nil
}

// infoOf is what lists show of a snapshot.
func infoOf(s loop.Snapshot) loop.RunInfo {
	round := 0
	if current := s.Current(); current != nil {
		round = current.Number
	}
	return loop.RunInfo{
		Run: s.Run, Task: s.Task, Phase: s.Phase, Round: round, Decision: s.Decision, Spent: s.Spent,
		Pull: s.Pull, Ended: s.Ended, Started: s.Started, Updated: s.Updated,
	}
}

// pullOf is the number of a snapshot's pull request, 0 where it has none.
func pullOf(s loop.Snapshot) int {
	if s.Pull != nil {
		return s.Pull.Number
	}
	return s.Run.PullRequest
}

// Snapshot implements loop.Store.
func (s *Store) Snapshot(ctx context.Context, run string) (loop.Snapshot, error) {
	return s.newest(ctx, s.reader(), run)
}

func (s *Store) newest(ctx context.Context, c conn, run string) (loop.Snapshot, error) {
	var data []byte
	err := c.row(ctx, "SELECT data FROM snapshots WHERE run = ? ORDER BY seq DESC LIMIT 1", run).Scan(&data)
	if err != nil {
		return loop.Snapshot{}, notFound(err, "snapshot of run %q", run)
	}
	var snapshot loop.Snapshot
	if err := s.codec.decode(data, &snapshot); err != nil {
		return loop.Snapshot{}, fmt.Errorf("snapshot of run %q: %w", run, err)
	}
	return snapshot, nil
}

// Snapshots implements loop.Store.
func (s *Store) Snapshots(ctx context.Context, run string) ([]loop.Snapshot, error) {
	var all []loop.Snapshot
	err := s.reader().each(ctx, func(rows *sql.Rows) error {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		var snapshot loop.Snapshot
		if err := s.codec.decode(data, &snapshot); err != nil {
			return err
		}
		all = append(all, snapshot)
		return nil
	}, "SELECT data FROM snapshots WHERE run = ? ORDER BY seq", run)
	if err != nil {
		return nil, fmt.Errorf("snapshots of run %q: %w", run, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("snapshots of run %q: %w", run, loop.ErrNotFound)
	}
	return all, nil
}

// Runs implements loop.Store. A repository's name is compared as GitHub does, without regard to case.
func (s *Store) Runs(ctx context.Context, filter loop.RunFilter) ([]loop.RunInfo, error) {
	where, args := []string{"1 = 1"}, []any{}
	only := func(condition string, arg any) {
		where, args = append(where, condition), append(args, arg)
	}
	if filter.Task != "" {
		only("task = ?", filter.Task)
	}
	if filter.Repo != "" {
		only("lower(repo) = ?", strings.ToLower(filter.Repo))
	}
	if filter.RepoID != 0 {
		only("repo_key = ?", repoKey(loop.Repo{ID: filter.RepoID}))
	}
	if filter.Issue != 0 {
		only("issue = ?", filter.Issue)
	}
	if filter.Pull != 0 {
		only("pull = ?", filter.Pull)
	}
	if filter.Open {
		only("ended = ?", 0)
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultRuns
	}
	var list []loop.RunInfo
	err := s.reader().each(ctx, func(rows *sql.Rows) error {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		var info loop.RunInfo
		if err := s.codec.decode(data, &info); err != nil {
			return err
		}
		list = append(list, info)
		return nil
	}, "SELECT info FROM runs WHERE "+strings.Join(where, " AND ")+" ORDER BY num DESC LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return list, nil
}
