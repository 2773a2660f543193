package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/seed-7a986423/autocode/loop/sandbox/guest"
)

// DockerConfig sets up the Docker runner.
type DockerConfig struct {
	// Host is the API's address: unix:///path/to/socket (Podman's works too). Empty: Docker's
	// usual socket.
	Host string
	// Image is named by digest: name@sha256:… or the image's own sha256:… id. It is never pulled.
	Image string
	// StateDir, Home and Limits are as in Config.
	StateDir string
	Home     string
	Limits   Limits
}

// Docker runs each command in a container of its own over the Docker Engine API: no privileges,
// no network, a read-only root, no host path but the workspace. It has no egress proxy, since that
// needs a socket of the host's: dependencies belong into the image. Processor time and memory peak
// are not reported.
type Docker struct {
	api    *client.Client
	config DockerConfig
	filter string // seccomp profile
	banned func(dir string) error
}

// byDigest is how an image must be named, so that the same bytes run tomorrow.
var byDigest = regexp.MustCompile(`^([^@\s]+@)?sha256:[0-9a-f]{64}$`)

// ImageByDigest says whether image names one as the Docker runner needs it.
func ImageByDigest(image string) bool { return byDigest.MatchString(image) }

// runLabel names the run that a container belongs to; see newRunName.
const runLabel = "autocode.run"

// NewDocker makes the Docker runner. It asks the engine nothing yet.
func NewDocker(config DockerConfig) (*Docker, error) {
	if !ImageByDigest(config.Image) {
		return nil, &Invalid{"image", fmt.Sprintf("%q does not name an image by digest (name@sha256:… or sha256:…)", config.Image)}
	}
	if config.Host == "" {
		config.Host = client.DefaultDockerHost
	}
	config.Limits = config.Limits.withDefaults(DefaultLimits())
	if err := config.Limits.validate(); err != nil {
		return nil, err
	}
	api, err := client.New(client.WithHost(config.Host))
	if err != nil {
		return nil, &Invalid{"host", err.Error()}
	}
	filter, err := dockerFilter()
	if err != nil {
		return nil, err
	}
	return &Docker{api: api, config: config, filter: filter, banned: Config{Home: config.Home}.bannedWorkspace}, nil
}

// Run implements Runner.
func (d *Docker) Run(ctx context.Context, command Command) (Result, error) {
	command, err := command.validated(d.config.Limits, d.banned)
	if err != nil {
		return Result{}, err
	}
	if command.Network.any() {
		return Result{}, &Invalid{"network", "the docker runner reaches nothing; put dependencies into the image or use bubblewrap"}
	}
	for _, m := range slices.Concat(command.ReadOnly, command.Copies) {
		if !within(m.Source, command.Dir) || !within(m.Target, command.Dir) || len(command.Copies) > 0 {
			return Result{}, &Invalid{"mount", "the docker runner shows no host path but the workspace; put " + m.Source + " into the image or use bubblewrap"}
		}
	}
	run := &dockerRun{Docker: d, command: command, started: time.Now()}
	id, err := run.create(ctx)
	if err != nil {
		return Result{}, d.explain(err)
	}
	defer run.remove(id)
	result, err := run.run(ctx, id)
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("the command was given up: %w", context.Cause(ctx))
	}
	if err != nil {
		return Result{}, d.explain(err)
	}
	return result, nil
}

// explain turns the engine's refusal into Unavailable.
func (d *Docker) explain(err error) error {
	if _, is := asUnavailable(err); is {
		return err
	}
	switch {
	case errdefs.IsNotFound(err):
		return &Unavailable{"the image " + d.config.Image + " is not on this host", "pull it by hand (docker pull " + d.config.Image + "); autocode never pulls unasked"}
	case client.IsErrConnectionFailed(err):
		return &Unavailable{"Docker does not answer at " + d.config.Host, "start the Docker engine and let this user reach its socket, or use the bubblewrap runner"}
	case errdefs.IsPermissionDenied(err) || errors.Is(err, os.ErrPermission):
		return &Unavailable{err.Error(), "let this user reach the Docker socket"}
	default:
		return &Unavailable{"Docker refused the container: " + err.Error(), "see the engine's log"}
	}
}

// dockerRun is one command on its way.
type dockerRun struct {
	*Docker
	command Command
	started time.Time
	stdout  *capture
	stderr  *capture
	ended   atomic.Pointer[guest.Ending]
	cut     atomic.Bool
}

// Some sizes and scores of containers.
const (
	dockerVictimScore = 500 // before anything else on the host, like victimScore
	dockerFileMode    = "mode=1777"
)

func (r *dockerRun) create(ctx context.Context) (string, error) {
	limits := r.command.Limits
	owner, err := os.Stat(r.command.Dir)
	if err != nil {
		return "", &Invalid{"dir", err.Error()}
	}
	stat := statOf(owner)
	pids, init := int64(limits.PIDs+1), true // and the engine's own init
	scratch := fmt.Sprintf("rw,nosuid,nodev,exec,size=%s,%s", scratchSize(limits), dockerFileMode)
	mounts := []mount.Mount{{Type: mount.TypeBind, Source: r.command.Dir, Target: r.command.Dir}}
	for _, m := range r.command.ReadOnly {
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: true})
	}
	created, err := r.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{
			Image:        r.config.Image,
			Entrypoint:   r.command.Args[:1],
			Cmd:          r.command.Args[1:],
			Env:          r.environment(),
			WorkingDir:   r.command.Workdir,
			Hostname:     insideName,
			User:         fmt.Sprintf("%d:%d", stat.Uid, stat.Gid),
			AttachStdin:  len(r.command.Stdin) > 0,
			AttachStdout: true, AttachStderr: true,
			OpenStdin: len(r.command.Stdin) > 0, StdinOnce: true,
			NetworkDisabled: true,
			Labels:          map[string]string{runLabel: newRunName()},
		},
		HostConfig: &container.HostConfig{
			NetworkMode:    "none",
			IpcMode:        container.IPCModePrivate,
			CgroupnsMode:   container.CgroupnsModePrivate,
			CapDrop:        []string{"ALL"},
			SecurityOpt:    []string{"no-new-privileges", "seccomp=" + r.filter},
			ReadonlyRootfs: true,
			MaskedPaths:    slices.Concat(dockerMasked, procHidden, procHiddenRoot),
			Init:           &init,
			OomScoreAdj:    dockerVictimScore,
			LogConfig:      container.LogConfig{Type: "none"},
			ShmSize:        min(limits.Disk, limits.Memory/2),
			Tmpfs:          map[string]string{"/tmp": scratch, insideHome: scratch},
			Mounts:         mounts,
			Resources: container.Resources{
				Memory: limits.Memory, MemorySwap: limits.Memory, PidsLimit: &pids,
				NanoCPUs: int64(limits.CPUs * float64(time.Second)),
				Ulimits: []*container.Ulimit{
					{Name: "core"},
					{Name: "fsize", Soft: limits.Disk, Hard: limits.Disk},
				},
			},
		},
	})
	return created.ID, err
}

// environment is what the command gets on top of the image's own.
func (r *dockerRun) environment() []string {
	return mergeEnv([]string{
		"HOME=" + insideHome, "USER=" + insideName, "LOGNAME=" + insideName,
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb", "TMPDIR=/tmp",
	}, r.command.Env)
}

// remove takes the container away, also when the caller has given up.
func (r *dockerRun) remove(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	_, _ = r.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
}

// removeTimeout bounds cleaning up; Reap takes care of what stays.
const removeTimeout = 30 * time.Second

// end kills the container. The first reason wins.
func (r *dockerRun) end(id string, reason Reason, note string) {
	if !r.ended.CompareAndSwap(nil, &guest.Ending{Reason: reason, Note: note}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	_, _ = r.api.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "KILL"})
}

func (r *dockerRun) run(ctx context.Context, id string) (Result, error) {
	attached, err := r.api.ContainerAttach(ctx, id, client.ContainerAttachOptions{
		Stream: true, Stdin: len(r.command.Stdin) > 0, Stdout: true, Stderr: true,
	})
	if err != nil {
		return Result{}, fmt.Errorf("attaching to the container: %w", err)
	}
	defer attached.Close()
	waiting := r.api.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	r.started = time.Now()
	if _, err := r.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return Result{}, fmt.Errorf("starting the container: %w", err)
	}
	timer := time.AfterFunc(r.command.Limits.Timeout, func() { r.end(id, Timeout, "") })
	defer timer.Stop()
	watched, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go r.watchDisk(watched, id)

	limit := r.command.Limits.Output
	r.stdout = &capture{limit: limit, live: r.command.Stdout, open: true}
	r.stderr = &capture{limit: limit, live: r.command.Stderr, open: true}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		r.copyOutput(id, attached.Reader)
	}()
	if len(r.command.Stdin) > 0 {
		go func() {
			_, _ = attached.Conn.Write(r.command.Stdin)
			_ = attached.CloseWrite()
		}()
	}
	var exit int64
	select {
	case answer := <-waiting.Result:
		exit = answer.StatusCode
	case err := <-waiting.Error:
		return Result{}, fmt.Errorf("waiting for the container: %w", err)
	}
	wall := time.Since(r.started)
	// The container is dead, so its output ends; the engine may be slow to say so.
	select {
	case <-copied:
	case <-time.After(killGrace):
		attached.Close()
		<-copied
	}
	return r.result(ctx, id, int(exit), wall)
}

// copyOutput takes the two streams apart and cuts them.
func (r *dockerRun) copyOutput(id string, from io.Reader) {
	streams := []*cutStream{{run: r, id: id, cutter: &guest.Cutter{Sink: r.stdout, Limit: r.command.Limits.Output}}, {run: r, id: id, cutter: &guest.Cutter{Sink: r.stderr, Limit: r.command.Limits.Output}}}
	_, _ = stdcopy.StdCopy(streams[0], streams[1], from)
	for _, stream := range streams {
		stream.cutter.Finish()
	}
}

// cutStream ends the container when its stream exceeds the limit.
type cutStream struct {
	run    *dockerRun
	id     string
	cutter *guest.Cutter
}

func (c *cutStream) Write(p []byte) (int, error) {
	if !c.cutter.Write(p) {
		c.run.cut.Store(true)
		c.run.end(c.id, OutputLimit, "")
	}
	return len(p), nil
}

// watchDisk bounds what is written to the workspace; the scratch mounts have sizes of their own.
func (r *dockerRun) watchDisk(ctx context.Context, id string) {
	watch := guest.NewDiskWatch(r.command.Dir, nil, r.command.Limits.Disk)
	watch.Outside = true
	ticker := time.NewTicker(guest.WatchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if note, over := watch.Over(); over {
				r.end(id, Signal, note)
				return
			}
		}
	}
}

func (r *dockerRun) result(ctx context.Context, id string, exit int, wall time.Duration) (Result, error) {
	inspected, err := r.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return Result{}, fmt.Errorf("inspecting the container: %w", err)
	}
	status := unix.WaitStatus(exit << 8)
	if number := exit - guest.ExitSignalBase; number > 0 && number <= maxSignal {
		status = unix.WaitStatus(number) // the engine's init reports signals as shells do
	}
	var report guest.Report
	report.Settle(status, r.ended.Load())
	if state := inspected.Container.State; r.ended.Load() == nil && state != nil && state.OOMKilled && exit != 0 {
		report.ExitCode, report.Reason, report.Signal = guest.ExitKilled, OOM, 0
	}
	return Result{
		ExitCode: report.ExitCode, Reason: report.Reason, Signal: report.Signal,
		Stdout: r.stdout.bytes(), Stderr: r.stderr.bytes(),
		Wall: wall, Truncated: r.cut.Load(), Warnings: report.Notes,
	}, nil
}

// maxSignal is the highest signal number of Linux.
const maxSignal = 64

// Reap removes the containers of servers that died. The number of them is returned, also with an
// error.
func (d *Docker) Reap(ctx context.Context) (int, error) {
	found, err := d.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", runLabel)})
	if err != nil {
		return 0, d.explain(err)
	}
	reaped := 0
	var failed error
	for _, item := range found.Items {
		if ownerLives(item.Labels[runLabel]) {
			continue
		}
		_, err := d.api.ContainerRemove(ctx, item.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		failed = errors.Join(failed, err)
		reaped++
	}
	return reaped, failed
}

// dockerFilter is the system-call filter as a profile for the engine, which assembles it with
// libseccomp: one rule for each denied value, since the library compares an argument once a rule.
func dockerFilter() (string, error) {
	type argument struct {
		Index    int    `json:"index"`
		Value    uint64 `json:"value"`
		ValueTwo uint64 `json:"valueTwo"`
		Op       string `json:"op"`
	}
	type rule struct {
		Names     []string   `json:"names"`
		Action    string     `json:"action"`
		ErrnoRet  uint       `json:"errnoRet"`
		Arguments []argument `json:"args,omitempty"`
	}
	const deny = "SCMP_ACT_ERRNO"
	rules := []rule{
		{Names: deniedAlways, Action: deny, ErrnoRet: uint(unix.EPERM)},
		{Names: deniedAsUnknown, Action: deny, ErrnoRet: uint(unix.ENOSYS)},
	}
	when := func(call string, conditions ...argument) {
		rules = append(rules, rule{Names: []string{call}, Action: deny, ErrnoRet: uint(unix.EPERM), Arguments: conditions})
	}
	masked := func(index int, mask, value uint32) argument {
		return argument{Index: index, Value: uint64(mask), ValueTwo: uint64(value), Op: "SCMP_CMP_MASKED_EQ"}
	}
	bits := func(mask uint32) []uint32 {
		var each []uint32
		for bit := uint32(1); bit != 0; bit <<= 1 {
			if mask&bit != 0 {
				each = append(each, bit)
			}
		}
		return each
	}
	for _, r := range argumentRules {
		switch {
		case r.any:
			for _, bit := range bits(r.mask) {
				when(r.call, masked(r.argument, bit, bit))
			}
		case r.others && r.call == "personality":
			// Every bit that none of the allowed values has; the query is lost with them.
			for _, bit := range bits(allBits &^ (personalityLinux32 | addressNoRandomness)) {
				when(r.call, masked(r.argument, bit, bit))
			}
		case r.others: // socket families
			for family := uint32(0); family < families; family++ {
				if !slices.Contains(r.values, family) {
					when(r.call, masked(r.argument, r.mask, family))
				}
			}
		default:
			for _, value := range r.values {
				when(r.call, masked(r.argument, r.mask, value))
			}
		}
	}
	for protocol := uint32(0); protocol < netlinkLinks; protocol++ {
		if !slices.Contains(netlinkProtocols, protocol) {
			when("socket", masked(0, allBits, unix.AF_NETLINK), masked(2, allBits, protocol))
		}
	}
	for _, r := range openRules {
		for _, create := range bits(creates) {
			for _, bit := range bits(setIDBits) {
				when(r.call, masked(r.flags, create, create), masked(r.mode, bit, bit))
			}
		}
	}
	arches := map[string][]string{"amd64": {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86"}, "arm64": {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"}}
	encoded, err := json.Marshal(map[string]any{
		"defaultAction": "SCMP_ACT_ALLOW",
		"architectures": arches[runtime.GOARCH],
		"syscalls":      rules,
	})
	if err != nil {
		return "", fmt.Errorf("encoding the system-call filter: %w", err)
	}
	return strings.TrimSpace(string(encoded)), nil
}

// dockerMasked are the paths that the engines hide of themselves; naming any replaces their list.
var dockerMasked = []string{
	"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
	"/sys/firmware", "/sys/devices/virtual/powercap",
}

// netlinkLinks is above the highest number of a netlink protocol (MAX_LINKS of linux/netlink.h).
const netlinkLinks = 32

// families is above the highest number of an address family that Linux may give (AF_MAX is 46 now).
const families = 64
