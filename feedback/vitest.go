package feedback

import "strings"

func vitestTool() *tool {
	return &tool{
		name: "vitest", what: "failed tests, suites, type tests, unhandled errors, retries, coverage thresholds; projects and workspaces",
		invocations: []string{"vitest run", "npx vitest run --reporter=verbose", "vitest --coverage"},
		markers:     []string{" RUN  v", " Test Files  ", "Failed Tests ", "Failed Suites ", "does not meet ", "No test files found, exiting", "Startup Error", " DEV  v"},
		runs:        named("vitest"),
		family:      []string{"node", "json"},
		make:        func(s *sink) reader { return &vitest{s: s} },
	}
}

// vitest reads Vitest's default and verbose reports.
type vitest struct {
	s       *sink
	running bool
	part    string // failing part: Tests, Suites, Unhandled, Startup, Type
	heads   []string
	lines   []string
	log     int
	file    string // of the tree
	pending []Failure
	totals  bool
	broken  bool  // the totals tell of errors outside of tests
	told    []int // passed, failed, skipped of the last totals; a test may have printed earlier ones
}

var (
	vitestRun    = newPattern(`^\s*(?:RUN|DEV)\s+v\d`)
	vitestPart   = newPattern(`^[⎯-]+\s*(Failed Tests|Failed Suites|Failed Typecheck|Unhandled Errors?|Unhandled Rejection|Uncaught Exception|Startup Error|Unhandled Source Errors?|Failed Benchmarks|Error during .*)(?: \d+)? *[⎯-]+$`)
	vitestHead   = newPattern(`^\s*FAIL\s+(?:\|([^|]+)\| )?(\S.*)$`)
	vitestEnd    = newPattern(`^[⎯-]{4,}(?:\[\d+/\d+\])?[⎯-]*$`)
	vitestFiles  = newPattern(`^\s*Test Files\s+(.+)$`)
	vitestTests  = newPattern(`^\s*Tests\s+(.+)$`)
	vitestNumber = newPattern(`(\d+) (failed|passed|skipped|todo|expected fail)`)
	vitestTree   = newPattern(`^\s*([✓×↓✗❯√]) (?:\|([^|]+)\| )?(\S+\.[cm]?[jt]sx?) > (.+?)(?: (\d+)\s?(m?s))?(?: \d+ MB heap used)?$`)
	vitestFile   = newPattern(`^\s*([✓❯↓×√]) (?:\|([^|]+)\| )?(\S+\.[cm]?[jt]sx?)(?: \[\s?\S+\s?\])? \((\d+) tests?\b`)
	vitestLeaf   = newPattern(`^(\s+)([✓×↓✗√]) (.+?)(?: (\d+)\s?(m?s))?$`)
	vitestRetry  = newPattern(`^(.+?) \(retry x\d+\)`)
	vitestGate   = newPattern(`^(?:ERROR: )?Coverage for .+ does not meet .+$`)
)

// line implements reader.
func (v *vitest) line(l line) claim {
	t := l.text
	switch {
	case vitestRun.MatchString(t):
		v.settle()
		v.running = true
		return hold
	case strings.Contains(t, "⎯"):
		if m := vitestPart.FindStringSubmatch(t); m != nil {
			v.end()
			v.part, v.running = m[1], true
			v.log = l.n
			return hold
		}
		if vitestEnd.MatchString(t) {
			v.end()
			if !strings.HasPrefix(v.part, "Failed") {
				v.part = "" // what follows an unhandled error's end is the summary
			}
			return v.holds()
		}
	case vitestGate.MatchString(t):
		v.s.fail(Failure{Message: strings.TrimPrefix(t, "ERROR: "), Kind: KindGate})
		return v.holds()
	case strings.HasPrefix(t, "No test files found, exiting"):
		v.s.fail(Failure{Message: t, Kind: KindConfig})
		return v.holds()
	}
	if (v.running || v.told != nil) && vitestFiles.MatchString(t) {
		v.end()
		v.totals, v.running = true, true
		return hold
	}
	if !v.running {
		return pass
	}
	if v.totals {
		if c := v.total(t); c != pass {
			return c
		}
	}
	if v.part != "" {
		if m := vitestHead.FindStringSubmatch(t); m != nil && strings.Contains(v.part, "Failed") {
			if len(v.lines) > 0 && hasText(v.lines) {
				v.end()
			}
			v.heads, v.lines = append(v.heads, strings.Clone(m[2])), nil
			v.log = l.n
			return hold
		}
		const most = 300 // lines of one failure
		if len(v.lines) < most {
			v.lines = append(v.lines, t)
		}
		return hold
	}
	v.tree(t)
	return hold
}

// total reads a line of the totals; any other ends them.
func (v *vitest) total(t string) claim {
	if m := vitestTests.FindStringSubmatch(t); m != nil {
		v.finish(m[1])
		return hold
	}
	f := strings.Fields(t)
	switch {
	case len(f) == 0:
		return hold
	case f[0] == "Duration":
		v.running, v.totals = false, false
		return mine
	case len(f) > 1 && (f[0] == "Errors" || f[0] == "Type"):
		v.broken = true
		return hold
	case len(f) > 1 && (f[0] == "Start" || f[0] == "Snapshots" || f[0] == "Obsolete" || f[0] == "Benchmarks"):
		return hold
	}
	v.totals = false
	return pass
}

func hasText(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return true
		}
	}
	return false
}

func (v *vitest) holds() claim {
	if v.running {
		return hold
	}
	return mine
}

// tree reads results as they come in, for the list of cases and for retries.
func (v *vitest) tree(t string) {
	if len(t) < 4 || !strings.ContainsAny(t, "✓×↓❯✗√") {
		return
	}
	if m := vitestTree.FindStringSubmatch(t); m != nil {
		v.result(m[1], m[3], m[4], m[5], m[6])
		return
	}
	if m := vitestFile.FindStringSubmatch(t); m != nil {
		v.file = strings.Clone(m[3])
		return
	}
	if m := vitestLeaf.FindStringSubmatch(t); m != nil && v.file != "" {
		v.result(m[2], v.file, m[3], m[4], m[5])
	}
}

func (v *vitest) result(mark, file, name, n, unit string) {
	if m := vitestRetry.FindStringSubmatch(name); m != nil {
		name = m[1]
		if mark == "✓" || mark == "√" {
			v.s.flaky(file + " > " + name)
		}
	}
	status := CasePassed
	switch mark {
	case "×", "✗", "❯":
		status = CaseFailed
	case "↓":
		status = CaseSkipped
	}
	v.s.suiteTest(file, file+" > "+name, v.s.file(file), status, jsTime(n, unit))
}

// end hands in the failure whose text was read.
func (v *vitest) end() {
	lines, heads := v.lines, v.heads
	v.lines, v.heads = nil, nil
	if v.part == "" || len(heads) == 0 && !hasText(lines) {
		return
	}
	f := jsError(v.s, lines)
	f.Log, f.Kind = v.log, KindTest
	if len(heads) == 0 {
		if strings.HasPrefix(v.part, "Failed") {
			return // what follows a failure's own part, such as its serialised form
		}
		if strings.HasPrefix(strings.TrimSpace(f.Message), "Vitest caught") || f.Message == "" {
			return
		}
		f.Kind = KindCrash
		if v.part == "Startup Error" {
			f.Kind = KindConfig
		}
		v.pending = append(v.pending, f)
		return
	}
	for _, h := range heads {
		g := f
		file, _, _ := strings.Cut(h, " > ")
		file = strings.TrimSpace(file)
		if i := strings.Index(file, " [ "); i > 0 {
			file = file[:i] // "x.test.ts [ x.test.ts ]": a suite that could not be loaded
			h = file
		}
		g.ID, g.Suite = h, file
		if v.part == "Failed Suites" {
			g.Kind = KindSetup
			if strings.Contains(g.Message, "SyntaxError") || strings.Contains(g.Message, "Transform failed") {
				g.Kind = KindCompile
			}
		}
		if g.File == "" {
			g.File = file
		}
		v.pending = append(v.pending, g)
	}
}

// finish handles "Tests  2 failed | 1 passed (4)".
func (v *vitest) finish(numbers string) {
	n := map[string]int{}
	for _, m := range vitestNumber.FindAllStringSubmatch(numbers, -1) {
		n[m[2]] = atoi(m[1])
	}
	v.told = []int{n["passed"] + n["expected fail"], n["failed"], n["skipped"] + n["todo"]}
	v.part = ""
}

// settle counts the run that the last totals closed.
func (v *vitest) settle() {
	v.end()
	if v.told != nil {
		v.s.add(v.told[0], v.told[1], v.told[2])
		v.s.ran, v.s.ended = true, true
		if v.told[1] > 0 || len(v.pending) > 0 || v.broken {
			v.s.red = true
		} else {
			v.s.green = true
		}
	}
	v.report()
	v.told, v.totals, v.broken = nil, false, false
}

func (v *vitest) report() {
	for _, f := range v.pending {
		v.s.fail(f)
	}
	v.pending = nil
}

// close implements reader.
func (v *vitest) close() {
	v.settle()
	if v.running && !v.s.ended && v.file != "" {
		v.s.open = v.file
	}
}
