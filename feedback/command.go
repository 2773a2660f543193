package feedback

import (
	"path"
	"strings"
)

// commandLine is what the command tells about the tools that will speak.
type commandLine struct {
	text  string
	calls [][]string      // the simple commands, wrappers taken off
	tools map[string]bool // tools that they run for certain
	open  bool            // something else may run as well: make, a script, an npm script
	dir   string          // where it runs, relative to the root: a leading `cd sub &&`
}

// silent are programs that print nothing a report could be about; a command made of them and of known tools is
// closed: no other tool is looked for in its log.
var silent = map[string]bool{
	"cd": true, "echo": true, "export": true, "set": true, "sleep": true, "kill": true, "exit": true, "true": true, "false": true,
	"mkdir": true, "rm": true, "cp": true, "mv": true, "ulimit": true, "source": true, ".": true, "head": true, "tail": true, "tee": true,
	"awk": true, "sed": true, "grep": true, "sort": true, "wait": true, "printf": true, "unset": true, "pwd": true, "ls": true, "which": true, "test": true, "[": true, "trap": true, "shopt": true, "umask": true, "touch": true, "chmod": true, "tr": true, "cut": true, "wc": true, "fi": true, "done": true,
}

// wrappers run the command that follows them; the number is how many words of their own come first.
var wrappers = map[string]int{
	"sudo": 0, "env": 0, "time": 0, "nice": 0, "nohup": 0, "exec": 0, "command": 0, "stdbuf": 0, "unbuffer": 0, "xvfb-run": 0, "npx": 0, "bunx": 0, "pnpx": 0, "builtin": 0, "ionice": 0, "setsid": 0, "chronic": 0, "then": 0, "do": 0, "if": 0, "while": 0, "!": 0, "else": 0,
	"timeout": 1, "catchsegv": 0, "doas": 0, "firejail": 0, "script": 0, "strace": 0, "faketime": 1, "gtimeout": 1, "op": 1, "direnv": 1, "mise": 1, "asdf": 1, "dotenv": 0, "cross-env": 0, "dumb-init": 0, "tini": 0,
}

// twoWordWrappers run what follows both words.
var twoWordWrappers = map[string]bool{
	"poetry run": true, "uv run": true, "pipenv run": true, "pdm run": true, "hatch run": true, "rye run": true, "pixi run": true, "bundle exec": true, "pnpm exec": true, "pnpm dlx": true, "yarn exec": true, "yarn dlx": true, "npm exec": true, "bun x": true, "coverage run": true, "conda run": true, "nix develop": true, "bazel run": true, "mise exec": true, "go run": false,
}

var (
	assignment = newPattern(`^[A-Za-z_]\w*\+?=`)
	versioned  = newPattern(`^(python|pip|pytest|ruby|php|node|gcc|g\+\+|clang|clang\+\+|clang-tidy|lua|perl)-?\d+(\.\d+)*t?$`)
)

// parseCommand splits a shell command line into simple commands and names the tools they run.
func parseCommand(text string, tools []*tool) commandLine {
	c := commandLine{text: text, tools: map[string]bool{}}
	if strings.TrimSpace(text) == "" {
		c.open = true
		return c
	}
	for _, words := range shellCommands(text) {
		args := unwrap(words)
		if len(args) == 0 {
			continue
		}
		if args[0] == "cd" && len(args) > 1 && len(c.calls) == 0 && !strings.HasPrefix(args[1], "/") {
			c.dir = strings.TrimSuffix(path.Join(c.dir, args[1]), ".")
		}
		c.calls = append(c.calls, args)
		known := false
		for _, t := range tools {
			if t.runs == nil || !t.runs(args) {
				continue
			}
			known = true
			c.tools[t.name] = true
			for _, f := range t.family {
				c.tools[f] = true
			}
			if t.wrapper || t.role == roleRun {
				c.open = true // an interpreter runs whatever the script is
			}
		}
		if !known && !silent[args[0]] {
			c.open = true
		}
	}
	if len(c.tools) == 0 {
		c.open = true
	}
	return c
}

// unwrap takes environment, wrappers and directories off a simple command; `bash -c "…"` gives nothing, since its
// text was split already.
func unwrap(words []string) []string {
	for len(words) > 0 {
		w := words[0]
		if assignment.MatchString(w) {
			words = words[1:]
			continue
		}
		name := path.Base(slashed(w))
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
		if m := versioned.FindStringSubmatch(name); m != nil {
			name = m[1]
		}
		if n, ok := wrappers[name]; ok {
			words = skipFlags(words[1:])
			words = words[min(n, len(words)):]
			continue
		}
		if len(words) > 1 && twoWordWrappers[name+" "+words[1]] {
			words = skipFlags(words[2:])
			continue
		}
		if name == "python" || name == "py" {
			for i := 1; i < len(words); i++ {
				if words[i] == "-m" && i+1 < len(words) {
					module := words[i+1]
					if module == "coverage" && i+2 < len(words) && words[i+2] == "run" {
						return unwrap(append([]string{"python"}, words[i+3:]...))
					}
					return append([]string{module}, words[i+2:]...)
				}
				if !strings.HasPrefix(words[i], "-") {
					break
				}
			}
			name = "python"
		}
		return append([]string{name}, words[1:]...)
	}
	return nil
}

func skipFlags(words []string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		words = words[1:]
	}
	return words
}

// shellCommands splits text at the shell's operators and into words, quotes taken off; the text behind `sh -c` is
// split as well. It understands as much of the shell as a log's command needs and never fails.
func shellCommands(text string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	started := false
	endWord := func() {
		if started {
			words = append(words, word.String())
			word.Reset()
			started = false
		}
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			out = append(out, words)
			if n := len(words); n >= 3 && (words[n-2] == "-c" || words[n-2] == "-lc" || words[n-2] == "-ec" || words[n-2] == "-euc") && isShell(words[0]) {
				out = append(out[:len(out)-1], shellCommands(words[n-1])...)
			}
			words = nil
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"', '`':
			started = true
			j := i + 1
			for j < len(text) && text[j] != c {
				if c != '\'' && text[j] == '\\' && j+1 < len(text) {
					j++
				}
				word.WriteByte(text[j])
				j++
			}
			i = j
		case '\\':
			if i+1 < len(text) {
				i++
				word.WriteByte(text[i])
				started = true
			}
		case ' ', '\t':
			endWord()
		case '\n', ';', '|', '(', ')', '{', '}':
			if (c == '{' || c == '}') && started {
				word.WriteByte(c)
				continue
			}
			endCommand()
		case '&':
			if started && strings.HasSuffix(word.String(), ">") || i+1 < len(text) && text[i+1] == '>' {
				word.WriteByte(c)
				started = true
				continue
			}
			endCommand()
		case '>', '<':
			word.WriteByte(c)
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	endCommand()
	return out
}

func isShell(name string) bool {
	switch path.Base(name) {
	case "sh", "bash", "zsh", "dash", "ash", "ksh":
		return true
	}
	return false
}

// named makes a runs function for tools whose command is one of the given names, or begins with one of the given
// word sequences ("go test").
func named(names ...string) func([]string) bool {
	return func(args []string) bool {
		for _, n := range names {
			first, rest, more := strings.Cut(n, " ")
			if args[0] != first {
				continue
			}
			if !more {
				return true
			}
			for _, a := range args[1:] {
				if a == rest {
					return true
				}
				if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") && !strings.Contains(a, "=") {
					break
				}
			}
		}
		return false
	}
}
