package edit

import (
	"fmt"
	"strings"
)

// Op is what was done to a file.
type Op string

// The operations of a reply.
const (
	OpEdit   Op = "edit"
	OpCreate Op = "create"
	OpDelete Op = "delete"
	OpRename Op = "rename"
)

// Match says how a block's SEARCH was found.
type Match string

// How far SEARCH and file differ: not at all; in line ends, trailing space, a uniform indentation or line numbers pasted
// into the reply; in other white space between a first and a last line that agree. Operations that match nothing are exact.
const (
	MatchExact      Match = "exact"
	MatchWhitespace Match = "whitespace"
	MatchAnchored   Match = "anchored"
)

// Kind says what is wrong with a block.
type Kind string

// The kinds of errors. Conflict stands for everything that collides with the state of the tree: a file in the way,
// a binary file, a file that no longer parses.
const (
	KindNotFound   Kind = "not-found"
	KindAmbiguous  Kind = "ambiguous"
	KindUnsafePath Kind = "unsafe-path"
	KindMalformed  Kind = "malformed"
	KindConflict   Kind = "conflict"
)

// Applied is one block's effect. Line is where its first line stood when the block's turn came, from 1; operations on whole
// files have line 1. The Path of a rename is the old one.
type Applied struct {
	Path  string `json:"path"`
	Op    Op     `json:"op"`
	Match Match  `json:"match"`
	Line  int    `json:"line"`
}

// Line is a line of a file, from 1.
type Line struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Error is what is wrong with one block. Block counts from 1 in the order of the reply, deletions and renames included.
// Message is a sentence for the model: what, where, what to do. Nearest holds the lines it speaks of.
type Error struct {
	Path    string `json:"path"`
	Block   int    `json:"block"`
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Nearest []Line `json:"nearest"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("block %d (%s): %s: %s", e.Block, e.Path, e.Kind, e.Message)
}

// Result is the outcome of a reply. With errors nothing was applied, and Applied is empty.
type Result struct {
	Applied []Applied `json:"applied"`
	Errors  []Error   `json:"errors"`
}

// OK reports whether the reply was applied (or, in a dry run, would be).
func (r Result) OK() bool { return len(r.Errors) == 0 }

// Text tells the errors as a model reads them best: one paragraph for each block, the file's lines numbered.
func (r Result) Text() string {
	var b strings.Builder
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "Block %d", e.Block)
		if e.Path != "" {
			fmt.Fprintf(&b, ", %s", e.Path)
		}
		fmt.Fprintf(&b, ": %s: %s\n", e.Kind, e.Message)
		for _, l := range e.Nearest {
			fmt.Fprintf(&b, "%6d | %s\n", l.Line, l.Text)
		}
	}
	return b.String()
}

// shownText bounds the lines quoted in errors, in bytes: minified files have lines of a megabyte.
const shownText = 240

// shown cuts a line for an error.
func shown(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= shownText {
		return text
	}
	return strings.ToValidUTF8(text[:shownText], "") + "…"
}
