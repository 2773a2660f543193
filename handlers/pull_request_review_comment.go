package handlers

import (
	"context"
	"fmt"

	"github.com/google/go-github/v62/github"
)

// pullRequestReviewComment obeys commands in remarks on lines. The remarks themselves come with the
// review that they belong to.
type pullRequestReviewComment struct{ *Handlers }

// Handles names the event.
func (pullRequestReviewComment) Handles() []string { return []string{"pull_request_review_comment"} }

// Handle gates on the action.
func (h pullRequestReviewComment) Handle(ctx context.Context, _, _ string, payload []byte) error {
	event, ok := decode[github.PullRequestReviewCommentEvent](ctx, payload)
	if !ok || event.GetAction() != "created" || h.bot(event.GetSender()) {
		return nil
	}
	comment := event.GetComment()
	command, is := ParseCommand(comment.GetBody(), h.AppSlug)
	if !is {
		return nil
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil || !known {
		return err
	}
	t := thread{
		repo: repo, number: event.GetPullRequest().GetNumber(), isPull: true, comment: comment.GetID(), onReview: true,
		event: fmt.Sprintf("remark-%d", comment.GetID()), by: event.GetSender(), at: comment.GetCreatedAt().Time,
	}
	return h.command(ctx, t, command)
}
