package codemap

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/syntax"
)

const (
	// parsedFiles is how many of the best files get syntax trees, parsedBytes how large each may be: tree-sitter
	// reads 5 to 10 MB/s, and a query should be answered in 200 ms.
	parsedFiles = 20
	parsedBytes = 128 << 10
	// firstFiles get firstSpans spans each, the rest laterSpans.
	firstFiles, firstSpans, laterSpans = 10, 8, 3
	// weakSpan is the share of a file's best chunk below which a chunk says nothing.
	weakSpan = 0.1
	// keepOutlines bounds the outlines that a shelf remembers.
	keepOutlines = 500
)

// wholeLines is how many lines the best files may have, by rank, for all of their chunks to be spans: half of all
// fixes are made in the best file, and often in a place of it that shares no word with the issue.
var wholeLines = [...]int32{1000, 600}

// outline is what a syntax tree says of a blob.
type outline struct {
	head    int // lines of its imports
	symbols []syntax.Symbol
	pieces  []chunk  // its chunks, with token unset
	names   []string // of the pieces
}

// spans picks the best chunks of each file, best first, and behind them the imports, which many fixes change too.
// The chunks are cut by syntax trees where one can be had. Read in order they fill a budget of 20,000 tokens well.
func (s *shelf) spans(ctx context.Context, tree loop.Tree, v *view, q *query, all []ranked, m *matcher, weigh []float64) ([][]loop.Span, error) {
	outlines, err := s.outlines(ctx, tree, v, all[:min(parsedFiles, len(all))])
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([][]loop.Span, len(all))
	for i, r := range all {
		out[i] = []loop.Span{}
		f := v.files[r.file]
		if f.doc == nil {
			continue
		}
		pieces, name, head := f.doc.chunks, func(k int) string { return s.dict.names[f.doc.chunks[k].name] }, 0
		best := r.best
		if o := outlines[f.blob]; o != nil {
			head = o.head
			if len(o.pieces) > 0 {
				pieces, name = f.doc.place(o.pieces), func(k int) string { return o.names[k] }
				best = o.composed(q, m.chunks(f.doc, pieces, r.at, weigh))
				r.lines = append(slices.Clone(r.lines), o.spelledOut(q.names)...)
			}
		}
		for _, k := range chosen(pieces, namedFirst(pieces, r.lines, best), i, len(r.lines)) {
			out[i] = append(out[i], loop.Span{Start: int(pieces[k].start), End: int(pieces[k].end), Symbol: name(k)})
		}
		if head > 0 && !slices.ContainsFunc(out[i], func(s loop.Span) bool { return s.Start == 1 }) {
			out[i] = append(out[i], loop.Span{Start: 1, End: head})
		}
	}
	return out, nil
}

// sameName is in how many places a file may define a name of several words for each to be meant: a class and its parent
// both have get_real_name.
const sameName = 3

// spelledOut are the lines at which definitions begin whose names the text spells out; of a name of one word that the
// file defines in several places (String, close) none.
func (o *outline) spelledOut(names map[string]bool) []int32 {
	places := map[string]int{}
	for _, s := range o.symbols {
		places[s.Name]++
	}
	var lines []int32
	for _, s := range o.symbols {
		if names[s.Name] && (places[s.Name] == 1 || places[s.Name] <= sameName && len(split(s.Name)) > 1) {
			lines = append(lines, int32(s.Start))
		}
	}
	return lines
}

// composedWeight is how much more a piece counts whose name is made of words of the text: "the fast parser" is parseFast.
const composedWeight = 1.5

// composed weighs such pieces of best, which it orders anew.
func (o *outline) composed(q *query, best []scoredChunk) []scoredChunk {
	for i := range best {
		words := split(o.names[best[i].index][strings.LastIndexByte(o.names[best[i].index], '.')+1:])
		if len(words) > 1 && !slices.ContainsFunc(words, func(w string) bool { return q.weights[stem(w)] == 0 }) {
			best[i].score *= composedWeight
		}
	}
	slices.SortStableFunc(best, func(a, b scoredChunk) int { return cmp.Compare(b.score, a.score) })
	return best
}

// chosen lists the pieces that are shown of the file at a rank, from 0, by index: all of a short file of the first
// ranks, the best first; of others the best, as far as they are not weak. The first named of best are always in.
func chosen(pieces []chunk, best []scoredChunk, rank, named int) []int {
	most := laterSpans
	if rank < firstFiles {
		most = firstSpans
	}
	whole := rank < len(wholeLines) && len(pieces) > 0 && pieces[len(pieces)-1].end <= wholeLines[rank]
	var list []int
	in := make([]bool, len(pieces))
	for n, c := range best {
		if !whole && (n == most || n >= named && c.score < weakSpan*best[0].score) {
			break
		}
		list, in[c.index] = append(list, c.index), true
	}
	for k := range pieces {
		if whole && !in[k] {
			list = append(list, k)
		}
	}
	return list
}

// namedFirst puts the pieces first that hold a line which the text names: a frame of a trace says where to look.
func namedFirst(pieces []chunk, lines []int32, best []scoredChunk) []scoredChunk {
	if len(lines) == 0 {
		return best
	}
	most := 0.0
	if len(best) > 0 {
		most = best[0].score
	}
	var first []scoredChunk
	taken := map[int]bool{}
	for _, line := range lines {
		for i, k := range pieces {
			if line >= k.start && line <= k.end && !taken[i] {
				taken[i] = true
				first = append(first, scoredChunk{i, most})
			}
		}
	}
	return append(first, slices.DeleteFunc(slices.Clone(best), func(c scoredChunk) bool { return taken[c.index] })...)
}

// place sets the tokens of pieces of a doc.
func (d *doc) place(pieces []chunk) []chunk {
	placed := slices.Clone(pieces)
	token, line := int32(0), int32(1)
	for i := range placed {
		for ; line < placed[i].start && int(line) <= len(d.perLine); line++ {
			token += int32(d.perLine[line-1])
		}
		placed[i].token = token
	}
	return placed
}

// outlines returns the outlines of files by blob, parsing those that are not known yet on all processors.
// Files without a grammar have none.
func (s *shelf) outlines(ctx context.Context, tree loop.Tree, v *view, files []ranked) (map[string]*outline, error) {
	out := map[string]*outline{}
	paths := map[string]string{}
	var missing []string
	s.parsed.mu.Lock()
	for _, r := range files {
		f := v.files[r.file]
		if f.doc == nil || f.size > parsedBytes || len(f.doc.stream) == 0 {
			continue
		}
		if o, ok := s.parsed.outlines[f.blob]; ok {
			out[f.blob] = o
		} else if _, ok := paths[f.blob]; !ok {
			paths[f.blob] = f.path
			missing = append(missing, f.blob)
		}
	}
	s.parsed.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	err := tree.ReadAll(ctx, missing, parsedBytes, func(blob string, content []byte) error {
		content = slices.Clone(content)
		slots <- struct{}{}
		group.Go(func() {
			o := parseOutline(paths[blob], content)
			mu.Lock()
			out[blob] = o
			mu.Unlock()
			<-slots
		})
		return ctx.Err()
	})
	group.Wait()
	if err != nil {
		return nil, fmt.Errorf("read the best files of %s: %w", tree.Commit(), err)
	}
	s.parsed.mu.Lock()
	defer s.parsed.mu.Unlock()
	if len(s.parsed.outlines) > keepOutlines {
		clear(s.parsed.outlines)
	}
	for _, blob := range missing {
		if out[blob] != nil { // else the repository lacks it
			s.parsed.outlines[blob] = out[blob]
			s.parsed.fresh++
		}
	}
	return out, nil
}

// parsed remembers outlines by blob.
type parsed struct {
	mu       sync.Mutex
	outlines map[string]*outline
	fresh    int // how many came since the shelf was last written
}

// news is how many outlines came since the shelf was last written.
func (p *parsed) news() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh
}

// kept takes n off the news.
func (p *parsed) kept(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh -= n
}

// parseOutline reads a text's symbols and cuts it into pieces: a function or method each, with the comment
// above it; small neighbours together, long ones in windows.
func parseOutline(path string, content []byte) *outline {
	lang := syntax.LanguageOf(path, content)
	lines := strings.Split(string(content), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	o := &outline{head: headOf(lines), symbols: syntax.Outline(lang, content)}
	if len(o.symbols) == 0 {
		return o
	}
	raw := leadIn(innermost(o.symbols, len(lines)), lines)
	var open syntax.Span
	flush := func() {
		if open.End < open.Start || open.End == 0 {
			return
		}
		size := chunkMax
		if open.Symbol == "" {
			size = windowLines
		}
		for start := open.Start; start <= open.End; {
			stop := min(start+size-1, open.End)
			if open.End-stop < chunkMin {
				stop = open.End
			}
			o.pieces = append(o.pieces, chunk{start: int32(start), end: int32(stop)})
			o.names = append(o.names, open.Symbol)
			start = stop + 1
		}
		open = syntax.Span{}
	}
	for _, p := range raw {
		length := p.End - p.Start + 1
		switch {
		case open.End == 0:
			open = p
		case p.Symbol == "" && blank(lines[p.Start-1:min(p.End, len(lines))]),
			p.Symbol != "" && length < chunkMin && open.End-open.Start < 4*chunkMin && open.End-open.Start+1 < chunkMin+length,
			open.End-open.Start+1 < chunkMin && length < chunkMin:
			open.End = p.End
			if open.Symbol == "" {
				open.Symbol = p.Symbol
			}
		default:
			flush()
			open = p
		}
	}
	flush()
	return o
}

// innermost cuts lines 1 to total into stretches that belong to the same innermost symbol, or to none.
func innermost(symbols []syntax.Symbol, total int) []syntax.Span {
	owner := make([]int, total) // 1 + the index of the symbol
	order := make([]int, len(symbols))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return (symbols[b].End - symbols[b].Start) - (symbols[a].End - symbols[a].Start)
	})
	for _, i := range order {
		for line := max(symbols[i].Start, 1); line <= min(symbols[i].End, total); line++ {
			owner[line-1] = i + 1
		}
	}
	var spans []syntax.Span
	for i, of := range owner {
		if i > 0 && of == owner[i-1] {
			spans[len(spans)-1].End = i + 1
			continue
		}
		span := syntax.Span{Start: i + 1, End: i + 1}
		if of > 0 {
			span.Symbol = symbols[of-1].FullName()
		}
		spans = append(spans, span)
	}
	return spans
}

// leadIn gives the comments and decorators right above a definition to its piece.
func leadIn(raw []syntax.Span, lines []string) []syntax.Span {
	var out []syntax.Span
	for _, p := range raw {
		if n := len(out); n > 0 && out[n-1].Symbol == "" && p.Symbol != "" {
			for out[n-1].End >= out[n-1].Start && out[n-1].End <= len(lines) && leads([]byte(lines[out[n-1].End-1])) {
				out[n-1].End--
				p.Start--
			}
			if out[n-1].End < out[n-1].Start {
				out = out[:n-1]
			}
		}
		out = append(out, p)
	}
	return out
}

func blank(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return false
		}
	}
	return true
}
