package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed-7a986423/autocode/loop/sandbox/guest"
)

// Places inside that are ours.
const (
	insideInit   = "/run/autocode/init"
	insideEgress = "/run/autocode/egress.sock"
	egressName   = "egress.sock" // of the socket, in the run's directory on the host
)

// inherited are the descriptors that bubblewrap gets besides the standard ones. The first are the
// init's (guest.ControlFD and so on), the rest is read by bubblewrap itself.
type inherited struct {
	files []*os.File
}

// add passes file on and returns its number there.
func (i *inherited) add(file *os.File) int {
	i.files = append(i.files, file)
	return guest.ControlFD + len(i.files) - 1
}

func (i *inherited) close() {
	for _, file := range i.files {
		_ = file.Close()
	}
	i.files = nil
}

// arguments is bubblewrap's command line. Descriptors that it names are added to r.files, which
// must already hold the init's.
func (r *bubbleRun) arguments() ([]string, error) {
	scratch := scratchSize(r.command.Limits)
	args := []string{
		"--unshare-all", "--unshare-user", "--disable-userns",
		"--uid", strconv.Itoa(insideUID), "--gid", strconv.Itoa(insideUID),
		"--hostname", insideName,
		"--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1",
		// The init lives too briefly to collect garbage; its environment is not the command's.
		"--clearenv", "--setenv", "GOGC", "off",
	}
	args = append(args, r.root.arguments(r)...)
	args = append(args, r.proc...)
	args = append(args,
		"--dev", "/dev",
		"--perms", "1777", "--size", scratch, "--tmpfs", "/dev/shm",
		"--perms", "1777", "--size", scratch, "--tmpfs", "/tmp",
		"--perms", "0700", "--size", scratch, "--tmpfs", insideHome,
		"--ro-bind", r.config.Init, insideInit,
	)
	for _, path := range r.tools.mounts {
		args = append(args, "--ro-bind", path, path)
	}
	for _, link := range r.tools.links {
		args = append(args, "--symlink", link.Source, link.Target)
	}
	if r.group != nil {
		for _, view := range r.group.views() {
			args = append(args, "--ro-bind", view.Source, view.Target)
		}
	}
	if r.proxy != nil {
		args = append(args, "--ro-bind", filepath.Join(r.dir, egressName), insideEgress)
	}
	for _, mount := range r.copies {
		args = append(args, "--bind", mount.Source, mount.Target)
	}
	args = append(args, "--bind", r.command.Dir, r.command.Dir)
	for _, mount := range r.command.ReadOnly {
		args = append(args, "--ro-bind", mount.Source, mount.Target)
	}
	filter, err := contentFile(r.filter)
	if err != nil {
		return nil, err
	}
	args = append(args,
		"--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/",
		"--seccomp", strconv.Itoa(r.files.add(filter)),
		"--", insideInit, guest.Argument)
	return args, nil
}

// scratchSize is the size of each tmpfs. It is memory: one that could outgrow the memory limit
// would end in the out-of-memory killer in place of a clean "no space left on device".
func scratchSize(limits Limits) string {
	return strconv.FormatInt(min(limits.Disk, limits.Memory/2), 10)
}

// rootView is the system that a command sees: the host's or an image's.
type rootView struct {
	args  []string // mounts and links
	image string   // directory of the image; empty: the host
	path  []string // an image's own search path
	env   []string // an image's own environment
}

// hostRoot shows the host's system directories and a choice of /etc.
func hostRoot(config Config) (rootView, error) {
	var view rootView
	for _, path := range systemRoot {
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			continue
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(path); err == nil {
				view.args = append(view.args, "--symlink", target, path)
			}
		case info.IsDir():
			view.args = append(view.args, "--ro-bind", path, path)
		}
	}
	etc, err := etcDirectory(config.StateDir, config.Etc)
	if err != nil {
		return view, err
	}
	view.args = append(view.args, "--ro-bind", etc, "/etc",
		"--dir", "/var", "--symlink", "../tmp", "/var/tmp", "--symlink", "../run", "/var/run")
	for _, path := range hiddenInUsr {
		if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
			view.args = append(view.args, masked([]string{path})...)
		}
	}
	return view, nil
}

// arguments are the mounts of the root for one run.
func (v rootView) arguments(r *bubbleRun) []string {
	if v.image != "" {
		return v.imageArguments(r)
	}
	return v.args
}

// pipeSize is what a pipe holds at least (pipe(7)).
const pipeSize = 64 << 10

// contentFile is a pipe that holds content; it must fit into one.
func contentFile(content []byte) (*os.File, error) {
	if len(content) > pipeSize {
		return nil, fmt.Errorf("%d bytes do not fit into a pipe", len(content))
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	_, err = writer.Write(content)
	writer.Close()
	if err != nil {
		reader.Close()
		return nil, fmt.Errorf("filling a pipe: %w", err)
	}
	return reader, nil
}
