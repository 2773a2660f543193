package feedback

import "strings"

func jasmineTool() *tool {
	return &tool{
		name: "jasmine", what: "failures and pending specs of Jasmine's console reporter",
		invocations: []string{"jasmine", "npx jasmine spec.js"},
		markers:     []string{" specs, ", " spec, "},
		runs:        named("jasmine", "jasmine-browser-runner"),
		family:      []string{"node"},
		make:        func(s *sink) reader { return &jasmine{s: s} },
	}
}

// jasmine reads the lists of failures that Jasmine prints behind the tests.
type jasmine struct {
	s     *sink
	list  bool
	id    string
	lines []string
	log   int
}

var (
	jasmineHead  = newPattern(`^(\d+)\) (.+)$`)
	jasmineTotal = newPattern(`^(\d+) specs?, (\d+) failures?(?:, (\d+) pending specs?)?$`)
)

// line implements reader.
func (j *jasmine) line(l line) claim {
	t := l.text
	if m := jasmineTotal.FindStringSubmatch(t); m != nil {
		j.end()
		j.list = false
		failed, pending := atoi(m[2]), atoi(m[3])
		j.s.add(atoi(m[1])-failed-pending, failed, pending)
		j.s.ran, j.s.ended = true, true
		j.s.red, j.s.green = failed > 0, failed == 0
		return mine
	}
	if t == "Failures:" {
		j.list = true
		return mine
	}
	if !j.list {
		return pass
	}
	if m := jasmineHead.FindStringSubmatch(t); m != nil {
		j.end()
		j.id, j.log = strings.Clone(m[2]), l.n
		return mine
	}
	if j.id == "" {
		return pass
	}
	if s := strings.TrimSpace(t); s != "Message:" && s != "Stack:" && s != "" {
		j.keep(t)
	}
	return mine
}

func (j *jasmine) keep(t string) {
	const most = 200 // lines of one failure
	if len(j.lines) < most {
		j.lines = append(j.lines, t)
	}
}

func (j *jasmine) end() {
	if j.id == "" {
		return
	}
	f := jsError(j.s, j.lines)
	f.ID, f.Kind, f.Log = j.id, KindTest, j.log
	j.s.fail(f)
	j.id, j.lines = "", nil
}

// close implements reader.
func (j *jasmine) close() { j.end() }
