package feedback

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrappingChangesNothing: what CI systems and containers put around a log does not change its report.
func TestWrappingChangesNothing(t *testing.T) {
	wraps := map[string]func(i int, line string) string{
		"CRLF":           func(_ int, l string) string { return l + "\r" },
		"GitHub Actions": func(i int, l string) string { return fmt.Sprintf("2026-03-04T09:15:20.%07dZ %s", i, l) },
		"gh run view": func(i int, l string) string {
			return fmt.Sprintf("build\tRun tests\t2026-03-04T09:15:20.%07dZ %s", i, l)
		},
		"docker compose": func(_ int, l string) string { return "web-1  | " + l },
		"kubectl":        func(_ int, l string) string { return "[pod/ci-7/main] " + l },
		"buildkit":       func(i int, l string) string { return fmt.Sprintf("#12 %d.%03d %s", i/100, i%1000, l) },
		"colour":         func(_ int, l string) string { return "\x1b[0m" + l + "\x1b[0m\x1b[K" },
		"GitLab":         func(i int, l string) string { return fmt.Sprintf("2026-03-04T09:15:20.%06dZ 01O %s", i, l) },
	}
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
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
		plain, err := Read(context.Background(), strings.NewReader(string(raw)), o)
		if err != nil {
			t.Fatal(err)
		}
		for name, wrap := range wraps {
			t.Run(filepath.Base(log)+"/"+name, func(t *testing.T) {
				var b strings.Builder
				for i, l := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
					b.WriteString(wrap(i, l) + "\n")
				}
				got := readText(t, b.String(), o)
				if a, b := outline(plain), outline(got); a != b {
					t.Errorf("plain:\n%s\nwrapped:\n%s", a, b)
				}
			})
		}
	}
}

// outline is a report without what may differ: message wording at the edges.
func outline(r Report) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Status, r.Class)
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "%s|%s:%d|%s|%s\n", f.ID, f.File, f.Line, f.Kind, firstLine(f.Message))
	}
	return b.String()
}
