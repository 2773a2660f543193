package agent

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// header is what precedes the blocks of a reply: why, and which files.
type header struct {
	rootCause string
	files     []string
	why       map[string]string // by path
	remarks   map[int]loop.RemarkReply
}

var (
	causeLine = regexp.MustCompile(`(?i)^[\s*_#>]*(?:\d+[.)]\s*)?[*_]*(?:the )?root[ _-]?cause(?: analysis)?[\s*_]*[:：][\s*]*(?:_{1,2}[\s*]+)?(.*)$`)
	filesLine = regexp.MustCompile(`(?i)^[\s*_#>]*(?:\d+[.)]\s*)?[*_]*files(?: to (?:change|modify|edit)| changed| modified)?[\s*_]*[:：][\s*_]*(.*)$`)
	// causeHead and filesHead are the same as headings or alone in bold, where the colon is left out.
	causeHead = regexp.MustCompile(`(?i)^\s*(?:#{1,6}\s*[*_]*|[*_]{2,})(?:\d+[.)]\s*)?(?:the )?root[ _-]?cause(?: analysis)?[\s*_]*$`)
	filesHead = regexp.MustCompile(`(?i)^\s*(?:#{1,6}\s*[*_]*|[*_]{2,})(?:\d+[.)]\s*)?files(?: to (?:change|modify|edit)| changed| modified)?[\s*_]*$`)
	heading   = regexp.MustCompile(`^\s*#{1,6}\s`)
	fenceLine = regexp.MustCompile("^\\s*(```|~~~)")
	// pathLine is a path as it stands before a block, decorated or not.
	pathLine = regexp.MustCompile("(?i)^(?:file:\\s*)?[*`#\\s]*[^\\s*`]*[./][^\\s*`]*[*`:\\s]*$")
	// ruler is the line between the head of a table and its rows.
	ruler  = regexp.MustCompile(`^\s*\|[\s:|-]+$`)
	bullet = regexp.MustCompile(`^\s*(?:[-*•+]\s+|\d+[.)]\s+)?`)
	// remarkLine is what is said about one remark of a review, as "REMARK 2: not done: why".
	remarkLine = regexp.MustCompile(`(?i)^[\s*_#>-]*remark[ _-]?#?(\d{1,3})[\s*_]*[:：–—-]+[\s*_]*(not[ _-]?done|done|won'?t do|declined|fixed|addressed)\b[\s*_]*[:：.,;–—-]*[\s*_]*(?:because[\s:]+)?(.*)$`)
	marker     = regexp.MustCompile(`^\s*<{5,9}`)
	separator  = regexp.MustCompile(`\s+[-–—]+\s+|\s*[:：]\s+|\s+\(|\t|\s+#\s+|\s+[-–—]{2}`)
)

// parseHeader reads ROOT CAUSE and FILES of a reply, as models write them: bold, as headings, on
// one line or several, with bullets, backticks and reasons.
func parseHeader(reply string) header {
	h := header{why: map[string]string{}, remarks: remarksIn(reply)}
	var cause []string
	const (
		outside = iota
		inCause
		inFiles
	)
	part := outside
	for _, line := range strings.Split(reply, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if marker.MatchString(line) {
			cause = withoutPath(cause)
			break
		}
		if remarkLine.MatchString(line) {
			part = outside
			continue
		}
		switch {
		case causeHead.MatchString(line):
			part = inCause
			continue
		case filesHead.MatchString(line):
			part = inFiles
			continue
		case heading.MatchString(line) && part == inCause && len(cause) > 0 && filesLine.FindString(line) == "":
			part = outside
		}
		if m := filesLine.FindStringSubmatch(line); m != nil {
			part = inFiles
			for _, item := range splitItems(m[1]) {
				h.add(item)
			}
			continue
		}
		if m := causeLine.FindStringSubmatch(line); m != nil {
			part = inCause
			cause = append(cause, m[1])
			continue
		}
		switch part {
		case inCause:
			if !fenceLine.MatchString(line) {
				cause = append(cause, strings.TrimSpace(line))
			}
		case inFiles:
			if strings.HasPrefix(strings.TrimSpace(line), "|") {
				h.row(line)
				continue
			}
			if line == "" && len(h.files) > 0 {
				part = outside
			} else if line != "" && !h.add(line) && len(h.files) > 0 {
				part = outside
			}
		}
	}
	h.rootCause = shortCause(strings.Join(cause, " "))
	return h
}

// withoutPath drops the path of the block that ended a cause, which belongs to the block.
func withoutPath(cause []string) []string {
	for len(cause) > 0 && cause[len(cause)-1] == "" {
		cause = cause[:len(cause)-1]
	}
	if last := len(cause) - 1; last > 0 && pathLine.MatchString(cause[last]) {
		return cause[:last]
	}
	return cause
}

// row takes a row of a table of files: the path in its first cell, the reason in the second. What
// stands above the ruler was the table's head.
func (h *header) row(line string) {
	if ruler.MatchString(line) {
		h.files = h.files[:max(0, len(h.files)-1)]
		return
	}
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	name := strings.Trim(cells[0], "*` ")
	if len(cells) > 1 {
		name = "`" + name + "` - " + strings.TrimSpace(cells[1])
	}
	h.add(name)
}

// remarksIn reads what a text says about the remarks of a review, wherever it does; the last word counts.
func remarksIn(text string) map[int]loop.RemarkReply {
	said := map[int]loop.RemarkReply{}
	for _, line := range strings.Split(text, "\n") {
		m := remarkLine.FindStringSubmatch(strings.TrimRight(line, " \t\r"))
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue // the pattern lets three digits through at most
		}
		word := strings.ToLower(m[2])
		said[n] = loop.RemarkReply{Done: word == "done" || word == "fixed" || word == "addressed", Why: strings.TrimSpace(m[3])}
	}
	return said
}

// splitItems splits files that were written on the line of FILES itself.
func splitItems(line string) []string {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	if separator.MatchString(line) {
		return []string{line}
	}
	return strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
}

// add takes one line of the list; false: it names no path.
func (h *header) add(line string) bool {
	line = strings.TrimSpace(bullet.ReplaceAllString(line, ""))
	name, reason := line, ""
	if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "*"), "`"); ok {
		if end := strings.IndexByte(rest, '`'); end >= 0 {
			name, reason = rest[:end], rest[end+1:]
		}
	} else if at := separator.FindStringIndex(line); at != nil {
		name, reason = line[:at[0]], line[at[1]:]
	}
	name = strings.TrimPrefix(strings.Trim(strings.TrimSpace(name), "*`'\",;"), "./")
	if name == "" || strings.ContainsAny(name, " <>") || strings.HasPrefix(name, "```") {
		return false
	}
	name = path.Clean(name)
	for _, have := range h.files {
		if have == name {
			return true
		}
	}
	h.files = append(h.files, name)
	if reason = strings.Trim(strings.TrimSpace(reason), "*-–—:()` "); reason != "" {
		h.why[name] = reason
	}
	return true
}

const (
	maxSentences = 5
	maxCause     = 1_200 // bytes: five long sentences
)

var sentenceEnd = regexp.MustCompile(`[.!?。](\s+|$)`)

// shortCause keeps the first five sentences.
func shortCause(text string) string {
	text = strings.Trim(strings.Join(strings.Fields(text), " "), "* ")
	if len(text) > 1 && strings.Count(text, "_") == 2 && text[0] == '_' && text[len(text)-1] == '_' { // italics, not a name
		text = text[1 : len(text)-1]
	}
	ends := sentenceEnd.FindAllStringIndex(text, maxSentences)
	if len(ends) == maxSentences {
		text = strings.TrimSpace(text[:ends[maxSentences-1][1]])
	}
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause-len("…")], "") + "…"
	}
	return text
}
