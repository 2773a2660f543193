package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// etcShown are the entries of /etc that programs need and that hold no secret. Accounts, name
// resolution and hosts are written for the sandbox (see etcWritten); settings of package managers
// (npmrc, pip.conf, maven/settings.xml) are left out, since they hold credentials.
var etcShown = []string{
	// dynamic linker
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d",
	// public certificates
	"ssl/certs", "ssl/openssl.cnf", "ca-certificates.conf", "pki/tls/certs", "pki/ca-trust/extracted", "pki/java",
	// programs that a link in here selects
	"alternatives",
	// language runtimes
	"java", "java-8-openjdk", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk",
	"maven/m2.conf", "maven/logging", "python3", "perl", "php", "php.d", "php.ini",
	// data
	"localtime", "timezone", "locale.alias", "locale.conf", "mime.types", "magic", "services", "protocols", "rpc", "mtab",
	"os-release", "debian_version", "alpine-release", "redhat-release", "fonts", "inputrc", "terminfo", "login.defs", "shells",
}

// The account inside. It is not root, so that programs behave as on a developer's machine.
const (
	insideUID  = 1000
	insideName = "sandbox"
	insideHome = "/home/" + insideName
)

// etcWritten are files of /etc with content of ours.
func etcWritten() map[string]string {
	return map[string]string{
		"passwd": fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\n%s:x:%d:%d:%s:%s:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			insideName, insideUID, insideUID, insideName, insideHome),
		"group":         fmt.Sprintf("root:x:0:\n%s:x:%d:\nnogroup:x:65534:\n", insideName, insideUID),
		"hosts":         fmt.Sprintf("127.0.0.1 localhost %s\n::1 localhost\n", insideName),
		"hostname":      insideName + "\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		"resolv.conf":   "# there is no name resolution inside\n",
		"gitconfig":     "[safe]\n\tdirectory = *\n",
	}
}

// etcDirectory is a directory with the sandbox's /etc: copies of what is shown of the host's, and
// files of ours. It is made once and kept below stateDir under a name that tells its content, so
// that a run needs one mount for all of it (each costs bubblewrap a tenth of a millisecond and
// more). Files and directories that are not world-readable are left out: the server's user may be
// root and could read them.
//
// A change of the host's is noticed by the times of the listed entries and of the directories
// below them, which every package manager changes; looking at each file would cost more than all
// the rest of a start.
func etcDirectory(stateDir string, extra []string) (string, error) {
	shown := slices.Concat(etcShown, extra)
	written := etcWritten()
	digest := sha256.New()
	for _, name := range shown {
		digestEtc(digest, filepath.Join("/etc", name))
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		fmt.Fprintf(digest, "%s %q\n", name, written[name])
	}
	dir := filepath.Join(stateDir, fmt.Sprintf("%s%x", etcPrefix, digest.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	made := filepath.Join(stateDir, newRunName())
	if err := os.Mkdir(made, 0o700); err != nil {
		return "", fmt.Errorf("preparing /etc: %w", err)
	}
	defer os.RemoveAll(made)
	var entries []etcEntry
	for _, name := range shown {
		entries = append(entries, etcBelow(name)...)
	}
	if err := fillEtc(made, entries, written); err != nil {
		return "", fmt.Errorf("preparing /etc: %w", err)
	}
	if err := os.Rename(made, dir); err != nil {
		if _, exists := os.Stat(dir); exists == nil {
			return dir, nil // somebody else was faster
		}
		return "", fmt.Errorf("preparing /etc: %w", err)
	}
	return dir, nil
}

// etcPrefix begins the names of prepared directories below the state directory.
const etcPrefix = "etc-"

// etcEntry is a file, directory or link to show below /etc.
type etcEntry struct {
	name string // relative to /etc
	mode fs.FileMode
	link string // the target of a symbolic link
}

// digestEtc adds path, and the directories below it, to the digest.
func digestEtc(digest io.Writer, path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	fmt.Fprintf(digest, "%s %s %d %d\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
	if !info.IsDir() {
		return
	}
	entries, _ := os.ReadDir(path) // an unreadable directory is left out later too
	for _, entry := range entries {
		if entry.IsDir() {
			digestEtc(digest, filepath.Join(path, entry.Name()))
		}
	}
}

// etcBelow lists name and what is below it, as far as others may read it.
func etcBelow(name string) []etcEntry {
	var found []etcEntry
	_ = filepath.WalkDir(filepath.Join("/etc", name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // absent or unreadable on this host: absent inside
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		relative, err := filepath.Rel("/etc", path)
		if err != nil {
			return nil
		}
		item := etcEntry{name: relative, mode: info.Mode()}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			item.link, err = os.Readlink(path)
			if err != nil {
				return nil
			}
		case !worldReadable(info):
			if info.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !info.IsDir() && !info.Mode().IsRegular():
			return nil
		}
		found = append(found, item)
		return nil
	})
	return found
}

func worldReadable(info fs.FileInfo) bool {
	const othersRead = 0o004
	return info.Mode()&othersRead != 0
}

// fillEtc copies entries and written files below dir.
func fillEtc(dir string, entries []etcEntry, written map[string]string) error {
	const dirMode, fileMode = 0o755, 0o644
	if err := os.Chmod(dir, dirMode); err != nil {
		return err
	}
	for _, entry := range entries {
		target := filepath.Join(dir, entry.name)
		if err := os.MkdirAll(filepath.Dir(target), dirMode); err != nil {
			return err
		}
		var err error
		switch {
		case entry.link != "":
			err = os.Symlink(entry.link, target)
		case entry.mode.IsDir():
			err = os.MkdirAll(target, dirMode)
		default:
			var content []byte
			if content, err = os.ReadFile(filepath.Join("/etc", entry.name)); err == nil {
				err = os.WriteFile(target, content, fileMode)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, content := range written {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), fileMode); err != nil {
			return err
		}
	}
	return nil
}

// masked hides paths: directories under an empty tmpfs, files under the null device. Others are
// skipped.
func masked(paths []string) []string {
	var args []string
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case err != nil || info.Mode()&fs.ModeSymlink != 0:
		case info.IsDir():
			args = append(args, "--tmpfs", path, "--remount-ro", path)
		default:
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	return args
}

// hiddenInUsr are directories below /usr for settings of the administrator's.
var hiddenInUsr = []string{"/usr/local/etc", "/usr/etc", "/usr/local/var", "/usr/var", "/usr/local/src", "/usr/home"}

// Parts of /proc that are the host's own and not bound to a namespace, as far as the kernel does
// not guard them by a capability itself (kcore, kmsg) and bubblewrap does not cover them (irq,
// bus, sysrq-trigger).
var (
	procReadOnly = []string{"/proc/sys", "/proc/pressure"}
	procHidden   = []string{"/proc/keys"}
	// What only the host's root may write or read matters when the server runs as root.
	procReadOnlyRoot = []string{"/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/driver", "/proc/dynamic_debug", "/proc/asound"}
	procHiddenRoot   = []string{
		"/proc/timer_list", "/proc/latency_stats", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/pagetypeinfo",
		"/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/allocinfo",
	}
)

// procArgs mounts a fresh /proc and protects the host's parts of it.
func procArgs(root bool) []string {
	args := []string{"--proc", "/proc"}
	for _, path := range procReadOnly {
		if _, err := os.Lstat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	hidden := procHidden
	if root {
		hidden = slices.Concat(hidden, procHiddenRoot)
		for _, path := range procReadOnlyRoot {
			if writableBelow(path) {
				args = append(args, "--ro-bind", path, path)
			}
		}
	}
	return append(args, masked(hidden)...)
}

// writableBelow says whether the owner may write some file at or below path.
func writableBelow(path string) bool {
	found := false
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		const ownerWrites = 0o200
		if info, err := entry.Info(); err == nil && info.Mode()&fs.ModeSymlink == 0 && info.Mode()&ownerWrites != 0 {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// cleanTarget rejects targets that would break the root itself.
func cleanTarget(target string) error {
	for _, taken := range []string{"/proc", "/dev", "/run/autocode"} {
		if within(target, taken) {
			return fmt.Errorf("nothing can be shown at %s", target)
		}
	}
	if strings.Count(target, "/") == 1 && target != "/cache" {
		return fmt.Errorf("%s: show single paths below a top directory, not the directory", target)
	}
	return nil
}
