package feedback

import (
	"slices"
	"strings"
)

func tapTool() *tool {
	return &tool{
		name: "tap", what: "TAP 12, 13 and 14: subtests, YAML blocks, Perl's, bats' and tape's comments, SKIP, TODO, Bail out, wrong plans", document: true,
		invocations: []string{"node --test --test-reporter=tap", "tape", "bats --tap", "any TAP producer"},
		markers:     []string{"TAP version 1", "not ok ", "ok 1 ", "Bail out!"},
		runs:        named("tape", "tap", "node-tap", "ava --tap", "bats --tap", "pg_prove"),
		family:      []string{"node"},
		make:        func(s *sink) reader { return &tapReader{s: s, planned: -1} },
	}
}

// tapReader reads the Test Anything Protocol.
type tapReader struct {
	s        *sink
	point    *tapPoint // waits for its YAML block or comments; nil or &latest
	latest   tapPoint
	yaml     bool
	again    bool     // the diagnostic that is read is not its test point's first
	yamlAt   int      // indentation of the diagnostic that is read
	names    []string // open subtests
	levels   []int
	failedAt map[int]bool // levels below which something failed
	passed   int
	failed   int
	skipped  int
	top      int // test points of the top level
	planned  int
	totals   map[string]int
	seen     bool
	bail     bool
	version  bool     // "TAP version" was seen
	printed  []string // comments since the last test point whose diagnostic is complete: what a program printed
	last     int      // number of the last top-level test point that was in its turn
	astray   []int    // log lines of top-level test points whose number was out of turn
}

type tapPoint struct {
	name  string
	full  string
	level int
	ok    bool
	todo  bool
	skip  bool
	lines []string // YAML or comments
	yaml  bool
	log   int
	plain bool // text without marks follows, as of Mocha's TAP reporter
	child bool // a subtest below it failed
	// printed is what was printed in front of it: where a file could not be run, the reason.
	printed []string
}

var (
	tapPlan   = newPattern(`^(\s*)1\.\.(\d+)(?: +# *(?i:skip)(.*))?$`)
	tapTotal  = newPattern(`^# (tests|suites|pass|fail|cancelled|skipped|skip|todo):? +(\d+)$`)
	tapHash   = newPattern(`(?i)^(.*?) *(?:[^\\]|^)# *(skip|todo)\b:? ?(.*)$`)
	tapTimed  = newPattern(`^(.*?) # time=[\d.]+m?s( \{)?$`)
	tapInner  = newPattern(`(?s)^\s*name: .*?\n\s*message: "?(.*?)"?$`)
	tapSub    = newPattern(`^(\s*)# Subtest: (.+)$`)
	tapPerlAt = newPattern(`^#?\s*at (\S+) line (\d+)\.?`)
	tapBatsAt = newPattern("^#? ?\\(?(?:from function `[^']*' )?in (?:test )?file (\\S+?), line (\\d+)[,)]")
)

// line implements reader.
func (r *tapReader) line(l line) claim {
	t := l.text
	if r.yaml {
		if strings.TrimSpace(t) == "..." && indent(t) == r.yamlAt { // a deeper or shallower one is part of a text

			r.yaml = false
			return mine
		}
		const most = 200 // lines of one diagnostic
		if len(r.point.lines) < most && !r.again {
			r.point.lines = append(r.point.lines, t)
		}
		return hold
	}
	s := strings.TrimLeft(t, " ")
	switch {
	case strings.HasPrefix(s, "ok") || strings.HasPrefix(s, "not ok"):
		passed, number, name, ok := tapResult(s)
		if !ok || number == "" && !r.seen && name == "" {
			break
		}
		r.seen = true
		level := len(t) - len(s)
		if level == 0 {
			r.number(atoi(number), l.n)
		}
		r.s.tapAt = l.n
		r.testPoint(level, passed, name, l.n)
		return mine
	case s == "---" && r.point != nil:
		// QUnit prints one for each failed assertion of a test: the first is the cause
		r.again = r.point.yaml
		r.yaml, r.point.yaml, r.yamlAt = true, true, indent(t)
		return hold
	case r.point != nil && !r.point.ok && !r.point.yaml && (r.planned >= 0 || r.version || !strings.ContainsAny(s[:min(1, len(s))], `"{}[]`)) && len(s) < len(t) && len(t)-len(s) > r.point.level && s != "" && !strings.HasPrefix(s, "#") && !strings.HasPrefix(s, "1.."):
		const most = 60 // lines of plain text behind one test point
		if len(r.point.lines) < most {
			r.point.lines = append(r.point.lines, t)
			r.point.plain = true
		}
		return mine
	case strings.HasPrefix(s, "TAP version 1"):
		if !r.version && r.planned < 0 {
			r.restart() // what came before the version and had no plan was printed by a program
		}
		r.seen, r.version = true, true
		r.last = 0
		return mine
	case strings.HasPrefix(s, "Bail out!"):
		r.bail = true
		r.s.fail(Failure{Message: t, Kind: KindCrash})
		return mine
	case strings.HasPrefix(s, "1.."):
		if m := tapPlan.FindStringSubmatch(t); m != nil {
			if m[1] == "" {
				if r.planned < 0 {
					r.planned = 0
				}
				r.planned += atoi(m[2])
			}
			return mine
		}
	case strings.HasPrefix(s, "# "), s == "#":
		if m := tapTotal.FindStringSubmatch(t); m != nil && r.seen {
			if r.totals == nil {
				r.totals = map[string]int{}
			}
			r.totals[m[1]] += atoi(m[2])
			return mine
		}
		if m := tapSub.FindStringSubmatch(t); m != nil {
			r.end()
			d := len(m[1])
			for len(r.levels) > 0 && r.levels[len(r.levels)-1] >= d {
				r.levels, r.names = r.levels[:len(r.levels)-1], r.names[:len(r.names)-1]
			}
			r.levels, r.names = append(r.levels, d), append(r.names, strings.Clone(m[2]))
			return mine
		}
		if r.point == nil || r.point.ok || r.point.yaml {
			const most = 60 // lines that a crash and its trace take
			if len(r.printed) >= most {
				r.printed = append(r.printed[:0], r.printed[1:]...)
			}
			r.printed = append(r.printed, strings.TrimPrefix(strings.TrimPrefix(s, "#"), " "))
		} else {
			const most = 60 // lines of comments behind one test point
			if len(r.point.lines) < most {
				r.point.lines = append(r.point.lines, strings.TrimPrefix(strings.TrimPrefix(s, "#"), " "))
			}
			return mine
		}
		if r.seen {
			return mine
		}
	}
	return pass
}

// tapResult takes a test point apart: "not ok 3 - adds". A log holds little else, so this is no expression.
func tapResult(s string) (passed bool, number, name string, ok bool) {
	s, failed := strings.CutPrefix(s, "not ")
	if s, ok = strings.CutPrefix(s, "ok"); !ok {
		return false, "", "", false
	}
	if n, isNumber := strings.CutPrefix(s, " "); isNumber {
		end := 0
		for end < len(n) && n[end] >= '0' && n[end] <= '9' {
			end++
		}
		if end == len(n) || end > 0 && (n[end] == ' ' || n[end] == '-') {
			number, s = n[:end], n[end:]
		}
	}
	if s == "" {
		return !failed, number, "", true
	}
	if dash, found := strings.CutPrefix(strings.TrimPrefix(s, " "), "-"); found {
		return !failed, number, strings.TrimPrefix(dash, " "), true
	}
	name, ok = strings.CutPrefix(s, " ")
	return !failed, number, name, ok
}

// restart forgets what was read so far.
func (r *tapReader) restart() {
	r.point, r.names, r.levels, r.failedAt, r.astray = nil, nil, nil, nil, nil
	r.passed, r.failed, r.skipped, r.top, r.last = 0, 0, 0, 0, 0
	r.s.failures, r.s.cases = nil, caseSet{}
}

// number notes the number of a top-level test point. Mocha gives a failed hook the number of the test before it.
func (r *tapReader) number(n, log int) {
	switch {
	case n == 0:
	case n == r.last || n == r.last+1 || r.last == 0:
		r.last = n
	case len(r.astray) < maxMatches:
		r.astray = append(r.astray, log)
	}
}

// believed takes back what a program printed in the shape of TAP: results without a plan or a version, and, where
// more test points came than were planned, those whose number was out of turn. It reports whether anything is left.
func (r *tapReader) believed() bool {
	const fewest = 3 // test points in a row that make a report that lost its plan believable
	if r.planned < 0 && !r.version && !slices.ContainsFunc(r.s.command.calls, r.s.tool.runs) && r.top < fewest && !r.bail {
		r.s.failures, r.s.cases = nil, caseSet{}
		return false
	}
	if r.planned > 0 && r.top > r.planned {
		n := len(r.s.failures)
		r.s.failures = slices.DeleteFunc(r.s.failures, func(f Failure) bool { return slices.Contains(r.astray, f.Log) })
		r.failed -= n - len(r.s.failures)
	}
	return true
}

func (r *tapReader) testPoint(level int, ok bool, name string, log int) {
	r.end()
	r.latest = tapPoint{level: level, ok: ok, log: log}
	p := &r.latest
	if m := tapHash.FindStringSubmatch(name); m != nil {
		name = m[1]
		p.skip, p.todo = strings.EqualFold(m[2], "skip"), strings.EqualFold(m[2], "todo")
	}
	if m := tapTimed.FindStringSubmatch(name); m != nil {
		name = m[1]
		if m[2] != "" { // Vitest's way to open a group, whose result comes before those of its tests
			for len(r.levels) > 0 && r.levels[len(r.levels)-1] >= level {
				r.levels, r.names = r.levels[:len(r.levels)-1], r.names[:len(r.names)-1]
			}
			r.levels, r.names = append(r.levels, level), append(r.names, strings.Clone(name))
			return
		}
	}
	if strings.IndexByte(name, '\\') >= 0 {
		name = strings.ReplaceAll(name, `\#`, "#")
	}
	name = strings.TrimSpace(name)
	p.name = name
	if len(r.printed) > 0 {
		if !ok {
			p.printed = r.printed
		}
		r.printed = nil
	}
	for len(r.levels) > 0 && (r.levels[len(r.levels)-1] > level || r.levels[len(r.levels)-1] == level && r.names[len(r.names)-1] != name) {
		r.levels, r.names = r.levels[:len(r.levels)-1], r.names[:len(r.names)-1]
	}
	p.full = p.name
	if len(r.levels) > 0 {
		parents := []string{}
		for i, d := range r.levels {
			if d < level {
				parents = append(parents, r.names[i])
			}
		}
		p.full = strings.Join(append(parents, p.name), " > ")
	}
	if len(r.levels) > 0 && r.levels[len(r.levels)-1] == level {
		r.levels, r.names = r.levels[:len(r.levels)-1], r.names[:len(r.names)-1]
	}
	if len(r.failedAt) > 0 {
		p.child = r.failedAt[level+4] || r.failedAt[level+2]
		for d := range r.failedAt {
			if d > level {
				delete(r.failedAt, d)
			}
		}
	}
	if level == 0 {
		r.top++
	}
	if !ok && !p.todo && !p.skip {
		if r.failedAt == nil {
			r.failedAt = map[int]bool{}
		}
		r.failedAt[level] = true
	}
	r.point = p
}

// end settles the last test point.
func (r *tapReader) end() {
	p := r.point
	r.point = nil
	if p == nil {
		return
	}
	y := readTapYAML(p.lines)
	suite := y["type"] == "suite" || p.child
	switch {
	case p.skip || p.todo:
		r.skipped++
		r.s.test(p.full, "", CaseSkipped, 0)
		return
	case p.ok:
		if !suite {
			r.passed++
			r.s.test(p.full, "", CasePassed, jsTime(y["duration_ms"], "ms"))
		}
		return
	}
	if r.failed > 0 && len(p.lines) == 0 && avaExit.MatchString("  ✘ "+p.name) {
		return // the error that the file died of is a test point of its own
	}
	if p.child && (y["failureType"] == "subtestsFailed" || !p.yaml) {
		return
	}
	r.failed++
	r.s.test(p.full, "", CaseFailed, jsTime(y["duration_ms"], "ms"))
	f := Failure{ID: p.full, Kind: KindTest, Log: p.log}
	if p.yaml {
		r.yamlFailure(&f, y)
		if f.Message == "test failed" { // Node's word for a file whose process failed
			r.crash(&f, p.printed)
		}
	} else if p.plain {
		g := jsError(r.s, p.lines)
		g.ID, g.Kind, g.Log = f.ID, f.Kind, f.Log
		f = g
		if m := mochaFile.FindStringSubmatch(firstLine(f.Message)); m != nil && f.File == "" {
			f.File = m[1]
		}
	} else {
		r.commentFailure(&f, p.lines)
	}
	if f.Message == "" {
		f.Message = "not ok " + p.name
	}
	r.s.fail(f)
}

// crash gives a failure the uncaught error in what a program printed, if there is one.
func (r *tapReader) crash(f *Failure, printed []string) {
	t := nodeTrace{s: r.s}
	for _, l := range printed {
		t.line(line{text: l})
	}
	if t.open {
		t.finish()
	}
	for _, l := range printed {
		if m := nodeLate.FindStringSubmatch(l); m != nil {
			f.Message, f.Kind = m[1], KindSetup
			f.Line = 0 // that of the file's first line
		}
	}
	if t.last != nil {
		f.Message, f.Kind = t.last.Message, KindSetup
		if t.last.File != "" {
			f.File, f.Line = t.last.File, t.last.Line
		}
	}
}

// commentFailure reads what Test::More and bats say in comments.
func (r *tapReader) commentFailure(f *Failure, lines []string) {
	var text []string
	for _, l := range lines {
		t := strings.TrimSpace(strings.TrimPrefix(l, "#"))
		if m := tapPerlAt.FindStringSubmatch(t); m != nil {
			if f.File == "" {
				f.File, f.Line = m[1], atoi(m[2])
			}
			continue
		}
		if m := tapBatsAt.FindStringSubmatch(t); m != nil {
			f.File, f.Line = m[1], atoi(m[2])
			continue
		}
		if strings.HasPrefix(t, "Failed test") || strings.HasPrefix(t, "Looks like you ") {
			if i := strings.Index(t, " at "); i > 0 && f.File == "" {
				if m := tapPerlAt.FindStringSubmatch(t[i+1:]); m != nil {
					f.File, f.Line = m[1], atoi(m[2])
				}
			}
			continue
		}
		if t != "" {
			text = append(text, t)
		}
	}
	f.Message = strings.Join(text, "\n")
}

// batsPlace is the place that Bats names in a failure's text.
func batsPlace(text string) (file string, at int) {
	if !strings.Contains(text, "in test file ") {
		return "", 0
	}
	for l := range strings.Lines(text) {
		if m := tapBatsAt.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			file, at = m[1], atoi(m[2])
		}
	}
	return file, at
}

// close implements reader.
func (r *tapReader) close() {
	r.end()
	if !r.seen || !r.believed() {
		return
	}
	r.s.ran = true
	if t := r.totals; t != nil && (t["pass"] > 0 || t["fail"] > 0 || t["tests"] > 0) {
		_, node := t["cancelled"]
		skipped := t["skipped"] + t["skip"] + t["todo"]
		if !node && skipped == 0 {
			skipped = r.skipped
		}
		r.s.add(t["pass"], t["fail"]+t["cancelled"], skipped)
	} else if r.passed+r.failed+r.skipped > 0 {
		r.s.add(r.passed, r.failed, r.skipped)
	}
	if r.planned > 0 && r.top < r.planned && !r.bail && r.failed == 0 {
		r.s.fail(Failure{Message: "planned " + plural(r.planned, "test") + " and ran " + plural(r.top, "test"), Kind: KindCrash})
	}
	if r.failed > 0 {
		r.s.red = true
	} else if r.planned >= 0 {
		r.s.green = true
	}
	r.s.ended = r.planned >= 0
}
