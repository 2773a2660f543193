package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-7a986423/autocode/loop"
)

// storm is a world in which everything is chance: what models reply, what the machine finds, what
// people say meanwhile, how long it takes, and which effect fails.
type storm struct {
	*world
	t      *testing.T
	chance *rand.Rand
	// worked is the time that passed within phases; raised is what budget commands added.
	worked time.Duration
	raised loop.Limits
	judged map[string]bool // by commit: did the guard let it out
	limits loop.Limits
	config loop.Config
	// What models were paid for so far.
	tokens, calls int
	usd           float64
}

// allowed are the limits as raised so far.
func (s *storm) allowed() loop.Limits { return s.limits.Raise(s.raised) }

// pass lets time pass within a phase.
func (s *storm) pass(most time.Duration) {
	d := time.Duration(s.chance.Int64N(int64(most)))
	s.worked += d
	s.clock.advance(d)
}

// begins fails the test where a step begins although a limit is used up.
func (s *storm) begins(what string) {
	s.t.Helper()
	l := s.allowed()
	wall := l.Wall
	if what == aVerification {
		wall += wall / 4 // a candidate is verified although its coder took long
	}
	if s.worked >= wall {
		s.t.Errorf("%s begins after %s of %s", what, s.worked, l.Wall)
	}
	if what != "a model call" {
		return
	}
	if s.calls >= l.ModelCalls || s.tokens >= l.Tokens || s.usd >= l.USD {
		s.t.Errorf("%s begins after %d of %d calls, %d of %d tokens, $%.3f of $%.3f", what, s.calls, l.ModelCalls, s.tokens, l.Tokens, s.usd, l.USD)
	}
}

// speak is somebody who says something while a phase is at work.
func (s *storm) speak() {
	if s.chance.IntN(12) > 0 {
		return
	}
	kinds := []loop.SignalKind{loop.SignalStop, loop.SignalCancel, loop.SignalResume, loop.SignalApprove, loop.SignalAnswer, loop.SignalBudget}
	s.say(kinds[s.chance.IntN(len(kinds))])
}

func (s *storm) say(kind loop.SignalKind) {
	signal := loop.Signal{Kind: kind, By: "mary", Text: "said " + string(kind)}
	if kind == loop.SignalBudget {
		signal.More = loop.Limits{Rounds: s.chance.IntN(3), Wall: time.Duration(s.chance.IntN(3)) * time.Minute, ModelCalls: s.chance.IntN(5), Tokens: s.chance.IntN(500), USD: s.chance.Float64() / 10}
		s.raised = s.raised.Raise(signal.More)
	}
	if err := s.store.Signal(context.Background(), "r1", signal); err != nil {
		s.t.Fatal(err)
	}
}

func newStorm(t *testing.T, seed uint64) *storm {
	t.Helper()
	s := &storm{world: newWorld(t), t: t, chance: rand.New(rand.NewPCG(seed, 1)), judged: map[string]bool{}}
	r := s.chance
	s.configure(func(c *loop.Config) {
		c.Limits.Rounds, c.Limits.ModelCalls, c.Limits.Tokens = r.IntN(7), r.IntN(25), r.IntN(4000)
		c.Limits.USD, c.Limits.Wall = r.Float64()/2, time.Duration(r.IntN(60))*time.Minute
		c.Limits.Lines = 1 + r.IntN(3)
		c.Critic = r.IntN(2) == 0
		c.Autonomy = []loop.Autonomy{loop.AutonomyPlan, loop.AutonomyApprovePlan, loop.AutonomyPullRequest, loop.AutonomyPullRequest}[r.IntN(4)]
		c.Publish = []loop.PublishWhen{loop.PublishFinal, loop.PublishRounds}[r.IntN(2)]
		c.Candidates = r.IntN(4)
		s.limits, s.config = c.Limits, *c
	})
	s.model = s.complete
	s.onPush = func(commit string) {
		if let, asked := s.judged[commit]; !let {
			s.t.Errorf("%.8s was pushed although the guard refused it, asked: %v", commit, asked)
		}
	}
	s.specs = []func() (loop.Spec, *loop.Plan, error){s.specify}
	s.codes = []func(loop.CodeRequest) (loop.CodeResult, error){s.code}
	s.verdicts = []func() (loop.Verdict, error){s.verdict}
	s.proofs = []func() (loop.Verdict, error){s.verdict}
	s.reviews = []func() (loop.Review, error){s.review}
	return s
}

func (s *storm) complete() (loop.ModelReply, error) {
	s.begins("a model call")
	s.speak()
	s.pass(3 * time.Minute)
	var reply loop.ModelReply
	for range 1 + s.chance.IntN(3) { // repairs and continuations are part of the call
		u := loop.Usage{PromptTokens: s.chance.IntN(200), CompletionTokens: s.chance.IntN(100), USD: s.chance.Float64() / 50}
		s.calls, s.tokens, s.usd = s.calls+1, s.tokens+u.PromptTokens+u.CompletionTokens, s.usd+u.USD
		reply.Usage = append(reply.Usage, u)
	}
	faults := []loop.ModelFault{loop.ModelUnreachable, loop.ModelMalformed, loop.ModelRefused, loop.ModelOverflow, loop.ModelBroken}
	if s.chance.IntN(15) == 0 {
		return reply, &loop.ModelError{Fault: faults[s.chance.IntN(len(faults))], Model: "m", Err: errors.New("because")}
	}
	return reply, nil
}

func (s *storm) specify() (loop.Spec, *loop.Plan, error) {
	spec := goodSpec()
	switch s.chance.IntN(10) {
	case 0:
		spec.Questions = []loop.Question{{Text: "Metres or feet?"}}
	case 1:
		spec.NothingToDo = "it is so"
	case 2:
		spec.Goal = ""
	case 3:
		spec.Zone = loop.ZoneRed
	case 4:
		spec.Kind = loop.KindRefactor
	}
	return spec, nil, nil
}

func (s *storm) code(r loop.CodeRequest) (loop.CodeResult, error) {
	s.speak()
	if s.chance.IntN(60) == 0 {
		panic("a fault of autocode")
	}
	for s.chance.IntN(3) == 0 { // more calls in the same turn
		if err := r.Before(context.Background()); err != nil {
			return loop.CodeResult{}, err
		}
		if _, err := r.Model.Complete(context.Background(), loop.ModelRequest{Role: loop.RoleCoder}); err != nil {
			return loop.CodeResult{}, err
		}
	}
	ends := []loop.CodeEnd{
		loop.CodeEdited, loop.CodeEdited, loop.CodeEdited, loop.CodeEdited, loop.CodeEdited, loop.CodeEdited,
		loop.CodeNothing, loop.CodeAsk, loop.CodeApproval, loop.CodeGiveUp, loop.CodeStalled,
	}
	end := ends[s.chance.IntN(len(ends))]
	if end != loop.CodeEdited {
		return codeEnd(end, fmt.Sprintf("word %d", s.chance.IntN(3)))(r)
	}
	clone := r.Clone.(*fakeClone)
	files := []string{"a.go", "b.go", "c.go", "d.go"}[:1+s.chance.IntN(4)]
	for _, f := range files {
		clone.work[f] = fmt.Sprintf("round %d chance %d", r.Round, s.chance.IntN(4))
	}
	return loop.CodeResult{End: end, Files: files[:1+s.chance.IntN(len(files))], RootCause: "The cause."}, nil
}

func (s *storm) verdict() (loop.Verdict, error) {
	s.speak()
	s.pass(4 * time.Minute)
	switch s.chance.IntN(12) {
	case 0, 1, 2:
		return green(), nil
	case 3:
		return unproved(), nil
	case 4:
		return brokenEnvironment(), nil
	case 5:
		return red("!TestOld"), nil
	case 6:
		return stageRed(loop.StageCompile), nil
	case 7:
		return classRed([]loop.Class{"timeout", "oom", "flaky", "infrastructure"}[s.chance.IntN(4)]), nil
	case 8:
		return loop.Verdict{}, nil // nothing ran
	default:
		names := []string{"A", "B", "C", "D"}
		return red(names[:1+s.chance.IntN(4)]...), nil
	}
}

func (s *storm) review() (loop.Review, error) {
	s.speak()
	return loop.Review{Findings: []loop.ReviewFinding{{Blocking: s.chance.IntN(2) == 0, File: "a.go", Line: 1, Message: "racy"}}}, nil
}

// stormGuard refuses what is too large, and by chance.
type stormGuard struct{ *storm }

func (g stormGuard) Check(_ context.Context, r loop.GuardRequest) ([]loop.Finding, error) {
	var findings []loop.Finding
	if added, removed := r.Diff.Count(); added+removed > r.Limits.Lines {
		findings = append(findings, loop.Finding{Rule: "lines", Severity: loop.SeverityBlock, Message: "too many lines"})
	}
	switch g.chance.IntN(12) {
	case 0:
		findings = append(findings, loop.Finding{Rule: "secret", Severity: loop.SeverityBlock, File: "a.go", Message: "a key"})
	case 1:
		findings = append(findings, loop.Finding{Rule: "migration", Severity: loop.SeverityApprove, File: "a.go", Message: "a migration"})
	}
	g.judged[r.HeadTree.Commit()] = true
	for _, f := range findings {
		if f.Severity == loop.SeverityBlock {
			g.judged[r.HeadTree.Commit()] = false
		}
	}
	return findings, nil
}

const aVerification = "a verification"

// stormVerifier watches that no verification of a candidate begins once the time for it is used up.
type stormVerifier struct {
	fakeVerifier
	storm *storm
}

func (v stormVerifier) Verify(ctx context.Context, r loop.VerifyRequest) (loop.Outcome, error) {
	if r.Base != nil {
		v.storm.begins(aVerification)
	}
	return v.fakeVerifier.Verify(ctx, r)
}

// drive drives once; what fails outside the run is met again by the next drive.
func (s *storm) drive() {
	e := s.engine()
	e.Guard, e.Verifier = stormGuard{s}, stormVerifier{fakeVerifier{s.world}, s}
	e.Settings.Ceiling = s.config
	s.failAt, s.late = 0, s.chance.IntN(2) == 0
	if s.chance.IntN(3) == 0 {
		s.failAt = s.effects + 1 + s.chance.IntN(20)
	}
	if err := e.Drive(context.Background(), "r1"); err != nil && !errors.Is(err, errInjected) {
		s.t.Fatalf("drive: %v", err)
	}
}

// TestEveryRunEnds: whatever models, machines and people say, in any order, a run comes to its end,
// passes no limit by more than the call in flight, leaves the state machine at no point, and lets
// nothing out that the guard refused.
func TestEveryRunEnds(t *testing.T) {
	const (
		runs        = 200
		patience    = 200 // drives; each waits, ends, or met an injected failure
		peopleSpeak = 12  // how often somebody goes on with a run that rests
	)
	ends, schema := map[loop.Phase]int{}, compile(t, "snapshot")
	for seed := range uint64(runs) {
		s := newStorm(t, seed)
		spoken := 0
		for drives := 0; ; drives++ {
			if drives > patience {
				t.Fatalf("seed %d: it does not end:\n%s", seed, story(s.store.newest()))
			}
			s.drive()
			now := s.store.newest()
			s.check(seed, now, schema)
			rests := now.Phase.Waits() || now.Phase.Ended()
			if !rests {
				continue
			}
			if now.Phase.Ended() {
				ends[now.Phase]++
			}
			if spoken++; spoken > peopleSpeak {
				if now.Phase.Ended() {
					break
				}
				s.say(loop.SignalStop)
				continue
			}
			if now.Phase == loop.PhaseDone {
				break
			}
			replies := []loop.SignalKind{loop.SignalAnswer, loop.SignalApprove, loop.SignalResume, loop.SignalBudget, loop.SignalStop}
			s.say(replies[s.chance.IntN(len(replies))])
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, story(s.store.newest()))
		}
	}
	for _, p := range []loop.Phase{loop.PhaseDone, loop.PhaseEscalated, loop.PhaseStopped, loop.PhaseFailed} {
		if ends[p] == 0 {
			t.Errorf("no run of %d ended as %s: the storm is not wild enough", runs, p)
		}
	}
	t.Logf("ends: %v", ends)
}

// check holds a stored state to what must be true at any time.
func (s *storm) check(seed uint64, now loop.Snapshot, schema *jsonschema.Schema) {
	s.t.Helper()
	s.settled(s.t)
	if most := s.allowed().Rounds; len(now.Rounds) > most {
		s.t.Errorf("seed %d: %d rounds of %d", seed, len(now.Rounds), most)
	}
	if now.Best >= len(now.Rounds) {
		s.t.Errorf("seed %d: the best round is %d of %d", seed, now.Best, len(now.Rounds))
	}
	if !now.Phase.Ended() {
		return
	}
	if err := schema.Validate(instance(s.t, now)); err != nil {
		s.t.Errorf("seed %d: the snapshot is not valid: %v", seed, err)
	}
}
