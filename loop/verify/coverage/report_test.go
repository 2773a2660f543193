package coverage

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     Format
		want       map[string]map[int]bool
		covered    int
		statements int
		fails      bool
	}{
		{name: "a block that two test binaries name is run when one ran it", format: GoProfile,
			text: "mode: set\nm/a.go:3.2,4.10 2 0\nm/a.go:3.2,4.10 2 1\nm/a.go:6.3,6.9 1 0\n",
			want: map[string]map[int]bool{"m/a.go": {3: true, 4: true, 6: false}}, covered: 2, statements: 3},
		{name: "a line of a run and of an idle block is run", format: GoProfile, text: "mode: atomic\nm/a.go:3.2,4.10 1 7\nm/a.go:4.10,6.3 1 0\n",
			want: map[string]map[int]bool{"m/a.go": {3: true, 4: true, 5: false, 6: false}}, covered: 1, statements: 2},
		{name: "half a profile", format: GoProfile, text: "mode: set\nm/a.go:3.2,4.1", fails: true},
		{name: "a block of all the memory", format: GoProfile, text: "mode: set\nm/a.go:1.1,2000000000.1 1 1\n", fails: true},
		{name: "records of lcov", format: LCOV, text: "TN:\nSF:src/a.js\nFN:1,f\nDA:1,4\nDA:2,0\nDA:3,1e+06,checksum\nend_of_record\nSF:b.js\nDA:1,0\nend_of_record\n",
			want: map[string]map[int]bool{"src/a.js": {1: true, 2: false, 3: true}, "b.js": {1: false}}, covered: 2, statements: 4},
		{name: "a line outside a record", format: LCOV, text: "DA:1,1\n", fails: true},
		{name: "classes of cobertura, below its source", format: Cobertura,
			text: `<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "x.dtd"><coverage><sources><source>/w/src</source></sources><packages><package><classes>` +
				`<class filename="shop/a.py"><methods/><lines><line number="1" hits="1"/><line number="2" hits="0"/></lines></class></classes></package></packages></coverage>`,
			want: map[string]map[int]bool{"/w/src/shop/a.py": {1: true, 2: false}}, covered: 1, statements: 2},
		{name: "another document", format: Cobertura, text: "<html></html>", fails: true},
		{name: "source files of jacoco", format: JaCoCo,
			text: `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd"><report name="x"><package name="com/x">` +
				`<class name="com/x/A" sourcefilename="A.java"><counter type="LINE" missed="1" covered="1"/></class>` +
				`<sourcefile name="A.java"><line nr="3" mi="0" ci="4" mb="0" cb="0"/><line nr="4" mi="2" ci="0" mb="0" cb="0"/></sourcefile></package></report>`,
			want: map[string]map[int]bool{"com/x/A.java": {3: true, 4: false}}, covered: 1, statements: 2},
		{name: "files of coverage.py", format: CoveragePy, text: `{"meta":{},"files":{"shop/a.py":{"executed_lines":[1,3],"missing_lines":[4],"summary":{}}}}`,
			want: map[string]map[int]bool{"shop/a.py": {1: true, 3: true, 4: false}}, covered: 2, statements: 3},
		{name: "JSON of something else", format: CoveragePy, text: `{"a": 1}`, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(c.format, strings.NewReader(c.text))
			if (err != nil) != c.fails {
				t.Fatalf("error %v", err)
			}
			if c.fails {
				return
			}
			if !maps.EqualFunc(got.Files, c.want, func(a, b map[int]bool) bool { return maps.Equal(a, b) }) || got.Covered != c.covered || got.Statements != c.statements {
				t.Errorf("%v, %d of %d; want %v, %d of %d", got.Files, got.Covered, got.Statements, c.want, c.covered, c.statements)
			}
		})
	}
}

// FuzzRead: whatever a report holds, reading it ends, and what it counts fits together.
func FuzzRead(f *testing.F) {
	formats := []Format{GoProfile, Cobertura, LCOV, JaCoCo, CoveragePy}
	for i, text := range []string{
		"mode: set\nm/a.go:3.2,4.10 2 1\n", `<coverage><class filename="a"><line number="1" hits="1"/></class></coverage>`, "SF:a\nDA:1,1\nend_of_record\n",
		`<report><package name="p"><sourcefile name="A"><line nr="1" ci="1"/></sourcefile></package></report>`, `{"files":{"a":{"executed_lines":[1]}}}`,
	} {
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		if len(text) > 1<<16 {
			return
		}
		got, err := Read(formats[int(which)%len(formats)], strings.NewReader(text))
		if err != nil {
			return
		}
		if got.Covered < 0 || got.Covered > got.Statements {
			t.Errorf("%d of %d", got.Covered, got.Statements)
		}
		for file, lines := range got.Files {
			for line := range lines {
				if line < 1 || line > highestLine {
					t.Errorf("line %d of %q", line, file)
				}
			}
		}
	})
}

// TestReadV8: a function that was not called, a branch that was not taken, files that do not count.
func TestReadV8(t *testing.T) {
	source := "exports.half = function (a) {\n  if (a < 0) {\n    return 0; // é😀\n  }\n  return a / 2;\n};\n\nexports.never = () => {\n  return 1;\n};\n"
	at := func(text string) int { // in UTF-16
		before := source[:strings.Index(source, text)]
		return len(utf16.Encode([]rune(before)))
	}
	length := len(utf16.Encode([]rune(source)))
	report := fmt.Sprintf(`{"result":[
		{"url":"node:fs","functions":[{"ranges":[{"startOffset":0,"endOffset":9,"count":1}]}]},
		{"url":"file:///w/other.js","functions":[{"ranges":[{"startOffset":0,"endOffset":9,"count":1}]}]},
		{"url":"file:///w/made%%20of.js","functions":[{"ranges":[{"startOffset":0,"endOffset":9,"count":1}]}]},
		{"url":"file:///w/shop.js","functions":[
			{"ranges":[{"startOffset":0,"endOffset":%d,"count":1}]},
			{"ranges":[{"startOffset":%d,"endOffset":%d,"count":2},{"startOffset":%d,"endOffset":%d,"count":0}]},
			{"ranges":[{"startOffset":%d,"endOffset":%d,"count":0}]}]}],
		"source-map-cache":{"file:///w/made%%20of.js":{}}}`,
		length, at("function (a)"), at(";\n\nexports.never"), at("{\n    return 0"), at("\n  return a"), at("() =>"), length-2)
	got, err := ReadV8(strings.NewReader(report), func(file string) string {
		return map[string]string{"/w/shop.js": source, "/w/made of.js": "x\n"}[file]
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[int]bool{"/w/shop.js": {1: true, 2: true, 3: false, 4: false, 5: true, 6: true, 8: true, 9: false, 10: true}}
	if !reflect.DeepEqual(got.Files, want) {
		t.Errorf("got %v, want %v", got.Files, want)
	}
	if _, err := ReadV8(strings.NewReader(report[:len(report)/2]), func(string) string { return source }); err == nil {
		t.Error("half a report is read")
	}
}

// FuzzReadV8: whatever a process of the tests wrote, reading it ends.
func FuzzReadV8(f *testing.F) {
	f.Add(`{"result":[{"url":"file:///a","functions":[{"ranges":[{"startOffset":-1,"endOffset":3,"count":1}]}]}]}`, "a\n b\n")
	f.Fuzz(func(t *testing.T, text, source string) {
		got, err := ReadV8(strings.NewReader(text), func(string) string { return source })
		if err == nil && got.Covered > got.Statements {
			t.Errorf("%d of %d", got.Covered, got.Statements)
		}
	})
}
