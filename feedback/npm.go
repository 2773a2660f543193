package feedback

import "strings"

func npmTool() *tool {
	return &tool{
		name: "npm", what: "npm, pnpm, yarn and bun: registry, resolution and lockfile errors, missing scripts, broken manifests, install scripts; nx, turbo, lerna", role: roleInstall, wrapper: true,
		invocations: []string{"npm ci", "npm test", "npm run build", "pnpm install", "pnpm -r test", "yarn --frozen-lockfile", "bun install", "turbo run test", "nx run-many"},
		markers:     []string{"npm ERR! ", "npm error ", "ERR_PNPM_", "ELIFECYCLE", "YN00"},
		runs:        named("npm", "pnpm", "yarn", "bun", "nx", "turbo", "lerna", "rush", "yarnpkg", "corepack"),
		make:        func(s *sink) reader { return &npm{s: s} },
	}
}

// npm reads what the JavaScript package managers say themselves.
type npm struct {
	s     *sink
	lines []string // of the npm error block, prefix taken off
	log   int
	yarn  bool // a yarn v1 header or error was seen
	// places are the packages of a workspace whose scripts failed.
	places []packagePlace
}

var (
	npmPrefix = newPattern(`^npm (?:ERR!|error)(?: |$)(.*)$`)
	npmCode   = newPattern(`^code (\S+)$`)
	npmWeak   = newPattern(`^(?:Lifecycle script|lifecycle script|Test failed\.|workspace |location |This is probably not a problem|Exit status|Failed at the |in workspace|command failed|command |path |signal )`)
	npmBoiler = newPattern(`^(?:A complete log|/|This is related to|Note that you can|tarball, folder|You can (?:also )?|npm (?:run|help)|To see a list|If you are behind|For a full report|See |\s*$|errno |syscall |\d+$|404$|Did you mean|or run |workspace |location )`)
	pnpmError = newPattern(`^\s*(?:ERROR\s+|\[?ERROR\]?\s+)?(?:\x{2009})?\s*(ERR_PNPM_\w+)\s+(.+)$`)
	pnpmLife  = newPattern(`^(?:\[?\s?ELIFECYCLE\]?\s|.*\bERR_PNPM_RECURSIVE_(?:RUN_FIRST_FAIL|EXEC_FIRST_FAIL|FAIL)\b)`)
	yarnError = newPattern(`^error (.+)$`)
	yarnBerry = newPattern(`^➤ (YN\d{4}): [│┌└ ]*(.+)$`)
	bunError  = newPattern(`^error: (?:script "(?:[^"]+)" exited with code \d+|Script not found "[^"]+"|.* failed to resolve|No version matching|package ".*" not found|GET .* - \d+|lockfile had changes.*)`)
	runnerEnd = newPattern(`^(?:\s*ERROR\s+run failed: command .*exited|lerna ERR! |\s*>?\s*NX\s+(?:Running target|Ran target).*failed|error: script "[^"]+" exited|\S+ run [^:]+: +command .* exited \(\d+\)|.*#\w+: command .* exited \(\d+\))`)
	// npmBenign are berry's codes that report no error.
	npmBenign = map[string]bool{"YN0000": true, "YN0001": false, "YN0002": true, "YN0005": true, "YN0007": true, "YN0013": true, "YN0019": true, "YN0060": true, "YN0061": true, "YN0065": true, "YN0085": true, "YN0086": true, "YN0087": true, "YN0088": true}
)

// line implements reader.
func (n *npm) line(l line) claim {
	t := l.text
	if strings.HasPrefix(t, "npm ") {
		m := npmPrefix.FindStringSubmatch(t)
		if m == nil {
			if strings.HasPrefix(t, "npm warn ") || strings.HasPrefix(t, "npm WARN ") || strings.HasPrefix(t, "npm notice") {
				return mine
			}
			return pass
		}
		if len(n.lines) == 0 {
			n.log = l.n
		}
		const most = 120 // lines of one error block
		if len(n.lines) < most {
			n.lines = append(n.lines, strings.TrimSpace(m[1]))
		}
		n.place(l)
		return mine
	}
	if len(n.lines) > 0 && t != "" {
		n.flush()
	}
	if t == "" || !npmSpeaks(t) {
		return pass
	}
	switch {
	case pnpmLife.MatchString(t) || strings.Contains(t, "ELIFECYCLE") && runnerWord(t):
		n.s.fail(Failure{Message: strings.TrimSpace(t), Kind: KindCrash, weak: true})
		return mine
	case strings.Contains(t, "ERR_PNPM_"):
		if m := pnpmError.FindStringSubmatch(t); m != nil {
			f := Failure{ID: m[1], Message: m[1] + ": " + m[2], Kind: KindInstall}
			switch m[1] {
			case "ERR_PNPM_NO_SCRIPT", "ERR_PNPM_OUTDATED_LOCKFILE", "ERR_PNPM_JSON_PARSE", "ERR_PNPM_NO_PKG_MANIFEST", "ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND", "ERR_PNPM_LOCKFILE_CONFIG_MISMATCH", "ERR_PNPM_NO_SCRIPT_OR_SERVER", "ERR_PNPM_WORKSPACE_PKG_NOT_FOUND":
				f.Kind = KindConfig
			}
			n.s.fail(f)
			return mine
		}
	case t[0] == 'e' && strings.HasPrefix(t, "error "):
		return n.yarnLine(t)
	case strings.HasPrefix(t, "yarn run v1") || strings.HasPrefix(t, "yarn install v1"):
		n.yarn = true
		return mine
	case strings.HasPrefix(t, "➤ YN"):
		m := yarnBerry.FindStringSubmatch(t)
		if m == nil || npmBenign[m[1]] || strings.HasPrefix(m[2], "Completed") || strings.HasPrefix(m[2], "Done") {
			return mine
		}
		kind := KindInstall
		if m[1] == "YN0028" || m[1] == "YN0050" || m[1] == "YN0038" {
			kind = KindConfig
		}
		n.s.fail(Failure{ID: m[1], Message: m[1] + ": " + m[2], Kind: kind})
		return mine
	case bunError.MatchString(t):
		weak := strings.Contains(t, "exited with code")
		kind := KindInstall
		if weak || strings.Contains(t, "Script not found") || strings.Contains(t, "lockfile") {
			kind = KindConfig
		}
		n.s.fail(Failure{Message: t, Kind: kind, weak: weak})
		return mine
	case runnerEnd.MatchString(t):
		n.s.fail(Failure{Message: strings.TrimSpace(t), Kind: KindCrash, weak: true})
		return mine
	}
	return pass
}

// npmSpeaks is a quick look for the words without which a line is no package manager's: every line of every log
// comes by here.
func npmSpeaks(t string) bool {
	switch t[0] {
	case 'e', 'y', 0xe2, 'l':
		return true
	}
	if strings.IndexByte(t, 'E') >= 0 && (strings.Contains(t, "ERR_PNPM_") || strings.Contains(t, "ELIFECYCLE") || strings.Contains(t, "run failed")) {
		return true
	}
	return holds(t, '(', " exited (") || holds(t, 'X', "NX")
}

func runnerWord(t string) bool {
	return strings.HasPrefix(strings.TrimSpace(t), "ELIFECYCLE") || strings.HasPrefix(t, "[ELIFECYCLE]")
}

// yarnLine handles "error …" of yarn v1.
func (n *npm) yarnLine(t string) claim {
	if !n.yarn && !n.s.command.runsAny("yarn") && !strings.Contains(t, "Command failed with exit code") {
		return pass
	}
	m := yarnError.FindStringSubmatch(t)
	if m == nil {
		return pass
	}
	f := Failure{Message: m[1], Kind: KindInstall}
	switch {
	case strings.HasPrefix(m[1], "Command failed with exit code"), strings.HasPrefix(m[1], "Command failed with signal"):
		f.weak, f.Kind = true, KindCrash
	case strings.HasPrefix(m[1], "Command \""), strings.Contains(m[1], "lockfile needs to be updated"), strings.Contains(m[1], "Couldn't find a package.json"), strings.Contains(m[1], "No lockfile"):
		f.Kind = KindConfig
	}
	n.s.fail(f)
	return mine
}

// runsAny tells whether one of the command's calls is one of the programs.
func (c commandLine) runsAny(names ...string) bool {
	for _, call := range c.calls {
		for _, n := range names {
			if call[0] == n {
				return true
			}
		}
	}
	return false
}

// flush reports the npm error block that was read.
func (n *npm) flush() {
	lines := n.lines
	n.lines = nil
	if len(lines) == 0 {
		return
	}
	code := ""
	var text []string
	weak := true
	for _, l := range lines {
		if m := npmCode.FindStringSubmatch(l); m != nil {
			code = m[1]
			continue
		}
		if npmWeak.MatchString(l) {
			if strings.HasPrefix(l, "path ") && strings.Contains(l, "node_modules") {
				weak = false // an install script of a dependency failed
			}
			text = append(text, l)
			continue
		}
		if npmBoiler.MatchString(l) {
			continue
		}
		weak = false
		text = append(text, l)
	}
	f := Failure{Kind: KindInstall, Log: n.log, weak: weak && (code == "" || code == "ELIFECYCLE" || isDigits(code))}
	if code != "" && !isDigits(code) {
		f.ID = code
		text = append([]string{"code " + code}, text...)
	}
	f.Message = strings.Join(text, "\n")
	switch code {
	case "EJSONPARSE":
		f.Kind, f.File = KindConfig, "package.json"
	case "EUSAGE", "ENOWORKSPACES", "EINVALIDPACKAGENAME", "EINVALIDTAGNAME", "ERESOLVE", "EDUPLICATEWORKSPACE", "EUNSUPPORTEDPROTOCOL", "ETARGET", "ENOLOCK":
		f.Kind = KindConfig
	case "ENOENT":
		if strings.Contains(f.Message, "package.json") {
			f.Kind = KindConfig
		}
	}
	if strings.HasPrefix(f.Message, "Missing script") || strings.HasPrefix(f.Message, "missing script") || strings.HasPrefix(f.Message, "Unknown command") || strings.HasPrefix(f.Message, "No workspaces found") {
		f.Kind, f.weak = KindConfig, false
	}
	if f.weak {
		f.Kind = KindCrash
	}
	if f.Message == "" {
		return
	}
	n.s.fail(f)
}

func isDigits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// close implements reader.
func (n *npm) close() { n.flush() }
