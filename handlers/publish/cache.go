package publish

import (
	"net/http"

	"github.com/gregjones/httpcache"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Bounds of the answers kept for conditional requests, per repository.
const (
	mostAnswers   = 64
	longestAnswer = 256 << 10 // bytes; longer ones are lists of large comments
)

// answers is a bounded httpcache.Cache.
type answers struct{ kept *lru.Cache[string, []byte] }

// Get implements httpcache.Cache.
func (a answers) Get(key string) ([]byte, bool) { return a.kept.Get(key) }

// Set implements httpcache.Cache.
func (a answers) Set(key string, answer []byte) {
	if len(answer) <= longestAnswer {
		a.kept.Add(key, answer)
	}
}

// Delete implements httpcache.Cache.
func (a answers) Delete(key string) { a.kept.Remove(key) }

// conditional asks GitHub each time, but with the validators of the last answer, so that one that has
// not changed costs nothing of the rate limit. It is made for one repository and one set of
// permissions: an answer never reaches somebody who may not read it.
func conditional(next http.RoundTripper) (http.RoundTripper, error) {
	kept, err := lru.New[string, []byte](mostAnswers)
	if err != nil {
		return nil, err
	}
	return &httpcache.Transport{Cache: answers{kept}, Transport: stale{next}}, nil
}

// stale takes from answers the permission to be used again unasked: authority and state are asked of
// GitHub at the moment of acting (security.md, rule 6), while GitHub lets answers live for a minute.
type stale struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s stale) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(r)
	if err == nil {
		response.Header.Set("Cache-Control", "no-cache")
		response.Header.Del("Expires")
	}
	return response, err
}
