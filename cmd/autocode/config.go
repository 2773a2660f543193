package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/workspace"
)

// githubConfig says which GitHub it is, and as whom to speak to it.
type githubConfig struct {
	WebURL            string  `yaml:"web_url"`
	V3URL             string  `yaml:"v3_api_url"`
	V4URL             string  `yaml:"v4_api_url"`
	AppID             int64   `yaml:"app_id"`
	WebhookSecret     string  `yaml:"webhook_secret"`
	PrivateKey        string  `yaml:"private_key"`
	PrivateKeyFile    string  `yaml:"private_key_file"`
	OAuthClientID     string  `yaml:"oauth_client_id"`
	OAuthClientSecret string  `yaml:"oauth_client_secret"`
	TrustedBots       []int64 `yaml:"trusted_bots"`
}

// serverConfig is autocode.yaml as written. Environment variables win over it; it is validated
// into settings, and nothing else reads it.
type serverConfig struct {
	Listen      string                 `yaml:"listen"`
	DataDir     string                 `yaml:"data_dir"`
	DatabaseURL string                 `yaml:"database_url"`
	PublicURL   string                 `yaml:"public_url"`
	Workers     int                    `yaml:"workers"`
	GitHub      githubConfig           `yaml:"github"`
	Model       modelConfig            `yaml:"model"`
	Roles       map[string]modelConfig `yaml:"roles"`
	Budget      struct {
		Rounds        *int     `yaml:"rounds"`
		Minutes       *int     `yaml:"minutes"`
		ModelCalls    *int     `yaml:"model_calls"`
		Tokens        *int     `yaml:"tokens"`
		USD           *float64 `yaml:"usd"`
		Files         *int     `yaml:"files"`
		Lines         *int     `yaml:"lines"`
		TaskUSD       *float64 `yaml:"task_usd"`
		TaskTokens    *int     `yaml:"task_tokens"`
		RepoDayUSD    *float64 `yaml:"repo_day_usd"`
		RepoDayTokens *int     `yaml:"repo_day_tokens"`
	} `yaml:"budget"`
	Sandbox struct {
		Memory string  `yaml:"memory"`
		CPU    float64 `yaml:"cpu"`
		Image  string  `yaml:"image"`
		// Runner is bubblewrap (the default) or docker; with docker, image names one by digest and docker_host the engine.
		Runner     runnerKind `yaml:"runner"`
		DockerHost string     `yaml:"docker_host"`
		Minutes    *int       `yaml:"timeout_minutes"`
		Network    []string   `yaml:"network"`
	} `yaml:"sandbox"`
	// Sparse names, by OWNER/NAME, the only directories of a monorepo that are worked in.
	Sparse map[string][]string `yaml:"sparse"`
	// Secrets are what installations of some repositories may have, by the name of their variable.
	Secrets map[string]secretConfig `yaml:"secrets"`
	// Candidates is how many solutions a round makes where it makes several, at most; 0: three.
	Candidates int           `yaml:"candidates"`
	Critic     bool          `yaml:"critic"`
	CI         string        `yaml:"ci"`
	Autonomy   loop.Autonomy `yaml:"autonomy"`
	Labels     struct {
		Trigger   string `yaml:"trigger"`
		NeedsInfo string `yaml:"needs_info"`
	} `yaml:"labels"`
}

// modelConfig is one model as written.
type modelConfig struct {
	BaseURL     string       `yaml:"base_url"`
	APIKey      string       `yaml:"api_key"`
	Name        string       `yaml:"name"`
	Temperature *float64     `yaml:"temperature"`
	Context     int          `yaml:"context"`
	MaxOutput   int          `yaml:"max_output"`
	Price       *priceConfig `yaml:"price"`
	Free        bool         `yaml:"free"`
	Strong      *modelConfig `yaml:"strong"`
	Fallback    *modelConfig `yaml:"fallback"`
}

// priceConfig is in USD per million tokens.
type priceConfig struct {
	Prompt     float64 `yaml:"prompt"`
	Cached     float64 `yaml:"cached"`
	Completion float64 `yaml:"completion"`
}

// settings is the validated configuration of the program.
type settings struct {
	serverConfig
	// File is where it was read from, "" for none.
	File string
	// Ceiling is what no repository can exceed.
	Ceiling loop.Config
	// PrivateKeyPEM is the App's key, from the file or the variable.
	PrivateKeyPEM []byte
	// SetupSecrets are the values of Secrets.
	SetupSecrets map[string]setupSecret
}

// String never shows a secret (security.md, case 90).
func (s settings) String() string {
	return fmt.Sprintf("autocode on %s, data in %s, GitHub at %s", s.Listen, s.DataDir, s.GitHub.WebURL)
}

// GoString is String, so that not even %#v tells.
func (s settings) GoString() string { return s.String() }

// Format covers %+v.
func (s settings) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// secrets lists every secret value, for redaction and for the guard.
func (s settings) secrets() []string {
	list := []string{s.GitHub.WebhookSecret, s.GitHub.OAuthClientSecret, s.Model.APIKey, string(s.PrivateKeyPEM)}
	for _, r := range s.Roles {
		list = append(list, r.APIKey)
	}
	if u, err := url.Parse(s.DatabaseURL); err == nil && u.User != nil {
		if password, set := u.User.Password(); set {
			list = append(list, password)
		}
	}
	list = append(list, s.setupValues()...)
	return slices.DeleteFunc(list, func(v string) bool { return v == "" })
}

// defaultConfigFile is read where it exists and no other is named.
const defaultConfigFile = "autocode.yaml"

// loadSettings reads file (or autocode.yaml where it exists) and the environment, which wins, and
// reports every fault at once.
func loadSettings(file string, getenv func(string) string) (settings, error) {
	s, faults := readSettings(file, getenv)
	if err := errors.Join(faults...); err != nil {
		return settings{}, err
	}
	return s, nil
}

// readSettings is loadSettings with what could be read in spite of faults.
func readSettings(file string, getenv func(string) string) (settings, []error) {
	s := settings{File: file}
	s.Workers = defaultWorkers // not for want of a value: a 0 that somebody wrote is a fault
	if file == "" {
		if _, err := os.Stat(defaultConfigFile); err == nil {
			s.File = defaultConfigFile
		}
	}
	var faults []error
	var raw []byte
	if s.File != "" {
		var err error
		if raw, err = os.ReadFile(s.File); err != nil {
			return settings{}, []error{fmt.Errorf("read the configuration: %w", err)}
		}
		if err := yaml.Load(raw, &s.serverConfig, yaml.WithKnownFields()); err != nil && !loop.BlankYAML(raw) {
			faults = append(faults, loop.YAMLFaults(s.File, raw, err))
		}
	}
	env := environment{getenv: getenv}
	env.apply(&s.serverConfig)
	faults = append(faults, env.faults...)
	for _, fault := range append(s.complete(), s.readSecrets(getenv)...) {
		at := placed(fault, s.File, raw, getenv)
		if !slices.ContainsFunc(faults, func(told error) bool { return sameKey(told, at) }) {
			faults = append(faults, at)
		}
	}
	return s, faults
}

// sameKey says whether told, or one of the errors that are joined in it, is of the key that at is of: a value of the
// wrong type needs no word on its size.
func sameKey(told, at error) bool {
	if many, joined := told.(interface{ Unwrap() []error }); joined {
		return slices.ContainsFunc(many.Unwrap(), func(one error) bool { return sameKey(one, at) })
	}
	var a, b loop.ConfigFault
	return errors.As(told, &a) && errors.As(at, &b) && a.Key != "" && a.Key == b.Key
}

// keyVariables are the variables that win over a key of the file.
var keyVariables = map[string]string{
	"listen": "AUTOCODE_LISTEN", "data_dir": "AUTOCODE_DATA_DIR", "public_url": "AUTOCODE_PUBLIC_URL", "workers": "AUTOCODE_WORKERS",
	"github.private_key_file": "GITHUB_APP_PRIVATE_KEY_FILE",
}

// placed adds to a fault that begins with its key where the value came from: the variable, or file, line and column.
func placed(fault error, file string, raw []byte, getenv func(string) string) error {
	key, problem, ok := strings.Cut(fault.Error(), ": ")
	if !ok {
		return fault
	}
	if variable := keyVariables[key]; variable != "" && getenv(variable) != "" {
		return fmt.Errorf("%s: %s", variable, problem)
	}
	if at, found := loop.FaultAt(file, raw, key, problem); found && file != "" {
		return at
	}
	return fault
}

// environment lays variables over a configuration and remembers those that do not parse.
type environment struct {
	getenv func(string) string
	faults []error
}

func (e *environment) text(name string, field *string) {
	if v := e.getenv(name); v != "" {
		*field = v
	}
}

func (e *environment) number(name string, set func(int64)) {
	v := e.getenv(name)
	if v == "" {
		return
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		e.faults = append(e.faults, fmt.Errorf("%s: %q is not a whole number", name, v))
		return
	}
	set(n)
}

// flag reads true or false.
func (e *environment) flag(name string, field *bool) {
	v := e.getenv(name)
	if v == "" {
		return
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		e.faults = append(e.faults, fmt.Errorf("%s: %q is not true or false", name, v))
		return
	}
	*field = b
}

// price reads PROMPT/COMPLETION or PROMPT/CACHED/COMPLETION in USD per million tokens.
func (e *environment) price(name string, field **priceConfig) {
	v := e.getenv(name)
	if v == "" {
		return
	}
	var numbers []float64
	for _, part := range strings.Split(v, "/") {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || n < 0 {
			numbers = nil
			break
		}
		numbers = append(numbers, n)
	}
	switch len(numbers) {
	case 2:
		*field = &priceConfig{Prompt: numbers[0], Cached: numbers[0], Completion: numbers[1]}
	case 3:
		*field = &priceConfig{Prompt: numbers[0], Cached: numbers[1], Completion: numbers[2]}
	default:
		e.faults = append(e.faults, fmt.Errorf("%s: %q is not PROMPT/COMPLETION in USD per million tokens, like 2.5/10", name, v))
	}
}

func (e *environment) apply(c *serverConfig) {
	e.text("AUTOCODE_LISTEN", &c.Listen)
	e.text("AUTOCODE_DATA_DIR", &c.DataDir)
	e.text("AUTOCODE_DATABASE_URL", &c.DatabaseURL)
	e.text("AUTOCODE_PUBLIC_URL", &c.PublicURL)
	e.number("AUTOCODE_WORKERS", func(n int64) { c.Workers = int(n) })
	e.text("GITHUB_WEB_URL", &c.GitHub.WebURL)
	e.text("GITHUB_V3_API_URL", &c.GitHub.V3URL)
	e.text("GITHUB_V4_API_URL", &c.GitHub.V4URL)
	e.number("GITHUB_APP_INTEGRATION_ID", func(n int64) { c.GitHub.AppID = n })
	e.text("GITHUB_APP_WEBHOOK_SECRET", &c.GitHub.WebhookSecret)
	e.text("GITHUB_APP_PRIVATE_KEY", &c.GitHub.PrivateKey)
	e.text("GITHUB_APP_PRIVATE_KEY_FILE", &c.GitHub.PrivateKeyFile)
	e.text("GITHUB_OAUTH_CLIENT_ID", &c.GitHub.OAuthClientID)
	e.text("GITHUB_OAUTH_CLIENT_SECRET", &c.GitHub.OAuthClientSecret)
	e.text("OPENAI_API_KEY", &c.Model.APIKey)
	e.text("OPENAI_BASE_URL", &c.Model.BaseURL)
	e.text("AUTOCODE_MODEL", &c.Model.Name)
	e.price("AUTOCODE_MODEL_PRICE", &c.Model.Price)
	e.flag("AUTOCODE_MODEL_FREE", &c.Model.Free)
	for _, role := range []loop.Role{loop.RolePlanner, loop.RoleCoder, loop.RoleCritic} {
		name := ""
		e.text("AUTOCODE_MODEL_"+strings.ToUpper(string(role)), &name)
		if name == "" {
			continue
		}
		if c.Roles == nil {
			c.Roles = map[string]modelConfig{}
		}
		r := c.Roles[string(role)]
		r.Name = name
		c.Roles[string(role)] = r
	}
}

// Defaults of the server.
const (
	defaultListen  = "127.0.0.1:8080"
	defaultDataDir = "./autocode-data"
	// defaultWorkers keeps two cores busy: one run mostly waits for its model.
	defaultWorkers = 4
	// defaultTimeout bounds one command of a repository in the sandbox.
	defaultTimeout = 10 * time.Minute
	defaultMemory  = 4 << 30
)

// enterpriseAPI is where an Enterprise Server has its API below its own address; github.com and
// GHE.com have theirs on a host api.HOST.
const enterpriseAPI = "/api/v3"

// completeURLs derives the addresses of GitHub that were left out from those that were given, so that
// they are never of two servers: the web address from the API's and the other way round.
func (g *githubConfig) completeURLs() {
	switch {
	case g.WebURL == "" && g.V3URL == "":
		g.WebURL, g.V3URL = "https://github.com", "https://api.github.com/"
	case g.V3URL == "":
		g.V3URL = strings.TrimSuffix(g.WebURL, "/") + enterpriseAPI + "/"
		if u, err := url.Parse(g.WebURL); err == nil && (u.Host == "github.com" || strings.HasSuffix(u.Host, ".ghe.com")) {
			g.V3URL = u.Scheme + "://api." + u.Host + "/"
		}
	case g.WebURL == "":
		g.WebURL = strings.TrimSuffix(strings.TrimSuffix(g.V3URL, "/"), enterpriseAPI)
		if u, err := url.Parse(g.V3URL); err == nil && strings.HasPrefix(u.Host, "api.") {
			g.WebURL = u.Scheme + "://" + strings.TrimPrefix(u.Host, "api.")
		}
	}
	if g.V4URL != "" {
		return
	}
	rest := strings.TrimSuffix(g.V3URL, "/")
	if server, enterprise := strings.CutSuffix(rest, enterpriseAPI); enterprise {
		rest = server + "/api"
	}
	g.V4URL = rest + "/graphql"
}

// complete fills defaults in and checks what belongs together. What only `serve` needs is checked
// by checkServe.
func (s *settings) complete() []error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	setDefault(&s.Listen, defaultListen)
	setDefault(&s.DataDir, defaultDataDir)
	s.GitHub.completeURLs()
	setDefault(&s.Labels.Trigger, loop.DefaultLabel)
	setDefault(&s.Labels.NeedsInfo, loop.DefaultNeedsInfoLabel)
	setDefault(&s.Autonomy, loop.AutonomyPullRequest)
	if _, _, err := net.SplitHostPort(s.Listen); err != nil {
		fault("listen: %q is not HOST:PORT", s.Listen)
	}
	if s.Workers < 1 {
		fault("workers: %d, must be at least 1", s.Workers)
	}
	if s.CI != "" && s.CI != "trusted" {
		fault("ci: %q is not `trusted`; leave it out otherwise", s.CI)
	}
	for name := range s.Roles {
		if !slices.Contains([]string{"planner", "coder", "critic"}, name) {
			fault("roles.%s: is not one of planner, coder, critic", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sparse)) {
		if !repositoryName.MatchString(name) || strings.HasSuffix(name, "/*") {
			fault("sparse: %q is not OWNER/NAME", name)
		} else if err := workspace.CheckSparse(s.Sparse[name]); err != nil {
			fault("sparse.%s: %w", name, err)
		}
	}
	if s.PublicURL != "" {
		if u, err := url.Parse(s.PublicURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			fault("public_url: %q is not a URL", s.PublicURL)
		}
	}
	dir, err := filepath.Abs(s.DataDir)
	if err != nil {
		fault("data_dir: %w", err)
	}
	s.DataDir = dir
	s.PrivateKeyPEM = []byte(s.GitHub.PrivateKey)
	if s.GitHub.PrivateKeyFile != "" && len(s.PrivateKeyPEM) == 0 {
		if s.PrivateKeyPEM, err = os.ReadFile(s.GitHub.PrivateKeyFile); err != nil {
			fault("github.private_key_file: %w", err)
		}
	}
	faults = append(faults, s.ceiling()...)
	return faults
}

// checkServe reports what `serve` lacks.
func (s settings) checkServe() error {
	var faults []error
	if s.GitHub.AppID == 0 {
		faults = append(faults, errors.New("GITHUB_APP_INTEGRATION_ID is not set; `autocode setup` makes the App"))
	}
	if s.GitHub.WebhookSecret == "" {
		faults = append(faults, errors.New("GITHUB_APP_WEBHOOK_SECRET is empty: anybody could send events"))
	}
	if len(s.PrivateKeyPEM) == 0 {
		faults = append(faults, errors.New("GITHUB_APP_PRIVATE_KEY or GITHUB_APP_PRIVATE_KEY_FILE is not set"))
	}
	return errors.Join(append(faults, s.checkModel())...)
}

// checkModel reports what a model lacks.
func (s settings) checkModel() error {
	if s.Model.BaseURL == "" && s.Model.APIKey == "" {
		return errors.New("no model is configured: set OPENAI_BASE_URL and AUTOCODE_MODEL (and OPENAI_API_KEY where the endpoint wants one), or give --model-url")
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
