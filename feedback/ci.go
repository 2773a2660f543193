package feedback

import "strings"

func ciTool() *tool {
	return &tool{
		name: "ci", what: "group markers, annotations and last words of GitHub Actions, Azure and GitLab", role: roleRun, wrapper: true,
		invocations: []string{"a downloaded CI log"},
		make:        func(s *sink) reader { return &ci{s: s} },
	}
}

// ci takes out what CI systems add as lines of their own.
type ci struct{ s *sink }

var (
	ciMarker  = newPattern(`^(?:##\[(?:group|endgroup|section|command|debug|add-path|set-env|set-output)\]|::(?:group|endgroup|debug|add-matcher|remove-matcher|set-output|save-state|stop-commands|add-mask)\b|section_(?:start|end):\d+:|\^\^\^ |--- :|~~~ )`)
	ciExit    = newPattern(`^(?:##\[error\]|::error::)?(?:Process completed with exit code \d+\.?|The process '.*' failed with exit code \d+|Bash exited with code '\d+'\.?)$`)
	ciExit2   = newPattern(`^ERROR: Job failed: (?:exit code \d+|exit status \d+|command terminated with exit code \d+)$`)
	ciMachine = newPattern(`^(?:##\[error\])?(The runner has received a shutdown signal.*|The hosted runner.*lost communication.*|The operation was canceled\.|The self-hosted runner.*lost communication.*|ERROR: Job failed \(system failure\).*|ERROR: Job failed: execution took longer than .*|The job running on .* has exceeded the maximum execution time.*|The job has exceeded the maximum execution time.*)$`)
)

// line implements reader.
func (c *ci) line(l line) claim {
	t := l.text
	if len(t) < 4 {
		return pass
	}
	switch t[0] {
	case '#', ':', 's', '^', '-', '~':
		if (t[1] == '#' || t[1] == ':' || t[1] == '^' || t[1] == '-' || t[1] == '~' || strings.HasPrefix(t, "section_")) && ciMarker.MatchString(t) {
			return mine
		}
		if t[0] != '#' && t[0] != ':' {
			return pass
		}
	case 'E', 'T', 'P', 'B':
		if !strings.HasPrefix(t, "ERROR: Job") && !strings.HasPrefix(t, "The ") && !strings.HasPrefix(t, "Process completed") && !strings.HasPrefix(t, "Bash exited") {
			return pass
		}
	default:
		return pass
	}
	if ciExit.MatchString(t) || ciExit2.MatchString(t) {
		return mine
	}
	if m := ciMachine.FindStringSubmatch(t); m != nil {
		f := Failure{Message: m[1], Kind: KindEnvironment, weak: strings.HasPrefix(m[1], "The operation was canceled")}
		if strings.Contains(t, "execution time") || strings.Contains(t, "took longer") {
			f.Kind = KindTimeout
		}
		c.s.fail(f)
		return mine
	}
	return pass
}

// close implements reader.
func (c *ci) close() {}
