package feedback

import "strings"

func goBuildTool() *tool {
	return &tool{
		name: "go build", what: "compile errors, go vet, module and toolchain errors, cgo and link errors", role: roleBuild,
		invocations: []string{"go build", "go vet", "go run", "go mod", "go install", "go generate"},
		markers:     []string{".go:", "go: ", "no Go files in", "is not in std", "import cycle not allowed"},
		runs:        named("go build", "go vet", "go run", "go mod", "go install", "go get", "go generate", "go list", "go work", "go tool", "gofmt", "goimports", "go fmt"),
		make:        func(s *sink) reader { return &goBuild{p: goBuildParser{s: s}} },
	}
}

type goBuild struct{ p goBuildParser }

func (g *goBuild) line(l line) claim {
	if g.p.line(l.text, l.n) {
		return mine
	}
	return pass
}

func (g *goBuild) close() { g.p.close() }

// goBuildParser reads what the go command itself, the compiler, vet and the linker print.
type goBuildParser struct {
	s       *sink
	last    *Failure // waits for its continuation lines
	pkg     string   // of the last "# pkg" header
	vet     bool     // the header said that vet speaks
	failed  map[string]bool
	pending []goBuildFailed
}

type goBuildFailed struct {
	name, text string
	log        int
}

var (
	goCompile  = newPattern(`^(vet: )?((?:[A-Za-z]:)?[^\s:][^:]*\.(?:go|s|c|h|cgo1\.go|mod|work)):(\d+)(?::(\d+))?: (.+)$`)
	goHeader   = newPattern(`^# (\[?)([\w./~@+-]+)\]?(?: \[[^\]]+\])?$`)
	goCommand  = newPattern(`^go: (.+)$`)
	goQuiet    = newPattern(`^(?:downloading|finding|extracting|added|upgraded|downgraded|removed|creating new|to add module|warning:|found |copying requirements|trying |toolchain upgrade|switching to|unzipping)`)
	goNotFound = newPattern(`^(?:(\S+\.go):(\d+):\d+: )?(package \S+ is not in (?:std|GOROOT)|no required module provides package|cannot find (?:module|package)|no Go files in|build constraints exclude all|found packages |malformed import path|pattern \S+: |directory \S+ (?:outside|is not)|stat .*: directory not found|flag provided but not defined|verifying |SECURITY ERROR|import cycle not allowed|could not import )`)
	goLink     = newPattern(`^(?:/\S+/link: |[\w./]+: )?(?:(?:\S+/)?(?:ld|collect2)(?:\.\w+)?: |relocation target |running \S+ failed|function main is undeclared)`)
	goCgo      = newPattern(`^cgo: `)
)

// line tells whether the line is the go command's.
func (p *goBuildParser) line(text string, n int) bool {
	if p.last != nil {
		if strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "    ") && strings.TrimSpace(text) != "" {
			const most = 8 // lines that explain one error
			if strings.Count(p.last.Message, "\n") < most {
				p.last.Message += "\n" + text
			}
			return true
		}
		p.flush()
	}
	if len(text) < 5 || text[0] == ' ' || text[0] == '\t' {
		return false
	}
	if text[0] == '#' {
		m := goHeader.FindStringSubmatch(text)
		if m == nil || strings.HasPrefix(text, "# [") && m[1] == "" {
			return false
		}
		p.pkg, p.vet = m[2], m[1] != ""
		return true
	}
	if strings.Contains(text, ".go:") || strings.HasPrefix(text, "go.mod:") || strings.Contains(text, "/go.mod:") || strings.Contains(text, "go.work:") || p.pkg != "" && strings.Contains(text, ": ") {
		if m := goCompile.FindStringSubmatch(text); m != nil && m[5] != "" && !goStampBefore(m[2]) {
			kind := KindCompile
			if m[1] == "" && (p.vet || p.s.command.runs("go", "vet")) && !strings.Contains(m[5], "undefined: ") {
				kind = KindLint
			}
			if m[5] == "too many errors" {
				return true
			}
			p.last = &Failure{File: m[2], Line: atoi(m[3]), Message: m[5], Kind: kind, Log: n}
			p.mark(p.pkg)
			return true
		}
	}
	if m := goCommand.FindStringSubmatch(text); m != nil {
		if goQuiet.MatchString(m[1]) {
			return true
		}
		f := Failure{Message: text, Kind: KindInstall, Log: n}
		switch {
		case strings.HasPrefix(m[1], "errors parsing "):
			p.pkg = "go.mod" // the errors follow
			return true
		case strings.Contains(m[1], "cannot find main module"), strings.Contains(m[1], "updates to go.mod needed"), strings.Contains(m[1], "unknown command"), strings.Contains(m[1], "go.mod file not found"), strings.Contains(m[1], "inconsistent vendoring"), strings.Contains(m[1], "missing go.sum entry"), strings.Contains(m[1], "unknown revision"), strings.Contains(m[1], "no such tool"), strings.Contains(m[1], "invalid version"), strings.Contains(m[1], "malformed"):
			f.Kind = KindConfig
		}
		p.last = &f
		return true
	}
	if m := goNotFound.FindStringSubmatch(text); m != nil {
		p.last = &Failure{File: m[1], Line: atoi(m[2]), Message: text, Kind: KindCompile, Log: n}
		p.mark(p.pkg)
		return true
	}
	if strings.HasPrefix(text, "package ") && strings.Count(text, " ") == 1 {
		p.last = &Failure{Message: text, Kind: KindCompile, Log: n, weak: true}
		return true
	}
	if p.pkg != "" && (goLink.MatchString(text) || goCgo.MatchString(text)) {
		kind := KindLink
		if strings.Contains(text, "executable file not found") {
			kind = KindEnvironment
		}
		p.last = &Failure{Message: text, Kind: kind, Log: n}
		p.mark(p.pkg)
		return true
	}
	return false
}

// goStampBefore tells whether what looks like a path is a log line's beginning ("2024/01/02 12").
func goStampBefore(file string) bool {
	return strings.Contains(file, " ") && len(file) > 0 && file[0] >= '0' && file[0] <= '9'
}

// runs tells whether one of the command's calls is the given program with that first word.
func (c commandLine) runs(program, word string) bool {
	for _, call := range c.calls {
		if call[0] == program && len(call) > 1 && call[1] == word {
			return true
		}
	}
	return false
}

func (p *goBuildParser) mark(pkg string) {
	if pkg == "" {
		return
	}
	if p.failed == nil {
		p.failed = map[string]bool{}
	}
	p.failed[pkg] = true
}

func (p *goBuildParser) flush() {
	f := p.last
	p.last = nil
	if f == nil || f.weak && !strings.Contains(f.Message, "import cycle") && !strings.Contains(f.Message, "is not in std") && !strings.Contains(f.Message, "no required module") {
		return
	}
	f.weak = false
	p.s.fail(*f)
}

// failedPackage notes that a package's build failed; it is reported only where no error of it was read.
func (p *goBuildParser) failedPackage(name string, log int, text string) {
	name, _, _ = strings.Cut(name, " ")
	p.pending = append(p.pending, goBuildFailed{name, text, log})
}

func (p *goBuildParser) close() {
	p.flush()
	for _, f := range p.pending {
		if len(p.failed) > 0 {
			break
		}
		p.s.fail(Failure{ID: f.name, Message: f.name + ": " + f.text, Kind: KindCompile, Log: f.log, weak: true})
	}
	if len(p.s.failures) > 0 || len(p.pending) > 0 {
		p.s.red = true
	}
}
