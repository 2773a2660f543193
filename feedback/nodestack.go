package feedback

import "strings"

// jsFrame matches a frame of a JavaScript stack: "at fn (file:1:2)", "at file:1:2", and vitest's "❯ fn file:1:2".
var jsFrame = newPattern(`^\s*(?:at |❯ )(?:async )?(?:(.+?) )?\(?((?:file://|webpack://|node:)?(?:[A-Za-z]:)?[^\s():]?[^():]*?):(\d+)(?::(\d+))?\)?(?: \{)?$`)

// jsFrames reads the frames of a JavaScript stack.
func jsFrames(lines []string) []frame {
	var out []frame
	for _, l := range lines {
		t := strings.TrimLeft(l, " ")
		if !strings.HasPrefix(t, "at ") && !strings.HasPrefix(t, "❯ ") {
			continue
		}
		if m := jsFrame.FindStringSubmatch(l); m != nil && m[2] != "" {
			out = append(out, frame{function: m[1], file: m[2], line: atoi(m[3])})
		}
	}
	return out
}

// isStackLine tells a frame, with or without a place.
func isStackLine(l string) bool {
	t := strings.TrimLeft(l, " ")
	return strings.HasPrefix(t, "at ") && (strings.ContainsAny(t, "(:") || strings.HasPrefix(t, "at async "))
}

// codeFrame matches the lines of a source excerpt: "  > 5 |   expect(x)", "     |      ^".
var codeFrame = newPattern(`^\s*(>?)\s*(\d*) ?[|│](?:.*)$`)

// diffValues reads the two sides of a diff whose header says which sign is which; ok is false without a header.
func diffValues(lines []string) (expected, actual *string, ok bool) {
	minus := ""
	var m, p []string
	for _, l := range lines {
		t := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(t, "- Expected"), strings.HasPrefix(t, "- Snapshot"), strings.HasPrefix(t, "+ actual - expected"), strings.HasPrefix(t, "--- Expected"):
			minus, m, p = "e", nil, nil
			continue
		case strings.HasPrefix(t, "+ expected - actual"), strings.HasPrefix(t, "- actual + expected"), strings.HasPrefix(t, "Difference (- actual, + expected)"):
			minus, m, p = "a", nil, nil
			continue
		case strings.HasPrefix(t, "+ Received"), strings.HasPrefix(t, "+++ Actual"):
			continue
		}
		if minus == "" {
			continue
		}
		if isStackLine(l) {
			break
		}
		if rest, cut := strings.CutPrefix(t, "-"); cut {
			m = append(m, strings.TrimSpace(rest))
		} else if rest, cut := strings.CutPrefix(t, "+"); cut {
			p = append(p, strings.TrimSpace(rest))
		}
	}
	if len(m)+len(p) == 0 {
		return nil, nil, false
	}
	if minus == "a" {
		m, p = p, m
	}
	e, a := strings.Join(m, "\n"), strings.Join(p, "\n")
	return &e, &a, true
}

// nodeInspect reads `actual: 12,` and `expected: 9,` of an inspected assertion error.
var nodeInspect = newPattern(`^\s*(actual|expected): (.+?),?$`)

func inspectedValues(lines []string) (expected, actual *string) {
	for _, l := range lines {
		if m := nodeInspect.FindStringSubmatch(l); m != nil {
			if v := unquote(m[2]); m[1] == "actual" {
				actual = &v
			} else {
				expected = &v
			}
		}
	}
	if expected == nil || actual == nil || *expected == "undefined" && *actual == "undefined" {
		return nil, nil // assert.fail and assert.throws compare nothing
	}
	return expected, actual
}

// jsError splits the text of a JavaScript failure into its message and the place of its top project frame.
func jsError(s *sink, lines []string) (f Failure) {
	var text []string
	excerpt := 0
	for _, l := range lines {
		if isStackLine(l) {
			continue
		}
		if m := codeFrame.FindStringSubmatch(l); m != nil && (m[2] != "" || strings.Contains(l, "^")) && !strings.HasPrefix(strings.TrimSpace(l), "-") && !strings.HasPrefix(strings.TrimSpace(l), "+") {
			if m[1] == ">" {
				excerpt = atoi(m[2])
			}
			continue
		}
		if t := strings.TrimSpace(l); strings.HasPrefix(t, "❯ ") && jsFrame.MatchString(l) || t == "}" || t == "{" {
			continue
		}
		if nodeNoise.MatchString(l) {
			continue
		}
		text = append(text, l)
	}
	f.Message = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.Join(text, "\n")), "● Test suite failed to run"))
	if strings.HasPrefix(f.Message, "Jest encountered an unexpected token") {
		for _, l := range text { // the advice is long and the error comes last
			if l = strings.TrimSpace(l); strings.HasPrefix(l, "SyntaxError: ") {
				f.Message = l + "\n" + firstLine(f.Message)
				break
			}
		}
	}
	if top, ok := s.topFrame(jsFrames(lines)); ok {
		f.File, f.Line = top.file, top.line
	} else {
		f.Line = excerpt
	}
	if f.File == "" && f.Line == 0 && strings.Contains(f.Message, "SyntaxError") {
		f.File, f.Line = s.excerptPlace(text)
	}
	var ok bool
	if f.Expected, f.Actual, ok = diffValues(lines); !ok {
		f.Expected, f.Actual = inspectedValues(lines)
	}
	if f.Expected == nil {
		f.Expected, f.Actual = expectedActual(f.Message)
	}
	if m := jsAtFile.FindStringSubmatch(f.Message); m != nil && f.File == "" && f.Line == 0 {
		f.Line = atoi(m[1]) // the file is the one that could not be loaded, with the root taken for /
	}
	if m := jsPlaceInText.FindStringSubmatch(f.Message); m != nil && (f.File == "" || strings.Contains(f.Message, "SyntaxError") || strings.Contains(f.Message, " - error TS") || strings.Contains(f.Message, "Transform failed")) {
		f.File, f.Line = m[1]+m[3], atoi(m[2]+m[4])
	}
	return f
}

// nodeCause is the error below another one, as Node inspects it: "[cause]: Error: no data"; "" without one.
func nodeCause(lines []string) string {
	for _, l := range lines {
		t := strings.TrimSpace(l)
		for _, key := range []string{"[cause]: ", "cause: "} {
			if v, ok := strings.CutPrefix(t, key); ok && jsErrorLine.MatchString(v) {
				return v
			}
		}
	}
	return ""
}

// excerptPlace is the place above the source that Node prints for a file that it cannot parse: "/src/a.js:3".
func (s *sink) excerptPlace(lines []string) (file string, line int) {
	for _, l := range lines {
		if m := jsExcerpt.FindStringSubmatch(strings.TrimSpace(l)); m != nil && s.own(m[1]) {
			return m[1], atoi(m[2])
		}
	}
	return "", 0
}

var (
	// nodeNoise are lines of an inspected error that say nothing new.
	nodeNoise = newPattern(`^\s*(?:at <Jasmine>|generatedMessage: |code: '|operator: '|diff: '|actual: |expected: |\[cause\]: undefined)`)
	// jsPlaceInText finds the place that Babel ("x.js: Unexpected token (3:5)") and tsc ("x.ts:3:5 - error") put into messages.
	jsAtFile      = newPattern(`(?m)^At file: \S+:(\d+):\d+$`)
	jsPlaceInText = newPattern(`((?:[A-Za-z]:)?[^\s:()'"]+\.[cm]?[jt]sx?): [^\n]*?\((\d+):\d+\)|([^\s:()'"]+\.[cm]?[jt]sx?):(\d+):\d+(?: - error TS|: ERROR: )`)
)

func nodeTool() *tool {
	return &tool{
		name: "node", what: "uncaught errors and rejections, syntax and module errors, heap exhaustion; of deno and bun as well", role: roleRun,
		invocations: []string{"node app.js", "ts-node", "tsx", "deno run", "bun run"},
		markers:     []string{"    at ", "Node.js v", "FATAL ERROR: ", "Error: Cannot find module"},
		runs:        named("node", "ts-node", "tsx", "deno", "bun", "electron", "esno", "babel-node", "nodemon"),
		make:        func(s *sink) reader { return &nodeTrace{s: s} },
	}
}

// nodeTrace reads the error that a JavaScript program died of: the last one with a stack, near the log's end.
type nodeTrace struct {
	s      *sink
	recent []string // last lines before a stack, for the excerpt that Node prints above the error
	lines  []string
	from   int
	open   bool
	stack  bool
	brace  bool // an error whose properties follow its stack
	last   *Failure
	after  int
	banner bool // "Node.js v20.1.0": the program ended by this error
}

var (
	jsErrorLine = newPattern(`^(?:Uncaught |error: (?:Uncaught )?(?:\(in promise\) )?)*(?:\[?[A-Z]\w*(?:Error|Exception|Rejection)\b\]?(?: \[\w+\])?|Error|error)(?: \[\w+\])?: ?.+$|^(?:[A-Z]\w*)?Error(?: \[\w+\])?$`)
	jsExcerpt   = newPattern(`^((?:file://)?(?:[A-Za-z]:)?[^\s:()]+\.[cm]?[jt]sx?):(\d+)$`)
	jsHeap      = newPattern(`FATAL ERROR: .*(?:heap out of memory|Allocation failed)`)
	jsImported  = newPattern(`imported from (\S+)$`)
)

// mochaDuring stands before the error, or its place, with which Mocha could not load a file.
const mochaDuring = " Exception during run: "

// line implements reader.
func (n *nodeTrace) line(l line) claim {
	t := l.text
	if n.open {
		switch {
		case isStackLine(t):
			n.stack, n.brace = true, n.brace || strings.HasSuffix(t, " {")
			n.keep(t)
			return hold
		case n.stack && n.brace && (strings.HasPrefix(t, "  ") || t == "}"): // the error's properties
			n.brace = t != "}"
			n.keep(t)
			return hold
		case n.stack && t == "":
			n.keep(t)
			return pass
		case !n.stack && len(n.lines) < 30 && !strings.HasPrefix(t, "Node.js v"):
			if jsErrorLine.MatchString(t) && len(n.lines) > 4 {
				break
			}
			n.keep(t)
			return pass
		}
		n.finish()
	}
	switch {
	case strings.HasPrefix(t, "Node.js v"):
		n.banner = true
		return mine
	case jsHeap.MatchString(t):
		n.s.fail(Failure{Message: t, Kind: KindOOM})
		return mine
	case jsErrorLine.MatchString(strings.TrimPrefix(t, mochaDuring)):
		n.open, n.stack, n.brace, n.from = true, false, false, l.n
		n.lines = []string{strings.TrimPrefix(t, mochaDuring)}
		return pass
	}
	n.recent = append(n.recent, strings.TrimPrefix(t, mochaDuring))
	const most = 12 // lines above an error that may hold the excerpt
	if len(n.recent) > most {
		n.recent = append(n.recent[:0], n.recent[1:]...)
	}
	n.after++
	return pass
}

func (n *nodeTrace) keep(t string) {
	const most = 200 // lines of one error
	if len(n.lines) < most {
		n.lines = append(n.lines, t)
	}
}

func (n *nodeTrace) finish() {
	n.open = false
	if !n.stack {
		n.recent = append(n.recent[:0], n.lines[max(0, len(n.lines)-8):]...)
		n.after += len(n.lines)
		return
	}
	f := jsError(n.s, n.lines)
	f.Kind, f.Log = KindCrash, n.from
	for i := len(n.recent) - 1; i >= 0; i-- {
		if m := jsExcerpt.FindStringSubmatch(n.recent[i]); m != nil {
			if strings.Contains(n.lines[0], "SyntaxError") {
				f.Kind = KindCompile
				f.File, f.Line = m[1], atoi(m[2])
			} else if f.File == "" && n.s.own(m[1]) {
				f.File, f.Line = m[1], atoi(m[2])
			}
			break
		}
	}
	if m := jsImported.FindStringSubmatch(n.lines[0]); m != nil && f.File == "" {
		f.File = m[1]
	}
	n.last, n.after, n.recent = &f, 0, nil
}

// close implements reader.
func (n *nodeTrace) close() {
	if n.open {
		n.finish()
	}
	const shout = 8 // lines that may follow the error a program died of
	code, known := n.s.exitCode()
	if n.last != nil && (!known || code != 0) && (n.banner || n.after <= shout) {
		n.s.fail(*n.last)
	}
}
