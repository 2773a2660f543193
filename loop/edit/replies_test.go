package edit_test

import (
	"strings"
	"testing"
)

func TestElisions(t *testing.T) {
	const source = "package a\n\nfunc A() {\n\tone()\n\ttwo()\n\tthree()\n}\n"
	scenarios := map[string]scenario{
		"of a new file": {reply: block("n.js", "", "// ... existing code ...\nf();\n"), want: "error malformed 1 n.js", says: "existing code"},
		"bare dots in Python": {before: files{"a.py": "def f():\n    a()\n    b()\n    c()\n"},
			reply: block("a.py", "    a()\n    b()\n    c()\n", "    a()\n    ...\n    c()\n"), want: "error malformed 1 a.py"},
		"HTML": {before: files{"a.html": "<p>a</p>\n<p>b</p>\n"},
			reply: block("a.html", "<p>a</p>\n<p>b</p>\n", "<p>c</p>\n<!-- ... rest of the file ... -->\n"), want: "error malformed 1 a.html"},
		"a body of dots in Python": {before: files{"a.pyi": "def f() -> int: ...\n"},
			reply: block("a.pyi", "def f() -> int: ...\n", "def f() -> str:\n    ...\n"), after: files{"a.pyi": "def f() -> str:\n    ...\n"}, want: "edit a.pyi exact 1"},
		"the file's own": {before: files{"a.js": "// ... existing code ...\nf();\n"},
			reply: block("a.js", "// ... existing code ...\nf();\n", "// ... existing code ...\ng();\n"),
			after: files{"a.js": "// ... existing code ...\ng();\n"}, want: "edit a.js exact 1"},
		"a sample in Markdown": {before: files{"a.md": "x\n"}, reply: block("a.md", "x\n", "```js\n// ...\n```\n* the rest is here\n"),
			after: files{"a.md": "```js\n// ...\n```\n* the rest is here\n"}, want: "edit a.md exact 1"},
		"words of a list": {before: files{"a.yml": "a:\n  - x\n"}, reply: block("a.yml", "  - x\n", "  - unchanged\n"),
			after: files{"a.yml": "a:\n  - unchanged\n"}, want: "edit a.yml exact 2"},
	}
	for _, c := range []string{"// ... existing code ...", "// ...", "// rest of the function unchanged", "/* ... rest of the code ... */", "// (unchanged)",
		"// ... other methods remain the same ...", "// existing code here", "// … keep the existing implementation"} {
		scenarios["comment: "+strings.ReplaceAll(c, "/", "|")] = scenario{before: files{"a.go": source},
			reply: block("a.go", "\tone()\n\ttwo()\n\tthree()\n", "\tone()\n\t"+c+"\n"), want: "error malformed 1 a.go", says: "left out"}
	}
	for _, c := range []string{"// The rest of the arguments are passed on to the child process as they are", "// keep existing entries",
		"// ...and so on for the others", "// TODO: handle unchanged files", "// Returns the remaining time in the original method"} {
		scenarios["no elision: "+strings.ReplaceAll(c, "/", "|")] = scenario{before: files{"a.go": source}, reply: block("a.go", "\ttwo()\n", "\t"+c+"\n"),
			after: files{"a.go": strings.Replace(source, "two()", c, 1)}, want: "edit a.go exact 5"}
	}
	runScenarios(t, scenarios)
}

func TestIndentationOfTheFile(t *testing.T) {
	nested := "package a\n\nfunc f() {\n\tif x {\n\t\ty()\n\t}\n}\n"
	runScenarios(t, map[string]scenario{
		"one line, the level told by REPLACE": one("a.go", nested, "    y()\n", "    if z {\n        y()\n    }\n",
			strings.Replace(nested, "\t\ty()\n", "\t\tif z {\n\t\t\ty()\n\t\t}\n", 1), "edit a.go whitespace 5"),
		"one line, the level told by the file": one("a.js", "a(() => {\n    b(() => {\n        y()\n    })\n})\n", "\ty()\n", "\tif (z) {\n\t\ty()\n\t}\n",
			"a(() => {\n    b(() => {\n        if (z) {\n            y()\n        }\n    })\n})\n", "edit a.js whitespace 3"),
		"levels of other width": one("a.js", "function b() {\n  if (x) {\n    y();\n  }\n}\n", "function b() {\n    if (x) {\n        y();\n    }\n}\n",
			"function b() {\n    if (x) {\n        z();\n    }\n}\n", "function b() {\n  if (x) {\n    z();\n  }\n}\n", "edit a.js anchored 1"),
		"first line without its own": one("a.js", "class A {\n  f() {\n    return 1;\n  }\n}\n", "f() {\n    return 1;\n  }\n", "f() {\n    return 2;\n  }\n",
			"class A {\n  f() {\n    return 2;\n  }\n}\n", "edit a.js anchored 2"),
	})
}

func TestMoreLineEndsAndMarks(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"mixed, a longer REPLACE": one("a.txt", "a\r\nb\nc\r\nd\n", "b\nc\n", "b\nC\nE\n", "a\r\nb\nC\r\nE\r\nd\n", "edit a.txt whitespace 2"),
		"CR alone":                one("a.txt", "a\rb\rc", "b\n", "x\ny\n", "a\rx\ry\rc", "edit a.txt exact 2"),
		"byte order mark copied into the block": one("a.cs", "\ufeffusing A;\nclass B { }\n", "\ufeffusing A;\n", "\ufeffusing A;\nusing C;\n",
			"\ufeffusing A;\nusing C;\nclass B { }\n", "edit a.cs exact 1"),
		"byte order mark made up": one("a.cs", "using A;\n", "\ufeffusing A;\n", "\ufeffusing D;\n", "using D;\n", "edit a.cs exact 1"),
	})
}

func TestDividerThatTheFileGoesOnWith(t *testing.T) {
	runScenarios(t, map[string]scenario{
		// Cut at the first divider, SEARCH is the title alone, and everything below it would land in the file.
		"SEARCH copied wrongly": {before: files{"r.md": "Title\n=======\n\nold text\n"},
			reply: block("r.md", "Title\n=======\n\nold txt\n", "Title\n=======\n\nnew\n"), want: "error malformed 1 r.md"},
		"a heading in REPLACE": {before: files{"r.md": "a\n\ntext\n"}, reply: block("r.md", "text\n", "Other\n=======\nmore\n"),
			after: files{"r.md": "a\n\nOther\n=======\nmore\n"}, want: "edit r.md exact 3"},
	})
}

func TestFileMakesRoomForFolder(t *testing.T) {
	runScenarios(t, map[string]scenario{
		"deleted": {before: files{"a.txt": "x\n"}, reply: "a.txt (delete)\n" + block("a.txt/b.txt", "", "y\n") + block("a.txt/c/b.txt", "", "z\n"),
			after: files{"a.txt/b.txt": "y\n", "a.txt/c/b.txt": "z\n"}, want: "delete a.txt exact 1; create a.txt/b.txt exact 1; create a.txt/c/b.txt exact 1"},
		"renamed": {before: files{"a.txt": "x\n"}, reply: "a.txt -> t.txt\n" + block("a.txt/b.txt", "", "y\n"),
			after: files{"t.txt": "x\n", "a.txt/b.txt": "y\n"}, want: "rename a.txt exact 1; create a.txt/b.txt exact 1"},
		"still there": {before: files{"a.txt": "x\n"}, reply: block("a.txt/b.txt", "", "y\n"), want: "error conflict 1 a.txt/b.txt"},
	})
}

func TestLookalikesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ file, search, says string }{
		"no-break space":    {"a\u00a0b\n", "a b\n", "U+00A0"},
		"curly quote":       {"it’s\n", "it's\n", "U+2019"},
		"other normal form": {"cafe\u0301\n", "caf\u00e9\n", "U+00E9"},
		"Cyrillic":          {"scope = 1\n", "s\u0441ope = 1\n", "U+0441"},
		"invisible":         {"x = 1\n", "x\u200b = 1\n", "U+200B"},
	} {
		t.Run(name, func(t *testing.T) {
			s := one("a.txt", c.file, c.search, "z\n", "", "error not-found 1 a.txt")
			s.says = c.says
			runScenarios(t, map[string]scenario{"": s})
		})
	}
}
