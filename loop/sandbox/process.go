package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-7a986423/autocode/loop/sandbox/guest"
)

// process is a running bubblewrap.
type process struct {
	cmd     *exec.Cmd
	control *os.File // held open while the sandbox may live
	done    chan struct{}

	// Valid once done is closed.
	alive          bool // the init came up
	report         guest.Report
	reported       bool // report is set
	stdout, stderr *capture
	wall           time.Duration
	waitErr        error
}

// start starts bubblewrap inside the run's cgroup and hands the command to the init.
func (r *bubbleRun) start() (*process, error) {
	controlReader, control, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	r.files.add(controlReader)
	report, reportWriter, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	r.files.add(reportWriter)
	if len(r.command.Stdin) > 0 {
		input, err := sealedFile(r.command.Stdin)
		if err != nil {
			control.Close()
			report.Close()
			return nil, err
		}
		r.files.add(input)
	}
	fail := func(err error) (*process, error) {
		control.Close()
		report.Close()
		return nil, err
	}
	args, err := r.arguments()
	if err != nil {
		return fail(err)
	}
	limit := r.command.Limits.Output
	p := &process{
		control: control,
		done:    make(chan struct{}),
		stdout:  &capture{limit: limit, live: r.command.Stdout},
		stderr:  &capture{limit: limit + setupRoom, live: r.command.Stderr},
	}
	p.cmd = exec.Command(r.config.Bwrap, args...)
	p.cmd.Env = []string{} // bubblewrap's own environment would be readable inside
	p.cmd.Dir = "/"
	p.cmd.ExtraFiles = r.files.files
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	// A process that keeps an output open although it should be dead must not keep us.
	p.cmd.WaitDelay = killGrace
	// Whatever our own parent left open stays out, also of bubblewrap.
	if err := guest.CloseOnExec(guest.ControlFD); err != nil {
		return fail(fmt.Errorf("closing inherited descriptors: %w", err))
	}
	started := time.Now()
	release, err := r.launch(p.cmd)
	if err != nil {
		return fail(err)
	}
	r.files.close()
	go p.follow(report, started, release, func() {
		if r.group != nil {
			// Everything that runs now is ours; the command gets its number on top of it. Should
			// this fail, the wider limit that the group was made with stays.
			_ = r.group.allowMore(r.command.Limits.PIDs)
		}
		// A sandbox that ends meanwhile shows in the missing report.
		_, _ = control.Write(r.spec().Encode())
	})
	return p, nil
}

// setupRoom is room in the buffer of standard error for bubblewrap's own words.
const setupRoom = 4 << 10

// launch starts cmd on a thread of its own, which lives until release is called: the kernel ties
// bubblewrap's --die-with-parent to the thread that started it, and the child inherits the
// thread's cgroups.
func (r *bubbleRun) launch(cmd *exec.Cmd) (release func(), err error) {
	started := make(chan error)
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := r.startHere(cmd)
		started <- err
		if err == nil {
			<-ended
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { close(ended) }), nil
}

func (r *bubbleRun) startHere(cmd *exec.Cmd) error {
	var attributes startAttributes
	if r.group != nil {
		if err := r.group.enter(&attributes); err != nil {
			_ = r.group.leave()
			return &Unavailable{err.Error(), "let this user write its control group, or start autocode without one"}
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for us to handle
	if attributes.cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(attributes.cgroup.Fd())
	}
	err := cmd.Start()
	if r.group != nil {
		err = errors.Join(err, r.group.leave())
	}
	if err == nil {
		return nil
	}
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return &Unavailable{err.Error(), bwrapRemedy}
	}
	return fmt.Errorf("starting bubblewrap: %w", err)
}

// follow calls begin when the init lives, reads the report and waits for the end.
func (p *process) follow(report *os.File, started time.Time, release, begin func()) {
	defer close(p.done)
	defer release()
	defer report.Close()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		sign := make([]byte, 1)
		if _, err := io.ReadFull(report, sign); err != nil || sign[0] != guest.Alive {
			return
		}
		p.alive = true
		p.stdout.goLive()
		p.stderr.goLive()
		begin()
		var err error
		p.report, err = guest.ReadReport(report)
		p.reported = err == nil
	}()
	p.waitErr = p.cmd.Wait()
	p.wall = time.Since(started)
	// Every holder of the other end has gone with bubblewrap; the deadline is for a kernel that
	// takes its time over it.
	_ = report.SetReadDeadline(time.Now().Add(killGrace))
	<-reading
	p.control.Close()
}

// kill ends the sandbox from outside: the init by the end of its control pipe and, since it may
// be stuck, by the death of bubblewrap, which the kernel passes on.
func (p *process) kill() {
	_ = p.control.Close()
	_ = p.cmd.Process.Kill()
}

// capture keeps a stream up to a limit and passes it on. The init already cuts at the same limit;
// this one is for the case that the init is not what it should be.
// Nothing is passed on before the init lives: until then bubblewrap itself may be speaking.
type capture struct {
	mu    sync.Mutex
	limit int64
	kept  bytes.Buffer
	live  io.Writer
	open  bool
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := p[:min(int64(len(p)), max(0, c.limit-int64(c.kept.Len())))]
	c.kept.Write(keep)
	if c.open {
		c.pass(keep)
	}
	return len(p), nil
}

// goLive passes on what was held back, and from now on everything.
func (c *capture) goLive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	c.pass(c.kept.Bytes())
}

func (c *capture) pass(p []byte) {
	if c.live != nil && len(p) > 0 {
		_, _ = c.live.Write(p) // a reader that has gone does not concern the command
	}
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Bytes()
}

// sealedFile is a memory file with content that nobody can change: it becomes the standard input
// of the command, which could otherwise store data in it.
func sealedFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("keeping the input: %w", err)
	}
	file := os.NewFile(uintptr(fd), "stdin")
	if _, err = file.WriteAt(content, 0); err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("keeping the input: %w", err)
	}
	return file, nil
}

// ownerOf is the user id that a file belongs to.
func ownerOf(info fs.FileInfo) int {
	return int(statOf(info).Uid)
}

// statOf is what stat(2) said.
func statOf(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }
