package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A sparse worktree holds some directories of a repository, the files beside them on the way down from
// the top, and nothing else. Commits keep the rest as it is; reading a commit (Tree) still sees all of it.

// sparseFile is where git looks for what a worktree holds, below the git directory.
const sparseFile = "info/sparse-checkout"

// sparseConfig makes git obey sparseFile, in the form of whole directories.
var sparseConfig = []setting{{"core.sparseCheckout", "true"}, {"core.sparseCheckoutCone", "true"}, {"index.sparse", "false"}}

// CheckSparse says whether directories can be the only ones of a worktree: clean relative paths without
// patterns, at least one.
func CheckSparse(dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("no directory is named; name those to work in, or leave the repository out")
	}
	for _, d := range dirs {
		if err := checkPath(d); err != nil {
			return err
		}
		if strings.ContainsAny(d, "*?[\\\"") || strings.ContainsFunc(d, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("directory %q is refused: patterns and control characters are not understood", d)
		}
	}
	return nil
}

// sparse are the directories that worktrees of a repository hold; empty: everything.
func (w *Workspace) sparse(src source) []string {
	for name, dirs := range w.config.Sparse {
		if strings.EqualFold(name, src.repo.FullName()) {
			return dirs
		}
	}
	return nil
}

// sparsePatterns is the content of sparseFile: the files of the top and of each directory on the way, and
// all that lies below the named ones (git-sparse-checkout(1), cone mode).
func sparsePatterns(dirs []string) string {
	var above []string
	for _, d := range dirs {
		for up := path.Dir(d); up != "."; up = path.Dir(up) {
			above = append(above, up)
		}
	}
	slices.Sort(above)
	above = slices.Compact(above)
	inside := func(p string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return below(p, []string{d}) })
	}
	lines := []string{"/*", "!/*/"}
	for _, d := range above {
		if !inside(d) {
			lines = append(lines, "/"+d+"/", "!/"+d+"/*/")
		}
	}
	named := slices.Clone(dirs)
	slices.Sort(named)
	for _, d := range slices.Compact(named) {
		if up := path.Dir(d); up == "." || !inside(up) {
			lines = append(lines, "/"+d+"/")
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// holds says whether a sparse worktree of dirs has a file.
func holds(dirs []string, file string) bool {
	dir := path.Dir(file)
	return dir == "." || below(file, dirs) || slices.ContainsFunc(dirs, func(d string) bool { return strings.HasPrefix(d, dir+"/") })
}

// writeSparse tells git what the clone's worktree holds.
func (c *clone) writeSparse() error {
	dirs := c.w.sparse(c.src)
	if len(dirs) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(c.gitDir(), sparseFile), []byte(sparsePatterns(dirs)), 0o600)
}

// sameSparse says whether a clone that was made before holds what one that is made now would.
func (w *Workspace) sameSparse(dir string, src source) bool {
	want := ""
	if dirs := w.sparse(src); len(dirs) > 0 {
		want = sparsePatterns(dirs)
	}
	have, err := os.ReadFile(filepath.Join(dir, gitSubdir, sparseFile))
	return string(have) == want && (err == nil || want == "")
}
