package handlers

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// pullRequest learns what became of autocode's own pull requests, and puts its check run on others' where
// a repository wants it there.
type pullRequest struct{ *Handlers }

// Handles names the event.
func (pullRequest) Handles() []string { return []string{"pull_request"} }

// Handle gates on the action.
func (h pullRequest) Handle(ctx context.Context, _, _ string, payload []byte) error {
	event, ok := decode[github.PullRequestEvent](ctx, payload)
	if !ok {
		return nil
	}
	switch event.GetAction() {
	case "opened", "reopened", "synchronize":
		return h.skip(ctx, event)
	case "closed":
		return h.closed(ctx, event)
	default:
		return nil
	}
}

// skip puts the check run on somebody else's pull request as skipped, where `checks: all` asks for it.
// A commit or branch of autocode's own gets none, whoever opened a pull request for it: a skipped check
// would satisfy the branch protection in place of the red one.
func (h pullRequest) skip(ctx context.Context, event *github.PullRequestEvent) error {
	pull := event.GetPullRequest()
	head := pull.GetHead()
	if head.GetSHA() == "" || pull.GetUser().GetLogin() == h.AppSlug+"[bot]" {
		return nil
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil || !known {
		return err
	}
	config, err := h.Forge.RepoConfig(ctx, repo)
	if err != nil || config.Checks != loop.ChecksAll {
		return err
	}
	runs, err := h.Store.Runs(ctx, loop.RunFilter{RepoID: repo.ID, Limit: mostLooked})
	if err != nil {
		return fmt.Errorf("look for runs: %w", err)
	}
	for _, r := range runs {
		if r.Run.Branch == head.GetRef() && head.GetRepo().GetID() == repo.ID || r.Pull != nil && r.Pull.Head == head.GetSHA() {
			return ignore(ctx, "%s is autocode's own", head.GetRef())
		}
	}
	return h.Forge.SkipCheck(ctx, repo, head.GetSHA())
}

// closed stops what is at work on the pull request, and remembers what became of it.
func (h pullRequest) closed(ctx context.Context, event *github.PullRequestEvent) error {
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil || !known {
		return err
	}
	s, found, err := h.newest(ctx, repo, event.GetPullRequest().GetNumber(), true)
	if err != nil {
		return err
	}
	if event.GetPullRequest().GetMerged() {
		if err := h.reverted(ctx, repo, event.GetPullRequest().GetBody()); err != nil {
			return err
		}
	}
	if !found {
		return nil
	}
	outcome := "closed"
	if event.GetPullRequest().GetMerged() {
		outcome = "merged"
	}
	if !s.Phase.Ended() {
		reason := fmt.Sprintf("the pull request was %s", outcome)
		if err := h.signal(ctx, s.Run.ID, loop.Signal{Kind: loop.SignalCancel, Text: reason}); err != nil {
			return err
		}
	}
	return h.Knowledge.Judge(ctx, s.Run.ID, outcome)
}

// revertLine is what GitHub's own Revert button writes into the pull request that it opens.
var revertLine = regexp.MustCompile(`(?mi)^\s*Reverts (?:[\w.-]+/[\w.-]+)?#(\d{1,9})\s*$`)

// reverted takes the success of a run back when a pull request that reverts its own is merged. Only
// people with write access merge, so the text is theirs to vouch for.
func (h pullRequest) reverted(ctx context.Context, repo loop.Repo, body string) error {
	for _, m := range revertLine.FindAllStringSubmatch(body, -1) {
		number, err := strconv.Atoi(m[1])
		if err != nil {
			continue // the pattern lets nine digits through at most
		}
		s, found, err := h.newest(ctx, repo, number, true)
		if err != nil {
			return err
		}
		if found {
			if err := h.Knowledge.Judge(ctx, s.Run.ID, "reverted"); err != nil {
				return err
			}
		}
	}
	return nil
}
