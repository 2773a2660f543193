package codemap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// wholeFiles are shown whole if each has at most wholeTokens: measured to cover more of the changed places
	// than chunks alone.
	wholeFiles  = 3
	wholeTokens = 6000
	// wholeShare bounds one whole file to a share of a smaller budget.
	wholeShare = 0.4
	// besideShare is the share of the budget for other files where sources are asked for by name: a plan knows where the
	// change goes, and what lies beside costs every call of the conversation.
	besideShare = 0.2
	// codeShare is the share of the budget for code; the rest is for tests, callers, signatures and anchors.
	codeShare = 0.92
	// queueStart flattens the order of chunks over files: the larger, the more files are shown in less depth.
	queueStart = 4
	// headLines is how far from its beginning the last import of a file's head may begin that is shown beside its
	// chunks; a licence often stands before them. What follows later is imported in the middle of code.
	headLines = 40
	// maxAnchors bounds the anchors of what is left out.
	maxAnchors = 20
	// joinGap is how many lines between two shown ranges are shown too rather than left out.
	joinGap = 3
)

// lineRange is a range of lines, both included, from 1.
type lineRange struct{ start, end int }

// page is a file being packed.
type page struct {
	path   string
	class  class
	lines  []string
	spans  []loop.Span // wanted, best first
	shown  []lineRange // sorted, apart
	whole  bool
	always bool
	// licence is how many lines at the beginning are a licence, which is not shown.
	licence int
	// aside is named by anchors only: prose, data and declarations, where the text is not about them.
	aside  bool
	guest  bool        // shown for a function that others call
	bodies []lineRange // its functions, once asked for
}

// Pack renders the located places, best first, as text within a budget of tokens. Each piece is the file's own
// text, unchanged and without the licence that it begins with, under a line "=== path:start-end symbol"; no line carries a number, so that a model can
// copy what it must replace. Paths in always come first, whole if they fit; then the bodies of what the best
// functions call; then the three best files whole if they are small, then whole functions with the head of
// their file. Prose, data and declarations are named only, unless the best file is such a one. Behind them come
// companion tests, the names of what else the best files define, signatures, callers, and an anchor path:line for
// everything left out. Secret, binary and minified files are named
// but never shown. A path of always that does not exist is named as missing.
func (x *Index) Pack(ctx context.Context, tree loop.Tree, located []loop.Located, always []string, budget int) (string, error) {
	s, v, err := x.open(ctx, tree)
	if err != nil {
		return "", err
	}
	p := &packer{index: x, shelf: s, view: v, tree: tree, left: budget}
	if err := p.load(ctx, located, always); err != nil {
		return "", err
	}
	reserve := budget - int(codeShare*float64(budget))
	p.left -= reserve
	if err := p.fill(ctx, budget); err != nil {
		return "", err
	}
	p.left += reserve
	var out strings.Builder
	mark := p.marker()
	for _, pg := range p.pages {
		pg.render(&out, mark)
	}
	p.left = budget - x.Tokens(out.String())
	for _, section := range []func(context.Context) (string, []string, error){p.notes, p.tests, p.definitions, p.signatures, p.callers, p.anchors} {
		title, lines, err := section(ctx)
		if err != nil {
			return "", err
		}
		p.section(&out, title, lines)
	}
	return out.String(), nil
}

// packer holds what one call of Pack knows.
type packer struct {
	index  *Index
	shelf  *shelf
	view   *view
	tree   loop.Tree
	pages  []*page
	hidden []string // why a path of the call is not shown
	left   int      // tokens
}

// load reads the files that may be shown: always first, then the located ones.
func (p *packer) load(ctx context.Context, located []loop.Located, always []string) error {
	want := make([]*page, 0, len(always)+len(located))
	seen := map[string]*page{}
	for _, path := range always {
		if seen[path] == nil {
			seen[path] = &page{path: path, always: true}
			want = append(want, seen[path])
		}
	}
	for _, l := range located {
		if pg := seen[l.Path]; pg != nil {
			pg.spans = l.Spans
			continue
		}
		seen[l.Path] = &page{path: l.Path, spans: l.Spans}
		want = append(want, seen[l.Path])
	}
	// Beyond these only anchors could follow.
	want = want[:min(len(want), len(always)+parsedFiles)]
	texts, err := p.contents(ctx, want)
	if err != nil {
		return err
	}
	for _, pg := range want {
		if Secret(pg.path) {
			p.hidden = append(p.hidden, pg.path+": a place for secrets, not shown")
			continue
		}
		i, ok := p.view.byPath[pg.path]
		if !ok {
			p.hidden = append(p.hidden, pg.path+": does not exist at this commit")
			continue
		}
		content, ok := texts[p.view.files[i].blob]
		if k := kindOf(content); !ok || k == blobBinary || k == blobMinified {
			p.hidden = append(p.hidden, fmt.Sprintf("%s: binary, minified or too large (%d bytes), not shown", pg.path, p.view.files[i].size))
			continue
		}
		text := strings.ToValidUTF8(string(content), "\uFFFD")
		pg.lines = strings.SplitAfter(text, "\n")
		if pg.lines[len(pg.lines)-1] == "" {
			pg.lines = pg.lines[:len(pg.lines)-1]
		}
		if len(pg.lines) == 0 {
			if pg.always { // of another one there is nothing to say
				p.hidden = append(p.hidden, pg.path+": empty")
			}
			continue
		}
		pg.class = p.view.files[i].class
		if pg.licence = licenceOf(pg.lines); pg.licence == len(pg.lines) {
			pg.licence = 0
		}
		p.pages = append(p.pages, pg)
	}
	p.setAside()
	return nil
}

// contents reads the pages' files, those that are not too large, by blob.
func (p *packer) contents(ctx context.Context, pages []*page) (map[string][]byte, error) {
	var blobs []string
	for _, pg := range pages {
		if i, ok := p.view.byPath[pg.path]; ok && !slices.Contains(blobs, p.view.files[i].blob) {
			blobs = append(blobs, p.view.files[i].blob)
		}
	}
	texts := map[string][]byte{}
	if len(blobs) == 0 {
		return texts, nil
	}
	err := p.tree.ReadAll(ctx, blobs, maxBlob, func(blob string, content []byte) error {
		texts[blob] = slices.Clone(content)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the located files of %s: %w", p.tree.Commit(), err)
	}
	return texts, nil
}

// marker is the run of = that headings begin with: the shortest, from three on, that no line shown has before a
// blank, so that no file can pretend to be another.
func (p *packer) marker() string {
	taken := map[int]bool{}
	for _, pg := range p.pages {
		for _, r := range pg.shown {
			for _, l := range pg.lines[r.start-1 : r.end] {
				if rest := strings.TrimLeft(l, "="); len(rest) < len(l) && strings.HasPrefix(rest, " ") {
					taken[len(l)-len(rest)] = true
				}
			}
		}
	}
	n := 3
	for taken[n] {
		n++
	}
	return strings.Repeat("=", n)
}

// fill chooses what is shown until the tokens are used.
func (p *packer) fill(ctx context.Context, budget int) error {
	most := min(wholeTokens, int(wholeShare*float64(budget)))
	for _, pg := range p.pages {
		if !pg.always || p.take(pg, lineRange{1, len(pg.lines)}) {
			continue
		}
		p.parts(pg, most)
	}
	if slices.ContainsFunc(p.pages, func(pg *page) bool { return pg.always && pg.class == classSource }) {
		p.left = min(p.left, int(besideShare*float64(budget)))
	}
	if err := p.bodies(ctx, int(bodyShare*float64(budget))); err != nil {
		return err
	}
	files := 0
	for _, pg := range p.pages {
		if pg.always || pg.aside || pg.guest {
			continue
		}
		if files++; files > wholeFiles {
			break
		}
		if p.index.Tokens(strings.Join(pg.lines, "")) <= most {
			p.take(pg, lineRange{1, len(pg.lines)})
		}
	}
	for _, c := range p.queue() {
		if !c.page.whole && !p.takeChunk(c.page, c.at) {
			p.takeChunk(c.page, c.narrow) // the function around it is too long for what is left
		}
	}
	return nil
}

// takeChunk shows a range, of a file that nothing is shown of yet with the file's head where both fit.
func (p *packer) takeChunk(pg *page, at lineRange) bool {
	if head := headOf(pg.lines); len(pg.shown) == 0 && head > 0 && at.start > head && p.takeBoth(pg, at, lineRange{1, head}) {
		return true
	}
	return p.take(pg, at)
}

// candidate is a chunk that may be shown.
type candidate struct {
	page       *page
	at, narrow lineRange // with the function around it, and without
	cost       float64
}

// queue orders all wanted chunks: the best of the best files first, each next chunk of a file and each next
// file a step later.
func (p *packer) queue() []candidate {
	var out []candidate
	for rank, pg := range p.pages {
		if pg.aside {
			continue
		}
		for i, s := range pg.spans {
			start, end := max(s.Start, 1), min(s.End, len(pg.lines))
			if start <= end {
				longest := snapLines
				if i == 0 && rank < bestFiles {
					longest = bestSnapLines
				}
				narrow := lineRange{start, end}
				out = append(out, candidate{pg, pg.snap(narrow, longest), narrow, float64(rank+queueStart) * float64(i+2)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		switch {
		case a.cost < b.cost:
			return -1
		case a.cost > b.cost:
			return 1
		}
		return 0
	})
	return out
}

func (p *packer) takeBoth(pg *page, a, b lineRange) bool {
	before, left := pg.shown, p.left
	if p.take(pg, a) && p.take(pg, b) {
		return true
	}
	pg.shown, p.left = before, left
	return false
}

// headerTokens is what the line above a piece costs, at most.
const headerTokens = 24

// take shows a range of a file if its tokens are left.
func (p *packer) take(pg *page, r lineRange) bool {
	if r.start = max(r.start, pg.licence+1); r.start > r.end {
		return true
	}
	fresh := subtract(r, pg.shown)
	cost := headerTokens
	for _, f := range fresh {
		cost += p.index.Tokens(strings.Join(pg.lines[f.start-1:f.end], ""))
	}
	if len(fresh) == 0 {
		return true
	}
	if cost > p.left {
		return false
	}
	p.left -= cost
	pg.shown = merge(append(slices.Clone(pg.shown), r))
	pg.whole = len(pg.shown) == 1 && pg.shown[0] == lineRange{pg.licence + 1, len(pg.lines)}
	return true
}

// subtract returns the parts of r that are not in shown, which is sorted and apart.
func subtract(r lineRange, shown []lineRange) []lineRange {
	var out []lineRange
	for _, s := range shown {
		if s.end < r.start || s.start > r.end {
			continue
		}
		if s.start > r.start {
			out = append(out, lineRange{r.start, s.start - 1})
		}
		r.start = s.end + 1
	}
	if r.start <= r.end {
		out = append(out, r)
	}
	return out
}

// merge sorts ranges and joins those that touch or overlap or leave only a few lines between them.
func merge(ranges []lineRange) []lineRange {
	slices.SortFunc(ranges, func(a, b lineRange) int { return a.start - b.start })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && r.start <= out[n-1].end+1+joinGap {
			out[n-1].end = max(out[n-1].end, r.end)
			continue
		}
		out = append(out, r)
	}
	return out
}

// headOf is the number of lines of a file's head: up to the end of the last import or include near its beginning, 0
// if there is none. A list of imports in brackets is never cut.
func headOf(lines []string) int {
	head := 0
	for i := 0; i < min(len(lines), headLines); i++ {
		if !isImport(lines[i]) {
			continue
		}
		end := endOfList(lines, i)
		if end > 2*headLines { // a list that is longer than a head should be
			break
		}
		i, head = end-1, end
	}
	return head
}

// isImport tells whether an import begins on a line.
func isImport(line string) bool {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "const", "let", "var":
		return strings.Contains(line, "require(")
	}
	return slices.Contains(importWords, word) && !strings.HasPrefix(rest, "=")
}

// endOfList is the number of the line, from 1, on which a list ends whose bracket the line at index i leaves open; that
// line itself where it leaves none open.
func endOfList(lines []string, i int) int {
	if open := strings.TrimRight(lines[i], " \t\r\n"); !strings.HasSuffix(open, "(") && !strings.HasSuffix(open, "{") {
		return i + 1
	}
	for i++; i < len(lines); i++ {
		if text := strings.TrimSpace(lines[i]); strings.HasPrefix(text, ")") || strings.HasPrefix(text, "}") {
			return i + 1
		}
	}
	return len(lines)
}

// importWords begin the lines of a file's head in the languages of the index.
var importWords = []string{"import", "from", "package", "use", "using", "#include", "require", "require_relative", "namespace", "module", "extern", "mod"}

// heading is the line above a piece of a file.
func heading(mark, path string, start, end int, what string) string {
	line := fmt.Sprintf("%s %s:%d-%d", mark, oneLine(path), start, end)
	if what != "" {
		line += " " + what
	}
	return line
}

// render writes what is shown of a file.
func (pg *page) render(out *strings.Builder, mark string) {
	var groups []group
	if pg.class == classTest {
		groups = groupsOf(pg.lines)
	}
	for _, r := range pg.shown {
		what := pg.symbols(r)
		if pg.whole && pg.licence > 0 {
			what = "(whole file, but for its licence)"
		} else if pg.whole {
			what = "(whole file)"
		} else if in := around(pg.lines, groups, r.start); in != "" {
			what = "in " + oneLine(in)
		}
		out.WriteString(heading(mark, pg.path, r.start, r.end, what) + "\n")
		for _, l := range pg.lines[r.start-1 : r.end] {
			out.WriteString(l)
		}
		if !strings.HasSuffix(pg.lines[r.end-1], "\n") {
			out.WriteByte('\n')
		}
		out.WriteByte('\n')
	}
}

// symbols names the spans within a range, at most three.
func (pg *page) symbols(r lineRange) string {
	var names []string
	for _, s := range pg.spans {
		if s.Symbol != "" && s.Start >= r.start && s.End <= r.end && !slices.Contains(names, s.Symbol) && len(names) < 3 {
			names = append(names, s.Symbol)
		}
	}
	return strings.Join(names, ", ")
}

// section adds a titled list, as many of its lines as there are tokens left for.
func (p *packer) section(out *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	title = "--- " + title + "\n"
	cost := p.index.Tokens(title) + 1
	var body strings.Builder
	for _, l := range lines {
		l = oneLine(l) + "\n"
		n := p.index.Tokens(l)
		if cost+n > p.left {
			break
		}
		cost += n
		body.WriteString(l)
	}
	if body.Len() == 0 {
		return
	}
	p.left -= cost
	out.WriteString(title + body.String() + "\n")
}

func (p *packer) notes(context.Context) (string, []string, error) {
	return "not shown", p.hidden, nil
}
