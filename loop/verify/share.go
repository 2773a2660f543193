package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// A run makes several clones of one repository: of the base, of the work, two for the clean room.
// Each must have its dependencies, and fetching them anew each time takes longer than most test
// suites. So what the first installation brought is copied away before any code of the repository
// has run, and the run's other clones begin with a copy of that copy. It is never shown to a
// sandbox, so nothing that runs there can write it; it is found only by clones of the same owner
// whose manifests are the same, byte for byte.

// sharing says what of an ecosystem's installation may be handed on within a run.
type sharing struct {
	// inputs are the names of the files that decide what is installed.
	inputs []string
	// unless are names of files or directories with which an installation runs what a repository
	// names: then nothing is shared.
	unless []string
	// kept lists what an installation leaves, relative to the clone's root; node_modules stands for
	// every directory of that name in the worktree.
	kept []string
}

var sharings = map[string]sharing{
	"go": {inputs: []string{"go.mod", "go.sum", "go.work", "go.work.sum"}, kept: []string{"cache/go-mod"}},
	"node": {
		inputs: []string{"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc"},
		unless: []string{".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"}, kept: []string{"node_modules", managersDir},
	},
	"rust":  {inputs: []string{"Cargo.toml", "Cargo.lock"}, unless: []string{".cargo"}, kept: []string{"cache/cargo"}},
	"maven": {inputs: []string{"pom.xml"}, unless: []string{".mvn"}, kept: []string{"cache/m2"}},
}

// npmrcHarmless are the settings of an .npmrc that make npm run nothing of the repository.
var npmrcHarmless = regexp.MustCompile(`^\s*(?:$|[#;]|(?:@[\w.-]+:)?registry\s*=|(?:package-lock|package-lock-only|save|save-exact|save-prefix|engine-strict|` +
	`legacy-peer-deps|strict-peer-deps|strict-peer-dependencies|auto-install-peers|shamefully-hoist|hoist|hoist-pattern(?:\[\])?|public-hoist-pattern(?:\[\])?|` +
	`lockfile|fund|audit|loglevel|progress|access|tag-version-prefix|message|ignore-scripts|prefer-workspace-packages|link-workspace-packages|node-linker)\s*=)`)

// Bounds of what is kept: more than this would take longer to copy than to fetch, or fill the disk.
const (
	mostSharedFiles = 300_000
	mostSharedBytes = 3 << 30
	// sharedLife is how long an unused copy stays: longer than a run may take.
	sharedLife = 2 * time.Hour
)

// errTooLarge says that an installation is beyond these bounds.
var errTooLarge = errors.New("the installation is too large to be kept")

// sharedKey identifies an installation of the projects of an ecosystem; "" where it must not or
// need not be shared: where packages run scripts, code has run before it could be copied away.
func sharedKey(fsys fs.FS, owner, ecosystem string, projects []project, config loop.VerifyConfig) string {
	how, known := sharings[ecosystem]
	if !known || owner == "" || config.InstallScripts {
		return ""
	}
	sum := sha256.New()
	// What one repository's secrets brought is not for another one that may not have them.
	fmt.Fprintf(sum, "%s\x00%s\x00%s\x00%q\x00", Version, owner, ecosystem, config.Secrets)
	installs := false
	for _, p := range projects {
		if p.ecosystem != ecosystem {
			continue
		}
		installs = installs || len(p.install) > 0
		for _, j := range p.install {
			fmt.Fprintf(sum, "%s\x00%q\x00%q\x00", p.dir, j.args, j.env)
		}
	}
	if !installs {
		return ""
	}
	shareable := true
	err := fs.WalkDir(fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if slices.Contains(how.unless, name) {
			shareable = false
			return fs.SkipAll
		}
		if entry.IsDir() && (name == "node_modules" || name == ".git") {
			return fs.SkipDir
		}
		if entry.IsDir() || !slices.Contains(how.inputs, name) {
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		if name == ".npmrc" && slices.ContainsFunc(strings.Split(string(text), "\n"), func(l string) bool { return !npmrcHarmless.MatchString(l) }) {
			shareable = false
			return fs.SkipAll
		}
		fmt.Fprintf(sum, "%s\x00%d\x00%s\x00", p, len(text), text)
		return nil
	})
	if err != nil || !shareable {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// shelf is where an installation is kept.
func (s *session) shelf(key string) string {
	return filepath.Join(s.Verifier.config.InstallDir, key)
}

// takeShared gives the clone an installation that a clone of the same owner has made; false where
// there is none.
func (s *session) takeShared(key string) (bool, error) {
	if key == "" || s.Verifier.config.InstallDir == "" {
		return false, nil
	}
	s.shelves.RLock()
	defer s.shelves.RUnlock()
	shelf := s.shelf(key)
	if _, err := os.Stat(shelf); err != nil {
		return false, nil
	}
	now := time.Now()
	if err := os.Chtimes(shelf, now, now); err != nil {
		return false, nil // it is being removed
	}
	root, err := os.OpenRoot(s.clone.Root())
	if err != nil {
		return false, err
	}
	defer root.Close()
	source, err := os.OpenRoot(shelf)
	if err != nil {
		return false, err
	}
	defer source.Close()
	c := copier{from: source, to: root}
	if err := c.tree("."); err != nil {
		return false, fmt.Errorf("copy the dependencies of another clone of this run: %w", err)
	}
	return true, nil
}

// keepShared copies what an installation left away. Failing to is no fault of the verification.
func (s *session) keepShared(key, ecosystem string) {
	if key == "" || s.Verifier.config.InstallDir == "" {
		return
	}
	s.shelves.Lock()
	defer s.shelves.Unlock()
	err := s.fillShelf(key, ecosystem)
	if err != nil && !errors.Is(err, errTooLarge) {
		s.log.Warn().Err(err).Msg("dependencies are not kept for the other clones of this run")
	}
	s.clearShelves()
}

func (s *session) fillShelf(key, ecosystem string) error {
	if err := os.MkdirAll(s.Verifier.config.InstallDir, 0o700); err != nil {
		return err
	}
	half, err := os.MkdirTemp(s.Verifier.config.InstallDir, "half-")
	if err != nil {
		return err
	}
	defer removeAll(half)
	from, err := os.OpenRoot(s.clone.Root())
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(half)
	if err != nil {
		return err
	}
	defer to.Close()
	c := copier{from: from, to: to, files: mostSharedFiles, bytes: mostSharedBytes, bounded: true}
	for _, dir := range s.keptDirs(from.FS(), ecosystem) {
		if err := c.parents(dir); err != nil {
			return err
		}
		if err := c.tree(dir); err != nil {
			return err
		}
	}
	if c.copied == 0 {
		return nil
	}
	err = os.Rename(half, s.shelf(key))
	if errors.Is(err, fs.ErrExist) {
		return nil // another clone of the run was as fast
	}
	return err
}

// keptDirs lists what is copied of an ecosystem's installation.
func (s *session) keptDirs(root fs.FS, ecosystem string) []string {
	var dirs []string
	for _, kept := range sharings[ecosystem].kept {
		if kept != "node_modules" {
			if info, err := fs.Stat(root, kept); err == nil && info.IsDir() {
				dirs = append(dirs, kept)
			}
			continue
		}
		tree := filepath.Base(s.clone.Dir())
		// What cannot be read holds no dependencies that anybody could use.
		_ = fs.WalkDir(root, tree, func(p string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil
			}
			if entry.Name() == kept {
				dirs = append(dirs, p)
				return fs.SkipDir
			}
			return nil
		})
	}
	return dirs
}

// clearShelves removes copies that nobody used for long.
func (s *session) clearShelves() {
	entries, err := os.ReadDir(s.Verifier.config.InstallDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > sharedLife {
			removeAll(filepath.Join(s.Verifier.config.InstallDir, e.Name()))
		}
	}
}

// removeAll removes a directory whose own directories may be read-only, as Go's modules are.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// copier copies between two roots that links do not lead out of. Links are copied as links.
type copier struct {
	from, to *os.Root
	files    int
	bytes    int64
	bounded  bool
	copied   int
}

// parents makes the directories above one.
func (c *copier) parents(dir string) error {
	if above := path.Dir(dir); above != "." {
		return c.to.MkdirAll(above, 0o700)
	}
	return nil
}

// tree copies a directory with all below it. What is there already stays.
func (c *copier) tree(dir string) error {
	return fs.WalkDir(c.from.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			if err := c.to.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := c.from.Readlink(name)
			if err != nil || filepath.IsAbs(target) {
				return err // it leads into the other clone
			}
			return c.there(c.to.Symlink(target, name))
		case !entry.Type().IsRegular():
			return nil
		}
		c.files, c.bytes = c.files-1, c.bytes-info.Size()
		if c.bounded && (c.files < 0 || c.bytes < 0) {
			return errTooLarge
		}
		const rights = 0o700 // the owner's; writable, since tools keep caches among their files
		return c.there(copyFile(c.from.FS(), name, c.to, name, info.Mode().Perm()&rights|0o600))
	})
}

// there passes over what is there already.
func (c *copier) there(err error) error {
	if err == nil || errors.Is(err, fs.ErrExist) {
		c.copied++
		return nil
	}
	return err
}

// installAll installs the dependencies of the projects of one ecosystem, or takes what another
// clone of the same owner has installed.
func (s *session) installAll(ctx context.Context, ecosystem string, key string) error {
	taken, err := s.takeShared(key)
	if err != nil || taken {
		return err
	}
	whole := true
	for _, p := range s.projects {
		if p.ecosystem != ecosystem {
			continue
		}
		s.broken.Delete(s.cacheDir(p))
		for _, j := range p.install {
			if err := s.install(ctx, p, j); err != nil {
				return err
			}
		}
		whole = whole && s.installFailure(p) == ""
	}
	if whole {
		s.keepShared(key, ecosystem)
	}
	return nil
}
