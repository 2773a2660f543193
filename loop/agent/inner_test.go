package agent

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestHeaders(t *testing.T) {
	tests := []struct{ name, text, cause, files string }{
		{"as asked", "ROOT CAUSE: It is so.\nFILES:\na.go - why\nb/c.go - test\n\na.go\n<<<<<<< SEARCH", "It is so.", "a.go b/c.go"},
		{"bold, bullets, backticks", "**ROOT CAUSE:** It is\nso.\n\n**FILES:**\n- `a.go`: why\n* **b/c.go** — test\n1. `d.go` (new)\n", "It is so.", "a.go b/c.go d.go"},
		{"headings", "## Root cause: It is so.\n## Files:\n./a.go\n", "It is so.", "a.go"},
		{"a name with underscores first", "ROOT CAUSE: __init__ calls _total_, see _sum_\nFILES:\na.py\n", "__init__ calls _total_, see _sum_", "a.py"},
		{"italics", "ROOT CAUSE: _It is so._\nFILES:\na.py\n", "It is so.", "a.py"},
		{"on one line", "ROOT CAUSE: It is so.\nFILES: a.go, b.go\n", "It is so.", "a.go b.go"},
		{"one file with a reason on the line", "FILES: a.go - why it changes\n", "", "a.go"},
		{"prose after the list", "FILES:\na.go\nNow the change itself follows here.\nb.go\n", "", "a.go"},
		{"block at once", "FILES:\na.go\n<<<<<<< SEARCH\nFILES:\nz.go\n", "", "a.go"},
		{"nothing", "Hello.", "", ""},
		{"headings without colons", "### 1. Root Cause\nIt is so.\n\n### 2. Files to change\n- a.go\n\n### 3. Edits\nb.go\n", "It is so.", "a.go"},
		{"bold alone on a line", "**Root Cause**\nIt is so.\n**Files**\na.go: why\n", "It is so.", "a.go"},
		{"no FILES, the block's path is no cause", "ROOT CAUSE: It is so.\n\n**`a/b.go`**\n<<<<<<< SEARCH\n", "It is so.", ""},
		{"a path in the cause stays", "ROOT CAUSE:\na.go\nis wrong.\n", "a.go is wrong.", ""},
		{"a table", "FILES:\n| file | change |\n|:--|---|\n| `a.go` | why |\n| b.go | test |\n\nProse.\n", "", "a.go b.go"},
		{"six sentences", "ROOT CAUSE: 1. One is. Two is! Three is? Four is. Five is. Six is.", "1. One is. Two is! Three is? Four is.", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := parseHeader(test.text)
			if h.rootCause != test.cause || strings.Join(h.files, " ") != test.files {
				t.Errorf("%q %q", h.rootCause, h.files)
			}
		})
	}
}

func FuzzHeader(f *testing.F) {
	f.Add("ROOT CAUSE: x\nFILES:\n- `a`: b")
	f.Fuzz(func(t *testing.T, text string) {
		h := parseHeader(text)
		if len(h.rootCause) > maxCause {
			t.Fatal(len(h.rootCause))
		}
		for _, p := range h.files {
			if p == "" || strings.Contains(p, "\n") {
				t.Fatalf("%q", p)
			}
		}
		diffToBlocks(text)
	})
}

func TestProtectedPatterns(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{".github/workflows/", ".github/workflows/ci.yml", true},
		{".github/workflows/", ".GitHub/Workflows/ci.yml", true},
		{"CODEOWNERS", "docs/CODEOWNERS", true},
		{"*.lock", "a/b.lock", true},
		{"/*.lock", "a/b.lock", false},
		{"deploy/**/*.tf", "deploy/a/b/main.tf", true},
		{"deploy/**/*.tf", "deploy/main.tf", true},
		{"a?c", "abc/d", true},
		{"migrations", "db/migrations/1.sql", true},
		{"migrations", "db/migrations_old/1.sql", false},
		{"a.b", "axb", false},
		{"", "x", false},
		{"# comment", "# comment", false},
	}
	for _, test := range tests {
		if got := protects([]string{test.pattern}, test.path); got != test.want {
			t.Errorf("%q covers %q: %v", test.pattern, test.path, got)
		}
	}
}

func TestSecretFiles(t *testing.T) {
	for name, want := range map[string]bool{
		".env": true, "a/.env.production": true, ".env.example": false, "id_rsa": true, "id_rsa.pub": false, "x.pem": true,
		"secrets.yaml": true, "secrets.go": false, "env.py": false, ".npmrc": true, "keys.md": false, "CREDENTIALS.json": true,
	} {
		if secretFile(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestCompanions(t *testing.T) {
	s := &survey{files: map[string]loop.TreeFile{}}
	s.paths = []string{"a/cart.go", "a/cart_test.go", "lib/cart.js", "lib/__tests__/cart.test.js", "py/cart.py", "py/tests/test_cart.py", "src/Cart.java", "test/CartTest.java", "z/cart_test.go"}
	for source, want := range map[string]string{
		"a/cart.go": "a/cart_test.go z/cart_test.go", "lib/cart.js": "lib/__tests__/cart.test.js",
		"py/cart.py": "py/tests/test_cart.py", "src/Cart.java": "test/CartTest.java", "a/cart_test.go": "",
	} {
		if got := strings.Join(s.companions(source), " "); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

func TestDiffsBecomeBlocks(t *testing.T) {
	tests := []struct {
		name, reply, want string
		ok                bool
	}{
		{"two hunks, two files", "Why.\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n d\n@@ -9 +9 @@ func f\n-e\n+f\n--- y.go\t2026\n+++ y.go\t2026\n@@ -1 +1 @@\n-g\n+h\n\\ No newline at end of file\n",
			"Why.\nx.go\n<<<<<<< SEARCH\na\nb\n\nd\n=======\na\nc\n\nd\n>>>>>>> REPLACE\nx.go\n<<<<<<< SEARCH\ne\n=======\nf\n>>>>>>> REPLACE\ny.go\n<<<<<<< SEARCH\ng\n=======\nh\n>>>>>>> REPLACE", true},
		{"new file", "--- /dev/null\n+++ b/n.go\n@@ -0,0 +1 @@\n+package n\n", "n.go\n<<<<<<< SEARCH\n=======\npackage n\n>>>>>>> REPLACE", true},
		{"deleted file", "--- a/d.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-package d\n", "d.go (delete)\n@@ -1 +0,0 @@\n-package d\n", true},
		{"a removed line that looks like a head", "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,1 @@\n--- old comment\n a\n", "x.sql\n<<<<<<< SEARCH\n-- old comment\na\n=======\na\n>>>>>>> REPLACE", true},
		{"prose", "@@ no diff\n- a list\n+ another", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := diffToBlocks(test.reply)
			if ok != test.ok || ok && got != test.want {
				t.Errorf("%v\n%s", ok, got)
			}
		})
	}
}

func TestExcerpts(t *testing.T) {
	tests := []struct {
		name, content string
		start, end    int
		want          string
	}{
		{"whole", "a\nb\n", 0, 0, "f, lines 1-2 of 2:\na\nb\n"},
		{"part", "a\nb\nc\n", 2, 2, "f, lines 2-2 of 3:\nb\n(go on with read_file f, start 3)"},
		{"turned round", "a\nb\nc\n", 3, 1, "f, lines 3-3 of 3:\nc\n"},
		{"beyond", "a\n", 5, 6, "f has only 1 lines"},
		{"empty", "", 0, 0, "f is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := excerpt("f", test.content, test.start, test.end); got != test.want {
				t.Errorf("%q", got)
			}
		})
	}
	if got := excerpt("f", strings.Repeat("é", 20_000), 0, 0); len(got) > maxText+100 || !strings.Contains(got, "the line goes on") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestRemarksIn(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[int]loop.RemarkReply
	}{
		"as asked for": {"REMARK 1: done: renamed\nREMARK 2: not done: it is public", map[int]loop.RemarkReply{1: {Done: true, Why: "renamed"}, 2: {Why: "it is public"}}},
		"bold, bullet": {"- **Remark 1:** done. The bound.\n* **REMARK 2** - not done, because it breaks callers", map[int]loop.RemarkReply{1: {Done: true, Why: "The bound."}, 2: {Why: "it breaks callers"}}},
		"other words":  {"Remark #3: fixed\nRemark 4: won't do: out of scope", map[int]loop.RemarkReply{3: {Done: true}, 4: {Why: "out of scope"}}},
		"the last one": {"REMARK 1: done: a\nREMARK 1: not done: b", map[int]loop.RemarkReply{1: {Why: "b"}}},
		"CRLF":         {"REMARK 1: done: a\r\n", map[int]loop.RemarkReply{1: {Done: true, Why: "a"}}},
		"prose":        {"As remark 1 says, it is done.\nREMARK: done\nREMARK 1: maybe", map[int]loop.RemarkReply{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := remarksIn(c.text); !maps.Equal(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	h := parseHeader("ROOT CAUSE: x\nFILES:\na.go - y\nREMARK 1: done: b\n\na.go\n<<<<<<< SEARCH\n")
	if len(h.files) != 1 || !h.remarks[1].Done {
		t.Errorf("%+v", h)
	}
}

func TestLikelyIDs(t *testing.T) {
	cases := map[string]loop.CaseStatus{}
	for _, id := range []string{
		"gin.TestContextRenderRedirectWithRelativePath", "gin.TestContextRenderRedirectWithAbsolutePath", "gin.TestContextFile",
		"gin.TestTreeFindCaseInsensitivePath", "gin.TestTreeInvalidNodeType", "gin.TestContextJSON", "gin.TestContextXML", "gin.TestContextYAML",
		"tests/test_a.py::test_parse[one]", "tests/test_a.py::test_parse[two]", "tests/test_a.py::test_parse[three]",
	} {
		cases[id] = loop.CasePassed
	}
	got := likelyIDs(&loop.Outcome{Cases: cases}, "test: findCaseInsensitivePath of the tree panics with an invalid node type in gin's context")
	for _, want := range []string{"gin.TestTreeFindCaseInsensitivePath", "gin.TestTreeInvalidNodeType"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %q", want, got)
		}
	}
	got = likelyIDs(&loop.Outcome{Cases: cases}, "parse fails")
	if !slices.Contains(got, "tests/test_a.py::test_parse") || slices.ContainsFunc(got, func(id string) bool { return strings.Contains(id, "[") }) {
		t.Errorf("cases of a parametrized test do not stand for it: %q", got)
	}
	if got := likelyIDs(nil, "x"); got != nil {
		t.Errorf("ids without a baseline: %q", got)
	}
}
