package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	seccomparch "github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter answers a denied call with an error in place of killing, so that programs that only
// try (runtimes, test suites) go on. It is a list of what is denied: the namespaces, the absence
// of capabilities and the root already bound what is left; what stands here is what has let
// programs out of such a cell before, or reaches a part of the kernel that has no namespaces.

// deniedAlways are refused with EPERM whatever their arguments.
var deniedAlways = []string{
	// keyrings have no namespace of their own
	"add_key", "keyctl", "request_key",
	// other processes' memory, descriptors and identity
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
	// kernel interfaces with a long history of escapes
	"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	// mounts and namespaces
	"mount", "umount", "umount2", "pivot_root", "chroot", "setns", "unshare", "move_mount", "open_tree", "open_tree_attr",
	"fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "name_to_handle_at", "open_by_handle_at",
	// the machine as a whole
	"acct", "bdflush", "clock_adjtime", "clock_adjtime64", "clock_settime", "clock_settime64", "adjtimex", "settimeofday", "stime",
	"create_module", "delete_module", "finit_module", "init_module", "get_kernel_syms", "query_module",
	"ioperm", "iopl", "kexec_file_load", "kexec_load", "lookup_dcookie", "nfsservctl", "fanotify_init", "quotactl", "quotactl_fd",
	"reboot", "swapon", "swapoff", "sysfs", "_sysctl", "syslog", "uselib", "ustat", "vhangup", "vm86", "vm86old", "sethostname", "setdomainname",
	"move_pages", "migrate_pages",
	// memory that the kernel cannot swap, and that a memory watch cannot see
	"memfd_secret",
}

// deniedAsUnknown are refused with ENOSYS, so that the C library falls back to a call whose
// arguments the filter can see: these pass them by pointer.
var deniedAsUnknown = []string{"clone3", "openat2"}

// argumentRule denies a call by one of its arguments, of which the low 32 bits count: the kernel
// itself takes these arguments as int, unsigned int or umode_t, or looks at low bits only.
type argumentRule struct {
	call     string
	argument int
	mask     uint32
	values   []uint32 // equal (after the mask) to one of these …
	others   bool     // … or, with others, to none of these
	any      bool     // any bit of the mask
}

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	setIDBits = unix.S_ISUID | unix.S_ISGID
	allBits   = ^uint32(0)
	// socketcallSocket and socketcallSocketpair are subcalls of i386's socketcall, which hides
	// the family behind a pointer; C libraries have called socket itself since Linux 4.3.
	socketcallSocket     = 1
	socketcallSocketpair = 8
	// Personalities (linux/personality.h) that change nothing about security: the query, 32-bit
	// uname, and no address randomisation (for debuggers and sanitizers).
	personalityQuery    = 0xffffffff
	personalityLinux32  = 0x8
	addressNoRandomness = 0x40000
)

var argumentRules = []argumentRule{
	{call: "clone", argument: 0, mask: newNamespaces, any: true},
	// Anything but local, IP and routing sockets: no vsock to the hypervisor, no kernel crypto, no raw packets.
	{call: "socket", argument: 0, mask: allBits, values: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}, others: true},
	{call: "socketpair", argument: 0, mask: allBits, values: []uint32{unix.AF_UNIX}, others: true},
	{call: "socketcall", argument: 0, mask: allBits, values: []uint32{socketcallSocket, socketcallSocketpair}},
	{call: "ioctl", argument: 1, mask: allBits, values: []uint32{unix.TIOCSTI, unix.TIOCLINUX}},
	{call: "personality", argument: 0, mask: allBits, values: []uint32{0, personalityLinux32, addressNoRandomness, personalityLinux32 | addressNoRandomness, personalityQuery}, others: true},
	// Files of the workspace outlive the sandbox and belong to the server's user, perhaps root:
	// none may run with its rights.
	{call: "chmod", argument: 1, mask: setIDBits, any: true},
	{call: "fchmod", argument: 1, mask: setIDBits, any: true},
	{call: "fchmodat", argument: 2, mask: setIDBits, any: true},
	{call: "fchmodat2", argument: 2, mask: setIDBits, any: true},
	{call: "creat", argument: 1, mask: setIDBits, any: true},
	{call: "mknod", argument: 1, mask: setIDBits, any: true},
	{call: "mknodat", argument: 2, mask: setIDBits, any: true},
	{call: "mknod", argument: 1, mask: unix.S_IFMT, values: []uint32{unix.S_IFCHR, unix.S_IFBLK}},
	{call: "mknodat", argument: 2, mask: unix.S_IFMT, values: []uint32{unix.S_IFCHR, unix.S_IFBLK}},
}

// netlinkProtocols are what programs ask about interfaces, routes and sockets of their own. The
// others lead to the host's audit, firewalls and transforms, which look at who asks only later.
var netlinkProtocols = []uint32{unix.NETLINK_ROUTE, unix.NETLINK_SOCK_DIAG, unix.NETLINK_KOBJECT_UEVENT}

// netlinkRule denies the other protocols of socket(AF_NETLINK, …).
func netlinkRule() []bpf.Instruction {
	body := []bpf.Instruction{
		loadArgument(0),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: uint8(len(netlinkProtocols) + 2)},
		loadArgument(2),
	}
	for i, protocol := range netlinkProtocols {
		body = append(body, bpf.JumpIf{Cond: bpf.JumpEqual, Val: protocol, SkipTrue: uint8(len(netlinkProtocols) - i)})
	}
	return append(body, seccompErrno(unix.EPERM), reloadNumber)
}

// openRule denies creating a file with set-id bits; the mode counts only with O_CREAT or
// O_TMPFILE, and is garbage without.
type openRule struct {
	call        string
	flags, mode int // argument numbers
}

var openRules = []openRule{{"open", 1, 2}, {"openat", 2, 3}}

// creates are the flags with which open(2) looks at its mode. The one bit that O_TMPFILE adds to
// O_DIRECTORY is taken, so that plain directories are not meant.
const creates = unix.O_CREAT | (unix.O_TMPFILE &^ unix.O_DIRECTORY)

// Offsets in struct seccomp_data (linux/seccomp.h); all supported machines are little-endian.
const (
	dataNumber    = 0
	dataArch      = 4
	dataArguments = 16
)

// seccompErrno is a filter's answer that makes the call fail with errno.
func seccompErrno(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// x32Bit marks calls of the x32 interface, which share x86-64's architecture code and would pass
// every comparison with a plain number.
const x32Bit = 0x40000000

// seccompFilter is the filter for this machine in the form that bubblewrap's --seccomp reads: an
// array of struct sock_filter.
func seccompFilter() ([]byte, error) {
	program, err := filterProgram(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assembling the system-call filter: %w", err)
	}
	out := make([]byte, 0, len(raw)*8)
	for _, op := range raw {
		out = binary.NativeEndian.AppendUint16(out, op.Op)
		out = append(out, op.Jt, op.Jf)
		out = binary.NativeEndian.AppendUint32(out, op.K)
	}
	return out, nil
}

// filterProgram is the filter for kernels that answer goarch's calls.
func filterProgram(goarch string) ([]bpf.Instruction, error) {
	arches, err := filterArches(goarch)
	if err != nil {
		return nil, err
	}
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: dataArch, Size: 4}}
	for _, arch := range arches {
		body := archProgram(arch)
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(arch.ID), SkipTrue: 1})
		program = append(program, bpf.Jump{Skip: uint32(len(body))})
		program = append(program, body...)
	}
	// A call by an architecture that is not expected here.
	return append(program, seccompErrno(unix.EPERM)), nil
}

// filterArches are the architectures whose calls a kernel for goarch answers.
func filterArches(goarch string) ([]*seccomparch.Info, error) {
	switch goarch {
	case "amd64":
		return []*seccomparch.Info{seccomparch.X86_64, seccomparch.I386}, nil
	case "arm64":
		return []*seccomparch.Info{seccomparch.AARCH64, seccomparch.ARM}, nil
	default:
		return nil, &Unavailable{"there is no system-call filter for " + goarch, "run autocode on amd64 or arm64"}
	}
}

// archProgram answers every call of one architecture; it never falls through.
func archProgram(arch *seccomparch.Info) []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: dataNumber, Size: 4}}
	if arch.ID == seccomparch.X86_64.ID {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
			seccompErrno(unix.ENOSYS))
	}
	// rule answers the call name by body, which may fall through to "allowed".
	rule := func(name string, body ...bpf.Instruction) {
		number, known := arch.SyscallNames[name]
		if !known {
			number, known = newerCalls[name]
		}
		if !known {
			return // this architecture never had it
		}
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(body))})
		program = append(program, body...)
	}
	for _, name := range deniedAlways {
		rule(name, seccompErrno(unix.EPERM))
	}
	for _, name := range deniedAsUnknown {
		rule(name, seccompErrno(unix.ENOSYS))
	}
	for _, r := range argumentRules {
		rule(r.call, r.body()...)
	}
	rule("socket", netlinkRule()...)
	for _, r := range openRules {
		rule(r.call, r.body()...)
	}
	return append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// newerCalls have one number on all architectures (every call since 424 has) and may be missing
// from the table.
var newerCalls = map[string]int{
	"open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
	"clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
	"quotactl_fd": 443, "memfd_secret": 447, "fchmodat2": 452, "open_tree_attr": 467,
}

func loadArgument(n int) bpf.Instruction {
	return bpf.LoadAbsolute{Off: dataArguments + 8*uint32(n), Size: 4}
}

// reloadNumber puts the call's number back for the rules that follow.
var reloadNumber = bpf.LoadAbsolute{Off: dataNumber, Size: 4}

func (r argumentRule) body() []bpf.Instruction {
	body := []bpf.Instruction{loadArgument(r.argument)}
	deny := seccompErrno(unix.EPERM)
	if r.any {
		return append(body,
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: r.mask, SkipTrue: 1},
			deny, reloadNumber)
	}
	body = append(body, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: r.mask})
	values := slices.Sorted(slices.Values(r.values))
	for i, value := range values {
		// Past the comparisons that follow and one instruction more: with others that is deny,
		// else the jump over it.
		skip := len(values) - i
		body = append(body, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(skip)})
	}
	if !r.others {
		body = append(body, bpf.Jump{Skip: 1})
	}
	return append(body, deny, reloadNumber)
}

func (r openRule) body() []bpf.Instruction {
	return []bpf.Instruction{
		loadArgument(r.flags),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: creates, SkipTrue: 3},
		loadArgument(r.mode),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: setIDBits, SkipTrue: 1},
		seccompErrno(unix.EPERM),
		reloadNumber,
	}
}
