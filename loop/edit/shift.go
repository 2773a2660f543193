package edit

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shift turns the indentation of a reply's lines into the file's: a prefix taken away, then a change between tabs and spaces or
// of the number of spaces, then a prefix added.
type shift struct {
	remove   string
	toTabs   int // spaces of the reply that are one tab of the file
	toSpaces int // spaces of the file that are one tab of the reply
	scale    scale
	add      string
}

// scale is a level of indentation, in spaces of the reply and of the file.
type scale struct{ reply, file int }

func (s shift) none() bool { return s == shift{} }

// learnShift finds the shift that holds for every non-blank line. Blank lines say nothing. unit is what a level is in the file and
// in the reply, where that can be told: one line alone does not say whether its eight spaces are one tab or two.
func learnShift(lines []line, search []string, unit scale) (shift, bool) {
	pairs := pairUpIndents(lines, search)
	if len(pairs) == 0 {
		return shift{}, false
	}
	return fitting(pairs, candidates(pairs, unit))
}

func pairUpIndents(lines []line, search []string) []indents {
	var pairs []indents
	for k, s := range search {
		if !blankLine(s) {
			pairs = append(pairs, indents{indentation(s), indentation(lines[k].text)})
		}
	}
	return pairs
}

// fitting returns the first of the shifts that holds for all pairs.
func fitting(pairs []indents, shifts []shift) (shift, bool) {
	for _, s := range shifts {
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

// tabWidths are the numbers of spaces that are written for a level, the usual ones first.
var tabWidths = []int{4, 2, 8, 3}

// widthsFrom is tabWidths with the known one, if any, before the others.
func widthsFrom(known int) []int {
	if known == 0 {
		return tabWidths
	}
	return append([]int{known}, slices.DeleteFunc(slices.Clone(tabWidths), func(w int) bool { return w == known })...)
}

// candidates are the shifts that the first line allows, the simple ones first. A change of tabs together with a prefix can only
// be told apart from a change with another width where the lines have more than one indentation, or where the width is known.
func candidates(pairs []indents, unit scale) []shift {
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
	one := len(levels) < 2
	for _, s := range tabChanges(unit) {
		known := s.toTabs > 0 && s.toTabs == unit.reply || s.toSpaces > 0 && s.toSpaces == unit.file
		if indent, ok := s.indent(first.reply); ok && one && known {
			if prefix, ok := strings.CutSuffix(first.file, indent); ok {
				s.add = prefix
			}
		}
		all = append(all, s)
	}
	if one {
		return all
	}
	for _, s := range tabChanges(unit) {
		if indent, ok := s.indent(first.reply); ok {
			if prefix, ok := strings.CutSuffix(first.file, indent); ok {
				s.add = prefix
				all = append(all, s)
			}
		}
	}
	return all
}

// scales are the shifts between levels of different width.
func scales() []shift {
	var all []shift
	for _, reply := range tabWidths {
		for _, file := range tabWidths {
			if reply != file {
				all = append(all, shift{scale: scale{reply, file}})
			}
		}
	}
	return all
}

// tabChanges are the changes between tabs and spaces, the likely widths first.
func tabChanges(unit scale) []shift {
	var all []shift
	spaces := widthsFrom(unit.file)
	for i, width := range widthsFrom(unit.reply) {
		all = append(all, shift{toTabs: width})
		if i < len(spaces) {
			all = append(all, shift{toSpaces: spaces[i]})
		}
	}
	return all
}

// level is by how many spaces lines are mostly indented more than the line before them; 0 where none is, or by unusual numbers.
func level(lines iter.Seq[string]) int {
	steps := map[int]int{}
	previous := 0
	for l := range lines {
		if blankLine(l) {
			continue
		}
		spaces := len(l) - len(strings.TrimLeft(l, " "))
		if more := spaces - previous; more > 0 && slices.Contains(tabWidths, more) {
			steps[more]++
		}
		previous = spaces
	}
	best := 0
	for _, width := range tabWidths {
		if steps[width] > steps[best] {
			best = width
		}
	}
	return best
}

// units tells what a level is in the file and in the block. Its first line counts for nothing, since what is above it is not known.
func units(t text, search, replace []string) scale {
	file := func(yield func(string) bool) {
		for _, l := range t.lines[:min(len(t.lines), maxCompared)] {
			if !yield(l.text) {
				return
			}
		}
	}
	return scale{reply: cmp.Or(inner(replace), inner(search)), file: level(file)}
}

// inner is the level of a part of a block, measured from its own first line.
func inner(lines []string) int {
	for i, l := range lines {
		if !blankLine(l) {
			first := len(indentation(l))
			return level(func(yield func(string) bool) {
				for _, l := range lines[i:] {
					if len(indentation(l)) >= first && !blankLine(l) {
						l = l[first:]
					}
					if !yield(l) {
						return
					}
				}
			})
		}
	}
	return 0
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
	case s.scale.reply > 0:
		if !onlyOf(indent, ' ') || len(indent)%s.scale.reply != 0 {
			return "", false
		}
		indent = strings.Repeat(" ", len(indent)/s.scale.reply*s.scale.file)
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
