package feedback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
)

// lookback is how many lines that nobody took are given to a reader that wakes late.
const lookback = 120

// ErrUnknownTool is returned when Options.Tool names a tool that is not in the registry.
var ErrUnknownTool = errors.New("unknown tool: see the table of tools for the names, or leave it at auto")

// Read reads a log to its end and reports what it says. It returns an error only when the log cannot be read, the
// context ends, or Options.Tool is unknown; no content is an error. On a read error the report of what came before
// it is returned as well, marked truncated.
func Read(ctx context.Context, in io.Reader, opts Options) (Report, error) {
	e, err := newEngine(opts)
	if err != nil {
		return Report{}, err
	}
	src := newLineSource(in)
	head := make([]string, 0, sniffLines)
	for len(head) < sniffLines {
		l, ok := src.next(ctx)
		if !ok {
			break
		}
		head = append(head, l)
	}
	e.prefixes = sniffPrefixes(head, opts.Command)
	for i, l := range head {
		e.feed(l)
		head[i] = ""
	}
	for {
		l, ok := src.next(ctx)
		if !ok {
			break
		}
		e.feed(l)
	}
	report := e.finish(src.clipped || src.failure() != nil)
	return report, src.failure()
}

// engine gives each line of the log to those who understand it.
type engine struct {
	*session
	tools    []*tool
	markers  *matcher
	owners   []int   // tool of each marker
	kinds    []words // of the texts behind the markers
	prefixes []prefix
	streams  map[string]*stream
	order    []*stream
	n        int // lines so far
	last     *stream
}

// stream is one of the log's interleaved streams, with its own readers.
type stream struct {
	slots   []*slot // by tool, nil while asleep
	holder  *slot
	back    []line // ring of the last lines that nobody took
	at      int
	generic *generic
	dir     string // where relative paths start, relative to the root
}

type slot struct {
	tool   *tool
	reader reader
	sink   *sink
}

// catalogue is the registry with the matcher of all its markers: the same for every log, so it is made once.
type catalogue struct {
	tools   []*tool
	markers *matcher // of the tools' markers and, behind them, the telling words
	owners  []int    // tool of each marker
	kinds   []words  // of each telling word
}

var tools = sync.OnceValue(func() catalogue {
	c := catalogue{tools: registry()}
	var texts []string
	for i, t := range c.tools {
		for _, m := range t.markers {
			texts = append(texts, m)
			c.owners = append(c.owners, i)
		}
	}
	words, kinds := tellingTexts()
	c.kinds = kinds
	c.markers = newMatcher(append(texts, words...))
	return c
})

func newEngine(opts Options) (*engine, error) {
	c := tools()
	tools := c.tools
	e := &engine{tools: tools, markers: c.markers, owners: c.owners, kinds: c.kinds, streams: map[string]*stream{}}
	e.session = &session{opts: opts, paths: newPaths(opts.Root), command: parseCommand(opts.Command, tools)}
	if opts.Tool != "" && opts.Tool != "auto" {
		found := false
		for _, t := range tools {
			if t.name == opts.Tool {
				found = true
				e.command.tools = map[string]bool{t.name: true}
				for _, f := range t.family {
					e.command.tools[f] = true
				}
				e.command.open = false
			}
		}
		if !found {
			return nil, fmt.Errorf("%w (%q)", ErrUnknownTool, opts.Tool)
		}
	}
	if e.opts.Manifest == nil && e.paths.exists {
		e.opts.Manifest = newFileManifest(opts.Root)
	}
	return e, nil
}

// stream finds or makes the stream of a name.
func (e *engine) stream(name string) *stream {
	if s, ok := e.streams[name]; ok {
		return s
	}
	if len(e.order) >= maxStreams {
		return e.order[0]
	}
	s := &stream{slots: make([]*slot, len(e.tools)), back: make([]line, 0, lookback), dir: e.command.dir}
	if m := pnpmStream.FindStringSubmatch(name[strings.LastIndex(name, streamJoin)+1:]); m != nil {
		s.dir = path.Join(s.dir, m[1])
	}
	s.generic = newGeneric(&sink{session: e.session, tool: &genericTool, dir: s.dir})
	e.streams[strings.Clone(name)] = s
	e.order = append(e.order, s)
	for i, t := range e.tools {
		if e.command.tools[t.name] || t.wrapper {
			e.wake(s, i)
		}
	}
	return s
}

// feed takes one raw line of the log.
func (e *engine) feed(raw string) {
	e.n++
	text := stampless(cleanLine(raw))
	s := e.last
	if len(e.prefixes) > 0 {
		var name string
		name, text = unprefix(text, e.prefixes)
		s = e.stream(name)
	} else if s == nil {
		s = e.stream("")
		e.last = s
	}
	e.offer(s, line{n: e.n, text: text})
}

// offer asks the readers of a stream in turn whose the line is.
func (e *engine) offer(s *stream, l line) {
	for i, t := range e.tools {
		if !t.wrapper {
			break // wrappers come first in the registry
		}
		if s.slots[i].take(l) != pass {
			return
		}
	}
	var asked *slot
	if s.holder != nil {
		switch s.holder.take(l) {
		case hold:
			return
		case mine:
			s.holder = nil
			return
		case pass:
			asked, s.holder = s.holder, nil
		}
	}
	if l.text != "" {
		l.words = wordsLooked
		e.markers.find(l.text, func(m int) {
			if m >= len(e.owners) {
				l.words |= e.kinds[m-len(e.owners)]
				return
			}
			i := e.owners[m]
			if s.slots[i] == nil && (e.command.open || e.tools[i].document) {
				e.wake(s, i)
			}
		})
	}
	for _, slot := range s.slots {
		if slot == nil || slot.tool.wrapper || slot == asked {
			continue
		}
		switch slot.take(l) {
		case hold:
			s.holder = slot
			return
		case mine:
			return
		case pass:
		}
	}
	s.remember(l)
	s.generic.line(l)
}

// wake makes the reader of tool i and shows it the last lines that nobody took.
func (e *engine) wake(s *stream, i int) {
	t := e.tools[i]
	k := &sink{session: e.session, tool: t, role: t.role, dir: s.dir}
	slot := &slot{tool: t, sink: k, reader: t.make(k)}
	s.slots[i] = slot
	for j := range s.back {
		slot.take(s.back[(s.at+j)%len(s.back)])
	}
}

// take offers a line to the slot's reader.
func (k *slot) take(l line) claim {
	k.sink.now = l.n
	c := k.reader.line(l)
	if c != pass {
		k.sink.weight++
		k.sink.last = l.n
	}
	return c
}

// remember keeps a line for readers that wake late.
func (s *stream) remember(l line) {
	const most = 2000 // bytes of a remembered line: nothing before a marker needs more
	if len(l.text) > most {
		l.text = l.text[:most]
	}
	if len(s.back) < lookback {
		s.back = append(s.back, l)
		return
	}
	s.back[s.at] = l
	s.at = (s.at + 1) % lookback
}

// finish closes all readers and puts their findings together.
func (e *engine) finish(cut bool) Report {
	var sinks []*sink
	for _, s := range e.order {
		for _, slot := range s.slots {
			if slot != nil {
				slot.reader.close()
				sinks = append(sinks, slot.sink)
			}
		}
		s.placePackages()
	}
	var generics []*generic
	for _, s := range e.order {
		generics = append(generics, s.generic)
	}
	return combine(e.session, sinks, generics, cut)
}
