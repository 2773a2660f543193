package feedback

import "strings"

func uvuTool() *tool {
	return &tool{
		name: "uvu", what: "failed tests of suites with their difference, and the totals",
		invocations: []string{"uvu test", "npx uvu -r esm tests", "node tests/math.js"},
		markers:     []string{` FAIL  "`, ` FAIL `, "  Total:  "},
		runs:        named("uvu"),
		family:      []string{"node"},
		make:        func(s *sink) reader { return &uvu{s: s} },
	}
}

// uvu reads the blocks that uvu prints for each failed test, and the totals at the end.
type uvu struct {
	s     *sink
	id    string
	log   int
	lines []string
	found []Failure
	file  string // the test file whose results come
	total int
	told  bool
}

var (
	uvuFail   = newPattern(`^   FAIL (?: ?(\S.*?) )? ?"(.+)"$`)
	uvuFile   = newPattern(`^(\S+\.[cm]?[jt]sx?)$`)
	uvuDots   = newPattern(`^(?:.* )?(?:[•✘] )* *\(\d+ / \d+\)$`)
	uvuTotals = newPattern(`^  (Total|Passed|Skipped): +(\d+)$`)
	uvuValue  = newPattern(`^ +(\+\+|--)(.*?)(?: +\((?:Expected|Actual)\))?$`)
)

// line implements reader.
func (u *uvu) line(l line) claim {
	t := l.text
	if m := uvuTotals.FindStringSubmatch(t); m != nil {
		u.end()
		u.totals(m[1], atoi(m[2]))
		return mine
	}
	if m := uvuFail.FindStringSubmatch(t); m != nil {
		u.end()
		u.id, u.log = strings.Clone(m[2]), l.n
		if m[1] != "" {
			u.id = m[1] + " > " + u.id
		}
		return hold
	}
	if u.id != "" {
		const most = 200 // lines of one failure
		if t != "" && indent(t) == 0 {
			u.end()
			return pass
		}
		if len(u.lines) < most {
			u.lines = append(u.lines, t)
		}
		return hold
	}
	if m := uvuFile.FindStringSubmatch(t); m != nil {
		u.file = strings.Clone(m[1])
		return pass
	}
	if uvuDots.MatchString(t) {
		return mine
	}
	return pass
}

// totals notes a line of the epilogue.
func (u *uvu) totals(what string, n int) {
	switch what {
	case "Total":
		u.total, u.told = n, true
	case "Passed":
		if !u.told {
			return
		}
		u.s.add(n, u.total-n, -1)
		u.s.ran = true
		u.s.red, u.s.green = n < u.total, n >= u.total
	case "Skipped":
		u.s.add(-1, -1, n)
		u.s.ended = u.told
	}
}

// end notes the open failure.
func (u *uvu) end() {
	if u.id == "" {
		return
	}
	var text, expected, actual []string
	for _, l := range u.lines {
		if uvuDots.MatchString(l) {
			break // the next suite
		}
		m := uvuValue.FindStringSubmatch(l)
		switch s := strings.Trim(l, " ·"); {
		case isStackLine(l) || s == "":
		case s == "Expected:" || s == "Actual:":
		case m != nil && (m[1] == "++"):
			expected = append(expected, uvuText(m[2]))
		case m != nil:
			actual = append(actual, uvuText(m[2]))
		case strings.HasPrefix(s, "^") || strings.HasPrefix(strings.TrimSpace(l), "··"):
		default:
			text = append(text, s)
		}
	}
	f := Failure{ID: u.id, File: u.file, Kind: KindTest, Log: u.log}
	if top, ok := u.s.topFrame(jsFrames(u.lines)); ok {
		f.File, f.Line = top.file, top.line
	}
	if len(expected)+len(actual) > 0 {
		f.Expected, f.Actual = told(strings.Join(expected, "\n")), told(strings.Join(actual, "\n"))
		text = append(text, "expected: "+*f.Expected, "actual: "+*f.Actual)
	}
	f.Message = strings.Join(text, "\n")
	u.found = append(u.found, f)
	u.id, u.lines = "", nil
}

// uvuText takes off the dots that stand for blanks.
func uvuText(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "·", " ")) }

// close implements reader.
func (u *uvu) close() {
	u.end()
	for _, f := range u.found {
		u.s.fail(f)
	}
}
