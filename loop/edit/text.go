package edit

import (
	"strings"
)

// line is a line of a file: its text, and the line end as it stands in the file (empty on a last line without one).
type line struct {
	text string
	eol  string
}

const byteOrderMark = "\ufeff"

// text is a file's content, cut into lines.
type text struct {
	bom   string
	lines []line
}

// parseText cuts content into lines. A lone CR ends a line only in a file that has no LF (classic Mac OS).
func parseText(content string) text {
	var t text
	if rest, ok := strings.CutPrefix(content, byteOrderMark); ok {
		t.bom, content = byteOrderMark, rest
	}
	if strings.Contains(content, "\r") && !strings.Contains(content, "\n") {
		for l := range strings.SplitAfterSeq(content, "\r") {
			if bare, closed := strings.CutSuffix(l, "\r"); closed {
				t.lines = append(t.lines, line{bare, "\r"})
			} else if l != "" {
				t.lines = append(t.lines, line{text: l})
			}
		}
		return t
	}
	t.lines = make([]line, 0, strings.Count(content, "\n")+1)
	for len(content) > 0 {
		i := strings.IndexByte(content, '\n')
		switch {
		case i < 0:
			t.lines = append(t.lines, line{text: content})
			return t
		case i > 0 && content[i-1] == '\r':
			t.lines = append(t.lines, line{content[:i-1], "\r\n"})
		default:
			t.lines = append(t.lines, line{content[:i], "\n"})
		}
		content = content[i+1:]
	}
	return t
}

func (t text) String() string {
	size := len(t.bom)
	for _, l := range t.lines {
		size += len(l.text) + len(l.eol)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(t.bom)
	for _, l := range t.lines {
		b.WriteString(l.text)
		b.WriteString(l.eol)
	}
	return b.String()
}

// splice replaces the lines first to last-1 by replacement, keeping the file's line ends: a line that stays keeps its own, a
// new one takes that of its neighbour; and keeping whether the file ends with one.
func (t text) splice(first, last int, replacement []string) text {
	old := t.lines[first:last]
	closed := len(t.lines) == 0 || t.lines[len(t.lines)-1].eol != ""
	fresh := make([]line, len(replacement))
	for i, s := range replacement {
		fresh[i].text = s
	}
	inheritEnds(old, fresh, t.commonEnd(first))
	lines := make([]line, 0, len(t.lines)-len(old)+len(fresh))
	lines = append(lines, t.lines[:first]...)
	lines = append(lines, fresh...)
	lines = append(lines, t.lines[last:]...)
	if n := len(lines); n > 0 && last == len(t.lines) {
		switch {
		case !closed:
			lines[n-1].eol = ""
		case lines[n-1].eol == "":
			lines[n-1].eol = t.commonEnd(first)
		}
	}
	return text{bom: t.bom, lines: lines}
}

// commonEnd is the line end in use around line at, else in the file, else LF.
func (t text) commonEnd(at int) string {
	for i := min(at, len(t.lines)-1); i >= 0; i-- {
		if t.lines[i].eol != "" {
			return t.lines[i].eol
		}
	}
	for _, l := range t.lines {
		if l.eol != "" {
			return l.eol
		}
	}
	return "\n"
}

// maxAligned bounds the table that aligns old and new lines; larger blocks are aligned at both ends only.
const maxAligned = 1 << 20

// inheritEnds gives each fresh line a line end: that of the old line that it repeats, else that of the line before it.
func inheritEnds(old, fresh []line, common string) {
	from := align(old, fresh)
	previous := common
	if len(old) > 0 && old[0].eol != "" {
		previous = old[0].eol
	}
	for i := range fresh {
		if k := from[i]; k >= 0 && old[k].eol != "" {
			previous = old[k].eol
		}
		fresh[i].eol = previous
	}
}

// align returns for each fresh line the index of the old line that it repeats or takes the place of, or -1.
func align(old, fresh []line) []int {
	from := make([]int, len(fresh))
	for i := range from {
		from[i] = -1
	}
	head := 0
	for head < len(old) && head < len(fresh) && sameLine(old[head], fresh[head]) {
		from[head] = head
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(fresh)-head && sameLine(old[len(old)-1-tail], fresh[len(fresh)-1-tail]) {
		from[len(fresh)-1-tail] = len(old) - 1 - tail
		tail++
	}
	n, m := len(old)-head-tail, len(fresh)-head-tail
	if n == 0 || m == 0 {
		return from
	}
	if n*m > maxAligned {
		pairUp(from, head, head+n, head, head+m)
		return from
	}
	// The longest common subsequence of what is between.
	width := m + 1
	table := make([]int32, (n+1)*width)
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if sameLine(old[head+i], fresh[head+j]) {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	gapOld, gapFresh := 0, 0
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case sameLine(old[head+i], fresh[head+j]):
			pairUp(from, head+gapOld, head+i, head+gapFresh, head+j)
			from[head+j] = head + i
			i++
			j++
			gapOld, gapFresh = i, j
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	pairUp(from, head+gapOld, head+n, head+gapFresh, head+m)
	return from
}

// pairUp lets the fresh lines between two that are repeated take the place of the old ones there, one by one.
func pairUp(from []int, old, oldEnd, fresh, freshEnd int) {
	for old < oldEnd && fresh < freshEnd {
		from[fresh] = old
		old, fresh = old+1, fresh+1
	}
}

func sameLine(a, b line) bool { return strings.TrimSpace(a.text) == strings.TrimSpace(b.text) }
