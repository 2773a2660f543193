package feedback

import (
	"path"
	"strings"
)

// pyBlock is what a pytest failure block or a Python traceback says.
type pyBlock struct {
	message          []string // error text, first line first
	file             string   // deepest frame in the project
	line             int
	testFile         string // outermost frame in the project
	expected, actual *string
	syntax           bool
}

var (
	pytestPlace = newPattern(`^((?:[A-Za-z]:)?[^\s:'"][^:'"]*\.\w+):(\d+): ?(.*)$`)
	pyFrame     = newPattern(`^[\s|+]*(?:E\s+)?File "([^"]+)", line (\d+)(?:, in (.+)| in (.+))?$`)
	pyError     = newPattern(`^(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Fault|Failure|Failed|Iteration|Timeout|Abort|NotFound|Invalid|Exists|Refused|DoesNotExist)|Failed|Skipped|Exception|KeyboardInterrupt|SystemExit|StopIteration|AssertionError|[A-Z]\w+)(?:: .*|)$`)
	pyChain     = newPattern(`^(?:During handling of the above exception|The above exception was the direct cause)`)
	pyFixture   = newPattern(`^file (\S.*), line (\d+)$`)
	pyBarePlace = newPattern(`^(\S+\.py):(\d+)$`)
)

// readPyBlock reads a failure in any of pytest's traceback styles (long, short, line, native) or a plain traceback.
func readPyBlock(s *sink, lines []string) pyBlock {
	var b pyBlock
	var groups [][]string // E lines by chain part
	var native [][]string // error lines of native tracebacks by chain part
	var own []frame
	var any []frame
	group, inE := []string(nil), false
	var nat []string
	doctest := -1
	frames := func(file string, n int) {
		f := frame{file: file, line: n}
		any = append(any, f)
		if s.own(file) {
			own = append(own, f)
		}
	}
	chain := func() {
		if len(group) > 0 {
			groups = append(groups, dedentAll(group))
		}
		if len(nat) > 0 {
			native = append(native, nat)
		}
		for _, f := range own {
			if b.testFile == "" || isTestFile(f.file) && !isTestFile(b.testFile) {
				b.testFile = f.file
			}
		}
		group, nat, own, any = nil, nil, nil, nil
	}
	for i, l := range lines {
		if strings.HasPrefix(l, "---") && (strings.Contains(l, " Captured ") || strings.Contains(l, " generated ")) {
			break
		}
		if pyChain.MatchString(l) {
			chain()
			continue
		}
		if m := pyFrame.FindStringSubmatch(l); m != nil {
			frames(m[1], atoi(m[2]))
			if strings.HasPrefix(l, "E") {
				group = append(group, strings.TrimSpace(l[1:]))
			}
			nat = nil
			continue
		}
		if l == "E" || strings.HasPrefix(l, "E ") {
			text := strings.TrimPrefix(strings.TrimPrefix(l, "E"), "   ")
			if !inE && len(group) > 0 && !strings.HasPrefix(text, " ") {
				group = append([]string{}, group...)
			}
			group = append(group, text)
			inE = true
			continue
		}
		inE = false
		if m := pytestPlace.FindStringSubmatch(l); m != nil && !strings.HasPrefix(m[1], "E ") {
			frames(m[1], atoi(m[2]))
			if m[3] != "" && !strings.HasPrefix(m[3], "in ") && len(group) == 0 {
				nat = append(nat, m[3])
			}
			continue
		}
		if m := pyFixture.FindStringSubmatch(l); m != nil {
			frames(m[1], atoi(m[2]))
			continue
		}
		if m := pyBarePlace.FindStringSubmatch(l); m != nil && i == len(lines)-1 {
			continue
		}
		if t := strings.TrimSpace(l); t == "Expected:" || t == "Expected nothing" {
			doctest = i
		}
		bare := l
		if strings.HasPrefix(l, "  |") || strings.HasPrefix(l, "  +") {
			bare = strings.TrimLeft(l, " |+") // an exception group's frame
		}
		if len(any) > 0 && len(group) == 0 && bare != "" && (indent(l) == 0 || strings.HasPrefix(l, "  |") && !strings.HasPrefix(bare, "File ")) && !strings.HasPrefix(l, "_ _") && !strings.HasPrefix(l, ">") && !strings.HasPrefix(bare, "Traceback") && !strings.HasPrefix(bare, "-----") {
			if len(nat) > 0 || pyError.MatchString(bare) {
				nat = append(nat, bare)
			}
		}
	}
	chain2own, chain2any := own, any
	chain()
	if len(chain2own) > 0 {
		top := chain2own[len(chain2own)-1]
		b.file, b.line = top.file, top.line
	} else if len(chain2any) > 0 && b.testFile == "" {
		b.file, b.line = "", 0
	}
	if b.file == "" && b.testFile != "" {
		b.file = b.testFile
	}
	switch {
	case len(groups) > 0:
		b.message = groups[len(groups)-1]
		if len(groups) > 1 && len(groups[0]) > 0 {
			b.message = append(b.message, "caused by: "+strings.TrimSpace(groups[0][0]))
		}
	case len(native) > 0:
		b.message = native[len(native)-1]
		if len(native) > 1 {
			b.message = append(b.message, "caused by: "+native[0][0])
		}
	}
	if doctest >= 0 && len(groups) == 0 {
		b.doctest(lines, doctest)
	}
	if len(b.message) == 0 && b.file == "" {
		for _, l := range lines { // "[XPASS(strict)] reason"
			if strings.HasPrefix(l, "[") && !strings.HasPrefix(l, "[gw") {
				b.message = append(b.message, l)
			}
		}
	}
	b.message = errorFirst(b.message)
	for _, l := range b.message {
		if strings.HasPrefix(l, "SyntaxError: ") || strings.HasPrefix(l, "IndentationError: ") || strings.HasPrefix(l, "TabError: ") {
			b.syntax = true
		}
	}
	if b.expected == nil {
		b.expected, b.actual = expectedActual(strings.Join(b.message, "\n"))
	}
	return b
}

// isTestFile tells whether a file is named as pytest names tests.
func isTestFile(p string) bool {
	base := path.Base(slashed(p))
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py")
}

// dedentAll removes the indentation that all lines share, the first included.
func dedentAll(lines []string) []string {
	least := -1
	for _, l := range lines {
		if n := indent(l); strings.TrimSpace(l) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	for i, l := range lines {
		lines[i] = l[min(max(least, 0), len(l)):]
	}
	return lines
}

// errorFirst moves the line with the exception's name to the front where a source excerpt or hint precedes it.
func errorFirst(lines []string) []string {
	for i, l := range lines {
		if t := strings.TrimSpace(l); i > 0 && t == l && pyError.MatchString(t) && strings.Contains(t, "Error: ") {
			if pyError.MatchString(lines[0]) {
				return lines
			}
			out := append([]string{}, lines[i:]...)
			return append(out, lines[:i]...)
		}
	}
	return lines
}

// doctest reads the Expected/Got parts of a doctest failure.
func (b *pyBlock) doctest(lines []string, at int) {
	var want, got []string
	to := &want
	for _, l := range lines[at:] {
		t := strings.TrimSpace(l)
		switch t {
		case "Expected:", "Expected nothing":
			continue
		case "Got:", "Got nothing":
			to = &got
			continue
		}
		if indent(l) == 0 {
			if t != "" {
				break
			}
			continue
		}
		*to = append(*to, t)
	}
	e, a := strings.Join(want, "\n"), strings.Join(got, "\n")
	b.expected, b.actual = &e, &a
	call := ""
	for i := at - 1; i >= 0; i-- {
		if j := strings.Index(lines[i], ">>> "); j >= 0 {
			call = strings.TrimSpace(lines[i][j:])
			break
		}
	}
	b.message = append([]string{"doctest: " + call, "Expected: " + e, "Got: " + a}, b.message...)
}
