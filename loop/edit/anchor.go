package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// findAnchored finds the places where the file's text equals SEARCH but for white space anywhere, the first and the last line
// each being one line of the file.
func findAnchored(t text, search, replace []string, indented bool) finding {
	head, tail := 0, len(search)
	for blankLine(search[head]) {
		head++
	}
	for blankLine(search[tail-1]) {
		tail--
	}
	core := search[head:tail]
	want, unit := squeeze(core), units(t, search, replace)
	var f finding
	for i := 0; i < len(t.lines) && len(f.places) < maxPlaces; i++ {
		if strings.TrimSpace(t.lines[i].text) != strings.TrimSpace(core[0]) {
			continue
		}
		end, ok := squeezed(t.lines, i, want)
		if !ok || strings.TrimSpace(t.lines[end-1].text) != strings.TrimSpace(core[len(core)-1]) {
			continue
		}
		p := place{first: i, last: end, match: MatchAnchored}
		p.replace, ok = fitAnchored(t.lines[i:end], core, trimBlank(replace, head, len(search)-tail), unit, indented)
		if !ok {
			f.reason = "SEARCH differs from the file in its indentation, not uniformly, so that the indentation of REPLACE cannot be told; " +
				"write both with the file's own indentation"
		}
		f.places = append(f.places, p)
	}
	if f.reason != "" && len(f.places) == 1 {
		f.places = nil
	}
	return f
}

// squeeze is the text of lines without white space, but for one space where it alone keeps two words apart: `int x` is never
// `intx`.
func squeeze(lines []string) string {
	var b strings.Builder
	last := rune(0)
	for _, l := range lines {
		for word := range strings.FieldsSeq(l) {
			b.WriteString(apart(last, word))
			b.WriteString(word)
			last, _ = utf8.DecodeLastRuneInString(word)
		}
	}
	return b.String()
}

// apart is what must stand between a word and the text before it, which ends with last.
func apart(last rune, word string) string {
	if first, _ := utf8.DecodeRuneInString(word); wordRune(last) && wordRune(first) {
		return " "
	}
	return ""
}

func wordRune(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// squeezed reads the file from line i until want has been read, and returns the line after. It fails where the text differs or
// want ends within a line.
func squeezed(lines []line, i int, want string) (int, bool) {
	last := rune(0)
	for ; i < len(lines); i++ {
		for word := range strings.FieldsSeq(lines[i].text) {
			rest, ok := strings.CutPrefix(want, apart(last, word)+word)
			if !ok {
				return 0, false
			}
			want = rest
			last, _ = utf8.DecodeLastRuneInString(word)
		}
		if want == "" {
			return i + 1, true
		}
	}
	return 0, false
}

// trimBlank takes blank lines off both ends of REPLACE, as many as SEARCH had beyond the file's text.
func trimBlank(replace []string, head, tail int) []string {
	for head > 0 && len(replace) > 0 && blankLine(replace[0]) {
		replace, head = replace[1:], head-1
	}
	for tail > 0 && len(replace) > 0 && blankLine(replace[len(replace)-1]) {
		replace, tail = replace[:len(replace)-1], tail-1
	}
	return replace
}

// fitAnchored fits REPLACE to an anchored place: shifted where the lines differ by a uniform indentation, or do below a first line
// that lost its own; else as it is where indentation has no meaning. What REPLACE repeats of SEARCH stays as it is in the file.
func fitAnchored(lines []line, core, replace []string, unit scale, indented bool) ([]string, bool) {
	file, search := text{lines: lines}.written(), written(core)
	if len(file) != len(search) {
		return replace, !indented
	}
	if s, ok := learnShift(file, search, unit); ok {
		fitted, ok := s.apply(replace)
		return keepLines(file, search, replace, fitted), ok
	}
	if indented {
		return nil, false
	}
	if s, ok := fitting(pairUpIndents(file, search), scales()); ok {
		if fitted, ok := s.apply(replace); ok {
			return keepLines(file, search, replace, fitted), true
		}
	}
	if len(file) > 1 {
		if s, ok := learnShift(file[1:], search[1:], unit); ok {
			return keepLines(file, search, replace, s.applyHanging(indentation(search[0]), indentation(file[0].text), replace)), true
		}
	}
	return keepLines(file, search, replace, replace), true
}

// applyHanging is apply for a block whose first line has another indentation than it should, as where white space was cut off before
// the block. Lines that the shift does not hold for stay as they are.
func (s shift) applyHanging(reply, file string, replace []string) []string {
	fitted := make([]string, len(replace))
	for i, l := range replace {
		indent, ok := s.indent(indentation(l))
		switch {
		case blankLine(l):
			fitted[i] = l
			continue
		case indentation(l) == reply:
			indent = file
		case !ok:
			indent = indentation(l)
		}
		fitted[i] = indent + strings.TrimLeft(l, " \t")
	}
	return fitted
}

// written are the lines that are not blank.
func (t text) written() []line {
	var kept []line
	for _, l := range t.lines {
		if !blankLine(l.text) {
			kept = append(kept, l)
		}
	}
	return kept
}

func written(lines []string) []string {
	var kept []string
	for _, l := range lines {
		if !blankLine(l) {
			kept = append(kept, l)
		}
	}
	return kept
}

// keepLines puts the file's own line where REPLACE repeats one of SEARCH. file and search have the same number of lines.
func keepLines(file []line, search, replace, fitted []string) []string {
	if len(fitted) != len(replace) {
		return fitted
	}
	fresh := make([]line, len(replace))
	for i, l := range replace {
		fresh[i].text = l
	}
	kept := make([]string, len(fitted))
	copy(kept, fitted)
	for i, k := range align(file, fresh) {
		if k >= 0 && replace[i] == search[k] {
			kept[i] = file[k].text
		}
	}
	return kept
}
