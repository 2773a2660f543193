package storetest

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func testRuns(t *testing.T, suite Suite) {
	t.Run("a new run is numbered, stamped and stored", func(t *testing.T) {
		b := open(t, suite, 1)
		got := b.start(1, 7)
		if got.Seq != 1 || got.Schema != loop.SnapshotSchema || got.Phase != loop.PhaseQueued {
			t.Errorf("first snapshot: seq %d, schema %q, phase %q", got.Seq, got.Schema, got.Phase)
		}
		if got.Task.ID == "" || got.Run.ID == "" || got.Run.TaskID != got.Task.ID || got.Run.Number != 1 {
			t.Errorf("ids: task %q, run %q of task %q, number %d", got.Task.ID, got.Run.ID, got.Run.TaskID, got.Run.Number)
		}
		if got.Task.Created.IsZero() || got.Run.Created.IsZero() || got.Started.IsZero() {
			t.Error("times are missing")
		}
		stored, err := b.Snapshot(t.Context(), got.Run.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, stored, got)
	})
	t.Run("an open run is returned instead of a second one", func(t *testing.T) {
		b := open(t, suite, 1)
		first := b.start(1, 7)
		again := task(1, 7)
		again.Issue.Title = "another title"
		second, started, err := b.StartRun(t.Context(), again, loop.Run{}, loop.Snapshot{})
		if err != nil || started {
			t.Fatalf("started %v, error %v", started, err)
		}
		if second.Run.ID != first.Run.ID {
			t.Errorf("run %s, must be %s", second.Run.ID, first.Run.ID)
		}
	})
	t.Run("after the end the next run has the same task with the new text", func(t *testing.T) {
		b := open(t, suite, 1)
		first := b.start(1, 7)
		lease, snapshot := b.acquire(first.Run.ID, "w")
		b.save(lease, snapshot, loop.PhaseDone)
		again := task(1, 7)
		again.Issue.Title = "another title"
		second, started, err := b.StartRun(t.Context(), again, loop.Run{Trigger: loop.TriggerRetry}, loop.Snapshot{})
		if err != nil || !started {
			t.Fatalf("started %v, error %v", started, err)
		}
		if second.Task.ID != first.Task.ID || !second.Task.Created.Equal(first.Task.Created) || second.Run.Number != 2 {
			t.Errorf("task %s of %s, number %d", second.Task.ID, second.Task.Created, second.Run.Number)
		}
		if second.Task.Issue.Title != "another title" || second.Run.Trigger != loop.TriggerRetry {
			t.Errorf("title %q, trigger %q", second.Task.Issue.Title, second.Run.Trigger)
		}
		old, err := b.Snapshot(t.Context(), first.Run.ID)
		if err != nil || old.Task.Issue.Title != "a title" {
			t.Errorf("the first run's text is now %q (%v)", old.Task.Issue.Title, err)
		}
	})
	t.Run("the same issue number in another repository is another task", func(t *testing.T) {
		b := open(t, suite, 1)
		if b.start(1, 7).Task.ID == b.start(2, 7).Task.ID {
			t.Error("two repositories share a task")
		}
	})
	t.Run("without an issue every task is a new one", func(t *testing.T) {
		b := open(t, suite, 1)
		if first, second := b.start(1, 0), b.start(1, 0); first.Task.ID == second.Task.ID {
			t.Error("two command lines share a task")
		}
	})
	t.Run("of many at once exactly one starts", func(t *testing.T) {
		b := open(t, suite, 1)
		var group sync.WaitGroup
		var fresh atomic.Int32
		ids := make(chan string, 16)
		for range cap(ids) {
			group.Go(func() {
				snapshot, started, err := b.StartRun(t.Context(), task(1, 7), loop.Run{}, loop.Snapshot{})
				if err != nil {
					t.Error(err)
				}
				if started {
					fresh.Add(1)
				}
				ids <- snapshot.Run.ID
			})
		}
		group.Wait()
		close(ids)
		first := <-ids
		for id := range ids {
			if id != first {
				t.Errorf("runs %s and %s", first, id)
			}
		}
		if fresh.Load() != 1 {
			t.Errorf("%d runs started", fresh.Load())
		}
	})
	t.Run("snapshots come back in order and whole", func(t *testing.T) {
		b := open(t, suite, 1)
		first := b.start(1, 7)
		lease, snapshot := b.acquire(first.Run.ID, "w")
		want := []loop.Snapshot{first}
		for _, phase := range []loop.Phase{loop.PhasePreparing, loop.PhaseSpecifying, loop.PhasePlanning} {
			snapshot.Answers = append(snapshot.Answers, "answer with \x00 in "+string(phase))
			snapshot = b.save(lease, snapshot, phase)
			want = append(want, snapshot)
		}
		got, err := b.Snapshots(t.Context(), first.Run.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	})
	t.Run("what is not there is not found", func(t *testing.T) {
		b := open(t, suite, 1)
		_, err := b.Snapshot(t.Context(), "nope")
		b.is(err, loop.ErrNotFound, "snapshot")
		_, err = b.Snapshots(t.Context(), "nope")
		b.is(err, loop.ErrNotFound, "snapshots")
		_, _, err = b.Acquire(t.Context(), "nope", "w")
		b.is(err, loop.ErrNotFound, "acquire")
		_, err = b.Heartbeat(t.Context(), loop.Lease{Run: "nope", Worker: "w", Epoch: 1}, 0)
		b.is(err, loop.ErrNotFound, "heartbeat")
		b.is(b.Signal(t.Context(), "nope", loop.Signal{Kind: loop.SignalStop}), loop.ErrNotFound, "signal")
		_, err = b.Spending(t.Context(), "nope", b.clock.Now())
		b.is(err, loop.ErrNotFound, "spending")
	})
}

func testLists(t *testing.T, suite Suite) {
	b := open(t, suite, 1)
	ended := b.start(1, 7)
	lease, snapshot := b.acquire(ended.Run.ID, "w")
	snapshot.Pull = &loop.PullRequest{Number: 12}
	snapshot.Ended = "all is well"
	snapshot.Rounds = []loop.Round{{Number: 1}, {Number: 2}}
	b.save(lease, snapshot, loop.PhaseDone)
	again := b.start(1, 7)
	other := b.start(1, 8)
	elsewhere := b.start(2, 7)

	for _, c := range []struct {
		name   string
		filter loop.RunFilter
		want   []loop.Snapshot
	}{
		{"all, newest first", loop.RunFilter{}, []loop.Snapshot{elsewhere, other, again, ended}},
		{"of a task", loop.RunFilter{Task: ended.Task.ID}, []loop.Snapshot{again, ended}},
		{"of a repository, in any case", loop.RunFilter{Repo: "OCTO/REPOB"}, []loop.Snapshot{other, again, ended}},
		{"of an issue", loop.RunFilter{Repo: "Octo/repob", Issue: 7}, []loop.Snapshot{again, ended}},
		{"of a pull request", loop.RunFilter{Pull: 12}, []loop.Snapshot{ended}},
		{"open ones", loop.RunFilter{Task: ended.Task.ID, Open: true}, []loop.Snapshot{again}},
		{"limited", loop.RunFilter{Limit: 2}, []loop.Snapshot{elsewhere, other}},
		{"none", loop.RunFilter{Repo: "no/body"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := b.Runs(t.Context(), c.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, info := range list {
				got = append(got, info.Run.ID)
			}
			for _, s := range c.want {
				want = append(want, s.Run.ID)
			}
			same(t, got, want)
		})
	}
	t.Run("an entry shows the newest state", func(t *testing.T) {
		list, err := b.Runs(t.Context(), loop.RunFilter{Pull: 12})
		if err != nil || len(list) != 1 {
			t.Fatalf("%d runs, error %v", len(list), err)
		}
		info := list[0]
		if info.Phase != loop.PhaseDone || info.Round != 2 || info.Ended != "all is well" || info.Pull.Number != 12 || info.Task.Issue.Title != "a title" {
			t.Errorf("entry %+v", info)
		}
	})
	t.Run("a renamed repository is found by its new name", func(t *testing.T) {
		renamed := task(2, 9)
		renamed.Repo.Name = "renamed"
		if _, _, err := b.StartRun(t.Context(), renamed, loop.Run{}, loop.Snapshot{}); err != nil {
			t.Fatal(err)
		}
		list, err := b.Runs(t.Context(), loop.RunFilter{Repo: "octo/renamed"})
		if err != nil || len(list) != 2 {
			t.Errorf("%d runs, error %v, must be 2", len(list), err)
		}
	})
	t.Run("a renamed repository is found by its number, runs from before included", func(t *testing.T) {
		list, err := b.Runs(t.Context(), loop.RunFilter{RepoID: elsewhere.Task.Repo.ID})
		if err != nil || len(list) != 2 || list[1].Run.ID != elsewhere.Run.ID {
			t.Errorf("%d runs, error %v, must be 2", len(list), err)
		}
		list, err = b.Runs(t.Context(), loop.RunFilter{RepoID: elsewhere.Task.Repo.ID, Issue: 7})
		if err != nil || len(list) != 1 {
			t.Errorf("%d runs of the issue, error %v, must be 1", len(list), err)
		}
		list, err = b.Runs(t.Context(), loop.RunFilter{RepoID: 99})
		if err != nil || len(list) != 0 {
			t.Errorf("%d runs of another, error %v, must be none", len(list), err)
		}
	})
}

// same compares two values as they are stored.
func same(t *testing.T, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) == string(w) {
		return
	}
	from := 0
	for from < min(len(g), len(w)) && g[from] == w[from] {
		from++
	}
	from = max(from-shown/2, 0)
	t.Errorf("at byte %d\n got … %.*s\nwant … %.*s", from, shown, g[from:], shown, w[from:])
}

// shown is how much of a difference is printed, in bytes.
const shown = 300
