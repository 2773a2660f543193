package githubtest

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"
)

func TestFaults(t *testing.T) {
	const route = "POST /repos/{owner}/{repo}/issues/{number}/comments"
	cases := []struct {
		name  string
		fault Fault
		// fails says which of three comments fail, written is how many are there in the end.
		fails   [3]bool
		written int
	}{
		{"once", Fault{Route: route, Status: http.StatusBadGateway}, [3]bool{true, false, false}, 2},
		{"twice after the first", Fault{Route: route, Status: 500, Skip: 1, Times: 2}, [3]bool{false, true, true}, 1},
		{"for ever", Fault{Route: route, Status: 500, Times: -1}, [3]bool{true, true, true}, 0},
		{"another route", Fault{Route: "GET /app", Status: 500}, [3]bool{}, 3},
		{"cut before", Fault{Route: route, Drop: DropBefore}, [3]bool{true, false, false}, 2},
		{"cut after the effect", Fault{Route: route, Drop: DropAfter}, [3]bool{true, false, false}, 3},
		{"matching", Fault{Route: "*", Times: -1, Status: 500, Match: func(r *http.Request) bool { return r.Method == http.MethodGet }}, [3]bool{}, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			n := w.issue()
			client := w.withToken(w.token(nil))
			remove := w.Fault(c.fault)
			for k, fails := range c.fails {
				_, _, err := client.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("x")})
				if (err != nil) != fails {
					t.Errorf("comment %d: %v, want failure %v", k+1, err, fails)
				}
			}
			if got := len(w.Comments(testRepo, n)); got != c.written {
				t.Errorf("%d comments are there, want %d", got, c.written)
			}
			remove()
			_, _, err := client.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("x")})
			w.must(err)
		})
	}
}

func TestSecondaryRateLimit(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	client := w.withToken(w.token(nil))
	for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests} {
		w.Fault(SecondaryRateLimit(status, 2*time.Second, 1))
		w.ResetRequests()
		_, _, err := w.withToken(w.UserToken("mary")).Issues.Get(w.ctx, testOwner, testName, n)
		w.wantStatus(err, status)
		var abuse *github.AbuseRateLimitError
		if status == http.StatusForbidden && (!errors.As(err, &abuse) || abuse.GetRetryAfter() != 2*time.Second) {
			t.Errorf("error %v: Retry-After is lost", err)
		}
	}
	_, _, err := client.Issues.Get(w.ctx, testOwner, testName, n)
	w.must(err)
}

func TestPrimaryRateLimit(t *testing.T) {
	w := newWorld(t)
	client := w.withToken(w.token(nil))
	w.SetRateLimit(2)
	for range 2 {
		_, _, err := client.Repositories.Get(w.ctx, testOwner, testName)
		w.must(err)
	}
	_, _, err := client.Repositories.Get(w.ctx, testOwner, testName)
	var limited *github.RateLimitError
	if !errors.As(err, &limited) || limited.Rate.Remaining != 0 || limited.Rate.Limit != 2 {
		t.Fatalf("error %v", err)
	}
	if got, _, err := client.RateLimit.Get(w.ctx); err != nil || got.Core.Remaining != 0 {
		t.Errorf("rate %v, %v: asking for it is free", got, err)
	}
}

func TestHeldRequest(t *testing.T) {
	w := newWorld(t)
	hold := make(chan struct{})
	w.Fault(Fault{Route: "GET /repos/{owner}/{repo}", Hold: hold})
	done := make(chan error, 1)
	go func() {
		_, _, err := w.as("mary").Repositories.Get(w.ctx, testOwner, testName)
		done <- err
	}()
	// Another request is not held up by it.
	_, _, err := w.as("mary").Repositories.ListBranches(w.ctx, testOwner, testName, nil)
	w.must(err)
	close(hold)
	w.must(<-done)
}

func TestRequestLog(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	client := w.withToken(w.token(nil))
	w.ResetRequests()
	m, _, err := client.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("x")})
	w.must(err)
	_, _, err = client.Issues.GetComment(w.ctx, testOwner, testName, m.GetID())
	w.must(err)
	mustGit(t, ".", "ls-remote", w.CloneURL(testRepo))
	counts := w.RequestCounts()
	for route, want := range map[string]int{
		"POST /repos/{owner}/{repo}/issues/{number}/comments": 1, "GET /repos/{owner}/{repo}/issues/comments/{id}": 1, "GIT info/refs": 1, "GIT upload-pack": 1,
	} {
		if counts[route] != want {
			t.Errorf("%s: %d requests, want %d (%v)", route, counts[route], want, counts)
		}
	}
	first := w.Requests()[0]
	if first.Who != "autocode[bot]" || first.Status != http.StatusCreated || !strings.Contains(first.Body, `"body":"x"`) || first.Path != "/repos/acme/widgets/issues/1/comments" {
		t.Errorf("request %+v", first)
	}
}

func TestConcurrentUse(t *testing.T) {
	w := newWorld(t)
	w.sink("s3cret")
	const people, each = 4, 5
	var group sync.WaitGroup
	for p := range people {
		client := w.as("mary" + itoa(p))
		group.Go(func() {
			for range each {
				i, _, err := client.Issues.Create(w.ctx, testOwner, testName, &github.IssueRequest{Title: github.String("x")})
				if err != nil {
					t.Error(err)
					return
				}
				if err := w.As("rita").Label(testRepo, i.GetNumber(), "bug"); err != nil {
					t.Error(err)
				}
				w.Issues(testRepo)
				w.CheckRuns(testRepo, "")
			}
		})
	}
	group.Wait()
	if got := len(w.events()); got != people*each*2 {
		t.Errorf("%d events, want %d", got, people*each*2)
	}
	seen := map[int]bool{}
	for _, i := range w.Issues(testRepo) {
		seen[i.Number] = true
	}
	if len(seen) != people*each {
		t.Errorf("%d numbers, want %d", len(seen), people*each)
	}
}
