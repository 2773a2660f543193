// Command autocode is the whole product in one binary: the GitHub App's server, the demo,
// and every tool that a person or a CI job may use on its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	_ "github.com/seed-7a986423/autocode/loop/sandbox/guest" // the sandbox's process 1 starts in its init
	"github.com/seed-7a986423/autocode/loop/workspace"
)

// cli is the command line. Each command lives in a file of its own name and has one method,
// Run, which wires the parts it needs and holds no logic.
type cli struct {
	Version kong.VersionFlag `help:"Print the version."`

	Demo     demoCmd        `cmd:"" help:"Show the main job on a stand-in GitHub on loopback, with a sample repository and a scripted or live model."`
	Serve    serveCmd       `cmd:"" help:"Run the GitHub App: webhooks, runs, panel."`
	Run      runCmd         `cmd:"" help:"Do the whole loop on a local repository; leaves a branch, the artifacts and the pull request's text."`
	Resume   resumeCmd      `cmd:"" help:"Go on with a run of autocode run."`
	Status   statusCmd      `cmd:"" help:"List runs."`
	Setup    setupCmd       `cmd:"" help:"Make the GitHub App in a browser and store its credentials."`
	Doctor   doctorCmd      `cmd:"" help:"Say what holds on this host, and what to do where something does not."`
	Verify   verifyCmd      `cmd:"" help:"Verify a repository in the sandbox and print verify.json."`
	Apply    applyCmd       `cmd:"" help:"Apply a model's reply, written as search/replace blocks, to a working tree; all of it or nothing."`
	Feedback feedbackCmd    `cmd:"" help:"Turn a build, test or lint log into a report: what failed, where, expected and actual."`
	Locate   locateCmd      `cmd:"" help:"Find the files and lines of a repository that a text is about."`
	Sandbox  sandboxCommand `cmd:"" help:"Run a command confined: no network, no secrets, limits on everything."`
	Replay   replayCmd      `cmd:"" help:"Go through a recorded run step by step, without network or model, and decide each step anew."`
	Config   configCmd      `cmd:"" help:"Check configurations."`
	Schema   schemaCmd      `cmd:"" help:"Print the JSON Schema of a file format."`
}

// Exit codes of every command (the black-box contract; `autocode sandbox` passes its command's through).
const (
	exitOK        = 0
	exitFailed    = 1   // the work failed: red, not applied, not found
	exitUsage     = 2   // wrong use: flags, missing files, broken configuration
	exitNoSandbox = 126 // the sandbox cannot be had
)

// exitError ends the program with a code of its own. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// version is what the Go toolchain noted in the binary: the module's version where it was installed as one, else the
// commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(text, s.Value[:min(len(s.Value), shortCommit)]) {
			text += " " + s.Value[:min(len(s.Value), shortCommit)]
		}
	}
	return strings.TrimSpace(text + " " + info.GoVersion)
}

// shortCommit is how much of a commit's id the module's pseudo-version shows.
const shortCommit = 12

// usageError marks err as wrong use, unless it is the machine that lacks something.
func usageError(err error) error {
	if errors.Is(err, workspace.ErrNoGit) || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return &exitError{code: exitUsage, err: err}
}

// streams are the program's standard streams, handed to commands so that tests can run them in-process.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// run parses args, runs the command that they name and returns the program's exit code.
func run(ctx context.Context, args []string, std streams) int {
	var c cli
	exited := -1 // kong calls Exit for --help; the code must survive the return
	parser, err := kong.New(&c,
		kong.Name("autocode"),
		kong.Description("Turns an issue labelled `autocode` into a pull request whose claims a machine has checked."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(std),
		kong.Vars{"version": version()},
	)
	if err != nil {
		fmt.Fprintf(std.err, "autocode: %v\n", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(std.err, "autocode: %v (see autocode --help)\n", err)
		return exitUsage
	}
	err = command.Run()
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintf(std.err, "autocode: %v\n", exit.err)
		}
		return exit.code
	default:
		fmt.Fprintf(std.err, "autocode: %v\n", err)
		return exitFailed
	}
}
