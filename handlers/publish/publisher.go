package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// Config is what a Publisher is built from.
type Config struct {
	Clients *Clients
	// AppID and AppSlug tell autocode's own comments and check runs from others'.
	AppID   int64
	AppSlug string
	Labels  loop.LabelConfig
	// RunURL is the panel's page of a run, "" where there is no public panel.
	RunURL func(run string) string
	// TrustedBots are numeric ids of bots that may ask for runs: they are no collaborators, the
	// server's configuration vouches for them.
	TrustedBots []int64
	// Redactor takes secrets out of everything that is posted; nil: one that knows them by their
	// shape only.
	Redactor *Redactor
	// Shared says that other processes work on the same store: then each look-up is asked of GitHub,
	// where a single process may remember its own effects.
	Shared bool
	// Clock is nil for the machine's.
	Clock loop.Clock
}

// Publisher implements loop.Publisher and loop.Forge on GitHub. It is safe for concurrent use.
type Publisher struct {
	Config

	began    time.Time
	locks    locks
	own      memory[*thread]                     // own comments of a thread
	replies  memory[map[int64]int64]             // answers to a run's remarks, by the remark
	checks   memory[map[string]*github.CheckRun] // own check runs of a commit, by external id
	shown    memory[string]                      // what the progress comment of a task says
	pulls    memory[string]                      // title and body of a pull request
	done     memory[struct{}]                    // effects that are had once
	archived memory[time.Time]                   // when a repository was seen not to be archived
}

var (
	_ loop.Publisher = (*Publisher)(nil)
	_ loop.Forge     = (*Publisher)(nil)
)

// New checks the configuration.
func New(config Config) (*Publisher, error) {
	if config.Clients == nil || config.AppSlug == "" {
		return nil, errors.New("publish: clients and the App's slug are required")
	}
	if config.RunURL == nil {
		config.RunURL = func(string) string { return "" }
	}
	if config.Redactor == nil {
		config.Redactor = NewRedactor()
	}
	if config.Clock == nil {
		config.Clock = wallClock{}
	}
	return &Publisher{
		Config: config, began: config.Clock.Now(), own: newMemory[*thread](), replies: newMemory[map[int64]int64](), checks: newMemory[map[string]*github.CheckRun](),
		shown: newMemory[string](), pulls: newMemory[string](), done: newMemory[struct{}](), archived: newMemory[time.Time](),
	}, nil
}

// post makes a text ready to be posted: without secrets, neutralised, at most limit characters. What
// is hidden is taken out first, so that it splits no secret.
func (p *Publisher) post(text string, limit int) string {
	return Sanitize(p.Redactor.String(visible(text)), limit)
}

// plain is post for one line of plain text, which GitHub does not render.
func (p *Publisher) plain(text string, limit int) string {
	return short(strings.ReplaceAll(p.Redactor.String(visible(text)), "\n", " "), limit)
}

// fresh says that whatever a run may have done on GitHub was done by this process, which would
// remember it.
func (p *Publisher) fresh(s loop.Snapshot) bool { return !p.Shared && s.Run.Created.After(p.began) }

// listLag is how long GitHub's lists may be behind what was written: they are read from copies.
const listLag = 3 * time.Second

// until waits for a moment.
func (p *Publisher) until(ctx context.Context, moment time.Time) error {
	if d := moment.Sub(p.Clock.Now()); d > 0 {
		return sleep(ctx, p.Clock, d)
	}
	return nil
}

// settled waits until GitHub's lists show what a process may have written that died right before this one
// began.
func (p *Publisher) settled(ctx context.Context) error { return p.until(ctx, p.began.Add(listLag)) }

// repoKey names a repository in the memories.
func repoKey(repo loop.Repo) string { return fmt.Sprintf("%d/%s", repo.ID, repo.FullName()) }

func threadKey(repo loop.Repo, number int) string { return fmt.Sprintf("%s#%d", repoKey(repo), number) }

// unheard drops the error of telling somebody where there is no way to tell: the issue was deleted, the
// App uninstalled, the server does not offer it. The run must come to its end all the same.
func unheard(ctx context.Context, err error) error {
	if errors.Is(err, loop.ErrNoAccess) {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("GitHub does not take this; the run goes on")
		return nil
	}
	return err
}

// unoffered is access for what a run can do without: where the server does not offer it at all, the run
// goes on.
func unoffered(ctx context.Context, err error, doing string, repo loop.Repo) error {
	switch status(err) {
	case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return unheard(ctx, access(err, doing, repo))
	default:
		return access(err, doing, repo)
	}
}

// access turns GitHub's refusals into loop.ErrNoAccess with the remedy.
func access(err error, doing string, repo loop.Repo) error {
	if err == nil {
		return nil
	}
	var refused *ghinstallation.HTTPError
	if errors.As(err, &refused) {
		return noToken(err, doing, repo)
	}
	var response *github.ErrorResponse
	if errors.As(err, &response) && response.Response != nil {
		if strings.Contains(strings.ToLower(response.Message), "archived") {
			return fmt.Errorf("%s on %s: %w: the repository is archived, hence read-only", doing, repo.FullName(), loop.ErrNoAccess)
		}
		switch response.Response.StatusCode {
		case http.StatusNotImplemented, http.StatusMethodNotAllowed:
			return fmt.Errorf("%s on %s: %w (%s): this GitHub does not offer it", doing, repo.FullName(), loop.ErrNoAccess, response.Message)
		case http.StatusNotFound, http.StatusGone, http.StatusUnauthorized:
			return fmt.Errorf("%s on %s: %w (%s): is the App still installed there?", doing, repo.FullName(), loop.ErrNoAccess, response.Message)
		case http.StatusForbidden:
			if response.Response.Header.Get("Retry-After") == "" && !strings.Contains(strings.ToLower(response.Message), "rate limit") {
				return fmt.Errorf("%s on %s: %w (%s): check the App's permissions", doing, repo.FullName(), loop.ErrNoAccess, response.Message)
			}
		}
	}
	return fmt.Errorf("%s on %s: %w", doing, repo.FullName(), err)
}

// status is the HTTP status of a GitHub error, 0 where it is none.
func status(err error) int {
	var response *github.ErrorResponse
	if errors.As(err, &response) && response.Response != nil {
		return response.Response.StatusCode
	}
	return 0
}

// pages calls list, which returns how many entries a page has, for each page until there are no more,
// at most mostPages.
func pages(list func(options github.ListOptions) (int, *github.Response, error)) error {
	const perPage, mostPages = 100, 50
	options := github.ListOptions{PerPage: perPage}
	for range mostPages {
		n, response, err := list(options)
		switch {
		case err != nil:
			return err
		case response.NextPage != 0:
			options.Page = response.NextPage
		case n == perPage && response.Header.Get("Link") == "":
			options.Page = max(options.Page, 1) + 1 // a proxy took the links, and the page is full
		default:
			return nil
		}
	}
	return nil
}

// Acknowledge reacts to the issue and makes the progress comment.
func (p *Publisher) Acknowledge(ctx context.Context, s loop.Snapshot) error {
	if s.Task.Issue.Number == 0 {
		return nil
	}
	effect := "acknowledged " + s.Run.ID
	if _, did := p.done.get(effect); !did {
		client, err := p.Clients.rest(s.Task.Repo)
		if err != nil {
			return err
		}
		// Making a reaction that is there already answers 200 and changes nothing.
		_, _, err = client.Reactions.CreateIssueReaction(ctx, s.Task.Repo.Owner, s.Task.Repo.Name, s.Task.Issue.Number, string(loop.ReactionSeen))
		// No sign on an issue that is locked, or where this GitHub has no reactions; the progress
		// comment tells the same.
		if err := unheard(ctx, access(err, "react to the issue", s.Task.Repo)); err != nil {
			return err
		}
		p.done.put(effect, struct{}{})
	}
	return p.Progress(ctx, s)
}

// archivedFor is how long a repository that was not archived is taken for that; a push into one that
// is fails in any case.
const archivedFor = time.Minute

// isArchived asks whether a repository is read-only.
func (p *Publisher) isArchived(ctx context.Context, client *github.Client, repo loop.Repo) (bool, error) {
	if at, known := p.archived.get(repoKey(repo)); known && p.Clock.Now().Sub(at) < archivedFor {
		return false, nil
	}
	r, _, err := client.Repositories.Get(ctx, repo.Owner, repo.Name)
	if err != nil {
		return false, access(err, "look at the repository", repo)
	}
	p.noteArchived(repo, r.GetArchived())
	return r.GetArchived(), nil
}

func (p *Publisher) noteArchived(repo loop.Repo, archived bool) {
	if archived {
		p.archived.forget(repoKey(repo))
		return
	}
	p.archived.put(repoKey(repo), p.Clock.Now())
}

// Standing asks whether the task is still wanted and authorised.
func (p *Publisher) Standing(ctx context.Context, task loop.Task, run loop.Run) (loop.Standing, error) {
	standing := loop.Standing{Wanted: true}
	client, err := p.Clients.rest(task.Repo)
	if err != nil {
		return standing, err
	}
	if standing.Archived, err = p.isArchived(ctx, client, task.Repo); err != nil || standing.Archived {
		return standing, err
	}
	if task.Issue.Number > 0 {
		issue, _, err := client.Issues.Get(ctx, task.Repo.Owner, task.Repo.Name, task.Issue.Number)
		switch {
		case status(err) == http.StatusNotFound || status(err) == http.StatusGone:
			standing.Wanted, standing.Reason = false, "the issue is gone"
		case err != nil:
			return standing, access(err, "look at the issue", task.Repo)
		case issue.GetState() == "closed":
			standing.Wanted, standing.Reason = false, "the issue was closed"
		case run.PullRequest == 0 && !hasLabel(issue, cmp.Or(task.Label, p.Labels.Trigger)):
			// A retry on the pull request stands on the command, not on the label.
			standing.Wanted, standing.Reason = false, "the label was removed"
		}
	}
	if run.RequesterID != 0 && slices.Contains(p.TrustedBots, run.RequesterID) {
		standing.Authorised = true
		return standing, nil
	}
	standing.Authorised, err = p.CanWrite(ctx, task.Repo, run.RequestedBy)
	if err != nil {
		return standing, err
	}
	return standing, nil
}

func hasLabel(issue *github.Issue, name string) bool {
	for _, l := range issue.Labels {
		if strings.EqualFold(l.GetName(), name) {
			return true
		}
	}
	return false
}
