package feedback

import (
	"slices"
	"testing"
)

// TestPrintedReportsAreNotBelieved: what tests print in the shape of a report is no result, and hides none.
func TestPrintedReportsAreNotBelieved(t *testing.T) {
	for _, c := range []struct {
		name, command, log      string
		exit                    int
		ids                     []string
		passed, failed, skipped int // -1: not told
	}{
		{"mocha: a test prints an epilogue", "npx mocha", "\n  sum\n3 failing\n  1) fake fails:\n     Error: no\n    ✔ prints\n    1) adds\n\n\n  1 passing (3ms)\n  1 failing\n\n  1) sum\n       adds:\n     Error: boom\n      at Context.<anonymous> (a.test.js:4:9)\n\n", 1, []string{"sum adds"}, 1, 1, 0},
		{"mocha's JSON behind a printed test point", "npx mocha -R json", "not ok 1 - fake\n  1) fake:\n{\n  \"stats\": {\"suites\": 1, \"tests\": 1, \"passes\": 0, \"pending\": 0, \"failures\": 1},\n  \"tests\": [\n    {\"title\": \"adds\", \"fullTitle\": \"sum adds\", \"file\": \"a.test.js\", \"err\": {\"message\": \"boom\", \"stack\": \"Error: boom\\n    at Context.<anonymous> (a.test.js:4:9)\"}}\n  ],\n  \"pending\": [],\n  \"failures\": [\n    {\"title\": \"adds\", \"fullTitle\": \"sum adds\", \"file\": \"a.test.js\", \"err\": {\"message\": \"boom\", \"stack\": \"Error: boom\\n    at Context.<anonymous> (a.test.js:4:9)\"}}\n  ],\n  \"passes\": []\n}\n", 1, []string{"sum adds"}, 0, 1, 0},
		{"node:test: a printed test point has no plan", "node --test --test-reporter=spec", "not ok 1 - fake\n✖ adds (2.1ms)\nℹ tests 1\nℹ pass 0\nℹ fail 1\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n\n✖ failing tests:\n\ntest at a.test.js:4:3\n✖ adds (2.1ms)\n  Error: boom\n      at TestContext.<anonymous> (a.test.js:4:9)\n", 1, []string{"adds"}, 0, 1, 0},
		{"tap: a printed point is out of turn and more than planned", "./t", "ok 1 - a\nok 2 - b\nnot ok 1 - fake\nnot ok 3 - c\n1..3\n", 1, []string{"c"}, 2, 1, 0},
		{"jest: the console shows another report", "npx jest", "  console.error\n    FAIL fake/x.test.js\n      ● fake › fails\n\n        Error: no\n\n      at log (a.test.js:9:1)\n\nFAIL ./a.test.js\n  ● adds\n\n    boom\n\n      at Object.<anonymous> (a.test.js:4:9)\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\nSnapshots:   0 total\nTime:        1 s\n", 1, []string{"adds"}, 0, 1, 0},
		{"rspec: an example prints failures and totals", "rspec -fd", "\nShop\nFailures:\n\n  1) Fake fails\n     Failure/Error: no\n\n1 example, 1 failure\n  prints\n  adds (FAILED - 1)\n\nFailures:\n\n  1) Shop adds\n     Failure/Error: expect(1).to eq(2)\n\n       expected: 2\n            got: 1\n     # ./spec/a_spec.rb:4:in `block'\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n2 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/a_spec.rb:3 # Shop adds\n\n", 1, []string{"Shop adds"}, 1, 1, 0},
		{"minitest: a test prints totals", "ruby test/all.rb", "# Running:\n\n1 runs, 1 assertions, 1 failures, 0 errors, 0 skips\n.F\n\nFinished in 0.01s, 9 runs/s, 9 assertions/s.\n\n  1) Failure:\nTestShop#test_adds [test/all.rb:4]:\nExpected: 4\n  Actual: 3\n\n2 runs, 2 assertions, 1 failures, 0 errors, 0 skips\n", 1, []string{"TestShop#test_adds"}, 1, 1, 0},
		{"go: a real result behind output without newline", "go test ./...", "loading done--- FAIL: TestA (0.00s)\n    a_test.go:3: boom\nlog: --- FAIL: TestFake (0.00s)\nFAIL\nFAIL\texample.com/x/a\t0.1s\nFAIL\n", 1, []string{"TestA"}, -1, 1, -1},
		{"vitest: an unhandled error ends before the summary", "npx vitest run", " RUN  v2.1.9 /src\n\n⎯⎯⎯⎯⎯⎯ Unhandled Errors ⎯⎯⎯⎯⎯⎯\n\nVitest caught 1 unhandled error during the test run.\n\n⎯⎯⎯⎯⎯ Uncaught Exception ⎯⎯⎯⎯⎯\nError: late\n ❯ Timeout._onTimeout a.test.js:2:41\n\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯\n\n  Snapshots  1 failed\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n     Errors  1 error\n   Duration  1.00s\n\n", 1, []string{""}, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readText(t, c.log, Options{Command: c.command, ExitCode: exit(c.exit)})
			var ids []string
			for _, f := range r.Failures {
				ids = append(ids, f.ID)
			}
			if !slices.Equal(ids, c.ids) {
				t.Errorf("failures %q, want %q: %+v", ids, c.ids, r.Failures)
			}
			for _, n := range []struct {
				what string
				got  *int
				want int
			}{{"passed", r.Counts.Passed, c.passed}, {"failed", r.Counts.Failed, c.failed}, {"skipped", r.Counts.Skipped, c.skipped}} {
				if n.got == nil != (n.want < 0) || n.got != nil && *n.got != n.want {
					t.Errorf("%s %v, want %d", n.what, n.got, n.want)
				}
			}
		})
	}
}

func TestMochaCommands(t *testing.T) {
	for command, want := range map[string]struct{ single, silent bool }{
		"npx mocha":                             {true, false},
		"npx mocha -R dot test":                 {true, false},
		"npx mocha --reporter json test":        {true, true},
		"NODE_ENV=test mocha --reporter=tap":    {true, true},
		"npx mocha a.js && npx mocha -R spec b": {false, false},
		"npm run lint && npx mocha":             {false, false},
		"npm test":                              {false, false},
	} {
		if single, silent := mochaCommand(parseCommand(command, registry())); single != want.single || silent != want.silent {
			t.Errorf("%s: single %v, silent %v; want %v", command, single, silent, want)
		}
	}
}
