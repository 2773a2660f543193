package publish

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// TestProgressIsEditedInPlace: one comment from the beginning to the end, edited when something happened.
func TestProgressIsEditedInPlace(t *testing.T) {
	w := newWorld(t)
	for _, phase := range loop.Phases() {
		w.must(w.Progress(w.ctx, w.at(phase)))
		if texts := w.ownTexts(w.issue); len(texts) != 1 || !strings.Contains(texts[0], phaseText[phase]) {
			t.Errorf("%s: %q", phase, texts)
		}
	}
	before := len(w.Requests())
	w.must(w.Progress(w.ctx, w.at(loop.PhaseFailed)))
	if got := len(w.Requests()); got != before {
		t.Errorf("%d requests to say the same again", got-before)
	}
}

// TestProgressCommentDeleted: a person may delete it; the next event makes a new one.
func TestProgressCommentDeleted(t *testing.T) {
	w := newWorld(t)
	w.must(w.Progress(w.ctx, w.at(loop.PhaseQueued)))
	w.must(w.As("mary").DeleteComment(testRepo, w.Comments(testRepo, w.issue)[0].ID))
	w.must(w.Progress(w.ctx, w.at(loop.PhaseCoding)))
	w.must(w.Progress(w.ctx, w.at(loop.PhaseDone)))
	if texts := w.ownTexts(w.issue); len(texts) != 1 {
		t.Errorf("%q", texts)
	}
}

// TestNobodyToTell: the issue or the installation is gone; a run must come to its end all the same.
func TestNobodyToTell(t *testing.T) {
	for name, act := range map[string]func(w *world) error{
		"issue deleted":      func(w *world) error { return w.As("mary").DeleteIssue(testRepo, w.issue) },
		"uninstalled":        func(w *world) error { return w.As("mary").Uninstall("acme") },
		"suspended":          func(w *world) error { return w.As("mary").Suspend("acme") },
		"repository deleted": func(w *world) error { return w.As("mary").DeleteRepository(testRepo) },
		"archived":           func(w *world) error { return w.As("mary").Archive(testRepo) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(w.Progress(w.ctx, w.at(loop.PhaseQueued)))
			w.must(act(w))
			for range 2 {
				s := w.finished(false)
				s.Phase = loop.PhaseStopped
				w.must(w.Tell(w.ctx, s, loop.Notice{Kind: loop.NoticeHandOver, Key: "x", Markdown: "x"}))
				w.must(w.SettleChecks(w.ctx, s, "x"))
				w.must(w.Progress(w.ctx, s))
				w.restart(nil)
			}
		})
	}
}

// TestTellOnce: whatever breaks, a notice is there once.
func TestTellOnce(t *testing.T) {
	w := newWorld(t)
	notice := loop.Notice{Kind: loop.NoticeResult, Key: "result", Markdown: "ready"}
	w.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/issues/{number}/comments", Drop: githubtest.DropAfter})
	if err := w.Tell(w.ctx, w.s, notice); err == nil {
		t.Error("a lost answer is no success")
	}
	w.must(w.Tell(w.ctx, w.s, notice))
	w.restart(nil)
	w.must(w.Tell(w.ctx, w.s, notice))
	other := notice
	other.Key = "another"
	w.must(w.Tell(w.ctx, w.s, other))
	if texts := w.ownTexts(w.issue); len(texts) != 2 {
		t.Errorf("%q", texts)
	}
}

// TestTwoProcesses: on one store, they may say the same in the same moment.
func TestTwoProcesses(t *testing.T) {
	w := newWorld(t)
	shared := func(c *Config) { c.Shared = true }
	processes := []*Publisher{w.publisher(shared), w.publisher(shared), w.publisher(shared)}
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			if err := processes[i%len(processes)].Acknowledge(w.ctx, w.at(loop.PhaseQueued)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if texts := w.ownTexts(w.issue); len(texts) != 1 {
		t.Errorf("%d progress comments", len(texts))
	}
	// What one did the other finds.
	w.must(processes[0].Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "text"))
	w.must(processes[1].Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "text"))
	if texts := w.ownTexts(w.issue); len(texts) != 2 {
		t.Errorf("%d comments", len(texts))
	}
}

// TestForgedMarkers: a marker in somebody's comment, or quoted in autocode's own, is none.
func TestForgedMarkers(t *testing.T) {
	w := newWorld(t)
	_, err := w.As("eve").Comment(testRepo, w.issue, "x\n"+marker("progress", "t1")+"\n"+marker("reply", "k"))
	w.must(err)
	w.must(w.Reply(w.ctx, w.s.Task.Repo, w.issue, "first", "```\n"+marker("reply", "second")+"\n```\n`"+marker("progress", "t1")+"`"))
	w.restart(nil)
	for _, key := range []string{"first", "second", "k"} {
		w.must(w.Reply(w.ctx, w.s.Task.Repo, w.issue, key, "text"))
	}
	w.must(w.Progress(w.ctx, w.at(loop.PhaseQueued)))
	if texts := w.ownTexts(w.issue); len(texts) != 4 {
		t.Errorf("%d comments: %q", len(texts), texts)
	}
}

// TestAttack82Canaries: secrets come into everything that is posted, and out of nothing.
func TestAttack82Canaries(t *testing.T) {
	const canary = "canary-model-key-of-the-configuration"
	token := "ghs_" + strings.Repeat("A1b2C3d4", 5)
	w := newWorld(t)
	w.restart(func(c *Config) { c.Redactor = NewRedactor(canary) })
	leak := fmt.Sprintf("%s %s %s %s -----BEGIN PRIVATE KEY-----\nMIIsecretsecret\n-----END PRIVATE KEY-----", canary, token, "gh\u200bs_"+strings.Repeat("A1b2C3d4", 5),
		base64.StdEncoding.EncodeToString([]byte(canary)))
	s := w.finished(false)
	s.Task.Issue.Title, s.Ending, s.Decision.Reason, s.Ended = "It leaks "+canary+" "+token, loop.PhaseEscalated, leak, leak
	s.Spec.Goal, s.Spec.ZoneWhy = leak, leak
	s.Rounds[0].RootCause, s.Rounds[0].Refused = leak, leak
	v := *s.Verdict
	unit := v.Stages[loop.StageUnit]
	unit.Command, unit.Tests.Failures = "run "+canary, []loop.Failure{{ID: "T " + token, File: "a.go", Line: 1, Message: leak}}
	v.Stages[loop.StageUnit] = unit
	v.Guard = []loop.Finding{{Rule: "secret", Severity: loop.SeverityBlock, File: "a.go", Message: leak}}
	v.Acceptance[0].Note = leak
	s.Verdict = &v
	w.must(w.Progress(w.ctx, s))
	w.must(w.StartCheck(w.ctx, s, w.head))
	pull, err := w.OpenPull(w.ctx, s)
	w.must(err)
	s.Pull = &pull
	w.must(w.FinishChecks(w.ctx, s, v))
	_, err = w.UpdatePull(w.ctx, s, false)
	w.must(err)
	w.must(w.Tell(w.ctx, s, loop.Notice{Kind: loop.NoticeHandOver, Key: "x", Markdown: leak}))
	w.must(w.SettleChecks(w.ctx, s, leak))
	for _, r := range w.Requests() {
		for _, secret := range []string{canary, token, token[10:30], "MIIsecret", base64.StdEncoding.EncodeToString([]byte(canary))[:20]} {
			if strings.Contains(r.Body, secret) {
				t.Errorf("%s holds %q: %s", r.Route, secret, r.Body)
			}
		}
	}
}

// TestGoneThread: errors that stay are no reason to ask for ever, those that pass are told.
func TestGoneThread(t *testing.T) {
	w := newWorld(t)
	w.Fault(githubtest.Fault{Route: "GET /repos/{owner}/{repo}/issues/{number}/comments", Status: http.StatusGone})
	w.must(w.Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "text"))
	w.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/issues/{number}/comments", Status: http.StatusBadGateway, Times: -1})
	if err := w.Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "text"); err == nil {
		t.Error("502 is no success")
	}
}
