package codemap

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/seed-7a986423/autocode/loop/syntax"
)

// A cache file is cacheMagic, the SHA-256 of what follows, and that: the dictionary, the vocabulary, the docs, the
// past and the outlines of a shelf. Numbers are varints, or little-endian in the long lists. The checksum finds
// broken files; every number is checked as well, so that a forged one does no more harm than a wrong answer.

// cacheMagic names the format and its version. It changes with everything that changes what an index holds: the
// lexer, the terms, the classes, the format.
const cacheMagic = "autocode.codemap/2\n"

// encodeShelf writes a shelf; s.mu is held.
func encodeShelf(s *shelf) []byte {
	w := &packed{data: make([]byte, 0, s.bytes/2+1<<16)}
	w.data = append(w.data, cacheMagic...)
	w.data = append(w.data, make([]byte, sha256.Size)...)
	w.number(s.bytes)
	w.number(s.fresh)
	w.strings(s.dict.names)
	byNumber := make([]string, len(s.words.ids))
	for term, id := range s.words.ids {
		byNumber[id] = term
	}
	w.strings(byNumber)
	w.longs(s.words.first)
	w.longs(s.words.parts)
	w.docs(s.docs)
	w.past(s.past)
	w.number(int64(len(s.forms)))
	for _, blob := range slices.Sorted(maps.Keys(s.forms)) {
		w.text(blob)
		w.marks(s.forms[blob])
	}
	s.parsed.mu.Lock()
	w.outlines(s.parsed.outlines)
	s.parsed.mu.Unlock()
	body := w.data[len(cacheMagic)+sha256.Size:]
	sum := sha256.Sum256(body)
	copy(w.data[len(cacheMagic):], sum[:])
	return w.data
}

var errCache = errors.New("not a cache file of this version")

// decodeShelf reads what encodeShelf wrote. It accepts any bytes.
func decodeShelf(data []byte) (*shelf, error) {
	body, ok := bytes.CutPrefix(data, []byte(cacheMagic))
	if !ok || len(body) < sha256.Size {
		return nil, errCache
	}
	sum := sha256.Sum256(body[sha256.Size:])
	if !bytes.Equal(sum[:], body[:sha256.Size]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errCache)
	}
	r := &unpacker{data: body[sha256.Size:]}
	s := newShelf()
	total, fresh := r.number(), r.number()
	names := r.strings()
	if len(names) < len(s.dict.names) || !slices.Equal(names[:len(s.dict.names)], s.dict.names) {
		return nil, fmt.Errorf("%w: its keywords are others", errCache)
	}
	s.dict.names = names
	s.dict.ids = make(map[string]uint32, len(names))
	for i, n := range names[1:] {
		s.dict.ids[n] = uint32(i + 1)
	}
	terms := r.strings()
	for i, t := range terms {
		s.words.ids[t] = uint32(i)
	}
	s.words.first, s.words.parts = r.longs(), r.longs()
	r.check(len(s.words.ids) == len(terms) && len(s.words.first) == len(names)+1 && slices.IsSorted(s.words.first) &&
		int(s.words.first[len(names)]) == len(s.words.parts) && below(s.words.parts, len(terms)))
	s.docs = r.docs(len(names))
	s.past = r.past(len(names))
	for range r.count() {
		blob := r.text()
		s.forms[blob] = r.marks()
	}
	s.parsed.outlines = r.outlines()
	r.check(len(r.data) == 0)
	if r.failed {
		return nil, fmt.Errorf("%w: its numbers do not fit", errCache)
	}
	s.bytes, s.fresh = total, fresh
	return s, nil
}

// below tells whether all of list are less than limit.
func below(list []uint32, limit int) bool {
	for _, n := range list {
		if int64(n) >= int64(limit) {
			return false
		}
	}
	return true
}

// packed is a buffer being written.
type packed struct{ data []byte }

func (w *packed) number(n int64) { w.data = binary.AppendVarint(w.data, n) }
func (w *packed) text(s string)  { w.number(int64(len(s))); w.data = append(w.data, s...) }
func (w *packed) marks(m []uint64) {
	w.number(int64(len(m)))
	for _, n := range m {
		w.data = binary.LittleEndian.AppendUint64(w.data, n)
	}
}

func (w *packed) longs(list []uint32) {
	w.number(int64(len(list)))
	for _, n := range list {
		w.data = binary.LittleEndian.AppendUint32(w.data, n)
	}
}

// strings writes the lengths first and then the texts in one run, which the reader takes as one string.
func (w *packed) strings(list []string) {
	w.number(int64(len(list)))
	total := 0
	for _, s := range list {
		w.number(int64(len(s)))
		total += len(s)
	}
	w.number(int64(total))
	for _, s := range list {
		w.data = append(w.data, s...)
	}
}

func (w *packed) docs(docs map[string]*doc) {
	w.number(int64(len(docs)))
	for _, blob := range slices.Sorted(maps.Keys(docs)) {
		d := docs[blob]
		w.text(blob)
		w.number(int64(d.bytes))
		w.number(int64(d.kind))
		w.longs(d.stream)
		w.longs(d.defs)
		w.number(int64(len(d.perLine)))
		for _, n := range d.perLine {
			w.data = binary.LittleEndian.AppendUint16(w.data, n)
		}
		w.number(int64(len(d.chunks)))
		for _, c := range d.chunks {
			w.number(int64(c.start))
			w.number(int64(c.end))
			w.number(int64(c.token))
			w.number(int64(c.name))
		}
	}
}

func (w *packed) past(p *past) {
	place := make(map[*commit]int, len(p.commits))
	var list []*commit
	paths := map[string]int{}
	var names []string
	add := func(c *commit) {
		if _, ok := place[c]; ok {
			return
		}
		place[c] = len(list)
		list = append(list, c)
		for _, f := range c.files {
			if _, ok := paths[f]; !ok {
				paths[f] = len(names)
				names = append(names, f)
			}
		}
	}
	for _, t := range p.tips {
		for _, c := range t.leads {
			add(c)
		}
	}
	w.strings(names)
	w.number(int64(len(list)))
	for _, c := range list {
		w.text(c.id)
		w.number(c.at)
		w.longs(c.words)
		w.marks(c.lines)
		w.number(int64(len(c.files)))
		for _, f := range c.files {
			w.number(int64(paths[f]))
		}
	}
	w.number(int64(len(p.tips)))
	for _, t := range p.tips {
		w.text(t.commit)
		w.number(int64(len(t.leads)))
		for _, c := range t.leads {
			w.number(int64(place[c]))
		}
	}
}

func (w *packed) outlines(outlines map[string]*outline) {
	w.number(int64(len(outlines)))
	for _, blob := range slices.Sorted(maps.Keys(outlines)) {
		o := outlines[blob]
		w.text(blob)
		w.number(int64(o.head))
		w.number(int64(len(o.symbols)))
		for _, s := range o.symbols {
			w.text(s.Name)
			w.text(string(s.Kind))
			w.number(int64(s.Start - 1))
			w.number(int64(s.End - 1))
			w.text(s.Signature)
			w.text(s.Parent)
		}
		w.number(int64(len(o.pieces)))
		for i, p := range o.pieces {
			w.number(int64(p.start - 1))
			w.number(int64(p.end - 1))
			w.text(o.names[i])
		}
	}
}

// unpacker reads what packed wrote. After the first thing that does not fit it reads zeros.
type unpacker struct {
	data   []byte
	failed bool
}

func (r *unpacker) check(ok bool) {
	if !ok {
		r.failed, r.data = true, nil
	}
}

func (r *unpacker) number() int64 {
	n, size := binary.Varint(r.data)
	if size <= 0 {
		r.check(false)
		return 0
	}
	r.data = r.data[size:]
	return n
}

// upTo reads a number from 0 to most, 0 after a failure.
func (r *unpacker) upTo(most int64) int64 {
	n := r.number()
	if n < 0 || n > most {
		r.check(false)
		return 0
	}
	return n
}

// count reads how many things follow: each takes a byte at least.
func (r *unpacker) count() int { return int(r.upTo(int64(len(r.data)))) }

// take reads n things of a size.
func (r *unpacker) take(n, size int) []byte {
	if n > len(r.data)/size {
		r.check(false)
		return nil
	}
	out := r.data[:n*size]
	r.data = r.data[n*size:]
	return out
}

func (r *unpacker) text() string { return string(r.take(r.count(), 1)) }

func (r *unpacker) marks() []uint64 {
	raw := r.take(r.count(), 8)
	list := make([]uint64, len(raw)/8)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return list
}

func (r *unpacker) longs() []uint32 {
	raw := r.take(r.count(), 4)
	list := make([]uint32, len(raw)/4)
	for i := range list {
		list[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return list
}

func (r *unpacker) strings() []string {
	n := r.count()
	lengths := make([]int, n)
	for i := range lengths {
		lengths[i] = int(r.upTo(math.MaxInt32))
	}
	rest := r.text()
	list := make([]string, n)
	for i, l := range lengths {
		if l > len(rest) {
			r.check(false)
			return nil
		}
		list[i], rest = rest[:l], rest[l:]
	}
	r.check(rest == "")
	return list
}

// docs reads docs whose identifiers are below names.
func (r *unpacker) docs(names int) map[string]*doc {
	n := r.count()
	docs := make(map[string]*doc, n)
	for range n {
		blob := r.text()
		d := &doc{bytes: int32(r.upTo(math.MaxInt32)), kind: blobKind(r.upTo(int64(blobMarked))), stream: r.longs(), defs: r.longs()}
		raw := r.take(r.count(), 2)
		d.perLine = make([]uint16, len(raw)/2)
		for i := range d.perLine {
			d.perLine[i] = binary.LittleEndian.Uint16(raw[2*i:])
		}
		d.chunks = make([]chunk, r.count())
		for i := range d.chunks {
			d.chunks[i] = chunk{start: int32(r.upTo(int64(len(d.perLine)))), end: int32(r.upTo(int64(len(d.perLine)))),
				token: int32(r.upTo(int64(len(d.stream)))), name: uint32(r.upTo(int64(names - 1)))}
		}
		r.check(!slices.ContainsFunc(d.stream, func(id uint32) bool { return int64(id&^inComment) >= int64(names) }) && below(d.defs, names))
		docs[blob] = d
	}
	return docs
}

// past reads commits whose identifiers are below names.
func (r *unpacker) past(names int) *past {
	p := newPast()
	paths := r.strings()
	list := make([]*commit, r.count())
	for i := range list {
		c := &commit{id: r.text(), at: r.number(), words: r.longs(), lines: r.marks()}
		if n := r.count(); n > 0 {
			c.files = make([]string, n)
		}
		for k := range c.files {
			if at := r.upTo(int64(len(paths) - 1)); !r.failed {
				c.files[k] = paths[at]
			}
		}
		r.check(below(c.words, names))
		list[i], p.commits[c.id] = c, c
	}
	p.tips = make([]tip, r.count())
	for i := range p.tips {
		p.tips[i].commit = r.text()
		p.tips[i].leads = make([]*commit, r.count())
		for k := range p.tips[i].leads {
			if at := r.upTo(int64(len(list) - 1)); !r.failed {
				p.tips[i].leads[k] = list[at]
			}
		}
	}
	return p
}

func (r *unpacker) outlines() map[string]*outline {
	outlines := map[string]*outline{}
	line := func() int { return 1 + int(r.upTo(maxBlob)) } // lines are written less 1, so that none is 0
	for range r.count() {
		blob := r.text()
		o := &outline{head: int(r.upTo(maxBlob)), symbols: make([]syntax.Symbol, r.count())}
		for i := range o.symbols {
			o.symbols[i] = syntax.Symbol{Name: r.text(), Kind: syntax.Kind(r.text()), Start: line(), End: line(), Signature: r.text(), Parent: r.text()}
		}
		n := r.count()
		o.pieces, o.names = make([]chunk, n), make([]string, n)
		for i := range o.pieces {
			o.pieces[i] = chunk{start: int32(line()), end: int32(line())}
			o.names[i] = r.text()
		}
		outlines[blob] = o
	}
	return outlines
}
