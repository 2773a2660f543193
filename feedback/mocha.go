package feedback

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func mochaTool() *tool {
	return &tool{
		name: "mocha", what: "failures, hooks, time-outs, pending tests of every reporter with an epilogue; Cypress",
		invocations: []string{"mocha", "npx mocha --reporter dot", "cypress run", "electron-mocha", "hardhat test", "truffle test"},
		markers:     []string{" passing (", " failing", "✖ ERROR: "},
		runs:        named("mocha", "_mocha", "cypress run", "electron-mocha", "hardhat test", "truffle test", "nyc", "c8", "vscode-test", "karma"),
		family:      []string{"node", "json"},
		make: func(s *sink) reader {
			single, silent := mochaCommand(s.command)
			return &mocha{s: s, single: single, silent: silent}
		},
	}
}

// mocha reads the epilogue that Mocha's reporters print and the spec reporter's tree.
type mocha struct {
	s        *sink
	epilogue bool
	block    *mochaBlock
	next     int // number of the next failure of the list
	counts   map[string]int
	path     []string
	depth    []int
	blank    int
	seen     mochaRun  // cases of the tree since the last epilogue
	shown    mochaRun  // cases of the tree before that epilogue
	said     *mochaRun // what that epilogue says, until it is certain that no test printed it
	first    int       // its first failure in sink.failures
	from     int       // the first failure of the epilogue that is read
	single   bool      // the command runs Mocha once and nothing else: its last epilogue is the real one
	silent   bool      // the command asks for a reporter without an epilogue
}

// mochaRun counts cases: of the spec reporter's tree, or as an epilogue says.
type mochaRun struct{ passing, failing, pending int }

type mochaBlock struct {
	titles []string
	titled bool // the title's last line was read
	lines  []string
	log    int
}

var (
	mochaTotal = newPattern(`^\s+(\d+) (passing|failing|pending)(?: \([\d.]+\w+\))?$`)
	mochaHead  = newPattern(`^\s{1,4}(\d+)\) (.+)$`)
	mochaFile  = newPattern(`\(((?:/|[A-Za-z]:\\)[^()]+\.[cm]?[jt]sx?)\)$`)
)

// line implements reader.
func (m *mocha) line(l line) claim {
	t := l.text
	if m.silent {
		return pass
	}
	if n := mochaDots(t); n.passing+n.failing+n.pending > 0 {
		m.endBlock() // the tests go on, so one of them printed the epilogue that was read
		m.flush()
		m.seen.passing += n.passing
		m.seen.failing += n.failing
		return pass
	}
	if g := mochaTotal.FindStringSubmatch(t); g != nil {
		if g[2] != "passing" && !m.epilogue {
			return m.tree(t) // an epilogue begins with the passing tests, be they none: a test printed this
		}
		if g[2] == "passing" {
			m.endBlock()
			m.flush()
			m.from = len(m.s.failures)
			m.epilogue, m.next, m.counts = true, 1, map[string]int{"passing": 0, "failing": 0, "pending": 0}
		}
		m.counts[g[2]] = atoi(g[1])
		return hold
	}
	if !m.epilogue {
		return m.tree(t)
	}
	if g := mochaHead.FindStringSubmatch(t); g != nil && atoi(g[1]) == m.next && m.next <= m.counts["failing"] && (m.block == nil || m.block.titled) {
		m.endBlock()
		m.next++
		m.block = &mochaBlock{log: l.n}
		m.title(g[2])
		return hold
	}
	if m.block == nil {
		if t != "" && (m.counts["failing"] == 0 || indent(t) == 0) {
			m.flush()
			return m.tree(t)
		}
		return hold
	}
	if mark, _, _, ok := mochaCase(t); ok && strings.ContainsAny(mark, "✓✔√") {
		m.endBlock() // the tree goes on, so a test printed the epilogue
		m.flush()
		return m.tree(t)
	}
	if t == "" {
		m.blank++
	} else {
		const enough = 3 // blank lines end the list
		if m.blank >= enough && m.next > m.counts["failing"] && indent(t) < 4 {
			m.endBlock()
			m.flush()
			return pass
		}
		m.blank = 0
	}
	if !m.block.titled {
		if t == "" {
			m.block.titled = true
			return hold
		}
		m.title(strings.TrimSpace(t))
		return hold
	}
	const most = 300 // lines of one failure
	if len(m.block.lines) < most {
		m.block.lines = append(m.block.lines, t)
	}
	return hold
}

func (m *mocha) title(t string) {
	if strings.HasSuffix(t, ":") {
		t, m.block.titled = t[:len(t)-1], true
	}
	m.block.titles = append(m.block.titles, strings.Clone(t))
}

// tree reads the spec reporter's lines; it never holds, since any indented text looks like a suite's title.
func (m *mocha) tree(t string) claim {
	if len(t) < 3 || t[0] != ' ' || len(t) > 400 {
		m.path, m.depth = nil, nil
		return pass
	}
	mark, title, took, ok := mochaCase(t)
	if !ok {
		d := indent(t)
		if d < 2 || d%2 != 0 || d > 30 {
			return pass
		}
		m.pop(d)
		m.path, m.depth = append(m.path, strings.Clone(strings.TrimSpace(t))), append(m.depth, d)
		return pass
	}
	m.pop(indent(t))
	status := CasePassed
	switch {
	case mark == "-":
		status = CaseSkipped
	case strings.HasSuffix(mark, ")"):
		status = CaseFailed
		m.seen.failing++
	default:
		m.seen.passing++
	}
	if len(m.path) > 0 && m.s.opts.Cases {
		m.s.test(strings.Join(append(append([]string{}, m.path...), title), " "), "", status, took)
	}
	return pass
}

// mochaCase takes a test of the spec reporter's tree apart: "    ✔ adds (12ms)". A run of many tests prints little
// else, and each of its lines is one, so this is no expression.
func mochaCase(t string) (mark, title string, took time.Duration, ok bool) {
	mark, title, ok = strings.Cut(strings.TrimLeft(t, " \t"), " ")
	if !ok || title == "" || len(title) == len(t)-len(mark)-1 {
		return "", "", 0, false
	}
	switch mark {
	case "✓", "✔", "√", "-":
	default:
		if number, isNumber := strings.CutSuffix(mark, ")"); !isNumber || !isDigits(number) {
			return "", "", 0, false
		}
	}
	if i := strings.LastIndex(title, " ("); i > 0 && strings.HasSuffix(title, "s)") {
		number, unit := title[i+2:len(title)-1], "s"
		if n, isMilli := strings.CutSuffix(number, "ms"); isMilli {
			number, unit = n, "ms"
		} else {
			number = strings.TrimSuffix(number, "s")
		}
		if isDigits(number) {
			title, took = title[:i], jsTime(number, unit)
		}
	}
	return mark, title, took, true
}

func (m *mocha) pop(d int) {
	for len(m.depth) > 0 && m.depth[len(m.depth)-1] >= d {
		m.depth, m.path = m.depth[:len(m.depth)-1], m.path[:len(m.path)-1]
	}
}

// mochaDots counts a line of the dot reporter: "  ․․!,", in ASCII where it does not write to a terminal. Three dots and
// the like alone are an ellipsis.
func mochaDots(t string) mochaRun {
	var n mochaRun
	if first, _ := utf8.DecodeRuneInString(t); !strings.HasPrefix(t, "  ") && !strings.ContainsRune(".!,․", first) {
		return n
	}
	for _, c := range strings.TrimLeft(t, " ") {
		switch c {
		case '.', '․':
			n.passing++
		case '!':
			n.failing++
		case ',':
			n.pending++
		default:
			return mochaRun{}
		}
	}
	if n.failing+n.pending == 0 && n.passing <= len("...") && !strings.Contains(t, "․") {
		return mochaRun{}
	}
	return n
}

// mochaCommand tells whether a command is a single run of Mocha, and whether by a reporter that prints no epilogue.
func mochaCommand(c commandLine) (single, silent bool) {
	var args []string
	for _, call := range c.calls {
		if call[0] == "mocha" || call[0] == "_mocha" {
			single = args == nil && len(c.calls) == 1
			args = call
		}
	}
	for i, a := range args {
		reporter, ok := strings.CutPrefix(a, "--reporter=")
		if (a == "--reporter" || a == "-R") && i+1 < len(args) {
			reporter, ok = args[i+1], true
		}
		if ok {
			switch reporter {
			case "json", "json-stream", "tap", "xunit", "doc", "html", "html-cov", "markdown":
				silent = true
			}
		}
	}
	return single, silent
}

// jsTime reads "12" "ms".
func jsTime(n, unit string) time.Duration {
	if n == "" {
		return 0
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return 0
	}
	if unit == "s" {
		return time.Duration(f * float64(time.Second))
	}
	return time.Duration(f * float64(time.Millisecond))
}

func (m *mocha) endBlock() {
	b := m.block
	m.block, m.blank = nil, 0
	if b == nil {
		return
	}
	f := jsError(m.s, b.lines)
	f.ID, f.Kind, f.Log = strings.Join(b.titles, " "), KindTest, b.log
	if strings.Contains(f.ID, "\" hook") {
		f.Kind = KindSetup
	}
	if g := mochaFile.FindStringSubmatch(firstLine(f.Message)); g != nil && f.File == "" {
		f.File = g[1]
	}
	m.s.fail(f)
}

// flush hands in the totals of an epilogue. Where its numbers are those of the tree's cases before and after the
// epilogue before it, it closes the one run that there was, and a test printed the other.
func (m *mocha) flush() {
	if !m.epilogue {
		return
	}
	m.epilogue = false
	now := mochaRun{m.counts["passing"], m.counts["failing"], m.counts["pending"]}
	both := mochaRun{m.shown.passing + m.seen.passing, m.shown.failing + m.seen.failing, 0}
	if m.said != nil && (m.single || (now.passing != m.seen.passing || now.failing != m.seen.failing) && now.passing == both.passing && now.failing == both.failing) {
		m.s.failures = slices.Delete(m.s.failures, m.first, m.from)
		m.first = min(m.first, len(m.s.failures))
		m.shown = both
		m.said = &now
		return
	}
	m.settle()
	m.first, m.said = m.from, &now
	m.shown, m.seen = m.seen, mochaRun{}
}

// settle sums up the last epilogue, which stands.
func (m *mocha) settle() {
	if m.said == nil {
		return
	}
	m.s.add(m.said.passing, m.said.failing, m.said.pending)
	m.s.ran, m.s.ended = true, true
	if m.said.failing > 0 {
		m.s.red = true
	} else {
		m.s.green = true
	}
	m.said = nil
}

// close implements reader.
func (m *mocha) close() {
	m.endBlock()
	m.flush()
	m.settle()
}
