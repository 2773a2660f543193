package feedback

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

func exunitTool() *tool {
	return &tool{
		name: "mix", what: "ExUnit failures (plain, --trace), setup_all, doctests; Elixir and Erlang compile errors of all versions; missing dependencies; mix format, Credo's exit",
		invocations: []string{"mix test", "mix test --trace", "mix compile --warnings-as-errors", "mix deps.get", "mix format --check-formatted"},
		markers:     []string{"== Compilation error in file", "** (Mix", "** (", "Compilation failed due to warnings", " doctests, ", "     stacktrace:", "     code: ", "Finished in ", "Unchecked dependencies"},
		runs:        named("mix", "elixir", "elixirc", "iex", "rebar3"),
		make:        func(s *sink) reader { return &exunit{s: s} },
	}
}

// exunit reads what mix prints: ExUnit's report and the compiler's errors.
type exunit struct {
	s       *sink
	block   *rspecBlock
	module  string // --trace: the module whose tests follow
	file    string
	next    int
	compile *Failure // "== Compilation error": the error follows; or an "error:" of the newer compiler
	whole   string   // the file of the compilation error
	told    bool     // errors with places were reported: the closing "(CompileError)" says nothing new
	failed  bool     // a closing line counted failures
	// finished is set from "Finished in" to the totals; early are totals without it; closing is set after the log.
	finished, closing bool
	early             string
	format            bool     // mix format lists the files that follow
	warning           *Failure // the compiler's warning whose place follows
	warned            []Failure
}

// maxExWarnings bounds the warnings kept for the case that they fail the build.
const maxExWarnings = 200

// exRuntime are the applications of Erlang and Elixir themselves, and the libraries that stand most often between a
// test and the project in a stack trace; mix puts the application's name before each frame that is not a test's.
var exRuntime = map[string]bool{
	"elixir": true, "stdlib": true, "kernel": true, "erts": true, "ex_unit": true, "mix": true, "iex": true, "eex": true, "logger": true, "crypto": true, "ssl": true,
	"ecto": true, "ecto_sql": true, "db_connection": true, "postgrex": true, "myxql": true, "phoenix": true, "phoenix_live_view": true, "phoenix_html": true, "plug": true,
	"plug_cowboy": true, "bandit": true, "jason": true, "telemetry": true, "tesla": true, "finch": true, "mint": true, "hackney": true, "mox": true, "absinthe": true, "gettext": true, "oban": true,
}

var (
	exHead   = newPattern(`^\s{1,4}(\d+)\) (.+?) \(([A-Z][\w.]*)\)$`)
	exSetup  = newPattern(`^\s{1,4}(\d+)\) (([A-Z][\w.]*): failure on setup_all callback)\b.*$`)
	exPlace  = newPattern(`^\s{5}((?:\S+/)?[\w.-]+\.exs?):(\d+)(?:: .*)?$`)
	exFrame  = newPattern(`^\s+(?:\(([\w.]+) [^)]*\) )?((?:[\w.-]+/)*[\w.-]+\.exs?):(\d+): (.+)$`)
	exTotal  = newPattern(`^(?:(\d+) doctests?, )?(?:(\d+) propert(?:y|ies), )?(?:(\d+) tests?, )?(\d+) failures?(?:, (\d+) (?:excluded|skipped|invalid))?(?:, (\d+) (?:excluded|skipped|invalid))?(?:, (\d+) (?:excluded|skipped|invalid))?$`)
	exCase   = newPattern(`\* (test|doctest|property) (.+?) \((?:([\d.]+)ms|(skipped|excluded))\) \[L#(\d+)\]$`)
	exModule = newPattern(`^([A-Z][\w.]*)(?: \[(\S+)\])?$`)
	exBroken = newPattern(`^== Compilation error in file (\S+) ==$`)
	exError  = newPattern(`^\*\* \(([\w.]+)\) (?:(\S+?\.(?:exs?|eex|heex|leex)):(\d+)(?::\d+)?: ?)?(.*)$`)
	exNew    = newPattern(`^\s*error: (.+)$`)
	exCorner = newPattern(`^\s*└─ (\S+?):(\d+)(?::\d+)?(?:: .*)?$`)
	exWarn   = newPattern(`^\s*warning: (.+)$`)
	exListed = newPattern(`^\s+\* (\S+\.\w+)$`)
	exAt     = newPattern(`^\s+(\S+\.exs?):(\d+)(?::\d+)?(?:: .*)?$`)
)

// line implements reader.
func (x *exunit) line(l line) claim {
	t := l.text
	if strings.HasPrefix(t, "Finished in ") {
		x.finished = true
	}
	if m := exTotal.FindStringSubmatch(t); m != nil && m[1]+m[2]+m[3] != "" {
		if !x.finished && !x.closing { // a test printed it, or an older ExUnit's: the last one counts then
			x.early = strings.Clone(t)
			return mine
		}
		x.finished = false
		x.end()
		all := atoi(m[1]) + atoi(m[2]) + atoi(m[3])
		failed, skipped := atoi(m[4]), 0
		for i, n := range m[5:] {
			if n != "" && strings.Contains(t, n+" invalid") && i >= 0 {
				failed += atoi(n)
			} else {
				skipped += atoi(n)
			}
		}
		x.s.add(max(0, all-failed-skipped), failed, skipped)
		x.s.ran, x.s.ended = true, true
		x.printed()
		x.failed = x.failed || failed > 0
		x.s.red = x.failed
		x.s.red, x.s.green = x.s.red || failed > 0, failed == 0
		return mine
	}
	if m := exHead.FindStringSubmatch(t); m != nil && atoi(m[1]) == x.next+1 {
		x.end()
		x.block = &rspecBlock{id: strings.Clone(m[2] + " (" + m[3] + ")"), log: l.n}
		return mine
	}
	if m := exSetup.FindStringSubmatch(t); m != nil && (atoi(m[1]) == x.next+1 || atoi(m[1]) == x.next) {
		x.end()
		x.next = atoi(m[1]) - 1
		x.block = &rspecBlock{id: strings.Clone(m[2]), log: l.n}
		return mine
	}
	if x.block != nil {
		if len(x.block.lines) == 0 && !exPlace.MatchString(t) && !(strings.Contains(x.block.id, ": failure on setup_all") && strings.HasPrefix(t, "     ")) {
			x.block = nil // a test printed something that looks like a head
			return pass
		}
		if t == "" || strings.HasPrefix(t, "     ") {
			const most = 200 // lines of one failure
			if len(x.block.lines) == 0 {
				x.next++
			}
			if len(x.block.lines) < most {
				x.block.lines = append(x.block.lines, strings.Clone(t))
			}
			return mine
		}
		x.end()
	}
	if m := exCase.FindStringSubmatch(t); m != nil {
		status := CasePassed
		if m[4] != "" {
			status = CaseSkipped
		}
		d, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			d = 0
		}
		x.s.test(m[1]+" "+m[2]+" ("+x.module+")", x.s.file(x.file), status, time.Duration(d*float64(time.Millisecond)))
		return mine
	}
	if m := exModule.FindStringSubmatch(t); m != nil && m[2] != "" {
		x.module, x.file = strings.Clone(m[1]), strings.Clone(m[2])
		return mine
	}
	return x.compiler(l)
}

// compiler reads the errors of compiling and of mix itself.
func (x *exunit) compiler(l line) claim {
	t := l.text
	if m := exBroken.FindStringSubmatch(t); m != nil {
		x.flush()
		x.whole = strings.Clone(m[1])
		return mine
	}
	if x.format {
		if m := exListed.FindStringSubmatch(t); m != nil {
			x.s.fail(Failure{File: m[1], Message: "not formatted (mix format --check-formatted)", Kind: KindLint})
			return mine
		}
	}
	if x.compile == nil && x.warnings(t, l.n) {
		return mine
	}
	if x.compile != nil {
		if m := exCorner.FindStringSubmatch(t); m != nil {
			x.compile.File, x.compile.Line = m[1], atoi(m[2])
			x.flush()
			return mine
		}
		if m := exAt.FindStringSubmatch(t); m != nil && x.compile.File == "" {
			x.compile.File, x.compile.Line = m[1], atoi(m[2])
			x.flush()
			return mine
		}
		if t == "" && x.compile.ID != "" || strings.HasPrefix(t, "warning:") || strings.HasPrefix(t, "Generated ") {
			x.flush()
			return pass
		}
		const most = 8 // lines of one error
		if m := exFrame.FindStringSubmatch(t); m != nil {
			if x.compile.File == "" && x.s.own(m[2]) && !exRuntime[m[1]] {
				x.compile.File, x.compile.Line = m[2], atoi(m[3])
			}
		} else if t != "" && strings.Count(x.compile.Message, "\n") < most && !strings.HasPrefix(strings.TrimSpace(t), "(") && !exNew.MatchString(t) {
			x.compile.Message += "\n" + strings.TrimSpace(strings.Trim(t, "│ "))
			return mine
		} else if exNew.MatchString(t) {
			x.flush()
			return x.compiler(l)
		}
		return mine
	}
	if m := exNew.FindStringSubmatch(t); m != nil && x.s.command.tools["mix"] {
		x.flush()
		x.compile = &Failure{Message: "error: " + m[1], Kind: KindCompile, Log: l.n}
		return mine
	}
	m := exError.FindStringSubmatch(t)
	if m == nil {
		return pass
	}
	f := Failure{ID: m[1], File: m[2], Line: atoi(m[3]), Message: "** (" + m[1] + ") " + m[4], Kind: KindCrash, Log: l.n}
	switch {
	case strings.HasPrefix(m[4], "mix format failed due to --check-formatted"):
		x.format, x.s.red = true, true
		x.s.fail(Failure{Message: f.Message, Kind: KindLint, weak: true})
		return mine
	case x.s.ended && x.whole == "" && !strings.HasPrefix(m[1], "Mix"):
		return pass // what the logger still had to say after the last test
	case x.whole != "":
		f.Kind = KindCompile
		if strings.Contains(m[4], "errors have been logged") || strings.Contains(m[4], "cannot compile module") && x.told {
			x.whole = ""
			if x.told {
				return mine
			}
		}
		if f.File == "" && !strings.Contains(m[4], "\n") {
			f.File = x.whole
		}
		x.whole = ""
	case strings.HasPrefix(m[1], "Mix"):
		f.Kind = KindConfig
		if strings.Contains(m[4], "Hex") || strings.Contains(m[4], "dependenc") {
			f.Kind = KindInstall
		}
	case m[1] == "TokenMissingError", m[1] == "SyntaxError", m[1] == "CompileError", m[1] == "MismatchedDelimiterError":
		f.Kind = KindCompile
	}
	x.compile = &f
	return mine
}

// warnings keeps the compiler's warnings, and hands them in when they failed the build.
func (x *exunit) warnings(t string, n int) bool {
	if m := exWarn.FindStringSubmatch(t); m != nil {
		x.warning = &Failure{Message: "warning: " + strings.Clone(m[1]), Kind: KindLint, Log: n}
		return true
	}
	if w := x.warning; w != nil {
		m := exCorner.FindStringSubmatch(t)
		if m == nil {
			m = exAt.FindStringSubmatch(t)
		}
		if m != nil && len(x.warned) < maxExWarnings {
			w.File, w.Line = strings.Clone(m[1]), atoi(m[2])
			x.warned = append(x.warned, *w)
			x.warning = nil
			return true
		}
		if t == "" {
			x.warning = nil
		}
	}
	if strings.HasPrefix(t, "Compilation failed due to warnings while using the --warnings-as-errors option") {
		for _, f := range x.warned {
			x.s.fail(f)
		}
		x.s.red, x.warned = true, nil
		return true
	}
	return false
}

func (x *exunit) flush() {
	if x.compile != nil {
		x.s.red = true
		x.told = true
		x.s.fail(*x.compile)
	}
	x.compile = nil
}

func (x *exunit) end() {
	x.flush()
	b := x.block
	x.block = nil
	if b == nil {
		return
	}
	f := Failure{ID: b.id, Kind: KindTest, Log: b.log}
	var message []string
	var frames []frame
	trace := false
	for i, l := range b.lines {
		t := strings.TrimSpace(l)
		switch {
		case i == 0:
			if m := exPlace.FindStringSubmatch(l); m != nil {
				f.File, f.Line = m[1], atoi(m[2])
			} else { // a failed setup_all has no place of its own
				message = append(message, l)
			}
		case t == "stacktrace:":
			trace = true
		case trace:
			if m := exFrame.FindStringSubmatch(l); m != nil && !exRuntime[m[1]] {
				frames = append(frames, frame{file: m[2], line: atoi(m[3])})
			}
		case t != "":
			message = append(message, l)
			if v, ok := strings.CutPrefix(t, "left:"); ok {
				f.Actual = told(strings.TrimSpace(v))
			}
			if v, ok := strings.CutPrefix(t, "right:"); ok {
				f.Expected = told(strings.TrimSpace(v))
			}
		}
	}
	if top, ok := x.s.topFrame(frames); ok {
		f.File, f.Line = top.file, top.line
	}
	f.Message = strings.Join(message, "\n")
	if strings.Contains(f.Message, "match (=) failed") { // there the pattern stands on the left
		f.Expected, f.Actual = f.Actual, f.Expected
	}
	if strings.Contains(b.id, ": failure on setup_all callback") {
		f.Kind = KindSetup
	}
	x.s.red = true
	x.s.fail(f)
	x.s.test(b.id, x.s.file(f.File), CaseFailed, 0)
}

// printed drops what looked like errors of compiling or crashes before ExUnit's closing line: had it been any, the
// tests would not have run to their end, so tests printed it, or the logger did.
func (x *exunit) printed() {
	x.s.failures = slices.DeleteFunc(x.s.failures, func(f Failure) bool { return f.Kind == KindCrash || f.Kind == KindCompile })
	x.warned, x.warning, x.told = nil, nil, false
}

// close implements reader.
func (x *exunit) close() {
	if x.early != "" && !x.s.ended {
		x.closing = true
		x.line(line{n: x.s.now, text: x.early})
	}
	x.end()
}
