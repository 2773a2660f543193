package edit

import (
	"errors"
	"syscall"
)

// isNotDirectory tells the error of a path below a file.
func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
