package feedback

import (
	"strconv"
	"strings"
)

func shellcheckTool() *tool {
	return &tool{
		name: "shellcheck", what: "findings in the tty, gcc, json, json1 and checkstyle formats", role: roleLint,
		invocations: []string{"shellcheck *.sh", "shellcheck -f gcc *.sh", "shellcheck -f json1 *.sh"},
		markers:     []string{" SC1", " SC2", " SC3", "[SC"},
		runs:        named("shellcheck"),
		family:      []string{"json", "checkstyle"},
		make:        func(s *sink) reader { return &shellcheck{s: s} },
	}
}

// shellcheck reads ShellCheck's text formats. All levels count: each makes it exit with 1.
type shellcheck struct {
	s    *sink
	file string
	at   int
}

var (
	shellIn   = newPattern(`^In (\S.*) line (\d+):$`)
	shellMark = newPattern(`^\s*\^-*\^?(?:--)? (SC\d+)(?: \((\w+)\))?: (.+)$`)
	shellGcc  = newPattern(`^(\S.*?):(\d+):\d+: (error|warning|note): (.+) \[(SC\d+)\]$`)
)

// line implements reader.
func (c *shellcheck) line(l line) claim {
	t := l.text
	if !strings.Contains(t, "SC") {
		if m := shellIn.FindStringSubmatch(t); m != nil {
			c.file, c.at = strings.Clone(m[1]), atoi(m[2])
			return mine
		}
		return pass
	}
	if m := shellMark.FindStringSubmatch(t); m != nil && c.file != "" {
		c.s.finding(KindLint, m[1], c.file, c.at, m[3])
		return mine
	}
	if m := shellGcc.FindStringSubmatch(t); m != nil {
		c.s.finding(KindLint, m[5], m[1], atoi(m[2]), m[4])
		return mine
	}
	return pass
}

// close implements reader.
func (c *shellcheck) close() {}

// readShellcheck reads the json and json1 formats.
func readShellcheck(s *sink, text []byte) bool {
	type comment struct {
		File, Level, Message string
		Line, Code           int
	}
	var list []comment
	if !decode(text, &list) {
		var d struct{ Comments []comment }
		if !decode(text, &d) {
			return false
		}
		list = d.Comments
	}
	for _, c := range list {
		s.finding(KindLint, "SC"+strconv.Itoa(c.Code), c.File, c.Line, c.Message)
	}
	return true
}
