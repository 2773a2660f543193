package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
)

// answer is one scripted answer; an error where the status is 0.
type answer struct {
	status int
	header map[string]string
}

// script answers requests in order, the last answer for ever.
type script struct {
	answers []answer
	bodies  []string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(data)
	}
	a := s.answers[min(len(s.bodies), len(s.answers)-1)]
	s.bodies = append(s.bodies, body)
	if a.status == 0 {
		return nil, errors.New("connection reset")
	}
	header := http.Header{}
	for k, v := range a.header {
		header.Set(k, v)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader("answer"))}, nil
}

// TestWritesAreRedirected: what is written to a repository by its former name arrives as it was, whatever
// status the redirection has, and goes nowhere but to the API.
func TestWritesAreRedirected(t *testing.T) {
	const elsewhere = "http://127.0.0.1:1/elsewhere"
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for name, c := range map[string]struct {
			to      string
			arrives bool
		}{"within the API": {"", true}, "to another host": {elsewhere, false}} {
			t.Run(fmt.Sprint(code, " ", name), func(t *testing.T) {
				w := newWorld(t)
				to := c.to
				if to == "" {
					to = fmt.Sprintf("%s/repositories/%d/issues/%d/comments", w.V3URL(), w.s.Task.Repo.ID, w.issue)
				}
				w.Fault(githubtest.Fault{Route: "POST /repos/{owner}/{repo}/issues/{number}/comments", Match: func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/acme/widgets/") }, Status: code, Header: http.Header{"Location": {to}}})
				err := w.Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "hello")
				if arrived := len(w.Comments(testRepo, w.issue)) == 1; arrived != c.arrives || arrived != (err == nil) {
					t.Errorf("arrived: %v, error: %v", arrived, err)
				}
			})
		}
	}
}

func TestRetries(t *testing.T) {
	clock := &testClock{now: time.Unix(1_700_000_000, 0)}
	reset := func(d time.Duration) string { return strconv.FormatInt(clock.now.Add(d).Unix(), 10) }
	ok := answer{status: 200}
	cases := []struct {
		name, method, path string
		answers            []answer
		tries, status      int
		wait               time.Duration // of the first pause, where it is certain
	}{
		{"fine", "GET", "/x", []answer{ok}, 1, 200, 0},
		{"502 on a question", "GET", "/x", []answer{{status: 502}, ok}, 2, 200, 0},
		{"502 for ever", "GET", "/x", []answer{{status: 502}}, mostTries, 502, 0},
		{"502 on an effect", "POST", "/x", []answer{{status: 502}, ok}, 1, 502, 0},
		{"broken connection", "PATCH", "/x", []answer{{}, {}, ok}, 3, 200, 0},
		{"broken connection on an effect", "POST", "/x", []answer{{}, ok}, 1, 0, 0},
		{"broken connection on a check run", "PATCH", "/repos/o/r/check-runs/1", []answer{{}, ok}, 1, 0, 0},
		{"token", "POST", "/app/installations/1/access_tokens", []answer{{status: 500}, ok}, 2, 200, 0},
		{"404", "GET", "/x", []answer{{status: 404}, ok}, 1, 404, 0},
		{"422", "POST", "/x", []answer{{status: 422}, ok}, 1, 422, 0},
		{"501", "GET", "/x", []answer{{status: 501}, ok}, 1, 501, 0},
		{"403 for good", "GET", "/x", []answer{{status: 403}, ok}, 1, 403, 0},
		{"secondary limit, soon over", "POST", "/x", []answer{{403, map[string]string{"Retry-After": "3"}}, ok}, 2, 200, 3 * time.Second},
		{"secondary limit, long", "POST", "/x", []answer{{403, map[string]string{"Retry-After": "60"}}, ok}, 1, 403, 0},
		{"429 with a date", "POST", "/x", []answer{{429, map[string]string{"Retry-After": clock.now.Add(2 * time.Second).UTC().Format(http.TimeFormat)}}, ok}, 2, 200, 2 * time.Second},
		{"429 alone", "GET", "/x", []answer{{status: 429}, ok}, 2, 200, 0},
		{"primary limit, long", "GET", "/x", []answer{{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(time.Hour)}}, ok}, 1, 403, 0},
		{"primary limit, soon over", "GET", "/x", []answer{{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(2 * time.Second)}}, ok}, 2, 200, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			clock.waits = nil
			script := &script{answers: c.answers}
			r, err := http.NewRequest(c.method, "http://github.example"+c.path, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := (&retrying{next: script, clock: clock}).RoundTrip(r)
			status := 0
			if err == nil {
				status = response.StatusCode
			}
			if len(script.bodies) != c.tries || status != c.status {
				t.Errorf("%d tries, status %d, %v", len(script.bodies), status, err)
			}
			for _, body := range script.bodies {
				if body != "body" {
					t.Errorf("body %q", body)
				}
			}
			if len(clock.waits) != c.tries-1 || c.wait > 0 && clock.waits[0] != c.wait {
				t.Errorf("waits %v", clock.waits)
			}
			for i, d := range clock.waits {
				if d > mostDelay || c.wait == 0 && d < firstDelay<<i {
					t.Errorf("waits %v", clock.waits)
				}
			}
		})
	}
}

// stuck is a clock on which nothing ever comes.
type stuck struct{ testClock }

func (*stuck) After(time.Duration) <-chan time.Time { return nil }

// TestRetryEndsWithItsContext: nobody waits for an answer that nobody wants.
func TestRetryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://github.example/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&retrying{next: &script{answers: []answer{{status: 500}}}, clock: &stuck{}}).RoundTrip(r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestPacer: a burst goes at once, then at GitHub's pace; installations do not wait for each other.
func TestPacer(t *testing.T) {
	clock := &testClock{now: time.Unix(1_700_000_000, 0)}
	p := &pacer{clock: clock, next: map[int64]time.Time{}}
	for range writeBurst {
		if err := p.wait(context.Background(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(clock.waits) != 0 {
		t.Errorf("waits %v in the burst", clock.waits)
	}
	for range 2 {
		if err := p.wait(context.Background(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.wait(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	if len(clock.waits) != 2 || clock.waits[0] != writeInterval || clock.waits[1] != 2*writeInterval {
		t.Errorf("waits %v", clock.waits)
	}
	clock.tick(time.Minute)
	if err := p.wait(context.Background(), 1); err != nil || len(clock.waits) != 2 {
		t.Errorf("waits %v after a minute", clock.waits)
	}
}

// TestSecondaryLimitOnTheStandIn: 403 and 429 both, and the effect is had once.
func TestSecondaryLimitOnTheStandIn(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests} {
		w := newWorld(t)
		w.Fault(githubtest.SecondaryRateLimit(status, 2*time.Second, 2))
		w.must(w.Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "text"))
		if texts := w.ownTexts(w.issue); len(texts) != 1 {
			t.Errorf("%d comments", len(texts))
		}
		w.Fault(githubtest.SecondaryRateLimit(status, time.Hour, 1))
		if err := w.Reply(w.ctx, w.s.Task.Repo, w.issue, "l", "text"); err == nil {
			t.Error("an hour is nothing to wait for")
		}
	}
}
