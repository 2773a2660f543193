package edit

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// place is where a SEARCH was found: the file's lines first to last-1, what kind of match it is, and the REPLACE fitted to it.
type place struct {
	first, last int
	match       Match
	replace     []string
}

// finding is the outcome of looking for a division: one place, or several, or none. Reason says why a place that was seen
// cannot be used.
type finding struct {
	places []place
	reason string
}

// unique tells whether there is exactly one place.
func (f finding) unique() bool { return len(f.places) == 1 }

// maxPlaces bounds the places that are collected: an error that lists more helps nobody.
const maxPlaces = 20

// find looks for a division's SEARCH in t, level after level: the first level with any place decides. White space that
// is meaning (indented) makes the last levels stricter.
func find(t text, d Division, indented bool) finding {
	search := d.Search
	if blank(search) {
		return finding{}
	}
	if f := findLines(t, search, d, func(a, b string) bool { return a == b }); len(f.places) > 0 {
		return f
	}
	if f := findLines(t, search, d, func(a, b string) bool { return trimRight(a) == trimRight(b) }); len(f.places) > 0 {
		return f.keepingContext(t, d)
	}
	if f := findShifted(t, search, d.Replace); len(f.places) > 0 || f.reason != "" {
		return f.keepingContext(t, d)
	}
	if f := findNumbered(t, d); len(f.places) > 0 || f.reason != "" {
		return f.keepingContext(t, d)
	}
	return findAnchored(t, search, d.Replace, indented)
}

// keepingContext puts the file's own line, trailing space included, where REPLACE repeats a line of SEARCH: that line was not
// meant to change. The places must have as many lines as SEARCH.
func (f finding) keepingContext(t text, d Division) finding {
	if !f.unique() || len(f.places[0].replace) != len(d.Replace) {
		return f
	}
	p := &f.places[0]
	fresh := make([]line, len(p.replace))
	for i, s := range p.replace {
		fresh[i].text = s
	}
	kept := slices.Clone(p.replace)
	for i, k := range align(t.lines[p.first:p.last], fresh) {
		if k >= 0 && d.Replace[i] == d.Search[k] {
			kept[i] = t.lines[p.first+k].text
		}
	}
	p.replace = kept
	return f
}

func trimRight(s string) string { return strings.TrimRight(s, " \t\r\f\v") }

func blankLine(s string) bool { return strings.TrimSpace(s) == "" }

func blank(lines []string) bool {
	for _, l := range lines {
		if !blankLine(l) {
			return false
		}
	}
	return true
}

// findLines finds the places where every line of search equals the file's, by same.
func findLines(t text, search []string, d Division, same func(a, b string) bool) finding {
	var f finding
	for i := 0; i+len(search) <= len(t.lines) && len(f.places) < maxPlaces; i++ {
		k := 0
		for k < len(search) && same(t.lines[i+k].text, search[k]) {
			k++
		}
		if k < len(search) {
			continue
		}
		match := MatchExact
		for j, s := range search {
			l := t.lines[i+j]
			if l.text != s || l.eol != "" && (l.eol == "\r\n") != d.CR {
				match = MatchWhitespace
			}
		}
		f.places = append(f.places, place{first: i, last: i + len(search), match: match, replace: d.Replace})
	}
	return f
}

// indentation is the white space that a line begins with.
func indentation(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, " \t"))]
}

// findShifted finds the places where the lines differ by a uniform indentation alone.
func findShifted(t text, search, replace []string) finding {
	var f finding
	for i := 0; i+len(search) <= len(t.lines) && len(f.places) < maxPlaces; i++ {
		if !sameRest(t.lines[i:i+len(search)], search) {
			continue
		}
		s, ok := learnShift(t.lines[i:i+len(search)], search)
		if !ok {
			continue
		}
		fitted, ok := s.apply(replace)
		if !ok {
			f.reason = "SEARCH is indented unlike the file, and REPLACE has lines whose indentation cannot be carried over; " +
				"write both with the file's own indentation"
			fitted = nil
		}
		f.places = append(f.places, place{first: i, last: i + len(search), match: MatchWhitespace, replace: fitted})
	}
	if f.reason != "" && len(f.places) == 1 {
		f.places = nil
	}
	return f
}

// sameRest tells whether the lines are the same but for white space at both ends.
func sameRest(lines []line, search []string) bool {
	for k, s := range search {
		if strings.Trim(lines[k].text, " \t\r\f\v") != strings.Trim(s, " \t\r\f\v") {
			return false
		}
	}
	return true
}

// findNumbered finds a SEARCH whose lines all carry the line numbers with which they were shown.
func findNumbered(t text, d Division) finding {
	for _, sep := range numberSeparators {
		search, ok := stripNumbers(d.Search, sep, true)
		if !ok || blank(search) {
			continue
		}
		f := findLines(t, search, d, func(a, b string) bool { return trimRight(a) == trimRight(b) })
		if len(f.places) == 0 {
			f = findShifted(t, search, search)
		}
		if len(f.places) == 0 {
			continue
		}
		replace, ok := stripNumbers(d.Replace, sep, false)
		if !ok {
			return finding{reason: "SEARCH carries line numbers and REPLACE carries them on some lines only; write both without line numbers"}
		}
		if len(f.places) > 1 {
			return f
		}
		p := &f.places[0]
		if len(search) == 1 && strings.HasPrefix(sep, ":") && !strings.HasPrefix(strings.TrimSpace(d.Search[0]), strconv.Itoa(p.first+1)+":") {
			// A lone `80: http` is as likely a line of its own as one with its number before it.
			return finding{reason: "SEARCH looks like a line with its line number before it, but that line is elsewhere; write it without number"}
		}
		p.match = MatchWhitespace
		s, ok := learnShift(t.lines[p.first:p.last], search)
		if ok {
			p.replace, ok = s.apply(replace)
		}
		if !ok || !s.none() && !numbered(d.Replace, sep) {
			return finding{reason: "SEARCH carries line numbers, and the indentation of REPLACE cannot be told; write both without line numbers"}
		}
		return f
	}
	return finding{}
}

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
	want := squeeze(core)
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
		p.replace, ok = fitAnchored(t.lines[i:end], core, trimBlank(replace, head, len(search)-tail), indented)
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

// fitAnchored fits REPLACE to an anchored place: shifted where the lines differ by a uniform indentation, else as it is where
// indentation has no meaning.
func fitAnchored(lines []line, core, replace []string, indented bool) ([]string, bool) {
	var file []line
	for _, l := range lines {
		if !blankLine(l.text) {
			file = append(file, l)
		}
	}
	var search []string
	for _, s := range core {
		if !blankLine(s) {
			search = append(search, s)
		}
	}
	if len(file) == len(search) {
		if s, ok := learnShift(file, search); ok {
			return s.apply(replace)
		}
	}
	return replace, !indented
}
