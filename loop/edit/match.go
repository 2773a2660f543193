package edit

import (
	"slices"
	"strconv"
	"strings"
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
	unit := units(t, search, replace)
	for i := 0; i+len(search) <= len(t.lines) && len(f.places) < maxPlaces; i++ {
		if !sameRest(t.lines[i:i+len(search)], search) {
			continue
		}
		s, ok := learnShift(t.lines[i:i+len(search)], search, unit)
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
		s, ok := learnShift(t.lines[p.first:p.last], search, units(t, search, replace))
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
