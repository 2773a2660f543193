package sandbox_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// TestMain lets the test binary serve as the attacker inside. (It serves as the init by itself.)
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == attackArgument {
		os.Exit(attack(os.Args[2]))
	}
	os.Exit(m.Run())
}

// attackArgument makes the test binary run an attack (see attack) in place of tests.
const attackArgument = "attack"

// inside is where the test binary is found inside the sandbox.
const inside = "/run/autocode/init"

// newRunner makes a bubblewrap runner, or skips the test where there is no bubblewrap.
func newRunner(t testing.TB, config sandbox.Config) *sandbox.Bubblewrap {
	t.Helper()
	if config.StateDir == "" {
		config.StateDir = t.TempDir()
	}
	if config.SearchPath == "" {
		config.SearchPath = os.Getenv("PATH")
	}
	runner, err := sandbox.New(config)
	var unavailable *sandbox.Unavailable
	if errors.As(err, &unavailable) {
		missing(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

// missing skips the test for want of a component, or fails it where all are required.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
		t.Fatalf("a required component is missing: %s", what)
	}
	t.Skipf("missing: %s", what)
}

// patience is far more than any command of the tests takes.
const patience = 5 * time.Minute

// run runs a command in a fresh workspace and fails the test if the sandbox cannot be had.
func run(t *testing.T, command sandbox.Command) sandbox.Result {
	t.Helper()
	return runWith(t, sandbox.Config{}, command)
}

func runWith(t *testing.T, config sandbox.Config, command sandbox.Command) sandbox.Result {
	t.Helper()
	runner := newRunner(t, config)
	if command.Dir == "" {
		command.Dir = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := runner.Run(ctx, command)
	var unavailable *sandbox.Unavailable
	if errors.As(err, &unavailable) {
		missing(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// shell is a command of the system's shell.
func shell(script string) sandbox.Command {
	return sandbox.Command{Args: []string{"/bin/sh", "-c", script}}
}

// wantExit checks how a command ended.
func wantExit(t *testing.T, result sandbox.Result, reason sandbox.Reason, code int) {
	t.Helper()
	if result.Reason != reason || result.ExitCode != code {
		t.Fatalf("ended with %s and code %d, want %s and %d\nwarnings: %q\nstdout: %.2000s\nstderr: %.2000s",
			result.Reason, result.ExitCode, reason, code, result.Warnings, result.Stdout, result.Stderr)
	}
}

// wantHeld runs an attack inside; it exits 0 when it was fended off, and says what got through.
func wantHeld(t *testing.T, name string) {
	t.Helper()
	result := run(t, sandbox.Command{Args: []string{inside, attackArgument, name}})
	wantExit(t, result, sandbox.Exited, 0)
}

// lines splits output into its lines.
func lines(output []byte) []string {
	return strings.Split(strings.TrimSpace(string(output)), "\n")
}
