package codemap

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// repeatedLine is the number of past messages from which a line of theirs is a form's and not its author's.
	repeatedLine = 4
	// messageLines bounds the lines that are remembered of one message.
	messageLines = 64
	// formLine is how many letters and digits a line has at least to be told from a word of somebody's code.
	formLine = 6
	// formFiles and formBytes bound what is read of a repository's forms for issues and pull requests.
	formFiles, formBytes = 32, 32 << 10
)

// formPath knows the places where GitHub looks for forms of issues and pull requests.
var formPath = regexp.MustCompile(`(?i)(^|/)(issue|pull_request)_template(\.[a-z]+)?(/[^/]+\.(md|ya?ml|txt))?$`)

// isForm tells whether a path is such a place, mostly without the expression.
func isForm(path string) bool {
	return (strings.Contains(path, "_TEMPLATE") || strings.Contains(path, "_template")) && formPath.MatchString(path)
}

// formKey is what stands before a text in a YAML form.
var formKey = regexp.MustCompile(`^\s*(?:- )?(?:label|description|placeholder|value|title|name|about):\s*`)

// lineMark is a line's hash over its letters and digits alone, so that a ticked box and a bold heading are the
// line that the form has. It is 0 for a line too short to tell. It is kept in caches, hence FNV and not a seeded hash.
func lineMark(line string) uint64 {
	h := fnv.New64a()
	var buffer [4]byte
	letters := 0
	for _, r := range line {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			letters++
			_, _ = h.Write(append(buffer[:0], string(unicode.ToLower(r))...))
		}
	}
	if letters < formLine {
		return 0
	}
	return h.Sum64()
}

// lineMarks lists the marks of a text's lines, each once, at most limit.
func lineMarks(text string, limit int) []uint64 {
	var marks []uint64
	for line := range strings.Lines(text) {
		// "x" of a ticked box is a letter like others.
		if m := lineMark(tick.ReplaceAllString(line, "")); m != 0 && len(marks) < limit && !slices.Contains(marks, m) {
			marks = append(marks, m)
		}
	}
	return marks
}

var tick = regexp.MustCompile(`^\s*[-*+] \[[xX ]\]`)

// readForms reads the repository's forms for issues and pull requests, those that are not known yet.
func (s *shelf) readForms(ctx context.Context, tree loop.Tree, files []loop.TreeFile) error {
	s.mu.RLock()
	var blobs []string
	for _, f := range files {
		if f.Mode == loop.ModeRegular && isForm(f.Path) && len(blobs) < formFiles {
			if _, ok := s.forms[f.Blob]; !ok {
				blobs = append(blobs, f.Blob)
			}
		}
	}
	s.mu.RUnlock()
	if len(blobs) == 0 {
		return nil
	}
	forms := map[string][]uint64{}
	for _, b := range blobs {
		forms[b] = nil // too large or gone
	}
	err := tree.ReadAll(ctx, blobs, formBytes, func(blob string, content []byte) error {
		var text strings.Builder
		for line := range strings.Lines(string(content)) {
			text.WriteString(strings.Trim(formKey.ReplaceAllString(line, ""), "\"' \t\r\n") + "\n")
		}
		forms[blob] = lineMarks(text.String(), formBytes)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the forms for issues of %s: %w", tree.Commit(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for blob, marks := range forms {
		s.forms[blob] = marks
		s.bytes += int64(8*len(marks) + mapEntry)
	}
	return nil
}

// boilerplate collects the lines that forms and many past messages have; s.mu is held.
func (s *shelf) boilerplate(files []loop.TreeFile, history []*commit) map[uint64]bool {
	marks := map[uint64]bool{}
	for _, f := range files {
		for _, m := range s.forms[f.Blob] {
			marks[m] = true
		}
	}
	count := map[uint64]int{}
	for _, c := range history {
		for _, m := range c.lines {
			if count[m]++; count[m] == repeatedLine {
				marks[m] = true
			}
		}
	}
	return marks
}

// withoutForm drops the lines of an issue's text that are a form's. The first line is its author's always.
func (v *view) withoutForm(text string) string {
	if len(v.forms) == 0 {
		return text
	}
	title, rest, _ := strings.Cut(text, "\n")
	var out strings.Builder
	out.WriteString(title + "\n")
	for line := range strings.Lines(rest) {
		if !v.forms[lineMark(tick.ReplaceAllString(line, ""))] {
			out.WriteString(line)
		}
	}
	return out.String()
}
