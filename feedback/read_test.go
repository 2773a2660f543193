package feedback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the reports under testdata")

// fixtureArgs is what testdata/NAME.args holds about the run that wrote NAME.log.
type fixtureArgs struct {
	Command string `json:"command"`
	Exit    int    `json:"exit"`
	Root    string `json:"root"`
}

// TestFixtures reads real logs of small broken projects; the reports beside them were checked against the projects.
func TestFixtures(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, log := range logs {
		base := strings.TrimSuffix(log, ".log")
		t.Run(filepath.Base(base), func(t *testing.T) {
			var args fixtureArgs
			raw, err := os.ReadFile(base + ".args")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &args); err != nil {
				t.Fatal(err)
			}
			in, err := os.Open(log)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			r, err := Read(context.Background(), in, Options{Command: args.Command, ExitCode: &args.Exit, Root: args.Root})
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, r)
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(r); err != nil {
				t.Fatal(err)
			}
			golden := base + ".json"
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, b.Bytes()) {
				t.Errorf("report differs from %s (run with -update and look at the difference):\n%s", golden, b.String())
			}
		})
	}
}

// checkReport holds every report to what all of them promise.
func checkReport(t *testing.T, r Report) {
	t.Helper()
	switch r.Status {
	case StatusPass, StatusFail, StatusError:
	default:
		t.Errorf("status %q", r.Status)
	}
	switch r.Class {
	case ClassCode, ClassEnvironment, ClassTimeout, ClassOOM, ClassFlaky, ClassInfrastructure, ClassNone:
	default:
		t.Errorf("class %q", r.Class)
	}
	if r.Rule == "" || r.Tool == "" || r.Summary == "" {
		t.Errorf("rule %q, tool %q, summary %q: none may be empty", r.Rule, r.Tool, r.Summary)
	}
	if r.Failures == nil {
		t.Error("failures is null")
	}
	for _, f := range r.Failures {
		if r.Status == StatusPass && f.Class != ClassFlaky {
			t.Errorf("passed with a failure: %+v", f)
		}
		if n := len([]rune(f.Message)); n > 600 {
			t.Errorf("message of %s has %d characters", f.ID, n)
		}
		if strings.ContainsAny(f.Message+f.ID+f.File, "\x00\x1b\r") {
			t.Errorf("control characters in %q %q %q", f.ID, f.File, f.Message)
		}
		if f.Line < 0 {
			t.Errorf("line %d", f.Line)
		}
	}
}

// want is what a case expects of a failure; empty fields are not looked at.
type want struct {
	id, file string
	line     int
	says     string
	expected string
	actual   string
	kind     Kind
}

func readText(t *testing.T, text string, o Options) Report {
	t.Helper()
	r, err := Read(context.Background(), strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, r)
	return r
}

func exit(n int) *int { return &n }

// TestRead holds what the readers must get right beyond the fixtures.
func TestRead(t *testing.T) {
	cases := []struct {
		name    string
		log     string
		command string
		exit    int
		root    string
		status  Status
		class   Class
		rule    string
		want    []want
	}{
		{"go: output that looks like results is not believed", "=== RUN   TestA\n--- FAIL: TestGhost (0.00s)\n--- PASS: TestA (0.00s)\nPASS\nok  \texample.com/x\t0.1s\n", "go test -v ./...", 0, "", StatusPass, ClassNone, "all-green", nil},
		{"go: result glued to output", "=== RUN   TestA\nabc--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/x/a\t0.1s\n", "go test -v ./...", 1, "", StatusFail, ClassCode, "kind-test", []want{{id: "TestA"}}},
		{"go: a service is down before any test", "dial tcp 127.0.0.1:5432: connect: connection refused\nFAIL\texample.com/x/db\t0.1s\nFAIL\n", "go test ./...", 1, "", StatusError, ClassEnvironment, "service-down", []want{{id: "example.com/x/db", says: "connection refused", kind: KindSetup}}},
		{"go: same test passes and fails", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestA\n    a_test.go:3: got 1, want 2\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/x/a\t0.1s\n", "go test -count=2 -v ./...", 1, "", StatusFail, ClassFlaky, "failed-then-passed", []want{{id: "TestA", file: "a/a_test.go", line: 3, expected: "2", actual: "1"}}},
		{"go: compile error with continuation", "# example.com/x/a\na/a.go:3:5: too many arguments in call to F\n\thave (number, number)\n\twant (int)\n", "go build ./...", 1, "", StatusError, ClassCode, "kind-compile", []want{{file: "a/a.go", line: 3, says: "want (int)"}}},
		{"go: version of the toolchain", "go: go.mod requires go >= 1.99 (running go 1.26; GOTOOLCHAIN=local)\n", "go build ./...", 1, "", StatusError, ClassEnvironment, "kind-install", []want{{says: "requires go >= 1.99"}}},
		{"go: module's archive not there", "a.go:25:2: example.com/dep@v1.2.3: reading https://proxy.example/dep/@v/v1.2.3.zip: 404 Not Found\n", "go build ./...", 1, "", StatusError, ClassEnvironment, "", []want{{file: "a.go", line: 25, says: "404 Not Found"}}},
		{"go: module not reachable", "go: example.com/dep@v1.2.3: Get \"https://proxy.example/x\": dial tcp: lookup proxy.example: no such host\n", "go mod download", 1, "", StatusError, ClassEnvironment, "", []want{{says: "no such host"}}},
		{"go: import cycle", "package example.com/x/a\n\timports example.com/x/b\n\timports example.com/x/a: import cycle not allowed\n", "go build ./...", 1, "", StatusError, ClassCode, "", []want{{says: "import cycle not allowed"}}},
		{"pytest: collection error of the project's own module", "==== ERRORS ====\n____ ERROR collecting tests/test_a.py ____\ntests/test_a.py:1: in <module>\n    from shop.cartt import x\nE   ModuleNotFoundError: No module named 'shop.cartt'\n==== short test summary info ====\nERROR tests/test_a.py\n==== 1 error in 0.10s ====\n", "pytest", 2, "/src/shop", StatusError, ClassCode, "own-module-missing", []want{{id: "tests/test_a.py", file: "tests/test_a.py", line: 1}}},
		{"pytest: a third party's module", "==== ERRORS ====\n____ ERROR collecting tests/test_a.py ____\ntests/test_a.py:1: in <module>\n    import yaml\nE   ModuleNotFoundError: No module named 'yaml'\n==== short test summary info ====\nERROR tests/test_a.py\n==== 1 error in 0.10s ====\n", "pytest", 2, "/src/shop", StatusError, ClassEnvironment, "third-party-module-missing", []want{{id: "tests/test_a.py"}}},
		{"pytest: killed in the middle", "==== test session starts ====\ncollected 2 items\n\ntest_a.py::test_one PASSED   [ 50%]\ntest_a.py::test_two ", "pytest -v", 137, "", StatusError, ClassOOM, "kind-oom", []want{{id: "test_a.py::test_two", file: "test_a.py", says: "Killed"}}},
		{"pytest: coverage gate", ".  [100%]\nFAIL Required test coverage of 90% not reached. Total coverage: 50.00%\n1 passed in 0.04s\n", "pytest -q --cov-fail-under=90", 1, "", StatusFail, ClassCode, "kind-gate", []want{{kind: KindGate, says: "90%"}}},
		{"make runs pytest", "pytest -q\nF [100%]\n==== FAILURES ====\n____ test_a ____\n\n    def test_a():\n>       assert f() == 2\nE       assert 1 == 2\n\ntest_a.py:3: AssertionError\n==== short test summary info ====\nFAILED test_a.py::test_a - assert 1 == 2\n1 failed in 0.01s\nmake: *** [Makefile:2: test] Error 1\n", "make test", 2, "", StatusFail, ClassCode, "kind-test", []want{{id: "test_a.py::test_a", file: "test_a.py", line: 3, expected: "2", actual: "1"}}},
		{"jest: coverage threshold is a gate", "PASS a.test.js\nJest: \"global\" coverage threshold for lines (90%) not met: 40%\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\nTime:        1 s\n", "npx jest", 1, "", StatusFail, ClassCode, "kind-gate", []want{{says: "threshold"}}},
		{"npm: registry does not know it", "npm error code E404\nnpm error 404 Not Found - GET http://r/x - Not found\nnpm error 404  'x@^2' is not in this registry.\nnpm error A complete log of this run can be found in: /h/x.log\n", "npm install", 1, "", StatusError, ClassEnvironment, "kind-install", []want{{id: "E404", says: "code E404"}}},
		{"npm: broken manifest", "npm error code EJSONPARSE\nnpm error JSON.parse Invalid package.json: Expected double-quoted property name\n", "npm test", 1, "", StatusError, ClassCode, "kind-config", []want{{file: "package.json"}}},
		{"npm runs tsc, then jest never", "\n> x@1.0.0 build\n> tsc\n\nsrc/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 2\n", "npm run build", 2, "", StatusFail, ClassCode, "kind-type", []want{{id: "TS2322", file: "src/a.ts", line: 3}}},
		{"eslint: warnings over the maximum", "\n/src/x/a.js\n  1:5  warning  Unexpected console statement  no-console\n\n✖ 1 problem (0 errors, 1 warning)\n\nESLint found too many warnings (maximum: 0).\n", "npx eslint --max-warnings 0 .", 1, "/src/x", StatusFail, ClassCode, "", []want{{id: "no-console", file: "a.js", line: 1}, {kind: KindGate}}},
		{"tsc: cascade of one syntax error", "a.ts(1,2): error TS1005: ',' expected.\na.ts(1,5): error TS1005: ')' expected.\n", "npx tsc", 2, "", StatusError, ClassCode, "kind-compile", []want{{file: "a.ts", line: 1}}},
		{"prove -v: told once, with its place", "t/a.t ..\n1..2\nok 1 - a\nnot ok 2 - b\n#   Failed test 'b'\n#   at t/a.t line 5.\n#          got: 1\n#     expected: 2\n# Looks like you failed 1 test of 2.\nDubious, test returned 1 (wstat 256, 0x100)\nFailed 1/2 subtests\nmake: *** [Makefile:3: test] Error 1\n", "", 2, "", StatusFail, ClassCode, "kind-test", []want{{id: "b", file: "t/a.t", line: 5, expected: "2", actual: "1"}}},
		{"tap: nested parents do not count", "TAP version 13\n# Subtest: a\n    # Subtest: b\n    not ok 1 - b\n      ---\n      error: 'x'\n      location: '/src/x/a.js:3:1'\n      ...\n    1..1\nnot ok 1 - a\n  ---\n  failureType: 'subtestsFailed'\n  ...\n1..1\n", "prove", 1, "/src/x", StatusFail, ClassCode, "kind-test", []want{{id: "a > b", file: "a.js", line: 3}}},
		{"tap: plan not kept", "TAP version 13\n1..3\nok 1 - a\n", "./run", 1, "", StatusError, ClassCode, "kind-crash", []want{{says: "planned 3 tests and ran 1 test"}}},
		{"signal without a word", "", "./t", 139, "", StatusError, ClassCode, "kind-crash", []want{{says: "SIGSEGV"}}},
		{"time limit of timeout(1)", "working\n", "timeout 5 ./t", 124, "", StatusError, ClassTimeout, "kind-timeout", []want{{says: "124"}}},
		{"disk full is the machine's", "cp: write error: No space left on device\n", "./build.sh", 1, "", StatusError, ClassInfrastructure, "disk-full", []want{{says: "No space left"}}},
		{"command not found", "sh: 1: jest: not found\n", "npm test", 127, "", StatusError, ClassEnvironment, "program-missing", []want{{says: "jest: not found"}}},
		{"a handled traceback does not count", "ERROR:root:handled\nTraceback (most recent call last):\n  File \"/src/x/a.py\", line 1, in <module>\nZeroDivisionError: division by zero\ngoing on\ndone\nall fine\nreally\nyes\nok\nbye\nTraceback (most recent call last):\n  File \"/src/x/b.py\", line 7, in f\n    g()\nValueError: bad\n", "python a.py", 1, "/src/x", StatusError, ClassCode, "kind-crash", []want{{file: "b.py", line: 7, says: "ValueError: bad"}}},
		{"exit 0 with a failing summary is not a pass", "F [100%]\n==== short test summary info ====\nFAILED a.py::t - assert 1 == 2\n1 failed in 0.1s\n", "pytest -q || true", 0, "", StatusFail, ClassCode, "kind-test", []want{{id: "a.py::t"}}},
		{"exit 1 with all green is a gate", "..  [100%]\n2 passed in 0.1s\n", "pytest -q && ./gate", 1, "", StatusFail, ClassCode, "kind-gate", []want{{kind: KindGate}}},
		{"frightening words of a passing program", "ERROR: could not connect, retrying\nFATAL: connection refused\ndone\n", "./run.sh", 0, "", StatusPass, ClassNone, "all-green", nil},
		{"colours, timestamps and containers", "web-1  | \x1b[31ma.go:3:2: undefined: x\x1b[0m\nweb-1  | # example.com/x\nweb-1  | a.go:4:2: undefined: y\nweb-1  | bye\n", "docker compose up", 1, "", StatusError, ClassCode, "kind-compile", []want{{file: "a.go", line: 3}, {file: "a.go", line: 4}}},
		{"invalid UTF-8", "\xff\xfe a_test\n--- FAIL: TestA (0.00s)\n    a_test.go:3: got \xff\nFAIL\nFAIL\texample.com/x/a\t0.1s\n", "go test ./...", 1, "", StatusFail, ClassCode, "", []want{{id: "TestA", line: 3}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := readText(t, c.log, Options{Command: c.command, ExitCode: exit(c.exit), Root: c.root})
			if r.Status != c.status || r.Class != c.class {
				t.Errorf("status %s, class %s (%s); want %s, %s", r.Status, r.Class, r.Rule, c.status, c.class)
			}
			if c.rule != "" && r.Rule != c.rule {
				t.Errorf("rule %s, want %s", r.Rule, c.rule)
			}
			if len(r.Failures) != len(c.want) {
				t.Fatalf("%d failures, want %d: %+v", len(r.Failures), len(c.want), r.Failures)
			}
			for i, w := range c.want {
				checkFailure(t, r.Failures[i], w)
			}
		})
	}
}

func checkFailure(t *testing.T, f Failure, w want) {
	t.Helper()
	value := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	switch {
	case w.id != "" && f.ID != w.id:
		t.Errorf("id %q, want %q", f.ID, w.id)
	case w.file != "" && f.File != w.file, w.line != 0 && f.Line != w.line:
		t.Errorf("%s at %s:%d, want %s:%d", f.ID, f.File, f.Line, w.file, w.line)
	case !strings.Contains(f.Message, w.says):
		t.Errorf("message %q does not say %q", f.Message, w.says)
	case w.expected != "" && value(f.Expected) != w.expected, w.actual != "" && value(f.Actual) != w.actual:
		t.Errorf("expected %q actual %q, want %q and %q", value(f.Expected), value(f.Actual), w.expected, w.actual)
	case w.kind != "" && f.Kind != w.kind:
		t.Errorf("kind %s, want %s", f.Kind, w.kind)
	}
}

// TestRunnerFacts: what the caller knows outranks the log.
func TestRunnerFacts(t *testing.T) {
	log := "ok  \texample.com/x\t0.1s\n"
	for name, c := range map[string]struct {
		o    Options
		want Class
	}{
		"killed for time":   {Options{TimedOut: true, ExitCode: exit(1)}, ClassTimeout},
		"killed for memory": {Options{OOMKilled: true, ExitCode: exit(137)}, ClassOOM},
	} {
		t.Run(name, func(t *testing.T) {
			if r := readText(t, log, c.o); r.Class != c.want || r.Status != StatusError || len(r.Failures) != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestCases: every test the log tells of is listed, with what happened to it.
func TestCases(t *testing.T) {
	r := readText(t, "=== RUN   TestA\n--- PASS: TestA (0.25s)\n=== RUN   TestB\n--- SKIP: TestB (0.00s)\n=== RUN   TestA\n--- FAIL: TestA (0.25s)\nFAIL\nFAIL\texample.com/x/a\t0.1s\n", Options{Command: "go test -v ./...", ExitCode: exit(1), Cases: true})
	if len(r.Cases) != 2 {
		t.Fatalf("%+v", r.Cases)
	}
	a, b := r.Cases[0], r.Cases[1]
	if a.ID != "TestA" || a.Suite != "example.com/x/a" || a.Status != CaseFailed || !a.Flaky || a.Duration.Milliseconds() != 500 {
		t.Errorf("%+v", a)
	}
	if b.ID != "TestB" || b.Status != CaseSkipped || b.Flaky {
		t.Errorf("%+v", b)
	}
}

// TestBudget: messages are shortened before failures are left out, and what is left out is counted.
func TestBudget(t *testing.T) {
	var b strings.Builder
	const n = 300
	for i := range n {
		fmt.Fprintf(&b, "src/a.ts(%d,1): error TS2322: %s\n", i+1, strings.Repeat("long text ", 40))
	}
	small := readText(t, b.String(), Options{Command: "tsc", ExitCode: exit(2), Budget: 2000})
	if small.Omitted == 0 || !small.Truncated || len(small.Failures) == 0 {
		t.Errorf("omitted %d, truncated %v, %d failures", small.Omitted, small.Truncated, len(small.Failures))
	}
	for _, f := range small.Failures {
		if len([]rune(f.Message)) > minMessage {
			t.Errorf("message of %d characters under a short budget", len(f.Message))
		}
	}
}

// TestSurvival: no log, however broken, may fail to be read, and what is real in it is found.
func TestSurvival(t *testing.T) {
	long := strings.Repeat("x", 400<<10)
	cases := map[string]struct {
		log  string
		exit int
		n    int
	}{
		"empty":                           {"", 0, 0},
		"binary":                          {strings.Repeat("\x00\x01\x7fELF\xff\n", 2000), 0, 0},
		"long line before a real failure": {long + "\n--- FAIL: TestA (0.00s)\n    a_test.go:3: boom\nFAIL\nFAIL\tx/a\t0.1s\n", 1, 1},
		"long line in a failure":          {"--- FAIL: TestA (0.00s)\n    a_test.go:3: " + long + "\nFAIL\nFAIL\tx/a\t0.1s\n", 1, 1},
		"cut in the middle of JSON":       {`[{"filePath":"/a.js","messages":[{"ruleId":"r","severity":2,"message":"m","line":3},{"ruleId":"s","sev`, 1, 1},
		"cut in the middle of XML":        {"<testsuite name=\"s\"><testcase name=\"a\"><failure message=\"m\">x</failure></testcase><testcase na", 1, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := readText(t, c.log, Options{ExitCode: &c.exit})
			if len(r.Failures) != c.n {
				t.Errorf("%d failures, want %d: %+v", len(r.Failures), c.n, r.Failures)
			}
		})
	}
}

func TestUnknownTool(t *testing.T) {
	_, err := Read(context.Background(), strings.NewReader(""), Options{Tool: "nope"})
	if !errors.Is(err, ErrUnknownTool) {
		t.Errorf("got %v", err)
	}
}

// TestDeterministic: two readings of a log are the same.
func TestDeterministic(t *testing.T) {
	raw, err := os.ReadFile("testdata/jest.log")
	if err != nil {
		t.Fatal(err)
	}
	one := readText(t, string(raw), Options{Cases: true})
	two := readText(t, string(raw), Options{Cases: true})
	a, _ := json.Marshal(one)
	b, _ := json.Marshal(two)
	if !bytes.Equal(a, b) {
		t.Error("the same log gives two reports")
	}
}

// FuzzRead: anything can be read, and every report keeps its promises.
func FuzzRead(f *testing.F) {
	logs, _ := filepath.Glob("testdata/*.log")
	for _, l := range logs {
		if raw, err := os.ReadFile(l); err == nil && len(raw) < 20<<10 {
			f.Add(raw, "", 1)
		}
	}
	f.Add([]byte("--- FAIL: TestA (0.00s)\r\n\x1b[31m    a_test.go:3: x"), "go test", 1)
	f.Add([]byte("<testsuite><testcase><![CDATA["), "", 0)
	f.Fuzz(func(t *testing.T, raw []byte, command string, code int) {
		r, err := Read(context.Background(), bytes.NewReader(raw), Options{Command: command, ExitCode: &code, Root: "/src"})
		if err != nil {
			t.Fatal(err)
		}
		checkReport(t, r)
	})
}
