package storetest

import (
	"context"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func testKnowledge(t *testing.T, suite Suite) {
	b := open(t, suite, 1)
	learn := func(lesson loop.Lesson) {
		t.Helper()
		if err := b.Learn(t.Context(), lesson); err != nil {
			t.Fatal(err)
		}
	}
	recall := func(repo, text string, n int) []loop.Lesson {
		t.Helper()
		lessons, err := b.Recall(t.Context(), repo, text, n)
		if err != nil {
			t.Fatal(err)
		}
		return lessons
	}
	parse := loop.Lesson{Repo: "Octo/a", Run: "r1", Signature: "pkg/TestParseDate: got 5 want 4", Problem: "the parser drops the last day of a month", Change: "loop bound in parseDate", Files: []string{"pkg/date.go"}, Worked: true}
	learn(parse)
	learn(loop.Lesson{Repo: "Octo/a", Run: "r2", Signature: "lint: unused variable", Problem: "unused variable in handler \x00", Change: "removed it", Worked: true})
	learn(loop.Lesson{Repo: "Octo/a", Run: "r3", Signature: parse.Signature, Problem: "again the last day", Change: "a wrong idea", Worked: false})
	learn(loop.Lesson{Repo: "Octo/a", Run: "r4", Signature: parse.Signature, Problem: "the last day in leap years", Change: "days in February", Worked: true})
	learn(loop.Lesson{Repo: "Octo/b", Run: "r5", Signature: "x", Problem: "the parser drops the last day", Change: "none of your business"})

	t.Run("the most similar of the repository comes first", func(t *testing.T) {
		got := recall("octo/A", "parseDate returns a wrong last day", 5)
		if len(got) == 0 || got[0].Signature != parse.Signature {
			t.Fatalf("lessons %+v", got)
		}
		for _, lesson := range got {
			if lesson.Repo != "Octo/a" {
				t.Errorf("a lesson of %s", lesson.Repo)
			}
		}
	})
	t.Run("lessons of one signature count as one, with its rate", func(t *testing.T) {
		got := recall("Octo/a", "TestParseDate", 5)
		if len(got) != 1 || got[0].Uses != 3 || got[0].Successes != 2 || got[0].Run != "r4" || got[0].ID == 0 {
			t.Errorf("lessons %+v", got)
		}
	})
	t.Run("what was reverted is no success, and the last word counts", func(t *testing.T) {
		for _, step := range []struct {
			outcome string
			want    int
		}{{"merged", 2}, {"reverted", 1}, {"merged", 2}, {"closed", 1}} {
			if err := b.Judge(t.Context(), "r4", step.outcome); err != nil {
				t.Fatal(err)
			}
			if got := recall("Octo/a", "TestParseDate", 1); len(got) != 1 || got[0].Successes != step.want {
				t.Errorf("after %s: %+v", step.outcome, got)
			}
		}
	})
	t.Run("a run learns the same thing once", func(t *testing.T) {
		again := parse
		again.Change = "as told after a crash"
		learn(again)
		if got := recall("Octo/a", "crash", 1); len(got) != 1 || got[0].Uses != 3 {
			t.Errorf("lessons %+v", got)
		}
	})
	t.Run("any text may be asked", func(t *testing.T) {
		for _, text := range []string{"", "\"", "a\"b' OR * NEAR( AND NOT -x: ^y {z} \\ %", "\x00\xff", "'day' | & ! <->", "é ß 日本語 parseDate"} {
			recall("Octo/a", text, 3)
		}
		if got := recall("Octo/a", "day", 0); len(got) != 0 {
			t.Errorf("%d lessons of none", len(got))
		}
	})
	t.Run("a lesson needs a repository", func(t *testing.T) {
		if err := b.Learn(t.Context(), loop.Lesson{Run: "r"}); err == nil {
			t.Error("it was stored")
		}
	})
	t.Run("lessons without a signature stay apart", func(t *testing.T) {
		learn(loop.Lesson{Repo: "Octo/c", Run: "r6", Problem: "flaky network"})
		learn(loop.Lesson{Repo: "Octo/c", Run: "r7", Problem: "flaky clock"})
		if got := recall("Octo/c", "flaky", 5); len(got) != 2 {
			t.Errorf("lessons %+v", got)
		}
	})
	keeper, ok := b.Backend.(interface {
		Lessons(ctx context.Context, repo string, limit int) ([]loop.Lesson, error)
		Forget(ctx context.Context, id int64) error
	})
	if !ok {
		return
	}
	t.Run("a forgotten lesson is not recalled", func(t *testing.T) {
		list, err := keeper.Lessons(t.Context(), "Octo/c", 10)
		if err != nil || len(list) != 2 || list[0].Run != "r7" {
			t.Fatalf("lessons %+v, error %v", list, err)
		}
		if err := keeper.Forget(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
		if got := recall("Octo/c", "flaky", 5); len(got) != 1 || got[0].Run != "r6" {
			t.Errorf("lessons %+v", got)
		}
		b.is(keeper.Forget(t.Context(), list[0].ID), loop.ErrNotFound, "forget twice")
	})
}

func testWatch(t *testing.T, suite Suite) {
	b := open(t, suite, 1)
	run := b.start(1, 1).Run.ID
	other := b.start(2, 1).Run.ID
	ctx, cancel := context.WithCancel(t.Context())
	one, err := b.Watch(ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Watch(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	lease, snapshot := b.acquire(run, "w")
	snapshot = b.save(lease, snapshot, loop.PhasePreparing)
	next(b, one)
	next(b, all)
	b.signal(other, loop.SignalStop)
	next(b, all)
	select {
	case <-one:
		t.Error("another run's change was told")
	default:
	}
	cancel()
	for range one { // ends: the channel is closed
	}
	b.save(lease, snapshot, loop.PhaseCoding)
	next(b, all)
}
