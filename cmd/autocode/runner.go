package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers/publish"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// runnerKind says what confines commands.
type runnerKind string

// The runners. Both keep the contract of package sandbox.
const (
	runnerBubblewrap runnerKind = "bubblewrap"
	runnerDocker     runnerKind = "docker"
)

// confiner is a runner that also clears up what dead servers left behind.
type confiner interface {
	sandbox.Runner
	Reap(ctx context.Context) (int, error)
}

// openConfiner makes the runner that is asked for; dockerHost is the engine's address (empty: its usual socket). With Docker the
// image must be named by digest.
func openConfiner(kind runnerKind, dockerHost string, config sandbox.Config) (confiner, error) {
	switch kind {
	case runnerBubblewrap, "":
		return sandbox.New(config)
	case runnerDocker:
		return sandbox.NewDocker(sandbox.DockerConfig{
			Host: dockerHost, Image: config.Image, StateDir: config.StateDir, Home: config.Home, Limits: config.Limits,
		})
	}
	return nil, &sandbox.Invalid{Field: "runner", Problem: fmt.Sprintf("%q is not one of %s, %s", kind, runnerBubblewrap, runnerDocker)}
}

// sandboxRunner adapts the sandbox to the loop's interface.
type sandboxRunner struct {
	confiner
	// offline says that the runner shows nothing of the host but the workspace, and reaches nothing (Docker).
	offline bool
	// hide takes the values of secrets that installations have out of all output; nil where there are none.
	hide *publish.Redactor
}

// Run translates command and result; both sides are plain data.
func (r sandboxRunner) Run(ctx context.Context, c loop.Command) (loop.CommandResult, error) {
	command := sandbox.Command{
		Args: c.Args, Dir: c.Dir, Workdir: c.Workdir, Env: c.Env, Stdin: c.Stdin,
		Limits: sandbox.Limits(c.Limits), Network: sandbox.Network{Allow: c.Network, Mirrors: c.Mirrors},
	}
	for _, m := range c.Mounts {
		command.ReadOnly = append(command.ReadOnly, sandbox.Mount(m))
	}
	var warnings []string
	if r.offline {
		command.ReadOnly = nil
		if len(c.Network)+len(c.Mirrors) > 0 {
			command.Network = sandbox.Network{}
			warnings = append(warnings, "the docker runner reaches nothing: this command ran without network; dependencies belong into the image")
		}
	}
	result, err := r.confiner.Run(ctx, command)
	var unavailable *sandbox.Unavailable
	if errors.As(err, &unavailable) {
		err = noSandbox{unavailable}
	}
	if r.hide != nil {
		result.Stdout, result.Stderr = r.hide.Bytes(result.Stdout), r.hide.Bytes(result.Stderr)
	}
	return loop.CommandResult{
		ExitCode: result.ExitCode, Reason: loop.EndReason(result.Reason), Stdout: result.Stdout, Stderr: result.Stderr,
		Wall: result.Wall, CPU: result.CPU, MaxRSS: result.MaxRSS, Warnings: append(result.Warnings, warnings...),
	}, err
}

// InsidePath is the host's path: the workspace is mounted where it lies.
func (sandboxRunner) InsidePath(_, hostPath string) string { return hostPath }

// noSandbox tells the engine that no command can be run here.
type noSandbox struct{ err *sandbox.Unavailable }

func (e noSandbox) Error() string { return e.err.Error() }

func (e noSandbox) Unwrap() error { return e.err }

// Unavailable marks the error for the engine.
func (noSandbox) Unavailable() bool { return true }

// newRunner builds the sandbox from the settings.
func newRunner(s settings, log zerolog.Logger) (sandboxRunner, error) {
	limits := sandbox.DefaultLimits()
	limits.Memory, limits.CPUs, limits.Timeout = s.Ceiling.Sandbox.Memory, s.Ceiling.Sandbox.CPUs, s.Ceiling.Verify.Timeout
	runner, err := openConfiner(s.Sandbox.Runner, cmp.Or(s.Sandbox.DockerHost, os.Getenv("DOCKER_HOST")), sandbox.Config{
		Image: s.Ceiling.Sandbox.Image, StateDir: filepath.Join(s.DataDir, "sandbox"), SearchPath: os.Getenv("PATH"), Limits: limits,
		Egress: sandbox.Egress{Audit: func(e sandbox.AuditEntry) {
			log.Info().Str("host", e.Host).Int("port", e.Port).Bool("allowed", e.Allowed).Str("reason", e.Reason).Int64("sent", e.Sent).Int64("got", e.Got).Msg("egress")
		}},
	})
	var unavailable *sandbox.Unavailable
	if errors.As(err, &unavailable) {
		return sandboxRunner{}, &exitError{code: exitNoSandbox, err: err}
	}
	if err != nil {
		return sandboxRunner{}, err
	}
	confined := sandboxRunner{confiner: runner, offline: s.Sandbox.Runner == runnerDocker}
	if values := s.setupValues(); len(values) > 0 {
		confined.hide = publish.NewRedactor(values...)
	}
	return confined, nil
}
