package codemap

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// pastCommits is how many commits before a tree are remembered; older ones speak of code that is gone.
	pastCommits = 2000
	// freshCommits is how many are asked for first: mostly one of them is known already, and with it the rest.
	freshCommits = 64
	// wideCommit is the number of changed files from which a commit is a sweep that says nothing of any file.
	wideCommit = 30
	// messageBytes bounds what is read of a commit's message.
	messageBytes = 4 << 10
)

// past remembers commits by id. A commit is never changed once it is in.
type past struct {
	commits map[string]*commit
	tips    []tip // the trees asked for, newest last, at most keepTips
}

// keepTips is how many trees' histories are kept; maxPast how many commits before all is read anew.
const (
	keepTips = 16
	maxPast  = 8 * pastCommits
)

// tip is a tree with the commits that lead to it, newest first.
type tip struct {
	commit string
	leads  []*commit
}

// commit is one past change.
type commit struct {
	at    int64
	id    string
	words []uint32 // identifiers of the message
	lines []uint64 // marks of the body's lines
	files []string
}

func newPast() *past { return &past{commits: map[string]*commit{}} }

// of returns the commits that lead to a tree, and whether they are known.
func (p *past) of(id string) ([]*commit, bool) {
	for _, t := range p.tips {
		if t.commit == id {
			return t.leads, true
		}
	}
	return nil, false
}

// remember reads the history of tree, only as far as it is not known.
func (s *shelf) remember(ctx context.Context, tree loop.Tree) error {
	id := tree.Commit()
	s.mu.RLock()
	_, ok := s.past.of(id)
	s.mu.RUnlock()
	if ok {
		return nil
	}
	recent, err := tree.History(ctx, freshCommits)
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", id, err)
	}
	known, ok := s.joint(recent)
	if !ok && len(recent) == freshCommits {
		if recent, err = tree.History(ctx, pastCommits); err != nil {
			return fmt.Errorf("read the history of %s: %w", id, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	leads := s.remembered(recent, known)
	s.past.tips = append(s.past.tips, tip{id, leads})
	if n := len(s.past.tips); n > keepTips {
		s.past.tips = slices.Clone(s.past.tips[n-keepTips:])
	}
	return nil
}

// joint finds the newest of recent commits whose own history is known: what leads to it leads to the tree.
func (s *shelf) joint(recent []loop.HistoryCommit) ([]*commit, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range recent {
		if leads, ok := s.past.of(c.ID); ok {
			return leads, true
		}
	}
	return nil, false
}

// remembered joins recent commits with known ones, newest first; s.mu is held for writing.
func (s *shelf) remembered(recent []loop.HistoryCommit, known []*commit) []*commit {
	p := s.past
	if len(p.commits) > maxPast {
		p.commits = map[string]*commit{}
	}
	x := lexer{dict: s.dict}
	list := make([]*commit, 0, len(recent)+len(known))
	have := make(map[string]bool, len(recent)+len(known))
	for _, c := range recent {
		if have[c.ID] {
			continue
		}
		have[c.ID] = true
		entry, ok := p.commits[c.ID]
		if !ok {
			entry = &commit{at: c.At.Unix(), id: c.ID}
			if len(c.Files) <= wideCommit {
				entry.files = c.Files
				entry.lines = lineMarks(c.Body, messageLines)
				text := c.Subject + "\n" + c.Body
				x.words([]byte(text[:min(len(text), messageBytes)]))
				for _, w := range x.line {
					entry.words = append(entry.words, w.id)
				}
			}
			p.commits[c.ID] = entry
			s.bytes += int64(160 + 4*len(entry.words) + 8*len(entry.lines) + 64*len(entry.files) + mapEntry)
		}
		list = append(list, entry)
	}
	for _, c := range known {
		if !have[c.id] {
			have[c.id] = true
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *commit) int { return cmp.Compare(b.at, a.at) })
	return list[:min(len(list), pastCommits)]
}
