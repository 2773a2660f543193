package handlers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// places lists the paths of a payload's parts down to a depth, without addresses, which nobody reads.
func places(value any, depth int) [][]string {
	var found [][]string
	object, isObject := value.(map[string]any)
	if !isObject || depth == 0 {
		return nil
	}
	for key, part := range object {
		if strings.HasSuffix(key, "url") || strings.HasPrefix(key, "has_") || strings.HasPrefix(key, "allow_") || key == "_links" || key == "reactions" {
			continue
		}
		found = append(found, []string{key})
		for _, below := range places(part, depth-1) {
			found = append(found, append([]string{key}, below...))
		}
	}
	slices.SortFunc(found, slices.Compare)
	return found
}

// with returns a payload whose part at a path has another value.
func with(payload []byte, path []string, value any) []byte {
	var whole map[string]any
	if err := json.Unmarshal(payload, &whole); err != nil {
		panic(err)
	}
	at := whole
	for _, key := range path[:len(path)-1] {
		at = at[key].(map[string]any)
	}
	at[path[len(path)-1]] = value
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	return text
}

// TestMutatedPayloads: real payloads about real things, each part of them null or of another kind: ghost
// users, deleted forks, no installation. Each ends without an error, and none gives an order that the
// payload as it was does not give.
func TestMutatedPayloads(t *testing.T) {
	w := newWorld(t)
	var log lockedBuffer
	w.ctx = zerolog.New(&log).WithContext(w.ctx)
	number := w.issue()
	w.label("mary", number)
	pull, head := w.pull("autocode/1-it", nil)
	w.must(w.publisher.FinishChecks(w.ctx, w.started(), loop.Verdict{Head: head, Pass: true}))
	w.handle()
	// Only people without authority act: nothing may come of it, whatever is missing.
	w.must(w.As("theo").Label(repo, w.issue(), loop.DefaultLabel))
	for _, on := range []int{number, pull} {
		_, err := w.As("rita").Comment(repo, on, "/autocode retry")
		w.must(err)
	}
	_, err := w.As("rita").Review(repo, pull, githubtest.ReviewChangesRequested, "no", githubtest.LineComment{Path: "fix.txt", Line: 1, Body: "/autocode stop"})
	w.must(err)
	w.must(w.As("rita").RerequestCheck(repo, w.CheckRuns(repo, head)[0].ID))
	_, err = w.As("mary").PushFiles(repo, "main", "beside", map[string][]byte{"beside.txt": []byte("x")})
	w.must(err)
	w.must(w.WaitDeliveries(w.ctx))
	const depth = 3
	tried := map[string]int{}
	for _, d := range w.inbox.take() {
		if tried[d.Event] > 0 {
			continue // one of each event
		}
		var whole map[string]any
		w.must(json.Unmarshal(d.Payload, &whole))
		for _, path := range places(whole, depth) {
			for _, value := range []any{nil, "text"} {
				tried[d.Event]++
				if err := w.intake.Deliver(w.ctx, loop.Delivery{ID: "x", Event: d.Event, Payload: with(d.Payload, path, value)}); err != nil {
					t.Errorf("%s with %s = %v: %v", d.Event, strings.Join(path, "."), value, err)
				}
			}
		}
	}
	if runs := w.runs(); len(runs) != 1 {
		t.Errorf("%d runs", len(runs))
	}
	for _, event := range []string{"issues", "issue_comment", "pull_request_review", "pull_request_review_comment", "check_run", "push"} {
		if tried[event] == 0 {
			t.Errorf("no %s was tried", event)
		}
	}
	if said := log.String(); strings.Contains(said, "panic at a payload") {
		t.Error(said)
	}
}

// TestStrangePartsCostNoOrder: parts in a form that is not documented, which nobody needs, do not keep an
// order from being obeyed. GitHub writes some times without T and Z, or as seconds.
func TestStrangePartsCostNoOrder(t *testing.T) {
	for name, c := range map[string]struct {
		path  []string
		value any
	}{
		"time with a space":   {[]string{"check_run", "check_suite", "created_at"}, "2018-04-25 20:42:10"},
		"time in seconds":     {[]string{"repository", "created_at"}, 1525109898},
		"text for a flag":     {[]string{"repository", "archived"}, "no"},
		"flag for a text":     {[]string{"sender", "avatar_url"}, false},
		"object for a number": {[]string{"repository", "size"}, map[string]any{"kb": 1}},
		"odd list":            {[]string{"check_run", "pull_requests"}, []any{1, map[string]any{"number": "x"}, nil}},
		"list for an object":  {[]string{"organization"}, []any{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.label("mary", w.issue())
			_, head := w.pull("autocode/1-it", nil)
			w.must(w.publisher.FinishChecks(w.ctx, w.started(), loop.Verdict{Head: head, Pass: true}))
			w.handle()
			w.must(w.As("mary").RerequestCheck(repo, w.CheckRuns(repo, head)[0].ID))
			w.must(w.WaitDeliveries(w.ctx))
			for _, d := range w.inbox.take() {
				w.must(w.intake.Deliver(w.ctx, loop.Delivery{ID: "x", Event: d.Event, Payload: with(d.Payload, c.path, c.value)}))
			}
			if all := w.runs(); len(all) != 2 || all[0].Run.Trigger != loop.TriggerRerun {
				t.Errorf("%d runs", len(all))
			}
		})
	}
}

// TestCommandOnAPullRequestThatIsNotCalledOne: servers that leave the link to the pull request out of a
// comment's issue are understood by the number.
func TestCommandOnAPullRequestThatIsNotCalledOne(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	pull, _ := w.pull("autocode/1-it", nil)
	w.handle()
	_, err := w.As("mary").Comment(repo, pull, "/autocode status")
	w.must(err)
	w.must(w.WaitDeliveries(w.ctx))
	for _, d := range w.inbox.take() {
		w.must(w.intake.Deliver(w.ctx, loop.Delivery{ID: "x", Event: d.Event, Payload: with(d.Payload, []string{"issue", "pull_request"}, nil)}))
	}
	w.said(pull, "There is no run here", 0)
	if n := len(w.own(pull)); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// lockedBuffer is a log of several goroutines.
type lockedBuffer struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}
