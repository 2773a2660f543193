package feedback

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// benchSize is the size of a generated log; `make bench` reads 100 MB of each tool, `go test -bench` less.
const benchSize = 100 << 20

// repeated gives an opening, a body as often as it takes to fill size, and an ending, without holding it in memory.
type repeated struct {
	head, tail string
	body       func(i int) string
	size       int64
	i          int
	rest       string
	done       bool
}

func (r *repeated) Read(p []byte) (int, error) {
	for r.rest == "" {
		switch {
		case r.done:
			return 0, io.EOF
		case r.head != "":
			r.rest, r.head = r.head, ""
		case r.size > 0:
			var b strings.Builder
			for b.Len() < 64<<10 {
				b.WriteString(r.body(r.i))
				r.i++
			}
			r.rest = b.String()
			r.size -= int64(len(r.rest))
		default:
			r.rest, r.done = r.tail, true
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// benchLogs are big logs of the main tools with one failure or a few, as users have them.
func benchLogs() map[string]func() (io.Reader, string) {
	return map[string]func() (io.Reader, string){
		"go-test-v": func() (io.Reader, string) {
			return &repeated{size: benchSize, body: func(i int) string {
				return fmt.Sprintf("=== RUN   TestCase%d\n2026/01/02 03:04:05 server: handled request %d in 3ms\n--- PASS: TestCase%d (0.00s)\n", i%5000, i, i%5000)
			}, tail: "=== RUN   TestBad\n    a_test.go:3: got 1, want 2\n--- FAIL: TestBad (0.00s)\nFAIL\nFAIL\texample.com/x/a\t9.1s\nFAIL\n"}, "go test -v ./..."
		},
		"go-test-json": func() (io.Reader, string) {
			return &repeated{size: benchSize, body: func(i int) string {
				return fmt.Sprintf("{\"Time\":\"2026-01-02T03:04:05Z\",\"Action\":\"output\",\"Package\":\"example.com/x/a\",\"Test\":\"TestCase%d\",\"Output\":\"handled request %d\\n\"}\n", i%5000, i)
			}, tail: "{\"Action\":\"fail\",\"Package\":\"example.com/x/a\",\"Test\":\"TestCase1\"}\n{\"Action\":\"fail\",\"Package\":\"example.com/x/a\"}\n"}, "go test -json ./..."
		},
		"pytest-v": func() (io.Reader, string) {
			return &repeated{size: benchSize, head: "==== test session starts ====\ncollected 9 items\n\n", body: func(i int) string {
				return fmt.Sprintf("tests/unit/test_module_%d.py::TestThing::test_case_%d PASSED            [ 50%%]\n", i%100, i%5000)
			}, tail: "==== FAILURES ====\n____ test_a ____\n\n    def test_a():\n>       assert f() == 2\nE       assert 1 == 2\n\ntest_a.py:3: AssertionError\n==== short test summary info ====\nFAILED test_a.py::test_a - assert 1 == 2\n==== 1 failed, 9 passed in 9.01s ====\n"}, "pytest -v"
		},
		"jest": func() (io.Reader, string) {
			return &repeated{size: benchSize, head: "PASS src/a.test.js\n", body: func(i int) string {
				return fmt.Sprintf("  console.log\n    chunk %d done, 0 errors\n\n      at log (src/a.js:3:11)\n\n", i)
			}, tail: "FAIL src/b.test.js\n  ● adds\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n\n      at Object.toBe (src/b.test.js:5:23)\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 passed, 2 total\nTime:        9 s\n"}, "npx jest"
		},
		"junit-xml": func() (io.Reader, string) {
			return &repeated{size: benchSize, head: "<testsuites><testsuite name=\"s\">\n", body: func(i int) string {
				return fmt.Sprintf("<testcase classname=\"shop.CartTest\" name=\"case %d\" time=\"0.001\"><system-out>some output\nof a test</system-out></testcase>\n", i)
			}, tail: "<testcase classname=\"a\" name=\"b\"><failure message=\"boom\">at a</failure></testcase></testsuite></testsuites>\n"}, "cat report.xml"
		},
		"mocha": func() (io.Reader, string) {
			return &repeated{size: benchSize, head: "\n  cart\n", body: func(i int) string {
				return fmt.Sprintf("    ✔ adds item %d\n", i)
			}, tail: "    1) removes\n\n\n  9 passing (9s)\n  1 failing\n\n  1) cart\n       removes:\n     AssertionError: expected 1 to equal 2\n      at Context.<anonymous> (test/cart.js:5:23)\n\n"}, "npx mocha"
		},
		"cargo-test": func() (io.Reader, string) {
			return &repeated{size: benchSize, head: "\nrunning 9 tests\n", body: func(i int) string {
				return fmt.Sprintf("test cart::tests::case_%d ... ok\n", i)
			}, tail: "test cart::tests::bad ... FAILED\n\nfailures:\n\n---- cart::tests::bad stdout ----\n\nthread 'cart::tests::bad' panicked at src/cart.rs:9:9:\nassertion failed\n\n\nfailures:\n    cart::tests::bad\n\ntest result: FAILED. 8 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.00s\n"}, "cargo test"
		},
		"make-gcc": func() (io.Reader, string) {
			return &repeated{size: benchSize, body: func(i int) string {
				return fmt.Sprintf("gcc -O2 -Wall -Iinclude -c src/module_%d/file_%d.c -o build/file_%d.o\n", i%90, i, i)
			}, tail: "src/a.c:3:5: error: expected expression\nmake: *** [Makefile:3: build/a.o] Error 1\n"}, "make"
		},
		"maven": func() (io.Reader, string) {
			return &repeated{size: benchSize, head: "[INFO] Scanning for projects...\n", body: func(i int) string {
				return fmt.Sprintf("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in shop.Case%dTest\n", i)
			}, tail: "[ERROR] COMPILATION ERROR : \n[ERROR] /src/main/java/A.java:[3,5] ';' expected\n[INFO] BUILD FAILURE\n"}, "mvn test"
		},
		"tap": func() (io.Reader, string) {
			return &repeated{size: benchSize, head: "TAP version 13\n", body: func(i int) string {
				return fmt.Sprintf("ok %d - adds item %d\n", i+1, i)
			}, tail: "not ok 99 - removes\n"}, "./run-tests"
		},
		"unknown-build": func() (io.Reader, string) {
			return &repeated{size: benchSize, body: func(i int) string {
				return fmt.Sprintf("[%d/9000] compiling object src/module_%d/file_%d.cc with flags -O2 -g\n", i, i%90, i)
			}, tail: "src/a.cc:3:5: error: no such thing\nbuild stopped\n"}, "./build.sh"
		},
	}
}

// BenchmarkRead reads big logs. Beside the speed it reports the share of grep's, which counts the lines with FAIL of
// the same file in the same run, the peak of the heap, and the allocations for each failure that was found.
func BenchmarkRead(b *testing.B) {
	for name, open := range benchLogs() {
		b.Run(name, func(b *testing.B) {
			file, command := benchFile(b, open)
			grep := grepTime(b, file)
			one := 1
			peak := watchHeap(b)
			b.SetBytes(benchSize)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found := 0
			for b.Loop() {
				in, err := os.Open(file)
				if err != nil {
					b.Fatal(err)
				}
				r, err := Read(context.Background(), in, Options{Command: command, ExitCode: &one})
				in.Close()
				if err != nil || len(r.Failures) == 0 {
					b.Fatalf("%v, %d failures", err, len(r.Failures))
				}
				found += len(r.Failures)
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(grep.Seconds()/(b.Elapsed().Seconds()/float64(b.N)), "of-grep")
			b.ReportMetric(float64(peak())/(1<<20), "peak-MB")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(found), "allocs/failure")
		})
	}
}

// benchFile writes a log to a file, so that making it costs the readers nothing.
func benchFile(b *testing.B, open func() (io.Reader, string)) (file, command string) {
	b.Helper()
	in, command := open()
	out, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		b.Fatal(err)
	}
	return out.Name(), command
}

// grepTime is the shortest of a few runs of grep over a file: others' work on the machine only ever lengthens one.
func grepTime(b *testing.B, file string) time.Duration {
	b.Helper()
	const runs = 3
	var best time.Duration
	for range runs {
		start := time.Now()
		out, err := exec.Command("grep", "-c", "FAIL", file).Output()
		took := time.Since(start)
		if err != nil && len(out) == 0 { // it exits with 1 where the count is 0
			b.Skipf("grep: %v", err)
		}
		if best == 0 || took < best {
			best = took
		}
	}
	return best
}

// BenchmarkReadNothing is what a report costs before the first line is read.
func BenchmarkReadNothing(b *testing.B) {
	for b.Loop() {
		if _, err := Read(context.Background(), strings.NewReader(""), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// watchHeap samples the heap until its result is asked for and returns the highest value in bytes.
func watchHeap(b *testing.B) func() uint64 {
	b.Helper()
	runtime.GC()
	stop, out := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				out <- peak
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse+m.StackInuse)
			}
		}
	}()
	return func() uint64 { close(stop); return <-out }
}
