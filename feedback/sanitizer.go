package feedback

import "strings"

func sanitizerTool() *tool {
	return &tool{
		name: "sanitizer", what: "AddressSanitizer, LeakSanitizer, ThreadSanitizer, MemorySanitizer, UndefinedBehaviorSanitizer; Valgrind's memcheck and helgrind", role: roleRun,
		invocations: []string{"./a.out built with -fsanitize=address", "valgrind --leak-check=full ./a.out"},
		markers:     []string{"Sanitizer: ", ": runtime error: ", "Memcheck, a memory", "Helgrind, a thread", "== Invalid ", "== Conditional jump"},
		runs:        named("valgrind"),
		make:        func(s *sink) reader { return &sanitizer{s: s} },
	}
}

// sanitizer reads the blocks of the sanitizers and of Valgrind: a sentence and stack traces.
type sanitizer struct {
	s      *sink
	open   *Failure
	frames []frame
	closed bool // the first stack trace ended: others tell of allocations
}

var (
	sanHead  = newPattern(`^(?:==\d+==)?\s*(?:ERROR|WARNING): (Address|Memory|Thread|Leak|HWAddress|UndefinedBehavior)Sanitizer: (.+)$`)
	sanLeak  = newPattern(`^(Direct|Indirect) leak of .*$`)
	sanFrame = newPattern(`^\s+#\d+ (?:0x[0-9a-f]+ )?(?:in )?(.+?) (\S+?\.\w+):(\d+)(?::\d+)?(?: \(.*\))?$`)
	sanOther = newPattern(`^\s+#\d+ `)
	sanSum   = newPattern(`^SUMMARY: \w+Sanitizer: `)
	ubsan    = newPattern(`^(\S.*?):(\d+):\d+: runtime error: (.+)$`)
	sanAddr  = newPattern(` (?:on|at|for) (?:unknown )?address.*$| \(pid=\d+\)$`)
	vgLine   = newPattern(`^==\d+== ?(.*)$`)
	vgFrame  = newPattern(`^\s+(?:at|by) 0x[0-9A-Fa-f]+: (.+?)(?: \((\S+?\.\w+):(\d+)\)| \(in .*\))?$`)
	vgHead   = newPattern(`^(?:Invalid (?:read|write|free)|Conditional jump|Use of uninitialised|Syscall param|Mismatched free|Source and destination overlap|Jump to the invalid|Process terminating with|[\d,]+ (?:\([^)]*\) )?bytes in [\d,]+ blocks are (?:definitely|possibly) lost|Possible data race|Thread #\d+(?: .*)?: |Argument '.*' of function .* has a fishy)`)
)

// line implements reader.
func (r *sanitizer) line(l line) claim {
	t := l.text
	if strings.HasPrefix(t, "==") {
		if m := vgLine.FindStringSubmatch(t); m != nil && !sanHead.MatchString(t) {
			return r.valgrind(m[1], l.n)
		}
	}
	if strings.Contains(t, "runtime error: ") {
		if m := ubsan.FindStringSubmatch(t); m != nil {
			r.end()
			r.s.red = true
			r.s.fail(Failure{File: m[1], Line: atoi(m[2]), Message: "runtime error: " + m[3], Kind: KindCrash})
			return mine
		}
	}
	if strings.Contains(t, "Sanitizer: ") {
		if m := sanHead.FindStringSubmatch(t); m != nil {
			r.end()
			id, _, _ := strings.Cut(m[2], " ")
			if m[1] == "Leak" {
				return mine // the leaks follow
			}
			if m[1] == "Thread" {
				id = sanAddr.ReplaceAllString(m[2], "")
			}
			r.begin(id, m[1]+"Sanitizer: "+m[2], l.n)
			return hold
		}
		if sanSum.MatchString(t) {
			r.end()
			return mine
		}
	}
	if m := sanLeak.FindStringSubmatch(t); m != nil {
		r.end()
		if m[1] == "Direct" {
			r.begin("leak", "LeakSanitizer: "+t, l.n)
			return mine
		}
	}
	if r.open == nil {
		return pass
	}
	return r.body(t)
}

func (r *sanitizer) begin(id, text string, n int) {
	r.open = &Failure{ID: id, Message: text, Kind: KindCrash, Log: n}
	r.frames, r.closed = nil, false
}

func (r *sanitizer) body(t string) claim {
	if m := sanFrame.FindStringSubmatch(t); m != nil {
		r.frame(m[1], m[2], m[3])
		return mine
	}
	if sanOther.MatchString(t) {
		return mine
	}
	if t == "" || strings.HasPrefix(t, "=====") {
		r.closed = r.closed || len(r.frames) > 0
		return mine
	}
	const most = 4 // sentences of one block
	if !r.closed && strings.Count(r.open.Message, "\n") < most {
		r.open.Message += "\n" + strings.TrimSpace(t)
	}
	return mine
}

func (r *sanitizer) frame(fn, file, at string) {
	if r.closed || strings.HasPrefix(file, "../") || strings.HasPrefix(fn, "__interceptor") || strings.HasPrefix(fn, "operator new") {
		return
	}
	r.frames = append(r.frames, frame{function: fn, file: file, line: atoi(at)})
}

func (r *sanitizer) valgrind(t string, n int) claim {
	if vgHead.MatchString(t) {
		r.end()
		r.begin("", t, n)
		return mine
	}
	if r.open == nil {
		return mine
	}
	if m := vgFrame.FindStringSubmatch(t); m != nil {
		if m[2] != "" {
			r.frame(m[1], m[2], m[3])
		}
		return mine
	}
	if strings.TrimSpace(t) == "" {
		r.end()
		return mine
	}
	r.closed = true
	return mine
}

func (r *sanitizer) end() {
	f := r.open
	r.open = nil
	if f == nil {
		return
	}
	if top, ok := r.s.topFrame(r.frames); ok {
		f.File, f.Line = top.file, top.line
		f.Message += "\nin " + top.function
	}
	r.s.red = true
	r.s.fail(*f)
}

// close implements reader.
func (r *sanitizer) close() { r.end() }
