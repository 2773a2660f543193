package codemap

import (
	"cmp"
	"math"
	"slices"
)

// The usual constants of BM25 (Robertson and Zaragoza, 2009).
const (
	bm25K = 1.2
	bm25B = 0.75
)

// signals are what speaks for a file, each between 0 and 1.
type signals struct {
	body    float64 // BM25 of the whole text
	chunk   float64 // BM25 of its best chunk
	chunks  float64 // BM25 of its best three chunks together
	base    float64 // words of the file's name
	dirs    float64 // words of its directories
	defined float64 // words of the names that it defines
	joined  float64 // BM25 of joined words alone
	history float64 // the past commit that was most about the same and changed it
	recent  float64 // how often it was changed of late
	mention float64 // named in the text, stack frames included
}

// weights of the signals. They are few and round on purpose: finer ones win on the repositories that they
// were tuned on and lose on others.
var weights = signals{
	body: 1, chunk: 0.5, chunks: 0.7, base: 0.5, dirs: 0.35, defined: 0.3, joined: 0.3, history: 1, recent: 0.3, mention: 3,
}

// standing is what a file of a class is worth against a source with the same signals.
var standing = [classes]float64{
	classSource: 1, classTest: 0.3, classDocs: 0.3, classExample: 0.4, classBuild: 0.4, classData: 0.3,
	classGenerated: 0.3, classVendored: 0.15,
}

// recentCommits is the number of commits over which the memory of changes fades by e.
const recentCommits = 100

// commentWeight is what a word in a comment counts against one in code: pages of documentation in a source, such as
// Java's, would have every word of every issue.
const commentWeight = 0.5

// asked is the standing of a class that the text is about.
const asked = 1.25

func (s signals) total() float64 {
	w := &weights
	return w.body*s.body + w.chunk*s.chunk + w.chunks*s.chunks + w.base*s.base + w.dirs*s.dirs +
		w.defined*s.defined + w.joined*s.joined + w.history*s.history + w.recent*s.recent + w.mention*s.mention
}

// spoken tells whether anything of the query speaks for a file: late changes alone do not.
func (s signals) spoken() bool {
	return s.body > 0 || s.base > 0 || s.dirs > 0 || s.history > 0 || s.mention > 0
}

// hits are the places of a query's terms in one file.
type hits struct {
	file   int
	counts []float32 // by term
	at     []hit
	length int
}

// hit is an identifier of the stream that contains terms of the query.
type hit struct {
	token   int32
	set     uint16
	comment bool
}

// weight is what the hit counts.
func (h hit) weight() float32 {
	if h.comment {
		return commentWeight
	}
	return 1
}

// ranked is a file with its signals.
type ranked struct {
	file  int
	score float64
	signals
	best     []scoredChunk // its chunks, best first
	at       []hit
	lines    []int32 // that the text names in it
	standing float64
}

type scoredChunk struct {
	index int
	score float64
}

// matcher finds the terms of a query in streams of identifiers.
type matcher struct {
	terms []string
	set   []uint16               // by identifier: 0, or an index in sets
	sets  [][]uint16             // terms, by index
	pairs map[[2]uint16]uint16   // words that stand side by side in the query, and the term that they make
	known map[[2]uint16][]uint16 // what follow answered, by sets
}

// follow lists the joined terms that two identifiers make which stand side by side: an error's text in a
// string, words in a comment.
func (m *matcher) follow(a, b uint16) []uint16 {
	if len(m.pairs) == 0 {
		return nil
	}
	list, ok := m.known[[2]uint16{a, b}]
	if !ok {
		for _, t := range m.sets[a] {
			for _, u := range m.sets[b] {
				if joined, ok := m.pairs[[2]uint16{t, u}]; ok {
					list = append(list, joined)
				}
			}
		}
		m.known[[2]uint16{a, b}] = list
	}
	return list
}

// match prepares a query for the shelf's dictionary; s.mu is held for reading.
func (s *shelf) match(q *query) *matcher {
	m := &matcher{terms: q.order, sets: [][]uint16{nil}}
	wanted := make(map[uint32]uint16, len(q.order))
	for i, t := range q.order {
		if id, ok := s.words.ids[t]; ok {
			wanted[id] = uint16(i)
		}
	}
	place := make(map[string]uint16, len(q.order))
	for i, t := range q.order {
		place[t] = uint16(i)
	}
	m.pairs, m.known = map[[2]uint16]uint16{}, map[[2]uint16][]uint16{}
	for words, joined := range q.pairs {
		a, okA := place[words[0]]
		b, okB := place[words[1]]
		if t, ok := place[joined]; ok && okA && okB {
			m.pairs[[2]uint16{a, b}] = t
		}
	}
	mark := make([]bool, len(s.words.ids))
	for id := range wanted {
		mark[id] = true
	}
	m.set = make([]uint16, len(s.words.first)-1)
	known := map[string]uint16{}
	var list []uint16
	key := make([]byte, 0, 64)
	for id := range m.set {
		list, key = list[:0], key[:0]
		for _, t := range s.words.of(uint32(id)) {
			if mark[t] {
				list = append(list, wanted[t])
				key = append(key, byte(wanted[t]), byte(wanted[t]>>8))
			}
		}
		if len(list) == 0 {
			continue
		}
		n, ok := known[string(key)]
		if !ok {
			if len(m.sets) > math.MaxUint16 {
				continue
			}
			n = uint16(len(m.sets))
			m.sets = append(m.sets, slices.Clone(list))
			known[string(key)] = n
		}
		m.set[id] = n
	}
	return m
}

// rank scores all files of a view for a query, best first, and returns with what it looked for them: the
// matcher and the weights of its terms. s.mu is held for reading.
func (s *shelf) rank(v *view, q *query) ([]ranked, *matcher, []float64) {
	m := s.match(q)
	found, length, docs := m.scan(v)
	idf := m.idf(found, docs)
	out := make([]ranked, len(v.files))
	for i := range out {
		out[i].file, out[i].standing = i, standing[v.files[i].class]
		if q.about[v.files[i].class] {
			out[i].standing = asked
		}
	}
	weigh := make([]float64, len(m.terms))
	joined := make([]float64, len(m.terms))
	for i, t := range m.terms {
		weigh[i] = q.weights[t] * idf[i]
		if q.joined[t] {
			joined[i] = weigh[i]
		}
	}
	average := float64(length) / float64(max(docs, 1))
	for _, h := range found {
		r := &out[h.file]
		relative := float64(h.length) / max(average, 1)
		r.body = bm25(h.counts, weigh, relative)
		r.joined = bm25(h.counts, joined, relative)
		r.at = h.at
		r.best = m.chunks(v.files[h.file].doc, v.files[h.file].doc.chunks, h.at, weigh)
		for i, c := range r.best[:min(3, len(r.best))] {
			if i == 0 {
				r.chunk = c.score
			}
			r.chunks += c.score
		}
		r.defined = m.cover(v.files[h.file].doc.defs, weigh)
	}
	for i := range out {
		f := v.files[i]
		out[i].base = m.cover(f.name.base, weigh)
		out[i].dirs = m.cover(f.name.dirs, weigh)
	}
	v.historic(m, q, out)
	normalise(out)
	v.mentioned(q, out)
	for i := range out {
		out[i].score = out[i].total() * out[i].standing
	}
	out = slices.DeleteFunc(out, func(r ranked) bool { return !r.spoken() })
	slices.SortFunc(out, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(v.files[a.file].path, v.files[b.file].path))
	})
	return out, m, weigh
}

// scan finds the hits of all files, with the summed length and the number of the files that have text.
func (m *matcher) scan(v *view) (found []hits, length, docs int) {
	for i := range v.files {
		d := v.files[i].doc
		if d == nil || len(d.stream) == 0 {
			continue
		}
		docs++
		length += len(d.stream)
		var at []hit
		for token, id := range d.stream {
			if set := m.set[id&^inComment]; set != 0 {
				at = append(at, hit{int32(token), set, id&inComment != 0})
			}
		}
		if at == nil {
			continue
		}
		h := hits{file: i, counts: make([]float32, len(m.terms)), at: at, length: len(d.stream)}
		for i, a := range at {
			for _, t := range m.sets[a.set] {
				h.counts[t] += a.weight()
			}
			if i > 0 && at[i-1].token+1 == a.token {
				for _, t := range m.follow(at[i-1].set, a.set) {
					h.counts[t] += a.weight()
				}
			}
		}
		found = append(found, h)
	}
	return found, length, docs
}

// idf is the inverse document frequency of every term, by how many files have it.
func (m *matcher) idf(found []hits, docs int) []float64 {
	df := make([]int, len(m.terms))
	for _, h := range found {
		for t, n := range h.counts {
			if n > 0 {
				df[t]++
			}
		}
	}
	out := make([]float64, len(df))
	for t, n := range df {
		out[t] = inverse(n, docs)
	}
	return out
}

// inverse is the inverse document frequency of a term that n of docs have, as Lucene has it (never negative).
func inverse(n, docs int) float64 {
	return math.Log(1 + (float64(docs-n)+0.5)/(float64(n)+0.5))
}

// bm25 scores counts of terms in a text whose length is given relative to the average.
func bm25(counts []float32, weigh []float64, length float64) float64 {
	score := 0.0
	norm := bm25K * (1 - bm25B + bm25B*length)
	for t, n := range counts {
		if n > 0 {
			score += weigh[t] * float64(n) * (bm25K + 1) / (float64(n) + norm)
		}
	}
	return score
}

// chunks scores pieces of a doc that has hits at the given places, best first.
func (m *matcher) chunks(d *doc, pieces []chunk, at []hit, weigh []float64) []scoredChunk {
	var out []scoredChunk
	counts := make([]float32, len(m.terms))
	const typical = 80 // identifiers in a chunk of some 25 lines
	var last hit
	for i := range pieces {
		end := int32(len(d.stream))
		if i+1 < len(pieces) {
			end = pieces[i+1].token
		}
		if len(at) == 0 || at[0].token >= end {
			continue
		}
		clear(counts)
		for k := 0; len(at) > 0 && at[0].token < end; k++ {
			for _, t := range m.sets[at[0].set] {
				counts[t] += at[0].weight()
			}
			if k > 0 && last.token+1 == at[0].token {
				for _, t := range m.follow(last.set, at[0].set) {
					counts[t] += at[0].weight()
				}
			}
			last = at[0]
			at = at[1:]
		}
		length := float64(end-pieces[i].token) / typical
		out = append(out, scoredChunk{i, bm25(counts, weigh, length)})
	}
	slices.SortFunc(out, func(a, b scoredChunk) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.index, b.index))
	})
	return out
}

// cover sums the weights of the terms that occur in a list of identifiers, each once.
func (m *matcher) cover(identifiers []uint32, weigh []float64) float64 {
	score := 0.0
	var seen [maxTerms/64 + 1]uint64
	for _, id := range identifiers {
		for _, t := range m.sets[m.set[id]] {
			if seen[t/64]&(1<<(t%64)) == 0 {
				seen[t/64] |= 1 << (t % 64)
				score += weigh[t]
			}
		}
	}
	return score
}

// historic scores files by the past commits whose messages are like the query, and by their late changes.
func (v *view) historic(m *matcher, q *query, out []ranked) {
	covered := make([][]uint16, len(v.history))
	df := make([]int, len(m.terms))
	commits := 0
	for n, c := range v.history {
		for _, p := range c.files {
			if i, ok := v.byPath[p]; ok {
				out[i].recent += math.Exp(-float64(n) / recentCommits)
			}
		}
		if len(c.files) == 0 {
			continue
		}
		commits++
		covered[n] = m.distinct(c.words)
		for _, t := range covered[n] {
			df[t]++
		}
	}
	for n, c := range v.history {
		if len(covered[n]) == 0 {
			continue
		}
		like := 0.0
		for _, t := range covered[n] {
			like += q.weights[m.terms[t]] * inverse(df[t], commits)
		}
		// Long messages and wide changes match by chance.
		like /= math.Pow(float64(len(c.words))+8, 0.25) * math.Pow(float64(len(c.files)), 0.25)
		for _, p := range c.files {
			if i, ok := v.byPath[p]; ok {
				out[i].history = max(out[i].history, like)
			}
		}
	}
}

// distinct lists the terms that occur in a list of identifiers.
func (m *matcher) distinct(identifiers []uint32) []uint16 {
	var list []uint16
	for _, id := range identifiers {
		for _, t := range m.sets[m.set[id]] {
			if !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// normalise divides every signal by its maximum, in which a file counts by its standing: a changelog that
// has all words must not make the sources look alike.
func normalise(all []ranked) {
	fields := func(s *signals) []*float64 {
		return []*float64{&s.body, &s.chunk, &s.chunks, &s.base, &s.dirs, &s.defined, &s.joined, &s.history, &s.recent}
	}
	var most signals
	of := fields(&most)
	for i := range all {
		for k, x := range fields(&all[i].signals) {
			*of[k] = max(*of[k], *x*all[i].standing)
		}
	}
	for i := range all {
		for k, x := range fields(&all[i].signals) {
			if *of[k] > 0 {
				*x = min(*x / *of[k], 1)
			}
		}
	}
}
