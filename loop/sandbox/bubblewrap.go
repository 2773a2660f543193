package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop/sandbox/guest"
)

// Bubblewrap runs commands under bubblewrap. Make it with New; it may be used concurrently.
type Bubblewrap struct {
	config   Config
	filter   []byte // system-call filter
	root     rootView
	tools    tools
	groups   cgroups // nil: none
	warnings []string
	proc     []string // arguments for /proc
}

// New makes the bubblewrap runner. *Unavailable says that bubblewrap is missing; whether the host
// lets it work shows when the first command runs (see Diagnose).
func New(config Config) (*Bubblewrap, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	filter, err := seccompFilter()
	if err != nil {
		return nil, err
	}
	b := &Bubblewrap{config: config, filter: filter, proc: procArgs(os.Getuid() == 0)}
	if err := ownDir(config.StateDir); err != nil {
		return nil, &Unavailable{"the state directory cannot be used: " + err.Error(), "name a directory that belongs to this user alone"}
	}
	if config.Image == "" {
		b.tools = findTools(config.SearchPath, config.Home)
		b.root, err = hostRoot(config)
	} else {
		b.root, err = imageRoot(config)
		b.tools = tools{path: b.root.path}
	}
	if err != nil {
		return nil, err
	}
	why := "switched off"
	if !config.NoCgroups {
		b.groups, why = findCgroups(config.CgroupParent)
	}
	b.warnings = groupWarnings(b.groups, why)
	return b, nil
}

// groupWarnings says what is watched by the init because the kernel does not bound it here.
func groupWarnings(groups cgroups, why string) []string {
	if groups == nil {
		return []string{"no control groups (" + why + "): memory and processes are watched by the sandbox's init, processor time is not limited"}
	}
	var missing []string
	has := groups.limits()
	if !has.memory {
		missing = append(missing, "memory")
	}
	if !has.pids {
		missing = append(missing, "processes")
	}
	var warnings []string
	if len(missing) > 0 {
		warnings = append(warnings, "control groups do not bound "+strings.Join(missing, " and ")+" here: the sandbox's init watches over it")
	}
	if !has.cpu {
		warnings = append(warnings, "control groups do not bound processor time here: it is not limited")
	}
	return warnings
}

// ownDir makes dir for this user alone, and refuses one that somebody else prepared.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || ownerOf(info) != os.Getuid() {
		return fmt.Errorf("%s does not belong to user %d", dir, os.Getuid())
	}
	const othersWrite = 0o022
	if info.Mode().Perm()&othersWrite != 0 {
		return fmt.Errorf("%s may be written by others", dir)
	}
	return nil
}

// Run implements Runner.
func (b *Bubblewrap) Run(ctx context.Context, command Command) (Result, error) {
	command, err := command.validated(b.config.Limits, b.config.bannedWorkspace)
	if err != nil {
		return Result{}, err
	}
	for _, mount := range slices.Concat(command.ReadOnly, command.Copies) {
		if err := cleanTarget(mount.Target); err != nil {
			return Result{}, &Invalid{"mount", err.Error()}
		}
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	r := &bubbleRun{Bubblewrap: b, command: command, name: newRunName()}
	defer r.close()
	if err := r.prepare(); err != nil {
		return Result{}, err
	}
	return r.run(ctx)
}

// bubbleRun is one command on its way.
type bubbleRun struct {
	*Bubblewrap
	command Command
	name    string
	dir     string // below StateDir; empty until something needs it
	copies  []Mount
	proxy   *Proxy
	group   group
	files   inherited
}

// scratchDir is the run's directory on the host, made when first needed.
func (r *bubbleRun) scratchDir() (string, error) {
	if r.dir == "" {
		dir := filepath.Join(r.config.StateDir, r.name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", fmt.Errorf("making the run's directory: %w", err)
		}
		r.dir = dir
	}
	return r.dir, nil
}

// prepare makes everything that the command needs on the host.
func (r *bubbleRun) prepare() error {
	for i, mount := range r.command.Copies {
		dir, err := r.scratchDir()
		if err != nil {
			return err
		}
		private := filepath.Join(dir, fmt.Sprintf("copy-%d", i))
		if err := copyTree(mount.Source, private); err != nil {
			return fmt.Errorf("copying %s for the sandbox: %w", mount.Source, err)
		}
		r.copies = append(r.copies, Mount{private, mount.Target})
	}
	if r.command.Network.any() {
		dir, err := r.scratchDir()
		if err != nil {
			return err
		}
		r.proxy, err = StartProxy(filepath.Join(dir, egressName), r.command.Network, r.config.Egress)
		if err != nil {
			return err
		}
	}
	if r.groups != nil {
		group, err := r.groups.create(r.name, r.command.Limits)
		if err != nil {
			return &Unavailable{err.Error(), "let this user write its control group, or start autocode without one"}
		}
		r.group = group
	}
	return nil
}

// close takes away what prepare made. What cannot be removed is left for Reap.
func (r *bubbleRun) close() {
	r.files.close()
	if r.proxy != nil {
		_ = r.proxy.Close()
	}
	if r.group != nil {
		_ = r.group.remove()
	}
	if r.dir != "" {
		_ = RemoveAll(r.dir)
	}
}

// killGrace is how long the init may take to end everything and report, after its own time-out,
// before bubblewrap is killed from outside.
const killGrace = 5 * time.Second

func (r *bubbleRun) run(ctx context.Context) (Result, error) {
	p, err := r.start()
	if err != nil {
		return Result{}, err
	}
	backstop := time.NewTimer(r.command.Limits.Timeout + killGrace)
	defer backstop.Stop()
	overdue := false
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		<-p.done
		return Result{}, fmt.Errorf("the command was given up: %w", context.Cause(ctx))
	case <-backstop.C:
		overdue = true
		p.kill()
		<-p.done
	}
	return r.result(p, overdue)
}

// result turns what the init reported, or its silence, into a Result.
func (r *bubbleRun) result(p *process, overdue bool) (Result, error) {
	if !p.alive {
		return Result{}, setupFailure(p)
	}
	result := Result{
		Stdout:   p.stdout.bytes(),
		Stderr:   p.stderr.bytes(),
		Wall:     p.wall,
		Warnings: slices.Clone(r.warnings),
	}
	report := p.report
	switch {
	case p.reported:
		result.ExitCode, result.Reason, result.Signal = report.ExitCode, report.Reason, report.Signal
		result.CPU, result.MaxRSS, result.Truncated = report.CPU, report.MaxRSS, report.Truncated
		result.Warnings = append(result.Warnings, report.Notes...)
		result.Wall = report.Wall
	case overdue:
		result.ExitCode, result.Reason = guest.ExitTimeout, Timeout
	default:
		// The init is gone without a word: only the kernel can have ended it.
		result.ExitCode, result.Reason, result.Signal = guest.ExitKilled, Signal, guest.ExitKilled-guest.ExitSignalBase
		result.Warnings = append(result.Warnings, "the sandbox was killed as a whole")
	}
	if r.group == nil {
		return result, nil
	}
	if cpu, known := r.group.cpu(); known {
		result.CPU = cpu
	}
	if kills := r.group.oomKills(); kills > 0 {
		note := fmt.Sprintf("the memory limit of %d bytes was reached, and the kernel ended %d processes", r.command.Limits.Memory, kills)
		result.Warnings = append(result.Warnings, note)
		if result.Reason == Signal || result.Reason == Exited && result.ExitCode != 0 {
			result.ExitCode, result.Reason, result.Signal = guest.ExitKilled, OOM, 0
		}
	}
	return result, nil
}

// setupFailure explains why the sandbox did not come up.
func setupFailure(p *process) error {
	said := strings.TrimSpace(string(p.stderr.bytes()))
	if said == "" {
		said = fmt.Sprintf("bubblewrap ended without a word (%v)", p.waitErr)
	}
	if at := strings.LastIndexByte(said, '\n'); at >= 0 {
		said = said[at+1:]
	}
	for _, known := range []struct{ text, remedy string }{
		{"Unknown option", "install bubblewrap 0.8 or newer"},
		{"No permissions to create new namespace", remedyUserns},
		{"setting up uid map", remedyUserns},
		{"Creating new namespace failed", remedyUserns},
		{"loopback: Failed RTM_NEWADDR", remedyUserns},
		{"Can't mount proc", "this looks like a container with a masked /proc; start it with `--security-opt systempaths=unconfined`, or use the docker runner"},
		{"Can't find source path", "a directory that the sandbox shows has gone; restart autocode"},
		{"execvp", "build autocode statically (CGO_ENABLED=1 with -extldflags -static) so that it starts in any root"},
	} {
		if strings.Contains(said, known.text) {
			return &Unavailable{said, known.remedy}
		}
	}
	return &Unavailable{said, "run `autocode doctor` to see what this host lacks"}
}

// remedyUserns applies wherever the kernel or a security module refuses user namespaces.
const remedyUserns = "allow unprivileged user namespaces for bwrap: on Ubuntu 24.04 an AppArmor profile for /usr/bin/bwrap with `userns,` (or sysctl kernel.apparmor_restrict_unprivileged_userns=0), " +
	"on other hosts sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces above 0; in a container, a seccomp profile that allows unshare"

// spec is what the init is told.
func (r *bubbleRun) spec() guest.Spec {
	c := r.command
	spec := guest.Spec{
		Args:      c.Args,
		Dir:       c.Workdir,
		Env:       r.environment(),
		HasStdin:  len(c.Stdin) > 0,
		Output:    c.Limits.Output,
		Timeout:   c.Limits.Timeout,
		Workspace: c.Dir,
		Scratch:   []string{"/tmp", insideHome},
		Disk:      c.Limits.Disk,
	}
	if r.groups == nil || !r.groups.limits().memory {
		spec.Memory = c.Limits.Memory
	}
	if r.groups == nil || !r.groups.limits().pids {
		spec.PIDs = c.Limits.PIDs
	}
	if r.group != nil {
		spec.OOMFile = r.group.oomFile()
	}
	if r.proxy != nil {
		spec.Egress = insideEgress
	}
	return spec
}

// environment is the command's whole environment; nothing of the caller's own is in it.
func (r *bubbleRun) environment() []string {
	env := []string{
		"PATH=" + strings.Join(r.tools.path, ":"),
		"HOME=" + insideHome,
		"USER=" + insideName,
		"LOGNAME=" + insideName,
		"SHELL=/bin/sh",
		"LANG=C.UTF-8",
		"LC_ALL=C.UTF-8",
		"TERM=dumb",
		"TMPDIR=/tmp",
	}
	env = append(env, r.tools.env...)
	env = append(env, r.root.env...)
	if r.proxy != nil {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			env = append(env, name+"=http://"+guest.BridgeAddress)
		}
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			env = append(env, name+"=localhost,127.0.0.1,::1")
		}
		env = append(env, authorities()...)
	}
	return mergeEnv(env, r.command.Env)
}

// bundles are where distributions keep the certificates that the machine trusts; /etc/ssl and
// /etc/pki are shown inside.
var bundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}

// authorities points the tools that carry certificates of their own at the machine's: where a
// company's mirror or proxy has its own authority, the machine knows it and they do not.
func authorities() []string {
	for _, bundle := range bundles {
		if _, err := os.Stat(bundle); err != nil {
			continue
		}
		var env []string
		for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO"} {
			env = append(env, name+"="+bundle)
		}
		return env
	}
	return nil
}

// mergeEnv returns base with later entries in place of earlier ones of the same name.
func mergeEnv(base, later []string) []string {
	var out []string
	at := map[string]int{}
	for _, entry := range slices.Concat(base, later) {
		key, _, _ := strings.Cut(entry, "=")
		if i, found := at[key]; found {
			out[i] = entry
			continue
		}
		at[key] = len(out)
		out = append(out, entry)
	}
	return out
}

// asUnavailable says whether err means that the sandbox cannot be had.
func asUnavailable(err error) (*Unavailable, bool) {
	var unavailable *Unavailable
	return unavailable, errors.As(err, &unavailable)
}
