package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// maxDiffFile is from which size git shows a file as binary: no person and no model reads a
	// longer one, and a limit on changed lines is passed long before.
	maxDiffFile = "2m"
	// maxPatch bounds a whole patch in bytes. Files beyond it are given as binary.
	maxPatch = 32 << 20
)

// Diff compares two commits of the clone. Contents are compared as bytes, whatever .gitattributes
// says. A file over 2 MiB, and what lies beyond the first 32 MiB of a patch, is given as Binary,
// without lines.
func (c *clone) Diff(ctx context.Context, from, to string) (loop.Diff, error) {
	if err := errors.Join(checkCommit(from), checkCommit(to)); err != nil {
		return loop.Diff{}, err
	}
	raw, err := c.w.git.run(ctx, c.diffCall(from, to, "--raw", "-z"))
	if err != nil {
		return loop.Diff{}, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	files, err := parseRaw(splitNUL(raw))
	if err != nil {
		return loop.Diff{}, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	if len(files) == 0 {
		return loop.Diff{}, nil
	}
	patch, err := c.patch(ctx, from, to)
	if err != nil {
		return loop.Diff{}, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	if err := fillLines(files, splitPatch(patch)); err != nil {
		return loop.Diff{}, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	return loop.Diff{Files: files, Patch: patch}, nil
}

func (c *clone) diffCall(from, to string, format ...string) call {
	args := append([]string{"diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative",
		"--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none"}, format...)
	in := c.call(append(args, from, to)...)
	// The last value of a key wins.
	in.config = append(slices.Clone(in.config), setting{"core.bigFileThreshold", maxDiffFile})
	return in
}

// patch returns the textual diff, cut before the file that goes over maxPatch.
func (c *clone) patch(ctx context.Context, from, to string) (string, error) {
	var out bytes.Buffer
	err := c.w.git.stream(ctx, c.diffCall(from, to, "-p"), func(r io.Reader) error {
		n, err := io.Copy(&out, io.LimitReader(r, maxPatch+1))
		if err != nil || n <= maxPatch {
			return err
		}
		cut := bytes.LastIndex(out.Bytes(), []byte("\ndiff --git "))
		out.Truncate(cut + 1)
		return errPatchCut
	})
	if err != nil && !errors.Is(err, errPatchCut) {
		return "", err
	}
	return out.String(), nil
}

// errPatchCut ends the reading of a patch that is longer than anybody needs.
var errPatchCut = errors.New("the patch goes on")

// parseRaw reads git's raw format with -z: ":MODE MODE ID ID STATUS", path, and for a rename the
// new path.
func parseRaw(tokens []string) ([]loop.FileDiff, error) {
	var files []loop.FileDiff
	for len(tokens) > 0 {
		fields := strings.Fields(strings.TrimPrefix(tokens[0], ":"))
		if len(fields) != 5 || len(fields[0]) != 6 || len(fields[1]) != 6 || len(tokens) < 2 {
			return nil, fmt.Errorf("raw diff: %q is not understood", tokens[0])
		}
		f := loop.FileDiff{Path: tokens[1], OldPath: tokens[1], OldMode: canonicalMode(fields[0]), NewMode: canonicalMode(fields[1])}
		tokens = tokens[2:]
		switch fields[4][0] {
		case 'A':
			f.Op, f.OldPath, f.OldMode = loop.OpAdd, "", ""
		case 'D':
			f.Op, f.NewMode = loop.OpDelete, ""
		case 'M', 'T':
			f.Op = loop.OpModify
		case 'R':
			if len(tokens) == 0 {
				return nil, fmt.Errorf("raw diff: the rename of %q has no new name", f.Path)
			}
			f.Op, f.Path = loop.OpRename, tokens[0]
			tokens = tokens[1:]
		default:
			return nil, fmt.Errorf("raw diff: status %q of %q is not known", fields[4], f.Path)
		}
		files = append(files, f)
	}
	return files, nil
}

// splitPatch cuts a patch into one section per "diff --git" header. Content lines start with a
// space, a sign or a backslash, so that none can be taken for a header.
func splitPatch(patch string) []string {
	const header = "diff --git "
	var sections []string
	for strings.HasPrefix(patch, header) {
		end := strings.Index(patch, "\n"+header)
		if end < 0 {
			return append(sections, patch)
		}
		sections = append(sections, patch[:end+1])
		patch = patch[end+1:]
	}
	return sections
}

// fillLines gives each file the lines of its section. git prints the sections in the order of the
// raw listing, one for each file, and two where a file changes its type: a deletion and an
// addition. Names are taken from the raw listing alone, which quotes nothing.
func fillLines(files []loop.FileDiff, sections []string) error {
	for i := range files {
		f := &files[i]
		n := 1
		if f.Op == loop.OpModify && fileType(f.OldMode) != fileType(f.NewMode) {
			n = 2
		}
		if len(sections) < n {
			sections = nil
			f.Binary = true // beyond maxPatch
			continue
		}
		for _, section := range sections[:n] {
			if err := fill(f, section); err != nil {
				return fmt.Errorf("patch of %q: %w", f.Path, err)
			}
		}
		sections = sections[n:]
	}
	if len(sections) > 0 {
		return fmt.Errorf("the patch has %d files more than the listing", len(sections))
	}
	return nil
}

// fileType is the part of a mode that tells files, links and submodules apart.
func fileType(m loop.FileMode) string { return string(m[:2]) }

// fill adds the lines of one section to a file's.
func fill(f *loop.FileDiff, section string) error {
	// The names in the header are of no use here and may be hard to tell apart; without fragments
	// there is nothing to parse.
	start := strings.Index(section, "\n@@ -")
	if start < 0 {
		f.Binary = f.Binary || strings.Contains(section, "\nBinary files ")
		return nil
	}
	parsed, _, err := gitdiff.Parse(strings.NewReader("--- a/f\n+++ b/f" + section[start:]))
	if err != nil {
		return err
	}
	for _, p := range parsed {
		for _, fragment := range p.TextFragments {
			addLines(f, fragment)
		}
	}
	return nil
}

func addLines(f *loop.FileDiff, fragment *gitdiff.TextFragment) {
	before, after := int(fragment.OldPosition), int(fragment.NewPosition)
	for _, l := range fragment.Lines {
		line := loop.DiffLine{Text: strings.TrimSuffix(l.Line, "\n")}
		switch l.Op {
		case gitdiff.OpContext:
			line.Op, line.Old, line.New = loop.LineContext, before, after
			before++
			after++
		case gitdiff.OpDelete:
			line.Op, line.Old = loop.LineRemoved, before
			before++
		case gitdiff.OpAdd:
			line.Op, line.New = loop.LineAdded, after
			after++
		}
		f.Lines = append(f.Lines, line)
	}
}
