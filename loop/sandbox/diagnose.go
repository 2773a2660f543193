package sandbox

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// Finding is one thing that Diagnose looked at.
type Finding struct {
	Name   string // what was looked at, such as "bubblewrap"
	OK     bool
	Detail string // what was found, one line
	Remedy string // what to do when it is not OK; else empty
	// Needed says that without it no command can be run by the configured runner.
	Needed bool
}

// diagnoseTimeout bounds each question to the host.
const diagnoseTimeout = 20 * time.Second

// Diagnose says what of the sandbox holds on this host and what to do where something does not.
// It runs a command in a sandbox to see it work, in an empty directory of its own. docker is the
// engine's address; empty: its usual socket.
func Diagnose(ctx context.Context, config Config, docker string) []Finding {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	findings := []Finding{userNamespaces(), appArmor()}
	findings = append(findings, tryBubblewrap(ctx, config)...)
	return append(findings, dockerEngine(ctx, docker))
}

// DiagnoseDocker is Diagnose for the Docker runner: it asks the engine at docker and runs a command in config.Image.
func DiagnoseDocker(ctx context.Context, config Config, docker string) []Finding {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	engine := dockerEngine(ctx, docker)
	engine.Needed = true
	if !engine.OK {
		return []Finding{engine}
	}
	works := Finding{Name: "sandbox", Needed: true}
	runner, err := NewDocker(DockerConfig{Host: docker, Image: config.Image, StateDir: config.StateDir, Home: config.Home})
	if err != nil {
		works.Detail, works.Remedy = err.Error(), "set sandbox.image to an image by its digest (docker images --digests)"
		return []Finding{engine, works}
	}
	return []Finding{engine, tryTrue(ctx, runner)}
}

// tryTrue runs `true`.
func tryTrue(ctx context.Context, runner Runner) Finding {
	works := Finding{Name: "sandbox", Needed: true}
	dir, err := os.MkdirTemp("", "autocode-doctor-")
	if err != nil {
		works.Detail = err.Error()
		return works
	}
	defer os.RemoveAll(dir)
	result, err := runner.Run(ctx, Command{Args: []string{"true"}, Dir: dir})
	if err != nil {
		works.Detail = err.Error()
		if unavailable, is := asUnavailable(err); is {
			works.Detail, works.Remedy = unavailable.What, unavailable.Remedy
		}
		return works
	}
	works.OK, works.Detail = result.ExitCode == 0, fmt.Sprintf("`true` ran confined in %v", result.Wall.Round(time.Millisecond))
	if !works.OK {
		works.Detail = fmt.Sprintf("`true` exits with %d: %s", result.ExitCode, strings.TrimSpace(string(result.Stderr)))
		works.Remedy = "check the configured image: it needs a program named true"
	}
	return works
}

// tryBubblewrap makes a runner and runs a command.
func tryBubblewrap(ctx context.Context, config Config) []Finding {
	runner, err := New(config)
	if err != nil {
		finding := Finding{Name: "bubblewrap", Needed: true, Detail: err.Error()}
		if unavailable, is := asUnavailable(err); is {
			finding.Detail, finding.Remedy = unavailable.What, unavailable.Remedy
		}
		return []Finding{finding}
	}
	installed := Finding{Name: "bubblewrap", OK: true, Needed: true, Detail: runner.config.Bwrap}
	works := tryTrue(ctx, runner)
	if !works.OK {
		return []Finding{installed, works}
	}
	return []Finding{installed, works, runner.cgroupFinding()}
}

func (b *Bubblewrap) cgroupFinding() Finding {
	if b.groups == nil {
		return Finding{
			Name: "control groups", Detail: strings.Join(b.warnings, "; "),
			Remedy: "delegate a cgroup to this user (systemd: `Delegate=memory pids cpu` in the unit; container: a writable /sys/fs/cgroup), so that the kernel enforces memory, process and processor limits",
		}
	}
	finding := Finding{Name: "control groups", OK: len(b.warnings) == 0, Detail: b.groups.describe()}
	if !finding.OK {
		finding.Detail += ": " + strings.Join(b.warnings, "; ")
		finding.Remedy = "delegate the memory, pids and cpu controllers to this user"
	}
	return finding
}

// userNamespaces looks at the switches that distributions have for them.
func userNamespaces() Finding {
	finding := Finding{Name: "user namespaces", OK: true, Needed: true, Detail: "allowed"}
	for _, file := range []string{"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/user/max_user_namespaces"} {
		if content, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(content)) == "0" && os.Getuid() != 0 {
			finding.OK, finding.Detail, finding.Remedy = false, file+" is 0", remedyUserns
		}
	}
	return finding
}

// appArmor looks for Ubuntu's restriction, which an AppArmor profile for bwrap lifts.
func appArmor() Finding {
	finding := Finding{Name: "AppArmor", OK: true, Detail: "does not restrict user namespaces"}
	content, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	if err != nil || strings.TrimSpace(string(content)) == "0" {
		return finding
	}
	profiles, err := os.ReadFile("/sys/kernel/security/apparmor/profiles")
	if err == nil && strings.Contains(string(profiles), "bwrap") {
		finding.Detail = "restricts user namespaces, with a profile for bwrap"
		return finding
	}
	finding.OK, finding.Detail, finding.Remedy = false, "restricts user namespaces, and no profile for bwrap was seen", remedyUserns
	return finding
}

// dockerEngine asks the engine for a sign of life. It is an alternative, so not needed.
func dockerEngine(ctx context.Context, host string) Finding {
	finding := Finding{Name: "docker", Remedy: "only needed for the docker runner: start the engine and let this user reach its socket"}
	if host == "" {
		host = client.DefaultDockerHost
	}
	api, err := client.New(client.WithHost(host))
	if err != nil {
		finding.Detail = err.Error()
		return finding
	}
	defer api.Close()
	answer, err := api.Ping(ctx, client.PingOptions{})
	if err != nil {
		finding.Detail = "does not answer at " + host
		return finding
	}
	return Finding{Name: "docker", OK: true, Detail: "API " + answer.APIVersion + " at " + host}
}
