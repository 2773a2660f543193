package feedback

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

func ctestTool() *tool {
	return &tool{
		name: "ctest", what: "results with and without output, parallel, verbose, repeated (flaky), time-outs, crashes, tests not run",
		invocations: []string{"ctest --output-on-failure", "ctest -V", "ctest -j8 --repeat until-pass:3", "make test"},
		markers:     []string{"% tests passed, ", "Test project ", "Test #", "The following tests FAILED:"},
		runs:        named("ctest", "make test", "ninja test"),
		family:      []string{"gcc", "make", "cmake"},
		make:        func(s *sink) reader { return &ctest{s: s, tests: map[int]*ctestCase{}} },
	}
}

// ctest reads CTest's report. It holds the stream from the project's line to the closing totals.
type ctest struct {
	s      *sink
	tests  map[int]*ctestCase
	order  []int
	output *ctestCase // whose output follows its result
	list   bool
	open   bool
	skip   int
	off    int // of them, disabled: not among the total
}

type ctestCase struct {
	name   string
	word   string
	failed bool
	passed bool
	lines  []string
	log    int
	took   time.Duration
}

var (
	ctestResult  = newPattern(`^\s*(?:\d+/\d+ )?Test\s+#(\d+): (\S.*?) \.*\s*(Passed|\*\*\*.*?|[A-Z][\w ]*\*\*\*\S.*?)\s+([\d.]+) sec`)
	ctestStart   = newPattern(`^\s*Start\s+\d+: `)
	ctestTotal   = newPattern(`^(\d+)% tests passed, (\d+) tests? failed out of (\d+)$`)
	ctestListed  = newPattern(`^\s+(\d+) - (.+?) \(([^()]+)\)(?: +\S.*)?$`)
	ctestVerbose = newPattern(`^(\d+): ?(.*)$`)
	ctestTarget  = newPattern(`(?:^|[^\w./+-])((?:[A-Za-z]:)?[\w./+-]+\.(?:c|cc|cpp|cxx|h|hpp|py|sh|rs|go)):(\d+)\b`)
)

// line implements reader.
func (c *ctest) line(l line) claim {
	t := l.text
	switch {
	case strings.HasPrefix(t, "Test project "):
		c.open, c.s.ran = true, true
		return hold
	case ctestStart.MatchString(t):
		c.output = nil
		return hold
	}
	if m := ctestResult.FindStringSubmatch(t); m != nil {
		c.result(m, l.n)
		return hold
	}
	if m := ctestTotal.FindStringSubmatch(t); m != nil {
		failed, all := atoi(m[2]), atoi(m[3])
		c.s.add(max(0, all-failed-(c.skip-c.off)), failed, c.skip)
		c.s.ran, c.s.ended = true, true
		c.s.red, c.s.green = c.s.red || failed > 0, failed == 0
		c.output, c.open = nil, false
		return mine
	}
	if t == "The following tests FAILED:" {
		c.list, c.output = true, nil
		return mine
	}
	if c.list {
		if m := ctestListed.FindStringSubmatch(t); m != nil {
			c.listed(m, l.n)
			return mine
		}
		if t == "" {
			c.list = false
		}
		return pass
	}
	if m := ctestVerbose.FindStringSubmatch(t); m != nil && c.open {
		c.of(atoi(m[1])).keep(m[2])
		return hold
	}
	if c.output != nil {
		c.output.keep(t)
		return hold
	}
	if c.open {
		return hold
	}
	return pass
}

func (c *ctest) of(n int) *ctestCase {
	k := c.tests[n]
	if k == nil {
		k = &ctestCase{}
		if len(c.tests) < maxKeptCases {
			c.tests[n] = k
			c.order = append(c.order, n)
		}
	}
	return k
}

func (k *ctestCase) keep(t string) {
	const most = 3000 // lines of one test's output, which may be a whole report of its own
	if len(k.lines) < most {
		k.lines = append(k.lines, strings.Clone(t))
	}
}

func (c *ctest) result(m []string, n int) {
	k := c.of(atoi(m[1]))
	k.name = strings.Clone(m[2])
	if f, err := strconv.ParseFloat(m[4], 64); err == nil {
		k.took = time.Duration(f * float64(time.Second))
	}
	word := strings.Trim(strings.ReplaceAll(m[3], "***", " "), " ")
	c.output = nil
	switch {
	case word == "Passed":
		k.passed = true
		if !k.failed {
			k.lines = nil
		}
	case strings.HasPrefix(word, "Skipped"), strings.Contains(word, "Disabled"):
		c.skip++
		if strings.Contains(word, "Disabled") {
			c.off++
		}
		c.s.test(k.name, "", CaseSkipped, 0)
		k.lines = nil
	default:
		k.failed, k.word = true, strings.Clone(word)
		if k.log == 0 {
			k.log = n
		}
		c.output = k
		return
	}
	if k.passed {
		c.s.test(k.name, "", CasePassed, k.took)
	}
}

// listed takes a line of the closing list, which names what went wrong more clearly than the result did.
func (c *ctest) listed(m []string, n int) {
	k := c.of(atoi(m[1]))
	if strings.Contains(m[3], "Disabled") || m[3] == "Skipped" {
		return
	}
	k.name, k.failed, k.passed = strings.Clone(m[2]), true, false
	if k.word == "" || k.word == "Failed" || k.word == "Exception" {
		k.word = strings.Clone(m[3])
	}
	if k.log == 0 {
		k.log = n
	}
}

// close implements reader.
func (c *ctest) close() {
	for _, n := range c.order {
		k := c.tests[n]
		if !k.failed || k.name == "" {
			continue
		}
		if c.inner(k) {
			continue
		}
		f := gtestFailure(k.lines)
		if f.File == "" {
			if m := ctestTarget.FindStringSubmatch(strings.Join(k.lines, "\n")); m != nil && c.s.own(m[1]) {
				f.File, f.Line = m[1], atoi(m[2])
			}
		}
		f.ID, f.Log, f.Kind = k.name, k.log, KindTest
		switch {
		case strings.HasPrefix(k.word, "Timeout"):
			f.Kind = KindTimeout
			f.Message = strings.TrimSpace("test timed out after " + k.took.String() + "\n" + strings.TrimPrefix(f.Message, "failed without a message"))
		case strings.HasPrefix(k.word, "Not Run"):
			f.Kind = KindSetup
		case strings.Contains(k.word, "Exception") || strings.Contains(k.word, "SEGFAULT") || strings.Contains(k.word, "aborted"):
			f.Kind = KindCrash
		}
		if f.Message == "failed without a message" {
			f.Message = k.word
		} else if k.word != "Failed" {
			f.Message = k.word + "\n" + f.Message
		}
		if k.passed {
			c.s.flakyFailure(f)
			continue
		}
		c.s.test(k.name, "", CaseFailed, k.took)
		c.s.red = true
		c.s.fail(f)
	}
}

// inner hands in the failures of the C++ test runner that a failed test was, if it was one and told them: they
// have names, places and values of their own. It reports whether there were any.
func (c *ctest) inner(k *ctestCase) bool {
	if k.passed || k.word != "Failed" {
		return false
	}
	for _, t := range []*tool{gtestTool(), catch2Tool(), doctestCppTool()} {
		if !slices.ContainsFunc(k.lines, func(l string) bool { return strings.Contains(l, t.markers[0]) }) {
			continue
		}
		s := &sink{session: c.s.session, tool: t, role: t.role, dir: c.s.dir, now: k.log}
		r := t.make(s)
		for _, l := range k.lines {
			r.line(line{n: k.log, text: l})
		}
		r.close()
		if len(s.failures) == 0 {
			continue
		}
		c.s.test(k.name, "", CaseFailed, k.took)
		c.s.red = true
		for _, f := range s.failures {
			if f.ID != k.name {
				f.ID = k.name + " > " + f.ID
			}
			f.Log, f.inner = k.log, true
			c.s.fail(f)
		}
		return true
	}
	return false
}
