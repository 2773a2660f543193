package sandbox

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCgroups2Files holds what a run's group of version 2 gets, in a plain directory in the place of the
// mounted hierarchy: that the kernel obeys it is not shown here.
func TestCgroups2Files(t *testing.T) {
	limits := Limits{Memory: 256 << 20, PIDs: 100, CPUs: 0.5}
	for _, c := range []struct {
		name string
		has  enforced
		want map[string]string
	}{
		{"all", enforced{memory: true, pids: true, cpu: true}, map[string]string{
			"memory.max": "268435456", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": strconv.Itoa(100 + groupSlack), "cpu.max": "50000 100000",
		}},
		{"memory alone", enforced{memory: true}, map[string]string{"memory.max": "268435456", "memory.swap.max": "0", "memory.oom.group": "1"}},
		{"processes alone", enforced{pids: true}, map[string]string{"pids.max": strconv.Itoa(100 + groupSlack)}},
		{"none", enforced{}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{".", "server"} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, dir, "cgroup.subtree_control"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			groups := &cgroups2{root: root, parent: "/server", has: c.has}
			if _, err := groups.create("run", limits); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(filepath.Join(root, "server", "run"))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, e := range entries {
				content, err := os.ReadFile(filepath.Join(root, "server", "run", e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				got[e.Name()] = string(content)
			}
			for name, value := range c.want {
				if got[name] != value {
					t.Errorf("%s is %q, want %q", name, got[name], value)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("written: %v, want %v", got, c.want)
			}
		})
	}
}

// TestCgroups2Processes starts processes in a group of a real hierarchy of version 2, mounted for the test
// alone, and ends all of them by it, also one that left the session. Which limits the kernel has there
// depends on what version 1 holds; those that it has are read back.
func TestCgroups2Processes(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
			t.Fatalf("missing: a hierarchy of version 2 that may be mounted, which only root may: %v", err)
		}
		t.Skipf("the hierarchy of version 2 cannot be mounted here, which only root may: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	groups := &cgroups2{root: root, parent: "/"}
	for controller, has := range map[string]*bool{"memory": &groups.has.memory, "pids": &groups.has.pids, "cpu": &groups.has.cpu} {
		if *has = listed(filepath.Join(root, "cgroup.controllers"), controller); !*has {
			t.Logf("the limit of %s is not tried: this kernel gives the controller to version 1", controller)
		}
	}
	const name = runPrefix + "test-of-version-2"
	g, err := groups.create(name, Limits{Memory: 256 << 20, PIDs: 50, CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, name)
	if groups.has.pids && !listed(filepath.Join(dir, "pids.max"), strconv.Itoa(50+groupSlack)) {
		t.Error("pids.max is not what was asked for")
	}
	if groups.has.memory && !listed(filepath.Join(dir, "memory.max"), strconv.Itoa(256<<20)) {
		t.Error("memory.max is not what was asked for")
	}
	var start startAttributes
	if err := g.enter(&start); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "setsid sleep 1000 & sleep 1000 & echo up; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(start.cgroup.Fd())}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Start(), g.leave()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("%q, %v", line, err)
	}
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(procs))); n != 3 {
		t.Errorf("%d processes are in the group, want the shell and two that it started", n)
	}
	if _, known := g.cpu(); !known {
		t.Error("the time that the group used is not known")
	}
	if left := groups.leftovers(); !slices.Contains(left, name) {
		t.Errorf("the groups that would be cleared up after a crash are %q", left)
	}
	// As a server does that finds the group of one that died.
	if err := groups.kill(name); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the shell ended with %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is left: %v", err)
	}
	if err := g.remove(); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}
