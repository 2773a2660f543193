package workspace

import (
	"context"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// testToken has the form of an installation token and opens nothing.
const testToken = "ghs_Canary0123456789canary0123456789abcd"

// server serves bare repositories over smart HTTP, as GitHub does, with git's own http-backend.
type server struct {
	*httptest.Server
	root string

	mu       sync.Mutex
	requests []string
	before   func(w http.ResponseWriter, r *http.Request) (done bool)
}

func newServer(t testing.TB) *server {
	t.Helper()
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
			t.Fatal("git http-backend is missing")
		}
		t.Skip("git http-backend is missing")
	}
	s := &server{root: t.TempDir()}
	handler := &cgi.Handler{Path: backend, Env: []string{
		"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=app", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "HOME=/dev/null",
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
		before := s.before
		s.mu.Unlock()
		if before != nil && before(w, r) {
			return
		}
		if user, password, _ := r.BasicAuth(); user != "x-access-token" || password != testToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if protocol := r.Header.Get("Git-Protocol"); protocol != "" {
			copied := *handler
			copied.Env = append(append([]string(nil), handler.Env...), "GIT_PROTOCOL="+protocol)
			s.serve(&copied, w, r)
			return
		}
		s.serve(handler, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// serve runs http-backend, which wants a length where git sends large packs chunked.
func (s *server) serve(h *cgi.Handler, w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		r.ContentLength = int64(len(body))
		r.TransferEncoding = nil
	}
	h.ServeHTTP(w, r)
}

// intercept sets what is called before each request.
func (s *server) intercept(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// count returns how many requests had the text in them since the last call, and forgets them.
func (s *server) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if strings.Contains(r, text) {
			n++
		}
	}
	s.requests = nil
	return n
}

// add publishes a repository and returns how autocode sees it.
func (s *server) add(t testing.TB, id int64, name string, src *repo) loop.Repo {
	t.Helper()
	bare := filepath.Join(s.root, "octo", name+".git")
	gitCmd(t, "", "clone", "-q", "--bare", src.dir, bare)
	gitCmd(t, bare, "config", "http.receivepack", "true")
	gitCmd(t, bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	gitCmd(t, src.dir, "remote", "add", "origin", bare)
	return loop.Repo{ID: id, Owner: "octo", Name: name, Installation: 1, CloneURL: s.URL + "/octo/" + name + ".git", DefaultBranch: "main"}
}

// tokens hands out one token.
type tokens string

func (s tokens) Token(context.Context, loop.Repo, loop.Access) (string, time.Time, error) {
	return string(s), time.Time{}, nil
}

// newWorkspace makes a workspace for a server and for local repositories.
func newWorkspace(t testing.TB, s *server, change ...func(*Config)) *Workspace {
	t.Helper()
	config := Config{
		Root: filepath.Join(t.TempDir(), "workspace"), AllowFile: true, Tokens: tokens(testToken),
		Now:  func() time.Time { return time.Unix(1_700_000_000, 0) },
		Warn: func(_ context.Context, what string, err error) { t.Logf("%s: %v", what, err) },
	}
	if s != nil {
		config.BaseURLs = []string{s.URL}
	}
	for _, f := range change {
		f(&config)
	}
	w, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// open opens a clone that ends with the test.
func open(t testing.TB, w *Workspace, r loop.Repo, rev string, bundles ...[]byte) *clone {
	t.Helper()
	c, err := w.Open(t.Context(), r, "run-1", rev, bundles...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.(*clone)
}

// localRepo is how autocode run sees a directory.
func localRepo(dir string) loop.Repo {
	return loop.Repo{Owner: "local", Name: filepath.Base(dir), CloneURL: dir}
}
