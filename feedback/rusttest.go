package feedback

import (
	"strings"
	"time"
)

func rustTestTool() *tool {
	return &tool{
		name: "cargo test", what: "libtest's results: assertions, panics (new and old form, with backtrace), Result and should_panic tests, doc-tests, quiet, --nocapture, --show-output, aborts, benches",
		invocations: []string{"cargo test", "cargo test -q --no-fail-fast", "cargo test --doc", "cargo bench"},
		markers:     []string{"test result: ", "running 1 test", " tests\n", "panicked at ", " stdout ----", " ... FAILED"},
		runs:        named("cargo test", "cargo t", "cargo bench", "cargo llvm-cov", "cargo tarpaulin", "cross test", "cargo careful", "cargo miri", "cargo watch", "cargo hack", "wasm-pack test"),
		family:      []string{"cargo", "nextest"},
		make:        func(s *sink) reader { return &rustTest{s: s} },
	}
}

// rustSection is the part of a test binary's output that is being read.
type rustSection int

const (
	rustOutside rustSection = iota
	rustResults             // "test x ... ok" lines
	rustOutputs             // "---- x stdout ----" blocks of failed tests
	rustList                // names of the failed tests
	rustPassed              // the blocks of passed tests, with --show-output
)

// rustTest reads the output of libtest binaries. Which tests failed is taken from the list before the final line,
// so that what tests print is not believed.
type rustTest struct {
	s       *sink
	suite   string
	source  string
	section rustSection
	blocks  map[string]*rustBlock
	order   []string
	block   *rustBlock
	listed  []string
	verdict map[string]bool // by test: FAILED lines, for logs that were cut
	open    string
	thread  string // the thread that broke the whole process
}

type rustBlock struct {
	lines []string
	log   int
}

var (
	rustBinary  = newPattern(`^\s*Running (?:(unittests) )?(\S+)?\s*\((?:.*[/\\])?([\w.-]+?)(?:-[0-9a-f]{16})?(?:\.exe|\.wasm)?\)$`)
	rustOldBin  = newPattern(`^\s*Running (?:.*[/\\])?deps[/\\]([\w.-]+?)-[0-9a-f]{16}(?:\.exe)?$`)
	rustDoc     = newPattern(`^\s*Doc-tests (\S+)$`)
	rustRunning = newPattern(`^running (\d+) tests?$`)
	rustResult  = newPattern(`^test (.+?) \.\.\. ?(.*)$`)
	rustKindOf  = newPattern(` - (?:should panic|compile fail|compile|ignored)$`)
	rustTotal   = newPattern(`^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;(?: (\d+) measured;)?(?: \d+ filtered out)?`)
	rustOutput  = newPattern(`^---- (.+) (?:stdout|stderr) ----$`)
	rustThread  = newPattern(`^\s*(?:test .* \.\.\. )?thread '(.+?)'(?: \(\d+\))? (panicked at |has overflowed its stack)(.*)$`)
	rustOldEnd  = newPattern(`^(?s)'?(.*)', (\S+):(\d+):\d+$`)
	rustDocName = newPattern(`^(.+?\.\w+) - .*\(line (\d+)\)$`)
	rustFrame   = newPattern(`^\s+at (\S+?):(\d+)(?::\d+)?$`)
	rustNoPanic = newPattern(`^note: test did not panic as expected(?: at (\S+):(\d+):\d+)?`)
	rustPass    = newPattern(`^(ok|FAILED|ignored|bench:)(?:, (.*)|\s.*)?(?: <[\d.]+m?s>)?$`)
)

// line implements reader.
func (r *rustTest) line(l line) claim {
	t := l.text
	if r.section == rustOutside || r.section == rustResults {
		if r.binary(t) {
			return pass // Cargo's reader ends its error there as well
		}
	}
	if rustRunning.MatchString(t) && r.section != rustOutputs && r.section != rustPassed {
		r.end()
		r.section, r.s.ran, r.s.ended = rustResults, true, false
		return hold
	}
	if m := rustTotal.FindStringSubmatch(t); m != nil && r.section != rustOutputs && r.section != rustPassed {
		r.s.add(atoi(m[2])+atoi(m[5]), atoi(m[3]), atoi(m[4]))
		r.s.ran, r.s.ended = true, true
		if m[1] == "ok" {
			r.s.green = true
			r.listed = nil
			r.blocks = nil
			r.verdict = nil
		} else {
			r.s.red = true
		}
		r.end()
		return mine
	}
	switch r.section {
	case rustOutside:
		return r.outside(l)
	case rustResults:
		return r.results(l)
	case rustPassed:
		if t == "failures:" {
			r.section = rustOutputs
		}
		if rustTotal.MatchString(t) && strings.HasPrefix(t, "test result: ok") {
			r.section = rustList
			return r.line(l)
		}
		return hold
	case rustOutputs:
		return r.outputs(l)
	case rustList:
		switch {
		case t == "" || t == "failures:":
		case strings.HasPrefix(t, "    "):
			r.listed = append(r.listed, strings.Clone(strings.TrimSpace(t)))
		default: // it was a test that printed "failures:"
			r.listed = nil
			r.section = rustOutputs
			return r.outputs(l)
		}
	}
	return hold
}

// binary takes the header of a test binary.
func (r *rustTest) binary(t string) bool {
	suite, source := "", ""
	if !strings.Contains(t, "Running ") && !strings.Contains(t, "Doc-tests ") {
		return false
	}
	if m := rustBinary.FindStringSubmatch(t); m != nil {
		suite, source = strings.TrimSpace(m[3]+" "+m[2]), m[2]
	} else if m := rustOldBin.FindStringSubmatch(t); m != nil {
		suite = m[1]
	} else if m := rustDoc.FindStringSubmatch(t); m != nil {
		suite = m[1] + " doc"
	} else {
		return false
	}
	r.end()
	r.suite, r.source, r.section = strings.Clone(suite), strings.Clone(source), rustOutside
	return true
}

// outside looks for results without a header: a log that was cut at its beginning.
func (r *rustTest) outside(l line) claim {
	if rustOutput.MatchString(l.text) {
		r.section = rustOutputs
		return r.outputs(l)
	}
	if m := rustThread.FindStringSubmatch(l.text); m != nil && strings.HasPrefix(m[2], "has") {
		r.thread = strings.Clone(m[1])
	}
	return pass
}

func (r *rustTest) results(l line) claim {
	t := l.text
	switch {
	case t == "failures:":
		r.section = rustOutputs
		return hold
	case t == "successes:":
		r.section = rustPassed
		return hold
	case strings.HasPrefix(t, "error: test failed") || strings.HasPrefix(t, "error: doctest failed") || strings.HasPrefix(t, "error: bench failed"):
		r.section = rustOutside
		r.aborted(l)
		return pass
	}
	if name, ok := rustOK(t); ok {
		r.outcome(rustKindOf.ReplaceAllString(name, ""), "ok")
		r.block = nil
		return hold
	}
	if m := rustThread.FindStringSubmatch(t); m != nil {
		if strings.HasPrefix(m[2], "has") {
			r.thread = strings.Clone(m[1])
		}
		r.block = r.add(m[1], l.n)
	}
	if m := rustResult.FindStringSubmatch(t); m != nil {
		name := rustKindOf.ReplaceAllString(m[1], "")
		r.open = strings.Clone(name)
		if v := rustPass.FindStringSubmatch(m[2]); v != nil {
			r.outcome(name, v[1])
			r.block = nil
			return hold
		}
		if r.block == nil && m[2] != "" {
			r.block = r.add(name, l.n)
			r.block.keep(m[2])
			return hold
		}
	} else if v := rustPass.FindStringSubmatch(t); v != nil && r.open != "" && (t == "ok" || t == "FAILED" || t == "ignored") {
		r.outcome(r.open, v[1])
		r.block = nil
		return hold
	}
	if r.block != nil {
		r.block.keep(t)
	}
	return hold
}

// rustOK is the name in the plain line of a passed test, what most logs mostly consist of.
func rustOK(t string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(t, "test "); ok {
		name, ok = strings.CutSuffix(name, " ... ok")
	}
	return name, ok && name != "" && !strings.Contains(name, " ...")
}

func (r *rustTest) outcome(name, word string) {
	r.open = ""
	status := CasePassed
	switch word {
	case "FAILED":
		status = CaseFailed
		if r.verdict == nil {
			r.verdict = map[string]bool{}
		}
		r.verdict[strings.Clone(name)] = true
	case "ignored":
		status = CaseSkipped
	}
	if r.s.opts.Cases {
		r.s.suiteTest(r.suite, name, r.fileOf(name), status, time.Duration(0))
	}
}

func (r *rustTest) outputs(l line) claim {
	if m := rustOutput.FindStringSubmatch(l.text); m != nil {
		r.block = r.add(rustKindOf.ReplaceAllString(m[1], ""), l.n)
		return hold
	}
	if l.text == "failures:" {
		r.section, r.listed = rustList, nil
		return hold
	}
	if r.block != nil {
		r.block.keep(l.text)
	}
	return hold
}

func (r *rustTest) add(name string, n int) *rustBlock {
	if b := r.blocks[name]; b != nil {
		return b
	}
	if r.blocks == nil {
		r.blocks = map[string]*rustBlock{}
	}
	b := &rustBlock{log: n}
	name = strings.Clone(name)
	r.blocks[name] = b
	r.order = append(r.order, name)
	return b
}

func (b *rustBlock) keep(t string) {
	const head, most = 60, 400 // lines of output before the panic, in all
	if len(b.lines) >= most {
		copy(b.lines[head:], b.lines[head+1:])
		b.lines = b.lines[:most-1]
	}
	b.lines = append(b.lines, strings.Clone(t))
}

// aborted reports the test that took the whole process down.
func (r *rustTest) aborted(l line) {
	if r.thread == "" && r.open == "" {
		return
	}
	id := r.thread
	if id == "" || id == "main" {
		id = r.open
	}
	f := Failure{ID: id, Suite: r.suite, Message: "the test process ended within this test", Kind: KindCrash, File: r.fileOf(id), Log: l.n}
	if b := r.blocks[r.thread]; b != nil {
		f.Message = strings.Join(b.lines, "\n")
	}
	r.s.red = true
	r.s.fail(f)
	r.blocks, r.order, r.listed, r.verdict = nil, nil, nil, nil
	r.open, r.thread = "", ""
}

// end settles the tests of one binary.
func (r *rustTest) end() {
	names := r.listed
	if names == nil {
		for _, n := range r.order {
			if r.verdict[n] || r.section == rustOutputs {
				names = append(names, n)
			}
		}
		for _, n := range sortedKeys(r.verdict) {
			if r.blocks[n] == nil {
				names = append(names, n)
			}
		}
	}
	for _, name := range names {
		b := r.blocks[name]
		if b == nil {
			b = &rustBlock{log: r.s.now}
		}
		f := rustPanic(r.s, b.lines)
		f.ID, f.Suite, f.Log, f.Kind = name, r.suite, b.log, KindTest
		if m := rustDocName.FindStringSubmatch(name); m != nil {
			r.docPlace(&f, m[1], atoi(m[2]))
		}
		if f.Message == "" {
			f.Message = "failed without a message"
		}
		r.s.suiteTest(r.suite, name, r.fileOf(name), CaseFailed, 0)
		r.s.fail(f)
	}
	if len(names) > 0 {
		r.s.red = true
	}
	r.blocks, r.order, r.block, r.listed, r.verdict = nil, nil, nil, nil, nil
	r.section = rustOutside
}

// docPlace gives a doc-test its place: the numbers in its messages count from the file's beginning or, before
// Rust 1.70, from the example's.
func (r *rustTest) docPlace(f *Failure, file string, at int) {
	if f.File == "" || f.Line < at || !strings.HasSuffix(slashed(f.File), slashed(file)) {
		f.Line = at
	}
	f.File = file
}

// fileOf is the file that a test's name or its binary tells.
func (r *rustTest) fileOf(name string) string {
	if m := rustDocName.FindStringSubmatch(name); m != nil {
		return r.s.file(m[1])
	}
	if strings.HasPrefix(r.source, "tests/") {
		return r.s.file(r.source)
	}
	return ""
}

// close implements reader.
func (r *rustTest) close() {
	if r.section != rustOutside && r.open != "" {
		r.s.open = r.open
	}
	r.end()
}

// rustPanic reads the panic, the Error or the compiler's message in a test's output.
func rustPanic(s *sink, lines []string) Failure {
	f := Failure{Kind: KindTest}
	var message []string
	var frames []frame
	inTrace := false
	for i := 0; i < len(lines); i++ {
		t := strings.TrimSpace(lines[i])
		m := rustThread.FindStringSubmatch(lines[i])
		switch {
		case m != nil && strings.HasPrefix(m[2], "panicked") && len(frames) == 0:
			message = nil
			at := m[3]
			if p := rustNew.FindStringSubmatch(at); p != nil {
				f.File, f.Line = p[1], atoi(p[2])
				frames = append(frames, frame{file: p[1], line: atoi(p[2])})
				continue
			}
			// Before 1.73: 'message', file:line:column, the message perhaps over many lines
			for rustOldEnd.FindStringSubmatch(at) == nil && i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "note: ") {
				i++
				at += "\n" + lines[i]
			}
			if p := rustOldEnd.FindStringSubmatch(at); p != nil {
				at = p[1]
				f.File, f.Line = p[2], atoi(p[3])
				frames = append(frames, frame{file: p[2], line: atoi(p[3])})
			}
			message = append(message, strings.Split(at, "\n")...)
		case m != nil:
			inTrace = true // a further panic follows from the first
		case strings.HasPrefix(t, "stack backtrace:"):
			inTrace = true
		case rustNoPanic.MatchString(t):
			p := rustNoPanic.FindStringSubmatch(t)
			f.File, f.Line = p[1], atoi(p[2])
			message = append(message, t)
		case strings.HasPrefix(t, "note: panic did not contain expected string"):
			message = append(append([]string{t}, lines[i+1:]...), message...)
			i = len(lines)
		case inTrace:
			if p := rustFrame.FindStringSubmatch(lines[i]); p != nil {
				frames = append(frames, frame{file: strings.TrimPrefix(p[1], "./"), line: atoi(p[2])})
			}
		case strings.HasPrefix(t, "note: run with `RUST_BACKTRACE"):
			inTrace = true
		case len(frames) > 0:
			message = append(message, lines[i])
		case strings.HasPrefix(t, "Error: "):
			message = append([]string{}, lines[i:]...)
			i = len(lines)
		default:
			if p := rustPlaceAt.FindStringSubmatch(lines[i]); p != nil && f.File == "" {
				f.File, f.Line = p[1], atoi(p[2])
			}
			if strings.HasPrefix(t, "error") || strings.HasPrefix(t, "Test compiled") || strings.HasPrefix(t, "Couldn't compile") || strings.HasPrefix(t, "Some expected") || strings.HasPrefix(t, "Test executable") || strings.HasPrefix(t, "fatal runtime error") {
				message = append(message, t)
			}
		}
	}
	if top, ok := s.topFrame(frames); ok {
		f.File, f.Line = top.file, top.line
	}
	if len(message) == 0 {
		const most = 12 // lines of output of a test that failed without a panic
		message = lines[max(0, len(lines)-most):]
	}
	f.Message = strings.TrimSpace(strings.Join(message, "\n"))
	if left, right, ok := prettyDiff(message); ok {
		f.Actual, f.Expected = told(left), told(right)
	}
	return f
}

// prettyDiff reads the one-line form of the pretty_assertions crate.
func prettyDiff(lines []string) (left, right string, ok bool) {
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "Diff < left / right >") && i+2 < len(lines) && strings.HasPrefix(lines[i+1], "<") && strings.HasPrefix(lines[i+2], ">") {
			return lines[i+1][1:], lines[i+2][1:], true
		}
	}
	return "", "", false
}
