package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// TestLocateRenewsTokens: after a repository was looked for, no token is used that GitHub has taken for bad,
// neither the ones for git, and the repository is had by the name that it has by then.
func TestLocateRenewsTokens(t *testing.T) {
	w := newWorld(t)
	repo := w.s.Task.Repo
	old := map[loop.Access]string{}
	for _, access := range []loop.Access{loop.AccessRead, loop.AccessPush} {
		token, _, err := w.Clients.Token(w.ctx, repo, access)
		w.must(err)
		old[access] = token
	}
	w.ExpireTokens()
	w.must(w.As("mary").Rename(testRepo, "gadgets"))
	now, err := w.Locate(w.ctx, repo)
	w.must(err)
	if now.Name != "gadgets" || now.ID != repo.ID || !strings.HasSuffix(now.CloneURL, "/acme/gadgets.git") {
		t.Errorf("%+v", now)
	}
	for access, before := range old {
		token, _, err := w.Clients.Token(w.ctx, now, access)
		w.must(err)
		if token == before {
			t.Errorf("%s: the token is the old one", access)
		}
	}
	w.must(w.As("mary").DeleteRepository("acme/gadgets"))
	if _, err := w.Locate(w.ctx, now); !errors.Is(err, loop.ErrNoAccess) {
		t.Errorf("a repository that is gone: %v", err)
	}
}

// TestAttack89TokenRequests: each token is for one repository, with the least permissions, and apart
// for reading, pushing and the API.
func TestAttack89TokenRequests(t *testing.T) {
	w := newWorld(t)
	w.restart(nil)
	_, err := w.CanWrite(w.ctx, w.s.Task.Repo, "mary")
	w.must(err)
	for _, access := range []loop.Access{loop.AccessRead, loop.AccessPush} {
		token, expires, err := w.Clients.Token(w.ctx, w.s.Task.Repo, access)
		w.must(err)
		if token == "" || expires.Before(w.clock.Now()) {
			t.Errorf("%s: %q until %s", access, token, expires)
		}
	}
	var got []string
	for _, r := range w.Requests() {
		if !strings.Contains(r.Route, "access_tokens") {
			continue
		}
		var body struct {
			RepositoryIDs []int64           `json:"repository_ids"`
			Repositories  []string          `json:"repositories"`
			Permissions   map[string]string `json:"permissions"`
		}
		w.must(json.Unmarshal([]byte(r.Body), &body))
		if len(body.RepositoryIDs)+len(body.Repositories) != 1 {
			t.Errorf("not one repository: %s", r.Body)
		}
		got = append(got, fmt.Sprint(body.Permissions))
	}
	want := []string{
		"map[checks:write contents:read issues:write metadata:read pull_requests:write]",
		"map[contents:read metadata:read]", "map[contents:write metadata:read]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("permissions\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTokensAreRenewed: GitHub may take a token for bad before its time.
func TestTokensAreRenewed(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		if may, err := w.CanWrite(w.ctx, w.s.Task.Repo, "mary"); err != nil || !may {
			t.Errorf("%v, %v", may, err)
		}
		w.ExpireTokens()
	}
	w.must(w.Reply(w.ctx, w.s.Task.Repo, w.issue, "k", "text"))
}

// TestNoToken: what stays refused is told with the remedy, what passes is not.
func TestNoToken(t *testing.T) {
	w := newWorld(t)
	w.restart(nil)
	w.Fault(githubtest.Fault{Route: "POST /app/installations/{id}/access_tokens", Status: http.StatusBadGateway, Times: 2})
	if _, err := w.CanWrite(w.ctx, w.s.Task.Repo, "mary"); err != nil {
		t.Errorf("a passing error: %v", err)
	}
	w.must(w.As("mary").Suspend("acme"))
	w.restart(nil)
	_, _, err := w.Clients.Token(w.ctx, w.s.Task.Repo, loop.AccessPush)
	if !errors.Is(err, loop.ErrNoAccess) || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("error %v", err)
	}
	_, err = w.Repository(w.ctx, 99, 99, "acme", "widgets")
	if !errors.Is(err, loop.ErrNoAccess) {
		t.Errorf("an installation that there is not: %v", err)
	}
}

// TestConditionalRequests: what has not changed costs nothing of the rate limit; what has is seen at
// once, permissions above all.
func TestConditionalRequests(t *testing.T) {
	w := newWorld(t)
	ask := func(want bool) {
		t.Helper()
		may, err := w.CanWrite(w.ctx, w.s.Task.Repo, "mary")
		w.must(err)
		if may != want {
			t.Errorf("may write: %v", may)
		}
	}
	ask(true)
	ask(true)
	requests := w.Requests()
	if last := requests[len(requests)-1]; last.Status != http.StatusNotModified {
		t.Errorf("asked again: %s", last)
	}
	w.must(w.SetRole(testRepo, "mary", githubtest.RoleRead))
	ask(false)
	w.must(w.SetRole(testRepo, "mary", githubtest.RoleAdmin))
	ask(true)
}

func TestClientConfig(t *testing.T) {
	w := newWorld(t)
	good := w.clientConfig()
	for name, c := range map[string]struct {
		change func(*ClientConfig)
		want   string
	}{
		"good": {func(*ClientConfig) {}, ""},
		"enterprise": {func(c *ClientConfig) {
			c.WebURL, c.V3URL, c.V4URL = "https://ghe.example", "https://ghe.example/api/v3", "https://ghe.example/api/graphql"
		}, ""},
		"plain http":    {func(c *ClientConfig) { c.V3URL = "http://ghe.example/api/v3" }, "GITHUB_V3_API_URL"},
		"no URL":        {func(c *ClientConfig) { c.WebURL = "ghe.example" }, "GITHUB_WEB_URL"},
		"like loopback": {func(c *ClientConfig) { c.V4URL = "http://127.evil.example/" }, "GITHUB_V4_API_URL"},
		"no id":         {func(c *ClientConfig) { c.AppID = 0 }, "GITHUB_APP_INTEGRATION_ID"},
		"no key":        {func(c *ClientConfig) { c.PrivateKey = []byte("canary-key") }, "GITHUB_APP_PRIVATE_KEY"},
	} {
		config := good
		c.change(&config)
		_, err := NewClients(config)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEnterpriseAddresses: everything goes to the addresses that are configured.
func TestEnterpriseAddresses(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		rw.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/access_tokens") {
			rw.WriteHeader(http.StatusCreated)
			fmt.Fprintf(rw, `{"token":"x","expires_at":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339))
			return
		}
		fmt.Fprint(rw, `{"data":{"repository":{"issue":{"number":1,"body":"b"}}},"id":5,"permission":"write"}`)
	}))
	defer server.Close()
	w := newWorld(t)
	config := w.clientConfig()
	config.WebURL, config.V3URL, config.V4URL = server.URL, server.URL+"/some/api/v3", server.URL+"/some/api/graphql"
	clients, err := NewClients(config)
	w.must(err)
	p, err := New(Config{Clients: clients, AppSlug: "autocode"})
	w.must(err)
	repo := loop.Repo{ID: 5, Owner: "o", Name: "n", Installation: 3}
	_, err = p.CanWrite(context.Background(), repo, "mary")
	w.must(err)
	_, err = p.BodyBefore(context.Background(), repo, 1, time.Now())
	w.must(err)
	want := "/some/api/v3/app/installations/3/access_tokens /some/api/v3/repos/o/n/collaborators/mary/permission /some/api/graphql"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked %s", got)
	}
}

func TestAttack90ConfigurationHidesItsKey(t *testing.T) {
	w := newWorld(t)
	config := w.clientConfig()
	line := strings.Split(string(config.PrivateKey), "\n")[1]
	decimal := strings.Trim(fmt.Sprintf("%d", config.PrivateKey[:10]), "[]") // as %v shows bytes
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{config, &config, w.Clients, w.Publisher.Config} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, line) || strings.Contains(text, decimal) || strings.Contains(text, fmt.Sprintf("%x", config.PrivateKey)[:40]) {
				t.Errorf("%s of %T: %.200s", verb, value, text)
			}
		}
	}
}
