package feedback

import "testing"

// TestFrighteningWords: passing runs whose tests, programs and loggers print the words of failures are green.
func TestFrighteningWords(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"/src/app.py\", line 3, in run\n    boom()\nValueError: boom\n"
	const goroutine = "panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1d\n"
	const javaTrace = "java.lang.IllegalStateException: boom\n\tat shop.Fake.x(Fake.java:3)\n"
	const stack = "Error: boom\n    at Object.x (/src/a.js:3:1)\n    at Module._compile (node:internal/modules/cjs/loader:1:1)\n"
	for _, c := range []struct{ name, command, log string }{
		{"go: a panic and a fake report", "go test ./...", "--- FAIL: TestFake (0.00s)\nFAIL\nFAIL\texample.com/x\t0.1s\n" + goroutine + "ok  \texample.com/shop\t0.01s\n"},
		{"go -v: log lines of errors", "go test -v ./...", "=== RUN   TestReportsFAIL\n2026/03/04 10:00:00 ERROR: connection refused\nFAIL: fake\n" + goroutine + "    a_test.go:4: error: expected\n--- PASS: TestReportsFAIL (0.00s)\nPASS\nok  \texample.com/shop\t0.01s\n"},
		{"go: packages with FAIL in their names", "go test ./...", "ok  \texample.com/shop/FAIL\t0.01s\nok  \texample.com/shop/errors\t0.01s\n?   \texample.com/shop/panic\t[no test files]\n"},
		{"pytest: deprecations and test names", "pytest", "============================= test session starts ==============================\ncollected 2 items\n\ntests/test_error.py ..                                                   [100%]\n\n=============================== warnings summary ===============================\ntests/test_error.py::test_reports_FAILED\n  /src/a.py:3: DeprecationWarning: error() is deprecated, it FAILED often\n    error()\n\n-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html\n======================== 2 passed, 1 warning in 0.02s =========================\n"},
		{"pytest -s: a traceback and a fake summary", "pytest -s", "============================= test session starts ==============================\ncollected 1 item\n\ntests/test_a.py " + trace + "FAILED tests/test_b.py::test_x - ValueError\n=== 1 failed in 0.1s ===\n.\n\n============================== 1 passed in 0.02s ===============================\n"},
		{"pytest -v: live log", "pytest -v", "============================= test session starts ==============================\ncollected 1 item\n\ntests/test_a.py::test_error_is_FAILED \n-------------------------------- live log call ---------------------------------\nERROR    shop:a.py:3 boom FAILED\nPASSED                                                                   [100%]\n\n============================== 1 passed in 0.02s ===============================\n"},
		{"unittest: a fake block", "python -m unittest", "FAIL: test_fake (tests.test_a.A)\n" + trace + "ERROR:root:something failed\n..\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nOK\n"},
		{"jest: console.error of a passing test", "npx jest", "  console.error\n    " + "Error: boom\n        at Object.x (/src/a.js:3:1)\n\n      2 | test('reports FAIL', () => {\n    > 3 |   console.error(new Error('boom'));\n        |           ^\n\n      at Object.error (a.test.js:3:11)\n\nPASS ./a.test.js\n  ✓ reports FAIL (3 ms)\n  ✓ ● error › fails (1 ms)\n\nTest Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\nSnapshots:   0 total\nTime:        1 s\n"},
		{"jest: a printed stack", "npx jest", stack + "FAIL fake/x.test.js\nPASS ./a.test.js\n\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\nSnapshots:   0 total\nTime:        1 s\n"},
		{"vitest: stderr of a passing test", "npx vitest run", " RUN  v2.1.9 /src\n\nstderr | a.test.js > reports FAIL\nError: boom\n    at /src/a.test.js:3:11\n\n ✓ a.test.js (1 test) 3ms\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n   Start at  10:00:00\n   Duration  300ms\n\n"},
		{"mocha: a fake epilogue", "npx mocha", "\n\n  errors\n\n\n  3 passing (3ms)\n  1 failing\n\n  1) fake\n       fails:\n     Error: no\n      at x (fake.js:3:1)\n\n\n" + stack + "    ✔ reports FAIL: 1 failing\n    ✔ two\n\n\n  2 passing (4ms)\n\n"},
		{"node --test: errors in names and output", "node --test", "✖ fake\n" + stack + "✔ reports ✖ failing tests (1.2ms)\n✔ Error: not thrown (0.2ms)\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 50\n"},
		{"node a.test.js: a fake first point", "node a.test.js", "not ok 1 - fake\n  ---\n  error: no\n  ...\nTAP version 13\n# Subtest: works\nok 1 - works\n  ---\n  duration_ms: 1.2\n  ...\n1..1\n# tests 1\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n"},
		{"cargo test: output of should_panic", "cargo test", "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.01s\n     Running unittests src/lib.rs (target/debug/deps/shop-0a1b)\n\nrunning 2 tests\nthread 'tests::panics' panicked at src/lib.rs:9:5:\nboom\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\ntest tests::panics - should panic ... ok\ntest tests::error_is_FAILED ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"},
		{"rspec: names and output", "rspec -fd", "\nErrors\nERROR -- : connection failed\n  fails with FAILED\n  raises an error\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n2 examples, 0 failures\n\n"},
		{"minitest: output", "ruby test/all.rb", "# Running:\n\nE, [2026-03-04T10:00:00.000000 #1] ERROR -- : failed\n..\n\nFinished in 0.01s, 200 runs/s, 200 assertions/s.\n\n2 runs, 2 assertions, 0 failures, 0 errors, 0 skips\n"},
		{"phpunit: output", "phpunit tests", "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\n\nERROR: x\nThere was 1 failure:\n\n1) Fake::testX\nFailed asserting\n.                                                                   1 / 1 (100%)\n\nTime: 00:00.005, Memory: 4.00 MB\n\nOK (1 test, 1 assertion)\n"},
		{"mix: an error of the compiler's shape", "mix test", "error: x\n** (RuntimeError) printed\n    lib/shop.ex:3: x\n.\nFinished in 0.07 seconds (0.00s async, 0.07s sync)\n1 test, 0 failures\n\nRandomized with seed 1\n"},
		{"mix: the logger speaks after the end", "mix test", ".\nFinished in 0.07 seconds (0.00s async, 0.07s sync)\n1 test, 0 failures\n\nRandomized with seed 1\n\n10:00:00.000 [error] Process #PID<0.2.0> raised an exception\n** (RuntimeError) in process\n    test/a_test.exs:7: anonymous fn/0\n"},
		{"maven: output of tests", "mvn -B test", "[INFO] Scanning for projects...\n[INFO] -------------------------------------------------------\n[INFO]  T E S T S\n[INFO] -------------------------------------------------------\n[INFO] Running shop.OkTest\nERROR: fine\n" + javaTrace + "Exception in thread \"x\" java.lang.Error\n[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s - in shop.OkTest\n[INFO] \n[INFO] Results:\n[INFO] \n[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n[INFO] \n[INFO] BUILD SUCCESS\n"},
		{"gradle: output of tests", "./gradlew test", "> Task :compileJava\n> Task :test\n\nOkTest > reportsFAILED() STANDARD_OUT\n    ERROR: fine\n    java.lang.Error: x\n        at shop.Fake.x(Fake.java:3)\n\nOkTest > reportsFAILED() PASSED\n\nBUILD SUCCESSFUL in 1s\n3 actionable tasks: 3 executed\n"},
		{"prove: diagnostics of a passing test", "prove t", "# Failed test 'x'\n# error: starting\nt/g.t .. ok\nAll tests successful.\nFiles=1, Tests=1,  0 wallclock secs ( 0.03 usr  0.00 sys +  0.11 cusr  0.00 csys =  0.14 CPU)\nResult: PASS\n"},
		{"bats: names", "bats t.bats", "1..2\nok 1 reports FAIL on error\nok 2 not ok 3 is printed\n"},
		{"googletest: output", "./shop_test", "Running main() from gtest_main.cc\n[==========] Running 1 test from 1 test suite.\n[----------] Global test environment set-up.\n[----------] 1 test from Errors\n[ RUN      ] Errors.ReportsFAILED\na.cc:3: Failure (printed)\nterminate called after throwing an instance of 'x'\n[       OK ] Errors.ReportsFAILED (0 ms)\n[----------] 1 test from Errors (0 ms total)\n\n[----------] Global test environment tear-down\n[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n"},
		{"ctest: names", "ctest", "Test project /src/build\n    Start 1: error_FAILED\n1/1 Test #1: error_FAILED .....................   Passed    0.00 sec\n\n100% tests passed, 0 tests failed out of 1\n\nTotal Test time (real) =   0.00 sec\n"},
		{"make: a recipe that mends errors", "make test", "gcc -Wall -Werror -c error.c\nrm -f fatal.log || true\n./run-tests --errors\n12 tests, 0 errors, 0 failed\n"},
		{"npm: a server's log", "npm test", "\n> shop@1.0.0 test\n> node server.test.js\n\n[error] 10:00 GET /fail 500 Internal Server Error\nUnhandledPromiseRejectionWarning: Error: handled later\nDeprecationWarning: Buffer() is deprecated\nall checks passed\n"},
		{"mypy: notes", "mypy .", "error.py:3: note: By default the bodies of untyped functions are not checked\nSuccess: no issues found in 3 source files\n"},
		{"eslint: nothing found", "eslint .", "\n"},
		{"tsc --watch-like text", "tsc -p .", "src/errors.ts\nFound 0 errors.\n"},
		{"docker build: steps about errors", "docker build .", "#5 [2/3] RUN echo error: failed\n#5 0.201 error: failed\n#5 DONE 0.3s\n#6 exporting to image\n#6 DONE 0.1s\n"},
		{"shell: words only", "bash ci.sh", "+ grep -c ERROR app.log\n0\nno failures, FAILED=0\nerror handling: ok\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readText(t, c.log, Options{Command: c.command, ExitCode: exit(0)})
			if r.Status != StatusPass || r.Class != ClassNone || len(r.Failures) != 0 {
				t.Errorf("%s, %s (%s): %+v", r.Status, r.Class, r.Rule, r.Failures)
			}
		})
	}
}
