package feedback

import "strings"

func pythonTool() *tool {
	return &tool{
		name: "python", what: "uncaught exceptions, syntax errors, fatal errors of the interpreter, missing files and modules", role: roleRun,
		invocations: []string{"python script.py", "python -m module"},
		markers:     []string{"Traceback (most recent call last):", "  File \"", "Fatal Python error: ", ": No module named ", ": can't open file "},
		runs:        named("python", "ipython", "uvicorn", "gunicorn", "flask", "django-admin", "celery", "coverage"),
		make:        func(s *sink) reader { return &pythonTrace{s: s} },
	}
}

// pythonTrace reads tracebacks of programs. Only the last one counts, and only where the program ended by it:
// a logged and handled exception is followed by further output.
type pythonTrace struct {
	s     *sink
	lines []string
	open  bool
	last  *Failure
	after int // lines after the last traceback
	from  int
}

var (
	pythonMissing = newPattern(`^\S*python[\d.]*: (?:No module named .+|can't open file .+|Error while finding module .+)$`)
	pythonFatal   = newPattern(`^Fatal Python error: .+$`)
	coverageGate  = newPattern(`^Coverage failure: total of \S+ is less than fail-under=\S+$`)
)

// line implements reader.
func (p *pythonTrace) line(l line) claim {
	t := l.text
	if p.open {
		switch {
		case t == "" || indent(t) > 0 || pyChain.MatchString(t) || strings.HasPrefix(t, "Traceback ") || strings.HasPrefix(t, "Current thread ") || strings.HasPrefix(t, "Thread 0x"):
			p.add(t)
			return hold
		case pyError.MatchString(t) && !p.closed():
			p.add(t)
			return hold
		case p.closed() && !strings.HasPrefix(t, "Traceback") && p.multiline(t):
			p.add(t)
			return hold
		}
		p.finish()
	}
	switch {
	case strings.HasSuffix(t, "Traceback (most recent call last):") && indent(t) < 12:
		p.begin(l)
		return hold
	case strings.HasPrefix(t, `  File "`) && pyFrame.MatchString(t):
		p.begin(l)
		p.add(t)
		return hold
	case pythonFatal.MatchString(t):
		p.begin(l)
		p.add(t)
		return hold
	case pythonMissing.MatchString(t):
		p.last = &Failure{Message: t, Kind: KindCrash, Log: l.n}
		if strings.Contains(t, "can't open file") {
			p.last.Kind = KindConfig
		}
		return mine
	case coverageGate.MatchString(t):
		p.s.fail(Failure{Message: t, Kind: KindGate})
		return mine
	}
	p.after++
	return pass
}

func (p *pythonTrace) begin(l line) { p.open, p.lines, p.from = true, []string{"Traceback"}, l.n }

func (p *pythonTrace) add(t string) {
	const most = 400 // lines of one traceback
	if len(p.lines) < most {
		p.lines = append(p.lines, t)
	} else {
		copy(p.lines[most/2:], p.lines[most/2+1:])
		p.lines[most-1] = t
	}
}

// closed tells whether the exception's own line was read.
func (p *pythonTrace) closed() bool {
	for i := len(p.lines) - 1; i > 0; i-- {
		if l := p.lines[i]; l != "" && indent(l) == 0 {
			return pyError.MatchString(l)
		} else if strings.HasPrefix(l, "  File ") {
			return false
		}
	}
	return false
}

// multiline guesses whether a line continues the exception's text: right behind it, and no new log record.
func (p *pythonTrace) multiline(t string) bool {
	n := len(p.lines)
	const most = 6 // lines of text of an exception
	if p.lines[n-1] == "" {
		return false
	}
	for i := n - 1; i >= 0 && i > n-most; i-- {
		if pyError.MatchString(p.lines[i]) && indent(p.lines[i]) == 0 {
			return !strings.HasPrefix(t, "make") && !strings.HasPrefix(t, "npm") && !strings.HasPrefix(t, "[") && !strings.HasPrefix(t, "INFO") && !strings.HasPrefix(t, "ERROR") && !strings.HasPrefix(t, "WARNING") && (strings.HasSuffix(p.lines[i], ":") || i < n-1)
		}
	}
	return false
}

func (p *pythonTrace) finish() {
	p.open = false
	b := readPyBlock(p.s, p.lines)
	if len(b.message) == 0 {
		for _, l := range p.lines {
			if strings.HasPrefix(l, "Fatal Python error") {
				b.message = []string{l}
			}
		}
	}
	if len(b.message) == 0 {
		return
	}
	f := Failure{Message: strings.Join(b.message, "\n"), File: b.file, Line: b.line, Kind: KindCrash, Log: p.from}
	if b.syntax {
		f.Kind = KindCompile
	}
	p.last, p.after = &f, 0
}

// close implements reader.
func (p *pythonTrace) close() {
	if p.open {
		p.finish()
	}
	const shout = 6 // lines that may follow the traceback a program died of: make, npm, a runner's last words
	code, known := p.s.exitCode()
	if p.last != nil && known && code != 0 && (p.after <= shout || p.s.command.tools["python"]) {
		p.s.fail(*p.last)
	} else if p.last != nil && !known && p.after <= shout {
		p.s.fail(*p.last)
	}
}
