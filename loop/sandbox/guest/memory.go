package guest

import (
	"os"
	"strconv"
	"strings"
)

// memoryWatch bounds memory and processes where there are no cgroups.
//
// Memory is what the processes hold for themselves (their proportional share of it, so that
// pages shared after a fork count once) plus the growth of all shared memory on the host since
// the start: files in tmpfs, memfd and shared mappings belong to no process that one could ask,
// and can be hidden from every per-process count. Other programs that make much shared memory at
// the same time can thus end a sandbox early; they can never let it have more.
//
// What lies in socket buffers belongs to no process either. The command is ended when its sockets could hold more than the
// limit and the host has lost as much memory since the start.
type memoryWatch struct {
	memory int64 // bytes; 0: not watched
	pids   int   // 0: not watched
	shared int64 // shared memory of the host at the start
	free   int64 // memory that the host had left at the start
}

func newMemoryWatch(spec Spec) *memoryWatch {
	watch := &memoryWatch{memory: spec.Memory, pids: spec.PIDs}
	if watch.memory > 0 {
		watch.shared, watch.free = hostMemory("Shmem:"), hostMemory("MemAvailable:")
	}
	return watch
}

func (w *memoryWatch) over() (note string, over bool) {
	if w.memory == 0 {
		return "", false
	}
	shared := max(0, hostMemory("Shmem:")-w.shared)
	pids := pidsInProc()
	processes := shared+sum(pids, residentOwn) > w.memory && shared+sum(pids, proportionalOwn) > w.memory
	if !processes && !w.buffered() {
		return "", false
	}
	return "more than the memory limit of " + strconv.FormatInt(w.memory, 10) + " bytes was in use", true
}

// socketRoom is what one socket can hold: twice the largest buffer that the kernel grants by default
// (net.core.wmem_max; socket(7) on SO_SNDBUF).
const socketRoom = 2 * 212_992

// buffered says whether the memory limit may well be exceeded in socket buffers.
func (w *memoryWatch) buffered() bool {
	content, err := os.ReadFile("/proc/net/sockstat") // of this network namespace alone
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(content), "\n")
	sockets, err := strconv.ParseInt(strings.TrimPrefix(first, "sockets: used "), 10, 64)
	return err == nil && sockets*socketRoom > w.memory && w.free-hostMemory("MemAvailable:") > w.memory
}

func (w *memoryWatch) tooManyProcesses() (note string, over bool) {
	if w.pids == 0 || sum(pidsInProc(), threads) <= int64(w.pids) {
		return "", false
	}
	return "more than " + strconv.Itoa(w.pids) + " processes and threads were running", true
}

func sum(pids []string, of func(pid string) int64) int64 {
	var total int64
	for _, pid := range pids {
		total += of(pid)
	}
	return total
}

// residentOwn is the memory that pid alone or with its forks holds: cheap, and readable even if
// the process made itself undumpable. A process that vanished holds nothing.
func residentOwn(pid string) int64 {
	content, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(content)) // size resident shared …, in pages (proc(5))
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}

// proportionalOwn is like residentOwn, with pages that several processes share counted once.
func proportionalOwn(pid string) int64 {
	content, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return residentOwn(pid)
	}
	if kb, found := kilobytes(string(content), "Pss_Anon:"); found {
		return kb
	}
	return residentOwn(pid)
}

// threads is the number of threads of pid (the 20th field of proc(5)'s stat).
func threads(pid string) int64 {
	content, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	const afterName = 17 // fields between the closing parenthesis of the name and num_threads
	_, rest, _ := cutLast(string(content), ")")
	fields := strings.Fields(rest)
	if len(fields) <= afterName {
		return 0
	}
	n, _ := strconv.ParseInt(fields[afterName], 10, 64)
	return n
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// hostMemory is a figure of the whole host, in bytes: /proc/meminfo has no namespace.
func hostMemory(name string) int64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	bytes, _ := kilobytes(string(content), name)
	return bytes
}

// kilobytes finds "name   123 kB" in content and returns it in bytes.
func kilobytes(content, name string) (int64, bool) {
	for line := range strings.Lines(content) {
		rest, found := strings.CutPrefix(line, name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		return n << 10, err == nil
	}
	return 0, false
}
