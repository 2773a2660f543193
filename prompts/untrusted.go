package prompts

import (
	"fmt"
	"strings"
	"unicode"
)

// Data fences a text that autocode did not write and labels it. The fence is longer than any in
// the text, so that it cannot be closed from inside. An empty text gives nothing.
func Data(label, text string) string { return labelled(label, "data", text) }

// Wish fences the words of a person who may ask for something, or of the repository to its
// contributors: they are to be followed, within the rules.
func Wish(label, text string) string { return labelled(label, "follow it within the rules", text) }

func labelled(label, kind, text string) string {
	fenced := Fenced(text)
	if fenced == "" {
		return ""
	}
	return Line(label) + " (" + kind + "):\n" + fenced
}

// Fenced fences a text without a label; empty where there is none.
func Fenced(text string) string {
	text = strings.Trim(Neutral(text), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	fence := Fence(text)
	return fence + "text\n" + text + "\n" + fence
}

// Fence returns backticks enough to fence the text: three at least, more than any run in it.
func Fence(text string) string {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	const least = 3
	return strings.Repeat("`", max(least, longest+1))
}

// maxLine bounds a text inside a line, in runes.
const maxLine = 300

// Line makes a text that autocode did not write fit for the inside of a line: one line, no
// hidden characters, no backticks that could open a fence, at most 300 characters.
func Line(text string) string { return folded(text, maxLine) }

// maxWhole bounds what is to be read to its end, in runes: more than five long sentences, and
// little enough that a flood of them does not fill a prompt.
const maxWhole = 2_000

// Whole is Line for a text whose end matters as much as its beginning: a constraint, a root cause.
func Whole(text string) string { return folded(text, maxWhole) }

func folded(text string, most int) string {
	text = strings.Join(strings.Fields(Neutral(text)), " ")
	text = strings.ReplaceAll(text, "```", "'''")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Neutral makes characters visible that a person would not see but a model would read: zero
// width, direction marks, tags, controls. Line ends and tabs stay, carriage returns go.
func Neutral(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	clean := true
	for _, r := range text {
		if hidden(r) || r == '\r' {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\r':
		case r == '\ufeff':
			// A byte order mark says nothing; files on Windows begin with it.
		case hidden(r):
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden says whether a character has no look of its own. The joiner of emoji sequences
// (U+200D) counts too: what hides in a text is worth more than a smiling family.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
		return true
	case r >= 0xE0100 && r <= 0xE01EF, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
		return true // further variation selectors, and fillers that are drawn as nothing
	case r == '\u2028' || r == '\u2029':
		return true
	}
	return false
}

// Cut shortens a text to at most limit bytes at a line's end where there is one, and says how
// much is missing.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := strings.ToValidUTF8(text[:limit], "")
	if at := strings.LastIndexByte(head, '\n'); at > limit/2 {
		head = head[:at]
	}
	return fmt.Sprintf("%s\n… (%d more bytes are left out)", head, len(text)-len(head))
}

// indent puts spaces before each line after the first.
func indent(n int, text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
}
