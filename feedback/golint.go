package feedback

import "strings"

func goLintTool() *tool {
	return &tool{
		name: "golangci-lint", what: "golangci-lint (text, tab, JSON), staticcheck, revive, errcheck, gosec, govulncheck, gofmt -l and -d", role: roleLint,
		invocations: []string{"golangci-lint run", "staticcheck ./...", "revive ./...", "gosec ./...", "govulncheck ./...", "gofmt -l ."},
		markers:     []string{" issues:", "level=error msg=", "Vulnerability #", "[/"},
		runs:        named("golangci-lint", "staticcheck", "revive", "errcheck", "gosec", "govulncheck", "ineffassign", "misspell", "gocritic", "golint", "gofmt", "goimports", "gofumpt", "nilaway", "deadcode", "go vet", "unparam", "gocyclo"),
		family:      []string{"json"},
		make:        func(s *sink) reader { return &goLint{s: s} },
	}
}

// goLint reads the text formats of Go's linters.
type goLint struct {
	s    *sink
	vuln *Failure
}

var (
	golangciText = newPattern(`^((?:[A-Za-z]:)?[^\s:][^:]*\.(?:go|mod|s|c|h)):(\d+)(?::(\d+))?:\s+(.+)$`)
	golangciTab  = newPattern(`^(\S+\.go):(\d+):\d+\s{2,}(\S+)\s{2,}(.+)$`)
	golangciRule = newPattern(`^(.*\S) \(([\w-]+(?:, ?[\w-]+)*)\)$`)
	golangciMsg  = newPattern(`^(?:level=error msg=("(?:[^"\\]|\\.)*")|ERRO (.+)|Error: (.+)|can't load config: .+|Failed executing command with error: (.+))$`)
	golangciSum  = newPattern(`^(\d+) issues?[:.]$`)
	gosecLine    = newPattern(`^\[(\S+?):(\d+)(?:-\d+)?\] - (G\d+) \([^)]*\): (.+?)(?: \(Confidence: \w+, Severity: \w+\))?$`)
	vulnHead     = newPattern(`^Vulnerability #\d+: (GO-\d+-\d+)$`)
	vulnTrace    = newPattern(`^\s+#\d+: (\S+?):(\d+):\d+: (.+)$`)
	gofmtDiff    = newPattern(`^diff (?:-u )?(\S+?)(?:\.orig)? (\S+)$`)
	gofmtList    = newPattern(`^[\w./@ -]+\.go$`)
)

// line implements reader.
func (g *goLint) line(l line) claim {
	t := l.text
	if g.vuln != nil {
		if m := vulnTrace.FindStringSubmatch(t); m != nil {
			if g.vuln.File == "" {
				g.vuln.File, g.vuln.Line = m[1], atoi(m[2])
				g.vuln.Message += "\n" + m[3]
			}
			return mine
		}
		if strings.HasPrefix(t, "    ") && !strings.Contains(t, "More info:") {
			g.vuln.Message += "\n" + strings.TrimSpace(t)
			return mine
		}
		if strings.HasPrefix(t, "  ") {
			return mine
		}
		g.flush()
	}
	if len(t) < 8 {
		return pass
	}
	switch {
	case t[0] == ' ' || t[0] == '\t':
		return pass
	case strings.HasPrefix(t, "Vulnerability #"):
		if m := vulnHead.FindStringSubmatch(t); m != nil {
			g.vuln = &Failure{ID: m[1], Message: m[1], Kind: KindSecurity, Log: l.n}
			return mine
		}
	case strings.HasPrefix(t, "* ") && strings.Contains(t, ": "):
		return pass
	case t[0] == '[':
		if m := gosecLine.FindStringSubmatch(t); m != nil {
			g.s.finding(KindSecurity, m[3], m[1], atoi(m[2]), m[4])
			return mine
		}
	case strings.HasPrefix(t, "level=") || strings.HasPrefix(t, "ERRO ") || strings.HasPrefix(t, "Error: ") || strings.HasPrefix(t, "can't load config") || strings.HasPrefix(t, "Failed executing command"):
		if m := golangciMsg.FindStringSubmatch(t); m != nil {
			text := strings.Trim(m[1]+m[2]+m[3]+m[4], `"`)
			if text == "" {
				text = t
			}
			g.s.fail(Failure{Message: strings.ReplaceAll(text, `\"`, `"`), Kind: KindConfig})
			return mine
		}
	}
	if m := golangciSum.FindStringSubmatch(t); m != nil {
		g.s.ran, g.s.ended = true, true
		g.s.add(-1, atoi(m[1]), -1)
		g.s.green = m[1] == "0"
		return mine
	}
	if strings.Contains(t, ".go:") || strings.Contains(t, "go.mod:") {
		if m := golangciTab.FindStringSubmatch(t); m != nil {
			g.s.finding(KindLint, m[3], m[1], atoi(m[2]), m[4])
			return mine
		}
		if m := golangciText.FindStringSubmatch(t); m != nil {
			text, rule := m[4], ""
			if r := golangciRule.FindStringSubmatch(text); r != nil {
				text, rule = r[1], r[2]
			} else if !g.linting() {
				return pass
			}
			kind := KindLint
			if rule == "typecheck" || rule == "compile" {
				kind = KindCompile
			}
			g.s.finding(kind, rule, m[1], atoi(m[2]), text)
			return mine
		}
	}
	if g.s.command.runsAny("gofmt", "goimports", "gofumpt") {
		if m := gofmtDiff.FindStringSubmatch(t); m != nil {
			g.s.finding(KindLint, "gofmt", m[2], 0, "not formatted: gofmt would change this file")
			return mine
		}
		if gofmtList.MatchString(t) {
			g.s.finding(KindLint, "gofmt", t, 0, "not formatted: gofmt would change this file")
			return mine
		}
	}
	return pass
}

// linting tells whether the command runs a linter, so that lines without a rule's name are findings too.
func (g *goLint) linting() bool {
	return g.s.command.runsAny("golangci-lint", "staticcheck", "revive", "errcheck", "ineffassign", "misspell", "golint", "gocritic", "nilaway", "deadcode", "unparam")
}

func (g *goLint) flush() {
	if g.vuln != nil {
		g.s.red = true
		g.s.fail(*g.vuln)
	}
	g.vuln = nil
}

// close implements reader.
func (g *goLint) close() { g.flush() }
