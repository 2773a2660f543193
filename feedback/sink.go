package feedback

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Bounds of what one reader may keep, so that a log of any size is read in bounded memory.
const (
	maxKeptFailures = 5000    // failures in full; further ones are counted in sink.dropped
	maxKeptCases    = 200_000 // test cases; a run with more is not compared test by test
)

// session is what all readers of one Read know about the run.
type session struct {
	opts    Options
	paths   paths
	command commandLine
	tapAt   int    // number of the line with the last TAP result
	entered string // the directory below the root that make said it entered last
}

// exitCode is the run's exit code, or 0 and false where the caller does not know it.
func (s *session) exitCode() (int, bool) {
	if s.opts.ExitCode == nil {
		return 0, false
	}
	return *s.opts.ExitCode, true
}

// sink takes what one reader finds in one stream. Readers call it in the order of the log.
type sink struct {
	*session
	tool     *tool
	failures []Failure
	dropped  int // failures beyond maxKeptFailures
	counts   Counts
	cases    caseSet
	// dir is where relative paths of this stream start, relative to the root: make's "Entering directory".
	dir string
	// ran is set when the tool told that it did its work (a summary, a result), whatever that was.
	ran bool
	// ended is set when the tool printed its own last word, so that nothing can have been cut off.
	ended bool
	// green is set when that last word was a success.
	green bool
	// red is set when the last word was a failure, even if no failure could be read.
	red bool
	// open names the test that was running when the log ended.
	open string
	// spoke names the tool behind a format (a JSON report), where the format tells.
	spoke string
	// role is the tool's, or that of the tool behind a format.
	role role
	// weight counts the lines this reader took: the reader with most names the report's tool.
	weight int
	last   int      // number of the last line this reader took
	now    int      // number of the line that is being read
	module *string  // Go: the module path, once it was looked up
	nested []string // Go: modules below the root, once they were looked up
}

// fail hands in a failure. File is made relative to the root, texts are shortened and cleaned; ID, File, Line may
// be empty. Log is the current line unless set.
func (s *sink) fail(f Failure) {
	if len(s.failures) >= maxKeptFailures {
		s.dropped++
		return
	}
	if f.Log == 0 {
		f.Log = s.now
	}
	f.Tool = s.name()
	if f.File == "" {
		f.File = fileOfID(f.ID)
	}
	if f.Line == 0 && f.File != "" && strings.Contains(f.Message, "At file: ") {
		if m := jsAtFile.FindStringSubmatch(f.Message); m != nil {
			f.Line = atoi(m[1]) // Vite names the place of what it could not parse in the message alone
		}
	}
	f.File = tidyLine(s.file(f.File), maxPath)
	f.ID = tidyLine(f.ID, maxID)
	f.Suite = tidyLine(f.Suite, maxID)
	f.Message = strings.Clone(tidyMessage(f.Message))
	f.Expected, f.Actual = tidyValue(f.Expected), tidyValue(f.Actual)
	if f.Kind == "" {
		f.Kind = KindTest
	}
	if f.Expected == nil && f.Actual == nil && (f.Kind == KindTest || f.Kind == KindSetup) {
		f.Expected, f.Actual = expectedActual(f.Message)
	}
	s.failures = append(s.failures, f)
}

// name is the tool's name for the report.
func (s *sink) name() string {
	if s.spoke != "" {
		return s.spoke
	}
	return s.tool.name
}

// file makes a path of the log relative to the root.
func (s *sink) file(p string) string {
	if s.entered != "" {
		return s.paths.rel(s.entered, p)
	}
	return s.paths.rel(s.dir, p)
}

// own tells whether p is a file of the project rather than of a library, a runtime or the tool itself.
func (s *sink) own(p string) bool { return s.paths.own(p) }

// test hands in the outcome of one test case whose id is unique in the log.
func (s *sink) test(id, file string, status CaseStatus, d time.Duration) {
	s.suiteTest("", id, file, status, d)
}

// suiteTest hands in the outcome of one test case whose id is unique within its suite: a Go package, a test file.
func (s *sink) suiteTest(suite, id, file string, status CaseStatus, d time.Duration) {
	if s.opts.Cases {
		s.cases.add(Case{ID: id, Suite: suite, File: file, Status: status, Duration: d})
	}
}

// flaky marks a test as failed and passed in one run.
func (s *sink) flaky(id string) { s.cases.flaky(id) }

// flakyFailure hands in the failed attempt of a test that passed when it was tried again.
func (s *sink) flakyFailure(f Failure) {
	s.flaky(f.ID)
	f.flaky = true
	s.fail(f)
}

// add sums up a summary of the tool; negative numbers mean "not told".
func (s *sink) add(passed, failed, skipped int) {
	sum(&s.counts.Passed, passed)
	sum(&s.counts.Failed, failed)
	sum(&s.counts.Skipped, skipped)
}

func sum(to **int, n int) {
	if n < 0 {
		return
	}
	if *to == nil {
		*to = new(int)
	}
	**to += n
}

// key tells cases apart.
func (k *Case) key() string { return k.Suite + "\x00" + k.ID }

// caseSet merges test cases by suite and id and remembers which are flaky.
type caseSet struct {
	list  []Case
	index map[string]int
	shaky map[string]bool
}

func (c *caseSet) add(k Case) {
	if c.index == nil {
		c.index = map[string]int{}
	}
	if i, ok := c.index[k.key()]; ok {
		old := &c.list[i]
		if old.Status != k.Status && old.Status != CaseSkipped && k.Status != CaseSkipped {
			old.Flaky = true
		}
		old.Status = k.Status
		old.Duration += k.Duration
		if old.File == "" {
			old.File = k.File
		}
		return
	}
	if len(c.list) >= maxKeptCases {
		return
	}
	k.ID, k.File, k.Suite = strings.Clone(k.ID), strings.Clone(k.File), strings.Clone(k.Suite)
	c.index[k.key()] = len(c.list)
	c.list = append(c.list, k)
}

func (c *caseSet) flaky(id string) {
	if c.shaky == nil {
		c.shaky = map[string]bool{}
	}
	if len(c.shaky) < maxKeptFailures {
		c.shaky[strings.Clone(id)] = true
	}
}

// sortedKeys are a map's keys in order, for reports that are the same each time.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
