package feedback

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Bounds of an automaton.
const (
	// automatonAfter is how often a pattern is asked in earnest before its automaton is built: below that, building
	// states costs more than the regular expression does.
	automatonAfter = 50
	// mostStates bounds one automaton's memory (some 100 kB); the few expressions that need more stay without.
	mostStates = 400
)

// automaton answers whether an expression matches, one table look-up per character: the regexp package has no such
// machine, and nearly every line of a log is asked of patterns that it does not match. Its states are sets of the
// program's instructions and are made when a text first needs them. It is safe for use by several readers at once:
// what is made is never changed, and making is serialised.
type automaton struct {
	prog     *syntax.Prog
	anchored bool       // matches begin at the text's beginning
	ascii    [128]uint8 // class of each ASCII character
	bounds   []rune     // first rune of each class, ascending
	start    *dfaState

	mu     sync.Mutex
	states map[string]*dfaState
	spent  atomic.Bool // mostStates was reached
}

// dfaState is a set of instructions that wait for the next character.
type dfaState struct {
	pcs  []uint32
	prev uint8                      // what the character before was: what assertions ask for
	next []atomic.Pointer[dfaState] // by class; the last is the text's end
}

// What the character before a position was.
const (
	prevBegin uint8 = 1 << iota // there is none
	prevLine                    // a line feed
	prevWord                    // a letter, digit or underscore
)

var (
	dfaDead  = &dfaState{} // no match whatever follows
	dfaMatch = &dfaState{} // a match whatever follows
)

// newAutomaton returns nil for programs with too many classes of characters.
func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0, states: map[string]*dfaState{}}
	// Characters that no instruction and no assertion tells apart are one class.
	cuts := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1}
	for _, in := range prog.Inst {
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 {
				for r := in.Rune[0]; ; {
					cuts = append(cuts, r, r+1)
					if r = simpleFold(r, in); r == in.Rune[0] {
						break
					}
				}
				continue
			}
			for i := 0; i+1 < len(in.Rune); i += 2 {
				cuts = append(cuts, in.Rune[i], in.Rune[i+1]+1)
			}
		case syntax.InstAlt, syntax.InstAltMatch, syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstMatch, syntax.InstFail, syntax.InstNop, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		}
	}
	slices.Sort(cuts)
	a.bounds = slices.Compact(cuts)
	const most = 250 // classes: their numbers are bytes
	if len(a.bounds) > most {
		return nil
	}
	for c := range a.ascii {
		a.ascii[c] = uint8(a.search(rune(c)))
	}
	a.start = a.state([]uint32{uint32(prog.Start)}, prevBegin)
	return a
}

// simpleFold is the next rune that an instruction takes for the same as r; r itself where case counts.
func simpleFold(r rune, in syntax.Inst) rune {
	if syntax.Flags(in.Arg)&syntax.FoldCase == 0 {
		return r
	}
	return unicode.SimpleFold(r)
}

// search is the number of the class that r belongs to.
func (a *automaton) search(r rune) int {
	return sort.Search(len(a.bounds), func(i int) bool { return a.bounds[i] > r }) - 1
}

// match answers whether s holds a match; ok is false where the automaton grew too large to say.
func (a *automaton) match(s string) (matches, ok bool) {
	at := a.start
	for i := 0; i < len(s); {
		class := 0
		if c := s[i]; c < utf8.RuneSelf {
			class = int(a.ascii[c])
			i++
		} else {
			r, n := utf8.DecodeRuneInString(s[i:])
			class = a.search(r)
			i += n
		}
		to := at.next[class].Load()
		if to == nil {
			if to = a.step(at, class); to == nil {
				return false, false
			}
		}
		if to == dfaDead {
			return false, true
		}
		if to == dfaMatch {
			return true, true
		}
		at = to
	}
	to := at.next[len(a.bounds)].Load()
	if to == nil {
		if to = a.step(at, len(a.bounds)); to == nil {
			return false, false
		}
	}
	return to == dfaMatch, true
}

// step makes the state that follows at by a character of a class, nil where there are too many states.
func (a *automaton) step(at *dfaState, class int) *dfaState {
	if a.spent.Load() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	next := rune(-1)
	if class < len(a.bounds) {
		next = a.bounds[class]
	}
	set, matched := a.closure(at, next)
	var to *dfaState
	switch {
	case matched:
		to = dfaMatch
	case next < 0:
		to = dfaDead
	default:
		var pcs []uint32
		for _, pc := range set {
			if in := &a.prog.Inst[pc]; in.MatchRune(next) && !slices.Contains(pcs, in.Out) {
				pcs = append(pcs, in.Out)
			}
		}
		if !a.anchored && !slices.Contains(pcs, uint32(a.prog.Start)) {
			pcs = append(pcs, uint32(a.prog.Start))
		}
		var prev uint8
		switch {
		case next == '\n':
			prev = prevLine
		case syntax.IsWordChar(next):
			prev = prevWord
		}
		if len(pcs) == 0 {
			to = dfaDead
		} else if to = a.state(pcs, prev); to == nil {
			return nil
		}
	}
	at.next[class].Store(to)
	return to
}

// closure follows what needs no character from a state, given the next character (-1 at the end): the instructions
// that wait for it, and whether a match is complete.
func (a *automaton) closure(at *dfaState, next rune) (set []uint32, matched bool) {
	prev := rune(-1)
	switch {
	case at.prev&prevLine != 0:
		prev = '\n'
	case at.prev&prevWord != 0:
		prev = 'a'
	case at.prev&prevBegin == 0:
		prev = ' '
	}
	holds := syntax.EmptyOpContext(prev, next)
	seen := make([]bool, len(a.prog.Inst))
	todo := slices.Clone(at.pcs)
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return nil, true
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				todo = append(todo, in.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			set = append(set, pc)
		case syntax.InstFail:
		}
	}
	return set, false
}

// state finds or makes the state of a set; nil where there are too many.
func (a *automaton) state(pcs []uint32, prev uint8) *dfaState {
	slices.Sort(pcs)
	var key strings.Builder
	key.WriteByte(prev)
	for _, pc := range pcs {
		key.Write(binary.LittleEndian.AppendUint32(nil, pc))
	}
	if s := a.states[key.String()]; s != nil {
		return s
	}
	if len(a.states) >= mostStates {
		a.spent.Store(true)
		return nil
	}
	s := &dfaState{pcs: pcs, prev: prev, next: make([]atomic.Pointer[dfaState], len(a.bounds)+1)}
	a.states[key.String()] = s
	return s
}
