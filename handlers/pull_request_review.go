package handlers

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// pullRequestReview turns a review that asks for changes on autocode's own pull request into the
// next run's feedback, all of one review together.
type pullRequestReview struct{ *Handlers }

// Handles names the event.
func (pullRequestReview) Handles() []string { return []string{"pull_request_review"} }

// Handle gates on the action and the review's state: a review that asks for changes, or that remarks
// on lines without saying so. An approval, an answer in a thread and a mere word of thanks start nothing.
func (h pullRequestReview) Handle(ctx context.Context, _, delivery string, payload []byte) error {
	event, ok := decode[github.PullRequestReviewEvent](ctx, payload)
	if !ok || event.GetAction() != "submitted" || h.bot(event.GetSender()) {
		return nil
	}
	state := strings.ToLower(event.GetReview().GetState())
	if state != "changes_requested" && state != "commented" {
		return nil
	}
	if _, is := ParseCommand(event.GetReview().GetBody(), h.AppSlug); is {
		return ignore(ctx, "commands are given in comments, not in reviews")
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil || !known {
		return err
	}
	number := event.GetPullRequest().GetNumber()
	s, found, err := h.newest(ctx, repo, number, true)
	if err != nil || !found {
		return err // somebody else's pull request
	}
	if may, err := h.authorised(ctx, repo, event.GetSender()); err != nil {
		return err
	} else if !may {
		return ignore(ctx, "%s has no write access", login(event.GetSender()))
	}
	review, err := h.Forge.Review(ctx, repo, number, event.GetReview().GetID())
	if err != nil {
		return fmt.Errorf("read the review: %w", err)
	}
	if state == "commented" && len(review.Remarks) == 0 {
		return nil
	}
	for i := range review.Remarks {
		review.Remarks[i].Text = readable(review.Remarks[i].Text)
	}
	t := thread{repo: repo, number: number, isPull: true, event: delivery, by: event.GetSender(), at: h.Clock.Now()}
	return h.retry(ctx, t, s, followUp{trigger: loop.TriggerReview, guidance: readable(review.Text), remarks: review.Remarks})
}
