package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// TestReplay: every decision and every call of a run is there again, and is decided in the same way.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	w.verdicts = []func() (loop.Verdict, error){says(red("!TestOld")), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	steps, err := loop.Replay(context.Background(), w.store, "r1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	calls := 0
	for i, step := range steps {
		got = append(got, step.Record.Decision.Rule)
		calls += len(step.Calls)
		if step.Number != i+1 || len(step.Differences()) != 0 {
			t.Errorf("step %d: %v", step.Number, step.Differences())
		}
		if step.Record.Decision.From == loop.PhaseCoding && (len(step.Calls) != 1 || step.Calls[0].Request.Role != loop.RoleCoder || len(step.Calls[0].Reply.Usage) != 1) {
			t.Errorf("step %d has the calls %+v", step.Number, step.Calls)
		}
	}
	if !slices.Equal(got, rules(s)) || calls != len(w.store.ledger) {
		t.Errorf("rules %v, want %v; %d calls, want %d", got, rules(s), calls, len(w.store.ledger))
	}
}

// TestReplaySaysWhatIsDecidedOtherwise: a decision that the rules of its day made in another way.
func TestReplaySaysWhatIsDecidedOtherwise(t *testing.T) {
	w := newWorld(t)
	w.drive(t)
	for name, text := range w.store.artifacts {
		var record loop.DecisionRecord
		if !strings.HasSuffix(name, "/decision.json") {
			continue
		}
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatal(err)
		}
		if record.Decision.Rule == "green" {
			record.Decision.Rule, record.Decision.Next = "always-review", loop.PhaseReviewing
			w.store.artifacts[name] = []byte(jsonOf(t, record))
		}
	}
	steps, err := loop.Replay(context.Background(), w.store, "r1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range steps {
		got = append(got, step.Differences()...)
	}
	if want := []string{`rule "green", then "always-review"`, `next "publishing", then "reviewing"`}; !slices.Equal(got, want) {
		t.Errorf("differences %q, want %q", got, want)
	}
}

// TestReplayOfFailedCalls: a call that failed is on record as well, and a run without records says so.
func TestReplayOfFailedCalls(t *testing.T) {
	w := newWorld(t)
	if _, err := loop.Replay(context.Background(), w.store, "r1"); !errors.Is(err, loop.ErrNotFound) {
		t.Errorf("before the run: %v", err)
	}
	w.model = func() (loop.ModelReply, error) {
		return loop.ModelReply{}, &loop.ModelError{Fault: loop.ModelUnreachable, Model: "m", Err: errors.New("refused")}
	}
	w.drive(t)
	steps, err := loop.Replay(context.Background(), w.store, "r1")
	if err != nil {
		t.Fatal(err)
	}
	last := steps[len(steps)-1]
	if last.Record.Decision.Rule != "model-unavailable" || len(last.Calls) != 1 || !strings.Contains(last.Calls[0].Error, "unreachable: refused") {
		t.Errorf("the last step is %+v", last)
	}
}
