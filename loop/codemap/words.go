package codemap

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIdentifier is the longest identifier in bytes that is indexed: beyond it a run of letters is a hash,
// a key or packed data.
const maxIdentifier = 64

// maxParts bounds the terms of one identifier.
const maxParts = 16

// terms returns the index terms of an identifier: its words in camel, Pascal, snake and acronym spelling,
// lower-cased and stemmed; every two neighbours joined; and the whole joined, so that fileName, file_name and
// FileName are the same term "filename", and "snapshot interval" in a text meets DefaultSnapshotInterval.
// Scripts without spaces between words (Han, kana, Hangul) are cut into pairs of characters.
//
// The first plain terms are words, the others joined.
func terms(identifier string) (list []string, plain int) {
	words := split(identifier)
	switch len(words) {
	case 0:
		return nil, 0
	case 1:
		return []string{stem(words[0])}, 1
	}
	out := make([]string, 0, 2*len(words))
	for _, w := range words {
		if len(w) > 1 || w[0] >= utf8.RuneSelf {
			out = append(out, stem(w))
		}
	}
	plain = len(out)
	for i := range len(words) - 1 {
		out = append(out, pair(words[i], words[i+1]))
	}
	if len(words) > 2 {
		out = append(out, stem(strings.Join(words, "")))
	}
	return out, plain
}

// pair is the term of two words that stand side by side.
func pair(a, b string) string { return stem(a + b) }

// split cuts an identifier into lower-case words.
func split(identifier string) []string {
	var words []string
	start := -1
	var previous rune
	flush := func(end int) {
		if start >= 0 && end > start && len(words) < maxParts {
			words = append(words, strings.ToLower(identifier[start:end]))
		}
		start = -1
	}
	for i, r := range identifier {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r):
			flush(i)
		case unpaced(r):
			// Every character begins a pair with the next one of its kind.
			if start >= 0 && !unpaced(previous) {
				flush(i)
			}
			next, _ := utf8.DecodeRuneInString(identifier[i+utf8.RuneLen(r):])
			if unpaced(next) && len(words) < maxParts {
				words = append(words, identifier[i:i+utf8.RuneLen(r)]+string(next))
			} else if !unpaced(previous) && len(words) < maxParts {
				words = append(words, string(r))
			}
			start = -1
		case start < 0:
			start = i
		case unicode.IsUpper(r) && !unicode.IsUpper(previous):
			flush(i)
			start = i
		case unicode.IsUpper(previous) && unicode.IsLower(r) && i-start > utf8.RuneLen(previous):
			// The last capital of an acronym begins the next word: HTTPServer is http, server.
			last := i - utf8.RuneLen(previous)
			if r == 's' && endsWord(identifier[i+1:]) {
				break // IDs, URLs
			}
			flush(last)
			start = last
		}
		previous = r
	}
	flush(len(identifier))
	return words
}

// endsWord tells whether a word ends where rest begins.
func endsWord(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLower(r)
}

// unpaced tells whether r is of a script that puts no spaces between words.
func unpaced(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// stem takes the commonest English endings off a lower-case word, so that "parses", "parsed" and "parsing"
// meet. It is lighter than Porter's: code is full of words that are names.
func stem(w string) string {
	n := len(w)
	if n < 4 || w[n-1] >= utf8.RuneSelf {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && n > 4:
		w = w[:n-3] + "y"
	case strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "xes"):
		w = w[:n-2]
	case w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		w = w[:n-1]
	}
	n = len(w)
	switch {
	case strings.HasSuffix(w, "ing") && n > 5:
		w = undouble(w[:n-3])
	case strings.HasSuffix(w, "ed") && n > 4:
		w = undouble(w[:n-2])
	}
	if n = len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// undouble drops the consonant that English doubles before an ending: "stopping" is "stop".
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeioulsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// stopWords are words of issues that tell nothing about the place of a fault. Rare words of the trade are
// weighed by their frequency in the tree instead.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a about above after again all also am an and any are as at be because been
		before being below between both but by can cannot could did do does doing don down during each few for from
		further had has have having he her here hers him his how i if in into is it its itself just me more most my
		no nor not now of off on once only or other our out over own s same she should so some such t than that the
		their them then there these they this those through to too under until up very was we were what when where
		which while who whom why will with would you your yours ll ve re d m
		fix fixes fixed bug bugs issue issues problem problems please thanks thank hi hello closes close resolves
		currently instead however since still like makes make made see seems e g eg ie etc via per vs
		signed co authored reviewed pr`) {
		m[w] = true
	}
	return m
}()
