package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// app is a GitHub App: the one under test, or another that writes check runs.
type app struct {
	ID           int64
	NodeID       string
	Slug, Name   string
	ClientID     string
	ClientSecret string
	Owner        *user
	bot          *user
	Permissions  map[string]string
	Events       []string
	CreatedAt    time.Time
}

// installation is the App on one account.
type installation struct {
	ID        int64
	NodeID    string
	app       *app
	Account   *user
	Perms     map[string]string
	All       bool
	Selected  map[int64]bool
	Suspended time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

func (i *installation) covers(r *repository) bool {
	if i.Account != r.Owner || r.uninstalled {
		return false
	}
	return i.All || i.Selected[r.ID]
}

// allEvents are the subscriptions of an App that names none.
var allEvents = []string{
	"issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment",
	"check_run", "check_suite", "push", "create", "delete", "repository", "status", "label",
}

func defaultPermissions() map[string]string {
	return map[string]string{metadata: "read", contents: "write", issues: "write", pulls: "write", checks: "write"}
}

// registerApp makes the App under test.
func (s *Server) registerApp(o Options) {
	a := &app{ID: o.AppID, Slug: o.AppSlug, Name: o.AppName, Permissions: maps.Clone(o.Permissions), Events: slices.Clone(o.Events)}
	if a.ID == 0 {
		a.ID = defaultAppID
	}
	if a.Slug == "" {
		a.Slug = "autocode"
	}
	if a.Permissions == nil {
		a.Permissions = defaultPermissions()
	}
	a.Permissions[metadata] = "read" // comes with every other one
	if a.Events == nil {
		a.Events = slices.Clone(allEvents)
	}
	s.addApp(a)
	s.app = a
}

// addApp completes an App with its bot.
func (s *Server) addApp(a *app) {
	if a.Name == "" {
		a.Name = a.Slug
	}
	a.ClientID, a.ClientSecret = fmt.Sprintf("Iv1.%016x", a.ID), newToken("")
	a.CreatedAt = s.clock()
	a.NodeID = s.nodeID("A", a.ID, a)
	a.Owner = s.orgNamed("app-makers")
	a.bot = s.addUser(a.Slug+"[bot]", "Bot")
	s.apps[a.ID] = a
}

// appNamed finds or makes another App, for check runs that are not ours.
func (s *Server) appNamed(slug string) *app {
	for _, a := range s.apps {
		if a.Slug == slug {
			return a
		}
	}
	a := &app{ID: s.nextID(), Slug: slug, Permissions: map[string]string{metadata: "read", checks: "write", statuses: "write"}, Events: []string{}}
	s.addApp(a)
	return a
}

// install puts the App on an account, once.
func (s *Server) install(account *user) *installation {
	for _, i := range s.installations {
		if i.Account == account {
			return i
		}
	}
	now := s.clock()
	i := &installation{
		ID: s.nextID(), app: s.app, Account: account, Perms: maps.Clone(s.app.Permissions),
		All: true, Selected: map[int64]bool{}, CreatedAt: now, UpdatedAt: now,
	}
	i.NodeID = s.nodeID("I", i.ID, i)
	s.installations[i.ID] = i
	return i
}

// installationOf is the installation that reaches a repository, or nil.
func (s *Server) installationOf(r *repository) *installation {
	for _, i := range s.installations {
		if i.covers(r) {
			return i
		}
	}
	return nil
}

// reposOf lists what an installation reaches, by id.
func (s *Server) reposOf(i *installation) []*repository {
	var out []*repository
	for _, r := range s.repos {
		if i.covers(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *repository) int { return int(a.ID - b.ID) })
	return out
}

func (s *Server) sortedInstallations() []*installation {
	out := slices.Collect(maps.Values(s.installations))
	slices.SortFunc(out, func(a, b *installation) int { return int(a.ID - b.ID) })
	return out
}

// jsonApp is the "integration" of GitHub's description.
func (s *Server) jsonApp(a *app) obj {
	if a == nil {
		return nil
	}
	return obj{
		"id": a.ID, "slug": a.Slug, "node_id": a.NodeID, "client_id": a.ClientID, "owner": s.jsonUser(a.Owner),
		"name": a.Name, "description": "", "external_url": s.base, "html_url": s.base + "/apps/" + a.Slug,
		"created_at": stamp(a.CreatedAt), "updated_at": stamp(a.CreatedAt), "permissions": a.Permissions, "events": a.Events,
	}
}

// viaApp is performed_via_github_app; a typed nil map would be {} in some clients, so null is explicit.
func (s *Server) viaApp(a *app) any {
	if a == nil {
		return nil
	}
	return s.jsonApp(a)
}

func (i *installation) selection() string {
	if i.All {
		return "all"
	}
	return "selected"
}

func (s *Server) jsonInstallation(i *installation) obj {
	out := obj{
		"id": i.ID, "node_id": i.NodeID, "client_id": i.app.ClientID, "account": s.jsonUser(i.Account),
		"repository_selection": i.selection(),
		"access_tokens_url":    fmt.Sprintf("%s/app/installations/%d/access_tokens", s.V3URL(), i.ID),
		"repositories_url":     s.V3URL() + "/installation/repositories",
		"html_url":             fmt.Sprintf("%s/organizations/%s/settings/installations/%d", s.base, i.Account.Login, i.ID),
		"app_id":               i.app.ID, "app_slug": i.app.Slug, "target_id": i.Account.ID, "target_type": i.Account.Type,
		"permissions": i.Perms, "events": i.app.Events, "created_at": stamp(i.CreatedAt), "updated_at": stamp(i.UpdatedAt),
		"single_file_name": nil, "has_multiple_single_files": false, "single_file_paths": []string{},
		"suspended_by": nil, "suspended_at": stampOrNil(i.Suspended),
	}
	if !i.Suspended.IsZero() {
		out["suspended_by"] = s.jsonUser(i.Account)
	}
	return out
}

func (c *call) getApp() (reply, error) {
	out := c.jsonApp(c.app)
	out["installations_count"] = len(c.installations)
	return ok(out)
}

func (c *call) getAppBySlug() (reply, error) {
	for _, a := range c.apps {
		if a.Slug == c.r.PathValue("slug") {
			return ok(c.jsonApp(a))
		}
	}
	return reply{}, notFound()
}

func (c *call) listInstallations() (reply, error) {
	return ok(mapAll(page(c, c.sortedInstallations()), c.jsonInstallation))
}

func (c *call) installationByPath() (*installation, error) {
	id, err := c.number("id")
	if err != nil {
		return nil, err
	}
	i := c.installations[id]
	if i == nil {
		return nil, notFound()
	}
	return i, nil
}

func (c *call) getInstallation() (reply, error) {
	i, err := c.installationByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonInstallation(i))
}

func (c *call) getRepoInstallation() (reply, error) {
	r := c.repos[repoKey(c.r.PathValue("owner"), c.r.PathValue("repo"))]
	if r == nil {
		return reply{}, notFound()
	}
	i := c.installationOf(r)
	if i == nil {
		return reply{}, notFound()
	}
	return ok(c.jsonInstallation(i))
}

func (c *call) getAccountInstallation() (reply, error) {
	for _, i := range c.installations {
		if strings.EqualFold(i.Account.Login, c.r.PathValue("account")) {
			return ok(c.jsonInstallation(i))
		}
	}
	return reply{}, notFound()
}

// createToken mints an installation token, narrowed as asked.
func (c *call) createToken() (reply, error) {
	i, err := c.installationByPath()
	if err != nil {
		return reply{}, err
	}
	if !i.Suspended.IsZero() {
		return reply{}, fail(http.StatusForbidden, "This installation has been suspended")
	}
	var in struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	t := &token{value: newToken("ghs_"), inst: i, perms: maps.Clone(i.Perms), expires: c.clock().Add(tokenLife)}
	if len(in.Repositories)+len(in.RepositoryIDs) > 0 {
		if t.repos, err = c.narrowRepos(i, in.Repositories, in.RepositoryIDs); err != nil {
			return reply{}, err
		}
	}
	if len(in.Permissions) > 0 {
		t.perms = map[string]string{metadata: "read"}
		for name, want := range in.Permissions {
			if levels[want] == none || levels[want] > levels[i.Perms[name]] {
				return reply{}, fail(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			}
			t.perms[name] = want
		}
	}
	c.tokens[t.value] = t
	out := obj{"token": t.value, "expires_at": stamp(t.expires), "permissions": t.perms, "repository_selection": i.selection()}
	if t.repos != nil {
		var repos []*repository
		for _, r := range c.reposOf(i) {
			if t.repos[r.ID] {
				repos = append(repos, r)
			}
		}
		out["repository_selection"] = "selected"
		out["repositories"] = mapAll(repos, c.jsonRepo)
	}
	return created(out)
}

func (c *call) narrowRepos(i *installation, names []string, ids []int64) (map[int64]bool, error) {
	out := map[int64]bool{}
	refused := fail(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
	for _, name := range names {
		r := c.repos[repoKey(i.Account.Login, name)]
		if r == nil || !i.covers(r) {
			return nil, refused
		}
		out[r.ID] = true
	}
	for _, id := range ids {
		r := c.repoByID(id)
		if r == nil || !i.covers(r) {
			return nil, refused
		}
		out[id] = true
	}
	return out, nil
}

func (c *call) revokeToken() (reply, error) {
	delete(c.tokens, c.who.token.value)
	return noContent()
}

func (c *call) listInstallationRepos() (reply, error) {
	var repos []*repository
	for _, r := range c.reposOf(c.who.token.inst) {
		if c.who.token.covers(r) {
			repos = append(repos, r)
		}
	}
	selection := c.who.token.inst.selection()
	if c.who.token.repos != nil {
		selection = "selected"
	}
	return ok(obj{"total_count": len(repos), "repository_selection": selection, "repositories": mapAll(page(c, repos), c.jsonRepo)})
}

// manifestApp is the result of a manifest flow, waiting to be exchanged.
type manifestApp struct {
	manifest map[string]any
	key      *rsa.PrivateKey
}

// checkManifest refuses what GitHub refuses: events that every App gets unasked, and a webhook address
// on the machine itself.
func checkManifest(m map[string]any) error {
	events, _ := m["default_events"].([]any)
	for _, e := range events {
		if strings.HasPrefix(fmt.Sprint(e), "installation") {
			return fmt.Errorf("default events unsupported: %v", e)
		}
	}
	hook, _ := m["hook_attributes"].(map[string]any)
	if address, given := hook["url"].(string); given {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback() {
			return fmt.Errorf("hook url %q is not supported because it isn't reachable over the public Internet", address)
		}
	}
	return nil
}

// acceptManifest is what GitHub's page does after the person's click: a code for the manifest.
func (s *Server) acceptManifest(raw string) (code string, redirect string, err error) {
	var m map[string]any
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		return "", "", fmt.Errorf("read the manifest: %w", err)
	}
	if err := checkManifest(m); err != nil {
		return "", "", err
	}
	redirect, _ = m["redirect_url"].(string)
	key, err := rsa.GenerateKey(rand.Reader, appKeyBits)
	if err != nil {
		return "", "", fmt.Errorf("generate the new App's key: %w", err)
	}
	code = newToken("")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.manifests[code] = manifestApp{m, key}
	return code, redirect, nil
}
