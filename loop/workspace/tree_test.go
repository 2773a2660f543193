package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestOpenTree(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	src.write("a.txt", "one\n")
	src.write("dir/ü b.txt", "two")
	src.link("link", "/etc/passwd")
	first := src.commit("first\n\nbody of it")
	src.write("a.txt", strings.Repeat("x", 5000))
	src.commit("second")
	bare := filepath.Join(t.TempDir(), "bare.git")
	gitCmd(t, "", "clone", "-q", "--bare", src.dir, bare)

	for name, dir := range map[string]string{"worktree": src.dir, "subdirectory": filepath.Join(src.dir, "dir"), "bare": bare, "git directory": filepath.Join(src.dir, ".git")} {
		t.Run(name, func(t *testing.T) {
			tree, err := OpenTree(t.Context(), dir, first)
			if err != nil {
				t.Fatal(err)
			}
			if tree.Commit() != first {
				t.Errorf("commit %s, want %s", tree.Commit(), first)
			}
			files, err := tree.Files(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, f := range files {
				paths = append(paths, string(f.Mode)+" "+f.Path)
			}
			want := []string{"100644 a.txt", "100644 dir/ü b.txt", "120000 link"}
			if !slices.Equal(paths, want) {
				t.Errorf("files %q, want %q", paths, want)
			}
			content, err := tree.Read(t.Context(), "dir/ü b.txt")
			if err != nil || string(content) != "two" {
				t.Errorf("read %q, %v", content, err)
			}
			for _, missing := range []string{"nothing", "dir", "link", "../a.txt", ""} {
				if _, err := tree.Read(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("read %q: %v, want fs.ErrNotExist", missing, err)
				}
			}
			head, err := OpenTree(t.Context(), dir, "")
			if err != nil {
				t.Fatal(err)
			}
			history, err := head.History(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(history) != 2 || history[1].Subject != "first" || history[1].Body != "body of it" ||
				!slices.Equal(history[1].Files, []string{"a.txt", "dir/ü b.txt", "link"}) || !slices.Equal(history[0].Files, []string{"a.txt"}) {
				t.Errorf("history %+v", history)
			}
			if history, err := head.History(t.Context(), 1); err != nil || len(history) != 1 || history[0].Subject != "second" {
				t.Errorf("history of one: %+v, %v", history, err)
			}
		})
	}
}

func TestOpenTreeRefuses(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	empty := newRepo(t)
	src.write("a", "a")
	src.commit("a")
	for _, c := range []struct {
		name, dir, rev string
		want           error
	}{
		{"unknown revision", src.dir, "nowhere", fs.ErrNotExist},
		{"unknown id", src.dir, strings.Repeat("1", 40), fs.ErrNotExist},
		{"option as revision", src.dir, "--output=x", nil},
		{"newline in revision", src.dir, "HEAD\nHEAD", nil},
		{"no repository", t.TempDir(), "", nil},
		{"missing directory", filepath.Join(src.dir, "none"), "", fs.ErrNotExist},
		{"no commits", empty.dir, "", loop.ErrEmptyRepository},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := OpenTree(t.Context(), c.dir, c.rev)
			if err == nil || (c.want != nil && !errors.Is(err, c.want)) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestTreeReadAll(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	src.write("small", "small")
	src.write("empty", "")
	src.write("big", strings.Repeat("b", 1000))
	src.write("lines", "a\n\nb\n")
	src.commit("all")
	tree, err := OpenTree(t.Context(), src.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := tree.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	names := map[string]string{}
	for _, f := range files {
		ids = append(ids, f.Blob)
		names[f.Blob] = f.Path
	}
	got := map[string]string{}
	err = tree.ReadAll(t.Context(), ids, 999, func(id string, content []byte) error {
		got[names[id]] = string(content)
		return nil
	})
	if err != nil || len(got) != 3 || got["small"] != "small" || got["lines"] != "a\n\nb\n" {
		t.Errorf("read %q, %v", got, err)
	}
	stop := errors.New("stop")
	calls := 0
	err = tree.ReadAll(t.Context(), ids, 9999, func(string, []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, error %v; want one and the callback's own", calls, err)
	}
	if err := tree.ReadAll(t.Context(), []string{strings.Repeat("1", 40)}, 99, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown blob: %v", err)
	}
	if err := tree.ReadAll(t.Context(), []string{"HEAD"}, 99, nil); err == nil {
		t.Error("a name that is no object id was accepted")
	}
}

// TestTreeOfPartialRepository reads a repository that lacks the content of a file, as partial clones
// and copies without large files do: everything else is there.
func TestTreeOfPartialRepository(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	src.write("kept", "kept")
	src.write("lost", "lost")
	src.commit("all")
	id := gitCmd(t, src.dir, "rev-parse", "HEAD:lost")
	if err := os.Remove(filepath.Join(src.dir, ".git", "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	tree, err := OpenTree(t.Context(), src.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := tree.Files(t.Context())
	if err != nil || len(files) != 2 || files[0].Size != 4 || files[1].Size != -1 {
		t.Fatalf("files %+v, %v", files, err)
	}
	var got []string
	err = tree.ReadAll(t.Context(), []string{files[0].Blob, files[1].Blob}, 99, func(_ string, content []byte) error {
		got = append(got, string(content))
		return nil
	})
	if err != nil || len(got) != 1 || got[0] != "kept" {
		t.Errorf("read %q, %v; want what is there", got, err)
	}
	if _, err := tree.Read(t.Context(), "lost"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read lost: %v, want fs.ErrNotExist", err)
	}
}

// TestOpenTreeIgnoresPrograms opens a repository whose own configuration names programs.
func TestOpenTreeIgnoresPrograms(t *testing.T) {
	t.Parallel()
	src := newRepo(t)
	src.write(".gitattributes", "* diff=evil filter=evil\n")
	src.write("a", "a\n")
	src.commit("a")
	src.write("a", "b\n")
	src.commit("b")
	canary := filepath.Join(t.TempDir(), "canary")
	evil := script(t, "touch "+canary)
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "diff.evil.command",
		"diff.evil.textconv", "filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "gpg.program", "core.alternateRefsCommand", "pager.log", "core.editor"} {
		gitCmd(t, src.dir, "config", key, evil)
	}
	gitCmd(t, src.dir, "config", "log.showSignature", "true")
	tree, err := OpenTree(t.Context(), src.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Read(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := tree.History(t.Context(), 5); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
}

func FuzzParseHistory(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add("M" + id + " 12\nsubject\n\x00\nfile\x00")
	f.Add("\x00M\x00")
	f.Fuzz(func(t *testing.T, out string) {
		commits, err := parseHistory(out, "M")
		for _, c := range commits {
			if err == nil && !isObjectID(c.ID) {
				t.Errorf("id %q", c.ID)
			}
		}
	})
}
