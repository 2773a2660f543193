package feedback

import "strings"

func nodeTestTool() *tool {
	return &tool{
		name: "node:test", what: "the spec and dot reporters of node --test: nested suites, todo and skipped tests, files that do not load, coverage thresholds",
		invocations: []string{"node --test", "node --test --test-reporter=spec", "tsx --test"},
		markers:     []string{"✖ failing tests:", "ℹ tests ", "ℹ pass ", "Failed tests:", "▶ ", "✖ ", "✔ "},
		runs: func(args []string) bool {
			for _, a := range args[1:] {
				if strings.HasPrefix(a, "--test") {
					return named("node", "tsx", "ts-node")(args)
				}
			}
			return false
		},
		family: []string{"node", "tap"},
		make:   func(s *sink) reader { return &nodeTest{s: s, counts: map[string]int{}, trace: nodeTrace{s: s}} },
	}
}

// nodeTest reads the spec reporter of Node's own test runner. Its list of failing tests at the end is the truth;
// the tree above it gives full names.
type nodeTest struct {
	s       *sink
	tree    []nodeNode // ✖ lines of the tree, with their ancestors
	path    []string
	depth   []int
	list    bool
	dot     bool // the list is the dot reporter's, without places
	where   string
	block   *nodeBlock
	blocks  []*nodeBlock
	counts  map[string]int
	summary bool
	results []Case
	trace   nodeTrace
	crashes []Failure // of test files that did not run
	late    string    // an error that came after its test
}

type nodeNode struct {
	name, full string
}

type nodeBlock struct {
	name, where string
	lines       []string
	todo        bool
	log         int
}

var (
	nodeLine  = newPattern(`^(\s*)([✔✖﹣⚠▶]) (.+?)(?: \((\d+(?:\.\d+)?)ms\))?( # (?:SKIP|TODO).*| # .*)?$`)
	nodeCount = newPattern(`^ℹ (tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$`)
	nodeWhere = newPattern(`^\s*test at (.+):(\d+):(\d+)$`)
	// nodeLate tells of an error after the test that caused it had ended; the file's own result follows.
	nodeLate = newPattern(`(?:Error|Warning): .+ generated asynchronous activity after the test ended\. This activity created the error "(.+)" which triggered an `)
	nodeGate = newPattern(`^ℹ Error: ([\d.]+% \w+ coverage does not meet threshold of [\d.]+%\.?)$`)
)

// line implements reader.
func (n *nodeTest) line(l line) claim {
	t := l.text
	if m := nodeCount.FindStringSubmatch(t); m != nil {
		n.end()
		n.counts[m[1]] += atoi(m[2])
		n.summary, n.list = true, false
		return mine
	}
	if m := nodeGate.FindStringSubmatch(t); m != nil {
		n.s.fail(Failure{Message: m[1], Kind: KindGate})
		return mine
	}
	if strings.HasSuffix(t, "✖ failing tests:") && t[0] != '#' || t == "Failed tests:" {
		n.end()
		n.list, n.dot = true, t == "Failed tests:"
		return hold
	}
	if n.list {
		if m := nodeWhere.FindStringSubmatch(t); m != nil {
			n.end()
			n.where = strings.Clone(t)
			return hold
		}
		if m := nodeLine.FindStringSubmatch(t); m != nil && m[2] == "✖" && (n.block == nil || n.where != "" || n.dot && m[1] == "") {
			n.end()
			n.block = &nodeBlock{name: strings.Clone(m[3]), where: n.where, todo: strings.Contains(m[5], "TODO"), log: l.n}
			n.where = ""
			return hold
		}
		if n.block != nil {
			const most = 300 // lines of one failure
			if len(n.block.lines) < most {
				n.block.lines = append(n.block.lines, t)
			}
			return hold
		}
		return hold
	}
	if strings.HasPrefix(t, "ℹ ") {
		if m := nodeLate.FindStringSubmatch(t); m != nil {
			n.late = strings.Clone(m[1])
		}
		return mine
	}
	m := nodeLine.FindStringSubmatch(t)
	if m == nil {
		n.trace.line(l)
		n.crashed()
		return pass
	}
	if m[4] == "" && m[2] != "▶" && !n.s.command.tools["node:test"] {
		return pass // the marks are other tools' too; Node's results have their time
	}
	d := len(m[1])
	for len(n.depth) > 0 && n.depth[len(n.depth)-1] >= d {
		n.depth, n.path = n.depth[:len(n.depth)-1], n.path[:len(n.path)-1]
	}
	full := strings.Join(append(append([]string{}, n.path...), m[3]), " > ")
	if m[2] == "▶" {
		n.depth, n.path = append(n.depth, d), append(n.path, strings.Clone(m[3]))
		return mine
	}
	skipped := m[2] == "﹣" || strings.Contains(m[5], "SKIP") || strings.Contains(m[5], "TODO")
	switch {
	case skipped:
		n.result(full, CaseSkipped, m[4])
	case m[2] == "✖":
		if n.late != "" && d == 0 && absolute(m[3]) {
			n.crashes = append(n.crashes, Failure{File: strings.Clone(m[3]), Message: n.late, Kind: KindCrash})
			n.late = ""
		}
		if len(n.tree) < maxKeptFailures {
			n.tree = append(n.tree, nodeNode{name: strings.Clone(m[3]), full: full})
		}
		n.result(full, CaseFailed, m[4])
	default:
		n.result(full, CasePassed, m[4])
	}
	return mine
}

// result notes a case; cases count once Node's own totals show that the tree was Node's.
func (n *nodeTest) result(full string, status CaseStatus, ms string) {
	if n.s.opts.Cases && len(n.results) < maxKeptCases {
		n.results = append(n.results, Case{ID: full, Status: status, Duration: jsTime(ms, "ms")})
	}
}

// crashed notes an uncaught error that was read.
func (n *nodeTest) crashed() {
	if n.trace.last != nil && len(n.crashes) < maxMatches {
		n.crashes = append(n.crashes, *n.trace.last)
	}
	n.trace.last = nil
}

func (n *nodeTest) end() {
	if b := n.block; b != nil {
		n.blocks = append(n.blocks, b)
	}
	n.block = nil
}

// close implements reader.
func (n *nodeTest) close() {
	n.end()
	if n.trace.open {
		n.trace.finish()
		n.crashed()
	}
	if n.summary {
		for _, c := range n.results {
			n.s.test(c.ID, "", c.Status, c.Duration)
		}
		failed := n.counts["fail"] + n.counts["cancelled"]
		n.s.add(n.counts["pass"], failed, n.counts["skipped"]+n.counts["todo"])
		n.s.ran, n.s.ended = true, true
		n.s.red, n.s.green = failed > 0, failed == 0
	}
	suites := map[string]bool{}
	for _, x := range n.tree {
		if i := strings.LastIndex(x.full, " > "); i > 0 {
			suites[x.full[:i]] = true
		}
	}
	used := 0
	for _, b := range n.blocks {
		if b.todo || n.consequence(b, suites) {
			continue
		}
		f := jsError(n.s, b.lines)
		f.ID, f.Kind, f.Log = n.fullName(b.name, &used), KindTest, b.log
		if absolute(f.ID) {
			f.ID = n.s.file(f.ID)
		}
		if m := nodeWhere.FindStringSubmatch(b.where); m != nil && f.File == "" {
			f.File, f.Line = m[1], atoi(m[2])
		}
		if t := strings.TrimSpace(f.Message); len(t) > 2 && t[0] == '\'' && t[len(t)-1] == '\'' && !strings.Contains(t[1:len(t)-1], "'") {
			f.Message = t[1 : len(t)-1] // the runner's own words, printed as a value
		}
		if f.Message == "test failed" {
			f.Kind, f.Message = KindSetup, "test file failed"
			f.File, f.Line = b.name, 0
			for _, c := range n.crashes {
				if n.s.file(c.File) == n.s.file(b.name) {
					f.File, f.Line, f.Message, f.Kind = c.File, c.Line, c.Message, c.Kind
				}
			}
		}
		n.s.fail(f)
	}
}

// consequence tells an entry that failed only because its subtests did.
func (n *nodeTest) consequence(b *nodeBlock, suites map[string]bool) bool {
	text := strings.Join(b.lines, "\n")
	return strings.Contains(text, "subtest failed") || strings.Contains(text, "subtests failed") || suites[b.name] && strings.TrimSpace(text) == ""
}

// fullName finds the tree's full name of a test; both are in the same order.
func (n *nodeTest) fullName(name string, from *int) string {
	for i := *from; i < len(n.tree); i++ {
		if n.tree[i].name == name {
			*from = i + 1
			return n.tree[i].full
		}
	}
	for _, x := range n.tree {
		if x.name == name {
			return x.full
		}
	}
	return name
}
