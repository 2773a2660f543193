package setup_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/handlers/setup"
)

// patience only bounds a test that would hang.
const patience = 5 * time.Minute

// world is a stand-in GitHub, a flow on a page of its own, and a browser.
type world struct {
	t      *testing.T
	ctx    context.Context
	github *githubtest.Server
	flow   *setup.Flow
	base   string
	dir    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	github, err := githubtest.New(githubtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = github.Close() })
	w := &world{t: t, ctx: ctx, github: github, dir: filepath.Join(t.TempDir(), "credentials")}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.flow.ServeHTTP(rw, r) }))
	t.Cleanup(server.Close)
	w.base = server.URL
	at, err := setup.ServerAt(github.URL())
	if err != nil {
		t.Fatal(err)
	}
	w.flow = setup.NewFlow(&setup.Flow{GitHub: at, Base: server.URL, Dir: w.dir, Events: []string{"issues", "push", "status", "installation", "installation_repositories"}})
	return w
}

// get and post are what a browser does; they return the status and the page.
func (w *world) get(address string) (int, string) {
	w.t.Helper()
	resp, err := http.Get(address)
	return w.read(resp, err)
}

func (w *world) post(address string, form url.Values) (int, string) {
	w.t.Helper()
	resp, err := http.PostForm(address, form)
	return w.read(resp, err)
}

func (w *world) read(resp *http.Response, err error) (int, string) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// field takes the value of a form's hidden field.
func field(page, name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

func action(page string) string {
	m := regexp.MustCompile(`action="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

// TestSetup goes through the whole of it: page, choices, GitHub's form, the way back, credentials.
func TestSetup(t *testing.T) {
	for name, organization := range map[string]string{"own account": "", "organisation": "acme"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, page := w.get(w.base + "/")
			status, page := w.post(w.base+"/", url.Values{
				"state": {field(page, "state")}, "name": {"my loop"}, "organization": {organization}, "public": {"https://autocode.example.org/"}, "actions": {"1"},
			})
			manifest := field(page, "manifest")
			if status != http.StatusOK || manifest == "" {
				t.Fatalf("%d: %s", status, page)
			}
			for _, part := range []string{`"url":"https://autocode.example.org/api/github/hook"`, `"actions":"read"`, `"contents":"write"`, `"default_events":["issues","push"]`, `"public":false`} {
				if !strings.Contains(manifest, part) {
					t.Errorf("the manifest lacks %s: %s", part, manifest)
				}
			}
			if strings.Contains(manifest, "statuses") || strings.Contains(manifest, "installation") || strings.Contains(manifest, "workflows") {
				t.Errorf("the manifest asks for more than was chosen: %s", manifest)
			}
			if organization != "" && !strings.Contains(action(page), "/organizations/acme/settings/apps/new?") {
				t.Errorf("the form goes to %s", action(page))
			}
			status, page = w.post(action(page), url.Values{"manifest": {manifest}}) // GitHub sends the browser back
			if status != http.StatusOK || !strings.Contains(page, "/installations/new") {
				t.Fatalf("%d: %s", status, page)
			}
			made, err := w.flow.Wait(w.ctx)
			if err != nil {
				t.Fatal(err)
			}
			env := readSecret(t, made.EnvFile)
			key := readSecret(t, made.KeyFile)
			if !strings.HasPrefix(key, "-----BEGIN RSA PRIVATE KEY-----") {
				t.Error("the key is none")
			}
			for _, part := range []string{"GITHUB_APP_INTEGRATION_ID='", "GITHUB_APP_WEBHOOK_SECRET='", "GITHUB_APP_PRIVATE_KEY_FILE='/", "GITHUB_WEB_URL='" + w.github.URL(), "GITHUB_V3_API_URL='" + w.github.V3URL(), "AUTOCODE_PUBLIC_URL='https://autocode.example.org'"} {
				if !strings.Contains(env, part) {
					t.Errorf("%s lacks %s", setup.EnvFile, part)
				}
			}
			if strings.Contains(page, "BEGIN RSA") {
				t.Error("the page shows the key")
			}
			if status, _ := w.get(w.base + "/done?code=x&state=" + url.QueryEscape(field(page, "state"))); status == http.StatusOK {
				t.Error("the flow ends twice")
			}
		})
	}
}

func readSecret(t *testing.T, name string) string {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %o", name, info.Mode().Perm())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSetupRefuses: choices that GitHub would refuse, and what comes from elsewhere.
func TestSetupRefuses(t *testing.T) {
	w := newWorld(t)
	_, page := w.get(w.base + "/")
	state := field(page, "state")
	for name, c := range map[string]struct {
		form   url.Values
		status int
		says   string
	}{
		"no address":      {url.Values{"name": {"a"}}, http.StatusUnprocessableEntity, "GitHub must reach this server"},
		"localhost":       {url.Values{"name": {"a"}, "public": {"http://localhost:8080"}}, http.StatusUnprocessableEntity, "webhook relay"},
		"loopback":        {url.Values{"name": {"a"}, "public": {"https://127.0.0.2"}}, http.StatusUnprocessableEntity, "--webhook-relay"},
		"IPv6 loopback":   {url.Values{"name": {"a"}, "public": {"https://[::1]/"}}, http.StatusUnprocessableEntity, "--webhook-relay"},
		"both":            {url.Values{"name": {"a"}, "public": {"https://a.example"}, "relay": {"https://smee.io/x"}}, http.StatusUnprocessableEntity, "not both"},
		"no URL":          {url.Values{"name": {"a"}, "public": {"autocode"}}, http.StatusUnprocessableEntity, "is not a URL"},
		"password":        {url.Values{"name": {"a"}, "public": {"https://u:p@a.example"}}, http.StatusUnprocessableEntity, "more than an address"},
		"no name":         {url.Values{"public": {"https://a.example"}}, http.StatusUnprocessableEntity, "1 to 34"},
		"long name":       {url.Values{"name": {strings.Repeat("a", 35)}, "public": {"https://a.example"}}, http.StatusUnprocessableEntity, "1 to 34"},
		"organisation":    {url.Values{"name": {"a"}, "organization": {"../x"}, "public": {"https://a.example"}}, http.StatusUnprocessableEntity, "organisation"},
		"another's state": {url.Values{"name": {"a"}, "public": {"https://a.example"}, "state": {"guess"}}, http.StatusForbidden, "not of this page"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.form.Get("state") == "" {
				c.form.Set("state", state)
			}
			status, page := w.post(w.base+"/", c.form)
			if status != c.status || !strings.Contains(html.UnescapeString(page), c.says) || field(page, "manifest") != "" {
				t.Errorf("%d: %s", status, page)
			}
		})
	}
	if status, _ := w.get(w.base + "/done?code=x&state=guess"); status != http.StatusForbidden {
		t.Errorf("a way back with another state: %d", status)
	}
	request, err := http.NewRequest(http.MethodGet, w.base+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example"
	resp, err := http.DefaultClient.Do(request)
	if status, _ := w.read(resp, err); status != http.StatusMisdirectedRequest {
		t.Errorf("another host's name: %d", status)
	}
}

// TestSetupFails: a code that GitHub does not know leaves no files, and credentials are never overwritten.
func TestSetupFails(t *testing.T) {
	w := newWorld(t)
	_, page := w.get(w.base + "/")
	state := field(page, "state")
	w.post(w.base+"/", url.Values{"state": {state}, "name": {"a"}, "relay": {"https://smee.io/x"}})
	status, page := w.get(w.base + "/done?code=unknown&state=" + state)
	if status != http.StatusBadGateway || !strings.Contains(page, "gave no credentials") {
		t.Errorf("%d: %s", status, page)
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	mine := filepath.Join(w.dir, setup.KeyFile)
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, page = w.get(w.base + "/done?code=unknown&state=" + state)
	if text, err := os.ReadFile(mine); status != http.StatusBadGateway || !strings.Contains(page, "not overwritten") || err != nil || string(text) != "mine" {
		t.Errorf("%d: %s; the file holds %q", status, page, text)
	}
}

func TestServerAt(t *testing.T) {
	for web, want := range map[string]setup.Server{
		"https://github.com":            {Web: "https://github.com", V3: "https://api.github.com/", V4: "https://api.github.com/graphql"},
		"https://www.github.com/":       {Web: "https://github.com", V3: "https://api.github.com/", V4: "https://api.github.com/graphql"},
		"https://acme.ghe.com":          {Web: "https://acme.ghe.com", V3: "https://api.acme.ghe.com/", V4: "https://api.acme.ghe.com/graphql"},
		"https://git.example.org:8443/": {Web: "https://git.example.org:8443", V3: "https://git.example.org:8443/api/v3/", V4: "https://git.example.org:8443/api/graphql"},
		"git.example.org":               {},
		"":                              {},
	} {
		got, err := setup.ServerAt(web)
		if got != want || (err == nil) != (want.Web != "") {
			t.Errorf("%q: %+v, %v", web, got, err)
		}
	}
}
