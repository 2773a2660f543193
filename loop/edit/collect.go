package edit

import "strings"

// header is what the text before a block says of its path.
type header struct {
	marker  string   // on the opening marker's line
	fence   string   // in the fence's info string, directly above
	above   string   // a path on the last line of text above
	weak    bool     // above is a bare word, which may also be the end of a sentence
	spaced  string   // the last line of text above, where it has spaces: a path only if such a file exists
	earlier string   // a path alone on a line further above, after the previous block
	current string   // the path of the block before
	others  []string // further paths that the text since the previous block names
	stacked bool     // the line of text before above is a path alone on a line too: a list of files
}

// path is the best reading without a look at the tree.
func (h header) path() string {
	if h.weak && h.current != "" && h.marker == "" && h.fence == "" {
		return h.current
	}
	for _, p := range []string{h.marker, h.fence, h.above, h.earlier, h.current} {
		if p != "" {
			return p
		}
	}
	return ""
}

// stretch gathers what the text between two blocks says.
type stretch struct {
	header
	last     string // the last line of text that is not a fence
	listed   bool   // the line of text before last was a path alone on a line
	lastInfo string // the info string of a fence opened after it
}

// collect goes through the reply in order and makes the blocks.
func (p *parser) collect() {
	var s stretch
	next := 0
	for i := 0; i < len(p.lines); i++ {
		if next < len(p.regions) && i == p.regions[next].first {
			r := p.regions[next]
			next++
			b := Block{Line: i + 1, Action: ActionChange, Divisions: r.divisions, Malformed: r.malformed, header: s.finish(r.path), length: r.length}
			b.Path = b.header.path()
			if reason := b.header.contradiction(); reason != "" && b.Malformed == "" {
				b.Malformed = reason
			}
			p.add(b)
			s = stretch{header: header{current: b.Path}}
			i = r.last
			continue
		}
		p.text(i, &s)
	}
}

func (p *parser) add(b Block) {
	b.Number = len(p.blocks) + 1
	p.blocks = append(p.blocks, b)
}

// text takes in line i, which belongs to no block.
func (p *parser) text(i int, s *stretch) {
	line := p.lines[i].text
	if strings.TrimSpace(line) == "" {
		return
	}
	if m := fenceLine.FindStringSubmatch(line); m != nil {
		s.lastInfo = infoPath(m[2])
		return
	}
	if !p.quoted(i) {
		if path, ok := deletion(line); ok {
			p.add(Block{Line: i + 1, Action: ActionDelete, Path: path})
			*s = stretch{}
			return
		}
		if from, to, certain, ok := renaming(line); ok {
			p.add(Block{Line: i + 1, Action: ActionRename, Path: from, To: to, header: header{weak: !certain}})
			if certain {
				*s = stretch{header: header{current: to}}
			}
			return
		}
	}
	s.push()
	s.last, s.lastInfo = line, ""
}

// quoted tells whether line i is inside a fence that holds other things than edits: there a deletion is a listing.
func (p *parser) quoted(i int) bool {
	for _, f := range p.fences {
		if f.open < i && i < f.close {
			return !f.pure
		}
	}
	return false
}

// push makes the last line of text one that is further above.
func (s *stretch) push() {
	if s.last == "" {
		return
	}
	path, strength := pathLine(s.last)
	s.listed = strength == strengthStrong
	if s.listed && !bulleted(s.last) {
		if s.earlier != "" {
			s.others = append(s.others, s.earlier)
		}
		s.earlier = path
		return
	}
	s.mention(s.last)
}

// maxMentions bounds the paths remembered from the prose before a block.
const maxMentions = 32

// mention notes the words of a line that look like paths.
func (s *stretch) mention(line string) {
	for _, word := range strings.Fields(line) {
		word = strings.Trim(word, "`*_\"'()[]{}<>,;:!?")
		word = strings.TrimSuffix(word, ".")
		if strings.ContainsAny(word, "./") && len(s.others) < maxMentions && safePath(word) == "" {
			s.others = append(s.others, cleanPath(word))
		}
	}
}

// finish reads the last line before a block and returns the header.
func (s *stretch) finish(marker string) header {
	h := s.header
	if marker != "" {
		h.marker, _ = pathLine(marker)
	}
	h.fence = s.lastInfo
	path, strength := pathLine(s.last)
	switch strength {
	case strengthStrong:
		h.above, h.stacked = path, s.listed
	case strengthWeak:
		h.above, h.weak = path, true
	case strengthSpaced:
		h.spaced = path
		s.mention(s.last)
		h.others = s.others
	case strengthNone:
		s.mention(s.last)
		h.others = s.others
	}
	if h.above != "" && h.earlier != "" {
		h.others = append(h.others, h.earlier)
	}
	return h
}

// contradiction tells when a block is given two different paths at once.
func (h header) contradiction() string {
	named := ""
	above := h.above
	if h.weak {
		above = ""
	}
	for _, p := range []string{h.marker, h.fence, above} {
		switch {
		case p == "":
		case named == "":
			named = cleanPath(p)
		case named != cleanPath(p):
			return "it is given two paths, " + shown(named) + " and " + shown(cleanPath(p)) + "; write one, alone on the line before the block"
		}
	}
	return ""
}
