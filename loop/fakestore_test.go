package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// fakeStore keeps one run in memory, snapshots as JSON.
type fakeStore struct {
	*world
	snapshots [][]byte
	epoch     int64
	lost      bool
	signals   []loop.Signal
	ledger    []loop.Usage
	artifacts map[string][]byte
	baselines map[string]loop.Outcome
	released  []time.Duration
	earlier   loop.Spent // of other runs of the task
}

func (f *fakeStore) newest() loop.Snapshot {
	var s loop.Snapshot
	if err := json.Unmarshal(f.snapshots[len(f.snapshots)-1], &s); err != nil {
		panic(err)
	}
	return s
}

func (f *fakeStore) put(s loop.Snapshot) {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	f.snapshots = append(f.snapshots, data)
}

func (f *fakeStore) StartRun(_ context.Context, _ loop.Task, _ loop.Run, first loop.Snapshot) (loop.Snapshot, bool, error) {
	f.put(first)
	return first, true, nil
}

func (f *fakeStore) Acquire(_ context.Context, run, worker string) (loop.Lease, loop.Snapshot, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.snapshots) == 0 {
		return loop.Lease{}, loop.Snapshot{}, loop.ErrNotFound
	}
	f.epoch++
	return loop.Lease{Run: run, Worker: worker, Epoch: f.epoch}, f.newest(), nil
}

func (f *fakeStore) Heartbeat(_ context.Context, lease loop.Lease, after int64) ([]loop.Signal, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.lost || lease.Epoch != f.epoch {
		return nil, loop.ErrLeaseLost
	}
	var fresh []loop.Signal
	for _, s := range f.signals {
		if s.ID > after {
			fresh = append(fresh, s)
		}
	}
	return fresh, nil
}

func (f *fakeStore) Save(_ context.Context, lease loop.Lease, s loop.Snapshot) error {
	return f.effect("save", func() error {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		if f.lost || lease.Epoch != f.epoch {
			return loop.ErrLeaseLost
		}
		if want := f.newest().Seq + 1; s.Seq != want {
			return fmt.Errorf("snapshot %d, want %d", s.Seq, want)
		}
		f.put(s)
		return nil
	})
}

func (f *fakeStore) Release(_ context.Context, _ loop.Lease, delay time.Duration) error {
	f.released = append(f.released, delay)
	return nil
}

func (f *fakeStore) Signal(_ context.Context, _ string, signal loop.Signal) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	signal.ID = int64(len(f.signals) + 1)
	f.signals = append(f.signals, signal)
	return nil
}

func (f *fakeStore) Snapshot(context.Context, string) (loop.Snapshot, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.newest(), nil
}

func (f *fakeStore) Snapshots(context.Context, string) ([]loop.Snapshot, error) { return nil, nil }

func (f *fakeStore) Runs(context.Context, loop.RunFilter) ([]loop.RunInfo, error) { return nil, nil }

func (f *fakeStore) RecordUsage(_ context.Context, _ loop.Lease, usage ...loop.Usage) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.ledger = append(f.ledger, usage...)
	return nil
}

func (f *fakeStore) Ledger(context.Context, string) ([]loop.Usage, error) { return f.ledger, nil }

func (f *fakeStore) Spending(context.Context, string, time.Time) (loop.Spending, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var run loop.Spent
	for _, u := range f.ledger {
		run = run.Add(u)
	}
	all := run
	all.Tokens += f.earlier.Tokens
	all.USD += f.earlier.USD
	return loop.Spending{Run: run, Task: all, RepoDay: all}, nil
}

func (f *fakeStore) PutArtifact(_ context.Context, _ loop.Lease, name string, data []byte) error {
	return f.effect("artifact", func() error {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.artifacts[name] = data
		return nil
	})
}

func (f *fakeStore) Artifact(_ context.Context, _, name string) ([]byte, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if data, there := f.artifacts[name]; there {
		return data, nil
	}
	return nil, loop.ErrNotFound
}

func (f *fakeStore) Artifacts(context.Context, string) ([]string, error) {
	return slices.Sorted(maps.Keys(f.artifacts)), nil
}

func (f *fakeStore) PutBaseline(_ context.Context, _, key string, o loop.Outcome) error {
	f.baselines[key] = o
	return nil
}

func (f *fakeStore) Baseline(_ context.Context, _, key string) (loop.Outcome, error) {
	if o, there := f.baselines[key]; there {
		return o, nil
	}
	return loop.Outcome{}, loop.ErrNotFound
}

func (f *fakeStore) Learn(context.Context, loop.Lesson) error { return nil }

func (f *fakeStore) Recall(context.Context, string, string, int) ([]loop.Lesson, error) {
	return nil, nil
}

func (f *fakeStore) Judge(context.Context, string, string) error { return nil }
