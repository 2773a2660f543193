package edit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxReply is the size in bytes from which a reply is refused unread: no sensible answer is as long.
const MaxReply = 10_000_000

// Action is what a block of the reply asks for.
type Action string

// The actions. A change creates the file when its SEARCH is empty and the file does not exist.
const (
	ActionChange Action = "change"
	ActionDelete Action = "delete"
	ActionRename Action = "rename"
)

// Block is one request of a reply, in the order of the text.
type Block struct {
	Number int    // from 1
	Line   int    // the reply's line on which it begins, from 1
	Action Action //
	Path   string // as the reply names it, decoration removed; empty where it names none
	To     string // the new path of a rename
	// Divisions holds the ways to read the block: more than one where its content has lines like the divider.
	Divisions []Division
	// Malformed says why the block cannot be read; empty for a sound one.
	Malformed string

	header header
	length int // of its markers
}

// Division is a block's content, cut at one of its dividers. Lines carry no line end; CR tells whether the first line of
// Search ended with CR LF.
type Division struct {
	Search  []string
	Replace []string
	CR      bool
}

// Reply is a parsed reply. Without blocks there was nothing in it to apply.
type Reply struct {
	Blocks []Block
}

// The markers of a block. Three to twelve characters are looked at, so that a marker of a wrong length is told as such.
var (
	openMarker  = regexp.MustCompile(`^([ \t]*)(<{3,12})[ \t]*(?i:(SEARCH|ORIGINAL|HEAD))(?:[ \t]*:)?(?:[ \t]+(\S.*?))?[ \t]*$`)
	divider     = regexp.MustCompile(`^([ \t]*)(={3,12})[ \t]*$`)
	closeMarker = regexp.MustCompile(`^([ \t]*)(>{3,12})[ \t]*(?i:(REPLACE|UPDATED|UPDATE|NEW|MODIFIED))?[ \t]*$`)
	strayClose  = regexp.MustCompile(`^[ \t]*>{5,9}[ \t]*(?i:REPLACE|UPDATED)[ \t]*$`)
	anyMarker   = regexp.MustCompile(`^(<{5,9}|>{5,9})[ \t]*(?i:SEARCH|ORIGINAL|HEAD|REPLACE|UPDATED)\b`)
)

const (
	minMarker = 5
	maxMarker = 9
)

// Parse reads a reply. It never fails: what cannot be read becomes a Block with Malformed set.
func Parse(reply []byte) Reply {
	p := parser{lines: splitReply(string(reply))}
	p.skipThought()
	p.findBlocks()
	p.dropThought()
	p.findFences()
	p.collect()
	return Reply{Blocks: p.blocks}
}

// replyLine is a line of the reply without its line end.
type replyLine struct {
	text string
	cr   bool // it ended with CR LF
}

func splitReply(reply string) []replyLine {
	reply = strings.TrimPrefix(reply, "\ufeff")
	var lines []replyLine
	for text := range strings.SplitSeq(reply, "\n") {
		bare, cr := strings.CutSuffix(text, "\r")
		lines = append(lines, replyLine{bare, cr})
	}
	return lines
}

// parser holds what the passes over a reply find: first the blocks, then the fences around them, then the lines that name
// paths, deletions and renames.
type parser struct {
	lines   []replyLine
	regions []region
	fences  []fence
	blocks  []Block
}

// Models think aloud before they answer, and what they consider there is no edit. Some endpoints pass only the closing tag on.
var (
	thoughtOpen  = regexp.MustCompile(`^\s*<(?i:think|thinking|thoughts?|reasoning|reflection|scratchpad)>`)
	thoughtClose = regexp.MustCompile(`</(?i:think|thinking|thoughts?|reasoning|reflection|scratchpad)>`)
)

// skipThought empties the lines of a thought that the reply begins with, blocks or parts of blocks included. One that is never
// closed is all of the reply: it was cut before the answer.
func (p *parser) skipThought() {
	first := slices.IndexFunc(p.lines, func(l replyLine) bool { return strings.TrimSpace(l.text) != "" })
	if first < 0 || !thoughtOpen.MatchString(p.lines[first].text) {
		return
	}
	for i := first; i < len(p.lines); i++ {
		if at := thoughtClose.FindStringIndex(p.lines[i].text); at != nil {
			p.lines[i].text = p.lines[i].text[at[1]:]
			return
		}
		p.lines[i].text = ""
	}
}

// dropThought empties the thoughts in the text around the blocks, each up to a line that ends with its closing tag. Without an
// opening tag it began with the reply.
func (p *parser) dropThought() {
	type span struct{ first, last int }
	var thoughts []span
	began := 0
	for i := range p.outside() {
		text := p.lines[i].text
		if thoughtOpen.MatchString(text) {
			began = i
		}
		at := thoughtClose.FindStringIndex(text)
		if at == nil || strings.TrimSpace(text[at[1]:]) != "" || strings.Contains(text[:at[0]], "`") {
			continue // a sentence about the tag
		}
		thoughts = append(thoughts, span{began, i})
		began = i + 1
	}
	for _, t := range thoughts {
		for k := t.first; k <= t.last; k++ {
			p.lines[k].text = ""
		}
		p.regions = slices.DeleteFunc(p.regions, func(r region) bool { return r.first >= t.first && r.last <= t.last })
	}
}

// region is a block's place in the reply: lines first to last, both included.
type region struct {
	first, last int
	path        string // on the marker's own line
	divisions   []Division
	malformed   string
	length      int // of its markers
}

// findBlocks finds the blocks by their markers alone.
func (p *parser) findBlocks() {
	for i := 0; i < len(p.lines); i++ {
		m := openMarker.FindStringSubmatch(p.lines[i].text)
		switch {
		case m != nil && len(m[4]) > 0 && !markerPath(m[4]):
			continue // prose that quotes a marker
		case m != nil:
			r := p.block(i, m)
			p.regions = append(p.regions, r)
			i = r.last
		case strayClose.MatchString(p.lines[i].text):
			p.regions = append(p.regions, region{first: i, last: i, malformed: "a closing marker stands outside of any block: " +
				"either a block's opening marker is missing, or its content holds a line like its own closing marker " +
				"(then give all markers of the block another length, 5 to 9 characters)"})
		}
	}
}

// markerPath tells whether the text behind `<<<<<<< SEARCH` is a path and not the rest of a sentence.
func markerPath(text string) bool {
	_, strength := pathLine(text)
	return strength == strengthStrong || strength == strengthWeak && !strings.ContainsAny(text, " \t")
}

// block reads the block that opens at line first.
func (p *parser) block(first int, open []string) region {
	r := region{first: first, last: first, path: open[4]}
	indent, length, keyword := open[1], len(open[2]), strings.ToUpper(open[3])
	r.length = length
	if length < minMarker || length > maxMarker {
		r.malformed = fmt.Sprintf("its opening marker has %d characters; markers have %d to %d, all of a block the same number",
			length, minMarker, maxMarker)
		return r
	}
	var dividers []int
	for i := first + 1; i < len(p.lines); i++ {
		text := p.lines[i].text
		if m := openMarker.FindStringSubmatch(text); m != nil && len(m[2]) == length && m[1] == indent && strings.ToUpper(m[3]) == keyword {
			r.last = i - 1
			r.malformed = "it is not closed: another block opens before its closing marker"
			return r
		}
		if m := divider.FindStringSubmatch(text); m != nil && len(m[2]) == length && m[1] == indent {
			dividers = append(dividers, i)
			continue
		}
		if m := closeMarker.FindStringSubmatch(text); m == nil || len(m[2]) != length || m[1] != indent {
			continue
		}
		r.last = i
		if len(dividers) == 0 {
			r.malformed = fmt.Sprintf("it has no divider line of %d = characters between SEARCH and REPLACE", length)
			return r
		}
		body := p.body(first+1, i, indent)
		for _, d := range dividers {
			at := d - first - 1
			r.divisions = append(r.divisions, Division{Search: body[:at:at], Replace: body[at+1:], CR: p.lines[first+1].cr})
		}
		return r
	}
	r.last = len(p.lines) - 1
	r.malformed = fmt.Sprintf("it is not closed: the reply ends before a closing marker of %d > characters (was the reply cut?)", length)
	return r
}

// body returns the lines first to end-1 without the indentation that the block as a whole has (in a list item, say).
func (p *parser) body(first, end int, indent string) []string {
	body := make([]string, 0, end-first)
	shifted := indent != ""
	for _, l := range p.lines[first:end] {
		body = append(body, l.text)
		if !strings.HasPrefix(l.text, indent) && strings.TrimSpace(l.text) != "" {
			shifted = false
		}
	}
	if shifted {
		for i := range body {
			body[i] = strings.TrimPrefix(body[i], indent)
		}
	}
	return body
}

// fence is a code fence of the reply, outside of blocks: its opening and closing line.
type fence struct {
	open, close int
	pure        bool // it holds blocks, path lines, deletions and renames, and nothing else
}

var fenceLine = regexp.MustCompile("^[ \t]*(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$")

// findFences finds the code fences in the text around the blocks. A fence that is never closed is none.
func (p *parser) findFences() {
	opened, mark := -1, ""
	for i := range p.outside() {
		m := fenceLine.FindStringSubmatch(p.lines[i].text)
		switch {
		case m == nil:
		case opened < 0:
			if m[1][0] == '~' || !strings.Contains(m[2], "`") {
				opened, mark = i, m[1]
			}
		case m[1][0] == mark[0] && len(m[1]) >= len(mark) && m[2] == "":
			p.fences = append(p.fences, fence{open: opened, close: i, pure: p.pure(opened, i)})
			opened = -1
		}
	}
}

// pure tells whether between a fence's lines there is nothing but edit syntax.
func (p *parser) pure(open, end int) bool {
	for i := range p.outside() {
		if i <= open || i >= end || strings.TrimSpace(p.lines[i].text) == "" {
			continue
		}
		text := p.lines[i].text
		if _, ok := deletion(text); ok {
			continue
		}
		if _, _, _, ok := renaming(text); ok {
			continue
		}
		if _, strength := pathLine(text); strength != strengthStrong {
			return false
		}
	}
	return true
}

// outside yields the numbers of the lines that belong to no block.
func (p *parser) outside() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		next := 0
		for i := 0; i < len(p.lines); i++ {
			if next < len(p.regions) && i == p.regions[next].first {
				i = p.regions[next].last
				next++
				continue
			}
			if !yield(i) {
				return
			}
		}
	}
}
