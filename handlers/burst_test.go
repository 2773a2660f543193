package handlers_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// TestBurstOnATroubledGitHub: many labels at once, every twentieth request fails or loses its answer;
// each issue gets one run and one comment.
func TestBurstOnATroubledGitHub(t *testing.T) {
	const issues, tries = 40, 30
	w := newWorld(t)
	var numbers []int
	for range issues {
		n, err := w.As("olga").CreateIssue(repo, "It breaks", "text")
		w.must(err)
		numbers = append(numbers, n)
	}
	w.clock.tick(pause)
	for _, n := range numbers {
		w.must(w.As("mary").Label(repo, n, loop.DefaultLabel))
	}
	w.must(w.WaitDeliveries(w.ctx))
	var asked atomic.Int64
	every := func(rest int64) func(*http.Request) bool {
		return func(*http.Request) bool { return asked.Add(1)%40 == rest }
	}
	w.Fault(githubtest.Fault{Route: "*", Times: -1, Match: every(7), Drop: githubtest.DropAfter})
	w.Fault(githubtest.Fault{Route: "*", Times: -1, Match: every(29), Status: http.StatusBadGateway})
	var group sync.WaitGroup
	for _, d := range w.inbox.take() {
		group.Go(func() {
			var err error
			for range tries {
				if err = w.intake.Deliver(w.ctx, d); err == nil {
					return
				}
			}
			t.Errorf("%s fails each time: %v", d.ID, err)
		})
	}
	group.Wait()
	for _, n := range numbers {
		w.said(n, "autocode", 1)
	}
	runs, err := w.store.Runs(w.ctx, loop.RunFilter{Limit: 10 * issues})
	w.must(err)
	if len(runs) != issues {
		t.Errorf("%d runs, want %d", len(runs), issues)
	}
}
