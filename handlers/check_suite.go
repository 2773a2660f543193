package handlers

import (
	"context"
	"fmt"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// checkSuite makes failing suites of other apps on autocode's own commits the next run's feedback, and
// obeys "Re-run all checks".
type checkSuite struct{ *Handlers }

// mostRepairs is how many runs other CI's failures may start on one head commit: the second time the same
// commit is red elsewhere, a person has to look.
const mostRepairs = 1

// Handles names the event.
func (checkSuite) Handles() []string { return []string{"check_suite"} }

// Handle gates on the action and the conclusion.
func (h checkSuite) Handle(ctx context.Context, _, delivery string, payload []byte) error {
	event, ok := decode[github.CheckSuiteEvent](ctx, payload)
	if !ok || event.GetCheckSuite().GetHeadSHA() == "" {
		return nil
	}
	suite := event.GetCheckSuite()
	switch event.GetAction() {
	case "rerequested":
		if h.bot(event.GetSender()) {
			return nil
		}
	case "completed":
		if c := suite.GetConclusion(); c != "failure" && c != "timed_out" || suite.GetApp().GetSlug() == h.AppSlug {
			return nil
		}
	default:
		return nil
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil || !known {
		return err
	}
	s, found, err := h.ofCommit(ctx, repo, suite.GetHeadSHA())
	if err != nil || !found || s.Pull == nil {
		return err // somebody else's commit
	}
	t := thread{repo: repo, number: s.Pull.Number, isPull: true, event: delivery, by: event.GetSender(), at: h.Clock.Now()}
	if event.GetAction() == "rerequested" {
		if may, err := h.authorised(ctx, repo, event.GetSender()); err != nil {
			return err
		} else if !may {
			return h.refuse(ctx, repo, t.number, login(event.GetSender()))
		}
		return h.retry(ctx, t, s, followUp{trigger: loop.TriggerRerun})
	}
	return h.repair(ctx, t, s, suite.GetHeadSHA(), func() (string, error) { return h.Forge.SuiteFailures(ctx, repo, suite.GetID()) })
}

// repair starts a run on what other CI found on a commit, on the authority of the person who asked for
// the last one. read tells what is red now, "" where nothing is.
func (h *Handlers) repair(ctx context.Context, t thread, s loop.Snapshot, commit string, read func() (string, error)) error {
	if busy(s.Phase) {
		return waitFor(s)
	}
	if s.Phase != loop.PhaseDone {
		return ignore(ctx, "the run is %s: its pull request is no finished work", s.Phase)
	}
	runs, err := h.Store.Runs(ctx, loop.RunFilter{Task: s.Task.ID})
	if err != nil {
		return fmt.Errorf("look for runs: %w", err)
	}
	before := 0
	for _, r := range runs {
		if r.Run.Trigger == loop.TriggerCI && r.Run.From == commit {
			before++
		}
	}
	if before >= mostRepairs {
		return ignore(ctx, "red CI has started a run on %s already", commit)
	}
	if may, err := h.mayGoOn(ctx, t.repo, s.Run); err != nil {
		return err
	} else if !may {
		return ignore(ctx, "%s, who asked for it, has no write access any more", s.Run.RequestedBy)
	}
	red, err := read()
	if err != nil {
		return fmt.Errorf("read what is red: %w", err)
	}
	if red == "" {
		return ignore(ctx, "nothing is red any more")
	}
	t.by = &github.User{Login: &s.Run.RequestedBy, ID: &s.Run.RequesterID}
	return h.retry(ctx, t, s, followUp{trigger: loop.TriggerCI, guidance: red})
}
