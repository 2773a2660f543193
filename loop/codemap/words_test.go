package codemap

import (
	"slices"
	"testing"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	cases := []struct {
		name, in string
		want     []string
	}{
		{"camel", "getUserName", []string{"get", "user", "name"}},
		{"pascal", "UserName", []string{"user", "name"}},
		{"snake", "user_name", []string{"user", "name"}},
		{"constant", "MAX_RETRY_COUNT", []string{"max", "retry", "count"}},
		{"acronym first", "HTTPServer", []string{"http", "server"}},
		{"acronym last", "parseJSON", []string{"parse", "json"}},
		{"plural acronym", "userIDs", []string{"user", "ids"}},
		{"digits stay", "sha256Sum", []string{"sha256", "sum"}},
		{"single", "parser", []string{"parser"}},
		{"underscores only", "__", nil},
		{"dunder", "__init__", []string{"init"}},
		{"umlauts", "größeBerechnen", []string{"größe", "berechnen"}},
		{"cyrillic", "имяФайла", []string{"имя", "файла"}},
		{"han pairs", "错误处理", []string{"错误", "误处", "处理"}},
		{"one han", "错", []string{"错"}},
		{"mixed scripts", "parse错误", []string{"parse", "错误"}},
		{"empty", "", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := split(c.in); !slices.Equal(got, c.want) {
				t.Errorf("split(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestTermsMeet(t *testing.T) {
	cases := []struct{ name, a, b string }{
		{"spellings of one name", "fileName", "file_name"},
		{"joined word", "filename", "FileName"},
		{"part of a longer name", "snapshotInterval", "DefaultSnapshotInterval"},
		{"plural", "caches", "cache"},
		{"progressive", "parsing", "parse"},
		{"past", "stopped", "stop"},
		{"ies", "dependencies", "dependency"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, _ := terms(c.a)
			b, _ := terms(c.b)
			if !slices.ContainsFunc(a[len(a)-1:], func(term string) bool { return slices.Contains(b, term) }) {
				t.Errorf("terms %q of %s and %q of %s do not meet", a, c.a, b, c.b)
			}
		})
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"getUserName", "HTTPServer", "错误处理abc", "IDs", "\xff\xfe", "a_b__C", "ß"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, plain := terms(s)
		if plain > len(list) {
			t.Fatalf("%d plain terms of %d", plain, len(list))
		}
		for _, term := range list {
			if term == "" || utf8.ValidString(s) && !utf8.ValidString(term) {
				t.Fatalf("terms(%q) has %q", s, term)
			}
		}
	})
}
