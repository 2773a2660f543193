package workspace

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestPassingTroubleOfARemote: the first answer to each kind of request is a 502, and nobody notices; a
// server that stays down is asked a few times only.
func TestPassingTroubleOfARemote(t *testing.T) {
	t.Parallel()
	src, _, _ := sample(t)
	s := newServer(t)
	r := s.add(t, 7, "demo", src)
	w := newWorkspace(t, s)
	var mutex sync.Mutex
	seen := map[string]bool{}
	s.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		mutex.Lock()
		defer mutex.Unlock()
		kind := r.Method + r.URL.Path + r.URL.RawQuery
		if seen[kind] {
			return false
		}
		seen[kind] = true
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	c := open(t, w, r, "")
	commit := change(t, c, "x")
	if err := w.Push(t.Context(), r, c, commit, "autocode/1", ""); err != nil {
		t.Fatal(err)
	}
	if head, err := w.RemoteHead(t.Context(), r, "autocode/1"); err != nil || head != commit {
		t.Errorf("the branch is at %q, %v", head, err)
	}
	s.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	s.count("")
	if _, err := w.RemoteHead(t.Context(), r, "autocode/1"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("error %v", err)
	}
	if n := s.count("info/refs"); n != remoteTries {
		t.Errorf("asked %d times", n)
	}
}
