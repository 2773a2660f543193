package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

const (
	// treeTimeout bounds one reading of a tree or a history; the largest known repositories list
	// in seconds.
	treeTimeout = 2 * time.Minute
	// maxReadFile bounds Tree.Read, whose result is held whole in memory.
	maxReadFile = 64 << 20
	// batchBuffer is the read buffer of cat-file's output: most source files fit whole.
	batchBuffer = 256 << 10
)

// OpenTree reads a commit of a local repository, bare or not, whoever owns it. An empty rev is
// HEAD. The directory may be anywhere below the top of a worktree. It needs git in the PATH.
//
// Of the repository's own configuration nothing that names a program is used.
func OpenTree(ctx context.Context, dir, rev string) (loop.Tree, error) {
	path, err := findGit("")
	if err != nil {
		return nil, err
	}
	g := &git{path: path, timeout: treeTimeout}
	gitDir, err := localGitDir(ctx, g, dir)
	if err != nil {
		return nil, err
	}
	return openTree(ctx, g, gitDir, rev)
}

// localGitDir returns the absolute git directory of a repository that somebody else made.
func localGitDir(ctx context.Context, g *git, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("open the repository: %w", err)
	}
	// Ownership and bareness are git's guards for a user who did not choose the directory; here
	// it was named. safe.* is read from the environment for this command alone.
	c := call{dir: abs, args: []string{"rev-parse", "--absolute-git-dir"}, config: []setting{{"safe.directory", "*"}}}
	gitDir, err := g.line(ctx, c)
	if err == nil {
		return gitDir, nil
	}
	for _, bare := range []string{abs, filepath.Join(abs, ".git")} {
		c := call{gitDir: bare, args: []string{"rev-parse", "--absolute-git-dir"}, config: []setting{{"safe.directory", "*"}}}
		if gitDir, bareErr := g.line(ctx, c); bareErr == nil {
			return gitDir, nil
		}
	}
	return "", fmt.Errorf("%s is not a git repository (name a directory made by git init or git clone): %w", dir, err)
}

// resolveCommit returns the full id of the commit that rev names.
func resolveCommit(ctx context.Context, g *git, gitDir, rev string) (string, error) {
	if rev == "" {
		rev = "HEAD"
	}
	if strings.HasPrefix(rev, "-") || strings.ContainsFunc(rev, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("revision %q: starts with a dash or holds control characters", rev)
	}
	id, err := g.line(ctx, call{
		gitDir: gitDir, config: []setting{{"safe.directory", "*"}},
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"},
	})
	if err == nil {
		return id, nil
	}
	var failed *Error
	if !errors.As(err, &failed) || failed.Err != nil {
		return "", err
	}
	if rev == "HEAD" {
		if refs, err := g.line(ctx, call{gitDir: gitDir, config: []setting{{"safe.directory", "*"}},
			args: []string{"for-each-ref", "--count=1", "--format=%(refname)"}}); err == nil && refs == "" {
			return "", fmt.Errorf("%s: %w", gitDir, loop.ErrEmptyRepository)
		}
	}
	return "", fmt.Errorf("revision %q is not a commit of this repository (give a branch, a tag or a commit id that it has): %w", rev, fs.ErrNotExist)
}

func openTree(ctx context.Context, g *git, gitDir, rev string) (*tree, error) {
	id, err := resolveCommit(ctx, g, gitDir, rev)
	if err != nil {
		return nil, err
	}
	return &tree{git: g, gitDir: gitDir, commit: id}, nil
}

// tree is a commit of a git directory. A commit never changes, so its listing is read once.
type tree struct {
	git    *git
	gitDir string
	commit string

	mu     sync.Mutex
	files  []loop.TreeFile
	byPath map[string]int // index in files
	sizes  map[string]int64
}

func (t *tree) call(args ...string) call {
	return call{gitDir: t.gitDir, args: args, timeout: treeTimeout, config: []setting{{"safe.directory", "*"}}}
}

// Commit is the full id of the commit.
func (t *tree) Commit() string { return t.commit }

// ObjectStore is the directory of objects that the tree is read from: the mirror's for a clone that borrows from it.
func (t *tree) ObjectStore() string {
	own := filepath.Join(t.gitDir, "objects")
	list, err := os.ReadFile(filepath.Join(own, "info", "alternates"))
	if err != nil {
		return own
	}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); filepath.IsAbs(line) {
			return filepath.Clean(line)
		}
	}
	return own
}

// Files lists the tree's blobs, links and submodules, sorted by path.
func (t *tree) Files(ctx context.Context) ([]loop.TreeFile, error) {
	if err := t.load(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(t.files), nil
}

func (t *tree) load(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPath != nil {
		return nil
	}
	out, err := t.git.run(ctx, t.call("ls-tree", "-r", "-z", "-l", "--full-tree", t.commit))
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", t.commit, err)
	}
	files, err := parseListing(out)
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", t.commit, err)
	}
	slices.SortFunc(files, func(a, b loop.TreeFile) int { return strings.Compare(a.Path, b.Path) })
	t.files = files
	t.byPath = make(map[string]int, len(files))
	t.sizes = make(map[string]int64, len(files))
	for i, f := range files {
		t.byPath[f.Path] = i
		t.sizes[f.Blob] = f.Size
	}
	return nil
}

// Read returns a regular file's content, at most 64 MiB. Links and submodules do not exist for it.
func (t *tree) Read(ctx context.Context, path string) ([]byte, error) {
	if err := t.load(ctx); err != nil {
		return nil, err
	}
	i, ok := t.byPath[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	f := t.files[i]
	switch {
	case f.Mode != loop.ModeRegular && f.Mode != loop.ModeExecutable:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("mode %s is not a regular file: %w", f.Mode, fs.ErrNotExist)}
	case f.Size < 0:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("this repository lacks its content: %w", fs.ErrNotExist)}
	case f.Size > maxReadFile:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%d bytes are more than the %d that are read", f.Size, maxReadFile)}
	}
	return t.git.run(ctx, t.call("cat-file", "blob", f.Blob))
}

// ReadAll calls each with the content of blobs, in their order. The content is each's to keep.
func (t *tree) ReadAll(ctx context.Context, blobs []string, maxBytes int64, each func(string, []byte) error) error {
	if err := t.load(ctx); err != nil {
		return err
	}
	var ids strings.Builder
	for _, id := range blobs {
		// Known sizes spare unpacking what is left out anyway.
		if size, ok := t.sizes[id]; ok && (size > maxBytes || size < 0) {
			continue
		}
		if !isObjectID(id) {
			return fmt.Errorf("read blobs: %q is not an object id", id)
		}
		ids.WriteString(id)
		ids.WriteByte('\n')
	}
	if ids.Len() == 0 {
		return nil
	}
	c := t.call("cat-file", "--batch", "--buffer")
	c.stdin = strings.NewReader(ids.String())
	return t.git.stream(ctx, c, func(r io.Reader) error {
		return readBatch(bufio.NewReaderSize(r, batchBuffer), maxBytes, each)
	})
}

// readBatch reads the output of git cat-file --batch: "ID blob SIZE\n", the content, "\n".
func readBatch(r *bufio.Reader, maxBytes int64, each func(string, []byte) error) error {
	for {
		head, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(head) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read blobs: %w", err)
		}
		id, rest, _ := strings.Cut(string(head[:len(head)-1]), " ")
		kind, length, ok := strings.Cut(rest, " ")
		if !ok {
			return fmt.Errorf("read blob %s: %s: %w", id, rest, fs.ErrNotExist)
		}
		size, err := strconv.ParseInt(length, 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("read blob %s: size %q is not understood", id, length)
		}
		if kind != "blob" || size > maxBytes {
			if _, err := io.CopyN(io.Discard, r, size+1); err != nil {
				return fmt.Errorf("read blob %s: %w", id, err)
			}
			continue
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			return fmt.Errorf("read blob %s: %w", id, err)
		}
		if err := each(id, content[:size:size]); err != nil {
			return err
		}
	}
}

// isObjectID says whether s is a full object id, SHA-1 or SHA-256.
func isObjectID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// splitNUL splits a list whose entries each end with NUL.
func splitNUL(out []byte) []string {
	out = bytes.TrimSuffix(out, []byte{0})
	if len(out) == 0 {
		return nil
	}
	return strings.Split(string(out), "\x00")
}
