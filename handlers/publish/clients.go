package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"
	"github.com/shurcooL/githubv4"

	"github.com/seed-7a986423/autocode/loop"
)

// ClientConfig says how to reach GitHub as an App.
type ClientConfig struct {
	WebURL     string // https://github.com or the Enterprise Server's
	V3URL      string // REST, like https://api.github.com/
	V4URL      string // GraphQL
	AppID      int64
	PrivateKey []byte // PEM
	UserAgent  string
	// Transport carries the requests; nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout bounds one request, its repetitions included.
	Timeout time.Duration
	// Clock times retries; nil: the machine's.
	Clock loop.Clock
}

// Format prints the configuration without the key, whatever the verb (security.md, case 90).
func (c ClientConfig) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{web %s, v3 %s, v4 %s, app %d, private key %s}", c.WebURL, c.V3URL, c.V4URL, c.AppID, redacted)
}

// Clients makes API clients and tokens, each for one repository with the least permissions
// (security.md, rule 5). It is safe for concurrent use.
type Clients struct {
	config ClientConfig
	app    *ghinstallation.AppsTransport
	pace   *pacer // nil where the server has no limits on writing

	mutex       sync.Mutex
	connections map[string]*connection
}

// Format prints the clients without keys and tokens (security.md, case 90).
func (c *Clients) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%v", c.config) }

// NewClients checks the configuration.
func NewClients(config ClientConfig) (*Clients, error) {
	if config.Transport == nil {
		config.Transport = http.DefaultTransport
	}
	if config.Clock == nil {
		config.Clock = wallClock{}
	}
	var faults []error
	for name, raw := range map[string]string{"GITHUB_WEB_URL": config.WebURL, "GITHUB_V3_API_URL": config.V3URL, "GITHUB_V4_API_URL": config.V4URL} {
		if err := checkURL(raw); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	if config.AppID <= 0 {
		faults = append(faults, errors.New("GITHUB_APP_INTEGRATION_ID: must be the App's id, a positive number"))
	}
	app, err := ghinstallation.NewAppsTransport(&retrying{next: config.Transport, clock: config.Clock}, config.AppID, config.PrivateKey)
	if err != nil {
		faults = append(faults, errors.New("GITHUB_APP_PRIVATE_KEY: is not an RSA private key in PEM form"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	app.BaseURL = strings.TrimSuffix(config.V3URL, "/")
	c := &Clients{config: config, app: app, connections: map[string]*connection{}}
	if web, err := url.Parse(config.WebURL); err == nil && !isLoopback(web.Hostname()) {
		c.pace = &pacer{clock: config.Clock, next: map[int64]time.Time{}}
	}
	return c, nil
}

// checkURL accepts https, and http for loopback only.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is not a URL", raw)
	}
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%q must be https (http is for loopback only)", raw)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// purpose is what a token is for; it chooses the permissions.
type purpose string

const (
	forAPI  purpose = "api"
	forRead purpose = "read"
	forPush purpose = "push"
	// Optional features, which an installation may not have granted: GitHub refuses a token with a
	// permission too many as a whole, hence they have tokens of their own.
	forActions  purpose = "actions"
	forStatuses purpose = "statuses"
)

func (p purpose) permissions() *github.InstallationPermissions {
	read, write := github.String("read"), github.String("write")
	switch p {
	case forAPI:
		return &github.InstallationPermissions{Metadata: read, Contents: read, Issues: write, PullRequests: write, Checks: write}
	case forPush:
		return &github.InstallationPermissions{Metadata: read, Contents: write}
	case forActions:
		return &github.InstallationPermissions{Metadata: read, Actions: read}
	case forStatuses:
		return &github.InstallationPermissions{Metadata: read, Statuses: read}
	case forRead:
	}
	return &github.InstallationPermissions{Metadata: read, Contents: read}
}

// mostConnections bounds the cache; it is emptied when it is full, which costs one token each.
const mostConnections = 1000

// connection is what is kept for one repository of an installation and one purpose, so that its
// requests share token, cache and what is known of the rate limit.
type connection struct {
	tokens  *tokens
	rest    *github.Client
	graphql *githubv4.Client
}

// connection returns the one for a repository. The token names the repository by its id, which
// survives renames, where the id is known.
func (c *Clients) connection(repo loop.Repo, p purpose) (*connection, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	options := &github.InstallationTokenOptions{Permissions: p.permissions()}
	key := connectionKey(repo) + string(p)
	if repo.ID != 0 {
		options.RepositoryIDs = []int64{repo.ID}
	} else {
		options.Repositories = []string{repo.Name}
	}
	if known, there := c.connections[key]; there {
		return known, nil
	}
	source := &tokens{pace: c.pace, homes: c.hosts(), plain: c.config.Transport, make: func() *ghinstallation.Transport {
		t := ghinstallation.NewFromAppsTransport(c.app, repo.Installation)
		t.InstallationTokenOptions = options
		return t
	}}
	source.current = source.make()
	cached, err := conditional(source)
	if err != nil {
		return nil, err
	}
	carrier := &http.Client{Transport: cached, Timeout: c.config.Timeout, CheckRedirect: safeRedirect}
	rest, err := c.restClient(carrier)
	if err != nil {
		return nil, err
	}
	if len(c.connections) >= mostConnections {
		clear(c.connections)
	}
	made := &connection{tokens: source, rest: rest, graphql: githubv4.NewEnterpriseClient(c.config.V4URL, carrier)}
	c.connections[key] = made
	return made, nil
}

// forget drops the tokens for a repository, so that the next use of each mints a new one.
func (c *Clients) forget(repo loop.Repo) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	maps.DeleteFunc(c.connections, func(key string, _ *connection) bool {
		return strings.HasPrefix(key, connectionKey(repo))
	})
}

// connectionKey begins the keys of a repository's connections: by its id, which survives renames, where that
// is known.
func connectionKey(repo loop.Repo) string {
	if repo.ID != 0 {
		return fmt.Sprintf("%d/%d/", repo.Installation, repo.ID)
	}
	return fmt.Sprintf("%d/%s/", repo.Installation, repo.Name)
}

// hosts are where the API's addresses lie, each as scheme://host.
func (c *Clients) hosts() (hosts []string) {
	for _, raw := range []string{c.config.V3URL, c.config.V4URL} {
		if u, err := url.Parse(raw); err == nil {
			hosts = append(hosts, u.Scheme+"://"+u.Host)
		}
	}
	return hosts
}

// restClient returns a REST client on the server's address.
func (c *Clients) restClient(carrier *http.Client) (*github.Client, error) {
	base, err := url.Parse(strings.TrimSuffix(c.config.V3URL, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("the REST address: %w", err)
	}
	client := github.NewClient(carrier)
	client.BaseURL, client.UserAgent = base, c.config.UserAgent
	return client, nil
}

// rest returns the REST client for a repository.
func (c *Clients) rest(repo loop.Repo) (*github.Client, error) {
	known, err := c.connection(repo, forAPI)
	if err != nil {
		return nil, err
	}
	return known.rest, nil
}

// graphql returns the GraphQL client for a repository.
func (c *Clients) graphql(repo loop.Repo) (*githubv4.Client, error) {
	known, err := c.connection(repo, forAPI)
	if err != nil {
		return nil, err
	}
	return known.graphql, nil
}

// tokens carries an installation's token on each request, and mints a new one where GitHub takes the
// old one for bad before its time: permissions were changed, or the installation was suspended and
// taken up again.
//
// A redirection may lead anywhere, and the token goes to GitHub's API only: other hosts are asked without.
type tokens struct {
	make  func() *ghinstallation.Transport
	pace  *pacer
	homes []string          // the API's hosts
	plain http.RoundTripper // to all others

	mutex   sync.Mutex
	current *ghinstallation.Transport
}

func (t *tokens) now() *ghinstallation.Transport {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.current
}

// renew replaces a transport whose token was refused, unless somebody else did meanwhile.
func (t *tokens) renew(refused *ghinstallation.Transport) *ghinstallation.Transport {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.current == refused {
		t.current = t.make()
	}
	return t.current
}

// RoundTrip implements http.RoundTripper. Writing to a repository by a name that it had is answered by a
// redirection like reading is, but package net/http makes reading of it where the status is 301 or 302:
// it is sent again here, as it was.
func (t *tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	for redirections := 0; ; redirections++ {
		response, err := t.send(again(r, body))
		if err != nil || r.Method == http.MethodGet || r.Method == http.MethodHead || redirections == mostRedirects {
			return response, err
		}
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return response, nil
		}
		to, err := response.Location()
		if err != nil || !t.home(to) {
			return response, nil
		}
		drain(response)
		r = r.Clone(r.Context())
		r.URL, r.Host = to, ""
	}
}

// home says whether an address is the API's.
func (t *tokens) home(u *url.URL) bool { return slices.Contains(t.homes, u.Scheme+"://"+u.Host) }

// send makes one request.
func (t *tokens) send(r *http.Request) (*http.Response, error) {
	if !t.home(r.URL) {
		foreign := r.Clone(r.Context())
		foreign.Header.Del("Authorization")
		return t.plain.RoundTrip(foreign)
	}
	transport := t.now()
	if t.pace != nil && r.Method != http.MethodGet {
		if err := t.pace.wait(r.Context(), transport.InstallationID()); err != nil {
			return nil, err
		}
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(again(r, body))
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	drain(response)
	return t.renew(transport).RoundTrip(again(r, body))
}

// Token implements loop.TokenSource.
func (c *Clients) Token(ctx context.Context, repo loop.Repo, access loop.Access) (string, time.Time, error) {
	p := forRead
	if access == loop.AccessPush {
		p = forPush
	}
	known, err := c.connection(repo, p)
	if err != nil {
		return "", time.Time{}, err
	}
	t := known.tokens.now()
	token, err := t.Token(ctx)
	if err != nil {
		return "", time.Time{}, noToken(err, fmt.Sprintf("mint a %s token", access), repo)
	}
	_, refresh, err := t.Expiry()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("read the token's end: %w", err)
	}
	return token, refresh, nil
}

// noToken turns GitHub's refusal to mint a token into loop.ErrNoAccess with the remedy.
func noToken(err error, doing string, repo loop.Repo) error {
	var refused *ghinstallation.HTTPError
	if errors.As(err, &refused) && refused.Response != nil {
		switch refused.Response.StatusCode {
		case http.StatusNotFound, http.StatusUnauthorized:
			return fmt.Errorf("%s for %s: %w (%s): is the App still installed there?", doing, repo.FullName(), loop.ErrNoAccess, refused.Response.Status)
		case http.StatusForbidden, http.StatusUnprocessableEntity:
			return fmt.Errorf("%s for %s: %w (%s): is the installation suspended, without this repository, or without the App's permissions?",
				doing, repo.FullName(), loop.ErrNoAccess, refused.Response.Status)
		}
	}
	return fmt.Errorf("%s for %s: %w", doing, repo.FullName(), err)
}

// App returns a client that acts as the App itself.
func (c *Clients) App() (*github.Client, error) {
	return c.restClient(&http.Client{Transport: c.app, Timeout: c.config.Timeout})
}
