package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// stale is what git push prints where the branch is not at the expected commit, on this side or on
// the server's.
var stale = regexp.MustCompile(`\[rejected\]|stale info|fetch first|non-fast-forward|cannot lock ref|reference already exists|failed to update ref|incorrect old value`)

// Push puts a commit of the clone on a branch of the remote, provided that the branch is at expect
// ("": must not exist); otherwise loop.ErrHeadMoved and nothing happens. A branch that is at the
// commit already counts as pushed, so that a restart may repeat it.
//
// On a server only autocode's own branches are pushed to, never the default branch. In a local
// repository any branch that is not checked out may be made or moved forward.
func (w *Workspace) Push(ctx context.Context, repo loop.Repo, from loop.Clone, commit, branch, expect string) error {
	c, ok := from.(*clone)
	if !ok || c.w != w {
		return errors.New("push: the clone is not of this workspace")
	}
	if err := checkCommit(commit); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if expect != "" {
		if err := checkCommit(expect); err != nil {
			return fmt.Errorf("push: expected commit: %w", err)
		}
	}
	if err := checkBranch(branch); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	if _, err := resolveCommit(ctx, w.git, c.gitDir(), commit); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	src, err := w.source(ctx, repo)
	if err != nil {
		return err
	}
	if src.key != c.src.key {
		return fmt.Errorf("push: the clone is of %s, not of %s", c.src.repo.FullName(), repo.FullName())
	}
	if src.local() {
		return w.pushLocal(ctx, src, c, commit, branch, expect)
	}
	return w.pushRemote(ctx, src, c, commit, branch, expect)
}

func (w *Workspace) pushRemote(ctx context.Context, src source, c *clone, commit, branch, expect string) error {
	if branch == src.repo.DefaultBranch || !strings.HasPrefix(branch, w.config.BranchPrefix+"/") {
		return fmt.Errorf("push to %q of %s is refused: only branches below %q are autocode's own", branch, src.repo.FullName(), w.config.BranchPrefix+"/")
	}
	ref := "refs/heads/" + branch
	in := c.call("push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", "--no-progress",
		"--force-with-lease="+ref+":"+expect, "--end-of-options", src.url.String(), commit+":"+ref)
	in.timeout = w.config.FetchTimeout
	in, err := w.authorize(ctx, in, src, loop.AccessPush)
	if err != nil {
		return err
	}
	out, err := w.remote(ctx, in)
	if err == nil {
		return nil
	}
	// git names the refused ref on standard output.
	said := redactText(string(out), in.secret) + stderrOf(err)
	if stale.MatchString(said) || errors.Is(err, context.DeadlineExceeded) {
		there, headErr := w.remoteHead(ctx, src, branch)
		switch {
		case headErr == nil && there == commit:
			return nil
		case headErr == nil && there != expect:
			return fmt.Errorf("push to %q: it is at %s instead of %s: %w", branch, orNone(there), orNone(expect), loop.ErrHeadMoved)
		}
	}
	if reason, ok := remoteRejection(said); ok {
		return fmt.Errorf("push to %q: the server refuses it: %s (check the branch rules and the app's permissions): %w: %w", branch, reason, loop.ErrNoAccess, err)
	}
	return explainRemote("push to "+branch+" of "+src.repo.FullName(), err)
}

// rejection is the reason that a server gives for a refused ref: "[remote rejected] (REASON)".
var rejection = regexp.MustCompile(`\[remote rejected\] \((.*)\)`)

func remoteRejection(said string) (string, bool) {
	m := rejection.FindStringSubmatch(said)
	if m == nil {
		return "", false
	}
	return m[1], true
}

func orNone(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return commit
}

// pushLocal gives the user's repository the objects and sets the branch in one step that fails
// where it is not as expected. Worktree, HEAD and index are not touched, and no hook runs.
func (w *Workspace) pushLocal(ctx context.Context, src source, c *clone, commit, branch, expect string) error {
	ref := "refs/heads/" + branch
	there, err := w.remoteHead(ctx, src, branch)
	if err != nil {
		return fmt.Errorf("push to %q: %w", branch, err)
	}
	switch {
	case there == commit:
		return nil
	case there != expect:
		return fmt.Errorf("push to %q: it is at %s instead of %s: %w", branch, orNone(there), orNone(expect), loop.ErrHeadMoved)
	}
	if used, err := w.checkedOut(ctx, src, ref); err != nil || used != "" {
		return errors.Join(err, refuseCheckedOut(branch, used))
	}
	if expect != "" && !strings.HasPrefix(branch, w.config.BranchPrefix+"/") {
		if _, err := w.git.run(ctx, c.call("merge-base", "--is-ancestor", expect, commit)); err != nil {
			return fmt.Errorf("push to %q is refused: it would drop commits of a branch that is not autocode's own: %w", branch, err)
		}
	}
	if err := w.lend(ctx, src, c, commit); err != nil {
		return fmt.Errorf("push to %q: %w", branch, err)
	}
	old := expect
	if old == "" {
		old = strings.Repeat("0", len(commit))
	}
	if _, err := w.git.run(ctx, localCall(src.gitDir, "update-ref", "-m", "autocode", "--no-deref", ref, commit, old)); err != nil {
		if now, headErr := w.remoteHead(ctx, src, branch); headErr == nil && now != expect {
			return fmt.Errorf("push to %q: %w", branch, loop.ErrHeadMoved)
		}
		return fmt.Errorf("push to %q: %w", branch, err)
	}
	return nil
}

func refuseCheckedOut(branch, worktree string) error {
	if worktree == "" {
		return nil
	}
	return fmt.Errorf("push to %q is refused: it is checked out in %s, whose files would no longer fit (name another branch, or check out another one there)", branch, worktree)
}

// checkedOut returns the worktree of the user's repository that has a branch checked out.
func (w *Workspace) checkedOut(ctx context.Context, src source, ref string) (string, error) {
	out, err := w.git.run(ctx, localCall(src.gitDir, "worktree", "list", "--porcelain", "-z"))
	if err != nil {
		return "", err
	}
	worktree, bare := "", false
	for _, token := range splitNUL(out) {
		switch {
		case strings.HasPrefix(token, "worktree "):
			worktree, bare = strings.TrimPrefix(token, "worktree "), false
		case token == "bare":
			bare = true
		case token == "branch "+ref && !bare:
			return worktree, nil
		}
	}
	return "", nil
}

// lend copies the objects of a commit into the user's repository.
func (w *Workspace) lend(ctx context.Context, src source, c *clone, commit string) error {
	base := c.from.commit
	pack, err := c.Bundle(ctx, base, commit)
	if err != nil || len(pack) == 0 {
		return err
	}
	parsed, err := parseBundle(pack)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Join(w.config.Root, trashDir), "push-*.pack")
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close() // written to the end or not at all, and removed either way
		_ = os.Remove(tmp.Name())
	}()
	if _, err := tmp.Write(parsed.pack); err != nil {
		return err
	}
	if _, err := tmp.Seek(0, 0); err != nil {
		return err
	}
	in := localCall(src.gitDir, "index-pack", "--stdin", "--fix-thin", "--strict")
	in.stdin = tmp
	_, err = w.git.run(ctx, in)
	return err
}
