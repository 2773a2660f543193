package feedback

import "strings"

func gradleTool() *tool {
	return &tool{
		name: "gradle", what: "test events of all logging levels, failing tasks with their reason, dependency resolution, build scripts, sub-projects",
		invocations: []string{"./gradlew test", "gradle build --console=plain", "gradle check --continue"},
		markers:     []string{"> Task :", "BUILD FAILED", "FAILURE: Build ", " tests completed, ", "* What went wrong:"},
		runs:        named("gradle", "gradlew"),
		family:      []string{"javac", "junit-xml"},
		make:        func(s *sink) reader { return &gradle{s: s} },
	}
}

// gradle reads Gradle's console output.
type gradle struct {
	s     *sink
	id    string
	lines []string
	log   int
	task  string
	wrong *Failure // "* What went wrong:"
	where frame    // "* Where:"
	at    bool
	told  bool // totals were printed
	n     [3]int
}

var (
	gradleTest  = newPattern(`^(\S.*? > .+?) (FAILED|PASSED|SKIPPED)(?: \([\d.]+s\))?$`)
	gradleTask  = newPattern(`^(?:> Task )?(:[\w:.-]+)(?: (?:FAILED|UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED))?$`)
	gradleTotal = newPattern(`^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$`)
	gradleWhere = newPattern(`(?:file|script) '(.+?)' line: (\d+)`)
	gradleShort = newPattern(`^    (\S.*?) at (\S+\.\w+):(\d+)$`)
)

// line implements reader.
func (g *gradle) line(l line) claim {
	t := l.text
	if m := gradleTotal.FindStringSubmatch(t); m != nil {
		g.end()
		failed, skipped := atoi(m[2]), atoi(m[3])
		g.s.add(max(0, atoi(m[1])-failed-skipped), failed, skipped)
		g.s.ran, g.told = true, true
		g.s.red = g.s.red || failed > 0
		return mine
	}
	if m := gradleTest.FindStringSubmatch(t); m != nil && !strings.HasPrefix(t, "> ") && !strings.HasPrefix(t, "* ") {
		g.end()
		g.event(m, l.n)
		return mine
	}
	if g.id != "" && (t == "" || t[0] == ' ') {
		const most = 200 // lines of one exception
		if t == "" && len(g.lines) > 0 {
			return mine
		}
		if len(g.lines) < most {
			g.lines = append(g.lines, strings.Clone(t))
		}
		return mine
	}
	g.end()
	switch {
	case strings.HasPrefix(t, "> Task :") || strings.HasPrefix(t, ":"):
		if m := gradleTask.FindStringSubmatch(t); m != nil {
			g.task = strings.Clone(m[1])
			g.s.dir = strings.ReplaceAll(strings.Trim(g.task[:strings.LastIndexByte(g.task, ':')], ":"), ":", "/")
			return mine
		}
	case strings.HasPrefix(t, "FAILURE: Build "), t == "BUILD FAILED":
		g.s.red, g.s.ended = true, true
		return mine
	case strings.HasPrefix(t, "BUILD SUCCESSFUL"):
		g.s.ran, g.s.ended, g.s.green = true, true, true
		return mine
	case t == "* Where:":
		g.at = true
		return mine
	case t == "* What went wrong:":
		g.settle()
		g.wrong = &Failure{Kind: KindConfig, Log: l.n}
		return mine
	case strings.HasPrefix(t, "* ") || strings.HasPrefix(t, "=====") || strings.HasPrefix(t, "BUILD FAILED in "):
		g.settle()
		return mine
	}
	if g.at {
		if m := gradleWhere.FindStringSubmatch(t); m != nil {
			g.where = frame{file: strings.Clone(m[1]), line: atoi(m[2])}
		}
		g.at = false
		return mine
	}
	if g.wrong != nil {
		const most = 14 // lines of a reason
		if t != "" && strings.Count(g.wrong.Message, "\n") < most {
			g.wrong.Message = strings.TrimSpace(g.wrong.Message + "\n" + strings.TrimSpace(t))
		}
		return mine
	}
	return pass
}

func (g *gradle) event(m []string, n int) {
	g.s.ran = true
	status := CasePassed
	switch m[2] {
	case "FAILED":
		status = CaseFailed
		g.id, g.lines, g.log = strings.Clone(m[1]), nil, n
		g.n[1]++
	case "SKIPPED":
		status = CaseSkipped
		g.n[2]++
	default:
		g.n[0]++
	}
	g.s.suiteTest(g.task, m[1], "", status, 0)
}

func (g *gradle) end() {
	if g.id == "" {
		return
	}
	class, _, _ := strings.Cut(g.id, " > ")
	f := javaTrace(g.s, g.lines, class)
	if f.File == "" {
		for _, l := range g.lines {
			if m := gradleShort.FindStringSubmatch(l); m != nil {
				fr := frame{function: class + ".x", file: m[2], line: atoi(m[3])}
				f.File, f.Line = g.s.javaSource(fr, class), fr.line
				if !strings.Contains(class, ".") {
					f.File = m[2] // the package is not told
				}
				break
			}
		}
	}
	f.ID, f.Suite, f.Log = g.id, g.task, g.log
	if f.Message == "" {
		f.Message = "failed without a message"
	}
	g.id, g.lines = "", nil
	g.s.red = true
	g.s.fail(f)
}

// settle hands in what went wrong; for failing tests and compile errors that is known already.
func (g *gradle) settle() {
	f := g.wrong
	g.wrong = nil
	if f == nil || f.Message == "" {
		return
	}
	f.File, f.Line = g.where.file, g.where.line
	g.where = frame{}
	text := f.Message
	switch {
	case strings.Contains(text, "There were failing tests"), strings.Contains(text, "Compilation failed; see"), strings.Contains(text, "Compilation error. See log"), strings.Contains(text, "violations were found"):
		f.weak = true
	case strings.Contains(text, "Could not resolve") || strings.Contains(text, "Could not find ") || strings.Contains(text, "Could not GET") || strings.Contains(text, "was not found in any of the following sources"):
		f.Kind = KindInstall
	case strings.Contains(text, "toolchain") || strings.Contains(text, "invalid source release") || strings.Contains(text, "JAVA_HOME") || strings.Contains(text, "Unsupported class file"):
		f.Kind = KindEnvironment
	case strings.Contains(text, "finished with non-zero exit value"):
		f.Kind, f.weak = KindCrash, true
	case f.File != "":
		f.Kind = KindCompile
	}
	g.s.dir = ""
	g.s.fail(*f)
}

// close implements reader.
func (g *gradle) close() {
	g.end()
	g.settle()
	if !g.told && g.n[0]+g.n[1]+g.n[2] > 0 {
		g.s.add(g.n[0], g.n[1], g.n[2])
	}
}
