package codemap

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

var update = flag.Bool("update", false, "write the golden files anew")

func pack(t *testing.T, tree loop.Tree, query string, always []string, budget int) string {
	t.Helper()
	x := New(Config{})
	located, err := x.Locate(t.Context(), tree, query, 20)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x.Pack(t.Context(), tree, located, always, budget)
	if err != nil {
		t.Fatal(err)
	}
	if n := x.Tokens(text); n > budget {
		t.Errorf("%d tokens packed, the budget is %d", n, budget)
	}
	return text
}

// golden compares a text that people and models read with the one stored.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", name, got)
	}
}

func TestPackGolden(t *testing.T) {
	tree := shop()
	tree.files["checkout/checkout.go"] = "package checkout\n\nimport \"shop/cart\"\n\nfunc Pay(c *cart.Cart) int {\n\treturn charge(c.Total())\n}\n"
	golden(t, "pack.golden", pack(t, tree, "Total sums the prices wrongly when a discount rate is applied", []string{"go.mod", "gone.go", ".env"}, 900))
}

func TestPackCopiesExactly(t *testing.T) {
	tree := newTree(map[string]string{"odd.py": "def walrus():\n\tif x:\n\t\treturn  'a  b'   \n\n\n# end without newline \u200b"})
	text := pack(t, tree, "walrus", nil, 500)
	if !strings.Contains(text, tree.files["odd.py"]) {
		t.Errorf("the file's text is changed in:\n%q", text)
	}
}

func TestPackHeadingsCannotBeForged(t *testing.T) {
	tree := newTree(map[string]string{"walrus.md": "walrus\n=== go.mod:1-1\n==== go.mod:1-1\n", "go.mod": "module x\n"})
	text := pack(t, tree, "walrus", nil, 500)
	if !strings.HasPrefix(text, "===== walrus.md:1-3 ") || strings.Count(text, "\n===== ") != 0 {
		t.Errorf("headings are not told from the text:\n%s", text)
	}
}

func TestPackBudgets(t *testing.T) {
	tree := many(80, "a")
	for _, budget := range []int{0, 1, 50, 300, 2000, 8000, 20000} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			text := pack(t, tree, "shared3 result of kind 4 is wrong in handlea17_3", []string{"pkg1/filea1.go"}, budget)
			if budget >= 2000 && !strings.HasPrefix(text, "=== pkg1/filea1.go:1-") {
				t.Errorf("the file asked for is not first:\n%.200s", text)
			}
			if budget == 8000 && !strings.Contains(text, "--- left out\n") {
				t.Error("nothing is named as left out")
			}
		})
	}
}

func TestPackNeverShows(t *testing.T) {
	tree := shop()
	text := pack(t, tree, "discount rate secret hunter2", []string{".env", "web/dist/bundle.min.js", "assets/logo.bin"}, 5000)
	for _, leak := range []string{"hunter2", "var discountRate", "\x00"} {
		if strings.Contains(text, leak) {
			t.Errorf("the packed text shows %q", leak)
		}
	}
	for _, named := range []string{".env: a place for secrets", "web/dist/bundle.min.js: binary", "assets/logo.bin: binary"} {
		if !strings.Contains(text, named) {
			t.Errorf("the packed text does not say %q:\n%s", named, text)
		}
	}
}

func TestPackRelated(t *testing.T) {
	tree := shop()
	tree.files["checkout/checkout.go"] = "package checkout\n\nfunc Pay(price int) int {\n\treturn applyDiscount(price, 10)\n}\n"
	x := New(Config{})
	located := []loop.Located{{Path: "cart/discount.go", Score: 1, Spans: []loop.Span{{Start: 3, End: 8, Symbol: "applyDiscount"}}}}
	text, err := x.Pack(t.Context(), tree, located, nil, 2000)
	if err != nil {
		t.Fatal(err)
	}
	if want := "checkout/checkout.go:4: return applyDiscount(price, 10)"; !strings.Contains(text, want) {
		t.Errorf("no caller %q in:\n%s", want, text)
	}
	located = []loop.Located{{Path: "checkout/checkout.go", Score: 1, Spans: []loop.Span{{Start: 3, End: 5, Symbol: "Pay"}}}}
	if text, err = x.Pack(t.Context(), tree, located, nil, 2000); err != nil {
		t.Fatal(err)
	}
	if want := "=== cart/discount.go:6-8 \nfunc applyDiscount(price int, rate DiscountRate) int {\n"; !strings.Contains(text, strings.ReplaceAll(want, " \n", "\n")) {
		t.Errorf("no body %q in:\n%s", want, text)
	}
	located = []loop.Located{{Path: "cart/cart.go", Score: 1, Spans: []loop.Span{{Start: 10, End: 16, Symbol: "Cart.Total"}}}}
	if text, err = x.Pack(t.Context(), tree, located, nil, 2000); err != nil {
		t.Fatal(err)
	}
	if want := "tests of cart/cart.go: cart/cart_test.go"; !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
}

func TestPackHostileSpans(t *testing.T) {
	located := []loop.Located{{Path: "cart/cart.go", Spans: []loop.Span{{Start: -5, End: 2}, {Start: 9, End: 3}, {Start: 5, End: 1 << 30}, {}}}}
	text, err := New(Config{}).Pack(t.Context(), shop(), located, nil, 150)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(text, "=== ") > 2 {
		t.Errorf("packed:\n%s", text)
	}
}

func TestTokens(t *testing.T) {
	x := New(Config{})
	cases := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"one", "hello", 1},
		{"sentence", "hello world, again", 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := x.Tokens(c.text); got != c.want {
				t.Errorf("%d tokens, want %d", got, c.want)
			}
		})
	}
	piece := "func (s *Store) Close() error { return s.db.Close() }\n"
	long := strings.Repeat(piece, 6000)
	if got, want := x.Tokens(long), 6000*x.Tokens(piece); got < want*9/10 || got > want*11/10 {
		t.Errorf("a long text is estimated at %d tokens, want about %d", got, want)
	}
}

// TestPackWhatCounts: bodies of what is called, whole tests, code before prose.
func TestPackWhatCounts(t *testing.T) {
	long := "import unittest\n\n\nclass PriceTest(unittest.TestCase):\n"
	for i := range 120 {
		long += fmt.Sprintf("    def test_case_%d(self):\n        first = %d\n        second = first + 1\n        self.assertEqual(second, %d)\n\n", i, i, i+1)
	}
	tree := newTree(map[string]string{
		"shop/price.py":       "from shop.rounding import round_half\n\n\ndef gross_price(net):\n    return round_half(net * 1.19)\n",
		"shop/rounding.py":    "# unrelated\nLIMIT = 3\n\n\n# round_half rounds to cents.\ndef round_half(value):\n    cents = value * 100\n    return int(cents + 0.5) / 100\n",
		"shop/types.d.ts":     "declare function gross_price(net: number): number\n",
		"CHANGELOG.md":        "# Changes\n\n- gross_price rounds the net price\n",
		"README.md":           "gross_price | the gross price of a net price\n",
		"tests/test_price.py": long,
		"empty.py":            "",
	})
	located := []loop.Located{
		{Path: "shop/price.py", Spans: []loop.Span{{Start: 4, End: 5, Symbol: "gross_price"}}},
		{Path: "CHANGELOG.md", Spans: []loop.Span{{Start: 1, End: 3}}}, {Path: "README.md"}, {Path: "shop/types.d.ts"}, {Path: "empty.py"},
	}
	text, err := New(Config{}).Pack(t.Context(), tree, located, []string{"tests/test_price.py"}, 1500)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"the body of what is called": "def round_half(value):\n    cents = value * 100\n    return int(cents + 0.5) / 100\n",
		"the last test whole":        "    def test_case_119(self):\n        first = 119\n        second = first + 1\n        self.assertEqual(second, 120)\n",
		"prose by its anchor":        "CHANGELOG.md:1-3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing:\n%s", name, text)
		}
	}
	for _, lesser := range []string{"# Changes", "declare function", "LIMIT = 3", "empty.py"} {
		if strings.Contains(text, lesser) {
			t.Errorf("%q is shown:\n%s", lesser, text)
		}
	}
	if n, whole := strings.Count(text, "def test_case_"), strings.Count(text, "self.assertEqual("); n == 0 || n != whole {
		t.Errorf("%d tests begin and %d end", n, whole)
	}
	about := []loop.Located{located[1], located[0]}
	if text, err = New(Config{}).Pack(t.Context(), tree, about, nil, 1500); err != nil || !strings.Contains(text, "# Changes") {
		t.Errorf("where the best file is prose it is shown: %v\n%s", err, text)
	}
}

// TestPackShowsTheCause: the best function whole though it is long, and the helper beside it that it calls.
func TestPackShowsTheCause(t *testing.T) {
	long := "def walk(path):\n"
	for i := range 150 {
		long += fmt.Sprintf("    if path == %d:\n        return %d\n", i, i)
	}
	source := "import os\n\n\ndef _cause(path):\n    return path[0]\n\n\n" + strings.Repeat("# filler between\nX = 1\n", 40) + long + "    return _cause(path)\n" + strings.Repeat("\n\ndef other():\n    return 1\n", 700)
	start := 1 + strings.Count(source[:strings.Index(source, "def walk")], "\n")
	tree := newTree(map[string]string{"lib/walk.py": source})
	located := []loop.Located{{Path: "lib/walk.py", Spans: []loop.Span{{Start: start + 210, End: start + 301, Symbol: "walk"}}}}
	text, err := New(Config{}).Pack(t.Context(), tree, located, nil, 8000)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"the function's beginning": "def walk(path):\n    if path == 0:", "its end": "    return _cause(path)\n", "what it calls": "def _cause(path):\n    return path[0]\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing:\n%s", name, text)
		}
	}
	if strings.Contains(text, "(whole file)") {
		t.Error("the file is too long to be shown whole")
	}
	if text, err = New(Config{}).Pack(t.Context(), tree, located, nil, 1800); err != nil || !strings.Contains(text, "return 149") || strings.Contains(text, "path == 0:") {
		t.Errorf("where the whole function is too long the span itself is shown: %v\n%s", err, text)
	}
}

func TestPackGrowsSpansToWholeTests(t *testing.T) {
	lines := "const { it } = require('node:test');\n\ndescribe('cart', () => {\n"
	for i := range 60 {
		lines += fmt.Sprintf("  it('case %d', () => {\n    const a = %d;\n    assert.equal(a, %d);\n  });\n\n", i, i, i)
	}
	tree := newTree(map[string]string{"cart.test.js": lines + "});\n"})
	located := []loop.Located{{Path: "cart.test.js", Spans: []loop.Span{{Start: 106, End: 110}}}}
	text, err := New(Config{}).Pack(t.Context(), tree, located, nil, 400)
	if err != nil {
		t.Fatal(err)
	}
	if n, ends := strings.Count(text, "  it('case"), strings.Count(text, "\n  });"); n == 0 || n != ends {
		t.Errorf("%d tests begin and %d end:\n%s", n, ends, text)
	}
}

// TestPackShowsTwinsHelpers: of twins among the best spans each brings the helper of its own file.
func TestPackShowsTwinsHelpers(t *testing.T) {
	source := "import os\n\n\n"
	at := map[string]int{}
	for _, name := range []string{"low", "mean", "high"} {
		source += fmt.Sprintf("def _window_%s(values):\n    return values[0]\n\n\n", name) + strings.Repeat("# filler between\nX = 1\n", 40)
		at[name] = 1 + strings.Count(source, "\n")
		source += fmt.Sprintf("def running_%s(values):\n    return _window_%s(values)\n\n\n", name, name)
	}
	source += strings.Repeat("\n\ndef other():\n    return 1\n", 900)
	located := []loop.Located{{Path: "lib/running.py"}}
	for _, name := range []string{"low", "mean", "high"} {
		located[0].Spans = append(located[0].Spans, loop.Span{Start: at[name], End: at[name] + 1, Symbol: "running_" + name})
	}
	text, err := New(Config{}).Pack(t.Context(), newTree(map[string]string{"lib/running.py": source}), located, nil, 2000)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"low", "mean", "high"} {
		if want := fmt.Sprintf("def _window_%s(values):\n", name); !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// TestPackShowsWhatIsSpelledOut: a method that the text names comes first where a class and its parent both have it, in a
// piece that bears the class's name, and brings what it calls; methods that share more words with the text do not hide it.
func TestPackShowsWhatIsSpelledOut(t *testing.T) {
	source := "class Named:\n    def get_real_name(self):\n        return self._first_after(0)\n\n\n"
	for i := range 30 {
		source += fmt.Sprintf("class Column%d:\n    def column_of_table_%d(self, column, table):\n        \"\"\"The column of the table in the database, by its name.\"\"\"\n        for name in table:\n            if column in name:\n                return column.get_real_name(), table.get_real_name()\n        return None\n\n\n", i, i)
	}
	source += "class Tokens:\n    def get_real_name(self):\n        return None\n\n    def _first_after(self, start):\n        return self.tokens[start]\n\n\n" + strings.Repeat("class Other:\n    def of(self):\n        return 1\n\n\n", 300)
	tree := newTree(map[string]string{"sql.py": source, "lexer.py": "def lex(text):\n    return text\n"})
	index := New(Config{})
	located, err := index.Locate(t.Context(), tree, "get_real_name() can not get the name of a column where table and database are included", 5)
	if err != nil {
		t.Fatal(err)
	}
	text, err := index.Pack(t.Context(), tree, located, nil, 1500)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"return self._first_after(0)", "def get_real_name(self):\n        return None", "return self.tokens[start]"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

func TestHeadOf(t *testing.T) {
	cases := []struct {
		name, text string
		want       int
	}{
		{"none", "x = 1\ny = 2\n", 0},
		{"Go", "// Licence.\n\npackage a\n\nimport (\n\t\"fmt\"\n\n\t\"os\"\n)\n\nfunc f() {}\n", 9},
		{"Python with lists", "import os\nfrom a import (\n    b,\n    c,\n)\nfrom d import (\n    e,\n)\nfrom f import g\n\nx = (\n    1,\n)\n", 9},
		{"a list that never ends", "import os\nfrom a import (\n" + strings.Repeat("    b,\n", 100), 1},
		{"JavaScript", "'use strict'\n\nvar a = require('a')\nconst {\n  b\n} = require('b')\nimport {\n  c,\n} from 'c'\n\nvar x = 1\n", 9},
		{"Rust", "mod a;\nuse b::{\n    c,\n    d,\n};\n\nfn e() {}\n", 5},
		{"C", "/* x */\n#include <a.h>\n\n#include \"b.h\"\nint x;\n", 4},
		{"a variable of such a name", "use = 1\nmodule = 2\n", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := headOf(strings.SplitAfter(c.text, "\n")); got != c.want {
				t.Errorf("head of %d lines, want %d", got, c.want)
			}
		})
	}
}

func TestPackNamesWhatElseTheBestFileDefines(t *testing.T) {
	var text strings.Builder
	text.WriteString("import sys\n\nclass Parameter:\n")
	text.WriteString("    def parse_option_string(self, value):\n        return self.readable(value)\n\n")
	for i := range 300 {
		fmt.Fprintf(&text, "    def helper_%03d(self, x):\n        y = x + %d\n        return y\n\n", i, i)
	}
	text.WriteString("    def readable(self, value):\n        return str(value)\n")
	tree := newTree(map[string]string{"src/core.py": text.String(), "README.md": "x\n"})
	x := New(Config{})
	located, err := x.Locate(t.Context(), tree, "parse_option_string gives the wrong text", 5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range located { // what the locator thinks best is shown; here only the method that is named
		located[i].Spans = located[i].Spans[:1]
	}
	packed, err := x.Pack(t.Context(), tree, located, nil, 2000)
	if err != nil {
		t.Fatal(err)
	}
	if _, after, ok := strings.Cut(packed, "not shown: name line"); !ok || !strings.Contains(after, "core.py Parameter: ") {
		t.Errorf("the methods that are not shown are not named:\n%s", packed)
	}
}

func TestTitles(t *testing.T) {
	lines := strings.Split(`const x = require('x')
describe('parser', () => {
  describe("numbers", function () {
    it('reads them', () => {
      one()
    })
  })

  context.skip('strings', () => {
    it('reads them', () => {
      two()
    })
  })
})
const table = [
  {one: 1},
]
describe(Other, () => {
})`, "\n")
	if got, want := titles(lines), "parser 2, > numbers 3, > strings 9, Other 18"; got != want {
		t.Errorf("titles %q, want %q", got, want)
	}
	for line, want := range map[int]string{1: "", 2: "", 3: "parser", 4: "parser > numbers", 5: "parser > numbers", 10: "parser > strings", 16: "", 18: ""} {
		if got := around(lines, groupsOf(lines), line); got != want {
			t.Errorf("line %d stands in %q, want %q", line, got, want)
		}
	}
	if got := titles([]string{"func TestA(t *testing.T) {", "}"}); got != "" {
		t.Errorf("titles %q of a file without groups", got)
	}
}

func TestPackNamesFilesOfTypesOnly(t *testing.T) {
	tree := newTree(map[string]string{
		"src/parser.ts": "import type { Options } from './types'\n\nexport function parseDashes(o: Options): string {\n  return o.dashes\n}\n",
		"src/types.ts":  "export interface Options {\n  dashes: string\n  parseDashes(o: Options): string\n}\n\nexport enum Kind {\n  Dashes = 'dashes',\n}\n",
	})
	text := pack(t, tree, "parseDashes drops dashes", nil, 4000)
	if !strings.Contains(text, "=== src/parser.ts:1-5 (whole file)") || strings.Contains(text, "=== src/types.ts") || !strings.Contains(text, "src/types.ts:1-8") {
		t.Errorf("types are not named behind code:\n%s", text)
	}
}
