package storetest

import (
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

func testLeases(t *testing.T, suite Suite) {
	t.Run("a living lease belongs to one worker", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, snapshot := b.acquire(run, "first")
		if lease.Run != run || lease.Worker != "first" || lease.Epoch != 1 || snapshot.Seq != 1 {
			t.Errorf("lease %+v, snapshot %d", lease, snapshot.Seq)
		}
		_, _, err := b.Acquire(t.Context(), run, "second")
		b.is(err, loop.ErrLeaseLost, "second worker")
		b.clock.Advance(LeaseTTL - time.Second)
		if _, err := b.Heartbeat(t.Context(), lease, 0); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(LeaseTTL - time.Second)
		_, _, err = b.Acquire(t.Context(), run, "second")
		b.is(err, loop.ErrLeaseLost, "second worker after a heartbeat")
	})
	t.Run("a worker needs a name", func(t *testing.T) {
		b := open(t, suite, 1)
		if _, _, err := b.Acquire(t.Context(), b.start(1, 1).Run.ID, ""); err == nil {
			t.Error("a lease of nobody was given")
		}
	})

	// Every way to lose a lease must close every way to write.
	losses := []struct {
		name string
		lose func(b *bench, lease loop.Lease, snapshot loop.Snapshot)
	}{
		{"taken over after it expired", func(b *bench, lease loop.Lease, _ loop.Snapshot) {
			b.clock.Advance(LeaseTTL + time.Second)
			b.acquire(lease.Run, "other")
		}},
		{"taken over by the same name", func(b *bench, lease loop.Lease, _ loop.Snapshot) {
			b.acquire(lease.Run, lease.Worker)
		}},
		{"released", func(b *bench, lease loop.Lease, _ loop.Snapshot) {
			if err := b.Release(b.Context(), lease, 0); err != nil {
				b.Fatal(err)
			}
		}},
		{"given up with a phase that waits", func(b *bench, lease loop.Lease, snapshot loop.Snapshot) {
			b.save(lease, snapshot, loop.PhaseClarifying)
		}},
		{"given up with the end", func(b *bench, lease loop.Lease, snapshot loop.Snapshot) {
			b.save(lease, snapshot, loop.PhaseEscalated)
		}},
	}
	for _, loss := range losses {
		t.Run("a lease that was "+loss.name+" writes nothing", func(t *testing.T) {
			b := open(t, suite, 1)
			run := b.start(1, 1).Run.ID
			lease, snapshot := b.acquire(run, "w")
			loss.lose(b, lease, snapshot)
			before, err := b.Snapshots(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}

			late := before[len(before)-1]
			late.Seq++
			late.Phase = loop.PhaseCoding
			b.is(b.Save(t.Context(), lease, late), loop.ErrLeaseLost, "save")
			b.is(b.RecordUsage(t.Context(), lease, loop.Usage{USD: 1}), loop.ErrLeaseLost, "record usage")
			b.is(b.PutArtifact(t.Context(), lease, "a", []byte("x")), loop.ErrLeaseLost, "put artifact")
			b.is(b.Release(t.Context(), lease, 0), loop.ErrLeaseLost, "release")
			_, err = b.Heartbeat(t.Context(), lease, 0)
			b.is(err, loop.ErrLeaseLost, "heartbeat")

			after, err := b.Snapshots(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			same(t, after, before)
			if lines, _ := b.Ledger(t.Context(), run); len(lines) != 0 {
				t.Errorf("ledger has %d lines", len(lines))
			}
			if names, _ := b.Artifacts(t.Context(), run); len(names) != 0 {
				t.Errorf("artifacts %q", names)
			}
		})
	}
	t.Run("a snapshot out of turn is refused and changes nothing", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, snapshot := b.acquire(run, "w")
		for _, seq := range []int{0, 1, 3} {
			snapshot.Seq = seq
			if err := b.Save(t.Context(), lease, snapshot); err == nil {
				t.Errorf("snapshot %d was stored after 1", seq)
			}
		}
		if stored, err := b.Snapshot(t.Context(), run); err != nil || stored.Seq != 1 {
			t.Errorf("newest is %d, error %v", stored.Seq, err)
		}
	})
	t.Run("a snapshot of another run is refused", func(t *testing.T) {
		b := open(t, suite, 1)
		lease, snapshot := b.acquire(b.start(1, 1).Run.ID, "w")
		snapshot.Run.ID = b.start(1, 2).Run.ID
		snapshot.Seq = 2
		if err := b.Save(t.Context(), lease, snapshot); err == nil {
			t.Error("it was stored")
		}
	})
	t.Run("a released run is free for others at once", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, _ := b.acquire(run, "w")
		if err := b.Release(t.Context(), lease, 0); err != nil {
			t.Fatal(err)
		}
		if second, _ := b.acquire(run, "other"); second.Epoch != lease.Epoch+1 {
			t.Errorf("epoch %d after %d", second.Epoch, lease.Epoch)
		}
	})
}

func testSignals(t *testing.T, suite Suite) {
	t.Run("signals are numbered and told in order after the last one", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, _ := b.acquire(run, "w")
		b.signal(run, loop.SignalBudget)
		more := loop.Signal{Kind: loop.SignalAnswer, By: "mona", Text: "yes \x00", More: loop.Limits{Rounds: 2}, At: b.clock.Now()}
		if err := b.Signal(t.Context(), run, more); err != nil {
			t.Fatal(err)
		}
		got, err := b.Heartbeat(t.Context(), lease, 0)
		if err != nil || len(got) != 2 {
			t.Fatalf("%d signals, error %v", len(got), err)
		}
		if got[0].Kind != loop.SignalBudget || got[0].At.IsZero() || got[1].ID <= got[0].ID {
			t.Errorf("signals %+v", got)
		}
		more.ID = got[1].ID
		same(t, got[1], more)
		if rest, err := b.Heartbeat(t.Context(), lease, got[0].ID); err != nil || len(rest) != 1 {
			t.Errorf("%d signals after the first, error %v", len(rest), err)
		}
	})

	// Which signal wakes a run in which phase: it is driven then, and only then.
	for _, c := range []struct {
		phase loop.Phase
		kind  loop.SignalKind
		wakes bool
	}{
		{loop.PhaseClarifying, loop.SignalAnswer, true},
		{loop.PhaseClarifying, loop.SignalStop, true},
		{loop.PhaseApproving, loop.SignalApprove, true},
		{loop.PhaseApproving, loop.SignalCancel, true},
		{loop.PhaseEscalated, loop.SignalResume, true},
		{loop.PhaseStopped, loop.SignalResume, true},
		{loop.PhaseStopped, loop.SignalStop, false},
		{loop.PhaseEscalated, loop.SignalAnswer, false},
		{loop.PhaseDone, loop.SignalResume, false},
	} {
		name := string(c.kind) + " wakes " + string(c.phase)
		if !c.wakes {
			name = string(c.kind) + " does not wake " + string(c.phase)
		}
		t.Run(name, func(t *testing.T) {
			b := open(t, suite, 1)
			run := b.start(1, 1).Run.ID
			lease, snapshot := b.acquire(run, "w")
			b.save(lease, snapshot, c.phase)
			b.signal(run, c.kind)
			b.driven(run, c.wakes)
		})
		// The race: the signal comes after the worker's last look and before its last snapshot.
		t.Run(name+" when it comes while the phase is being stored", func(t *testing.T) {
			b := open(t, suite, 1)
			run := b.start(1, 1).Run.ID
			lease, snapshot := b.acquire(run, "w")
			b.signal(run, c.kind)
			b.save(lease, snapshot, c.phase)
			b.driven(run, c.wakes)
		})
	}
	t.Run("a signal that the snapshot knows does not wake again", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, snapshot := b.acquire(run, "w")
		b.signal(run, loop.SignalAnswer)
		signals, err := b.Heartbeat(t.Context(), lease, 0)
		if err != nil || len(signals) != 1 {
			t.Fatalf("%d signals, error %v", len(signals), err)
		}
		snapshot.SeenSignal = signals[0].ID
		b.save(lease, snapshot, loop.PhaseClarifying)
		b.driven(run, false)
	})
	t.Run("a signal that a worker was told and left does not wake again, the next one does", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, snapshot := b.acquire(run, "w")
		b.save(lease, snapshot, loop.PhaseClarifying)
		b.signal(run, loop.SignalBudget)
		lease, _ = b.acquire(run, "w")
		if signals, err := b.Heartbeat(t.Context(), lease, 0); err != nil || len(signals) != 1 {
			t.Fatalf("%d signals, error %v", len(signals), err)
		}
		if err := b.Release(t.Context(), lease, 0); err != nil {
			t.Fatal(err)
		}
		b.driven(run, false)
		b.signal(run, loop.SignalAnswer)
		b.driven(run, true)
	})
	t.Run("a signal that comes before the release is not lost", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, snapshot := b.acquire(run, "w")
		b.save(lease, snapshot, loop.PhaseClarifying)
		lease, _ = b.acquire(run, "w")
		b.signal(run, loop.SignalAnswer)
		if err := b.Release(t.Context(), lease, 0); err != nil {
			t.Fatal(err)
		}
		b.driven(run, true)
	})
	t.Run("a resumed run is open again, and a second one of its task is not", func(t *testing.T) {
		b := open(t, suite, 1)
		first := b.start(1, 1)
		lease, snapshot := b.acquire(first.Run.ID, "w")
		b.save(lease, snapshot, loop.PhaseEscalated)
		b.signal(first.Run.ID, loop.SignalResume)
		again, started, err := b.StartRun(t.Context(), task(1, 1), loop.Run{}, loop.Snapshot{})
		if err != nil || started || again.Run.ID != first.Run.ID {
			t.Errorf("run %s, started %v, error %v", again.Run.ID, started, err)
		}
	})
	t.Run("resume is refused while another run of the task is open", func(t *testing.T) {
		b := open(t, suite, 1)
		first := b.start(1, 1)
		lease, snapshot := b.acquire(first.Run.ID, "w")
		b.save(lease, snapshot, loop.PhaseEscalated)
		b.start(1, 1)
		if err := b.Signal(t.Context(), first.Run.ID, loop.Signal{Kind: loop.SignalResume}); err == nil {
			t.Error("two runs of a task are open")
		}
	})
}

// driven works the queue and says whether a run is driven. A run of another repository that is
// started afterwards tells when the queue has been through.
func (b *bench) driven(run string, want bool) {
	b.Helper()
	last := b.start(99, int(b.clock.Now().UnixNano()%1_000_000_000)+1).Run.ID
	calls := make(chan string, 100)
	b.work(b.finish(calls), nil)
	got := false
	for {
		id := next(b, calls)
		got = got || id == run
		if id == last {
			break
		}
	}
	b.end()
	if got != want {
		b.Errorf("driven: %v, must be %v", got, want)
	}
	b.clock.Advance(time.Microsecond)
}
