package feedback

import "strings"

// readCargo reads one message of `cargo --message-format=json`, or of rustc's own `--error-format=json`.
func readCargo(s *sink, text []byte) bool {
	type diagnostic struct {
		Level, Message, Rendered string
		Code                     *struct{ Code string }
		Spans                    []struct {
			File    string `json:"file_name"`
			Line    int    `json:"line_start"`
			Primary bool   `json:"is_primary"`
			Label   string
		}
	}
	var d struct {
		Reason  string
		Message diagnostic
		Success *bool
	}
	if !decode(text, &d) || d.Reason == "" {
		return false
	}
	switch {
	case d.Reason == "build-finished" && d.Success != nil:
		s.green, s.red = *d.Success, s.red || !*d.Success
	case d.Reason == "compiler-message" && d.Message.Level == "error":
		m := d.Message
		if rustWeak.MatchString(m.Message) {
			return true
		}
		f := Failure{Message: "error: " + m.Message, Kind: KindCompile}
		if m.Code != nil {
			f.ID = m.Code.Code
			f.Message = "error[" + f.ID + "]: " + m.Message
			if strings.HasPrefix(f.ID, "clippy::") {
				f.Kind = KindLint
			}
		}
		for _, p := range m.Spans {
			if p.Primary {
				f.File, f.Line = p.File, p.Line
				if p.Label != "" {
					f.Message += "\n" + p.Label
				}
				break
			}
		}
		s.red = true
		s.fail(f)
	}
	return true
}

// readLibtest reads one event of libtest's JSON format.
func readLibtest(s *sink, text []byte) bool {
	var d struct {
		Type, Event, Name, Stdout string
		Passed, Failed, Ignored   int
	}
	if !decode(text, &d) || d.Type != "test" && d.Type != "suite" {
		return false
	}
	switch {
	case d.Type == "suite" && d.Event != "started":
		s.add(d.Passed, d.Failed, d.Ignored)
		s.green, s.red, s.ended = s.green || d.Event == "ok", s.red || d.Event == "failed", true
	case d.Event == "started":
		s.open = d.Name
	case d.Event == "ok":
		s.test(d.Name, "", CasePassed, 0)
	case d.Event == "ignored":
		s.test(d.Name, "", CaseSkipped, 0)
	case d.Event == "failed":
		s.test(d.Name, "", CaseFailed, 0)
		f := rustPanic(s, strings.Split(d.Stdout, "\n"))
		f.ID = d.Name
		s.red = true
		s.fail(f)
	}
	return true
}
