package edit

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// lookalikes are characters that models write for others, or files have where models write the others. They are never taken for each
// other when a block is applied, only in telling why one was not.
var lookalikes = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "′", "'", "“", `"`, "”", `"`, "„", `"`, "″", `"`, "–", "-", "—", "-", "‐", "-", "‑", "-", "−", "-",
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "х", "x", "у", "y", "і", "i", "А", "A", "В", "B", "Е", "E", "К", "K", "М", "M", "Н", "H",
	"О", "O", "Р", "P", "С", "C", "Т", "T", "Х", "X", "ο", "o", "Α", "A", "Ο", "O",
)

// plain is a line with its look-alikes replaced and invisible characters removed.
func plain(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(lookalikes.Replace(norm.NFKC.String(s)))
}

// tellApart names the first character in which two lines that look the same differ.
func tellApart(file, search string) string {
	have, want := []rune(strings.TrimSpace(file)), []rune(strings.TrimSpace(search))
	k := 0
	for k < len(have) && k < len(want) && have[k] == want[k] {
		k++
	}
	return fmt.Sprintf("at character %d of the text the file has %s, SEARCH has %s", k+1, named(have, k), named(want, k))
}

func named(line []rune, k int) string {
	if k >= len(line) {
		return "nothing more"
	}
	return fmt.Sprintf("%q (U+%04X)", line[k], line[k])
}
