package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Config sets up a runner. The zero value is usable: bubblewrap from the standard places, this
// program as init, the host's system directories as root, and moderate limits.
type Config struct {
	// Bwrap is the path of bubblewrap, 0.8 or newer. Empty: looked up in SearchPath.
	Bwrap string
	// Init is a program that calls Guest when it is started as `PROGRAM sandbox-init`.
	// Empty: the running program.
	Init string
	// Image is a root file system to use in place of the host's system directories: an unpacked
	// image's directory, or an OCI image layout or archive, which is unpacked below StateDir.
	Image string
	// StateDir holds what runs leave while they last (copies of caches, the egress socket) and
	// unpacked images. Empty: a directory of this user's below the system's temporary one.
	StateDir string
	// CgroupParent is the group below which runs get their own. Empty: found by itself.
	CgroupParent string
	// NoCgroups leaves memory and processes to the init's own watch, as on hosts without cgroups.
	NoCgroups bool
	// SearchPath is the caller's PATH; empty: the standard one. Directories outside the system's own are shown read-only
	// as far as they are toolchains (see toolchains).
	SearchPath string
	// Home is the caller's home directory: refused as a workspace, and where toolchains of
	// version managers are looked for. Empty: the one of the user database.
	Home string
	// Etc lists entries of /etc to show besides the built-in ones, relative to /etc.
	Etc []string
	// Limits are the defaults for zero fields of Command.Limits.
	Limits Limits
	// Egress shapes the proxy of commands that may reach hosts.
	Egress Egress
}

// Egress shapes the proxy. The zero value resolves by the system's resolver and refuses every
// address that is not public.
type Egress struct {
	// Resolver looks names up; nil: the system's.
	Resolver Resolver
	// PermitAddress decides on a resolved address; nil: PublicAddress. Tests on loopback set it.
	PermitAddress func(addr net.IP) bool
	// Dial connects to a checked address; nil: directly. It serves hosts that have a way out of
	// their own, and tests.
	Dial func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// Audit is called once per request, also for refused ones; nil: no record.
	Audit func(AuditEntry)
	// Headers adds headers by host to plain-HTTP requests, for private registries: the
	// credentials stay outside the sandbox. HTTPS is a tunnel and cannot be amended.
	Headers map[string]map[string]string
}

// Built-in limits: enough for building and testing a middling project on a small machine.
const (
	defaultMemory  = 2 << 30
	defaultPIDs    = 512
	defaultDisk    = 2 << 30
	defaultOutput  = 1 << 20
	defaultTimeout = 5 * time.Minute
)

// DefaultLimits are the limits that apply where neither Command nor Config says otherwise.
func DefaultLimits() Limits {
	return Limits{
		Memory:  defaultMemory,
		PIDs:    defaultPIDs,
		CPUs:    float64(runtime.NumCPU()),
		Disk:    defaultDisk,
		Output:  defaultOutput,
		Timeout: defaultTimeout,
	}
}

// bwrapDirs are the directories in which bubblewrap may lie: those of the search path, then where distributions install it.
func bwrapDirs(searchPath string) []string {
	return slices.Concat(filepath.SplitList(searchPath), standardPath, []string{"/run/current-system/sw/bin"})
}

// findBwrap looks bubblewrap up in directories, in their order.
func findBwrap(dirs []string) (string, error) {
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue // a relative entry means whatever directory one happens to be in
		}
		path := filepath.Join(dir, "bwrap")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &Unavailable{"bubblewrap (bwrap) is not installed", bwrapRemedy}
}

const bwrapRemedy = "install bubblewrap 0.8 or newer (apt-get install bubblewrap, dnf install bubblewrap, apk add bubblewrap), or choose the docker runner"

// withDefaults returns the configuration with every field set and checked.
func (c Config) withDefaults() (Config, error) {
	if c.Bwrap == "" {
		var err error
		if c.Bwrap, err = findBwrap(bwrapDirs(c.SearchPath)); err != nil {
			return c, err
		}
	} else if _, err := exec.LookPath(c.Bwrap); err != nil || !filepath.IsAbs(c.Bwrap) {
		return c, &Unavailable{fmt.Sprintf("%s is not an absolute path to an executable bubblewrap", c.Bwrap), bwrapRemedy}
	}
	if c.Init == "" {
		self, err := os.Executable()
		if err != nil {
			return c, &Unavailable{"the running program cannot be found: " + err.Error(), "set the path of the autocode binary"}
		}
		c.Init = self
	}
	if info, err := os.Stat(c.Init); err != nil || !info.Mode().IsRegular() {
		return c, &Unavailable{"the init program " + c.Init + " is gone", "restart autocode after replacing its binary"}
	}
	if c.Home == "" {
		if who, err := user.Current(); err == nil {
			c.Home = who.HomeDir
		}
	}
	if c.StateDir == "" {
		c.StateDir = filepath.Join(os.TempDir(), fmt.Sprintf("autocode-sandbox-%d", os.Getuid()))
	}
	var err error
	if c.StateDir, err = filepath.Abs(c.StateDir); err != nil { // bubblewrap starts in /
		return c, &Unavailable{"the state directory has no absolute path: " + err.Error(), "set TMPDIR to an absolute path"}
	}
	for _, entry := range c.Etc {
		if !filepath.IsLocal(entry) {
			return c, &Invalid{"etc", fmt.Sprintf("%q is not a path relative to /etc", entry)}
		}
	}
	c.Limits = c.Limits.withDefaults(DefaultLimits())
	return c, c.Limits.validate()
}

// realDir returns the absolute path of an existing directory with all links resolved.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	return real, nil
}

// systemDirs are never a workspace: they belong to the system or hold other people's files.
var systemDirs = []string{
	"/", "/bin", "/boot", "/dev", "/dev/shm", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt",
	"/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/lib", "/var/run", "/var/tmp",
}

// systemTrees are never a workspace, and neither is anything below them.
var systemTrees = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr"}

// bannedWorkspace refuses directories whose exposure would be a leak or whose mounting would
// break the root.
func (c Config) bannedWorkspace(dir string) error {
	refuse := func(why string) error {
		return fmt.Errorf("%s is %s and must not be exposed to a sandbox; name a project directory", dir, why)
	}
	if slices.Contains(systemDirs, dir) {
		return refuse("a system directory")
	}
	for _, tree := range systemTrees {
		if strings.HasPrefix(dir, tree+"/") && dir != "/dev/shm" && !strings.HasPrefix(dir, "/dev/shm/") {
			return refuse("part of the system")
		}
	}
	if filepath.Dir(dir) == "/home" {
		return refuse("a home directory")
	}
	for _, home := range c.homes() {
		if home, err := filepath.EvalSymlinks(home); err == nil && within(home, dir) {
			return refuse("a home directory or holds one")
		}
	}
	// What lies there becomes the root of later sandboxes.
	if state, err := filepath.EvalSymlinks(c.StateDir); err == nil && (within(state, dir) || within(dir, state)) {
		return refuse("where the sandbox keeps its own files (" + state + "), or holds them,")
	}
	return nil
}

// homes are the caller's home directories: the one that it says and the one of the user database.
func (c Config) homes() []string {
	homes := []string{c.Home}
	if who, err := user.Current(); err == nil {
		homes = append(homes, who.HomeDir)
	}
	return homes
}

// within says whether path is dir or lies below it. Both are absolute and clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
