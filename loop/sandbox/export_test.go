package sandbox

// SplitTarget lets the tests of other files reach splitTarget.
func SplitTarget(target string) (string, int, error) { return splitTarget(target, portHTTPS) }

// FindBwrap lets the attack tests look for bubblewrap where none is.
func FindBwrap(dirs []string) (string, error) { return findBwrap(dirs) }
