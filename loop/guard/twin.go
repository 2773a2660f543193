package guard

import (
	"slices"
	"strings"
)

// twin returns the name of a test that stays and says word for word the same as one that is gone, under the same heading of the same
// file, "" where there is none. Under another heading the same words may test something else, by what is set up there.
func (c *change) twin(test testCase, kept []testPair) string {
	if len(words(test.body)) < leastWords {
		return ""
	}
	lines := strings.Split(c.base[test.file], "\n")
	for _, p := range kept {
		if p.before.file == test.file && p.after.body == test.body && p.before.body == test.body && sameBlock(lines, p.before.start-1, test.start-1) {
			return p.after.name
		}
	}
	return ""
}

// sameBlock says whether two lines are indented alike and none between them is indented less.
func sameBlock(lines []string, a, b int) bool {
	if a > b {
		a, b = b, a
	}
	if b >= len(lines) || indent(lines[a]) != indent(lines[b]) {
		return false
	}
	return !slices.ContainsFunc(lines[a:b], func(l string) bool { return trim(l) != "" && indent(l) < indent(lines[a]) })
}
