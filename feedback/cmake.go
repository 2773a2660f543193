package feedback

import "strings"

func cmakeTool() *tool {
	return &tool{
		name: "cmake", what: "errors of configuring and generating: missing packages, sources, targets, commands, syntax", role: roleBuild,
		invocations: []string{"cmake -S . -B build", "cmake --preset ci"},
		markers:     []string{"CMake Error"},
		runs:        named("cmake", "ccmake"),
		family:      []string{"make", "gcc", "ctest"},
		make:        func(s *sink) reader { return &cmake{s: s} },
	}
}

// cmake reads CMake's error blocks: a head, lines indented by two, two blank lines.
type cmake struct {
	s     *sink
	open  *Failure
	gap   int
	files map[string]bool
}

var (
	cmakeHead  = newPattern(`^CMake Error(?: \(dev\))?(?: (?:at|in) (\S+?)(?::(\d+))?(?: \((\S+)\))?)?:(?: (.+))?$`)
	cmakeStack = newPattern(`^  (\S+?):(\d+) \((\w+)\)$`)
	cmakeCause = newPattern(`Could NOT find|Could not find a (?:package|configuration)|By not providing|CMAKE_\w+_COMPILER|was not able to find a build program|No CMAKE_|or higher is required|not able to compile a simple|could not find any instance of|Unable to find|Failed to download|Error downloading`)
)

// line implements reader.
func (c *cmake) line(l line) claim {
	t := l.text
	if m := cmakeHead.FindStringSubmatch(t); m != nil {
		c.close()
		c.open, c.gap = &Failure{File: m[1], Line: atoi(m[2]), Message: m[4], Kind: KindConfig, Log: l.n}, 0
		return mine
	}
	if c.open == nil {
		return pass
	}
	if t == "" {
		const between = 3 // blank lines end a block
		if c.gap++; c.gap >= between {
			c.close()
		}
		return mine
	}
	if m := cmakeStack.FindStringSubmatch(t); m != nil {
		if !c.s.own(c.open.File) || strings.HasPrefix(c.open.File, "/usr/") {
			c.open.File, c.open.Line = m[1], atoi(m[2])
		}
		return mine
	}
	if t[0] != ' ' {
		if strings.HasPrefix(t, "Call Stack") {
			return mine
		}
		c.close()
		return pass
	}
	c.gap = 0
	const most = 14 // lines of one error
	if strings.Count(c.open.Message, "\n") < most {
		c.open.Message = strings.TrimSpace(c.open.Message + "\n" + strings.TrimSpace(t))
	}
	return mine
}

// close implements reader.
func (c *cmake) close() {
	f := c.open
	c.open = nil
	if f == nil {
		return
	}
	if cmakeCause.MatchString(f.Message) {
		f.Kind = KindEnvironment
	}
	place := strings.TrimSpace(f.File)
	switch {
	case strings.HasPrefix(f.Message, "No SOURCES given to target") && c.files[place]:
		return // follows from the source that was not found
	case f.File == "" && len(c.s.failures) > 0:
		f.weak = true
	}
	if c.files == nil {
		c.files = map[string]bool{}
	}
	c.files[place] = true
	c.s.red = true
	c.s.fail(*f)
}
