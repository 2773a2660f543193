package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// sandboxCommand runs one command confined.
type sandboxCommand struct {
	Dir         string        `help:"The one directory that the command may write." default:"." type:"path"`
	Network     []string      `help:"Hosts that may be reached through the proxy: HOST, .HOST for it and all below it, or @go, @npm, @pypi, @crates, @maven, @debian for the hosts that the tool is configured with." default:"none" placeholder:"none|HOST,…"`
	Memory      byteSize      `help:"Memory of all processes together." default:"2g"`
	PIDs        int           `name:"pids" help:"Processes and threads." default:"512"`
	CPU         float64       `name:"cpu" help:"Cores; 0 for all." default:"0"`
	Disk        byteSize      `help:"Bytes written below the directory, /tmp and HOME." default:"2g"`
	Timeout     time.Duration `help:"Wall time." default:"5m"`
	OutputLimit byteSize      `help:"Bytes of output per stream." default:"1m"`
	Env         []string      `help:"Environment variable for the command, repeatable." placeholder:"K=V" sep:"none"`
	Image       string        `help:"Root file system in place of the host's: an unpacked image or an OCI layout or archive. With --runner docker: an image by digest, name@sha256:… or sha256:…; it is never pulled."`
	Runner      runnerKind    `help:"What confines the command: bubblewrap or docker (Docker Engine or Podman)." enum:"bubblewrap,docker" default:"bubblewrap"`
	DockerHost  string        `help:"The engine's address for --runner docker; default DOCKER_HOST, else its usual socket." placeholder:"unix:///PATH"`
	Command     []string      `arg:"" passthrough:"partial" help:"Program and arguments, after --."`
}

// byteSize is a number of bytes with an optional unit: k, m, g or t, in powers of 1024.
type byteSize int64

// Decode implements kong's MapperValue.
func (b *byteSize) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("size", &text); err != nil {
		return err
	}
	size, err := parseSize(text)
	*b = byteSize(size)
	return err
}

// parseSize reads 512k, 1g, 1GiB or a plain number of bytes.
func parseSize(text string) (int64, error) {
	bad := fmt.Errorf("%q is not a size such as 512k, 100m or 2g", text)
	digits := strings.ToLower(strings.TrimSpace(text))
	digits = strings.TrimSuffix(strings.TrimSuffix(digits, "b"), "i")
	shift := 0
	if at := len(digits) - 1; at >= 0 {
		if unit := strings.IndexByte("kmgt", digits[at]); unit >= 0 {
			shift, digits = 10*(unit+1), digits[:at]
		}
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number <= 0 || number > (1<<62)>>shift {
		return 0, bad
	}
	return number << shift, nil
}

// sandboxOutcome is the last line on standard error.
type sandboxOutcome struct {
	ExitCode int            `json:"exit_code"`
	Reason   sandbox.Reason `json:"reason"`
	WallMS   int64          `json:"wall_ms"`
	CPUMS    int64          `json:"cpu_ms"`
	MaxRSSKB int64          `json:"max_rss_kb"`
}

// Run runs the command; its exit code becomes the program's.
func (c *sandboxCommand) Run(ctx context.Context, std streams) error {
	switch {
	case c.PIDs == 0: // in the library zero means the default
		return usageError(&sandbox.Invalid{Field: "pids", Problem: "must be at least 1"})
	case c.Timeout == 0:
		return usageError(&sandbox.Invalid{Field: "timeout", Problem: "must be positive"})
	}
	runner, err := openConfiner(c.Runner, cmp.Or(c.DockerHost, os.Getenv("DOCKER_HOST")), sandbox.Config{
		Image:      c.Image,
		SearchPath: os.Getenv("PATH"),
		Home:       os.Getenv("HOME"),
		Egress:     sandbox.Egress{Audit: auditLine(std.err)},
	})
	if err != nil {
		return sandboxError(err)
	}
	network, err := sandbox.ExpandHosts(ctx, c.hosts(), sandbox.PresetEnv{Env: os.Environ(), Home: os.Getenv("HOME")})
	if err != nil {
		return usageError(err)
	}
	command := sandbox.Command{
		Args:    c.arguments(),
		Dir:     c.Dir,
		Env:     c.Env,
		Network: network,
		Limits: sandbox.Limits{
			Memory: int64(c.Memory), PIDs: c.PIDs, CPUs: c.CPU, Disk: int64(c.Disk),
			Output: int64(c.OutputLimit), Timeout: c.Timeout,
		},
		ReadOnly: readOnlyGit(c.Dir),
	}
	last := &lastByte{writer: printable(std.err)}
	command.Stdout, command.Stderr = printable(std.out), last
	result, err := runner.Run(ctx, command)
	if err != nil {
		return sandboxError(err)
	}
	return c.report(std.err, last, result)
}

// arguments are the command without the -- that may introduce it.
func (c *sandboxCommand) arguments() []string {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		return c.Command[1:]
	}
	return c.Command
}

func (c *sandboxCommand) hosts() []string {
	if len(c.Network) == 1 && c.Network[0] == "none" {
		return nil
	}
	return c.Network
}

// report writes the warnings and the outcome and returns the command's exit code.
func (c *sandboxCommand) report(out io.Writer, last *lastByte, result sandbox.Result) error {
	if last.wrote && last.value != '\n' {
		fmt.Fprintln(out)
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(out, "autocode: sandbox: %s\n", warning)
	}
	if err := json.NewEncoder(out).Encode(sandboxOutcome{
		ExitCode: result.ExitCode,
		Reason:   result.Reason,
		WallMS:   result.Wall.Milliseconds(),
		CPUMS:    result.CPU.Milliseconds(),
		MaxRSSKB: result.MaxRSS >> 10,
	}); err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return &exitError{code: result.ExitCode}
	}
	return nil
}

// sandboxError gives err the exit code of the contract.
func sandboxError(err error) error {
	var unavailable *sandbox.Unavailable
	var invalid *sandbox.Invalid
	switch {
	case errors.As(err, &unavailable):
		return &exitError{code: exitNoSandbox, err: err}
	case errors.As(err, &invalid):
		return usageError(err)
	default:
		return err
	}
}

// readOnlyGit keeps the command from planting hooks and settings that the host's git would run.
func readOnlyGit(dir string) []sandbox.Mount {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil
	}
	git := filepath.Join(real, ".git")
	// A file names the directory where a worktree or submodule has its configuration.
	if info, err := os.Lstat(git); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	return []sandbox.Mount{{Source: git, Target: git}}
}

// auditLine writes one JSON line per request to the egress proxy.
func auditLine(out io.Writer) func(sandbox.AuditEntry) {
	return func(entry sandbox.AuditEntry) {
		line, err := json.Marshal(map[string]any{
			"egress": entry.Host, "port": entry.Port, "method": entry.Method, "allowed": entry.Allowed,
			"address": entry.Address, "reason": entry.Reason, "sent": entry.Sent, "got": entry.Got,
		})
		if err == nil {
			_, _ = out.Write(append(line, '\n'))
		}
	}
}

// printable protects a terminal from control sequences; other writers get the bytes as they are.
func printable(out io.Writer) io.Writer {
	file, isFile := out.(*os.File)
	if !isFile {
		return out
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return out
	}
	return escaper{out}
}

// escaper writes control characters as \xNN.
type escaper struct{ writer io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	if _, err := io.Copy(e.writer, bytes.NewReader(sandbox.Escape(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lastByte remembers how the stream ended, so that the outcome starts a line of its own.
type lastByte struct {
	writer io.Writer
	wrote  bool
	value  byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.wrote, l.value = true, p[len(p)-1]
	}
	return l.writer.Write(p)
}
