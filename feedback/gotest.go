package feedback

import (
	"strings"
	"time"
)

func goTestTool() *tool {
	return &tool{
		name: "go test", what: "results, subtests, panics, races, time-outs, fuzzing, examples, testify and go-cmp texts; test2json events; test binaries",
		invocations: []string{"go test", "go test -v", "go test -json", "gotestsum --format standard-verbose", "./pkg.test"},
		markers:     []string{"=== RUN   ", "--- FAIL: ", `"Action":"`, "FAIL\t", "ok  \t", "[no test files]", "panic: test timed out"},
		runs: func(args []string) bool {
			return named("go test", "gotestsum", "richgo test", "gotest", "go tool test2json")(args) || strings.HasSuffix(args[0], ".test")
		},
		family: []string{"go build", "gotestsum", "ginkgo"},
		make:   func(s *sink) reader { return newGoTests(s) },
	}
}

// Bounds of what is kept of one test's or package's output.
const (
	goOutputLines = 150    // at its beginning, and as many at its end
	goFewLines    = 10     // the same once all tests together have
	goKeptLines   = 50_000 // lines: many tests at once that print much
	goKeptTests   = 20_000 // tests per package whose names are kept after they passed
	goLoose       = 20     // lines that a test binary printed before it failed without a test
)

// goTests understands both the text of `go test` and the events of `go test -json`.
type goTests struct {
	s        *sink
	pending  *goPackage            // text: the package whose result line is still to come
	packages map[string]*goPackage // JSON: packages by name
	order    []string
	build    *goBuildParser
	verbose  bool // "=== RUN" was seen: only tests that were started count
	ended    bool // a bare PASS or FAIL was seen; the package's result line should follow
	started  int  // tests started and not ended yet
	nesting  int  // indentation of the result line whose output follows
	json     bool
	counted  counter
	results  int // package result lines
	okLines  int
	ranNone  int      // packages that said that nothing ran
	loose    []string // lines since the last result that belong to no test yet
	kept     int      // lines in all rings
	doubt    *goDoubt // a package's end that came while a test was running
	building bool     // the last lines were the compiler's
}

var (
	goTestLike = newPattern(`^(?:Test|Fuzz|Example|Benchmark)`)
	goPkgLine  = newPattern(`^(ok  |FAIL|\?   )\t(\S+)(?:\t| )?(.*)$`)
)

// line implements reader.
func (g *goTests) line(l line) claim {
	text := l.text
	if g.doubt != nil && !g.resolve(text) {
		return pass
	}
	if len(text) > 0 && text[0] == '{' {
		if ok := g.event(text); ok {
			return hold // until a line that is no event: that is for the others
		}
	}
	if g.json && g.pending == nil {
		return pass
	}
	if len(text) >= 4 {
		switch text[:4] {
		case "=== ":
			if c, ok := g.mark(text); ok {
				return c
			}
		case "ok  ", "FAIL", "?   ", "PASS":
			if c, ok := g.outcome(text); ok {
				return c
			}
		}
		if strings.HasSuffix(text, "s)") && strings.Contains(text, "--- ") {
			if c, ok := g.result(text); ok {
				return c
			}
		}
		if i := gluedRun(text); i > 0 && goTestLike.MatchString(text[i+10:]) {
			g.output(text[:i])
			if c, ok := g.mark(text[i:]); ok {
				return c
			}
		}
	}
	if g.ended && (strings.HasPrefix(text, "coverage: ") || strings.HasPrefix(text, "exit status ") || strings.HasPrefix(text, "Found ")) {
		return hold
	}
	if g.pending == nil {
		switch {
		case strings.HasPrefix(text, "panic: ") && !strings.HasPrefix(text, "panic: (recovered)"), strings.HasPrefix(text, "fatal error: "), strings.HasPrefix(text, "WARNING: DATA RACE"), strings.HasPrefix(text, "runtime: goroutine stack exceeds"), strings.HasPrefix(text, "unexpected fault address"):
			g.open().out.add(text, &g.kept)
			return hold
		case strings.HasPrefix(text, "coverage: ") && strings.HasSuffix(text, "of statements"):
			return mine
		}
		g.building = goHeader.MatchString(text) || g.building && (goCompile.MatchString(text) || strings.HasPrefix(text, "\t") || strings.Contains(text, "too many errors"))
		if text != "" && !g.building {
			if len(g.loose) >= goLoose {
				copy(g.loose, g.loose[1:])
				g.loose = g.loose[:goLoose-1]
			}
			g.loose = append(g.loose, strings.Clone(text))
		}
		return pass
	}
	if g.ended && g.started <= 0 {
		g.ended = false
		if !g.verbose || len(g.pending.tests) > 0 {
			// A bare PASS or FAIL ended a test binary and no result line followed.
			g.finishPackage(g.pending.failed, "")
			return pass
		}
	}
	g.output(text)
	return hold
}

// resolve settles a doubtful end of a package by the line that follows; false where it stays in doubt, and then the
// line may be anybody's.
func (g *goTests) resolve(text string) bool {
	if _, _, name, _, ok := parseGoResult(text); ok && g.pending != nil {
		if t, known := g.pending.tests[name]; known && !t.done {
			g.doubt = nil // the test goes on, so it printed the line
			return true
		}
	}
	if strings.HasPrefix(text, "=== RUN   ") || goPkgLine.MatchString(text) {
		g.endDoubt()
		return true
	}
	return false
}

// endDoubt takes the doubtful end of a package for real.
func (g *goTests) endDoubt() {
	if d := g.doubt; d != nil {
		g.doubt = nil
		g.endPackage(d.name)
	}
}

// endPackage ends a package that failed.
func (g *goTests) endPackage(name string) {
	g.results++
	g.s.ran, g.s.red = true, true
	g.open()
	g.finishPackage(true, name)
	g.started, g.ended = 0, false
	g.loose = g.loose[:0]
}

// open is the package that text output belongs to.
func (g *goTests) open() *goPackage {
	if g.pending == nil {
		g.pending = newGoPackage("")
		for _, l := range g.loose {
			g.pending.out.add(l, &g.kept)
		}
		g.loose = g.loose[:0]
		g.pending.failLog = g.s.now
		g.started, g.ended = 0, false
	}
	return g.pending
}

func (g *goTests) output(text string) {
	p := g.open()
	text = strings.Clone(text) // a kept piece of a chunk would keep all of it
	p.out.add(text, &g.kept)
	if p.current != "" {
		t := p.test(p.current)
		if t.done && indent(text) <= g.nesting && text != "" && !strings.HasPrefix(t.name, "Example") {
			// Output after a result line belongs to that test as long as it is indented deeper.
			p.current = ""
			return
		}
		t.out.add(text, &g.kept)
	}
}

// mark handles "=== RUN   TestX" and its kin.
func (g *goTests) mark(text string) (claim, bool) {
	for _, m := range []string{"=== RUN   ", "=== CONT  ", "=== NAME  ", "=== PAUSE "} {
		name, ok := strings.CutPrefix(text, m)
		if !ok {
			continue
		}
		p := g.open()
		if m == "=== RUN   " {
			g.verbose = true
			t := p.test(name)
			t.done = false
			if t.log == 0 {
				t.log = g.s.now
			}
			g.started++
		}
		if m == "=== PAUSE " || name == "" {
			p.current = ""
		} else {
			p.current = p.test(name).name
		}
		g.ended = false
		return hold, true
	}
	return pass, false
}

// result handles "--- FAIL: TestX (0.00s)", also behind output that did not end its line.
func (g *goTests) result(text string) (claim, bool) {
	before, status, name, took, ok := parseGoResult(text)
	if !ok {
		return pass, false
	}
	p := g.open()
	t, known := p.tests[name]
	if g.verbose && (!known || t.done) || !known && !goTestLike.MatchString(name) {
		return pass, false // printed by the program under test
	}
	if !known {
		t = p.test(name)
		t.log = g.s.now
	}
	if strings.TrimSpace(before) != "" {
		if p.current != "" {
			p.test(p.current).out.add(before, &g.kept)
		}
		if !g.verbose && (status != "FAIL" || !gluedResult(before, name)) {
			return pass, false
		}
		before = ""
	}
	if g.verbose {
		g.started--
	}
	t.done = true
	t.took += seconds(took)
	switch status {
	case "PASS":
		t.passed++
		if t.failed == 0 {
			t.out.clear(&g.kept)
		}
		if !g.s.opts.Cases && p.forget(t) {
			g.counted.passed += t.passed
			p.current, g.ended = "", false
			return hold, true
		}
	case "FAIL":
		t.failed++
		p.failed = true
		t.log = g.s.now
	case "SKIP":
		t.skipped++
	}
	p.current, g.nesting = t.name, indent(before)
	g.ended = false
	return hold, true
}

// gluedResult tells the result of a top-level test behind output that did not end its line ("done--- FAIL: TestA (0s)")
// from a program's text about results, which has a blank or a mark before the dashes.
func gluedResult(before, name string) bool {
	last := before[len(before)-1]
	return last != ' ' && last != '\t' && last != '"' && last != '`' && last != '\'' && !strings.Contains(name, "/") && goTestLike.MatchString(name)
}

// parseGoResult takes "…--- FAIL: TestX (0.00s)" apart.
func parseGoResult(text string) (before, status, name, took string, ok bool) {
	i := strings.Index(text, "--- ")
	for ; i >= 0; i = next(text, "--- ", i) {
		rest := text[i+len("--- "):]
		if len(rest) < len("PASS: x (0s)") || rest[4:6] != ": " || rest[:4] != "PASS" && rest[:4] != "FAIL" && rest[:4] != "SKIP" {
			continue
		}
		name, took, _ = cutLast(rest[6:], " (")
		if took, ok = strings.CutSuffix(took, "s)"); !ok || name == "" || strings.Trim(took, "0123456789.") != "" {
			return "", "", "", "", false
		}
		return text[:i], rest[:4], name, took, true
	}
	return "", "", "", "", false
}

// next is the index of the next sub in text behind i, -1 when there is none.
func next(text, sub string, i int) int {
	j := strings.Index(text[i+1:], sub)
	if j < 0 {
		return -1
	}
	return i + 1 + j
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// gluedRun is where a test's start stands in a line, which is not its beginning where the test before it printed no
// newline; -1 without one.
func gluedRun(text string) int {
	if strings.IndexByte(text, '=') < 0 {
		return -1
	}
	return strings.Index(text, "=== RUN   ")
}

func seconds(s string) time.Duration {
	if s == "0.00" { // what most tests take
		return 0
	}
	d, err := time.ParseDuration(s + "s")
	if err != nil {
		return 0
	}
	return d
}

// outcome handles PASS, FAIL and the line that ends a package.
func (g *goTests) outcome(text string) (claim, bool) {
	if text == "PASS" || text == "FAIL" {
		if g.pending == nil {
			if text == "FAIL" {
				g.s.red = g.s.red || g.results > 0
				return mine, g.results > 0
			}
			return pass, false
		}
		if g.verbose && g.started > 0 {
			return pass, false // a test is running: it printed this
		}
		g.ended = true
		g.pending.current = ""
		if text == "FAIL" {
			g.pending.failed = true
		}
		return hold, true
	}
	m := goPkgLine.FindStringSubmatch(text)
	if m == nil || !strings.ContainsAny(m[2], "/.") && m[3] == "" {
		return pass, false
	}
	if g.verbose && g.started > 0 && m[1] == "ok  " {
		return pass, false // printed by a test that is still running
	}
	if g.pending != nil && g.s.foreignPackage(m[2]) { // printed by a test, as was a FAIL in front of it
		g.ended = false
		g.output(text)
		return hold, true
	}
	if g.verbose && g.started > 0 && m[1] == "FAIL" && g.pending != nil && m[3] != "" && m[3][0] != '[' && goPanicIn(g.pending.out.lines()) < 0 {
		g.doubt = &goDoubt{name: strings.Clone(m[2])}
		return mine, true
	}
	unbuilt := strings.Contains(m[3], "[build failed]") || strings.Contains(m[3], "[setup failed]")
	if m[1] == "FAIL" && !unbuilt {
		g.endPackage(m[2])
		return mine, true
	}
	g.results++
	g.s.ran = true
	switch m[1] {
	case "ok  ":
		g.okLines++
		if strings.Contains(m[3], "[no tests to run]") {
			g.ranNone++
		}
		g.open()
		g.pending.name = m[2]
		g.finishPackage(false, m[2])
	case "?   ":
		g.ranNone++
	default:
		g.s.red = true
		g.pending = nil
		g.build.failedPackage(m[2], g.s.now, strings.Trim(m[3], "[]"))
	}
	g.started, g.ended = 0, false
	g.loose = g.loose[:0]
	return mine, true
}

// finishPackage reports what is known of the text's current package.
func (g *goTests) finishPackage(failed bool, name string) {
	p := g.pending
	g.pending, g.ended, g.started = nil, false, 0
	if p == nil {
		return
	}
	if !g.json {
		g.kept = 0 // the package's are all there are
	}
	p.name = name
	p.failed = failed || p.failed
	g.report(p)
}

// close implements reader.
func (g *goTests) close() {
	g.endDoubt()
	if g.pending != nil {
		p := g.pending
		for _, n := range p.order {
			if t := p.tests[n]; g.verbose && !t.done && t.failed == 0 {
				g.s.open = n
			}
		}
		if p.failed || len(p.tests) > 0 || goPanicIn(p.out.lines()) >= 0 {
			g.finishPackage(p.failed || goPanicIn(p.out.lines()) >= 0, "")
		}
	}
	for _, n := range g.order {
		p := g.packages[n]
		for _, tn := range p.order {
			if t := p.tests[tn]; !t.done {
				g.s.open = tn
			}
		}
		g.report(p)
	}
	g.build.close()
	verbose := g.verbose || g.json
	c := g.counted
	switch {
	case verbose && c.failed == 0 && g.s.red:
		g.s.add(c.passed, -1, c.skipped) // the program ended before it counted
		g.s.ran = true
	case verbose:
		g.s.add(c.passed, c.failed, c.skipped)
		g.s.ran = true
	case c.failed > 0:
		g.s.add(-1, c.failed, -1)
	case g.results > 0 && g.ranNone == g.results:
		g.s.add(0, 0, -1)
	case g.results > 0 && g.okLines+g.ranNone == g.results:
		g.s.add(-1, 0, -1)
	}
	if g.results > 0 && !g.s.red {
		g.s.green = true
	}
	g.s.ended = g.s.ended || g.results > 0
}
