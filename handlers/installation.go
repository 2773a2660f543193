package handlers

import (
	"context"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// installation stops the runs of repositories that the App may no longer touch.
type installation struct{ *Handlers }

// Handles names the events.
func (installation) Handles() []string { return []string{"installation", "installation_repositories"} }

// Handle gates on event and action. Nobody is told: there is no way left to tell them.
func (h installation) Handle(ctx context.Context, event, _ string, payload []byte) error {
	if event == "installation" {
		e, ok := decode[github.InstallationEvent](ctx, payload)
		if !ok || e.GetAction() != "deleted" && e.GetAction() != "suspend" {
			return nil
		}
		return h.cancelRuns(ctx, "the App was uninstalled or suspended", func(r loop.Repo) bool {
			return r.Installation == e.GetInstallation().GetID()
		})
	}
	e, ok := decode[github.InstallationRepositoriesEvent](ctx, payload)
	if !ok || e.GetAction() != "removed" {
		return nil
	}
	removed := map[int64]bool{}
	for _, r := range e.RepositoriesRemoved {
		removed[r.GetID()] = true
	}
	return h.cancelRuns(ctx, "the repository was taken from the App", func(r loop.Repo) bool { return removed[r.ID] })
}

// cancelRuns stops every open run of the chosen repositories.
func (h *Handlers) cancelRuns(ctx context.Context, reason string, chosen func(loop.Repo) bool) error {
	const all = 10_000 // more open runs than any server drives
	runs, err := h.Store.Runs(ctx, loop.RunFilter{Open: true, Limit: all})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if !chosen(r.Task.Repo) {
			continue
		}
		if err := h.signal(ctx, r.Run.ID, loop.Signal{Kind: loop.SignalCancel, Text: reason}); err != nil {
			return err
		}
	}
	return nil
}
