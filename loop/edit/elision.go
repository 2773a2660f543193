package edit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// leftOut is the error for a REPLACE with an elision.
const leftOut = "REPLACE has the line %q, which stands for code that was left out and would be lost; write the lines in full, or make " +
	"SEARCH and REPLACE smaller, so that the code that stays is in neither"

var (
	// comment is a line that holds a comment alone, in the ways of most languages, or a remark in brackets.
	comment = regexp.MustCompile(`^\s*(?://+|#+|--+|;+|%+|/\*+|\{/\*+|<!--|\*|"|\[|\(|<)\s*(.*?)\s*(?:\*+/\}?|-->|\]|\)|>)?\s*$`)
	dots    = regexp.MustCompile(`\.{3,}|…`)
	// omission are the words that elisions are made of. Those without dots must say that something stays.
	omission = regexp.MustCompile(`(?i)\b(?:(?:existing|remaining|rest of|other|previous|original|unchanged|same)\b.*\b(?:code|file|class|functions?|methods?|` +
		`body|implementations?|logic|imports?|contents?|tests?|fields?|cases|props|config(?:uration)?|definitions?|routes|styles)|unchanged|omitted|` +
		`as before|same as (?:above|before)|for brevity)\b`)
	staying = regexp.MustCompile(`(?i)^(?:the )?(?:rest|remainder)(?: of (?:the |this )?[\w ]+?)?(?: (?:is|are))?(?: (?:remains?|stays?))?(?: the)? (?:unchanged|same|as before|as is|here)\b|` +
		`^(?:the )?(?:existing|remaining|previous) (?:code|implementation|logic|methods|functions|imports|content)(?: (?:is|stays?|remains?))? (?:unchanged|the same|as before|as is|here|goes here)\b|` +
		`^(?:(?:the )?(?:existing|remaining|unchanged) code|unchanged)$`)
)

// maxElision is the number of words up to which a comment is looked at: what says more is a sentence about something.
const maxElision = 10

// elided returns a line of REPLACE that stands for code left out, as in "// ... existing code ...". A line that SEARCH has too is the
// file's own.
func elided(p string, d Division) string {
	ext := strings.ToLower(path.Ext(p))
	prose := slices.Contains([]string{".md", ".mdx", ".rst", ".adoc", ".txt"}, ext)
	loses := slices.ContainsFunc(d.Search, func(l string) bool { return !blankLine(l) && !slices.Contains(d.Replace, l) })
	for i, l := range d.Replace {
		if slices.Contains(d.Search, l) {
			continue
		}
		if ext == ".py" && loses && strings.TrimSpace(l) == "..." && beside(d.Replace, i) {
			return l
		}
		m := comment.FindStringSubmatch(l)
		if m == nil || len(strings.Fields(m[1])) > maxElision {
			continue
		}
		said := strings.Trim(dots.ReplaceAllString(m[1], " "), " .:()[]-")
		switch {
		case dotted(m[1]) && omission.MatchString(said), !prose && staying.MatchString(said):
			return l
		case dotted(m[1]) && said == "" && loses && !prose:
			return l
		}
	}
	return ""
}

func dotted(remark string) bool {
	for _, dots := range []string{"...", "…"} {
		if strings.HasPrefix(remark, dots) || strings.HasSuffix(remark, dots) {
			return true
		}
	}
	return false
}

// beside tells whether the line before or after line i is a statement of the same indentation: `...` as a body of Python stands alone,
// below a documentation string at most.
func beside(lines []string, i int) bool {
	same := func(k int) bool {
		return k >= 0 && k < len(lines) && !blankLine(lines[k]) && indentation(lines[k]) == indentation(lines[i])
	}
	return same(i+1) || same(i-1) && !strings.HasSuffix(trimRight(lines[i-1]), `"""`) && !strings.HasSuffix(trimRight(lines[i-1]), "'''")
}
