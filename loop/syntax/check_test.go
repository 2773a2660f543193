package syntax_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/loop/syntax"
)

func TestCheckSamples(t *testing.T) {
	for _, s := range samples {
		t.Run(string(s.lang), func(t *testing.T) {
			if lang := syntax.LanguageOf(s.path, []byte(s.src)); lang != s.lang {
				t.Errorf("language of %s is %q", s.path, lang)
			}
			if ok, problems := syntax.Check(s.lang, []byte(s.src)); !ok {
				t.Errorf("the sample does not parse: %v", problems)
			}
			ok, problems := syntax.Check(s.lang, []byte(s.broken))
			if ok || len(problems) == 0 || problems[0].Line < 1 || problems[0].Column < 1 || problems[0].Text == "" {
				t.Errorf("broken text: ok=%v, problems %v", ok, problems)
			}
			if worse, p := syntax.Worse(s.lang, []byte(s.src), []byte(s.broken)); !worse || p.Line == 0 {
				t.Errorf("worse=%v %v for sample → broken", worse, p)
			}
			if worse, _ := syntax.Worse(s.lang, []byte(s.broken), []byte(s.src)); worse {
				t.Error("broken → sample counts as worse")
			}
		})
	}
}

func TestCheckData(t *testing.T) {
	cases := map[string]struct {
		lang syntax.Language
		src  string
		line int // of the first problem; 0: fine
	}{
		"json":                        {syntax.JSON, "{\"a\": [1, 2]}\n", 0},
		"json with byte order mark":   {syntax.JSON, "\ufeff{}\n", 0},
		"json empty":                  {syntax.JSON, " \n", 0},
		"json trailing comma":         {syntax.JSON, "{\n  \"a\": 1,\n}\n", 3},
		"json cut":                    {syntax.JSON, "{\n  \"a\": 1\n", 3},
		"json with more behind":       {syntax.JSON, "{}\n{}\n", 2},
		"yaml":                        {syntax.YAML, "a:\n  - b: 1\n---\nc: 2\n", 0},
		"yaml bad indentation":        {syntax.YAML, "a:\n  b: 1\n c: 2\n", 3},
		"yaml tab":                    {syntax.YAML, "a:\n\t- b\n", 2},
		"yaml workflow expressions":   {syntax.YAML, "a: ${{ github.ref }}\n", 0},
		"yaml template":               {syntax.YAML, "a: b\n{{- if .Values.x }}\nc: d\n{{- end }}\n", 0},
		"yaml unclosed quote":         {syntax.YAML, "a: \"b\nc: d\n", 3},
		"go with byte order mark":     {syntax.Go, "\ufeffpackage a\n", 0},
		"go generic alias":            {syntax.Go, "package a\ntype A[T any] = []T\n", 0},
		"go missing brace":            {syntax.Go, "package a\nfunc f() {\n", 2},
		"python match":                {syntax.Python, "match x:\n    case [1, *_]:\n        pass\n", 0},
		"python 3.12 generics":        {syntax.Python, "type A[T] = list[T]\ndef f[T](x: T) -> T:\n    return x\n", 0},
		"xml":                         {syntax.XML, "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<a b=\"1\"><c/></a>\n", 0},
		"xml unclosed":                {syntax.XML, "<a>\n<b>\n</a>\n", 3},
		"xml of a document type":      {syntax.XML, "<!DOCTYPE a [<!ENTITY x \"y\">]>\n<a>&x;</a>\n", 0},
		"xml template":                {syntax.XML, "{% if x %}<a>{% endif %}\n", 0},
		"unknown text":                {syntax.Unknown, "((((", 0},
		"c function like macros":      {syntax.C, "MODULE_LICENSE(\"GPL\");\nint f(void) {\n  FOREACH(a, b) { g(a); }\n  return 1;\n}\n", 0},
		"invalid utf-8 in a comment":  {syntax.C, "/* \xff\xfe */ int x;\n", 0},
		"source with carriage return": {syntax.JavaScript, "let a = 1;\r\nlet b = [a];\r\n", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ok, problems := syntax.Check(c.lang, []byte(c.src))
			if ok != (c.line == 0) {
				t.Fatalf("ok=%v, problems %v", ok, problems)
			}
			if !ok && problems[0].Line != c.line {
				t.Errorf("problem at line %d, want %d: %v", problems[0].Line, c.line, problems)
			}
		})
	}
}

func TestWorseNamesTheNewProblem(t *testing.T) {
	before := "int a = ;\nint f(void) { return 1; }\n"
	after := "int a = ;\nint f(void) { return (1; }\n"
	worse, p := syntax.Worse(syntax.C, []byte(before), []byte(after))
	if !worse || p.Line != 2 {
		t.Errorf("worse=%v, problem %v; want line 2", worse, p)
	}
	if worse, _ := syntax.Worse(syntax.C, []byte(before), []byte("int b;\n"+before)); worse {
		t.Error("a fault that only moved counts as new")
	}
	if worse, _ := syntax.Worse(syntax.Go, nil, []byte("package")); !worse {
		t.Error("a new file that does not parse is not worse")
	}
}

func TestLanguageOf(t *testing.T) {
	cases := map[string]struct {
		path, head string
		want       syntax.Language
	}{
		"upper case extension":   {"A.PY", "", syntax.Python},
		"windows path":           {`src\a.rs`, "", syntax.Rust},
		"c header":               {"a.h", "struct a { int b; };\n", syntax.C},
		"c++ header":             {"a.h", "namespace a {\n", syntax.CPP},
		"python script":          {"tool", "#!/usr/bin/env -S python3.12 -u\n", syntax.Python},
		"node script":            {"tool", "#!/usr/bin/node\n", syntax.JavaScript},
		"interpreter with space": {"tool", "#! /usr/bin/env FOO=1 ruby\n", syntax.Ruby},
		"shell script":           {"tool", "#!/bin/sh\n", syntax.Unknown},
		"gemfile":                {"Gemfile", "", syntax.Ruby},
		"plain json":             {"package.json", "", syntax.JSON},
		"commented json":         {"tsconfig.build.json", "", syntax.Unknown},
		"editor settings":        {".vscode/extra.json", "", syntax.Unknown},
		"qt translation":         {"app_de.ts", "<?xml version=\"1.0\"?>", syntax.Unknown},
		"dot file":               {".c", "", syntax.Unknown},
		"markdown":               {"README.md", "", syntax.Unknown},
		"go template":            {"a.go.tmpl", "", syntax.Unknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := syntax.LanguageOf(c.path, []byte(c.head)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Texts that would take a careless parser down: deep nesting, scanner limits, size.
func TestHostileTexts(t *testing.T) {
	cases := map[string]struct {
		lang syntax.Language
		src  string
	}{
		"deep brackets":         {syntax.JavaScript, strings.Repeat("[", 200_000)},
		"deep python":           {syntax.Python, strings.Repeat("(", 100_000)},
		"deep indentation":      {syntax.Python, deepPython(600)},
		"long ruby heredoc":     {syntax.Ruby, "x = <<" + strings.Repeat("A", 300) + "\n#{1}\n" + strings.Repeat("A", 300) + "\n"},
		"many ruby heredocs":    {syntax.Ruby, "f(" + strings.Repeat("<<A, ", 400) + "1)\n" + strings.Repeat("#{1}\nA\n", 400)},
		"many php heredocs":     {syntax.PHP, "<?php f(" + strings.Repeat("<<<A\n{$x}\n", 400)},
		"nested c# strings":     {syntax.CSharp, strings.Repeat("$\"{", 400)},
		"long c++ raw string":   {syntax.CPP, "auto x = R\"" + strings.Repeat("d", 300) + "(x)\";"},
		"nul bytes":             {syntax.Go, "package a\x00\x00"},
		"deep yaml":             {syntax.YAML, strings.Repeat("[", 20_000)},
		"yaml alias bomb":       {syntax.YAML, "a: &a [1,1]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"},
		"deep json":             {syntax.JSON, strings.Repeat("[", 100_000)},
		"text beyond the limit": {syntax.C, strings.Repeat("x", syntax.MaxSource+1)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			syntax.Check(c.lang, []byte(c.src))
			syntax.Outline(c.lang, []byte(c.src))
			syntax.References(c.lang, []byte(c.src))
		})
	}
}

func deepPython(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "if x:\n")
	}
	return b.String()
}

func TestConcurrentUse(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		for _, s := range samples {
			group.Go(func() {
				if ok, problems := syntax.Check(s.lang, []byte(s.src)); !ok {
					t.Errorf("%s: %v", s.lang, problems)
				}
				syntax.Outline(s.lang, []byte(s.src))
			})
		}
	}
	group.Wait()
}

func FuzzCheck(f *testing.F) {
	for _, s := range samples {
		f.Add(s.path, []byte(s.src))
		f.Add(s.path, []byte(s.broken))
	}
	f.Fuzz(func(t *testing.T, path string, src []byte) {
		lang := syntax.LanguageOf(path, src)
		ok, problems := syntax.Check(lang, src)
		if ok != (len(problems) == 0) {
			t.Fatalf("ok=%v with problems %v", ok, problems)
		}
		for _, p := range problems {
			if p.Line < 1 {
				t.Fatalf("problem %+v without a line", p)
			}
		}
		for _, s := range syntax.Outline(lang, src) {
			if s.Start < 1 || s.End < s.Start || s.Name == "" {
				t.Fatalf("symbol %+v", s)
			}
		}
		syntax.References(lang, src)
		if worse, p := syntax.Worse(lang, src, src); worse {
			t.Fatalf("a text is worse than itself: %v", p)
		}
	})
}

func BenchmarkCheckMegabyte(b *testing.B) {
	unit := "func f() {\n\tif a > 1 {\n\t\tg(a, \"text\")\n\t}\n}\n\n"
	src := []byte("package a\n\n" + strings.Repeat(unit, 1<<20/len(unit)))
	py := []byte(strings.Repeat("def f(a, b):\n    if a > b:\n        g(a, \"text\")\n\n\n", 1<<20/50))
	for name, c := range map[string]struct {
		lang syntax.Language
		src  []byte
	}{"go": {syntax.Go, src}, "python": {syntax.Python, py}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(c.src)))
			for b.Loop() {
				syntax.Check(c.lang, c.src)
			}
		})
	}
	b.Run("outline", func(b *testing.B) {
		b.SetBytes(int64(len(py)))
		for b.Loop() {
			syntax.Outline(syntax.Python, py)
		}
	})
}
