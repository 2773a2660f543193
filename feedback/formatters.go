package feedback

import "strings"

func formatTool() *tool {
	return &tool{
		name: "format", what: "files that rustfmt, gofmt, shfmt, black, isort, ruff format or yapf would rewrite, with the place of the first difference where it is told", role: roleLint,
		invocations: []string{"cargo fmt --check", "gofmt -l .", "gofmt -d .", "black --check .", "isort --check .", "ruff format --check", "shfmt -d ."},
		markers:     []string{"Diff in ", "would reformat ", "Would reformat: ", "Imports are incorrectly sorted"},
		runs:        named("cargo fmt", "rustfmt", "gofmt", "goimports", "gofumpt", "shfmt", "black", "isort", "ruff format", "yapf"),
		make:        func(s *sink) reader { return &formatters{s: s} },
	}
}

// formatters reads what formatters say when they only check.
type formatters struct {
	s    *sink
	file string // the file of the diff that is being read
	log  int
	diff bool // in the body of a diff
	told map[string]bool
}

var (
	formatRust  = newPattern(`^Diff in (\S.*?)(?: at line |:)(\d+):$`)
	formatBlack = newPattern(`^(?:would reformat|Would reformat:) (\S.*)$`)
	formatFault = newPattern(`^error: cannot format (\S.*?): (.+?)(?: (\d+):\d+(?::.*)?)?$`)
	formatIsort = newPattern(`^ERROR: (\S.*) (Imports are incorrectly sorted and/or formatted\.)$`)
	formatHead  = newPattern(`^(?:diff (?:-u )?\S+ |\+\+\+ )(\S+?)(?:\t.*)?$`)
	formatHunk  = newPattern(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@`)
	formatBare  = newPattern(`^[^\s:]+\.(?:go|sh|bash)$`)
)

// line implements reader.
func (f *formatters) line(l line) claim {
	t := l.text
	if m := formatRust.FindStringSubmatch(t); m != nil {
		f.finding(m[1], atoi(m[2]), "not formatted as rustfmt would")
		f.diff = true
		return mine
	}
	if m := formatBlack.FindStringSubmatch(t); m != nil {
		f.finding(m[1], 0, t)
		return mine
	}
	if m := formatFault.FindStringSubmatch(t); m != nil {
		f.s.finding(KindCompile, "", m[1], atoi(m[3]), t)
		return mine
	}
	if m := formatIsort.FindStringSubmatch(t); m != nil {
		f.finding(m[1], 0, m[2])
		return mine
	}
	if !f.s.command.tools["format"] {
		return f.body(t)
	}
	if m := formatHead.FindStringSubmatch(t); m != nil {
		f.file, f.log = strings.Clone(strings.TrimPrefix(m[1], "b/")), l.n
		return mine
	}
	if m := formatHunk.FindStringSubmatch(t); m != nil && f.file != "" {
		f.finding(f.file, atoi(m[1]), "not formatted: the first difference is in the lines from here")
		f.file, f.diff = "", true
		return mine
	}
	if formatBare.MatchString(t) {
		f.finding(t, 0, "not formatted")
		return mine
	}
	return f.body(t)
}

// body takes the lines of a diff, which are source and no messages.
func (f *formatters) body(t string) claim {
	if f.diff && (t == "" || t[0] == ' ' || t[0] == '+' || t[0] == '-') {
		return mine
	}
	f.diff = false
	return pass
}

// finding hands in a file once, with the first place.
func (f *formatters) finding(file string, at int, message string) {
	if f.told == nil {
		f.told = map[string]bool{}
	}
	if f.told[file] {
		return
	}
	f.told[strings.Clone(file)] = true
	f.s.finding(KindLint, "", file, at, message)
}

// close implements reader.
func (f *formatters) close() {}
