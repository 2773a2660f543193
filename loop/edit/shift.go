package edit

import (
	"regexp"
	"strconv"
	"strings"
)

// shift turns the indentation of a reply's lines into the file's: a prefix taken away, then a change between tabs and spaces,
// then a prefix added.
type shift struct {
	remove   string
	toTabs   int // spaces of the reply that are one tab of the file
	toSpaces int // spaces of the file that are one tab of the reply
	add      string
}

func (s shift) none() bool { return s == shift{} }

// learnShift finds the shift that holds for every non-blank line. Blank lines say nothing.
func learnShift(lines []line, search []string) (shift, bool) {
	var pairs []indents
	for k, s := range search {
		if blankLine(s) {
			continue
		}
		pairs = append(pairs, indents{indentation(s), indentation(lines[k].text)})
	}
	if len(pairs) == 0 {
		return shift{}, false
	}
	for _, s := range candidates(pairs) {
		fits := true
		for _, p := range pairs {
			if got, ok := s.indent(p.reply); !ok || got != p.file {
				fits = false
				break
			}
		}
		if fits {
			return s, true
		}
	}
	return shift{}, false
}

// indents is the indentation of one line, in the reply and in the file.
type indents struct{ reply, file string }

// tabWidths are the numbers of spaces that are written for a tab, the usual ones first.
var tabWidths = []int{4, 2, 8, 3}

// candidates are the shifts that the first line allows, the simple ones first. A change of tabs together with a prefix can only
// be told apart from a change with another width where the lines have more than one indentation.
func candidates(pairs []indents) []shift {
	first := pairs[0]
	levels := map[string]bool{}
	for _, p := range pairs {
		levels[p.reply] = true
	}
	var all []shift
	if prefix, ok := strings.CutSuffix(first.file, first.reply); ok {
		all = append(all, shift{add: prefix})
	}
	if prefix, ok := strings.CutSuffix(first.reply, first.file); ok {
		all = append(all, shift{remove: prefix})
	}
	for _, width := range tabWidths {
		all = append(all, shift{toTabs: width}, shift{toSpaces: width})
	}
	if len(levels) < 2 {
		return all
	}
	for _, width := range tabWidths {
		for _, s := range []shift{{toTabs: width}, {toSpaces: width}} {
			indent, ok := s.indent(first.reply)
			if !ok {
				continue
			}
			if prefix, ok := strings.CutSuffix(first.file, indent); ok {
				s.add = prefix
				all = append(all, s)
			}
		}
	}
	return all
}

func onlyOf(s string, c byte) bool { return strings.Trim(s, string(c)) == "" }

// indent shifts one line's indentation; false where the shift does not hold for it.
func (s shift) indent(indent string) (string, bool) {
	indent, ok := strings.CutPrefix(indent, s.remove)
	switch {
	case !ok:
		return "", false
	case s.toTabs > 0:
		if !onlyOf(indent, ' ') || len(indent)%s.toTabs != 0 {
			return "", false
		}
		indent = strings.Repeat("\t", len(indent)/s.toTabs)
	case s.toSpaces > 0:
		if !onlyOf(indent, '\t') {
			return "", false
		}
		indent = strings.Repeat(" ", len(indent)*s.toSpaces)
	}
	return s.add + indent, true
}

// apply shifts REPLACE. Blank lines stay as they are.
func (s shift) apply(replace []string) ([]string, bool) {
	if s.none() {
		return replace, true
	}
	fitted := make([]string, len(replace))
	for i, l := range replace {
		if blankLine(l) {
			fitted[i] = l
			continue
		}
		indent, ok := s.indent(indentation(l))
		if !ok {
			return nil, false
		}
		fitted[i] = indent + strings.TrimLeft(l, " \t")
	}
	return fitted, true
}

// numberSeparators are what stands between a line number and the line in the ways in which files are commonly shown,
// the longer before the shorter that it begins with.
var numberSeparators = []string{" | ", "| ", " |", "|", ": ", ":", "\t", " → ", "→"}

var number = regexp.MustCompile(`^[ \t]*(\d{1,7})`)

// stripNumbers removes the line number and sep from each line. Of SEARCH (all) every line must have one, counting
// upwards by one; of REPLACE every non-blank line or none.
func stripNumbers(lines []string, sep string, all bool) ([]string, bool) {
	if !all && !numbered(lines, sep) {
		return lines, !partlyNumbered(lines, sep)
	}
	stripped := make([]string, len(lines))
	previous := 0
	for i, l := range lines {
		if !all && blankLine(l) {
			continue
		}
		rest, n, ok := stripNumber(l, sep, all)
		if !ok || all && i > 0 && n != previous+1 {
			return nil, false
		}
		stripped[i], previous = rest, n
	}
	return stripped, true
}

// stripNumber removes a line number. An empty line's number may have lost the trailing space of sep; a number without anything
// behind it stands for an empty line only where bare allows it, since it may be a line of its own.
func stripNumber(l, sep string, bare bool) (string, int, bool) {
	m := number.FindStringSubmatch(l)
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return "", 0, false
	}
	rest := l[len(m[0]):]
	if after, ok := strings.CutPrefix(rest, sep); ok {
		return after, n, true
	}
	if trimRight(rest) == trimRight(sep) && (bare || trimRight(rest) != "") {
		return "", n, true
	}
	return "", 0, false
}

// numbered tells whether every non-blank line has a number, and there is one.
func numbered(lines []string, sep string) bool {
	found := false
	for _, l := range lines {
		if blankLine(l) {
			continue
		}
		if _, _, ok := stripNumber(l, sep, false); !ok {
			return false
		}
		found = true
	}
	return found
}

func partlyNumbered(lines []string, sep string) bool {
	for _, l := range lines {
		if m := number.FindString(l); m != "" && strings.HasPrefix(l[len(m):], sep) {
			return true
		}
	}
	return false
}
