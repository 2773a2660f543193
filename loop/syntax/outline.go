package syntax

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// Kind says what a Symbol is.
type Kind string

// The kinds of symbols. Type stands for aliases, traits, enums and whatever else a language has beside its classes.
const (
	KindFunction  Kind = "function"
	KindMethod    Kind = "method"
	KindClass     Kind = "class"
	KindInterface Kind = "interface"
	KindType      Kind = "type"
	KindConstant  Kind = "constant"
	KindVariable  Kind = "variable"
	KindModule    Kind = "module"
)

// Symbol is a definition in a source text. Start and End are its first and last line, from 1, both included.
type Symbol struct {
	Name      string
	Kind      Kind
	Start     int
	End       int
	Signature string // the definition up to its body, on one line, at most maxSignature bytes
	Parent    string // the name of the type, class or module around it; a Go method's receiver type
}

// Ref is a name that is called, or constructed, on a line (from 1).
type Ref struct {
	Name string
	Line int
}

// Span is a piece of a text: lines Start to End, from 1, both included. Symbol names what it defines, as
// Parent.Name for members, and is empty for the text between definitions.
type Span struct {
	Start  int
	End    int
	Symbol string
}

// maxSignature bounds a signature: it is for a line of an outline.
const maxSignature = 200

// Outline lists what src defines, in the order of the text. Local variables are left out; functions and types within
// functions are listed. It is empty where the language has no grammar, and whatever could be read where src is broken.
func Outline(lang Language, src []byte) []Symbol {
	rules, known := rulesOf(lang)
	tree, err := parse(lang, src)
	if !known || tree == nil || err != nil {
		return nil
	}
	defer tree.Close()
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	o := outliner{rules: rules, src: src, kinds: kindNames(tree.Language())}
	walk(tree.RootNode(), o.visit)
	return o.symbols
}

// outliner collects symbols while the tree is walked.
type outliner struct {
	rules   rules
	src     []byte
	kinds   []string
	symbols []Symbol
	around  []scope // the definitions around the current node, outermost first
}

// scope is a definition that the walk is inside of.
type scope struct {
	name  string
	depth int
	kind  Kind
}

func (o *outliner) visit(node *sitter.Node, depth int) bool {
	for len(o.around) > 0 && o.around[len(o.around)-1].depth >= depth {
		o.around = o.around[:len(o.around)-1]
	}
	if !node.IsNamed() {
		return false
	}
	kind, ok := o.rules.define[nameOf(o.kinds, node)]
	if !ok {
		return true
	}
	parent, in := "", Kind("")
	if len(o.around) > 0 {
		parent, in = o.around[len(o.around)-1].name, o.around[len(o.around)-1].kind
	}
	names, kind, receiver := o.rules.names(node, kind, in, o.src)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" }) // what an error left out
	if len(names) == 0 {
		return true
	}
	if receiver != "" {
		parent = receiver
	}
	if kind == KindFunction && (in == KindClass || in == KindInterface || in == KindType) {
		kind = KindMethod
	}
	whole := outer(node, o.rules)
	for _, name := range names {
		o.symbols = append(o.symbols, Symbol{
			Name: name, Kind: kind, Parent: parent,
			Start: int(whole.StartPosition().Row) + 1, End: lastLine(whole),
			Signature: signature(node, o.src),
		})
	}
	if kind != KindConstant && kind != KindVariable {
		full := names[0]
		if o.rules.transparent[nameOf(o.kinds, node)] {
			// An implementation block only lends its members the name of its type.
			o.symbols = o.symbols[:len(o.symbols)-1]
			kind = KindType
		}
		o.around = append(o.around, scope{name: full, depth: depth, kind: kind})
	}
	return true
}

// outer widens a definition to the decorators, export keyword or template header that belong to it.
func outer(node *sitter.Node, r rules) *sitter.Node {
	for {
		parent := node.Parent()
		if parent == nil || !r.wrap[parent.Kind()] {
			return node
		}
		node = parent
	}
}

// lastLine is the last line with text of node: some nodes end with the line break.
func lastLine(node *sitter.Node) int {
	end := node.EndPosition()
	if end.Column == 0 && end.Row > node.StartPosition().Row {
		return int(end.Row)
	}
	return int(end.Row) + 1
}

// signature is the text of a definition up to its body.
func signature(node *sitter.Node, src []byte) string {
	start, end := node.StartByte(), node.EndByte()
	if body := bodyOf(node); body != nil && body.StartByte() > start {
		end = body.StartByte()
	}
	end = min(end, uint(len(src)), start+4*maxSignature)
	if start >= end {
		return ""
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(src[start:end]), "?")), " ")
	text = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(text, "=>"), "="), " {:;")
	if len(text) > maxSignature {
		cut := maxSignature
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// bodyOf is the part of a definition that its signature ends before: the body, also that of a function which is
// assigned, else the value; nil where it has neither.
func bodyOf(node *sitter.Node) *sitter.Node {
	for _, field := range []string{"body", "value", "right", "accessors"} {
		part := node.ChildByFieldName(field)
		switch {
		case part == nil:
		case field == "value" && isFunction(part), field == "right" && (isFunction(part) || part.Kind() == "assignment_expression"):
			return bodyOf(part)
		case field != "right":
			return part
		}
	}
	return nil
}

// FullName is the symbol's name after its parent's, as in Parent.Name.
func (s Symbol) FullName() string {
	if s.Parent == "" {
		return s.Name
	}
	return s.Parent + "." + s.Name
}

// References lists the names that src calls or constructs, in the order of the text; of `a.b.c()` it is c.
func References(lang Language, src []byte) []Ref {
	rules, known := rulesOf(lang)
	tree, err := parse(lang, src)
	if !known || tree == nil || err != nil {
		return nil
	}
	defer tree.Close()
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	kinds := kindNames(tree.Language())
	var refs []Ref
	walk(tree.RootNode(), func(node *sitter.Node, _ int) bool {
		field, ok := rules.call[nameOf(kinds, node)]
		if !ok || !node.IsNamed() {
			return true
		}
		target := node.ChildByFieldName(field)
		if target == nil && node.NamedChildCount() > 0 {
			target = node.NamedChild(0)
		}
		if name, at := calledName(target, src); name != "" {
			refs = append(refs, Ref{Name: name, Line: at})
		}
		return true
	})
	return refs
}

// calledName is the last name of the expression that is called: of `pkg.Type[T].method` it is method.
func calledName(node *sitter.Node, src []byte) (string, int) {
	for node != nil {
		if node.NamedChildCount() == 0 {
			text := node.Utf8Text(src)
			if !isName(text) {
				return "", 0
			}
			return text, int(node.StartPosition().Row) + 1
		}
		var next *sitter.Node
		for _, field := range []string{"field", "property", "attribute", "method", "name", "function", "type"} {
			if next = node.ChildByFieldName(field); next != nil {
				break
			}
		}
		if next == nil {
			if !bareWrapper[node.Kind()] {
				return "", 0
			}
			next = node.NamedChild(0)
		}
		node = next
	}
	return "", 0
}

// bareWrapper holds nodes that wrap a called expression without naming their part for it.
var bareWrapper = map[string]bool{
	"parenthesized_expression": true, "generic_type": true, "non_null_expression": true, "instantiation_expression": true,
	"conditional_access_expression": false, "pointer_type": true, "scoped_type_identifier": false,
}

func isName(text string) bool {
	for i, r := range text {
		letter := r == '_' || r == '$' || r == '#' || r == '@' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf
		digit := r >= '0' && r <= '9' || r == '!' || r == '?' || r == '='
		if !letter && (i == 0 || !digit) {
			return false
		}
	}
	return text != ""
}

// kindNames holds the grammar's node kinds by id, so that a walk does not copy a C string for each node.
func kindNames(lang *sitter.Language) []string {
	names := make([]string, lang.NodeKindCount())
	for i := range names {
		names[i] = lang.NodeKindForId(uint16(i))
	}
	return names
}

func nameOf(kinds []string, node *sitter.Node) string {
	if id := int(node.KindId()); id < len(kinds) {
		return kinds[id]
	}
	return node.Kind() // ERROR has an id beyond the table
}
