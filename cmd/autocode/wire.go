package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/agent"
	"github.com/seed-7a986423/autocode/loop/codemap"
	"github.com/seed-7a986423/autocode/loop/guard"
	"github.com/seed-7a986423/autocode/loop/model"
	"github.com/seed-7a986423/autocode/loop/sandbox"
	"github.com/seed-7a986423/autocode/loop/store"
	"github.com/seed-7a986423/autocode/loop/verify"
	"github.com/seed-7a986423/autocode/loop/workspace"
	"github.com/seed-7a986423/autocode/prompts"
)

// newLogger writes JSON lines for machines, or short lines for a person.
func newLogger(out io.Writer, pretty bool, level zerolog.Level) zerolog.Logger {
	if pretty {
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: true}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// wallClock is the machine's clock.
type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// newModel builds the model of all roles.
func newModel(s settings) (*model.Model, error) {
	config := model.Config{Default: roleOf(s.Model), Roles: map[loop.Role]model.RoleConfig{}}
	for name, r := range s.Roles {
		config.Roles[loop.Role(name)] = roleOf(r)
	}
	return model.New(config)
}

func roleOf(c modelConfig) model.RoleConfig {
	r := model.RoleConfig{Endpoint: endpointOf(c)}
	if c.Strong != nil {
		e := endpointOf(*c.Strong)
		r.Strong = &e
	}
	if c.Fallback != nil {
		e := endpointOf(*c.Fallback)
		r.Fallback = &e
	}
	return r
}

func endpointOf(c modelConfig) model.Endpoint {
	e := model.Endpoint{
		BaseURL: c.BaseURL, Key: c.APIKey, Model: c.Name, Temperature: c.Temperature, Context: c.Context, MaxOutput: c.MaxOutput, Free: c.Free,
	}
	if c.Price != nil {
		e.Price = &model.Price{Prompt: c.Price.Prompt, Cached: c.Price.Cached, Completion: c.Price.Completion}
	}
	return e
}

// completeModel finds out what a person who names only an endpoint leaves out: the model where the
// endpoint serves one, and that a model without a price counts as free. The latter holds for
// commands that a person watches, never for the server.
func completeModel(ctx context.Context, s *settings, modelURL string, std streams) error {
	if modelURL != "" {
		s.Model.BaseURL = modelURL
	}
	if err := s.checkModel(); err != nil {
		return usageError(err)
	}
	if s.Model.BaseURL == "" {
		s.Model.BaseURL = "https://api.openai.com/v1"
	}
	if s.Model.Name == "" {
		name, err := model.Discover(ctx, s.Model.BaseURL, s.Model.APIKey)
		if err != nil {
			return usageError(fmt.Errorf("AUTOCODE_MODEL is not set, and %w", err))
		}
		s.Model.Name = name
	}
	if s.Model.Price == nil && !s.Model.Free {
		s.Model.Free = true
		if u, err := url.Parse(s.Model.BaseURL); err != nil || !isLoopback(u.Hostname()) {
			fmt.Fprintf(std.err, "autocode: no price is known for %s, so money is not limited, only tokens (%d); AUTOCODE_MODEL_PRICE=PROMPT/COMPLETION changes that\n",
				s.Model.Name, s.Ceiling.Limits.Tokens)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// newVerifier builds the verifier with what this machine's own tools say about their registries.
func newVerifier(runner sandboxRunner, secrets map[string]verify.Secret, goModCache, cacheDir, installDir string, log zerolog.Logger) (*verify.Verifier, error) {
	if runner.offline {
		goModCache = "" // nothing of the host is shown
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/" // a service without a home has no settings there either
	}
	return verify.New(verify.Config{
		Runner: runner, GoModCache: goModCache, CacheDir: cacheDir, InstallDir: installDir, InstallEnv: mirrorEnv(os.Getenv), Secrets: secrets,
		Hosts: func(ctx context.Context, preset string) []string {
			hosts, err := sandbox.PresetHosts(ctx, sandbox.Ecosystem(preset), sandbox.PresetEnv{Env: os.Environ(), Home: home})
			if err != nil {
				log.Warn().Err(err).Str("preset", preset).Msg("no hosts for this installation; name them in sandbox.network")
			}
			return hosts
		},
	})
}

// mirrorEnv hands on where this machine's tools download from. A value with credentials is left
// out: they stay outside the sandbox.
func mirrorEnv(getenv func(string) string) []string {
	var env []string
	for _, name := range []string{
		"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "npm_config_registry", "NPM_CONFIG_REGISTRY", "PIP_INDEX_URL",
	} {
		if v := getenv(name); v != "" && !strings.Contains(v, "@") {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// parts is what every command that drives runs needs.
type parts struct {
	store     *store.Store
	workspace *workspace.Workspace
	engine    *loop.Engine
}

// close shuts the parts down in the reverse order of their making.
func (p *parts) close() error {
	return errors.Join(p.workspace.Close(), p.store.Close())
}

// wiring is what differs between serve, demo and run.
type wiring struct {
	settings  settings
	log       zerolog.Logger
	publisher loop.Publisher
	tokens    loop.TokenSource
	baseURLs  []string
	allowFile bool
	// goModCache shows this machine's Go modules to the sandbox (autocode run on one's own machine).
	goModCache string
	// cacheDir keeps compiled standard libraries; empty: below the data directory.
	cacheDir string
	// spares is how many clones of a repository are kept ready for its next run.
	spares   int
	observer loop.Observer
}

// wire builds the engine with its parts.
func wire(ctx context.Context, w wiring) (*parts, error) {
	s := w.settings
	if err := checkDataDir(s.DataDir); err != nil {
		return nil, usageError(err)
	}
	runner, err := newRunner(s, w.log)
	if err != nil {
		return nil, err
	}
	if ended, err := runner.Reap(ctx); err != nil || ended > 0 {
		w.log.Warn().Err(err).Int("ended", ended).Msg("sandboxes of a server that died were cleared up")
	}
	languageModel, err := newModel(s)
	if err != nil {
		return nil, usageError(err)
	}
	checker, err := guard.New(guard.Config{Secrets: s.secrets()})
	if err != nil {
		return nil, err
	}
	verifier, err := newVerifier(runner, s.installSecrets(), w.goModCache, cmp.Or(w.cacheDir, filepath.Join(s.DataDir, "toolchains")), filepath.Join(s.DataDir, "installed"), w.log)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Config{URL: s.DatabaseURL, DataDir: s.DataDir, Workers: s.Workers, Logger: w.log})
	if err != nil {
		return nil, err
	}
	space, err := workspace.New(workspace.Config{
		Root: filepath.Join(s.DataDir, "workspace"), Tokens: w.tokens, BaseURLs: w.baseURLs, AllowFile: w.allowFile, BranchPrefix: branchPrefix, Spares: w.spares, Sparse: s.Sparse,
		Warn: func(_ context.Context, what string, err error) { w.log.Warn().Err(err).Msg(what) },
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	engine := &loop.Engine{
		Store: db, Knowledge: db, Workspace: space, Runner: runner, Verifier: verifier, Guard: checker,
		Index: codemap.New(codemap.Config{
			CacheDir: filepath.Join(s.DataDir, "index"),
			Warn:     func(err error) { w.log.Warn().Err(err).Msg("the code index is not kept") },
		}),
		Model: languageModel, Planner: agent.NewPlanner(agent.Config{}), Coder: agent.NewCoder(agent.Config{}), Critic: agent.NewCritic(agent.Config{}),
		Publisher: w.publisher, Clock: wallClock{}, Observer: w.observer, Log: w.log,
		Settings: loop.Settings{
			Worker: fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()), Ceiling: s.Ceiling, Heartbeat: heartbeat, BranchPrefix: branchPrefix,
			Workers:        s.Workers,
			PromptsVersion: prompts.Version(),
		},
	}
	return &parts{store: db, workspace: space, engine: engine}, nil
}

// checkDataDir makes the data directory and tries whether it can be written, so that not the first part that needs it
// speaks of its own trouble.
func checkDataDir(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, ".probe-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("the data directory cannot be written (set AUTOCODE_DATA_DIR to one that can): %w", err)
	}
	return nil
}

const (
	branchPrefix = "autocode"
	// heartbeat keeps a lease alive and is how soon a stop is heard.
	heartbeat = time.Second
)
