package feedback

import "strings"

func rustcTool() *tool {
	return &tool{
		name: "cargo", what: "rustc's and Clippy's errors (long, short and JSON format), Cargo's own errors with their causes, build scripts, linkers", role: roleBuild,
		invocations: []string{"cargo build", "cargo check", "cargo clippy -- -D warnings", "cargo build --message-format=json", "rustc"},
		markers:     []string{"error[E", "error: could not compile", "error: failed to ", "error: linking with", " --> ", "error: no matching package", "error: process didn't exit"},
		runs:        named("cargo", "rustc", "cross", "trunk", "wasm-pack", "maturin", "tauri", "rustup", "rustdoc"),
		family:      []string{"cargo test", "nextest", "json"},
		make:        func(s *sink) reader { return &rustc{s: s} },
	}
}

// rustc reads the diagnostics that rustc, Clippy, rustdoc and Cargo print.
type rustc struct {
	s     *sink
	open  *Failure
	lines []string // what explains the open error
	blank bool     // a blank line followed the open error: only "Caused by:" goes on with it
	chain bool     // Cargo's "Caused by:" list
	skip  bool     // a warning's excerpt
	maybe *line    // an "error: …" that is rustc's if its place follows
}

var (
	rustHead    = newPattern(`^(error|warning)(?:\[([\w:-]+)\])?: (.+)$`)
	rustPlaceAt = newPattern(`^\s*--> (.+?):(\d+):\d+$`)
	rustShort   = newPattern(`^(\S[^:]*\.rs):(\d+):\d+: (error|warning)(?:\[(\w+)\])?: (.+)$`)
	rustLint    = newPattern("`(?:-[DF] |#\\[(?:deny|forbid)\\()([\\w:-]+)\\)?\\]?`")
	rustMark    = newPattern(`^\s*\d*\s*[|/\\_ ]*[\^~-]{1,}`)
	rustStage   = newPattern(`^\s*(?:Compiling|Checking|Finished|Running|Doc-tests|Downloading|Downloaded|Updating|Locking|Blocking|Fresh|Dirty|Documenting|Adding|Building|Installing) `)
	rustWeak    = newPattern("^(?:could not compile|could not document|aborting due to|test failed, to rerun|doctest failed, to rerun|\\d+ targets? failed|test run failed|bench failed|build failed|Recipe `)|^process didn't exit successfully: .*\\(exit (?:status|code): \\d+\\)$")
	rustFile    = newPattern("`([^`]+\\.(?:toml|lock|rs))`")
	rustAt      = newPattern(`(?:line|at) (\d+)(?:,| column)`)
	rustLink    = newPattern(`(?:undefined reference|undefined symbol|unable to find library|cannot find -l|library not found|multiple definition|duplicate symbol|ld: |lld: |LNK\d+|linker ` + "`" + `)`)
)

// line implements reader.
func (c *rustc) line(l line) claim {
	t := l.text
	if t == "" {
		c.skip = false
		if c.open == nil {
			return pass
		}
		c.blank = true
		return mine
	}
	if m := rustShort.FindStringSubmatch(t); m != nil {
		c.flush()
		if m[3] == "error" {
			c.begin(m[4], m[5])
			c.open.File, c.open.Line = m[1], atoi(m[2])
			c.flush()
		}
		return mine
	}
	if c.maybe != nil {
		head := c.maybe
		c.maybe = nil
		if rustPlaceAt.MatchString(t) {
			c.flush()
			c.begin("", head.text[len("error: "):])
			c.open.Log = head.n
		}
	}
	if t[0] == 'e' || t[0] == 'w' {
		m := rustHead.FindStringSubmatch(t)
		if m != nil && !c.ours(m) && m[1] == "error" {
			c.maybe = &line{n: l.n, text: strings.Clone(t)}
			return pass
		}
		if m != nil && c.ours(m) {
			c.flush()
			if m[1] == "warning" {
				c.skip = true
				return mine
			}
			c.begin(m[2], m[3])
			return mine
		}
	}
	if c.skip {
		if t[0] == ' ' || t[0] >= '0' && t[0] <= '9' || strings.HasPrefix(t, "help: ") || strings.HasPrefix(t, "note: ") || strings.HasPrefix(t, "...") {
			return mine
		}
		c.skip = false
	}
	if c.open == nil {
		return pass
	}
	if strings.HasPrefix(t, "Caused by:") {
		c.blank, c.chain = false, true
		return mine
	}
	if rustStage.MatchString(t) || strings.HasPrefix(t, "For more information about") || strings.HasPrefix(t, "Some errors have detailed") {
		c.flush()
		return pass
	}
	if c.blank && (!c.chain || t[0] != ' ') {
		c.flush()
		return pass
	}
	if m := rustPlaceAt.FindStringSubmatch(t); m != nil && c.open.File == "" && !c.chain {
		c.open.File, c.open.Line = m[1], atoi(m[2])
		return mine
	}
	const most = 120 // lines of one error: a build script's output may be long
	if len(c.lines) < most {
		c.lines = append(c.lines, t)
	}
	return mine
}

// ours tells whether a head may be rustc's or Cargo's: other tools print "error: …" as well.
func (c *rustc) ours(m []string) bool {
	return m[2] != "" || c.s.command.tools["cargo"] || c.open != nil || c.s.weight > 0 || rustWeak.MatchString(m[3]) || strings.HasPrefix(m[3], "failed to ") || strings.HasPrefix(m[3], "linking with")
}

func (c *rustc) begin(code, text string) {
	kind := KindCompile
	if strings.HasPrefix(code, "clippy::") {
		kind = KindLint
	}
	c.open = &Failure{ID: code, Message: text, Kind: kind, Log: c.s.now}
}

// flush settles the open error.
func (c *rustc) flush() {
	f, lines := c.open, c.lines
	c.open, c.lines, c.blank, c.chain = nil, nil, false, false
	if f == nil {
		return
	}
	c.s.red = c.s.red || !rustWeak.MatchString(f.Message)
	head := f.Message
	if f.ID != "" {
		head = "error[" + f.ID + "]: " + head
	}
	switch {
	case strings.HasPrefix(f.Message, "linking with"):
		f.Kind = KindLink
		f.Message = head
		for _, l := range lines {
			if l = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "= note:")); rustLink.MatchString(l) && !strings.HasPrefix(l, `"`) && !strings.Contains(l, "ld returned") {
				f.Message += "\n" + l
			}
		}
	case f.File != "":
		f.Message = head + rustExcerpt(lines)
		for _, l := range lines {
			if m := rustLint.FindStringSubmatch(l); m != nil && f.ID == "" && strings.Contains(l, "note: ") {
				f.ID = strings.ReplaceAll(m[1], "-", "_")
				if strings.HasPrefix(f.ID, "clippy::") {
					f.Kind = KindLint
				}
			}
		}
		if strings.HasSuffix(f.File, ".toml") {
			f.Kind = KindConfig
		}
	default:
		f.Message = head
		c.cargoError(f, lines)
	}
	c.s.fail(*f)
}

// rustExcerpt keeps what the labels, notes and helps of a diagnostic say.
func rustExcerpt(lines []string) string {
	var b strings.Builder
	source := ""
	for _, l := range lines {
		t := strings.TrimSpace(l)
		_, code, bar := strings.Cut(l, "|")
		switch {
		case strings.HasPrefix(t, "= ") || strings.HasPrefix(t, "help: ") || strings.HasPrefix(t, "note: "):
			b.WriteString("\n" + t)
		case bar && rustMark.MatchString(code):
			if label := strings.TrimLeft(code, " |^-~_/\\"); label != "" && strings.ContainsAny(code, "^") {
				if source != "" {
					b.WriteString("\n" + source)
				}
				b.WriteString("\n" + label)
				source = ""
			}
		case bar:
			source = strings.TrimSpace(code)
		}
	}
	return b.String()
}

// cargoError reads an error of Cargo itself: its causes say what is wrong.
func (c *rustc) cargoError(f *Failure, lines []string) {
	f.Kind = KindConfig
	f.weak = rustWeak.MatchString(f.Message)
	text := f.Message + "\n" + strings.Join(lines, "\n")
	if m := rustFile.FindStringSubmatch(text); m != nil && strings.Contains(f.Message, "manifest") {
		f.File = m[1]
		if m := rustAt.FindStringSubmatch(text); m != nil {
			f.Line = atoi(m[1])
		}
	}
	switch {
	case strings.Contains(f.Message, "custom build command"):
		f.Kind = KindInstall
		if i := strings.Index(text, "--- stderr"); i >= 0 {
			lines = strings.Split(text[i+len("--- stderr"):], "\n")
		}
		if p := rustPanic(c.s, lines); p.File != "" && !absolute(p.File) {
			f.Kind, f.File, f.Line = KindCompile, p.File, p.Line
		}
	case cargoFetch.MatchString(text):
		f.Kind = KindInstall
	case cargoTools.MatchString(text):
		f.Kind = KindEnvironment
	case strings.Contains(text, "signal: "):
		f.Kind, f.weak = KindCrash, true // the test reader knows more, where it knows the test
	case f.weak:
		f.Kind = KindCrash
	case strings.Contains(text, "cannot find") || strings.Contains(text, "expected") || strings.Contains(text, "unresolved"):
		if f.File == "" {
			f.Kind = KindCompile
		}
	}
	f.Message += "\n" + strings.Join(lines, "\n")
}

var (
	cargoFetch = newPattern("failed to get `|failed to (?:download|fetch|load source|query|update|select a version)|no matching package|unable to update|Could not (?:connect|resolve)|spurious network|failed to resolve patches|requires rustc|attempting to make an HTTP request|the lock file .* needs to be updated|checksum .* changed|failed to sync")
	cargoTools = newPattern("no such command: `|toolchain .* (?:is not installed|does not)|is not installed for the toolchain|component .* is (?:unavailable|not)|linker `.*` not found|can't find crate for `(?:std|core)`|target may not be installed|the `.*` target may not")
)

// close implements reader.
func (c *rustc) close() { c.flush() }
