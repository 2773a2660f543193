package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-7a986423/autocode/loop"
)

// Local implements loop.Publisher without GitHub, for `autocode run`: what would be said on GitHub
// is written into files of a directory, made when the first is written.
type Local struct{ Dir string }

var _ loop.Publisher = Local{}

// The files of a local run.
const (
	LocalPull    = "pull-request.md"
	LocalVerdict = "verify.json"
	localNotes   = "notices.md"
)

// write replaces a file whole: first beside it, then by its name.
func (l Local) write(name string, data []byte) error {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return fmt.Errorf("make the output directory: %w", err)
	}
	temporary, err := os.CreateTemp(l.Dir, "."+name+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = temporary.Write(data)
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), filepath.Join(l.Dir, name))
	}
	if err != nil {
		os.Remove(temporary.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Acknowledge has nobody to tell.
func (Local) Acknowledge(context.Context, loop.Snapshot) error { return nil }

// Progress writes where the run stands.
func (l Local) Progress(_ context.Context, s loop.Snapshot) error {
	return l.write("progress.md", []byte(Sanitize(progressText(s, ""), maxComment)+"\n"))
}

// Tell appends the notice.
func (l Local) Tell(_ context.Context, _ loop.Snapshot, notice loop.Notice) error {
	path := filepath.Join(l.Dir, localNotes)
	before, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read the notices: %w", err)
	}
	return l.write(localNotes, append(before, []byte(Sanitize(notice.Markdown, maxComment)+"\n\n")...))
}

// AnswerRemark has no conversation to answer in.
func (Local) AnswerRemark(context.Context, loop.Snapshot, loop.RemarkAnswer) error { return nil }

// Standing is always good: the person at the keyboard asked for it.
func (Local) Standing(context.Context, loop.Task, loop.Run) (loop.Standing, error) {
	return loop.Standing{Wanted: true, Authorised: true}, nil
}

// StartCheck has nothing to start.
func (Local) StartCheck(context.Context, loop.Snapshot, string) error { return nil }

// FinishChecks writes verify.json.
func (l Local) FinishChecks(_ context.Context, _ loop.Snapshot, v loop.Verdict) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return l.write(LocalVerdict, append(text, '\n'))
}

// Locate implements loop.Publisher: a directory is where it is.
func (Local) Locate(_ context.Context, repo loop.Repo) (loop.Repo, error) { return repo, nil }

// SettleChecks has nothing to settle.
func (Local) SettleChecks(context.Context, loop.Snapshot, string) error { return nil }

// OpenPull writes the pull request's text.
func (l Local) OpenPull(_ context.Context, s loop.Snapshot) (loop.PullRequest, error) {
	return l.pull(s, false)
}

// UpdatePull writes it again.
func (l Local) UpdatePull(_ context.Context, s loop.Snapshot, ready bool) (loop.PullRequest, error) {
	return l.pull(s, ready)
}

func (l Local) pull(s loop.Snapshot, ready bool) (loop.PullRequest, error) {
	text := fmt.Sprintf("# %s\n\n%s\n", PullTitle(s), PullBody(s))
	if err := l.write(LocalPull, []byte(text)); err != nil {
		return loop.PullRequest{}, err
	}
	return loop.PullRequest{URL: filepath.Join(l.Dir, LocalPull), Draft: !ready, Head: s.Final, Open: true}, nil
}
