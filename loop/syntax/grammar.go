package syntax

import (
	"bytes"
	"fmt"
	"regexp"
	"unsafe"

	sitter "github.com/tree-sitter/go-tree-sitter"
	csharp "github.com/tree-sitter/tree-sitter-c-sharp/bindings/go"
	c "github.com/tree-sitter/tree-sitter-c/bindings/go"
	cpp "github.com/tree-sitter/tree-sitter-cpp/bindings/go"
	golang "github.com/tree-sitter/tree-sitter-go/bindings/go"
	java "github.com/tree-sitter/tree-sitter-java/bindings/go"
	javascript "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
	php "github.com/tree-sitter/tree-sitter-php/bindings/go"
	python "github.com/tree-sitter/tree-sitter-python/bindings/go"
	ruby "github.com/tree-sitter/tree-sitter-ruby/bindings/go"
	rust "github.com/tree-sitter/tree-sitter-rust/bindings/go"
	typescript "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

const (
	// MaxSource is the largest text in bytes that is parsed; larger ones are data or generated, and count as fine.
	MaxSource = 4 << 20
	// parseMicros bounds one parse. A megabyte of ordinary source takes about 0.2 s; only text made to
	// hurt takes longer than this.
	parseMicros = 5_000_000
	// chunk is how many bytes the parser is handed at a time: the binding copies each chunk.
	chunk = 64 << 10
)

// longHeredoc matches heredoc words beyond 255 bytes, at which the Ruby grammar's scanner aborts the process.
var longHeredoc = regexp.MustCompile("<<[~-]?(?:[\"'`][^\n]{200}|[^\\s\"'`]{200})")

// grammarOf returns lang's tree-sitter grammar, nil where it has none.
func grammarOf(lang Language) unsafe.Pointer {
	switch lang {
	case C:
		return c.Language()
	case CPP:
		return cpp.Language()
	case CSharp:
		return csharp.Language()
	case Go:
		return golang.Language()
	case Java:
		return java.Language()
	case JavaScript:
		return javascript.Language()
	case PHP:
		return php.LanguagePHP()
	case Python:
		return python.Language()
	case Ruby:
		return ruby.Language()
	case Rust:
		return rust.Language()
	case TSX:
		return typescript.LanguageTSX()
	case TypeScript:
		return typescript.LanguageTypescript()
	case JSON, TOML, XML, YAML, Unknown:
		return nil
	}
	return nil
}

// parse returns src's syntax tree, which the caller must Close, or nil where there is none: a language
// without a grammar, a text too large, or a parse that ran out of time.
// A parser is made for each call: that costs microseconds, and leaves nothing shared.
func parse(lang Language, src []byte) (*sitter.Tree, error) {
	grammar := grammarOf(lang)
	if grammar == nil || len(src) > MaxSource {
		return nil, nil
	}
	if lang == Ruby && longHeredoc.Match(src) {
		return nil, nil
	}
	parser := sitter.NewParser()
	defer parser.Close()
	if err := parser.SetLanguage(sitter.NewLanguage(grammar)); err != nil {
		return nil, fmt.Errorf("load the %s grammar: %w", lang, err)
	}
	// The replacement of this deprecated call, ParseOptions.ProgressCallback, leaks its options in v0.25.0.
	parser.SetTimeoutMicros(parseMicros) //nolint:staticcheck // see above
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	return parser.ParseWithOptions(func(offset int, _ sitter.Point) []byte {
		if offset >= len(src) {
			return nil
		}
		return src[offset:min(offset+chunk, len(src))]
	}, nil, nil), nil
}

// walk visits root and its descendants in the order of the text, without recursion: trees of foreign text may be
// deep. visit gets each node with its depth; descent stops below a node for which it returns false.
func walk(root *sitter.Node, visit func(node *sitter.Node, depth int) bool) {
	cursor := root.Walk()
	defer cursor.Close()
	for depth := 0; ; {
		if visit(cursor.Node(), depth) && cursor.GotoFirstChild() {
			depth++
			continue
		}
		for !cursor.GotoNextSibling() {
			if depth == 0 || !cursor.GotoParent() {
				return
			}
			depth--
		}
		if depth == 0 {
			return
		}
	}
}
