package feedback

import "strings"

func unittestTool() *tool {
	return &tool{
		name: "unittest", what: "failures, errors, subtests, unexpected successes, import errors; doctest; Django's and nose's runs of it",
		invocations: []string{"python -m unittest", "python -m unittest -v", "python manage.py test", "python -m doctest", "nose2", "trial", "stestr"},
		markers:     []string{"----------------------------------------------------------------------", "Failed example:", "***Test Failed***"},
		runs: func(args []string) bool {
			if args[0] == "python" {
				for _, a := range args[1:] {
					if a == "test" && len(args) > 2 && strings.HasSuffix(args[1], "manage.py") {
						return true
					}
				}
				return len(args) > 1 && (strings.Contains(args[1], "test") || args[1] == "setup.py")
			}
			return named("unittest", "doctest", "nose2", "nosetests", "trial", "zope-testrunner", "stestr", "green")(args)
		},
		family: []string{"python"},
		make:   func(s *sink) reader { return &unittest{s: s} },
	}
}

// unittest reads unittest's text runner and doctest's own reports.
type unittest struct {
	s        *sink
	block    *unittestBlock
	blocks   []*unittestBlock
	ran      int  // of "Ran N tests", -1 before it
	rule     bool // the line before was the rule above a block
	dashes   bool // the line before was the rule above the totals
	sawRan   bool
	doctests []*unittestBlock
	open     string
}

type unittestBlock struct {
	word, name string
	text       ringLines
	log        int
	body       bool
	file       string
	line       int
}

var (
	unittestHead   = newPattern(`^(FAIL|ERROR|UNEXPECTED SUCCESS): (.+)$`)
	unittestName   = newPattern(`^(\S+) \(([\w.<>]+)\)(.*)$`)
	unittestRan    = newPattern(`^Ran (\d+) tests? in [\d.]+s$`)
	unittestResult = newPattern(`^(OK|FAILED|PASSED)(?: \((.*)\))?$`)
	unittestNumber = newPattern(`(failures|errors|skipped|expected failures|unexpected successes|successes)=(\d+)`)
	unittestV      = newPattern(`^(\S+) \(([\w.<>]+)\)(?:[^.]*?)? \.\.\. (ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$`)
	unittestVOpen  = newPattern(`^(\S+) \(([\w.<>]+)\)(?:.*)? \.\.\.`)
	doctestPlace   = newPattern(`^File "([^"]+)", line (\d+), in (\S+)$`)
	doctestFailed  = newPattern(`^\*\*\*Test Failed\*\*\* (\d+) failures?`)
	doctestTotals  = newPattern(`^\s*(\d+) (?:of|out of) +(\d+)(?: tests?)? in (\S+)$`)
)

// line implements reader.
func (u *unittest) line(l line) claim {
	t := l.text
	switch {
	case len(t) == 70 && strings.Count(t, "=") == 70:
		u.rule = true
		u.block = nil
		return hold
	case len(t) == 70 && strings.Count(t, "*") == 70:
		u.block = &unittestBlock{word: "DOCTEST", log: l.n}
		return hold
	case len(t) == 70 && strings.Count(t, "-") == 70:
		u.dashes = true
		if u.block != nil && !u.block.body {
			u.block.body = true
			return hold
		}
		u.block = nil
		return hold
	}
	if u.rule {
		u.rule = false
		if m := unittestHead.FindStringSubmatch(t); m != nil {
			u.block = &unittestBlock{word: m[1], name: strings.Clone(m[2]), log: l.n}
			u.blocks = append(u.blocks, u.block)
			return hold
		}
	}
	ruled := u.dashes
	u.dashes = false
	if m := unittestRan.FindStringSubmatch(t); m != nil && ruled {
		u.sawRan = true
		u.ran = atoi(m[1])
		u.block = nil
		return hold
	}
	if u.sawRan {
		if t == "" {
			return hold
		}
		if m := unittestResult.FindStringSubmatch(t); m != nil {
			u.finish(m[1], m[2])
			return mine
		}
		if strings.HasPrefix(t, "NO TESTS RAN") {
			u.sawRan = false
			u.s.add(0, 0, -1)
			u.s.ran = true
			if code, known := u.s.exitCode(); known && code != 0 {
				u.s.fail(Failure{Message: "NO TESTS RAN", Kind: KindConfig})
			}
			return mine
		}
	}
	if u.block != nil {
		if u.block.word == "DOCTEST" {
			return u.doctest(t)
		}
		u.block.text.add(t)
		return hold
	}
	if m := doctestFailed.FindStringSubmatch(t); m != nil {
		u.s.add(-1, atoi(m[1]), -1)
		u.s.red, u.s.ran = true, true
		return mine
	}
	if doctestTotals.MatchString(t) || strings.HasPrefix(t, "Trying:") {
		return mine
	}
	if m := unittestV.FindStringSubmatch(t); m != nil {
		u.result(m[1], m[2], m[3])
		return mine
	}
	if u.open != "" && (t == "ok" || t == "FAIL" || t == "ERROR") {
		name, class, _ := strings.Cut(u.open, " ")
		u.result(name, strings.Trim(class, "()"), t)
		return mine
	}
	if m := unittestVOpen.FindStringSubmatch(t); m != nil {
		u.open = strings.Clone(m[1] + " (" + m[2] + ")")
		return mine
	}
	return pass
}

func (u *unittest) result(name, class, word string) {
	u.open = ""
	status := CasePassed
	switch {
	case word == "FAIL" || word == "ERROR" || word == "unexpected success":
		status = CaseFailed
	case strings.HasPrefix(word, "skipped"), word == "expected failure":
		status = CaseSkipped
	}
	u.s.test(unittestID(name, class), "", status, 0)
}

// unittestID is a test's dotted name: module.Class.test. Python before 3.11 prints the class only.
func unittestID(name, class string) string {
	if strings.HasSuffix(class, "."+name) || strings.Contains(class, "_FailedTest") {
		if strings.Contains(class, "_FailedTest") {
			return name
		}
		return class
	}
	return class + "." + name
}

// doctest handles the lines of "Failed example" blocks.
func (u *unittest) doctest(t string) claim {
	b := u.block
	if m := doctestPlace.FindStringSubmatch(t); m != nil && b.name == "" {
		b.name, b.file, b.line = strings.Clone(m[3]), strings.Clone(m[1]), atoi(m[2])
		u.doctests = append(u.doctests, b)
		return hold
	}
	if b.name == "" {
		u.block = nil
		return pass
	}
	if t != "" && indent(t) == 0 && !strings.HasSuffix(t, ":") && !strings.HasPrefix(t, "Expected nothing") && !strings.HasPrefix(t, "Got nothing") {
		u.block = nil
		return u.line(line{n: u.s.now, text: t})
	}
	b.text.add(t)
	return hold
}

// finish handles the runner's last line.
func (u *unittest) finish(word, numbers string) {
	u.sawRan = false
	n := map[string]int{}
	for _, m := range unittestNumber.FindAllStringSubmatch(numbers, -1) {
		n[m[1]] = atoi(m[2])
	}
	failed := n["failures"] + n["errors"] + n["unexpected successes"]
	skipped := n["skipped"]
	passed := u.ran - failed - skipped - n["expected failures"]
	for _, b := range u.blocks {
		// Subtests fail without being counted as run, a failed class set-up stands for its tests.
		if strings.Contains(b.name, ") (") || strings.Contains(b.name, ") [") || strings.HasPrefix(b.name, "setUpClass") || strings.HasPrefix(b.name, "setUpModule") || strings.HasPrefix(b.name, "tearDownClass") {
			passed = -1
		}
	}
	if skipped == 0 && !strings.Contains(numbers, "skipped") {
		skipped = 0
	}
	u.s.add(passed, failed, skipped)
	u.s.ran, u.s.ended = true, true
	if word == "FAILED" {
		u.s.red = true
	} else {
		u.s.green = true
	}
	u.report(word == "FAILED" && failed > 0, failed)
	u.blocks = nil
}

// report hands in the blocks; limit is how many the runner counted, which surplus fakes cannot exceed.
func (u *unittest) report(all bool, limit int) {
	blocks := u.blocks
	if all && len(blocks) > limit {
		blocks = blocks[len(blocks)-limit:]
	}
	if !all {
		return
	}
	for _, b := range blocks {
		u.s.fail(u.failure(b))
	}
}

func (u *unittest) failure(b *unittestBlock) Failure {
	f := Failure{Kind: KindTest, Log: b.log}
	name, class, extra := b.name, "", ""
	if m := unittestName.FindStringSubmatch(b.name); m != nil {
		name, class, extra = m[1], m[2], m[3]
	}
	f.ID = name
	if class != "" {
		f.ID = unittestID(name, class)
		if name == "setUpClass" || name == "setUpModule" || name == "tearDownClass" {
			f.ID, f.Kind = name+" ("+class+")", KindSetup
		}
	}
	if extra != "" {
		f.ID += extra
	}
	lines := b.text.lines()
	for i, l := range lines { // captured output follows with -b
		if l == "Stdout:" || l == "Stderr:" {
			lines = lines[:i]
			break
		}
	}
	got := readPyBlock(u.s, lines)
	f.Message = strings.Join(got.message, "\n")
	f.File, f.Line, f.Expected, f.Actual = got.file, got.line, got.expected, got.actual
	if f.Message == "" {
		f.Message = strings.Join(lines, "\n")
		if strings.TrimSpace(f.Message) == "" {
			f.Message = strings.ToLower(b.word)
		}
		if b.word == "UNEXPECTED SUCCESS" && f.File == "" {
			f.File = u.moduleFile(f.ID)
		}
	}
	if strings.Contains(class, "_FailedTest") {
		f.Kind = KindSetup
	}
	if got.syntax {
		f.Kind = KindCompile
	}
	return f
}

// doctestTrace is the traceback of a block that says "Exception raised:", without its indentation.
func doctestTrace(lines []string) []string {
	for i, l := range lines {
		if strings.TrimSpace(l) != "Exception raised:" {
			continue
		}
		var out []string
		for _, t := range lines[i+1:] {
			out = append(out, strings.TrimPrefix(t, "    "))
		}
		return out
	}
	return lines
}

// moduleFile guesses the file of a test that failed without a traceback: that of another failure in its module,
// else the module's own name as a path.
func (u *unittest) moduleFile(id string) string {
	i := strings.LastIndexByte(id, '.')
	if i < 0 {
		return ""
	}
	class := id[:i]
	for _, f := range u.s.failures {
		if strings.HasPrefix(f.ID, class+".") && isTestFile(f.File) {
			return f.File
		}
	}
	module, name, ok := cutLast(class, ".")
	if !ok || name == "" || name[0] < 'A' || name[0] > 'Z' {
		return ""
	}
	return strings.ReplaceAll(module, ".", "/") + ".py"
}

// close implements reader.
func (u *unittest) close() {
	if len(u.blocks) > 0 {
		u.report(true, len(u.blocks))
	}
	if u.open != "" {
		u.s.open = u.open
	}
	for _, b := range u.doctests {
		got := pyBlock{}
		lines := b.text.lines()
		at := -1
		call := ""
		for i, l := range lines {
			t := strings.TrimSpace(l)
			if (t == "Expected:" || t == "Expected nothing") && at < 0 {
				at = i
			}
			if t == "Failed example:" && i+1 < len(lines) {
				call = strings.TrimSpace(lines[i+1])
			}
		}
		f := Failure{ID: b.name, File: b.file, Line: b.line, Kind: KindTest, Log: b.log}
		if at >= 0 {
			got.doctest(lines, at)
			f.Expected, f.Actual = got.expected, got.actual
			f.Message = "doctest: " + call + "\nExpected: " + *got.expected + "\nGot: " + *got.actual
		} else {
			x := readPyBlock(u.s, doctestTrace(lines))
			f.Message = "doctest: " + call + "\n" + strings.Join(x.message, "\n")
			if len(x.message) == 0 {
				f.Message = strings.Join(lines, "\n")
			}
		}
		u.s.red, u.s.ran = true, true
		u.s.fail(f)
	}
}
