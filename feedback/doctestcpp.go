package feedback

import (
	"strconv"
	"strings"
)

func doctestCppTool() *tool {
	return &tool{
		name: "doctest-c++", what: "the C++ library doctest's console report: suites, subcases, exceptions, values, expected failures, totals; its JUnit form is read as such",
		invocations: []string{"./tests", "./tests -s", "./tests -r=junit"},
		markers:     []string{"[doctest] "},
		family:      []string{"sanitizer", "junit-xml"},
		make:        func(s *sink) reader { return &doctestCpp{s: s} },
	}
}

// doctestCpp reads a report that holds the stream from its banner to its status. Each failed test case begins with a
// rule, its place and its name.
type doctestCpp struct {
	s     *sink
	open  *Failure
	names []string // the test case and its subcases
	lines []string
	head  bool // the names are read
	on    bool
	found []Failure
}

var (
	doctestError = newPattern(`^(\S.*?)(?::(\d+)|\((\d+)\)): (?:FATAL )?ERROR: (.+)$`)
	doctestCount = newPattern(`^\[doctest\] test cases: +(\d+) \| +(\d+) passed \| +(\d+) failed(?: \| +(\d+) skipped)?`)
	doctestName  = newPattern(`^(?:TEST CASE|SCENARIO|  Scenario|TEST CASE TEMPLATE): +(.+)$`)
	doctestValue = newPattern(`(?m)^\s*values: \w+\( (?P<a>"[^"\n]*"|[^\s=,]+)(?: == |, )(?P<e>"[^"\n]*"|[^\s=,]+) \)$`)
)

// line implements reader.
func (d *doctestCpp) line(l line) claim {
	t := l.text
	switch {
	case strings.HasPrefix(t, "[doctest] doctest version"), strings.HasPrefix(t, "[doctest] run with"):
		d.on, d.s.ran = true, true
		return hold
	case !d.on && !strings.HasPrefix(t, "[doctest] "):
		return pass
	case strings.HasPrefix(t, "====="):
		d.end()
		d.names, d.head = nil, false
		return hold
	case strings.HasPrefix(t, "[doctest] Status: "):
		d.end()
		d.s.ended, d.on = true, false
		d.s.red, d.s.green = strings.HasSuffix(t, "FAILURE!"), strings.HasSuffix(t, "SUCCESS!")
		return mine
	}
	if m := doctestCount.FindStringSubmatch(t); m != nil {
		d.end()
		d.s.counts, d.on = Counts{}, true
		d.s.add(atoi(m[2]), atoi(m[3]), atoi(m[4]))
		return hold
	}
	if m := doctestName.FindStringSubmatch(t); m != nil && !d.head {
		d.names, d.head = []string{strings.Clone(m[1])}, true
		return hold
	}
	if m := doctestError.FindStringSubmatch(t); m != nil && len(d.names) > 0 {
		d.end()
		d.head = true
		d.open = &Failure{File: strings.Clone(m[1]), Line: atoi(m[2] + m[3]), Log: l.n, Kind: KindTest, ID: strings.Join(d.names, "/")}
		d.lines = []string{strings.Clone(m[4])}
		return hold
	}
	d.body(t)
	return hold
}

// body takes a line below a test case's name or a failure.
func (d *doctestCpp) body(t string) {
	switch {
	case strings.HasPrefix(t, "Failed as expected") || strings.HasPrefix(t, "Allowed to fail so marking it as not failed"):
		d.end()
		name := strings.Join(d.names, "/")
		for len(d.found) > 0 && d.found[len(d.found)-1].ID == name {
			d.found = d.found[:len(d.found)-1]
		}
		d.names = nil // what looks like a failure below was printed by a test
	case strings.HasPrefix(t, "Should have failed but didn't!") || strings.HasPrefix(t, "Didn't fail exactly"):
		d.end()
		d.found = append(d.found, Failure{ID: strings.Join(d.names, "/"), Message: t, Kind: KindTest, Log: d.s.now})
	case d.open == nil && len(d.names) > 0 && strings.HasPrefix(t, "  ") && len(d.lines) == 0:
		d.names = append(d.names, strings.Clone(strings.TrimSpace(t)))
	case d.open != nil && t != "":
		const most = 60 // lines of one failure
		if len(d.lines) < most {
			d.lines = append(d.lines, strings.Clone(t))
		}
	case d.open != nil:
		d.end()
	}
}

// end notes the open failure.
func (d *doctestCpp) end() {
	f := d.open
	d.open = nil
	if f == nil {
		d.lines = nil
		return
	}
	f.Message = strings.Join(d.lines, "\n")
	f.Expected, f.Actual = namedValues(doctestValue, f.Message)
	d.lines = nil
	if n := len(d.found); n > 0 && d.found[n-1].ID == f.ID && f.ID != "" {
		if more := &d.found[n-1]; len(more.Message) < maxMessage {
			more.Message += "\nalso at line " + strconv.Itoa(f.Line) + ": " + firstLine(f.Message)
		}
		return
	}
	if len(d.found) < maxKeptFailures {
		d.found = append(d.found, *f)
	}
}

// close implements reader.
func (d *doctestCpp) close() {
	d.end()
	if d.s.ended && d.s.green {
		return
	}
	for _, f := range d.found {
		d.s.red = true
		d.s.fail(f)
	}
}
