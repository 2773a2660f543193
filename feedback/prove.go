package feedback

import (
	"strconv"
	"strings"
)

func proveTool() *tool {
	return &tool{
		name: "prove", what: "Test::More's diagnostics under prove, quiet and verbose, tests that die, wrong plans, the summary",
		invocations: []string{"prove -lr t", "prove -v t/a.t", "make test"},
		markers:     []string{"#   Failed test", "Test Summary Report", "Dubious, test returned"},
		runs:        named("prove", "yath", "dzil test"),
		make:        func(s *sink) reader { return &prove{s: s} },
	}
}

// prove reads what Test::Harness and, on standard error, Test::More print.
type prove struct {
	s     *sink
	open  *Failure
	died  map[string]*Failure // by file: the first "… at FILE line N."
	cause *Failure            // why the test around it failed: its first failed subtest
	last  *Failure            // summary: the file whose parse errors follow
	words string              // what a file printed last before its result: its last words
	lost  map[string]string   // by file: the last words of those that did not finish
	plain bool                // TAP without a harness: the TAP reader's
	bad   int
	file  string
}

var (
	proveFailed  = newPattern(`^(\s*)#   Failed test(?: '(.*)')?(?: in (\S+))?(?: \(|\s)?(?:at (\S+) line (\d+)\.?)?`)
	proveAt      = newPattern(`^\s*#   (?:in|at) (\S+)(?: at)? line (\d+)\.$`)
	proveTodo    = newPattern(`^\s*#   Failed \(TODO\)`)
	proveDied    = newPattern(`^([^#\s].*) at (\S+) line (\d+)(?:\.|, .*)$`)
	proveFile    = newPattern(`^(\S+\.t) \.+ ?(.*)$`)
	proveSummary = newPattern(`^(\S+)\s+\(Wstat: (\d+)(?: \(.*?\))? Tests: (\d+) Failed: (\d+)\)$`)
	proveTotal   = newPattern(`^Files=\d+, Tests=(\d+), `)
	proveParse   = newPattern(`^  Parse errors: (.+)$`)
	proveDubious = newPattern(`^Dubious, test returned \d+`)
	proveEnd     = newPattern(`^Result: (PASS|FAIL|NOTESTS)$`)
	proveLine    = newPattern(`^(\s*)(not )?ok\b(?: \d+)?(?: - (.*?))?(?: # (skip|SKIP|TODO|todo).*)?$`)
)

// line implements reader.
func (p *prove) line(l line) claim {
	t := l.text
	if p.file == "" && (strings.HasPrefix(t, "1..") || strings.HasPrefix(t, "ok ") || strings.HasPrefix(t, "not ok ")) {
		p.plain, p.open = true, nil
	}
	if p.file == "" && p.s.tapAt > 0 && p.s.tapAt == l.n-1 { // woken by a diagnostic right behind a result
		p.plain = true
	}
	if p.plain {
		return pass
	}
	if m := proveFailed.FindStringSubmatch(t); m != nil {
		p.end()
		p.open = &Failure{ID: m[2], File: m[4], Line: atoi(m[5]), Kind: KindTest, Log: l.n}
		p.open.weak = m[1] != "" // of a subtest: the test around it is reported, in its words
		return mine
	}
	if m := proveAt.FindStringSubmatch(t); m != nil && p.open != nil && p.open.File == "" {
		p.open.File, p.open.Line = m[1], atoi(m[2])
		return mine
	}
	if proveTodo.MatchString(t) {
		p.end()
		return mine
	}
	if s := strings.TrimLeft(t, " "); strings.HasPrefix(s, "# ") && p.open != nil {
		if !strings.HasPrefix(s, "# Looks like you") && !strings.HasPrefix(s, "# Subtest:") {
			p.open.Message += "\n" + s[2:]
		}
		return mine
	}
	if m := proveParse.FindStringSubmatch(t); m != nil && p.last != nil {
		if strings.HasPrefix(p.last.Message, endedEarly) {
			p.last.Message = m[1] + "\n" + p.last.Message
		} else {
			p.last.Message += "\n" + m[1]
		}
		p.endFile()
		return mine
	}
	if m := proveSummary.FindStringSubmatch(t); m != nil {
		p.end()
		p.endFile()
		p.summary(m, l.n)
		return mine
	}
	if m := proveTotal.FindStringSubmatch(t); m != nil {
		p.endFile()
		p.s.add(max(0, atoi(m[1])-p.bad), p.bad, -1)
		return mine
	}
	if m := proveEnd.FindStringSubmatch(t); m != nil {
		p.s.ran, p.s.ended = true, true
		p.s.red, p.s.green = p.s.red || m[1] == "FAIL", m[1] == "PASS"
		return mine
	}
	if m := proveFile.FindStringSubmatch(t); m != nil {
		p.end()
		p.file = strings.Clone(m[1])
		if p.words != "" && !strings.HasPrefix(m[2], "ok") { // printed on standard error before the file's line
			p.lose()
		}
		return mine
	}
	if m := proveLine.FindStringSubmatch(t); m != nil && p.file != "" {
		if m[1] == "" && m[3] != "" {
			status := CasePassed
			switch {
			case m[4] != "":
				status = CaseSkipped
			case m[2] != "":
				status = CaseFailed
			}
			p.s.suiteTest(p.file, m[3], p.s.file(p.file), status, 0)
		}
		return mine
	}
	if t == "" || t[0] == ' ' {
		return pass
	}
	if proveDubious.MatchString(t) {
		p.end()
		p.lose()
		return mine
	}
	p.end()
	if t[0] != '#' && !strings.HasPrefix(t, "Failed ") && !strings.HasPrefix(t, "No subtests run") && !strings.HasPrefix(t, "All ") && len(t) < maxMessage {
		p.words = strings.Clone(t)
	}
	if m := proveDied.FindStringSubmatch(t); m != nil {
		f := Failure{Message: m[1], File: m[2], Line: atoi(m[3]), Kind: KindCrash, Log: l.n}
		if p.died == nil {
			p.died = map[string]*Failure{}
		}
		if p.died[f.File] == nil && len(p.died) < maxKeptFailures {
			p.died[strings.Clone(f.File)] = &f
		}
	}
	return pass
}

// summary takes a file's line of the closing report: what died without a failed test is a failure of its own.
func (p *prove) summary(m []string, n int) {
	p.bad += atoi(m[4])
	p.s.red = true
	if atoi(m[4]) > 0 || m[2] == "0" && atoi(m[3]) > 0 {
		return
	}
	f := Failure{ID: m[1], File: m[1], Message: waitStatus(atoi(m[2])), Kind: KindCrash, Log: n}
	if w := p.lost[m[1]]; w != "" {
		f.Message = w + "\n" + f.Message
		if d := proveDied.FindStringSubmatch(w); d != nil && p.s.own(d[2]) {
			f.File, f.Line = d[2], atoi(d[3])
		}
	}
	if d := p.died[m[1]]; d != nil {
		f.Message, f.Line, f.Log = d.Message, d.Line, d.Log
	} else if p.lost[m[1]] == "" && atoi(m[3]) == 0 {
		for _, file := range sortedKeys(p.died) {
			if !strings.HasSuffix(file, ".t") { // it died in a module
				d := p.died[file]
				f.Message, f.Line, f.Log = d.Message, d.Line, d.Log
				if p.s.own(file) {
					f.File = file
				}
			}
		}
	}
	p.last = &f
}

// endFile hands in the file whose line of the closing report was read last.
func (p *prove) endFile() {
	if p.last != nil {
		p.s.fail(*p.last)
	}
	p.last = nil
}

// lose keeps the last words of the current file, which did not finish.
func (p *prove) lose() {
	if p.lost == nil {
		p.lost = map[string]string{}
	}
	if p.words != "" && p.file != "" && p.lost[p.file] == "" && len(p.lost) < maxKeptFailures {
		p.lost[p.file] = p.words
	}
	p.words = ""
}

// endedEarly begins the message of a test file that did not come to its end.
const endedEarly = "the test file ended early, "

// waitStatus says what a wait status of the system means: the exit code in its upper byte, the signal in its lower.
func waitStatus(status int) string {
	const signalBits = 0x7f
	if n := status & signalBits; n != 0 {
		name := signals[n]
		return endedEarly + "by signal " + strconv.Itoa(n) + " " + name
	}
	return endedEarly + "with exit code " + strconv.Itoa(status>>8)
}

func (p *prove) end() {
	f := p.open
	p.open = nil
	if f == nil {
		return
	}
	f.Message = strings.Trim(f.Message, "\n")
	if f.weak {
		if p.cause == nil {
			p.cause = f
		}
		return
	}
	if c := p.cause; c != nil && f.Message == "" {
		f.Message, f.File, f.Line = strings.TrimSpace("in subtest: "+c.ID+"\n"+c.Message), c.File, c.Line
	}
	p.cause = nil
	if f.Message == "" && f.ID == "" {
		f.Message = "a test without a name failed"
	} else if f.Message == "" {
		f.Message = "Failed test '" + f.ID + "'"
	}
	if f.ID == "" {
		f.ID = f.File
	}
	p.s.red = true
	p.s.fail(*f)
	p.s.suiteTest(f.File, f.ID, p.s.file(f.File), CaseFailed, 0)
}

// close implements reader.
func (p *prove) close() {
	p.end()
	p.endFile()
}
