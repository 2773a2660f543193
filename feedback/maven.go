package feedback

import (
	"strconv"
	"strings"
	"time"
)

func mavenTool() *tool {
	return &tool{
		name: "maven", what: "Surefire and Failsafe (2.x, 3.x, reruns), compiler plugin (Java, Kotlin), dependency resolution, POM errors, Checkstyle and other plugins",
		invocations: []string{"mvn -B test", "mvn verify", "./mvnw -q test"},
		markers:     []string{"[INFO] Scanning for projects", "[ERROR] ", "Tests run: ", " T E S T S"},
		runs:        named("mvn", "mvnw", "mvnd"),
		family:      []string{"javac", "junit-xml"},
		make:        func(s *sink) reader { return &maven{s: s, seen: map[string]bool{}} },
	}
}

// maven reads Maven's log: lines with a level in front, and between them what tests print.
type maven struct {
	closing bool   // "Results:" was read: the totals come
	early   string // totals without it
	s       *sink
	id      string // the test whose exception follows
	class   string
	crash   bool
	lines   []string
	log     int
	results string // the list of the closing results: Failures, Errors, Flakes
	flaky   string
	compile *Failure
	seen    map[string]bool
	speaks  bool     // Maven's first line was seen
	why     *Failure // "Failed to execute goal"
}

var (
	mavenTest3  = newPattern(`^(\S.*?) -- Time elapsed: ([\d.,]+) s(?:ec)? <<< (FAILURE|ERROR)!$`)
	mavenTest2  = newPattern(`^(\S.*?)(?:\(([\w.$]+)\))?\s+Time elapsed: ([\d.,]+) s(?:ec)?\s+<<< (FAILURE|ERROR)!$`)
	mavenClass  = newPattern(`^Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+), Time elapsed: ([\d.,]+) s(?:ec)?(?: <<< (?:FAILURE|ERROR)!)?(?: --? in (.+))?$`)
	mavenTotal  = newPattern(`^Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: (\d+))?$`)
	mavenSource = newPattern(`^(\S.*?\.(?:java|kt|scala|groovy)):\[(\d+)(?:,\d+)?\] (?:error: )?(?:\((\w+)\) (\w+): )?(.+)$`)
	mavenListed = newPattern(`^\s+([\w.$]+?)(?:>[\w.$]+?)?\.([\w$]+(?:\([^)]*\))?(?:\[[^\]]*\])?):(\d+)\S*\s+(.+)$`)
	mavenRun    = newPattern(`^\s+Run (\d+): (?:([\w.$]+)\.([\w$]+)(?:[^:]*):(\d+)(?:->\S+)? )?(.+)$`)
	mavenFlake  = newPattern(`^([\w.$]+)\.([\w$]+)(?:\(([\w.$]+)\))?.*$`)
	mavenGoal   = newPattern(`^Failed to execute goal (?:\S+:)?([\w-]+):\S+:(\S+)(?: \(.*?\))? on project (\S+): (.+)$`)
	mavenGoal2  = newPattern(`^Failed to execute goal on project (\S+): (.+)$`)
	mavenFetch  = newPattern(`^(?:Plugin \S+ or one of its dependencies could not be resolved|Error resolving version for plugin |Could not (?:find|transfer|resolve) (?:artifact|dependencies|metadata) )`)
	mavenPom    = newPattern(`^(?:\s*)(?:Malformed POM |Non-parseable POM |Non-resolvable |'[\w.]+' |Unknown lifecycle phase|No plugin found for prefix|The goal you specified requires a project|Unresolveable build extension|The project .* has \d+ errors?|Child module )(.*)$`)
	mavenAt     = newPattern(`@ (?:(\S+), )?line (\d+), column \d+`)
	mavenDied   = newPattern(`^(?:Exception in thread "[^"]*" .+|java\.lang\.OutOfMemoryError.*|Java heap space.*|GC overhead limit exceeded.*)$`)
	mavenDiedAt = newPattern(`^\s+at [\w$.]+\.[\w$<>]+\((\w+\.(?:java|kt|scala|groovy)):(\d+)\)$`)
	mavenFrom   = newPattern(`^  from (.+)/pom\.xml$`)
)

// mavenLevel is the level that Maven puts in front of a line of its own, with its brackets and the blank behind it.
func mavenLevel(t string) string {
	if len(t) == 0 || t[0] != '[' {
		return ""
	}
	for _, level := range [...]string{"[INFO]", "[ERROR]", "[WARNING]", "[WARN]", "[DEBUG]", "[FATAL]"} {
		if rest, ok := strings.CutPrefix(t, level); ok {
			if rest != "" && rest[0] == ' ' {
				rest = rest[1:]
			}
			return t[:len(t)-len(rest)]
		}
	}
	return ""
}

// line implements reader.
func (m *maven) line(l line) claim {
	level := mavenLevel(l.text)
	t := l.text[len(level):]
	if level == "" {
		if m.compile != nil && strings.HasPrefix(t, "  ") {
			m.compile.Message += "\n" + strings.TrimSpace(t)
			return mine
		}
		if m.id != "" {
			if t == "" {
				m.end()
				return mine
			}
			const most = 300 // lines of one exception
			if len(m.lines) < most {
				m.lines = append(m.lines, strings.Clone(t))
			}
			return mine
		}
		if !strings.Contains(t, "Tests run:") && !strings.Contains(t, "<<< ") {
			return pass
		}
	}
	if m.compile != nil {
		if strings.HasPrefix(t, "  ") {
			m.compile.Message += "\n" + strings.TrimSpace(t)
			return mine
		}
		m.flush()
	}
	if strings.Contains(t, "<<< ") && m.header(t, l.n) {
		return mine
	}
	if t == "Results:" || t == "Results :" {
		m.closing = true
		return mine
	}
	if strings.HasPrefix(t, "Tests run: ") && m.total(t) {
		return mine
	}
	switch {
	case strings.HasPrefix(t, "Failures:") || strings.HasPrefix(t, "Failed tests:") || strings.HasPrefix(t, "Errors:") || strings.HasPrefix(t, "Tests in error:"):
		m.end()
		m.results = "failed"
		return mine
	case strings.HasPrefix(t, "Flakes:"):
		m.end()
		m.results = "flakes"
		return mine
	}
	if m.results != "" && m.result(t) {
		return mine
	}
	if level != "" && level[1] != 'E' && level[1] != 'F' {
		if g := mavenFrom.FindStringSubmatch(t); g != nil {
			m.s.dir = m.s.paths.rel("", g[1])
		}
		m.speaks = m.speaks || strings.HasPrefix(t, "Scanning for projects")
		return m.claim()
	}
	if level == "" {
		return pass
	}
	m.problem(t, l.n)
	return m.claim()
}

// claim takes lines with a level only where Maven is known to speak: other programs' loggers print them too.
func (m *maven) claim() claim {
	if m.speaks || m.s.ran || m.why != nil || m.compile != nil || m.s.command.tools["maven"] {
		return mine
	}
	return pass
}

// header takes the head of a failed test or class.
func (m *maven) header(t string, n int) bool {
	if g := mavenClass.FindStringSubmatch(t); g != nil {
		m.end()
		m.s.ran, m.s.red = true, true
		m.class = strings.Clone(g[6])
		return true
	}
	id, class, crash := "", "", false
	took := ""
	if g := mavenTest3.FindStringSubmatch(t); g != nil {
		id, took, crash = g[1], g[2], g[3] == "ERROR"
	} else if g := mavenTest2.FindStringSubmatch(t); g != nil {
		id, class, took, crash = g[1], g[2], g[3], g[4] == "ERROR"
	} else {
		return false
	}
	m.end()
	if class == "" {
		class = m.class
	}
	if class != "" && !strings.HasPrefix(id, class) {
		id = class + "." + id
	}
	m.id, m.log, m.lines, m.crash = strings.Clone(id), n, nil, crash
	m.s.test(m.id, "", CaseFailed, mavenTime(took))
	return true
}

func mavenTime(s string) time.Duration {
	d, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return 0
	}
	return time.Duration(d * float64(time.Second))
}

func (m *maven) total(t string) bool {
	if g := mavenTotal.FindStringSubmatch(t); g != nil {
		if !m.closing && m.results == "" { // a test printed it, or the log begins behind the header
			m.early = strings.Clone(t)
			return true
		}
		m.closing = false
		m.end()
		failed := atoi(g[2]) + atoi(g[3])
		m.s.add(max(0, atoi(g[1])-failed-atoi(g[4])), failed, atoi(g[4]))
		m.s.ran, m.s.ended = true, true
		if failed == 0 {
			m.s.green = true
			m.s.red = false
		} else {
			m.s.red = true
		}
		m.results = ""
		return true
	}
	if mavenClass.MatchString(t) {
		m.s.ran = true
		return true
	}
	return false
}

// result reads the closing lists, which tell of tests whose exceptions were not printed, and of flaky ones.
func (m *maven) result(t string) bool {
	if t == "" {
		return true
	}
	if m.results == "flakes" {
		if g := mavenRun.FindStringSubmatch(t); g != nil && m.flaky != "" {
			if g[2] != "" {
				m.takeBack(m.flaky, g)
			}
			return true
		}
		if g := mavenFlake.FindStringSubmatch(t); g != nil {
			m.flaky = strings.Clone(g[1] + "." + g[2])
			return true
		}
		return false
	}
	if g := mavenRun.FindStringSubmatch(t); g != nil {
		return true
	}
	g := mavenListed.FindStringSubmatch(t)
	if g == nil {
		return strings.HasPrefix(t, "  ")
	}
	id := g[1] + "." + g[2]
	method, _, _ := strings.Cut(g[2], "(")
	for i := range m.s.failures {
		if f := &m.s.failures[i]; strings.Contains(f.ID, g[1]+"."+method) || strings.HasSuffix(strings.ReplaceAll(f.ID, "$", "."), id) {
			return true
		}
	}
	simple := g[1][strings.LastIndexByte(g[1], '.')+1:]
	simple, _, _ = strings.Cut(simple, "$")
	for i := range m.s.failures {
		// A set-up method's or a helper's name stands here for the test or class that was reported in full.
		if f := &m.s.failures[i]; f.Line == atoi(g[3]) && strings.HasSuffix("/"+f.File, "/"+simple+".java") {
			return true
		}
	}
	m.s.red = true
	m.s.fail(Failure{ID: id, File: simple + ".java", Line: atoi(g[3]), Message: g[4], Kind: KindTest})
	return true
}

// takeBack turns the failed attempt of a flaky test, which was reported when it failed, into what it is.
func (m *maven) takeBack(id string, run []string) {
	for i := range m.s.failures {
		if f := &m.s.failures[i]; f.ID == id {
			if !f.flaky {
				m.s.flaky(id)
				f.flaky = true
				m.s.test(id, "", CasePassed, 0)
			}
			return
		}
	}
	simple := run[2][strings.LastIndexByte(run[2], '.')+1:]
	m.s.flakyFailure(Failure{ID: id, File: simple + ".java", Line: atoi(run[4]), Message: run[5], Kind: KindTest})
}

// problem reads what Maven marks as an error.
func (m *maven) problem(t string, n int) {
	if g := mavenSource.FindStringSubmatch(t); g != nil {
		f := &Failure{File: g[1], Line: atoi(g[2]), Message: g[5], Kind: KindCompile, Log: n}
		if g[4] != "" {
			f.Kind, f.ID, f.Message = KindLint, g[4], g[4]+": "+g[5]
		}
		key := g[1] + g[2] + g[5]
		if m.seen[key] {
			f.Log = -1
		}
		m.seen[strings.Clone(key)] = true
		m.compile = f
		return
	}
	if m.why != nil && strings.TrimSpace(t) != "" && !strings.HasPrefix(t, "->") && !strings.HasPrefix(t, "To see") && !strings.HasPrefix(t, "Re-run") {
		const most = 6 // lines of a reason
		if strings.Count(m.why.Message, "\n") < most {
			m.why.Message += "\n" + strings.TrimSpace(t)
		}
	} else if m.why != nil {
		m.reason()
	}
	if g := mavenGoal.FindStringSubmatch(t); g != nil {
		m.why = &Failure{Message: g[1] + ":" + g[2] + ": " + g[4], Kind: KindConfig, Log: n}
		return
	}
	if g := mavenGoal2.FindStringSubmatch(t); g != nil {
		m.why = &Failure{Message: g[2], Kind: KindInstall, Log: n}
		return
	}
	if mavenFetch.MatchString(t) { // before any goal runs
		message, _, _ := strings.Cut(t, " -> [Help")
		m.why = &Failure{Message: message, Kind: KindInstall, Log: n}
		return
	}
	if mavenDied.MatchString(t) {
		m.s.fail(Failure{Message: t, Kind: KindCrash, Log: n})
		return
	}
	if g := mavenDiedAt.FindStringSubmatch(t); g != nil {
		if k := len(m.s.failures); k > 0 && m.s.failures[k-1].File == "" && mavenDied.MatchString(m.s.failures[k-1].Message) {
			m.s.failures[k-1].File, m.s.failures[k-1].Line = g[1], atoi(g[2])
		}
		return
	}
	if mavenPom.MatchString(t) {
		f := Failure{Message: strings.TrimSpace(t), Kind: KindConfig, weak: strings.HasPrefix(strings.TrimSpace(t), "The project ")}
		if strings.Contains(t, "Non-resolvable") || strings.Contains(t, "No plugin found") {
			f.Kind = KindInstall
		}
		if g := mavenAt.FindStringSubmatch(t); g != nil {
			f.File, f.Line = g[1], atoi(g[2])
			if f.File == "" {
				f.File = "pom.xml"
			}
		}
		m.s.fail(f)
	}
}

// reason settles why a goal failed; for failing tests and compile errors that is known already.
func (m *maven) reason() {
	f := m.why
	m.why = nil
	if f == nil {
		return
	}
	switch {
	case strings.Contains(f.Message, "There are test failures"), strings.Contains(f.Message, "Compilation failure"), strings.Contains(f.Message, "There was a timeout") && len(m.s.failures) > 0:
		f.weak = true
	case strings.Contains(f.Message, "Fatal error compiling"):
		f.Kind = KindEnvironment
	case strings.Contains(f.Message, "resolve") || strings.Contains(f.Message, "transfer artifact") || strings.Contains(f.Message, "collect dependencies") || strings.Contains(f.Message, "was not found in"):
		f.Kind = KindInstall
	case strings.Contains(f.Message, "forked VM terminated") || strings.Contains(f.Message, "The forked Java"):
		f.Kind = KindCrash
	case strings.Contains(f.Message, "timeout"):
		f.Kind = KindTimeout
	default:
		f.weak = len(m.s.failures) > 0
	}
	m.s.fail(*f)
}

func (m *maven) flush() {
	if m.compile != nil && m.compile.Log >= 0 {
		m.s.red = true
		m.s.fail(*m.compile)
	}
	m.compile = nil
}

func (m *maven) end() {
	if m.id == "" {
		return
	}
	class := m.id
	if i := strings.LastIndexByte(class, '.'); i > 0 {
		class = class[:i]
	}
	f := javaTrace(m.s, m.lines, class)
	f.ID, f.Log = m.id, m.log
	if f.Message == "" {
		f.Message = "failed without a message"
	}
	m.id, m.lines = "", nil
	m.s.red = true
	m.s.fail(f)
}

// close implements reader.
func (m *maven) close() {
	if m.early != "" && !m.s.ended {
		m.closing = true
		m.total(m.early)
	}

	m.end()
	m.flush()
	m.reason()
}
