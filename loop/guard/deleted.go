package guard

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/syntax"
)

// testChange is what a diff does to the tests that files declare.
type testChange struct {
	kept  []testPair // in both trees, in the same file or its new name
	fresh []testCase // only on the head
	gone  []goneTest // only on the base
}

// testPair is a test in both trees.
type testPair struct{ before, after testCase }

// goneTest is a test that the head lacks, with what became of it.
type goneTest struct {
	testCase
	fate fate
	into string // the name of the test that took its place
}

// fate says what became of a test.
type fate string

const (
	fateDeleted fate = "deleted"
	fateMoved   fate = "moved"   // the same name and the same body, elsewhere
	fateRenamed fate = "renamed" // the same body under another name
	fateMerged  fate = "merged"  // what it says stands in changed tests
	fateSubject fate = "subject" // what it tests is gone
	fateIdle    fate = "idle"    // it did not run on the base, or checked nothing
)

const (
	// renamedAlike is from which likeness of their bodies a new test is an old one renamed: a rename often goes with a
	// changed expectation.
	renamedAlike = 0.6
	// mergedShare is how much of a test must stand in the changed lines of others for it to be merged into them.
	mergedShare = 0.8
	// rewrittenShare is how much of the smaller of two bodies the other must hold for a test to be rewritten in its place.
	rewrittenShare = 0.7
	// leastWords is the size of a body that can be recognised elsewhere.
	leastWords = 4
)

// testChanges compares the declared tests of all changed files, once for each Check.
func (c *change) testChanges() (*testChange, error) {
	if c.tests != nil {
		return c.tests, nil
	}
	t := &testChange{}
	var gone []testCase
	pool := map[string]bool{} // the words of added lines within tests
	for _, f := range c.Diff.Files {
		if f.Binary || !holdsTests(f.Path) && !holdsTests(oldPath(f)) {
			continue
		}
		before, err := c.before(f)
		if err != nil {
			return nil, err
		}
		after, err := c.after(f)
		if err != nil {
			return nil, err
		}
		old, now := testsIn(oldPath(f), before), testsIn(f.Path, after)
		if f.Op == loop.OpDelete || unlisted(oldPath(f), f.Path) {
			now = nil
		}
		var away []testCase
		// Several tests of a file may have one name, under different headings: those that did not change are told by their bodies.
		var others []testCase
		for _, o := range old {
			i := slices.IndexFunc(now, func(n testCase) bool { return n.name == o.name && n.body == o.body })
			if i < 0 {
				others = append(others, o)
				continue
			}
			t.kept = append(t.kept, testPair{o, now[i]})
			now = slices.Delete(now, i, i+1)
		}
		for _, o := range others {
			i := slices.IndexFunc(now, func(n testCase) bool { return n.name == o.name })
			if i < 0 {
				away = append(away, o)
				continue
			}
			t.kept = append(t.kept, testPair{o, now[i]})
			now = slices.Delete(now, i, i+1)
		}
		for _, o := range away {
			i := slices.IndexFunc(now, func(n testCase) bool { return rewritten(f, o, n) })
			if i < 0 {
				gone = append(gone, o)
				continue
			}
			t.kept = append(t.kept, testPair{o, now[i]})
			t.gone = append(t.gone, goneTest{o, fateRenamed, now[i].name})
			now = slices.Delete(now, i, i+1)
		}
		t.fresh = append(t.fresh, now...)
		for _, test := range testsIn(f.Path, after) {
			for _, l := range added(f) {
				if l.New > test.start && l.New <= test.end && !strings.HasPrefix(trim(l.Text), lineComment(f.Path)) {
					for w := range words(l.Text) {
						pool[w] = true
					}
				}
			}
		}
	}
	for _, test := range gone {
		if twin := c.twin(test, t.kept); twin != "" {
			t.gone = append(t.gone, goneTest{test, fateMerged, twin})
			continue
		}
		g, err := c.judgeGone(test, t.fresh, pool)
		if err != nil {
			return nil, err
		}
		t.gone = append(t.gone, g)
	}
	c.tests = t
	return t, nil
}

// rewritten says whether the new test n stands where the old one o stood, under a name that says what is expected now, and
// still checks something of the same: one of the two holds most of the other. Whether it checks less is looked at as for a
// test that kept its name.
func rewritten(f loop.FileDiff, o, n testCase) bool {
	own, new := words(o.body), words(n.body)
	if len(own) < leastWords || len(new) < leastWords || max(share(own, new), share(new, own)) < rewrittenShare {
		return false
	}
	if countAsserts(o.body) > 0 && countAsserts(n.body) == 0 {
		return false
	}
	// The two declarations belong to one change when only changed lines lie between them.
	was, is, stretch := 0, 0, 1
	for _, l := range f.Lines {
		switch {
		case l.Op == loop.LineRemoved && l.Old == o.start:
			was = stretch
		case l.Op == loop.LineAdded && l.New == n.start:
			is = stretch
		case l.Op != loop.LineRemoved && l.Op != loop.LineAdded:
			stretch++
		}
	}
	return was > 0 && was == is
}

func (c *change) judgeGone(test testCase, fresh []testCase, pool map[string]bool) (goneTest, error) {
	best, into := 0.0, testCase{}
	for _, n := range fresh {
		score := alike(test.body, n.body)
		if n.name == test.name {
			score++
		}
		if score > best {
			best, into = score, n
		}
	}
	own := words(test.body)
	switch {
	case best >= 1+renamedAlike && !unlisted(test.file, into.file):
		return goneTest{test, fateMoved, into.file}, nil
	case best >= renamedAlike && best < 1 && len(own) >= leastWords:
		return goneTest{test, fateRenamed, into.name}, nil
	case len(own) >= leastWords && len(literals(test.body)) > 0 && share(own, pool) >= mergedShare:
		return goneTest{test, fateMerged, ""}, nil
	case countAsserts(test.body) == 0 && !strings.Contains(test.body, "("):
		return goneTest{test, fateIdle, ""}, nil
	case c.skippedOnBase(test.name):
		return goneTest{test, fateIdle, ""}, nil
	}
	subject, err := c.subjectGone(own)
	if err != nil {
		return goneTest{}, err
	}
	if subject {
		return goneTest{test, fateSubject, ""}, nil
	}
	return goneTest{test, fateDeleted, ""}, nil
}

// skippedOnBase says whether a test is known from the base, and only as skipped.
func (c *change) skippedOnBase(name string) bool {
	if c.Base == nil {
		return false
	}
	skipped := false
	for id, status := range c.Base.Cases {
		if idNames(id, name) {
			if status != loop.CaseSkipped {
				return false
			}
			skipped = true
		}
	}
	return skipped
}

// idNames says whether a test's id names a declared test: as its last part, or with parameters or subtests behind.
func idNames(id, name string) bool {
	for at := strings.Index(id, name); at >= 0; {
		rest := id[at+len(name):]
		if (at == 0 || !wordByte(id[at-1])) && (rest == "" || !wordByte(rest[0])) {
			return true
		}
		next := strings.Index(rest, name)
		if next < 0 {
			break
		}
		at += len(name) + next
	}
	return false
}

func wordByte(b byte) bool { return b == '_' || alphanumeric(rune(b)) }

// removal matches a spec that asks for something to go.
var removal = regexp.MustCompile(`(?i)\b(?:remov|delet|drop|retir|discontinu|get rid|no longer)`)

// leastSubject is the length of a literal that can stand for what is tested.
const leastSubject = 5

// subjectGone says whether a test speaks of a definition that the change removes, or, where the spec asks for something
// to go, of a literal that is gone from the source.
func (c *change) subjectGone(own map[string]bool) (bool, error) {
	gone, err := c.goneNames()
	if err != nil {
		return false, err
	}
	for name := range gone {
		if own[name] {
			return true, nil
		}
	}
	if c.Spec == nil || !removal.MatchString(c.Spec.Goal) {
		return false, nil
	}
	for _, f := range c.Diff.Files {
		if isTest(f.Path) {
			continue
		}
		after, err := c.after(f)
		if err != nil {
			return false, err
		}
		for _, l := range removed(f) {
			for _, literal := range literals(l.Text) {
				if bare := strings.Trim(literal, `"`); len(bare) >= leastSubject && own[literal] && !strings.Contains(after, bare) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// goneNames lists the names that changed sources defined on the base and none defines on the head.
func (c *change) goneNames() (map[string]bool, error) {
	if c.gone != nil {
		return c.gone, nil
	}
	c.gone = map[string]bool{}
	for _, f := range c.Diff.Files {
		lines := removed(f)
		if isTest(f.Path) || len(lines) == 0 {
			continue
		}
		before, err := c.before(f)
		if err != nil {
			return nil, err
		}
		for _, s := range outline(oldPath(f), before) {
			// Only a name on a removed line can be gone.
			if slices.ContainsFunc(lines, func(l loop.DiffLine) bool { return strings.Contains(l.Text, s.Name) }) {
				c.gone[s.Name] = true
			}
		}
	}
	for _, f := range c.Diff.Files {
		if isTest(f.Path) {
			continue
		}
		after, err := c.after(f)
		if err != nil {
			return nil, err
		}
		for name := range c.gone {
			if strings.Contains(after, name) {
				for _, s := range outline(f.Path, after) {
					delete(c.gone, s.Name)
				}
				break
			}
		}
	}
	return c.gone, nil
}

func outline(p, text string) []syntax.Symbol {
	if text == "" {
		return nil
	}
	return syntax.Outline(syntax.LanguageOf(p, []byte(text)), []byte(text))
}

func checkDeletedTests(c *change) ([]loop.Finding, error) {
	tests, err := c.testChanges()
	if err != nil {
		return nil, err
	}
	var findings []loop.Finding
	for _, g := range tests.gone {
		finding := loop.Finding{File: g.file, Line: g.start}
		switch g.fate {
		case fateDeleted:
			finding.Message = fmt.Sprintf("the test %q is gone: put it back; where it contradicts what is asked for, change what it expects", quote(g.name))
		case fateMoved:
			if !platformFile.MatchString(g.into) || platformFile.MatchString(g.file) {
				continue
			}
			finding.Severity, finding.Message = loop.SeverityNote, fmt.Sprintf("the test %q runs on some platforms only, now that it is in %s", quote(g.name), g.into)
		case fateRenamed:
			finding.Severity, finding.Message = loop.SeverityNote, fmt.Sprintf("the test %q is now called %q", quote(g.name), quote(g.into))
		case fateMerged:
			finding.Severity, finding.Message = loop.SeverityNote, fmt.Sprintf("the test %q is gone; what it says stands in other tests now", quote(g.name))
		case fateSubject:
			finding.Severity, finding.Message = loop.SeverityNote, fmt.Sprintf("the test %q is gone together with what it tests", quote(g.name))
		case fateIdle:
			finding.Severity, finding.Message = loop.SeverityNote, fmt.Sprintf("the test %q is gone; it checked nothing on the base", quote(g.name))
		}
		findings = append(findings, finding)
	}
	for _, p := range tests.kept {
		if platformFile.MatchString(p.after.file) && !platformFile.MatchString(p.before.file) {
			findings = append(findings, loop.Finding{File: p.after.file, Line: p.after.start, Severity: loop.SeverityNote,
				Message: fmt.Sprintf("the test %q runs on some platforms only, now that it is in %s", quote(p.after.name), p.after.file)})
		}
	}
	return append(findings, c.goneTestFiles()...), nil
}

// goneTestFiles speaks of whole files whose tests cannot be told apart.
func (c *change) goneTestFiles() []loop.Finding {
	var findings []loop.Finding
	for _, f := range c.Diff.Files {
		p := oldPath(f)
		moved := f.Op == loop.OpRename && (isTest(f.Path) || path.Ext(f.Path) == path.Ext(p) && knowsTests(p))
		if f.Op != loop.OpDelete && f.Op != loop.OpRename || moved || !isTest(p) || len(testsIn(p, c.base[p])) > 0 {
			continue
		}
		finding := loop.Finding{File: p, Severity: loop.SeverityNote, Message: p + ", which belongs to the tests, is gone"}
		if testNames.MatchString(path.Base(p)) && !knowsTests(p) {
			finding.Severity = ""
			finding.Message = p + " holds tests and is gone: put it back"
		}
		findings = append(findings, finding)
	}
	return findings
}
