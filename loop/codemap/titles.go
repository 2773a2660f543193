package codemap

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// groupTitle is the beginning of a group of tests in JavaScript, TypeScript and Ruby. The ids of its tests begin with
// the titles of the groups around them, so that who names a new test must know them.
var groupTitle = regexp.MustCompile("^([ \t]*)(?:RSpec\\.)?(?:describe|context|suite)(?:\\.\\w+)?[ (]\\s*(?:function\\b|\\(\\)|[\"'`]([^\"'`]{1,120})|([A-Z][\\w:.]*))")

// group is a group of tests.
type group struct {
	line, depth int // from 1; the width of its indentation
	title       string
}

// groupsOf lists the groups of tests of a file, in the order of its lines.
func groupsOf(lines []string) []group {
	var groups []group
	for i, l := range lines {
		m := groupTitle.FindStringSubmatch(l)
		if m == nil || m[2]+m[3] == "" {
			continue
		}
		groups = append(groups, group{line: i + 1, depth: len(m[1]), title: m[2] + m[3]})
	}
	return groups
}

// around joins the titles of the groups that a line stands in, the outermost first: those before it of ever less
// indentation that no line between has closed.
func around(lines []string, groups []group, line int) string {
	var titles []string
	depth := indentOf(lines, line)
	for i := len(groups) - 1; i >= 0; i-- {
		if g := groups[i]; g.line < line && g.depth < depth && !closed(lines[g.line:line-1], g.depth) {
			titles = append([]string{g.title}, titles...)
			depth = g.depth
		}
	}
	return strings.Join(titles, " > ")
}

// closed tells whether one of the lines ends what began at an indentation.
func closed(lines []string, depth int) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		text := strings.TrimLeft(l, " \t")
		return len(l)-len(text) <= depth && (strings.HasPrefix(text, "}") || strings.HasPrefix(text, ")") || strings.HasPrefix(text, "end"))
	})
}

// indentOf is the indentation of a line, or of the next one that is not empty.
func indentOf(lines []string, line int) int {
	for _, l := range lines[max(line-1, 0):] {
		if text := strings.TrimLeft(l, " \t"); strings.TrimSpace(text) != "" {
			return len(l) - len(text)
		}
	}
	return 0
}

// listedTitles bounds the titles of one test file.
const listedTitles = 12

// titles lists the outer groups of a test file in one line, each with its line; "" where it has none.
func titles(lines []string) string {
	groups := groupsOf(lines)
	outer := map[int]bool{}
	for _, g := range groups {
		outer[g.depth] = true
	}
	first, second := -1, -1
	for d := range outer {
		if first < 0 || d < first {
			first, second = d, first
		} else if second < 0 || d < second {
			second = d
		}
	}
	var list []string
	for _, g := range groups {
		if g.depth != first && g.depth != second {
			continue
		}
		if len(list) == listedTitles {
			list = append(list, "…")
			break
		}
		mark := ""
		if g.depth != first {
			mark = "> "
		}
		list = append(list, fmt.Sprintf("%s%s %d", mark, g.title, g.line))
	}
	return strings.Join(list, ", ")
}
