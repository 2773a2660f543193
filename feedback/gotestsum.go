package feedback

import "strings"

func gotestsumTool() *tool {
	return &tool{
		name: "gotestsum", what: "the summary of gotestsum in every format, reruns included",
		invocations: []string{"gotestsum ./...", "gotestsum --format testname", "gotestsum --rerun-fails"},
		markers:     []string{"=== FAIL: ", "=== Failed", "=== Errors", "DONE "},
		runs:        named("gotestsum"),
		family:      []string{"go test", "go build"},
		make:        func(s *sink) reader { return &gotestsum{s: s, tests: newGoTests(s)} },
	}
}

// gotestsum reads the sections that gotestsum prints after the tests.
type gotestsum struct {
	s      *sink
	tests  *goTests // for the wording of failures
	block  *goTest
	pkg    string
	list   []gotestsumFailure
	inside bool
	errors bool
	build  goBuildParser
}

type gotestsumFailure struct {
	pkg string
	t   *goTest
}

var (
	gotestsumFail = newPattern(`^=== (FAIL|SKIP): (\S+)(?: (\S.*?))? \(([\d.]+)s\)$`)
	gotestsumRe   = newPattern(`^(.*?) \(re-run (\d+)\)$`)
	gotestsumDone = newPattern(`^DONE (?:(\d+) runs, )?(\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, (\d+) errors?)? in [\d.]+s$`)
	gotestsumTest = newPattern(`^(PASS|FAIL|SKIP) (\S+?)\.([A-Z]\S*)(?: \(re-run \d+\))? \(([\d.]+)s\)$`)
)

// line implements reader.
func (g *gotestsum) line(l line) claim {
	t := l.text
	switch {
	case t == "=== Failed" || t == "=== Skipped" || t == "=== Errors" || strings.HasPrefix(t, "=== Slow"):
		g.end()
		g.inside, g.errors = true, t == "=== Errors"
		return hold
	case strings.HasPrefix(t, "=== FAIL: ") || strings.HasPrefix(t, "=== SKIP: "):
		if m := gotestsumFail.FindStringSubmatch(t); m != nil {
			g.end()
			g.inside = true
			if m[1] == "FAIL" {
				name := m[3]
				if r := gotestsumRe.FindStringSubmatch(name); r != nil {
					name = r[1]
				}
				g.pkg = strings.Clone(m[2])
				g.block = &goTest{name: strings.Clone(name), failed: 1, log: l.n, done: true}
			}
			return hold
		}
	case strings.HasPrefix(t, "DONE "):
		if m := gotestsumDone.FindStringSubmatch(t); m != nil {
			g.done(m)
			return mine
		}
	case len(t) > 5 && (t[:5] == "PASS " || t[:5] == "FAIL " || t[:5] == "SKIP ") && !g.inside:
		if m := gotestsumTest.FindStringSubmatch(t); m != nil {
			status := map[string]CaseStatus{"PASS": CasePassed, "FAIL": CaseFailed, "SKIP": CaseSkipped}[m[1]]
			g.s.suiteTest(m[2], m[3], "", status, seconds(m[4]))
			return mine
		}
	}
	if !g.inside {
		return pass
	}
	if g.errors {
		g.build.s = g.s
		g.build.line(t, l.n)
		return hold
	}
	if g.block != nil {
		g.block.out.add(t, &g.tests.kept)
	}
	return hold
}

func (g *gotestsum) end() {
	if g.block != nil {
		g.list = append(g.list, gotestsumFailure{g.pkg, g.block})
	}
	g.block = nil
}

func (g *gotestsum) done(m []string) {
	g.end()
	g.inside = false
	total, skipped, failed, errors := atoi(m[2]), atoi(m[3]), atoi(m[4]), atoi(m[5])
	reruns := atoi(m[1]) > 1
	names := map[string]bool{}
	for _, f := range g.list {
		if f.t.name != "" {
			names[f.pkg+" "+f.t.name] = true
		}
	}
	if reruns && failed == 0 || reruns && exitedZero(g.s) {
		for _, f := range g.list {
			g.s.flaky(f.t.name)
		}
		g.list = nil
		g.s.green = true
	}
	if !reruns {
		g.s.add(total-skipped-failed, failed, skipped)
	}
	g.s.ran, g.s.ended = true, true
	if failed+errors > 0 && len(g.list) > 0 || errors > 0 {
		g.s.red = true
	} else {
		g.s.green = true
	}
	g.report()
}

func exitedZero(s *sink) bool {
	code, known := s.exitCode()
	return known && code == 0
}

func (g *gotestsum) report() {
	seen := map[string]bool{}
	for _, f := range g.list {
		key := f.pkg + " " + f.t.name
		if seen[key] {
			continue
		}
		seen[key] = true
		parent := false
		out := f.t.out.lines()
		for _, o := range g.list {
			parent = parent || o.pkg == f.pkg && strings.HasPrefix(o.t.name, f.t.name+"/")
		}
		if parent && f.t.name != "" && !anyAssertion(goEntries(out)) && goPanicIn(out) < 0 {
			continue
		}
		dir := f.pkg
		if strings.Contains(dir, ".") && strings.Contains(dir, "/") {
			dir = g.s.goDir(dir)
		}
		if dir == "." {
			dir = ""
		}
		if f.t.name == "" && parent {
			continue
		}
		x := g.tests.failure(&goPackage{name: f.pkg, tests: map[string]*goTest{}}, f.t, out, dir)
		if x.ID == "" {
			x.ID = f.pkg
		}
		x.Suite = f.pkg
		g.s.fail(x)
	}
	g.list = nil
}

// close implements reader.
func (g *gotestsum) close() {
	g.end()
	g.report()
	g.build.s = g.s
	g.build.close()
}
