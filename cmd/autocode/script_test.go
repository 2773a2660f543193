package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-7a986423/autocode/loop/model/modeltest"
	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// TestMain makes the test binary serve as `autocode` in scripts. (It serves as a sandbox's init by itself.)
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"autocode": main})
}

// TestScripts runs the command line's contracts, one file in testdata each.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Condition:           condition,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "model": scriptedModel},
		Setup: func(env *testscript.Env) error {
			// Programs that a version manager keeps in the home directory are found from there.
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			// A path on which there is autocode alone.
			env.Setenv("ALONE", filepath.SplitList(env.Getenv("PATH"))[0])
			return os.MkdirAll(env.Getenv("HOME"), 0o755)
		},
	})
}

// condition is [sandbox]: bubblewrap is there. Where all components are required, so is it.
func condition(name string) (bool, error) {
	if name != "sandbox" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	state, err := os.MkdirTemp("", "autocode-probe-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(state)
	var unavailable *sandbox.Unavailable
	_, err = sandbox.New(sandbox.Config{StateDir: state})
	if errors.As(err, &unavailable) && os.Getenv("AUTOCODE_TEST_REQUIRE") != "all" {
		return false, nil
	}
	return true, nil
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARG….
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	var status interface{ ExitCode() int }
	if errors.As(err, &status) {
		code = status.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("%s exits with %d, want %s", args[1], code, args[0])
	}
}

// scriptedModel serves a script of modeltest for what follows: model FILE.yml.
func scriptedModel(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: model FILE.yml")
	}
	script, err := modeltest.Parse([]byte(ts.ReadFile(args[0])))
	if err != nil {
		ts.Fatalf("%v", err)
	}
	server, err := modeltest.New(script)
	if err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Defer(func() {
		if err := server.Close(); err != nil {
			ts.Logf("%v", err)
		}
	})
	ts.Setenv("OPENAI_BASE_URL", server.URL())
	ts.Setenv("AUTOCODE_MODEL", modeltest.ModelName)
}
