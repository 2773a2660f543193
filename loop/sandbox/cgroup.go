package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cgroups makes one control group per run, where the host lets us.
type cgroups interface {
	// limits says which limits the groups enforce.
	limits() enforced
	// create makes a group for one run. It is called, with everything that is done to the group
	// before the process is started, on the thread that starts it.
	create(name string, limits Limits) (group, error)
	// leftovers are the names of groups that exist below the parent.
	leftovers() []string
	// kill ends every process of the named group and removes it.
	kill(name string) error
	// describe is for people.
	describe() string
}

// enforced says what a host's cgroups can bound.
type enforced struct{ memory, pids, cpu bool }

// group is the control group of one run.
type group interface {
	// enter prepares the calling thread so that the next child starts inside the group; cgroup
	// descriptors go into start. leave undoes it.
	enter(start *startAttributes) error
	leave() error
	// allowMore sets the limit on processes to what runs now and more besides.
	allowMore(more int) error
	// views are the group's own files, to be shown read-only inside, so that runtimes that size
	// themselves by them (the JVM, Node, Go) see the limits.
	views() []Mount
	// oomFile is where oomKills is read, by the name that it has inside; empty: nowhere.
	oomFile() string
	// oomKills is how many processes were ended for want of memory.
	oomKills() int
	// cpu is the time used by all processes; false: not known.
	cpu() (time.Duration, bool)
	// remove ends what is left and removes the group.
	remove() error
}

// startAttributes carry a group into the start of a process.
type startAttributes struct {
	cgroup *os.File // v2: the group's directory; nil: the thread's own groups are inherited
}

// groupSlack is what the init and bubblewrap may need at most of a group's limit on processes.
const groupSlack = 64

// allowMore rewrites the limit of the group in dir.
func allowMore(dir string, more int) error {
	content, err := os.ReadFile(filepath.Join(dir, "pids.current"))
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "pids.max"), strconv.Itoa(now+more))
}

// cpuPeriod is the kernel's default scheduling period, in microseconds.
const cpuPeriod = 100_000

// findCgroups returns what this host offers; nil: nothing, for the reason given.
func findCgroups(parent string) (cgroups, string) {
	if v1, err := newCgroups1(parent); err == nil {
		return v1, ""
	} else if v2, err2 := newCgroups2(parent); err2 == nil {
		return v2, ""
	} else if v1Mounted() {
		return nil, err.Error()
	} else {
		return nil, err2.Error()
	}
}
