package feedback

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sourcePatterns are the expressions of all patterns in the package's files, by their place.
func sourcePatterns(t testing.TB) map[string]string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	set := token.NewFileSet()
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(set, f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "newPattern" {
				return true
			}
			place := set.Position(call.Pos()).String()
			expr, ok := literal(call.Args[0])
			if !ok {
				t.Errorf("%s: the expression is not made of literals, so no test can compile it", place)
			}
			found[place] = expr
			return true
		})
	}
	return found
}

// literal is the value of string literals joined by +.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, okX := literal(e.X)
		y, okY := literal(e.Y)
		return x + y, okX && okY && e.Op == token.ADD
	}
	return "", false
}

// A pattern is compiled when it is first used, so a wrong one would be found by a user.
func TestPatternsCompile(t *testing.T) {
	found := sourcePatterns(t)
	if len(found) < 300 {
		t.Fatalf("only %d patterns were found in the sources", len(found))
	}
	for place, expr := range found {
		if _, err := regexp.Compile(expr); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func TestPatternConditions(t *testing.T) {
	for name, c := range map[string]struct {
		expr     string
		may      []string
		cannot   []string
		anything bool // nothing is known that a match must hold
	}{
		"literal":              {expr: `FAIL`, may: []string{"a FAIL"}, cannot: []string{"", "pass"}},
		"tied to the start":    {expr: `^--- (FAIL|PASS)`, may: []string{"--- FAIL"}, cannot: []string{"", "x --- FAIL", "=== RUN"}},
		"longest text":         {expr: `^.*:\d+: error: `, may: []string{"a:1: error: b"}, cannot: []string{"a:1: warning"}},
		"alternatives":         {expr: `one|two`, may: []string{"a two"}, cannot: []string{"three"}},
		"one may be empty":     {expr: `one|`, may: []string{"", "x"}, anything: true},
		"optional":             {expr: `(?:one)?\d*`, may: []string{"", "x"}, anything: true},
		"small class":          {expr: `[✓✗] `, may: []string{"✗ a"}, cannot: []string{"a b"}},
		"case is folded":       {expr: `(?i)kill`, may: []string{"KILL", "\u212aill"}, anything: true},
		"folded at the start":  {expr: `(?i)^k`, may: []string{"K", "k", "\u212a"}, cannot: []string{"x"}},
		"invalid UTF-8":        {expr: `^[^a-z]`, may: []string{"\xff", "A"}, cannot: []string{"a"}},
		"invalid as a literal": {expr: "\ufffd", may: []string{"\xff"}, anything: true},
		"each line":            {expr: `(?m)^a`, may: []string{"b\na"}, cannot: []string{"b"}},
		"word border":          {expr: `^\bab`, may: []string{"ab"}, cannot: []string{"b"}},
		"repeated":             {expr: `(?:ab){2,}`, may: []string{"abab"}, cannot: []string{"ba"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPattern(c.expr)
			for _, s := range c.may {
				if !p.may(s) {
					t.Errorf("%q: passed over, though it may match", s)
				}
				if !p.MatchString(s) {
					t.Errorf("%q: does not match", s)
				}
			}
			for _, s := range c.cannot {
				if p.may(s) {
					t.Errorf("%q: not passed over", s)
				}
			}
			if c.anything && len(p.needs) > 0 {
				t.Errorf("needs %q", p.needs)
			}
		})
	}
}

// agree compares what the automaton of a pattern says of a text with what the regular expression does.
func agree(t *testing.T, place string, p *pattern, plain *regexp.Regexp, s string) {
	t.Helper()
	p.once.Do(p.compile)
	if p.automaton.Load() == nil {
		p.automaton.Store(newAutomaton(p.prog))
	}
	a := p.automaton.Load()
	if a == nil {
		return
	}
	if got, certain := a.match(s); certain && got != plain.MatchString(s) {
		t.Errorf("%s: the automaton says %v of %q", place, got, s)
	}
}

func TestAutomatonsAgreeWithTheExpressions(t *testing.T) {
	lines := []string{"", "\n", "a\nb", "\xff", "é", "\u2713 a", "K\u212a", "--- FAIL: TestA (0.00s)\n"}
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil || len(logs) == 0 {
		t.Fatalf("%v, %d logs", err, len(logs))
	}
	const each, longest = 40, 400 // lines of a log, bytes of a line: enough to meet every kind of line
	for _, file := range logs {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Split(string(text), "\n")
		for i := 0; i < len(all); i += max(1, len(all)/each) {
			lines = append(lines, all[i][:min(len(all[i]), longest)])
		}
	}
	without := 0
	for place, expr := range sourcePatterns(t) {
		p, plain := newPattern(expr), regexp.MustCompile(expr)
		for _, l := range lines {
			agree(t, place, p, plain, l)
		}
		if a := p.automaton.Load(); a == nil || a.spent.Load() {
			t.Logf("%s: no automaton", place)
			without++
		}
	}
	if without > 10 {
		t.Errorf("%d patterns are without an automaton", without)
	}
}

// FuzzPatterns compares each pattern of the package with the plain regular expression.
func FuzzPatterns(f *testing.F) {
	type both struct {
		place string
		quick *pattern
		plain *regexp.Regexp
	}
	var all []both
	for place, expr := range sourcePatterns(f) {
		all = append(all, both{place, newPattern(expr), regexp.MustCompile(expr)})
	}
	for _, s := range []string{"", "--- FAIL: TestA (0.00s)", "a.go:1:2: error: b", "\xff\xfe", "E   assert 1 == 2", "ＦＡＩＬ K", "error[E0308]: mismatched types\n --> src/a.rs:1:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range all {
			agree(t, p.place, p.quick, p.plain, s)
			if got, want := p.quick.MatchString(s), p.plain.MatchString(s); got != want {
				t.Errorf("%s: %q matches: %v, want %v", p.place, s, got, want)
			}
		}
	})
}
