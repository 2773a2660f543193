package githubtest

import (
	"net/http"
	"strconv"
	"time"
)

// Drop says when a connection is cut.
type Drop string

// The moments at which a fault cuts the connection.
const (
	// DropNever answers.
	DropNever Drop = ""
	// DropBefore cuts before anything has happened.
	DropBefore Drop = "before"
	// DropAfter cuts after the effect has been had: the caller cannot know.
	DropAfter Drop = "after"
)

// Fault is a trouble to be had by requests of a route.
type Fault struct {
	// Route is the pattern as in [Request.Route]; "*" means every route.
	Route string
	// Match narrows it further; nil means every request of the route.
	Match func(*http.Request) bool
	// Skip lets that many requests through first.
	Skip int
	// Times is how many requests it hits; 0 means one, negative means all until removed.
	Times int
	// Status answers with this status and Message instead of doing anything; 0 does it.
	Status  int
	Message string
	// Docs is the documentation_url of that answer, by which clients tell its kind.
	Docs string
	// Header is added to the answer of Status.
	Header http.Header
	// Delay holds the request up; Hold does so until the channel is closed.
	Delay time.Duration
	Hold  <-chan struct{}
	// Drop cuts the connection.
	Drop Drop
}

// secondaryLimitDocs is by what clients, go-github among them, know a secondary rate limit.
const secondaryLimitDocs = docsURL + "/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"

// SecondaryRateLimit is GitHub's answer to too many writes at once, on every route, n times.
// status is 403 or 429; both occur.
func SecondaryRateLimit(status int, retryAfter time.Duration, n int) Fault {
	return Fault{
		Route: "*", Times: n, Status: status,
		Message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
		Docs:    secondaryLimitDocs,
		Header:  http.Header{"Retry-After": {strconv.Itoa(int(retryAfter / time.Second))}},
	}
}

// armedFault is a fault with its counters.
type armedFault struct {
	Fault
	left int
	skip int
}

// Fault arms a fault and returns the function that removes it.
func (s *Server) Fault(f Fault) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	armed := &armedFault{Fault: f, left: f.Times, skip: f.Skip}
	if armed.left == 0 {
		armed.left = 1
	}
	s.faults = append(s.faults, armed)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		armed.left = 0
	}
}

// takeFault finds the first armed fault for a request and uses it up; nil where there is none.
func (s *Server) takeFault(route string, r *http.Request) *armedFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.left == 0 || f.Route != "*" && f.Route != route || f.Match != nil && !f.Match(r) {
			continue
		}
		if f.skip > 0 {
			f.skip--
			continue
		}
		if f.left > 0 {
			f.left--
		}
		return f
	}
	return nil
}

// before waits as the fault says and reports whether the connection is to be cut.
func (f *armedFault) before(r *http.Request) (cut bool) {
	if f == nil {
		return false
	}
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
		}
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-r.Context().Done():
		}
	}
	return f.Drop == DropBefore
}

func (f *armedFault) status() int {
	if f == nil {
		return 0
	}
	return f.Status
}

func (f *armedFault) dropAfter() bool { return f != nil && f.Drop == DropAfter }

// finishFault answers with the fault's status.
func (s *Server) finishFault(w http.ResponseWriter, r *http.Request, route string, body []byte, f *armedFault) {
	for k, v := range f.Header {
		w.Header()[k] = v
	}
	message := f.Message
	if message == "" {
		message = http.StatusText(f.Status)
	}
	s.finish(w, r, route, nil, reply{}, body, &apiError{status: f.Status, message: message, docs: f.Docs})
}

// hangUp closes the connection without an answer.
func hangUp() {
	// ErrAbortHandler is net/http's own way to close a connection in silence, with any protocol.
	panic(http.ErrAbortHandler)
}
