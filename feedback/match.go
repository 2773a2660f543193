package feedback

import "strings"

// matcher finds which of many literal texts a line holds. Of each text its rarest pair of neighbouring bytes is kept;
// a line is gone through pair by pair, and only where a kept pair stands are the texts that have it compared. An
// automaton over all texts, which must wait for each byte's state before it can look at the next, is several times
// slower.
type matcher struct {
	pairs [1 << 16 / 64]uint64 // bit set of the kept pairs
	slots [1 << 16]uint16      // by pair, where its texts are; 0 where it has none
	texts [][]matcherText
	short []matcherText // of a single byte
}

type matcherText struct {
	text  string
	at    int // where in the text the pair stands
	index int
}

// newMatcher makes a matcher of texts that are not empty.
func newMatcher(texts []string) *matcher {
	m := &matcher{texts: make([][]matcherText, 1)}
	for index, t := range texts {
		if len(t) == 1 {
			m.short = append(m.short, matcherText{t, 0, index})
			continue
		}
		at := 0
		for i := 1; i+1 < len(t); i++ {
			if commonness(t[i])*commonness(t[i+1]) < commonness(t[at])*commonness(t[at+1]) {
				at = i
			}
		}
		pair := uint16(t[at]) | uint16(t[at+1])<<8
		m.pairs[pair/64] |= 1 << (pair % 64)
		if m.slots[pair] == 0 {
			m.slots[pair] = uint16(len(m.texts))
			m.texts = append(m.texts, nil)
		}
		slot := m.slots[pair]
		m.texts[slot] = append(m.texts[slot], matcherText{t, at, index})
	}
	return m
}

// commonness says roughly how often a byte occurs in logs; only the order of the results counts.
func commonness(c byte) int {
	const letters = "zqjxkvbywgpfmucdlhrsnioate" // from rare to common in English
	switch i := strings.IndexByte(letters, c); {
	case i >= 0:
		return 10 + i
	case c == ' ':
		return 40
	case c >= '0' && c <= '9', c == '.', c == '/', c == '-', c == '_':
		return 15
	default:
		return 4
	}
}

// find calls hit with the index of each text that s holds; a text that occurs twice is told twice.
func (m *matcher) find(s string, hit func(int)) {
	if s == "" {
		return
	}
	for _, t := range m.short {
		if strings.IndexByte(s, t.text[0]) >= 0 {
			hit(t.index)
		}
	}
	pair := uint16(s[0]) << 8
	for i := 1; i < len(s); i++ {
		pair = pair>>8 | uint16(s[i])<<8
		if m.pairs[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		for _, t := range m.texts[m.slots[pair]] {
			if from := i - 1 - t.at; from >= 0 && strings.HasPrefix(s[from:], t.text) {
				hit(t.index)
			}
		}
	}
}

// holds is strings.Contains for the looks that every line of every log pays for: rare is a byte of text that few
// lines hold, which is found out several times faster than a word of common letters is.
func holds(s string, rare byte, text string) bool {
	return strings.IndexByte(s, rare) >= 0 && strings.Contains(s, text)
}
