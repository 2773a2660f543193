package storetest

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

func testLedger(t *testing.T, suite Suite) {
	b := open(t, suite, 1)
	now := b.clock.Now()
	old := b.start(1, 1)
	lease, snapshot := b.acquire(old.Run.ID, "w")
	line := func(tokens int, usd float64, at time.Time) loop.Usage {
		return loop.Usage{
			Role: loop.RoleCoder, Purpose: "code", Model: "m", PromptTokens: tokens - 1, CompletionTokens: 1,
			CachedTokens: 1, USD: usd, Duration: time.Second, At: at, Error: "cut off \x00",
		}
	}
	want := []loop.Usage{line(100, 0.5, now.Add(-30*time.Hour)), line(10, 0.25, now.Add(-time.Hour))}
	if err := b.RecordUsage(t.Context(), lease, want...); err != nil {
		t.Fatal(err)
	}
	b.save(lease, snapshot, loop.PhaseDone)
	run := b.start(1, 1).Run.ID
	second, _ := b.acquire(run, "w")
	neighbour, _ := b.acquire(b.start(1, 2).Run.ID, "w")
	stranger, _ := b.acquire(b.start(2, 1).Run.ID, "w")
	for _, entry := range []struct {
		lease loop.Lease
		usage loop.Usage
	}{{second, line(7, 1, now)}, {neighbour, line(1000, 2, now)}, {stranger, line(5000, 4, now)}} {
		if err := b.RecordUsage(t.Context(), entry.lease, entry.usage); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("lines come back whole and in order", func(t *testing.T) {
		got, err := b.Ledger(t.Context(), old.Run.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	})
	t.Run("sums of run, task and repository since a time", func(t *testing.T) {
		got, err := b.Spending(t.Context(), run, now.Add(-24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range []struct {
			name string
			got  loop.Spent
			want loop.Spent
		}{
			{"run", got.Run, loop.Spent{ModelCalls: 1, Tokens: 7, USD: 1}},
			{"task", got.Task, loop.Spent{ModelCalls: 3, Tokens: 117, USD: 1.75}},
			{"repository", got.RepoDay, loop.Spent{ModelCalls: 3, Tokens: 1017, USD: 3.25}},
		} {
			if math.Abs(sum.got.USD-sum.want.USD) > 1e-9 {
				t.Errorf("%s: $%v, must be $%v", sum.name, sum.got.USD, sum.want.USD)
			}
			sum.got.USD = sum.want.USD
			if sum.got != sum.want {
				t.Errorf("%s: %+v, must be %+v", sum.name, sum.got, sum.want)
			}
		}
	})
	t.Run("a run without calls has spent nothing", func(t *testing.T) {
		got, err := b.Spending(t.Context(), b.start(3, 1).Run.ID, now)
		if err != nil || got != (loop.Spending{}) {
			t.Errorf("%+v, error %v", got, err)
		}
	})
}

func testArtifacts(t *testing.T, suite Suite) {
	b := open(t, suite, 1)
	run := b.start(1, 1).Run.ID
	lease, _ := b.acquire(run, "w")
	put := func(name string, data []byte) {
		t.Helper()
		if err := b.PutArtifact(t.Context(), lease, name, data); err != nil {
			t.Fatal(err)
		}
	}
	large := bytes.Repeat([]byte("a line of a log\x00\xff\n"), 100_000)
	put("logs/b.txt", []byte("old"))
	put("logs/b.txt", large)
	put("logs/Z.txt", nil)
	put("a", []byte("x"))

	t.Run("the last content of a name counts", func(t *testing.T) {
		got, err := b.Artifact(t.Context(), run, "logs/b.txt")
		if err != nil || !bytes.Equal(got, large) {
			t.Errorf("%d bytes, error %v", len(got), err)
		}
		if got, err := b.Artifact(t.Context(), run, "logs/Z.txt"); err != nil || len(got) != 0 {
			t.Errorf("%d bytes of nothing, error %v", len(got), err)
		}
	})
	t.Run("names are sorted by byte", func(t *testing.T) {
		got, err := b.Artifacts(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, []string{"a", "logs/Z.txt", "logs/b.txt"})
	})
	t.Run("what is not there is not found", func(t *testing.T) {
		_, err := b.Artifact(t.Context(), run, "nope")
		b.is(err, loop.ErrNotFound, "artifact")
		_, err = b.Baseline(t.Context(), "o/r", "nope")
		b.is(err, loop.ErrNotFound, "baseline")
	})
	t.Run("a baseline comes back", func(t *testing.T) {
		outcome := loop.Outcome{Verdict: loop.Verdict{Schema: "v", Base: "abc"}, Cases: map[string]loop.CaseStatus{"pkg/Test\xe2\x80\xa6": loop.CaseFailed}}
		if err := b.PutBaseline(t.Context(), "o/r", "k", outcome); err != nil {
			t.Fatal(err)
		}
		got, err := b.Baseline(t.Context(), "o/r", "k")
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, outcome)
		_, err = b.Baseline(t.Context(), "o/other", "k")
		b.is(err, loop.ErrNotFound, "baseline of another repository")
	})
	t.Run("old baselines of a repository go, new ones and other repositories' stay", func(t *testing.T) {
		for i := range 60 {
			b.clock.Advance(time.Second)
			if err := b.PutBaseline(t.Context(), "o/many", fmt.Sprint(i), loop.Outcome{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := b.Baseline(t.Context(), "o/many", "0")
		b.is(err, loop.ErrNotFound, "the oldest of 60")
		if _, err := b.Baseline(t.Context(), "o/many", "59"); err != nil {
			t.Errorf("the newest: %v", err)
		}
		if _, err := b.Baseline(t.Context(), "o/r", "k"); err != nil {
			t.Errorf("another repository's: %v", err)
		}
	})
}
