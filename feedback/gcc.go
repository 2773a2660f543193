package feedback

import "strings"

func gccTool() *tool {
	return &tool{
		name: "gcc", what: "errors of GCC and Clang (C, C++, Objective-C, Fortran headers too), -Werror, template instantiations; GNU ld, gold, lld and Apple's linker", role: roleBuild,
		invocations: []string{"gcc -Wall -c a.c", "clang++ …", "make", "ninja", "cmake --build build"},
		markers:     []string{": error: ", "fatal error: ", "undefined reference to ", "undefined symbol: ", "multiple definition of ", "ld: cannot find", "Undefined symbols for architecture", "ld: library not found"},
		runs:        named("gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "make", "gmake", "ninja", "cmake --build", "emcc", "nvcc", "ccache", "meson", "scons", "bear", "clang-tidy", "avr-gcc"),
		family:      []string{"make", "cmake", "gtest", "ctest", "sanitizer"},
		make:        func(s *sink) reader { return &gcc{s: s} },
	}
}

// gcc reads the diagnostics that the C family's compilers and linkers print.
type gcc struct {
	s      *sink
	open   *Failure
	from   *frame // "required from here": the project's place behind an error in a library's header
	syntax string // place of the last syntax error: further ones there follow from it
	undef  bool   // lld's or Apple's list follows
	code   int
}

var (
	gccHead   = newPattern(`^((?:[A-Za-z]:[\\/])?[^:\s][^:]*):(\d+)(?::(\d+))?: (fatal error|error|warning|note|internal compiler error|remark): (.+)$`)
	gccFrom   = newPattern(`^(\S[^:]*):(\d+):\d+:\s+required from here$`)
	gccInst   = newPattern(`^in instantiation of .* requested here$`)
	gccDriver = newPattern(`^(?:\S*/)?(?:gcc|g\+\+|cc1(?:plus)?|clang(?:\+\+)?(?:-\d+)?|cc|c\+\+)(?:-\d+)?: (?:fatal )?error: (.+)$`)
	ldPlace   = newPattern(`^(?:\S*ld(?:\.\w+)?(?:\.exe)?: )?(?:\S+\.(?:o|a|obj)(?:\(\S+\))?: (?:in function .*?: ?)?)?(\S+?\.\w+):(?:(\d+)|\([^)]*\)): (undefined reference to .+|multiple definition of .+|relocation truncated .+)$`)
	ldPlain   = newPattern(`^(?:\S*/)?(?:\S*ld(?:\.\w+)?|lld-link|collect2): (?:error: )?(cannot find .+|undefined symbol: .+|undefined reference to .+|duplicate symbol: .+|unable to find library .+|library not found for .+|library '.+' not found|cannot open .+|symbol\(s\) not found .+|multiple definition of .+|.*: undefined reference to .+|.*file (?:not recognized|format not recognized).*|unrecognized option .+|framework not found .+)$`)
	ldRefer   = newPattern(`^>>> referenced by (\S+?\.\w+)(?::(\d+))?`)
	ldApple   = newPattern(`^  "(.+)", referenced from:$`)
)

// line implements reader.
func (c *gcc) line(l line) claim {
	t := l.text
	if c.undef {
		if m := ldRefer.FindStringSubmatch(t); m != nil && c.open != nil && c.open.File == "" {
			c.open.File, c.open.Line = m[1], atoi(m[2])
		}
		if m := ldApple.FindStringSubmatch(t); m != nil {
			c.flush()
			c.open = &Failure{Message: "undefined symbol: " + m[1], Kind: KindLink, Log: l.n}
		}
		if strings.HasPrefix(t, ">>> ") || strings.HasPrefix(t, "  ") {
			if c.open != nil {
				c.add(t)
			}
			return mine
		}
		c.flush()
		c.undef = false
	}
	if t == "" {
		return pass
	}
	if t[0] == ' ' || t[0] == '\t' {
		if c.open == nil {
			return pass
		}
		c.excerpt(t)
		return mine
	}
	if strings.Contains(t, ": ") {
		if m := gccHead.FindStringSubmatch(t); m != nil && gccFile(m[1]) {
			return c.diagnostic(m, l.n)
		}
		if m := gccFrom.FindStringSubmatch(t); m != nil {
			if c.s.own(m[1]) {
				c.from = &frame{file: strings.Clone(m[1]), line: atoi(m[2])}
			}
			return mine
		}
		if strings.HasPrefix(t, "In file included from") || strings.HasSuffix(t, ":") && strings.Contains(t, ": In ") || strings.Contains(t, ": in function `") {
			return mine
		}
		if c.linker(l) {
			return mine
		}
	}
	if strings.HasPrefix(t, "Undefined symbols for architecture") {
		c.flush()
		c.undef = true
		return mine
	}
	if c.open != nil && c.open.Kind == KindCompile && !strings.HasPrefix(t, "make") && (strings.HasPrefix(t, "compilation terminated") || c.code == 0 && !strings.Contains(t, "[") && gccSource(t)) {
		c.code++
		return mine
	}
	c.flush()
	return pass
}

// gccSource tells whether a line may be the source line that Clang prints as it stands, without a margin.
func gccSource(t string) bool {
	return strings.HasSuffix(t, ";") || strings.HasSuffix(t, "{") || strings.HasSuffix(t, "}") || strings.HasSuffix(t, ")") || strings.HasPrefix(t, "#include")
}

// gccFile tells whether a name may be a source file of these compilers.
func gccFile(name string) bool {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return strings.HasPrefix(name, "/usr/include/") || strings.HasPrefix(name, "<")
	}
	switch strings.ToLower(name[i:]) {
	case ".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tcc", ".m", ".mm", ".cu", ".cuh", ".s", ".inc", ".f", ".f90", ".ixx", ".cppm", ".def", ".y", ".l", ".ino", ".pb":
		return true
	}
	return false
}

func (c *gcc) diagnostic(m []string, n int) claim {
	level := m[4]
	switch level {
	case "warning", "remark":
		c.flush()
		return mine
	case "note":
		if c.open != nil && gccInst.MatchString(m[5]) && !c.s.own(c.open.File) && c.s.own(m[1]) {
			c.open.File, c.open.Line = m[1], atoi(m[2])
		}
		const most = 2 // notes that explain one error
		if c.open != nil && strings.Count(c.open.Message, "\nnote: ") < most && c.code < most {
			c.add("note: " + m[5])
		}
		return mine
	}
	c.flush()
	place := m[1] + ":" + m[2]
	if strings.HasPrefix(m[5], "expected") {
		if c.syntax == place {
			return mine
		}
		c.syntax = strings.Clone(place)
	}
	c.open = &Failure{File: m[1], Line: atoi(m[2]), Message: level + ": " + m[5], Kind: KindCompile, Log: n}
	c.code = 0
	if !c.s.own(m[1]) && c.from != nil {
		c.add(m[1] + ":" + m[2])
		c.open.File, c.open.Line = c.from.file, c.from.line
	}
	c.from = nil
	return mine
}

// excerpt keeps the source line of an error's excerpt.
func (c *gcc) excerpt(t string) {
	if _, code, ok := strings.Cut(t, " | "); ok && c.code == 0 {
		c.add(strings.TrimSpace(code))
	}
	c.code++
}

func (c *gcc) add(t string) {
	const most = 8 // lines of one message
	if strings.Count(c.open.Message, "\n") < most {
		c.open.Message += "\n" + t
	}
}

// linker reads a linker's message.
func (c *gcc) linker(l line) bool {
	if m := ldPlace.FindStringSubmatch(l.text); m != nil {
		c.flush()
		c.s.red = true
		c.s.fail(Failure{File: m[1], Line: atoi(m[2]), Message: m[3], Kind: KindLink})
		return true
	}
	if m := ldPlain.FindStringSubmatch(l.text); m != nil {
		c.flush()
		c.open = &Failure{Message: m[1], Kind: KindLink, Log: l.n, weak: strings.HasPrefix(m[1], "symbol(s)")}
		c.undef = true
		return true
	}
	if m := gccDriver.FindStringSubmatch(l.text); m != nil {
		c.flush()
		c.s.fail(Failure{Message: m[1], Kind: KindConfig, weak: strings.Contains(m[1], "linker command failed") || strings.Contains(m[1], "ld returned")})
		return true
	}
	return strings.HasPrefix(l.text, "collect2: ")
}

func (c *gcc) flush() {
	if c.open != nil {
		c.s.red = true
		c.s.fail(*c.open)
	}
	c.open = nil
}

// close implements reader.
func (c *gcc) close() { c.flush() }
