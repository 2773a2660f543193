package sandbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack runs inside the sandbox. Its exit code is 0 if the attack was fended off.
func attack(name string) int {
	run, known := attacks[name]
	if !known {
		fmt.Println("no such attack:", name)
		return 2
	}
	if err := run(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// attacks return an error that says what got through.
var attacks = map[string]func() error{
	"vsock": func() error {
		return wantErrno("socket(AF_VSOCK)", unix.EPERM, func() error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM) })
	},
	"socket-buffers": func() error {
		const pairs, chunk = 4096, 64 << 10
		content := make([]byte, chunk)
		for range pairs {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return err
			}
			for err == nil {
				_, err = unix.Write(pair[0], content)
			}
		}
		time.Sleep(10 * time.Second) // far longer than the watch takes
		return errors.New("all buffers were filled")
	},
	"alg": func() error {
		return wantErrno("socket(AF_ALG)", unix.EPERM, func() error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET) })
	},
	"packet": func() error {
		return wantErrno("socket(AF_PACKET)", unix.EPERM, func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW) })
	},
	"io_uring": func() error {
		params := make([]byte, 256)
		return wantErrno("io_uring_setup", unix.EPERM, call(unix.SYS_IO_URING_SETUP, 4, pointer(params)))
	},
	"keyrings": func() error {
		text := append([]byte("user"), 0)
		return errors.Join(
			wantErrno("add_key", unix.EPERM, call(unix.SYS_ADD_KEY, pointer(text), pointer(text), pointer(text), 4, ^uintptr(0))),
			wantErrno("keyctl", unix.EPERM, call(unix.SYS_KEYCTL, 0, ^uintptr(2), 1)),
			wantErrno("request_key", unix.EPERM, call(unix.SYS_REQUEST_KEY, pointer(text), pointer(text), 0, 0)),
		)
	},
	"ptrace": func() error {
		return errors.Join(
			wantErrno("ptrace(1)", unix.EPERM, func() error { return unix.PtraceAttach(1) }),
			wantErrno("process_vm_readv", unix.EPERM, call(unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0)),
			wantErrno("process_vm_writev", unix.EPERM, call(unix.SYS_PROCESS_VM_WRITEV, 1, 0, 0, 0, 0, 0)),
			wantErrno("pidfd_getfd", unix.EPERM, call(unix.SYS_PIDFD_GETFD, 0, 0, 0)),
		)
	},
	"kernel": func() error {
		return errors.Join(
			wantErrno("bpf", unix.EPERM, call(unix.SYS_BPF, 0, 0, 0)),
			wantErrno("perf_event_open", unix.EPERM, call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0)),
			wantErrno("userfaultfd", unix.EPERM, call(unix.SYS_USERFAULTFD, 0)),
			wantErrno("clone3", unix.ENOSYS, call(unix.SYS_CLONE3, 0, 0)),
			wantErrno("openat2", unix.ENOSYS, call(unix.SYS_OPENAT2, 0, 0, 0, 0)),
			wantErrno("open_by_handle_at", unix.EPERM, call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0)),
			wantErrno("memfd_secret", unix.EPERM, call(unix.SYS_MEMFD_SECRET, 0)),
			wantErrno("x32 getpid", unix.ENOSYS, call(0x40000000|unix.SYS_GETPID)),
		)
	},
	"namespaces": func() error {
		return errors.Join(
			wantErrno("unshare(CLONE_NEWUSER)", unix.EPERM, func() error { return unix.Unshare(unix.CLONE_NEWUSER) }),
			wantErrno("unshare(CLONE_NEWNS)", unix.EPERM, func() error { return unix.Unshare(unix.CLONE_NEWNS) }),
			wantErrno("clone(CLONE_NEWUSER)", unix.EPERM, call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0)),
			wantErrno("clone with high bits", unix.EPERM, call(unix.SYS_CLONE, 1<<40|unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0)),
			wantErrno("setns", unix.EPERM, call(unix.SYS_SETNS, 0, 0)),
		)
	},
	"privileges": func() error {
		node := "/tmp/node"
		return errors.Join(
			wantErrno("mount", unix.EPERM, func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") }),
			wantErrno("umount", unix.EPERM, func() error { return unix.Unmount("/proc/sys", unix.MNT_DETACH) }),
			wantAny("setuid(0)", func() error { return syscall.Setuid(0) }),
			wantAny("setgid(0)", func() error { return syscall.Setgid(0) }),
			wantErrno("chroot", unix.EPERM, func() error { return unix.Chroot("/tmp") }),
			wantErrno("mknod(char)", unix.EPERM, func() error { return unix.Mknod(node, unix.S_IFCHR|0o666, 1<<8|3) }),
			wantErrno("mknod(block)", unix.EPERM, func() error { return unix.Mknod(node, unix.S_IFBLK|0o666, 8<<8) }),
			wantErrno("TIOCSTI", unix.EPERM, call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0)),
			wantErrno("TIOCSTI with high bits", unix.EPERM, call(unix.SYS_IOCTL, 0, 1<<40|unix.TIOCSTI, 0)),
			capabilities(),
		)
	},
	"setid": func() error {
		if err := os.WriteFile("plain", []byte("x"), 0o755); err != nil {
			return err
		}
		return errors.Join(
			wantErrno("chmod(4755)", unix.EPERM, func() error { return unix.Chmod("plain", 0o4755) }),
			wantErrno("chmod(2755)", unix.EPERM, func() error { return unix.Chmod("plain", 0o2755) }),
			wantErrno("open(O_CREAT, 4755)", unix.EPERM, func() error {
				_, err := unix.Open("made", unix.O_CREAT|unix.O_WRONLY, 0o4755)
				return err
			}),
			wantErrno("fchmodat2", unix.EPERM, call(452, ^uintptr(99), 0, 0o4755, 0)),
		)
	},
	"netlink": func() error {
		return wantErrno("socket(NETLINK_AUDIT)", unix.EPERM, func() error {
			fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		})
	},
	"kernel-addresses": kernelAddresses,
	"proc-writes":      procWrites,
	"proc-canary":      procCanary,
	"descriptors":      descriptors,
	"memfd": func() error {
		fd, err := unix.MemfdCreate("bomb", 0)
		if err != nil {
			return err
		}
		return fill(os.NewFile(uintptr(fd), "bomb"))
	},
	"anonymous": func() error {
		for held := [][]byte{}; ; {
			block := make([]byte, 16<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			held = append(held, block)
		}
	},
	"shared-hidden": func() error {
		// Shared memory that no process has mapped into its tables.
		for {
			block, err := unix.Mmap(-1, 0, 16<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
			if err != nil {
				return err
			}
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			if err := unix.Madvise(block, unix.MADV_DONTNEED); err != nil {
				return err
			}
		}
	},
	"unlinked": func() error {
		for held := []*os.File{}; ; {
			file, err := os.CreateTemp(".", "gone")
			if err != nil {
				return nil
			}
			held = append(held, file)
			_ = os.Remove(file.Name())
			if _, err := file.Write(make([]byte, 4<<20)); err != nil {
				time.Sleep(time.Second) // wait for the end
				return fmt.Errorf("still alive: %w", err)
			}
		}
	},
	"egress": func() error {
		for _, address := range []string{"192.0.2.1:443", "169.254.169.254:80", "10.0.0.1:22", "[2001:db8::1]:443", "1.1.1.1:53"} {
			for _, network := range []string{"tcp", "udp"} {
				conn, err := net.DialTimeout(network, address, 2*time.Second)
				if err != nil {
					continue
				}
				if _, err = conn.Write([]byte("x")); err == nil {
					return fmt.Errorf("%s to %s can be sent", network, address)
				}
			}
		}
		return nil
	},
	"dns": func() error {
		found, err := net.LookupHost("example.org")
		if err == nil {
			return fmt.Errorf("a name was resolved to %v", found)
		}
		return nil
	},
	"no-proxy": func() error {
		conn, err := net.Dial("tcp", "127.0.0.1:3128")
		if err == nil {
			conn.Close()
			return errors.New("there is a proxy without an allow-list")
		}
		return nil
	},
	"sockets": func() error {
		var found []string
		_ = filepath.WalkDir("/", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && path == "/proc" {
				return fs.SkipDir
			}
			if err == nil && entry.Type()&fs.ModeSocket != 0 {
				found = append(found, path)
			}
			return nil
		})
		if len(found) > 0 {
			return fmt.Errorf("sockets: %v", found)
		}
		return nil
	},
	"deep": func() error {
		for range 10_000 {
			if err := os.Mkdir("d", 0o700); err != nil {
				return err
			}
			if err := os.Chdir("d"); err != nil {
				return err
			}
		}
		return nil
	},
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// call is a raw system call.
func call(number uintptr, arguments ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], arguments)
		if _, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

func pointer(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

func wantErrno(what string, want unix.Errno, run func() error) error {
	if err := run(); !errors.Is(err, want) {
		return fmt.Errorf("%s: %v, want %v", what, err, want)
	}
	return nil
}

func wantAny(what string, run func() error) error {
	if run() == nil {
		return fmt.Errorf("%s succeeded", what)
	}
	return nil
}

// capabilities says if any capability is left.
func capabilities() error {
	content, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(name, "Cap") && strings.Trim(value, "0") != "":
			return fmt.Errorf("%s is %s", name, value)
		case name == "NoNewPrivs" && value != "1", name == "Seccomp" && value != "2":
			return fmt.Errorf("%s is %s", name, value)
		}
	}
	return nil
}

// procWrites tries to open everything of /proc that is not a process for writing.
func procWrites() error {
	var got error
	_ = filepath.WalkDir("/proc", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		top := strings.Split(path, "/")
		if len(top) > 2 && (top[2] == "self" || top[2] == "thread-self" || strings.Trim(top[2], "0123456789") == "") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() || entry.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil
		}
		defer unix.Close(fd)
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFCHR {
			return nil // masked by the null device
		}
		got = errors.Join(got, fmt.Errorf("%s can be opened for writing", path))
		return nil
	})
	return got
}

// kernelAddresses reads what the host's root alone may read about the kernel's memory.
func kernelAddresses() error {
	var got error
	for _, name := range []string{"vmallocinfo", "slabinfo", "pagetypeinfo", "kpagecount", "kpageflags", "kpagecgroup", "kcore", "kmsg"} {
		handle, err := os.OpenFile("/proc/"+name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		n, _ := handle.Read(make([]byte, 8))
		handle.Close()
		if n > 0 {
			got = errors.Join(got, fmt.Errorf("/proc/%s can be read", name))
		}
	}
	return got
}

// procCanary looks for the canary in everything that processes show about themselves.
func procCanary() error {
	pids, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, pid := range pids {
		for _, file := range []string{"environ", "cmdline", "maps", "auxv", "mountinfo"} {
			content, err := os.ReadFile(filepath.Join(pid, file))
			if err == nil && strings.Contains(string(content), canary) {
				return fmt.Errorf("%s/%s shows the canary", pid, file)
			}
		}
		links, _ := filepath.Glob(filepath.Join(pid, "fd", "*"))
		for _, link := range links {
			fd, err := os.OpenFile(link, os.O_RDONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				continue
			}
			if info, err := fd.Stat(); err == nil && !info.Mode().IsRegular() && filepath.Base(pid) != "1" {
				fd.Close()
				continue
			}
			content := make([]byte, 64<<10)
			n, _ := fd.Read(content)
			fd.Close()
			if filepath.Base(pid) == "1" {
				return fmt.Errorf("%s can be opened", link)
			}
			if strings.Contains(string(content[:n]), canary) {
				return fmt.Errorf("%s holds the canary", link)
			}
		}
	}
	return nil
}

// descriptors finds everything open above standard error that this program did not open itself.
func descriptors() error {
	for fd := 3; fd < 1024; fd++ {
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil || strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/fs/cgroup/") {
			continue // what Go's runtime opens
		}
		return fmt.Errorf("descriptor %d is %s", fd, target)
	}
	return nil
}

// canary is a secret of the server's.
const canary = "CANARY-8d1f6a"

func fill(file *os.File) error {
	block := make([]byte, 1<<20)
	for {
		if _, err := file.Write(block); err != nil {
			return err
		}
	}
}
