package feedback

import "strings"

func jasmineTool() *tool {
	return &tool{
		name: "jasmine", what: "failures, suite errors and pending specs of Jasmine's console reporter",
		invocations: []string{"jasmine", "npx jasmine spec.js"},
		markers:     []string{" specs, ", " spec, ", "  Message:", "Suite error: "},
		runs:        named("jasmine", "jasmine-browser-runner"),
		family:      []string{"node"},
		make:        func(s *sink) reader { return &jasmine{s: s} },
	}
}

// jasmine reads the lists of failures that Jasmine prints behind the tests. Specs may print such a list and totals
// as well, so the last ones of a run are taken.
type jasmine struct {
	s     *sink
	list  bool
	found []Failure
	total []int // passed, failed, pending of the last totals
	id    string
	suite bool // id is a suite's, whose own code failed
	lines []string
	log   int
}

var (
	jasmineHead  = newPattern(`^(\d+)\) (.+)$`)
	jasmineSuite = newPattern(`^(?:Suite error: (.+)|(?:Late|Top-level) .*(?:error|failure).*:)$`)
	jasmineTotal = newPattern(`^(\d+) specs?, (\d+) failures?(?:, (\d+) pending specs?)?$`)
)

// jasmineNotRun is what Jasmine says of a spec in a suite whose beforeAll failed; the suite's error says why.
const jasmineNotRun = "Not run because a beforeAll function failed."

// line implements reader.
func (j *jasmine) line(l line) claim {
	t := l.text
	switch t {
	case "Failures:":
		j.end()
		j.list, j.found = true, nil
		return mine
	case "Pending:":
		j.end()
		j.list = false
		return pass
	case "Started":
		j.settle()
		return pass
	}
	if m := jasmineTotal.FindStringSubmatch(t); m != nil {
		j.end()
		j.list = false
		failed, pending := atoi(m[2]), atoi(m[3])
		if failed == 0 && !j.hasSuiteError() {
			j.found = nil // a spec printed them
		}
		j.total = []int{max(0, atoi(m[1])-failed-pending), failed, pending}
		return mine
	}
	if !j.list {
		return pass
	}
	m := jasmineHead.FindStringSubmatch(t)
	s := jasmineSuite.FindStringSubmatch(t)
	switch {
	case m != nil:
		j.end()
		j.id, j.log = strings.Clone(m[2]), l.n
	case s != nil:
		j.end()
		j.id, j.log, j.suite = strings.Clone(s[1]), l.n, true
		if j.id == "" {
			j.id = strings.TrimSuffix(t, ":")
		}
	case j.id == "":
		return pass
	default:
		if s := strings.TrimSpace(t); s != "Message:" && s != "Stack:" && s != "" {
			j.keep(t)
		}
	}
	return mine
}

func (j *jasmine) keep(t string) {
	const most = 200 // lines of one failure
	if len(j.lines) < most {
		j.lines = append(j.lines, t)
	}
}

// end notes the open failure.
func (j *jasmine) end() {
	if j.id == "" {
		return
	}
	f := jsError(j.s, j.lines)
	f.ID, f.Kind, f.Log = j.id, KindTest, j.log
	if j.suite {
		f.Kind = KindSetup
	}
	if len(j.found) < maxKeptFailures {
		j.found = append(j.found, f)
	}
	j.id, j.lines, j.suite = "", nil, false
}

func (j *jasmine) hasSuiteError() bool {
	for i := range j.found {
		if j.found[i].Kind == KindSetup {
			return true
		}
	}
	return false
}

// settle hands in what the last lists of a run said.
func (j *jasmine) settle() {
	j.end()
	explained := j.hasSuiteError()
	for _, f := range j.found {
		if !explained || !strings.HasPrefix(f.Message, jasmineNotRun) {
			j.s.fail(f)
		}
	}
	if j.total != nil {
		j.s.add(j.total[0], j.total[1], j.total[2])
		j.s.ran, j.s.ended = true, true
		red := j.total[1] > 0 || explained
		j.s.red, j.s.green = j.s.red || red, !red && !j.s.red
	}
	j.found, j.total, j.list = nil, nil, false
}

// close implements reader.
func (j *jasmine) close() { j.settle() }
