package handlers

import (
	"context"
	"errors"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// status makes failing commit statuses on autocode's own commits the next run's feedback: they come from
// CI that knows no check runs. GitHub sends them only to an App that asked for them when it was made.
type status struct{ *Handlers }

// StatusEvent is the one event that an App has by choice only (`autocode setup`).
const StatusEvent = "status"

// Handles names the event.
func (status) Handles() []string { return []string{StatusEvent} }

// Handle gates on the state.
func (h status) Handle(ctx context.Context, _, delivery string, payload []byte) error {
	event, ok := decode[github.StatusEvent](ctx, payload)
	if !ok || event.GetState() != "failure" && event.GetState() != "error" || event.GetSHA() == "" {
		return nil
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil || !known {
		return err
	}
	s, found, err := h.ofCommit(ctx, repo, event.GetSHA())
	if err != nil || !found || s.Pull == nil {
		return err // somebody else's commit
	}
	t := thread{repo: repo, number: s.Pull.Number, isPull: true, event: delivery, at: h.Clock.Now()}
	return h.repair(ctx, t, s, event.GetSHA(), func() (string, error) {
		red, err := h.Forge.StatusFailures(ctx, repo, event.GetSHA())
		if errors.Is(err, loop.ErrNoAccess) {
			return "", ignore(ctx, "the commit's statuses may not be read: %s", err)
		}
		return red, err
	})
}
