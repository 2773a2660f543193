package codemap

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/syntax"
)

// maxOutline bounds the symbols of one outline.
const maxOutline = 400

// Outline renders a file's symbols as "start-end signature", members below what they belong to. Where no
// grammar reads the file, definitions are guessed line by line. It is fs.ErrNotExist for a file that is not
// there, and names the reason for one that has no outline.
func (x *Index) Outline(ctx context.Context, tree loop.Tree, path string) (string, error) {
	if Secret(path) {
		return "", fmt.Errorf("outline %s: %w", path, ErrSecret)
	}
	content, err := tree.Read(ctx, path)
	if err != nil {
		return "", fmt.Errorf("outline: %w", err)
	}
	if k := kindOf(content); k == blobBinary || k == blobMinified {
		return fmt.Sprintf("%s: binary or minified, %d bytes\n", path, len(content)), nil
	}
	symbols := symbolsOf(path, content)
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d lines\n", path, lineCount(content))
	for i, s := range symbols {
		if i == maxOutline {
			fmt.Fprintf(&out, "(%d more symbols)\n", len(symbols)-i)
			break
		}
		indent := ""
		if s.Parent != "" {
			indent = "  "
		}
		text := s.Signature
		if text == "" {
			text = s.Name
		}
		fmt.Fprintf(&out, "%s%d-%d %s\n", indent, s.Start, s.End, oneLine(text))
	}
	return out.String(), nil
}

// symbolsOf lists the definitions of a text, by its syntax tree or else by their shape.
func symbolsOf(path string, content []byte) []syntax.Symbol {
	if symbols := syntax.Outline(syntax.LanguageOf(path, content), content); len(symbols) > 0 {
		return symbols
	}
	x := lexer{dict: newDictionary()}
	x.read(content)
	lines := strings.Split(string(content), "\n")
	var out []syntax.Symbol
	for i, m := range x.marks {
		end := len(lines)
		if i+1 < len(x.marks) {
			end = int(x.marks[i+1].line) - 1
		}
		out = append(out, syntax.Symbol{Name: x.dict.names[m.name], Start: int(m.line), End: max(end, int(m.line)), Signature: x.dict.names[m.name]})
	}
	return out
}

// lineCount is the number of lines of a text, the last of which may lack its end.
func lineCount(content []byte) int {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}
