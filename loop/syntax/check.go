package syntax

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	sitter "github.com/tree-sitter/go-tree-sitter"
	"go.yaml.in/yaml/v4"
)

// Problem is a place where a text does not parse. Line and Column count from 1, Column in bytes; Text says
// what is wrong there.
type Problem struct {
	Line   int
	Column int
	Text   string
}

// maxProblems is how many problems are kept: beyond it a count says no more.
const maxProblems = 1000

// Check parses src and returns whether it is free of syntax errors, with the errors in the order of the text.
// What cannot be judged (an unknown language, a text above MaxSource, a parse out of time) is ok.
// Tree-sitter's grammars lag behind the languages, so a single ok=false proves little: see Worse.
func Check(lang Language, src []byte) (ok bool, problems []Problem) {
	if len(src) > MaxSource {
		return true, nil
	}
	switch lang {
	case Unknown:
		return true, nil
	case Go:
		problems = checkGo(src)
	case JSON:
		problems = checkJSON(src)
	case TOML:
		problems = checkTOML(src)
	case XML:
		problems = checkXML(src)
	case YAML:
		problems = checkYAML(src)
	case C, CPP, CSharp, Java, JavaScript, PHP, Python, Ruby, Rust, TSX, TypeScript:
		problems = checkTree(lang, src)
	}
	return len(problems) == 0, problems
}

// Worse tells whether the change from before to after broke the file: after has more syntax errors than before had.
// The problem returned is the first one that before did not have. A new file has a nil before.
func Worse(lang Language, before, after []byte) (bool, Problem) {
	if lang == C || lang == CPP {
		return worseC(lang, before, after)
	}
	ok, now := Check(lang, after)
	if ok || unread(lang, before, after) {
		return false, Problem{}
	}
	var then []Problem
	if before != nil {
		_, then = Check(lang, before)
	}
	if len(now) <= len(then) {
		return false, Problem{}
	}
	return true, firstNew(then, now, lines(before), lines(after))
}

// newer matches syntax that came into a language after its grammar was written. A change that brings it into a file cannot be judged.
var newer = map[Language]*regexp.Regexp{
	PHP:        regexp.MustCompile(`\$\w+(?:\s*=[^;{]*)?\s*\{[^}]*\b(?:get|set)\b`), // 8.4: property hooks
	Python:     regexp.MustCompile(`(?m)(?:^|[\s=(,\[])(?:t|tr|rt)["']`),            // 3.14: template strings
	Rust:       regexp.MustCompile(`\bunsafe\s+extern\b|\bsafe\s+(?:fn|static)\b`),  // 2024: unsafe extern blocks
	TSX:        regexp.MustCompile(`<\s*in\s+out\s+\w`),
	TypeScript: regexp.MustCompile(`<\s*in\s+out\s+\w`), // 4.7: variance annotations
}

// unread tells whether after has syntax that the grammar cannot read and that before had not.
func unread(lang Language, before, after []byte) bool {
	pattern, ok := newer[lang]
	return ok && pattern.Match(after) && !pattern.Match(before)
}

// firstNew returns the first problem of now that then has not, told apart by the text of its line, since
// the lines below an edit move.
func firstNew(then, now []Problem, linesThen, linesNow []string) Problem {
	known := map[string]int{}
	for _, p := range then {
		known[lineAt(linesThen, p.Line)+"\x00"+p.Text]++
	}
	for _, p := range now {
		key := lineAt(linesNow, p.Line) + "\x00" + p.Text
		if known[key] == 0 {
			return p
		}
		known[key]--
	}
	return now[0]
}

func lines(src []byte) []string { return strings.Split(string(src), "\n") }

func lineAt(all []string, line int) string {
	if line < 1 || line > len(all) {
		return ""
	}
	return strings.TrimSpace(all[line-1])
}

func checkGo(src []byte) []Problem {
	_, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution|parser.AllErrors)
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return nil
	}
	problems := make([]Problem, 0, len(list))
	for _, e := range list[:min(len(list), maxProblems)] {
		problems = append(problems, Problem{Line: e.Pos.Line, Column: e.Pos.Column, Text: e.Msg})
	}
	return problems
}

func checkJSON(src []byte) []Problem {
	text := bytes.TrimPrefix(src, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	err := decoder.Decode(&value)
	offset := decoder.InputOffset()
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		offset = decoder.InputOffset()
		err = errors.New("text after the end of the value")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = syntax.Offset - 1
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = int64(len(text))
	}
	line, column := position(text, int(offset))
	return []Problem{{Line: line, Column: column, Text: err.Error()}}
}

// position turns a byte offset into line and column.
func position(text []byte, offset int) (line, column int) {
	offset = max(0, min(offset, len(text)))
	before := text[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}

// template matches the marks of template languages that turn a file into no YAML until they are filled in.
// GitHub's `${{ … }}` is plain YAML and no such mark.
var template = regexp.MustCompile(`(?:^|[^$])\{\{|\{%`)

var yamlLine = regexp.MustCompile(`line (\d+)(?:, column (\d+))?`)

func checkYAML(src []byte) []Problem {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			continue
		}
		if template.Match(src) {
			return nil
		}
		p := Problem{Line: 1, Column: 1, Text: err.Error()}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			// Sscan leaves a value as it is where the group is empty.
			_, _ = fmt.Sscan(m[1], &p.Line)
			_, _ = fmt.Sscan(m[2], &p.Column)
		}
		return []Problem{p}
	}
}

func checkTOML(src []byte) []Problem {
	var value map[string]any
	var fault *toml.DecodeError
	if err := toml.Unmarshal(src, &value); !errors.As(err, &fault) || template.Match(src) {
		return nil
	}
	line, column := fault.Position()
	return []Problem{{Line: max(line, 1), Column: max(column, 1), Text: fault.Error()}}
}

// checkXML reports the first place where src is not well-formed. What a document type of its own declares is not known here,
// and such a file is not judged.
func checkXML(src []byte) []Problem {
	if template.Match(src) || bytes.Contains(src, []byte("<!ENTITY")) || bytes.Contains(src, []byte("<!DOCTYPE")) {
		return nil
	}
	decoder := xml.NewDecoder(bytes.NewReader(src))
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil } // markup is ASCII in all of them
	for {
		_, err := decoder.Token()
		var fault *xml.SyntaxError
		switch {
		case err == nil:
		case errors.As(err, &fault):
			_, column := decoder.InputPos()
			return []Problem{{Line: max(fault.Line, 1), Column: max(column, 1), Text: fault.Msg}}
		default:
			return nil
		}
	}
}

func checkTree(lang Language, src []byte) []Problem {
	tree, err := parse(lang, src)
	if tree == nil || err != nil {
		return nil
	}
	defer tree.Close()
	root := tree.RootNode()
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if !root.HasError() {
		if lang == Python {
			return layoutProblems(root, src)
		}
		return nil
	}
	var problems []Problem
	walk(root, func(node *sitter.Node, _ int) bool {
		if len(problems) >= maxProblems {
			return false
		}
		at := node.StartPosition()
		switch {
		case node.IsMissing():
			problems = append(problems, Problem{Line: int(at.Row) + 1, Column: int(at.Column) + 1, Text: "missing " + node.Kind()})
			return false
		case node.IsError():
			at, text := offending(node, src)
			problems = append(problems, Problem{Line: int(at.Row) + 1, Column: int(at.Column) + 1, Text: "unexpected " + text})
		}
		return node.HasError()
	})
	if lang == C || lang == CPP {
		return unmasked(problems, src)
	}
	return problems
}

// snippet is how many bytes of the source a message quotes.
const snippet = 40

// offending narrows an ERROR node, which may span the whole file, to what stands in the parser's way: the first
// nested piece that is itself an error, else the node's beginning.
func offending(node *sitter.Node, src []byte) (sitter.Point, string) {
	start, end := node.StartByte(), node.EndByte()
	if start >= uint(len(src)) || start >= end {
		return node.StartPosition(), "end of file"
	}
	text := src[start:min(end, uint(len(src)), start+snippet)]
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return node.StartPosition(), fmt.Sprintf("%q", strings.ToValidUTF8(string(bytes.TrimSpace(text)), "?"))
}
