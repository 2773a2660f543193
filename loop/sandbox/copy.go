package sandbox

import (
	"fmt"
	"os"
)

// copyTree gives a run a tree of its own. Links are copied as links; devices and sockets are an
// error, since no cache holds any.
func copyTree(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", source)
	}
	return os.CopyFS(target, os.DirFS(source))
}
