package publish

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// mostCalls is the target for a one-round run beside git itself.
const mostCalls = 25

// ask is what the handler of a label asks before a run is started.
func (w *world) ask() {
	w.t.Helper()
	_, err := w.Repository(w.ctx, w.s.Task.Repo.Installation, w.s.Task.Repo.ID, "acme", "widgets")
	w.must(err)
	_, err = w.CanWrite(w.ctx, w.s.Task.Repo, "mary")
	w.must(err)
	label, err := w.LabelEvent(w.ctx, w.s.Task.Repo, w.issue, loop.DefaultLabel)
	w.must(err)
	_, err = w.BodyBefore(w.ctx, w.s.Task.Repo, w.issue, label.At)
	w.must(err)
	_, err = w.CanWrite(w.ctx, w.s.Task.Repo, "olga")
	w.must(err)
}

// play makes the calls of a whole run in the engine's order.
func (w *world) play() loop.Snapshot {
	w.t.Helper()
	standing := func() {
		w.t.Helper()
		got, err := w.Standing(w.ctx, w.s.Task, w.s.Run)
		w.must(err)
		if !got.Wanted || !got.Authorised || got.Archived {
			w.t.Errorf("standing %+v", got)
		}
	}
	w.must(w.Acknowledge(w.ctx, w.at(loop.PhaseQueued)))
	w.must(w.Progress(w.ctx, w.at(loop.PhasePreparing)))
	w.must(w.Acknowledge(w.ctx, w.at(loop.PhasePreparing)))
	standing()
	for _, phase := range []loop.Phase{loop.PhaseSpecifying, loop.PhasePlanning, loop.PhaseCoding} {
		w.must(w.Progress(w.ctx, w.at(phase)))
	}
	coded := w.at(loop.PhaseVerifying)
	coded.Rounds = []loop.Round{{Number: 1, Commit: w.head}}
	w.must(w.Progress(w.ctx, coded))
	for _, phase := range []loop.Phase{loop.PhaseReviewing, loop.PhasePublishing} {
		s := w.finished(true)
		s.Phase = phase
		w.must(w.Progress(w.ctx, s))
	}
	standing()
	s := w.finished(true)
	w.must(w.StartCheck(w.ctx, s, s.Final))
	pull, err := w.OpenPull(w.ctx, s)
	w.must(err)
	s.Pull = &pull
	w.must(w.FinishChecks(w.ctx, s, *s.Verdict))
	pull, err = w.UpdatePull(w.ctx, s, true)
	w.must(err)
	s.Pull, s.Phase, s.Ended = &pull, loop.PhaseDone, "All is green."
	w.must(w.Tell(w.ctx, s, loop.Notice{Kind: loop.NoticeResult, Key: "result", Markdown: "### It is ready"}))
	w.must(w.Progress(w.ctx, s))
	return s
}

// whole checks what a run leaves: one of each.
func (w *world) whole() {
	w.t.Helper()
	if texts := w.ownTexts(w.issue); len(texts) != 2 {
		w.t.Errorf("%d comments:\n%s", len(texts), strings.Join(texts, "\n---\n"))
	}
	pulls := w.PullRequests(testRepo)
	if len(pulls) != 1 || pulls[0].Draft {
		w.t.Errorf("pull requests %+v", pulls)
	}
	if runs := w.CheckRuns(testRepo, w.head); len(runs) != 4 {
		w.t.Errorf("%d check runs", len(runs))
	}
	for name, conclusion := range map[string]string{"autocode": "success", "autocode / unit": "success", "autocode / compile": "success", "autocode / environment": "success"} {
		if k := w.check(name); k.Status != "completed" || k.Conclusion != conclusion {
			w.t.Errorf("%s is %s, %s", name, k.Status, k.Conclusion)
		}
	}
	if got := w.Unimplemented(); len(got) != 0 {
		w.t.Errorf("unimplemented %v", got)
	}
}

// TestWholeRun: everything is there once, each request is as GitHub describes it, and they are few.
func TestWholeRun(t *testing.T) {
	w := newWorldOver(t, conforming(t))
	w.ask()
	w.play()
	w.whole()
	// The world's own look-ups have minted the token that a run would begin with.
	total, list := w.calls()
	if total+1 > mostCalls {
		t.Errorf("%d calls, want at most %d:\n%s", total+1, mostCalls, list)
	}
}

// TestWholeRunTwice: a second worker that begins again finds everything and makes nothing.
func TestWholeRunTwice(t *testing.T) {
	w := newWorld(t)
	w.play()
	w.restart(nil)
	w.play()
	w.whole()
}

// TestDroppedConnections: any effect is had and its answer lost; the phase is done again, by the same
// process or by another, and nothing is there twice.
func TestDroppedConnections(t *testing.T) {
	routes := []string{
		"POST /repos/{owner}/{repo}/issues/{number}/reactions", "POST /repos/{owner}/{repo}/issues/{number}/comments",
		"PATCH /repos/{owner}/{repo}/issues/comments/{id}", "POST /repos/{owner}/{repo}/check-runs", "PATCH /repos/{owner}/{repo}/check-runs/{id}",
		"POST /repos/{owner}/{repo}/pulls", "GRAPHQL markPullRequestReadyForReview",
	}
	for _, route := range routes {
		for skip, restart := range []bool{false, true} {
			w := newWorld(t)
			w.Fault(githubtest.Fault{Route: route, Drop: githubtest.DropAfter, Skip: skip})
			w.until(restart)
			w.whole()
		}
	}
}

// TestTroubledGitHub: every fifth request fails before anything is done.
func TestTroubledGitHub(t *testing.T) {
	for _, fault := range []githubtest.Fault{{Status: http.StatusBadGateway}, {Drop: githubtest.DropBefore}, {Drop: githubtest.DropAfter}} {
		w := newWorld(t)
		n := 0
		fault.Route, fault.Times = "*", -1
		fault.Match = func(*http.Request) bool { n++; return n%5 == 0 }
		w.Fault(fault)
		w.until(true)
		w.whole()
	}
}

// until plays a run, each step again until it succeeds, as the engine and the queue do.
func (w *world) until(restart bool) {
	w.t.Helper()
	const tries = 20
	var s loop.Snapshot
	step := func(do func() error) {
		w.t.Helper()
		for try := 1; ; try++ {
			err := do()
			if err == nil {
				return
			}
			if try == tries {
				w.t.Fatal(err)
			}
			if restart {
				w.restart(nil)
			}
		}
	}
	step(func() error { return w.Acknowledge(w.ctx, w.at(loop.PhaseQueued)) })
	step(func() error { return w.Acknowledge(w.ctx, w.at(loop.PhasePreparing)) })
	step(func() error { return w.Progress(w.ctx, w.at(loop.PhaseCoding)) })
	step(func() error {
		s = w.finished(true)
		if err := w.StartCheck(w.ctx, s, s.Final); err != nil {
			return err
		}
		pull, err := w.OpenPull(w.ctx, s)
		if err != nil {
			return err
		}
		s.Pull = &pull
		if err := w.FinishChecks(w.ctx, s, *s.Verdict); err != nil {
			return err
		}
		pull, err = w.UpdatePull(w.ctx, s, true)
		s.Pull = &pull
		return err
	})
	s.Phase = loop.PhaseDone
	step(func() error {
		return w.Tell(w.ctx, s, loop.Notice{Kind: loop.NoticeResult, Key: "result", Markdown: "ready"})
	})
	step(func() error { return w.Progress(w.ctx, s) })
}
