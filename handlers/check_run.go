package handlers

import (
	"context"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// checkRun obeys the buttons and the Re-run of autocode's own check runs.
type checkRun struct{ *Handlers }

// Handles names the event.
func (checkRun) Handles() []string { return []string{"check_run"} }

// Handle gates on the action; whoever pressed needs write access like anybody else.
func (h checkRun) Handle(ctx context.Context, _, delivery string, payload []byte) error {
	event, ok := decode[github.CheckRunEvent](ctx, payload)
	if !ok {
		return nil
	}
	trigger, wanted := loop.TriggerRetry, false
	switch event.GetAction() {
	case "rerequested":
		trigger, wanted = loop.TriggerRerun, true
	case "requested_action":
		wanted = event.RequestedAction != nil
	}
	if !wanted || h.bot(event.GetSender()) || event.GetCheckRun().GetHeadSHA() == "" {
		return nil
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil || !known {
		return err
	}
	s, found, err := h.ofCommit(ctx, repo, event.GetCheckRun().GetHeadSHA())
	if err != nil {
		return err
	}
	if !found {
		return ignore(ctx, "no run has pushed %s", event.GetCheckRun().GetHeadSHA())
	}
	number, isPull := s.Task.Issue.Number, false
	if s.Pull != nil {
		number, isPull = s.Pull.Number, true
	}
	t := thread{repo: repo, number: number, isPull: isPull, event: delivery, by: event.GetSender(), at: h.Clock.Now()}
	if may, err := h.authorised(ctx, repo, event.GetSender()); err != nil {
		return err
	} else if !may {
		return h.refuse(ctx, repo, number, login(event.GetSender()))
	}
	if event.GetAction() == "rerequested" {
		return h.retry(ctx, t, s, followUp{trigger: trigger})
	}
	// Buttons are commands, with the caps of commands.
	switch verb := Verb(event.RequestedAction.Identifier); verb {
	case VerbApprove, VerbRetry:
		return h.command(ctx, t, Command{Verb: verb})
	case VerbStop, VerbStatus, VerbResume, VerbPlan, VerbBudget, VerbHelp: // no button has these names
	}
	return ignore(ctx, "no button of mine is called %q", event.RequestedAction.Identifier)
}

// mostLooked is how many runs of a repository, the newest, are looked through for one that an event is about.
const mostLooked = 1000

// ofCommit finds the newest run that pushed a commit.
func (h *Handlers) ofCommit(ctx context.Context, repo loop.Repo, commit string) (loop.Snapshot, bool, error) {
	runs, err := h.Store.Runs(ctx, loop.RunFilter{RepoID: repo.ID, Limit: mostLooked})
	if err != nil {
		return loop.Snapshot{}, false, err
	}
	for _, r := range runs {
		if r.Pull == nil || r.Pull.Head != commit {
			continue
		}
		s, err := h.Store.Snapshot(ctx, r.Run.ID)
		return s, err == nil, err
	}
	return loop.Snapshot{}, false, nil
}
