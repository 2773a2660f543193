package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/seed-7a986423/autocode/loop"
)

// Config is what a Guard is built from.
type Config struct {
	// Secrets are the server's own secret values; none of them may appear in a diff, in whatever encoding.
	Secrets []string
}

// Guard implements loop.Guard. It is safe for concurrent use.
type Guard struct {
	secrets   *secretScanner
	protected []pattern
}

var (
	_ loop.Guard     = (*Guard)(nil)
	_ loop.Explainer = (*Guard)(nil)
)

// New builds the scanners once; they are costly.
func New(config Config) (*Guard, error) {
	scanner, err := newSecretScanner(config.Secrets)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return &Guard{secrets: scanner, protected: compile(protectedAlways)}, nil
}

// Check implements loop.Guard.
func (g *Guard) Check(ctx context.Context, request loop.GuardRequest) ([]loop.Finding, error) {
	findings := []loop.Finding{}
	c := newChange(ctx, g, request)
	for _, rule := range Rules() {
		found, err := rule.check(c)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("guard: rule %s: %w", rule.Name, err)
		}
		for _, f := range found {
			f.Rule = rule.Name
			f.Severity = cmp.Or(f.Severity, rule.Severity)
			findings = append(findings, f)
		}
	}
	unquote(findings)
	order := []loop.Severity{loop.SeverityBlock, loop.SeverityApprove, loop.SeverityNote}
	slices.SortStableFunc(findings, func(a, b loop.Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return findings, nil
}

// unquote takes the quoted source out of the messages about a file in which a secret was found: findings are shown to
// models and people.
func unquote(findings []loop.Finding) {
	leaky := map[string]bool{}
	for _, f := range findings {
		leaky[f.File] = leaky[f.File] || f.Rule == ruleSecret
	}
	for i, f := range findings {
		if leaky[f.File] && f.Rule != ruleSecret {
			findings[i].Message = docOf(f.Rule)
		}
	}
}

// change is what one Check looks at: the request, and what several rules derive from it.
type change struct {
	loop.GuardRequest
	ctx    context.Context // of the one Check that this value lives for
	guard  *Guard
	base   map[string]string // contents that were read already, by path
	head   map[string]string
	tests  *testChange
	gone   map[string]bool // names of definitions that the change removes
	listed map[string]bool // paths of the base tree
}

func newChange(ctx context.Context, g *Guard, r loop.GuardRequest) *change {
	return &change{GuardRequest: r, ctx: ctx, guard: g, base: map[string]string{}, head: map[string]string{}}
}

// before returns the text of a file on the base, "" where there is none.
func (c *change) before(f loop.FileDiff) (string, error) {
	if f.Op == loop.OpAdd || f.Binary {
		return "", nil
	}
	return read(c.ctx, c.BaseTree, c.base, oldPath(f))
}

// after returns the text of a file on the head, "" where there is none.
func (c *change) after(f loop.FileDiff) (string, error) {
	if f.Op == loop.OpDelete || f.Binary || f.NewMode == loop.ModeSymlink || f.NewMode == loop.ModeSubmodule {
		return "", nil
	}
	return read(c.ctx, c.HeadTree, c.head, f.Path)
}

// read returns a file of a tree and remembers it.
func read(ctx context.Context, tree loop.Tree, cache map[string]string, path string) (string, error) {
	if text, known := cache[path]; known || tree == nil {
		return text, nil
	}
	content, err := tree.Read(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read %s of %s: %w", path, tree.Commit(), err)
	}
	cache[path] = string(content)
	return cache[path], nil
}

// inBase says whether the base has a file, or any file below a directory.
func (c *change) inBase(path string) (bool, error) {
	if c.listed == nil {
		c.listed = map[string]bool{}
		if c.BaseTree != nil {
			files, err := c.BaseTree.Files(c.ctx)
			if err != nil {
				return false, fmt.Errorf("list the files of the base: %w", err)
			}
			for _, f := range files {
				for p := f.Path; p != "." && !c.listed[p]; p = dirOf(p) {
					c.listed[p] = true
				}
			}
		}
	}
	return c.listed[path], nil
}

// oldPath is the name that a file had on the base.
func oldPath(f loop.FileDiff) string { return cmp.Or(f.OldPath, f.Path) }

// isNew says whether a path is new on the head.
func isNew(f loop.FileDiff) bool { return f.Op == loop.OpAdd || f.Op == loop.OpRename }

// added returns the added lines of a file.
func added(f loop.FileDiff) []loop.DiffLine {
	var lines []loop.DiffLine
	for _, l := range f.Lines {
		if l.Op == loop.LineAdded {
			lines = append(lines, l)
		}
	}
	return lines
}

// removed returns the removed lines of a file.
func removed(f loop.FileDiff) []loop.DiffLine {
	var lines []loop.DiffLine
	for _, l := range f.Lines {
		if l.Op == loop.LineRemoved {
			lines = append(lines, l)
		}
	}
	return lines
}

// maxQuote bounds a quotation of source in a message: findings are read on a check run.
const maxQuote = 120

// quote shortens a line of source for a message.
func quote(line string) string {
	runes := []rune(trim(line))
	if len(runes) > maxQuote {
		return string(runes[:maxQuote]) + "…"
	}
	return string(runes)
}
