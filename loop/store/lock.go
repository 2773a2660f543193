package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockName is the file in a data directory whose lock its one process holds.
const lockName = "autocode.lock"

// lockDirectory takes the data directory for this process. The lock ends with the process, however
// it ends, so that a kill leaves nothing behind that a person must remove.
func lockDirectory(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(file, 32)) // a process id; unreadable is as good as empty
		file.Close()
		pid := strings.TrimSpace(string(holder))
		if pid == "" {
			pid = "unknown"
		}
		return nil, fmt.Errorf("data directory %s is in use by the process with pid %s: stop that one, choose another directory, or use PostgreSQL for several servers", dir, pid)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := file.Truncate(0); err != nil {
		file.Close()
		return nil, fmt.Errorf("write process id to %s: %w", path, err)
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("write process id to %s: %w", path, err)
	}
	return file, nil
}
