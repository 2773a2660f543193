package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	// maxFile bounds what is read of a file, in bytes: sources are smaller, and lines beyond are
	// reached by search.
	maxFile = 2 << 20
	// maxLines and maxText bound what one read shows: about 4k tokens.
	maxLines = 400
	maxText  = 16_000
)

// errRefused is the kind of errors that say why a file is not shown.
var errRefused = errors.New("refused")

// readWorktree reads a regular file below root without following a link anywhere on its path.
func readWorktree(root *os.Root, name string) ([]byte, error) {
	name = path.Clean(strings.TrimPrefix(strings.TrimSpace(name), "./"))
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return nil, fmt.Errorf("%w: %q is not a path relative to the repository's root", errRefused, name)
	}
	if secretFile(name) || protects([]string{".git/"}, name) {
		return nil, fmt.Errorf("%w: %s may hold secrets", errRefused, name)
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		info, err := root.Lstat(path.Join(parts[:i+1]...))
		if err != nil {
			return nil, notThere(name, err)
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%w: %s is or lies behind a symbolic link", errRefused, name)
		case i < len(parts)-1 && !info.IsDir():
			return nil, fmt.Errorf("there is no file %s", name)
		case i == len(parts)-1 && info.IsDir():
			return nil, fmt.Errorf("%s is a directory; use list_files", name)
		case i == len(parts)-1 && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%w: %s is not a regular file", errRefused, name)
		}
	}
	// Non-blocking, should a pipe have taken the file's place meanwhile.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, notThere(name, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	const sniffed = 8_000 // git's own rule for binary files
	if bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0 {
		return nil, fmt.Errorf("%w: %s is binary", errRefused, name)
	}
	return content, nil
}

func notThere(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", name)
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// excerpt shows lines start to end of a text, and how to read on where it was cut.
func excerpt(name, content string, start, end int) string {
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	if content == "" {
		return name + " is empty"
	}
	start = max(start, 1)
	if start > len(lines) {
		return fmt.Sprintf("%s has only %d lines", name, len(lines))
	}
	if end <= 0 || end > len(lines) {
		end = len(lines)
	}
	end = max(end, start)
	end = min(end, start+maxLines-1)
	var b strings.Builder
	last := start - 1
	for _, line := range lines[start-1 : end] {
		if b.Len()+len(line) > maxText && last >= start {
			break
		}
		if len(line) > maxText {
			line = cutText(line, maxText) + " (the line goes on)"
		}
		b.WriteString(line)
		b.WriteByte('\n')
		last++
	}
	head := fmt.Sprintf("%s, lines %d-%d of %d:\n", name, start, last, len(lines))
	if last < len(lines) {
		return head + b.String() + fmt.Sprintf("(go on with read_file %s, start %d)", name, last+1)
	}
	return head + b.String()
}

func cutText(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
