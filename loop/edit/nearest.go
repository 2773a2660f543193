package edit

import (
	"fmt"
	"strings"
)

const (
	// nearestLines is how many lines an error shows: a block's surroundings, not a file.
	nearestLines = 7
	// maxCompared bounds the lines that are compared by similarity, longest first where there are more.
	maxCompared = 50_000
	// minSimilarity is the share of common letter pairs from which a line counts as similar.
	minSimilarity = 0.5
)

// explainMissing tells why search was not found in t: the most similar place and the first line that differs there.
func explainMissing(t text, search []string) (string, []Line) {
	at, ok := nearestWindow(t, search)
	if !ok {
		return "SEARCH was not found, nor anything like it; read the file again and copy the lines to replace from it", []Line{}
	}
	k, have := firstDifference(t, search, at)
	center := min(max(at+k, 0), len(t.lines)-1)
	message := fmt.Sprintf("SEARCH was not found; the most similar place begins at line %d", max(at, 0)+1)
	switch {
	case k >= len(search):
		message += ", where only blank lines or line breaks differ"
	case !have:
		message += fmt.Sprintf("; line %d of SEARCH has %q, where the file has ended", k+1, shown(search[k]))
	case strings.TrimSpace(t.lines[at+k].text) == strings.TrimSpace(search[k]):
		message += fmt.Sprintf("; line %d of SEARCH differs from line %d of the file in its white space: the file has %q, SEARCH has %q",
			k+1, at+k+1, shown(t.lines[at+k].text), shown(search[k]))
	case plain(strings.TrimSpace(t.lines[at+k].text)) == plain(strings.TrimSpace(search[k])):
		message += fmt.Sprintf("; line %d of SEARCH differs from line %d of the file in characters that look alike: %s", k+1, at+k+1,
			tellApart(t.lines[at+k].text, search[k]))
	default:
		message += fmt.Sprintf("; line %d of SEARCH differs from line %d of the file: the file has %q, SEARCH has %q",
			k+1, at+k+1, shown(t.lines[at+k].text), shown(search[k]))
	}
	return message + "; copy the lines from the file as they are", around(t, max(at, 0), at+len(search), center)
}

// around returns the lines first to last-1, or those around center where they are too many.
func around(t text, first, last, center int) []Line {
	if last-first > nearestLines {
		first = max(first, center-nearestLines/2)
		last = min(last, first+nearestLines)
	}
	lines := []Line{}
	for i := max(first, 0); i < min(last, len(t.lines)); i++ {
		lines = append(lines, Line{Line: i + 1, Text: shown(t.lines[i].text)})
	}
	return lines
}

// firstDifference returns the first line of search that is not the file's at that place; have is false where the file ends before.
func firstDifference(t text, search []string, at int) (k int, have bool) {
	white := -1
	for k, s := range search {
		if at+k < 0 {
			continue
		}
		if at+k >= len(t.lines) {
			return k, false
		}
		file := t.lines[at+k].text
		if strings.TrimSpace(file) != strings.TrimSpace(s) {
			return k, true
		}
		if white < 0 && trimRight(file) != trimRight(s) {
			white = k
		}
	}
	if white >= 0 {
		return white, true
	}
	return len(search), true
}

// nearestWindow finds where search would begin at the place most similar to it: where most of its lines stand in the same
// distance to each other, else where its longest lines have the most similar line.
func nearestWindow(t text, search []string) (int, bool) {
	index := map[string][]int{}
	for i, l := range t.lines {
		if key := plain(strings.TrimSpace(l.text)); key != "" {
			index[key] = append(index[key], i)
		}
	}
	votes := map[int]int{}
	for k, s := range search {
		key := plain(strings.TrimSpace(s))
		if places := index[key]; key != "" && len(places) <= maxPlaces {
			for _, i := range places {
				votes[i-k] += len(key)
			}
		}
	}
	best, weight := 0, 0
	for at, w := range votes {
		if w > weight || w == weight && at < best {
			best, weight = at, w
		}
	}
	if weight > 0 {
		return best, true
	}
	return similarLine(t, search)
}

// similarLine finds the place by the longest line of search alone.
func similarLine(t text, search []string) (int, bool) {
	longest := 0
	for k, s := range search {
		if len(strings.TrimSpace(s)) > len(strings.TrimSpace(search[longest])) {
			longest = k
		}
	}
	want := pairsOf(search[longest])
	best, score := 0, 0.0
	for i, l := range t.lines[:min(len(t.lines), maxCompared)] {
		// A line less than a third or more than three times as long cannot be similar enough.
		if n := len(l.text); 3*n < len(search[longest]) || n > 3*len(search[longest])+shownText {
			continue
		}
		if s := similarity(want, pairsOf(l.text)); s > score {
			best, score = i, s
		}
	}
	return best - longest, score >= minSimilarity
}

// letterPairs counts the pairs of neighbouring bytes of a line.
type letterPairs struct {
	count map[[2]byte]int
	total int
}

func pairsOf(s string) letterPairs {
	s = strings.TrimSpace(s)
	if len(s) > shownText {
		s = s[:shownText]
	}
	p := letterPairs{count: make(map[[2]byte]int, len(s))}
	for i := 1; i < len(s); i++ {
		p.count[[2]byte{s[i-1], s[i]}]++
		p.total++
	}
	return p
}

// similarity is Dice's coefficient of the two lines' letter pairs, 0 to 1.
func similarity(a, b letterPairs) float64 {
	if a.total+b.total == 0 {
		return 0
	}
	common := 0
	for pair, n := range a.count {
		common += min(n, b.count[pair])
	}
	return 2 * float64(common) / float64(a.total+b.total)
}
