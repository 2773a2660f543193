package handlers_test

import (
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// TestChecksAll: the check run is put on others' pull requests as skipped where the default branch asks for
// it, once a commit, and never on what autocode answers for.
func TestChecksAll(t *testing.T) {
	configure := func(text string) func(w *world) {
		return func(w *world) {
			_, err := w.As("mary").PushFiles(repo, "main", "configure", map[string][]byte{loop.ConfigPath: []byte(text)})
			w.must(err)
		}
	}
	for name, c := range map[string]struct {
		before func(w *world)
		on     string // branch of the pull request
		own    bool   // the branch is autocode's
		want   int
	}{
		"not asked for":        {configure("publish: final\n"), "topic", false, 0},
		"no configuration":     {func(*world) {}, "topic", false, 0},
		"a broken one":         {configure("checks: all\nnonsense: 1\n"), "topic", false, 0},
		"asked for":            {configure("checks: all\n"), "topic", false, 1},
		"autocode's branch":    {configure("checks: all\n"), "autocode/1-it", true, 0},
		"autocode's commit":    {configure("checks: all\n"), "elsewhere", true, 0},
		"renamed in the while": {func(w *world) { configure("checks: all\n")(w); w.must(w.As("mary").Rename(repo, "gadgets")) }, "topic", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(w.SetRole(repo, "bob", "write"))
			sha, err := w.As("bob").PushFiles(repo, c.on, "change", map[string][]byte{"fix.txt": []byte("y\n")})
			w.must(err)
			if c.own {
				w.label("mary", w.issue())
				w.put(func(s *loop.Snapshot) {
					s.Phase, s.Run.Branch, s.Final = loop.PhaseDone, "autocode/1-it", sha
					s.Pull = &loop.PullRequest{Number: 99, Head: sha}
				})
			}
			_, err = w.As("bob").OpenPull(repo, "mine", "", c.on, "main", false)
			w.must(err)
			name := repo
			c.before(w)
			w.handle()
			if c.want == 1 && len(w.CheckRuns(repo, sha)) == 0 {
				name = "acme/gadgets"
			}
			runs := w.CheckRuns(name, sha)
			if len(runs) != c.want {
				t.Fatalf("check runs %+v, want %d", runs, c.want)
			}
			if c.want == 1 && (runs[0].Name != "autocode" || runs[0].Conclusion != "skipped") {
				t.Errorf("%s is %s", runs[0].Name, runs[0].Conclusion)
			}
		})
	}
}

// TestChecksAllAfterAVerdict: a red check on a commit is not covered up by a skipped one.
func TestChecksAllAfterAVerdict(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	_, head := w.pull("autocode/1-it", nil)
	w.must(w.publisher.FinishChecks(w.ctx, w.started(), loop.Verdict{Head: head}))
	w.must(w.publisher.SkipCheck(w.ctx, w.started().Task.Repo, head))
	for _, k := range w.CheckRuns(repo, head) {
		if k.Conclusion == "skipped" {
			t.Errorf("%+v", k)
		}
	}
}
