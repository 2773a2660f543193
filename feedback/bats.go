package feedback

import "strings"

func batsTool() *tool {
	return &tool{
		name: "bats", what: "Bats' pretty format; its TAP and JUnit forms are read as such",
		invocations: []string{"bats test", "bats --tap test", "bats -F junit test"},
		markers:     []string{" ✗ ", "(in test file ", "in test file "},
		runs:        named("bats"),
		family:      []string{"tap", "junit-xml"},
		make:        func(s *sink) reader { return &bats{s: s} },
	}
}

// bats reads the pretty formatter.
type bats struct {
	s    *sink
	open *rspecBlock
	seen bool
}

var (
	batsCase  = newPattern(`^ (✓|✗|-) (.+?)(?: \(skipped(?:: .*)?\))?(?: \[\d+\])?$`)
	batsTotal = newPattern(`^(\d+) tests?, (\d+) failures?(?:, (\d+) skipped)?(?:, (\d+) not run)?(?: in [\d.]+ seconds)?$`)
)

// line implements reader.
func (b *bats) line(l line) claim {
	t := l.text
	if m := batsTotal.FindStringSubmatch(t); m != nil && b.seen {
		b.end()
		failed, skipped := atoi(m[2]), atoi(m[3])
		b.s.add(max(0, atoi(m[1])-failed-skipped-atoi(m[4])), failed, skipped)
		b.s.ran, b.s.ended = true, true
		b.s.red, b.s.green = b.s.red || failed > 0, failed == 0
		return mine
	}
	if m := batsCase.FindStringSubmatch(t); m != nil {
		b.end()
		b.seen = true
		status := CasePassed
		switch m[1] {
		case "✗":
			status = CaseFailed
			b.open = &rspecBlock{id: strings.Clone(m[2]), log: l.n}
		case "-":
			status = CaseSkipped
		}
		b.s.test(m[2], "", status, 0)
		return mine
	}
	if b.open != nil && strings.HasPrefix(t, "   ") {
		const most = 60 // lines of one failure
		if len(b.open.lines) < most {
			b.open.lines = append(b.open.lines, strings.Clone(strings.TrimPrefix(t, "   ")))
		}
		return mine
	}
	if t != "" {
		b.end()
	}
	return pass
}

func (b *bats) end() {
	o := b.open
	b.open = nil
	if o == nil {
		return
	}
	f := Failure{ID: o.id, Kind: KindTest, Log: o.log}
	var text []string
	for _, l := range o.lines {
		if m := tapBatsAt.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
			f.File, f.Line = m[1], atoi(m[2])
			continue
		}
		text = append(text, l)
	}
	f.Message = strings.Join(text, "\n")
	b.s.red = true
	b.s.fail(f)
}

// close implements reader.
func (b *bats) close() { b.end() }
