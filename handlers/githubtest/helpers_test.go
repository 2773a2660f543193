package githubtest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"
)

const (
	testRepo  = "acme/widgets"
	testOwner = "acme"
	testName  = "widgets"
	// testPatience only bounds a test that would hang; no test waits for it.
	testPatience = 5 * time.Minute
)

// testKey is made once, since making a key takes longer than most tests.
var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, appKeyBits)
	if err != nil {
		panic(err)
	}
	return key
})

// world is a server with one repository, a maintainer and the App's clients.
type world struct {
	*Server
	t   *testing.T
	ctx context.Context
	// transport carries the clients' requests.
	transport http.RoundTripper
	// app speaks with the App's JWT, inst with an installation token.
	app, inst *github.Client
	head      string
}

func newWorld(t *testing.T, change ...func(*Options, *RepositoryOptions)) *world {
	t.Helper()
	return newWorldOver(t, http.DefaultTransport, change...)
}

func newWorldOver(t *testing.T, transport http.RoundTripper, change ...func(*Options, *RepositoryOptions)) *world {
	t.Helper()
	o := Options{Key: testKey()}
	r := RepositoryOptions{Owner: testOwner, Name: testName, Files: sample}
	for _, f := range change {
		f(&o, &r)
	}
	s, err := New(o)
	if err != nil {
		t.Fatalf("start the stand-in: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the stand-in: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	t.Cleanup(cancel)
	w := &world{Server: s, t: t, ctx: ctx, transport: transport}
	_, err = s.CreateRepository(r)
	w.must(err)
	w.must(s.SetRole(testRepo, "mary", RoleWrite))
	w.head = s.Branch(testRepo, "main")
	appTransport, err := ghinstallation.NewAppsTransport(transport, s.AppID(), s.PrivateKeyPEM())
	w.must(err)
	appTransport.BaseURL = s.V3URL()
	w.app = w.client(&http.Client{Transport: appTransport})
	if id := s.InstallationID(testRepo); id != 0 {
		tr := ghinstallation.NewFromAppsTransport(appTransport, id)
		tr.BaseURL = s.V3URL()
		w.inst = w.client(&http.Client{Transport: tr})
	}
	return w
}

var sample = fstest.MapFS{
	"go.mod":          {Data: []byte("module example.com/widgets\n\ngo 1.26\n")},
	"main.go":         {Data: []byte("package main\n\nfunc main() {}\n")},
	"docs/readme.md":  {Data: []byte("# Widgets\n")},
	"docs/sub/x.txt":  {Data: []byte("x\n")},
	"scripts/run.sh":  {Data: []byte("#!/bin/sh\necho hi\n"), Mode: 0o755},
	".github/work.md": {Data: []byte("hidden\n")},
}

func (w *world) client(h *http.Client) *github.Client {
	w.t.Helper()
	c, err := github.NewClient(h).WithEnterpriseURLs(w.URL(), w.URL())
	w.must(err)
	return c
}

// as is a client that acts as a person through the API.
func (w *world) as(login string) *github.Client {
	return w.client(&http.Client{Transport: w.transport}).WithAuthToken(w.UserToken(login))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// token mints an installation token with the given permissions; none means all.
func (w *world) token(perms map[string]string) string {
	w.t.Helper()
	body := obj{}
	if perms != nil {
		body["permissions"] = perms
	}
	req, err := w.app.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", w.InstallationID(testRepo)), body)
	w.must(err)
	var out struct{ Token string }
	_, err = w.app.Do(w.ctx, req, &out)
	w.must(err)
	return out.Token
}

func (w *world) withToken(token string) *github.Client {
	return w.client(&http.Client{Transport: w.transport}).WithAuthToken(token)
}

// issue opens an issue as alice.
func (w *world) issue() int {
	w.t.Helper()
	n, err := w.As("alice").CreateIssue(testRepo, "It breaks", "Steps: …")
	w.must(err)
	return n
}

// pull opens a pull request of mary's from a new branch.
func (w *world) pull(branch string) int {
	w.t.Helper()
	_, err := w.As("mary").PushFiles(testRepo, branch, "Change "+branch, map[string][]byte{branch + ".txt": []byte("new\n")})
	w.must(err)
	n, err := w.As("mary").OpenPull(testRepo, "Change", "why", branch, "main", true)
	w.must(err)
	return n
}

// wantStatus fails unless err is GitHub's error of that status.
func (w *world) wantStatus(err error, status int) {
	w.t.Helper()
	got := 0
	switch e := err.(type) {
	case *github.ErrorResponse:
		got = e.Response.StatusCode
	case *github.RateLimitError:
		got = e.Response.StatusCode
	case *github.AbuseRateLimitError:
		got = e.Response.StatusCode
	}
	if got != status {
		w.t.Fatalf("status %d wanted, got %d (%v)", status, got, err)
	}
}

// received is one webhook as the receiver saw it.
type received struct {
	event, guid string
	header      http.Header
	body        []byte
}

// hookSink is a receiver of webhooks.
type hookSink struct {
	mu   sync.Mutex
	list []received
}

func (w *world) sink(secret string) *hookSink {
	w.t.Helper()
	sink := &hookSink{}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := github.ValidatePayload(r, []byte(secret))
		if err != nil {
			http.Error(rw, err.Error(), http.StatusUnauthorized)
			return
		}
		sink.mu.Lock()
		defer sink.mu.Unlock()
		sink.list = append(sink.list, received{r.Header.Get("X-GitHub-Event"), r.Header.Get("X-GitHub-Delivery"), r.Header.Clone(), body})
		rw.WriteHeader(http.StatusAccepted)
	}))
	w.t.Cleanup(srv.Close)
	w.SetWebhook(srv.URL, secret)
	return sink
}

// events waits for all deliveries and returns "event.action" of each.
func (w *world) events() []string {
	w.t.Helper()
	w.must(w.WaitDeliveries(w.ctx))
	var out []string
	for _, v := range w.Deliveries() {
		if v.Status != http.StatusAccepted {
			w.t.Errorf("delivery %s %s: status %d %s", v.Event, v.Action, v.Status, v.Err)
		}
		out = append(out, strings.TrimSuffix(v.Event+"."+v.Action, "."))
	}
	return out
}

// git runs the real git in a directory, without the machine's configuration.
func runGit(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := runGit(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func itoa(n int) string { return strconv.Itoa(n) }

// requireAll says that an absent component is a failure and not a reason to skip.
func requireAll() bool { return os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" }
