package edit

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxPath    = 4096 // PATH_MAX of Linux
	maxSegment = 255  // NAME_MAX of Linux
)

// cleanPath removes a leading ./ and doubled slashes. It leaves alone what safePath refuses.
func cleanPath(p string) string {
	if safePath(p) != "" {
		return p
	}
	return path.Clean(p)
}

// safePath says why p may not be written, or returns "". The rules go beyond this machine: what autocode commits is checked out
// on Windows and macOS too.
func safePath(p string) string {
	switch {
	case p == "":
		return "the path is empty"
	case !utf8.ValidString(p):
		return "the path is not valid UTF-8"
	case len(p) > maxPath:
		return fmt.Sprintf("the path is longer than %d bytes", maxPath)
	case strings.HasPrefix(p, "/"):
		return "the path is absolute; paths are relative to the repository's root"
	case strings.HasPrefix(p, "~"):
		return "the path begins with ~; paths are relative to the repository's root"
	case strings.Contains(p, `\`):
		return "the path has a backslash; folders are separated by /"
	case strings.Contains(p, ":"):
		return "the path has a colon, which names a drive or a stream on Windows"
	case strings.HasSuffix(p, "/"):
		return "the path names a folder, not a file"
	}
	for _, r := range p {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Sprintf("the path has the control or invisible character U+%04X", r)
		}
	}
	for segment := range strings.SplitSeq(p, "/") {
		switch {
		case segment == "..":
			return "the path has a .. in it"
		case len(segment) > maxSegment:
			return fmt.Sprintf("a name in the path is longer than %d bytes", maxSegment)
		case gitDirectory(segment):
			return "the path leads into git's own directory (" + segment + " is a spelling of .git)"
		}
	}
	if path.Clean(p) == "." {
		return "the path names the repository's root, not a file"
	}
	return ""
}

// shortGit matches the 8.3 names that NTFS gives to .git: git~1, and those with a hash when that is taken.
var shortGit = regexp.MustCompile(`^(?:git|gi[0-9a-f]{4})~[0-9]+$`)

// gitDirectory tells whether name is .git in some spelling that a file system takes for it: other case, NTFS's trailing dots and
// spaces and short name, HFS's ignored code points, compatibility forms.
func gitDirectory(name string) bool {
	folded := foldName(norm.NFKC.String(name))
	folded = strings.TrimRight(folded, ". \t\u00a0")
	return folded == ".git" || shortGit.MatchString(folded)
}

// foldName is a name as the most forgiving file system compares it: composed, lower case, without the code points that
// HFS+ ignores (the list is git's, from utf8.c).
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff, r == 0x00ad:
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, norm.NFC.String(name))
}
