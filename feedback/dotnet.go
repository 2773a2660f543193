package feedback

import (
	"encoding/xml"
	"strings"
	"time"
)

func dotnetTool() *tool {
	return &tool{
		name: "dotnet", what: "dotnet test (xUnit, NUnit, MSTest; VSTest of all verbosities and the newer runner), MSBuild, C#, F# and NuGet errors; TRX",
		invocations: []string{"dotnet test", "dotnet test -v n --logger 'console;verbosity=normal'", "dotnet build", "msbuild", "any TRX report"},
		markers:     []string{": error CS", ": error MSB", ": error NU", ": error FS", ": error NETSDK", "Failed!  - Failed:", "Passed!  - Failed:", "  Error Message:", "Test Run Failed.", "Test Run Successful.", "<TestRun ", "Test summary: total:"},
		runs:        named("dotnet", "msbuild", "vstest.console", "nuget"),
		family:      []string{"junit-xml"},
		make:        func(s *sink) reader { return &dotnet{s: s} },
	}
}

// dotnet reads the .NET command line's output.
type dotnet struct {
	s      *sink
	block  *rspecBlock
	part   string // Error Message, Stack Trace, other
	trace  []string
	totals map[string]int
	trx    *strings.Builder
}

const trxLimit = 32 << 20 // bytes of a TRX document that are read

var (
	dotError  = newPattern(`^\s*(?:\d+>)?(?:(.+?)(?:\((\d+)(?:,\d+)*\))?|CSC|MSBUILD|LINK|EXEC)\s?: (?:\w+ )?error ?(?:([A-Z]+\d+))?\s?: (.+?)(?: \[(.+?\.\w+proj)(?:::.*)?\])?$`)
	dotResult = newPattern(`^\s*(?:\[xUnit\.net [\d:.]+\]\s+)?(Passed|Failed|Skipped|passed|failed|skipped) (\S.*?) [\[(]((?:< )?[\d.,]+ ?(?:ms|s|m|h)(?: [\d.]+ ?(?:ms|s|m))*)[\])]$`)
	dotBare   = newPattern(`^  (Skipped) ([\w.]+\.\w[^\[\]]*)$`)
	dotPart   = newPattern(`^\s{2,}(Error Message|Stack Trace|Standard Output Messages|Standard Error Messages|Debug Trace Messages|Additional Info Messages|Expected|Attachments)\s*:\s*$`)
	dotSum    = newPattern(`^(?:Passed|Failed|Skipped)!\s+- Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+\d+`)
	dotLong   = newPattern(`^\s*(Total tests|Passed|Failed|Skipped): (\d+)$`)
	dotNew    = newPattern(`^Test summary: total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)`)
	dotFrame  = newPattern(`^\s+(?:at|bei|à) (.+?) (?:in|dans) (.+?):(?:line|Zeile|ligne) (\d+)\s*$`)
	dotNotice = newPattern(`^(?:The argument .* is invalid|The active test run was aborted|Could not execute because|A compatible \.NET SDK was not found|No test is available in|The specified framework)`)
)

// line implements reader.
func (d *dotnet) line(l line) claim {
	t := l.text
	if d.trx != nil || strings.HasPrefix(t, "<TestRun ") || strings.Contains(t, "<TestRun id=") {
		return d.document(t)
	}
	if m := dotResult.FindStringSubmatch(t); m != nil {
		d.end()
		d.result(m, l.n)
		return mine
	}
	if d.total(t) {
		return mine
	}
	if d.block != nil {
		if m := dotPart.FindStringSubmatch(t); m != nil {
			d.part = m[1]
			return mine
		}
		if strings.HasPrefix(t, "Results File:") || strings.HasPrefix(t, "Test Run ") || strings.HasPrefix(t, "[xUnit.net") {
			d.end()
			return mine
		}
		const most = 200 // lines of one failure
		switch {
		case dotFrame.MatchString(t):
			d.trace = append(d.trace, strings.Clone(t))
		case d.part == "Error Message" || d.part == "":
			if len(d.block.lines) < most && !strings.HasPrefix(t, "   at ") {
				d.block.lines = append(d.block.lines, strings.Clone(t))
			}
		}
		return mine
	}
	if strings.HasPrefix(t, "[xUnit.net ") || dotLong.MatchString(t) {
		return mine
	}
	if m := dotBare.FindStringSubmatch(t); m != nil && d.s.ran {
		d.s.test(m[2], "", CaseSkipped, 0)
		return mine
	}
	if strings.Contains(t, "error") {
		if m := dotError.FindStringSubmatch(t); m != nil && (m[3] != "" || m[5] != "") && !strings.HasPrefix(m[4], "error TESTERROR") {
			d.build(m)
			return mine
		}
	}
	if dotNotice.MatchString(t) {
		kind := KindConfig
		if strings.HasPrefix(t, "A compatible") || strings.HasPrefix(t, "The specified framework") {
			kind = KindEnvironment
		} else if strings.HasPrefix(t, "The active test run") {
			kind = KindCrash
		}
		d.s.fail(Failure{Message: t, Kind: kind, weak: strings.HasPrefix(t, "No test")})
		return mine
	}
	return pass
}

func (d *dotnet) result(m []string, n int) {
	status := CasePassed
	switch strings.ToLower(m[1]) {
	case "failed":
		status = CaseFailed
		d.block, d.part, d.trace = &rspecBlock{id: strings.Clone(m[2]), log: n}, "", nil
	case "skipped":
		status = CaseSkipped
	}
	took, err := time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(m[3], "< "), " ", ""), ",", "."))
	if err != nil {
		took = 0
	}
	d.s.ran = true
	d.s.test(m[2], "", status, took)
}

// total takes the closing lines of the runners.
func (d *dotnet) total(t string) bool {
	passed, failed, skipped := 0, 0, 0
	if m := dotSum.FindStringSubmatch(t); m != nil {
		failed, passed, skipped = atoi(m[1]), atoi(m[2]), atoi(m[3])
	} else if m := dotNew.FindStringSubmatch(t); m != nil && d.s.counts.Passed == nil {
		failed, passed, skipped = atoi(m[2]), atoi(m[3]), atoi(m[4])
	} else {
		if m := dotLong.FindStringSubmatch(t); m != nil && (m[1] == "Total tests" || d.totals != nil) {
			d.end()
			if d.totals == nil {
				d.totals = map[string]int{}
			}
			d.totals[m[1]] += atoi(m[2])
			return true
		}
		return false
	}
	d.end()
	d.s.add(passed, failed, skipped)
	d.settle(failed)
	return true
}

func (d *dotnet) settle(failed int) {
	d.s.ran, d.s.ended = true, true
	d.s.red, d.s.green = d.s.red || failed > 0, failed == 0
}

// build reports a compiler's, MSBuild's or NuGet's error. MSBuild repeats them all at its end.
func (d *dotnet) build(m []string) {
	f := Failure{ID: m[3], File: m[1], Line: atoi(m[2]), Message: m[4], Kind: KindCompile}
	if f.ID != "" {
		f.Message = f.ID + ": " + m[4]
	}
	switch {
	case strings.HasPrefix(f.ID, "NU"):
		f.Kind = KindInstall
	case strings.HasPrefix(f.ID, "NETSDK1045") || strings.HasPrefix(f.ID, "NETSDK1147"):
		f.Kind = KindEnvironment
	case strings.HasPrefix(f.ID, "MSB") || strings.HasPrefix(f.ID, "NETSDK"):
		f.Kind = KindConfig
		f.weak = f.ID == "MSB3073" || f.ID == "MSB4181"
	case strings.HasPrefix(f.ID, "SA") || strings.HasPrefix(f.ID, "CA") || strings.HasPrefix(f.ID, "IDE"):
		f.Kind = KindLint
	}
	if f.Line == 0 && f.Kind == KindCompile && !strings.Contains(f.File, ".") {
		f.File = ""
	}
	d.s.red = true
	d.s.fail(f)
}

func (d *dotnet) end() {
	b := d.block
	d.block = nil
	if b == nil {
		return
	}
	d.report(b.id, strings.Join(b.lines, "\n"), d.trace, b.log)
}

func (d *dotnet) report(id, message string, trace []string, log int) {
	f := Failure{ID: id, Message: message, Kind: KindTest, Log: log}
	var frames []frame
	for _, l := range trace {
		if m := dotFrame.FindStringSubmatch(l); m != nil {
			frames = append(frames, frame{function: m[1], file: m[2], line: atoi(m[3])})
		}
	}
	if top, ok := d.s.topFrame(frames); ok {
		f.File, f.Line = top.file, top.line
	}
	if strings.TrimSpace(f.Message) == "" {
		f.Message = "failed without a message"
	}
	f.Expected, f.Actual = dotValues(message)
	d.s.red = true
	d.s.fail(f)
}

var (
	dotExpected = newPattern(`(?m)^\s*Expected: {1,5}(.+)$`)
	dotActual   = newPattern(`(?m)^\s*(?:But was|Actual): {1,5}(.+)$`)
	dotMSTest   = newPattern(`Expected:<(.*?)>\. Actual:<(.*?)>\.`)
)

// dotValues reads xUnit's, NUnit's and MSTest's pairs.
func dotValues(text string) (expected, actual *string) {
	if m := dotMSTest.FindStringSubmatch(text); m != nil {
		return told(m[1]), told(m[2])
	}
	e, a := dotExpected.FindStringSubmatch(text), dotActual.FindStringSubmatch(text)
	if e == nil || a == nil {
		return nil, nil
	}
	return told(unquote(strings.TrimSpace(e[1]))), told(unquote(strings.TrimSpace(a[1])))
}

// document collects a TRX document.
func (d *dotnet) document(t string) claim {
	if d.trx == nil {
		d.trx = &strings.Builder{}
	}
	if d.trx.Len() < trxLimit {
		d.trx.WriteString(t)
		d.trx.WriteByte('\n')
	}
	if strings.Contains(t, "</TestRun>") {
		d.readTRX()
		return mine
	}
	return hold
}

// readTRX reads the results of a Visual Studio test results document, as far as it goes.
func (d *dotnet) readTRX() {
	text := d.trx.String()
	d.trx = nil
	dec := xml.NewDecoder(strings.NewReader(strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\uFFFD")))
	dec.Strict = false
	passed, failed, skipped := 0, 0, 0
	for {
		token, err := dec.Token()
		if err != nil {
			break
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "UnitTestResult" {
			continue
		}
		var r struct {
			Name     string `xml:"testName,attr"`
			Outcome  string `xml:"outcome,attr"`
			Duration string `xml:"duration,attr"`
			Message  string `xml:"Output>ErrorInfo>Message"`
			Trace    string `xml:"Output>ErrorInfo>StackTrace"`
		}
		if dec.DecodeElement(&r, &start) != nil {
			break
		}
		status := CasePassed
		switch r.Outcome {
		case "Passed", "PassedButRunAborted", "Completed", "Warning":
			passed++
		case "NotExecuted", "Inconclusive", "Pending", "Disconnected", "NotRunnable":
			status = CaseSkipped
			skipped++
		default:
			status = CaseFailed
			failed++
			d.report(r.Name, r.Message, strings.Split(r.Trace, "\n"), d.s.now)
		}
		d.s.test(r.Name, "", status, trxTime(r.Duration))
	}
	d.s.add(passed, failed, skipped)
	d.settle(failed)
}

// trxTime reads hh:mm:ss.fffffff.
func trxTime(s string) time.Duration {
	p := strings.Split(s, ":")
	if len(p) != 3 {
		return 0
	}
	d, err := time.ParseDuration(p[0] + "h" + p[1] + "m" + p[2] + "s")
	if err != nil {
		return 0
	}
	return d
}

// close implements reader.
func (d *dotnet) close() {
	d.end()
	if d.trx != nil {
		d.readTRX()
	}
	if d.totals != nil && d.s.counts.Passed == nil {
		d.s.add(d.totals["Passed"], d.totals["Failed"], d.totals["Skipped"])
		d.settle(d.totals["Failed"])
	}
}
