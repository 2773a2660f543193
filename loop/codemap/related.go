package codemap

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/syntax"
)

const (
	// relatedFiles is how many of the best files get companions, callers and signatures.
	relatedFiles = 5
	// maxCompanions, maxCallers and maxSignatures bound the lines of each list.
	maxCompanions, maxCallers, maxSignatures = 8, 20, 20
	// callerFiles is how many files are read for callers, callsPerFile how many calls of one are named.
	callerFiles, callsPerFile = 24, 3
	// commonName is the number of files that use a name from which it is everybody's word (String, get, run)
	// and its callers say nothing.
	commonName = 40
	// maxDefiners is the number of files that define a name from which none of them is meant.
	maxDefiners = 2
)

// affixes of test files around the name of what they test.
var affixes = regexp.MustCompile(`(?i)^(tests?[_-]?)|([._-]?(tests?|specs?|it|testcase|unittests?))$`)

// tests names the test files that belong to the best files by their names, with the groups of tests in them.
func (p *packer) tests(ctx context.Context) (string, []string, error) {
	byStem := map[string][]int{}
	for i, f := range p.view.files {
		if f.class == classTest {
			stem := strings.ToLower(affixes.ReplaceAllString(stemOf(f.path), ""))
			byStem[stem] = append(byStem[stem], i)
		}
	}
	var chosen []int
	of := map[int]string{}
	for i, pg := range p.pages[:min(relatedFiles, len(p.pages))] {
		if f, ok := p.view.byPath[pg.path]; !ok || p.view.files[f].class != classSource {
			continue
		}
		found := byStem[strings.ToLower(stemOf(pg.path))]
		near := func(t int) int { return -common(path.Dir(pg.path)+"/x", path.Dir(p.view.files[t].path)+"/x") }
		slices.SortStableFunc(found, func(a, b int) int { return near(a) - near(b) })
		for _, t := range found[:min(len(found), max(1, 3-i))] {
			if of[t] == "" && len(chosen) < maxCompanions && !slices.ContainsFunc(p.pages, func(o *page) bool { return o.path == p.view.files[t].path && o.whole }) {
				chosen = append(chosen, t)
				of[t] = pg.path
			}
		}
	}
	groups := map[string]string{}
	err := p.read(ctx, chosen, func(f file, content []byte) {
		groups[f.path] = titles(strings.Split(string(content), "\n"))
	})
	if err != nil {
		return "", nil, err
	}
	var lines []string
	for _, t := range chosen {
		line := "tests of " + of[t] + ": " + p.view.files[t].path
		if g := groups[p.view.files[t].path]; g != "" {
			line += "; groups by line: " + g
		}
		lines = append(lines, line)
	}
	return "test files beside them, to be extended", lines, nil
}

// stemOf is a file's name without its extensions.
func stemOf(p string) string {
	base := path.Base(p)
	if i := strings.IndexByte(base, '.'); i > 0 {
		base = base[:i] + strings.ReplaceAll(strings.TrimSuffix(base[i:], path.Ext(base)), ".", "_")
	}
	return base
}

// shownSymbols lists the functions and types that the shown chunks define, best file first, each name once. Names of one
// word (New, parse, get) are left out: callers are found by name alone, and those would be anybody's.
func (p *packer) shownSymbols() []string {
	var names []string
	for _, pg := range p.pages[:min(relatedFiles, len(p.pages))] {
		for i, s := range pg.spans {
			name := s.Symbol[strings.LastIndexByte(s.Symbol, '.')+1:]
			if len(split(name)) > 1 && i < 4 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// callers names the places of other files that call what the shown chunks define.
func (p *packer) callers(ctx context.Context) (string, []string, error) {
	const title = "callers of the functions above"
	wanted := map[string]bool{}
	use := map[int]int{} // file to the number of names that it uses
	p.shelf.mu.RLock()
	for _, name := range p.shownSymbols() {
		id, ok := p.shelf.dict.ids[name]
		if !ok {
			continue
		}
		var users []int
		definers := 0
		for i, f := range p.view.files {
			if f.doc != nil && f.class <= classTest && slices.Contains(f.doc.stream, id) {
				users = append(users, i)
				if f.class == classSource && slices.Contains(f.doc.defs, id) {
					definers++
				}
			}
		}
		if len(users) > commonName || definers > maxDefiners {
			continue
		}
		wanted[name] = true
		for _, i := range users {
			use[i]++
		}
	}
	p.shelf.mu.RUnlock()
	var files []int
	for i := range use {
		if !slices.ContainsFunc(p.pages, func(pg *page) bool { return pg.path == p.view.files[i].path }) {
			files = append(files, i)
		}
	}
	slices.SortFunc(files, func(a, b int) int {
		fa, fb := p.view.files[a], p.view.files[b]
		if fa.class != fb.class {
			return int(fa.class) - int(fb.class)
		}
		if use[a] != use[b] {
			return use[b] - use[a]
		}
		return strings.Compare(fa.path, fb.path)
	})
	var lines []string
	err := p.read(ctx, files[:min(callerFiles, len(files))], func(f file, content []byte) {
		text := strings.Split(string(content), "\n")
		calls, last := 0, 0 // a line with two calls is one place
		for _, r := range syntax.References(syntax.LanguageOf(f.path, content), content) {
			if wanted[r.Name] && calls < callsPerFile && r.Line >= 1 && r.Line <= len(text) && r.Line != last {
				calls++
				last = r.Line
				lines = append(lines, fmt.Sprintf("%s:%d: %s", f.path, r.Line, shorten(strings.TrimSpace(text[r.Line-1]), maxSearchLine/2)))
			}
		}
	})
	if err != nil {
		return "", nil, err
	}
	return title, lines[:min(len(lines), maxCallers)], nil
}

// signatures names what the best chunks call and other files define, where its body is not shown.
func (p *packer) signatures(ctx context.Context) (string, []string, error) {
	callees, err := p.callees(ctx)
	if err != nil {
		return "", nil, err
	}
	var lines []string
	for _, c := range callees {
		if c.symbol.Signature != "" && !p.shows(c.path, c.symbol.Start) {
			lines = append(lines, fmt.Sprintf("%s:%d: %s", c.path, c.symbol.Start, c.symbol.Signature))
		}
	}
	return "signatures of what they call", lines[:min(len(lines), maxSignatures)], nil
}

// callee is a definition in another file that one of the best chunks calls by its name.
type callee struct {
	path    string
	content []byte
	symbol  syntax.Symbol
	unique  bool // nothing else has its name
}

// callees finds them, those of the file that is called most first.
func (p *packer) callees(ctx context.Context) ([]callee, error) {
	called := map[string]bool{}
	var order []string
	for _, pg := range p.pages[:min(relatedFiles, len(p.pages))] {
		content := []byte(strings.Join(pg.lines, ""))
		own := map[string]bool{}
		for _, s := range symbolsOf(pg.path, content) {
			own[s.Name] = true
		}
		for _, r := range syntax.References(syntax.LanguageOf(pg.path, content), content) {
			if !own[r.Name] && !called[r.Name] && len(r.Name) > 2 && pg.wants(r.Line, calleeSpans) {
				called[r.Name] = true
				order = append(order, r.Name)
			}
		}
	}
	definers := map[int][]string{}
	unique := map[string]bool{}
	p.shelf.mu.RLock()
	for _, name := range order {
		id, ok := p.shelf.dict.ids[name]
		if !ok {
			continue
		}
		var at []int
		for i, f := range p.view.files {
			if f.doc != nil && f.class == classSource && slices.Contains(f.doc.defs, id) {
				at = append(at, i)
			}
		}
		unique[name] = len(at) == 1
		if len(at) <= maxDefiners {
			for _, i := range at {
				definers[i] = append(definers[i], name)
			}
		}
	}
	p.shelf.mu.RUnlock()
	files := make([]int, 0, len(definers))
	for i := range definers {
		files = append(files, i)
	}
	slices.SortFunc(files, func(a, b int) int {
		if n := len(definers[b]) - len(definers[a]); n != 0 {
			return n
		}
		return a - b
	})
	var found []callee
	err := p.read(ctx, files[:min(callerFiles, len(files))], func(f file, content []byte) {
		names := definers[p.view.byPath[f.path]]
		symbols := symbolsOf(f.path, content)
		for _, s := range symbols {
			if slices.Contains(names, s.Name) {
				alone := 0 // a name that several types of the file have is not one definition
				for _, o := range symbols {
					if o.Name == s.Name {
						alone++
					}
				}
				found = append(found, callee{path: f.path, content: content, symbol: s, unique: unique[s.Name] && alone == 1})
			}
		}
	})
	return found, err
}

// wants tells whether a line lies in one of the best spans of a file.
func (pg *page) wants(line, best int) bool {
	if len(pg.spans) == 0 {
		return pg.always && pg.class == classSource // the plan names it, and no word of the issue says where
	}
	for _, s := range pg.spans[:min(best, len(pg.spans))] {
		if line >= s.Start && line <= s.End {
			return true
		}
	}
	return false
}

// shows tells whether a line of a file is shown.
func (p *packer) shows(path string, line int) bool {
	for _, pg := range p.pages {
		if pg.path == path {
			return slices.ContainsFunc(pg.shown, func(r lineRange) bool { return line >= r.start && line <= r.end })
		}
	}
	return false
}

// read calls each with the files' contents in the order of files.
func (p *packer) read(ctx context.Context, files []int, each func(file, []byte)) error {
	blobs := make([]string, 0, len(files))
	for _, i := range files {
		blobs = append(blobs, p.view.files[i].blob)
	}
	texts := map[string][]byte{}
	err := p.tree.ReadAll(ctx, blobs, parsedBytes, func(blob string, content []byte) error {
		texts[blob] = slices.Clone(content)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read related files of %s: %w", p.tree.Commit(), err)
	}
	for _, i := range files {
		if text, ok := texts[p.view.files[i].blob]; ok {
			each(p.view.files[i], text)
		}
	}
	return nil
}

// anchors names the wanted places that are not shown, those of code first.
func (p *packer) anchors(context.Context) (string, []string, error) {
	var lines []string
	var code, aside []*page
	for _, pg := range p.pages {
		if pg.aside {
			aside = append(aside, pg)
		} else {
			code = append(code, pg)
		}
	}
	for _, pg := range append(code, aside...) {
		if pg.aside { // a line for the file is enough
			if len(lines) < maxAnchors && len(pg.shown) == 0 {
				lines = append(lines, fmt.Sprintf("%s:1-%d", pg.path, len(pg.lines)))
			}
			continue
		}
		for _, s := range pg.spans {
			if len(subtract(lineRange{s.Start, s.End}, pg.shown)) > 0 && len(lines) < maxAnchors {
				lines = append(lines, anchor(pg.path, s))
			}
		}
		if len(pg.spans) == 0 && !pg.whole && !pg.guest && len(lines) < maxAnchors {
			lines = append(lines, fmt.Sprintf("%s:1-%d", pg.path, len(pg.lines)))
		}
	}
	return "left out", lines, nil
}

// anchor is a place in one line.
func anchor(path string, s loop.Span) string {
	return strings.TrimSpace(fmt.Sprintf("%s:%d-%d %s", path, s.Start, s.End, s.Symbol))
}
