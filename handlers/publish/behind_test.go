package publish

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// behind answers questions for lists as they were when it was frozen, until somebody waits.
type behind struct {
	next  http.RoundTripper
	clock func() int // how often was waited

	mutex  sync.Mutex
	frozen int // waits so far; -1: not
}

func (b *behind) freeze() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.frozen = b.clock()
}

func (b *behind) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mutex.Lock()
	frozen := b.frozen >= 0 && b.clock() == b.frozen
	b.mutex.Unlock()
	if frozen && r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/comments") || strings.HasSuffix(r.URL.Path, "/check-runs")) {
		q := r.URL.Query()
		q.Set("page", "1000") // empty, in the right form
		r = r.Clone(r.Context())
		r.URL.RawQuery = q.Encode()
	}
	return b.next.RoundTrip(r)
}

// newWorldBehind is a world whose lists can be made to lag.
func newWorldBehind(t *testing.T) (*world, *behind) {
	b := &behind{next: http.DefaultTransport, frozen: -1, clock: func() int { return 0 }}
	w := newWorldOver(t, b)
	b.clock = func() int {
		w.clock.mutex.Lock()
		defer w.clock.mutex.Unlock()
		return len(w.clock.waits)
	}
	return w, b
}

// TestListsBehind: what was made a moment ago, by a process that died or by a request of which nobody knows
// how it ended, is not made again because GitHub's lists do not show it yet.
func TestListsBehind(t *testing.T) {
	notice := loop.Notice{Kind: loop.NoticeResult, Key: "result", Markdown: "done"}
	effects := map[string]struct {
		have  func(w *world) error
		count func(w *world) int
		route string
	}{
		"progress comment": {func(w *world) error { return w.Progress(w.ctx, w.s) }, func(w *world) int { return len(w.ownTexts(w.issue)) }, "POST /repos/{owner}/{repo}/issues/{number}/comments"},
		"notice":           {func(w *world) error { return w.Tell(w.ctx, w.s, notice) }, func(w *world) int { return len(w.ownTexts(w.issue)) }, "POST /repos/{owner}/{repo}/issues/{number}/comments"},
		"reply":            {func(w *world) error { return w.Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "hello") }, func(w *world) int { return len(w.ownTexts(w.issue)) }, "POST /repos/{owner}/{repo}/issues/{number}/comments"},
		"check run":        {func(w *world) error { return w.StartCheck(w.ctx, w.s, w.head) }, func(w *world) int { return len(w.CheckRuns(testRepo, w.head)) }, ""},
	}
	for name, effect := range effects {
		t.Run(name+", another process", func(t *testing.T) {
			w, lists := newWorldBehind(t)
			w.must(effect.have(w))
			w.restart(nil) // it was killed
			lists.freeze()
			w.must(effect.have(w))
			if n := effect.count(w); n != 1 {
				t.Errorf("%d of them", n)
			}
		})
		if effect.route == "" {
			continue // a run comes back to its check runs later than lists lag
		}
		t.Run(name+", failed request", func(t *testing.T) {
			w, lists := newWorldBehind(t)
			w.Fault(githubtest.Fault{Route: effect.route, Drop: githubtest.DropAfter})
			if err := effect.have(w); err == nil {
				t.Fatal("it did not fail")
			}
			lists.freeze()
			w.must(effect.have(w))
			if n := effect.count(w); n != 1 {
				t.Errorf("%d of them", n)
			}
		})
	}
	for name, start := range map[string]func(*world, *behind){
		"check run of a process that died is settled": func(w *world, lists *behind) {
			w.must(w.StartCheck(w.ctx, w.s, w.head))
			w.restart(nil)
			lists.freeze()
		},
		"own check run is settled at once": func(w *world, lists *behind) {
			w.clock.tick(listLag)
			w.must(w.StartCheck(w.ctx, w.s, w.head))
			lists.freeze()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, lists := newWorldBehind(t)
			start(w, lists)
			w.s.Pushed = w.head
			w.must(w.SettleChecks(w.ctx, w.s, "it ended"))
			if runs := w.CheckRuns(testRepo, w.head); runs[0].Status != "completed" {
				t.Errorf("%+v", runs)
			}
		})
	}
	t.Run("nobody waits for a fresh run", func(t *testing.T) {
		w, lists := newWorldBehind(t)
		lists.freeze()
		w.must(errors.Join(w.Acknowledge(w.ctx, w.s), w.Tell(w.ctx, w.s, notice), w.Progress(w.ctx, w.s)))
		if n, waits := len(w.ownTexts(w.issue)), lists.clock(); n != 2 || waits > 0 {
			t.Errorf("%d comments, %d waits", n, waits)
		}
	})
	t.Run("shared store", func(t *testing.T) {
		w, lists := newWorldBehind(t)
		w.restart(func(c *Config) { c.Shared = true })
		w.clock.tick(listLag)
		lists.freeze()
		w.must(w.Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "hello"))
		if n := len(w.ownTexts(w.issue)); n != 1 {
			t.Errorf("%d comments", n)
		}
	})
}
