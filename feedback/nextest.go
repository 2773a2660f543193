package feedback

import (
	"strconv"
	"strings"
	"time"
)

func nextestTool() *tool {
	return &tool{
		name: "nextest", what: "cargo-nextest's results, output sections of all versions, retries (flaky), time-outs, signals, leaks",
		invocations: []string{"cargo nextest run", "cargo nextest run --retries 2 --no-fail-fast"},
		markers:     []string{"Nextest run ID", " tests across ", "Summary ["},
		runs:        named("cargo nextest", "cargo-nextest", "cargo ltest"),
		family:      []string{"cargo", "cargo test"},
		make:        func(s *sink) reader { return &nextest{s: s} },
	}
}

// nextest reads cargo-nextest's output. It holds the stream from the start line to the summary.
type nextest struct {
	s       *sink
	running bool
	summary bool
	current *nextestCase // whose output is being read
	cases   map[string]*nextestCase
	order   []string
}

type nextestCase struct {
	suite, name string
	word        string
	failed      bool
	passed      bool
	took        time.Duration
	lines       []string
	log         int
}

var (
	nextestStart  = newPattern(`^\s*(?:Nextest run|Starting \d+ tests? across )`)
	nextestStatus = newPattern(`^\s*(?:TRY (\d+) )?(PASS|FAIL\+LEAK|FAIL|ABORT|TIMEOUT|TMT|TMPASS|LEAK|LEAK-FAIL|FLAKY \d+/\d+|SKIP|XFAIL|SIG\w+|EXECFAIL|SEGV|TRY \d+ \w+) +\[\s*>?\s*([\d.]+)s\](?: \(\s*[^)\s]*/\s*\d+\))? +(\S+) +(\S.*)$`)
	nextestSkip   = newPattern(`^\s*SKIP +\[\s*\] +(\S+) +(\S.*)$`)
	nextestOutput = newPattern(`^--- (?:TRY \d+ )?(STDOUT|STDERR|OUTPUT): +(\S+) +(.+?) +---$`)
	nextestTotal  = newPattern(`^\s*Summary \[ *[\d.]+s\] +(?:\d+/)?(\d+) tests? run: (\d+) passed(?: \([^)]*\))?(.*)$`)
	nextestCounts = newPattern(`(\d+) (failed|timed out|exec failed|skipped)`)
)

// line implements reader.
func (r *nextest) line(l line) claim {
	t := l.text
	if !r.running {
		if nextestStart.MatchString(t) {
			r.running, r.summary, r.s.ran = true, false, true
			r.cases = map[string]*nextestCase{}
			return hold
		}
		return pass
	}
	if m := nextestTotal.FindStringSubmatch(t); m != nil {
		r.total(m)
		return hold
	}
	if strings.HasPrefix(t, "error: test run failed") || strings.HasPrefix(t, "error: no tests to run") {
		r.end()
		return mine
	}
	if r.summary && (t == "" || strings.HasPrefix(t, "error") || t[0] != ' ') && !strings.HasPrefix(t, "──") {
		r.end()
		return pass
	}
	if m := nextestOutput.FindStringSubmatch(t); m != nil {
		r.current = r.of(m[2], m[3], l.n)
		return hold
	}
	if m := nextestStatus.FindStringSubmatch(t); m != nil {
		r.status(m, l.n)
		return hold
	}
	if m := nextestSkip.FindStringSubmatch(t); m != nil {
		r.s.suiteTest(m[1], m[2], "", CaseSkipped, 0)
		return hold
	}
	if r.current != nil && t != "" && !strings.HasPrefix(t, "──") {
		const most = 400 // lines of output of one test
		if len(r.current.lines) < most {
			// The newer form indents what a test printed by four.
			r.current.lines = append(r.current.lines, strings.TrimPrefix(t, "    "))
		}
	}
	return hold
}

func (r *nextest) of(suite, name string, n int) *nextestCase {
	key := suite + " " + name
	c := r.cases[key]
	if c == nil {
		c = &nextestCase{suite: strings.Clone(suite), name: strings.Clone(name), log: n}
		r.cases[key] = c
		r.order = append(r.order, key)
	}
	return c
}

func (r *nextest) status(m []string, n int) {
	c := r.of(m[4], m[5], n)
	if f, err := strconv.ParseFloat(m[3], 64); err == nil {
		c.took = time.Duration(f * float64(time.Second))
	}
	r.current = nil
	switch word := m[2]; {
	case r.summary && strings.HasPrefix(word, "FLAKY"):
		c.passed = true
	case word == "PASS", word == "LEAK", word == "TMPASS", strings.HasPrefix(word, "FLAKY"):
		c.passed = true
	case word == "SKIP":
	default:
		if !c.failed {
			c.log = n
		}
		c.failed, c.word = true, strings.Clone(word)
		r.current = c
	}
}

func (r *nextest) total(m []string) {
	failed, skipped := 0, 0
	for _, c := range nextestCounts.FindAllStringSubmatch(m[3], -1) {
		if c[2] == "skipped" {
			skipped += atoi(c[1])
		} else {
			failed += atoi(c[1])
		}
	}
	r.s.add(atoi(m[2]), failed, skipped)
	r.summary, r.current = true, nil
	r.s.ended = true
	if failed > 0 {
		r.s.red = true
	} else {
		r.s.green = true
	}
}

// end hands in what the run told.
func (r *nextest) end() {
	for _, key := range r.order {
		c := r.cases[key]
		status := CasePassed
		if c.failed && !c.passed {
			status = CaseFailed
		}
		r.s.suiteTest(c.suite, c.name, "", status, c.took)
		if !c.failed {
			continue
		}
		f := rustPanic(r.s, c.lines)
		f.ID, f.Suite, f.Log, f.Kind = c.name, c.suite, c.log, KindTest
		switch {
		case c.word == "TIMEOUT" || c.word == "TMT":
			f.Kind = KindTimeout
			f.Message = strings.TrimSpace("test timed out after " + c.took.String() + "\n" + f.Message)
		case strings.HasPrefix(c.word, "SIG") || c.word == "ABORT":
			f.Kind = KindCrash
			f.Message = strings.TrimSpace(f.Message + "\nended by " + c.word)
		case f.Message == "":
			f.Message = c.word
		}
		if c.passed {
			r.s.flakyFailure(f)
			continue
		}
		r.s.red = true
		r.s.fail(f)
	}
	r.running, r.cases, r.order, r.current = false, nil, nil, nil
}

// close implements reader.
func (r *nextest) close() {
	if r.running {
		r.end()
	}
}
