package feedback

import "strings"

func tscTool() *tool {
	return &tool{
		name: "tsc", what: "type and syntax errors, plain and pretty, configuration errors; vue-tsc, svelte-check, ts-node, ts-loader", role: roleBuild,
		invocations: []string{"tsc --noEmit", "npx tsc -p . --pretty false", "vue-tsc", "tsc -b"},
		markers:     []string{"error TS", "ERROR in ", "TS2", "TS1"},
		runs:        named("tsc", "vue-tsc", "tsd", "tsup", "ts-node", "ttsc", "tspc", "ng build", "nest build", "fork-ts-checker"),
		family:      []string{"node"},
		make:        func(s *sink) reader { return &tsc{s: s} },
	}
}

// tsc reads the TypeScript compiler's diagnostics.
type tsc struct {
	s      *sink
	last   *Failure
	quiet  bool            // the excerpt of a pretty message follows
	broken map[string]bool // files with a syntax error: further ones there mostly follow from the first
	where  *frame          // "ERROR in ./src/a.ts:3:5": the message follows
}

var (
	tscPlain  = newPattern(`^(?:ERROR in |\[tsl\] ERROR in )?(\S[^()]*?)\((\d+),\d+\):? ?(?:error )(TS\d+): (.+)$`)
	tscPretty = newPattern(`^(?:ERROR in |Error: |ERROR: )?(\S.*?):(\d+):\d+ - error (TS\d+): (.+)$`)
	tscBare   = newPattern(`^(?:ERROR in )?error (TS\d+): (.+)$`)
	tscWhere  = newPattern(`^(?:\[tsl\] )?ERROR in (\S+?)(?::(\d+):\d+|\((\d+),\d+\))?(?:\s+TS\d+)?$`)
	tscCode   = newPattern(`^\s*(TS\d+): (.+)$`)
	tscFound  = newPattern(`^(?:\[[^\]]+\] |\d[\d:]+ [AP]M - )?Found (\d+) errors?\b`)
)

// line implements reader.
func (c *tsc) line(l line) claim {
	t := l.text
	if c.last != nil && t != "" && (t[0] == ' ' || t[0] == '\t') && !c.quiet {
		const most = 6 // lines that explain one error
		if strings.Count(c.last.Message, "\n") < most {
			c.last.Message += "\n" + t
		}
		return mine
	}
	if c.last != nil && c.quiet && (t == "" || t[0] == ' ' || t[0] >= '0' && t[0] <= '9') && !tscPlain.MatchString(t) && !tscPretty.MatchString(t) {
		return mine
	}
	if t == "" {
		c.quiet = c.last != nil
		return pass
	}
	if c.where != nil {
		if m := tscCode.FindStringSubmatch(t); m != nil {
			c.report(c.where.file, c.where.line, m[1], m[2])
			c.where = nil
			return mine
		}
		c.where = nil
	}
	if !strings.Contains(t, "TS") && !strings.Contains(t, "ERROR in ") && !strings.Contains(t, "Found ") {
		c.flush()
		return pass
	}
	if m := tscPlain.FindStringSubmatch(t); m != nil {
		c.report(m[1], atoi(m[2]), m[3], m[4])
		return mine
	}
	if m := tscPretty.FindStringSubmatch(t); m != nil {
		c.report(m[1], atoi(m[2]), m[3], m[4])
		return mine
	}
	if m := tscBare.FindStringSubmatch(t); m != nil {
		c.report("", 0, m[1], m[2])
		return mine
	}
	if m := tscWhere.FindStringSubmatch(t); m != nil {
		c.flush()
		c.where = &frame{file: strings.Clone(m[1]), line: atoi(m[2] + m[3])}
		return mine
	}
	if m := tscFound.FindStringSubmatch(t); m != nil {
		c.flush()
		c.s.add(-1, atoi(m[1]), -1)
		c.s.ran, c.s.ended = true, true
		c.s.red, c.s.green = m[1] != "0", m[1] == "0"
		return mine
	}
	c.flush()
	return pass
}

func (c *tsc) report(file string, line int, code, text string) {
	c.flush()
	kind := KindType
	switch {
	case file == "" || code == "TS5023" || strings.HasPrefix(code, "TS18") && len(code) == 7 && file == "":
		kind = KindConfig
	case len(code) == 6 && strings.HasPrefix(code, "TS1"):
		kind = KindCompile
		if c.broken[file] {
			c.quiet = true
			return
		}
		if c.broken == nil {
			c.broken = map[string]bool{}
		}
		c.broken[strings.Clone(file)] = true
	}
	c.last = &Failure{ID: code, File: file, Line: line, Message: code + ": " + text, Kind: kind, Log: c.s.now}
	c.quiet = false
}

func (c *tsc) flush() {
	if c.last != nil {
		c.s.red = true
		c.s.fail(*c.last)
	}
	c.last, c.quiet = nil, false
}

// close implements reader.
func (c *tsc) close() { c.flush() }
