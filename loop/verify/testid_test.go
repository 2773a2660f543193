package verify

import "testing"

func TestTestIDNamesTheSuiteOnce(t *testing.T) {
	for _, c := range []struct{ name, suite, id, want string }{
		{"Go", "example.com/x", "TestA", "example.com/x.TestA"},
		{"a suite and a test", "src/a.test.js", "adds › one", "src/a.test.js > adds › one"},
		{"Vitest's id begins with the file", "src/a.test.ts", "src/a.test.ts > add > adds", "src/a.test.ts > add > adds"},
		{"PHPUnit's id begins with the class", "CalcTest", "CalcTest::testAdd", "CalcTest::testAdd"},
		{"no suite", "", "adds", "adds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := testID(c.suite, c.id); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
