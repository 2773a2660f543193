package workspace

import (
	"fmt"
	"strings"
	"unicode"
)

// maxBranch bounds a branch's name in bytes: with refs/heads/ before it and .lock behind it must be
// one file name on every file system where it has no slash.
const maxBranch = 200

// branchPunctuation is what a branch name may hold beside letters, marks and digits. Stricter than
// git check-ref-format: nothing that means something to a shell, a refspec or a reflog expression.
const branchPunctuation = "._/-+=#@,%"

// checkBranch says whether name is a branch that autocode asks for or pushes to: what git accepts,
// and less.
func checkBranch(name string) error {
	refuse := func(why string) error {
		return fmt.Errorf("branch name %q is refused: %s", name, why)
	}
	switch {
	case name == "" || len(name) > maxBranch:
		return refuse(fmt.Sprintf("want 1 to %d bytes", maxBranch))
	case name[0] == '-' || name[0] == '+':
		return refuse("starts like an option or a forced refspec")
	case name == "@" || name == "HEAD" || strings.HasPrefix(name, "refs/"):
		return refuse("is a name of git's own")
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return refuse("holds a revision expression")
	}
	for _, r := range name {
		if r == unicode.ReplacementChar || (!unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(branchPunctuation, r)) {
			return refuse(fmt.Sprintf("holds %+q", r))
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return refuse(fmt.Sprintf("has the part %q", part))
		}
	}
	return nil
}

// checkCommit says whether id is a full object id; nothing shorter or symbolic is passed to git.
func checkCommit(id string) error {
	if !isObjectID(id) {
		return fmt.Errorf("%q is not a full commit id", id)
	}
	return nil
}
