package workspace

import (
	"fmt"
	"path"
	"strings"
)

// isDotGit says whether a file system would take name for .git: HFS+ ignores some code points and
// case, NTFS ignores trailing dots and spaces, knows streams (.git::$INDEX_ALLOCATION) and the
// short name git~1. As git's verify_path does with core.protectHFS and core.protectNTFS.
func isDotGit(name string) bool {
	for part := range strings.SplitSeq(name, `\`) {
		part = strings.Map(dropIgnorable, part)
		part, _, _ = strings.Cut(part, ":")
		part = strings.ToLower(strings.TrimRight(part, " ."))
		if part == ".git" || part == "git~1" {
			return true
		}
	}
	return false
}

// dropIgnorable drops the code points that HFS+ ignores in names (Apple's technical note 1150, as
// listed in git's utf8.c).
func dropIgnorable(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

// checkPath says whether p is a path that a commit may have: relative, clean, and without .git in
// any spelling. Odd characters are allowed: what a sandbox made must be removable.
func checkPath(p string) error {
	switch {
	case p == "" || p == "." || path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../"):
		return fmt.Errorf("path %q is refused: want a clean relative path", p)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("path %q is refused: holds a NUL", p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if isDotGit(part) {
			return fmt.Errorf("path %q is refused: %q is a spelling of .git", p, part)
		}
	}
	return nil
}
