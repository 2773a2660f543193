package panel

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

//go:embed pages/*
var files embed.FS

// Store is what the panel reads.
type Store interface {
	Runs(ctx context.Context, filter loop.RunFilter) ([]loop.RunInfo, error)
	Snapshot(ctx context.Context, run string) (loop.Snapshot, error)
	Ledger(ctx context.Context, run string) ([]loop.Usage, error)
	Artifacts(ctx context.Context, run string) ([]string, error)
	Artifact(ctx context.Context, run, name string) ([]byte, error)
	// Watch gives a value after each change of a run, or of any where run is empty.
	Watch(ctx context.Context, run string) (<-chan struct{}, error)
}

// Panel serves the pages.
type Panel struct {
	store Store
	pages *template.Template
	mux   *http.ServeMux
}

// New lays the pages out.
func New(store Store) *Panel {
	p := &Panel{store: store, mux: http.NewServeMux()}
	p.pages = template.Must(template.New("").Funcs(template.FuncMap{
		"spent": loop.SpentText, "proof": loop.ProofText, "criterion": loop.CriterionText, "stages": loop.Stages,
		"when": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"ms":   func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	}).ParseFS(files, "pages/*.html"))
	p.mux.HandleFunc("GET /{$}", p.list)
	p.mux.HandleFunc("GET /runs/{run}", p.run)
	p.mux.HandleFunc("GET /runs/{run}/events", p.events)
	p.mux.HandleFunc("GET /events", p.events)
	p.mux.HandleFunc("GET /runs/{run}/files/{name...}", p.file)
	p.mux.Handle("GET /pages/", http.FileServerFS(files))
	return p
}

// ServeHTTP sets the headers that keep foreign content out, and answers loopback only: there is no
// login yet, and runs show source code.
func (p *Panel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() || !localName(r.Host) || r.Header.Get("X-Forwarded-For") != "" {
		http.Error(w, "the panel answers on this machine only", http.StatusForbidden)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	p.mux.ServeHTTP(w, r)
}

// localName refuses names that a foreign page could have pointed at this machine.
func localName(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// show renders a page whole before the first byte is sent.
func (p *Panel) show(w http.ResponseWriter, r *http.Request, page string, data any) {
	var b bytes.Buffer
	if err := p.pages.ExecuteTemplate(&b, page, data); err != nil {
		zerolog.Ctx(r.Context()).Error().Err(err).Str("page", page).Msg("a page could not be rendered")
		http.Error(w, "this page could not be rendered; the log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = b.WriteTo(w)
}

func (p *Panel) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, loop.ErrNotFound) {
		http.Error(w, "there is no such run", http.StatusNotFound)
		return
	}
	zerolog.Ctx(r.Context()).Error().Err(err).Msg("the store does not answer")
	http.Error(w, "the store does not answer; the log says why", http.StatusInternalServerError)
}

func (p *Panel) list(w http.ResponseWriter, r *http.Request) {
	runs, err := p.store.Runs(r.Context(), loop.RunFilter{})
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.show(w, r, "runs.html", runs)
}

// runPage is what the page of a run shows.
type runPage struct {
	loop.Snapshot
	Ledger []loop.Usage
	Files  []string
}

func (p *Panel) run(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("run")
	snapshot, err := p.store.Snapshot(r.Context(), id)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	page := runPage{Snapshot: snapshot}
	if page.Ledger, err = p.store.Ledger(r.Context(), id); err != nil {
		p.fail(w, r, err)
		return
	}
	names, err := p.store.Artifacts(r.Context(), id)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	for _, name := range names {
		if loop.Readable(name) {
			page.Files = append(page.Files, name)
		}
	}
	p.show(w, r, "run.html", page)
}

// file shows an artifact as plain text: whatever a repository wrote into it stays text.
func (p *Panel) file(w http.ResponseWriter, r *http.Request) {
	data, err := p.store.Artifact(r.Context(), r.PathValue("run"), r.PathValue("name"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(data)
}

// keepAlive is how often a silent stream shows that it lives, below what proxies cut.
const keepAlive = 20 * time.Second

// events tells the page that something changed; the page then loads itself anew.
func (p *Panel) events(w http.ResponseWriter, r *http.Request) {
	changes, err := p.store.Watch(r.Context(), r.PathValue("run"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	stream := http.NewResponseController(w)
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	for {
		if err := stream.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case _, open := <-changes:
			if !open {
				return
			}
			fmt.Fprint(w, "event: changed\ndata: {}\n\n")
		case <-ticker.C:
			fmt.Fprint(w, ": alive\n\n")
		}
	}
}
