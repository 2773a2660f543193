package feedback

import "strings"

// goTrace is a panic, a fatal error or a data race with the frames of its goroutines in the order of the log.
type goTrace struct {
	head   []string
	frames []frame
	tests  []string // names of running tests that a time-out lists
	starts []int    // of each goroutine, its first frame
}

var (
	goFrameFile = newPattern(`^\s+(\S.*\.(?:go|s|c|h)):(\d+)(?: \+0x[0-9a-f]+)?(?: fp=0x.*)?$`)
	goFrameFunc = newPattern(`^(?:\s{2})?(?:created by )?([\w.~%/*()\[\]{}…·-]+?)(?:\(.*\))?(?: in goroutine \d+)?$`)
	goRunning   = newPattern(`^\t\t(\S+) \([\d.a-zµ]+\)$`)
	goTestFunc  = newPattern(`\.((?:Test|Fuzz|Benchmark|Example)\w*)(?:\.func|\(|\.gowrap|$|\.\d)`)
)

// goPanicIn is the index of the line where a panic or fatal error begins, -1 when there is none. A word alone does
// not make one: a goroutine trace must follow.
func goPanicIn(out []string) int {
	for i, l := range out {
		t := strings.TrimLeft(l, " ")
		if !strings.HasPrefix(t, "panic: ") && !strings.HasPrefix(t, "fatal error: ") && !strings.HasPrefix(t, "unexpected fault address") && !strings.HasPrefix(t, "runtime: goroutine stack exceeds") {
			if j := strings.Index(t, "panic: "); j < 0 || j > 0 && (t[j-1] == ' ' || !strings.Contains(t, "[recovered")) {
				continue
			}
		}
		for j := i + 1; j < len(out) && j < i+goOutputLines; j++ {
			if strings.HasPrefix(out[j], "panic: ") || strings.HasPrefix(out[j], "fatal error: ") {
				break // the trace is that one's: a program printed the first
			}
			if strings.HasPrefix(strings.TrimSpace(out[j]), "goroutine ") && strings.HasSuffix(out[j], "]:") || strings.HasPrefix(out[j], "runtime stack:") {
				return i
			}
		}
	}
	return -1
}

// goReadTrace reads the panic that begins at the first line.
func goReadTrace(out []string) goTrace {
	var t goTrace
	function := ""
	inHead := true
	for i, l := range out {
		if inHead && i > 0 && (strings.TrimSpace(l) == "" || strings.HasPrefix(l, "goroutine ") || strings.HasPrefix(l, "runtime stack:")) {
			inHead = false
		}
		if m := goRunning.FindStringSubmatch(l); m != nil {
			t.tests = append(t.tests, m[1])
			continue
		}
		if inHead {
			const most = 10 // lines of text of a panic
			if len(t.head) < most && !strings.HasPrefix(l, "runtime: sp=") {
				t.head = append(t.head, strings.TrimSpace(l))
			}
			continue
		}
		if strings.HasPrefix(l, "goroutine ") {
			t.starts = append(t.starts, len(t.frames))
		}
		if m := goFrameFile.FindStringSubmatch(l); m != nil {
			t.frames = append(t.frames, frame{function: function, file: m[1], line: atoi(m[2])})
			function = ""
			continue
		}
		if m := goFrameFunc.FindStringSubmatch(l); m != nil && strings.Contains(m[1], ".") {
			function = m[1]
		}
	}
	return t
}

// ofTest are the frames of the goroutine that runs a test, all frames when none tells.
func (t *goTrace) ofTest(test string) []frame {
	name, _, _ := strings.Cut(test, "/")
	for i, from := range t.starts {
		to := len(t.frames)
		if i+1 < len(t.starts) {
			to = t.starts[i+1]
		}
		for _, f := range t.frames[from:to] {
			if m := goTestFunc.FindStringSubmatch(f.function); m != nil && m[1] == name && name != "" {
				return t.frames[from:to]
			}
		}
	}
	return t.frames
}

// goRace reads a data race report out of a test's output; nil when there is none.
func goRace(out []string) *goTrace {
	for i, l := range out {
		if strings.TrimSpace(l) != "WARNING: DATA RACE" {
			continue
		}
		t := goTrace{head: []string{"WARNING: DATA RACE"}}
		function, access := "", false
		for _, l := range out[i+1:] {
			s := strings.TrimSpace(l)
			if strings.HasPrefix(s, "====") {
				break
			}
			if strings.HasPrefix(s, "Read at ") || strings.HasPrefix(s, "Write at ") || strings.HasPrefix(s, "Previous ") {
				t.head = append(t.head, s)
				access = true
			}
			if m := goFrameFile.FindStringSubmatch(l); m != nil {
				t.frames = append(t.frames, frame{function: function, file: m[1], line: atoi(m[2])})
				if access {
					t.head[len(t.head)-1] += " " + function
					access = false
				}
				continue
			}
			function = strings.TrimSuffix(s, "()")
		}
		return &t
	}
	return nil
}

// topGoFrame is the first frame outside the Go distribution, module cache and generated main.
func (s *sink) topGoFrame(frames []frame) (frame, bool) {
	for _, f := range frames {
		if s.own(f.file) && !goStandard(f) {
			return f, true
		}
	}
	return frame{}, false
}

// recursion is the call that repeats in an overflown stack; the topmost frame is only where the stack ran out.
func (s *sink) recursion(frames []frame, top frame) frame {
	type place struct {
		file string
		line int
	}
	n := map[place]int{}
	best := top
	for _, f := range frames {
		if !s.own(f.file) || goStandard(f) {
			continue
		}
		p := place{f.file, f.line}
		if n[p]++; n[p] > n[place{best.file, best.line}] {
			best = f
		}
	}
	return best
}

// goStandard tells a frame of the standard library wherever the distribution is installed: its file lies in
// src/<package>/ and its package has no dot in the first element.
func goStandard(f frame) bool {
	pkg := f.function
	if i := strings.LastIndexByte(pkg, '/'); i >= 0 {
		if j := strings.IndexByte(pkg[i:], '.'); j >= 0 {
			pkg = pkg[:i+j]
		}
	} else if j := strings.IndexByte(pkg, '.'); j >= 0 {
		pkg = pkg[:j]
	}
	if pkg == "" || pkg == "main" {
		return false
	}
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && strings.Contains(f.file, "/src/"+pkg+"/") && (strings.Contains(f.file, "go/src/") || strings.Contains(f.file, "/go"))
}

// panicFailure makes a report entry of a panic. test is the test it is known to belong to, or empty.
func (g *goTests) panicFailure(p *goPackage, out []string, test string) Failure {
	t := goReadTrace(out)
	f := Failure{ID: test, Suite: p.name, Kind: KindTest, Message: strings.Join(t.head, "\n"), Log: p.failLog}
	frames := t.frames
	if n := len(t.tests); n > 0 { // a time-out: TestMain's goroutine, which only waits, may come first
		frames = t.ofTest(t.tests[n-1])
	}
	top, ok := g.s.topGoFrame(frames)
	if ok {
		if strings.Contains(f.Message, "stack overflow") {
			top = g.s.recursion(t.frames, top)
		}
		f.File, f.Line = top.file, top.line
		if top.function != "" {
			f.Message += "\nat " + top.function
		}
	}
	if f.ID == "" && len(t.tests) > 0 {
		f.ID = t.tests[len(t.tests)-1]
	}
	if f.ID == "" {
		for _, fr := range t.frames {
			if m := goTestFunc.FindStringSubmatch(fr.function); m != nil && g.s.own(fr.file) {
				f.ID = m[1]
				break
			}
		}
	}
	if f.ID == "" {
		f.ID = g.running(p)
	}
	if f.ID == "" {
		f.ID = p.name
	}
	if len(t.head) > 0 && strings.HasPrefix(t.head[0], "panic: test timed out") {
		f.Kind = KindTimeout
		if n := len(t.tests); n > 0 {
			f.Message += "\nrunning: " + strings.Join(t.tests, ", ")
		}
	}
	return f
}
