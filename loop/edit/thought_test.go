package edit_test

import (
	"strings"
	"testing"
)

// What a model considers before it answers is no edit, however it looks.
func TestThoughts(t *testing.T) {
	wrong, right := block("a.txt", "one\n", "WRONG\n"), block("a.txt", "one\n", "right\n")
	before, after := files{"a.txt": "one\ntwo\n", "b.txt": "one\n"}, files{"a.txt": "right\ntwo\n", "b.txt": "one\n"}
	edited := func(reply string) scenario {
		return scenario{before: before, reply: reply, after: after, want: "edit a.txt exact 1"}
	}
	refused := func(reply string) scenario {
		return scenario{before: before, reply: reply, want: "error malformed 1 "}
	}
	runScenarios(t, map[string]scenario{
		"a block":                           edited("<think>\nperhaps\n" + wrong + "no.\n</think>\n\n" + right),
		"a block, other tag":                edited("\n<thinking>\n" + wrong + "</thinking>\n" + right),
		"upper case":                        edited("<THINK>\n" + wrong + "</THINK>\n" + right),
		"half a block":                      edited("<think>\na.txt\n<<<<<<< SEARCH\none\n</think>\n" + right),
		"a deletion":                        edited("<think>\nb.txt (delete)\n</think>\n" + right),
		"a renaming":                        edited("<think>\nb.txt -> c.txt\n</think>\n" + right),
		"a path":                            edited("<think>\nb.txt\n</think>\na.txt\n\n" + strings.TrimPrefix(right, "a.txt\n")),
		"opening tag lost":                  edited("perhaps\n" + wrong + "no.\n</think>\n" + right),
		"opening tag lost, sentence before": edited("perhaps\n" + wrong + "that is it.</think>\n\n" + right),
		"text on the closing tag's line":    edited("<think>" + "hm</think>a.txt\n" + strings.TrimPrefix(right, "a.txt\n")),
		"letters that grow in lower case":   edited("<think>\nİİİİ</think>\n" + right),
		"between two blocks": {before: before, reply: right + "<think>\n" + block("b.txt", "one\n", "WRONG\n") + "</think>\n" + block("a.txt", "two\n", "2\n"),
			after: files{"a.txt": "right\n2\n", "b.txt": "one\n"}, want: "edit a.txt exact 1; edit a.txt exact 2"},
		"a sentence about the tag": {before: before, reply: right + "\nThe parser stops at `</think>`\n", after: after, want: "edit a.txt exact 1"},
		"in a block's content": {before: files{"a.txt": "one\n"}, reply: block("a.txt", "one\n", "<think>\none\n</think>\n"),
			after: files{"a.txt": "<think>\none\n</think>\n"}, want: "edit a.txt exact 1"},
		"never closed": refused("<think>\n" + wrong),
		"nothing else": refused("<think>\n" + wrong + "</think>\n"),
	})
}

// A list of files is no path of a block where the block could mean more than one of them.
func TestListedFiles(t *testing.T) {
	bare := strings.TrimPrefix(block("a.txt", "one\n", "1\n"), "a.txt\n")
	both := files{"a.txt": "one\n", "b.txt": "one\n"}
	runScenarios(t, map[string]scenario{
		"both have it":             {before: both, reply: "FILES:\na.txt\nb.txt\n\n" + bare, want: "error ambiguous 1 b.txt"},
		"both have it, no heading": {before: both, reply: "a.txt\nb.txt\n" + bare, want: "error ambiguous 1 b.txt"},
		"two new files":            {before: both, reply: "c.txt\nd.txt\n" + strings.TrimPrefix(block("x", "", "1\n"), "x\n"), want: "error ambiguous 1 d.txt"},
		"one has it": {before: files{"a.txt": "x\n", "b.txt": "one\n"}, reply: "FILES:\na.txt\nb.txt\n\n" + bare,
			after: files{"a.txt": "x\n", "b.txt": "1\n"}, want: "edit b.txt exact 1"},
		"then its own path": {before: both, reply: "FILES:\na.txt\nb.txt\n\nThe digit:\n\na.txt\n" + bare,
			after: files{"a.txt": "1\n", "b.txt": "one\n"}, want: "edit a.txt exact 1"},
	})
}

// A line that SEARCH and REPLACE share was not meant to change, not even its trailing space.
func TestContextStays(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"trailing space":          one("a.md", "a  \nb  \nc  \n", "a\nb\nc\n", "a\nx\nc\n", "a  \nx\nc  \n", "edit a.md whitespace 1"),
		"between two changes":     one("a.md", "a \nb \nc \n", "a\nb\nc\n", "x\nb\ny\n", "x\nb \ny\n", "edit a.md whitespace 1"),
		"lines added":             one("a.md", "a \nb \n", "a\nb\n", "a\nx\ny\nb\n", "a \nx\ny\nb \n", "edit a.md whitespace 1"),
		"shifted":                 one("a.js", "f(function () {\n    a(); \n    b(); \n});\n", "a();\nb();\n", "a();\nc();\n", "f(function () {\n    a(); \n    c();\n});\n", "edit a.js whitespace 2"),
		"space taken off on will": one("a.md", "a \nb\n", "a \nb\n", "a\nb\n", "a\nb\n", "edit a.md exact 1"),
		"numbered":                one("a.md", "a\nb \nc\n", "2: b\n3: c\n", "2: b\n3: x\n", "a\nb \nx\n", "edit a.md whitespace 2"),
	})
}

// White space that keeps words apart is content.
func TestWordsStayApart(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"words joined":       one("a.c", "f() {\n  int x;\n  g();\n}\n", "f() {\n  intx;\n  g();\n}\n", "f() {\n}\n", "", "error not-found 1 a.c"),
		"words torn":         one("a.c", "f() {\n  elseif();\n  g();\n}\n", "f() {\n  else if();\n  g();\n}\n", "f() {\n}\n", "", "error not-found 1 a.c"),
		"numbers torn":       one("a.c", "f(\n  10,\n  g\n)\n", "f(\n  1 0,\n  g\n)\n", "f(\n)\n", "", "error not-found 1 a.c"),
		"space at operators": one("a.c", "f(\n  a+b,\n  g\n)\n", "f(\n  a + b,\n  g\n)\n", "f(\n  c\n)\n", "f(\n  c\n)\n", "edit a.c anchored 1"),
		"lines joined":       one("a.c", "f(\n  a,\n  b,\n  g\n)\n", "f(\n  a, b,\n  g\n)\n", "f(\n  c\n)\n", "f(\n  c\n)\n", "edit a.c anchored 1"),
	})
}
