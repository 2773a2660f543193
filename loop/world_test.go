package loop_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// The fakes that surround a run are hand-written and keep state, so that a run which is killed and driven
// again meets what it left behind. Each effect asks world.effect first, which may fail it before or
// after it was had.

// world holds a run with everything around it.
type world struct {
	mutex sync.Mutex
	store *fakeStore
	git   *fakeGit
	hub   *fakePublisher
	clock *fakeClock

	// turns guards the scripts and counters below.
	turns sync.Mutex
	// effects counts the effects so far; failAt is the one that fails (0: none), after it was had
	// where late is set.
	effects, failAt int
	late            bool
	failing         map[string]error // every effect of this name fails
	pushes          []string
	onPush          func(commit string)

	specs    []func() (loop.Spec, *loop.Plan, error)
	codes    []func(loop.CodeRequest) (loop.CodeResult, error)
	verdicts []func() (loop.Verdict, error)
	proofs   []func() (loop.Verdict, error)
	guards   []func() []loop.Finding
	reviews  []func() (loop.Review, error)
	requests []loop.CodeRequest
	model    func() (loop.ModelReply, error)
	setupErr error
	base     loop.Verdict
}

func (w *world) effect(name string, do func() error) error {
	if err := w.failing[name]; err != nil {
		return err
	}
	w.turns.Lock()
	w.effects++
	fails := w.effects == w.failAt
	w.turns.Unlock()
	if fails && !w.late {
		return errInjected
	}
	if err := do(); err != nil {
		return err
	}
	if fails {
		return errInjected
	}
	return nil
}

// next takes the next of a script; its last entry repeats, an empty script has a default.
func next[T any](w *world, script *[]T, fallback T) T {
	w.turns.Lock()
	defer w.turns.Unlock()
	if len(*script) == 0 {
		return fallback
	}
	first := (*script)[0]
	if len(*script) > 1 {
		*script = (*script)[1:]
	}
	return first
}

func (w *world) ask(ctx context.Context, m loop.Model, role loop.Role) error {
	_, err := m.Complete(ctx, loop.ModelRequest{Role: role, Purpose: string(role)})
	return err
}

type observer struct{ seen []loop.Snapshot }

func (o *observer) Observe(s loop.Snapshot) { o.seen = append(o.seen, s) }

var errInjected = errors.New("GitHub answered 500")

// newWorld is a repository with one file and an issue that somebody labelled.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		clock: &fakeClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, failing: map[string]error{}, base: green(),
		model: func() (loop.ModelReply, error) {
			return loop.ModelReply{Usage: []loop.Usage{{PromptTokens: 90, CompletionTokens: 10, USD: 0.01}}}, nil
		},
	}
	w.store = &fakeStore{world: w, artifacts: map[string][]byte{}, baselines: map[string]loop.Outcome{}}
	w.git = &fakeGit{world: w, objects: map[string]map[string]string{}, parents: map[string]string{}, branches: map[string]string{}}
	w.git.branches["main"] = w.git.commit("", "first", map[string]string{"a.go": "old", "b.go": "old"})
	w.hub = &fakePublisher{world: w, standing: loop.Standing{Wanted: true, Authorised: true}, notices: map[string]loop.Notice{}, checks: map[string]string{}}
	w.start(loop.Run{ID: "r1", TaskID: "t1", Number: 1, Trigger: loop.TriggerLabel, RequestedBy: "mary"}, loop.Snapshot{})
	w.configure(func(c *loop.Config) { c.Candidates = 1 }) // tests of several ask for them
	return w
}

func (w *world) start(run loop.Run, inherited loop.Snapshot) {
	task := loop.Task{
		ID: "t1", Repo: loop.Repo{Owner: "acme", Name: "widgets", DefaultBranch: "main"},
		Issue: loop.Issue{Number: 3, Title: "It is broken", Author: "olga", AuthorTrusted: true},
	}
	w.store.snapshots = nil
	w.store.put(loop.NewSnapshot(task, run, inherited))
}

func (w *world) engine() *loop.Engine {
	return &loop.Engine{
		Store: w.store, Knowledge: w.store, Workspace: w.git, Verifier: fakeVerifier{w}, Guard: fakeGuard{w}, Model: fakeModel{w},
		Planner: fakePlanner{w}, Coder: fakeCoder{w}, Critic: fakeCritic{w}, Publisher: w.hub, Clock: w.clock, Observer: &observer{}, Log: zerolog.Nop(),
		Settings: loop.Settings{Worker: "w", Ceiling: w.ceiling(), Heartbeat: time.Hour, BranchPrefix: "autocode"},
	}
}

// ceiling is the default, with what the test put into the first snapshot's configuration.
func (w *world) ceiling() loop.Config { return w.store.newest().Config }

// configure changes the server's configuration.
func (w *world) configure(change func(*loop.Config)) {
	s := w.store.newest()
	change(&s.Config)
	w.store.snapshots = nil
	w.store.put(s)
}

// drive drives the run once and returns where it stands.
func (w *world) drive(t *testing.T) loop.Snapshot {
	t.Helper()
	e := w.engine()
	if err := e.Drive(context.Background(), "r1"); err != nil {
		t.Fatal(err)
	}
	return w.settled(t)
}

// settled checks what holds after every drive: clones are closed, the history follows the state machine.
func (w *world) settled(t *testing.T) loop.Snapshot {
	t.Helper()
	if w.git.open != 0 {
		t.Errorf("%d clones are left open", w.git.open)
	}
	s := w.store.newest()
	for _, d := range s.History {
		if !loop.CanFollow(d.From, d.Next) {
			t.Errorf("%s is forbidden", d)
		}
		if d.Rule == "no-rule" {
			t.Errorf("%s", d)
		}
	}
	return s
}

// wants fails unless the run stands in that phase and its last decision contains the text.
func wants(t *testing.T, s loop.Snapshot, phase loop.Phase, text string) {
	t.Helper()
	if s.Phase != phase || !strings.Contains(s.Decision.Reason, text) {
		t.Fatalf("the run is %s, want %s with %q:\n%s", s.Phase, phase, text, story(s))
	}
}

func story(s loop.Snapshot) string {
	var lines []string
	for _, d := range s.History {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

func rules(s loop.Snapshot) []string {
	var names []string
	for _, d := range s.History {
		names = append(names, d.Rule)
	}
	return names
}

func (w *world) signal(kind loop.SignalKind, text string) {
	_ = w.store.Signal(context.Background(), "r1", loop.Signal{Kind: kind, By: "mary", Text: text})
}

// once checks that there is one of each, and nothing is open.
func (w *world) once(t *testing.T) {
	t.Helper()
	if w.hub.pulls != 1 || w.hub.pull == nil || w.hub.pull.Draft {
		t.Errorf("%d pull requests, %+v", w.hub.pulls, w.hub.pull)
	}
	if len(w.git.branches) != 2 {
		t.Errorf("branches %v", slices.Sorted(maps.Keys(w.git.branches)))
	}
	for commit, state := range w.hub.checks {
		if state != "success" {
			t.Errorf("the check run of %.8s is %s", commit, state)
		}
	}
	if _, said := w.hub.notices["result"]; !said || len(w.hub.notices) != 1 {
		t.Errorf("notices %v", slices.Sorted(maps.Keys(w.hub.notices)))
	}
}

func (w *world) pushed(t *testing.T, pushes int) {
	t.Helper()
	if len(w.pushes) != pushes {
		t.Errorf("%d pushes, want %d", len(w.pushes), pushes)
	}
}
