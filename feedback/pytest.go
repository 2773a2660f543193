package feedback

import (
	"slices"
	"strconv"
	"strings"
)

func pytestTool() *tool {
	return &tool{
		name: "pytest", what: "results in all verbosities and traceback styles, collection, fixture and configuration errors, xdist, reruns, time-outs, doctests, coverage gate",
		invocations: []string{"pytest", "python -m pytest", "pytest -n 4 -v", "pytest --tb=line", "coverage run -m pytest", "tox"},
		markers: []string{
			"= test session starts =", "= short test summary info =", "= FAILURES =", "= ERRORS =", "[100%]", "INTERNALERROR> ",
			" passed in ", " failed in ", " error in ", " errors in ", " warning in ", " warnings in ", " skipped in ", "no tests ran in ", "ImportError while loading conftest", "unrecognized arguments:", "Required test coverage of", "inifile: ",
		},
		runs:   named("pytest", "py.test", "pytest-xdist", "pytest-watch", "ptw"),
		family: []string{"python", "coverage"},
		make:   func(s *sink) reader { return &pytest{s: s} },
	}
}

const (
	pytestBlockHead = 250 // lines of one failure's block that are kept from its beginning
	pytestBlockTail = 80  // and from its end, where the error stands
	pytestBlocks    = 3000
)

// pytest reads pytest's terminal report. What tests print may be a pytest report itself, so nothing is believed
// before the last word: of nested sessions the outermost counts, of two summaries the last.
type pytest struct {
	s     *sink
	stack []*pytestSession // open sessions, outermost first
	done  []*pytestSession // finished ones in order
}

// pytestSession is one run of pytest.
type pytestSession struct {
	section  string
	blocks   []*pytestBlock
	block    *pytestBlock
	summary  []pytestEntry
	final    map[string]int
	verbose  map[string]*pytestCase
	order    []string
	open     string   // test that runs, from verbose output
	file     string   // file that runs, from quiet output
	erred    []string // files of the E in quiet output, in order: one for each error of a set-up or tear-down
	reruns   map[string]bool
	nested   []*pytestSession
	ended    bool
	header   bool
	gate     *Failure
	notes    []Failure // errors outside of blocks: usage, conftest, internal
	note     *Failure
	log      int
	stopped  string
	hadFinal bool
}

type pytestCase struct{ status CaseStatus }

// pytestBlock is one "____ name ____" part.
type pytestBlock struct {
	name string
	kind string // FAILURES or ERRORS
	text ringLines
	log  int
	used bool
}

// pytestEntry is a FAILED or ERROR line of the short summary.
type pytestEntry struct {
	word, id, text string
	log            int
}

// ringLines keeps the first and last lines of a block.
type ringLines struct {
	head, tail []string
}

func (r *ringLines) add(l string) {
	if len(r.head) < pytestBlockHead {
		r.head = append(r.head, l)
		return
	}
	if len(r.tail) >= pytestBlockTail {
		copy(r.tail, r.tail[1:])
		r.tail = r.tail[:pytestBlockTail-1]
	}
	r.tail = append(r.tail, l)
}

func (r *ringLines) lines() []string { return append(slices.Clip(r.head), r.tail...) }

var (
	pytestSectionLine = newPattern(`^={3,} (.+?) ={3,}$`)
	pytestBlockLine   = newPattern(`^_{3,} (.+?) _{3,}$|^_ (.{60,}) _$`)
	pytestFinal       = newPattern(`^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+|no tests (?:ran|collected)(?: \(.*\))?)(?:, .*)? in [\d.]+(?:s|ms| seconds)(?: \([\d:, day]+\))?(?: =+)?$`)
	pytestNumber      = newPattern(`(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|rerun|deselected|warnings?|subtests passed|subtests failed)\b`)
	pytestVerbose     = newPattern(`^(\S.*?::\S.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN|SUBFAIL(?:ED)?|SUBPASS(?:ED)?)\b(?: \(.*\)|\(.*\))?(?:\s+\[ *\d+%\])?(?: in .*)?$`)
	pytestXdist       = newPattern(`^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN) (\S.*)$`)
	pytestProgress    = newPattern(`^(\S+\.py)?\s*[.FEsxXRuP,-]+\s*(?:\[ *\d+%\])?$`)
	pytestWord        = newPattern(`^(FAILED|ERROR|SUBFAIL(?:ED)?|SKIPPED|XFAIL|XPASS|PASSED|RERUN|SUBSKIPPED|SUBPASS(?:ED)?)(?:\([^)]*\))?(?: \[[^\]]*\])? (.+)$`)
	pytestUsage       = newPattern(`^(?:ERROR: )?usage: |^ERROR: |^\S+: error: |^pytest: error|^ImportError while loading conftest|^INTERNALERROR> |^ModuleNotFoundError: |^(?:\w+\.)*\w*(?:PluginValidationError|UsageError|PytestConfigWarning): `)
	pytestGate        = newPattern(`^(?:FAIL|ERROR:?)?:? ?(?:(?:Required test )?[Cc]overage (?:of \S+ not reached|failure).*|Coverage failure: .*)$`)
)

func (p *pytest) session() *pytestSession {
	if n := len(p.stack); n > 0 {
		return p.stack[n-1]
	}
	return nil
}

func (p *pytest) begin(header bool) *pytestSession {
	x := &pytestSession{verbose: map[string]*pytestCase{}, reruns: map[string]bool{}, header: header, log: p.s.now}
	p.stack = append(p.stack, x)
	return x
}

// resume takes back the last finished session: its last word was printed by a test.
func (p *pytest) resume() *pytestSession {
	n := len(p.done)
	if n == 0 {
		return nil
	}
	x := p.done[n-1]
	p.done = p.done[:n-1]
	x.ended = false
	p.stack = append(p.stack, x)
	return x
}

// line implements reader.
func (p *pytest) line(l line) claim {
	x := p.session()
	text := l.text
	first := byte(0)
	if len(text) > 0 {
		first = text[0]
	}
	switch first {
	case '=':
		if m := pytestSectionLine.FindStringSubmatch(text); m != nil && !pytestFinal.MatchString(text) {
			return p.header(m[1])
		}
	case '_':
		if m := pytestBlockLine.FindStringSubmatch(text); m != nil {
			return p.blockStart(m[1] + m[2])
		}
	}
	if n := len(text); n > 6 && n < 400 && (text[n-1] == 's' || text[n-1] == '=' || text[n-1] == ')') && strings.Contains(text, " in ") && pytestFinal.MatchString(text) {
		return p.final(text)
	}
	if x == nil {
		return p.outside(l)
	}
	if x.ended {
		return pass
	}
	if x.note != nil && p.noteGoesOn(x, text) {
		return hold
	}
	switch x.section {
	case "FAILURES", "ERRORS":
		if x.block != nil {
			x.block.text.add(text)
		} else {
			p.tbLine(x, text)
		}
	case "short test summary info", "rerun test summary info":
		p.summaryLine(x, text)
	case "warnings summary", "PASSES", "XFAILURES", "slowest":
		if isPytestGate(text) {
			p.gate(x, text)
		}
	default:
		return p.progress(x, text)
	}
	return hold
}

// outside handles a line when no session is open.
func (p *pytest) outside(l line) claim {
	text := l.text
	switch {
	case text == "":
		return pass
	case isPytestGate(text):
		x := p.last()
		p.gate(x, text)
		return mine
	case strings.HasPrefix(text, "ImportError while loading conftest"), strings.HasPrefix(text, "INTERNALERROR> "), strings.HasPrefix(text, "ERROR: usage: "), strings.HasPrefix(text, "ERROR: file or directory not found"), strings.HasPrefix(text, "ERROR: not found: "), strings.HasPrefix(text, "ERROR: found no collectors"), strings.HasPrefix(text, "ERROR: /") && strings.Contains(text, ".ini:"), strings.HasPrefix(text, "usage: ") && strings.Contains(text, "[file_or_dir]"), strings.HasPrefix(text, "ERROR: Missing required plugins"), strings.HasPrefix(text, "ERROR: ") && p.s.command.tools["pytest"]:
		x := p.resume()
		if x == nil {
			x = p.begin(false)
		}
		p.newNote(x, text)
		return hold
	case pytestVerbose.MatchString(text), strings.HasSuffix(text, "%]") && pytestProgress.MatchString(text), len(text) < 200 && p.s.command.tools["pytest"] && pytestProgress.MatchString(text):
		if n := len(p.done); n > 0 && p.done[n-1].header {
			// Results go on without a new beginning: the last word was printed by a test.
			return p.progress(p.resume(), text)
		}
		return p.progress(p.begin(false), text)
	}
	return pass
}

// last is the session that late lines belong to.
func (p *pytest) last() *pytestSession {
	if n := len(p.done); n > 0 {
		return p.done[n-1]
	}
	return p.begin(false)
}

// header handles "==== name ====".
func (p *pytest) header(name string) claim {
	x := p.session()
	switch {
	case name == "test session starts":
		p.begin(true)
		return hold
	case name == "FAILURES", name == "ERRORS", name == "short test summary info", name == "rerun test summary info", name == "warnings summary", name == "PASSES", name == "XFAILURES", strings.HasPrefix(name, "slowest"), strings.HasPrefix(name, "warnings summary"), strings.HasPrefix(name, "tests coverage"), strings.HasPrefix(name, "XPASSES"):
	default:
		if x == nil || x.ended {
			return pass
		}
		if x.block != nil {
			x.block.text.add("= " + name)
		}
		return hold
	}
	if x == nil {
		if x = p.resume(); x == nil {
			x = p.begin(false)
		}
	}
	x.section, x.block, x.open = name, nil, ""
	if strings.HasPrefix(name, "slowest") {
		x.section = "slowest"
	}
	if strings.HasPrefix(name, "warnings summary") {
		x.section = "warnings summary"
	}
	if name == "short test summary info" {
		x.summary = nil
	}
	return hold
}

// blockStart handles "____ name ____".
func (p *pytest) blockStart(name string) claim {
	x := p.session()
	if x == nil && len(p.done) > 0 && (p.done[len(p.done)-1].section != "" && len(p.done[len(p.done)-1].blocks) > 0) {
		x = p.resume()
		x.section = "FAILURES"
	}
	if x == nil || x.ended {
		return pass
	}
	if strings.Trim(name, "_ ") == "" || x.section != "FAILURES" && x.section != "ERRORS" {
		if x.block != nil {
			x.block.text.add("_ _ _")
		}
		return hold
	}
	if x.note != nil {
		p.endNote(x)
	}
	b := &pytestBlock{name: strings.Clone(name), kind: x.section, log: p.s.now}
	x.block = b
	if len(x.blocks) < pytestBlocks {
		x.blocks = append(x.blocks, b)
	}
	return hold
}

// final handles the line with the totals.
func (p *pytest) final(text string) claim {
	x := p.session()
	if x == nil {
		if x = p.resume(); x != nil && x.header {
			// A complete session before this line and no beginning of another: it was nested in this one.
			x.nested = nil
		} else if x == nil {
			x = p.begin(false)
		}
	}
	counts := map[string]int{}
	for _, m := range pytestNumber.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		counts[strings.TrimSuffix(m[2], "s")] += n
	}
	if len(counts) == 0 && !strings.Contains(text, "no tests") {
		return pass
	}
	p.endNote(x)
	x.final, x.ended, x.hadFinal = counts, true, true
	p.stack = p.stack[:len(p.stack)-1]
	if outer := p.session(); outer != nil {
		outer.nested = append(outer.nested, x)
		return hold
	}
	x.nested = nil
	p.done = append(p.done, x)
	return mine
}
