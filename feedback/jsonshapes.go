package feedback

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// jsonShapes are the JSON reports that are understood. A new one is a line here and a read function.
var jsonShapes = []jsonShape{
	{"golangci-lint", roleLint, []string{`"Issues"`, `"FromLinter"`}, readGolangci},
	{"staticcheck", roleLint, []string{`"code"`, `"location"`, `"message"`, `"file"`}, readStaticcheck},
	{"eslint", roleLint, []string{`"filePath"`, `"messages"`}, readESLint},
	{"stylelint", roleLint, []string{`"source"`, `"warnings"`}, readStylelint},
	{"jest", roleTest, []string{`"testResults"`, `"numFailedTests"`, `"numRuntimeErrorTestSuites"`}, readJest},
	{"vitest", roleTest, []string{`"testResults"`, `"numFailedTests"`, `"numFailedTestSuites"`}, readJest},
	{"jest", roleTest, []string{`"testResults"`, `"numFailedTests"`}, readJest},
	{"mocha", roleTest, []string{`"stats"`, `"failures"`, `"passes"`}, readMocha},
	{"mocha", roleTest, []string{`["fail",{`, `"fullTitle"`}, readMochaFailure},
	{"mocha", roleTest, []string{`["end",{`, `"passes"`, `"failures"`}, readMochaEnd},
	{"playwright", roleTest, []string{`"suites"`, `"specs"`}, readPlaywright},
	{"ruff", roleLint, []string{`"filename"`, `"location"`, `"code"`}, readRuff},
	{"pylint", roleLint, []string{`"message-id"`, `"symbol"`}, readPylint},
	{"pylint", roleLint, []string{`"messageId"`, `"symbol"`}, readPylint2},
	{"pyright", roleLint, []string{`"generalDiagnostics"`, `"summary"`}, readPyright},
	{"mypy", roleLint, []string{`"severity"`, `"file"`, `"line"`, `"message"`, `"column"`}, readMypy},
	{"bandit", roleLint, []string{`"issue_text"`, `"test_id"`}, readBandit},
	{"pytest-json-report", roleTest, []string{`"nodeid"`, `"outcome"`}, readPytestJSON},
	{"semgrep", roleLint, []string{`"check_id"`, `"extra"`}, readSemgrep},
	{"cargo", roleBuild, []string{`"reason":"`, `"package_id"`}, readCargo},
	{"cargo", roleBuild, []string{`"reason":"build-finished"`}, readCargo},
	{"cargo test", roleTest, []string{`"type": "`, `"event": "`}, readLibtest},
	{"cargo test", roleTest, []string{`"type":"`, `"event":"`}, readLibtest},
	{"rspec", roleTest, []string{`"examples"`, `"summary_line"`}, readRspec},
	{"gtest", roleTest, []string{`"testsuites"`, `"testsuite"`, `"result"`}, readGtestJSON},
	{"shellcheck", roleLint, []string{`"endColumn"`, `"level"`, `"code"`}, readShellcheck},
	{"sarif", roleLint, []string{`"runs"`, `"results"`, `"driver"`}, readSarif},
	{"npm audit", roleLint, []string{`"auditReportVersion"`, `"vulnerabilities"`}, readNpmAudit},
}

func jsonShapeNames() string {
	var names []string
	for _, sh := range jsonShapes {
		if !slices.Contains(names, sh.name) {
			names = append(names, sh.name)
		}
	}
	return strings.Join(names, ", ")
}

// finding hands in a linter's finding and marks the run as red.
func (s *sink) finding(kind Kind, rule, file string, line int, text string) {
	f := Failure{ID: rule, File: file, Line: line, Message: text, Kind: kind}
	if rule != "" && !strings.Contains(text, rule) {
		f.Message = text + " (" + rule + ")"
	}
	s.red = true
	s.fail(f)
}

func readGolangci(s *sink, text []byte) bool {
	var d struct {
		Issues []struct {
			FromLinter, Text, Severity string
			Pos                        struct {
				Filename string
				Line     int
			}
		}
	}
	if !decode(text, &d) {
		return false
	}
	for _, i := range d.Issues {
		kind := KindLint
		if i.FromLinter == "typecheck" {
			kind = KindCompile
		}
		s.finding(kind, i.FromLinter, i.Pos.Filename, i.Pos.Line, i.Text)
	}
	return true
}

func readStaticcheck(s *sink, text []byte) bool {
	var d struct {
		Code, Severity, Message string
		Location                struct {
			File string
			Line int
		}
	}
	if !decode(text, &d) || d.Location.File == "" {
		return false
	}
	if d.Severity == "error" {
		kind := KindLint
		if d.Code == "compile" {
			kind = KindCompile
		}
		s.finding(kind, d.Code, d.Location.File, d.Location.Line, d.Message)
	}
	return true
}

func readESLint(s *sink, text []byte) bool {
	var d []struct {
		FilePath string
		Messages []struct {
			RuleID   *string
			Severity int
			Message  string
			Line     int
			Fatal    bool
		}
	}
	if !decode(text, &d) {
		return false
	}
	errors := 0
	for _, f := range d {
		for _, m := range f.Messages {
			const isError = 2 // ESLint's severity: 1 warns
			if m.Severity < isError && !m.Fatal {
				continue
			}
			errors++
			rule, kind := "", KindLint
			if m.RuleID != nil {
				rule = *m.RuleID
			}
			if m.Fatal {
				kind = KindCompile
			}
			s.finding(kind, rule, f.FilePath, m.Line, m.Message)
		}
	}
	s.add(-1, errors, -1)
	return true
}

func readStylelint(s *sink, text []byte) bool {
	var d []struct {
		Source   string
		Warnings []struct {
			Line                 int
			Rule, Severity, Text string
		}
	}
	if !decode(text, &d) {
		return false
	}
	for _, f := range d {
		for _, w := range f.Warnings {
			if w.Severity != "warning" {
				s.finding(KindLint, w.Rule, f.Source, w.Line, w.Text)
			}
		}
	}
	return true
}

func readJest(s *sink, text []byte) bool {
	var d struct {
		NumFailedTests, NumPassedTests, NumPendingTests, NumTodoTests int
		TestResults                                                   []struct {
			Name, Message, Status string
			AssertionResults      []struct {
				AncestorTitles  []string
				Title, FullName string
				Status          string
				Duration        *float64
				FailureMessages []string
				Location        *struct{ Line int }
			}
		}
	}
	if !decode(text, &d) {
		return false
	}
	s.add(d.NumPassedTests, d.NumFailedTests, d.NumPendingTests+d.NumTodoTests)
	for _, r := range d.TestResults {
		file := s.file(r.Name)
		message := cleanText(r.Message)
		if i := strings.Index(message, "● Test suite failed to run"); i > 0 {
			message = message[i:] // a hook behind the last test failed
		} else if i < 0 && len(r.AssertionResults) > 0 {
			message = ""
		}
		if r.Status == "failed" && (message != "" || len(r.AssertionResults) == 0) {
			f := jsError(s, strings.Split(message, "\n"))
			f.ID, f.Suite, f.Kind = file, file, KindSetup
			if f.File == "" {
				f.File = file
			}
			s.red = true
			s.fail(f)
		}
		for _, a := range r.AssertionResults {
			id := strings.Join(append(append([]string{}, a.AncestorTitles...), a.Title), " › ")
			status := CasePassed
			switch a.Status {
			case "failed":
				status = CaseFailed
			case "pending", "todo", "skipped", "disabled":
				status = CaseSkipped
			}
			took := time.Duration(0)
			if a.Duration != nil {
				took = time.Duration(*a.Duration * float64(time.Millisecond))
			}
			s.suiteTest(file, id, file, status, took)
			if status != CaseFailed {
				continue
			}
			f := Failure{Message: "failed without a message"}
			if len(a.FailureMessages) > 0 {
				f = jsError(s, strings.Split(cleanText(a.FailureMessages[0]), "\n"))
				if f.Message == "Error: STACK_TRACE_ERROR" { // Vitest puts the stack of the test's beginning here, without the words
					f.Message = "the test or hook timed out"
				}
			}
			f.ID, f.Suite, f.Kind = id, file, KindTest
			if f.File == "" {
				f.File = file
			}
			if f.Line == 0 && a.Location != nil {
				f.Line = a.Location.Line
			}
			s.red = true
			s.fail(f)
		}
	}
	return true
}

// cleanText takes the escapes out of a text of many lines.
func cleanText(t string) string {
	if strings.IndexByte(t, 0x1b) < 0 {
		return t
	}
	return stripEscapes(t)
}

// jsonText is a value as text: strings without quotes.
func jsonText(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", false
	}
	var t string
	if json.Unmarshal(raw, &t) == nil {
		return t, true
	}
	return string(raw), true
}

func readRuff(s *sink, text []byte) bool {
	var d []struct {
		Code     *string
		Filename string
		Message  string
		Location struct{ Row int }
	}
	if !decode(text, &d) || len(d) > 0 && d[0].Location.Row == 0 {
		return false
	}
	for _, f := range d {
		code, kind := "", KindLint
		if f.Code != nil {
			code = *f.Code
		}
		if code == "" || code == "invalid-syntax" || code == "E999" {
			kind = KindCompile
		}
		s.finding(kind, code, f.Filename, f.Location.Row, f.Message)
	}
	return true
}

func readPylint(s *sink, text []byte) bool {
	var d []struct {
		Type, Path, Symbol, Message string
		Line                        int
		ID                          string `json:"message-id"`
	}
	if !decode(text, &d) {
		return false
	}
	for _, f := range d {
		s.finding(pylintKind(f.ID), f.Symbol, f.Path, f.Line, f.ID+": "+f.Message)
	}
	return true
}

func readPylint2(s *sink, text []byte) bool {
	var d struct {
		Messages []struct {
			Type, Path, Symbol, Message, MessageID string
			Line                                   int
		}
	}
	if !decode(text, &d) {
		return false
	}
	for _, f := range d.Messages {
		s.finding(pylintKind(f.MessageID), f.Symbol, f.Path, f.Line, f.MessageID+": "+f.Message)
	}
	return true
}

func pylintKind(id string) Kind {
	if id == "E0001" {
		return KindCompile
	}
	return KindLint
}

func readPyright(s *sink, text []byte) bool {
	var d struct {
		GeneralDiagnostics []struct {
			File, Severity, Message, Rule string
			Range                         struct{ Start struct{ Line int } }
		}
		Summary struct{ ErrorCount int }
	}
	if !decode(text, &d) {
		return false
	}
	s.add(-1, d.Summary.ErrorCount, -1)
	for _, g := range d.GeneralDiagnostics {
		if g.Severity == "error" {
			s.finding(KindType, g.Rule, g.File, g.Range.Start.Line+1, g.Message)
		}
	}
	return true
}

func readMypy(s *sink, text []byte) bool {
	var d struct {
		File, Message, Severity string
		Code                    *string
		Line                    int
	}
	if !decode(text, &d) || d.File == "" {
		return false
	}
	if d.Severity == "error" {
		code, kind := "", KindType
		if d.Code != nil {
			code = *d.Code
		}
		if code == "syntax" {
			kind = KindCompile
		}
		s.finding(kind, code, d.File, d.Line, d.Message)
	}
	return true
}

func readBandit(s *sink, text []byte) bool {
	var d struct {
		Results []struct {
			Filename  string
			Line      int    `json:"line_number"`
			Text      string `json:"issue_text"`
			ID        string `json:"test_id"`
			Severity  string `json:"issue_severity"`
			Certainty string `json:"issue_confidence"`
		}
	}
	if !decode(text, &d) {
		return false
	}
	for _, r := range d.Results {
		s.finding(KindSecurity, r.ID, r.Filename, r.Line, r.Text)
	}
	return true
}

func readSemgrep(s *sink, text []byte) bool {
	var d struct {
		Results []struct {
			ID    string `json:"check_id"`
			Path  string
			Start struct{ Line int }
			Extra struct{ Message, Severity string }
		}
	}
	if !decode(text, &d) {
		return false
	}
	for _, r := range d.Results {
		s.finding(KindSecurity, r.ID, r.Path, r.Start.Line, r.Extra.Message)
	}
	return true
}

func readNpmAudit(s *sink, text []byte) bool {
	var d struct {
		Vulnerabilities map[string]struct {
			Name, Severity, Range string
			Via                   []json.RawMessage
		}
	}
	if !decode(text, &d) {
		return false
	}
	for _, name := range sortedKeys(d.Vulnerabilities) {
		v := d.Vulnerabilities[name]
		title := ""
		for _, raw := range v.Via {
			var x struct{ Title, URL string }
			if decode(raw, &x) && x.Title != "" {
				title = x.Title + " " + x.URL
				break
			}
		}
		if title == "" {
			continue // comes through another package that is listed itself
		}
		s.finding(KindSecurity, name, "package.json", 0, name+" "+v.Range+" ("+v.Severity+"): "+strings.TrimSpace(title))
	}
	s.add(-1, len(s.failures), -1)
	return true
}
