package guest

import (
	"errors"
	"os"
	"strings"
)

// LookPath finds a program as execvp(3) does, in the PATH of env.
func LookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !strings.HasPrefix(path, "/") {
			path = dir + "/" + path
		}
		if _, err := os.Stat(path); err != nil {
			return "", &wrapped{name + ": command not found in the sandbox", errors.Unwrap(err)}
		}
		return path, nil
	}
	search := ""
	for _, entry := range env {
		if value, found := strings.CutPrefix(entry, "PATH="); found {
			search = value
		}
	}
	for place := range strings.SplitSeq(search, ":") {
		if place == "" {
			continue // to execvp the current directory: never what is meant here
		}
		if !strings.HasPrefix(place, "/") {
			place = dir + "/" + place
		}
		path := place + "/" + name
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", errors.New(name + ": command not found in the sandbox (searched " + search + "); install it on this host or configure an image that has it")
}
