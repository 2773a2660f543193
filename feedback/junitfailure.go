package feedback

import (
	"strings"
)

// failure reads the text of a failed case in the style of the language it is of.
func (j *junit) failure(c *junitCase, p junitProblem, file string) Failure {
	text := strings.TrimSpace(p.Text + p.Stack)
	lines := strings.Split(text, "\n")
	f := Failure{Kind: KindTest, Log: j.s.now}
	switch {
	case c.PHPClass != "" && len(lines) > 1 && strings.HasPrefix(lines[0], c.PHPClass+"::"):
		// The test's name, the message, and the places from the inside out.
		var message []string
		for _, l := range lines[1:] {
			if m := phpAt.FindStringSubmatch(l); m != nil {
				if f.File == "" || j.s.own(m[1]) && !j.s.own(f.File) {
					f.File, f.Line = m[1], atoi(m[2])
				}
				continue
			}
			message = append(message, l)
		}
		f.Message = strings.TrimSpace(strings.Join(message, "\n"))
		f.Expected, f.Actual = phpValues(message)
	case strings.Contains(text, "\nE  ") || strings.HasPrefix(text, "E  ") || pyFrame.MatchString(firstMatching(lines, "File \"")):
		b := readPyBlock(j.s, lines)
		f.Message, f.File, f.Line = strings.Join(b.message, "\n"), b.file, b.line
		f.Expected, f.Actual = b.expected, b.actual
	case len(goEntries(lines)) > 0:
		e := goEntries(lines)
		best := e[len(e)-1]
		for _, x := range e {
			if x.assertion() {
				best = x
				break
			}
		}
		f.Message, f.File, f.Line = best.message(), best.file, best.line
		if file, line := best.testifyPlace(j.s); file != "" {
			f.File, f.Line = file, line
		}
		f.File = j.s.goFile(f.File, j.s.goDir(c.Class))
		f.Expected, f.Actual = best.values()
	default:
		f = jsError(j.s, lines)
		f.Kind, f.Log = KindTest, j.s.now
		if f.File == "" {
			f.File, f.Line = batsPlace(text)
		}
		if m := gtestJSONAt.FindStringSubmatch(lines[0]); m != nil && f.File == "" {
			f.File, f.Line = m[1], atoi(m[2]+m[3])
		}
		if f.File == "" {
			f.File, f.Line = j.s.placeInTrace(lines)
		}
		if m := messageAboveTrace(lines); m != "" && (f.File != "" || p.Message != "") {
			f.Message = m
		}
		if cause := nodeCause(lines); cause != "" && !strings.Contains(f.Message, cause) {
			f.Message += "\n" + cause
		}
	}
	if msg := strings.TrimSpace(p.Message); msg != "" && !strings.Contains(f.Message, firstLine(msg)) {
		if p.Type != "" && !strings.Contains(msg, p.Type) && strings.Contains(p.Type, ".") {
			msg = p.Type + ": " + msg
		}
		f.Message = strings.TrimSpace(msg + "\n" + f.Message)
		f.Expected, f.Actual = expectedActual(msg)
	}
	if f.Message == "" {
		f.Message = p.Type
	}
	if f.Message == "" {
		f.Message = "failed without a message"
	}
	if file == "" && sourceFile.MatchString(c.Class) {
		file = c.Class
	}
	if f.File == "" && file != "" {
		f.File, f.Line = file, atoi(c.Line)
	} else if f.Line == 0 && f.File == file {
		f.Line = atoi(c.Line)
	}
	return f
}

// eslintPlace begins the text of ESLint's findings: "line 1, col 7, Error - …".
var eslintPlace = newPattern(`^line (\d+), col \d+, (Error|Warning) - `)

// eslint reads a finding that ESLint writes as a test case of the suite that is the source file.
func (j *junit) eslint(rule, file string, p junitProblem) {
	m := eslintPlace.FindStringSubmatch(strings.TrimSpace(p.Text))
	if m == nil || m[2] == "Warning" {
		return
	}
	kind := KindLint
	if rule == "unknown" {
		rule, kind = "", KindCompile
	}
	j.s.role = roleLint
	j.s.finding(kind, rule, file, atoi(m[1]), p.Message)
}

// pytestID rebuilds pytest's node id, which its XML takes apart.
func pytestID(c *junitCase) string {
	if c.Class == "" || strings.ContainsAny(c.Class, "/ :") {
		return ""
	}
	for _, p := range append(append([]junitProblem{}, c.Failures...), c.Errors...) {
		if !strings.Contains(p.Text, "\nE  ") && !strings.HasPrefix(p.Text, "E  ") {
			return ""
		}
		for l := range strings.Lines(p.Text) {
			if m := pytestPlace.FindStringSubmatch(strings.TrimSpace(l)); m != nil && strings.HasSuffix(m[1], ".py") {
				module := strings.ReplaceAll(strings.TrimSuffix(m[1], ".py"), "/", ".")
				if rest, ok := strings.CutPrefix(c.Class+".", module+"."); ok {
					return m[1] + "::" + strings.ReplaceAll(rest, ".", "::") + c.Name
				}
			}
		}
	}
	return ""
}
