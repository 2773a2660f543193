package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// issues turns the label on an issue into a task, and its removal into a stop.
type issues struct{ *Handlers }

// Handles names the event.
func (issues) Handles() []string { return []string{"issues"} }

// Handle gates on the action.
func (h issues) Handle(ctx context.Context, _, _ string, payload []byte) error {
	event, ok := decode[github.IssuesEvent](ctx, payload)
	if !ok || event.GetIssue().GetNumber() <= 0 {
		return nil
	}
	if concerns, err := h.concerns(ctx, event); err != nil || !concerns {
		return err
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil {
		return err
	}
	if !known {
		return ignore(ctx, "the repository is not one of this installation")
	}
	issue := event.GetIssue()
	if issue.IsPullRequest() {
		return ignore(ctx, "labels on pull requests start nothing")
	}
	switch event.GetAction() {
	case "labeled":
		return h.labeled(ctx, repo, event)
	case "unlabeled":
		return h.cancel(ctx, repo, issue.GetNumber(), "the label was removed", h.startedBy(event.GetLabel()))
	case "closed":
		return h.cancel(ctx, repo, issue.GetNumber(), "the issue was closed", anyRun)
	case "deleted", "transferred":
		return h.cancel(ctx, repo, issue.GetNumber(), "the issue is gone from this repository", anyRun)
	default:
		return nil
	}
}

// concerns says whether an event can lead to anything, before GitHub is asked about it: most cannot. Which label asks
// for work is the repository's to say, so of a label that is put on only bots are told at once.
func (h issues) concerns(ctx context.Context, event *github.IssuesEvent) (bool, error) {
	switch event.GetAction() {
	case "labeled":
		return event.GetLabel().GetName() != "" && !h.bot(event.GetSender()), nil
	case "unlabeled":
		runs, err := h.openRuns(ctx, event.GetRepo().GetID(), event.GetIssue().GetNumber())
		return slices.ContainsFunc(runs, h.startedBy(event.GetLabel())), err
	case "closed", "deleted", "transferred":
		return true, nil
	default:
		return false, nil
	}
}

// startedBy finds runs that stand on a label; GitHub's labels ignore case.
func (h issues) startedBy(label *github.Label) func(loop.RunInfo) bool {
	return func(r loop.RunInfo) bool {
		return strings.EqualFold(label.GetName(), cmp.Or(r.Task.Label, h.Labels.Trigger))
	}
}

// anyRun finds every run.
func anyRun(loop.RunInfo) bool { return true }

// trigger is the label that asks for work in a repository: its own configuration's, else the server's.
func (h *Handlers) trigger(ctx context.Context, repo loop.Repo) (string, error) {
	config, err := h.Forge.RepoConfig(ctx, repo)
	if err != nil {
		return "", fmt.Errorf("read which label starts a run: %w", err)
	}
	return cmp.Or(config.Labels.Trigger, h.Labels.Trigger), nil
}

// labeled starts a task.
func (h issues) labeled(ctx context.Context, repo loop.Repo, event *github.IssuesEvent) error {
	issue, sender := event.GetIssue(), event.GetSender()
	if h.bot(sender) {
		return ignore(ctx, "bots start nothing")
	}
	if issue.GetState() == "closed" {
		return ignore(ctx, "the issue is closed")
	}
	trigger, err := h.trigger(ctx, repo)
	if err != nil {
		return err
	}
	if !strings.EqualFold(event.GetLabel().GetName(), trigger) {
		return nil // some other label
	}
	number := issue.GetNumber()
	if may, err := h.authorised(ctx, repo, sender); err != nil {
		return err
	} else if !may {
		return h.refuse(ctx, repo, number, login(sender))
	}
	label, err := h.Forge.LabelEvent(ctx, repo, number, trigger)
	switch {
	case errors.Is(err, loop.ErrNotFound) && h.Clock.Now().Sub(issue.GetUpdatedAt().Time) < historyLag:
		return fmt.Errorf("the label is not in the issue's history yet: %w", err) // asked again by the queue
	case errors.Is(err, loop.ErrNoAccess):
		return h.Forge.Reply(ctx, repo, number, "unconfirmed",
			"I cannot see who put the label on: GitHub does not show me this issue's history. Please check the App's permissions, then put the label on again.")
	case errors.Is(err, loop.ErrNotFound) || err == nil && !strings.EqualFold(label.Actor, sender.GetLogin()):
		return ignore(ctx, "GitHub does not confirm that %s put the label on", login(sender))
	case err != nil:
		return fmt.Errorf("look the label event up: %w", err)
	}
	title, body, err := h.textAt(ctx, repo, issue, label)
	if errors.Is(err, loop.ErrNotFound) {
		return h.Forge.Reply(ctx, repo, number, fmt.Sprintf("edited-%d", label.At.Unix()),
			"This issue was edited while the label was put on, and I cannot tell which text was meant. Please take the label off and put it on again.")
	}
	if err != nil {
		return err
	}
	may := map[string]bool{login(sender): true}
	author := issue.GetUser().GetLogin()
	trusted := false
	if author != "" && !h.bot(issue.GetUser()) {
		if trusted = may[author]; !trusted {
			if trusted, err = h.mayWrite(ctx, repo, author); err != nil {
				return err
			}
		}
		may[author] = trusted
	}
	var comments []loop.Comment
	if issue.GetComments() > 0 {
		if comments, err = h.trustedComments(ctx, repo, number, label.At, may); err != nil {
			return err
		}
	}
	task := loop.Task{
		Repo: repo, Source: loop.SourceIssue, Requester: login(sender), Label: trigger, Created: h.Clock.Now(),
		Issue: loop.Issue{
			Number: number, NodeID: issue.GetNodeID(), URL: issue.GetHTMLURL(), Title: loop.Visible(title), Body: readable(body),
			Author: login(issue.GetUser()), AuthorTrusted: trusted, Comments: comments,
		},
	}
	run := loop.Run{Trigger: loop.TriggerLabel, RequestedBy: login(sender), RequesterID: sender.GetID(), Created: h.Clock.Now()}
	return h.start(ctx, task, run, loop.Snapshot{})
}

// historyLag is how long GitHub's list of an issue's history may be behind its webhooks: it is written
// by other machines, and a label that was just put on may not be in it yet.
const historyLag = 30 * time.Second

// payloadSlack is how much later than the label the payload's issue may have been changed and still
// count as the text at the label, where the history of edits cannot be had: GitHub counts in seconds.
const payloadSlack = 2 * time.Second

// textAt returns the issue's title and body as they were when the label was put on: what the person
// who did it had seen (security.md, cases 23 and 24). Payloads may be made later, hence GitHub's
// history of edits is asked. ErrNotFound where nothing tells which text it was.
func (h issues) textAt(ctx context.Context, repo loop.Repo, issue *github.Issue, label loop.Labelling) (title, body string, err error) {
	title = issue.GetTitle()
	if label.Title != "" {
		title = label.Title
	}
	body, err = h.Forge.BodyBefore(ctx, repo, issue.GetNumber(), label.At)
	if err != nil && !issue.GetUpdatedAt().After(label.At.Add(payloadSlack)) {
		return title, issue.GetBody(), nil
	}
	return title, body, err
}

// start stores the run and gives the first sign of life.
func (h *Handlers) start(ctx context.Context, task loop.Task, run loop.Run, inherited loop.Snapshot) error {
	stored, started, err := h.Store.StartRun(ctx, task, run, loop.NewSnapshot(task, run, inherited))
	if err != nil {
		return fmt.Errorf("start a run: %w", err)
	}
	if !started {
		// A redelivered event, or a label put on again: the sign of life may have been missed.
		zerolog.Ctx(ctx).Info().Str("run", stored.Run.ID).Msg("a run is at work on it already")
	}
	if stored.Phase.Ended() {
		return nil
	}
	return h.Acknowledge(ctx, stored)
}

// openRuns are the runs of an issue that have not ended.
func (h *Handlers) openRuns(ctx context.Context, repo int64, issue int) ([]loop.RunInfo, error) {
	runs, err := h.Store.Runs(ctx, loop.RunFilter{RepoID: repo, Issue: issue, Open: true})
	if err != nil {
		return nil, fmt.Errorf("look for open runs: %w", err)
	}
	return runs, nil
}

// cancel stops those open runs of an issue that are meant, before their next side effect.
func (h *Handlers) cancel(ctx context.Context, repo loop.Repo, issue int, reason string, meant func(loop.RunInfo) bool) error {
	runs, err := h.openRuns(ctx, repo.ID, issue)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if !meant(r) {
			continue
		}
		if err := h.Store.Signal(ctx, r.Run.ID, loop.Signal{Kind: loop.SignalCancel, Text: reason, At: h.Clock.Now()}); err != nil {
			return fmt.Errorf("cancel run %s: %w", r.Run.ID, err)
		}
	}
	return nil
}
