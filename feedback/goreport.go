package feedback

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// report hands in what a finished package holds: results, failures, panics.
func (g *goTests) report(p *goPackage) {
	dir := g.s.goDir(p.name)
	told := false
	panicLines := p.out.lines()
	g.disbelieve(p, dir)
	g.settlePanic(p)
	for _, n := range p.order {
		t := p.tests[n]
		g.counted.passed += t.passed
		g.counted.failed += t.failed
		g.counted.skipped += t.skipped
		id := n
		if t.failed > 0 && t.passed > 0 {
			g.s.flaky(id)
		}
		switch {
		case t.failed > 0:
			g.s.suiteTest(p.name, n, "", CaseFailed, t.took)
		case t.passed > 0:
			g.s.suiteTest(p.name, n, "", CasePassed, t.took)
		case t.skipped > 0:
			g.s.suiteTest(p.name, n, "", CaseSkipped, t.took)
		}
		if t.failed == 0 {
			continue
		}
		told = true
		out := t.out.lines()
		if g.parentOnly(p, n, out) {
			continue
		}
		f := g.failure(p, t, out, dir)
		f.Suite = p.name
		g.s.fail(f)
	}
	if p.cause != "" {
		return
	}
	if i := goPanicIn(panicLines); i >= 0 && p.failed && !g.panicTold(p) {
		g.s.fail(g.panicFailure(p, panicLines[i:], ""))
		return
	}
	if p.failed && !told {
		for _, n := range p.order { // the test that was running when the program ended
			t := p.tests[n]
			if t.done || t.passed > 0 || t.failed > 0 {
				continue
			}
			out := t.out.lines()
			if i := goPanicIn(out); i >= 0 {
				g.s.fail(g.panicFailure(p, out[i:], n))
				return
			}
		}
		text := strings.Join(goPlainOutput(panicLines), "\n")
		if text == "" {
			text = "the package failed without a failing test"
			if n := g.running(p); n != "" {
				text = "the test binary ended while " + n + " was running"
			}
		}
		kind := KindSetup
		id := p.name
		if n := g.running(p); n != "" {
			id, kind = n, KindTest
		}
		file, line := goPlace(panicLines)
		g.s.fail(Failure{ID: id, Message: text, Kind: kind, Log: p.failLog, File: g.s.goFile(file, dir), Line: line})
	}
}

// disbelieve drops results that tests printed, in the text without -v, where only the sources tell them from real
// ones: failed tests whose function is in no test file of the package's directory.
func (g *goTests) disbelieve(p *goPackage, dir string) {
	if g.verbose || g.json || !g.s.paths.exists || p.name == "" {
		return
	}
	var source []byte
	for _, n := range p.order {
		t := p.tests[n]
		if t.failed == 0 {
			continue
		}
		function, _, _ := strings.Cut(n, "/")
		if i := strings.LastIndexByte(function, '-'); i > 0 && isDigits(function[i+1:]) {
			function = function[:i] // a benchmark's number of processors
		}
		if source == nil {
			source = goTestSource(filepath.Join(g.s.paths.root, filepath.FromSlash(dir)))
		}
		if len(source) > 0 && !bytes.Contains(source, []byte("func "+function+"(")) {
			t.failed = 0
		}
	}
}

// goTestSource is the text of a directory's test files; empty where there are none, or more than a package has.
func goTestSource(dir string) []byte {
	const most = 4 << 20 // bytes of a package's test files that are looked through
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil
	}
	var all []byte
	for _, f := range files {
		info, err := os.Lstat(f)
		if err != nil || !info.Mode().IsRegular() || int64(len(all))+info.Size() > most {
			return nil
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return nil
		}
		all = append(append(all, text...), '\n')
	}
	return all
}

// settlePanic gives a panic that was printed behind a parent's result to the innermost failed test, where the
// program was, and data races that were printed before a result to the test that failed by them.
func (g *goTests) settlePanic(p *goPackage) {
	for _, n := range p.order {
		t := p.tests[n]
		if t.failed == 0 || goPanicIn(t.out.lines()) < 0 {
			continue
		}
		for _, m := range p.order {
			if c := p.tests[m]; strings.HasPrefix(m, n+"/") && c.failed > 0 && len(goPlainOutput(c.out.lines())) == 0 {
				c.out, t.out = t.out, ringText{}
				t, n = c, m
			}
		}
	}
	if out := p.out.lines(); goPanicIn(out) >= 0 && !g.panicTold(p) && !strings.HasPrefix(out[goPanicIn(out)], "panic: test timed out") {
		var last *goTest
		for _, n := range p.order {
			t := p.tests[n]
			if t.failed > 0 && len(goPlainOutput(t.out.lines())) == 0 && (last == nil || strings.HasPrefix(n, last.name+"/")) {
				last = t
			}
		}
		if last != nil {
			for _, l := range out[goPanicIn(out):] {
				last.out.add(l, &g.kept)
			}
		}
	}
	if goRace(p.out.lines()) == nil {
		return
	}
	for _, n := range p.order {
		t := p.tests[n]
		out := t.out.lines()
		if e := goEntries(out); t.failed > 0 && goRace(out) == nil && len(e) > 0 && strings.Contains(e[len(e)-1].text[0], "race detected during execution of test") {
			for _, l := range p.out.lines() {
				t.out.add(l, &g.kept)
			}
			return
		}
	}
}

// running names the test that had not ended.
func (g *goTests) running(p *goPackage) string {
	last := ""
	for _, n := range p.order {
		if t := p.tests[n]; !t.done && t.passed+t.failed+t.skipped == 0 {
			last = n
		}
	}
	return last
}

// parentOnly tells whether a test failed only because its subtests did.
func (g *goTests) parentOnly(p *goPackage, name string, out []string) bool {
	prefix := name + "/"
	child := false
	for _, n := range p.order {
		if strings.HasPrefix(n, prefix) && p.tests[n].failed > 0 {
			child = true
			break
		}
	}
	if !child || goPanicIn(out) >= 0 {
		return false
	}
	return len(goEntries(out)) == 0 || !anyAssertion(goEntries(out))
}

// panicTold tells whether one of the package's failing tests carries the panic already.
func (g *goTests) panicTold(p *goPackage) bool {
	for _, n := range p.order {
		if t := p.tests[n]; t.failed > 0 && goPanicIn(t.out.lines()) >= 0 {
			return true
		}
	}
	return false
}

// failure makes the report entry of a failed test from its output.
func (g *goTests) failure(p *goPackage, t *goTest, out []string, dir string) Failure {
	if i := goPanicIn(out); i >= 0 {
		f := g.panicFailure(p, out[i:], t.name)
		f.Log = t.log
		return f
	}
	f := Failure{ID: t.name, Kind: KindTest, Log: t.log}
	race := goRace(out)
	entries := goEntries(out)
	if race != nil {
		entries = slices.DeleteFunc(entries, func(e goEntry) bool { return e.file == "testing.go" })
	}
	if race != nil {
		f.Message = strings.Join(race.head, "\n")
		if top, ok := g.s.topGoFrame(race.frames); ok {
			f.File, f.Line = g.s.goFile(top.file, dir), top.line
			f.Message += "\nat " + top.function
		}
		if len(entries) == 0 || !anyAssertion(entries) {
			return f
		}
	}
	if len(entries) == 0 {
		f.Message = strings.Join(goPlainOutput(out), "\n")
		for _, l := range out { // behind output that did not end its line
			if m := goGlued.FindStringSubmatch(l); m != nil {
				f.File, f.Line, f.Message = g.s.goFile(m[1], dir), atoi(m[2]), m[3]
				break
			}
		}
		if e, a, ok := goExample(out); ok {
			f.Expected, f.Actual = told(e), told(a)
			f.Message = "example's output differs\ngot:\n" + a + "\nwant:\n" + e
		}
		if f.Message == "" {
			f.Message = "failed without a message"
		}
		return f
	}
	best := 0
	for i, e := range entries {
		if e.assertion() {
			best = i
			break
		}
		best = i
	}
	e := entries[best]
	if race == nil {
		f.File, f.Line = g.s.goFile(e.file, dir), e.line
		f.Message = e.message()
		if file, line := e.testifyPlace(g.s); file != "" {
			f.File, f.Line = file, line
		}
		f.Expected, f.Actual = e.values()
	}
	rest := []string{f.Message}
	for _, asserts := range []bool{true, false} { // what only logs comes last, where there is room
		for i, x := range entries {
			if i != best && x.assertion() == asserts {
				rest = append(rest, path.Base(x.file)+":"+strconv.Itoa(x.line)+": "+x.message())
			}
		}
	}
	f.Message = strings.Join(rest, "\n")
	return f
}

// goEntry is one t.Log, t.Error or t.Fatal.
type goEntry struct {
	file string
	line int
	text []string
}

var (
	goLog       = newPattern(`^(\s+)(\S[^:]*\.go):(\d+): ?(.*)$`)
	goGlued     = newPattern(`\S {4,}([^\s:]+\.go):(\d+): (.+)$`)
	goAssertion = newPattern(`(?i)\b(?:got|want|expect|unexpected|mismatch|differ|error|fail|should|must|panic|cannot|can't|could not|not equal|invalid|wrong|missing|timeout|no such|refused|denied|nil|did not|does not|doesn't|isn't|is not|too many|not found|obtenu|attendu)|!=|<>|≠`)
)

// goEntries reads log entries with their continuation lines, which are indented four blanks deeper.
func goEntries(out []string) []goEntry {
	var entries []goEntry
	depth := -1
	for _, l := range out {
		if m := goLog.FindStringSubmatch(l); m != nil && (depth < 0 || len(m[1]) <= depth || len(entries[len(entries)-1].text) == 0) {
			depth = len(m[1])
			entries = append(entries, goEntry{file: m[2], line: atoi(m[3]), text: []string{m[4]}})
			continue
		}
		if depth >= 0 && indent(l) > depth {
			e := &entries[len(entries)-1]
			const most = 80 // lines of one entry
			if len(e.text) < most {
				e.text = append(e.text, strings.TrimPrefix(l[depth:], "    "))
			}
			continue
		}
		if l != "" {
			depth = -1
		}
	}
	return entries
}

func anyAssertion(entries []goEntry) bool {
	for _, e := range entries {
		if e.assertion() {
			return true
		}
	}
	return false
}

func (e goEntry) assertion() bool {
	return len(e.text) > 1 && e.testify() || goAssertion.MatchString(strings.Join(e.text, "\n"))
}

func (e goEntry) testify() bool {
	for _, l := range e.text {
		if strings.HasPrefix(strings.TrimSpace(l), "Error Trace:") {
			return true
		}
	}
	return false
}

var testifyKey = newPattern(`^\s*(Error Trace|Error|Test|Messages):\s*(.*)$`)

// testifyFields reads the labelled parts of a testify block.
func (e goEntry) testifyFields() map[string][]string {
	fields := map[string][]string{}
	key := ""
	for _, l := range e.text {
		if m := testifyKey.FindStringSubmatch(l); m != nil {
			key = m[1]
			fields[key] = append(fields[key], strings.TrimRight(m[2], " "))
			continue
		}
		if key != "" {
			fields[key] = append(fields[key], strings.TrimPrefix(strings.TrimLeft(l, "\t "), "\t"))
		}
	}
	return fields
}

// message is what the entry says, testify's labels taken off.
func (e goEntry) message() string {
	if e.testify() {
		f := e.testifyFields()
		text := f["Error"]
		if m := strings.Join(f["Messages"], "\n"); m != "" {
			text = append(text, "Messages: "+m)
		}
		return strings.Join(text, "\n")
	}
	return strings.TrimSpace(strings.Join(e.text, "\n"))
}

var goTracePlace = newPattern(`^(.*\.go):(\d+)$`)

// testifyPlace is the first place of the trace that lies in the project.
func (e goEntry) testifyPlace(s *sink) (string, int) {
	if !e.testify() {
		return "", 0
	}
	for _, l := range e.testifyFields()["Error Trace"] {
		if m := goTracePlace.FindStringSubmatch(strings.TrimSpace(l)); m != nil && s.own(m[1]) && absolute(m[1]) {
			return m[1], atoi(m[2])
		}
	}
	return "", 0
}

// values finds expected and actual; of a go-cmp diff these are the lines marked with - and +.
func (e goEntry) values() (expected, actual *string) {
	text := strings.Join(e.text, "\n")
	if strings.Contains(text, "-want +got") || strings.Contains(text, "+got -want") || strings.Contains(text, "-got +want") {
		var minus, plus []string
		for _, l := range e.text[1:] {
			l = strings.TrimSpace(strings.ReplaceAll(l, "\u00a0", " "))
			if strings.HasPrefix(l, "-") {
				minus = append(minus, strings.TrimSpace(l[1:]))
			} else if strings.HasPrefix(l, "+") {
				plus = append(plus, strings.TrimSpace(l[1:]))
			}
		}
		if strings.Contains(text, "-got +want") {
			minus, plus = plus, minus
		}
		return told(strings.Join(minus, "\n")), told(strings.Join(plus, "\n"))
	}
	return expectedActual(e.message())
}

// goPlainOutput is output without the runner's own lines.
func goPlainOutput(out []string) []string {
	var text []string
	for _, l := range out {
		t := strings.TrimSpace(l)
		if t == "" || t == "FAIL" || t == "PASS" || strings.HasPrefix(t, "=== ") || strings.HasPrefix(t, "--- ") || strings.HasPrefix(t, "exit status ") || strings.HasPrefix(t, "coverage: ") || strings.HasPrefix(t, "FAIL\t") || strings.HasPrefix(t, "ok  \t") {
			continue
		}
		text = append(text, l)
	}
	const most = 12 // lines: the end says why
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return text
}

// goPlace finds a file:line in free output.
func goPlace(out []string) (string, int) {
	for _, l := range out {
		if m := goLog.FindStringSubmatch(" " + l); m != nil && !strings.Contains(m[2], " ") {
			return m[2], atoi(m[3])
		}
	}
	return "", 0
}

// goExample reads "got:\n…\nwant:\n…" of an example's output.
func goExample(out []string) (want, got string, ok bool) {
	text := strings.Join(out, "\n")
	i := strings.Index(text, "got:\n")
	if i < 0 {
		return "", "", false
	}
	got, want, ok = strings.Cut(text[i+len("got:\n"):], "\nwant:\n")
	return strings.TrimSpace(want), strings.TrimSpace(got), ok
}

// goDir is the directory of a package relative to the root, "" when it is the root or cannot be told.
func (s *sink) goDir(pkg string) string {
	pkg = strings.TrimSuffix(pkg, "_test")
	if pkg == "" || pkg == "command-line-arguments" || strings.HasPrefix(pkg, "_/") {
		return ""
	}
	if mod := s.goModule(); mod != "" {
		if pkg == mod {
			return ""
		}
		if rest, ok := strings.CutPrefix(pkg, mod+"/"); ok {
			return rest
		}
	}
	parts := strings.Split(pkg, "/")
	n := 1
	switch {
	case !strings.Contains(parts[0], "."):
	case parts[0] == "github.com" || parts[0] == "gitlab.com" || parts[0] == "bitbucket.org" || parts[0] == "codeberg.org":
		n = 3
		if len(parts) > n && majorVersion.MatchString(parts[n]) {
			n++
		}
	default:
		n = 2
	}
	if len(parts) <= n {
		return ""
	}
	return strings.Join(parts[n:], "/")
}

var majorVersion = newPattern(`^v[2-9]\d*$`)

// foreignPackage tells that a package cannot be one of this run's, since it lies outside the module at the root.
func (s *sink) foreignPackage(pkg string) bool {
	module := s.goModule()
	if module == "" || pkg == module || strings.HasPrefix(pkg, module+"/") || strings.HasPrefix(pkg, module+"_test") || !strings.Contains(pkg, ".") {
		return false
	}
	if s.nested == nil { // modules of their own below the root are tested as well
		s.nested = []string{}
		for _, below := range []string{"*/go.mod", "*/*/go.mod", "*/*/*/go.mod"} {
			files, err := filepath.Glob(filepath.Join(s.paths.root, filepath.FromSlash(below)))
			if err != nil {
				continue // cannot be: the pattern is right but for what the root's name holds
			}
			for _, f := range files {
				if data, err := os.ReadFile(f); err == nil {
					if m := goModule.FindStringSubmatch(string(data)); m != nil {
						s.nested = append(s.nested, strings.Trim(m[1], `"`))
					}
				}
			}
		}
	}
	return !slices.ContainsFunc(s.nested, func(m string) bool { return pkg == m || strings.HasPrefix(pkg, m+"/") })
}

// goModule is the module path from go.mod where the root exists.
func (s *sink) goModule() string {
	if !s.paths.exists {
		return ""
	}
	if s.module == nil {
		s.module = new(string)
		if data, err := os.ReadFile(filepath.Join(s.paths.root, filepath.FromSlash(s.dir), "go.mod")); err == nil {
			if m := goModule.FindStringSubmatch(string(data)); m != nil {
				*s.module = strings.Trim(m[1], `"`)
			}
		}
	}
	return *s.module
}

// goFile puts a package's directory before a bare file name.
func (s *sink) goFile(file, dir string) string {
	if file == "" || absolute(file) || strings.ContainsAny(file, `/\`) || dir == "" {
		return file
	}
	return dir + "/" + file
}
