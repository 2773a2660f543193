package feedback

import (
	"fmt"
	"slices"
	"strings"
)

// combine makes one report of what the readers found.
func combine(s *session, sinks []*sink, generics []*generic, cut bool) Report {
	r := Report{Failures: []Failure{}, Truncated: cut, ExitCode: s.opts.ExitCode}
	code, known := s.exitCode()

	if known && code == 0 && !s.opts.TimedOut && !s.opts.OOMKilled {
		s.disbelieve(sinks)
	}
	sinks = withoutPrinted(repeatedOnce(reportedOnce(sinks)), known && code != 0)
	var all []Failure
	dropped, red, green, ran := 0, false, false, false
	open := ""
	var openSink *sink
	for _, k := range sinks {
		all = append(all, k.failures...)
		dropped += k.dropped
		red = red || k.red
		green = green || k.green
		ran = ran || k.ran
		if k.open != "" && !k.ended {
			open, openSink = k.open, k
		}
	}
	r.Counts = totals(sinks)
	r.Tool = mainTool(s, sinks)

	bad := known && code != 0 || s.opts.TimedOut || s.opts.OOMKilled
	all = append(all, unexplained(generics, bad, all)...)
	all = withoutConsequences(all)
	if bad || red || len(all) > 0 {
		all = withRunner(s, all, open, openSink, generics, bad && !red && green)
	}
	if known && code == 0 && !s.opts.TimedOut && !s.opts.OOMKilled && !red {
		all = slices.DeleteFunc(all, func(f Failure) bool {
			switch f.Kind {
			case KindCrash, KindEnvironment:
				return true
			case KindCompile, KindLink, KindInstall, KindConfig:
				return green && ran // tests ran to their end, so what looks like it was printed by them
			case KindTest, KindSetup, KindTimeout, KindOOM, KindType, KindLint, KindSecurity, KindGate:
			}
			return false
		})
	}
	all = distinct(all)
	for i := range all {
		if all[i].Message == "" { // a run that was told to print no tracebacks
			all[i].Message = "failed without a message"
		}
		classifyFailure(s, &all[i])
	}
	slices.SortStableFunc(all, byCause)

	r.Flaky, r.Cases = cases(s, sinks)
	r.Status = status(all, bad, red)
	r.Class, r.Rule = overallClass(s, &r, all)
	if r.Counts.Failed == nil && r.Status == StatusPass {
		r.Counts.Failed = new(int)
	}
	r.Omitted = dropped
	fit(&r, all, s.opts.Budget)
	if r.Omitted > 0 {
		r.Truncated = true
	}
	r.Summary = summary(&r, len(all)+dropped, ran)
	if !single(sinks) {
		return r
	}
	for i := range r.Failures {
		r.Failures[i].Tool = ""
	}
	return r
}

// reportedOnce drops the test failures and counts that a runner's text reader found where the same runner printed a
// machine-readable report as well: what looks like its text is then another reporter's copy, or a test's output.
func reportedOnce(sinks []*sink) []*sink {
	spoke := map[string]bool{}
	for _, k := range sinks {
		if k.spoke != "" && k.role == roleTest && k.ran {
			spoke[k.spoke] = true
		}
	}
	for _, k := range sinks {
		if k.spoke == "" && spoke[k.tool.name] {
			k.failures = slices.DeleteFunc(k.failures, func(f Failure) bool { return f.Kind == KindTest || f.Kind == KindSetup })
			k.counts, k.red = Counts{}, k.red && len(k.failures) > 0
		}
	}
	return sinks
}

// repeatedOnce drops what was read as bare TAP where prove, which runs the scripts that print it and with -v repeats
// it, tells of the same tests with their places.
func repeatedOnce(sinks []*sink) []*sink {
	told := map[string]bool{}
	harness := false
	for _, k := range sinks {
		if k.tool.name != "prove" {
			continue
		}
		harness = harness || k.ran || len(k.failures) > 0
		for _, f := range k.failures {
			told[f.ID] = true
		}
	}
	for _, k := range sinks {
		if harness && k.tool.name == "tap" {
			k.failures = slices.DeleteFunc(k.failures, func(f Failure) bool { return told[f.ID] })
			if len(k.failures) == 0 {
				k.counts, k.red = Counts{}, false
			}
		}
	}
	return sinks
}

// honest are the test runners that cannot end with 0 when a test failed, whatever a project's files configure.
var honest = map[string]bool{"go test": true, "pytest": true, "unittest": true, "jest": true, "vitest": true, "mocha": true, "node:test": true, "tap": true, "ava": true, "cargo test": true, "rspec": true, "phpunit": true, "mix": true, "prove": true, "bats": true}

// disbelieve drops the failures that a test runner seemed to report where its own exit code, which the command hands
// on as it is, says that there are none: a test printed them.
func (s *session) disbelieve(sinks []*sink) {
	n := len(s.command.calls)
	if n == 0 || strings.ContainsAny(s.command.text, "|;\n`") || strings.Contains(s.command.text, "failure-exit-code") || strings.HasSuffix(strings.TrimSpace(s.command.text), "&") {
		return
	}
	last := s.command.calls[n-1]
	for _, k := range sinks {
		if !honest[k.tool.name] || k.tool.runs == nil || !k.tool.runs(last) || !k.red {
			continue
		}
		k.failures = slices.DeleteFunc(k.failures, func(f Failure) bool { return !f.flaky })
		k.cases.list = slices.DeleteFunc(k.cases.list, func(c Case) bool { return c.Status == CaseFailed && !c.Flaky })
		k.red, k.green, k.dropped = false, true, 0
		if k.counts.Failed != nil {
			k.counts.Failed = new(int)
		}
	}
}

// withoutPrinted drops stack traces that stand before the closing line of a test runner that explains the run: had
// the program died of them, the runner would not have come to its end. bad tells that the command failed.
func withoutPrinted(sinks []*sink, bad bool) []*sink {
	end := 0
	for _, k := range sinks {
		explains := k.red && len(k.failures) > 0 || k.green && !bad
		if k.role == roleTest && k.ran && k.ended && explains {
			end = max(end, k.last)
		}
	}
	for _, k := range sinks {
		if k.role == roleRun {
			k.failures = slices.DeleteFunc(k.failures, func(f Failure) bool { return f.Kind == KindCrash && f.Log < end })
		}
	}
	return sinks
}

// single tells whether only one tool reported failures; then naming it at each failure says nothing.
func single(sinks []*sink) bool {
	n := map[string]bool{}
	for _, k := range sinks {
		if len(k.failures) > 0 {
			n[k.name()] = true
		}
	}
	return len(n) <= 1
}

// totals sums up the counts of the tools of one role: test runners where there are any.
func totals(sinks []*sink) Counts {
	var tests, rest Counts
	hasTests := false
	for _, k := range sinks {
		to := &rest
		if k.role == roleTest {
			to = &tests
		}
		if k.counts.Passed == nil && k.counts.Failed == nil && k.counts.Skipped == nil {
			continue
		}
		hasTests = hasTests || k.role == roleTest
		for _, p := range []struct{ to, from **int }{{&to.Passed, &k.counts.Passed}, {&to.Failed, &k.counts.Failed}, {&to.Skipped, &k.counts.Skipped}} {
			if *p.from != nil {
				sum(p.to, **p.from)
			}
		}
	}
	if hasTests {
		return tests
	}
	return rest
}

// mainTool names the tool that the report is about: the one asked for, else the one with failures, else the one
// that spoke most.
func mainTool(s *session, sinks []*sink) string {
	if s.opts.Tool != "" && s.opts.Tool != "auto" {
		return s.opts.Tool
	}
	best, score := "", 0
	for _, k := range sinks {
		n := k.weight
		strong := 0
		for _, f := range k.failures {
			if !f.weak {
				strong++
			}
		}
		switch {
		case n == 0 && strong == 0:
			continue
		case strong > 0 && k.role == roleTest:
			n += 1 << 22
		case strong > 0:
			n += 1 << 21
		case k.ran:
			n += 1 << 20
		}
		if s.command.tools[k.tool.name] {
			n += 1 << 19
		}
		if n > score {
			best, score = k.name(), n
		}
	}
	if best != "" {
		return best
	}
	for _, direct := range []bool{true, false} { // the command's own tool before a format that it may print
		for _, k := range sinks {
			if s.command.tools[k.tool.name] && (!direct || k.tool.runs != nil && slices.ContainsFunc(s.command.calls, k.tool.runs)) {
				return k.tool.name
			}
		}
	}
	return genericTool.name
}

// unexplained asks the generic readers, one a stream, when no tool explained a failing run.
func unexplained(generics []*generic, bad bool, found []Failure) []Failure {
	for _, f := range found {
		if !f.weak {
			return nil
		}
	}
	var out []Failure
	for _, g := range generics {
		out = append(out, g.found(bad)...)
	}
	return out
}

// withoutConsequences drops the weak failures where anything else explains the run, and all but one of them else.
func withoutConsequences(all []Failure) []Failure {
	strong := slices.ContainsFunc(all, func(f Failure) bool { return !f.weak })
	if strong {
		return slices.DeleteFunc(all, func(f Failure) bool { return f.weak })
	}
	if len(all) > 1 {
		return all[:1]
	}
	return all
}

// distinct drops failures that say the same of the same place twice.
func distinct(all []Failure) []Failure {
	seen := map[string]bool{}
	place := func(f *Failure) string { return fmt.Sprintf("%s\x00%d\x00%s", f.File, f.Line, firstLine(f.Message)) }
	named := map[string]bool{}
	for i := range all {
		if all[i].ID != "" && all[i].File != "" {
			named[place(&all[i])] = true
		}
	}
	all = slices.DeleteFunc(all, func(f Failure) bool { return f.ID == "" && named[place(&f)] })
	return slices.DeleteFunc(all, func(f Failure) bool {
		key := fmt.Sprintf("%s\x00%s\x00%d\x00%s", f.ID, f.File, f.Line, firstLine(f.Message))
		was := seen[key]
		seen[key] = true
		return was
	})
}

// rank orders kinds by how likely they are the cause of the others.
func rank(k Kind) int {
	switch k {
	case KindOOM, KindTimeout:
		return 0
	case KindInstall, KindConfig, KindEnvironment:
		return 1
	case KindCompile:
		return 2
	case KindLink:
		return 3
	case KindType:
		return 4
	case KindSetup:
		return 5
	case KindTest, KindCrash:
		return 6
	case KindLint, KindSecurity:
		return 7
	case KindGate:
		return 8
	}
	return 9
}

func byCause(a, b Failure) int {
	ra, rb := rank(a.Kind), rank(b.Kind)
	// A time limit of a single test is no more likely a cause than the other tests' failures.
	if a.Kind == KindTimeout && a.ID != "" {
		ra = rank(KindTest)
	}
	if b.Kind == KindTimeout && b.ID != "" {
		rb = rank(KindTest)
	}
	if ra != rb {
		return ra - rb
	}
	return a.Log - b.Log
}

// status follows the contract: fail when a tool did its job and found fault, error when it could not.
func status(all []Failure, bad, red bool) Status {
	all = slices.DeleteFunc(slices.Clone(all), func(f Failure) bool { return f.flaky })
	if len(all) == 0 {
		if red {
			return StatusFail
		}
		if bad {
			return StatusError
		}
		return StatusPass
	}
	for _, f := range all {
		switch f.Kind {
		case KindTest, KindType, KindLint, KindSecurity, KindGate:
			return StatusFail
		case KindTimeout:
			if f.ID != "" && red {
				return StatusFail
			}
		case KindSetup, KindCompile, KindLink, KindConfig, KindInstall, KindEnvironment, KindCrash, KindOOM:
		}
	}
	return StatusError
}

// cases merges the readers' test cases and lists the flaky ones.
func cases(s *session, sinks []*sink) (flaky []string, list []Case) {
	var merged caseSet
	seen := map[string]bool{}
	for _, k := range sinks {
		for _, c := range k.cases.list {
			if k.cases.shaky[c.ID] {
				c.Flaky = true
			}
			merged.add(c)
		}
		for id := range k.cases.shaky {
			if !seen[id] {
				seen[id] = true
				flaky = append(flaky, id)
			}
		}
	}
	slices.Sort(flaky)
	if s.opts.Cases {
		for _, k := range sinks { // quiet reporters tell of the failed tests only
			for _, f := range k.failures {
				c := Case{ID: f.ID, Suite: f.Suite, File: f.File, Status: CaseFailed}
				if _, known := merged.index[c.key()]; !known && f.ID != "" && f.Kind == KindTest && !f.inner {
					merged.add(c)
				}
			}
		}
		list = merged.list
	}
	return flaky, list
}

// fit puts as many failures into the report as the budget holds, shortening messages before leaving any out.
func fit(r *Report, all []Failure, budget int) {
	if budget <= 0 {
		budget = DefaultBudget
	}
	const frame = 80 // characters of a failure's JSON beside its texts
	size := func(f *Failure) int {
		n := len(f.Message) + len(f.ID) + len(f.File) + frame
		if f.Expected != nil {
			n += len(*f.Expected)
		}
		if f.Actual != nil {
			n += len(*f.Actual)
		}
		return n
	}
	total := 0
	for i := range all {
		total += size(&all[i])
	}
	if total > budget {
		for i := range all {
			all[i].Message = clipLines(strings.Split(all[i].Message, "\n"), minMessage)
		}
	}
	used := 0
	for i := range all {
		n := size(&all[i])
		if used+n > budget && i > 0 {
			r.Omitted += len(all) - i
			return
		}
		used += n
		r.Failures = append(r.Failures, all[i])
	}
}

// summary is the report in one line.
func summary(r *Report, failures int, ran bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", r.Tool)
	switch r.Status {
	case StatusPass:
		b.WriteString("passed")
	case StatusFail:
		b.WriteString("failed")
	case StatusError:
		b.WriteString("could not finish")
	}
	var parts []string
	for _, c := range []struct {
		n    *int
		what string
	}{{r.Counts.Failed, "failed"}, {r.Counts.Passed, "passed"}, {r.Counts.Skipped, "skipped"}} {
		if c.n != nil && (*c.n > 0 || c.what != "skipped") {
			parts = append(parts, fmt.Sprintf("%d %s", *c.n, c.what))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(&b, ", %s", strings.Join(parts, ", "))
	}
	if r.Status == StatusPass && r.Counts.Passed != nil && *r.Counts.Passed == 0 && ran {
		b.WriteString(", no test ran")
	}
	if r.Class != ClassNone {
		fmt.Fprintf(&b, " (%s)", r.Class)
	}
	if failures > 0 {
		f := r.Failures[0]
		b.WriteString(": ")
		if f.File != "" {
			b.WriteString(f.File)
			if f.Line > 0 {
				fmt.Fprintf(&b, ":%d", f.Line)
			}
			b.WriteString(": ")
		}
		b.WriteString(firstLine(f.Message))
		if failures > 1 {
			fmt.Fprintf(&b, " (and %d more)", failures-1)
		}
	}
	return tidyLine(b.String(), maxSummary)
}
