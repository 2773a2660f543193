package guest

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DiskWatch bounds what is written below the workspace and the scratch mounts together, in bytes
// and in files. The kernel itself bounds each scratch mount (size of the tmpfs) and each single
// file (RLIMIT_FSIZE); the watch adds everything up.
//
// It first asks the file system how much it grew, which costs nothing. Only growth beyond the
// limit is looked into: files of the workspace that changed since the start, and deleted files
// that are still open. If that explains it, or if something is hidden from view, the limit is
// exceeded; otherwise somebody else is writing to the same file system.
type DiskWatch struct {
	limit     int64
	files     int64
	workspace string
	scratch   []string
	since     time.Time
	before    usage
	// Outside says that the watch runs on the host, where it cannot tell the command's processes.
	Outside bool
}

// usage of file systems.
type usage struct{ bytes, files int64 }

// bytesPerFile sets the limit on files from the one on bytes (ext4 plans one inode for 16 KiB,
// source trees are denser); minFiles lets small quotas still unpack an archive.
const (
	bytesPerFile = 4 << 10
	minFiles     = 16 << 10
)

// clockSlack covers the coarse clock that file systems stamp changes with.
const clockSlack = 20 * time.Millisecond

// NewDiskWatch starts to watch workspace and the tmpfs mounts scratch. limit is in bytes.
func NewDiskWatch(workspace string, scratch []string, limit int64) *DiskWatch {
	return &DiskWatch{
		limit:     limit,
		files:     max(minFiles, limit/bytesPerFile),
		workspace: workspace,
		scratch:   scratch,
		since:     time.Now().Add(-clockSlack),
		before:    fsUsage(workspace),
	}
}

// Over says if the limit has been exceeded, and in what words.
func (w *DiskWatch) Over() (note string, over bool) {
	var scratch usage
	for _, dir := range w.scratch {
		used := fsUsage(dir)
		scratch.bytes += used.bytes
		scratch.files += used.files
	}
	now := fsUsage(w.workspace)
	grown := usage{now.bytes - w.before.bytes, now.files - w.before.files}
	if w.fits(scratch.bytes+max(0, grown.bytes), scratch.files+max(0, grown.files)) {
		return "", false
	}
	seen, hidden := w.inspect()
	if hidden || !w.fits(scratch.bytes+seen.bytes, scratch.files+seen.files) {
		return "disk quota exceeded: more than " + strconv.FormatInt(w.limit, 10) + " bytes or " + strconv.FormatInt(w.files, 10) + " files were written", true
	}
	// The rest is somebody else's; look again when it has grown by as much again.
	w.before = usage{now.bytes - seen.bytes, now.files - seen.files}
	return "", false
}

func (w *DiskWatch) fits(bytes, files int64) bool { return bytes <= w.limit && files <= w.files }

// inspect adds up what was written since the start, and says whether something could not be seen.
func (w *DiskWatch) inspect() (seen usage, hidden bool) {
	counted := map[uint64]bool{}
	add := func(stat *syscall.Stat_t) {
		if counted[stat.Ino] {
			return
		}
		counted[stat.Ino] = true
		seen.bytes += stat.Blocks * statBlock
		seen.files++
	}
	var root syscall.Stat_t
	if err := syscall.Lstat(w.workspace, &root); err != nil {
		return seen, true
	}
	hidden = w.walk(w.workspace, add)
	if w.Outside {
		return seen, hidden
	}
	for _, pid := range pidsInProc() {
		dir := "/proc/" + pid + "/fd"
		entries, err := os.ReadDir(dir)
		hidden = hidden || err != nil && !gone(err)
		for _, entry := range entries {
			var stat syscall.Stat_t
			if err := syscall.Stat(dir+"/"+entry.Name(), &stat); err != nil {
				continue
			}
			if stat.Dev == root.Dev && stat.Nlink == 0 && stat.Mode&syscall.S_IFMT == syscall.S_IFREG {
				add(&stat)
			}
		}
	}
	return seen, hidden
}

// walk calls add for everything below dir that changed since the start, and says whether
// something could not be seen. A path that is too long for the kernel counts as hidden.
func (w *DiskWatch) walk(dir string, add func(*syscall.Stat_t)) (hidden bool) {
	entries, err := os.ReadDir(dir)
	hidden = err != nil && !gone(err)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			hidden = hidden || !gone(err)
			continue
		}
		stat := info.Sys().(*syscall.Stat_t)
		if changed := time.Unix(stat.Ctim.Unix()); !changed.Before(w.since) {
			add(stat)
		}
		if entry.IsDir() && w.walk(dir+"/"+entry.Name(), add) {
			hidden = true
		}
	}
	return hidden
}

// statBlock is the unit of st_blocks (stat(2)).
const statBlock = 512

// fsUsage is what is in use on dir's file system. One that does not count files reports none.
func fsUsage(dir string) usage {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return usage{}
	}
	return usage{
		bytes: int64(stat.Blocks-stat.Bfree) * stat.Bsize,
		files: int64(stat.Files - stat.Ffree),
	}
}
