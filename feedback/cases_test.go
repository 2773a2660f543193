package feedback

import (
	"context"
	"encoding/json"
	"os"
	"testing"
)

// TestCasesOfRunners: the runners' detailed modes list every test with its outcome, each under a key of its own.
func TestCasesOfRunners(t *testing.T) {
	for _, c := range []struct {
		fixture                 string
		passed, failed, skipped int
	}{
		{"cargo-test", 2, 11, 1},
		{"cargo-test-nocapture", 1, 8, 1},
		{"nextest", 2, 3, 0},
		{"rspec-documentation", 1, 8, 2},
		{"rspec-json", 1, 8, 2},
		{"minitest-verbose", 1, 8, 1},
		{"test-unit", 1, 2, 0},
		{"phpunit-testdox", 3, 9, 2},
		{"gtest", 2, 5, 1},
		{"ctest", 1, 5, 1},
		{"mix-test-trace", 1, 5, 1},
		{"ava", 18, 3, 1},
		{"bats", 1, 3, 1},
		{"bats-pretty", 1, 3, 1},
		{"gradle", 1, 2, 1},
		{"dotnet-test", 1, 1, 1},
		{"swift-test", 1, 1, 0},
	} {
		t.Run(c.fixture, func(t *testing.T) {
			var args fixtureArgs
			raw, err := os.ReadFile("testdata/" + c.fixture + ".args")
			if err != nil || json.Unmarshal(raw, &args) != nil {
				t.Fatal(err)
			}
			in, err := os.Open("testdata/" + c.fixture + ".log")
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			r, err := Read(context.Background(), in, Options{Command: args.Command, ExitCode: &args.Exit, Root: args.Root, Cases: true})
			if err != nil {
				t.Fatal(err)
			}
			got := map[CaseStatus]int{}
			for _, k := range r.Cases {
				got[k.Status]++
			}
			if got[CasePassed] != c.passed || got[CaseFailed] != c.failed || got[CaseSkipped] != c.skipped {
				t.Errorf("passed, failed, skipped = %d, %d, %d; want %d, %d, %d: %+v", got[CasePassed], got[CaseFailed], got[CaseSkipped], c.passed, c.failed, c.skipped, r.Cases)
			}
		})
	}
}
