package loop

import (
	"context"
	"time"
)

// Command is a command to run in the sandbox. Everything in it is data; nothing is a shell's.
type Command struct {
	Args []string // program and arguments
	// Dir is the host directory that the command may write, its only one.
	Dir string
	// Workdir is where the command starts, relative to Dir.
	Workdir string
	Env     []string // KEY=VALUE, added to the sandbox's own short list
	Stdin   []byte
	// Mounts are further host paths, visible read-only.
	Mounts  []Mount
	Limits  CommandLimits
	Network []string // hosts that may be reached through the egress proxy; empty: none
	// Mirrors are further hosts, named by this machine's own configuration: their addresses may be
	// private. Nothing that a repository says may get in here.
	Mirrors []string
}

// Mount makes a host path visible inside, read-only.
type Mount struct {
	Source string
	Target string // absolute; empty: the same path
}

// CommandLimits bound a command. Zero: the sandbox's configured default.
type CommandLimits struct {
	Memory  int64 // bytes
	PIDs    int
	CPUs    float64 // cores
	Disk    int64   // bytes written below the workspace, /tmp and HOME
	Output  int64   // bytes per stream
	Timeout time.Duration
}

// EndReason says how a command came to its end.
type EndReason string

// The ends of a command.
const (
	EndExited      EndReason = "exited"
	EndTimeout     EndReason = "timeout"
	EndOOM         EndReason = "oom"
	EndOutputLimit EndReason = "output-limit"
	EndSignal      EndReason = "signal"
)

// CommandResult is how a command ended.
type CommandResult struct {
	ExitCode int // 124 timeout, 137 oom or killed, 125 output limit, 128+N other signals
	Reason   EndReason
	Stdout   []byte // at most Limits.Output
	Stderr   []byte
	Wall     time.Duration
	CPU      time.Duration
	MaxRSS   int64 // bytes
	Warnings []string
}

// Runner runs commands confined. An error means that the command could not be run at all; a
// command that ran and failed is a result. It never falls back to running unconfined.
type Runner interface {
	Run(ctx context.Context, command Command) (CommandResult, error)
	// InsidePath is where a host path below Command.Dir is seen inside, so that paths in outputs
	// can be mapped back.
	InsidePath(dir, hostPath string) string
}
