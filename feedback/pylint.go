package feedback

import "strings"

func pyLintTool() *tool {
	return &tool{
		name: "python linters", what: "mypy, ruff (full, concise, grouped, format), flake8, pylint, pyright, black, isort, pycodestyle, pydocstyle, bandit", role: roleLint,
		invocations: []string{"mypy .", "ruff check .", "ruff format --check", "flake8", "pylint pkg", "pyright", "black --check .", "isort --check ."},
		markers:     []string{": error: ", "************* Module ", "would reformat ", "error(s)", "Found ", ".py:", " - error: ", "Imports are incorrectly sorted", "Your code has been rated"},
		runs:        named("mypy", "dmypy", "ruff", "flake8", "pylint", "pyright", "basedpyright", "black", "isort", "pycodestyle", "pydocstyle", "pyflakes", "bandit", "pyre", "pytype", "vulture", "autopep8", "yapf", "codespell", "ty"),
		family:      []string{"python", "json"},
		make:        func(s *sink) reader { return &pyLint{s: s} },
	}
}

// pyLint reads the text formats of Python's linters, formatters and type checkers.
type pyLint struct {
	s      *sink
	last   *Failure // mypy: waits for its notes; ruff: waits for its place
	file   string   // pyright, ruff grouped: the file that a block is of
	ruff   string   // rule of ruff's full format whose place follows
	bandit *Failure
	pretty bool  // mypy --pretty: the message before goes on
	doc    frame // pydocstyle: the place that the next line is about
}

var (
	mypyLine    = newPattern(`^((?:[A-Za-z]:)?[^\s:][^:]*\.pyi?):(\d+)(?::(\d+))?(?::\d+:\d+)?: (error|note|warning): (.+)$`)
	mypyCode    = newPattern(`^(.*?)\s{2}\[([\w-]+)\]$`)
	mypyFound   = newPattern(`^Found (\d+) errors? in \d+ files?`)
	flakeLine   = newPattern(`^((?:[A-Za-z]:)?[^\s:][^:]*\.pyi?):(\d+):(?:(\d+):)? ([A-Z]+\d+)(?: \[\*\])?:? (.+)$`)
	pylintLine  = newPattern(`^((?:[A-Za-z]:)?[^\s:][^:]*\.pyi?):(\d+):(?:\d+:)? (?:\[)?([CRWEFI]\d{4})(?:\(([\w-]+)\)[^\]]*\])?:? (.+)$`)
	pylintMSVS  = newPattern(`^(\S+\.pyi?)\((\d+)\): \[([CRWEFI]\d{4})\(([\w-]+)\)[^\]]*\] (.+)$`)
	flakePylint = newPattern(`^(\S+\.pyi?):(\d+): \[([A-Z]+\d+)\] (.+)$`)
	pylintTail  = newPattern(`^(.*) \(([\w-]+)\)$`)
	pyflakes    = newPattern(`^((?:[A-Za-z]:)?[^\s:][^:]*\.pyi?):(\d+):(?:(\d+):?)? (.+)$`)
	ruffSyntax  = newPattern(`^((?:[A-Za-z]:)?[^\s:][^:]*\.pyi?):(\d+):(\d+): (?:invalid-syntax: |SyntaxError: |E999 )(.+)$`)
	ruffHead    = newPattern(`^([A-Z]+\d{3,4}|invalid-syntax|[a-z]+(?:-[a-z]+)+)(?: \[\*\])?:? (.+)$|^error\[([\w-]+)\]: (.+)$`)
	ruffPlace   = newPattern(`^\s*--> (\S.*?):(\d+):\d+$`)
	ruffFound   = newPattern(`^Found (\d+) errors?\.`)
	ruffGroup   = newPattern(`^\s+(\d+):(\d+)\s+([A-Z]+\d+|invalid-syntax)(?: \[\*\])?:? (.+)$`)
	pyrightLine = newPattern(`^\s*(\S.*?\.pyi?):(\d+):\d+ - (error|warning|information)(?: (TS)?)?: (.+?)(?: \((report\w+)\))?$`)
	pyrightSum  = newPattern(`^(\d+) errors?, \d+ warnings?`)
	blackLine   = newPattern(`^(?:would reformat|Would reformat:?) (\S.*)$`)
	blackError  = newPattern(`^error: cannot (?:format|parse) (\S+?):? (?:Cannot parse(?: for target version \S+)?: )?(?:(\d+):(\d+):? ?)?(.+)$`)
	isortLine   = newPattern(`^ERROR: (\S.*?) (Imports are incorrectly sorted and/or formatted\.)$`)
	pydocLine   = newPattern(`^(\S+\.py):(\d+) (?:in|at) .+:$`)
	pydocText   = newPattern(`^\s+(D\d+): (.+)$`)
	banditHead  = newPattern(`^>> Issue: \[(\w+):(\w+)\] (.+)$`)
	banditPlace = newPattern(`^\s+Location: (\S+?):(\d+)(?::\d+)?$`)
)

// line implements reader.
func (p *pyLint) line(l line) claim {
	t := l.text
	if p.bandit != nil {
		if m := banditPlace.FindStringSubmatch(t); m != nil {
			p.s.finding(KindSecurity, p.bandit.ID, m[1], atoi(m[2]), p.bandit.Message)
			p.bandit = nil
		}
		return mine
	}
	if p.ruff != "" {
		if m := ruffPlace.FindStringSubmatch(t); m != nil {
			code, text, _ := strings.Cut(p.ruff, "\x00")
			kind := KindLint
			if code == "invalid-syntax" {
				kind = KindCompile
			}
			p.s.finding(kind, code, m[1], atoi(m[2]), text)
			p.ruff = ""
			return mine
		}
		p.ruff = ""
	}
	if p.pretty {
		p.pretty = false
		if f := p.last; f != nil && t != "" && indent(t) == 0 && !mypyLine.MatchString(t) && !mypyFound.MatchString(t) {
			m := mypyCode.FindStringSubmatch("  " + t)
			if m != nil {
				f.ID = m[2]
			}
			p.pretty = m == nil
			f.Message += " " + t
			return mine
		}
	}
	if len(t) < 6 {
		return pass
	}
	if strings.Contains(t, ".py") {
		if m := pylintMSVS.FindStringSubmatch(t); m != nil {
			p.s.finding(KindLint, m[4], m[1], atoi(m[2]), m[3]+": "+m[5])
			return mine
		}
		if m := flakePylint.FindStringSubmatch(t); m != nil {
			p.s.finding(KindLint, m[3], m[1], atoi(m[2]), m[4])
			return mine
		}
		if c := p.located(t); c != pass {
			return c
		}
	}
	switch t[0] {
	case ' ', '\t':
		if m := pydocText.FindStringSubmatch(t); m != nil && p.doc.file != "" {
			p.s.finding(KindLint, m[1], p.doc.file, p.doc.line, m[2])
			p.doc = frame{}
			return mine
		}
		if m := ruffGroup.FindStringSubmatch(t); m != nil && p.file != "" {
			p.s.finding(KindLint, m[3], p.file, atoi(m[1]), m[4])
			return mine
		}
		return pass
	case '*':
		if strings.HasPrefix(t, "************* Module ") {
			return mine
		}
	case '>':
		if m := banditHead.FindStringSubmatch(t); m != nil {
			p.bandit = &Failure{ID: m[1], Message: m[3] + " (" + m[2] + ")"}
			return mine
		}
	case 'F':
		if m := mypyFound.FindStringSubmatch(t); m != nil {
			p.total(m[1])
			return mine
		}
		if m := ruffFound.FindStringSubmatch(t); m != nil {
			p.total(m[1])
			return mine
		}
	case 'S':
		if strings.HasPrefix(t, "Success: no issues found in ") {
			p.s.ran, p.s.ended, p.s.green = true, true, true
			return mine
		}
	case 'A':
		if t == "All checks passed!" {
			p.s.ran, p.s.ended, p.s.green = true, true, true
			return mine
		}
	case 'Y':
		if strings.HasPrefix(t, "Your code has been rated at ") {
			p.s.ran, p.s.ended = true, true
			return mine
		}
	case 'w', 'W':
		if m := blackLine.FindStringSubmatch(t); m != nil {
			p.s.finding(KindLint, "format", m[1], 0, "not formatted: "+t)
			return mine
		}
	case 'e':
		if m := blackError.FindStringSubmatch(t); m != nil {
			p.s.finding(KindCompile, "", m[1], atoi(m[2]), m[4])
			return mine
		}
		if m := ruffHead.FindStringSubmatch(t); m != nil && m[3] != "" && p.s.command.runsAny("ruff", "ty") {
			p.ruff = m[3] + "\x00" + m[4]
			return mine
		}
	case 'E':
		if m := isortLine.FindStringSubmatch(t); m != nil {
			p.s.finding(KindLint, "isort", m[1], 0, m[2])
			return mine
		}
	}
	if m := pyrightSum.FindStringSubmatch(t); m != nil {
		p.total(m[1])
		return mine
	}
	if m := ruffHead.FindStringSubmatch(t); m != nil && m[1] != "" && !strings.Contains(t, ".py:") {
		p.ruff = strings.Clone(m[1]) + "\x00" + strings.Clone(m[2])
		return pass
	}
	if strings.HasPrefix(t, "mypy: ") {
		p.s.fail(Failure{Message: t, Kind: KindConfig})
		return mine
	}
	return pass
}

// located handles lines that hold the path of a Python file.
func (p *pyLint) located(t string) claim {
	if m := mypyLine.FindStringSubmatch(t); m != nil {
		switch m[4] {
		case "error":
			code, kind := "", KindType
			text := m[5]
			if c := mypyCode.FindStringSubmatch(text); c != nil {
				text, code = c[1], c[2]
			}
			if code == "syntax" || strings.HasPrefix(text, "invalid syntax") {
				kind = KindCompile
			}
			p.flushNote()
			f := Failure{ID: code, File: m[1], Line: atoi(m[2]), Message: text, Kind: kind, Log: p.s.now}
			if code != "" {
				f.Message += "  [" + code + "]"
			}
			p.last, p.pretty = &f, code == ""
		case "note":
			if p.last != nil && p.last.File == m[1] && strings.Count(p.last.Message, "\n") < 4 {
				p.last.Message += "\nnote: " + m[5]
			}
		}
		return mine
	}
	if m := pylintLine.FindStringSubmatch(t); m != nil {
		text, rule := m[5], m[4]
		if r := pylintTail.FindStringSubmatch(text); r != nil && rule == "" {
			text, rule = r[1], r[2]
		}
		if !strings.Contains(t, "["+m[3]) && rule == "" && !p.s.command.runsAny("pylint") {
			p.s.finding(flakeKind(m[3]), m[3], m[1], atoi(m[2]), m[5])
			return mine
		}
		id := rule
		if id == "" {
			id = m[3]
		}
		p.s.finding(pylintKind(m[3]), id, m[1], atoi(m[2]), m[3]+": "+text)
		return mine
	}
	if m := flakeLine.FindStringSubmatch(t); m != nil {
		p.s.finding(flakeKind(m[4]), m[4], m[1], atoi(m[2]), m[5])
		return mine
	}
	if m := ruffSyntax.FindStringSubmatch(t); m != nil {
		p.s.finding(KindCompile, "invalid-syntax", m[1], atoi(m[2]), "SyntaxError: "+m[4])
		return mine
	}
	if m := pyrightLine.FindStringSubmatch(t); m != nil {
		if m[3] == "error" {
			p.s.finding(KindType, m[6], m[1], atoi(m[2]), m[5])
		}
		return mine
	}
	if m := pydocLine.FindStringSubmatch(t); m != nil {
		p.doc = frame{file: strings.Clone(m[1]), line: atoi(m[2])}
		return mine
	}
	if m := pyflakes.FindStringSubmatch(t); m != nil && p.s.command.runsAny("pyflakes") {
		p.s.finding(KindLint, "", m[1], atoi(m[2]), m[4])
		return mine
	}
	if strings.HasSuffix(t, ".py:") && indent(t) == 0 {
		p.file = strings.Clone(strings.TrimSuffix(t, ":"))
		return pass
	}
	return pass
}

func flakeKind(code string) Kind {
	if code == "E999" || code == "E902" {
		return KindCompile
	}
	return KindLint
}

func (p *pyLint) total(n string) {
	p.flushNote()
	p.s.add(-1, atoi(n), -1)
	p.s.ran, p.s.ended = true, true
	p.s.red, p.s.green = p.s.red || n != "0", n == "0"
}

func (p *pyLint) flushNote() {
	if p.last != nil {
		p.s.red = true
		p.s.fail(*p.last)
	}
	p.last = nil
}

// close implements reader.
func (p *pyLint) close() { p.flushNote() }
