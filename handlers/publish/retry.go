package publish

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// Bounds of retrying. What takes longer is left to the job, which is delayed, not failed.
const (
	mostTries  = 4
	firstDelay = 500 * time.Millisecond
	mostDelay  = 8 * time.Second
)

// wallClock is the machine's clock.
type wallClock struct{}

// Now implements loop.Clock.
func (wallClock) Now() time.Time { return time.Now() }

// After implements loop.Clock.
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// retrying repeats requests that failed for a passing reason: a broken connection or 5xx on a
// request that changes nothing twice, and rate limits that say when to come back soon. What would
// fail again in the same way is not repeated.
type retrying struct {
	next  http.RoundTripper
	clock loop.Clock
}

// RoundTrip implements http.RoundTripper.
func (t *retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	delay := firstDelay
	for try := 1; ; try++ {
		response, err := t.next.RoundTrip(again(r, body))
		wait, worth := t.retryAfter(r, response, err, delay)
		if !worth || try == mostTries || wait > mostDelay {
			return response, err
		}
		if response != nil {
			drain(response)
		}
		if err := sleep(r.Context(), t.clock, wait); err != nil {
			return nil, err
		}
		delay *= 2
	}
}

// readBody takes the body of a request, so that it can be sent more than once.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if closed := r.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	return body, nil
}

// again copies a request with its body, if any.
func again(r *http.Request, body []byte) *http.Request {
	attempt := r.Clone(r.Context())
	if body != nil {
		attempt.Body = io.NopCloser(bytes.NewReader(body))
		attempt.ContentLength = int64(len(body))
	}
	return attempt
}

// sleep waits as the clock says, or until the context ends.
func sleep(ctx context.Context, clock loop.Clock, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-clock.After(d):
		return nil
	}
}

// repeatable says whether a request changes nothing when it is carried out twice. Making things does,
// and so does changing a check run, whose annotations add up; each of them is looked up by its key
// when the caller's job repeats it. A token that is minted twice harms nobody.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost:
		return strings.HasSuffix(r.URL.Path, "/access_tokens")
	case http.MethodPatch:
		return !strings.Contains(r.URL.Path, "/check-runs/")
	}
	return true
}

// retryAfter says whether a request is worth repeating, and when.
func (t *retrying) retryAfter(r *http.Request, response *http.Response, err error, delay time.Duration) (time.Duration, bool) {
	jittered := delay + rand.N(delay)
	if err != nil {
		return jittered, repeatable(r) && r.Context().Err() == nil
	}
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests || code == http.StatusForbidden:
		// A limit refuses before anything is done, hence a POST may be repeated as well.
		return t.limitEnds(response.Header, jittered, code == http.StatusTooManyRequests)
	case code >= http.StatusInternalServerError && code != http.StatusNotImplemented:
		return jittered, repeatable(r)
	}
	return 0, false
}

// limitEnds reads from the headers when a rate limit ends; limited is false for a 403 that is none.
func (t *retrying) limitEnds(header http.Header, jittered time.Duration, certain bool) (wait time.Duration, limited bool) {
	now := t.clock.Now()
	if after := header.Get("Retry-After"); after != "" {
		if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
			return time.Duration(seconds) * time.Second, true
		}
		if at, err := http.ParseTime(after); err == nil {
			return max(at.Sub(now), 0), true
		}
	}
	if header.Get("X-RateLimit-Remaining") == "0" {
		if seconds, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			return max(time.Unix(seconds, 0).Sub(now), 0) + jittered, true
		}
	}
	return jittered, certain
}

// drain lets the connection be used again.
func drain(response *http.Response) {
	const enough = 64 << 10
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, enough))
	response.Body.Close()
}

// GitHub asks for at most 80 requests a minute that make content ("Best practices for using the REST
// API"); a burst of a quarter of that answers a label at once.
const (
	writeInterval = time.Minute / 80
	writeBurst    = 20
)

// pacer spaces the writes of one installation.
type pacer struct {
	clock loop.Clock

	mutex sync.Mutex
	next  map[int64]time.Time // when the installation's allowance is full again
}

// wait holds a write back until the installation may make it.
func (p *pacer) wait(ctx context.Context, installation int64) error {
	p.mutex.Lock()
	now := p.clock.Now()
	full := p.next[installation]
	if full.Before(now) {
		full = now
	}
	full = full.Add(writeInterval)
	p.next[installation] = full
	p.mutex.Unlock()
	if ahead := full.Sub(now) - writeBurst*writeInterval; ahead > 0 {
		return sleep(ctx, p.clock, ahead)
	}
	return nil
}
