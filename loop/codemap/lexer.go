package codemap

import (
	"bytes"
	"math"
	"unicode"
	"unicode/utf8"
)

const (
	// binaryHead is how many bytes are looked at for a NUL, as git does.
	binaryHead = 8000
	// minifiedLine is the mean length of a line, in bytes, from which a file larger than minifiedSize is
	// taken as written by a machine for machines.
	minifiedLine = 300
	minifiedSize = 8 << 10
	// chunkMin and chunkMax bound the lines of a chunk: shorter ones join their neighbours, since one-line
	// definitions say too little to be ranked; longer ones are cut, since a function of 500 lines is a file.
	chunkMin = 6
	chunkMax = 90
	// windowLines is the size of the chunks of text without definitions.
	windowLines = 40
)

// doc is what the index keeps of one blob. All identifiers are numbers of a dictionary.
type doc struct {
	stream  []uint32 // every identifier in the order of the text, those of comments with inComment set
	perLine []uint16 // how many of them are on each line
	chunks  []chunk
	defs    []uint32 // identifiers that the text defines
	bytes   int32
	kind    blobKind
}

// inComment marks an identifier of a stream that stands in a comment.
const inComment = 1 << 31

// chunk is a function, a type or a window of lines: the unit that is ranked and shown.
type chunk struct {
	start, end int32 // lines from 1, both included
	token      int32 // index in the stream of its first identifier
	name       uint32
}

// blobKind says why a blob has no stream.
type blobKind uint8

const (
	blobText blobKind = iota
	blobBinary
	blobMinified
	blobTooLarge
	blobMarked // text that says of itself that it is generated
)

// dictionary numbers identifiers as they are spelled. Number 0 is none.
type dictionary struct {
	ids   map[string]uint32
	names []string
}

func newDictionary() *dictionary {
	d := &dictionary{ids: make(map[string]uint32, 1<<12), names: make([]string, 1, 1<<12)}
	for _, k := range keywords {
		d.add(k)
	}
	return d
}

func (d *dictionary) add(name string) uint32 {
	if id, ok := d.ids[name]; ok {
		return id
	}
	id := uint32(len(d.names))
	d.ids[name] = id
	d.names = append(d.names, name)
	return id
}

func (d *dictionary) intern(b []byte) uint32 {
	if id, ok := d.ids[string(b)]; ok { // does not allocate
		return id
	}
	name := string(b)
	id := uint32(len(d.names))
	d.ids[name] = id
	d.names = append(d.names, name)
	return id
}

// Words that every dictionary numbers first, so that the lexer tells them by their number.
var (
	definers  = []string{"func", "def", "class", "fn", "struct", "interface", "enum", "trait", "type", "module", "namespace", "function", "record", "protocol", "macro_rules", "impl", "object", "fun", "define", "union", "defp", "defmodule", "sub", "mixin", "extension", "property"}
	modifiers = []string{"public", "private", "protected", "internal", "static", "export", "default", "async", "abstract", "final", "pub", "unsafe", "inline", "extern", "virtual", "override", "sealed", "partial", "const", "open", "data", "declare", "readonly", "template", "typename", "typedef", "friend", "constexpr", "explicit", "suspend", "crate", "super", "native", "synchronized", "strictfp", "let", "var", "global", "local", "ref", "case", "operator"}
	controls  = []string{"if", "for", "while", "switch", "return", "else", "catch", "do", "new", "throw", "delete", "sizeof", "assert", "await", "yield", "not", "and", "or", "in", "del", "raise", "with", "elif", "elsif", "except", "print", "goto", "using", "import", "from", "package", "include", "require", "match", "loop", "unless", "until", "when", "go", "defer", "select", "range", "try", "finally", "co_await", "co_return", "throws", "lock", "foreach", "echo"}
	keywords  = append(append(append([]string{}, definers...), modifiers...), controls...)
)

func isDefiner(id uint32) bool { return id > 0 && id <= uint32(len(definers)) }
func isModifier(id uint32) bool {
	n := uint32(len(definers))
	return id > n && id <= n+uint32(len(modifiers))
}
func isControl(id uint32) bool {
	n := uint32(len(definers) + len(modifiers))
	return id > n && id <= n+uint32(len(controls))
}

// letter marks the ASCII bytes of identifiers.
var letter = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return t
}()

// word is an identifier of the line at hand, with its place in the line.
type word struct {
	id         uint32
	start, end int32
}

// lexer turns texts into docs with numbers of one dictionary. It is not safe for concurrent use.
type lexer struct {
	dict  *dictionary
	line  []word
	marks []mark
}

// mark is a line where a definition begins, comments and decorators above it included.
type mark struct {
	line int32
	name uint32
}

// kindOf tells whether a text is worth reading.
func kindOf(text []byte) blobKind {
	if bytes.IndexByte(text[:min(len(text), binaryHead)], 0) >= 0 {
		return blobBinary
	}
	if len(text) > minifiedSize && len(text)/(bytes.Count(text, []byte{'\n'})+1) > minifiedLine {
		return blobMinified
	}
	head := text[:min(len(text), 1024)]
	if i := bytes.Index(head, []byte("DO NOT EDIT")); i >= 0 && bytes.Contains(bytes.ToLower(head), []byte("generated")) || bytes.Contains(head, []byte("@generated")) {
		return blobMarked
	}
	return blobText
}

// read indexes one text.
func (x *lexer) read(text []byte) *doc {
	d := &doc{bytes: int32(len(text)), kind: kindOf(text)}
	if d.kind == blobBinary || d.kind == blobMinified {
		return d
	}
	d.stream = make([]uint32, 0, len(text)/9+4)
	x.marks = x.marks[:0]
	lead, leading := int32(1), false // where the comments and decorators right above the line begin
	for number := int32(1); len(text) > 0; number++ {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		x.words(line)
		flag := uint32(0)
		if comment(line) {
			flag = inComment
		}
		for _, w := range x.line {
			d.stream = append(d.stream, w.id|flag)
		}
		d.perLine = append(d.perLine, uint16(min(len(x.line), math.MaxUint16)))
		if !leading {
			lead = number
		}
		name := x.definition(line)
		if name != 0 {
			d.defs = append(d.defs, name)
			x.marks = append(x.marks, mark{lead, name})
		}
		leading = name == 0 && leads(line)
	}
	d.chunks = chunks(x.marks, d.perLine)
	return d
}

// chunks cuts a text at its marks.
func chunks(marks []mark, perLine []uint16) []chunk {
	var out []chunk
	var token int32
	last := int32(len(perLine))
	add := func(start, end int32, name uint32) {
		size := int32(chunkMax)
		if name == 0 {
			size = windowLines
		}
		for start <= end {
			stop := min(start+size-1, end)
			if end-stop < chunkMin {
				stop = end
			}
			out = append(out, chunk{start: start, end: stop, token: token, name: name})
			for _, n := range perLine[start-1 : stop] {
				token += int32(n)
			}
			start = stop + 1
		}
	}
	open := mark{line: 1}
	for _, m := range marks {
		switch {
		case m.line-open.line >= chunkMin:
			add(open.line, m.line-1, open.name)
			open = m
		case open.name == 0:
			open.name = m.name
		}
	}
	add(open.line, last, open.name)
	return out
}

// leads tells whether a line is a comment or a decorator, which belongs to what follows.
func leads(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	if len(t) == 0 {
		return false
	}
	switch t[0] {
	case '/', '*', '#', '@':
		return true
	case '[':
		return bytes.HasSuffix(bytes.TrimRight(t, " \t\r"), []byte("]")) // C# and PHP attributes
	case '-':
		return len(t) > 1 && t[1] == '-'
	}
	return false
}

// comment tells whether a line is a comment and nothing else, as most languages write them: //, /*, a star, # or
// -- before a blank. Texts in strings that serve as documentation are not recognised.
func comment(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	if len(t) < 2 {
		return false
	}
	switch t[0] {
	case '/':
		return t[1] == '/' || t[1] == '*'
	case '*', '#':
		return t[1] == ' ' || t[1] == '\t' || t[1] == t[0]
	case '-':
		return t[1] == '-' && (len(t) == 2 || t[2] == ' ')
	}
	return false
}

// words finds the identifiers of a line.
func (x *lexer) words(line []byte) {
	x.line = x.line[:0]
	for i := 0; i < len(line); {
		c := line[i]
		if c < utf8.RuneSelf && !letter[c] {
			i++
			continue
		}
		start := i
		plain := true
		for i < len(line) {
			c = line[i]
			if letter[c] {
				i++
				continue
			}
			if c < utf8.RuneSelf {
				break
			}
			r, n := utf8.DecodeRune(line[i:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
				break
			}
			plain = false
			i += n
		}
		if i == start { // a character that is no letter
			_, n := utf8.DecodeRune(line[i:])
			i += n
			continue
		}
		if n := i - start; n > maxIdentifier || n == 1 && plain {
			continue
		}
		x.line = append(x.line, word{x.dict.intern(line[start:i]), int32(start), int32(i)})
	}
}

// definition guesses what a line defines, 0 for nothing. It knows the keywords of common languages
// (func, def, class, fn …) and the functions and methods of the C family by their shape.
func (x *lexer) definition(line []byte) uint32 {
	if len(x.line) < 1 {
		return 0
	}
	indent := 0
	for indent < len(line) && (line[indent] == ' ' || line[indent] == '\t') {
		indent++
	}
	if indent > maxDefinitionIndent || indent == len(line) {
		return 0
	}
	switch c := line[indent]; {
	case letter[c], c == '~', c == '#', c >= utf8.RuneSelf:
	default:
		return 0
	}
	for i, w := range x.line {
		if isDefiner(w.id) {
			return x.defined(line, i)
		}
		if isControl(w.id) && i == 0 {
			return 0
		}
		if !isModifier(w.id) {
			break
		}
	}
	return x.shaped(line, indent)
}

// maxDefinitionIndent is how deep, in characters, a definition may be indented: deeper ones are local.
const maxDefinitionIndent = 12

// defined returns the name after the defining keyword at index i of the line.
func (x *lexer) defined(line []byte, i int) uint32 {
	after := int(x.line[i].end)
	rest := bytes.TrimLeft(line[after:], " \t*")
	if len(rest) == 0 || !letter[rest[0]] && rest[0] < utf8.RuneSelf && rest[0] != '(' && rest[0] != '<' && rest[0] != '!' && rest[0] != '[' {
		return 0 // `type: string`, `class="x"`, `function(…)`
	}
	if rest[0] == '(' || rest[0] == '<' || rest[0] == '[' { // a Go receiver, Rust's impl<T>, attributes
		closing := map[byte]byte{'(': ')', '<': '>', '[': ']'}[rest[0]]
		end := bytes.IndexByte(rest, closing)
		if end < 0 {
			return 0
		}
		after = len(line) - len(rest) + end
		if tail := bytes.TrimLeft(rest[end+1:], " \t"); len(tail) == 0 || !letter[tail[0]] && tail[0] < utf8.RuneSelf {
			return 0
		}
	}
	for _, w := range x.line[i+1:] {
		if int(w.start) < after || isDefiner(w.id) || isModifier(w.id) {
			continue
		}
		if isControl(w.id) {
			return 0
		}
		return w.id
	}
	return 0
}

// shaped finds `Type name(…) {` and `name(…) {`, `const name = (…) =>` and `name = function`.
func (x *lexer) shaped(line []byte, indent int) uint32 {
	open := bytes.IndexByte(line, '(')
	trimmed := bytes.TrimRight(line, " \t\r")
	if len(trimmed) == 0 {
		return 0
	}
	last := trimmed[len(trimmed)-1]
	if equals := bytes.IndexByte(line, '='); equals >= 0 && (open < 0 || equals < open || bytes.Contains(line, []byte("=>"))) {
		if !bytes.Contains(line[equals:], []byte("=>")) && !bytes.Contains(line[equals:], []byte("function")) && !bytes.Contains(line[equals:], []byte("lambda")) {
			return 0
		}
		if open >= 0 && open < equals {
			return 0
		}
		name := uint32(0)
		for _, w := range x.line {
			if int(w.end) <= equals {
				if !isModifier(w.id) {
					name = w.id
				}
				if bytes.IndexByte(line[w.end:equals], ':') >= 0 {
					break // TypeScript's type annotation follows
				}
			}
		}
		return name
	}
	if open <= indent || last == ';' || line[indent] == '#' {
		return 0
	}
	before := bytes.TrimRight(line[:open], " \t")
	var name word
	types := 0
	for _, w := range x.line {
		if int(w.end) > len(before) {
			break
		}
		if isControl(w.id) {
			return 0
		}
		if name.id != 0 {
			types++
		}
		name = w
	}
	if name.id == 0 || int(name.end) != len(before) || isDefiner(name.id) {
		return 0
	}
	if name.start > 0 && (line[name.start-1] == '.' || line[name.start-1] == '>' || line[name.start-1] == '"' || line[name.start-1] == '\'') {
		return 0
	}
	if bytes.ContainsAny(before, "\"'`{") {
		return 0
	}
	if types == 0 && last != '{' && (indent > 0 || last == ',' || last == ')' && bytes.IndexByte(line, '"') >= 0) {
		return 0
	}
	return name.id
}
