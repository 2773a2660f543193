package feedback

import (
	"strings"
	"time"
)

func gtestTool() *tool {
	return &tool{
		name: "gtest", what: "googletest's text (full and brief), parameters, exceptions, skips, crashes within a test; JSON and XML",
		invocations: []string{"./tests", "./tests --gtest_brief=1", "./tests --gtest_output=json:r.json"},
		markers:     []string{"[==========]", "[ RUN      ]", "[  FAILED  ]"},
		family:      []string{"sanitizer", "json", "junit-xml"},
		make:        func(s *sink) reader { return &gtest{s: s} },
	}
}

// gtest reads the output of googletest programs.
type gtest struct {
	s      *sink
	open   string
	lines  []string
	log    int
	failed int
	passed int
	skip   int
	end    bool // the closing list of failed tests
}

var (
	gtestRan    = newPattern(`^(?:\d+: )?\[==========\] (\d+) tests? from \d+ test (?:suite|case)s? ran\.`)
	gtestRun    = newPattern(`\[ RUN      \] (\S+)$`)
	gtestResult = newPattern(`\[(?:  (FAILED)  |       (OK) |  (SKIPPED) )\] (\S+?)(?:, where (.+?))? \((\d+) ms\)$`)
	gtestCount  = newPattern(`^\[  (PASSED|SKIPPED|FAILED) {1,2}\] (\d+) tests?[.,]`)
	gtestPlace  = newPattern(`^(\S.*?)(?::(\d+)|\((\d+)\)): (Failure|error:? ?.*|Skipped|Expected .*)$`)
	gtestJSONAt = newPattern(`^(\S+\.\w+)(?::(\d+)|\((\d+)\)):?$`)
	gtestWhich  = newPattern(`^\s*Which is: (.+)$`)
)

// line implements reader.
func (g *gtest) line(l line) claim {
	t := l.text
	if !strings.Contains(t, "[") || len(t) < 12 {
		return g.keep(t)
	}
	if m := gtestRun.FindStringSubmatch(t); m != nil {
		g.open, g.lines, g.log, g.end = strings.Clone(m[1]), nil, l.n, false
		g.s.open, g.s.ran = g.open, true
		return hold
	}
	if m := gtestResult.FindStringSubmatch(t); m != nil && (g.open == m[4] || g.open == "" && !g.end) {
		g.result(m, l.n)
		return hold
	}
	if strings.HasPrefix(t, "[==========]") || strings.HasPrefix(t, "[----------]") {
		g.s.ran = true
		if gtestRan.MatchString(t) {
			g.end = true
			return hold
		}
		return mine
	}
	if m := gtestCount.FindStringSubmatch(t); m != nil && g.end && g.open == "" {
		switch m[1] {
		case "PASSED":
			g.passed += atoi(m[2])
			g.s.ended, g.s.green = true, g.failed == 0
		case "SKIPPED":
			g.skip += atoi(m[2])
		case "FAILED":
			g.failed = max(g.failed, atoi(m[2]))
			g.s.red = true
		}
		return mine
	}
	if g.end && (strings.HasPrefix(t, "[  FAILED  ]") || strings.HasPrefix(t, "[  SKIPPED ]")) {
		return mine
	}
	return g.keep(t)
}

func (g *gtest) keep(t string) claim {
	if g.open == "" {
		const most = 60 // lines of one test; --gtest_brief prints no "RUN"
		if !g.end && len(g.lines) < most && (gtestPlace.MatchString(t) || t == "unknown file: Failure" || len(g.lines) > 0 && t != "") {
			g.lines = append(g.lines, strings.Clone(t))
		}
		return pass
	}
	const most = 200 // lines of one test
	if len(g.lines) < most {
		g.lines = append(g.lines, strings.Clone(t))
	}
	return hold
}

func (g *gtest) result(m []string, n int) {
	id := m[4]
	took := time.Duration(atoi(m[6])) * time.Millisecond
	status := CasePassed
	switch {
	case m[1] != "":
		status = CaseFailed
		f := gtestFailure(g.lines)
		f.ID, f.Log = id, max(g.log, 1)
		if g.log == 0 {
			f.Log = n
		}
		g.s.red = true
		g.s.fail(f)
	case m[3] != "":
		status = CaseSkipped
	}
	g.s.test(id, "", status, took)
	g.open, g.lines, g.s.open = "", nil, ""
}

// gtestFailure reads the first failure in a test's output.
func gtestFailure(lines []string) Failure {
	f := Failure{Kind: KindTest}
	var text []string
	found := false
	for _, l := range lines {
		if m := gtestPlace.FindStringSubmatch(l); m != nil && m[4] != "Skipped" {
			if found {
				text = append(text, l)
				continue
			}
			f.File, f.Line = m[1], atoi(m[2]+m[3])
			text, found = nil, true
			if rest := strings.TrimPrefix(m[4], "Failure"); rest != "" {
				text = append(text, strings.TrimPrefix(rest, "error: "))
			}
			continue
		}
		if m := gtestJSONAt.FindStringSubmatch(l); m != nil && !found {
			f.File, f.Line, text, found = m[1], atoi(m[2]+m[3]), nil, true
			continue
		}
		if l == "unknown file: Failure" || l == "unknown file" {
			if !found {
				text, found = nil, true
			}
			continue
		}
		text = append(text, l)
	}
	f.Message = strings.TrimSpace(strings.Join(text, "\n"))
	if f.Message == "" {
		f.Message = "failed without a message"
	}
	f.Expected, f.Actual = gtestValues(text)
	return f
}

// gtestValues reads the values below "Expected equality of these values:"; the second is the expected one as most
// people write it, and as the older "Value of / Actual / Expected" form names it.
func gtestValues(lines []string) (expected, actual *string) {
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if strings.HasPrefix(t, "Expected equality of these values:") {
			var values []string
			for _, v := range lines[i+1:] {
				if m := gtestWhich.FindStringSubmatch(v); m != nil && len(values) > 0 {
					values[len(values)-1] = m[1]
				} else if strings.HasPrefix(v, "  ") && len(values) < 2 {
					values = append(values, strings.TrimSpace(v))
				} else {
					break
				}
			}
			if len(values) == 2 {
				return told(unquote(values[1])), told(unquote(values[0]))
			}
		}
		if a, ok := strings.CutPrefix(t, "Actual: "); ok && i+1 < len(lines) {
			if e, ok := strings.CutPrefix(strings.TrimSpace(lines[i+1]), "Expected: "); ok {
				return told(e), told(a)
			}
		}
	}
	return nil, nil
}

// close implements reader.
func (g *gtest) close() {
	if g.passed+g.failed+g.skip > 0 {
		g.s.add(g.passed, g.failed, g.skip)
	}
}
