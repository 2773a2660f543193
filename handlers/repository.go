package handlers

import (
	"context"
	"fmt"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// repository stops the runs of repositories in which nothing can be changed any more.
type repository struct{ *Handlers }

// Handles names the event.
func (repository) Handles() []string { return []string{"repository"} }

// Handle gates on the action. A rename needs nothing: repositories are known by their id, and a run at work
// asks for the new name when the old one is refused.
func (h repository) Handle(ctx context.Context, _, _ string, payload []byte) error {
	event, ok := decode[github.RepositoryEvent](ctx, payload)
	if !ok {
		return nil
	}
	id := event.GetRepo().GetID()
	its := func(r loop.Repo) bool { return r.ID == id && id != 0 }
	switch event.GetAction() {
	case "archived":
		return h.cancelRuns(ctx, "the repository was archived", its)
	case "unarchived":
		return h.catchUp(ctx, its)
	case "deleted", "transferred":
		return h.cancelRuns(ctx, "the repository is gone", its)
	default:
		return nil
	}
}

// mostBehind bounds how many issues are told again how their runs ended: the newest.
const mostBehind = 20

// catchUp brings the progress comments of a repository up to date that could not be written for a while.
func (h *Handlers) catchUp(ctx context.Context, chosen func(loop.Repo) bool) error {
	const all = 1000 // runs; older ones are nobody's concern any more
	runs, err := h.Store.Runs(ctx, loop.RunFilter{Limit: all})
	if err != nil {
		return fmt.Errorf("look for runs: %w", err)
	}
	told := map[string]bool{}
	for _, r := range runs { // newest first
		if !chosen(r.Task.Repo) || told[r.Task.ID] || len(told) == mostBehind {
			continue
		}
		told[r.Task.ID] = true
		s, err := h.Store.Snapshot(ctx, r.Run.ID)
		if err != nil {
			return fmt.Errorf("read run %s: %w", r.Run.ID, err)
		}
		if err := h.Acknowledge(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
