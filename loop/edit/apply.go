package edit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Options changes what Apply does.
type Options struct {
	// DryRun tells what would be applied and writes nothing.
	DryRun bool
}

// Apply applies reply to the tree under root: every block in order, or none at all when one of them has an error. What is
// wrong with the reply is in the Result; an error means that ctx ended or that the files could not be written, and then the
// tree is as it was before.
func Apply(ctx context.Context, root *os.Root, reply []byte, options Options) (Result, error) {
	a := &applier{tree: newTree(root), result: Result{Applied: []Applied{}, Errors: []Error{}}}
	if len(reply) >= MaxReply {
		a.fail(Block{Number: 1}, KindMalformed, "the reply has %d bytes, and replies of %d bytes and more are not read; answer with the changed lines only",
			len(reply), MaxReply)
		return a.result, nil
	}
	number := 0
	for _, b := range Parse(reply).Blocks {
		if err := ctx.Err(); err != nil {
			return a.failed(), fmt.Errorf("apply the reply: %w", err)
		}
		if a.prose(b) {
			continue
		}
		number++
		b.Number = number
		a.block(b)
	}
	if number == 0 {
		a.fail(Block{Number: 1}, KindMalformed, "the reply has no block; write the path alone on a line, then "+
			"<<<<<<< SEARCH, the old lines, =======, the new lines, >>>>>>> REPLACE, each marker alone on a line")
		return a.result, nil
	}
	a.checkSyntax(ctx)
	if err := ctx.Err(); err != nil {
		return a.failed(), fmt.Errorf("apply the reply: %w", err)
	}
	if !a.result.OK() {
		return a.failed(), nil
	}
	if options.DryRun {
		return a.result, nil
	}
	if err := a.tree.write(); err != nil {
		return a.failed(), fmt.Errorf("write the files; none was changed: %w", err)
	}
	return a.result, nil
}

// prose tells whether b is a line like `v1.2 -> v1.3` that only looks like a renaming: there is no such file.
func (a *applier) prose(b Block) bool {
	return b.Action == ActionRename && b.header.weak && !a.exists(b.Path)
}

// applier goes through the blocks of one reply.
type applier struct {
	tree   *tree
	result Result
	edits  []edited
}

// edited is where a block's text stands in a file, for telling which block broke it.
type edited struct {
	block       int
	path        string
	first, last int // lines first to last-1, from 0, kept up to date as later blocks shift them
}

// failed is the result when nothing was applied.
func (a *applier) failed() Result {
	slices.SortStableFunc(a.result.Errors, func(x, y Error) int { return x.Block - y.Block })
	return Result{Applied: []Applied{}, Errors: a.result.Errors}
}

func (a *applier) fail(b Block, kind Kind, format string, args ...any) {
	a.failNear(b, kind, []Line{}, format, args...)
}

func (a *applier) failNear(b Block, kind Kind, nearest []Line, format string, args ...any) {
	a.result.Errors = append(a.result.Errors, Error{
		Path: strings.ToValidUTF8(b.Path, "\uFFFD"), Block: b.Number, Kind: kind, Message: fmt.Sprintf(format, args...), Nearest: nearest,
	})
}

// failWith reports an error of the tree.
func (a *applier) failWith(b Block, err error) {
	var r *refusal
	if errors.As(err, &r) {
		a.fail(b, r.kind, "%s", r.message)
		return
	}
	a.fail(b, KindConflict, "%v", err)
}

// block applies one block to the tree in memory, or reports why it cannot.
func (a *applier) block(b Block) {
	switch b.Action {
	case ActionDelete:
		a.remove(b)
	case ActionRename:
		a.rename(b)
	case ActionChange:
		a.change(b)
	}
}

// safe cleans the path that b names, or reports why it cannot be used.
func (a *applier) safe(b Block, p string) (string, bool) {
	if reason := safePath(p); reason != "" {
		a.fail(b, KindUnsafePath, "%s", reason)
		return "", false
	}
	return path.Clean(p), true
}

func (a *applier) remove(b Block) {
	p, ok := a.safe(b, b.Path)
	if !ok {
		return
	}
	if a.tree.gone(p) {
		return // said twice
	}
	f, err := a.tree.stat(p)
	switch {
	case err != nil:
		a.failWith(b, err)
	case !f.exists:
		a.missing(b, p)
	default:
		a.tree.put(p, &file{})
		a.applied(p, OpDelete, MatchExact, 1)
	}
}

func (a *applier) rename(b Block) {
	from, ok := a.safe(b, b.Path)
	if !ok {
		return
	}
	to, ok := a.safe(b, b.To)
	if !ok {
		return
	}
	f, err := a.tree.stat(from)
	if err != nil {
		a.failWith(b, err)
		return
	}
	if !f.exists {
		if target, ok := a.tree.files[to]; ok && target.exists && target.source == from && a.tree.gone(from) {
			return // said twice
		}
		a.missing(b, from)
		return
	}
	if from == to {
		a.fail(b, KindConflict, "the old and the new path are the same")
		return
	}
	target, err := a.tree.stat(to)
	if err == nil && target.exists && foldName(from) != foldName(to) {
		err = refuse(KindConflict, "%s exists already; delete it first, in a line of its own, or choose another name", to)
	} else if err == nil && target.exists {
		err = refuse(KindUnsafePath, "%s collides with %s, which differs by case or spelling alone", from, to)
	}
	if err == nil {
		err = a.tree.vacant(to, from)
	}
	if err == nil && strings.HasPrefix(to, from+"/") {
		err = refuse(KindConflict, "%s cannot be moved into a folder of its own name", from)
	}
	if err != nil {
		a.failWith(b, err)
		return
	}
	moved := *f
	a.tree.put(from, &file{})
	a.tree.put(to, &moved)
	for i := range a.edits {
		if a.edits[i].path == from {
			a.edits[i].path = to
		}
	}
	a.applied(from, OpRename, MatchExact, 1)
}

func (a *applier) applied(p string, op Op, match Match, line int) {
	a.result.Applied = append(a.result.Applied, Applied{Path: p, Op: op, Match: match, Line: line})
}

// missing reports that p does not exist, with what may be meant.
func (a *applier) missing(b Block, p string) {
	if a.tree.gone(p) {
		for to, f := range a.tree.files {
			if f.exists && f.source == p {
				a.fail(b, KindNotFound, "%s was renamed to %s by an earlier block; use the new name", p, to)
				return
			}
		}
		a.fail(b, KindNotFound, "%s was deleted by an earlier block", p)
		return
	}
	message := p + " does not exist"
	if alike := a.tree.alike(p); len(alike) > 0 {
		message += "; there is " + strings.Join(alike, ", ")
	}
	if b.Action == ActionChange {
		message += "; to create a file, leave SEARCH empty"
	}
	a.fail(b, KindNotFound, "%s", message)
}

// change applies a search/replace block.
func (a *applier) change(b Block) {
	p := a.choosePath(&b)
	if b.Malformed != "" {
		if p != "" && safePath(p) != "" {
			a.fail(b, KindUnsafePath, "%s", safePath(p))
			return
		}
		a.fail(b, KindMalformed, "the block on line %d of the reply is malformed: %s", b.Line, b.Malformed)
		return
	}
	if p == "" {
		a.fail(b, KindMalformed, "the block on line %d of the reply has no path; write the path alone on the line before it", b.Line)
		return
	}
	p, ok := a.safe(b, p)
	if !ok {
		return
	}
	if reason := unreadable(b.Divisions); reason != "" {
		a.fail(b, KindMalformed, "%s", reason)
		return
	}
	f, err := a.tree.stat(p)
	if err == nil && f.exists {
		err = a.tree.load(p, f)
	}
	if err != nil {
		a.failWith(b, err)
		return
	}
	if !f.exists {
		a.create(b, p)
		return
	}
	a.edit(b, p, f)
}

// choosePath settles which file the block means, where the reply's text leaves that to the tree.
func (a *applier) choosePath(b *Block) string {
	h := b.header
	if h.marker != "" || h.fence != "" || h.above != "" && !h.weak {
		return b.Path
	}
	if h.above != "" && (a.exists(h.above) || h.earlier == "" && h.current == "" || b.creates() && strings.Contains(h.above, ".")) {
		b.Path = h.above
		return b.Path
	}
	if h.spaced != "" && (a.exists(h.spaced) || b.creates() && a.roomFor(h.spaced)) {
		b.Path = h.spaced
		return b.Path
	}
	b.Path = h.earlier
	if b.Path == "" {
		b.Path = h.current
	}
	return b.Path
}

// creates tells whether the block has an empty SEARCH.
func (b Block) creates() bool { return len(b.Divisions) > 0 && blank(b.Divisions[0].Search) }

func (a *applier) exists(p string) bool {
	if safePath(p) != "" {
		return false
	}
	f, err := a.tree.stat(path.Clean(p))
	return err == nil && f.exists
}

// roomFor tells whether p, which has spaces, is more likely a new file's path than a sentence: its folder exists and it ends
// like a file.
func (a *applier) roomFor(p string) bool {
	dir, base := path.Split(p)
	if safePath(p) != "" || dir == "" || !extensions[strings.ToLower(path.Ext(base))] {
		return false
	}
	info, err := a.tree.root.Lstat(path.Clean(dir))
	return err == nil && info.IsDir()
}

// unreadable tells what no file of text may be given.
func unreadable(divisions []Division) string {
	for _, d := range divisions {
		for _, l := range slices.Concat(d.Search, d.Replace) {
			if !utf8.ValidString(l) {
				return "the block holds bytes that are not UTF-8"
			}
			if strings.IndexByte(l, 0) >= 0 {
				return "the block holds a NUL character"
			}
		}
	}
	return ""
}

// smuggled returns a marker line of REPLACE, as long as the block's own, that SEARCH has not: it belongs to another block whose
// markers went astray.
func smuggled(d Division, length int) string {
	for _, l := range d.Replace {
		if m := anyMarker.FindStringSubmatch(l); m != nil && len(m[1]) == length && !slices.Contains(d.Search, l) {
			return l
		}
	}
	return ""
}

func (a *applier) create(b Block, p string) {
	if !b.creates() {
		a.missing(b, p)
		return
	}
	// The divider is the one below an empty SEARCH; the others are content.
	d := b.Divisions[0]
	if l := smuggled(d, b.length); l != "" {
		a.fail(b, KindMalformed, "the new file holds the marker line %q; give the block's own markers another length, 5 to 9 characters", shown(l))
		return
	}
	if l := elided(p, d); l != "" {
		a.fail(b, KindMalformed, leftOut, shown(l))
		return
	}
	if rival := a.rival(b, p, d); rival != "" {
		a.fail(b, KindAmbiguous, "the text before the block names both %s and %s; write the path alone on the line before the block", p, rival)
		return
	}
	if err := a.tree.vacant(p, ""); err != nil {
		a.failWith(b, err)
		return
	}
	t := text{lines: make([]line, len(d.Replace))}
	for i, l := range d.Replace {
		t.lines[i] = line{l, "\n"}
	}
	a.tree.put(p, &file{exists: true, mode: newFileMode, text: t, loaded: true, dirty: true})
	a.edits = append(a.edits, edited{block: b.Number, path: p, first: 0, last: len(t.lines)})
	a.applied(p, OpCreate, MatchExact, 1)
}

// edit applies a block to a file that exists.
func (a *applier) edit(b Block, p string, f *file) {
	indented := meaningful(p)
	b.Divisions = withoutMark(b.Divisions, f.text)
	d, found, ok := a.divide(b, f.text, indented)
	if !ok {
		return
	}
	if len(found.places) == 0 {
		a.notFound(b, p, f.text, d, found)
		return
	}
	if !found.unique() {
		a.ambiguous(b, f.text, found)
		return
	}
	if l := smuggled(d, b.length); l != "" {
		a.fail(b, KindMalformed, "REPLACE holds the marker line %q; give the block's own markers another length, 5 to 9 characters", shown(l))
		return
	}
	if l := elided(p, d); l != "" {
		a.fail(b, KindMalformed, leftOut, shown(l))
		return
	}
	if rival := a.rival(b, p, d); rival != "" {
		a.fail(b, KindAmbiguous, "the text before the block names %s too, where SEARCH matches as well as in %s; "+
			"write the path alone on the line before the block", rival, p)
		return
	}
	at := found.places[0]
	changed := *f
	changed.text, changed.dirty = f.text.splice(at.first, at.last, at.replace), true
	a.tree.put(p, &changed)
	a.shiftEdits(p, at, b.Number)
	a.applied(p, OpEdit, at.match, at.first+1)
}

// overwrites reports an empty SEARCH on a file that has content.
func (a *applier) overwrites(b Block) {
	a.fail(b, KindConflict, "the file exists already, and SEARCH is empty; to change it, copy the lines to replace into SEARCH, "+
		"to add to it, search for a line and repeat it in REPLACE with the new lines")
}

// rival returns another file that the text before the block names and where SEARCH matches too, where the block's own path is
// not written directly before it, or is the last of a list of files. A block must not land in the wrong file because a path
// was left out.
func (a *applier) rival(b Block, p string, d Division) string {
	h := b.header
	if h.marker != "" || h.fence != "" || h.above != "" && !h.stacked && cleanPath(h.above) == p || h.spaced != "" && cleanPath(h.spaced) == p {
		return ""
	}
	for _, other := range h.others {
		other = cleanPath(other)
		if other == p || safePath(other) != "" {
			continue
		}
		if blank(d.Search) {
			if fileLike(other) && !a.exists(other) {
				return other
			}
			continue
		}
		f, err := a.tree.stat(other)
		if err != nil || !f.exists || a.tree.load(other, f) != nil {
			continue
		}
		if len(find(f.text, d, meaningful(other)).places) > 0 {
			return other
		}
	}
	return ""
}

// notFound reports a SEARCH that is not in the file.
func (a *applier) notFound(b Block, p string, t text, d Division, found finding) {
	message, nearest := explainMissing(t, d.Search)
	if found.reason != "" {
		message = found.reason
	}
	if !blank(d.Replace) && !slices.Equal(d.Search, d.Replace) {
		if again := findLines(t, d.Replace, d, func(x, y string) bool { return trimRight(x) == trimRight(y) }); len(again.places) > 0 {
			at := again.places[0]
			message = fmt.Sprintf("SEARCH was not found, but REPLACE stands at line %d: this block seems to be already applied; leave it out", at.first+1)
			nearest = around(t, at.first, at.last, at.first)
		}
	}
	a.failNear(b, KindNotFound, nearest, "%s: %s", p, message)
}

// ambiguous reports all the places of a SEARCH.
func (a *applier) ambiguous(b Block, t text, found finding) {
	var at []string
	nearest := []Line{}
	for _, p := range found.places {
		at = append(at, fmt.Sprint(p.first+1))
		nearest = append(nearest, Line{Line: p.first + 1, Text: shown(t.lines[p.first].text)})
	}
	more := ""
	if len(found.places) == maxPlaces {
		more = " and perhaps more"
	}
	a.failNear(b, KindAmbiguous, nearest, "SEARCH matches %d places, at lines %s%s; add lines before or after it until only one matches",
		len(found.places), strings.Join(at, ", "), more)
}

// shiftEdits notes block's text and moves that of earlier blocks below it.
func (a *applier) shiftEdits(p string, at place, block int) {
	delta := len(at.replace) - (at.last - at.first)
	for i := range a.edits {
		if e := &a.edits[i]; e.path == p && e.first >= at.last {
			e.first += delta
			e.last += delta
		}
	}
	a.edits = append(a.edits, edited{block: block, path: p, first: at.first, last: at.first + len(at.replace)})
}
