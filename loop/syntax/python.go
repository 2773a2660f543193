package syntax

import (
	"fmt"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// layoutProblems finds the faults of indentation that Python refuses and its tree-sitter grammar lets pass: a block without a
// body, and statements of one block that do not begin in the same column.
func layoutProblems(root *sitter.Node, src []byte) []Problem {
	all := strings.Split(string(src), "\n")
	var problems []Problem
	add := func(node *sitter.Node, text string) {
		if len(problems) < maxProblems {
			at := node.StartPosition()
			problems = append(problems, Problem{Line: int(at.Row) + 1, Column: int(at.Column) + 1, Text: text})
		}
	}
	walk(root, func(node *sitter.Node, _ int) bool {
		switch node.Kind() {
		case "module", "block":
			checkBlock(node, all, add)
		case "function_definition", "class_definition", "if_statement", "elif_clause", "else_clause", "for_statement", "while_statement",
			"try_statement", "except_clause", "finally_clause", "with_statement":
			if bodyless(node) {
				add(node, "expected an indented block after this line")
			}
		}
		// Nothing below an expression holds statements.
		return !strings.HasSuffix(node.Kind(), "expression") && node.Kind() != "string" && node.Kind() != "argument_list"
	})
	return problems
}

// bodyless tells whether a compound statement has no statement in its body.
func bodyless(node *sitter.Node) bool {
	for i := range node.NamedChildCount() {
		child := node.NamedChild(i)
		if child.Kind() == "block" {
			return statements(child) == 0
		}
	}
	return false
}

// statements counts the statements directly in a block.
func statements(block *sitter.Node) int {
	count := 0
	for i := range block.NamedChildCount() {
		if block.NamedChild(i).Kind() != "comment" {
			count++
		}
	}
	return count
}

// checkBlock compares the indentation of the statements of one block that begin a line. The module's is none.
func checkBlock(block *sitter.Node, all []string, add func(*sitter.Node, string)) {
	want, known := "", block.Kind() == "module"
	for i := range block.NamedChildCount() {
		child := block.NamedChild(i)
		if child.Kind() == "comment" || child.IsExtra() || child.IsError() || child.IsMissing() {
			continue
		}
		at := child.StartPosition()
		if int(at.Row) >= len(all) || int(at.Column) > len(all[at.Row]) {
			continue
		}
		indent := all[at.Row][:at.Column]
		// A form feed starts the line's count anew.
		indent = indent[strings.LastIndexByte(indent, '\f')+1:]
		if strings.Trim(indent, " \t") != "" {
			continue // not the first on its line
		}
		switch {
		case !known:
			want, known = indent, true
		case indent == want:
		case len(indent) > len(want):
			add(child, "unexpected indent")
		default:
			add(child, fmt.Sprintf("this line is indented by %d, the block that it belongs to by %d", len(indent), len(want)))
		}
	}
}
