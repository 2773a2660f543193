package feedback

import (
	"slices"
	"strings"
)

func isPytestGate(text string) bool {
	return strings.Contains(text, "overage") && pytestGate.MatchString(text)
}

func (p *pytest) gate(x *pytestSession, text string) {
	x.gate = &Failure{Message: strings.TrimPrefix(text, "FAIL "), Kind: KindGate, Log: p.s.now}
}

// tbLine handles --tb=line: "/path/file.py:17: AssertionError: assert …".
func (p *pytest) tbLine(x *pytestSession, text string) {
	if m := pytestPlace.FindStringSubmatch(text); m != nil && m[3] != "" {
		b := &pytestBlock{kind: "LINE", log: p.s.now}
		b.text.add(text)
		x.blocks = append(x.blocks, b)
	} else if n := len(x.blocks); n > 0 && text != "" && x.blocks[n-1].kind == "LINE" {
		x.blocks[n-1].text.add(text)
	}
}

func (p *pytest) newNote(x *pytestSession, text string) {
	p.endNote(x)
	x.note = &Failure{Message: text, Kind: KindConfig, Log: p.s.now}
}

// noteGoesOn adds a line to the error outside of blocks that is being read.
func (p *pytest) noteGoesOn(x *pytestSession, text string) bool {
	const most = 60 // lines of such an error that are read
	if strings.Count(x.note.Message, "\n") > most {
		p.endNote(x)
		return false
	}
	if text == "" {
		x.note.Message += "\n"
		return true
	}
	if strings.HasPrefix(text, "tests/") && pytestVerbose.MatchString(text) {
		p.endNote(x)
		return false
	}
	x.note.Message += "\n" + text
	return true
}

func (p *pytest) endNote(x *pytestSession) {
	if x.note == nil {
		return
	}
	x.notes = append(x.notes, p.noteFailure(*x.note))
	x.note = nil
}

// noteFailure turns the raw text of an error outside of blocks into a report entry.
func (p *pytest) noteFailure(f Failure) Failure {
	lines := strings.Split(strings.TrimSpace(f.Message), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "INTERNALERROR> ")
	}
	b := readPyBlock(p.s, lines)
	f.File, f.Line = b.file, b.line
	switch {
	case strings.HasPrefix(lines[0], "ImportError while loading conftest"):
		f.Kind = KindSetup
		f.ID = "conftest.py"
		f.Message = strings.Join(append(b.message, lines[0]), "\n")
	case strings.HasPrefix(lines[0], "Fatal Python error"), strings.HasPrefix(lines[0], "Traceback"):
		f.Kind = KindCrash
		if len(b.message) > 0 && !strings.HasPrefix(lines[0], "Fatal") {
			f.Message = strings.Join(b.message, "\n")
		} else {
			f.Message = lines[0]
		}
	case strings.HasPrefix(lines[0], "+++++"):
		f.Kind, f.Message = KindTimeout, "Timeout: pytest-timeout ended the run"
	case strings.HasPrefix(f.Message, "INTERNALERROR> "):
		f.Kind = KindCrash
		f.Message = "INTERNALERROR: " + strings.Join(b.message, "\n")
	default:
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "error: ") }); i > 0 {
			said := lines[i]
			lines = append([]string{said}, slices.Delete(lines, i, i+1)...)
		}
		f.Message = strings.Join(lines, "\n")
		if b.file != "" && !strings.Contains(lines[0], b.file) {
			f.File, f.Line = "", 0
		}
	}
	return f
}
