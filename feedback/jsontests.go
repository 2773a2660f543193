package feedback

import (
	"encoding/json"
	"path"
	"strings"
	"time"
)

// readRspec reads RSpec's JSON formatter.
func readRspec(s *sink, text []byte) bool {
	var d struct {
		Examples []struct {
			Description string  `json:"full_description"`
			Status      string  `json:"status"`
			File        string  `json:"file_path"`
			Line        int     `json:"line_number"`
			Time        float64 `json:"run_time"`
			Exception   *struct {
				Class, Message string
				Backtrace      []string
			}
		}
		Messages []string
		Summary  struct {
			Examples int `json:"example_count"`
			Failures int `json:"failure_count"`
			Pending  int `json:"pending_count"`
			Errors   int `json:"errors_outside_of_examples_count"`
		}
	}
	if !decode(text, &d) || d.Examples == nil {
		return false
	}
	for _, m := range d.Messages {
		if strings.Contains(m, "An error occurred ") {
			f := rubyBlock(s, strings.Split(m, "\n"))
			f.Kind = KindSetup
			f.ID = f.File
			s.fail(f)
		}
	}
	for _, e := range d.Examples {
		status := CasePassed
		switch e.Status {
		case "failed":
			status = CaseFailed
		case "pending":
			status = CaseSkipped
		}
		s.test(e.Description, s.file(e.File), status, time.Duration(e.Time*float64(time.Second)))
		if status != CaseFailed {
			continue
		}
		f := Failure{ID: e.Description, File: e.File, Line: e.Line, Kind: KindTest}
		if x := e.Exception; x != nil {
			f.Message = strings.TrimSpace(x.Message)
			if !strings.Contains(x.Class, "ExpectationNotMet") && !strings.Contains(f.Message, x.Class) {
				f.Message = x.Class + ": " + f.Message
			}
			f.Expected, f.Actual = rubyValues(strings.Split(x.Message, "\n"))
			var frames []frame
			for _, b := range x.Backtrace {
				if m := miniFrame.FindStringSubmatch(" " + b); m != nil {
					frames = append(frames, frame{file: m[1], line: atoi(m[2])})
				}
			}
			for l := range strings.Lines(x.Message) { // aggregated failures have their places in the message
				if m := miniFrame.FindStringSubmatch(" " + strings.TrimSpace(l)); m != nil {
					frames = append([]frame{{file: m[1], line: atoi(m[2])}}, frames...)
					break
				}
			}
			if top, ok := s.topFrame(frames); ok {
				f.File, f.Line = top.file, top.line
			}
		}
		s.red = true
		s.fail(f)
	}
	failed := d.Summary.Failures + d.Summary.Errors
	s.add(d.Summary.Examples-d.Summary.Failures-d.Summary.Pending, failed, d.Summary.Pending)
	s.ended, s.red, s.green = true, s.red || failed > 0, failed == 0
	return true
}

// readGtestJSON reads what googletest writes for --gtest_output=json.
func readGtestJSON(s *sink, text []byte) bool {
	var d struct {
		Suites []struct {
			Name  string
			Tests []struct {
				Name, Status, Result, File, Time, Classname string
				Line                                        int
				Failures                                    []struct{ Failure string }
			} `json:"testsuite"`
		} `json:"testsuites"`
	}
	if !decode(text, &d) || d.Suites == nil {
		return false
	}
	passed, failed, skipped := 0, 0, 0
	for _, suite := range d.Suites {
		for _, t := range suite.Tests {
			id, file := suite.Name+"."+t.Name, s.file(t.File)
			took, err := time.ParseDuration(t.Time)
			if err != nil {
				took = 0
			}
			switch {
			case len(t.Failures) > 0:
				failed++
				s.test(id, file, CaseFailed, took)
				f := gtestFailure(strings.Split(t.Failures[0].Failure, "\n"))
				f.ID = id
				if f.File == "" {
					f.File, f.Line = t.File, t.Line
				}
				s.red = true
				s.fail(f)
			case t.Result == "SUPPRESSED" || t.Status == "NOTRUN":
				s.test(id, file, CaseSkipped, 0) // disabled tests are not among googletest's skipped ones
			case t.Result == "SKIPPED":
				skipped++
				s.test(id, file, CaseSkipped, took)
			default:
				passed++
				s.test(id, file, CasePassed, took)
			}
		}
	}
	s.add(passed, failed, skipped)
	s.ended, s.green = true, failed == 0
	return true
}

func readPytestJSON(s *sink, text []byte) bool {
	var d struct {
		Summary map[string]json.Number
		Tests   []struct {
			NodeID, Outcome string
			Call, Setup     struct {
				Crash struct {
					Path, Message string
					Lineno        int
				}
				Longrepr json.RawMessage
			}
		}
		Collectors []struct {
			NodeID, Outcome string
			Longrepr        json.RawMessage
		}
	}
	if !decode(text, &d) || len(d.Tests)+len(d.Collectors) == 0 {
		return false
	}
	passed, failed, skipped := 0, 0, 0
	for _, t := range d.Tests {
		f := Failure{ID: t.NodeID, File: testFile(t.NodeID), Kind: KindTest}
		repr := t.Call.Longrepr
		crash := t.Call.Crash
		switch t.Outcome {
		case "failed":
			failed++
		case "error":
			failed++
			f.Kind, repr, crash = KindSetup, t.Setup.Longrepr, t.Setup.Crash
		case "skipped":
			skipped++
			s.test(t.NodeID, f.File, CaseSkipped, 0)
			continue
		default:
			if t.Outcome == "passed" {
				passed++
				s.test(t.NodeID, f.File, CasePassed, 0)
			}
			continue
		}
		s.test(t.NodeID, f.File, CaseFailed, 0)
		long, _ := jsonText(repr)
		b := readPyBlock(s, strings.Split(long, "\n"))
		f.Message, f.Expected, f.Actual = strings.Join(b.message, "\n"), b.expected, b.actual
		if f.Message == "" {
			f.Message = crash.Message
		}
		if b.file != "" {
			f.File, f.Line = b.file, b.line
		} else if crash.Path != "" {
			f.File, f.Line = crash.Path, crash.Lineno
		}
		s.red = true
		s.fail(f)
	}
	for _, c := range d.Collectors {
		if c.Outcome != "failed" {
			continue
		}
		long, _ := jsonText(c.Longrepr)
		b := readPyBlock(s, strings.Split(long, "\n"))
		f := Failure{ID: c.NodeID, File: c.NodeID, Message: strings.Join(b.message, "\n"), Kind: KindSetup}
		if b.file != "" {
			f.File, f.Line = b.file, b.line
		}
		s.red = true
		s.fail(f)
	}
	s.add(passed, failed, skipped)
	return true
}

func readMocha(s *sink, text []byte) bool {
	type test struct {
		Title, FullTitle, File string
		Duration               float64
		Err                    struct {
			Message, Stack   string
			Expected, Actual json.RawMessage
		}
	}
	var d struct {
		Stats struct {
			Passes, Failures, Pending int
		}
		Passes, Failures, Pending []test
	}
	if !decode(text, &d) {
		return false
	}
	s.add(d.Stats.Passes, d.Stats.Failures, d.Stats.Pending)
	hand := func(list []test, status CaseStatus) {
		for _, t := range list {
			s.test(t.FullTitle, s.file(t.File), status, time.Duration(t.Duration*float64(time.Millisecond)))
		}
	}
	hand(d.Passes, CasePassed)
	hand(d.Pending, CaseSkipped)
	hand(d.Failures, CaseFailed)
	for _, t := range d.Failures {
		f := jsError(s, strings.Split(cleanText(t.Err.Stack), "\n"))
		if f.Message == "" {
			f.Message = t.Err.Message
		}
		if f.File == "" {
			f.File = t.File
		}
		f.ID, f.Kind = t.FullTitle, KindTest
		if e, ok := jsonText(t.Err.Expected); ok {
			f.Expected = &e
		}
		if a, ok := jsonText(t.Err.Actual); ok {
			f.Actual = &a
		}
		s.red = true
		s.fail(f)
	}
	return true
}

// readMochaFailure reads a failed test of Mocha's json-stream reporter, which prints a line for each event.
func readMochaFailure(s *sink, text []byte) bool {
	var d [2]json.RawMessage
	var t struct{ FullTitle, File, Err, Stack string }
	if !decode(text, &d) || json.Unmarshal(d[1], &t) != nil {
		return false
	}
	if t.Stack == "" {
		t.Stack = t.Err
	}
	f := jsError(s, strings.Split(t.Stack, "\n"))
	f.ID, f.Kind = t.FullTitle, KindTest
	if f.File == "" {
		f.File = t.File
	}
	s.ran, s.red = true, true
	s.fail(f)
	return true
}

// readMochaEnd reads the totals of Mocha's json-stream reporter.
func readMochaEnd(s *sink, text []byte) bool {
	var d [2]json.RawMessage
	var t struct{ Passes, Failures, Pending int }
	if !decode(text, &d) || json.Unmarshal(d[1], &t) != nil {
		return false
	}
	s.add(t.Passes, t.Failures, t.Pending)
	s.ran, s.ended, s.red = true, true, s.red || t.Failures > 0
	s.green = !s.red
	return true
}

func readPlaywright(s *sink, text []byte) bool {
	type suite struct {
		Title, File string
		Specs       []struct {
			Title, File string
			Line        int
			Tests       []struct {
				Status      string
				ProjectName string
				Results     []struct {
					Status string
					Errors []struct{ Message, Stack string }
					Error  struct{ Message, Stack string }
				}
			}
		}
		Suites []json.RawMessage
	}
	var d struct {
		Config struct{ RootDir string }
		Suites []json.RawMessage
		Errors []struct{ Message, Stack string }
		Stats  struct{ Expected, Unexpected, Skipped, Flaky int }
	}
	if !decode(text, &d) {
		return false
	}
	s.add(d.Stats.Expected+d.Stats.Flaky, d.Stats.Unexpected, d.Stats.Skipped)
	var walk func(raw json.RawMessage, titles []string)
	walk = func(raw json.RawMessage, titles []string) {
		var x suite
		if !decode(raw, &x) {
			return
		}
		if x.Title != "" && x.Title != x.File {
			titles = append(append([]string{}, titles...), x.Title)
		}
		for _, spec := range x.Specs {
			id := strings.Join(append(append([]string{}, titles...), spec.Title), " › ")
			for _, t := range spec.Tests {
				switch t.Status {
				case "flaky":
					s.flaky(id)
				case "unexpected":
				default:
					continue
				}
				if t.Status == "flaky" {
					continue
				}
				f := Failure{Message: "failed without a message"}
				if n := len(t.Results); n > 0 {
					r := t.Results[n-1]
					msg := r.Error.Message + "\n" + r.Error.Stack
					if len(r.Errors) > 0 {
						msg = r.Errors[0].Message + "\n" + r.Errors[0].Stack
					}
					f = jsError(s, strings.Split(cleanText(msg), "\n"))
				}
				if f.File == "" {
					f.File, f.Line = path.Join(d.Config.RootDir, spec.File), spec.Line
				}
				f.ID, f.Kind, f.Suite = id, KindTest, spec.File
				s.red = true
				s.fail(f)
			}
		}
		for _, c := range x.Suites {
			walk(c, titles)
		}
	}
	for _, x := range d.Suites {
		walk(x, nil)
	}
	for _, e := range d.Errors {
		f := jsError(s, strings.Split(cleanText(e.Message+"\n"+e.Stack), "\n"))
		f.Kind = KindSetup
		s.red = true
		s.fail(f)
	}
	return true
}
