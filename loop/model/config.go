package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Prompt float64
	// Cached is for prompt tokens that the provider had cached; 0: as Prompt.
	Cached     float64
	Completion float64
}

// Endpoint is one model behind one OpenAI-compatible endpoint.
type Endpoint struct {
	// BaseURL ends before /chat/completions, as in https://api.openai.com/v1. Plain http is
	// accepted for loopback only.
	BaseURL string
	Key     string // sent as a bearer token; empty: none
	Model   string
	// Temperature from 0 to 2; nil: 0, since the same question should get the same answer.
	// It is dropped by itself for models that refuse it.
	Temperature *float64
	// Context is how many tokens prompt and reply may have together; 0: not known, the
	// endpoint's own error is relied on. Set it for servers that cut prompts in silence.
	Context int
	// MaxOutput bounds the tokens of one reply; 0: the endpoint's default. Longer replies are
	// continued.
	MaxOutput int
	// Price, or Free: one of them must be given.
	Price *Price
	Free  bool
	// Timeout bounds one request from its first to its last byte; 0: DefaultTimeout.
	Timeout time.Duration
}

// RoleConfig says who plays a role.
type RoleConfig struct {
	Endpoint
	// Strong is used when a request asks for the stronger model; nil: the same one. What it
	// leaves empty is as in the Endpoint above, as in Fallback.
	Strong *Endpoint
	// Fallback is asked when the endpoint cannot be had after all retries; nil: none.
	Fallback *Endpoint
}

// Retry bounds the repetition of requests that failed for a passing reason.
type Retry struct {
	// Attempts counts the first one; 0: DefaultAttempts.
	Attempts int
	// Base is the first pause, doubled each time up to Max, with full jitter; 0: defaults.
	Base, Max time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for; 0: default. A longer one
	// fails at once, since a run's time is bounded.
	MaxRetryAfter time.Duration
}

// Clock tells the time and waits; tests inject their own.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or earlier with the context's error.
	Sleep(ctx context.Context, d time.Duration) error
}

// Config is everything that New needs.
type Config struct {
	// Default plays every role that Roles does not name.
	Default RoleConfig
	// Roles override Default; what they leave empty is taken from it. A price belongs to a
	// model's name and is inherited with it only; Free belongs to an endpoint and is inherited
	// with its URL.
	Roles map[loop.Role]RoleConfig
	// Offered are further models that a repository's configuration may name; what they leave
	// empty is as in Default.
	Offered []Endpoint
	// MaxReplyBytes bounds one answer of an endpoint, unpacked; 0: DefaultMaxReplyBytes.
	MaxReplyBytes int64
	Retry         Retry
	// Transport carries the requests; nil: http.DefaultTransport's settings.
	Transport http.RoundTripper
	Clock     Clock          // nil: the real one
	Random    func() float64 // from 0 to 1, for jitter; nil: math/rand
}

// The defaults, each with the reason for its number.
const (
	// DefaultTimeout lets a large local model write a long reply on a slow machine.
	DefaultTimeout = 10 * time.Minute
	// DefaultMaxReplyBytes is far above any reply that could be used (security.md, 112).
	DefaultMaxReplyBytes = 10 << 20
	// DefaultAttempts with DefaultRetryBase and DefaultRetryMax rides out about half a minute.
	DefaultAttempts  = 5
	DefaultRetryBase = time.Second
	DefaultRetryMax  = 30 * time.Second
	// DefaultMaxRetryAfter is a tenth of the default wall time of a run, rounded down.
	DefaultMaxRetryAfter = time.Minute
)

// maxTemperature is the API's own limit.
const maxTemperature = 2.0

// roles lists the roles, each of which must be playable.
var roles = []loop.Role{loop.RolePlanner, loop.RoleCoder, loop.RoleCritic}

// New checks the configuration and returns a Model. Every fault is reported, one line each.
func New(config Config) (*Model, error) {
	m := &Model{
		roles: map[loop.Role]cast{}, clock: config.Clock, random: config.Random,
		retry: config.Retry, maxReply: config.MaxReplyBytes,
	}
	if m.clock == nil {
		m.clock = wallClock{}
	}
	if m.random == nil {
		m.random = rand.Float64
	}
	if m.maxReply <= 0 {
		m.maxReply = DefaultMaxReplyBytes
	}
	m.retry = m.retry.withDefaults()
	transport := config.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	shared := map[string]*endpoint{}
	var faults []error
	build := func(who string, e Endpoint) *endpoint {
		if err := e.check(); err != nil {
			faults = append(faults, fmt.Errorf("model of the %s: %w", who, err))
			return nil
		}
		m.secrets = append(m.secrets, e.Key)
		// What is learnt about an endpoint is learnt for all roles that it plays.
		key := fmt.Sprintf("%s\x00%s\x00%s", e.BaseURL, e.Key, e.Model)
		known, ok := shared[key]
		if !ok {
			known = &endpoint{abilities: &abilities{}}
			shared[key] = known
		}
		return newEndpoint(e, known.abilities, transport, m.maxReply)
	}
	for _, role := range roles {
		rc := config.Roles[role]
		main := rc.inherit(config.Default.Endpoint)
		c := cast{main: build(string(role), main)}
		if strong := firstOf(rc.Strong, config.Default.Strong); strong != nil {
			c.strong = build(string(role)+" (strong)", strong.inherit(main))
		}
		if fallback := firstOf(rc.Fallback, config.Default.Fallback); fallback != nil {
			c.fallback = build(string(role)+" (fallback)", fallback.inherit(main))
		}
		m.roles[role] = c
	}
	for _, e := range config.Offered {
		m.offered = append(m.offered, build("list of offered models", e.inherit(config.Default.Endpoint)))
	}
	for role := range config.Roles {
		if !slices.Contains(roles, role) {
			faults = append(faults, fmt.Errorf("there is no role %q; the roles are planner, coder, critic", role))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(unique(faults)...)
	}
	return m, nil
}

func firstOf(a, b *Endpoint) *Endpoint {
	if a != nil {
		return a
	}
	return b
}

// unique drops errors whose reason occurred already: a fault of Default would come three times.
func unique(faults []error) []error {
	seen := map[string]bool{}
	return slices.DeleteFunc(faults, func(err error) bool {
		reason := errors.Unwrap(err)
		if reason == nil {
			return false
		}
		twice := seen[reason.Error()]
		seen[reason.Error()] = true
		return twice
	})
}

// inherit fills what e leaves empty from base.
func (e Endpoint) inherit(base Endpoint) Endpoint {
	if e.BaseURL == "" {
		e.BaseURL = base.BaseURL
		e.Free = e.Free || base.Free
		if e.Key == "" {
			e.Key = base.Key
		}
	}
	if e.Model == "" {
		e.Model = base.Model
		if e.Price == nil {
			e.Price = base.Price
		}
	}
	if e.Temperature == nil {
		e.Temperature = base.Temperature
	}
	if e.Context == 0 {
		e.Context = base.Context
	}
	if e.MaxOutput == 0 {
		e.MaxOutput = base.MaxOutput
	}
	if e.Timeout == 0 {
		e.Timeout = base.Timeout
	}
	return e
}

// check reports the first thing that is wrong with e. It never quotes the key.
func (e Endpoint) check() error {
	if e.Model == "" {
		return errors.New("no model is named; set AUTOCODE_MODEL or model.name in the configuration")
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" {
		return errors.New("the base URL is empty or does not parse; set OPENAI_BASE_URL, for example https://api.openai.com/v1")
	}
	switch {
	case u.User != nil:
		return errors.New("the base URL holds a user name or password; give the key in OPENAI_API_KEY instead")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return fmt.Errorf("the base URL %s is plain http, which is accepted for loopback only; use https", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the base URL has the scheme %q; use https", u.Scheme)
	case e.Price == nil && !e.Free:
		return fmt.Errorf("the model %q has no price; give its price per million tokens, or declare it free", e.Model)
	case e.Price != nil && (e.Price.Prompt < 0 || e.Price.Cached < 0 || e.Price.Completion < 0):
		return fmt.Errorf("the model %q has a negative price", e.Model)
	case e.Temperature != nil && (*e.Temperature < 0 || *e.Temperature > maxTemperature):
		return fmt.Errorf("the temperature %g is not between 0 and %g", *e.Temperature, maxTemperature)
	case e.Context < 0 || e.MaxOutput < 0 || e.Timeout < 0:
		return errors.New("context, output limit and time-out must not be negative")
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = DefaultAttempts
	}
	if r.Base <= 0 {
		r.Base = DefaultRetryBase
	}
	if r.Max <= 0 {
		r.Max = DefaultRetryMax
	}
	if r.MaxRetryAfter <= 0 {
		r.MaxRetryAfter = DefaultMaxRetryAfter
	}
	return r
}

// wallClock is the real time.
type wallClock struct{}

// Now returns the current time.
func (wallClock) Now() time.Time { return time.Now() }

// Sleep waits for d or the context's end.
func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
