// Package workspace keeps mirrors of repositories and makes ephemeral clones of them.
//
// In go a loop.Repo, a revision and bundles of earlier snapshots; out come worktrees with their git
// directory elsewhere, commits, diffs, bundles, and pushes to branches that autocode owns.
// It is the only place that runs git and that holds a token. It never runs git with configuration
// that a clone holds, never follows a link of a worktree, never writes a token into an argument
// list, a URL or a file, and never overwrites a branch that is not where it was expected.
package workspace
