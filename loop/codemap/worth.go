package codemap

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop/syntax"
)

const (
	// bodyShare is the share of the budget for the bodies of what the best functions call, bodyLines the longest
	// one that is shown: a longer one is named by its signature.
	bodyShare, bodyLines = 0.2, 60
	// snapLines is the longest function that a span grows to; of a longer one the span itself is shown. The best
	// span of the best files may grow to bestSnapLines: the cause is likeliest there, and often in that function's
	// other half.
	snapLines, bestSnapLines = 160, 400
	// bestFiles is how many files have a best span in that sense.
	bestFiles = 2
	// calleeSpans is how many of a file's best spans are looked through for calls into other files, localSpans for
	// calls within the file: twins (running_min, running_max) have a helper each.
	calleeSpans, localSpans = 2, 4
	// lastTests is how many functions at the end of a test file are shown that is too long to be shown whole: new
	// tests are written behind them and in their style.
	lastTests = 2
)

// lesser tells whether a file is one that fixes are seldom made in.
func lesser(p string, c class) bool {
	return c > classTest || strings.HasSuffix(strings.ToLower(path.Base(p)), ".d.ts")
}

// setAside marks the pages that are named only. A text that is about prose, data or declarations shows by its best
// file: the ranking puts such files behind code otherwise.
func (p *packer) setAside() {
	best := slices.IndexFunc(p.pages, func(pg *page) bool { return !pg.always })
	if best < 0 || lesser(p.pages[best].path, p.pages[best].class) {
		return
	}
	for i, pg := range p.pages {
		pg.aside = !pg.always && (lesser(pg.path, pg.class) || i != best && pg.onlyTypes())
	}
}

// onlyTypes tells whether a file of TypeScript declares types and nothing that runs.
func (pg *page) onlyTypes() bool {
	content := []byte(strings.Join(pg.lines, ""))
	lang := syntax.LanguageOf(pg.path, content)
	if lang != syntax.TypeScript && lang != syntax.TSX {
		return false
	}
	symbols := syntax.Outline(lang, content)
	declared := map[string]bool{}
	for _, s := range symbols {
		if s.Kind == syntax.KindInterface || s.Kind == syntax.KindType {
			declared[s.Name] = true
		}
	}
	return len(symbols) > 0 && !slices.ContainsFunc(symbols, func(s syntax.Symbol) bool {
		return !declared[s.Name] && !declared[s.Parent] // an interface's methods have no bodies
	})
}

// functions are the functions and methods of a file with the comments above them.
func (pg *page) functions() []lineRange {
	if pg.bodies != nil {
		return pg.bodies
	}
	pg.bodies = []lineRange{}
	content := []byte(strings.Join(pg.lines, ""))
	for _, s := range symbolsOf(pg.path, content) {
		if (s.Kind == syntax.KindFunction || s.Kind == syntax.KindMethod) && s.Start >= 1 && s.End <= len(pg.lines) {
			pg.bodies = append(pg.bodies, lineRange{led(pg.lines, s.Start), s.End})
		}
	}
	if pg.class == classTest && len(pg.bodies) == 0 {
		pg.bodies = append(pg.bodies, blocksOf(pg.lines)...)
	}
	return pg.bodies
}

// led moves the first line of a definition up to its comments and decorators.
func led(lines []string, start int) int {
	for start > 1 && strings.TrimSpace(lines[start-2]) != "" && leads([]byte(strings.TrimRight(lines[start-2], "\r\n"))) {
		start--
	}
	return start
}

// testCalls begin a test that is no function of its own.
var testCalls = []string{"it(", "it.", "test(", "test.", "specify(", "it ", "test ", "scenario "}

// blocksOf finds tests that are calls with a block, as in JavaScript and Ruby: from the call to the first line of the
// same indentation that closes it.
func blocksOf(lines []string) []lineRange {
	var blocks []lineRange
	for i := 0; i < len(lines); i++ {
		text := strings.TrimLeft(lines[i], " \t")
		if !slices.ContainsFunc(testCalls, func(c string) bool { return strings.HasPrefix(text, c) }) {
			continue
		}
		indent := lines[i][:len(lines[i])-len(text)]
		for j := i + 1; j < len(lines) && j-i < snapLines; j++ {
			rest, same := strings.CutPrefix(lines[j], indent)
			if same && (strings.HasPrefix(rest, "}") || strings.HasPrefix(rest, ")") || strings.HasPrefix(rest, "end")) {
				blocks = append(blocks, lineRange{i + 1, j + 1})
				i = j
				break
			}
		}
	}
	return blocks
}

// snap grows a range so that it does not end within a function of less than longest lines: half a test is no pattern
// to write another by.
func (pg *page) snap(r lineRange, longest int) lineRange {
	wide := r
	for _, f := range pg.functions() {
		if f.start > r.end || f.end < r.start || f.end-f.start >= longest {
			continue
		}
		wide.start, wide.end = min(wide.start, f.start), max(wide.end, f.end)
	}
	return wide
}

// parts shows of a file that is too long to be shown whole its head, what is wanted of it, and of a test file the
// last tests, with at most so many tokens; where nothing is wanted, whole functions from the beginning on.
func (p *packer) parts(pg *page, most int) {
	left := p.left
	p.left = min(p.left, most)
	granted := p.left
	if head := headOf(pg.lines); head > 0 {
		p.take(pg, lineRange{1, head})
	}
	functions := pg.functions()
	for _, s := range pg.spans {
		if start, end := max(s.Start, 1), min(s.End, len(pg.lines)); start <= end {
			p.take(pg, pg.snap(lineRange{start, end}, snapLines))
		}
	}
	if pg.class == classTest {
		for _, f := range slices.Backward(functions[max(0, len(functions)-lastTests):]) {
			p.take(pg, f)
		}
	}
	if len(pg.spans) == 0 {
		shown := 0
		for _, f := range functions {
			if shown += f.end - f.start + 1; shown > chunkMax || !p.take(pg, f) {
				break
			}
		}
	}
	if len(pg.shown) == 0 {
		p.take(pg, lineRange{1, min(len(pg.lines), chunkMax)})
	}
	p.left = left - (granted - p.left)
}

// bodies shows the functions that the best ones call, in their own file and in others, for so many tokens.
func (p *packer) bodies(ctx context.Context, most int) error {
	callees, err := p.callees(ctx)
	if err != nil {
		return err
	}
	left := p.left
	p.left = min(p.left, most)
	granted := p.left
	for _, pg := range p.pages[:min(bestFiles, len(p.pages))] {
		if !pg.aside && !pg.whole {
			for _, r := range pg.localCallees() {
				p.take(pg, r)
			}
		}
	}
	for _, c := range callees {
		if c.unique && (c.symbol.Kind == syntax.KindFunction || c.symbol.Kind == syntax.KindMethod) && c.symbol.End-c.symbol.Start < bodyLines {
			pg := p.pageOf(c.path, c.content)
			if r := (lineRange{led(pg.lines, c.symbol.Start), c.symbol.End}); r.end <= len(pg.lines) {
				p.take(pg, r)
			}
		}
	}
	p.left = left - (granted - p.left)
	return nil
}

// localCallees are the functions of a page that its own best spans call, in the order of the calls; a name that the
// file defines twice is none.
func (pg *page) localCallees() []lineRange {
	content := []byte(strings.Join(pg.lines, ""))
	defined := map[string][]syntax.Symbol{}
	for _, s := range symbolsOf(pg.path, content) {
		defined[s.Name] = append(defined[s.Name], s)
	}
	var found []lineRange
	for _, r := range syntax.References(syntax.LanguageOf(pg.path, content), content) {
		symbols := defined[r.Name]
		if len(symbols) != 1 || !pg.wants(r.Line, localSpans) {
			continue
		}
		if s := symbols[0]; (s.Kind == syntax.KindFunction || s.Kind == syntax.KindMethod) && s.End-s.Start < bodyLines && s.End <= len(pg.lines) {
			if at := (lineRange{led(pg.lines, s.Start), s.End}); !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	return found
}

// pageOf returns the page of a file, a new one at the end where it has none.
func (p *packer) pageOf(name string, content []byte) *page {
	for _, pg := range p.pages {
		if pg.path == name {
			return pg
		}
	}
	pg := &page{path: name, guest: true, class: classOf(name), lines: strings.SplitAfter(strings.ToValidUTF8(string(content), "\uFFFD"), "\n")}
	if last := len(pg.lines) - 1; pg.lines[last] == "" {
		pg.lines = pg.lines[:last]
	}
	p.pages = append(p.pages, pg)
	return pg
}
