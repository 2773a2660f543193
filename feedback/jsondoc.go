package feedback

import (
	"encoding/json"
	"strings"
)

func jsonTool() *tool {
	return &tool{
		name: "json", what: "JSON reports: " + jsonShapeNames(), role: roleLint, document: true,
		invocations: []string{"eslint -f json", "golangci-lint --output.json.path=stdout", "jest --json", "mocha --reporter json", "ruff check --output-format json", "pylint -f json", "mypy -O json", "pyright --outputjson", "npm audit --json"},
		markers:     []string{`{"`, "[{", "{", "["},
		make:        func(s *sink) reader { return &jsonDoc{s: s} },
	}
}

// jsonShape recognises and reads the JSON document of one tool.
type jsonShape struct {
	name string
	role role
	// keys must all occur in the text for the shape to be tried.
	keys []string
	// read decodes the text; false when it is something else after all.
	read func(s *sink, text []byte) bool
}

const (
	jsonLimit  = 48 << 20 // bytes of a document that spans lines
	jsonDecide = 64 << 10 // bytes within which a document over many lines must show a known shape
)

// jsonDoc collects JSON documents, on one line or over many, and hands them to the shape that knows them. Until a
// document is recognised its lines go to the other readers as well.
type jsonDoc struct {
	s      *sink
	buf    strings.Builder
	depth  int
	quoted bool // within a string at the end of the buffer
	known  bool
	look   int // size of the buffer at which a shape is looked for again
	first  int
}

// line implements reader.
func (j *jsonDoc) line(l line) claim {
	t := l.text
	if j.depth == 0 {
		if t == "" {
			return pass
		}
		i := 0
		for i < len(t) && (t[i] == ' ' || t[i] == '\t') {
			i++
		}
		if i == len(t) || t[i] != '{' && t[i] != '[' || i > 0 {
			return pass
		}
		if len(t) > i+1 && !strings.ContainsAny(t[i+1:i+2], "\"{[]} \t") {
			return pass
		}
		j.buf.Reset()
		j.first, j.known, j.quoted, j.look = l.n, false, false, 0
	} else if !j.known && !jsonLike(t) {
		j.depth = 0
		return pass
	}
	j.buf.WriteString(t)
	j.buf.WriteByte('\n')
	j.measure(t)
	if j.depth < 0 || j.buf.Len() > jsonLimit {
		j.depth = 0
		return pass
	}
	if j.depth == 0 {
		if j.read() {
			return mine
		}
		return pass
	}
	if !j.known {
		if j.buf.Len() > jsonDecide {
			j.depth = 0
			return pass
		}
		if j.buf.Len() >= j.look { // each look reads the whole buffer, so they are spaced by doubling
			j.known = j.shape(j.buf.String(), true) != nil
			j.look = 2 * j.buf.Len()
		}
	}
	if j.known {
		return hold
	}
	return pass
}

// jsonLike tells whether a line can be one of a pretty-printed document.
func jsonLike(t string) bool {
	t = strings.TrimSpace(t)
	if t == "" {
		return true
	}
	switch t[0] {
	case '"', '{', '}', '[', ']', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 't', 'f', 'n', ',':
		last := t[len(t)-1]
		return strings.IndexByte(`,{}[]"0123456789elE`, last) >= 0
	}
	return false
}

// measure follows the nesting through one line.
func (j *jsonDoc) measure(t string) {
	for i := 0; i < len(t); i++ {
		if j.quoted {
			switch t[i] {
			case '\\':
				i++
			case '"':
				j.quoted = false
			}
			continue
		}
		switch t[i] {
		case '"':
			j.quoted = true
		case '{', '[':
			j.depth++
		case '}', ']':
			j.depth--
			if j.depth == 0 && strings.TrimSpace(t[i+1:]) != "" {
				j.depth = -1 // more text follows: not a document
				return
			}
		}
	}
}

// shape finds the first shape whose keys occur; partly decides on an unfinished document, for shapes whose keys
// are telling.
func (j *jsonDoc) shape(text string, partly bool) *jsonShape {
	for i := range jsonShapes {
		sh := &jsonShapes[i]
		if partly && len(sh.keys) < 2 {
			continue
		}
		all := true
		for _, k := range sh.keys {
			if !strings.Contains(text, k) {
				all = false
				break
			}
		}
		if all {
			return sh
		}
	}
	return nil
}

func (j *jsonDoc) read() bool {
	text := j.buf.String()
	j.buf.Reset()
	const least = 8 // bytes: "{}" and "[1]" report nothing
	if len(text) < least {
		return false
	}
	for i := range jsonShapes {
		sh := &jsonShapes[i]
		all := true
		for _, k := range sh.keys {
			all = all && strings.Contains(text, k)
		}
		j.s.spoke = sh.name
		if all && sh.read(j.s, []byte(text)) {
			if sh.role == roleTest {
				j.s.role = roleTest
			}
			j.s.ran = true
			return true
		}
	}
	j.s.spoke = ""
	return false
}

// close implements reader.
func (j *jsonDoc) close() {
	if j.depth <= 0 || !j.known {
		return
	}
	// The document was cut: close what is open after its last complete value and read what there is.
	text := j.buf.String()
	for range 3 {
		if fixed, ok := closeJSON(text); ok {
			for i := range jsonShapes {
				if j.shape(text, false) == &jsonShapes[i] && jsonShapes[i].read(j.s, []byte(fixed)) {
					return
				}
			}
		}
		i := strings.LastIndexByte(text, '}')
		if i <= 0 {
			return
		}
		text = text[:i]
	}
}

// closeJSON cuts text behind its last complete object and adds the closing brackets.
func closeJSON(text string) (string, bool) {
	i := strings.LastIndexByte(text, '}')
	if i < 0 {
		return "", false
	}
	text = text[:i+1]
	var open []byte
	quoted := false
	for k := 0; k < len(text); k++ {
		switch c := text[k]; {
		case quoted && c == '\\':
			k++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case c == '}' || c == ']':
			if len(open) == 0 {
				return "", false
			}
			open = open[:len(open)-1]
		}
	}
	if quoted {
		return "", false
	}
	for k := len(open) - 1; k >= 0; k-- {
		text += string(open[k])
	}
	return text, true
}

// decode reads a document into v; false when it does not fit.
func decode(text []byte, v any) bool { return json.Unmarshal(text, v) == nil }
