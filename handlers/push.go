package handlers

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// push looks after autocode's open pull requests when their base moves: one that conflicts now gets a
// run that merges the base in. One that is merely behind is left alone.
type push struct{ *Handlers }

// Handles names the event.
func (push) Handles() []string { return []string{"push"} }

// errNotComputed has the queue come back: GitHub works mergeability out when it is asked for it.
var errNotComputed = errors.New("GitHub has not worked out yet whether the pull request can be merged")

// Handle gates on the branch.
func (h push) Handle(ctx context.Context, _, delivery string, payload []byte) error {
	event, ok := decode[github.PushEvent](ctx, payload)
	if !ok || event.GetDeleted() {
		return nil
	}
	r := event.GetRepo()
	if r.GetDefaultBranch() == "" || event.GetRef() != "refs/heads/"+r.GetDefaultBranch() || r.GetID() == 0 {
		return nil
	}
	// A push names its repository in a form of its own.
	known := &github.Repository{ID: r.ID, Name: r.Name, Owner: &github.User{Login: github.String(pushOwner(r))}}
	all, err := h.Store.Runs(ctx, loop.RunFilter{RepoID: r.GetID(), Limit: mostLooked})
	if err != nil {
		return fmt.Errorf("look for runs: %w", err)
	}
	newest := map[string]loop.RunInfo{}
	for _, run := range all { // newest first
		if _, seen := newest[run.Task.ID]; !seen {
			newest[run.Task.ID] = run
		}
	}
	var repo loop.Repo
	for _, run := range newest {
		if run.Phase != loop.PhaseDone || run.Pull == nil {
			continue // at work on it, or no finished work
		}
		if repo.ID == 0 {
			var there bool
			if repo, there, err = h.repository(ctx, known, event.GetInstallation()); err != nil || !there {
				return err
			}
		}
		if err := h.follow(ctx, repo, run, delivery); err != nil {
			return err
		}
	}
	return nil
}

// pushOwner is the owner's login, which pushes spell in one of two ways.
func pushOwner(r *github.PushEventRepository) string {
	if login := r.GetOwner().GetLogin(); login != "" {
		return login
	}
	return r.GetOwner().GetName()
}

// follow starts a run on a pull request that conflicts with its base, once for each head, on the
// authority of the person who asked for the last one.
func (h push) follow(ctx context.Context, repo loop.Repo, last loop.RunInfo, delivery string) error {
	pull, err := h.Forge.PullHead(ctx, repo, last.Pull.Number)
	if err != nil || !pull.Open || pull.Fork {
		return err
	}
	if pull.Conflicts == nil {
		return fmt.Errorf("#%d: %w", pull.Number, errNotComputed)
	}
	if !*pull.Conflicts {
		return nil
	}
	runs, err := h.Store.Runs(ctx, loop.RunFilter{Task: last.Task.ID})
	if err != nil {
		return fmt.Errorf("look for runs: %w", err)
	}
	for _, r := range runs {
		if r.Run.Trigger == loop.TriggerBase && r.Run.From == pull.Head {
			return ignore(ctx, "a moved base has started a run on %s already", pull.Head)
		}
	}
	if may, err := h.mayGoOn(ctx, repo, last.Run); err != nil {
		return err
	} else if !may {
		return ignore(ctx, "%s, who asked for it, has no write access any more", last.Run.RequestedBy)
	}
	s, err := h.Store.Snapshot(ctx, last.Run.ID)
	if err != nil {
		return err
	}
	t := thread{repo: repo, number: pull.Number, isPull: true, event: delivery, by: &github.User{Login: &last.Run.RequestedBy, ID: &last.Run.RequesterID}, at: h.Clock.Now()}
	return h.retry(ctx, t, s, followUp{trigger: loop.TriggerBase})
}
