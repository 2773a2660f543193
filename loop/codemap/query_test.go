package codemap

import (
	"slices"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	cases := []struct {
		name, text string
		want       mention
	}{
		{"python", "  File \"/srv/app/models.py\", line 88, in save", mention{path: "srv/app/models.py", line: 88, frame: true}},
		{"java", "\tat com.acme.io.Reader.open(Reader.java:17)", mention{path: "com/acme/io/Reader.java", line: 17, frame: true}},
		{"java inner class", "at a.b.Outer$Inner.run(Outer.java:3)", mention{path: "a/b/Outer.java", line: 3, frame: true}},
		{"csharp", `   at Acme.Reader.Open(String p) in C:\src\Acme\Reader.cs:line 40`, mention{path: "C:/src/Acme/Reader.cs", line: 40, frame: true}},
		{"node", "    at Object.parse (/app/lib/parse.js:10:5)", mention{path: "app/lib/parse.js", line: 10, frame: true}},
		{"php", "#0 /var/www/src/Kernel.php(12): handle()", mention{path: "var/www/src/Kernel.php", line: 12, frame: true}},
		{"go", "\t/go/src/x/server/main.go:91 +0x1a", mention{path: "go/src/x/server/main.go", line: 91}},
		{"rust", "panicked at src/main.rs:7:9", mention{path: "src/main.rs", line: 7}},
		{"compiler", "lib/foo.c:33:2: error: expected", mention{path: "lib/foo.c", line: 33}},
		{"ruby", "app/models/user.rb:12:in `save'", mention{path: "app/models/user.rb", line: 12}},
		{"plain path", "look into internal/db/pool.go please", mention{path: "internal/db/pool.go"}},
		{"name alone", "the bug is in `pool.go`.", mention{path: "pool.go"}},
		{"module", "raised by click.core.Context", mention{path: "click/core/Context", module: true}},
		{"ruby namespace", "in Jekyll::Utils::Platforms", mention{path: "Jekyll/Utils/Platforms", module: true}},
		{"traversal is cleaned", "../../etc/../x/y.go:1", mention{path: "x/y.go", line: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := parseQuery(c.text).mentions; !slices.Contains(got, c.want) {
				t.Errorf("mentions are %+v, want %+v among them", got, c.want)
			}
		})
	}
}

func TestQueryLeavesOut(t *testing.T) {
	q := parseQuery("Crash in parser\n<!-- template: describe the octopus -->\nSigned-off-by: Walrus Person <w@example.com>\nsee https://example.com/zebra/giraffe for the details")
	for _, word := range []string{"octopus", "walru", "zebra", "giraff"} {
		if q.weights[word] != 0 {
			t.Errorf("%q is looked for", word)
		}
	}
	q = parseQuery("Crash in lexer\n### Steps to reproduce\nRun it.\n**Expected behavior:**\nNo crash.\n- [x] I searched the pangolin list\n### Reproduce lemurs")
	for _, word := range []string{"step", "behavior", "pangolin"} {
		if q.weights[word] != 0 {
			t.Errorf("%q of the issue's template is looked for", word)
		}
	}
	if q.weights["lemur"] == 0 {
		t.Error("a heading of the author's own is left out")
	}
	q = parseQuery("Crash in parser\nthe details")
	if q.weights["parser"] <= q.weights["detail"] {
		t.Errorf("a word of the title weighs %v, one of the text %v", q.weights["parser"], q.weights["detail"])
	}
}

func TestQueryIsBounded(t *testing.T) {
	var long strings.Builder
	for i := range 200_000 {
		long.WriteString("w")
		long.WriteByte(byte('a' + i%26))
		long.WriteByte(byte('a' + i/26%26))
		long.WriteByte(byte('a' + i/676%26))
		long.WriteString(" dir/file.go:1 ")
	}
	q := parseQuery(long.String())
	if len(q.order) > maxTerms || len(q.weights) != len(q.order) || len(q.mentions) > maxMentions {
		t.Errorf("%d terms, %d weights, %d mentions", len(q.order), len(q.weights), len(q.mentions))
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{
		"", "```\ncode\n```", "`x` \"y\" 'z'", "<!-- open", "at a.b(c.java:1)", "File \"x\", line 99999999999999999999",
		"https://github.com/a/b/blob/main/c.go#L3", "\xff\xfe\x00", "处理错误 parse", strings.Repeat("a.b::c\\d/", 50),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := parseQuery(s)
		if len(q.order) > maxTerms || len(q.order) != len(q.weights) {
			t.Fatalf("%d terms with %d weights", len(q.order), len(q.weights))
		}
		for _, term := range q.order {
			if w := q.weights[term]; !(w > 0) {
				t.Fatalf("term %q weighs %v", term, w)
			}
		}
		for _, m := range q.mentions {
			if m.line < 0 || strings.HasPrefix(m.path, "/") || strings.Contains("/"+m.path+"/", "/../") {
				t.Fatalf("mention %+v", m)
			}
		}
	})
}
