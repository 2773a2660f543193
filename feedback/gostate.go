package feedback

import (
	"strings"
	"time"
)

// goDoubt is a line that ends a package while a test of it is running: the program ended, or the test printed the
// line. The test's own result, if it still comes, tells.
type goDoubt struct{ name string }

// counter counts test results.
type counter struct{ passed, failed, skipped int }

type goPackage struct {
	name    string
	tests   map[string]*goTest
	order   []string
	current string // test that the next output belongs to
	out     ringText
	failed  bool
	failLog int
	cause   string // build that failed, from test2json
}

type goTest struct {
	name                    string
	passed, failed, skipped int
	out                     ringText
	done                    bool
	log                     int
	took                    time.Duration
}

// ringText keeps the first and the last lines of an output.
type ringText struct {
	head, tail []string
	at         int // oldest line of the tail, once it is full
	dropped    int
	partial    string // text without newline yet (test2json cuts at will)
}

// add appends a line. all is the number of lines that are kept by all of a log's rings: where it is great, this one
// keeps few.
func (r *ringText) add(l string, all *int) {
	most := goOutputLines
	if *all > goKeptLines {
		most = goFewLines
	}
	switch {
	case len(r.head) < most && len(r.tail) == 0:
		r.head = append(r.head, l)
		*all++
	case len(r.tail) < most && r.dropped == 0:
		r.tail = append(r.tail, l)
		*all++
	default:
		r.tail[r.at] = l
		r.at = (r.at + 1) % len(r.tail)
		r.dropped++
	}
}

// clear forgets the lines.
func (r *ringText) clear(all *int) {
	*all -= len(r.head) + len(r.tail)
	*r = ringText{}
}

func (r *ringText) write(text string, all *int) {
	text = r.partial + text
	for {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			break
		}
		r.add(strings.Clone(cleanLine(text[:i])), all)
		text = text[i+1:]
	}
	r.partial = text
}

func (r *ringText) lines() []string {
	out := append([]string{}, r.head...)
	out = append(out, r.tail[r.at:]...)
	out = append(out, r.tail[:r.at]...)
	if r.partial != "" {
		out = append(out, r.partial)
	}
	return out
}

func newGoTests(s *sink) *goTests {
	return &goTests{s: s, packages: map[string]*goPackage{}, build: &goBuildParser{s: s}}
}

func newGoPackage(name string) *goPackage {
	return &goPackage{name: name, tests: map[string]*goTest{}}
}

func (p *goPackage) test(name string) *goTest {
	if t, ok := p.tests[name]; ok {
		return t
	}
	t := &goTest{name: strings.Clone(name)}
	p.tests[t.name] = t
	p.order = append(p.order, t.name)
	return t
}

// forget drops the test that was begun last once it passed, in a package with so many tests that keeping the names
// of all would cost too much; it reports whether it did.
func (p *goPackage) forget(t *goTest) bool {
	last := len(p.order) - 1
	if last < goKeptTests || p.order[last] != t.name || t.failed+t.skipped > 0 {
		return false
	}
	delete(p.tests, t.name)
	p.order = p.order[:last]
	return true
}
