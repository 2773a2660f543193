package sandbox

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop/sandbox/guest"
)

// Command is one command to run confined. Everything in it is plain data.
type Command struct {
	// Args are the program and its arguments; no shell is involved. The program is looked up in
	// the sandbox's PATH unless it contains a slash.
	Args []string
	// Dir is the host directory that the command may write, the only one. It is visible inside
	// at the same absolute path (links resolved), so paths in the command's output are host
	// paths. Home directories, system directories and their parents are refused.
	Dir string
	// Workdir is where the command starts, relative to Dir. Empty: Dir itself.
	Workdir string
	// Env holds KEY=VALUE entries on top of the sandbox's own short list; a repeated key wins.
	Env []string
	// Stdin is what the command reads; empty means end of file at once.
	Stdin   []byte
	Limits  Limits
	Network Network
	// ReadOnly are further host paths to show: a git directory, a dependency cache. A target
	// below Dir hides what is there (so a repository's .git can be made read-only).
	ReadOnly []Mount
	// Copies are host paths of which the command gets a writable copy of its own, thrown away
	// afterwards: caches that tools insist on writing.
	Copies []Mount
	// Stdout and Stderr, when set, receive the (cut) output while it is produced, besides the
	// copy in Result. They must not block for long.
	Stdout, Stderr io.Writer
}

// Mount shows a host path inside the sandbox.
type Mount struct {
	Source string // absolute host path
	Target string // absolute path inside; empty: the same as Source
}

// Limits bound a command. A zero field takes the runner's default (Config.Limits).
type Limits struct {
	Memory  int64         // bytes, everything together: heap, page cache in use, tmpfs, memfd
	PIDs    int           // processes and threads
	CPUs    float64       // cores; 0 after defaults: all of them
	Disk    int64         // bytes written below the workspace, /tmp and HOME together
	Output  int64         // bytes per stream
	Timeout time.Duration // wall time
}

// Network says what a command may reach besides its own loopback interface.
type Network struct {
	// Allow lists host names: "example.org" is that host alone, ".example.org" it and everything
	// below it. Empty: nothing is reachable. Only ports 443 and 80, only through the proxy whose
	// address stands in HTTP_PROXY and HTTPS_PROXY.
	Allow []string
	// Mirrors are further host names, exact ones, that this machine's own configuration names for
	// downloads (see PresetHosts). A company's mirror lies in its private network, so their
	// addresses may be private, but never this machine's own, link-local or a cloud's metadata.
	// Nothing that a repository says may get in here.
	Mirrors []string
}

// any says whether anything may be reached.
func (n Network) any() bool { return len(n.Allow)+len(n.Mirrors) > 0 }

// Reason says how a command came to its end.
type Reason = guest.Reason

// The ends of a command.
const (
	Exited      = guest.Exited      // by itself; ExitCode is its own
	Timeout     = guest.Timeout     // Limits.Timeout passed; exit code 124
	OOM         = guest.OOM         // Limits.Memory was exceeded; exit code 137
	OutputLimit = guest.OutputLimit // a stream exceeded Limits.Output; exit code 125
	Signal      = guest.Signal      // a signal or a full disk quota ended it; exit code 128+N
)

// Result is how a command ended.
type Result struct {
	ExitCode int
	Reason   Reason
	Signal   int    // the signal's number when Reason is Signal, else 0
	Stdout   []byte // at most Limits.Output bytes, the marker line of a cut included
	Stderr   []byte // the same
	Wall     time.Duration
	CPU      time.Duration // user and system, of all processes
	MaxRSS   int64         // bytes, of the largest single process
	// Truncated says that a stream was cut at Limits.Output.
	Truncated bool
	// Warnings name what this host could not enforce, and why a command was ended.
	Warnings []string
}

// Runner runs commands confined. An error means that the command did not run: *Unavailable when
// the sandbox cannot be had, *Invalid when the command is not acceptable, the context's error when
// the caller gave up. A command that ran and failed is a Result. There is no unconfined fallback.
type Runner interface {
	Run(ctx context.Context, command Command) (Result, error)
}

// Unavailable says that commands cannot be confined on this host, and what to do about it.
type Unavailable struct {
	What   string // what is missing or refused
	Remedy string // what an administrator can do
}

func (e *Unavailable) Error() string {
	return fmt.Sprintf("the sandbox cannot be had: %s; %s", e.What, e.Remedy)
}

// Invalid says that a command or a configuration is not acceptable.
type Invalid struct {
	Field   string // the field of Command or Config
	Problem string
}

func (e *Invalid) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Problem) }

// withDefaults fills the zero fields of l from d.
func (l Limits) withDefaults(d Limits) Limits {
	if l.Memory == 0 {
		l.Memory = d.Memory
	}
	if l.PIDs == 0 {
		l.PIDs = d.PIDs
	}
	if l.CPUs == 0 {
		l.CPUs = d.CPUs
	}
	if l.Disk == 0 {
		l.Disk = d.Disk
	}
	if l.Output == 0 {
		l.Output = d.Output
	}
	if l.Timeout == 0 {
		l.Timeout = d.Timeout
	}
	return l
}

// Largest limits that mean anything to the kernel, and the smallest that still let a program start; below them every command would fail for a
// reason that nobody understands.
const (
	minMemory = 4 << 20
	minPIDs   = 1
	minCPUs   = 0.01    // the kernel's smallest quota
	maxPIDs   = 4 << 20 // the kernel's largest process number (PID_MAX_LIMIT)
	maxCPUs   = 8192    // the most processors that Linux is built for
	minDisk   = 64 << 10
)

func (l Limits) validate() error {
	switch {
	case l.Memory < minMemory:
		return &Invalid{"memory", fmt.Sprintf("%d bytes is less than the %d that any program needs", l.Memory, minMemory)}
	case l.PIDs < minPIDs || l.PIDs > maxPIDs:
		return &Invalid{"pids", fmt.Sprintf("must be between %d and %d", minPIDs, maxPIDs)}
	case !(l.CPUs >= minCPUs && l.CPUs <= maxCPUs): // not a number compares false
		return &Invalid{"cpu", fmt.Sprintf("must be between %v and %d cores", minCPUs, maxCPUs)}
	case l.Disk < minDisk:
		return &Invalid{"disk", fmt.Sprintf("%d bytes is less than the smallest quota of %d", l.Disk, minDisk)}
	case l.Output < 1:
		return &Invalid{"output", "must be at least 1 byte"}
	case l.Timeout <= 0:
		return &Invalid{"timeout", "must be positive"}
	}
	return nil
}

// validated returns the command with defaults filled in and Dir and Workdir made absolute and
// free of links, or *Invalid.
func (c Command) validated(defaults Limits, banned func(dir string) error) (Command, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return c, &Invalid{"command", "no program is named"}
	}
	for _, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return c, &Invalid{"command", "an argument contains a NUL byte"}
		}
	}
	for _, entry := range c.Env {
		key, _, found := strings.Cut(entry, "=")
		if !found || key == "" || strings.ContainsRune(entry, 0) {
			return c, &Invalid{"env", fmt.Sprintf("%q is not KEY=VALUE", entry)}
		}
	}
	if c.Dir == "" {
		return c, &Invalid{"dir", "no directory is named"}
	}
	dir, err := realDir(c.Dir)
	if err != nil {
		return c, &Invalid{"dir", err.Error()}
	}
	if err := banned(dir); err != nil {
		return c, &Invalid{"dir", err.Error()}
	}
	c.Dir = dir
	if c.Workdir != "" && !filepath.IsLocal(c.Workdir) {
		return c, &Invalid{"workdir", fmt.Sprintf("%q is not a relative path below the directory", c.Workdir)}
	}
	c.Workdir = filepath.Join(dir, c.Workdir)
	if c.ReadOnly, err = validMounts(c.ReadOnly); err != nil {
		return c, err
	}
	if c.Copies, err = validMounts(c.Copies); err != nil {
		return c, err
	}
	for _, host := range slices.Concat(c.Network.Allow, c.Network.Mirrors) {
		if err := validHost(host); err != nil {
			return c, &Invalid{"network", err.Error()}
		}
	}
	c.Limits = c.Limits.withDefaults(defaults)
	return c, c.Limits.validate()
}

func validMounts(mounts []Mount) ([]Mount, error) {
	out := make([]Mount, 0, len(mounts))
	for _, m := range mounts {
		if m.Target == "" {
			m.Target = m.Source
		}
		for _, path := range []string{m.Source, m.Target} {
			if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) || filepath.Clean(path) == "/" {
				return nil, &Invalid{"mount", fmt.Sprintf("%q is not an absolute path below the root", path)}
			}
		}
		m.Target = filepath.Clean(m.Target)
		real, err := filepath.EvalSymlinks(m.Source)
		if err != nil {
			return nil, &Invalid{"mount", err.Error()}
		}
		m.Source = real
		out = append(out, m)
	}
	return out, nil
}
