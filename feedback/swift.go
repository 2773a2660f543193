package feedback

import (
	"strconv"
	"strings"
	"time"
)

func swiftTool() *tool {
	return &tool{
		name: "swift", what: "swift build errors, XCTest and Swift Testing results, xcodebuild",
		invocations: []string{"swift test", "swift build", "xcodebuild test"},
		markers:     []string{"Test Case '", ".swift:", "Test Suite '", "✘ Test ", "◇ Test run started"},
		runs:        named("swift", "xcodebuild", "swiftc", "xctest"),
		family:      []string{"gcc"},
		make:        func(s *sink) reader { return &swift{s: s} },
	}
}

// swift reads the Swift tool chain's output.
type swift struct {
	s      *sink
	failed map[string]bool // tests whose failure was reported
	total  [2]int          // of the outermost suite: executed, failed
	skip   int
	known  bool
}

var (
	swiftError = newPattern(`^(\S.*?\.swift):(\d+):\d+: (?:fatal )?error: (.+)$`)
	swiftTest  = newPattern(`^(\S.*?\.swift|<EXPR>):(\d+): error: (?:-\[(\S+) (\S+)\]|(\S+)) : (.+)$`)
	swiftCase  = newPattern(`^Test Case '(?:-\[(\S+) (\S+)\]|(\S+))' (passed|failed|skipped) \(([\d.]+) seconds\)\.?$`)
	swiftTotal = newPattern(`^\s*Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures?`)
	swiftIssue = newPattern(`^\S+\s+Test (.+?)(?: with \d+ arguments? .*?| with .*? → .*?)? recorded an issue(?: with .*?)? at (\S+?\.swift):(\d+):\d+: (.+)$`)
	swiftDone  = newPattern(`^\S+\s+Test (.+?) (passed|failed|skipped)(?: after ([\d.]+) seconds)?(?: with \d+ issues?)?(?:: .*)?\.?$`)
	swiftRun   = newPattern(`^\S+\s+Test run with (\d+) tests?(?: in \d+ suites?)? (passed|failed) after`)
	swiftValue = newPattern(`\("(.*?)"\) is not equal to \("(.*?)"\)`)
)

// line implements reader.
func (w *swift) line(l line) claim {
	t := l.text
	if m := swiftTest.FindStringSubmatch(t); m != nil {
		id := m[5]
		if id == "" {
			id = m[3] + "." + m[4]
		}
		f := Failure{ID: id, File: m[1], Line: atoi(m[2]), Message: m[6], Kind: KindTest}
		if v := swiftValue.FindStringSubmatch(m[6]); v != nil {
			f.Actual, f.Expected = told(v[1]), told(v[2])
		}
		w.report(f)
		return mine
	}
	if m := swiftError.FindStringSubmatch(t); m != nil {
		w.s.red = true
		w.s.fail(Failure{File: m[1], Line: atoi(m[2]), Message: "error: " + m[3], Kind: KindCompile})
		return mine
	}
	if m := swiftCase.FindStringSubmatch(t); m != nil {
		id := m[3]
		if id == "" {
			id = m[1] + "." + m[2]
		}
		w.test(id, m[4], m[5])
		return mine
	}
	if m := swiftTotal.FindStringSubmatch(t); m != nil {
		w.known = true
		w.total = [2]int{max(w.total[0], atoi(m[1])), max(w.total[1], atoi(m[3]))}
		w.skip = max(w.skip, atoi(m[2]))
		return mine
	}
	if m := swiftIssue.FindStringSubmatch(t); m != nil {
		f := Failure{ID: strings.Trim(m[1], `"`), File: m[2], Line: atoi(m[3]), Message: m[4], Kind: KindTest}
		w.report(f)
		return mine
	}
	if swiftRun.MatchString(t) {
		w.s.ran, w.s.ended = true, true
		return mine
	}
	if m := swiftDone.FindStringSubmatch(t); m != nil && t[0] != 'T' && len(t) < maxID {
		w.test(strings.Trim(m[1], `"`), m[2], m[3])
		return mine
	}
	return pass
}

func (w *swift) report(f Failure) {
	w.s.red, w.s.ran = true, true
	if w.failed == nil {
		w.failed = map[string]bool{}
	}
	if w.failed[f.ID] {
		return // further assertions of a test that goes on after the first
	}
	w.failed[strings.Clone(f.ID)] = true
	w.s.fail(f)
}

func (w *swift) test(id, word, seconds string) {
	status := CasePassed
	switch word {
	case "failed":
		status = CaseFailed
	case "skipped":
		status = CaseSkipped
	}
	d, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		d = 0
	}
	w.s.ran = true
	w.s.test(id, "", status, time.Duration(d*float64(time.Second)))
	if status == CaseFailed && !w.failed[id] && strings.Contains(id, ".") {
		w.report(Failure{ID: id, Message: "failed without a message", Kind: KindTest})
	}
}

// close implements reader.
func (w *swift) close() {
	if w.known && w.total[0] > 0 {
		failed := len(w.failed) // XCTest counts failed assertions
		w.s.add(max(0, w.total[0]-failed-w.skip), failed, w.skip)
		w.s.ended, w.s.green = true, failed == 0
	}
}
