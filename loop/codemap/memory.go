package codemap

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// memoryLines is how much of an instruction file counts.
	memoryLines = 60
	// memoryBytes bounds the same for files with endless lines.
	memoryBytes = 16 << 10
	// memoryFiles bounds how many are shown: those nearest to the root are the most general, so they win.
	memoryFiles = 16
)

// instructionNames are the instruction files of a directory, in the order in which they are shown.
var instructionNames = []string{"AGENTS.md", "CLAUDE.md"}

// rootInstructions are those that exist for the whole repository only.
var rootInstructions = []string{".github/copilot-instructions.md"}

// Memory renders the repository's instruction files, those of the directories above paths included, the
// most general first, at most 60 lines of each. A file that repeats another word for word is left out.
func (x *Index) Memory(ctx context.Context, tree loop.Tree, paths []string) (string, error) {
	files, err := tree.Files(ctx)
	if err != nil {
		return "", fmt.Errorf("list the files of %s: %w", tree.Commit(), err)
	}
	regular := map[string]bool{}
	for _, f := range files {
		if f.Mode == loop.ModeRegular || f.Mode == loop.ModeExecutable {
			regular[f.Path] = true
		}
	}
	var names []string
	for _, dir := range directoriesOf(paths) {
		for _, n := range instructionNames {
			names = append(names, path.Join(dir, n))
		}
		if dir == "." {
			names = append(names, rootInstructions...)
		}
	}
	var out strings.Builder
	seen := map[string]bool{}
	for _, name := range names {
		if !regular[name] || len(seen) >= memoryFiles {
			continue
		}
		content, err := tree.Read(ctx, name)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		text, cut := firstLines(visible(content), memoryLines)
		if strings.TrimSpace(text) == "" || seen[text] {
			continue
		}
		seen[text] = true
		fmt.Fprintf(&out, "%s\n%s\n", heading("===", name, 1, strings.Count(text, "\n"), ""), text)
		if cut {
			fmt.Fprintf(&out, "(%s goes on after line %d)\n\n", name, memoryLines)
		}
	}
	return out.String(), nil
}

// directoriesOf lists the directories of paths and those above them, the root first, each once.
func directoriesOf(paths []string) []string {
	dirs := []string{"."}
	for _, p := range paths {
		for dir := path.Dir(path.Clean("/" + p)); dir != "/"; dir = path.Dir(dir) {
			dirs = append(dirs, dir[1:])
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		if n := depth(a) - depth(b); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(dirs)
}

func depth(dir string) int {
	if dir == "." {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}

// visible drops what a reader of the file would not see but a model would: zero-width, bidirectional and tag
// characters, HTML comments and control characters (security.md, attack 95). Instructions may not hide.
func visible(content []byte) string {
	text := strings.ToValidUTF8(string(content[:min(len(content), memoryBytes)]), "")
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	text = htmlComment.ReplaceAllString(text, "")
	return stripHidden(text)
}

// stripHidden drops characters that are not seen.
func stripHidden(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r),
			r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
			return -1
		}
		return r
	}, text)
}

// oneLine is a text without hidden characters and line breaks.
func oneLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(stripHidden(text))
}

// firstLines returns the first n lines of text, each ended, and whether more follow.
func firstLines(text string, n int) (string, bool) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if n--; n < 0 {
			return out.String(), true
		}
		out.WriteString(strings.TrimRight(line, " \t\n") + "\n")
	}
	return out.String(), false
}
