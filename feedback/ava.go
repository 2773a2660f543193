package feedback

import "strings"

func avaTool() *tool {
	return &tool{
		name: "ava", what: "AVA's default reporter: cases, failures with their difference, uncaught exceptions; its TAP form is read as such",
		invocations: []string{"ava", "npx ava", "c8 ava"},
		markers:     []string{"✘ [fail]: ", "✖ [fail]: ", "✘ [skip] ", "  - [skip] ", "✔ [expected fail] ", "✘ Timed out while running tests", "  Uncaught exception in "},
		runs:        named("ava"),
		family:      []string{"node", "tap"},
		make:        func(s *sink) reader { return &ava{s: s} },
	}
}

// ava reads the list of cases, then the blocks of failures between two rules, then the totals.
type ava struct {
	s       *sink
	seen    bool // a case was told
	details bool // after the first rule
	open    *avaBlock
	failed  map[string]bool // titles that the list calls failed
	crashed string          // the file whose uncaught error was told last
	late    bool            // the run was ended for its time
}

// avaBlock is one failure: its title, where it is, and what AVA says about it.
type avaBlock struct {
	title, file string
	at, log     int
	lines       []string
}

var (
	avaCase  = newPattern(`^  (?:([✔√]|[✘✖×]|-) )(?:\[(fail|skip|todo|expected fail)\]:? )?(.+?)(?: \((\d+(?:\.\d+)?)(ms|s)\))?$`)
	avaTotal = newPattern(`^  (?:(\d+) (?:(?:tests?|hooks?) (passed|failed|skipped|todo|remained pending after .*)|(known) failures?|(uncaught) exceptions?|(unhandled) rejections?)|(No) (?:new )?failures.*)$`)
	avaRule  = newPattern(`^  ─+$`)
	avaPlace = newPattern(`^  (?:file://)?(\S+\.[cm]?[jt]sx?):(\d+)$`)
	avaFrame = newPattern(`^  › (?:.*\()?(?:file://)?([^\s()]+\.[cm]?[jt]sx?):(\d+)(?::\d+)?\)?$`)
	avaCrash = newPattern(`^  (?:Uncaught exception|Unhandled rejection|Rejected promise|[✘✖] No tests found) in (\S+)$`)
	// avaExit are lines of the list that say how a test file ended.
	avaExit = newPattern(`^  [✘✖×] (?:(\S+) exited (?:with a non-zero exit code: \d+|due to \S+)|\d+ tests? remaining in (\S+)|(Timed out while running tests)|Failed to exit.*)$`)
	// avaPending names a test that ran when time was up.
	avaPending = newPattern(`^  ◌ (.+)$`)
	// avaSource is a line of the excerpt of the source.
	avaSource = newPattern(`^ {3,8}\d+: `)
	// avaInspected begins an error as a value: "TypeError {".
	avaInspected = newPattern(`^[A-Z]\w*(?:Error|Exception)(?: \[\w+\])? \{$|^Error \{$`)
	// avaThrown names what a test threw; the line after it says what is printed below.
	avaThrown = newPattern(`^(?:Error thrown in test|Rejected promise returned by test(?:\. Reason)?|Returned promise rejected|Test timed out|Difference \(- actual, \+ expected\)):?$`)
)

// line implements reader.
func (a *ava) line(l line) claim {
	t := l.text
	if m := avaTotal.FindStringSubmatch(t); m != nil && a.seen {
		a.end()
		a.total(m)
		return mine
	}
	if avaRule.MatchString(t) && a.seen {
		a.end()
		a.details = !a.details
		return hold
	}
	if a.details {
		return a.detail(l)
	}
	if a.ended(l) {
		return mine
	}
	if m := avaCase.FindStringSubmatch(t); m != nil {
		a.end()
		a.seen = true
		a.test(m)
		return mine
	}
	if m := avaCrash.FindStringSubmatch(t); m != nil {
		a.end()
		a.seen = true
		a.open = &avaBlock{title: strings.TrimSpace(t), file: m[1], log: l.n}
		return mine
	}
	if a.open != nil && (t == "" || strings.HasPrefix(t, "  ")) {
		return a.more(t)
	}
	a.end()
	return pass
}

// ended reads how a test file ended; that is a failure of its own only where no uncaught error tells why.
func (a *ava) ended(l line) bool {
	if m := avaPending.FindStringSubmatch(l.text); m != nil && a.late {
		a.s.fail(Failure{ID: m[1], Message: "timed out: the test was still pending", Kind: KindTimeout, Log: l.n})
		return true
	}
	m := avaExit.FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	a.end()
	a.seen, a.s.red = true, true
	file := m[1] + m[2]
	a.late = a.late || m[3] != ""
	if m[1] != "" && file != a.crashed {
		a.s.fail(Failure{File: file, Message: strings.TrimSpace(l.text), Kind: KindCrash, Log: l.n})
	}
	return true
}

// test tells one case of the list.
func (a *ava) test(m []string) {
	title, status := m[3], CasePassed
	switch {
	case m[2] == "skip" || m[2] == "todo":
		status = CaseSkipped
	case m[2] == "expected fail":
	case m[1] == "-":
		status = CaseSkipped
	case m[1] != "✔" && m[1] != "√":
		status = CaseFailed
		if a.failed == nil {
			a.failed = map[string]bool{}
		}
		a.failed[strings.Clone(title)] = true
	}
	a.s.test(title, "", status, jsTime(m[4], m[5]))
}

// detail reads the blocks that follow the list: a title, a place, an excerpt, what differs, frames.
func (a *ava) detail(l line) claim {
	t := l.text
	title := strings.TrimSpace(t)
	switch {
	case a.isTitle(t, title):
		a.end()
		a.open = &avaBlock{title: strings.Clone(title), log: l.n}
	case avaCrash.MatchString(t):
		a.end()
		a.open = &avaBlock{title: strings.Clone(title), file: strings.Clone(avaCrash.FindStringSubmatch(t)[1]), log: l.n}
	case a.open != nil:
		a.more(t)
	}
	return hold
}

// isTitle says whether a line of the details begins the next failure: it is one of the titles that
// the list called failed. The list may put the error's message behind the title.
func (a *ava) isTitle(t, title string) bool {
	if title == "" || indent(t) != 2 {
		return false
	}
	if a.failed[title] {
		return true
	}
	for known := range a.failed {
		if strings.HasPrefix(known, title+" ") {
			return true
		}
	}
	return false
}

// more takes a line of the open failure.
func (a *ava) more(t string) claim {
	const most = 120 // lines of one failure
	switch m := avaPlace.FindStringSubmatch(t); {
	case m != nil && a.open.at == 0:
		a.open.file, a.open.at = strings.Clone(m[1]), atoi(m[2])
	case avaSource.MatchString(t):
	case len(a.open.lines) < most:
		a.open.lines = append(a.open.lines, strings.Clone(strings.TrimPrefix(t, "  ")))
	}
	return mine
}

// total counts one line of the epilogue.
func (a *ava) total(m []string) {
	n := atoi(m[1])
	a.s.ran, a.s.ended = true, true
	switch {
	case m[2] == "passed":
		a.s.add(n, -1, -1)
		a.s.green = a.s.green || !a.s.red
	case m[2] == "failed":
		a.s.add(-1, n, -1)
		a.s.red, a.s.green = true, false
	case strings.HasPrefix(m[2], "remained"):
		a.s.red, a.s.green = true, false
	case m[2] != "":
		a.s.add(-1, -1, n)
	case m[3] != "":
		a.s.add(n, -1, -1)
	case m[4] != "" || m[5] != "":
		a.s.red, a.s.green = true, false
	}
	a.details = false
}

// end hands in the open failure.
func (a *ava) end() {
	o := a.open
	a.open = nil
	if o == nil {
		return
	}
	f := Failure{ID: o.title, File: o.file, Line: o.at, Kind: KindTest, Log: o.log}
	if avaCrash.MatchString("  " + o.title) {
		f.ID, f.Kind, a.crashed = "", KindSetup, o.file
	}
	if top, ok := a.s.topFrame(jsFrames(o.lines)); ok && f.Line == 0 {
		f.File, f.Line = top.file, top.line
	}
	if strings.Contains(strings.Join(o.lines, "\n"), "SyntaxError") && f.Line == 0 {
		if file, at := a.s.excerptPlace(o.lines); at > 0 {
			f.File, f.Line = file, at
		}
	}
	var text, expected, actual []string
	differs, inspected := false, false
	for _, l := range o.lines {
		if isStackLine(l) {
			continue
		}
		if inspected = inspected && l != "}" || avaInspected.MatchString(l); inspected || l == "}" && !differs {
			continue // the error follows as Node prints it
		}
		if len(text) > 0 && text[len(text)-1] == l && jsErrorLine.MatchString(l) {
			continue
		}
		if m := avaFrame.FindStringSubmatch("  " + l); m != nil {
			if f.Line == 0 && a.s.own(m[1]) {
				f.File, f.Line = m[1], atoi(m[2])
			}
			continue
		}
		if strings.TrimSpace(l) == "" {
			continue
		}
		if strings.HasPrefix(l, "Difference (- actual, + expected)") {
			differs = true
		}
		switch {
		case differs && strings.HasPrefix(l, "- "):
			actual = append(actual, strings.TrimSpace(l[2:]))
		case differs && strings.HasPrefix(l, "+ "):
			expected = append(expected, strings.TrimSpace(l[2:]))
		}
		if !avaThrown.MatchString(l) || len(text) == 0 {
			text = append(text, l)
		}
	}
	if len(expected) > 0 || len(actual) > 0 {
		e, x := strings.Join(expected, "\n"), strings.Join(actual, "\n")
		f.Expected, f.Actual = &e, &x
	}
	f.Message = strings.Join(text, "\n")
	if f.Message == "" {
		f.Message = o.title
	}
	a.s.red = true
	a.s.fail(f)
}

// close implements reader.
func (a *ava) close() { a.end() }
