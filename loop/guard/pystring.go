package guard

import (
	"path"
	"strings"
)

// quotedLines tells which lines of a Python file begin within a string of three quotes: tests of test tools keep whole test
// files there, and a string that was put around a test takes it out. Other files have none.
func quotedLines(p, text string) []bool {
	lines := strings.Split(text, "\n")
	within := make([]bool, len(lines))
	if path.Ext(p) != ".py" || !strings.Contains(text, `"""`) && !strings.Contains(text, "'''") {
		return within
	}
	open := "" // the quotes of the string that goes on
	for i, line := range lines {
		within[i] = open != ""
		for at := 0; at < len(line); at++ {
			rest := line[at:]
			switch {
			case rest[0] == '\\' && open != "":
				at++
			case open != "":
				if strings.HasPrefix(rest, open) {
					at += len(open) - 1
					open = ""
				}
			case rest[0] == '#':
				at = len(line)
			case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
				open = rest[:3]
				at += 2
			case rest[0] == '"' || rest[0] == '\'':
				open = rest[:1]
			}
		}
		if len(open) == 1 {
			open = "" // a string of one quote ends with its line
		}
	}
	return within
}
