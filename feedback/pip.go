package feedback

import "strings"

func pipTool() *tool {
	return &tool{
		name: "pip", what: "resolution, download, build and metadata errors of pip, uv, poetry, pipenv, conda, setuptools and tox", role: roleInstall,
		invocations: []string{"pip install -r requirements.txt", "uv sync", "poetry install", "pipenv install", "tox"},
		markers:     []string{"ERROR: Could not find a version", "ERROR: No matching distribution", "externally-managed-environment", "ResolutionImpossible", "ERROR: Cannot install", "× ", "ERROR: Could not open requirements", "SolverProblemError", "ERROR: Failed building wheel", "No solution found", "PackagesNotFoundError", "ERROR: Could not install packages", "subprocess-exited-with-error"},
		runs:        named("pip", "pip3", "uv", "poetry", "pipenv", "conda", "mamba", "pdm", "hatch", "tox", "nox", "easy_install", "build", "twine", "micromamba"),
		family:      []string{"python"},
		make:        func(s *sink) reader { return &pip{s: s} },
	}
}

// pip reads what Python's installers say. All its errors are about one installation, so they make one failure.
type pip struct {
	s     *sink
	lines []string
	log   int
	block bool // a "× …" block is being read
	last  int
	file  string
	line0 int
	kind  Kind
}

var (
	pipError    = newPattern(`^(?:ERROR: |error: |Error: |  × |× |CRITICAL: )(.+)$`)
	pipHarmless = newPattern(`^(?:ERROR: pip's dependency resolver does not currently|WARNING:|DEPRECATION:|note: |hint: |\[notice\]|WARN)`)
	pipBad      = newPattern(`^ERROR: Invalid requirement: .*?\(from line (\d+) of (\S+)\)|^ERROR: Invalid requirement:`)
	poetryError = newPattern(`^(?:Because .+ depends on|.*version solving failed\.|The current project's (?:supported )?Python requirement|pyproject\.toml changed significantly|Poetry could not find|\s*SolverProblemError|  Unable to find installation candidates|PackagesNotFoundError|LibMambaUnsatisfiableError|ResolvePackageNotFound|Could not find a version that matches|  ╰─▶ |Source is not installed)`)
)

// line implements reader.
func (p *pip) line(l line) claim {
	t := l.text
	if p.block {
		if t == "" || strings.HasPrefix(t, " ") || strings.HasPrefix(t, "╰") || strings.HasPrefix(t, "│") {
			if l.n-p.last < blockReach {
				p.keep(strings.Trim(t, " │╰─>▶"))
				return mine
			}
		}
		p.block = false
	}
	if len(t) < 6 {
		return pass
	}
	switch {
	case pipHarmless.MatchString(t):
		return mine
	case strings.HasPrefix(t, "Successfully installed ") || strings.HasPrefix(t, "Requirement already satisfied") || strings.HasPrefix(t, "Collecting ") || strings.HasPrefix(t, "Downloading ") || strings.HasPrefix(t, "  Downloading ") || strings.HasPrefix(t, "Looking in indexes"):
		return mine
	}
	if m := pipError.FindStringSubmatch(t); m != nil && p.speaks(t) {
		if b := pipBad.FindStringSubmatch(t); b != nil {
			p.file, p.line0, p.kind = b[2], atoi(b[1]), KindConfig
		}
		if strings.HasPrefix(m[1], "Could not open requirements file") || strings.HasPrefix(m[1], "usage") || strings.Contains(m[1], "does not appear to be a Python project") || strings.Contains(m[1], "ResolutionImpossible") || strings.HasPrefix(m[1], "Cannot install ") {
			p.kind = KindConfig
		}
		if p.log == 0 {
			p.log = l.n
		}
		p.last = l.n
		p.keep(m[1])
		p.block = strings.Contains(t, "× ") || strings.HasPrefix(t, "error: ")
		return mine
	}
	if poetryError.MatchString(t) {
		if p.log == 0 {
			p.log = l.n
		}
		p.last = l.n
		p.keep(strings.Trim(t, " ╰─▶"))
		return mine
	}
	return pass
}

// speaks tells whether an "ERROR:" line can be an installer's.
func (p *pip) speaks(t string) bool {
	if p.log > 0 || p.s.command.runsAny("pip", "pip3", "uv", "poetry", "pipenv", "conda", "pdm", "hatch", "mamba") {
		return true
	}
	for _, w := range []string{"Could not find a version", "No matching distribution", "externally-managed", "ResolutionImpossible", "Cannot install", "requirements file", "building wheel", "install packages", "subprocess-exited", "Invalid requirement", "No solution found", "requires a different Python", "metadata-generation-failed"} {
		if strings.Contains(t, w) {
			return true
		}
	}
	return false
}

func (p *pip) keep(t string) {
	const most = 60 // lines that are kept of an installer's complaint
	if t = strings.TrimSpace(t); t != "" && len(p.lines) < most {
		p.lines = append(p.lines, t)
	}
}

// close implements reader.
func (p *pip) close() {
	if len(p.lines) == 0 {
		return
	}
	kind := p.kind
	if kind == "" {
		kind = KindInstall
	}
	p.s.fail(Failure{Message: strings.Join(p.lines, "\n"), File: p.file, Line: p.line0, Kind: kind, Log: p.log})
}
