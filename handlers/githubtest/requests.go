package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// defaultRateLimit is the hourly limit of an installation on github.com.
const defaultRateLimit = 5000

// Request is one request that the server has answered.
type Request struct {
	// Method and Path are as sent; the path of a REST request is without /api/v3.
	Method, Path string
	// Query is the raw query.
	Query string
	// Route is the pattern that matched, for example "GET /repos/{owner}/{repo}/issues/{number}";
	// git requests are "GIT upload-pack" and "GIT receive-pack" (advertisement: "GIT info/refs"),
	// GraphQL is "GRAPHQL field".
	Route string
	// Who asked: "app", "slug[bot]", a login, or "" for nobody.
	Who string
	// Body is what was sent.
	Body string
	// Status is the answer's; 0 where the connection was dropped.
	Status int
	// At is the server's time.
	At time.Time
}

// record adds a request to the log and wakes those who wait.
func (s *Server) record(r *http.Request, route string, who *principal, body []byte, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{
		Method: r.Method, Path: shown.Replace(r.URL.Path), Query: r.URL.RawQuery, Route: route, Who: who.name(),
		Body: string(body), Status: status, At: s.now(),
	})
	s.wake()
}

// Requests returns every request answered so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// RequestCounts counts the requests by route.
func (s *Server) RequestCounts() map[string]int {
	counts := map[string]int{}
	for _, r := range s.Requests() {
		counts[r.Route]++
	}
	return counts
}

// ResetRequests forgets the requests so far, so that what follows can be counted.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Unimplemented returns what was asked and answered with 501.
func (s *Server) Unimplemented() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unimplemented)
}

// rate is the primary rate limit of one caller.
type rate struct {
	used  int
	reset time.Time
}

// SetRateLimit sets the hourly limit of every caller and forgets what was used; beyond it the
// answer is 403 with X-RateLimit-Remaining 0.
func (s *Server) SetRateLimit(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rateLimit, s.rates = limit, map[string]*rate{}
}

func (s *Server) rateOf(who *principal) *rate {
	name := who.name()
	r := s.rates[name]
	if r == nil || !s.now().Before(r.reset) {
		r = &rate{reset: s.clock().Add(time.Hour)}
		s.rates[name] = r
	}
	return r
}

// spendRate counts the request against its caller's limit.
func (s *Server) spendRate(c *call) error {
	if c.r.URL.Path == "/rate_limit" {
		return nil
	}
	r := s.rateOf(c.who)
	if r.used >= s.rateLimit {
		return fail(http.StatusForbidden, "API rate limit exceeded for %s.", c.who.name())
	}
	r.used++
	return nil
}

// refundRate takes a conditional request that changed nothing off the count.
func (s *Server) refundRate(who *principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rateOf(who); r.used > 0 {
		r.used--
	}
}

func (s *Server) rateHeaders(h http.Header, who *principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rateOf(who)
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.rateLimit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, s.rateLimit-r.used)))
	h.Set("X-RateLimit-Used", strconv.Itoa(r.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(r.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}

func (c *call) getRateLimit() (reply, error) {
	r := c.rateOf(c.who)
	core := obj{"limit": c.rateLimit, "used": r.used, "remaining": max(0, c.rateLimit-r.used), "reset": r.reset.Unix()}
	idle := obj{"limit": c.rateLimit, "used": 0, "remaining": c.rateLimit, "reset": r.reset.Unix()}
	return ok(obj{"resources": obj{"core": core, "search": idle, "graphql": idle}, "rate": core})
}

// String is the request in one line, for failure messages.
func (r Request) String() string {
	return fmt.Sprintf("%s %s → %d (%s)", r.Method, r.Path, r.Status, r.Who)
}
