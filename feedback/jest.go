package feedback

import "strings"

func jestTool() *tool {
	return &tool{
		name: "jest", what: "failing tests and suites, verbose trees, snapshots, time-outs, ts-jest and Babel errors, coverage thresholds",
		invocations: []string{"jest", "npx jest --verbose", "react-scripts test", "jest --json", "craco test"},
		markers:     []string{"Test Suites: ", "  ● ", "PASS ", "FAIL ", "coverage threshold for ", "No tests found, exiting with code 1"},
		runs:        named("jest", "react-scripts test", "craco test", "ng test", "nx test", "vue-cli-service test:unit", "lerna", "jest-runner", "tsdx test", "kcd-scripts test"),
		family:      []string{"node", "json"},
		make:        func(s *sink) reader { return &jest{s: s} },
	}
}

// jest reads Jest's default and verbose reports.
type jest struct {
	s        *sink
	file     string // of the last PASS or FAIL line
	failed   bool   // that line was FAIL
	block    *jestBlock
	blocks   []*jestBlock
	seen     map[string]bool
	path     []string // describe blocks of the verbose tree
	depth    []int
	running  bool
	closing  bool
	repeated bool // in "Summary of all failing tests"
	console  int  // indentation of what a test's console call printed, 0 outside
}

type jestBlock struct {
	file, name string
	lines      []string
	log        int
}

var (
	jestFile    = newPattern(`^\s*(PASS|FAIL|RUNS)\s+(?:(\S+|\(.+?\)) )?(\S+\.\w+)(?: \([\d.]+ m?s\)| \(.*\))?$`)
	jestTests   = newPattern(`^Tests:\s+(.*?,? ?\d+ total|0 total)$`)
	jestNumber  = newPattern(`(\d+) (failed|passed|skipped|todo|pending)`)
	jestConsole = newPattern(`^  console\.[a-z]+(?: \S+:\d+)?$`)
	jestTree    = newPattern(`^(\s+)([✓✕○✎√×]) (.+?)(?: \((\d+(?:\.\d+)?) ?(m?s)\))?$`)
	jestGate    = newPattern(`^Jest: .*(?:threshold .* not met|[Cc]overage data for .* was not found).*$`)
	jestSpecial = newPattern(`^(?:Console|Cannot log after tests are done.*|Deprecation Warning:|Validation Warning:|Invalid testPattern.*)$`)
	jestConfig  = newPattern(`^● (Validation Error|Multiple configurations found|.*configuration.*):?$`)
)

// line implements reader.
func (j *jest) line(l line) claim {
	t := l.text
	if d := indent(t); j.console > 0 && d < j.console && t != "" {
		j.console = 0
	}
	if strings.HasPrefix(t, "  console.") && jestConsole.MatchString(t) {
		j.console = 4
	}
	if len(t) < 3 {
		if j.block != nil {
			j.add(t)
		}
		return j.holding(t)
	}
	switch {
	case holds(t, 'S', "PASS ") || holds(t, 'F', "FAIL ") || strings.HasPrefix(t, "RUNS"):
		m := jestFile.FindStringSubmatch(t)
		if m == nil || j.console > 0 && indent(t) >= j.console {
			break
		}
		if m[1] == "RUNS" {
			return mine
		}
		j.endBlock()
		j.file, j.failed, j.running, j.closing = strings.Clone(j.s.file(m[3])), m[1] == "FAIL", true, false
		j.path, j.depth = nil, nil
		return hold
	case strings.HasPrefix(t, "Test Suites: "):
		j.endBlock()
		j.running, j.closing = true, true
		return hold
	case strings.HasPrefix(t, "Tests: "):
		if m := jestTests.FindStringSubmatch(t); m != nil {
			j.finish(m[1])
			return hold
		}
	case strings.HasPrefix(t, "Snapshots: ") && j.closing:
		return hold
	case strings.HasPrefix(t, "Time: ") && j.closing:
		j.running, j.closing = false, false
		return mine
	case strings.HasPrefix(t, "Ran all test suites"):
		j.running, j.closing = false, false
		return mine
	case strings.HasPrefix(t, "Jest: "):
		if jestGate.MatchString(t) {
			j.s.fail(Failure{Message: t, Kind: KindGate})
			return j.mineOrHold()
		}
	case strings.HasPrefix(t, "Summary of all failing tests"):
		j.endBlock()
		j.repeated = true
		return hold
	case strings.HasPrefix(t, "No tests found, exiting with code"):
		j.block = &jestBlock{name: "config", log: l.n, lines: []string{t}}
		j.s.fail(Failure{Message: t, Kind: KindConfig})
		j.block = nil
		return mine
	}
	if i := strings.Index(t[:min(len(t), 2+len("● "))], "● "); i >= 0 && strings.TrimSpace(t[:i]) == "" {
		name := strings.TrimSpace(t[i+len("● "):])
		switch {
		case jestConfig.MatchString(t[i:]) && j.file == "":
			j.endBlock()
			j.block = &jestBlock{name: name, log: l.n, file: "\x00config"}
			return hold
		case jestSpecial.MatchString(name):
			j.endBlock()
			return j.holding(t)
		case j.file != "" || i == 2:
			j.endBlock()
			j.block = &jestBlock{file: j.file, name: strings.Clone(strings.TrimPrefix(name, "LOGGING RETRY ERRORS ")), log: l.n}
			return hold
		}
	}
	if strings.HasPrefix(t, "Snapshot Summary") || strings.HasPrefix(t, " › ") && strings.Contains(t, "snapshot") {
		j.endBlock()
		return j.holding(t)
	}
	if j.block != nil {
		j.add(t)
		return hold
	}
	if j.running && j.file != "" {
		j.tree(t)
		return hold
	}
	return pass
}

func (j *jest) mineOrHold() claim {
	if j.running {
		return hold
	}
	return mine
}

func (j *jest) holding(string) claim {
	if j.running || j.block != nil {
		return hold
	}
	return pass
}

func (j *jest) add(t string) {
	const most = 300 // lines of one failure
	if len(j.block.lines) < most {
		j.block.lines = append(j.block.lines, t)
	}
}

// tree reads the verbose tree of describe blocks and results.
func (j *jest) tree(t string) {
	var m []string
	if strings.IndexByte(t, 0xe2) >= 0 || strings.IndexByte(t, 0xc3) >= 0 { // first bytes of the marks
		m = jestTree.FindStringSubmatch(t)
	}
	if m == nil {
		d := indent(t)
		if d < 2 || d > 24 || strings.HasPrefix(strings.TrimSpace(t), "at ") || strings.HasPrefix(strings.TrimSpace(t), "console.") {
			return
		}
		for len(j.depth) > 0 && j.depth[len(j.depth)-1] >= d {
			j.depth, j.path = j.depth[:len(j.depth)-1], j.path[:len(j.path)-1]
		}
		j.depth, j.path = append(j.depth, d), append(j.path, strings.Clone(strings.TrimSpace(t)))
		return
	}
	d := len(m[1])
	for len(j.depth) > 0 && j.depth[len(j.depth)-1] >= d {
		j.depth, j.path = j.depth[:len(j.depth)-1], j.path[:len(j.path)-1]
	}
	name := m[3]
	status := CasePassed
	switch m[2] {
	case "✕", "×":
		status = CaseFailed
	case "○", "✎":
		status = CaseSkipped
		name = strings.TrimPrefix(strings.TrimPrefix(name, "skipped "), "todo ")
	}
	j.s.suiteTest(j.file, strings.Join(append(append([]string{}, j.path...), name), " › "), j.file, status, jsTime(m[4], m[5]))
}

func (j *jest) endBlock() {
	b := j.block
	j.block = nil
	if b == nil {
		return
	}
	if j.seen == nil {
		j.seen = map[string]bool{}
	}
	key := b.file + "\x00" + b.name
	if j.seen[key] && (j.repeated || b.name != "Test suite failed to run") {
		return
	}
	j.seen[key] = true
	if len(j.blocks) < maxKeptFailures {
		j.blocks = append(j.blocks, b)
	}
}

// finish handles "Tests: 3 failed, 2 passed, 5 total".
func (j *jest) finish(numbers string) {
	n := map[string]int{}
	for _, m := range jestNumber.FindAllStringSubmatch(numbers, -1) {
		n[m[2]] = atoi(m[1])
	}
	j.s.add(n["passed"], n["failed"], n["skipped"]+n["todo"]+n["pending"])
	j.s.ran, j.s.ended = true, true
	limit := n["failed"]
	if limit > 0 {
		j.s.red = true
	} else {
		j.s.green = true
	}
	j.report(limit)
	j.file, j.repeated, j.seen, j.blocks = "", false, nil, nil
}

// report hands in the blocks; tests beyond limit are what tests printed.
func (j *jest) report(limit int) {
	tests := 0
	for _, b := range j.blocks {
		f := jsError(j.s, b.lines)
		f.Log, f.Kind, f.ID, f.Suite = b.log, KindTest, b.name, b.file
		switch {
		case b.file == "\x00config":
			f.Kind, f.ID, f.Suite = KindConfig, "", ""
			f.Message = b.name + "\n" + f.Message
			f.File, f.Line = "", 0
		case strings.HasPrefix(b.name, "Test suite failed to run"):
			f.ID, f.Kind = b.file, KindSetup
			if strings.Contains(f.Message, "SyntaxError") || strings.Contains(f.Message, " - error TS") {
				f.Kind = KindCompile
			}
			j.s.red = true
		default:
			tests++
			if limit >= 0 && tests > limit && limit > 0 {
				continue
			}
			if limit == 0 {
				continue
			}
		}
		if f.File == "" && b.file != "\x00config" {
			f.File = b.file
		}
		j.s.fail(f)
	}
}

// close implements reader.
func (j *jest) close() {
	j.endBlock()
	j.report(-1)
	if j.running && !j.s.ended {
		j.s.open = j.file
	}
}
