package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// bytesExact is the content of info/attributes in every git directory of ours. It comes before the
// repository's own .gitattributes: content is neither converted nor filtered on its way in or out,
// and a repository cannot hide a change from a diff by declaring a file binary.
const bytesExact = "* -text -ident !eol !filter !working-tree-encoding !diff !merge !whitespace\n"

// gitDirOptions says what kind of git directory is made.
type gitDirOptions struct {
	sha256     bool
	alternates []string // object directories to borrow from, absolute
	shallow    []byte   // the list of commits whose parents are absent
}

// initGitDir makes a bare git directory, or completes one whose making was cut off. Nothing of it
// comes from templates. A worktree is named in each command that needs one.
func initGitDir(dir string, o gitDirOptions) error {
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	version, extensions := 0, ""
	if o.sha256 {
		version, extensions = 1, "[extensions]\n\tobjectFormat = sha256\n"
	}
	files := map[string]string{
		"HEAD":            "ref: refs/heads/autocode-unborn\n",
		"config":          fmt.Sprintf("[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = true\n%s", version, extensions),
		"info/attributes": bytesExact,
	}
	if len(o.alternates) > 0 {
		files["objects/info/alternates"] = strings.Join(o.alternates, "\n") + "\n"
	}
	if len(o.shallow) > 0 {
		files["shallow"] = string(o.shallow)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// linkObjects makes the objects that from has of its own available in to, by hard links: object
// files never change.
func linkObjects(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case rel == "info":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case strings.HasPrefix(d.Name(), "tmp_"):
			return nil
		}
		if err := os.Link(path, target); err != nil && !os.IsExist(err) {
			return err
		}
		return nil
	})
}
