package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ReplayPrefix begins the names of the artifacts that a replay reads: for each step of a run the
// state that was decided on with the decision, and each call of a model with its reply.
const ReplayPrefix = "replay/"

// DecisionRecord is what was decided in a step, and on what. State is complete but for the history,
// which no rule reads.
type DecisionRecord struct {
	State    Snapshot `json:"state"`
	Decision Decision `json:"decision"`
}

// ModelCall is one call of a model as it was made in a step.
type ModelCall struct {
	Request ModelRequest  `json:"request"`
	Reply   ModelReply    `json:"reply"`
	Error   string        `json:"error,omitempty"`
	At      time.Time     `json:"at"`
	Took    time.Duration `json:"took_ns"`
}

func decisionName(step int) string { return fmt.Sprintf("%s%04d/decision.json", ReplayPrefix, step) }

func callName(step, call int) string {
	return fmt.Sprintf("%s%04d/call-%03d.json", ReplayPrefix, step, call)
}

// step numbers the step of the run that is at work, from 1: one for each decision.
func (d *drive) step() int { return len(d.s.History) + 1 }

// recordDecision keeps a decision with the state that it was made on. A step that is done again after
// a crash replaces its record.
func (d *drive) recordDecision(ctx context.Context, decision Decision) error {
	record := DecisionRecord{State: d.s, Decision: decision}
	record.State.History = nil
	return d.putRecord(ctx, decisionName(d.step()), record)
}

// recordCall keeps a call of a model, also one that failed.
func (d *drive) recordCall(ctx context.Context, call ModelCall) error {
	d.mutex.Lock()
	d.calls++
	name := callName(d.step(), d.calls)
	d.mutex.Unlock()
	return d.putRecord(ctx, name, call)
}

func (d *drive) putRecord(ctx context.Context, name string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	if err := d.Store.PutArtifact(ctx, d.lease, name, text); err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}

// ReplayStep is one step of a recorded run, with what today's rules decide on the same state.
type ReplayStep struct {
	Number int            `json:"step"`
	Record DecisionRecord `json:"record"`
	Calls  []ModelCall    `json:"calls,omitempty"`
	Now    Decision       `json:"now"`
}

// Differences names what today's rules decide otherwise; the words of the reason do not count.
func (s ReplayStep) Differences() []string {
	then, now := s.Record.Decision, s.Now
	var list []string
	for _, part := range []struct{ what, then, now string }{
		{"rule", then.Rule, now.Rule}, {"next", string(then.Next), string(now.Next)}, {"action", string(then.Action), string(now.Action)},
		{"strategy", string(then.Strategy), string(now.Strategy)}, {"ending", string(then.Ending), string(now.Ending)},
		{"stronger model", fmt.Sprint(then.Strong), fmt.Sprint(now.Strong)}, {"rollback", fmt.Sprint(then.Rollback), fmt.Sprint(now.Rollback)},
	} {
		if part.then != part.now {
			list = append(list, fmt.Sprintf("%s %q, then %q", part.what, part.now, part.then))
		}
	}
	return list
}

// ReplayStore is what a replay reads from.
type ReplayStore interface {
	Artifacts(ctx context.Context, run string) ([]string, error)
	Artifact(ctx context.Context, run, name string) ([]byte, error)
}

// Replay goes through a recorded run and decides every step anew. Neither network nor model is
// needed. ErrNotFound where nothing was recorded.
func Replay(ctx context.Context, store ReplayStore, run string) ([]ReplayStep, error) {
	names, err := store.Artifacts(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("list the records of run %s: %w", run, err)
	}
	read := func(name string, into any) error {
		text, err := store.Artifact(ctx, run, name)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return fmt.Errorf("read %s of run %s: %w", name, run, err)
		}
		return nil
	}
	var steps []ReplayStep
	for number := 1; ; number++ {
		step := ReplayStep{Number: number}
		err := read(decisionName(number), &step.Record)
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		calls := strings.TrimSuffix(decisionName(number), "decision.json") + "call-"
		for _, name := range names {
			if !strings.HasPrefix(name, calls) {
				continue
			}
			var call ModelCall
			if err := read(name, &call); err != nil {
				return nil, err
			}
			step.Calls = append(step.Calls, call)
		}
		step.Now = Decide(step.Record.State)
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("run %s has no records to replay: %w", run, ErrNotFound)
	}
	return steps, nil
}
