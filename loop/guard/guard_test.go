package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// Every rule has a name of its own, a sentence for the README's table, and a severity.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Name] || r.Doc == "" || r.check == nil || r.Severity == "" || strings.HasSuffix(r.Doc, ".") {
			t.Errorf("rule %q is listed twice or incomplete", r.Name)
		}
		seen[r.Name] = true
		if docOf(r.Name) != r.Doc {
			t.Errorf("rule %q is documented as %q", r.Name, docOf(r.Name))
		}
	}
}

// Good fixes pass: nothing blocks them, and nobody is asked.
func TestGoodFixesPass(t *testing.T) {
	for _, s := range []struct {
		name       string
		base       files
		change     files
		before     []string // tests that ran
		after      []string
		severities []string // of the notes, as rule names
	}{
		{
			name: "Go: an off-by-one with its test",
			base: files{
				"go.mod":        "module example.com/page\n\ngo 1.26\n",
				"page.go":       lines("package page", "", "// Pages returns how many pages n items fill.", "func Pages(n, size int) int {", "\treturn n / size", "}"),
				"page_test.go":  lines("package page", "", "import \"testing\"", "", "func TestPages(t *testing.T) {", "\tfor _, c := range []struct{ n, size, want int }{", "\t\t{10, 5, 2},", "\t} {", "\t\tif got := Pages(c.n, c.size); got != c.want {", "\t\t\tt.Errorf(\"Pages(%d, %d) = %d\", c.n, c.size, got)", "\t\t}", "\t}", "}"),
				"README.md":     "# page\n",
				"CHANGELOG.md":  "# Changes\n",
				"docs/usage.md": "x\n",
			},
			change: files{
				"page.go":      lines("package page", "", "// Pages returns how many pages n items fill; the last one may be short.", "func Pages(n, size int) int {", "\tif size <= 0 {", "\t\treturn 0", "\t}", "\treturn (n + size - 1) / size", "}"),
				"page_test.go": lines("package page", "", "import \"testing\"", "", "func TestPages(t *testing.T) {", "\tfor _, c := range []struct{ n, size, want int }{", "\t\t{10, 5, 2},", "\t\t{11, 5, 3},", "\t\t{0, 5, 0},", "\t\t{3, 0, 0},", "\t} {", "\t\tif got := Pages(c.n, c.size); got != c.want {", "\t\t\tt.Errorf(\"Pages(%d, %d) = %d\", c.n, c.size, got)", "\t\t}", "\t}", "}"),
				"CHANGELOG.md": "# Changes\n\n- Pages counts a short last page.\n",
			},
			before: []string{"example.com/page.TestPages"}, after: []string{"example.com/page.TestPages"},
		},
		{
			name: "Python: behaviour that a test had wrong",
			base: files{
				"cart/price.py":       lines("def discount(price, percent):", "    return price - percent"),
				"tests/test_price.py": lines("from cart.price import discount", "", "", "def test_discount():", "    assert discount(200, 10) == 190"),
			},
			change: files{
				"cart/price.py":       lines("def discount(price, percent):", "    if not 0 <= percent <= 100:", "        raise ValueError(f\"percent is {percent}, must be 0 to 100\")", "    return price * (100 - percent) / 100"),
				"tests/test_price.py": lines("import pytest", "", "from cart.price import discount", "", "", "def test_discount():", "    assert discount(200, 10) == 180", "", "", "@pytest.mark.parametrize(\"percent\", [-1, 101])", "def test_discount_out_of_range(percent):", "    with pytest.raises(ValueError):", "        discount(200, percent)"),
			},
			before: []string{"tests/test_price.py::test_discount"}, after: []string{"tests/test_price.py::test_discount", "tests/test_price.py::test_discount_out_of_range[-1]", "tests/test_price.py::test_discount_out_of_range[101]"},
			severities: []string{"test-weakened"},
		},
		{
			name: "TypeScript: a missing check, and a patch release of a package",
			base: files{
				"package.json":            "{\n  \"scripts\": { \"test\": \"vitest run\" },\n  \"dependencies\": {\n    \"zod\": \"^3.22.0\"\n  }\n}\n",
				"package-lock.json":       "{\n  \"zod\": { \"version\": \"3.22.0\", \"resolved\": \"https://registry.example.org/zod-3.22.0.tgz\" }\n}\n",
				"src/session/store.ts":    lines("export function load(id: string): Session {", "  return sessions.get(id)!;", "}"),
				"src/session.test.ts":     lines("import { load } from './session/store';", "", "describe('load', () => {", "  it('returns the session', () => {", "    expect(load('a').user).toBe('u1');", "  });", "});"),
				".github/workflows/a.yml": "on: push\n",
			},
			change: files{
				"package.json":         "{\n  \"scripts\": { \"test\": \"vitest run\" },\n  \"dependencies\": {\n    \"zod\": \"^3.22.4\"\n  }\n}\n",
				"package-lock.json":    "{\n  \"zod\": { \"version\": \"3.22.4\", \"resolved\": \"https://registry.example.org/zod-3.22.4.tgz\" }\n}\n",
				"src/session/store.ts": lines("export function load(id: string): Session {", "  const session = sessions.get(id);", "  if (!session) {", "    throw new Error(`session ${id} is unknown`);", "  }", "  return session;", "}"),
				"src/session.test.ts":  lines("import { load } from './session/store';", "", "describe('load', () => {", "  it('returns the session', () => {", "    expect(load('a').user).toBe('u1');", "  });", "", "  it('refuses an unknown id', () => {", "    expect(() => load('zz')).toThrow(/unknown/);", "  });", "});"),
			},
			before: []string{"src/session.test.ts > load > returns the session"}, after: []string{"src/session.test.ts > load > returns the session", "src/session.test.ts > load > refuses an unknown id"},
			severities: []string{"dependency", "dependency", "sensitive-path"},
		},
		{
			name: "Rust: a panic on an empty list, test in the same file",
			base: files{
				"src/lib.rs": lines("pub fn mean(xs: &[f64]) -> Option<f64> {", "    Some(xs.iter().sum::<f64>() / xs.len() as f64)", "}", "", "#[cfg(test)]", "mod tests {", "    use super::*;", "", "    #[test]", "    fn mean_of_two() {", "        assert_eq!(mean(&[1.0, 3.0]), Some(2.0));", "    }", "}"),
			},
			change: files{
				"src/lib.rs": lines("pub fn mean(xs: &[f64]) -> Option<f64> {", "    if xs.is_empty() {", "        return None;", "    }", "    Some(xs.iter().sum::<f64>() / xs.len() as f64)", "}", "", "#[cfg(test)]", "mod tests {", "    use super::*;", "", "    #[test]", "    fn mean_of_two() {", "        assert_eq!(mean(&[1.0, 3.0]), Some(2.0));", "    }", "", "    #[test]", "    fn mean_of_none() {", "        assert_eq!(mean(&[]), None);", "    }", "}"),
			},
			before: []string{"tests::mean_of_two"}, after: []string{"tests::mean_of_two", "tests::mean_of_none"},
		},
		{
			name: "shell and Makefile: a path with spaces",
			base: files{
				"scripts/pack.sh*": lines("#!/bin/sh", "set -eu", "dir=$1", "tar czf out.tgz $dir"),
				"Makefile":         lines("pack:", "\t./scripts/pack.sh $(DIR)"),
				"tests/pack.bats":  lines("@test \"packs a directory\" {", "  run scripts/pack.sh src", "  [ \"$status\" -eq 0 ]", "}"),
			},
			change: files{
				"scripts/pack.sh*": lines("#!/bin/sh", "set -eu", "dir=$1", "if [ ! -d \"$dir\" ]; then", "  echo \"$dir is not a directory\" >&2", "  exit 2", "fi", "tar czf out.tgz -- \"$dir\""),
				"Makefile":         lines("pack:", "\t./scripts/pack.sh \"$(DIR)\""),
				"tests/pack.bats":  lines("@test \"packs a directory\" {", "  run scripts/pack.sh src", "  [ \"$status\" -eq 0 ]", "}", "", "@test \"packs a directory with spaces\" {", "  mkdir -p \"a b\"", "  run scripts/pack.sh \"a b\"", "  [ \"$status\" -eq 0 ]", "}"),
			},
			before: []string{"packs a directory"}, after: []string{"packs a directory", "packs a directory with spaces"},
		},
		{
			name: "Java: a refactoring that moves a class with its test",
			base: files{
				"src/main/java/a/Money.java":     lines("package a;", "", "public class Money {", "  private final long cents;", "  public Money(long cents) { this.cents = cents; }", "  public long cents() { return cents; }", "  public Money plus(Money o) { return new Money(cents + o.cents); }", "}"),
				"src/test/java/a/MoneyTest.java": lines("package a;", "", "class MoneyTest {", "  @Test", "  void adds() {", "    assertEquals(7, new Money(3).plus(new Money(4)).cents());", "  }", "}"),
			},
			change: files{
				"src/main/java/a/Money.java": "-", "src/test/java/a/MoneyTest.java": "-",
				"src/main/java/a/money/Money.java":     lines("package a.money;", "", "public class Money {", "  private final long cents;", "  public Money(long cents) { this.cents = cents; }", "  public long cents() { return cents; }", "  public Money plus(Money o) { return new Money(cents + o.cents); }", "}"),
				"src/test/java/a/money/MoneyTest.java": lines("package a.money;", "", "class MoneyTest {", "  @Test", "  void adds() {", "    assertEquals(7, new Money(3).plus(new Money(4)).cents());", "  }", "}"),
			},
			before: []string{"a.MoneyTest.adds"}, after: []string{"a.money.MoneyTest.adds"},
			severities: []string{"tests-lost"},
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			r := request(s.base, s.base.with(s.change))
			r.Base, r.Head = outcome(s.before...), outcome(s.after...)
			r.Declared = r.Diff.Paths()
			var rules []string
			for _, f := range check(t, r) {
				if f.Severity != note {
					t.Errorf("%s: %+v", f.Severity, f)
				}
				rules = append(rules, f.Rule)
			}
			slices.Sort(rules)
			if !slices.Equal(rules, s.severities) {
				t.Errorf("notes of %v, want %v", rules, s.severities)
			}
		})
	}
}

func TestFindingsAreOrdered(t *testing.T) {
	base := files{"z.go": "package z\n", "go.mod": "module m\n"}
	r := request(base, base.with(files{"go.mod": "module m\n\nrequire example.org/a v1.0.0\n", "CODEOWNERS": "* @x\n", "b.go": "package z\n// " + personal + "\n", "auth/a.go": "package auth\n"}))
	var got []string
	for _, f := range check(t, r) {
		got = append(got, fmt.Sprintf("%s %s", f.Severity, f.File))
	}
	want := []string{"block CODEOWNERS", "block b.go", "approve go.mod", "note auth/a.go"}
	if !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
}

func TestNothingIsAnEmptyList(t *testing.T) {
	if got := check(t, request(files{"a": "a\n"}, files{"a": "a\n"})); got == nil || len(got) != 0 {
		t.Errorf("findings %#v, want an empty list, which JSON writes as []", got)
	}
}

// brokenTree cannot be read.
type brokenTree struct{ files }

var errBroken = errors.New("the object is missing")

func (brokenTree) Read(context.Context, string) ([]byte, error) { return nil, errBroken }

// What cannot be judged is an error, so that nothing is pushed.
func TestUnreadableTreeIsAnError(t *testing.T) {
	g, err := theGuard()
	if err != nil {
		t.Fatal(err)
	}
	r := request(suite, suite.with(edit("cart_test.go", "12", "13")))
	r.HeadTree = brokenTree{}
	if _, err := g.Check(t.Context(), r); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Check(ctx, request(suite, suite.with(edit("cart_test.go", "12", "13")))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestConcurrentChecks(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r := request(suite, suite.with(files{"a.py": "x = '" + personal + "'\n"}))
			if found := of(check(t, r), "secret"); len(found) != 1 {
				t.Errorf("found %+v, want one", found)
			}
		})
	}
	all.Wait()
}

// Foreign texts of any kind must neither stop the guard nor be lost: every rule reads them.
func FuzzCheck(f *testing.F) {
	f.Add("a_test.go", goTests, "package cart\n")
	f.Add("tests/test_a.py", pyTests, "def test_total(")
	f.Add("src/a.test.js", nodeTests, "it('\\")
	f.Add("go.mod", "require (\n", "replace => =>")
	f.Add("pyproject.toml", "[a]\n", "[dependency-groups]\ndev = [1, {a = 2}]")
	g, err := theGuard()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path, before, after string) {
		if path == "" || len(before) > 2000 || len(after) > 2000 {
			t.Skip("longer texts only cost time")
		}
		name, _, _ := plain(path)
		if name == "" {
			t.Skip("no path")
		}
		if _, err := g.Check(t.Context(), request(files{path: before}, files{path: after})); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	g, err := theGuard()
	if err != nil {
		b.Fatal(err)
	}
	base := suite.with(files{"big.go": strings.Repeat("var x = call(\"some text\", 17)\n", 2000)})
	r := request(base, base.with(edit("cart_test.go", "12", "13")).with(files{"big.go": base["big.go"] + strings.Repeat("var y = call(\"other text\", 18)\n", 400)}))
	for b.Loop() {
		if _, err := g.Check(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

var _ loop.Tree = files{}
