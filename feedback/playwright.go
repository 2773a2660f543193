package feedback

import "strings"

func playwrightTool() *tool {
	return &tool{
		name: "playwright", what: "failures, retries and flaky tests of the list, line, dot and github reporters, browsers that are not installed",
		invocations: []string{"playwright test", "npx playwright test --reporter=line"},
		markers:     []string{"Running 1 test using", "tests using ", "Error Context: ", ".spec.ts:", ".spec.js:"},
		runs:        named("playwright test"),
		family:      []string{"node", "json"},
		make:        func(s *sink) reader { return &playwright{s: s, counts: map[string]int{}} },
	}
}

// playwright reads the reports of Playwright's own runner.
type playwright struct {
	s      *sink
	block  *playwrightBlock
	list   []*playwrightBlock
	counts map[string]int
	totals string // kind whose tests are being listed under the totals
	flaky  map[string]bool
	names  map[string]bool // the failed tests that the totals list
	apart  bool            // something else came since the last line of the totals
	runs   int
	began  bool
}

type playwrightBlock struct {
	id, file string
	line     int
	lines    []string
	retry    bool
	log      int
}

var (
	playwrightBegin = newPattern(`^\s*Running \d+ tests? using \d+ workers?`)
	playwrightHead  = newPattern(`^\s{0,4}\d+\) (?:\[[^\]]+\] › )?(\S+?\.[cm]?[jt]sx?):(\d+):\d+ › (.+?) ?[─━-]*$`)
	playwrightTotal = newPattern(`^\s{2}(\d+) (failed|passed|flaky|skipped|interrupted|did not run)(?: \([\d.]+\w+\))?$`)
	playwrightName  = newPattern(`^\s{4}(?:\[[^\]]+\] › )?(\S+?\.[cm]?[jt]sx?):(\d+):\d+ › (.+?) ?[─━-]*$`)
	playwrightTree  = newPattern(`^\s+([✓✘-]|ok|x) +\d+ (?:\[[^\]]+\] › )?(\S+?\.[cm]?[jt]sx?):\d+:\d+ › (.+?)(?: \((?:retry #\d+)\))?(?: \(([\d.]+)(ms|s|m)\))?$`)
	playwrightNoise = newPattern(`^\s*(?:Error Context: |\[\d+/\d+\] |::(?:error|notice|warning|group|endgroup)|attachment #|[─━]{6,}|╔|║|╚|Usage:|npx playwright show-trace|test-results/)`)
)

// line implements reader.
func (p *playwright) line(l line) claim {
	t := l.text
	if playwrightBegin.MatchString(t) {
		p.began = true
		p.runs++
		return mine
	}
	if m := playwrightHead.FindStringSubmatch(t); m != nil {
		p.end()
		p.totals = ""
		p.block = &playwrightBlock{id: strings.Clone(m[3]), file: strings.Clone(m[1]), line: atoi(m[2]), log: l.n}
		return hold
	}
	if m := playwrightTotal.FindStringSubmatch(t); m != nil && (p.began || p.block != nil || len(p.list) > 0) {
		p.end()
		if p.apart && p.runs == 1 { // the totals come in one piece: a test printed the earlier ones
			clear(p.counts)
			p.flaky, p.names = nil, nil
		}
		p.apart = false
		p.counts[m[2]] += atoi(m[1])
		p.totals = m[2]
		return mine
	}
	if p.totals != "" {
		if m := playwrightName.FindStringSubmatch(t); m != nil {
			if p.totals == "failed" || p.totals == "interrupted" {
				if p.names == nil {
					p.names = map[string]bool{}
				}
				p.names[m[1]+m[3]] = true
			}
			if p.totals == "flaky" {
				if p.flaky == nil {
					p.flaky = map[string]bool{}
				}
				p.flaky[m[1]+m[3]] = true
			}
			return mine
		}
		p.totals = ""
	}
	p.apart = p.apart || t != ""
	if p.block != nil {
		if strings.HasPrefix(strings.TrimSpace(t), "Retry #") {
			p.block.retry = true
		}
		const most = 200 // lines of one failure; those of its retries say the same again
		if !p.block.retry && len(p.block.lines) < most && !playwrightNoise.MatchString(t) {
			p.block.lines = append(p.block.lines, t)
		}
		return hold
	}
	if m := playwrightTree.FindStringSubmatch(t); m != nil {
		status := CasePassed
		switch m[1] {
		case "✘", "x":
			status = CaseFailed
		case "-":
			status = CaseSkipped
		}
		p.s.suiteTest(m[2], m[3], p.s.file(m[2]), status, jsTime(m[4], m[5]))
		return mine
	}
	return pass
}

func (p *playwright) end() {
	if p.block != nil {
		p.list = append(p.list, p.block)
	}
	p.block = nil
}

// close implements reader.
func (p *playwright) close() {
	p.end()
	if len(p.counts) > 0 {
		failed := p.counts["failed"] + p.counts["interrupted"]
		p.s.add(p.counts["passed"]+p.counts["flaky"], failed, p.counts["skipped"])
		p.s.ran, p.s.ended = true, true
		p.s.red, p.s.green = failed > 0, failed == 0
	}
	seen := map[string]bool{}
	for _, b := range p.list {
		key := b.file + b.id
		if p.flaky[key] {
			p.s.flaky(b.id)
			continue
		}
		if seen[key] || len(p.names) > 0 && p.runs == 1 && !p.names[key] {
			continue
		}
		seen[key] = true
		f := jsError(p.s, b.lines)
		f.ID, f.Suite, f.Kind, f.Log = b.id, b.file, KindTest, b.log
		if f.File == "" {
			f.File, f.Line = b.file, b.line
		}
		if f.Message == "" {
			f.Message = "failed without a message"
		}
		p.s.fail(f)
	}
}
