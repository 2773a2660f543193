package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// runPrefix begins the names of everything that a run leaves on the host while it lasts: its
// cgroup and its directory below Config.StateDir. The rest of the name says whose it is.
const runPrefix = "autocode-run-"

// runCounter makes the names of one process distinct.
var runCounter atomic.Int64

// newRunName is "autocode-run-<pid>-<start time>-<number>": the start time tells a dead server
// from a live process that got its number.
func newRunName() string {
	pid := os.Getpid()
	return fmt.Sprintf("%s%d-%s-%d", runPrefix, pid, startTime(pid), runCounter.Add(1))
}

// startTime is when a process started, in clock ticks since boot (proc(5), stat, field 22);
// empty if there is no such process.
func startTime(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	const afterName = 19 // fields between the closing parenthesis of the name and starttime
	text := string(content)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= afterName {
		return ""
	}
	return fields[afterName]
}

// ownerLives says whether the process that made the named run is still there. Foreign names are
// nobody's business and count as alive.
func ownerLives(name string) bool {
	rest, ours := strings.CutPrefix(name, runPrefix)
	parts := strings.Split(rest, "-")
	if !ours || len(parts) != 3 {
		return true
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil {
		return true
	}
	return startTime(pid) == parts[1]
}

// runGroups lists the runs' groups or directories below dir.
func runGroups(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), runPrefix) {
			names = append(names, entry.Name())
		}
	}
	return names
}

func sortedKeys(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Reap ends what servers that died left behind: processes in their cgroups, the cgroups, and the
// directories of their runs. It is called when a server starts; runs of live servers are let be.
// The number of reaped runs is returned, also with an error.
func (b *Bubblewrap) Reap(ctx context.Context) (int, error) {
	reaped := map[string]bool{}
	var failed error
	if b.groups != nil {
		for _, name := range b.groups.leftovers() {
			if ctx.Err() != nil {
				return len(reaped), ctx.Err()
			}
			if !ownerLives(name) {
				reaped[name] = true
				failed = errors.Join(failed, b.groups.kill(name))
			}
		}
	}
	for _, name := range runGroups(b.config.StateDir) {
		if ctx.Err() != nil {
			return len(reaped), ctx.Err()
		}
		if !ownerLives(name) {
			reaped[name] = true
			failed = errors.Join(failed, RemoveAll(filepath.Join(b.config.StateDir, name)))
		}
	}
	return len(reaped), failed
}
