package feedback

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContentAlone: a log without its command, or of a command that only wraps, is recognised by what it holds.
func TestContentAlone(t *testing.T) {
	needsCommand := map[string]string{
		"go-vet":         "vet's findings look like a compiler's",
		"node-test-spec": "the crash of a test file is not told from a program's",
	}
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		name := strings.TrimSuffix(filepath.Base(log), ".log")
		if needsCommand[name] != "" {
			continue
		}
		raw, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var args fixtureArgs
		rawArgs, err := os.ReadFile(strings.TrimSuffix(log, ".log") + ".args")
		if err != nil || json.Unmarshal(rawArgs, &args) != nil {
			t.Fatalf("arguments of %s: %v", log, err)
		}
		o := Options{Command: args.Command, ExitCode: &args.Exit, Root: args.Root}
		known, err := Read(context.Background(), strings.NewReader(string(raw)), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"", "make test", "bash ci.sh", "npm test"} {
			t.Run(name+"/"+command, func(t *testing.T) {
				o := o
				o.Command = command
				if a, b := outline(known), outline(readText(t, string(raw), o)); a != b {
					t.Errorf("with the command:\n%s\nwithout:\n%s", a, b)
				}
			})
		}
	}
}

// TestCutLogs: a log that ends early tells nothing that the whole log does not, except what it was doing.
func TestCutLogs(t *testing.T) {
	for _, name := range []string{"go-test-json", "jest", "vitest", "unittest", "pytest-verbose"} {
		raw, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		whole := readText(t, string(raw), Options{ExitCode: exit(1), Root: "/src"})
		const parts = 9
		for i := 1; i < parts; i++ {
			r := readText(t, string(raw[:len(raw)*i/parts]), Options{ExitCode: exit(1), Root: "/src"})
			if len(r.Failures) == 0 {
				t.Errorf("%s cut at %d/%d: exit code 1 and no failure", name, i, parts)
			}
			if len(r.Failures) > len(whole.Failures)+1 {
				t.Errorf("%s cut at %d/%d: %d failures of %d", name, i, parts, len(r.Failures), len(whole.Failures))
			}
		}
	}
}

// TestFormatters: a formatter that only checks names each file once, with the first place where it tells one.
func TestFormatters(t *testing.T) {
	for _, c := range []struct {
		name, command, log string
		want               []want
	}{
		{"rustfmt", "cargo fmt --check", "Diff in /src/x/src/lib.rs:3:\n-fn a() {}\n+fn a() {\n+}\nDiff in /src/x/src/lib.rs:9:\n-error: no\nDiff in /src/x/src/b.rs at line 7:\n-x\n+y\n", []want{{file: "src/lib.rs", line: 3}, {file: "src/b.rs", line: 7}}},
		{"black", "black --check .", "would reformat /src/x/a.py\nerror: cannot format b.py: Cannot parse: 3:7: def f(:\n\nOh no! 💥 💔 💥\n1 file would be reformatted, 1 file would fail to reformat.\n", []want{{file: "b.py"}, {file: "a.py"}}},
		{"gofmt -l", "gofmt -l .", "a/b.go\nc.go\n", []want{{file: "a/b.go"}, {file: "c.go"}}},
		{"gofmt -d", "gofmt -d .", "diff a/b.go.orig a/b.go\n--- a/b.go.orig\n+++ a/b.go\n@@ -4,3 +4,3 @@\n-x\n+y\n", []want{{file: "a/b.go", line: 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readText(t, c.log, Options{Command: c.command, ExitCode: exit(1), Root: "/src/x"})
			if len(r.Failures) != len(c.want) {
				t.Fatalf("%d failures, want %d: %+v", len(r.Failures), len(c.want), r.Failures)
			}
			for i, w := range c.want {
				checkFailure(t, r.Failures[i], w)
			}
		})
	}
}

// TestClassOfTrouble: who has to act, told by one line of the log.
func TestClassOfTrouble(t *testing.T) {
	for _, c := range []struct {
		command, log string
		exit         int
		class        Class
		rule         string
	}{
		{"make test", "make: docker: No such file or directory\nmake: *** [Makefile:3: test] Error 127\n", 2, ClassEnvironment, "program-missing"},
		{"make", "gcc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\nmake: *** [Makefile:2: big.o] Error 1\n", 2, ClassOOM, "out-of-memory"},
		{"cargo build --locked", "error: the lock file /src/x/Cargo.lock needs to be updated but --locked was passed to prevent this\n", 101, ClassCode, "lockfile-outdated"},
		{"uv sync --locked", "error: The lockfile at `uv.lock` needs to be updated, but `--locked` was provided.\n", 2, ClassCode, "lockfile-outdated"},
		{"mix deps.get", "** (Mix) httpc request failed with: {:failed_connect, [{:inet, [:inet], :nxdomain}]}\n", 1, ClassEnvironment, "no-network"},
		{"./gradlew test", "ERROR: JAVA_HOME is not set and no 'java' command could be found in your PATH.\n", 1, ClassEnvironment, "program-missing"},
		{"gcc -c a.c", "a.c:2:10: fatal error: own.h: No such file or directory\n    2 | #include \"own.h\"\n      |          ^~~~~~~\ncompilation terminated.\n", 1, ClassCode, "own-module-missing"},
		{"gcc -c a.c", "a.c:2:10: fatal error: zlib.h: No such file or directory\n    2 | #include <zlib.h>\n      |          ^~~~~~~~\ncompilation terminated.\n", 1, ClassEnvironment, "third-party-module-missing"},
		{"./run", "bash: line 1: 13511 Segmentation fault      ./a.out\n", 139, ClassCode, "kind-crash"},
	} {
		t.Run(c.command+" "+c.rule, func(t *testing.T) {
			r := readText(t, c.log, Options{Command: c.command, ExitCode: exit(c.exit), Root: "/src/x"})
			if r.Class != c.class || r.Rule != c.rule || len(r.Failures) != 1 {
				t.Errorf("class %s by %s of %+v, want %s by %s", r.Class, r.Rule, r.Failures, c.class, c.rule)
			}
		})
	}
}
