package handlers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// Handlers holds what all handlers share.
type Handlers struct {
	Store     loop.Store
	Knowledge loop.Knowledge
	Forge     loop.Forge
	// Acknowledge puts the first sign of life on the issue; the engine repeats it harmlessly.
	Acknowledge func(ctx context.Context, snapshot loop.Snapshot) error
	// Status renders a run for `/autocode status`.
	Status func(snapshot loop.Snapshot) string
	// AppSlug is the App's name in its own logins and in mentions.
	AppSlug string
	Labels  loop.LabelConfig
	// TrustedBots are numeric ids of bots that may give commands (security.md, rule 6).
	TrustedBots []int64
	Clock       loop.Clock

	caps caps
	held held
}

// All returns the event handlers for the dispatcher.
func (h *Handlers) All() []githubapp.EventHandler {
	all := []githubapp.EventHandler{
		issues{h}, issueComment{h}, pullRequest{h}, pullRequestReview{h}, pullRequestReviewComment{h}, checkRun{h}, checkSuite{h}, status{h}, push{h}, installation{h}, repository{h},
	}
	for i, handler := range all {
		all[i] = settled{handler, h}
	}
	return all
}

// settled takes refusals of GitHub's that would be the same the next time for the end of an event:
// the repository is gone, the App uninstalled. Everything else is tried again by the queue.
type settled struct {
	githubapp.EventHandler
	all *Handlers
}

// Handle implements githubapp.EventHandler. A payload that a handler panics on would have it panic again:
// the fault is logged with its place, and the event is over.
func (s settled) Handle(ctx context.Context, event, delivery string, payload []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			zerolog.Ctx(ctx).Error().Bytes("stack", debug.Stack()).Msgf("panic at a payload: %v", p)
			err = nil
		}
	}()
	if err := s.all.still(ctx, delivery); err != nil {
		return err
	}
	err = s.EventHandler.Handle(ctx, event, delivery, payload)
	s.all.hold(delivery, err)
	if errors.Is(err, loop.ErrNoAccess) {
		return ignore(ctx, "%s", err)
	}
	return err
}

// ignore logs why an event leads to nothing.
func ignore(ctx context.Context, format string, args ...any) error {
	zerolog.Ctx(ctx).Info().Msgf("ignored: "+format, args...)
	return nil
}

// bot says whether an account is a bot that is not to be obeyed.
func (h *Handlers) bot(u *github.User) bool {
	if u == nil || u.GetLogin() == "" {
		return true // nobody: no authority either
	}
	isBot := u.GetType() == "Bot" || strings.HasSuffix(u.GetLogin(), "[bot]")
	return isBot && !slices.Contains(h.TrustedBots, u.GetID())
}

// repository checks the payload's word for the repository against GitHub's.
func (h *Handlers) repository(ctx context.Context, r *github.Repository, i *github.Installation) (loop.Repo, bool, error) {
	if i.GetID() == 0 || r.GetID() == 0 || r.GetOwner().GetLogin() == "" {
		return loop.Repo{}, false, nil
	}
	repo, err := h.Forge.Repository(ctx, i.GetID(), r.GetID(), r.GetOwner().GetLogin(), r.GetName())
	if errors.Is(err, loop.ErrNoAccess) {
		return loop.Repo{}, false, nil
	}
	if err != nil {
		return loop.Repo{}, false, fmt.Errorf("look the repository up: %w", err)
	}
	return repo, true, nil
}

// authorised asks GitHub whether a person may write. An error is a no (security.md, case 18), and one
// that may be gone later has the queue come back: nobody is told that he may not who may.
func (h *Handlers) authorised(ctx context.Context, repo loop.Repo, u *github.User) (bool, error) {
	if h.bot(u) {
		return false, nil
	}
	if slices.Contains(h.TrustedBots, u.GetID()) {
		return true, nil // bots are no collaborators; the server's configuration vouches for these
	}
	return h.mayWrite(ctx, repo, u.GetLogin())
}

// mayWrite is authorised for a login.
func (h *Handlers) mayWrite(ctx context.Context, repo loop.Repo, login string) (bool, error) {
	if login == "" {
		return false, nil
	}
	may, err := h.Forge.CanWrite(ctx, repo, login)
	if errors.Is(err, loop.ErrNoAccess) {
		zerolog.Ctx(ctx).Warn().Err(err).Str("login", login).Msg("the permission cannot be looked up: refused")
		return false, nil
	}
	return may && err == nil, err
}

// mayGoOn says whether the one who asked for a run may still act: a person by write access now, a
// bot by the server's configuration.
func (h *Handlers) mayGoOn(ctx context.Context, repo loop.Repo, run loop.Run) (bool, error) {
	if slices.Contains(h.TrustedBots, run.RequesterID) {
		return true, nil
	}
	return h.mayWrite(ctx, repo, run.RequestedBy)
}

// refuse tells a person once per thread that write access is needed.
func (h *Handlers) refuse(ctx context.Context, repo loop.Repo, number int, login string) error {
	return h.Forge.Reply(ctx, repo, number, "refused-"+strings.ToLower(login),
		fmt.Sprintf("Thanks, %s, but only people with write access to this repository can ask me for this.", loop.Code(login)))
}

// mostAuthors bounds whose authority is asked for in one conversation; the newest comments come first.
const mostAuthors = 20

// trustedComments returns what may reach a prompt: comments by people with write access that were
// there, in their present form, before the moment of the request (security.md, rule 7).
func (h *Handlers) trustedComments(ctx context.Context, repo loop.Repo, number int, before time.Time, may map[string]bool) ([]loop.Comment, error) {
	thread, err := h.Forge.Thread(ctx, repo, number)
	if err != nil {
		return nil, fmt.Errorf("read the conversation: %w", err)
	}
	var trusted []loop.Comment
	for _, c := range slices.Backward(thread) {
		// GitHub's times have whole seconds: what changed in the second of the request is left out.
		if c.Bot || !c.Updated.Before(before.Truncate(time.Second)) || isCommand(c.Body, h.AppSlug) {
			continue
		}
		allowed, asked := may[c.Author]
		if !asked {
			if len(may) >= mostAuthors {
				continue
			}
			if allowed, err = h.mayWrite(ctx, repo, c.Author); err != nil {
				return nil, err
			}
			may[c.Author] = allowed
		}
		if allowed {
			c.Comment.Body = readable(c.Body)
			trusted = append(trusted, c.Comment)
		}
	}
	slices.Reverse(trusted)
	return trusted, nil
}

// readable takes out of a foreign text what the person who vouches for it cannot see on GitHub:
// hidden characters and HTML comments.
func readable(text string) string {
	text = loop.Visible(text)
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<!--")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if inCode(b.String()) {
			b.WriteString("<!--") // it shows
			text = rest
			continue
		}
		// One that never ends hides everything below it.
		_, text, _ = strings.Cut(rest, "-->")
	}
}

// inCode says whether a text ends within a code fence or span.
func inCode(text string) bool {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	fences := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fences++
		}
	}
	return fences%2 == 1 || strings.Count(last, "`")%2 == 1
}

// newest returns the newest run of an issue or pull request. The two share their numbers, so that one that
// is not told to be a pull request and has no run as an issue is looked for among those.
func (h *Handlers) newest(ctx context.Context, repo loop.Repo, number int, isPull bool) (loop.Snapshot, bool, error) {
	filters := []loop.RunFilter{{RepoID: repo.ID, Pull: number, Limit: 1}}
	if !isPull {
		filters = []loop.RunFilter{{RepoID: repo.ID, Issue: number, Limit: 1}, filters[0]}
	}
	for _, filter := range filters {
		runs, err := h.Store.Runs(ctx, filter)
		if err != nil {
			return loop.Snapshot{}, false, fmt.Errorf("look for runs of #%d: %w", number, err)
		}
		if len(runs) == 0 {
			continue
		}
		snapshot, err := h.Store.Snapshot(ctx, runs[0].Run.ID)
		return snapshot, err == nil, err
	}
	return loop.Snapshot{}, false, nil
}

// login returns an account's login, "ghost" where it is gone, as GitHub itself writes it.
func login(u *github.User) string {
	if name := u.GetLogin(); name != "" {
		return name
	}
	return "ghost"
}
