package feedback

import (
	"strconv"
	"strings"
)

func catch2Tool() *tool {
	return &tool{
		name: "catch2", what: "Catch2's console and compact reports: sections, exceptions, expansions and messages, totals; its JUnit form is read as such",
		invocations: []string{"./tests", "./tests -s", "./tests -r compact"},
		markers:     []string{" host application.", ": FAILED:", ": failed: "},
		family:      []string{"sanitizer", "junit-xml"},
		make:        func(s *sink) reader { return &catch2{s: s} },
	}
}

// catch2 reads Catch2's reports. Above each test's failures stands a head: rule, name, sections, rule, place; the place is not read.
type catch2 struct {
	s       *sink
	state   catchState
	names   []string // of the head: the test case and its sections
	id      string
	open    *catchFailure
	compact bool           // a failure is a line
	first   map[string]int // by id: its failure
	found   []Failure
}

type catchFailure struct {
	file  string
	line  int
	log   int
	lines []string
}

type catchState int

const (
	catchOutside catchState = iota
	catchHead               // between the head's rules
	catchBody
)

var (
	catchBanner  = newPattern(`^.+ is a Catch2? v\S+ host application\.$`)
	catchFailed  = newPattern(`^(\S.*?)(?::(\d+)|\((\d+)\)): FAILED:$`)
	catchPassed  = newPattern(`^\S.*(?::\d+|\(\d+\)): (?:PASSED|SKIPPED|warning):$`)
	catchCompact = newPattern(`^(\S.*?)(?::(\d+)|\((\d+)\)): failed: (.+)$`)
	catchTotal   = newPattern(`^test cases: +(\d+)(.*)$`)
	catchNumber  = newPattern(`\| +(\d+) (passed|failed as expected|failed|skipped)`)
	catchAll     = newPattern(`^(?:All tests passed \(.* in (\d+) test cases?\)|Passed (?:all )?(\d+) test cases? with .*)$`)
	catchShort   = newPattern(`^Failed (?:(?:all|both) )?(\d+) test cases?, failed (?:(?:all|both) )?\d+ assertions?\.$`)
	catchValues  = newPattern(`(?m)(?:with expansion:\n\s*| for: )(?P<a>"[^"\n]*"|[^\s=]+) == (?P<e>"[^"\n]*"|[^\s=]+)(?:$| with )`)
)

// line implements reader.
func (c *catch2) line(l line) claim {
	t := l.text
	switch {
	case catchBanner.MatchString(t):
		c.end()
		c.state, c.s.ran = catchBody, true
		return hold
	case len(t) > 40 && t == strings.Repeat("-", len(t)) && (c.state != catchOutside):
		c.rule()
		return hold
	case strings.HasPrefix(t, "====") && c.state != catchOutside:
		c.end()
		return hold
	case c.totals(t):
		return mine
	}
	if m := catchFailed.FindStringSubmatch(t); m != nil && !c.compact {
		c.end()
		c.open = &catchFailure{file: strings.Clone(m[1]), line: atoi(m[2] + m[3]), log: l.n}
		c.state = catchBody
		return hold
	}
	if m := catchCompact.FindStringSubmatch(t); m != nil && c.state == catchOutside {
		c.open = &catchFailure{file: strings.Clone(m[1]), line: atoi(m[2] + m[3]), log: l.n, lines: []string{strings.Clone(m[4])}}
		c.id, c.compact = "", true
		c.end()
		return mine
	}
	switch c.state {
	case catchOutside:
		return pass
	case catchHead:
		c.names = append(c.names, strings.Clone(strings.TrimSpace(t)))
		return hold
	case catchBody:
	}
	if catchPassed.MatchString(t) {
		c.end()
	}
	const most = 120 // lines of one failure
	if c.open != nil && len(c.open.lines) < most {
		c.open.lines = append(c.open.lines, strings.Clone(t))
	}
	return hold
}

// rule begins or ends a head.
func (c *catch2) rule() {
	if c.state != catchHead {
		c.end()
		c.state, c.names = catchHead, nil
		return
	}
	c.state, c.id = catchBody, strings.Join(c.names, "/")
}

// totals reads the closing lines; it reports whether t is one.
func (c *catch2) totals(t string) bool {
	if m := catchTotal.FindStringSubmatch(t); m != nil && (m[2] == "" || strings.HasPrefix(strings.TrimSpace(m[2]), "|")) && c.s.ran {
		c.end()
		n := map[string]int{}
		for _, x := range catchNumber.FindAllStringSubmatch(m[2], -1) {
			n[x[2]] += atoi(x[1])
		}
		c.closing(n["passed"]+n["failed as expected"], n["failed"], n["skipped"])
		return true
	}
	if m := catchAll.FindStringSubmatch(t); m != nil && c.s.ran {
		c.end()
		c.closing(atoi(m[1]+m[2]), 0, -1)
		return true
	}
	if m := catchShort.FindStringSubmatch(t); m != nil && len(c.found) > 0 {
		c.closing(-1, atoi(m[1]), -1)
		return true
	}
	return false
}

// closing notes the totals, which only the last ones of a log are: a test may print others.
func (c *catch2) closing(passed, failed, skipped int) {
	c.s.counts = Counts{}
	c.s.add(passed, failed, skipped)
	c.s.ran, c.s.ended = true, true
	c.s.red, c.s.green = failed > 0, failed == 0
}

// end notes the open failure; further ones of a test are added to its first.
func (c *catch2) end() {
	o := c.open
	c.open = nil
	if o == nil {
		return
	}
	text := tidyMessage(strings.Join(o.lines, "\n"))
	if i, known := c.first[c.id]; known && c.id != "" {
		more := &c.found[i]
		if len(more.Message) < maxMessage {
			more.Message += "\nalso at line " + strconv.Itoa(o.line) + ": " + firstLine(text)
		}
		return
	}
	f := Failure{ID: c.id, File: o.file, Line: o.line, Message: text, Kind: KindTest, Log: o.log}
	f.Expected, f.Actual = namedValues(catchValues, text)
	if c.first == nil {
		c.first = map[string]int{}
	}
	if len(c.found) < maxKeptFailures {
		c.first[c.id] = len(c.found)
		c.found = append(c.found, f)
	}
}

// close implements reader.
func (c *catch2) close() {
	c.end()
	if c.s.ended && c.s.green {
		return // a test printed them
	}
	for _, f := range c.found {
		c.s.red = true
		c.s.fail(f)
	}
}

// namedValues takes the groups e (expected) and a (actual) of a pattern's match in text.
func namedValues(p *pattern, text string) (expected, actual *string) {
	m := p.FindStringSubmatch(text)
	if m == nil {
		return nil, nil
	}
	return told(unquote(m[p.SubexpIndex("e")])), told(unquote(m[p.SubexpIndex("a")]))
}
