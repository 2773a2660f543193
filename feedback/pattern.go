package feedback

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// pattern is a regular expression that costs nothing until it is first asked, and little where it cannot match.
//
// The package has hundreds of them and a log needs few, so each is compiled at its first use. Most lines of a log
// match none of them, so the expression's own necessary conditions are looked at first: the byte that a match must
// begin with, and texts of which every match holds one. A pattern that is still asked often gets an automaton
// (patterndfa.go), and the expression itself runs only for the groups of a match. All of these are derived from the
// expression, which is why they can never disagree with it.
type pattern struct {
	expr  string
	once  sync.Once
	re    *regexp.Regexp
	first *[256]bool // bytes that a text with a match begins with; nil where any may, and for an empty match
	needs []string   // each match holds one of them; empty where nothing is known
	prog  *syntax.Prog

	asked     atomic.Int32 // how often a text passed the conditions, up to automatonAfter
	automaton atomic.Pointer[automaton]
}

// newPattern makes a pattern. A wrong expression panics at its first use; TestPatternsCompile uses all.
func newPattern(expr string) *pattern { return &pattern{expr: expr} }

func (p *pattern) compile() {
	p.re = regexp.MustCompile(p.expr)
	tree, err := syntax.Parse(p.expr, syntax.Perl)
	if err != nil {
		return // cannot be: it has just been compiled
	}
	tree = tree.Simplify()
	p.needs = needed(tree)
	if prog, err := syntax.Compile(tree); err == nil {
		p.first, p.prog = firstBytes(prog), prog
	}
}

// may is false where s cannot hold a match by the pattern's necessary conditions.
func (p *pattern) may(s string) bool {
	p.once.Do(p.compile)
	if p.first != nil && (s == "" || !p.first[s[0]]) {
		return false
	}
	if len(p.needs) == 0 {
		return true
	}
	for _, n := range p.needs {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}

// ask looks for a match as cheaply as it can: certain tells that found is the answer, else the expression has it.
func (p *pattern) ask(s string) (found, certain bool) {
	if !p.may(s) {
		return false, true
	}
	a := p.automaton.Load()
	if a == nil {
		// One of those that ask at the same time makes the automaton; one too many asks is no harm.
		if p.prog == nil || p.asked.Load() > automatonAfter || p.asked.Add(1) != automatonAfter {
			return false, false
		}
		if a = newAutomaton(p.prog); a == nil {
			return false, false
		}
		p.automaton.Store(a)
	}
	return a.match(s)
}

// none tells that s holds no match; false says nothing.
func (p *pattern) none(s string) bool {
	found, certain := p.ask(s)
	return certain && !found
}

// The methods are those of regexp.Regexp.

func (p *pattern) MatchString(s string) bool {
	if found, certain := p.ask(s); certain {
		return found
	}
	return p.re.MatchString(s)
}

func (p *pattern) FindString(s string) string {
	if p.none(s) {
		return ""
	}
	return p.re.FindString(s)
}

func (p *pattern) FindStringSubmatch(s string) []string {
	if p.none(s) {
		return nil
	}
	return p.re.FindStringSubmatch(s)
}

func (p *pattern) FindStringSubmatchIndex(s string) []int {
	if p.none(s) {
		return nil
	}
	return p.re.FindStringSubmatchIndex(s)
}

func (p *pattern) FindAllStringSubmatch(s string, n int) [][]string {
	if p.none(s) {
		return nil
	}
	return p.re.FindAllStringSubmatch(s, n)
}

func (p *pattern) ReplaceAllString(s, replacement string) string {
	if p.none(s) {
		return s
	}
	return p.re.ReplaceAllString(s, replacement)
}

func (p *pattern) SubexpIndex(name string) int {
	p.once.Do(p.compile)
	return p.re.SubexpIndex(name)
}

func (p *pattern) SubexpNames() []string {
	p.once.Do(p.compile)
	return p.re.SubexpNames()
}

// mostNeeds bounds the texts that are looked for before an expression is tried: more cost as much as trying it.
const mostNeeds = 6

// needed returns texts of which every match of the expression holds at least one, nil where there are none.
func needed(t *syntax.Regexp) []string {
	switch t.Op {
	case syntax.OpLiteral:
		if folds := func(r rune) bool { return unicode.SimpleFold(r) != r }; t.Flags&syntax.FoldCase != 0 && slices.ContainsFunc(t.Rune, folds) {
			return nil // each letter has two forms
		}
		if !slices.Contains(t.Rune, utf8.RuneError) {
			return []string{string(t.Rune)}
		}
	case syntax.OpCharClass:
		return runesOf(t.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return needed(t.Sub[0])
	case syntax.OpRepeat:
		if t.Min > 0 {
			return needed(t.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range t.Sub {
			if n := needed(sub); betterNeeds(n, best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range t.Sub {
			n := needed(sub)
			if n == nil || len(all)+len(n) > mostNeeds {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

// runesOf are the runes of a small class, given as pairs of bounds; nil of a large one.
func runesOf(bounds []rune) []string {
	var all []string
	for i := 0; i+1 < len(bounds); i += 2 {
		if len(all)+int(bounds[i+1]-bounds[i])+1 > mostNeeds {
			return nil
		}
		for r := bounds[i]; r <= bounds[i+1]; r++ {
			if r == utf8.RuneError {
				return nil // matches bytes that are no UTF-8 as well
			}
			all = append(all, string(r))
		}
	}
	return all
}

// betterNeeds tells whether a says more than b: longer texts are rarer, and fewer are found out sooner.
func betterNeeds(a, b []string) bool {
	if a == nil || b == nil {
		return a != nil
	}
	if x, y := shortest(a), shortest(b); x != y {
		return x > y
	}
	return len(a) < len(b)
}

func shortest(texts []string) int {
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

// firstBytes is the set of bytes that a text which matches begins with, for expressions that are tied to the
// text's beginning; nil for the others, and where an empty text matches.
func firstBytes(prog *syntax.Prog) *[256]bool {
	if prog.StartCond()&syntax.EmptyBeginText == 0 {
		return nil
	}
	var set [256]bool
	seen := make([]bool, len(prog.Inst))
	todo := []uint32{uint32(prog.Start)}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		i := prog.Inst[at]
		switch i.Op {
		case syntax.InstMatch:
			return nil
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, i.Out, i.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			todo = append(todo, i.Out)
		case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			return nil // nearly every byte
		case syntax.InstRune, syntax.InstRune1:
			addFirst(&set, i)
		case syntax.InstFail:
		}
	}
	return &set
}

// addFirst adds the first bytes of the runes that an instruction accepts.
func addFirst(set *[256]bool, i syntax.Inst) {
	add := func(r rune) {
		if r < utf8.RuneSelf {
			set[r] = true
			return
		}
		for b := utf8.RuneSelf; b < len(set); b++ { // invalid UTF-8 matches as well, as U+FFFD
			set[b] = true
		}
	}
	if len(i.Rune) == 1 {
		add(i.Rune[0])
		if syntax.Flags(i.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(i.Rune[0]); r != i.Rune[0]; r = unicode.SimpleFold(r) {
				add(r)
			}
		}
		return
	}
	for k := 0; k+1 < len(i.Rune); k += 2 {
		for r := i.Rune[k]; r <= min(i.Rune[k+1], utf8.RuneSelf); r++ {
			add(r)
		}
		if i.Rune[k+1] >= utf8.RuneSelf {
			add(utf8.RuneSelf)
		}
	}
}
