package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers"
	"github.com/seed-7a986423/autocode/handlers/intake"
	"github.com/seed-7a986423/autocode/handlers/panel"
	"github.com/seed-7a986423/autocode/handlers/publish"
	"github.com/seed-7a986423/autocode/loop"
)

// serveCmd is the server.
type serveCmd struct {
	Config   string `placeholder:"FILE" help:"Configuration; default autocode.yaml where it exists. Environment variables win."`
	Relay    string `name:"webhook-relay" placeholder:"URL" help:"Read webhooks from this channel of a relay, in smee's form, where GitHub cannot reach the server."`
	LogLevel string `default:"info" enum:"debug,info,warn,error" help:"debug, info, warn or error."`
}

// Run serves until it is interrupted.
func (c *serveCmd) Run(ctx context.Context, std streams) error {
	s, err := loadSettings(c.Config, os.Getenv)
	if err != nil {
		return usageError(err)
	}
	if err := s.checkServe(); err != nil {
		return usageError(err)
	}
	level, err := zerolog.ParseLevel(c.LogLevel)
	if err != nil {
		return usageError(err)
	}
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.Listen, err)
	}
	redacted := publish.NewRedactor(s.secrets()...).Writer(std.err)
	defer redacted.Close()
	server, err := newServer(ctx, s, newLogger(redacted, false, level), silent{}, listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if c.Relay != "" {
		if err := server.listenTo(c.Relay); err != nil {
			return errors.Join(usageError(err), listener.Close(), server.parts.close())
		}
	}
	return server.run(ctx)
}

// listenTo has the server read webhooks from a relay as well.
func (s *server) listenTo(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return fmt.Errorf("--webhook-relay %q: must be an https URL", address)
	}
	s.relay = &intake.Relay{URL: address, To: s.intake, Clock: wallClock{}, Client: &http.Client{}}
	return nil
}

// silent observes nothing.
type silent struct{}

// Observe implements loop.Observer.
func (silent) Observe(loop.Snapshot) {}

// server is the assembled server.
type server struct {
	parts    *parts
	intake   *intake.Intake
	listener net.Listener
	http     *http.Server
	log      zerolog.Logger
	relay    *intake.Relay // nil: GitHub delivers by itself
	// redeliver asks GitHub for what it could not deliver while the server was down.
	redeliver func(ctx context.Context) (int, error)
}

// Time-outs of the HTTP server: a webhook of 25 MB over a slow line, and nothing slower.
const (
	headerTimeout   = 10 * time.Second
	readTimeout     = 60 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 10 * time.Second
	githubTimeout   = 30 * time.Second
)

// spareClones is how many clones of a repository a server keeps ready: the next run of it need not wait for its worktree, and
// more would cost the disk of as many worktrees.
const spareClones = 1

// newServer wires everything behind a listener.
func newServer(ctx context.Context, s settings, log zerolog.Logger, observer loop.Observer, listener net.Listener) (*server, error) {
	clients, err := publish.NewClients(publish.ClientConfig{
		WebURL: s.GitHub.WebURL, V3URL: s.GitHub.V3URL, V4URL: s.GitHub.V4URL, AppID: s.GitHub.AppID, PrivateKey: s.PrivateKeyPEM,
		UserAgent: "autocode", Timeout: githubTimeout,
	})
	if err != nil {
		return nil, usageError(err)
	}
	slug, err := appSlug(ctx, clients)
	if err != nil {
		return nil, err
	}
	publisher, err := publish.New(publish.Config{
		Clients: clients, AppID: s.GitHub.AppID, AppSlug: slug, Labels: s.Ceiling.Labels, RunURL: runURL(s.PublicURL),
		TrustedBots: s.GitHub.TrustedBots, Redactor: publish.NewRedactor(s.secrets()...), Shared: s.DatabaseURL != "", Clock: wallClock{},
	})
	if err != nil {
		return nil, err
	}
	parts, err := wire(ctx, wiring{
		settings: s, log: log, publisher: publisher, tokens: clients, baseURLs: []string{s.GitHub.WebURL}, observer: observer, spares: spareClones,
	})
	if err != nil {
		return nil, err
	}
	h := &handlers.Handlers{
		Store: parts.store, Knowledge: parts.store, Forge: publisher, Acknowledge: publisher.Acknowledge, Status: publisher.StatusText,
		AppSlug: slug, Labels: s.Ceiling.Labels, TrustedBots: s.GitHub.TrustedBots, Clock: wallClock{},
	}
	in, err := intake.New(parts.store, s.GitHub.WebhookSecret, wallClock{}, h.All()...)
	if err != nil {
		return nil, errors.Join(usageError(err), parts.close())
	}
	server := &server{parts: parts, intake: in, listener: listener, log: log, redeliver: clients.Redeliver}
	server.http = &http.Server{
		Handler: server.routes(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return log.WithContext(context.WithoutCancel(ctx)) },
	}
	return server, nil
}

// appSlug asks GitHub for the App's name; it is also the first proof that key and id fit.
func appSlug(ctx context.Context, clients *publish.Clients) (string, error) {
	client, err := clients.App()
	if err != nil {
		return "", err
	}
	app, _, err := client.Apps.Get(ctx, "")
	if err != nil {
		return "", fmt.Errorf("ask GitHub who this App is (check GITHUB_APP_INTEGRATION_ID, the private key and the clock): %w", err)
	}
	if slug := app.GetSlug(); slug != "" {
		return slug, nil
	}
	// Older Enterprise Servers do not tell the slug; it is the name in small letters, with dashes.
	slug := strings.Join(strings.FieldsFunc(strings.ToLower(app.GetName()), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), "-")
	if slug == "" {
		return "", errors.New("ask GitHub who this App is: the answer has neither slug nor name; is GITHUB_V3_API_URL the address of GitHub's API?")
	}
	return slug, nil
}

// runURL is the panel's page of a run below the public URL.
func runURL(public string) func(run string) string {
	return func(run string) string {
		if public == "" {
			return ""
		}
		return strings.TrimSuffix(public, "/") + "/runs/" + url.PathEscape(run)
	}
}

// routes lays out the HTTP surface.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/github/hook", s.intake)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.Handler())
	mux.Handle("/", panel.New(s.parts.store))
	return mux
}

// ready says whether the store answers.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if _, err := s.parts.store.Runs(r.Context(), loop.RunFilter{Limit: 1}); err != nil {
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// address is where the server listens.
func (s *server) address() string { return "http://" + s.listener.Addr().String() }

// run serves and works until the context ends, then lets go of everything in order.
func (s *server) run(ctx context.Context) error {
	defer s.parts.close()
	if err := s.parts.workspace.Reap(ctx, func(string) bool { return false }); err != nil {
		s.log.Warn().Err(err).Msg("old clones could not be removed")
	}
	ctx, cancel := context.WithCancel(s.log.WithContext(ctx))
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	worked := make(chan error, 1)
	go func() { worked <- s.parts.store.Work(ctx, s.parts.engine.Drive, s.intake.Deliver) }()
	if s.relay != nil {
		go func() { _ = s.relay.Run(ctx) }() // ends with the context
	}
	s.log.Info().Str("address", s.address()).Msg("serving")
	caughtUp := make(chan struct{})
	go func() {
		defer close(caughtUp)
		s.catchUp(ctx)
	}()

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("serve: %w", err)
		cancel()
	case err = <-worked:
		worked <- nil
		cancel()
	}
	shutdown, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer done()
	err = errors.Join(err, s.http.Shutdown(shutdown), <-worked)
	<-caughtUp
	s.log.Info().Msg("stopped")
	return err
}

// catchUp has GitHub send again what was sent while nobody listened. Without it the server works as well.
func (s *server) catchUp(ctx context.Context) {
	n, err := s.redeliver(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		s.log.Warn().Err(err).Int("redelivered", n).Msg("what GitHub sent while the server was down may be missed; its page of the App's deliveries shows it")
	case n > 0:
		s.log.Info().Int("redelivered", n).Msg("GitHub sends again what it sent while the server was down")
	}
}
