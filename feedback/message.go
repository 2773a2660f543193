package feedback

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of texts in a report, in characters. A message of 200 to 500 characters is what a model reads well; the
// limit leaves room for a last whole line.
const (
	maxMessage = 560
	maxID      = 400
	maxPath    = 1000
	maxValue   = 300
	maxSummary = 300
	minMessage = 200 // messages are shortened to this when the budget is short
)

// tidyLine makes text fit for a single line of a report: valid, printable, one line, at most limit characters.
func tidyLine(text string, limit int) string {
	text = printable(text)
	if strings.ContainsAny(text, "\n\t") {
		text = strings.Join(strings.Fields(text), " ")
	}
	return strings.Clone(clipMiddle(strings.TrimSpace(text), limit))
}

// tidyMessage cleans a message of many lines, takes off common indentation and blank lines, and shortens it.
func tidyMessage(text string) string {
	text = printable(text)
	lines := strings.Split(text, "\n")
	out := lines[:0]
	for _, l := range lines {
		l = strings.TrimRightFunc(l, unicode.IsSpace)
		if l != "" {
			out = append(out, l)
		}
	}
	if len(out) > 0 {
		out[0] = strings.TrimLeft(out[0], " \t")
	}
	return clipLines(dedent(out), maxMessage)
}

func tidyValue(v *string) *string {
	if v == nil {
		return nil
	}
	t := clipMiddle(printable(strings.TrimSpace(*v)), maxValue)
	return &t
}

// told makes an expected or actual value.
func told(v string) *string { return &v }

// printable replaces what is not UTF-8 and drops control characters except newline and tab.
func printable(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return -1
		}
		return r
	}, s)
}

// dedent removes the indentation that all lines share; the first line does not count when it has none.
func dedent(lines []string) []string {
	if len(lines) == 0 {
		return lines
	}
	rest := lines
	if len(lines) > 1 && indent(lines[0]) == 0 {
		rest = lines[1:]
	}
	least := -1
	for _, l := range rest {
		if n := indent(l); least < 0 || n < least {
			least = n
		}
	}
	if least <= 0 {
		return lines
	}
	if len(rest) < len(lines) && least > 2 {
		least -= 2 // continuation lines stay recognisable under an unindented first line
	} else if len(rest) < len(lines) {
		return lines
	}
	for i := range rest {
		rest[i] = rest[i][least:]
	}
	return lines
}

// indent counts the blanks and tabs at the start of a line.
func indent(l string) int {
	n := 0
	for n < len(l) && (l[n] == ' ' || l[n] == '\t') {
		n++
	}
	return n
}

// clipLines joins lines within limit characters. The first line and the ones that carry values are kept; lines
// are left out from the end and, where a single line is too long, from its middle.
func clipLines(lines []string, limit int) string {
	text := strings.Join(lines, "\n")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	const most = 240 // of one line in a message that is too long
	keep := make([]bool, len(lines))
	short := make([]string, len(lines))
	size := 0
	take := func(i int) {
		if keep[i] {
			return
		}
		if n := utf8.RuneCountInString(short[i]) + 1; size+n <= limit-4 {
			keep[i], size = true, size+n
		}
	}
	for i, l := range lines {
		short[i] = clipMiddle(l, most)
	}
	if len(lines) == 1 {
		return clipMiddle(lines[0], limit)
	}
	take(0)
	for i, l := range lines {
		if essential.MatchString(l) {
			take(i)
		}
	}
	for i := range lines {
		take(i)
	}
	var b strings.Builder
	gap := false
	for i := range lines {
		if !keep[i] {
			gap = true
			continue
		}
		if gap {
			b.WriteString("…\n")
			gap = false
		}
		b.WriteString(short[i])
		b.WriteByte('\n')
	}
	if gap {
		b.WriteString("…")
	}
	return clipMiddle(strings.TrimRight(b.String(), "\n"), limit)
}

// essential finds lines of a message that carry what must survive shortening.
var essential = newPattern(`(?i)^\s*([-+] ?\S|E  |>  |(expected|received|actual|got|want|wanted|have|error|caused by|panic|left|right)\b)|\b[A-Z]\w*(Error|Exception)\b|error[: \[]|!==?|===?`)

// clipMiddle shortens text to limit characters, taking out the middle, where least is said.
func clipMiddle(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	r := []rune(text)
	head := (limit - 1) * 2 / 3
	tail := limit - 1 - head
	return string(r[:head]) + "…" + string(r[len(r)-tail:])
}

// firstLine is the first line of text that says something.
func firstLine(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return ""
}

// plural is "1 test", "2 tests".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
