package workspace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// TestMerge: what two sides changed comes together in one commit with both as parents; conflicts are in
// the files, and the worktree is not touched.
func TestMerge(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	src, first, _ := sample(t)
	branch := func(name, path, text string) string {
		gitCmd(t, src.dir, "checkout", "-q", "-b", name, first)
		src.write(path, text)
		id := src.commit(name)
		gitCmd(t, src.dir, "checkout", "-q", "main")
		return id
	}
	ours := branch("ours", "src/a.go", "package a\n\nvar x = 2\n")
	beside := branch("beside", "src/b.go", "package a\n")
	odd := branch("odd", "src/a.go", "package b\n\nvar x = 3\n")
	gitCmd(t, src.dir, "checkout", "-q", "--orphan", "alone")
	alone := src.commit("alone")
	gitCmd(t, src.dir, "checkout", "-q", "main")
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	for name, c := range map[string]struct {
		with      string
		conflicts []string
		same      bool
		err       error
	}{
		"nothing to merge": {with: first, same: true},
		"itself":           {with: ours, same: true},
		"clean":            {with: beside},
		"conflict":         {with: odd, conflicts: []string{"src/a.go"}},
		"no common past":   {with: alone, err: loop.ErrUnmergeable},
	} {
		t.Run(name, func(t *testing.T) {
			clone := open(t, w, r, ours)
			merge, err := clone.Merge(t.Context(), c.with, "merged")
			if c.err != nil {
				if !errors.Is(err, c.err) {
					t.Errorf("%v, want %v", err, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(merge.Conflicts, c.conflicts) || (merge.Commit == ours) != c.same || clone.Head() != ours {
				t.Fatalf("%+v, head %s, %v", merge, clone.Head(), err)
			}
			if c.same {
				return
			}
			if got := gitCmd(t, clone.gitDir(), "log", "-1", "--format=%P", merge.Commit); got != ours+" "+c.with {
				t.Errorf("parents %s", got)
			}
			if err := clone.Reset(t.Context(), merge.Commit, true); err != nil {
				t.Fatal(err)
			}
			if text := readFile(t, clone.Dir(), "src/a.go"); strings.Contains(text, "<<<<<<< ") != (len(c.conflicts) > 0) {
				t.Errorf("src/a.go: %s", text)
			}
			solved, err := clone.Squash(t.Context(), ours, merge.Commit, "solved", c.with)
			if err != nil || gitCmd(t, clone.gitDir(), "log", "-1", "--format=%P", solved) != ours+" "+c.with {
				t.Errorf("squashed as %s, %v", solved, err)
			}
		})
	}
}
