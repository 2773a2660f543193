package syntax_test

import (
	"testing"

	"github.com/seed-7a986423/autocode/loop/syntax"
)

// Edits of C and C++ files: macros must not make a good edit look broken, nor hide a broken one.
func TestWorseC(t *testing.T) {
	const clean = "int f(int a)\n{\n\treturn a;\n}\n"
	const soup = "WIDGET_BEGIN(x)\nEXPORT void g(void)\nFOO BAR baz {\n}\nint f(int a)\n{\n\treturn a;\n}\n"
	cases := map[string]struct {
		lang          syntax.Language
		before, after string
		worse         bool
	}{
		"fine":                      {syntax.C, clean, "int f(int a)\n{\n\treturn a + 1;\n}\n", false},
		"semicolon left out":        {syntax.C, clean, "int f(int a)\n{\n\tint b = a\n\treturn b;\n}\n", true},
		"bracket left out":          {syntax.C, clean, "int f(int a)\n{\n\treturn (a;\n}\n", true},
		"brace left out":            {syntax.C, clean, "int f(int a)\n{\n\treturn a;\n", true},
		"brace too many":            {syntax.C, clean, clean + "}\n", true},
		"operator without operand":  {syntax.C, clean, "int f(int a)\n{\n\treturn a + ;\n}\n", true},
		"loop macro":                {syntax.C, clean, "int f(int a)\n{\n\tlist_for_each(p, head) {\n\t\tg(p);\n\t}\n\treturn a;\n}\n", false},
		"macro without semicolon":   {syntax.C, clean, clean + "MODULE_LICENSE(\"GPL\")\n", false},
		"attribute macro":           {syntax.C, clean, "static int __init f(int a)\n{\n\treturn a;\n}\n", false},
		"export macro":              {syntax.CPP, "class A {\n};\n", "class MYLIB_EXPORT A {\n};\n", false},
		"branches that both open":   {syntax.C, clean, "#ifdef A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n\treturn a;\n}\n", false},
		"brackets in literals":      {syntax.C, clean, "int f(int a)\n{\n\treturn a + '{' + \"((\"[0]; /* { */ // {\n}\n", false},
		"digit separators":          {syntax.CPP, "int a = 1;\n", "int a = 1'000'000;\nint b = f('(');\n", false},
		"raw string":                {syntax.CPP, "int a = 1;\n", "auto a = R\"x({ )\" )x\";\n", false},
		"macro soup, fine":          {syntax.C, soup, soup + "EXPORT int h(void)\nFOO BAR;\n", false},
		"macro soup, brace missing": {syntax.C, soup, soup[:len(soup)-2], true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if worse, p := syntax.Worse(c.lang, []byte(c.before), []byte(c.after)); worse != c.worse {
				t.Errorf("worse=%v %+v, want %v", worse, p, c.worse)
			}
		})
	}
	for name, c := range map[string]struct {
		src   string
		worse bool
	}{
		"macros":            {"QT_BEGIN_NAMESPACE\nclass Q_CORE_EXPORT A : public B {\n  Q_OBJECT\npublic slots:\n  void f();\n};\nQT_END_NAMESPACE\n", false},
		"brace missing":     {"class A {\n  void f();\n", true},
		"semicolon missing": {"int f() {\n  int a = 1\n  return a;\n}\n", true},
	} {
		t.Run("new file, "+name, func(t *testing.T) {
			if worse, p := syntax.Worse(syntax.CPP, nil, []byte(c.src)); worse != c.worse {
				t.Errorf("worse=%v %+v, want %v", worse, p, c.worse)
			}
		})
	}
}

// Python's layout, which the grammar takes as it comes.
func TestWorsePython(t *testing.T) {
	const before = "def f(a):\n    if a:\n        return 1\n    return 2\n"
	cases := map[string]struct {
		after string
		line  int // of the problem; 0: fine
	}{
		"fine":                        {"def f(a):\n    if a: return 1\n    return 2\n", 0},
		"no body":                     {"def f(a):\n    if a:\n    return 2\n", 2},
		"no body at the end":          {"def f(a):\n", 1},
		"only a comment as body":      {"def f(a):\n    # nothing\n\nx = 1\n", 1},
		"too deep":                    {"def f(a):\n    x = 1\n        y = 2\n", 3},
		"too deep at the top":         {"x = 1\n    y = 2\n", 2},
		"between two levels":          {"def f(a):\n        if a:\n            return 1\n    return 2\n", 4},
		"tabs and spaces":             {"def f(a):\n    x = 1\n\ty = 2\n", 3},
		"tabs":                        {"def f(a):\n\tx = 1\n\tif x:\n\t\ty = 2\n", 0},
		"text in quotes":              {"def f(a):\n    \"\"\"\nno margin\n    \"\"\"\n    return 1\n", 0},
		"continued lines":             {"x = [\n  1,\n        2]\nif (a and\n  b):\n    y = 1 + \\\n  2\n", 0},
		"several statements":          {"x = 1; y = 2\nif x: y = 3; z = 4\n", 0},
		"comments anywhere":           {"def f(a):\n# left\n    x = 1\n        # deep\n    return x\n# left\n", 0},
		"decorated":                   {"@a\n@b(\n  1)\nclass C:\n    @p\n    def f(self): ...\n", 0},
		"match":                       {"match a:\n    case 1:\n        x = 1\n    case _:\n        pass\n", 0},
		"try, else, finally":          {"try:\n    x\nexcept (A, B) as e:\n    y\nelse:\n    z\nfinally:\n    w\n", 0},
		"except without body":         {"try:\n    x\nexcept A:\ny = 1\n", 3},
		"one line after other":        {"class A: pass\nclass B(A):\n    pass\n", 0},
		"lambda and comprehension":    {"f = lambda x: (\n  x)\ng = [y\n     for y in z\n  if y]\n", 0},
		"form feed":                   {"x = 1\n\f\ny = 2\n\fz = 3\n", 0},
		"carriage returns":            {"def f(a):\r\n    x = 1\r\n    return x\r\n", 0},
		"indented comment at the end": {"def f(a):\n    return 1\n    # end\n", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			worse, p := syntax.Worse(syntax.Python, []byte(before), []byte(c.after))
			if worse != (c.line > 0) || worse && p.Line != c.line {
				t.Errorf("worse=%v %+v, want line %d", worse, p, c.line)
			}
		})
	}
}

// Syntax younger than a grammar must not make a good edit look broken.
func TestNewerSyntax(t *testing.T) {
	for name, c := range map[string]struct {
		lang          syntax.Language
		before, after string
	}{
		"php property hooks":       {syntax.PHP, "<?php\nclass A {}\n", "<?php\nclass A { public string $n { get => $this->x; } }\n"},
		"python template strings":  {syntax.Python, "x = 1\n", "x = t\"a {b}\"\n"},
		"rust unsafe extern":       {syntax.Rust, "fn f() {}\n", "unsafe extern \"C\" { pub safe fn f(); }\n"},
		"typescript in and out":    {syntax.TypeScript, "type A = 1;\n", "type A<in out T> = T;\n"},
		"c# primary constructors":  {syntax.CSharp, "class A {}\n", "class A(int x) : B(x) { int[] a = [1, ..b]; }\n"},
		"java patterns":            {syntax.Java, "class A {}\n", "class A { int f(Object o) { return switch (o) { case P(int x, var y) when x > 0 -> x; default -> 0; }; } }\n"},
		"javascript import kinds":  {syntax.JavaScript, "let a;\n", "import j from \"./a.json\" with { type: \"json\" };\n"},
		"ruby short hashes, it":    {syntax.Ruby, "a = 1\n", "h = {x:, y:}\nz.map { it * 2 }\n"},
		"rust let chains":          {syntax.Rust, "fn f() {}\n", "fn f() { if let Some(x) = a && let Some(y) = b {} }\n"},
		"python exception groups":  {syntax.Python, "x = 1\n", "try:\n    x\nexcept* A as e:\n    y\n"},
		"typescript using":         {syntax.TypeScript, "let a;\n", "await using q = open();\n"},
		"go range over a function": {syntax.Go, "package a\n", "package a\n\nfunc f() {\n\tfor range 3 {\n\t}\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if worse, p := syntax.Worse(c.lang, []byte(c.before), []byte(c.after)); worse {
				t.Errorf("counts as broken: %+v", p)
			}
		})
	}
}
