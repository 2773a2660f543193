package feedback

import "strings"

var genericTool = tool{
	name: "generic", role: roleRun,
	what:        "any other log: compiler-style messages, stack traces of the common languages, annotations, the last error block",
	invocations: []string{"anything"},
}

const (
	maxMatches   = 400 // findings kept of each sort
	tailLines    = 60  // lines kept from the end of the log
	blockLines   = 12  // lines of an error block that go into a message
	blockReach   = 40  // lines before the end in which the last error block is looked for
	verdictLines = 6   // indented lines behind a test script's verdict that explain it
	traceFrames  = 60  // frames of a stack trace that are looked at
)

// generic reads what no tool took. It knows the shapes that errors have in most languages and, failing these,
// where in a log the reason usually stands.
type generic struct {
	sink    *sink
	matches []Failure // compiler-style messages, annotations
	loose   []Failure // file:line: text without the word error, for the case that nothing else is found
	errors  []line    // lines that begin like an error
	tests   []Failure // verdicts of hand-written test scripts
	tail    []line    // ring of the last lines
	at      int
	trace   traceReader
}

func newGeneric(s *sink) *generic { return &generic{sink: s, trace: traceReader{sink: s}} }

// problemMatchers are the shapes of one-line messages with a place. Groups: f file, l line, m message, c code.
var problemMatchers = []*pattern{
	// file:line:col: error: message [code]
	newPattern(`^(?:\[?(?:ERROR|error)\]?:? +)?(?P<f>(?:[A-Za-z]:[\\/])?[^\s:*?"<>|()\[\]][^:*?"<>|()\n]*?\.\w+|[\w./-]*(?:Makefile|Dockerfile|Jenkinsfile)):(?P<l>\d+)(?::\d+)?(?:[-–]\d+(?::\d+)?)?: *(?:fatal )?[Ee](?:rror|RROR)(?:\[(?P<c>[\w-]+)\]| (?P<c2>[A-Z]+\d+))?:? *(?P<m>.+)$`),
	// file(line,col): error CODE: message
	newPattern(`^\s*(?P<f>(?:[A-Za-z]:[\\/])?[^\s:*?"<>|()][^:*?"<>|()\n]*?)\((?P<l>\d+)(?:[,:]\d+)*\) ?: (?:fatal )?[Ee]rror(?: (?P<c>[A-Z]+\d+))?: *(?P<m>.+)$`),
	newPattern(`^(?P<f>[^\s:()]+\.\w+)\((?P<l>\d+), ?\d+\) (?:Error|Fatal): (?P<m>.+)$`),
	// ::error file=x,line=3::message
	newPattern(`^::error (?:.*,)?file=(?P<f>[^,:]+(?::[\\/][^,:]+)?),(?:.*,)?line=(?P<l>\d+)[^:]*::(?P<m>.+)$`),
	// e: file:///p/x.kt:3:5 message (Kotlin)
	newPattern(`^e: (?P<f>(?:file://)?/?[^\s:]+\.kts?):(?P<l>\d+):\d+ (?P<m>.+)$`),
	newPattern(`^e: (?P<f>\S+\.kts?): \((?P<l>\d+), \d+\): (?P<m>.+)$`),
	// [error] /p/x.scala:3:5: message
	newPattern(`^\[error\] (?P<f>\S+\.scala):(?P<l>\d+)(?::\d+)?: (?P<m>.+)$`),
	// psql:file:3: ERROR:  message
	newPattern(`^psql:(?P<f>[^:]+):(?P<l>\d+): (?:ERROR|FATAL): +(?P<m>.+)$`),
	// x.sh: line 3: message; x.sh: 3: message
	newPattern(`^(?P<f>[^\s:]+\.(?:sh|bash|zsh|ksh)|(?:\./)?[\w./-]+): (?:line )(?P<l>\d+): (?P<m>.+)$`),
	newPattern(`^(?P<f>[^\s:]+\.(?:sh|bash)): (?P<l>\d+): (?P<m>.+)$`),
	// syntax error, message in file on line 3 (PHP)
	newPattern(`^(?:PHP )?(?:Parse|Fatal) error: +(?P<m>.+?) in (?P<f>\S+?)(?: on line |:)(?P<l>\d+)$`),
	// message at x.pl line 5. (Perl)
	newPattern(`^(?P<m>.+) at (?P<f>\S+\.(?:pl|pm|t|PL)) line (?P<l>\d+)[.,]`),
	// lua: x.lua:3: message
	newPattern(`^(?:lua\S*|luajit): (?P<f>[^\s:]+):(?P<l>\d+): (?P<m>.+)$`),
	// x.rb:3:in `m': message (Error)
	newPattern("^(?P<f>[^\\s:]+\\.rb):(?P<l>\\d+):in [`'][^']*': (?P<m>.+)$"),
	newPattern(`^(?:ruby: )?(?P<f>[^\s:]+\.(?:rb|rake|gemspec)):(?P<l>\d+): (?P<m>syntax errors? .+)$`),
	// ** (MixError) / x.exs:3: message
	newPattern(`^\*\* \(\w+(?:Error)\) (?P<f>[^\s:]+\.exs?):(?P<l>\d+)(?::\d+)?: (?P<m>.+)$`),
	// Fatal error: message: file x.swift, line 3; x.swift:3: Fatal error: message
	newPattern(`^(?:Fatal error|Precondition failed|Assertion failed): (?P<m>.*?): file (?P<f>\S+\.swift), line (?P<l>\d+)`),
	newPattern(`^(?P<f>\S+\.swift):(?P<l>\d+): (?P<m>(?:Fatal error|Precondition failed|Assertion failed).*)$`),
	// prog: x.c:3: func: Assertion `e' failed.
	newPattern("^(?:[^\\s:]+: )?(?P<f>[^\\s:]+\\.(?:c|cc|cpp|cxx|h|hpp)):(?P<l>\\d+): (?P<m>.*Assertion [`'].*' failed\\.?)$"),
	// File "x.ml", line 1, characters 2-3: (message on the next lines)
	newPattern(`^File "(?P<f>[^"]+)", lines? (?P<l>\d+)(?:-\d+)?, characters [\d-]+:(?P<m>)$`),
	// Dockerfile:3 DL3008 error: message
	newPattern(`^(?P<f>\S*Dockerfile\S*):(?P<l>\d+) (?P<c>[A-Z]+\d+) (?:\S*error\S*:) (?P<m>.+)$`),
	// error: message at file:line (rest of the world)
	newPattern(`^(?:[Ee]rror|ERROR):? (?P<m>.+?) (?:at|in) (?P<f>[\w./-]+\.\w+):(?P<l>\d+)(?::\d+)?$`),
}

// errorStart finds lines that begin an error block.
var errorStart = newPattern(`^\s*(?:make(?:\[\d+\])?: \*\*\* |\[?(?:ERROR|FATAL|CRITICAL|Error|Fatal|error|fatal|E)\]?\b ?[:!\]]|(?:Fatal|Uncaught|Unhandled)\b|panic: |thread '.*' panicked|(?:[\w.$]+\.)?[A-Z]\w*(?:Error|Exception)\b ?[:(]|Traceback |Exception in thread|Unhandled exception|[\w./-]+: (?:fatal )?(?:error|Error|command not found|not found|cannot|No such file|Permission denied)|.*: command not found$|Killed$|Segmentation fault|Aborted|\*\*\* |×|✖|✗|❌|curl: \(\d+\)|.*(?:\bFAILED\b|\bFAILURE\b|failed with exit|exited with (?:code )?[1-9]|exit (?:code|status):? [1-9]|errors? occurred|could not |Could not |cannot |Cannot |can't |unable to |Unable to |not found|No such file|Permission denied|denied|refused|timed out|not (?:yet )?installed|must be |is required|invalid |Invalid |unexpected |unsupported |mismatch))`)

// harmless are lines that hold such words and mean nothing by them.
var harmless = newPattern(`(?i)\b(?:0|no) (?:errors?|failures?|failed)\b|\bwarn(?:ing)?\b|^\s*(?:ok|pass(?:ed)?)\b|deprecat|^\s*at |^npm notice|A complete log of this run`)

// line looks at a line that no tool took.
func (g *generic) line(l line) {
	g.sink.now = l.n
	g.keep(l)
	if len(l.text) < 4 {
		g.trace.line(l)
		return
	}
	if g.trace.line(l) {
		return
	}
	if n := len(g.tests); n > 0 && l.n <= g.tests[n-1].Log+verdictLines && indent(l.text) > 0 && !verdict.MatchString(l.text) {
		if f := &g.tests[n-1]; len(f.Message) < maxMessage {
			f.Message += "\n" + strings.Clone(l.text)
		}
		return
	}
	if !strings.ContainsAny(l.text, ":(") && !l.words.has(wordError) {
		return
	}
	if len(l.text) < maxMessage && len(g.tests) < maxMatches {
		if m := verdict.FindStringSubmatch(l.text); m != nil {
			id, _, _ := strings.Cut(m[1], " - ")
			g.tests = append(g.tests, Failure{ID: strings.Clone(id), Message: strings.Clone(strings.TrimSpace(l.text)), Kind: KindTest, Log: l.n})
		}
	}
	if len(l.text) <= longLine && len(g.matches) < maxMatches && g.match(l) {
		return
	}
	if l.words.has(wordError) && len(l.text) < 4000 && errorStart.MatchString(l.text) && !harmless.MatchString(l.text) {
		if len(g.errors) >= maxMatches {
			copy(g.errors, g.errors[1:])
			g.errors = g.errors[:maxMatches-1]
		}
		g.errors = append(g.errors, line{n: l.n, text: strings.Clone(l.text)})
	}
}

// match tries the problem matchers.
func (g *generic) match(l line) bool {
	text := strings.TrimPrefix(l.text, "##[error]")
	for _, p := range problemMatchers {
		m := p.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		f := Failure{Kind: KindCompile, Log: l.n}
		for i, name := range p.SubexpNames() {
			switch {
			case name == "" || m[i] == "":
			case name == "f":
				f.File = m[i]
			case name == "l":
				f.Line = atoi(m[i])
			case name == "m":
				f.Message = decodeAnnotation(m[i])
			default:
				f.ID = m[i]
			}
		}
		if f.ID != "" && !strings.Contains(f.Message, f.ID) {
			f.Message = f.ID + ": " + f.Message
		}
		if absolute(f.File) && !g.sink.own(f.File) {
			f.Kind = KindCrash
		}
		if shellWords.MatchString(text) {
			if n := len(g.matches); n > 0 && strings.HasPrefix(f.Message, "`") && g.matches[n-1].File == f.File && g.matches[n-1].Line == f.Line {
				return true // the shell quotes the line that it did not understand
			}
			if !strings.Contains(strings.ToLower(f.Message), "syntax error") && !strings.Contains(f.Message, "unexpected E") {
				f.Kind = KindCrash
			}
		}
		if shellName.MatchString(f.File) { // "bash: line 1: 123 Segmentation fault": the shell's own word of what it ran
			f.File, f.Line, f.Kind = "", 0, KindCrash
		}
		g.matches = append(g.matches, f)
		return true
	}
	if m := looseMatcher.FindStringSubmatch(text); m != nil && !harmless.MatchString(text) {
		g.loose = append(g.loose, Failure{File: m[1], Line: atoi(m[2]), Message: m[3], Kind: KindLint, Log: l.n})
		if len(g.loose) > maxMatches {
			g.loose = g.loose[1:]
		}
	}
	return false
}

// shellWords finds the shells' own messages, "x.sh: line 3: …" and "x.sh: 3: …".
var shellWords = newPattern(`^(?:[^\s:]+\.(?:sh|bash|zsh|ksh): (?:line )?|(?:\./)?[\w./-]+: line )\d+: `)

// verdict is how hand-written test scripts and Automake tell of a failed test.
var verdict = newPattern(`^\s{0,4}(?:FAIL(?:ED)?: |\[ ?FAIL(?:ED)? ?\]:? |[✗✘] )\s*(\S.*)$`)

var shellName = newPattern(`^(?:/(?:usr/)?bin/)?(?:ba|da|z|k|a)?sh$`)

// looseMatcher is the shape that most linters share.
var looseMatcher = newPattern(`^((?:[A-Za-z]:[\\/])?[^\s:*?"<>|()\[\]]+\.\w+):(\d+)(?::\d+)?:? +(\S.+)$`)

// decodeAnnotation undoes the escapes of GitHub's workflow commands.
func decodeAnnotation(s string) string {
	if !strings.Contains(s, "%0A") && !strings.Contains(s, "%25") && !strings.Contains(s, "%0D") {
		return s
	}
	return strings.NewReplacer("%0A", "\n", "%0D", "", "%25", "%", "%3A", ":", "%2C", ",").Replace(s)
}

func (g *generic) keep(l line) {
	const most = 1000 // bytes of a line of the tail: a message is shorter than that
	if len(l.text) > most {
		l.text = clipMiddle(printable(l.text), most)
	}
	if len(g.tail) < tailLines {
		g.tail = append(g.tail, l)
		return
	}
	g.tail[g.at] = l
	g.at = (g.at + 1) % tailLines
}

// last is the log's last line that says something, with its number.
func (g *generic) last() (string, int) {
	for i := len(g.tail) - 1; i >= 0; i-- {
		l := g.tail[(g.at+i)%len(g.tail)]
		if strings.TrimSpace(l.text) != "" {
			return printable(strings.TrimSpace(l.text)), l.n
		}
	}
	return "", 0
}

// found is what the generic reader has to say about a run that no tool explained; bad tells that it failed.
func (g *generic) found(bad bool) []Failure {
	g.trace.close()
	if !bad && g.sink.opts.ExitCode != nil {
		return nil
	}
	var out []Failure
	hand := func(f Failure) {
		g.sink.failures = nil
		g.sink.fail(f)
		out = append(out, g.sink.failures...)
	}
	for _, f := range g.trace.found {
		hand(f)
	}
	for _, f := range g.matches {
		hand(f)
	}
	if len(out) == 0 && len(g.errors) == 0 {
		for _, f := range g.loose {
			hand(f)
		}
	}
	if len(out) > 0 {
		return out
	}
	if bad {
		for _, f := range g.tests {
			hand(f)
		}
	}
	if len(out) > 0 {
		return out
	}
	if block, ok := g.block(); ok {
		hand(block)
	}
	return out
}

// block is the last error block: the last lines that begin like errors with what follows them.
func (g *generic) block() (Failure, bool) {
	if len(g.errors) == 0 {
		return Failure{}, false
	}
	// The last error is often a mere consequence ("build failed"); the first line of the run of errors that it
	// belongs to says more.
	i := len(g.errors) - 1
	for i > 0 && g.errors[i].n-g.errors[i-1].n <= blockLines {
		i--
	}
	first := g.errors[i]
	text := []string{first.text}
	for j := range g.tail {
		l := g.tail[(g.at+j)%len(g.tail)]
		if l.n > first.n && l.n <= first.n+blockReach && len(text) < blockLines && strings.TrimSpace(l.text) != "" {
			text = append(text, l.text)
		}
	}
	if len(text) == 1 {
		for _, e := range g.errors[i+1:] {
			if len(text) < blockLines {
				text = append(text, e.text)
			}
		}
	}
	f := Failure{Message: strings.Join(text, "\n"), Log: first.n, Kind: KindCrash}
	return f, true
}

// atoi reads a line number; 0 for what is none.
func atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<28 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
