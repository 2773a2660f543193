package feedback

import "strings"

// progress handles what is printed while tests run.
func (p *pytest) progress(x *pytestSession, text string) claim {
	if text == "" {
		return hold
	}
	if text[0] == '[' {
		if m := pytestXdist.FindStringSubmatch(text); m != nil {
			x.result(m[2], m[1])
			return hold
		}
	}
	if strings.Contains(text, "::") {
		if i := strings.LastIndex(text, " PASSED"); i > 0 && plainPercent(text[i+len(" PASSED"):]) && strings.Contains(text[:i], "::") {
			x.result(text[:i], "PASSED") // nearly all lines of a verbose run
			x.open = ""
			return hold
		}
		if m := pytestVerbose.FindStringSubmatch(text); m != nil {
			x.result(m[1], m[2])
			x.open = ""
			return hold
		}
	}
	switch {
	case strings.HasPrefix(text, "PASSED"), strings.HasPrefix(text, "FAILED"), strings.HasPrefix(text, "SKIPPED"), strings.HasPrefix(text, "ERROR "), strings.HasPrefix(text, "XFAIL"):
		word, _, _ := strings.Cut(text, " ")
		if x.open != "" && pytestStatus(word) != "" {
			x.result(x.open, word)
			x.open = ""
			return hold
		}
	case isPytestGate(text):
		p.gate(x, text)
		return hold
	case strings.Contains(text, "::") && !strings.HasPrefix(text, " "):
		if id, _, _ := strings.Cut(text, " "); strings.Contains(id, ".py::") {
			x.open = strings.Clone(id)
		}
		return hold
	case strings.HasPrefix(text, "!!!"):
		x.stopped = strings.Clone(strings.Trim(text, "! "))
		return hold
	case (len(text) < 200 || strings.HasSuffix(text, "%]")) && pytestProgress.MatchString(text):
		marks := text
		if f, rest, ok := strings.Cut(text, " "); ok && strings.HasSuffix(f, ".py") {
			x.file, marks = strings.Clone(f), rest
		}
		for range strings.Count(marks, "E") {
			if len(x.erred) < pytestBlocks {
				x.erred = append(x.erred, x.file)
			}
		}
		return hold
	}
	if x.note == nil && (strings.Contains(text, "rror") || strings.Contains(text, "ERROR") || strings.Contains(text, "usage")) && pytestUsage.MatchString(text) || strings.HasPrefix(text, "INTERNALERROR> ") || strings.HasPrefix(text, "Fatal Python error: ") || strings.HasPrefix(text, "+++++") && strings.Contains(text, " Timeout ") {
		p.newNote(x, text)
		return hold
	}
	if !x.header && len(x.order) == 0 && x.section == "" && x.note == nil && len(x.blocks) == 0 {
		// Not a pytest run after all, or one whose report is over.
		if len(x.notes) == 0 && x.file == "" {
			return hold
		}
	}
	return hold
}

// plainPercent tells whether only blanks and "[ 50%]" follow.
func plainPercent(s string) bool {
	return strings.Trim(s, " []%0123456789") == ""
}

func (x *pytestSession) result(id, word string) {
	id = strings.TrimSpace(id)
	if word == "RERUN" {
		x.reruns[strings.Clone(id)] = true
		return
	}
	status := pytestStatus(word)
	if status == "" {
		return
	}
	c, ok := x.verbose[id]
	if !ok {
		if len(x.order) >= maxKeptCases {
			return
		}
		id = strings.Clone(id)
		c = &pytestCase{}
		x.verbose[id] = c
		x.order = append(x.order, id)
	}
	if c.status == CaseFailed && status == CasePassed {
		return // an error in teardown follows a pass, never the other way round
	}
	c.status = status
}

func pytestStatus(word string) CaseStatus {
	switch word {
	case "PASSED", "XPASS":
		return CasePassed
	case "FAILED", "ERROR":
		return CaseFailed
	case "SKIPPED", "XFAIL":
		return CaseSkipped
	}
	return ""
}

// summaryLine handles a line of the short summary; what is no entry continues the one before.
func (p *pytest) summaryLine(x *pytestSession, text string) {
	m := pytestWord.FindStringSubmatch(text)
	if m == nil {
		switch {
		case strings.HasPrefix(text, "!!!"):
			x.stopped = strings.Clone(strings.Trim(text, "! "))
		case isPytestGate(text):
			p.gate(x, text)
		default:
			if n := len(x.summary); n > 0 && text != "" && len(x.summary[n-1].text) < 4*maxMessage {
				x.summary[n-1].text += "\n" + text
			}
		}
		return
	}
	switch m[1] {
	case "FAILED", "ERROR", "SUBFAIL", "SUBFAILED":
		id, rest := splitNodeID(m[2])
		x.summary = append(x.summary, pytestEntry{word: m[1], id: id, text: rest, log: p.s.now})
	case "RERUN":
		x.reruns[strings.Clone(m[2])] = true
	default:
		x.summary = append(x.summary, pytestEntry{word: m[1]})
	}
}

// splitNodeID parts "file::name[a - b] - message".
func splitNodeID(s string) (id, text string) {
	from := 0
	if i := strings.Index(s, "["); i >= 0 {
		if j := strings.Index(s, " - "); j < 0 || i < j {
			if k := strings.Index(s, "] - "); k > i {
				from = k
			} else if strings.HasSuffix(s, "]") {
				return s, ""
			}
		}
	}
	if i := strings.Index(s[from:], " - "); i >= 0 {
		return s[:from+i], s[from+i+3:]
	}
	return s, ""
}
