package edit_test

import (
	"strings"
	"testing"
)

// one is a scenario with one block on one file; without after the file must stay.
func one(path, content, search, replace, after, want string) scenario {
	s := scenario{before: files{path: content}, reply: block(path, search, replace), want: want}
	if !strings.HasPrefix(want, "error") {
		s.after = files{path: after}
	}
	return s
}

func TestExact(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"first line":                             one("a.txt", "a\nb\nc\n", "a\n", "x\n", "x\nb\nc\n", "edit a.txt exact 1"),
		"last line":                              one("a.txt", "a\nb\nc\n", "c\n", "x\n", "a\nb\nx\n", "edit a.txt exact 3"),
		"whole file":                             one("a.txt", "a\nb\n", "a\nb\n", "x\n", "x\n", "edit a.txt exact 1"),
		"longer":                                 one("a.txt", "a\nb\nc\n", "b\n", "x\ny\nz\n", "a\nx\ny\nz\nc\n", "edit a.txt exact 2"),
		"shorter":                                one("a.txt", "a\nb\nc\nd\n", "b\nc\n", "x\n", "a\nx\nd\n", "edit a.txt exact 2"),
		"removed":                                one("a.txt", "a\nb\nc\n", "b\n", "", "a\nc\n", "edit a.txt exact 2"),
		"all removed":                            one("a.txt", "a\n", "a\n", "", "", "edit a.txt exact 1"),
		"blank lines kept":                       one("a.txt", "a\n\n\nb\n", "a\n\n\nb\n", "a\n\nb\n\n", "a\n\nb\n\n", "edit a.txt exact 1"),
		"nothing changes":                        one("a.txt", "a\nb\n", "a\n", "a\n", "a\nb\n", "edit a.txt exact 1"),
		"part of a line":                         one("a.txt", "alpha beta\n", "alpha\n", "x\n", "", "error not-found 1 a.txt"),
		"end of a line":                          one("a.txt", "alpha beta\n", "beta\n", "x\n", "", "error not-found 1 a.txt"),
		"spans half lines":                       one("a.txt", "x alpha\nbeta y\n", "alpha\nbeta\n", "x\n", "", "error not-found 1 a.txt"),
		"no last newline in the file, last line": one("a.txt", "a\nb", "b\n", "x\n", "a\nx", "edit a.txt exact 2"),
		"no last newline in the file, first line": one("a.txt", "a\nb", "a\n", "x\n", "x\nb", "edit a.txt exact 1"),
		"no last newline in the file, longer":     one("a.txt", "a\nb", "b\n", "b\nc\n", "a\nb\nc", "edit a.txt exact 2"),
		"no last newline in the file, only line":  one("a.txt", "b", "b\n", "b\nc\n", "b\nc", "edit a.txt exact 1"),
		"no last newline, last line removed":      one("a.txt", "a\nb", "b\n", "", "a", "edit a.txt exact 2"),
		"byte order mark":                         one("a.txt", "\ufeffa\nb\n", "a\n", "x\n", "\ufeffx\nb\n", "edit a.txt exact 1"),
		"byte order mark, all removed":            one("a.txt", "\ufeffa\n", "a\n", "", "\ufeff", "edit a.txt exact 1"),
		"dollar signs and backslashes":            one("a.txt", "$1 \\1 %s\n", "$1 \\1 %s\n", "$2 \\2 %d &\n", "$2 \\2 %d &\n", "edit a.txt exact 1"),
		"letters beyond ascii":                    one("a.txt", "grün\nweiß\n", "weiß\n", "schwarz\n", "grün\nschwarz\n", "edit a.txt exact 2"),
		"bytes that are not utf-8 elsewhere":      one("a.txt", "gr\xfcn\nb\n", "b\n", "x\n", "gr\xfcn\nx\n", "edit a.txt exact 2"),
		"a lone carriage return is content":       one("a.txt", "a\rb\nc\n", "c\n", "x\n", "a\rb\nx\n", "edit a.txt exact 2"),
		"a line separator is content":             one("a.txt", "a\u2028b\nc\n", "c\n", "x\n", "a\u2028b\nx\n", "edit a.txt exact 2"),
		"twice":                                   one("a.txt", "a\nb\na\n", "a\n", "x\n", "", "error ambiguous 1 a.txt"),
		"twice, overlapping":                      one("a.txt", "a\na\na\n", "a\na\n", "x\n", "", "error ambiguous 1 a.txt"),
		"a third line tells them apart":           one("a.txt", "a\nb\na\nc\n", "a\nc\n", "x\n", "a\nb\nx\n", "edit a.txt exact 3"),
		"exact wins over trailing space":          one("a.txt", "a \nb\na\n", "a\n", "x\n", "a \nb\nx\n", "edit a.txt exact 3"),
		"exact wins over indentation":             one("a.txt", "\ta\nb\na\n", "a\n", "x\n", "\ta\nb\nx\n", "edit a.txt exact 3"),
		"empty file, empty SEARCH":                one("a.txt", "", "", "x\ny\n", "x\ny\n", "edit a.txt exact 1"),
		"empty file, SEARCH":                      one("a.txt", "", "a\n", "x\n", "", "error not-found 1 a.txt"),
		"file with content, empty SEARCH":         one("a.txt", "a\n", "", "x\n", "", "error conflict 1 a.txt"),
		"file with content, blank SEARCH":         one("a.txt", "a\n\nb\n", "\n", "x\n", "", "error conflict 1 a.txt"),
		"file of blank lines, SEARCH":             one("a.txt", "\n\n", "a\n", "x\n", "", "error not-found 1 a.txt"),
		"SEARCH longer than the file":             one("a.txt", "a\n", "a\nb\nc\n", "x\n", "", "error not-found 1 a.txt"),
		"other case":                              one("a.txt", "Alpha\n", "alpha\n", "x\n", "", "error not-found 1 a.txt"),
		"one letter differs":                      one("a.txt", "alpha\nbeta\ngamma\n", "alpha\nbeto\ngamma\n", "x\n", "", "error not-found 1 a.txt"),
		"a line is missing":                       one("a.txt", "alpha\nbeta\ngamma\n", "alpha\ngamma\n", "x\n", "", "error not-found 1 a.txt"),
		"other quotes":                            one("a.txt", "say(\"a\")\n", "say('a')\n", "x\n", "", "error not-found 1 a.txt"),
		"other normal form":                       one("a.txt", "caf\u00e9\n", "cafe\u0301\n", "x\n", "", "error not-found 1 a.txt"),
		"ellipsis for left-out lines":             one("a.txt", "alpha\nbeta\ngamma\n", "alpha\n...\ngamma\n", "x\n", "", "error not-found 1 a.txt"),
	})
}

func TestLineEnds(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"file with cr lf":                  one("a.txt", "a\r\nb\r\nc\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n", "edit a.txt whitespace 2"),
		"cr lf, last line":                 one("a.txt", "a\r\nb", "b\n", "x\ny\n", "a\r\nx\r\ny", "edit a.txt exact 2"),
		"cr lf, all of it":                 one("a.txt", "a\r\n", "a\n", "x\ny\n", "x\r\ny\r\n", "edit a.txt whitespace 1"),
		"mixed, line for line":             one("a.txt", "a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "a\nB\nc\nD\n", "a\r\nB\nc\r\nD\n", "edit a.txt whitespace 1"),
		"mixed, a line between":            one("a.txt", "a\r\nb\nc\r\n", "a\nb\nc\n", "a\nnew\nb\nc\n", "a\r\nnew\r\nb\nc\r\n", "edit a.txt whitespace 1"),
		"mixed, a line removed":            one("a.txt", "a\r\nb\nc\r\n", "a\nb\nc\n", "a\nc\n", "a\r\nc\r\n", "edit a.txt whitespace 1"),
		"mixed, outside untouched":         one("a.txt", "a\r\nb\nc\r\n", "b\n", "x\n", "a\r\nx\nc\r\n", "edit a.txt exact 2"),
		"line ends tell no lines apart":    one("a.txt", "a\r\nb\na\n", "a\n", "x\n", "", "error ambiguous 1 a.txt"),
		"reply with cr lf, file with lf":   {files{"a.txt": "a\nb\n"}, strings.ReplaceAll(block("a.txt", "b\n", "x\ny\n"), "\n", "\r\n"), files{"a.txt": "a\nx\ny\n"}, "edit a.txt whitespace 2", ""},
		"both with cr lf":                  {files{"a.txt": "a\r\nb\r\n"}, strings.ReplaceAll(block("a.txt", "b\n", "x\ny\n"), "\n", "\r\n"), files{"a.txt": "a\r\nx\r\ny\r\n"}, "edit a.txt exact 2", ""},
		"new file from a reply with cr lf": {files{"a.txt": ""}, strings.ReplaceAll(block("n.txt", "", "x\ny\n"), "\n", "\r\n"), files{"a.txt": "", "n.txt": "x\ny\n"}, "create n.txt exact 1", ""},
	})
}

func TestWhitespace(t *testing.T) {
	const java = "class A {\n    void f() {\n        if (x) {\n            g();\n        }\n    }\n}\n"
	const tabbed = "package a\n\nfunc f() {\n\tif x {\n\t\tg()\n\t}\n}\n"
	const py = "class A:\n    def f(self):\n        if x:\n            g()\n        return 1\n"
	runScenarios(t, map[string]scenario{
		"trailing space in the file":                   one("a.txt", "a  \nb\n", "a\n", "x\n", "x\nb\n", "edit a.txt whitespace 1"),
		"trailing space in SEARCH":                     one("a.txt", "a\nb\n", "a \t\n", "x\n", "x\nb\n", "edit a.txt whitespace 1"),
		"trailing space in REPLACE":                    one("a.md", "a\nb\n", "a\n", "x  \n", "x  \nb\n", "edit a.md exact 1"),
		"trailing space on a blank line":               one("a.txt", "a\n\t\nb\n", "a\n\nb\n", "x\n", "x\n", "edit a.txt whitespace 1"),
		"trailing space, two places":                   one("a.txt", "a \nb\na\t\n", "a\n", "x\n", "", "error ambiguous 1 a.txt"),
		"dedented SEARCH":                              one("A.java", java, "if (x) {\n    g();\n}\n", "if (y) {\n    h();\n}\n", strings.NewReplacer("(x)", "(y)", "g()", "h()").Replace(java), "edit A.java whitespace 3"),
		"indented SEARCH":                              one("a.txt", "a\n  b\nc\n", "    a\n      b\n", "    x\n      y\n\n    z\n", "x\n  y\n\nz\nc\n", "edit a.txt whitespace 1"),
		"dedented by tabs":                             one("a.go", tabbed, "if x {\n\tg()\n}\n", "if y {\n\tg()\n\th()\n}\n", "package a\n\nfunc f() {\n\tif y {\n\t\tg()\n\t\th()\n\t}\n}\n", "edit a.go whitespace 4"),
		"four spaces for a tab":                        one("a.go", tabbed, "    if x {\n        g()\n    }\n", "    if y {\n        g()\n        h()\n    }\n", "package a\n\nfunc f() {\n\tif y {\n\t\tg()\n\t\th()\n\t}\n}\n", "edit a.go whitespace 4"),
		"two spaces for a tab":                         one("a.go", tabbed, "  if x {\n    g()\n  }\n", "  if y {\n    g()\n  }\n", strings.Replace(tabbed, "if x", "if y", 1), "edit a.go whitespace 4"),
		"dedented and spaces for tabs":                 one("a.go", tabbed, "if x {\n    g()\n}\n", "if y {\n    g()\n}\n", strings.Replace(tabbed, "if x", "if y", 1), "edit a.go whitespace 4"),
		"a tab for four spaces":                        one("A.java", java, "\t\tif (x) {\n\t\t\tg();\n", "\t\tif (y) {\n\t\t\th();\n", strings.NewReplacer("(x)", "(y)", "g()", "h()").Replace(java), "edit A.java whitespace 3"),
		"tab of a makefile":                            one("Makefile", "all:\n\tgo build\n", "all:\n    go build\n", "all:\n    go build ./...\n", "all:\n\tgo build ./...\n", "edit Makefile whitespace 1"),
		"spaces that make no tab":                      one("Makefile", "all:\n\tgo build\n", "all:\n    go build\n", "all:\n   go vet\n", "", "error not-found 1 Makefile"),
		"python dedented":                              one("a.py", py, "if x:\n    g()\n", "if x:\n    g()\n    h()\n", "class A:\n    def f(self):\n        if x:\n            g()\n            h()\n        return 1\n", "edit a.py whitespace 3"),
		"python, not uniform":                          one("a.py", py, "if x:\n  g()\nreturn 1\n", "if x:\n  h()\nreturn 1\n", "", "error not-found 1 a.py"),
		"python, first line alone without indentation": one("a.py", py, "if x:\n            g()\n        return 1\n", "if y:\n            g()\n        return 1\n", "", "error not-found 1 a.py"),
		"REPLACE goes out of the shift":                one("a.txt", "a\n", "    a\n", "  x\n", "", "error not-found 1 a.txt"),
		"indentation, two places":                      one("a.txt", "\ta\n\t\ta\n", "a\n", "x\n", "", "error ambiguous 1 a.txt"),
		"shift and trailing space":                     one("a.txt", "\ta \n\tb\n", "a\nb\t\n", "x\n", "\tx\n", "edit a.txt whitespace 1"),
		"blank lines carry no shift":                   one("a.txt", "\ta\n\n\tb\n", "a\n\nb\n", "x\n\ny\n", "\tx\n\n\ty\n", "edit a.txt whitespace 1"),
		"python text in quotes":                        one("a.py", "def f():\n    return \"\"\"\nmargin\n\"\"\"\n", "    return \"\"\"\n    margin\n    \"\"\"\n", "    return \"\"\"\n    m\n    \"\"\"\n", "", "error not-found 1 a.py"),
		"space within a line":                          one("a.txt", "a = 1\n", "a  =  1\n", "x\n", "", "error not-found 1 a.txt"),
	})
}

func TestLineNumbers(t *testing.T) {
	const src = "one\n  two\nthree\n\nfive\n"
	runScenarios(t, map[string]scenario{
		"colon":                   one("a.txt", src, "2:   two\n3: three\n", "2:   2\n3: 3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"bar":                     one("a.txt", src, " 2 |   two\n 3 | three\n", " 2 |   2\n 3 | 3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"tab":                     one("a.txt", src, "2\t  two\n3\tthree\n", "2\t  2\n3\t3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"arrow":                   one("a.txt", src, "  2→  two\n  3→three\n", "  2→  2\n  3→3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"bar without space":       one("a.txt", src, "2|  two\n3|three\n", "2|  2\n3|3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"colon without space":     one("a.txt", src, "2:  two\n3:three\n", "2:  2\n3:3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"blank line":              one("a.txt", src, "3: three\n4:\n5: five\n", "3: 3\n4:\n5: 5\n", "one\n  two\n3\n\n5\n", "edit a.txt whitespace 3"),
		"REPLACE without":         one("a.txt", src, "2:   two\n3: three\n", "  2\n3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"REPLACE with more lines": one("a.txt", src, "2:   two\n", "2:   two\n3:   half\n", "one\n  two\n  half\nthree\n\nfive\n", "edit a.txt whitespace 2"),
		"REPLACE with some":       one("a.txt", src, "2:   two\n3: three\n", "2:   two\nhalf\n3: three\n", "", "error not-found 1 a.txt"),
		"SEARCH with some":        one("a.txt", src, "2:   two\nthree\n", "x\n", "", "error not-found 1 a.txt"),
		"numbers that jump":       one("a.txt", src, "2:   two\n7: three\n", "x\n", "", "error not-found 1 a.txt"),
		"numbers from elsewhere":  one("a.txt", src, "12 |   two\n13 | three\n", "12 |   2\n13 | 3\n", "one\n  2\n3\n\nfive\n", "edit a.txt whitespace 2"),
		"one line, wrong number":  one("a.txt", "http\nhttps\n", "80: http\n", "8080: http\n", "", "error not-found 1 a.txt"),
		"two places":              one("a.txt", "a\nb\na\nb\n", "1: a\n2: b\n", "1: x\n2: y\n", "", "error ambiguous 1 a.txt"),
		"numbers of the file":     one("a.yaml", "80: http\n443: https\n", "80: http\n", "81: http\n", "81: http\n443: https\n", "edit a.yaml exact 1"),
	})
}

func TestAnchored(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"space within lines":         one("a.js", "f(\n  a,  b,\n  c\n);\n", "f(\n  a, b,\n  c\n);\n", "f(\n  a\n);\n", "f(\n  a\n);\n", "edit a.js anchored 1"),
		"a blank line too many":      one("a.txt", "alpha\nbeta\ngamma\n", "alpha\n\nbeta\ngamma\n", "x\n", "x\n", "edit a.txt anchored 1"),
		"a blank line missing":       one("a.txt", "alpha\n\nbeta\ngamma\n", "alpha\nbeta\ngamma\n", "x\n", "x\n", "edit a.txt anchored 1"),
		"a line broken":              one("a.js", "start();\nf(a,\n  b);\nend();\n", "start();\nf(a, b);\nend();\n", "start();\nf(c);\nend();\n", "start();\nf(c);\nend();\n", "edit a.js anchored 1"),
		"blank lines around":         one("a.txt", "alpha\nbeta\n", "\nbeta\n\n", "\nx\n\n", "alpha\nx\n", "edit a.txt anchored 2"),
		"uneven indentation, braces": one("a.js", "if (a) {\n    b();\n      c();\n}\n", "if (a) {\n  b();\n  c();\n}\n", "if (a) {\n  d();\n}\n", "if (a) {\n  d();\n}\n", "edit a.js anchored 1"),
		"uneven indentation, yaml":   one("a.yaml", "a:\n    b:\n      c: 1\n    d: 2\n", "a:\n  b:\n   c: 1\n  d: 2\n", "a:\n  b: 1\n", "", "error not-found 1 a.yaml"),
		"shifted as a whole":         one("a.js", "if (x) {\n  f(\n    a,  b\n  );\n}\n", "f(\n  a, b\n);\n", "g(\n  a\n);\n", "if (x) {\n  g(\n    a\n  );\n}\n", "edit a.js anchored 2"),
		"two places":                 one("a.txt", "a\nb  c\nd\n\na\nb   c\nd\n", "a\nb c\nd\n", "x\n", "", "error ambiguous 1 a.txt"),
		"a middle word differs":      one("a.txt", "a\nb  c\nd\n", "a\nb x\nd\n", "x\n", "", "error not-found 1 a.txt"),
		"a middle line more":         one("a.txt", "a\nb\nc\nd\n", "a\nb\nd\n", "x\n", "", "error not-found 1 a.txt"),
		"first line differs":         one("a.txt", "a  a\nb  b\nc\n", "a a\nb b\nc\n", "x\n", "", "error not-found 1 a.txt"),
		"last line differs":          one("a.txt", "a\nb  b\nc  c\n", "a\nb b\nc c\n", "x\n", "", "error not-found 1 a.txt"),
	})
}

func TestErrorsTellWhatIsNear(t *testing.T) {
	const src = "package a\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n\nfunc Sub(a, b int) int {\n\treturn a - b\n}\n"
	runScenarios(t, map[string]scenario{
		"a line that differs": {files{"a.go": src}, block("a.go", "func Add(a, b int) int {\n\treturn a + c\n}\n", "x\n"), nil,
			"error not-found 1 a.go", "line 2 of SEARCH differs from line 4 of the file: the file has \"\\treturn a + b\", SEARCH has \"\\treturn a + c\""},
		"one line alone":  {files{"a.go": src}, block("a.go", "\treturn a  -  b;\n", "x\n"), nil, "error not-found 1 a.go", "line 8"},
		"nothing like it": {files{"a.go": src}, block("a.go", "zzz qqq\n", "x\n"), nil, "error not-found 1 a.go", "nor anything like it"},
		"already applied": {files{"a.go": src}, block("a.go", "\treturn a * b\n", "\treturn a - b\n"), nil, "error not-found 1 a.go", "already applied"},
		"two places":      {files{"a.txt": "a\nb\na\n"}, block("a.txt", "a\n", "x\n"), nil, "error ambiguous 1 a.txt", "2 places, at lines 1, 3"},
		"file elsewhere":  {files{"src/a.go": src}, block("a.go", "x\n", "y\n"), nil, "error not-found 1 a.go", "src/a.go"},
		"every block is told": {files{"a.txt": "a\nb\na\n"}, block("a.txt", "a\n", "x\n") + block("b.txt", "a\n", "x\n") + block("a.txt", "b\n", "c\n") + block("a.txt", "zz\n", "x\n"), nil,
			"error ambiguous 1 a.txt; error not-found 2 b.txt; error not-found 4 a.txt", ""},
	})
	dir := plant(t, files{"a.txt": "a\nb\na\n", "a.go": src})
	near := apply(t, dir, block("a.txt", "a\n", "x\n"), options{}).Errors[0].Nearest
	if len(near) != 2 || near[0].Line != 1 || near[1].Line != 3 || near[1].Text != "a" {
		t.Errorf("the places are told as %v", near)
	}
	near = apply(t, dir, block("a.go", "func Add(a, b int) int {\n\treturn a + c\n}\n", "x\n"), options{}).Errors[0].Nearest
	if len(near) != 3 || near[1].Line != 4 || near[1].Text != "\treturn a + b" {
		t.Errorf("the nearest lines are told as %v", near)
	}
}

func TestSerial(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"the second block builds on the first":       {files{"a.txt": "a\nb\n"}, block("a.txt", "a\n", "x\n") + block("a.txt", "x\nb\n", "y\n"), files{"a.txt": "y\n"}, "edit a.txt exact 1; edit a.txt exact 1", ""},
		"the first takes away what the second wants": {files{"a.txt": "a\nb\n"}, block("a.txt", "a\nb\n", "x\n") + block("a.txt", "b\n", "y\n"), nil, "error not-found 2 a.txt", ""},
		"the first makes the second ambiguous":       {files{"a.txt": "a\nb\n"}, block("a.txt", "a\n", "b\n") + block("a.txt", "b\n", "y\n"), nil, "error ambiguous 2 a.txt", ""},
		"the first makes the second unique":          {files{"a.txt": "a\na\n"}, block("a.txt", "a\na\n", "a\nb\n") + block("a.txt", "a\n", "y\n"), files{"a.txt": "y\nb\n"}, "edit a.txt exact 1; edit a.txt exact 1", ""},
		"the same block twice":                       {files{"a.txt": "a\n"}, block("a.txt", "a\n", "b\n") + block("a.txt", "a\n", "b\n"), nil, "error not-found 2 a.txt", "already applied"},
		"two spellings of a path":                    {files{"d/a.txt": "a\nb\n"}, block("d/a.txt", "a\n", "x\n") + block("./d//a.txt", "b\n", "y\n"), files{"d/a.txt": "x\ny\n"}, "edit d/a.txt exact 1; edit d/a.txt exact 2", ""},
		"create, then edit":                          {files{"a.txt": ""}, block("n.txt", "", "a\nb\n") + block("n.txt", "b\n", "c\n"), files{"a.txt": "", "n.txt": "a\nc\n"}, "create n.txt exact 1; edit n.txt exact 2", ""},
		"create twice":                               {files{"a.txt": ""}, block("n.txt", "", "a\n") + block("n.txt", "", "b\n"), nil, "error conflict 2 n.txt", ""},
		"one bad block stops all":                    {files{"a.txt": "a\n", "b.txt": "b\n"}, block("a.txt", "a\n", "x\n") + block("b.txt", "z\n", "y\n") + block("n.txt", "", "n\n"), nil, "error not-found 2 b.txt", ""},
	})
}
