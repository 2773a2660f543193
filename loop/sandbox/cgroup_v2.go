package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	cgroup "github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup2"
	"golang.org/x/sys/unix"
)

// cgroups2 uses the unified hierarchy, below a group whose children may have controllers: one
// that was delegated to the server's user, or any when it runs as root.
type cgroups2 struct {
	root   string // where the hierarchy is mounted: cgroupRoot
	parent string // below root, with a leading slash
	has    enforced
}

func newCgroups2(parent string) (*cgroups2, error) {
	if cgroup.Mode() != cgroup.Unified {
		return nil, errors.New("the unified hierarchy is not mounted")
	}
	_, own, err := cgroup.ParseCgroupFileUnified("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("reading the own cgroup: %w", err)
	}
	own = filepath.Join("/", own)
	if _, err := os.Stat(filepath.Join(cgroupRoot, own)); err != nil {
		own = "/"
	}
	candidates := []string{parent}
	if parent == "" {
		// A group that holds processes cannot give its children controllers, so the server's own
		// is rarely it; the groups above it may be.
		candidates = nil
		for dir := own; ; dir = filepath.Dir(dir) {
			candidates = append(candidates, dir)
			if dir == "/" {
				break
			}
		}
	}
	var refused error
	for _, dir := range candidates {
		c, err := tryCgroups2(filepath.Join("/", dir), own)
		if err == nil {
			return c, nil
		}
		if refused == nil {
			refused = err
		}
	}
	return nil, fmt.Errorf("no cgroup (version 2) is delegated to this user: %w", refused)
}

// tryCgroups2 finds out whether groups with controllers can be made below parent and processes
// moved there from the server's own group.
func tryCgroups2(parent, own string) (*cgroups2, error) {
	dir := filepath.Join(cgroupRoot, parent)
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	// Moving needs write access to the closest group above both (cgroup-v2.rst, delegation).
	common := parent
	for !within(own, common) {
		common = filepath.Dir(common)
	}
	procs := filepath.Join(cgroupRoot, common, "cgroup.procs")
	if err := unix.Access(procs, unix.W_OK); err != nil {
		return nil, fmt.Errorf("%s: %w", procs, err)
	}
	subtree := filepath.Join(dir, "cgroup.subtree_control")
	for _, controller := range []string{"memory", "pids", "cpu"} {
		if !listed(subtree, controller) {
			_ = writeFile(subtree, "+"+controller) // whether it worked is read back
		}
	}
	c := &cgroups2{root: cgroupRoot, parent: parent, has: enforced{
		memory: listed(subtree, "memory"), pids: listed(subtree, "pids"), cpu: listed(subtree, "cpu"),
	}}
	if !c.has.memory && !c.has.pids {
		return nil, fmt.Errorf("%s: neither memory nor pids can be enabled", subtree)
	}
	return c, nil
}

// listed says whether a file of words holds word.
func listed(file, word string) bool {
	content, err := os.ReadFile(file)
	return err == nil && slices.Contains(strings.Fields(string(content)), word)
}

func (c *cgroups2) limits() enforced { return c.has }

func (c *cgroups2) describe() string { return "version 2 below " + c.parent }

func (c *cgroups2) create(name string, limits Limits) (group, error) {
	resources := &cgroup2.Resources{}
	if c.has.memory {
		none, all := int64(0), true
		resources.Memory = &cgroup2.Memory{Max: &limits.Memory, OOMGroup: &all}
		if _, err := os.Stat("/proc/swaps"); err == nil {
			resources.Memory.Swap = &none
		}
	}
	if c.has.pids {
		resources.Pids = &cgroup2.Pids{Max: int64(limits.PIDs + groupSlack)}
	}
	if c.has.cpu {
		quota, period := int64(limits.CPUs*cpuPeriod), uint64(cpuPeriod)
		resources.CPU = &cgroup2.CPU{Max: cgroup2.NewCPUMax(&quota, &period)}
	}
	manager, err := cgroup2.NewManager(c.root, filepath.Join(c.parent, name), resources)
	if err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	return &group2{has: c.has, manager: manager, dir: filepath.Join(c.root, c.parent, name)}, nil
}

func (c *cgroups2) leftovers() []string {
	return runGroups(filepath.Join(c.root, c.parent))
}

func (c *cgroups2) kill(name string) error {
	manager, err := cgroup2.Load(filepath.Join(c.parent, name), cgroup2.WithMountpoint(c.root))
	if err != nil {
		return fmt.Errorf("opening cgroup %s: %w", name, err)
	}
	return (&group2{has: c.has, manager: manager, dir: filepath.Join(c.root, c.parent, name)}).remove()
}

type group2 struct {
	has     enforced
	manager *cgroup2.Manager
	dir     string
	opened  *os.File
}

// enter has the child made inside the group (clone3 with CLONE_INTO_CGROUP).
func (g *group2) enter(start *startAttributes) error {
	dir, err := os.Open(g.dir)
	if err != nil {
		return fmt.Errorf("entering a cgroup: %w", err)
	}
	g.opened, start.cgroup = dir, dir
	return nil
}

func (g *group2) leave() error { return g.opened.Close() }

func (g *group2) allowMore(more int) error {
	if !g.has.pids {
		return nil
	}
	return allowMore(g.dir, more)
}

func (g *group2) views() []Mount { return []Mount{{g.dir, cgroupRoot}} }

// memoryEvents counts the processes that were ended for want of memory.
const memoryEvents = "memory.events"

func (g *group2) oomFile() string {
	if !g.has.memory {
		return ""
	}
	return filepath.Join(cgroupRoot, memoryEvents)
}

func (g *group2) oomKills() int {
	return counter(filepath.Join(g.dir, memoryEvents), "oom_kill")
}

func (g *group2) cpu() (time.Duration, bool) {
	microseconds := counter(filepath.Join(g.dir, "cpu.stat"), "usage_usec")
	return time.Duration(microseconds) * time.Microsecond, microseconds > 0
}

func (g *group2) remove() error {
	return removeGroup(func() error {
		processes, err := g.manager.Procs(true)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(processes) > 0 {
			if err := g.manager.Kill(); err != nil {
				return err
			}
			return errGroupBusy
		}
		return g.manager.Delete()
	})
}

// errGroupBusy says that killed processes have not left yet.
var errGroupBusy = errors.New("processes are still ending")

// removeGroup calls attempt until the group has gone, within bounds.
func removeGroup(attempt func() error) error {
	for wait := removeFirstWait; ; wait *= 2 {
		err := attempt()
		if err == nil {
			return nil
		}
		if wait > removeLastWait {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
		time.Sleep(wait)
	}
}

// counter reads the number after name in a file of "name number" lines; 0 if there is none.
func counter(file, name string) int {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), " "); found && key == name {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}

// writeFile writes a control file, which must exist.
func writeFile(path, content string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}
