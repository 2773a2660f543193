package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// TestStopsBeforeNextEffect: what a person takes back while a run is at work ends it before it does
// anything more that others see, and the progress comment says why. Each case happens twice: heard as
// an event while the model is being asked, and with the event still on its way, so that only what is
// asked before the push can find out.
func TestStopsBeforeNextEffect(t *testing.T) {
	maintainer := func(w *stage) githubtest.Actor { return w.github.As(demoMaintainer) }
	for _, c := range []struct {
		name string
		do   func(w *stage, issue int) error
		says string
		// unheard says that no event tells of it; unseen that nobody can be told any more.
		unheard, unseen bool
	}{
		{name: "label removed", do: func(w *stage, n int) error { return maintainer(w).Unlabel(w.repo, n, loop.DefaultLabel) }, says: "the label was removed"},
		{name: "label deleted from the repository", do: func(w *stage, _ int) error { return maintainer(w).DeleteLabel(w.repo, loop.DefaultLabel) }, says: "the label was removed", unheard: true},
		{name: "issue closed", do: func(w *stage, n int) error { return maintainer(w).Close(w.repo, n) }, says: "the issue was closed"},
		{name: "issue deleted", do: func(w *stage, n int) error { return maintainer(w).DeleteIssue(w.repo, n) }, unseen: true},
		{name: "access revoked", do: func(w *stage, _ int) error { return w.github.RemoveRole(w.repo, demoMaintainer) }, says: "has no write access", unheard: true},
		{name: "repository archived", do: func(w *stage, _ int) error { return maintainer(w).Archive(w.repo) }, says: "archived", unseen: true},
		{name: "App uninstalled", do: func(w *stage, _ int) error { return maintainer(w).Uninstall(demoOwner) }, unseen: true},
	} {
		for _, held := range []bool{false, true} {
			if c.unheard && !held {
				continue
			}
			name := c.name + ", heard while the model is asked"
			if held {
				name = c.name + ", found out before the push"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newStage(t, modeltest.Script{})
				issue := w.file()
				release := func() {}
				if held {
					const last = 3 // spec and plan, first patch, second patch
					w.gate.at(last, func(*http.Request) {
						release = w.github.HoldWebhooks()
						if err := c.do(w, issue); err != nil {
							t.Error(err)
						}
					})
				} else {
					const first = 2
					w.gate.at(first, func(r *http.Request) {
						if err := c.do(w, issue); err != nil {
							t.Error(err)
						}
						<-r.Context().Done() // the event takes the question back
					})
				}
				w.must(func() error { return maintainer(w).Label(w.repo, issue, loop.DefaultLabel) })
				s := w.end(issue)
				release()
				if s.Phase != loop.PhaseStopped && s.Phase != loop.PhaseFailed {
					t.Errorf("the run is %s: %s", s.Phase, s.Ended)
				}
				if !strings.Contains(s.Ended, c.says) {
					t.Errorf("the run ended with %q, want %q in it", s.Ended, c.says)
				}
				if !c.unseen && !strings.Contains(w.progress(issue).Body, c.says) {
					t.Errorf("the progress comment does not say %q:\n%s", c.says, w.progress(issue).Body)
				}
				if got := w.github.Branches(w.repo); !slices.Equal(got, []string{"main"}) {
					t.Errorf("branches %v", got)
				}
				if pulls, runs := w.github.PullRequests(w.repo), w.github.CheckRuns(w.repo, ""); len(pulls)+len(runs) > 0 {
					t.Errorf("%d pull requests, %d check runs", len(pulls), len(runs))
				}
			})
		}
	}
}

// TestUnarchivedCatchesUp: what could not be written while a repository was read-only is written when
// it is so no more.
func TestUnarchivedCatchesUp(t *testing.T) {
	t.Parallel()
	w := newStage(t, modeltest.Script{})
	issue := w.file()
	w.must(func() error { return w.github.As(demoMaintainer).Archive(w.repo) })
	w.must(func() error { return w.github.As(demoMaintainer).Label(w.repo, issue, loop.DefaultLabel) })
	if s := w.end(issue); s.Phase != loop.PhaseFailed || !strings.Contains(s.Ended, "archived") {
		t.Errorf("the run is %s: %s", s.Phase, s.Ended)
	}
	if asked := w.script.Questions(); len(asked) > 0 {
		t.Errorf("the model was asked %d questions for nothing", len(asked))
	}
	w.must(func() error { return w.github.As(demoMaintainer).Unarchive(w.repo) })
	w.comment(issue, "archived")
	if body := w.progress(issue).Body; !strings.Contains(body, "has failed") {
		t.Errorf("the progress comment says:\n%s", body)
	}
}

// TestStopCommandShowsTheBestState: a command ends the run as well, but what the guard passed is not
// thrown away.
func TestStopCommandShowsTheBestState(t *testing.T) {
	t.Parallel()
	w := newStage(t, modeltest.Script{})
	issue := w.file()
	w.gate.at(3, func(r *http.Request) {
		if _, err := w.github.As(demoMaintainer).Comment(w.repo, issue, "/autocode stop"); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	})
	w.must(func() error { return w.github.As(demoMaintainer).Label(w.repo, issue, loop.DefaultLabel) })
	if s := w.end(issue); s.Phase != loop.PhaseStopped || !strings.Contains(s.Ended, demoMaintainer) {
		t.Errorf("the run is %s: %s", s.Phase, s.Ended)
	}
	pulls := w.github.PullRequests(w.repo)
	if len(pulls) != 1 || !pulls[0].Draft || !strings.Contains(pulls[0].Body, "test_shift_over_midnight") {
		t.Fatalf("pull requests %+v", pulls)
	}
	settled(t, w, pulls[0].HeadSHA, "cancelled")
	w.comment(issue, "is a draft")
}

// meeting is a verifier that lets something happen when it is to judge a candidate, and then waits to
// be interrupted by it.
type meeting struct {
	loop.Verifier
	happen func()
}

func (v meeting) Verify(ctx context.Context, r loop.VerifyRequest) (loop.Outcome, error) {
	if r.Base == nil {
		return v.Verifier.Verify(ctx, r)
	}
	v.happen()
	<-ctx.Done()
	return loop.Outcome{}, context.Cause(ctx)
}

// endingClock is the machine's clock until end is called: then all time that anybody waits for is over.
type endingClock struct {
	over  chan struct{}
	ended atomic.Bool
}

func (c *endingClock) end() {
	c.ended.Store(true)
	close(c.over)
}

func (c *endingClock) Now() time.Time {
	if c.ended.Load() {
		return time.Now().Add(24 * time.Hour)
	}
	return time.Now()
}

func (c *endingClock) After(time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	go func() {
		<-c.over
		fired <- c.Now()
	}()
	return fired
}

// TestUnverifiedWorkSurvives: a run that ends while its first candidate is being verified leaves that
// candidate as a draft which says that no check has seen it.
func TestUnverifiedWorkSurvives(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase loop.Phase
		says  string
		end   func(w *stage, clock *endingClock)
	}{
		{"stopped", loop.PhaseStopped, demoMaintainer, func(w *stage, _ *endingClock) { w.say(1, "/autocode stop") }},
		{"time is up", loop.PhaseEscalated, "wall-time", func(_ *stage, clock *endingClock) { clock.end() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newStage(t, modeltest.Script{}, func(_ *githubtest.RepositoryOptions, w *stage) {
				w.tune = func(s *server) {
					clock, real := &endingClock{over: make(chan struct{})}, s.parts.engine.Verifier
					var once sync.Once
					s.parts.engine.Clock = clock
					s.parts.engine.Verifier = meeting{real, func() {
						once.Do(func() { c.end(w, clock) })
					}}
				}
			})
			s := w.end(w.label())
			if s.Phase != c.phase || !strings.Contains(s.Ended, c.says) || s.Verdict != nil {
				t.Errorf("the run is %s with the verdict %v: %s", s.Phase, s.Verdict, s.Ended)
			}
			pulls := w.github.PullRequests(w.repo)
			if len(pulls) != 1 || !pulls[0].Draft || pulls[0].HeadSHA != s.Pushed || !strings.Contains(pulls[0].Body, "this state was not verified") {
				t.Fatalf("pull requests %+v", pulls)
			}
			w.comment(1, loop.UnverifiedText)
			for _, run := range w.github.CheckRuns(w.repo, pulls[0].HeadSHA) {
				if run.Status != "completed" || run.Conclusion == "success" || run.Conclusion == "neutral" {
					t.Errorf("the check run %s is %s, %s", run.Name, run.Status, run.Conclusion)
				}
			}
		})
	}
}

// settled checks that the check run for the whole has this conclusion and that none is left open.
func settled(t *testing.T, w *stage, commit, conclusion string) {
	t.Helper()
	there := false
	for _, run := range w.github.CheckRuns(w.repo, commit) {
		if run.Status != "completed" {
			t.Errorf("the check run %s is %s", run.Name, run.Status)
		}
		if run.Name == "autocode" {
			there = true
			if run.Conclusion != conclusion {
				t.Errorf("the check run %s ended as %s, want %s", run.Name, run.Conclusion, conclusion)
			}
		}
	}
	if !there {
		t.Errorf("no check run autocode on %s", commit)
	}
}

// TestPullRequestConversation: commands on a pull request whose run was handed over, among them a
// retry with guidance that goes on from its head.
func TestPullRequestConversation(t *testing.T) {
	t.Parallel()
	const guidance = "the report is right to refuse it: look at the length itself"
	w := newStage(t, sampleScript(t), withFiles(t, map[string][]byte{".github/autocode.yml": oneRound}))
	issue := w.label()
	if s := w.end(issue); s.Phase != loop.PhaseEscalated {
		t.Fatalf("the run is %s: %s", s.Phase, s.Ended)
	}
	pulls := w.github.PullRequests(w.repo)
	if len(pulls) != 1 || !pulls[0].Draft {
		t.Fatalf("pull requests %+v", pulls)
	}
	red := pulls[0]
	settled(t, w, red.HeadSHA, "failure")

	w.say(red.Number, "/autocode status")
	w.comment(red.Number, "has handed over")
	w.say(red.Number, "/autocode stop")
	w.comment(red.Number, "has ended already")
	if _, err := w.github.As(demoReporter).Comment(w.repo, red.Number, "/autocode retry"); err != nil {
		t.Fatal(err)
	}
	w.comment(red.Number, "only people with write access")

	// The first retry is stopped while it asks the model: the pull request stays as it is.
	before := int(w.gate.asked.Load())
	w.gate.at(before+1, func(r *http.Request) {
		if _, err := w.github.As(demoMaintainer).Comment(w.repo, red.Number, "/autocode stop"); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	})
	w.say(red.Number, "/autocode retry once more")
	w.must(func() error {
		return w.github.Wait(w.ctx, func() bool { return strings.Contains(w.progress(issue).Body, "has stopped") })
	})
	if now := w.github.PullRequests(w.repo); len(now) != 1 || now[0].HeadSHA != red.HeadSHA || !now[0].Draft {
		t.Fatalf("after the stopped retry: %+v", now)
	}
	settled(t, w, red.HeadSHA, "failure")

	w.say(red.Number, "/autocode retry "+guidance)
	w.comment(red.Number, "is ready for review")
	now := w.github.PullRequests(w.repo)
	if len(now) != 1 || now[0].Number != red.Number || now[0].HeadBranch != red.HeadBranch || now[0].Draft || now[0].HeadSHA == red.HeadSHA {
		t.Fatalf("after the retry: %+v", now)
	}
	settled(t, w, now[0].HeadSHA, "success")
	if got := w.github.Branches(w.repo); len(got) != 2 {
		t.Errorf("branches %v", got)
	}
	last := w.script.Questions()[len(w.script.Questions())-1]
	prompt := ""
	for _, m := range last.Messages {
		prompt += m.Text
	}
	for _, part := range []string{guidance, "test_shift_over_midnight", "{'emil': Decimal('-296.00')}", "entry.minutes == 0"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the prompt of the retry lacks %q", part)
		}
	}
	w.comment(issue, "is done, round 1 of 1 (run 3)")
	w.progress(issue)
}
