package feedback

import "strings"

// A prefix is what a CI system, a container runner or a task runner puts in front of each line. Timestamps of CI
// systems are taken off any line. The others look like text, so they are taken off only when the beginning of the
// log, or the command, shows that its lines carry them; their names tell interleaved streams apart.
type prefix struct {
	name    string
	sure    bool     // so unlike text that a single line proves it
	pattern *pattern // group 1, where there is one, names the stream
	share   float64  // of the first lines that must match
	command string   // word of the command that makes a tenth of the share enough
}

var prefixes = []prefix{
	{"gh", true, newPattern(`^([^\t\n]{1,120}\t[^\t\n]{1,160}\t)\x{feff}?\d{4}-\d\d-\d\dT[\d:.]+Z(?: |$)`), 0.6, ""},
	{"jenkins", true, newPattern(`^\[\d{4}-\d\d-\d\dT[\d:.]+Z\] `), 0.6, ""},
	{"bracket-time", false, newPattern(`^\[\d\d:\d\d:\d\d(?:[.,]\d+)?\] `), 0.9, ""},
	{"plain-time", false, newPattern(`^\d\d:\d\d:\d\d(?:[.,]\d+)? {1,2}`), 0.9, ""},
	{"date-time", false, newPattern(`^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? `), 0.8, ""},
	{"kubectl", true, newPattern(`^(\[pod/[^\]]+\])(?: |$)`), 0.6, ""},
	{"compose", true, newPattern(`^([A-Za-z][\w.-]*[-_]\d+)\s+\|(?: |$)`), 0.7, "compose"},
	{"compose", false, newPattern(`^([A-Za-z][\w.-]*)\s+\| ?`), 0.85, "compose"},
	{"buildkit", true, newPattern(`^(#\d+)(?: \d+\.\d+(?: |$)| |$)`), 0.7, "docker"},
	{"turbo", false, newPattern(`^((?:@[\w.-]+/)?[\w-]+:[A-Za-z][\w:-]*): ?`), 0.6, "turbo"},
	{"lerna", false, newPattern(`^(@[\w.-]+/[\w.-]+): ?`), 0.6, "lerna"},
	// A share beyond all lines: only with the command.
	{"lerna", false, newPattern(`^([\w.-]+): ?`), 1.4, "lerna"},
	{"nx", false, newPattern(`^([\w.-]+): ?`), 1.4, "nx"},
	{"pnpm", false, newPattern(`^((?:\.|[\w@.-]+(?:/[\w@.-]+)+) [\w:-]+)(?::|\$) `), 0.7, "pnpm"},
	// A number of a number is a step of a build: [12/9000].
	{"concurrently", false, newPattern(`^(\[(?:\d+|\d*[A-Za-z@_.:-][\w:@/.-]{0,40})\])(?: |$)`), 0.8, "concurrently"},
	{"yarn-workspaces", false, newPattern(`^(\[[\w@/.-]{1,60}\]):(?: |$)`), 0.7, "yarn"},
}

const (
	sniffLines = 400 // lines at the beginning of the log that decide about prefixes
	maxStreams = 64  // interleaved streams told apart; further ones share the first
	maxNesting = 2   // prefixes that are looked for behind each other
)

// sniffPrefixes decides which prefixes the log's lines carry, outermost first.
func sniffPrefixes(lines []string, command string) []prefix {
	var found []prefix
	var texts []string
	for _, l := range lines {
		if l = stampless(cleanLine(l)); strings.TrimSpace(l) != "" {
			texts = append(texts, l)
		}
	}
	for range maxNesting {
		p, ok := commonPrefix(texts, command)
		if !ok {
			break
		}
		found = append(found, p)
		for i, l := range texts {
			if m := p.pattern.FindString(l); m != "" {
				texts[i] = l[len(m):]
			}
		}
	}
	return found
}

// logLevel is what a logger puts in front of a line; it is no stream's name.
var logLevel = newPattern(`^\[(?i:info|warn|warning|error|debug|fatal|trace|notice)\]`)

func commonPrefix(texts []string, command string) (prefix, bool) {
	const fewest = 3 // lines: two lines prove nothing
	for _, p := range prefixes {
		if len(texts) == 0 || len(texts) < fewest && !p.sure {
			continue
		}
		n := 0
		for _, l := range texts {
			if p.pattern.MatchString(l) && !logLevel.MatchString(l) {
				n++
			}
		}
		share := p.share
		if p.command != "" && strings.Contains(command, p.command) {
			share /= 2
		}
		if float64(n) >= share*float64(len(texts)) {
			return p, true
		}
	}
	return prefix{}, false
}

// stampless takes the timestamp off that GitHub Actions and Azure put before each line of a downloaded log.
func stampless(s string) string {
	// 2026-03-04T09:15:20.0000031Z text
	const shortest = len("2026-03-04T09:15:20Z")
	if len(s) < shortest || s[0] != '2' && s[0] != '1' || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' {
		return s
	}
	i := 19
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		}
	}
	if i >= len(s) || s[i] != 'Z' {
		return s
	}
	if i++; i < len(s) && s[i] == ' ' {
		i++
	} else if i < len(s) {
		return s
	}
	s = s[i:]
	// GitLab goes on with the number of the stream: "01O text", "01E+text" for a continued line.
	if len(s) >= 3 && isDigits(s[:2]) && (s[2] == 'O' || s[2] == 'E') && (len(s) == 3 || s[3] == ' ' || s[3] == '+') {
		s = s[min(4, len(s)):]
	}
	return s
}

// streamJoin stands between the names of prefixes behind each other.
const streamJoin = "\x00"

// unprefix takes the found prefixes off a line and returns its stream's name with it.
func unprefix(s string, found []prefix) (stream, text string) {
	for _, p := range found {
		m := p.pattern.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		if len(m) > 2 && m[2] >= 0 {
			if stream != "" {
				stream += streamJoin
			}
			stream += s[m[2]:m[3]]
		}
		s = s[m[1]:]
	}
	return stream, s
}
