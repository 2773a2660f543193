package model

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds nesting; replies of the loop's schemas have five levels.
const maxDepth = 64

// parseLenient reads the JSON value at the beginning of text, forgiving what models get wrong:
// comments, trailing or missing commas, single or curly quotes, bare keys and words, raw newlines
// and unescaped quotes in strings, Python's True, False and None, and a cut-off end. It returns
// how many bytes it read; ok is false where no object or list begins there.
func parseLenient(text string) (value any, read int, ok bool) {
	p := &lenient{text: text}
	p.space()
	if p.at >= len(text) || text[p.at] != '{' && text[p.at] != '[' {
		return nil, 0, false
	}
	value, ok = p.value(0)
	return value, p.at, ok
}

// lenient is the state of parseLenient.
type lenient struct {
	text string
	at   int
}

func (p *lenient) more() bool { return p.at < len(p.text) }

// space skips white space and comments.
func (p *lenient) space() {
	for p.more() {
		rest := p.text[p.at:]
		switch {
		case strings.HasPrefix(rest, "//"), rest[0] == '#':
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.at += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				p.at = len(p.text)
				return
			}
			p.at += end + 4
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && r != '\ufeff' {
				return
			}
			p.at += size
		}
	}
}

func (p *lenient) value(depth int) (any, bool) {
	p.space()
	if !p.more() || depth > maxDepth {
		return nil, false
	}
	switch p.text[p.at] {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	}
	if quote, size := p.quote(); size > 0 {
		return p.str(quote, size), true
	}
	return p.word()
}

func (p *lenient) object(depth int) (any, bool) {
	p.at++
	object := map[string]any{}
	for {
		p.separators()
		if !p.more() {
			return object, true // cut off: what there is
		}
		if p.text[p.at] == '}' {
			p.at++
			return object, true
		}
		if p.text[p.at] == ']' {
			return object, true // a bracket of the list around it: this object was not closed
		}
		key, ok := p.key()
		if !ok {
			return nil, false
		}
		p.space()
		if !p.more() {
			return object, true
		}
		if p.text[p.at] != ':' && p.text[p.at] != '=' {
			return nil, false
		}
		p.at++
		value, ok := p.value(depth + 1)
		if !ok {
			if !p.more() {
				return object, true
			}
			return nil, false
		}
		object[key] = value
	}
}

func (p *lenient) list(depth int) (any, bool) {
	p.at++
	list := []any{}
	for {
		p.separators()
		if !p.more() {
			return list, true
		}
		if p.text[p.at] == ']' {
			p.at++
			return list, true
		}
		if p.text[p.at] == '}' {
			return list, true
		}
		value, ok := p.value(depth + 1)
		if !ok {
			if !p.more() {
				return list, true
			}
			return nil, false
		}
		list = append(list, value)
	}
}

// separators skips commas, too many of them and none alike.
func (p *lenient) separators() {
	for {
		p.space()
		if !p.more() || p.text[p.at] != ',' && p.text[p.at] != ';' {
			return
		}
		p.at++
	}
}

func (p *lenient) key() (string, bool) {
	if quote, size := p.quote(); size > 0 {
		return p.str(quote, size), true
	}
	start := p.at
	for p.more() {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '$' {
			break
		}
		p.at += size
	}
	return p.text[start:p.at], p.at > start
}

// quote returns the quotation mark at this place and the one that ends it.
func (p *lenient) quote() (end rune, size int) {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	switch r {
	case '"', '\'', '`':
		return r, size
	case '“', '”':
		return '”', size
	case '‘', '’':
		return '’', size
	}
	return 0, 0
}

// str reads a string. A quotation mark ends it only where what follows could follow a string.
func (p *lenient) str(end rune, size int) string {
	p.at += size
	var b strings.Builder
	for p.more() {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if r == end && p.endsString(p.at+n) {
			p.at += n
			return b.String()
		}
		if r != '\\' {
			b.WriteString(p.text[p.at : p.at+n])
			p.at += n
			continue
		}
		p.at += n
		p.escape(&b)
	}
	return b.String()
}

// endsString says whether what stands at a place can follow a string.
func (p *lenient) endsString(at int) bool {
	rest := strings.TrimLeft(p.text[at:], " \t\r\n")
	if rest == "" || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") {
		return true
	}
	if strings.IndexByte(",:}];=", rest[0]) >= 0 {
		return true
	}
	// A missing comma: the next string begins on another line.
	between := p.text[at : len(p.text)-len(rest)]
	return strings.Contains(between, "\n") && strings.IndexByte(`"'`, rest[0]) >= 0
}

// escapes are JSON's own, and the quote that models escape needlessly.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '/': '/', '\\': '\\', '"': '"', '\'': '\''}

// escape reads what follows a backslash; an unknown escape keeps its backslash.
func (p *lenient) escape(b *strings.Builder) {
	if !p.more() {
		return
	}
	c := p.text[p.at]
	if plain, known := escapes[c]; known {
		b.WriteByte(plain)
		p.at++
		return
	}
	const digits = 4
	if c == 'u' && p.at+1+digits <= len(p.text) {
		raw := `"\` + p.text[p.at:p.at+1+digits]
		size := 1 + digits
		if next := p.at + size; strings.HasPrefix(p.text[next:], `\u`) && next+2+digits <= len(p.text) {
			raw += p.text[next : next+2+digits] // perhaps the other half of a surrogate pair
			size += 2 + digits
		}
		var s string
		if json.Unmarshal([]byte(raw+`"`), &s) == nil {
			b.WriteString(s)
			p.at += size
			return
		}
	}
	b.WriteByte('\\')
	if c == '\n' {
		p.at++
	}
}

// word reads a number or a bare word.
func (p *lenient) word() (any, bool) {
	start := p.at
	for p.more() && strings.IndexByte(",:}]\n\r{[\"", p.text[p.at]) < 0 {
		p.at++
	}
	word := strings.TrimSpace(p.text[start:p.at])
	switch strings.ToLower(word) {
	case "":
		return nil, false
	case "true":
		return true, true
	case "false":
		return false, true
	case "null", "none", "nil", "undefined", "nan":
		return nil, true
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10)), true
	}
	if f, err := strconv.ParseFloat(word, 64); err == nil && !strings.ContainsAny(word, "xXpP_iInN") {
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
	}
	return word, true
}
