package handlers_test

import (
	"testing"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// TestBaseMoves: a push to the default branch starts a run where autocode's pull request conflicts, once
// for each of its heads; one that is merely behind is left alone.
func TestBaseMoves(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		before func(w *world, number int)
		runs   int
	}{
		"conflict":               {"fix.txt", nil, 2},
		"behind":                 {"other.txt", nil, 1},
		"closed":                 {"fix.txt", func(w *world, number int) { w.must(w.As("mary").Close(repo, number)) }, 1},
		"the requester has left": {"fix.txt", func(w *world, _ int) { w.must(w.SetRole(repo, "mary", githubtest.RoleRead)) }, 1},
		"no finished work":       {"fix.txt", func(w *world, _ int) { w.put(func(s *loop.Snapshot) { s.Phase = loop.PhaseEscalated }) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(w.SetRole(repo, "bob", githubtest.RoleAdmin))
			w.label("mary", w.issue())
			number, head := w.pull("autocode/1-it", nil)
			if c.before != nil {
				c.before(w, number)
			}
			for _, text := range []string{"theirs\n", "theirs again\n"} {
				_, err := w.As("bob").PushFiles(repo, "main", "meanwhile", map[string][]byte{c.path: []byte(text)})
				w.must(err)
				w.handle()
			}
			all := w.runs()
			if len(all) != c.runs {
				t.Fatalf("%d runs, want %d", len(all), c.runs)
			}
			if c.runs == 2 && (all[0].Run.Trigger != loop.TriggerBase || all[0].Run.From != head || all[0].Run.RequestedBy != "mary") {
				t.Errorf("%+v", all[0].Run)
			}
		})
	}
}
