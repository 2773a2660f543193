package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	cgroup "github.com/containerd/cgroups/v3"
	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// cgroupRoot is where cgroups are mounted on every distribution.
const cgroupRoot = "/sys/fs/cgroup"

// cgroups1 uses the version 1 hierarchies, also of hybrid hosts.
type cgroups1 struct {
	subsystems []cgroup1.Subsystem
	parent     map[cgroup1.Name]string // below each hierarchy's root
	own        map[cgroup1.Name]string // tasks file of the server's own group
	has        enforced
	swap       bool // swap is counted
}

// v1Mounted says whether this host has version 1 hierarchies.
func v1Mounted() bool {
	info, err := os.Stat(filepath.Join(cgroupRoot, string(cgroup1.Memory)))
	return err == nil && info.IsDir()
}

func newCgroups1(parent string) (*cgroups1, error) {
	if !v1Mounted() {
		return nil, errors.New("version 1 hierarchies are not mounted")
	}
	paths, _, err := cgroup.ParseCgroupFileUnified("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("reading the own cgroups: %w", err)
	}
	c := &cgroups1{parent: map[cgroup1.Name]string{}, own: map[cgroup1.Name]string{}}
	var refused error
	for _, candidate := range []struct {
		subsystem cgroup1.Subsystem
		flag      *bool
	}{
		{cgroup1.NewMemory(cgroupRoot), &c.has.memory},
		{cgroup1.NewPids(cgroupRoot), &c.has.pids},
		{cgroup1.NewCpu(cgroupRoot), &c.has.cpu},
		{cgroup1.NewCpuacct(cgroupRoot), new(bool)},
	} {
		name := candidate.subsystem.Name()
		hierarchy := filepath.Join(cgroupRoot, string(name))
		own, listed := paths[string(name)]
		if !listed {
			continue
		}
		if _, err := os.Stat(filepath.Join(hierarchy, own)); err != nil {
			own = "/" // a container that sees its own group as the root
		}
		at := own
		if parent != "" {
			at = parent
		}
		if err := unix.Access(filepath.Join(hierarchy, at), unix.W_OK); err != nil {
			if refused == nil {
				refused = fmt.Errorf("%s: %w", filepath.Join(hierarchy, at), err)
			}
			continue
		}
		c.subsystems = append(c.subsystems, candidate.subsystem)
		c.parent[name] = at
		c.own[name] = filepath.Join(hierarchy, own, "tasks")
		*candidate.flag = true
	}
	if !c.has.memory && !c.has.pids {
		return nil, fmt.Errorf("cgroups (version 1) are not writable: %w", refused)
	}
	_, err = os.Stat(filepath.Join(cgroupRoot, string(cgroup1.Memory), c.parent[cgroup1.Memory], "memory.memsw.limit_in_bytes"))
	c.swap = err == nil
	return c, nil
}

func (c *cgroups1) limits() enforced { return c.has }

func (c *cgroups1) describe() string { return "version 1" }

func (c *cgroups1) path(name string) cgroup1.Path {
	return func(subsystem cgroup1.Name) (string, error) {
		return filepath.Join(c.parent[subsystem], name), nil
	}
}

func (c *cgroups1) hierarchy() ([]cgroup1.Subsystem, error) { return c.subsystems, nil }

func (c *cgroups1) create(name string, limits Limits) (group, error) {
	pids := int64(limits.PIDs + groupSlack)
	quota, period := int64(limits.CPUs*cpuPeriod), uint64(cpuPeriod)
	resources := &specs.LinuxResources{
		Memory: &specs.LinuxMemory{Limit: &limits.Memory},
		Pids:   &specs.LinuxPids{Limit: &pids},
		CPU:    &specs.LinuxCPU{Quota: &quota, Period: &period},
	}
	if c.swap {
		resources.Memory.Swap = &limits.Memory // memory and swap together: no swap
	}
	control, err := cgroup1.New(c.path(name), resources, cgroup1.WithHierarchy(c.hierarchy))
	if err != nil {
		_ = c.kill(name) // what was made before the failure
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	return &group1{cgroups1: c, name: name, control: control}, nil
}

func (c *cgroups1) dir(subsystem cgroup1.Name, name string) string {
	return filepath.Join(cgroupRoot, string(subsystem), c.parent[subsystem], name)
}

func (c *cgroups1) leftovers() []string {
	names := map[string]bool{}
	for _, subsystem := range c.subsystems {
		for _, name := range runGroups(c.dir(subsystem.Name(), "")) {
			names[name] = true
		}
	}
	return sortedKeys(names)
}

func (c *cgroups1) kill(name string) error {
	control, err := cgroup1.Load(c.path(name), cgroup1.WithHierarchy(c.hierarchy), func(init *cgroup1.InitConfig) error {
		init.InitCheck = cgroup1.AllowAny
		return nil
	})
	if err != nil {
		return fmt.Errorf("opening cgroup %s: %w", name, err)
	}
	return (&group1{cgroups1: c, name: name, control: control}).remove()
}

type group1 struct {
	*cgroups1
	name    string
	control cgroup1.Cgroup
}

// enter moves the calling thread: children inherit the groups of the thread that makes them.
// Writing 0, for the writing thread, spares the kernel the lock over all forks that writing a
// process id takes; that lock can cost 20 ms.
func (g *group1) enter(*startAttributes) error {
	for _, subsystem := range g.subsystems {
		if err := writeFile(filepath.Join(g.dir(subsystem.Name(), g.name), "tasks"), "0"); err != nil {
			return fmt.Errorf("entering a cgroup: %w", err)
		}
	}
	return nil
}

func (g *group1) leave() error {
	var failed error
	for _, subsystem := range g.subsystems {
		failed = errors.Join(failed, writeFile(g.own[subsystem.Name()], "0"))
	}
	return failed
}

func (g *group1) allowMore(more int) error {
	if !g.has.pids {
		return nil
	}
	return allowMore(g.dir(cgroup1.Pids, g.name), more)
}

func (g *group1) views() []Mount {
	var views []Mount
	for _, subsystem := range g.subsystems {
		switch name := subsystem.Name(); name {
		case cgroup1.Memory, cgroup1.Cpu:
			views = append(views, Mount{g.dir(name, g.name), filepath.Join(cgroupRoot, string(name))})
		}
	}
	return views
}

// oomControl counts the processes that were ended for want of memory.
const oomControl = "memory.oom_control"

func (g *group1) oomFile() string {
	if !g.has.memory {
		return ""
	}
	return filepath.Join(cgroupRoot, string(cgroup1.Memory), oomControl)
}

func (g *group1) oomKills() int {
	return counter(filepath.Join(g.dir(cgroup1.Memory, g.name), oomControl), "oom_kill")
}

func (g *group1) cpu() (time.Duration, bool) {
	content, err := os.ReadFile(filepath.Join(g.dir(cgroup1.Cpuacct, g.name), "cpuacct.usage"))
	if err != nil {
		return 0, false
	}
	nanoseconds, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	return time.Duration(nanoseconds), err == nil
}

// A killed process leaves its group within microseconds as a rule, and after writing out its
// memory at worst: the waits double from the first to the last.
const (
	removeFirstWait = 100 * time.Microsecond
	removeLastWait  = time.Second
)

func (g *group1) remove() error {
	return removeGroup(func() error {
		// Of a group that its server left half made, or that another reaper is removing, some
		// hierarchies are gone: only those that are there count.
		for _, subsystem := range g.control.Subsystems() {
			processes, err := g.control.Processes(subsystem.Name(), true)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			for _, process := range processes {
				_ = unix.Kill(process.Pid, unix.SIGKILL)
			}
			if len(processes) > 0 {
				return errGroupBusy
			}
		}
		return g.control.Delete()
	})
}
