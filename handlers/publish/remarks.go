package publish

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// AnswerRemark replies in the thread of a remark, once per run. The thread stays open: whether it is
// settled is for its author to say.
func (p *Publisher) AnswerRemark(ctx context.Context, s loop.Snapshot, answer loop.RemarkAnswer) error {
	if s.Run.PullRequest == 0 {
		return nil
	}
	client, err := p.Clients.rest(s.Task.Repo)
	if err != nil {
		return err
	}
	repo, number := s.Task.Repo, s.Run.PullRequest
	defer p.locks.take(threadKey(repo, number))()
	mark := marker("remark", s.Run.ID)
	answered, err := p.answeredRemarks(ctx, client, s, mark)
	if err != nil || answered[answer.Comment] != 0 {
		return unheard(ctx, err)
	}
	body := p.post(answer.Markdown, maxComment-len(mark)-1) + "\n" + mark
	made, _, err := client.PullRequests.CreateCommentInReplyTo(ctx, repo.Owner, repo.Name, number, body, answer.Comment)
	if status(err) == http.StatusNotFound || status(err) == http.StatusUnprocessableEntity {
		return nil // the remark was deleted, or the conversation locked
	}
	if err != nil {
		p.replies.forget(remarksKey(s)) // it may have been made
		return unheard(ctx, access(err, "answer the remark", repo))
	}
	answered[answer.Comment] = made.GetID()
	return nil
}

func remarksKey(s loop.Snapshot) string {
	return threadKey(s.Task.Repo, s.Run.PullRequest) + " remarks of " + s.Run.ID
}

// answeredRemarks returns the answers that the run gave already, by the remark that they reply to.
// The caller holds the thread's lock.
func (p *Publisher) answeredRemarks(ctx context.Context, client *github.Client, s loop.Snapshot, mark string) (map[int64]int64, error) {
	key := remarksKey(s)
	if known, there := p.replies.get(key); there && !p.Shared {
		return known, nil
	}
	if err := p.settled(ctx); err != nil {
		return nil, err
	}
	answered := map[int64]int64{}
	err := pages(func(options github.ListOptions) (int, *github.Response, error) {
		comments, response, err := client.PullRequests.ListComments(ctx, s.Task.Repo.Owner, s.Task.Repo.Name, s.Run.PullRequest,
			&github.PullRequestListCommentsOptions{ListOptions: options})
		for _, c := range comments {
			if c.GetUser().GetLogin() == p.AppSlug+"[bot]" && strings.HasSuffix(strings.TrimSpace(c.GetBody()), mark) {
				answered[c.GetInReplyTo()] = c.GetID()
			}
		}
		return len(comments), response, err
	})
	if err != nil {
		return nil, access(err, "look for answers to the review", s.Task.Repo)
	}
	p.replies.put(key, answered)
	return answered, nil
}
