package loop

import (
	"context"
	"time"
)

// Tree reads a repository at one commit, without a worktree.
type Tree interface {
	// Commit is the full id of the commit.
	Commit() string
	// Files lists every blob of the tree, sorted by path. Symbolic links and submodules are
	// listed with their mode and never followed.
	Files(ctx context.Context) ([]TreeFile, error)
	// Read returns a file's content, or fs.ErrNotExist. It never follows a link.
	Read(ctx context.Context, path string) ([]byte, error)
	// ReadAll calls each with the content of the blobs with the given ids, in any order and one
	// call at a time; it is much faster than many calls of Read. Blobs over maxBytes are left out,
	// and those that the repository lacks.
	ReadAll(ctx context.Context, blobs []string, maxBytes int64, each func(blob string, content []byte) error) error
	// History lists the newest commits that lead to this one, itself included, newest first,
	// at most n.
	History(ctx context.Context, n int) ([]HistoryCommit, error)
}

// FileMode is git's mode of a tree entry.
type FileMode string

// The modes of tree entries.
const (
	ModeRegular    FileMode = "100644"
	ModeExecutable FileMode = "100755"
	ModeSymlink    FileMode = "120000"
	ModeSubmodule  FileMode = "160000"
)

// TreeFile is one entry of a Tree.
type TreeFile struct {
	Path string
	Mode FileMode
	Blob string // object id of the content
	Size int64  // bytes; -1 where the repository lacks the content (a partial clone)
}

// HistoryCommit is one commit of a Tree's past.
type HistoryCommit struct {
	ID      string
	Subject string
	Body    string
	Files   []string // paths changed against its first parent
	At      time.Time
}

// Span is a range of lines in a file, both ends included, counted from 1.
type Span struct {
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Symbol string `json:"symbol,omitempty"`
}

// Located is a file that Index.Locate thinks a query is about.
type Located struct {
	Path  string  `json:"path"`
	Score float64 `json:"score"`
	Spans []Span  `json:"spans"`
}

// Matches is what Index.Search found.
type Matches struct {
	// Lines are matching lines as path:line: text, as many as were asked for.
	Lines []string
	// Count is how many lines match in how many Files; More says that there are even more, since
	// the search ended early.
	Count, Files int
	More         bool
}

// Index finds the places of a repository that a text is about and shows them in few tokens.
type Index interface {
	// Locate ranks files and their spans for a query, best first, at most top files.
	Locate(ctx context.Context, tree Tree, query string, top int) ([]Located, error)
	// Pack renders the located places, best first, as text with path and line numbers, callers and
	// signatures, within a budget of tokens; what is left out is named as anchors path:line.
	// Paths in always come first and whole if they fit.
	Pack(ctx context.Context, tree Tree, located []Located, always []string, budget int) (string, error)
	// Outline renders a file's symbols with their lines.
	Outline(ctx context.Context, tree Tree, path string) (string, error)
	// Memory renders the repository's instruction files (AGENTS.md, CLAUDE.md,
	// .github/copilot-instructions.md), those of the directories of paths included, at most 60
	// lines each.
	Memory(ctx context.Context, tree Tree, paths []string) (string, error)
	// Search finds the lines that contain the pattern (a regular expression, RE2) and returns at
	// most limit of them.
	Search(ctx context.Context, tree Tree, pattern, pathGlob string, limit int) (Matches, error)
	// Tokens counts tokens as the packing does.
	Tokens(text string) int
}
