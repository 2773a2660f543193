package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFileBytes is what GitHub refuses in a push: files over 100 MB.
const maxFileBytes = 100 << 20

// ErrNestedRepository is returned by Commit for a worktree in which .git was made, in any spelling,
// or that holds another repository.
var ErrNestedRepository = errors.New("the worktree holds a repository that was not there")

// Commit records the whole worktree as a commit whose parent is Head and returns its id; it returns
// Head where nothing changed. Ignored files, and what is neither file nor link, stay out.
func (c *clone) Commit(ctx context.Context, message string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuseRepositories(ctx); err != nil {
		return "", err
	}
	changes, err := c.changes(ctx)
	if err != nil {
		return "", err
	}
	if len(changes.removed)+len(changes.written) == 0 {
		return c.head, nil
	}
	if err := c.stage(ctx, changes); err != nil {
		return "", err
	}
	tree, err := c.w.git.line(ctx, c.workCall("write-tree"))
	if err != nil {
		return "", fmt.Errorf("write the tree of a snapshot: %w", err)
	}
	if before, err := c.w.git.line(ctx, c.call("rev-parse", "--verify", c.head+"^{tree}")); err != nil || before == tree {
		return c.head, err
	}
	id, err := c.commitTree(ctx, tree, c.head, message)
	if err != nil {
		return "", err
	}
	return id, c.setHead(id)
}

// refuseRepositories looks for .git in the worktree. What lies in a directory that the repository
// itself ignores (an environment with a dependency installed from source) never reaches git.
func (c *clone) refuseRepositories(ctx context.Context) error {
	found, err := c.scan()
	if err != nil {
		return err
	}
	if len(found.tooDeep) > 0 {
		return fmt.Errorf("commit the worktree: %.80q… is nested over %d directories deep: %w", found.tooDeep[0], maxDepth, ErrTooLarge)
	}
	var suspects []string
	for _, path := range found.dotGit {
		dir := filepath.Dir(path)
		if dir == "." {
			return fmt.Errorf("commit the worktree: %q: %w", path, ErrNestedRepository)
		}
		suspects = append(suspects, dir)
	}
	if len(suspects) == 0 {
		return nil
	}
	in := c.workCall("check-ignore", "-z", "--stdin")
	// check-ignore refuses the switch that takes paths literally; the dot keeps a colon from being
	// taken for magic.
	in.env = []string{"GIT_LITERAL_PATHSPECS=0"}
	in.stdin = strings.NewReader("./" + strings.Join(suspects, "\x00./") + "\x00")
	out, err := c.w.git.run(ctx, in)
	var failed *Error
	if errors.As(err, &failed) && failed.ExitCode == 1 {
		err = nil // none is ignored
	}
	if err != nil {
		return fmt.Errorf("commit the worktree: %w", err)
	}
	ignored := map[string]bool{}
	for _, dir := range splitNUL(out) {
		ignored[strings.TrimPrefix(dir, "./")] = true
	}
	for _, dir := range suspects {
		if !ignored[dir] {
			return fmt.Errorf("commit the worktree: %q: %w", dir, ErrNestedRepository)
		}
	}
	return nil
}

// changes is how the worktree differs from the index: paths to take out, and to put in as they are.
type changes struct{ removed, written []string }

// changes asks git what differs. Links are compared as links; a file below a directory that became
// a link is gone.
func (c *clone) changes(ctx context.Context) (changes, error) {
	if err := ignoreMissing(os.Remove(filepath.Join(c.gitDir(), "index.lock"))); err != nil {
		return changes{}, err // left by a git that was killed; no other one runs
	}
	out, err := c.w.git.run(ctx, c.workCall("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard"))
	if err != nil {
		return changes{}, fmt.Errorf("find what changed in the worktree: %w", err)
	}
	var ch changes
	gone := map[string]bool{}
	var maybe []string
	links := map[string]bool{}
	for _, entry := range splitNUL(out) {
		tag, path, _ := strings.Cut(entry, " ")
		if strings.HasSuffix(path, "/") {
			return changes{}, fmt.Errorf("commit the worktree: %q: %w", path, ErrNestedRepository)
		}
		if tag == "R" {
			gone[path] = true
			ch.removed = append(ch.removed, path)
		} else {
			maybe = append(maybe, path)
		}
	}
	for _, path := range maybe {
		if gone[path] {
			continue // a deleted file counts as modified, too
		}
		if c.behindLink(filepath.Dir(path), links) {
			ch.removed = append(ch.removed, path)
			continue
		}
		keep, err := c.readable(path)
		if err != nil {
			return changes{}, err
		}
		if keep {
			ch.written = append(ch.written, path)
		} else {
			ch.removed = append(ch.removed, path)
		}
	}
	return ch, nil
}

// behindLink says whether a directory of the worktree, or one above it, is a link now: git compares
// a file there with what the link leads to. What is known already is kept in links.
func (c *clone) behindLink(dir string, links map[string]bool) bool {
	if dir == "." {
		return false
	}
	if known, ok := links[dir]; ok {
		return known
	}
	behind := c.behindLink(filepath.Dir(dir), links)
	if !behind {
		info, err := os.Lstat(filepath.Join(c.Dir(), dir))
		behind = err == nil && info.Mode().Type() == fs.ModeSymlink
	}
	links[dir] = behind
	return behind
}

// readable says whether a changed path is something that git records. A pipe or a device is
// not, nor is a directory in the place of a file.
func (c *clone) readable(path string) (bool, error) {
	full := filepath.Join(c.Dir(), path)
	info, err := os.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("commit the worktree: %w", err)
	}
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		return true, nil
	case 0:
		if info.Size() > maxFileBytes {
			return false, fmt.Errorf("commit the worktree: %q has %d bytes, GitHub takes %d (ignore it, or do not make it): %w", path, info.Size(), maxFileBytes, ErrTooLarge)
		}
		if info.Mode().Perm()&0o400 == 0 {
			return true, os.Chmod(full, info.Mode().Perm()|0o400)
		}
		return true, nil
	default:
		return false, nil
	}
}

// stage brings the index to what the worktree holds.
func (c *clone) stage(ctx context.Context, ch changes) error {
	for _, step := range []struct {
		args  []string
		paths []string
	}{
		{[]string{"update-index", "--force-remove", "-z", "--stdin"}, ch.removed},
		{[]string{"update-index", "--add", "--replace", "-z", "--stdin"}, ch.written},
	} {
		if len(step.paths) == 0 {
			continue
		}
		in := c.workCall(step.args...)
		in.stdin = strings.NewReader(strings.Join(step.paths, "\x00") + "\x00")
		if _, err := c.w.git.run(ctx, in); err != nil {
			return fmt.Errorf("stage the worktree: %w", err)
		}
	}
	return nil
}
