package sandbox

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// imageRemedy names what Config.Image accepts.
const imageRemedy = "name an unpacked root file system, an OCI image layout (directory or tar archive), or the output of `docker save`"

// imageRoot opens Config.Image, unpacking it first if it is packed.
func imageRoot(config Config) (rootView, error) {
	refuse := func(err error) (rootView, error) {
		return rootView{}, &Unavailable{"the image " + config.Image + " cannot be used: " + err.Error(), imageRemedy}
	}
	path, err := filepath.Abs(config.Image)
	if err != nil {
		return refuse(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return refuse(err)
	}
	view := rootView{image: path, path: standardPath}
	_, packed := os.Stat(filepath.Join(path, "oci-layout"))
	if info.IsDir() && packed != nil {
		return view, startsIn(config.Init, path)
	}
	image, cleanup, err := openImage(path, info.IsDir(), config.StateDir)
	if err != nil {
		return refuse(err)
	}
	defer cleanup()
	if view.image, err = unpackedImage(image, config.StateDir); err != nil {
		return refuse(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return refuse(err)
	}
	for _, entry := range file.Config.Env {
		if search, found := strings.CutPrefix(entry, "PATH="); found {
			view.path = filepath.SplitList(search)
			continue
		}
		view.env = append(view.env, entry)
	}
	return view, startsIn(config.Init, view.image)
}

// startsIn says if the init can be started in a root: it is linked statically, or the root has
// the loader that it wants.
func startsIn(program, root string) error {
	file, err := elf.Open(program)
	if err != nil {
		return &Unavailable{"the init program cannot be read: " + err.Error(), "set the path of the autocode binary"}
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		loader, err := io.ReadAll(io.LimitReader(segment.Open(), int64(maxLoaderPath)))
		if err != nil {
			return &Unavailable{"the init program cannot be read: " + err.Error(), "set the path of the autocode binary"}
		}
		name := strings.TrimRight(string(loader), "\x00")
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return &Unavailable{program + " needs " + name + ", which the image does not have", "use a release binary of autocode, which is linked statically"}
		}
	}
	return nil
}

// maxLoaderPath is the longest path that Linux takes (PATH_MAX).
const maxLoaderPath = 4096

// openImage reads an OCI layout, an archive of one, or an archive of `docker save`.
func openImage(path string, isLayout bool, stateDir string) (v1.Image, func(), error) {
	keep := func() {}
	if !isLayout {
		if image, err := tarball.ImageFromPath(path, nil); err == nil {
			return image, keep, nil
		}
		dir := filepath.Join(stateDir, newRunName())
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, keep, err
		}
		keep = func() { _ = RemoveAll(dir) }
		file, err := os.Open(path)
		if err != nil {
			return nil, keep, err
		}
		defer file.Close()
		if err := unpack(file, dir); err != nil {
			keep()
			return nil, func() {}, fmt.Errorf("unpacking the archive: %w", err)
		}
		path = dir
	}
	image, err := firstImage(path)
	if err != nil {
		keep()
		return nil, func() {}, err
	}
	return image, keep, nil
}

// firstImage is the image of a layout; of several platforms, the first that is listed.
func firstImage(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the OCI layout: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading the OCI layout: %w", err)
	}
	for _, item := range manifest.Manifests {
		switch {
		case item.MediaType.IsImage():
			return index.Image(item.Digest)
		case item.MediaType.IsIndex():
			inner, err := index.ImageIndex(item.Digest)
			if err != nil {
				return nil, err
			}
			platforms, err := inner.IndexManifest()
			if err != nil {
				return nil, err
			}
			for _, platform := range platforms.Manifests {
				if platform.MediaType.IsImage() {
					return inner.Image(platform.Digest)
				}
			}
		}
	}
	return nil, errors.New("the OCI layout holds no image")
}

// unpackedImage is the directory with the image's files, made once per image.
func unpackedImage(image v1.Image, stateDir string) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("reading the image: %w", err)
	}
	dir := filepath.Join(stateDir, "image-"+digest.Hex)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	made := filepath.Join(stateDir, newRunName())
	if err := os.Mkdir(made, 0o700); err != nil {
		return "", err
	}
	files := mutate.Extract(image)
	err = unpack(files, made)
	files.Close()
	if err == nil {
		err = os.Chmod(made, 0o755)
	}
	if err == nil {
		err = os.Rename(made, dir)
	}
	if err != nil {
		_ = RemoveAll(made)
		if _, exists := os.Stat(dir); exists == nil {
			return dir, nil // somebody else was faster
		}
		return "", fmt.Errorf("unpacking the image: %w", err)
	}
	return dir, nil
}

// Bounds of an unpacked image: beyond any toolchain's, and short of filling a disk.
const (
	maxImageBytes   = 32 << 30
	maxImageEntries = 2_000_000
)

// unpack extracts a tar archive below dir. Nothing can be written outside; set-id bits and owners
// are dropped, and devices and FIFOs are left out.
func unpack(archive io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	reader := tar.NewReader(archive)
	var bytes int64
	for entries := 0; ; entries++ {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if bytes += header.Size; bytes > maxImageBytes || entries > maxImageEntries {
			return fmt.Errorf("it has more than %d bytes or %d files", int64(maxImageBytes), maxImageEntries)
		}
		if err := unpackEntry(root, header, reader); err != nil {
			return fmt.Errorf("%q: %w", header.Name, err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	name := strings.TrimPrefix(filepath.Clean("/"+header.Name), "/")
	if name == "" {
		return nil
	}
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	mode := header.FileInfo().Mode().Perm()
	const owner = 0o700 // so that the directory can be filled and removed
	if header.Typeflag == tar.TypeDir {
		if err := root.Mkdir(name, mode|owner); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch header.Typeflag {
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		return root.Link(strings.TrimPrefix(filepath.Clean("/"+header.Linkname), "/"), name)
	default:
		return nil // devices, FIFOs and extensions
	}
}

// ownPlaces are top-level directories of an image that the sandbox makes itself.
var ownPlaces = []string{"/proc", "/sys", "/dev", "/tmp", "/run", "/home"}

// imageArguments show an image read-only. A directory in which something must be mounted that the
// image has no place for is taken apart: its entries are mounted one by one.
func (v rootView) imageArguments(r *bubbleRun) []string {
	targets := []string{r.command.Dir}
	for _, m := range slices.Concat(r.copies, r.command.ReadOnly) {
		targets = append(targets, m.Target)
	}
	return append(exposeImage(v.image, "/", targets), v.imageAccounts(r)...)
}

func exposeImage(image, inside string, targets []string) []string {
	entries, err := os.ReadDir(filepath.Join(image, inside))
	if err != nil {
		return nil
	}
	var args []string
	for _, entry := range entries {
		path := filepath.Join(inside, entry.Name())
		source := filepath.Join(image, path)
		switch {
		case slices.Contains(ownPlaces, path):
		case entry.Type()&fs.ModeSymlink != 0:
			if target, err := os.Readlink(source); err == nil {
				args = append(args, "--symlink", target, path)
			}
		case entry.IsDir() && slices.ContainsFunc(targets, func(target string) bool { return target != path && within(target, path) }):
			args = append(args, "--perms", "0755", "--dir", path)
			args = append(args, exposeImage(image, path, targets)...)
		case entry.IsDir() || entry.Type().IsRegular():
			args = append(args, "--ro-bind", source, path)
		}
	}
	return args
}

// imageAccounts put the sandbox's account over the image's files of accounts and names, where it
// has them.
func (v rootView) imageAccounts(r *bubbleRun) []string {
	var args []string
	for name, content := range etcWritten() {
		path := filepath.Join(v.image, "etc", name)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if name == "passwd" || name == "group" {
			own, err := os.ReadFile(path)
			if err != nil || len(own)+len(content) > pipeSize {
				continue
			}
			content = string(own) + content
		}
		file, err := contentFile([]byte(content))
		if err != nil {
			continue
		}
		args = append(args, "--ro-bind-data", strconv.Itoa(r.files.add(file)), "/etc/"+name)
	}
	if info, err := os.Lstat(filepath.Join(v.image, "var/tmp")); err == nil && info.IsDir() {
		args = append(args, "--perms", "1777", "--size", scratchSize(r.command.Limits), "--tmpfs", "/var/tmp")
	}
	return args
}
