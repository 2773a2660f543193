package feedback

import "strings"

func eslintTool() *tool {
	return &tool{
		name: "eslint", what: "stylish, compact, unix, visualstudio, json; warnings over a maximum; stylelint, standard, prettier, biome and oxlint as well", role: roleLint,
		invocations: []string{"eslint .", "npx eslint -f json src", "stylelint '**/*.css'", "prettier --check .", "standard", "biome check"},
		markers:     []string{"  error  ", " problems (", " problem (", "ESLint: ", "ESLint found too many warnings", "[warn] ", " ✖  ", "lint/", "Code style issues", " ━━━", "[error] "},
		runs:        named("eslint", "stylelint", "prettier", "standard", "xo", "biome", "oxlint", "next lint", "ng lint", "semistandard", "ts-standard", "eslint_d", "vue-cli-service lint"),
		family:      []string{"node", "json"},
		make:        func(s *sink) reader { return &eslint{s: s} },
	}
}

// eslint reads the formats of ESLint and of the linters that print alike.
type eslint struct {
	s        *sink
	file     string
	warnings []Failure // reported only where too many of them failed the run
	crash    *Failure
	biome    *Failure
}

var (
	eslintRow      = newPattern(`^\s+(\d+):(\d+)\s+(error|warning|✖|×|⚠|Error|Warning)\s+(.*?)(?:\s{2,}(\S+))?$`)
	eslintFile     = newPattern(`^((?:[A-Za-z]:)?[^\s:].*\.[A-Za-z]{1,6}|(?:/|\./|[A-Za-z]:\\)\S.*|[\w.-]+(?:/[\w. @()\[\]-]+)*/[\w.@-]+)$`)
	eslintTotal    = newPattern(`^\s*[✖×] (\d+) problems? \((\d+) errors?, (\d+) warnings?\)`)
	eslintUnix     = newPattern(`^\s*(\S.*?):(\d+):(\d+): (.+?) (?:\[(Error|Warning)(?:/([^\]]+))?\]|\(([\w@/-]+)\))$`)
	eslintCompact  = newPattern(`^(\S.*?): line (\d+), col \d+, (Error|Warning) - (.+?)(?: \(([\w@/-]+)\))?$`)
	eslintVS       = newPattern(`^(\S.*?)\((\d+),\d+\): (error|warning) ([\w@/-]*) ?: (.+)$`)
	eslintMax      = newPattern(`^ESLint found too many warnings \(maximum: \d+\)\.?$`)
	eslintOops     = newPattern(`^Oops! Something went wrong!`)
	eslintCrash    = newPattern(`^(?:[A-Z]\w*Error|Error)(?: \[\w+\])?: .+|^ESLint couldn't find .+|^Invalid option .+|^No files matching .+|^All files matched by .+ are ignored.*|^Error while (?:loading|running) .+`)
	prettierWarn   = newPattern(`^\[warn\] (\S.*\.\w+)$`)
	prettierStyle  = newPattern(`^\[warn\] Code style issues `)
	prettierError  = newPattern(`^\[error\] (\S+?): (\w*Error: .+?)(?: \((\d+):\d+\))?$`)
	biomeHead      = newPattern(`^(\S+?\.\w+)(?::(\d+):\d+)? (\S+)(?: +\S+)* ━+$`)
	biomeText      = newPattern(`^\s+[×✖] (.+)$`)
	stylelintTotal = newPattern(`^\s*[✖×]? ?(\d+) (?:error|problem)s? found$`)
)

// line implements reader.
func (e *eslint) line(l line) claim {
	t := l.text
	if e.crash != nil {
		if e.crash.Message == "" {
			if eslintCrash.MatchString(t) {
				e.crash.Message = t
			}
			return mine
		}
	}
	if e.biome != nil && e.biome.Message == "" {
		if m := biomeText.FindStringSubmatch(t); m != nil {
			e.biome.Message = m[1]
			e.s.fail(*e.biome)
			e.s.red = true
			e.biome = nil
		}
		return mine
	}
	if len(t) < 6 {
		return pass
	}
	if t[0] == ' ' || t[0] == '\t' {
		if m := eslintRow.FindStringSubmatch(t); m != nil && e.file != "" {
			e.finding(e.file, m[2-1], strings.ToLower(m[3]), m[4], m[5])
			return mine
		}
		if m := eslintTotal.FindStringSubmatch(t); m != nil {
			return e.total(m)
		}
		if m := eslintUnix.FindStringSubmatch(t); m != nil && e.s.command.tools["eslint"] {
			e.finding(m[1], m[2], "error", m[4], m[7])
			return mine
		}
		return pass
	}
	if strings.Contains(t, "problem") {
		if m := eslintTotal.FindStringSubmatch(t); m != nil {
			return e.total(m)
		}
	}
	switch {
	case eslintMax.MatchString(t):
		for _, w := range e.warnings {
			e.s.fail(w)
		}
		e.s.fail(Failure{Message: t, Kind: KindGate})
		e.s.red = true
		return mine
	case eslintOops.MatchString(t):
		e.crash = &Failure{Kind: KindConfig, Log: l.n}
		return mine
	case prettierStyle.MatchString(t) || strings.HasPrefix(t, "Code style issues "):
		e.s.red = true
		return mine
	}
	if m := prettierError.FindStringSubmatch(t); m != nil {
		e.s.fail(Failure{File: m[1], Line: atoi(m[3]), Message: m[2], Kind: KindCompile})
		e.s.red = true
		return mine
	}
	if strings.HasPrefix(t, "[error] ") && len(e.s.failures) > 0 {
		return mine // the excerpt of a syntax error
	}
	if m := prettierWarn.FindStringSubmatch(t); m != nil {
		e.s.fail(Failure{ID: "prettier", File: m[1], Message: "not formatted: prettier would change this file", Kind: KindLint})
		return mine
	}
	if m := eslintUnix.FindStringSubmatch(t); m != nil && (m[5] != "" || e.s.command.tools["eslint"]) {
		e.finding(m[1], m[2], strings.ToLower(m[5]), m[4], m[6]+m[7])
		return mine
	}
	if m := eslintCompact.FindStringSubmatch(t); m != nil {
		e.finding(m[1], m[2], strings.ToLower(m[3]), m[4], m[5])
		return mine
	}
	if m := eslintVS.FindStringSubmatch(t); m != nil && !strings.HasPrefix(m[4], "TS") && e.s.command.tools["eslint"] {
		e.finding(m[1], m[2], m[3], m[5], m[4])
		return mine
	}
	if m := biomeHead.FindStringSubmatch(t); m != nil {
		e.biome = &Failure{ID: m[3], File: m[1], Line: atoi(m[2]), Kind: KindLint, Log: l.n}
		return mine
	}
	if m := stylelintTotal.FindStringSubmatch(t); m != nil {
		e.s.ran = true
		return mine
	}
	if eslintFile.MatchString(t) {
		e.file = strings.Clone(t)
	}
	return pass
}

func (e *eslint) finding(file, line, severity, text, rule string) {
	f := Failure{ID: rule, File: file, Line: atoi(line), Message: text, Kind: KindLint, Log: e.s.now}
	if rule != "" && !strings.Contains(text, rule) {
		f.Message += " (" + rule + ")"
	}
	if strings.HasPrefix(text, "Parsing error: ") {
		f.Kind = KindCompile
	}
	switch severity {
	case "warning", "⚠":
		if len(e.warnings) < maxMatches {
			e.warnings = append(e.warnings, f)
		}
	default:
		e.s.fail(f)
		e.s.red = true
	}
}

func (e *eslint) total(m []string) claim {
	e.s.add(-1, atoi(m[2]), -1)
	e.s.ran, e.s.ended = true, true
	if m[2] == "0" {
		e.s.green = true
	}
	return mine
}

// close implements reader.
func (e *eslint) close() {
	if e.crash != nil && e.crash.Message != "" {
		e.s.fail(*e.crash)
	}
}
