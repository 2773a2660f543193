package setup

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Choices are what a person decides before the App is made, since its permissions are fixed then: a
// later change must be accepted by every installation.
type Choices struct {
	Name         string // of the App, unique on its GitHub
	Organization string // owner of the App; empty: the person
	// Public is where GitHub reaches this server, Relay the channel of a webhook relay in its place; one
	// of them is given.
	Public, Relay string
	// ActionsLogs reads the logs of failing GitHub Actions jobs; without it their annotations only.
	ActionsLogs bool
	// Statuses follows commit statuses of CI that does not use check runs.
	Statuses bool
}

// maxAppName is GitHub's limit for the name of an App, in characters.
const maxAppName = 34

// statusEvent is the event of commit statuses.
const statusEvent = "status"

// HookPath is where the server takes webhooks.
const HookPath = "/api/github/hook"

// permissions are the least that the whole of autocode works with; app.yml gives each one's reason.
var permissions = map[string]string{"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write", "checks": "write"}

// manifest is GitHub's form of an App to be ("Registering a GitHub App from a manifest").
type manifest struct {
	Name        string            `json:"name"`
	URL         string            `json:"url"`
	Hook        hook              `json:"hook_attributes"`
	RedirectURL string            `json:"redirect_url"`
	Description string            `json:"description"`
	Public      bool              `json:"public"`
	Permissions map[string]string `json:"default_permissions"`
	Events      []string          `json:"default_events"`
}

type hook struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// manifest checks the choices and renders them. Events that every App gets unasked are left out, since
// GitHub refuses a manifest that names them.
func (c Choices) manifest(events []string, redirect string) (manifest, error) {
	var faults []error
	name := strings.TrimSpace(c.Name)
	if name == "" || len([]rune(name)) > maxAppName {
		faults = append(faults, fmt.Errorf("the name must have 1 to %d characters", maxAppName))
	}
	if strings.ContainsAny(c.Organization, "/?#% \t") {
		faults = append(faults, fmt.Errorf("%q is not the name of an organisation", c.Organization))
	}
	address, err := c.hookURL()
	if err != nil {
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return manifest{}, err
	}
	m := manifest{
		Name: name, URL: "https://github.com/seed-7a986423/autocode", Hook: hook{URL: address, Active: true}, RedirectURL: redirect,
		Description: "Turns an issue labelled autocode into a pull request whose claims a machine has checked.",
		Permissions: map[string]string{},
	}
	for name, level := range permissions {
		m.Permissions[name] = level
	}
	for _, event := range events {
		// Statuses are a choice: without it the App is not asked to follow them.
		if !strings.HasPrefix(event, "installation") && (event != statusEvent || c.Statuses) {
			m.Events = append(m.Events, event)
		}
	}
	if c.ActionsLogs {
		m.Permissions["actions"] = "read"
	}
	if c.Statuses {
		m.Permissions["statuses"] = "read"
		m.Events = append(m.Events, statusEvent)
	}
	slices.Sort(m.Events)
	m.Events = slices.Compact(m.Events)
	return m, nil
}

// hookURL is where GitHub sends webhooks.
func (c Choices) hookURL() (string, error) {
	public, relay := strings.TrimSpace(c.Public), strings.TrimSpace(c.Relay)
	switch {
	case public != "" && relay != "":
		return "", errors.New("give the public address or the relay's channel, not both")
	case relay != "":
		return relay, reachable(relay)
	case public != "":
		return strings.TrimSuffix(strings.TrimSuffix(public, "/"), HookPath) + HookPath, reachable(public)
	default:
		return "", errors.New("GitHub must reach this server: give its public address, or the channel of a webhook relay (such as https://smee.io/new makes)")
	}
}

// reachable refuses addresses that GitHub cannot deliver to; it refuses them itself.
func reachable(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q is not a URL", raw)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q holds more than an address", raw)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip := net.ParseIP(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()) {
		return fmt.Errorf("GitHub cannot deliver to %s on this machine: give an address that it reaches, or the channel of a webhook relay (https://smee.io/new makes one), which `autocode serve --webhook-relay URL` reads", host)
	}
	return nil
}
