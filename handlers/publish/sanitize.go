package publish

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/seed-7a986423/autocode/loop"
)

// Sanitize makes a text safe to post (security.md, rule 9 and cases 91–100): no mention notifies,
// no keyword closes, no image loads, no HTML renders, no line commands a bot, nothing is hidden,
// every fence is closed, and it is at most limit characters, whole lines. It is idempotent.
//
// Code stays code, and only there may `<` and `@` stand as they were. What counts as code must be
// exactly what GitHub takes for it, else a mention hides from us in what only looks like code. So
// fences count at the beginning of a line only, where no list or quote can end them early, and code
// spans within one line only; every other backtick is escaped. Keywords and directives are broken in
// code as well: a pull request's body becomes the message of a squashed commit, which has no code.
func Sanitize(text string, limit int) string {
	text = visible(text)
	var out []string
	fence, keyword := "", false
	for _, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > mostLine {
			line = short(line, mostLine)
		}
		switch {
		case fence == "":
			if fence = openFence(line); fence != "" {
				line = fence + language(line[len(fence):])
			} else {
				line = bareCommand.ReplaceAllString(safeLine(line), "$1· $2")
			}
		case closesFence(line, fence):
			fence = ""
		default:
			line = bareCommand.ReplaceAllString(lineCommand.ReplaceAllString(line, " $0"), "$1· $2")
		}
		if keyword {
			line = leadingRef.ReplaceAllString(line, "$1# $2") // its keyword stands at the end of the line above
		}
		line = inert(line)
		if strings.TrimSpace(line) != "" {
			keyword = trailingKeyword.MatchString(line)
		}
		out = append(out, line)
	}
	return limited(out, limit)
}

// mostLine bounds one line; longer ones are cut.
const mostLine = 4000 // characters

// visible removes what a reader cannot see.
func visible(text string) string { return loop.Visible(text) }

// fenceLine matches a line that opens a fence: at its very beginning, in a list or quote it would
// have to be indented. The info string of backticks holds no backtick.
var fenceLine = regexp.MustCompile("^(?:(`{3,})[^`]*|(~{3,}).*)$")

// openFence is the fence that a line opens, "" where it opens none.
func openFence(line string) string {
	m := fenceLine.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

var plainLanguage = regexp.MustCompile(`^[A-Za-z0-9+#_-]{1,20}$`)

// rendered are the languages that GitHub draws instead of showing them, or acts upon.
var rendered = map[string]bool{"mermaid": true, "geojson": true, "topojson": true, "stl": true, "math": true, "suggestion": true}

// language is what may stand behind an opening fence.
func language(info string) string {
	info = strings.TrimSpace(info)
	if !plainLanguage.MatchString(info) || rendered[strings.ToLower(info)] {
		return ""
	}
	return info
}

// closesFence says whether a line closes a fence, as CommonMark 0.31.2 section 4.5 has it.
func closesFence(line, fence string) bool {
	const mostIndent = 3
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > mostIndent {
		return false
	}
	rest = strings.TrimRight(rest, " \t")
	return len(rest) >= len(fence) && strings.Trim(rest, fence[:1]) == ""
}

// safeLine treats the parts of a line that are not code, reading it as CommonMark does: a backslash
// makes the next mark a plain character, a run of backticks opens a span where a run of the same
// length follows.
func safeLine(line string) string {
	var b, plain strings.Builder
	flush := func() {
		b.WriteString(safeText(plain.String()))
		plain.Reset()
	}
	for i := 0; i < len(line); {
		switch {
		case line[i] == '\\' && i+1 < len(line) && isMark(line[i+1]):
			plain.WriteString(line[i : i+2])
			i += 2
		case line[i] == '`':
			end := i
			for end < len(line) && line[end] == '`' {
				end++
			}
			mark := line[i:end]
			length := closing(line[end:], mark)
			if length < 0 {
				// It could be closed by a later line.
				plain.WriteString(strings.Repeat("\\`", len(mark)))
				i = end
				continue
			}
			flush()
			content := line[end : end+length]
			if strings.Contains(content, "|") {
				content = safeText(content) // in a table the span ends at the bar
			}
			b.WriteString(mark + content + mark)
			i = end + length + len(mark)
		default:
			plain.WriteByte(line[i])
			i++
		}
	}
	flush()
	return slash.ReplaceAllString(b.String(), `$1\$2`)
}

// isMark says whether a backslash before it has a meaning in Markdown: ASCII punctuation.
func isMark(c byte) bool {
	return c > ' ' && c < 0x7f && !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
}

// closing finds the run of backticks that closes a code span; -1 where there is none.
func closing(text, mark string) int {
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		j := i
		for j < len(text) && text[j] == '`' {
			j++
		}
		if j-i == len(mark) {
			return i
		}
		i = j
	}
	return -1
}

var (
	entity     = regexp.MustCompile(`&(#|[A-Za-z][A-Za-z0-9]*;)`)
	link       = regexp.MustCompile(`(?i)\]\((\s*)(?:$|([a-z][a-z0-9+.-]*)\s*:)`)
	scheme     = regexp.MustCompile(`(?i)\b(javascript|vbscript)(\s*):`)
	definition = regexp.MustCompile(`^((?:[ \t]|[-*+>]|\d+[.)])*\[[^\]]*\]):`)
	tildes     = regexp.MustCompile(`^((?:[ \t]|[-*+>]|\d+[.)])*)(~~~)`)
	slash      = regexp.MustCompile(`^((?:[ \t]|[-*+>]|\d+[.)])*)(/[A-Za-z])`)
	// In a fence nothing is rendered, but bots read the source.
	lineCommand = regexp.MustCompile(`^(?:/[A-Za-z]|@[A-Za-z0-9])`)

	ciDirective = regexp.MustCompile(`(?i)\[[\s\p{Z}]*((?:skip|no)[\s\p{Z}_-]+[a-z]+|[a-z]+[\s\p{Z}_-]+skip)[\s\p{Z}]*\]|\*\*\*(NO_CI)\*\*\*`)
	// bareCommand is a line that bots obey without a slash or mention before it.
	bareCommand = regexp.MustCompile(`(?i)^(\s*)((?:bors|homu|rultor|jenkins|buildbot)\b[ ,:]|(?:re-?test|test|rebuild|retry) this,? please\b|ok to test\b|add to whitelist\b|re-?check\b)`)
	trailer     = regexp.MustCompile(`(?i)^(\s*(?:[a-z]+(?:-[a-z]+)*-(?:by|to)|skip-checks|change-id|cc))(:)`)
)

// reference is an issue or pull request: #1, owner/repo#1, GH-1, or its address.
const reference = `(?:[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)?#\d|GH-\d|https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:issues|pull)/\d`

var (
	// Between keyword and reference GitHub ignores a colon and space; emphasis, brackets and escapes
	// vanish when the text is rendered.
	closer          = regexp.MustCompile(`(?i)\b((?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[^A-Za-z0-9#/\n]{1,12})(` + reference + `)`)
	trailingKeyword = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[^A-Za-z0-9#/]{0,12}$`)
	leadingRef      = regexp.MustCompile(`^([^A-Za-z0-9#/]{0,12}(?:[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)?)#(\d)`)
	foreignRef      = regexp.MustCompile(`([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)#(\d)`)
)

// safeText neutralises what GitHub would render or act upon in running text. Everything is broken by
// a character in between, never wrapped: what is put around a text can be undone by what stands beside it.
func safeText(text string) string {
	text = entity.ReplaceAllStringFunc(text, func(found string) string {
		switch found {
		case "&lt;", "&gt;", "&amp;", "&quot;":
			return found
		}
		return "&amp;" + found[1:]
	})
	text = strings.ReplaceAll(text, "<", "&lt;")
	text = strings.ReplaceAll(text, "![", "! [")
	text = link.ReplaceAllStringFunc(text, func(found string) string {
		m := link.FindStringSubmatch(found)
		switch strings.ToLower(m[2]) {
		case "http", "https", "mailto":
			return found
		}
		return "] (" + found[len("]("):]
	})
	text = scheme.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, " :") {
			return found
		}
		return strings.TrimSuffix(found, ":") + " :"
	})
	text = definition.ReplaceAllString(text, "$1 :")
	text = tildes.ReplaceAllString(text, `$1\$2`)
	return mentions(text)
}

// mentions breaks every @ that may begin a name. Within an address it follows a letter or digit.
func mentions(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		b.WriteByte(text[i])
		if text[i] == '@' && i+1 < len(text) && isWord(text[i+1]) && (i == 0 || !isWord(text[i-1])) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func isWord(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// inert breaks what GitHub reads from the source, in code too: closing keywords, references to other
// repositories, directives to CI, trailers.
func inert(line string) string {
	line = closer.ReplaceAllStringFunc(line, func(found string) string {
		m := closer.FindStringSubmatch(found)
		switch ref := m[2]; {
		case strings.Contains(ref, "#"):
			return m[1] + strings.Replace(ref, "#", "# ", 1)
		case strings.HasPrefix(strings.ToUpper(ref), "GH-"):
			return m[1] + ref[:2] + " " + ref[3:]
		default:
			return m[1] + "the issue at " + ref
		}
	})
	line = foreignRef.ReplaceAllString(line, "$1# $2")
	line = ciDirective.ReplaceAllString(line, "($1$2)")
	return trailer.ReplaceAllString(line, "$1 $2")
}

// safeTitle makes a text safe as a title, in which GitHub renders code spans only, and which becomes
// the first line of a squashed commit.
func safeTitle(text string) string {
	return strings.Join(strings.Fields(inert(mentions(visible(text)))), " ")
}

// limited joins lines up to a limit of characters; open fences are closed, and what is left out is
// said.
func limited(lines []string, limit int) string {
	const reserve = 120 // characters for the closing words
	var b strings.Builder
	used, fence := 0, ""
	for i, line := range lines {
		n := utf8.RuneCountInString(line) + 1
		if used+n > limit-reserve && (i < len(lines)-1 || used+n > limit-len(fence)-1) {
			if fence != "" {
				b.WriteString(fence + "\n")
			}
			if note := fmt.Sprintf("\n(%d more lines are left out here)", len(lines)-i); used+len(fence)+1+len(note) <= limit {
				b.WriteString(note)
			}
			return strings.TrimRight(b.String(), "\n")
		}
		used += n
		b.WriteString(line + "\n")
		switch {
		case fence == "":
			fence = openFence(line)
		case closesFence(line, fence):
			fence = ""
		}
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
