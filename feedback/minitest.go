package feedback

import (
	"strconv"
	"strings"
	"time"
)

func minitestTool() *tool {
	return &tool{
		name: "minitest", what: "Minitest (plain, verbose, spec), Rails' test runner, test-unit: failures, errors, skips",
		invocations: []string{"ruby -Itest test/all.rb -v", "rake test", "bin/rails test", "bundle exec rake"},
		markers:     []string{" runs, ", " assertions, ", "# Running:", "Loaded suite ", ") Failure:", "1 runs, "},
		runs:        named("rake", "rails test", "m", "ruby", "rails", "jruby", "testrb"),
		family:      []string{"bundler"},
		make:        func(s *sink) reader { return &minitest{s: s} },
	}
}

// minitest reads the reports of Minitest, of Rails' runner, which prints failures as they happen, and of test-unit.
type minitest struct {
	s      *sink
	block  *rspecBlock
	kind   string // Failure, Error, Skipped
	titled bool
	unit   bool // test-unit's layout between lines of "="
	class  string
	totals rubyTotals
}

// rubyTotals holds back a line of totals that no "Finished in" came before: both runners print that first, and what
// a test prints in the shape of totals has none. Such a line counts where the log has no other.
type rubyTotals struct {
	finished, counted bool
	loose             []int // passed, failed, skipped
}

// take counts the totals, or keeps them for close.
func (r *rubyTotals) take(s *sink, passed, failed, skipped int) {
	if !r.finished {
		r.loose = []int{passed, failed, skipped}
		return
	}
	r.finished, r.counted = false, true
	s.add(passed, failed, skipped)
	s.ran, s.ended = true, true
	s.red, s.green = s.red || failed > 0, failed == 0
}

// close counts totals that were held back, where there are no better ones.
func (r *rubyTotals) close(s *sink) {
	if !r.counted && r.loose != nil {
		r.finished = true
		r.take(s, r.loose[0], r.loose[1], r.loose[2])
	}
}

var (
	miniHead    = newPattern(`^\s*(?:\d+\) )?(Failure|Error|Skipped):$`)
	miniName    = newPattern(`^(\S.*?)(?: \[(.+?):(\d+)\])?:$`)
	miniTotal   = newPattern(`^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) skips)?(?:, (\d+) pendings, (\d+) omissions.*)?$`)
	miniVerbose = newPattern(`^(\S.*?#\S.*?) = ([\d.]+) s = ([.FES])$`)
	unitHead    = newPattern(`^(Failure|Error|Pending|Omission|Notification): (.+?)\((.+?)\)(.*)$`)
	unitAt      = newPattern("^(\\S+?):(\\d+):in [`'].*$")
	unitClass   = newPattern(`^([A-Z][\w:]*): *$`)
	unitCase    = newPattern(`^  (test\S*.*?):\s+([.FEPO])?(?:: \(([\d.]+)\))?$`)
	miniFrame   = newPattern("^\\s+(\\S+?\\.(?:rb|rake)):(\\d+)(?::in .*)?$")
	miniRerun   = newPattern(`^(?:bin/)?(?:rails test|rake test|bundle exec rails test) \S+:\d+$`)
)

// line implements reader.
func (r *minitest) line(l line) claim {
	t := l.text
	if m := miniTotal.FindStringSubmatch(t); m != nil {
		r.end()
		skipped := atoi(m[4]) + atoi(m[5]) + atoi(m[6])
		failed := atoi(m[2]) + atoi(m[3])
		r.totals.take(r.s, max(0, atoi(m[1])-failed-skipped), failed, skipped)
		return mine
	}
	r.totals.finished = r.totals.finished || strings.HasPrefix(t, "Finished in ")
	if r.block != nil {
		return r.body(l)
	}
	if m := miniHead.FindStringSubmatch(t); m != nil {
		r.block, r.kind, r.titled, r.unit = &rspecBlock{log: l.n}, strings.Clone(m[1]), false, false
		return hold
	}
	if m := unitHead.FindStringSubmatch(t); m != nil && (strings.HasPrefix(m[2], "test") || m[4] == "" || m[4] == ":") {
		r.block = &rspecBlock{log: l.n, id: strings.Clone(m[3] + "#" + strings.TrimSpace(m[2]))}
		r.kind, r.titled, r.unit = strings.Clone(m[1]), true, true
		if m[4] != "" && m[4] != ":" {
			r.block.lines = append(r.block.lines, strings.TrimPrefix(m[4], ": "))
		}
		return hold
	}
	return r.verbose(t)
}

// verbose reads the lines of -v.
func (r *minitest) verbose(t string) claim {
	if m := miniVerbose.FindStringSubmatch(t); m != nil {
		d, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			d = 0
		}
		r.s.test(m[1], "", miniStatus(m[3]), time.Duration(d*float64(time.Second)))
		return mine
	}
	if m := unitClass.FindStringSubmatch(t); m != nil {
		r.class = strings.Clone(m[1])
		return pass
	}
	if m := unitCase.FindStringSubmatch(t); m != nil && r.class != "" && m[2] != "" {
		r.s.test(r.class+"#"+m[1], "", miniStatus(m[2]), 0)
		return mine
	}
	return pass
}

func miniStatus(mark string) CaseStatus {
	switch mark {
	case "F", "E":
		return CaseFailed
	case "S", "P", "O":
		return CaseSkipped
	}
	return CasePassed
}

func (r *minitest) body(l line) claim {
	t := l.text
	b := r.block
	if !r.titled {
		r.titled = true
		if m := miniName.FindStringSubmatch(t); m != nil {
			b.id = strings.Clone(m[1])
			if m[2] != "" {
				b.lines = append(b.lines, "    "+m[2]+":"+m[3])
			}
			return hold
		}
		r.block = nil // "Error:" of something else
		return pass
	}
	switch {
	case r.unit && strings.HasPrefix(t, "====="):
		r.end()
		return mine
	case !r.unit && (miniHead.MatchString(t) || strings.HasPrefix(t, "Finished in ") || miniRerun.MatchString(t)):
		r.end()
		if miniHead.MatchString(t) {
			return r.line(l)
		}
		return mine
	}
	const most = 200 // lines of one failure
	if len(b.lines) < most {
		b.lines = append(b.lines, strings.Clone(t))
	}
	return hold
}

func (r *minitest) end() {
	b := r.block
	r.block = nil
	if b == nil || b.id == "" {
		return
	}
	if r.kind != "Failure" && r.kind != "Error" {
		r.s.test(b.id, "", CaseSkipped, 0)
		return
	}
	f := Failure{ID: b.id, Kind: KindTest, Log: b.log}
	var message []string
	var frames []frame
	for _, l := range b.lines {
		m := miniFrame.FindStringSubmatch(l)
		if r.unit && m == nil {
			m = unitAt.FindStringSubmatch(l)
		}
		switch {
		case m != nil:
			frames = append(frames, frame{file: m[1], line: atoi(m[2])})
		case r.unit && (unitSource.MatchString(l)):
		case strings.HasPrefix(l, "---Backtrace---"), strings.HasPrefix(l, "---------------"):
		default:
			message = append(message, l)
		}
	}
	f.Message = strings.TrimSpace(strings.Join(message, "\n"))
	if top, ok := r.s.topFrame(frames); ok {
		f.File, f.Line = top.file, top.line
	}
	f.Expected, f.Actual = rubyValues(message)
	if m := unitDiffer.FindStringSubmatch(f.Message); m != nil {
		f.Expected, f.Actual = told(m[1]), told(m[2])
	}
	r.s.red = true
	r.s.fail(f)
}

var (
	unitSource = newPattern(`^\s*(?:=> )?\s*\d+: `)
	unitDiffer = newPattern(`(?s)<(.*?)> expected but was\n<(.*?)>`)
)

// close implements reader.
func (r *minitest) close() {
	r.end()
	r.totals.close(r.s)
}
