package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// MaxFile is the largest file in bytes that is edited; larger ones are data, not source.
const MaxFile = 32 << 20

// file is the state of one path as the blocks have left it so far.
type file struct {
	exists bool
	mode   fs.FileMode // permission bits
	text   text
	loaded bool   // text holds the content; otherwise it is still source's
	source string // the path on disk that the content comes from; empty for a created file
	dirty  bool   // text differs, or may differ, from source's content
}

// tree is the working tree with the reply's changes laid over it in memory.
type tree struct {
	root    *os.Root
	files   map[string]*file
	touched []string            // the paths whose state was changed, in the order of the first change
	names   map[string][]string // directory → its entries on disk, read once
}

func newTree(root *os.Root) *tree {
	return &tree{root: root, files: map[string]*file{}, names: map[string][]string{}}
}

// refusal is an error about a path, with the kind that it is reported as.
type refusal struct {
	kind    Kind
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(kind Kind, format string, args ...any) error {
	return &refusal{kind: kind, message: fmt.Sprintf(format, args...)}
}

// stat returns the state of p, which has passed safePath. It refuses links and whatever is no regular file.
func (t *tree) stat(p string) (*file, error) {
	if f, ok := t.files[p]; ok {
		return f, nil
	}
	if err := t.parents(p); err != nil {
		return nil, err
	}
	f := &file{}
	info, err := t.root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist), isNotDirectory(err):
	case err != nil:
		return nil, refuse(KindConflict, "%s cannot be looked at: %v", p, cause(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, refuse(KindUnsafePath, "%s is a symbolic link; name the file that it points to", p)
	case info.IsDir():
		return nil, refuse(KindConflict, "%s is a folder, not a file", p)
	case !info.Mode().IsRegular():
		return nil, refuse(KindUnsafePath, "%s is not a regular file", p)
	default:
		f.exists, f.mode, f.source = true, info.Mode().Perm(), p
	}
	t.files[p] = f
	return f, nil
}

// parents refuses a path whose folders are links.
func (t *tree) parents(p string) error {
	for i, c := range p {
		if c != '/' {
			continue
		}
		info, err := t.root.Lstat(p[:i])
		if errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) {
			return nil
		}
		if err != nil {
			return refuse(KindConflict, "%s cannot be looked at: %v", p[:i], cause(err))
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return refuse(KindUnsafePath, "%s leads through the symbolic link %s", p, p[:i])
		}
	}
	return nil
}

// cause is an error without the path and call that os puts before it.
func cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// load reads the content of f, which exists.
func (t *tree) load(p string, f *file) error {
	if f.loaded {
		return nil
	}
	handle, err := t.root.Open(f.source)
	if err != nil {
		return refuse(KindConflict, "%s cannot be read: %v", p, cause(err))
	}
	defer handle.Close()
	content, err := io.ReadAll(io.LimitReader(handle, MaxFile+1))
	switch {
	case err != nil:
		return refuse(KindConflict, "%s cannot be read: %v", p, cause(err))
	case len(content) > MaxFile:
		return refuse(KindConflict, "%s is larger than %d MB, which is too large to edit", p, MaxFile>>20)
	case bytes.IndexByte(content, 0) >= 0:
		return refuse(KindConflict, "%s is a binary file, which cannot be edited by blocks of text", p)
	}
	f.text, f.loaded = parseText(string(content)), true
	return nil
}

// put sets the state of p.
func (t *tree) put(p string, f *file) {
	t.files[p] = f
	if !slices.Contains(t.touched, p) {
		t.touched = append(t.touched, p)
	}
}

// vacant refuses p as a new file's place: where a folder of it is a file, where it is a folder itself, or where it differs from
// another name by case alone. except is a path that is about to go, and does not count.
func (t *tree) vacant(p, except string) error {
	parent := ""
	for segment := range strings.SplitSeq(p, "/") {
		full := path.Join(parent, segment)
		entries := append(slices.Clone(t.entries(parent)), t.planned(parent)...)
		for _, entry := range entries {
			other := path.Join(parent, entry)
			if entry == segment || foldName(entry) != foldName(segment) || other == except || t.gone(other) {
				continue
			}
			return refuse(KindUnsafePath, "%s collides with %s, which differs by case or spelling alone", full, other)
		}
		if full != p {
			if f, ok := t.files[full]; ok && f.exists {
				return refuse(KindConflict, "%s cannot be a folder: it is a file", full)
			}
			if info, err := t.root.Lstat(full); err == nil && !info.IsDir() && !t.gone(full) {
				return refuse(KindConflict, "%s cannot be a folder: it is a file", full)
			}
		}
		parent = full
	}
	if len(t.planned(p)) > 0 {
		return refuse(KindConflict, "%s is a folder: an earlier block makes a file in it", p)
	}
	return nil
}

// gone tells whether an earlier block took away the file p.
func (t *tree) gone(p string) bool {
	f, ok := t.files[p]
	return ok && !f.exists && slices.Contains(t.touched, p)
}

// entries lists the names in a directory of the tree on disk.
func (t *tree) entries(dir string) []string {
	if names, ok := t.names[dir]; ok {
		return names
	}
	name := dir
	if name == "" {
		name = "."
	}
	var names []string
	if handle, err := t.root.Open(name); err == nil {
		// What cannot be listed has no names that could collide; writing will fail with the reason.
		names, _ = handle.Readdirnames(-1)
		handle.Close()
	}
	t.names[dir] = names
	return names
}

// planned lists the names in dir that earlier blocks make.
func (t *tree) planned(dir string) []string {
	var names []string
	prefix := dir + "/"
	if dir == "" {
		prefix = ""
	}
	for _, p := range t.touched {
		if rest, ok := strings.CutPrefix(p, prefix); ok && t.files[p].exists {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	return names
}

const (
	// maxSeen bounds the files looked through for a better path.
	maxSeen = 20_000
	// maxAlike bounds the paths offered instead of a missing one.
	maxAlike = 3
)

// alike lists files with the name of p elsewhere in the tree, or with the same path in other case.
func (t *tree) alike(p string) []string {
	want := foldName(path.Base(p))
	var found []string
	seen := 0
	// Errors only mean that there is less to offer.
	_ = fs.WalkDir(t.root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case seen > maxSeen || len(found) == maxAlike:
			return fs.SkipAll
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.Type().IsRegular() && foldName(entry.Name()) == want:
			found = append(found, at)
		}
		return nil
	})
	return found
}
