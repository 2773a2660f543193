package feedback

import (
	"encoding/json"
	"strings"
	"time"
)

// goEvent is one event of test2json.
type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64
}

// parseGoEvent reads an event. Output events, of which a log mostly consists, are read in place as test2json writes
// them; anything unusual goes through encoding/json.
func parseGoEvent(text string) (e goEvent, ok bool) {
	if i := strings.Index(text, `"Action":"output","Package":"`); i >= 0 && i < 64 {
		rest := text[i+len(`"Action":"output","Package":"`):]
		if pkg, after, ok := strings.Cut(rest, `"`); ok {
			test := ""
			if t, found := strings.CutPrefix(after, `,"Test":"`); found {
				test, after, _ = strings.Cut(t, `"`)
			}
			if out, found := strings.CutPrefix(after, `,"Output":"`); found && strings.HasSuffix(out, `"}`) && !strings.ContainsRune(test, '\\') {
				out = out[:len(out)-2]
				body, newline := strings.CutSuffix(out, `\n`)
				if strings.IndexByte(body, '\\') < 0 && strings.IndexByte(body, '"') < 0 {
					e = goEvent{Action: "output", Package: pkg, Test: test, Output: body}
					if newline {
						e.Output += "\n"
					}
					return e, true
				}
			}
		}
	}
	if json.Unmarshal([]byte(text), &e) != nil {
		return e, false
	}
	return e, true
}

// event reads a test2json event; false when the line is none.
func (g *goTests) event(text string) bool {
	if !strings.Contains(text, `"Action":"`) {
		return false
	}
	e, ok := parseGoEvent(text)
	if !ok || e.Action == "" || e.Package == "" && e.ImportPath == "" {
		return false
	}
	g.json = true
	g.s.ran = true
	switch e.Action {
	case "build-output":
		for l := range strings.Lines(e.Output) {
			g.build.line(cleanLine(strings.TrimRight(l, "\n")), g.s.now)
		}
		return true
	case "build-fail":
		g.s.red = true
		g.build.failedPackage(e.ImportPath, g.s.now, "build failed")
		return true
	}
	p := g.packages[e.Package]
	if p == nil {
		p = newGoPackage(e.Package)
		g.packages[e.Package] = p
		g.order = append(g.order, e.Package)
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.out.write(e.Output, &g.kept)
		case "fail":
			p.failed, p.failLog, p.cause = true, g.s.now, e.FailedBuild
			g.s.red = true
			g.results++
			if p.cause != "" {
				g.build.failedPackage(p.cause, g.s.now, "build failed")
			}
		case "pass", "skip":
			g.results++
			g.okLines++
			if e.Action == "skip" {
				g.ranNone++
			}
		}
		return true
	}
	t := p.test(e.Test)
	switch e.Action {
	case "run":
		t.done = false
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			t.out.write(e.Output, &g.kept)
		}
	case "pass":
		t.passed++
	case "fail":
		t.failed++
		t.log = g.s.now
	case "skip":
		t.skipped++
	}
	if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
		t.done = true
		t.took += time.Duration(e.Elapsed * float64(time.Second))
		if t.failed == 0 {
			t.out.clear(&g.kept)
		}
		if e.Action == "pass" && !g.s.opts.Cases && p.forget(t) {
			g.counted.passed += t.passed
		}
	}
	return true
}
