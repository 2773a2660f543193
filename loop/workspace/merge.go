package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// mergeConflicts is the exit code of git merge-tree for a merge with conflicts.
const mergeConflicts = 1

// Merge merges another commit into Head without touching worktree and index. Where the commit has
// nothing that Head lacks, Head is the result.
func (c *clone) Merge(ctx context.Context, with, message string) (loop.Merge, error) {
	if err := checkCommit(with); err != nil {
		return loop.Merge{}, fmt.Errorf("merge: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := resolveCommit(ctx, c.w.git, c.gitDir(), with); err != nil {
		return loop.Merge{}, fmt.Errorf("merge: %w", err)
	}
	var failed *Error
	_, err := c.w.git.run(ctx, c.call("merge-base", "--is-ancestor", with, c.head))
	if err == nil {
		return loop.Merge{Commit: c.head}, nil
	}
	if !errors.As(err, &failed) || failed.ExitCode != 1 {
		return loop.Merge{}, fmt.Errorf("merge %s: %w", with, err)
	}
	out, err := c.w.git.run(ctx, c.call("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", c.head, with))
	if err != nil && (!errors.As(err, &failed) || failed.ExitCode != mergeConflicts) {
		if ctx.Err() == nil && errors.As(err, &failed) && failed.ExitCode > mergeConflicts {
			return loop.Merge{}, fmt.Errorf("merge %s: %w: %w", with, loop.ErrUnmergeable, err)
		}
		return loop.Merge{}, fmt.Errorf("merge %s: %w", with, err)
	}
	parts := splitNUL(out)
	if len(parts) == 0 {
		return loop.Merge{}, fmt.Errorf("merge %s: git names no tree: %w", with, loop.ErrUnmergeable)
	}
	result := loop.Merge{}
	for _, path := range parts[1:] {
		if path = strings.TrimSpace(path); path != "" {
			result.Conflicts = append(result.Conflicts, path)
		}
	}
	if result.Commit, err = c.commitTree(ctx, parts[0], c.head, message, with); err != nil {
		return loop.Merge{}, err
	}
	return result, nil
}
