package syntax

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Macros give C and C++ a syntax of their own that only the preprocessor knows. These match what it usually looks like.
var (
	// A call on a line of its own, without semicolon, perhaps before a block: FOREACH(a, b) { or MODULE_LICENSE("GPL")
	macroCall = regexp.MustCompile(`^\s*[A-Za-z_]\w*\s*\(.*\)\s*\{?\s*(?:/[/*].*)?$`)
	// A line that a macro may end in the middle of a declaration.
	macroLine = regexp.MustCompile(`^\s*(?:[A-Za-z_]\w*\s*\(.*\)|[A-Z][A-Z0-9_]{2,}.*[^;{}])\s*$`)
	// A word in capitals, or with leading underscores: EXPORT_API, __init
	macroWord = regexp.MustCompile(`\b(?:[A-Z][A-Z0-9_]{2,}|__[a-z_]+|[a-z]+_[A-Z_]{3,})\b`)
)

// worseC is Worse for C and C++, whose files the grammar can often not read for their macros. Where it could not read the file
// before, brackets alone count; in a new file, brackets and what is plainly missing.
func worseC(lang Language, before, after []byte) (bool, Problem) {
	if len(after) > MaxSource {
		return false, Problem{}
	}
	if now := unpaired(after); len(now) > len(unpaired(before)) {
		return true, now[0]
	}
	if ok, _ := Check(lang, before); !ok {
		return false, Problem{}
	}
	_, now := Check(lang, after)
	for _, p := range now {
		if before != nil || strings.HasPrefix(p.Text, "missing ") {
			return true, p
		}
	}
	return false, Problem{}
}

// unmasked drops the problems of a C or C++ text that may be due to macros, and adds brackets that do not pair, which no
// macro excuses.
func unmasked(problems []Problem, src []byte) []Problem {
	all := strings.Split(string(src), "\n")
	kept := unpaired(src)
	for _, p := range problems {
		l := ""
		if p.Line <= len(all) {
			l = all[p.Line-1]
		}
		if p.Line > 1 && p.Line <= len(all) && macroLine.MatchString(all[p.Line-2]) {
			continue // what a macro begins on the line before
		}
		missing, isMissing := strings.CutPrefix(p.Text, "missing ")
		switch {
		case isMissing && strings.HasPrefix(missing, "#"):
			// Conditionals may stand anywhere; the grammar wants them around whole statements.
		case isMissing && missing == ";" && (macroCall.MatchString(l) || macroWord.MatchString(l)):
		case !isMissing && (macroWord.MatchString(l) || macroWord.MatchString(p.Text) || strings.HasPrefix(strings.TrimSpace(l), "#")):
		default:
			kept = append(kept, p)
		}
	}
	return kept
}

// unpaired finds the first bracket without its partner, outside of comments, literals and preprocessor lines. Of the branches of
// a conditional only the first counts, since each may open what the code below closes.
func unpaired(src []byte) []Problem {
	type opened struct {
		bracket byte
		at      int
	}
	var stack []opened
	fault := func(at int, text string) []Problem {
		line, column := position(src, at)
		return []Problem{{Line: line, Column: column, Text: text}}
	}
	skip := 0 // conditionals entered since a branch that does not count
	fresh := true
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '\n':
			fresh = true
			continue
		case c == ' ' || c == '\t' || c == '\r':
			continue
		case c == '#' && fresh:
			end := lineEnd(src, i)
			skip = conditional(strings.TrimSpace(string(src[i+1:end])), skip)
			i = end - 1
			continue
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			i = lineEnd(src, i) - 1
			continue
		case c == '/' && i+1 < len(src) && src[i+1] == '*':
			end := bytes.Index(src[i+2:], []byte("*/"))
			if end < 0 {
				return fault(i, "comment without end")
			}
			i += end + 3
			continue
		case c == '"' && i > 0 && src[i-1] == 'R':
			i = rawEnd(src, i)
			continue
		case c == '"' || c == '\'' && !(i > 0 && isHex(src[i-1]) && i+1 < len(src) && isHex(src[i+1])):
			i = literalEnd(src, i)
			continue
		}
		fresh = false
		if skip > 0 {
			continue
		}
		switch c {
		case '(', '[', '{':
			stack = append(stack, opened{c, i})
		case ')', ']', '}':
			if len(stack) == 0 || !pair(stack[len(stack)-1].bracket, c) {
				return fault(i, fmt.Sprintf("unexpected %q", c))
			}
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) > 0 {
		last := stack[len(stack)-1]
		return fault(last.at, fmt.Sprintf("%q without its partner", last.bracket))
	}
	return nil
}

func pair(open, end byte) bool {
	return open == '(' && end == ')' || open == '[' && end == ']' || open == '{' && end == '}'
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// conditional follows a preprocessor line: how deep the text below is in branches that do not count.
func conditional(directive string, skip int) int {
	switch {
	case strings.HasPrefix(directive, "if"):
		if skip > 0 || strings.TrimSpace(strings.TrimPrefix(directive, "if")) == "0" {
			return skip + 1
		}
	case strings.HasPrefix(directive, "el") && skip == 0:
		return 1
	case strings.HasPrefix(directive, "endif") && skip > 0:
		return skip - 1
	}
	return skip
}

// lineEnd is where the line of src[i] ends, lines continued by a backslash included.
func lineEnd(src []byte, i int) int {
	for ; i < len(src); i++ {
		if src[i] == '\n' && !(i > 0 && src[i-1] == '\\' || i > 1 && src[i-1] == '\r' && src[i-2] == '\\') {
			return i
		}
	}
	return len(src)
}

// literalEnd is the last byte of the string or character that begins at i; it ends at the line's end at the latest.
func literalEnd(src []byte, i int) int {
	for j := i + 1; j < len(src); j++ {
		switch src[j] {
		case '\\':
			j++
		case '\n':
			return j - 1
		case src[i]:
			return j
		}
	}
	return len(src) - 1
}

// rawEnd is the last byte of the raw string whose quotation mark is at i.
func rawEnd(src []byte, i int) int {
	open := bytes.IndexByte(src[i:], '(')
	if open < 0 {
		return literalEnd(src, i)
	}
	mark := ")" + string(src[i+1:i+open]) + "\""
	end := bytes.Index(src[i+open:], []byte(mark))
	if end < 0 {
		return literalEnd(src, i)
	}
	return i + open + end + len(mark) - 1
}
