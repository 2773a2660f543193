package edit

import "strings"

// divide chooses the division of the block whose SEARCH matches uniquely, and finds its place. Where there is only one
// division the finding may be anything. It reports the error itself where ok is false.
func (a *applier) divide(b Block, t text, indented bool) (Division, finding, bool) {
	if blank(b.Divisions[0].Search) && len(t.lines) == 0 {
		d := b.Divisions[0]
		return d, finding{places: []place{{match: MatchExact, replace: d.Replace}}}, true
	}
	if len(b.Divisions) == 1 {
		d := b.Divisions[0]
		if blank(d.Search) {
			a.overwrites(b)
			return d, finding{}, false
		}
		return d, find(t, d, indented), true
	}
	var chosen Division
	var found finding
	matching := 0
	for _, d := range b.Divisions {
		if f := find(t, d, indented); f.unique() {
			chosen, found = d, f
			matching++
		}
	}
	if matching == 0 && blank(b.Divisions[0].Search) && len(b.Divisions[0].Search) == 0 {
		a.overwrites(b)
		return chosen, found, false
	}
	if matching == 1 && cutShort(t, b.Divisions, chosen, found.places[0]) {
		matching = 2 // the longer SEARCH was meant, and copied wrongly
	}
	if matching != 1 {
		a.fail(b, KindMalformed, "the block on line %d of the reply has %d lines that look like its divider, and cut at %d of them its SEARCH "+
			"matches one place of the file; give the block's markers a length, 5 to 9 characters, that no line of its content has",
			b.Line, len(b.Divisions), matching)
		return chosen, found, false
	}
	return chosen, found, true
}

// cutShort tells whether the file goes on after the place as chosen's block does: with the divider, which then belongs to SEARCH.
func cutShort(t text, divisions []Division, chosen Division, at place) bool {
	last := divisions[len(divisions)-1]
	k := len(chosen.Search)
	return k < len(last.Search) && at.last < len(t.lines) && strings.TrimSpace(t.lines[at.last].text) == strings.TrimSpace(last.Search[k])
}

// withoutMark returns the divisions without the byte order mark that a reply copied from the head of a file that has one: it is kept,
// and no part of the first line. Where the file has none, a REPLACE may still add one that SEARCH has not.
func withoutMark(divisions []Division, t text) []Division {
	var cut []Division
	for _, d := range divisions {
		if t.bom != "" || len(d.Search) > 0 && strings.HasPrefix(d.Search[0], byteOrderMark) {
			d.Search, d.Replace = trimMark(d.Search), trimMark(d.Replace)
		}
		cut = append(cut, d)
	}
	return cut
}

func trimMark(lines []string) []string {
	if len(lines) == 0 || !strings.HasPrefix(lines[0], byteOrderMark) {
		return lines
	}
	return append([]string{strings.TrimPrefix(lines[0], byteOrderMark)}, lines[1:]...)
}
