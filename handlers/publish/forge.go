package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
	"github.com/shurcooL/githubv4"

	"github.com/seed-7a986423/autocode/loop"
)

// Repository looks a repository up with a token for it alone.
func (p *Publisher) Repository(ctx context.Context, installation, id int64, owner, name string) (loop.Repo, error) {
	repo := loop.Repo{ID: id, Owner: owner, Name: name, Installation: installation}
	client, err := p.Clients.rest(repo)
	if err != nil {
		return loop.Repo{}, err
	}
	// A repository that was renamed answers under its old name by a redirection.
	r, _, err := client.Repositories.Get(ctx, owner, name)
	if err != nil {
		return loop.Repo{}, access(err, "look up the repository", repo)
	}
	if r.GetID() != id {
		return loop.Repo{}, fmt.Errorf("%s is repository %d, not %d: %w", repo.FullName(), r.GetID(), id, loop.ErrNoAccess)
	}
	repo.Owner, repo.Name = r.GetOwner().GetLogin(), r.GetName()
	repo.CloneURL, repo.DefaultBranch, repo.Private = p.cloneURL(r), r.GetDefaultBranch(), r.GetPrivate()
	p.noteArchived(repo, r.GetArchived())
	return repo, nil
}

// Locate looks a repository up by the name that it had, with new tokens: GitHub takes tokens for bad before
// their time where permissions were changed, or an installation was suspended and taken up again, and git
// has no way to ask for another.
func (p *Publisher) Locate(ctx context.Context, repo loop.Repo) (loop.Repo, error) {
	p.Clients.forget(repo)
	return p.Repository(ctx, repo.Installation, repo.ID, repo.Owner, repo.Name)
}

// cloneURL is where git finds a repository: what GitHub says, where that is on the configured server;
// else, as behind a proxy with another name, the place that each GitHub has for it.
func (p *Publisher) cloneURL(r *github.Repository) string {
	web := strings.TrimSuffix(p.Clients.config.WebURL, "/")
	if strings.HasPrefix(r.GetCloneURL(), web+"/") {
		return r.GetCloneURL()
	}
	return web + "/" + r.GetOwner().GetLogin() + "/" + r.GetName() + ".git"
}

// RepoConfig reads the configuration from the default branch.
func (p *Publisher) RepoConfig(ctx context.Context, repo loop.Repo) (loop.Config, error) {
	config := loop.DefaultConfig()
	config.Labels = p.Labels
	client, err := p.Clients.rest(repo)
	if err != nil {
		return config, err
	}
	file, _, _, err := client.Repositories.GetContents(ctx, repo.Owner, repo.Name, loop.ConfigPath, &github.RepositoryContentGetOptions{Ref: repo.DefaultBranch})
	if status(err) == http.StatusNotFound {
		return config, nil
	}
	if err != nil {
		return config, access(err, "read the configuration", repo)
	}
	text, err := file.GetContent()
	if err != nil {
		return config, nil // a folder, or something else that is no file
	}
	if written, err := loop.ParseConfig(loop.ConfigPath, []byte(text), config); err == nil {
		config = written
	}
	return config, nil
}

// CanWrite asks the collaborator endpoint; only `permission` counts, never `role_name`.
func (p *Publisher) CanWrite(ctx context.Context, repo loop.Repo, login string) (bool, error) {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return false, err
	}
	level, _, err := client.Repositories.GetPermissionLevel(ctx, repo.Owner, repo.Name, login)
	if status(err) == http.StatusNotFound {
		return false, nil // no such person, or none that GitHub tells of
	}
	if err != nil {
		return false, access(err, "look up the permission of "+login, repo)
	}
	switch level.GetPermission() {
	case "admin", "write", "maintain": // GitHub writes maintain as write; older servers may not
		return true, nil
	default:
		return false, nil
	}
}

// happening is an entry of an issue's history, as the two lists that GitHub keeps of it have in common.
type happening struct {
	id    int64
	at    time.Time
	kind  string // labeled, unlabeled, renamed
	actor string
	label string
	from  string // the title before a renaming
}

// LabelEvent finds the newest labelling in the issue's history.
func (p *Publisher) LabelEvent(ctx context.Context, repo loop.Repo, issue int, label string) (loop.Labelling, error) {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return loop.Labelling{}, err
	}
	history, err := issueEvents(ctx, client, repo, issue)
	if code := status(err); code == http.StatusNotFound || code == http.StatusNotImplemented {
		// The same is told by the timeline.
		history, err = issueTimeline(ctx, client, repo, issue)
	}
	if err != nil {
		return loop.Labelling{}, access(err, "look up the label event", repo)
	}
	found, there := newestLabelling(history, label)
	if !there {
		return loop.Labelling{}, fmt.Errorf("the labelling of #%d: %w", issue, loop.ErrNotFound)
	}
	return found, nil
}

// newestLabelling is the last time that a label was put on and not taken off again.
func newestLabelling(history []happening, label string) (found loop.Labelling, there bool) {
	// Nothing promises an order; within one second the numbers tell it.
	slices.SortStableFunc(history, func(a, b happening) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	for _, h := range history {
		switch {
		case !strings.EqualFold(h.label, label):
		case h.kind == "labeled":
			found = loop.Labelling{Actor: h.actor, At: h.at}
		case h.kind == "unlabeled":
			found = loop.Labelling{}
		}
	}
	if found.Actor == "" {
		return loop.Labelling{}, false
	}
	for _, h := range history {
		if h.kind == "renamed" && !h.at.Before(found.At.Truncate(time.Second)) {
			found.Title = h.from
			break
		}
	}
	return found, true
}

func issueEvents(ctx context.Context, client *github.Client, repo loop.Repo, issue int) (history []happening, err error) {
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		events, response, err := client.Issues.ListIssueEvents(ctx, repo.Owner, repo.Name, issue, &options)
		for _, e := range events {
			history = append(history, happening{
				id: e.GetID(), at: e.GetCreatedAt().Time, kind: e.GetEvent(), actor: e.GetActor().GetLogin(), label: e.GetLabel().GetName(), from: e.GetRename().GetFrom(),
			})
		}
		return len(events), response, err
	})
	return history, err
}

func issueTimeline(ctx context.Context, client *github.Client, repo loop.Repo, issue int) (history []happening, err error) {
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		events, response, err := client.Issues.ListIssueTimeline(ctx, repo.Owner, repo.Name, issue, &options)
		for _, e := range events {
			history = append(history, happening{
				id: e.GetID(), at: e.GetCreatedAt().Time, kind: e.GetEvent(), actor: e.GetActor().GetLogin(), label: e.GetLabel().GetName(), from: e.GetRename().GetFrom(),
			})
		}
		return len(events), response, err
	})
	return history, err
}

// mostEdits is how many edits of a body are read, newest first.
const mostEdits = 100

// BodyBefore reads the history of an issue's body. GitHub's times have whole seconds: an edit in the
// second of the moment itself counts as later, since nobody had seen it.
func (p *Publisher) BodyBefore(ctx context.Context, repo loop.Repo, issue int, at time.Time) (string, error) {
	client, err := p.Clients.graphql(repo)
	if err != nil {
		return "", err
	}
	var q struct {
		Repository struct {
			Issue struct {
				Number           githubv4.Int
				Body             githubv4.String
				LastEditedAt     *githubv4.DateTime
				UserContentEdits *struct {
					Nodes []struct {
						EditedAt githubv4.DateTime
						Diff     *githubv4.String // the whole text of that version; null where it was deleted
					}
				} `graphql:"userContentEdits(first: $edits)"`
			} `graphql:"issue(number: $number)"`
		} `graphql:"repository(owner: $owner, name: $name)"`
	}
	err = client.Query(ctx, &q, map[string]any{
		"owner": githubv4.String(repo.Owner), "name": githubv4.String(repo.Name),
		"number": githubv4.Int(issue), "edits": githubv4.Int(mostEdits),
	})
	if err != nil {
		if passing(err) {
			return "", fmt.Errorf("read the edits of %s#%d: %w", repo.FullName(), issue, err)
		}
		return "", fmt.Errorf("read the edits of %s#%d: %w (%w)", repo.FullName(), issue, loop.ErrNotFound, err)
	}
	found := q.Repository.Issue
	if int(found.Number) != issue {
		return "", fmt.Errorf("read the edits of %s#%d: %w (the answer is about another issue)", repo.FullName(), issue, loop.ErrNotFound)
	}
	moment := at.Truncate(time.Second)
	if found.LastEditedAt == nil || found.LastEditedAt.Before(moment) {
		return string(found.Body), nil
	}
	if found.UserContentEdits != nil {
		for _, edit := range found.UserContentEdits.Nodes {
			if edit.EditedAt.Before(moment) && edit.Diff != nil {
				return string(*edit.Diff), nil
			}
		}
	}
	return "", fmt.Errorf("the version of %s#%d before %s: %w", repo.FullName(), issue, moment.Format(time.RFC3339), loop.ErrNotFound)
}

// passing says whether a GraphQL call failed for a reason that may be gone later. The library tells
// the status in words only.
func passing(err error) bool {
	var broken *url.Error
	if errors.As(err, &broken) {
		return true
	}
	_, text, isStatus := strings.Cut(err.Error(), "non-200 OK status code: ")
	return isStatus && !strings.HasPrefix(text, "501") && (strings.HasPrefix(text, "5") || strings.HasPrefix(text, "403") || strings.HasPrefix(text, "429"))
}

// mostComments bounds what is read of a conversation; the newest are kept (security.md, case 101).
const mostComments = 300

// Thread reads the conversation.
func (p *Publisher) Thread(ctx context.Context, repo loop.Repo, number int) ([]loop.ThreadComment, error) {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return nil, err
	}
	var thread []loop.ThreadComment
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		comments, response, err := client.Issues.ListComments(ctx, repo.Owner, repo.Name, number, &github.IssueListCommentsOptions{ListOptions: options})
		for _, c := range comments {
			thread = append(thread, loop.ThreadComment{
				Comment: loop.Comment{ID: c.GetID(), Author: c.GetUser().GetLogin(), Body: c.GetBody(), At: c.GetCreatedAt().Time},
				Updated: c.GetUpdatedAt().Time, Bot: c.GetUser().GetType() == "Bot" || c.GetUser().GetLogin() == "",
				Key: p.replyKey(c),
			})
		}
		if len(thread) > mostComments {
			thread = thread[len(thread)-mostComments:]
		}
		return len(comments), response, err
	})
	return thread, access(err, "read the conversation", repo)
}

// PullHead looks a pull request up.
func (p *Publisher) PullHead(ctx context.Context, repo loop.Repo, number int) (loop.PullHead, error) {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return loop.PullHead{}, err
	}
	pull, _, err := client.PullRequests.Get(ctx, repo.Owner, repo.Name, number)
	if err != nil {
		return loop.PullHead{}, access(err, "look at the pull request", repo)
	}
	var conflicts *bool
	if m := pull.Mergeable; m != nil {
		conflicts = github.Bool(!*m)
	}
	return loop.PullHead{
		Conflicts: conflicts,
		Number:    pull.GetNumber(), Head: pull.GetHead().GetSHA(), Branch: pull.GetHead().GetRef(), Open: pull.GetState() == "open",
		// A fork that was deleted has no repository any more.
		Fork: pull.GetHead().GetRepo().GetID() != repo.ID,
	}, nil
}

// mostRemarks bounds how many conversations of a review are followed up: each costs an answer.
const mostRemarks = 50

// Review reads a review.
func (p *Publisher) Review(ctx context.Context, repo loop.Repo, pull int, review int64) (loop.PullReview, error) {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return loop.PullReview{}, err
	}
	r, _, err := client.PullRequests.GetReview(ctx, repo.Owner, repo.Name, pull, review)
	if err != nil {
		return loop.PullReview{}, access(err, "read the review", repo)
	}
	var b strings.Builder
	if text := strings.TrimSpace(r.GetBody()); text != "" {
		fmt.Fprintf(&b, "%s\n", text)
	}
	var remarks []loop.Remark
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		comments, response, err := client.PullRequests.ListReviewComments(ctx, repo.Owner, repo.Name, pull, review, &options)
		for _, c := range comments {
			line := c.GetLine()
			if line == 0 {
				line = c.GetOriginalLine()
			}
			switch {
			case c.GetInReplyTo() != 0:
				fmt.Fprintf(&b, "\n%s:%d: %s\n", c.GetPath(), line, c.GetBody())
			case len(remarks) < mostRemarks:
				remarks = append(remarks, loop.Remark{ID: c.GetID(), Path: c.GetPath(), Line: line, Text: c.GetBody()})
			}
		}
		return len(comments), response, err
	})
	return loop.PullReview{Text: b.String(), Remarks: remarks}, access(err, "read the review's remarks", repo)
}

// SuiteFailures renders the failing check runs of a suite.
func (p *Publisher) SuiteFailures(ctx context.Context, repo loop.Repo, suite int64) (string, error) {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return "", err
	}
	// What is read is bounded: more than this no model needs to hear.
	const mostRuns, mostRemarks, longest = 10, 20, 2000
	var red []*github.CheckRun
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		list, response, err := client.Checks.ListCheckRunsCheckSuite(ctx, repo.Owner, repo.Name, suite, &github.ListCheckRunsOptions{ListOptions: options})
		if list != nil {
			for _, run := range list.CheckRuns {
				if c := run.GetConclusion(); (c == "failure" || c == "timed_out") && len(red) < mostRuns {
					red = append(red, run)
				}
			}
		}
		return listed(list), response, err
	})
	if err != nil {
		return "", access(err, "read the check suite", repo)
	}
	logs := p.jobReports(ctx, repo, red)
	var b strings.Builder
	for _, run := range red {
		fmt.Fprintf(&b, "The check %s of the app %s on this commit is red (%s).\n", loop.Code(run.GetName()), loop.Code(run.GetApp().GetSlug()), run.GetConclusion())
		for _, text := range []string{run.GetOutput().GetTitle(), run.GetOutput().GetSummary()} {
			if text = strings.TrimSpace(visible(text)); text != "" {
				fmt.Fprintf(&b, "%s\n", loop.Fence("", short(text, longest)))
			}
		}
		remarks, _, err := client.Checks.ListCheckRunAnnotations(ctx, repo.Owner, repo.Name, run.GetID(), &github.ListOptions{PerPage: mostRemarks})
		if err != nil {
			return "", access(err, "read the annotations", repo)
		}
		var notes strings.Builder
		for _, a := range remarks {
			fmt.Fprintf(&notes, "%s:%d: %s\n", a.GetPath(), a.GetStartLine(), short(a.GetMessage(), longest))
		}
		if notes.Len() > 0 {
			fmt.Fprintf(&b, "%s\n", loop.Fence("", visible(notes.String())))
		}
		if text := logs[run.GetID()]; text != "" {
			fmt.Fprintf(&b, "What its log says:\n%s\n", loop.Fence("", text))
		}
	}
	return p.Redactor.String(b.String()), nil
}

// StatusFailures renders the commit statuses of a commit that are red now.
func (p *Publisher) StatusFailures(ctx context.Context, repo loop.Repo, commit string) (string, error) {
	known, err := p.Clients.connection(repo, forStatuses)
	if err != nil {
		return "", err
	}
	const mostStatuses, longest = 10, 500
	var b strings.Builder
	red := 0
	err = pages(func(options github.ListOptions) (int, *github.Response, error) {
		all, response, err := known.rest.Repositories.GetCombinedStatus(ctx, repo.Owner, repo.Name, commit, &options)
		if all == nil {
			return 0, response, err
		}
		for _, s := range all.Statuses {
			if state := s.GetState(); state != "failure" && state != "error" || red == mostStatuses {
				continue
			}
			red++
			fmt.Fprintf(&b, "The commit status %s on this commit is %s.\n", loop.Code(s.GetContext()), s.GetState())
			if text := strings.TrimSpace(visible(s.GetDescription())); text != "" {
				fmt.Fprintf(&b, "%s\n", loop.Fence("", short(text, longest)))
			}
		}
		return len(all.Statuses), response, err
	})
	return p.Redactor.String(b.String()), access(err, "read the commit's statuses", repo)
}

// React puts a reaction on a comment; GitHub keeps one of each kind per account.
func (p *Publisher) React(ctx context.Context, repo loop.Repo, comment int64, onReview bool, reaction loop.Reaction) error {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return err
	}
	if onReview {
		_, _, err = client.Reactions.CreatePullRequestCommentReaction(ctx, repo.Owner, repo.Name, comment, string(reaction))
	} else {
		_, _, err = client.Reactions.CreateIssueCommentReaction(ctx, repo.Owner, repo.Name, comment, string(reaction))
	}
	// The comment was deleted meanwhile, the conversation locked, or this GitHub has no reactions.
	return unheard(ctx, access(err, "react to the comment", repo))
}
