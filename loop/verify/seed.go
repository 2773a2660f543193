package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// A clean room must not inherit a build cache that untrusted code could write; a cold one compiles
// Go's standard library anew each time, for longer than most test suites run. So the standard
// library alone, which no repository can change, is compiled once per toolchain into a seed, and
// each clone begins with a copy of it. No command that has seen a repository ever writes the seed.

// standardPackage is how the standard library's import paths look: no dot in the first element.
var standardPackage = regexp.MustCompile(`^[a-z][a-z0-9]*(?:/[a-z0-9_]+)*$`)

// seedGo gives a clone's Go cache what it needs of the compiled standard library.
func (s *session) seedGo(ctx context.Context, p project) error {
	if s.Verifier.config.CacheDir == "" {
		return nil
	}
	wanted, err := s.standardPackages(ctx, p)
	if err != nil || len(wanted) == 0 {
		return err
	}
	s.seeds.Lock()
	defer s.seeds.Unlock()
	version, err := s.run(ctx, p, job{args: []string{"go", "env", "GOVERSION"}}, reach{})
	if err != nil {
		return err
	}
	name := strings.TrimSpace(string(version.result.Stdout))
	if version.result.ExitCode != 0 || name == "" || strings.ContainsAny(name, "/\\ \n") {
		return nil // no Go, or one that will not say which: the environment stage speaks about it
	}
	seed := filepath.Join(s.Verifier.config.CacheDir, "go-std-"+name)
	have, err := readLines(filepath.Join(seed, "packages"))
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(wanted), func(pkg string) bool { return slices.Contains(have, pkg) })
	if len(fresh) > 0 {
		if err := s.growSeed(ctx, seed, append(have, fresh...)); err != nil {
			return err
		}
	}
	if err := s.plant(filepath.Join(seed, "go-build")); err != nil {
		return fmt.Errorf("copy the compiled standard library: %w", err)
	}
	return nil
}

// plant copies a build cache into a clone's, once. Everything is written through an os.Root, since what ran in the
// sandbox may have put links where the cache belongs. The cache may be there already: every go command makes one.
func (s *session) plant(seed string) error {
	root, err := os.OpenRoot(s.clone.Root())
	if err != nil {
		return err
	}
	defer root.Close()
	const target, mark = "cache/go-build", "cache/go-planted"
	if _, err := root.Lstat(mark); err == nil {
		return nil
	}
	if _, err := os.Stat(seed); err != nil {
		return nil
	}
	if err := root.MkdirAll(target, 0o700); err != nil {
		return err
	}
	source := os.DirFS(seed)
	err = fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		to := path.Join(target, name)
		switch {
		case entry.IsDir():
			err = root.Mkdir(to, 0o700)
		case entry.Type().IsRegular():
			err = copyFile(source, name, root, to, 0o600)
		}
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return root.WriteFile(mark, nil, 0o600)
}

// copyFile makes a file in a root and fills it.
func copyFile(source fs.FS, name string, root *os.Root, to string, mode fs.FileMode) error {
	in, err := source.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// standardPackages lists the packages of the standard library that a module's packages and tests
// need. The names come from a repository, so only what looks like one is taken.
func (s *session) standardPackages(ctx context.Context, p project) ([]string, error) {
	r, err := s.run(ctx, p, job{args: []string{"go", "list", "-e", "-deps", "-test", "-f", "{{if .Standard}}{{.ImportPath}}{{end}}", "./..."}}, reach{})
	if err != nil {
		return nil, err
	}
	var packages []string
	for _, line := range strings.Fields(string(r.result.Stdout)) {
		if standardPackage.MatchString(line) && !slices.Contains(packages, line) {
			packages = append(packages, line)
		}
	}
	return packages, nil
}

// growSeed compiles packages of the standard library into the seed: it tests a package that
// imports them all, in a directory that holds nothing else, which leaves in the cache what
// building, testing, vetting and measuring coverage need of them.
func (s *session) growSeed(ctx context.Context, seed string, all []string) error {
	var imports strings.Builder
	for _, pkg := range all {
		if !slices.ContainsFunc(strings.Split(pkg, "/"), func(part string) bool { return part == "internal" || part == "vendor" }) && pkg != "unsafe" {
			fmt.Fprintf(&imports, "import _ %q\n", pkg)
		}
	}
	files := map[string]string{
		"src/go.mod": "module seed\n", "src/seed.go": "package seed\n" + imports.String(),
		"src/seed_test.go": "package seed\nimport \"testing\"\nfunc TestNothing(*testing.T) {}\n",
	}
	for name, text := range files {
		file := filepath.Join(seed, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("make the cache of the standard library: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("make the cache of the standard library: %w", err)
		}
	}
	result, err := s.Verifier.config.Runner.Run(ctx, loop.Command{
		Args: []string{"go", "test", "-cover", "./..."}, Dir: seed, Workdir: "src",
		Env: []string{"GOCACHE=" + filepath.Join(seed, "go-build"), "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOTELEMETRY=off"},
	})
	if err != nil {
		return fmt.Errorf("compile the standard library: %w", err)
	}
	if result.ExitCode != 0 {
		return nil // it will be compiled where it is needed
	}
	return os.WriteFile(filepath.Join(seed, "packages"), []byte(strings.Join(all, "\n")+"\n"), 0o600)
}

// readLines returns a file's lines, none where there is no file.
func readLines(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(data)), nil
}
