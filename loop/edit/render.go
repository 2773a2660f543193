package edit

import (
	"fmt"
	"strings"
)

// markerLengths are tried in this order, the customary one first.
var markerLengths = []int{7, 9, 8, 6, 5}

// Render writes a block in its canonical form: the path, then the block, with markers of a length that no line of the content
// has. An empty search creates the file. It fails where the content leaves no length.
func Render(path, search, replace string) (string, error) {
	for _, n := range markerLengths {
		if taken(search, n) || taken(replace, n) {
			continue
		}
		return fmt.Sprintf("%s\n%s SEARCH\n%s%s\n%s%s REPLACE\n", path, strings.Repeat("<", n), closedText(search),
			strings.Repeat("=", n), closedText(replace), strings.Repeat(">", n)), nil
	}
	return "", fmt.Errorf("render the block for %s: its content has lines like markers of every length from %d to %d; split it", path, minMarker, maxMarker)
}

// taken tells whether a line of text could be read as a marker of n characters.
func taken(text string, n int) bool {
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimSpace(l)
		for _, c := range []string{"<", "=", ">"} {
			if rest := strings.TrimLeft(l, c); len(l)-len(rest) == n {
				return true
			}
		}
	}
	return false
}

func closedText(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
