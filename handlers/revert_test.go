package handlers_test

import (
	"strconv"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// TestRevertTakesSuccessBack: a merged pull request that reverts autocode's own counts against what was learnt.
func TestRevertTakesSuccessBack(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	number, _ := w.pull("autocode/1-it", nil)
	w.must(w.store.Learn(t.Context(), loop.Lesson{Repo: repo, Run: w.runs()[0].Run.ID, Signature: "wrong total", Problem: "The total is wrong", Change: "it starts at 0", Worked: true}))
	successes := func() int {
		t.Helper()
		lessons, err := w.store.Recall(t.Context(), repo, "wrong total", 1)
		w.must(err)
		if len(lessons) != 1 {
			t.Fatalf("lessons %+v", lessons)
		}
		return lessons[0].Successes
	}
	merge := func(number int) {
		t.Helper()
		_, err := w.As("mary").Merge(repo, number)
		w.must(err)
		w.handle()
	}
	w.must(w.As("mary").SetDraft(repo, number, false))
	merge(number)
	if n := successes(); n != 1 {
		t.Errorf("merged: %d successes", n)
	}
	_, err := w.As("mary").PushFiles(repo, "revert-1", "Revert", map[string][]byte{"fix.txt": []byte("as before\n")})
	w.must(err)
	revert, err := w.As("mary").OpenPull(repo, "Revert", "Reverts "+repo+"#"+strconv.Itoa(number), "revert-1", "main", false)
	w.must(err)
	merge(revert)
	if n := successes(); n != 0 {
		t.Errorf("reverted: %d successes", n)
	}
}
