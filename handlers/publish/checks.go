package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// GitHub's limits for check runs (REST reference, "Create a check run").
const (
	maxOutput      = 65_535 // characters of summary and of text
	maxAnnotations = 50     // per request
	maxMessage     = 64_000 // bytes of an annotation's message; GitHub says 64 kB
	maxTitle       = 255
)

// checkName is the check run for the whole; stages are named "autocode / STAGE", so that branch
// protection can require them.
const checkName = "autocode"

// externalID is the key of a check run: run/round/stage.
func externalID(s loop.Snapshot, stage string) string {
	return fmt.Sprintf("%s/%d/%s", s.Run.ID, len(s.Rounds), stage)
}

// buttons are shown on completed runs: GitHub allows three, of 20 and 40 characters.
func buttons(s loop.Snapshot, conclusion string) []*github.CheckRunAction {
	actions := []*github.CheckRunAction{{Label: "Retry", Description: "Another run from this commit", Identifier: "retry"}}
	if conclusion == "action_required" && s.Phase == loop.PhaseApproving {
		actions = append(actions, &github.CheckRunAction{Label: "Approve", Description: "Approve what waits for approval", Identifier: "approve"})
	}
	return actions
}

// ownRuns lists autocode's own check runs on a commit, by external id.
func (p *Publisher) ownRuns(ctx context.Context, client *github.Client, repo loop.Repo, commit string) (map[string]*github.CheckRun, error) {
	if err := p.settled(ctx); err != nil {
		return nil, err
	}
	own := map[string]*github.CheckRun{}
	err := pages(func(options github.ListOptions) (int, *github.Response, error) {
		list, response, err := client.Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, commit, &github.ListCheckRunsOptions{
			AppID: &p.AppID, Filter: github.String("all"), ListOptions: options,
		})
		if list != nil {
			for _, run := range list.CheckRuns {
				if run.GetApp().GetID() == p.AppID || run.App == nil { // servers that do not know the filter
					own[run.GetExternalID()] = run
				}
			}
		}
		return listed(list), response, err
	})
	return own, unoffered(ctx, err, "list the check runs", repo)
}

// listed counts the check runs of a page.
func listed(page *github.ListCheckRunsResults) int {
	if page == nil {
		return 0
	}
	return len(page.CheckRuns)
}

// knownRuns is ownRuns where this process may have forgotten or missed some.
func (p *Publisher) knownRuns(ctx context.Context, client *github.Client, s loop.Snapshot, commit string) (map[string]*github.CheckRun, error) {
	key := checksKey(s, commit)
	if own, there := p.checks.get(key); there && !p.Shared {
		return own, nil
	}
	own := map[string]*github.CheckRun{}
	if tried := "checks of " + key; !p.fresh(s) || p.did(tried) {
		var err error
		if own, err = p.ownRuns(ctx, client, s.Task.Repo, commit); err != nil {
			return nil, err
		}
	} else {
		p.done.put(tried, struct{}{})
	}
	p.checks.put(key, own)
	return own, nil
}

// did says whether an effect was had by this process, or tried.
func (p *Publisher) did(effect string) bool {
	_, did := p.done.get(effect)
	return did
}

func checksKey(s loop.Snapshot, commit string) string { return s.Run.ID + "@" + commit }

// now is the time in GitHub's form.
func (p *Publisher) now() *github.Timestamp { return &github.Timestamp{Time: p.Clock.Now()} }

// StartCheck puts the check run for the whole on a commit, in progress. Where the server has no check
// runs, this and FinishChecks do nothing: the pull request tells the same.
func (p *Publisher) StartCheck(ctx context.Context, s loop.Snapshot, commit string) error {
	client, err := p.Clients.rest(s.Task.Repo)
	if err != nil {
		return err
	}
	repo, id := s.Task.Repo, externalID(s, checkName)
	own, err := p.knownRuns(ctx, client, s, commit)
	if err != nil {
		return err
	}
	if _, there := own[id]; there {
		return nil
	}
	run, _, err := client.Checks.CreateCheckRun(ctx, repo.Owner, repo.Name, github.CreateCheckRunOptions{
		Name: checkName, HeadSHA: commit, ExternalID: &id, Status: github.String("in_progress"), DetailsURL: p.details(s), StartedAt: p.now(),
	})
	if err != nil {
		p.checks.forget(checksKey(s, commit))
		return unoffered(ctx, err, "start the check run", repo)
	}
	own[id] = run
	return nil
}

func (p *Publisher) details(s loop.Snapshot) *string {
	if url := p.RunURL(s.Run.ID); url != "" {
		return &url
	}
	return nil
}

// FinishChecks completes the check run for the whole and posts one completed run per stage. A stage
// that did not run has none, since there is nothing to see.
func (p *Publisher) FinishChecks(ctx context.Context, s loop.Snapshot, v loop.Verdict) error {
	client, err := p.Clients.rest(s.Task.Repo)
	if err != nil {
		return err
	}
	own, err := p.knownRuns(ctx, client, s, v.Head)
	if err != nil {
		return err
	}
	var all []check
	for _, name := range loop.Stages() {
		if stage, there := v.Stages[name]; there && !stage.NotRun {
			all = append(all, check{
				name: checkName + " / " + string(name), id: externalID(s, string(name)), conclusion: stageConclusion(stage), output: p.stageOutput(name, stage),
			})
		}
	}
	// The whole comes last: whoever sees it completed sees the stages as well.
	conclusion := Conclusion(s, v)
	all = append(all, check{name: checkName, id: externalID(s, checkName), conclusion: conclusion, output: p.wholeOutput(s, v), actions: buttons(s, conclusion)})
	for _, c := range all {
		c.details = p.details(s)
		run, err := p.complete(ctx, client, s.Task.Repo, v.Head, own[c.id], c)
		if err != nil {
			p.checks.forget(checksKey(s, v.Head)) // it may be there all the same
			return err
		}
		own[c.id] = run
	}
	return nil
}

// SettleChecks completes what is still in progress on the commits that the run pushed.
func (p *Publisher) SettleChecks(ctx context.Context, s loop.Snapshot, reason string) error {
	if s.Task.Repo.Installation == 0 {
		return nil
	}
	commits := []string{s.Pushed}
	if s.Final != s.Pushed && s.Step != "" {
		commits = append(commits, s.Final)
	}
	for _, commit := range commits {
		if commit == "" {
			continue
		}
		if err := p.settle(ctx, s, commit, reason); err != nil {
			return unheard(ctx, err)
		}
	}
	return nil
}

// settle completes what the run left in progress on one commit: as failure, never as neutral, which
// would satisfy a required check.
func (p *Publisher) settle(ctx context.Context, s loop.Snapshot, commit, reason string) error {
	client, err := p.Clients.rest(s.Task.Repo)
	if err != nil {
		return err
	}
	repo := s.Task.Repo
	remembered, _ := p.checks.get(checksKey(s, commit))
	p.checks.forget(checksKey(s, commit))
	own, err := p.ownRuns(ctx, client, repo, commit)
	if err != nil {
		return err
	}
	for id, run := range remembered {
		if own[id] == nil {
			own[id] = run // made a moment ago, and not in the list yet
		}
	}
	conclusion := "failure"
	if s.Phase == loop.PhaseStopped {
		conclusion = "cancelled"
	}
	for id, run := range own {
		if run.GetStatus() == "completed" || !strings.HasPrefix(id, s.Run.ID+"/") {
			continue
		}
		summary := p.post(loop.Quote(reason), maxOutput)
		if summary == "" {
			summary = "The run ended before this was finished."
		}
		c := check{
			name: run.GetName(), id: id, conclusion: conclusion, output: output{title: "not finished", summary: summary},
			details: p.details(s), actions: buttons(s, conclusion),
		}
		if _, err := p.complete(ctx, client, repo, commit, run, c); err != nil {
			return err
		}
	}
	return nil
}

// check is one completed check run.
type check struct {
	name, id, conclusion string
	output               output
	details              *string
	actions              []*github.CheckRunAction
}

// output is what a check run shows.
type output struct {
	title, summary, text string
	annotations          []*github.CheckRunAnnotation
}

// complete completes a check run, an existing one or a new one in one call; annotations over fifty
// follow in batches. GitHub adds annotations up: those that are there already are not sent again.
func (p *Publisher) complete(ctx context.Context, client *github.Client, repo loop.Repo, commit string, there *github.CheckRun, c check) (*github.CheckRun, error) {
	missing := c.output.annotations
	if there.GetStatus() == "completed" {
		had := min(there.GetOutput().GetAnnotationsCount(), len(missing))
		missing = missing[had:]
		if len(missing) == 0 && there.GetConclusion() == c.conclusion {
			return there, nil
		}
	}
	batches := slices.Collect(slices.Chunk(missing, maxAnnotations))
	if len(batches) == 0 {
		batches = [][]*github.CheckRunAnnotation{nil}
	}
	run := there
	for _, batch := range batches {
		out := &github.CheckRunOutput{Title: &c.output.title, Summary: &c.output.summary, Annotations: batch}
		if c.output.text != "" {
			out.Text = &c.output.text
		}
		var err error
		if run == nil {
			run, _, err = client.Checks.CreateCheckRun(ctx, repo.Owner, repo.Name, github.CreateCheckRunOptions{
				Name: c.name, HeadSHA: commit, ExternalID: &c.id, Status: github.String("completed"), Conclusion: &c.conclusion,
				CompletedAt: p.now(), DetailsURL: c.details, Output: out, Actions: c.actions,
			})
		} else {
			run, _, err = client.Checks.UpdateCheckRun(ctx, repo.Owner, repo.Name, run.GetID(), github.UpdateCheckRunOptions{
				Name: c.name, ExternalID: &c.id, Status: github.String("completed"), Conclusion: &c.conclusion, CompletedAt: p.now(),
				DetailsURL: c.details, Output: out, Actions: c.actions,
			})
		}
		if err != nil {
			return run, unoffered(ctx, err, "complete the check run "+c.name, repo)
		}
	}
	return run, nil
}

// skippedText is the summary of a check run that says nothing about the commit.
const skippedText = "This pull request is not one of autocode's, so there is nothing for it to say. " +
	"The check is here because `checks: all` is set in this repository's `" + loop.ConfigPath + "`."

// SkipCheck puts the check run for the whole on somebody else's commit, as skipped. Where there is one of
// autocode's own already, what it found stands: a skipped one would satisfy the branch protection.
func (p *Publisher) SkipCheck(ctx context.Context, repo loop.Repo, commit string) error {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return err
	}
	defer p.locks.take("skip " + repoKey(repo) + "@" + commit)()
	own, err := p.ownRuns(ctx, client, repo, commit)
	if err != nil || len(own) > 0 {
		return unheard(ctx, err)
	}
	id := "skipped/" + commit
	_, err = p.complete(ctx, client, repo, commit, nil, check{
		name: checkName, id: id, conclusion: "skipped", output: output{title: "not one of autocode's", summary: skippedText},
	})
	return unheard(ctx, err)
}
