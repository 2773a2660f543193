package githubtest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// defaultAppID is what the App is called by number when the options name none.
	defaultAppID = 4711
	// firstID is where the numeric ids start: large enough never to be taken for an issue number.
	firstID = 10_000
	// appKeyBits is the size of the key that GitHub generates for an App.
	appKeyBits = 2048
	// readHeaderTimeout ends connections that never send a request.
	readHeaderTimeout = 30 * time.Second
)

// Options configure a [Server]. The zero value is a server on a free port with an App called
// "autocode" that has the permissions and events of autocode's manifest.
type Options struct {
	// Addr is the listening address; empty means 127.0.0.1 and a free port.
	Addr string
	// Dir holds the bare repositories; empty means a temporary directory that Close removes.
	Dir string
	// Now is the clock of every timestamp and expiry; nil means the real one.
	Now func() time.Time
	// AppNow is the clock that an App's JWT is judged by; nil means Now. Clients that sign by the machine's time need it
	// where Now stands still.
	AppNow func() time.Time
	// AppID, AppSlug and AppName describe the App; zero values mean 4711, "autocode" and the slug.
	AppID   int64
	AppSlug string
	AppName string
	// Key is the App's private key; nil makes one, which takes a moment.
	Key *rsa.PrivateKey
	// Permissions are what the App asks for and each installation grants: name → read|write|admin.
	Permissions map[string]string
	// Events are the webhook events that the App subscribes to; nil means every event.
	Events []string
}

// Server is one stand-in GitHub. All methods are safe for concurrent use.
type Server struct {
	// base is the address of the server without a trailing slash.
	base string
	now  func() time.Time
	// appNow judges JWTs.
	appNow func() time.Time
	dir    string
	// ownsDir says that Close removes dir.
	ownsDir bool
	git     gitTool
	key     *rsa.PrivateKey

	http *http.Server
	// serving is read-locked by each request, so that Close can wait for the last; stop cancels them.
	serving sync.RWMutex
	stop    context.CancelFunc
	rest    *http.ServeMux
	// patterns are the REST routes in the order of their registration.
	patterns []string
	hooks    *dispatcher

	// mu guards everything below; handlers run with it held.
	mu      sync.Mutex
	changed chan struct{}
	lastID  int64
	apps    map[int64]*app
	app     *app
	users   map[string]*user
	repos   map[string]*repository
	// moved are the former names of repositories.
	moved         map[string]int64
	installations map[int64]*installation
	tokens        map[string]*token
	nodes         map[string]any
	oauth         oauthState
	manifests     map[string]manifestApp
	faults        []*armedFault
	requests      []Request
	unimplemented []string
	rates         map[string]*rate
	rateLimit     int
}

// New starts a server. The caller must Close it.
func New(o Options) (*Server, error) {
	tool, err := newGitTool()
	if err != nil {
		return nil, err
	}
	key := o.Key
	if key == nil {
		if key, err = rsa.GenerateKey(rand.Reader, appKeyBits); err != nil {
			return nil, fmt.Errorf("generate the App's key: %w", err)
		}
	}
	s := &Server{
		now: o.Now, appNow: o.AppNow, dir: o.Dir, git: tool, key: key,
		changed: make(chan struct{}), lastID: firstID,
		apps: map[int64]*app{}, users: map[string]*user{}, repos: map[string]*repository{}, moved: map[string]int64{},
		installations: map[int64]*installation{}, tokens: map[string]*token{}, nodes: map[string]any{},
		oauth:     oauthState{codes: map[string]string{}},
		manifests: map[string]manifestApp{}, rates: map[string]*rate{}, rateLimit: defaultRateLimit,
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.appNow == nil {
		s.appNow = s.now
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "githubtest-"); err != nil {
			return nil, fmt.Errorf("make the directory of the repositories: %w", err)
		}
		s.ownsDir = true
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return nil, fmt.Errorf("resolve the directory of the repositories: %w", err)
	}
	addr := o.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", addr, err), s.removeDir())
	}
	s.base = "http://" + ln.Addr().String()
	s.registerApp(o)
	s.rest = http.NewServeMux()
	s.routes()
	s.hooks = newDispatcher(s.noteChange)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: readHeaderTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // what a client does wrong is in the request log
	}
	go func() { _ = s.http.Serve(ln) }() // ends with ErrServerClosed at Close
	return s, nil
}

// Close stops the server and the delivery of webhooks, requests in flight included, and removes the
// temporary directory.
func (s *Server) Close() error {
	s.hooks.stop()
	s.stop()
	err := s.http.Close() // not Shutdown, which waits seconds for connections that were never used
	s.serving.Lock()
	defer s.serving.Unlock()
	return errors.Join(err, s.removeDir())
}

func (s *Server) removeDir() error {
	if !s.ownsDir {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// URL is the address of the web pages and of git, GitHub's "web URL", without a trailing slash.
func (s *Server) URL() string { return s.base }

// V3URL is the REST base as go-githubapp wants it (GITHUB_V3_API_URL), without a trailing slash.
func (s *Server) V3URL() string { return s.base + "/api/v3" }

// V4URL is the GraphQL address (GITHUB_V4_API_URL).
func (s *Server) V4URL() string { return s.base + "/api/graphql" }

// PrivateKeyPEM is the App's private key in the form in which GitHub hands it out (PKCS #1).
func (s *Server) PrivateKeyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.key)})
}

// AppID is the App's number.
func (s *Server) AppID() int64 { return s.app.ID }

// AppSlug is the App's name in URLs; its bot is called slug[bot].
func (s *Server) AppSlug() string { return s.app.Slug }

// Wait returns nil as soon as cond holds. cond is called without locks held, once at the start and
// again after every change: a request served, a webhook delivered, a Go call made.
func (s *Server) Wait(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for a condition of the stand-in GitHub: %w", ctx.Err())
		}
	}
}

// noteChange wakes those who wait.
func (s *Server) noteChange() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

// wake is noteChange for callers that hold the lock.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// nextID hands out the ids of everything, increasing over the life of the server.
func (s *Server) nextID() int64 {
	s.lastID++
	return s.lastID
}

// clock is the server's time at GitHub's resolution of one second.
func (s *Server) clock() time.Time { return s.now().UTC().Truncate(time.Second) }

// serve splits the requests among REST, GraphQL, git and the pages.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.serving.RLock()
	defer s.serving.RUnlock()
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, "/api/v3/"):
		http.StripPrefix("/api/v3", http.HandlerFunc(s.serveREST)).ServeHTTP(w, r)
	case path == "/api/graphql" || path == "/graphql":
		s.serveGraphQL(w, r)
	case strings.HasPrefix(path, logPath):
		s.serveLog(w, r)
	case isGitPath(path):
		s.serveGit(w, r)
	case isRootREST(path):
		s.serveREST(w, r)
	default:
		s.servePage(w, r)
	}
}

// rootREST are the first path segments that belong to api.github.com rather than to an owner.
var rootREST = map[string]bool{
	"repos": true, "app": true, "apps": true, "app-manifests": true, "installation": true, "user": true,
	"users": true, "rate_limit": true, "orgs": true, "search": true, "repositories": true, "meta": true,
}

func isRootREST(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return rootREST[first]
}
