package feedback

import (
	"slices"
	"strings"
)

func rspecTool() *tool {
	return &tool{
		name: "rspec", what: "failures of the progress and documentation formats, several failures in one example, shared examples, errors outside of examples, pending that pass; JSON",
		invocations: []string{"bundle exec rspec", "rspec -f documentation", "rspec -f json", "rails spec"},
		markers:     []string{" examples, ", "1 example, ", "Failures:", "An error occurred while loading ", "An error occurred in "},
		runs:        named("rspec", "parallel_rspec", "rails spec", "rake spec", "turbo_tests", "flatware"),
		family:      []string{"bundler", "json"},
		make:        func(s *sink) reader { return &rspec{s: s} },
	}
}

// rspecPart is the part of RSpec's output that is being read.
type rspecPart int

const (
	rspecTree     rspecPart = iota // the documentation format's lines
	rspecPending                   // the list of pending examples
	rspecFailures                  // the list of failures
	rspecOutside                   // an error outside of the examples
	rspecRerun                     // "rspec ./spec/a_spec.rb:3 # name" lines
)

// rspec reads RSpec's text output.
type rspec struct {
	s       *sink
	part    rspecPart
	block   *rspecBlock
	next    int
	path    []string
	example string // the last line of the tree, which is an example unless a deeper line follows
	depth   int
	status  CaseStatus
	totals  rubyTotals
	advice  bool            // "Did you mean?" was asked
	again   map[string]bool // names of the examples that the list at the end names
}

type rspecBlock struct {
	id    string
	lines []string
	log   int
}

var (
	rspecTotal   = newPattern(`^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$`)
	rspecHead    = newPattern(`^\s{1,4}(\d+)\) (.+?)(?: FIXED)?$`)
	rspecAgain   = newPattern(`^rspec (?:'?)(\S+?)(?:'?) # (.+)$`)
	rspecOutcome = newPattern(`^(\s+)(.+?) \((FAILED - \d+|PENDING: .*|FIXED.*)\)$`)
	rspecAt      = newPattern(`^\s*# (\S+?):(\d+)(?::in .*)?$`)
	rspecSub     = newPattern(`^\s+\d+\.\d+\) `)
)

// line implements reader.
func (r *rspec) line(l line) claim {
	t := l.text
	if m := rspecTotal.FindStringSubmatch(t); m != nil {
		r.endBlock()
		failed, pending := atoi(m[2])+atoi(m[4]), atoi(m[3])
		r.totals.take(r.s, atoi(m[1])-atoi(m[2])-pending, failed, pending)
		r.part = rspecTree
		return mine
	}
	r.totals.finished = r.totals.finished || strings.HasPrefix(t, "Finished in ")
	switch {
	case t == "Failures:":
		r.endBlock()
		r.part, r.next = rspecFailures, 1
		return hold
	case strings.HasPrefix(t, "Pending: (Failures listed"), t == "Pending:":
		r.endBlock()
		r.part = rspecPending
		return mine
	case t == "Failed examples:":
		r.endBlock()
		r.part = rspecRerun
		return mine
	case strings.HasPrefix(t, "An error occurred while loading ") || strings.HasPrefix(t, "An error occurred in "):
		r.endBlock()
		r.part = rspecOutside
		id, _, _ := strings.Cut(strings.TrimPrefix(t, "An error occurred while loading "), " - ")
		r.advice = strings.HasSuffix(t, "Did you mean?")
		id = strings.TrimPrefix(strings.TrimSuffix(id, "."), "./")
		r.block = &rspecBlock{id: strings.Clone(id), log: l.n}
		return hold
	case strings.HasPrefix(t, "Finished in ") || strings.HasPrefix(t, "Top ") && strings.Contains(t, "slowest"):
		r.endBlock()
		if r.part != rspecTree {
			r.part = rspecTree
			return mine
		}
	}
	switch r.part {
	case rspecTree:
		return r.tree(t)
	case rspecPending:
		return mine
	case rspecRerun:
		m := rspecAgain.FindStringSubmatch(t)
		if m != nil && len(r.again) < maxKeptFailures {
			if r.again == nil {
				r.again = map[string]bool{}
			}
			r.again[strings.Clone(m[2])] = true
		}
		if m != nil || t == "" || strings.HasPrefix(t, "Randomized with seed") {
			return mine
		}
		r.part = rspecTree
		return pass
	case rspecFailures:
		if m := rspecHead.FindStringSubmatch(t); m != nil && atoi(m[1]) == r.next {
			r.endBlock()
			r.next++
			r.block = &rspecBlock{id: strings.Clone(m[2]), log: l.n}
			return hold
		}
	case rspecOutside:
		if r.advice && strings.HasPrefix(strings.TrimSpace(t), "rspec ./") {
			return hold // another file's name, offered instead
		}
		r.advice = r.advice && t != ""
		if t == "No examples found." || strings.HasPrefix(t, "Run options:") {
			r.endBlock()
			r.part = rspecTree
			return mine
		}
	}
	const most = 300 // lines of one failure
	if r.block != nil && len(r.block.lines) < most {
		r.block.lines = append(r.block.lines, strings.Clone(t))
	}
	return hold
}

// tree reads the documentation format for the list of cases.
func (r *rspec) tree(t string) claim {
	d := indent(t)
	if t == "" || d%2 != 0 || len(t) > maxID || !r.s.opts.Cases {
		r.commit(0)
		r.path = nil
		return pass
	}
	depth := d / 2
	r.commit(depth)
	if depth > len(r.path) {
		return pass
	}
	name, status := strings.TrimSpace(t), CasePassed
	if m := rspecOutcome.FindStringSubmatch(t); m != nil {
		name = m[2]
		status = CaseFailed
		if strings.HasPrefix(m[3], "PENDING") {
			status = CaseSkipped
		}
	}
	r.path = append(r.path[:depth], strings.Clone(name))
	if depth > 0 {
		id := r.path[0]
		for _, p := range r.path[1:] { // RSpec joins "#method" and ".method" without a blank
			if p[0] != '#' && p[0] != '.' && !strings.HasPrefix(p, "::") {
				id += " "
			}
			id += p
		}
		r.example, r.depth, r.status = id, depth, status
	}
	return pass
}

// commit hands in the last line of the tree as an example, unless a deeper line shows that it was a group's.
func (r *rspec) commit(depth int) {
	if r.example != "" && (depth <= r.depth || r.status != CasePassed) {
		r.s.test(r.example, "", r.status, 0)
	}
	r.example = ""
}

func (r *rspec) endBlock() {
	b := r.block
	r.block = nil
	if b == nil {
		return
	}
	f := rubyBlock(r.s, b.lines)
	f.ID, f.Log, f.Kind = b.id, b.log, KindTest
	if r.part == rspecOutside {
		f.Kind = KindSetup
		if strings.HasSuffix(b.id, ".rb") && f.File == "" {
			f.File = b.id
		}
		if strings.Contains(f.Message, "SyntaxError") {
			f.Kind = KindCompile
		}
	}
	r.s.red = true
	r.s.fail(f)
}

// rubyBlock reads the text of a failed example: message, place, the first of several failures.
func rubyBlock(s *sink, lines []string) Failure {
	var message []string
	var frames []frame
	subs := 0
	for _, l := range lines {
		if rspecSub.MatchString(l) {
			subs++
			l = rspecSub.ReplaceAllString(l, "     ")
		}
		if m := rspecAt.FindStringSubmatch(l); m != nil {
			if subs < 2 {
				frames = append(frames, frame{file: m[1], line: atoi(m[2])})
			}
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(l), "# ") || subs > 1 && len(message) > 40 {
			continue
		}
		if p := rubySyntax.FindStringSubmatch(strings.TrimSpace(l)); p != nil {
			frames = append([]frame{{file: p[1], line: atoi(p[2])}}, frames...)
		}
		message = append(message, l)
	}
	f := Failure{Message: strings.Join(message, "\n")}
	if top, ok := s.topFrame(frames); ok {
		f.File, f.Line = top.file, top.line
	} else if len(frames) > 0 && s.own(frames[0].file) {
		f.File, f.Line = frames[0].file, frames[0].line
	}
	f.Expected, f.Actual = rubyValues(message)
	return f
}

var (
	rubySyntax   = newPattern(`^(\S+\.rb):(\d+): syntax errors?\b`)
	rubyExpected = newPattern(`^\s*[Ee]xpected:? (.+)$`)
	rubyGot      = newPattern(`^\s*(?:got|Actual): (.+)$`)
)

// rubyValues finds RSpec's and Minitest's pairs of lines.
func rubyValues(lines []string) (expected, actual *string) {
	for i, l := range lines {
		e := rubyExpected.FindStringSubmatch(l)
		if e == nil || i+1 >= len(lines) {
			continue
		}
		if a := rubyGot.FindStringSubmatch(lines[i+1]); a != nil && strings.Contains(l, ":") {
			return told(unquote(strings.TrimSpace(e[1]))), told(unquote(strings.TrimSpace(a[1])))
		}
	}
	return nil, nil
}

// close implements reader. What looks like a failure and is not in a complete list of the failed examples was printed
// by an example.
func (r *rspec) close() {
	r.endBlock()
	r.totals.close(r.s)
	if len(r.again) == 0 {
		return
	}
	tests := func(f Failure) bool { return f.Kind == KindTest && !r.again[f.ID] }
	fakes := 0
	for _, f := range r.s.failures {
		if tests(f) {
			fakes++
		}
	}
	if fakes > 0 && len(r.s.failures)-fakes >= len(r.again) {
		r.s.failures = slices.DeleteFunc(r.s.failures, tests)
	}
}
