package verify

import (
	"regexp"
	"slices"
	"strings"
)

// splitAnd divides a text at each && that stands outside quotes and brackets.
func splitAnd(text string) []string {
	var parts []string
	quote, depth, from := rune(0), 0, 0
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '&' && depth == 0 && i >= from && strings.HasPrefix(text[i:], "&&"):
			parts = append(parts, text[from:i])
			from = i + len("&&")
		}
	}
	parts = append(parts, text[from:])
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if slices.ContainsFunc(parts, func(p string) bool {
		return strings.HasPrefix(p, "cd ") || strings.HasPrefix(p, "export ") || looseEnd.MatchString(p)
	}) {
		return []string{strings.TrimSpace(text)} // the parts depend on each other
	}
	return parts
}

// looseEnd finds what binds a part to its neighbours otherwise than by &&.
var looseEnd = regexp.MustCompile(`(?:^|\s)\|\|(?:\s|$)|;|(?:^|\s)&(?:\s|$)`)

// shellWords divides a command at white space outside quotes; the quotes stay.
func shellWords(text string) []string {
	var words []string
	quote, from := rune(0), -1
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == ' ' || c == '\t' || c == '\n':
			if from >= 0 {
				words, from = append(words, text[from:i]), -1
			}
			continue
		case c == '"' || c == '\'':
			quote = c
		}
		if from < 0 {
			from = i
		}
	}
	if from >= 0 {
		words = append(words, text[from:])
	}
	return words
}

// unquote takes the quotes around a word away, those that JSON made necessary included.
func unquote(word string) string {
	for _, q := range []string{`"`, `'`, `\"`} {
		if len(word) >= 2*len(q) && strings.HasPrefix(word, q) && strings.HasSuffix(word, q) {
			return word[len(q) : len(word)-len(q)]
		}
	}
	return word
}
