package guest

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Argument is the first argument of the program that runs as process 1 inside.
const Argument = "sandbox-init"

// Descriptors that the guest inherits besides the standard ones.
const (
	ControlFD = 3 // a Spec, then held open: its end means the server is gone
	ReportFD  = 4 // the sign of life, then a Report
	StdinFD   = 5 // sealed memory file with the command's input, if there is any
)

// Alive is written to ReportFD once the guest is ready, so that the server can tell a sandbox that
// could not be set up from one that died.
const Alive = '+'

// Exit codes of ends that are not the command's own choice, as timeout(1) and shells have them.
const (
	ExitTimeout     = 124
	ExitOutputLimit = 125
	ExitNotFound    = 127
	ExitSignalBase  = 128
	ExitKilled      = ExitSignalBase + 9
)

// Codes with which the guest itself ends; the server only looks at the report.
const (
	done   = 0
	failed = 1
	misuse = 2
)

// init turns the process into the guest if it was started as `PROGRAM sandbox-init`; see the
// package's comment for why it does not wait for main.
func init() {
	if len(os.Args) != 2 || os.Args[1] != Argument {
		return
	}
	if os.Getpid() != 1 {
		complain("autocode: sandbox-init is started by autocode inside a sandbox, never by hand")
		os.Exit(misuse)
	}
	// Not on this goroutine: while packages are initialised it is tied to one thread, and each
	// wait would cost a switch of threads.
	go func() { os.Exit(run()) }()
	select {}
}

func complain(line string) { _, _ = os.Stderr.WriteString(line + "\n") }

func run() int {
	// Everything inherited is closed to the command, whatever the server's parent left open.
	if err := CloseOnExec(ControlFD); err != nil {
		return fail("closing inherited descriptors", err)
	}
	// The command has the same user id: keep it from opening /proc/1/fd, environ and mem.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fail("protecting the init", err)
	}
	if err := survive(); err != nil {
		return fail("protecting the init", err)
	}
	warmThreads()
	report := os.NewFile(ReportFD, "report")
	if _, err := report.Write([]byte{Alive}); err != nil {
		return fail("greeting the server", err)
	}
	control := os.NewFile(ControlFD, "control")
	spec, err := readSpec(control)
	if err != nil {
		return fail("reading the command", err)
	}
	go func() {
		// The server holds the other end for as long as it lives. Process 1 takes all others along.
		_, _ = control.Read(make([]byte, 1))
		os.Exit(failed)
	}()
	outcome, err := (&guest{spec: spec}).run()
	if err != nil {
		return fail("running the command", err)
	}
	if _, err := report.Write(outcome.encode()); err != nil {
		return fail("reporting", err)
	}
	return done
}

func fail(doing string, err error) int {
	complain("autocode: sandbox-init: " + doing + ": " + err.Error())
	return failed
}

// wrapped says what was being done; fmt is not to be had here.
type wrapped struct {
	doing string
	err   error
}

func (w *wrapped) Error() string { return w.doing + ": " + w.err.Error() }

func (w *wrapped) Unwrap() error { return w.err }

// guest runs one command as process 1.
type guest struct {
	spec      Spec
	ended     atomic.Pointer[Ending] // why the guest killed everything; nil: it did not
	truncated atomic.Bool
	peak      atomic.Int64 // the largest process seen, in bytes
}

// Ending is a decision to end the command.
type Ending struct {
	Reason Reason
	Note   string
}

// end kills every other process of the sandbox. The first reason wins.
func (g *guest) end(reason Reason, note string) {
	g.ended.CompareAndSwap(nil, &Ending{reason, note})
	// As process 1 this reaches all processes of the namespace but the caller, atomically with
	// respect to fork: none escapes.
	_ = unix.Kill(-1, unix.SIGKILL)
}

func (g *guest) run() (Report, error) {
	if err := g.setLimits(); err != nil {
		return Report{}, err
	}
	if g.spec.Egress != "" {
		if err := startBridge(g.spec.Egress); err != nil {
			return Report{}, &wrapped{"starting the egress bridge", err}
		}
	}
	disk := NewDiskWatch(g.spec.Workspace, g.spec.Scratch, g.spec.Disk)
	memory := newMemoryWatch(g.spec)

	stdout, outputOut, err := g.output(os.Stdout)
	if err != nil {
		return Report{}, err
	}
	stderr, outputErr, err := g.output(os.Stderr)
	if err != nil {
		return Report{}, err
	}
	started := time.Now()
	process, err := g.start(stdout, stderr)
	stdout.Close()
	stderr.Close()
	if err != nil {
		outputOut.Wait()
		outputErr.Wait()
		complain("autocode: sandbox: " + err.Error())
		return Report{ExitCode: ExitNotFound, Reason: Exited, Wall: time.Since(started)}, nil
	}
	timer := time.AfterFunc(g.spec.Timeout, func() { g.end(Timeout, "") })
	defer timer.Stop()
	g.sample(strconv.Itoa(process.Pid))
	go g.watch(disk, memory)

	status, err := reapAll(process.Pid)
	if err != nil {
		return Report{}, err
	}
	// Everyone is dead, so both pipes have ended.
	outputOut.Wait()
	outputErr.Wait()

	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &usage); err != nil {
		return Report{}, &wrapped{"reading the time used", err}
	}
	out := Report{
		Wall:      time.Since(started),
		CPU:       time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		MaxRSS:    g.largest(usage),
		Truncated: g.truncated.Load(),
	}
	out.Settle(status, g.ended.Load())
	return out, nil
}

// sample notes the peak memory of a process.
func (g *guest) sample(pid string) {
	content, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return
	}
	if peak, found := kilobytes(string(content), "VmHWM:"); found && peak > g.peak.Load() {
		g.peak.Store(peak)
	}
}

// largest is the peak memory of the largest process. The kernel counts the init's own memory for
// every process that it started, since they shared it until they called exec; a figure that is no
// larger is only an upper bound, and the samples are better where there are any.
func (g *guest) largest(usage unix.Rusage) int64 {
	var own unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err == nil && usage.Maxrss <= own.Maxrss && g.peak.Load() > 0 {
		return g.peak.Load()
	}
	return usage.Maxrss << 10
}

// Settle fills in the reason and the exit code; end is nil if the command ended by itself.
func (r *Report) Settle(status unix.WaitStatus, end *Ending) {
	if end == nil {
		if status.Signaled() {
			r.Reason, r.Signal = Signal, int(status.Signal())
			r.ExitCode = ExitSignalBase + r.Signal
			return
		}
		r.Reason, r.ExitCode = Exited, status.ExitStatus()
		return
	}
	if end.Note != "" {
		r.Notes = append(r.Notes, end.Note)
	}
	r.Reason = end.Reason
	switch end.Reason {
	case Timeout:
		r.ExitCode = ExitTimeout
	case OutputLimit:
		r.ExitCode = ExitOutputLimit
	case OOM:
		r.ExitCode = ExitKilled
	case Signal, Exited:
		r.ExitCode, r.Signal = ExitKilled, int(unix.SIGKILL)
	}
}

// reapAll collects children until main has ended, kills whatever is left, and collects that too.
func reapAll(main int) (unix.WaitStatus, error) {
	var result unix.WaitStatus
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return result, nil
		case err != nil:
			return result, &wrapped{"waiting for the command", err}
		}
		if pid == main {
			result = status
			// Daemons that left the session, and children that hold the output open.
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}

// start runs the command. Its error is fit for the reader of the command's output.
func (g *guest) start(stdout, stderr *os.File) (*os.Process, error) {
	path, err := LookPath(g.spec.Args[0], g.spec.Env, g.spec.Dir)
	if err != nil {
		return nil, err
	}
	stdin, err := g.stdin()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	restore := preferAsVictim()
	defer restore()
	process, err := os.StartProcess(path, g.spec.Args, &os.ProcAttr{
		Dir:   g.spec.Dir,
		Env:   g.spec.Env,
		Files: []*os.File{stdin, stdout, stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		if _, missing := os.Stat(g.spec.Dir); missing != nil {
			return nil, errors.New("the directory " + g.spec.Dir + " does not exist in the sandbox")
		}
		return nil, &wrapped{g.spec.Args[0] + " cannot be started", err}
	}
	return process, nil
}

func (g *guest) stdin() (*os.File, error) {
	if g.spec.HasStdin {
		return os.NewFile(StdinFD, "stdin"), nil
	}
	return os.Open(os.DevNull)
}

// output makes a pipe whose content is passed to sink up to the limit.
func (g *guest) output(sink *os.File) (*os.File, *sync.WaitGroup, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, &wrapped{"making a pipe", err}
	}
	done := new(sync.WaitGroup)
	done.Go(func() {
		cut := &Cutter{Sink: sink, Limit: g.spec.Output}
		buffer := make([]byte, copyBuffer)
		for {
			n, err := reader.Read(buffer)
			if n > 0 && !cut.Write(buffer[:n]) {
				g.truncated.Store(true)
				g.end(OutputLimit, "")
			}
			if err != nil { // io.EOF once every holder of the pipe has gone
				break
			}
		}
		cut.Finish()
	})
	return writer, done, nil
}

// WatchEvery is how often usage is looked at: memory can grow by some hundred megabytes meanwhile. The first looks come
// sooner, so that the peak memory of a short command is seen.
const (
	WatchEvery = 25 * time.Millisecond
	firstWatch = time.Millisecond
)

// watch ends the command when the disk or memory limit or, without cgroups, the process limit is passed.
func (g *guest) watch(disk *DiskWatch, memory *memoryWatch) {
	for wait := firstWatch; ; wait = min(2*wait, WatchEvery) {
		time.Sleep(wait)
		if g.oomKilled() {
			g.end(OOM, "")
		}
		if note, over := memory.over(); over {
			g.end(OOM, note)
		}
		if note, over := memory.tooManyProcesses(); over {
			g.end(Signal, note)
		}
		for _, pid := range pidsInProc() {
			g.sample(pid)
		}
		if note, over := disk.Over(); over {
			g.end(Signal, note)
		}
	}
}

// oomKilled says whether the kernel ended a process for want of memory. What is left of the command would go on short of
// memory, slowly and to no end.
func (g *guest) oomKilled() bool {
	if g.spec.OOMFile == "" {
		return false
	}
	content, err := os.ReadFile(g.spec.OOMFile)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(content)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			return strings.TrimSpace(count) != "0"
		}
	}
	return false
}

// pidsInProc lists the processes of the sandbox besides the init.
func pidsInProc() []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []string
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != 1 {
			pids = append(pids, entry.Name())
		}
	}
	return pids
}

// gone says that err only means that a process or file vanished meanwhile.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// CloseOnExec marks every descriptor from first on, so that no later program inherits it.
func CloseOnExec(first int) error {
	err := unix.CloseRange(uint(first), ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Kernels before 5.11.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
