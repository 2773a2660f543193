package setup

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/google/go-github/v62/github"
)

// Server is a GitHub's addresses.
type Server struct {
	Web, V3, V4 string
}

// ServerAt derives the addresses of a GitHub from its web address: github.com, GitHub Enterprise Cloud
// with data residency (NAME.ghe.com), or an Enterprise Server.
func ServerAt(web string) (Server, error) {
	u, err := url.Parse(strings.TrimSuffix(web, "/"))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Server{}, fmt.Errorf("%q is not the address of a GitHub, like https://github.example.org", web)
	}
	base := u.Scheme + "://" + u.Host
	switch host := strings.ToLower(u.Hostname()); {
	case host == "github.com" || host == "www.github.com":
		return Server{"https://github.com", "https://api.github.com/", "https://api.github.com/graphql"}, nil
	case strings.HasSuffix(host, ".ghe.com"):
		return Server{base, "https://api." + host + "/", "https://api." + host + "/graphql"}, nil
	}
	return Server{base, base + "/api/v3/", base + "/api/graphql"}, nil
}

// Flow is one making of an App. It serves the local page and what GitHub sends the browser back to.
type Flow struct {
	GitHub Server
	// Base is this page's own address, like http://127.0.0.1:8090.
	Base string
	// Dir is where the credentials go.
	Dir string
	// Events are those that the handlers use.
	Events []string
	// Client asks GitHub for the credentials.
	Client *http.Client
	// Suggested fills the form in.
	Suggested Choices

	state string // ties what comes back to this flow, and the form to this page
	done  chan Result
	mutex sync.Mutex
	chose *Choices
	over  bool
}

// Result is the App that was made.
type Result struct {
	Slug, Page       string
	Install          string // where to install it
	KeyFile, EnvFile string
	Relay            string // the webhook relay's channel, "" for none
}

// NewFlow prepares a flow.
func NewFlow(f *Flow) *Flow {
	f.state, f.done = rand.Text(), make(chan Result, 1)
	if f.Client == nil {
		f.Client = http.DefaultClient
	}
	return f
}

// Wait returns the App once it was made.
func (f *Flow) Wait(ctx context.Context) (Result, error) {
	select {
	case r := <-f.done:
		return r, nil
	case <-ctx.Done():
		return Result{}, fmt.Errorf("no App was made: %w", context.Cause(ctx))
	}
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// view is what the page shows.
type view struct {
	Problem  string
	State    string
	Choices  Choices
	GitHub   string
	Action   string // of GitHub's form; set once the choices hold
	Manifest string
	Result   *Result
}

// ServeHTTP implements http.Handler. Requests under another name than this page's own are refused:
// a page elsewhere must not be able to use a person's browser to get here.
func (f *Flow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own, err := url.Parse(f.Base)
	if err != nil || r.Host != own.Host {
		http.Error(w, "this page is "+f.Base, http.StatusMisdirectedRequest)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /":
		f.show(w, http.StatusOK, view{Choices: f.Suggested})
	case "POST /":
		f.choose(w, r)
	case "GET /done":
		f.finish(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *Flow) show(w http.ResponseWriter, status int, v view) {
	v.State, v.GitHub = f.state, f.GitHub.Web
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_ = page.Execute(w, v) // the browser may be gone
}

// mine says whether a request carries this flow's state.
func (f *Flow) mine(state string) bool {
	return subtle.ConstantTimeCompare([]byte(state), []byte(f.state)) == 1
}

// choose takes the form and shows the button that leads to GitHub.
func (f *Flow) choose(w http.ResponseWriter, r *http.Request) {
	const mostForm = 64 << 10
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if !f.mine(r.PostFormValue("state")) {
		http.Error(w, "this form is not of this page; open "+f.Base, http.StatusForbidden)
		return
	}
	c := Choices{
		Name: r.PostFormValue("name"), Organization: strings.TrimSpace(r.PostFormValue("organization")), Public: strings.TrimSpace(r.PostFormValue("public")),
		Relay: strings.TrimSpace(r.PostFormValue("relay")), ActionsLogs: r.PostFormValue("actions") != "", Statuses: r.PostFormValue("statuses") != "",
	}
	m, err := c.manifest(f.Events, f.Base+"/done")
	if err != nil {
		f.show(w, http.StatusUnprocessableEntity, view{Choices: c, Problem: err.Error()})
		return
	}
	text, err := json.Marshal(m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	f.mutex.Lock()
	f.chose = &c
	f.mutex.Unlock()
	action := f.GitHub.Web + "/settings/apps/new"
	if c.Organization != "" {
		action = f.GitHub.Web + "/organizations/" + url.PathEscape(c.Organization) + "/settings/apps/new"
	}
	f.show(w, http.StatusOK, view{Choices: c, Action: action + "?state=" + f.state, Manifest: string(text)})
}

// finish exchanges the code that GitHub sent the browser back with, once.
func (f *Flow) finish(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	if !f.mine(r.URL.Query().Get("state")) || code == "" {
		http.Error(w, "this does not come from the page that was opened here; begin again at "+f.Base, http.StatusForbidden)
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.chose == nil || f.over {
		http.Error(w, "there is nothing to finish; begin again at "+f.Base, http.StatusConflict)
		return
	}
	result, err := f.exchange(r.Context(), code, *f.chose)
	if err != nil {
		f.show(w, http.StatusBadGateway, view{Choices: *f.chose, Problem: err.Error()})
		return
	}
	f.over = true
	f.show(w, http.StatusOK, view{Result: &result})
	f.done <- result
}

// exchange asks GitHub for the credentials and writes them.
func (f *Flow) exchange(ctx context.Context, code string, c Choices) (Result, error) {
	places, err := take(f.Dir)
	if err != nil {
		return Result{}, err
	}
	client := github.NewClient(f.Client)
	if client.BaseURL, err = url.Parse(strings.TrimSuffix(f.GitHub.V3, "/") + "/"); err != nil {
		return Result{}, errors.Join(fmt.Errorf("the REST address: %w", err), places.drop())
	}
	app, _, err := client.Apps.CompleteAppManifest(ctx, code)
	if err == nil && (app.GetID() == 0 || app.GetPEM() == "" || app.GetWebhookSecret() == "") {
		err = errors.New("the answer lacks id, key or webhook secret")
	}
	if err != nil {
		return Result{}, errors.Join(fmt.Errorf("GitHub gave no credentials (a code holds for an hour, and once): %w", err), places.drop())
	}
	if err := places.write(app, f.GitHub, c); err != nil {
		return Result{}, fmt.Errorf("the App %s was made, but its credentials could not be written: %w; make a new key and secret on %s", app.GetSlug(), err, app.GetHTMLURL())
	}
	page := app.GetHTMLURL()
	if page == "" {
		page = f.GitHub.Web + "/apps/" + app.GetSlug()
	}
	return Result{Slug: app.GetSlug(), Page: page, Install: page + "/installations/new", KeyFile: places.key.Name(), EnvFile: places.env.Name(), Relay: c.Relay}, nil
}
