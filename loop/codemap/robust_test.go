package codemap

import (
	"fmt"
	"strings"
	"testing"
)

// TestQueriesOfAnyKind gives texts that people paste and programs send; none may fail, and what can be found is.
func TestQueriesOfAnyKind(t *testing.T) {
	tree := shop()
	x := New(Config{})
	cases := []struct{ name, query, want string }{
		{"empty", "", ""},
		{"blanks", " \n\t\r\n", ""},
		{"punctuation", "!!! --- ``` ??? \"'", ""},
		{"bytes of no text", "\x00\x01\xff\xfe\x80 discount rate \xc3\x28", "cart/discount.go"},
		{"1 MB of one word", strings.Repeat("invoice ", 1<<17), "billing/invoice.py"},
		{"1 MB of different words behind a title", "Invoice for a customer\n" + manyWords(1<<17), "billing/invoice.py"},
		{"1 MB without a blank", "applyDiscount " + strings.Repeat("x", 1<<20), "cart/discount.go"},
		{"1 MB of open fences and quotes", "applyDiscount\n" + strings.Repeat("```\n\"'`", 1<<17), "cart/discount.go"},
		{"1 MB of paths", "applyDiscount\n" + strings.Repeat("a/b.c:1 at x.y(z.js:1:1)\n", 1<<15), "cart/discount.go"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			located, err := x.Locate(t.Context(), tree, c.query, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(paths(located), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

func TestNamesOfAnyKind(t *testing.T) {
	for _, name := range []string{"a\nb.go", "tab\there.go", "invalid\xff\xfeutf8.go", strings.Repeat("d/", 200) + "deep.go", "-dash.go", "空 白.go", `back\slash.go`, "quote\".go"} {
		t.Run(fmt.Sprintf("%q", name[max(0, len(name)-20):]), func(t *testing.T) {
			tree := newTree(map[string]string{name: "package zebra\n\nfunc zebraStripes() {}\n", "other.go": "package other\n"})
			x := New(Config{})
			located, err := x.Locate(t.Context(), tree, "zebraStripes are missing", 5)
			if err != nil {
				t.Fatal(err)
			}
			if len(located) == 0 || located[0].Path != name || len(located[0].Spans) == 0 {
				t.Errorf("got %+v", located)
			}
			text, err := x.Pack(t.Context(), tree, located, nil, 2000)
			if err != nil || !strings.Contains(text, "zebraStripes") {
				t.Errorf("packed %q, %v", text, err)
			}
		})
	}
}

func TestHundredThousandFiles(t *testing.T) {
	files := make(map[string]string, 100_000)
	for i := range 100_000 {
		files[fmt.Sprintf("pkg%d/sub%d/file%d.go", i%100, i%1000, i)] = fmt.Sprintf("package p\n\nfunc f%d() {}\n", i%5000)
	}
	files["stable/zebra.go"] = "package stable\n\nfunc zebraStripes() {}\n"
	tree := newTree(files)
	tree.name = "large"
	if got := locate(t, tree, "zebra stripes are missing", 1); len(got) != 1 || got[0] != "stable/zebra.go" {
		t.Errorf("got %q", got)
	}
}
