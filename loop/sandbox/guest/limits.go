package guest

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxOpenFiles is the limit on descriptors: what Node's and Java's tools need at most, far below
// what would tie up the kernel's memory.
const MaxOpenFiles = 64 << 10

func (g *guest) setLimits() error {
	limits := map[int]uint64{
		unix.RLIMIT_CORE:   0,
		unix.RLIMIT_FSIZE:  uint64(g.spec.Disk), // one file alone cannot exceed the quota
		unix.RLIMIT_NOFILE: MaxOpenFiles,
	}
	if g.spec.PIDs > 0 {
		limits[unix.RLIMIT_NPROC] = uint64(int64(g.spec.PIDs) + threads("self")) // the init's own count too
	}
	for which, value := range limits {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(which, &now); err != nil {
			return &wrapped{"reading a resource limit", err}
		}
		value = min(value, now.Max)
		if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return &wrapped{"setting a resource limit", err}
		}
	}
	return nil
}

// victimScore makes the kernel's out-of-memory killer choose the command before the init, and
// before anything else on the host.
const victimScore = "1000"

// preferAsVictim gives the score to processes started before restore is called.
func preferAsVictim() (restore func()) {
	const file = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(file)
	if err != nil || os.WriteFile(file, []byte(victimScore), 0) != nil {
		return func() {} // a kernel without the file: the score only steers, the limit holds anyway
	}
	return func() { _ = os.WriteFile(file, before, 0) }
}

// warmThreads makes the threads that the init will need before the command can use up the
// process limit that both share: a Go program that cannot get a thread dies.
func warmThreads() {
	const threads = 6 // goroutines that may sit in a system call at once, and some
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			<-release
			runtime.UnlockOSThread()
		})
	}
	ready.Wait()
	close(release)
	done.Wait()
}

// survive keeps the command from ending the init by kill(2). The kernel protects process 1 from
// signals that have their default action; Go's runtime handles all of them, so the default is put
// back. (To ignore them would be inherited by the command.)
func survive() error {
	keep := map[unix.Signal]bool{unix.SIGKILL: true, unix.SIGSTOP: true, unix.SIGURG: true /* Go's own preemption */}
	for number := unix.SIGHUP; number <= lastSignal; number++ {
		if keep[number] {
			continue
		}
		var byDefault [4]uint64 // struct sigaction of the kernel: handler SIG_DFL, no flags, empty mask
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&byDefault)), 0, signalSetSize, 0, 0)
		if errno != 0 {
			return errno
		}
	}
	return nil
}

// Of signals: the last that has a classical meaning, and the size of a set of them.
const (
	lastSignal    = unix.SIGSYS
	signalSetSize = 8
)
