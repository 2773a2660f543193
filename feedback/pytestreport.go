package feedback

import (
	"slices"
	"strings"
	"time"
)

// close implements reader.
func (p *pytest) close() {
	for i, x := range p.stack {
		p.endNote(x)
		if !x.hadFinal {
			p.done = append(p.done, x.nested...)
		}
		if i == len(p.stack)-1 && !x.hadFinal {
			if x.open != "" {
				p.s.open = x.open
			} else if x.file != "" && x.section == "" {
				p.s.open = x.file
			}
		}
		p.done = append(p.done, x)
	}
	for _, x := range p.done {
		p.report(x)
	}
}

// report hands in what a session found.
func (p *pytest) report(x *pytestSession) {
	s := p.s
	before := len(s.failures)
	if x.hadFinal {
		s.ran, s.ended = true, true
		passed, failed := x.final["passed"], x.final["failed"]+x.final["error"]
		skipped := x.final["skipped"]
		s.add(passed, failed, skipped)
		if failed > 0 {
			s.red = true
		} else if len(x.final) > 0 {
			s.green = true
		}
	} else if len(x.order) > 0 || len(x.blocks) > 0 || len(x.summary) > 0 {
		s.ran = true
	}
	for _, id := range x.order {
		s.test(id, testFile(id), x.verbose[id].status, time.Duration(0))
	}
	var entries []pytestEntry
	for _, e := range x.summary {
		if e.id != "" {
			entries = append(entries, e)
		}
	}
	for id := range x.reruns {
		if !slices.ContainsFunc(entries, func(e pytestEntry) bool { return e.id == id }) {
			s.flaky(id)
		}
	}
	for _, f := range x.notes {
		s.fail(f)
	}
	switch {
	case len(entries) > 0:
		p.reportEntries(x, entries)
	case x.hadFinal && x.final["failed"]+x.final["error"] == 0:
		// all green: blocks are what tests printed
	default:
		p.reportBlocks(x)
	}
	if n := x.final["failed"] + x.final["error"]; n > 0 && len(s.failures) == before {
		s.fail(Failure{Message: plural(n, "failure") + "; the log does not say which tests failed", Kind: KindTest, Log: x.log})
	}
	if x.gate != nil {
		s.fail(*x.gate)
	}
	const noTests = 5 // pytest's exit code where nothing was collected, or all was deselected
	if code, known := s.exitCode(); known && code != 0 && x.hadFinal && len(x.notes) == 0 && x.gate == nil && (len(x.final) == 0 || code == noTests && len(s.failures) == before) {
		s.fail(Failure{Message: "no tests ran", Kind: KindConfig, Log: x.log})
	}
	if x.stopped != "" && len(s.failures) == 0 && !strings.HasPrefix(x.stopped, "stopping after") && !x.hadFinal {
		s.fail(Failure{Message: x.stopped, Kind: KindCrash, Log: x.log})
	}
}

// reportEntries reports the failures that the short summary names, each with its block.
func (p *pytest) reportEntries(x *pytestSession, entries []pytestEntry) {
	for _, e := range entries {
		f := Failure{ID: e.id, Kind: KindTest, Message: e.text, Log: e.log}
		if e.word == "ERROR" {
			f.Kind = KindSetup
		}
		file := testFile(e.id)
		if file == "" && strings.HasSuffix(e.id, ".py") {
			file = e.id
		}
		f.File = file
		if b := x.findBlock(e); b != nil {
			b.used = true
			got := readPyBlock(p.s, b.text.lines())
			if len(got.message) > 0 {
				f.Message = strings.Join(got.message, "\n")
			}
			if got.file != "" {
				f.File, f.Line = got.file, got.line
			}
			f.Expected, f.Actual = got.expected, got.actual
			if got.syntax {
				f.Kind = KindCompile
			}
		}
		p.s.fail(f)
	}
}

// findBlock finds the block of a summary entry: by name, or by its message for --tb=line.
func (x *pytestSession) findBlock(e pytestEntry) *pytestBlock {
	want := blockName(e)
	for _, b := range x.blocks {
		if !b.used && b.kind != "LINE" && b.name == want {
			return b
		}
	}
	if e.word == "ERROR" {
		_, name, _ := strings.Cut(e.id, "::")
		name = strings.ReplaceAll(name, "::", ".")
		for _, w := range []string{"ERROR at setup of ", "ERROR at teardown of ", "ERROR at call of "} {
			for _, b := range x.blocks {
				if !b.used && b.name == w+name {
					return b
				}
			}
		}
	}
	for _, b := range x.blocks { // clipped or decorated names: "[doctest] mod.f", "test_a (sub)"
		if !b.used && b.kind != "LINE" && (strings.HasSuffix(b.name, " "+want) || strings.HasPrefix(b.name, want+" ")) {
			return b
		}
	}
	said := strings.TrimSuffix(strings.TrimSpace(firstLine(e.text)), "...")
	for _, b := range x.blocks {
		if b.used || b.kind != "LINE" {
			continue
		}
		if m := pytestPlace.FindStringSubmatch(b.text.head[0]); m != nil && said != "" && strings.HasPrefix(m[3], said) {
			return b
		}
	}
	return nil
}

func blockName(e pytestEntry) string {
	_, name, ok := strings.Cut(e.id, "::")
	if !ok {
		return "ERROR collecting " + e.id
	}
	head, param := name, ""
	if i := strings.IndexByte(name, '['); i >= 0 {
		head, param = name[:i], name[i:]
	}
	return strings.ReplaceAll(head, "::", ".") + param
}

// reportBlocks reports the blocks themselves, for logs without a short summary. Where the totals tell how many
// failed, surplus blocks are what tests printed.
func (p *pytest) reportBlocks(x *pytestSession) {
	limit := len(x.blocks)
	if x.hadFinal {
		limit = x.final["failed"] + x.final["error"]
	}
	verbose := map[string]string{}
	for _, id := range x.order {
		if x.verbose[id].status == CaseFailed {
			_, name, _ := strings.Cut(id, "::")
			verbose[strings.ReplaceAll(name, "::", ".")] = id
		}
	}
	reported := map[string]bool{}
	erred := x.erred
	for _, b := range x.blocks {
		if limit <= 0 {
			break
		}
		got := readPyBlock(p.s, b.text.lines())
		if len(got.message) == 0 && got.file == "" && len(x.blocks) > limit {
			continue
		}
		limit--
		f := Failure{ID: b.name, Kind: KindTest, Message: strings.Join(got.message, "\n"), Log: b.log, File: got.file, Line: got.line, Expected: got.expected, Actual: got.actual}
		name := b.name
		for _, w := range []string{"ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "} {
			if rest, ok := strings.CutPrefix(b.name, w); ok {
				name, f.Kind = rest, KindSetup
				if len(erred) > 0 && w != "ERROR collecting " { // its traceback may show the fixture's file only
					if erred[0] != "" {
						got.testFile = erred[0]
					}
					erred = erred[1:]
				}
				if f.File == "" && w == "ERROR collecting " {
					f.File = rest
				}
			}
		}
		f.ID = name
		if got.syntax {
			f.Kind = KindCompile
		}
		if name == "" { // --tb=line tells no names
			f.ID = ""
		} else if id, ok := verbose[name]; ok {
			f.ID = id
		} else if got.testFile != "" && !strings.HasSuffix(name, ".py") {
			f.ID = p.s.file(got.testFile) + "::" + strings.Replace(name, ".", "::", strings.Count(strings.SplitN(name, "[", 2)[0], "."))
		}
		reported[f.ID] = true
		p.s.fail(f)
	}
	for _, id := range x.order {
		if x.verbose[id].status == CaseFailed && !reported[id] && limit > 0 {
			limit--
			p.s.fail(Failure{ID: id, File: testFile(id), Message: "failed; the log does not say why", Kind: KindTest, Log: x.log})
		}
	}
}
