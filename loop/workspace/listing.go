package workspace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// measure says whether a commit's worktree stays within the limits, before it is written: a few
// kilobytes of objects can stand for a worktree of any size.
func (c *clone) measure(ctx context.Context, commit string) error {
	var files int
	var size int64
	err := c.w.git.stream(ctx, c.call("ls-tree", "-r", "-z", "-l", "--full-tree", commit), func(r io.Reader) error {
		var err error
		files, size, err = countListing(r, c.w.sparse(c.src), c.w.config.MaxCloneFiles, c.w.config.MaxCloneBytes)
		return err
	})
	if err != nil {
		return fmt.Errorf("worktree of %s: %d files, %d bytes and more: %w", commit, files, size, err)
	}
	return nil
}

// countListing reads the output of git ls-tree -r -z -l, of any length, in bounded memory until it
// ends or a limit is passed. Of a sparse worktree only what it holds counts.
func countListing(r io.Reader, sparse []string, maxFiles int, maxBytes int64) (files int, size int64, err error) {
	in := bufio.NewReaderSize(r, batchBuffer)
	for {
		entry, err := in.ReadSlice(0)
		if err == io.EOF && len(entry) == 0 {
			return files, size, nil
		}
		if err != nil {
			return files, size, fmt.Errorf("read the listing of a tree: %w", err)
		}
		head, name, _ := strings.Cut(strings.TrimSuffix(string(entry), "\x00"), "\t")
		if len(sparse) > 0 && !holds(sparse, name) {
			continue
		}
		fields := strings.Fields(head)
		if len(fields) == 4 && fields[3] != "-" && fields[3] != absentSize {
			n, err := strconv.ParseInt(fields[3], 10, 64)
			if err != nil {
				return files, size, fmt.Errorf("tree entry %q: size: %w", entry, err)
			}
			size += n
		}
		if files++; files > maxFiles || size > maxBytes {
			return files, size, fmt.Errorf("over MaxCloneFiles (%d) or MaxCloneBytes (%d): %w", maxFiles, maxBytes, ErrTooLarge)
		}
	}
}

// absentSize is what git prints for the size of a blob that the repository does not have, as in a
// partial clone or a copy that left large files out.
const absentSize = "BAD"

// parseListing reads the output of git ls-tree -r -z -l: "MODE TYPE ID SIZE\tPATH\0".
func parseListing(out []byte) ([]loop.TreeFile, error) {
	text := string(out)
	files := make([]loop.TreeFile, 0, strings.Count(text, "\x00"))
	for text != "" {
		var entry string
		var ok bool
		if entry, text, ok = strings.Cut(text, "\x00"); !ok {
			return nil, fmt.Errorf("tree listing ends within %q", entry)
		}
		head, path, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			return nil, fmt.Errorf("tree entry %q is not understood", entry)
		}
		var size int64
		if fields[3] == absentSize {
			size = -1
		} else if fields[3] != "-" { // a submodule has no size
			var err error
			if size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
				return nil, fmt.Errorf("tree entry %q: size: %w", entry, err)
			}
		}
		files = append(files, loop.TreeFile{Path: path, Mode: canonicalMode(fields[0]), Blob: fields[2], Size: size})
	}
	return files, nil
}

// canonicalMode maps the group-writable 100664 of very old commits to what git makes of it today.
func canonicalMode(mode string) loop.FileMode {
	if mode == "100664" {
		return loop.ModeRegular
	}
	return loop.FileMode(mode)
}
