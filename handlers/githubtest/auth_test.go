package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"
	"github.com/google/go-github/v62/github"
)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestJWT(t *testing.T) {
	w := newWorld(t)
	other, err := rsa.GenerateKey(rand.Reader, appKeyBits)
	w.must(err)
	now := time.Now()
	at := func(d time.Duration) *jwt.NumericDate { return jwt.NewNumericDate(now.Add(d)) }
	cases := []struct {
		name   string
		key    any
		method jwt.SigningMethod
		claims jwt.RegisteredClaims
		want   int
	}{
		{"good", w.key, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: "4711", IssuedAt: at(-time.Minute), ExpiresAt: at(5 * time.Minute)}, 200},
		{"client id as issuer", w.key, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: w.app2().ClientID, IssuedAt: at(-time.Minute), ExpiresAt: at(5 * time.Minute)}, 200},
		{"another key", other, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: "4711", IssuedAt: at(0), ExpiresAt: at(5 * time.Minute)}, 401},
		{"another App", w.key, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: "1", IssuedAt: at(0), ExpiresAt: at(5 * time.Minute)}, 401},
		{"expired", w.key, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: "4711", IssuedAt: at(-time.Hour), ExpiresAt: at(-time.Minute)}, 401},
		{"longer than ten minutes", w.key, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: "4711", IssuedAt: at(0), ExpiresAt: at(15 * time.Minute)}, 401},
		{"from the future", w.key, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: "4711", IssuedAt: at(3 * time.Minute), ExpiresAt: at(5 * time.Minute)}, 401},
		{"no expiry", w.key, jwt.SigningMethodRS256, jwt.RegisteredClaims{Issuer: "4711", IssuedAt: at(0)}, 401},
		{"another algorithm", []byte("secret"), jwt.SigningMethodHS256, jwt.RegisteredClaims{Issuer: "4711", IssuedAt: at(0), ExpiresAt: at(5 * time.Minute)}, 401},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			raw, err := jwt.NewWithClaims(c.method, c.claims).SignedString(c.key)
			w.must(err)
			if got := w.status(http.MethodGet, "/api/v3/app", "Bearer "+raw, ""); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
		})
	}
}

// app2 is the App under test as the server knows it.
func (w *world) app2() *app { return w.Server.app }

// status makes a plain request and returns the answer's status.
func (w *world) status(method, path, authorization, body string) int {
	w.t.Helper()
	status, _, _ := w.plain(method, path, authorization, body)
	return status
}

// plain makes a request without any client library.
func (w *world) plain(method, path, authorization, body string) (int, string, http.Header) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.ctx, method, w.URL()+path, strings.NewReader(body))
	w.must(err)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	w.must(err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	w.must(err)
	return resp.StatusCode, string(out), resp.Header
}

func TestTokenExpiryAndScope(t *testing.T) {
	w := newWorld(t)
	_, err := w.CreateRepository(RepositoryOptions{Owner: testOwner, Name: "other", Private: true, Files: sample})
	w.must(err)
	id := w.InstallationID(testRepo)
	token := func(o *github.InstallationTokenOptions) (*github.Client, error) {
		t, _, err := w.app.Apps.CreateInstallationToken(w.ctx, id, o)
		if err != nil {
			return nil, err
		}
		return w.withToken(t.GetToken()), nil
	}
	readOnly, err := token(&github.InstallationTokenOptions{Repositories: []string{testName}, Permissions: &github.InstallationPermissions{Contents: github.String("read"), Issues: github.String("read")}})
	w.must(err)
	n := w.issue()
	_, _, err = readOnly.Issues.Get(w.ctx, testOwner, testName, n)
	w.must(err)
	_, _, err = readOnly.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("x")})
	w.wantStatus(err, http.StatusForbidden)
	if !strings.Contains(err.Error(), "Resource not accessible by integration") {
		t.Errorf("message %v", err)
	}
	_, _, err = readOnly.Repositories.Get(w.ctx, testOwner, "other")
	w.wantStatus(err, http.StatusNotFound)
	_, _, err = w.inst.Repositories.Get(w.ctx, testOwner, "other")
	w.must(err)
	_, err = token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Administration: github.String("write")}})
	w.wantStatus(err, http.StatusUnprocessableEntity)
	_, err = token(&github.InstallationTokenOptions{Repositories: []string{"nowhere"}})
	w.wantStatus(err, http.StatusUnprocessableEntity)
	_, err = token(&github.InstallationTokenOptions{RepositoryIDs: []int64{1}})
	w.wantStatus(err, http.StatusUnprocessableEntity)
	_, err = readOnly.Apps.RevokeInstallationToken(w.ctx)
	w.must(err)
	_, _, err = readOnly.Issues.Get(w.ctx, testOwner, testName, n)
	w.wantStatus(err, http.StatusUnauthorized)
	w.must(w.As("mary").Suspend(testOwner))
	_, err = token(nil)
	w.wantStatus(err, http.StatusForbidden)
	_, _, err = w.inst.Issues.Get(w.ctx, testOwner, testName, n)
	w.wantStatus(err, http.StatusForbidden)
}

func TestTokenEndsAfterAnHour(t *testing.T) {
	c := &clock{now: time.Now()}
	w := newWorld(t, func(o *Options, _ *RepositoryOptions) { o.Now = c.Now })
	client := w.withToken(w.token(nil))
	c.add(59 * time.Minute)
	_, _, err := client.Repositories.Get(w.ctx, testOwner, testName)
	w.must(err)
	c.add(2 * time.Minute)
	_, _, err = client.Repositories.Get(w.ctx, testOwner, testName)
	w.wantStatus(err, http.StatusUnauthorized)
}

func TestPermissionEndpoint(t *testing.T) {
	w := newWorld(t, func(_ *Options, r *RepositoryOptions) { r.Private = true })
	cases := []struct {
		role             Role
		permission, name string
	}{
		{RoleAdmin, "admin", "admin"},
		{RoleMaintain, "write", "maintain"},
		{RoleWrite, "write", "write"},
		{RoleTriage, "read", "triage"},
		{RoleRead, "read", "read"},
		{"", "none", "none"},
	}
	for _, c := range cases {
		login := "user-" + c.name
		w.AddUser(login)
		if c.role != "" {
			w.must(w.SetRole(testRepo, login, c.role))
		}
		got, _, err := w.inst.Repositories.GetPermissionLevel(w.ctx, testOwner, testName, login)
		w.must(err)
		if got.GetPermission() != c.permission || got.GetUser().GetRoleName() != c.name {
			t.Errorf("%s: permission %s, role %s; want %s", c.name, got.GetPermission(), got.GetUser().GetRoleName(), c.permission)
		}
	}
	_, _, err := w.inst.Repositories.GetPermissionLevel(w.ctx, testOwner, testName, "nobody-at-all")
	w.wantStatus(err, http.StatusNotFound)
	w.must(w.RemoveRole(testRepo, "user-write"))
	got, _, err := w.inst.Repositories.GetPermissionLevel(w.ctx, testOwner, testName, "user-write")
	w.must(err)
	if got.GetPermission() != "none" {
		t.Errorf("permission %s after the role was taken away", got.GetPermission())
	}
}

func TestPeopleByAPI(t *testing.T) {
	w := newWorld(t)
	w.must(w.SetRole(testRepo, "tina", RoleTriage))
	n := w.issue()
	eve, tina, mary := w.as("eve"), w.as("tina"), w.as("mary")
	_, _, err := eve.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("me too")})
	w.must(err)
	_, _, err = eve.Issues.AddLabelsToIssue(w.ctx, testOwner, testName, n, []string{"bug"})
	w.wantStatus(err, http.StatusForbidden)
	_, _, err = tina.Issues.AddLabelsToIssue(w.ctx, testOwner, testName, n, []string{"bug"})
	w.must(err)
	_, _, err = tina.Git.CreateRef(w.ctx, testOwner, testName, &github.Reference{Ref: github.String("refs/heads/x"), Object: &github.GitObject{SHA: &w.head}})
	w.wantStatus(err, http.StatusForbidden)
	_, _, err = mary.Git.CreateRef(w.ctx, testOwner, testName, &github.Reference{Ref: github.String("refs/heads/x"), Object: &github.GitObject{SHA: &w.head}})
	w.must(err)
	_, _, err = mary.Checks.CreateCheckRun(w.ctx, testOwner, testName, github.CreateCheckRunOptions{Name: "x", HeadSHA: w.head})
	w.wantStatus(err, http.StatusForbidden)
	i, _, err := eve.Issues.Create(w.ctx, testOwner, testName, &github.IssueRequest{Title: github.String("x"), Labels: &[]string{"bug"}})
	w.must(err)
	if len(i.Labels) != 0 {
		t.Error("an outsider's label was taken")
	}
	if got := w.status(http.MethodPost, "/api/v3/repos/"+testRepo+"/issues", "", `{"title":"x"}`); got != http.StatusUnauthorized {
		t.Errorf("a stranger's issue: status %d", got)
	}
	if got := w.status(http.MethodGet, "/repos/"+testRepo, "", ""); got != http.StatusOK {
		t.Errorf("a public repository for a stranger, at the root: status %d", got)
	}
}

func TestOAuthLogin(t *testing.T) {
	w := newWorld(t)
	id, secret := w.OAuthClient()
	ask := "/login/oauth/authorize?" + url.Values{"client_id": {id}, "redirect_uri": {"http://127.0.0.1/back"}, "state": {"s1"}}.Encode()
	if got := w.status(http.MethodGet, ask, "", ""); got != http.StatusForbidden {
		t.Fatalf("nobody signed in: status %d", got)
	}
	w.SetLogin("mary")
	status, _, header := w.plain(http.MethodGet, ask, "", "")
	to, err := url.Parse(header.Get("Location"))
	w.must(err)
	if status != http.StatusFound || to.Query().Get("state") != "s1" {
		t.Fatalf("status %d, location %s", status, to)
	}
	form := url.Values{"client_id": {id}, "client_secret": {secret}, "code": {to.Query().Get("code")}}
	for round, want := range []string{"access_token", "bad_verification_code"} {
		resp, err := http.PostForm(w.URL()+"/login/oauth/access_token", form)
		w.must(err)
		body, err := io.ReadAll(resp.Body)
		w.must(err)
		w.must(resp.Body.Close())
		if !strings.Contains(string(body), want) {
			t.Errorf("exchange %d: %s, want %s", round, body, want)
		}
	}
}

func TestManifestFlow(t *testing.T) {
	w := newWorld(t)
	manifest := `{"name":"My Loop!","redirect_url":"http://127.0.0.1:9/done","default_permissions":{"issues":"write"},"default_events":["issues"]}`
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(w.URL()+"/settings/apps/new?state=abc", url.Values{"manifest": {manifest}})
	w.must(err)
	w.must(resp.Body.Close())
	to, err := url.Parse(resp.Header.Get("Location"))
	w.must(err)
	if to.Host != "127.0.0.1:9" || to.Query().Get("state") != "abc" {
		t.Fatalf("location %s", to)
	}
	gh := w.client(nil)
	config, _, err := gh.Apps.CompleteAppManifest(w.ctx, to.Query().Get("code"))
	w.must(err)
	if config.GetSlug() != "my-loop-" && config.GetSlug() != "my-loop" || config.GetPEM() == "" || config.GetWebhookSecret() == "" || config.GetClientSecret() == "" {
		t.Errorf("configuration %+v", config)
	}
	_, _, err = gh.Apps.CompleteAppManifest(w.ctx, to.Query().Get("code"))
	w.wantStatus(err, http.StatusNotFound)
}

func TestDeletedAccount(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.DeleteUser("alice")
	_, body, _ := w.plain(http.MethodGet, fmt.Sprintf("/api/v3/repos/%s/issues/%d", testRepo, n), "", "")
	var out map[string]any
	w.must(json.Unmarshal([]byte(body), &out))
	if user, there := out["user"]; !there || user != nil {
		t.Errorf("the author of a deleted account is %v", user)
	}
}
