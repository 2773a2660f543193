package loop

import (
	"context"
	"errors"
	"time"
)

// ErrHeadMoved is returned by a push whose branch is no longer where it was expected.
var ErrHeadMoved = errors.New("the branch has moved on GitHub")

// ErrEmptyRepository is returned for a repository without commits.
var ErrEmptyRepository = errors.New("the repository has no commits")

// ErrNoAccess is returned when the remote refuses to be read or written: gone, archived,
// suspended, or without the permission.
var ErrNoAccess = errors.New("the repository refuses access")

// Access is what a token is needed for.
type Access string

// The kinds of access.
const (
	AccessRead Access = "read"
	AccessPush Access = "push"
)

// TokenSource mints short-lived tokens for one repository with the least permissions.
type TokenSource interface {
	// Token returns a token and when it ends. A local repository has an empty token.
	Token(ctx context.Context, repo Repo, access Access) (token string, expires time.Time, err error)
}

// Workspace keeps mirrors of repositories and makes ephemeral clones of them.
type Workspace interface {
	// Open brings the mirror of repo up to date and clones rev into a fresh worktree. An empty
	// rev is the head of the default branch. Bundles hold commits of earlier snapshots that the
	// remote does not have; they are fetched before rev is resolved. The owner names the clone
	// (a run's id), so that Reap knows whose it is.
	Open(ctx context.Context, repo Repo, owner, rev string, bundles ...[]byte) (Clone, error)
	// RemoteHead returns the commit that a branch has on the remote now, "" where there is none.
	RemoteHead(ctx context.Context, repo Repo, branch string) (string, error)
	// Push puts a commit of the clone on a branch of the remote, provided that the branch is at
	// expect ("" : must not exist); otherwise ErrHeadMoved and nothing happens.
	Push(ctx context.Context, repo Repo, clone Clone, commit, branch, expect string) error
	// Reap removes the clones of owners that are not alive.
	Reap(ctx context.Context, alive func(owner string) bool) error
}

// Clone is one worktree with a git directory outside of it.
type Clone interface {
	// Dir is the absolute path of the worktree.
	Dir() string
	// Root is the absolute path of the directory that a sandbox may write, its only one: Dir lies
	// directly below it, and beside Dir whatever a tool must keep between two commands (build
	// caches, installed dependencies). The git directory does not lie below it.
	Root() string
	// Owner is whose the clone is, as given to Open; a Fresh clone has the same.
	Owner() string
	// Head is the commit that the worktree was last set to or committed as.
	Head() string
	// Commit records the whole worktree as a commit whose parent is Head and returns its id; it
	// returns Head where nothing changed. Ignored files stay out. A worktree in which .git was
	// made, or that holds a nested repository, is an error.
	Commit(ctx context.Context, message string) (string, error)
	// Reset sets the worktree to a commit: tracked files as there, untracked files removed;
	// ignored files (caches, build output) are kept only with keepIgnored.
	Reset(ctx context.Context, commit string, keepIgnored bool) error
	// Restore writes the given paths as they are at a commit into the worktree; a path that the
	// commit lacks is removed.
	Restore(ctx context.Context, commit string, paths []string) error
	// Fresh makes another clone of the same objects, set to commit.
	Fresh(ctx context.Context, commit string) (Clone, error)
	// Diff compares two commits of the clone.
	Diff(ctx context.Context, from, to string) (Diff, error)
	// Tree reads a commit of the clone.
	Tree(ctx context.Context, commit string) (Tree, error)
	// Bundle packs the commits that lead to commit and that base lacks.
	Bundle(ctx context.Context, base, commit string) ([]byte, error)
	// Squash makes one commit with the tree of commit on top of base, and of the commits that were
	// merged in, and returns its id.
	Squash(ctx context.Context, base, commit, message string, merged ...string) (string, error)
	// Merge merges another commit into Head without touching the worktree.
	Merge(ctx context.Context, with, message string) (Merge, error)
	// Close removes the clone.
	Close() error
}

// FileOp is what happened to a file.
type FileOp string

// The operations on a file.
const (
	OpAdd    FileOp = "add"
	OpModify FileOp = "modify"
	OpDelete FileOp = "delete"
	OpRename FileOp = "rename"
)

// Diff is the difference between two commits.
type Diff struct {
	Files []FileDiff
	// Patch is the whole as git prints it, without colour.
	Patch string
}

// FileDiff is one file's share of a Diff.
type FileDiff struct {
	Path    string // the new one; the old one for a deletion
	OldPath string
	Op      FileOp
	OldMode FileMode // "" for an addition
	NewMode FileMode // "" for a deletion
	Binary  bool
	Lines   []DiffLine // with the context that git shows
}

// DiffLine is one line of a FileDiff.
type DiffLine struct {
	Op   DiffOp
	Old  int // line in the old file, from 1; 0 for an added line
	New  int // line in the new file, from 1; 0 for a removed line
	Text string
}

// DiffOp says whether a line was added, removed or kept.
type DiffOp string

// The operations on a line.
const (
	LineContext DiffOp = " "
	LineAdded   DiffOp = "+"
	LineRemoved DiffOp = "-"
)

// Count returns the numbers of added and removed lines.
func (d Diff) Count() (added, removed int) {
	for _, f := range d.Files {
		for _, l := range f.Lines {
			switch l.Op {
			case LineAdded:
				added++
			case LineRemoved:
				removed++
			case LineContext:
			}
		}
	}
	return added, removed
}

// Paths lists the changed paths, old names of renames included.
func (d Diff) Paths() []string {
	var paths []string
	for _, f := range d.Files {
		paths = append(paths, f.Path)
		if f.OldPath != "" && f.OldPath != f.Path {
			paths = append(paths, f.OldPath)
		}
	}
	return paths
}
