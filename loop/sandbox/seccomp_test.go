package sandbox

import (
	"encoding/binary"
	"testing"

	seccomparch "github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answer runs the filter on a system call as the kernel would.
func answer(t *testing.T, goarch string, arch *seccomparch.Info, number int, arguments ...uint64) uint32 {
	t.Helper()
	program, err := filterProgram(goarch)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	// The VM loads words in network order; seccomp_data has the low half of an argument first.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[dataNumber:], uint32(number))
	binary.BigEndian.PutUint32(data[dataArch:], uint32(arch.ID))
	for i, argument := range arguments {
		binary.BigEndian.PutUint32(data[dataArguments+8*i:], uint32(argument))
		binary.BigEndian.PutUint32(data[dataArguments+8*i+4:], uint32(argument>>32))
	}
	result, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(result)
}

func TestSeccompFilter(t *testing.T) {
	const (
		allow = uint32(unix.SECCOMP_RET_ALLOW)
		eperm = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		unkn  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	amd, i386, arm64, arm := seccomparch.X86_64, seccomparch.I386, seccomparch.AARCH64, seccomparch.ARM
	for _, test := range []struct {
		name      string
		arch      *seccomparch.Info
		call      string
		arguments []uint64
		want      uint32
	}{
		{"read", amd, "read", nil, allow},
		{"keyctl", amd, "keyctl", nil, eperm},
		{"keyctl, i386", i386, "keyctl", nil, eperm},
		{"keyctl, arm64", arm64, "keyctl", nil, eperm},
		{"keyctl, arm", arm, "keyctl", nil, eperm},
		{"umount of i386", i386, "umount", nil, eperm},
		{"clone3", amd, "clone3", nil, unkn},
		{"clone3, i386", i386, "clone3", nil, unkn},
		{"plain clone", amd, "clone", []uint64{uint64(unix.SIGCHLD)}, allow},
		{"thread", amd, "clone", []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
		{"clone into a user namespace", amd, "clone", []uint64{unix.CLONE_NEWUSER}, eperm},
		{"the same with high bits", amd, "clone", []uint64{1<<33 | unix.CLONE_NEWUSER}, eperm},
		{"the same, i386", i386, "clone", []uint64{unix.CLONE_NEWUSER}, eperm},
		{"unix socket", amd, "socket", []uint64{unix.AF_UNIX}, allow},
		{"inet socket", amd, "socket", []uint64{unix.AF_INET}, allow},
		{"inet6 socket", amd, "socket", []uint64{unix.AF_INET6}, allow},
		{"netlink socket", amd, "socket", []uint64{unix.AF_NETLINK}, allow},
		{"netlink to the audit", amd, "socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, eperm},
		{"netlink to the firewall", amd, "socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, eperm},
		{"the same with high bits", amd, "socket", []uint64{1<<32 | unix.AF_NETLINK, unix.SOCK_RAW, 1<<32 | unix.NETLINK_NETFILTER}, eperm},
		{"netlink about sockets", amd, "socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG}, allow},
		{"that protocol of inet", amd, "socket", []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.NETLINK_NETFILTER}, allow},
		{"netlink to the firewall, arm64", arm64, "socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, eperm},
		{"vsock", amd, "socket", []uint64{unix.AF_VSOCK}, eperm},
		{"vsock with high bits", amd, "socket", []uint64{1<<40 | unix.AF_VSOCK}, eperm},
		{"unspecified family", amd, "socket", []uint64{0}, eperm},
		{"socketcall socket", i386, "socketcall", []uint64{1}, eperm},
		{"socketcall bind", i386, "socketcall", []uint64{2}, allow},
		{"TIOCSTI", amd, "ioctl", []uint64{0, unix.TIOCSTI}, eperm},
		{"TIOCSTI with high bits", amd, "ioctl", []uint64{0, 1<<32 | unix.TIOCSTI}, eperm},
		{"TIOCLINUX", amd, "ioctl", []uint64{0, unix.TIOCLINUX}, eperm},
		{"TIOCGWINSZ", amd, "ioctl", []uint64{0, unix.TIOCGWINSZ}, allow},
		{"personality query", amd, "personality", []uint64{0xffffffff}, allow},
		{"personality without randomisation", amd, "personality", []uint64{0x40000}, allow},
		{"other personality", amd, "personality", []uint64{0x0400000}, eperm},
		{"chmod", amd, "chmod", []uint64{0, 0o755}, allow},
		{"chmod set-user-id", amd, "chmod", []uint64{0, 0o4755}, eperm},
		{"fchmodat set-group-id", amd, "fchmodat", []uint64{0, 0, 0o2755}, eperm},
		{"open garbage mode without create", amd, "open", []uint64{0, unix.O_RDONLY, 0o7777}, allow},
		{"open a directory", amd, "openat", []uint64{0, 0, unix.O_DIRECTORY, 0o7777}, allow},
		{"create", amd, "openat", []uint64{0, 0, unix.O_CREAT, 0o644}, allow},
		{"create set-user-id", amd, "openat", []uint64{0, 0, unix.O_CREAT, 0o4755}, eperm},
		{"nameless set-user-id", amd, "openat", []uint64{0, 0, unix.O_TMPFILE, 0o4755}, eperm},
		{"mknod fifo", amd, "mknod", []uint64{0, unix.S_IFIFO | 0o644}, allow},
		{"mknod device", amd, "mknod", []uint64{0, unix.S_IFCHR | 0o644}, eperm},
		{"mknodat block device", arm64, "mknodat", []uint64{0, 0, unix.S_IFBLK | 0o644}, eperm},
	} {
		t.Run(test.name, func(t *testing.T) {
			number, known := test.arch.SyscallNames[test.call]
			if !known {
				t.Fatalf("%s has no call %s", test.arch.Name, test.call)
			}
			goarch := "amd64"
			if test.arch == arm64 || test.arch == arm {
				goarch = "arm64"
			}
			if got := answer(t, goarch, test.arch, number, test.arguments...); got != test.want {
				t.Errorf("answered %#x, want %#x", got, test.want)
			}
		})
	}
	t.Run("x32", func(t *testing.T) {
		if got := answer(t, "amd64", amd, x32Bit|amd.SyscallNames["getpid"]); got != unkn {
			t.Errorf("answered %#x", got)
		}
	})
	t.Run("foreign architecture", func(t *testing.T) {
		if got := answer(t, "amd64", arm64, 0); got != eperm {
			t.Errorf("answered %#x", got)
		}
	})
	t.Run("every denied call is denied", func(t *testing.T) {
		for _, arch := range []*seccomparch.Info{amd, i386} {
			for _, name := range deniedAlways {
				if number, known := arch.SyscallNames[name]; known {
					if got := answer(t, "amd64", arch, number); got != eperm {
						t.Errorf("%s of %s answered %#x", name, arch.Name, got)
					}
				}
			}
		}
	})
}
