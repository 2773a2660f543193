package publish

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"
	"github.com/rs/zerolog"
	"github.com/shurcooL/githubv4"

	"github.com/seed-7a986423/autocode/loop"
)

// wip is put before the title where a repository refuses drafts.
const wip = "WIP: "

// OpenPull finds the open pull request of the branch, or opens one.
func (p *Publisher) OpenPull(ctx context.Context, s loop.Snapshot) (loop.PullRequest, error) {
	client, err := p.Clients.rest(s.Task.Repo)
	if err != nil {
		return loop.PullRequest{}, err
	}
	repo := s.Task.Repo
	tried := "pull request of " + s.Run.ID
	if !p.fresh(s) || s.Run.PullRequest != 0 || s.Pull != nil || p.did(tried) {
		there, err := p.findPull(ctx, client, repo, s.Run.Branch)
		if err != nil {
			return loop.PullRequest{}, err
		}
		if there != nil {
			result := pullOf(there)
			result.NoDrafts = !there.GetDraft() && strings.HasPrefix(there.GetTitle(), wip) || s.Pull != nil && s.Pull.NoDrafts
			return result, nil
		}
	}
	p.done.put(tried, struct{}{})
	title, body := p.title(s), p.body(s)
	request := &github.NewPullRequest{
		Title: &title, Body: &body, Head: &s.Run.Branch, Base: &repo.DefaultBranch, Draft: github.Bool(true),
		MaintainerCanModify: github.Bool(true),
	}
	pull, _, err := client.PullRequests.Create(ctx, repo.Owner, repo.Name, request)
	noDrafts := false
	if status(err) == http.StatusUnprocessableEntity && strings.Contains(strings.ToLower(err.Error()), "draft") {
		noDrafts = true
		title = wip + title
		request.Draft, request.Title = github.Bool(false), &title
		pull, _, err = client.PullRequests.Create(ctx, repo.Owner, repo.Name, request)
	}
	if err != nil {
		return loop.PullRequest{}, access(err, "open the pull request", repo)
	}
	result := pullOf(pull)
	result.NoDrafts = noDrafts
	p.pulls.put(threadKey(repo, result.Number), title+"\n"+body)
	return result, nil
}

// findPull returns the open pull request of a branch, nil where there is none.
func (p *Publisher) findPull(ctx context.Context, client *github.Client, repo loop.Repo, branch string) (found *github.PullRequest, err error) {
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		list, response, err := client.PullRequests.List(ctx, repo.Owner, repo.Name, &github.PullRequestListOptions{
			State: "open", Head: repo.Owner + ":" + branch, ListOptions: options,
		})
		for _, pull := range list { // a server that does not know the filter sends them all
			if pull.GetHead().GetRef() == branch && pull.GetHead().GetRepo().GetID() == repo.ID && pull.GetState() != "closed" {
				found = pull
			}
		}
		return len(list), response, err
	})
	return found, access(err, "look for the pull request", repo)
}

func pullOf(pull *github.PullRequest) loop.PullRequest {
	return loop.PullRequest{
		Number: pull.GetNumber(), NodeID: pull.GetNodeID(), URL: pull.GetHTMLURL(), Draft: pull.GetDraft(),
		Head: pull.GetHead().GetSHA(), Open: pull.GetState() == "open",
	}
}

// UpdatePull brings title and body up to date and switches between draft and ready.
func (p *Publisher) UpdatePull(ctx context.Context, s loop.Snapshot, ready bool) (loop.PullRequest, error) {
	client, err := p.Clients.rest(s.Task.Repo)
	if err != nil {
		return loop.PullRequest{}, err
	}
	repo := s.Task.Repo
	title, body := p.title(s), p.body(s)
	if s.Pull.NoDrafts && !ready {
		title = wip + title
	}
	result := *s.Pull
	key := threadKey(repo, s.Pull.Number)
	if before, known := p.pulls.get(key); p.Shared || !known || before != title+"\n"+body {
		pull, _, err := client.PullRequests.Edit(ctx, repo.Owner, repo.Name, s.Pull.Number, &github.PullRequest{Title: &title, Body: &body})
		if err != nil {
			return loop.PullRequest{}, access(err, "update the pull request", repo)
		}
		p.pulls.put(key, title+"\n"+body)
		result = pullOf(pull)
		result.NoDrafts = s.Pull.NoDrafts
	}
	if result.NoDrafts || result.Draft == !ready || !result.Open {
		return result, nil
	}
	if err := p.setDraft(ctx, repo, result.NodeID, !ready); err != nil {
		if passing(err) {
			return loop.PullRequest{}, err
		}
		// It would be refused the next time as well; the result says what a person can do about it.
		zerolog.Ctx(ctx).Warn().Err(err).Int("pull", result.Number).Msg("the pull request stays as it is")
		return result, nil
	}
	result.Draft = !ready
	return result, nil
}

// title and body are PullTitle and PullBody without secrets.
func (p *Publisher) title(s loop.Snapshot) string {
	return p.plain(PullTitle(s), maxPullTitle-len(wip))
}

func (p *Publisher) body(s loop.Snapshot) string { return pullBody(s, p.post) }

// setDraft uses GraphQL: REST cannot do it.
func (p *Publisher) setDraft(ctx context.Context, repo loop.Repo, nodeID string, draft bool) error {
	client, err := p.Clients.graphql(repo)
	if err != nil {
		return err
	}
	if draft {
		var m struct {
			Convert struct {
				PullRequest struct{ ID githubv4.ID }
			} `graphql:"convertPullRequestToDraft(input: $input)"`
		}
		if err := client.Mutate(ctx, &m, githubv4.ConvertPullRequestToDraftInput{PullRequestID: nodeID}, nil); err != nil {
			return fmt.Errorf("make the pull request of %s a draft: %w", repo.FullName(), err)
		}
		return nil
	}
	var m struct {
		Mark struct {
			PullRequest struct{ ID githubv4.ID }
		} `graphql:"markPullRequestReadyForReview(input: $input)"`
	}
	if err := client.Mutate(ctx, &m, githubv4.MarkPullRequestReadyForReviewInput{PullRequestID: nodeID}, nil); err != nil {
		return fmt.Errorf("make the pull request of %s ready for review: %w", repo.FullName(), err)
	}
	return nil
}
