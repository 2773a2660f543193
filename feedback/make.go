package feedback

import "strings"

func makeTool() *tool {
	return &tool{
		name: "make", what: "make's and ninja's own errors: missing rules, syntax; failing recipes where nothing else explains them; sub-directories", role: roleBuild, wrapper: true,
		invocations: []string{"make", "make -C sub -j8", "gmake", "ninja"},
		runs:        named("make", "gmake", "ninja", "bmake"),
		family:      []string{"gcc"},
		make:        func(s *sink) reader { return &makeReader{s: s} },
	}
}

// makeReader reads what make says itself. Its recipes' tools speak for themselves.
type makeReader struct {
	s    *sink
	dirs []string
}

var (
	makeRecipe = newPattern(`^\s*(?:\S*[/\\])?(?:g|mingw32-|b)?make(?:\.exe)?(?:\[\d+\])?: \*\*\* \[(?:(\S+?):(\d+): )?(.+?)\] (Error -?\d+|.+)$`)
	makeRule   = newPattern(`^(?:\S*[/\\])?(?:g|mingw32-|b)?make(?:\.exe)?(?:\[\d+\])?: \*\*\* (.+?)(?:\s+Stop\.)?$`)
	makeSyntax = newPattern(`^(\S+?):(\d+): \*\*\* (.+?)(?:\s+Stop\.)?$`)
	makeDir    = newPattern("(?:^|/)(?:g|mingw32-|b)?make(?:\\[\\d+\\])?: (Entering|Leaving) directory [`'](.+)'$")
	ninjaError = newPattern(`^ninja: (?:error|fatal): (?:(\S+?):(\d+): )?(.+)$`)
)

// line implements reader.
func (m *makeReader) line(l line) claim {
	t := l.text
	if len(t) < 10 || !holds(t, '*', "***") && !(t[len(t)-1] == '\'' && strings.Contains(t, "ing directory")) && !strings.HasPrefix(t, "ninja: ") && !strings.HasPrefix(t, "FAILED: ") {
		return pass
	}
	switch {
	case makeDir.MatchString(t):
		g := makeDir.FindStringSubmatch(t)
		m.enter(g[1] == "Entering", g[2])
		return mine
	case makeRecipe.MatchString(t):
		g := makeRecipe.FindStringSubmatch(t)
		f := Failure{Message: t, File: g[1], Line: atoi(g[2]), Kind: KindCrash, weak: true}
		if strings.Contains(g[1], "CMakeFiles") || strings.HasSuffix(g[1], "/Makefile2") {
			f.File, f.Line = "", 0
		}
		m.s.fail(f)
		return mine
	case makeSyntax.MatchString(t):
		g := makeSyntax.FindStringSubmatch(t)
		m.s.fail(Failure{Message: g[3], File: g[1], Line: atoi(g[2]), Kind: KindConfig})
		return mine
	case makeRule.MatchString(t):
		g := makeRule.FindStringSubmatch(t)
		m.s.fail(Failure{Message: g[1], Kind: KindConfig, weak: strings.HasPrefix(g[1], "Waiting for unfinished")})
		return mine
	case ninjaError.MatchString(t):
		g := ninjaError.FindStringSubmatch(t)
		m.s.fail(Failure{Message: g[3], File: g[1], Line: atoi(g[2]), Kind: KindConfig})
		return mine
	case strings.HasPrefix(t, "ninja: build stopped"), strings.HasPrefix(t, "FAILED: ") && strings.Contains(t, ".o"):
		m.s.fail(Failure{Message: t, Kind: KindCrash, weak: true})
		return mine
	}
	return pass
}

// enter follows make into directories: relative paths start there.
func (m *makeReader) enter(in bool, dir string) {
	if in {
		m.dirs = append(m.dirs, m.s.paths.rel("", dir))
	} else if len(m.dirs) > 0 {
		m.dirs = m.dirs[:len(m.dirs)-1]
	}
	m.s.entered = ""
	if n := len(m.dirs); n > 0 && !absolute(m.dirs[n-1]) && m.dirs[n-1] != "." {
		m.s.entered = m.dirs[n-1]
	}
}

// close implements reader.
func (m *makeReader) close() { m.s.entered = "" }
