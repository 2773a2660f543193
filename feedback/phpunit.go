package feedback

import (
	"slices"
	"strings"
)

func phpunitTool() *tool {
	return &tool{
		name: "phpunit", what: "PHPUnit 8 to 12 and Pest: failures, errors, warnings, risky tests, --testdox, --teamcity; PHP's own fatal and parse errors; PHPStan's and Psalm's text",
		invocations: []string{"vendor/bin/phpunit", "phpunit --testdox", "vendor/bin/pest", "php artisan test", "composer test", "vendor/bin/phpstan analyse --error-format=raw"},
		markers:     []string{"PHPUnit ", "FAILURES!", "ERRORS!", "PHP Fatal error:", "PHP Parse error:", "Fatal error: ", "Parse error: "},
		runs:        named("phpunit", "pest", "paratest", "simple-phpunit", "artisan test", "php", "composer"),
		family:      []string{"composer", "junit-xml"},
		make:        func(s *sink) reader { return &phpunit{s: s} },
	}
}

// phpunit reads PHPUnit's result printers.
type phpunit struct {
	s       *sink
	section phpSection
	block   *rspecBlock
	class   string // TestDox: the class's title
	seen    map[string]bool
	fatal   *Failure // PHP's own error, whose trace follows
	header  bool
	before  Counts       // of the runs before this one
	told    map[int]bool // log lines of the failures listed before this run's last totals; nil before any
	listed  map[int]bool // those listed since
	service bool         // TeamCity's messages come: lists of results are what tests print
}

// phpSection is the list of results that is being read.
type phpSection int

const (
	phpOutside phpSection = iota
	phpProblems
	phpHarmless // risky, skipped, incomplete, deprecations: listed and not failures
	phpTestdox
)

var (
	phpThere   = newPattern(`^(?:There (?:was|were) )?(\d+) (?:PHPUnit )?(?:test runner )?(error|failure|warning|risky test|skipped test|incomplete test|deprecation|notice|PHPUnit)s?(?: .*)?:$`)
	phpHead    = newPattern(`^(\d+)\) (\S.*)$`)
	phpAt      = newPattern(`^((?:/|[A-Za-z]:\\)?[^\s:()]+\.(?:php|phpt|inc)):(\d+)$`)
	phpIn      = newPattern(`^(.+) in ((?:/|[A-Za-z]:\\)\S+\.(?:php|phpt|inc))(?::| on line )(\d+)$`)
	phpTrace   = newPattern(`^\s*#\d+ (?:\S+\(\d+\): |\{main\}|\[internal function\])`)
	phpTotal   = newPattern(`^Tests: (\d+), Assertions: \d+(.*)\.$`)
	phpCount   = newPattern(`(Errors|Failures|Warnings|Skipped|Incomplete|Risky): (\d+)`)
	phpOK      = newPattern(`^OK \((\d+) tests?, \d+ assertions?\)$`)
	phpDox     = newPattern(`^ (?:\s*)([✔✘↩∅☢⚠x✓]|\[[x ]\]) (.+?)(?: +\d+ ms| \[[\d.]+ ms\])?$`)
	phpDoxBody = newPattern(`^\s+[│┐├┊╵╷]\s?(.*)$`)
	phpFatal   = newPattern(`^(?:PHP )?(Fatal|Parse|Catchable fatal) error: +(?:Uncaught )?(.+?) in (\S+?)(?: on line |:)(\d+)$`)
	phpTeam    = newPattern(`^##teamcity\[(\w+) (.*)\]$`)
	phpTeamArg = newPattern(`(\w+)='((?:[^'|]|\|.)*)'`)
	pestTotal  = newPattern(`^  Tests: +(.*\d+ (?:passed|failed|skipped|todos?|incomplete|risky).*)$`)
	pestCount  = newPattern(`(\d+) (passed|failed|skipped|todos?|incomplete|warnings|risky)`)
	pestHead   = newPattern(`^  (?:FAILED|•) +(\S+) (?:>|›) (.+?)(?: {2,}(\S+))?$`)
	pestCase   = newPattern(`^  ([✓⨯✔-]|…|!) (.+?)(?: {2,}[\d.]+s)?$`)
	pestClass  = newPattern(`^ +(?:PASS|FAIL|WARN) +(\S+)$`)
	pestAt     = newPattern(`^  at ((?:[\w./-]+|[A-Za-z]:\\\S+)\.php):(\d+)$`)
)

// line implements reader.
func (p *phpunit) line(l line) claim {
	t := l.text
	if !p.service || p.s.open == "" { // a test that runs prints no totals of PHPUnit's
		if c, done := p.last(t); done {
			return c
		}
	}
	if p.fatal != nil {
		if t == "" || strings.HasPrefix(t, "Stack trace:") || strings.HasPrefix(t, "#") || strings.HasPrefix(t, "Next ") || strings.HasPrefix(t, "  thrown in ") {
			return mine
		}
		p.fatal = nil
	}
	if m := phpFatal.FindStringSubmatch(t); m != nil {
		return p.crash(m)
	}
	if strings.HasPrefix(t, "##teamcity[") {
		return p.teamcity(t)
	}
	if m := phpThere.FindStringSubmatch(t); m != nil && !p.service {
		p.end()
		p.section = phpHarmless
		if m[2] == "error" || m[2] == "failure" || m[2] == "warning" && strings.HasPrefix(t, "There") {
			p.section = phpProblems
		}
		return hold
	}
	if strings.HasPrefix(t, "PHPUnit ") && strings.Contains(t, "Sebastian Bergmann") {
		p.header, p.told, p.listed = true, nil, nil
		p.before = p.s.counts.clone()
		return mine
	}
	if p.header && (strings.HasPrefix(t, "Cannot open file ") || strings.HasPrefix(t, "Test file ") || strings.HasPrefix(t, "Could not ") || strings.HasPrefix(t, "Unknown option") || strings.HasPrefix(t, "Test directory ")) {
		p.s.red = true
		p.s.fail(Failure{Message: t, Kind: KindConfig})
		return mine
	}
	switch p.section {
	case phpProblems:
		if m := phpHead.FindStringSubmatch(t); m != nil {
			p.end()
			p.block = &rspecBlock{id: strings.Clone(m[2]), log: l.n}
			return hold
		}
		if t == "--" || t == "FAILURES!" || t == "ERRORS!" || t == "WARNINGS!" {
			p.end()
			return hold
		}
	case phpHarmless:
		return hold
	case phpOutside, phpTestdox:
		return p.testdox(l)
	}
	p.keep(t)
	return hold
}

// last takes the lines that end a run.
func (p *phpunit) last(t string) (claim, bool) {
	if m := phpTotal.FindStringSubmatch(t); m != nil {
		p.end()
		p.section = phpOutside
		failed, skipped := 0, 0
		for _, c := range phpCount.FindAllStringSubmatch(m[2], -1) {
			switch c[1] {
			case "Errors", "Failures", "Warnings":
				failed += atoi(c[2])
			case "Skipped", "Incomplete":
				skipped += atoi(c[2])
			}
		}
		p.lastTotals()
		p.s.add(max(0, atoi(m[1])-failed-skipped), failed, skipped)
		p.settle(failed > 0)
		return mine, true
	}
	if m := phpOK.FindStringSubmatch(t); m != nil {
		p.end()
		p.section = phpOutside
		p.lastTotals()
		p.s.add(atoi(m[1]), 0, 0)
		p.settle(false)
		return mine, true
	}
	if m := pestTotal.FindStringSubmatch(t); m != nil {
		p.end()
		p.section = phpOutside
		n := map[string]int{}
		for _, c := range pestCount.FindAllStringSubmatch(m[1], -1) {
			n[c[2]] += atoi(c[1])
		}
		p.s.add(n["passed"]+n["risky"]+n["warnings"], n["failed"], n["skipped"]+n["incomplete"]+n["todo"]+n["todos"])
		p.settle(n["failed"] > 0)
		return mine, true
	}
	return pass, false
}

// lastTotals takes back what stood before earlier totals of the same run: a test printed it.
func (p *phpunit) lastTotals() {
	if p.told != nil && p.header {
		p.s.failures = slices.DeleteFunc(p.s.failures, func(f Failure) bool { return p.told[f.Log] })
		p.s.counts = p.before.clone()
		p.s.red = false
	}
	p.told, p.listed = p.listed, map[int]bool{}
	if p.told == nil {
		p.told = map[int]bool{}
	}
}

func (p *phpunit) settle(failed bool) {
	p.s.ran, p.s.ended = true, true
	p.s.red, p.s.green = p.s.red || failed, !failed
}

// crash reports PHP's own last words. PHP prints them twice when errors go to the log and to the screen.
func (p *phpunit) crash(m []string) claim {
	f := Failure{Message: m[1] + " error: " + m[2], File: m[3], Line: atoi(m[4]), Kind: KindCrash}
	if m[1] == "Parse" || strings.HasPrefix(m[2], "ParseError") {
		f.Kind, f.Message = KindCompile, strings.TrimPrefix(f.Message, "Fatal error: ")
	}
	p.fatal = &f
	key := m[2] + m[3] + m[4]
	if p.seen[key] {
		return mine
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[strings.Clone(key)] = true
	p.s.fail(f)
	return mine
}

// testdox reads TestDox's and Pest's trees.
func (p *phpunit) testdox(l line) claim {
	t := l.text
	if m := phpDoxBody.FindStringSubmatch(t); m != nil && p.block != nil {
		p.keep(m[1])
		return mine
	}
	if m := pestHead.FindStringSubmatch(t); m != nil {
		p.end()
		p.block = &rspecBlock{id: strings.Clone(m[1] + " > " + m[2]), log: l.n}
		p.section = phpProblems
		return hold
	}
	if m := pestClass.FindStringSubmatch(t); m != nil {
		p.class = strings.Clone(m[1])
		return mine
	}
	if m := phpDox.FindStringSubmatch(t); m != nil && p.class != "" && p.header {
		p.end()
		id, status := p.class+"::"+m[2], CasePassed
		switch m[1] {
		case "✘", "[ ]":
			status = CaseFailed
			p.block = &rspecBlock{id: strings.Clone(id), log: l.n}
			p.section = phpTestdox
		case "↩", "∅":
			status = CaseSkipped
		}
		p.s.test(id, "", status, 0)
		return mine
	}
	if m := pestCase.FindStringSubmatch(t); m != nil && p.class != "" && !p.header {
		status := CasePassed
		switch m[1] {
		case "⨯":
			status = CaseFailed
		case "-", "…":
			status = CaseSkipped
		}
		p.s.test(p.class+" > "+m[2], "", status, 0)
		return mine
	}
	if t == "" {
		return pass
	}
	p.end()
	if p.header && t[0] != ' ' && !strings.HasPrefix(t, "Time: ") && len(t) < maxID {
		p.class = strings.Clone(t)
		if name, _, ok := strings.Cut(t, " ("); ok {
			p.class = strings.Clone(name)
		}
	}
	return pass
}

func (p *phpunit) keep(t string) {
	const most = 200 // lines of one failure
	if p.block != nil && len(p.block.lines) < most {
		p.block.lines = append(p.block.lines, strings.Clone(t))
	}
}

func (p *phpunit) end() {
	b := p.block
	p.block = nil
	if b == nil {
		return
	}
	if p.section == phpProblems && len(p.listed) < maxKeptFailures {
		if p.listed == nil {
			p.listed = map[int]bool{}
		}
		p.listed[b.log] = true
	}
	p.report(b.id, b.lines, b.log)
}

func (p *phpunit) report(id string, lines []string, log int) {
	f := Failure{ID: id, Kind: KindTest, Log: log}
	var message []string
	var frames []frame
	cause := false
	for _, l := range lines {
		if m := phpAt.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			frames = append(frames, frame{file: m[1], line: atoi(m[2])})
			continue
		}
		if m := pestAt.FindStringSubmatch(l); m != nil {
			frames = append([]frame{{file: m[1], line: atoi(m[2])}}, frames...)
			continue
		}
		if strings.HasPrefix(l, "Caused by") {
			cause = true
			continue
		}
		if strings.TrimSpace(l) == "Stack trace:" || phpTrace.MatchString(l) {
			continue
		}
		if cause && strings.TrimSpace(l) != "" {
			message, cause = append(message, "Caused by "+strings.TrimSpace(l)), false
		} else if len(frames) == 0 {
			message = append(message, l)
		}
	}
	if len(frames) == 0 { // an error outside of a test: PHP's own words hold the place
		for i, l := range message {
			if m := phpIn.FindStringSubmatch(l); m != nil && p.s.own(m[2]) {
				message[i] = m[1]
				frames = append(frames, frame{file: m[2], line: atoi(m[3])})
				break
			}
		}
	}
	f.Message = strings.TrimSpace(strings.Join(message, "\n"))
	if top, ok := p.s.topFrame(frames); ok {
		f.File, f.Line = top.file, top.line
	}
	f.Expected, f.Actual = phpValues(message)
	if f.Message == "" {
		f.Message = "failed without a message"
	}
	p.s.red = true
	p.s.fail(f)
}

var phpIdentical = newPattern(`(?s)Failed asserting that (.+?) (?:is identical to|matches expected|equals|is equal to) (.+?)\.\s*$`)

// phpValues takes the compared values from an assertion's sentence or its diff.
func phpValues(lines []string) (expected, actual *string) {
	for i, l := range lines {
		if strings.HasPrefix(l, "--- Expected") && i+2 < len(lines) {
			var minus, plus []string
			for _, d := range lines[i+2:] {
				switch {
				case strings.HasPrefix(d, "-"):
					minus = append(minus, strings.TrimSpace(d[1:]))
				case strings.HasPrefix(d, "+"):
					plus = append(plus, strings.TrimSpace(d[1:]))
				}
			}
			if len(minus)+len(plus) > 0 {
				return told(unquote(strings.Join(minus, "\n"))), told(unquote(strings.Join(plus, "\n")))
			}
		}
		if m := phpIdentical.FindStringSubmatch(l); m != nil {
			return told(unquote(m[2])), told(unquote(m[1]))
		}
	}
	return nil, nil
}

// teamcity reads TeamCity's service messages, which PHPUnit, Pest and many others print.
func (p *phpunit) teamcity(t string) claim {
	m := phpTeam.FindStringSubmatch(t)
	if m == nil {
		return pass
	}
	p.service = true
	arg := map[string]string{}
	for _, a := range phpTeamArg.FindAllStringSubmatch(m[2], -1) {
		arg[a[1]] = teamcityText(a[2])
	}
	switch m[1] {
	case "testSuiteStarted":
		if !strings.Contains(arg["name"], "/") {
			p.class = strings.Clone(arg["name"])
		}
	case "testStarted":
		p.s.open = strings.Clone(arg["name"])
		if i := strings.Index(arg["locationHint"], "::\\"); i >= 0 {
			p.class, _, _ = strings.Cut(strings.Clone(arg["locationHint"][i+3:]), "::")
		}
	case "testFinished":
		p.s.suiteTest(p.class, p.qualified(arg["name"]), "", p.outcome(arg["name"]), 0)
		p.s.open = ""
	case "testIgnored":
		p.mark(arg["name"], CaseSkipped)
	case "testFailed":
		if strings.HasPrefix(arg["message"], "This test did not perform any assertions") {
			break // risky, which fails nothing unless it is so configured, and then the exit code tells
		}
		p.mark(arg["name"], CaseFailed)
		id := p.qualified(arg["name"])
		text := arg["message"] + "\n" + arg["details"]
		p.report(id, strings.Split(text, "\n"), p.s.now)
		if arg["type"] == "comparisonFailure" && len(p.s.failures) > 0 {
			f := &p.s.failures[len(p.s.failures)-1]
			f.Expected, f.Actual = tidyValue(told(unquote(arg["expected"]))), tidyValue(told(unquote(arg["actual"])))
		}
	}
	p.s.ran = true
	return mine
}

// qualified is a test's id as PHPUnit's lists have it: class::method.
func (p *phpunit) qualified(name string) string {
	if p.class == "" || strings.Contains(name, p.class) {
		return name
	}
	return p.class + "::" + name
}

// mark remembers the outcome that testFinished does not tell.
func (p *phpunit) mark(name string, status CaseStatus) {
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[string(status)+"\x00"+name] = true
}

func (p *phpunit) outcome(name string) CaseStatus {
	for _, s := range []CaseStatus{CaseFailed, CaseSkipped} {
		key := string(s) + "\x00" + name
		if p.seen[key] {
			delete(p.seen, key)
			return s
		}
	}
	return CasePassed
}

// teamcityText undoes the escapes of TeamCity's service messages.
func teamcityText(s string) string {
	return strings.NewReplacer("||", "|", "|n", "\n", "|r", "", "|'", "'", "|[", "[", "|]", "]").Replace(s)
}

// close implements reader.
func (p *phpunit) close() { p.end() }
