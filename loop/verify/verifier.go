package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// Version is part of the key of cached baselines: a change of how verification works makes old
// ones worthless.
const Version = "4"

// Config is what a Verifier is built from.
type Config struct {
	Runner loop.Runner
	// Hosts returns the hosts that an installation of an ecosystem (go, npm, pypi, crates, maven, …)
	// must reach, as the tools' own configuration on this machine says; nil: none.
	Hosts func(ctx context.Context, preset string) []string
	// InstallEnv is added to the environment of installations: where a company's mirrors are.
	InstallEnv []string
	// GoModCache is a host directory of downloaded Go modules, shown read-only as a module proxy;
	// empty: none. It spares downloads on a person's own machine and is not for servers that
	// serve several owners, since private modules may lie in it.
	GoModCache string
	// CacheDir keeps the compiled standard library of Go; empty: each clone compiles it anew.
	CacheDir string
	// InstallDir keeps what an installation brought for the other clones of the same owner, until
	// nobody has used it for two hours; empty: each clone installs anew.
	InstallDir string
	// Secrets are the server's secrets that installations may have, by name; only those that
	// VerifyConfig.Secrets lists are given, and to no other command.
	Secrets map[string]Secret
	// InstallTries is how often an installation is tried before it is called broken; 0: 3.
	InstallTries int
	// Reruns is how often tests that changed colour run again; the majority of all runs counts;
	// 0: 2, three runs in all.
	Reruns int
}

// Secret is a value of the server's for installations: its name is a variable there.
type Secret struct {
	// Value is what the variable holds; "" where File is set.
	Value string
	// File is a host path; the installation sees it read-only, and the variable holds where.
	File string
}

// Defaults of Config.
const (
	defaultInstallTries = 3
	defaultReruns       = 2
)

// Verifier implements loop.Verifier.
type Verifier struct {
	config  Config
	seeds   sync.Mutex   // one seed grows at a time
	shelves sync.RWMutex // InstallDir is being written
	// broken holds the telling line of installations that failed, by the project's cache directory. It is
	// kept here, not beside the worktree, where the code under test could write it.
	broken sync.Map
	// unreached holds until when a registry need not be asked again, by owner and preset of hosts.
	unreached sync.Map
}

var _ loop.Verifier = (*Verifier)(nil)

// New checks the configuration.
func New(config Config) (*Verifier, error) {
	if config.Runner == nil {
		return nil, errors.New("verify: a runner is required")
	}
	if config.InstallTries == 0 {
		config.InstallTries = defaultInstallTries
	}
	if config.Reruns == 0 {
		config.Reruns = defaultReruns
	}
	return &Verifier{config: config}, nil
}

// ConfigKey identifies the configuration and the version of this package.
func (v *Verifier) ConfigKey(config loop.VerifyConfig) string {
	text, err := json.Marshal(config)
	if err != nil {
		// VerifyConfig holds only strings and numbers.
		panic(err)
	}
	sum := sha256.Sum256(append([]byte(Version+"\n"), text...))
	const enough = 12 // hexadecimal digits; a repository has few configurations
	return hex.EncodeToString(sum[:])[:enough]
}

// session is one verification of one clone.
type session struct {
	*Verifier
	clone     loop.Clone
	config    loop.VerifyConfig
	limits    loop.CommandLimits
	projects  []project
	manifest  feedback.Manifest
	unit      []ran           // the jobs of the unit stage, to be run again
	foreign   map[string]bool // commands of linters that are not among the project's dependencies
	missing   map[string]bool // of the programs that the projects need
	log       *zerolog.Logger
	measuring measuring
}

// open detects the projects of a clone. Commands of the configuration replace the detected ones
// of their stage and run at the root.
func (v *Verifier) open(ctx context.Context, clone loop.Clone, config loop.VerifyConfig, limits loop.CommandLimits) (*session, error) {
	root, err := os.OpenRoot(clone.Dir())
	if err != nil {
		return nil, fmt.Errorf("read the worktree: %w", err)
	}
	defer root.Close()
	projects, err := detect(root.FS())
	if err != nil {
		return nil, fmt.Errorf("detect how to verify: %w", err)
	}
	if limits.Timeout == 0 {
		limits.Timeout = config.Timeout
	}
	if limits.Output == 0 {
		limits.Output = outputLimit
	}
	s := &session{
		Verifier: v, clone: clone, config: config, limits: limits, projects: projects, log: zerolog.Ctx(ctx),
		manifest: feedback.NewManifest(os.DirFS(clone.Dir())), foreign: map[string]bool{},
	}
	if len(config.Commands) > 0 {
		s.override()
	}
	return s, nil
}

// override puts the configured commands in place of the detected ones.
func (s *session) override() {
	for i := range s.projects {
		s.projects[i].jobs = slices.DeleteFunc(slices.Clone(s.projects[i].jobs), func(j job) bool {
			_, configured := s.config.Commands[j.stage]
			return configured
		})
	}
	own := project{dir: ".", ecosystem: configured}
	for _, stage := range loop.Stages() {
		for _, command := range s.config.Commands[stage] {
			own.jobs = append(own.jobs, job{stage: stage, args: []string{"sh", "-c", command}})
		}
	}
	s.projects = append(s.projects, own)
}

// cacheDir is where a project's tools keep what must survive between two commands: beside the
// worktree, so that it never gets into a commit.
func (s *session) cacheDir(p project) string {
	sum := sha256.Sum256([]byte(p.ecosystem + "\x00" + p.dir))
	const enough = 8
	return filepath.Join(s.clone.Root(), "cache", p.ecosystem+"-"+hex.EncodeToString(sum[:])[:enough])
}

// Placeholders in arguments, replaced by directories of the clone: an installation that is handed on to other clones
// is known by its arguments.
const (
	// rootPlaceholder is the clone's root, cachePlaceholder the project's own cache directory below it.
	rootPlaceholder  = "{root}"
	cachePlaceholder = "{cache}"
	venvDir          = cachePlaceholder + "/venv"
	buildDir         = cachePlaceholder + "/build"
	// srcDir is replaced by the absolute path of the project's src directory.
	srcDir = "{src}"
)

// outputLimit is how much of a stream is read, in bytes: `go test -json` of a large repository
// prints tens of megabytes, and a cut report would be a wrong one.
const outputLimit = 64 << 20

// environment is the same for every command: no colour, no pager, wide lines, one locale, caches
// beside the worktree (issue "Senses", point 4).
func (s *session) environment(p project) []string {
	cache := s.cacheDir(p)
	shared := filepath.Join(s.clone.Root(), "cache")
	env := []string{
		"CI=1", "NO_COLOR=1", "TERM=dumb", "COLUMNS=400", "LC_ALL=C.UTF-8", "PAGER=cat",
		"GOCACHE=" + filepath.Join(shared, "go-build"), "GOMODCACHE=" + filepath.Join(shared, "go-mod"),
		"GOFLAGS=-buildvcs=false -modcacherw", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
		"PYTHONPYCACHEPREFIX=" + filepath.Join(shared, "pycache"), "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1",
		"PYTEST_ADDOPTS=-o cache_dir=" + filepath.Join(cache, "pytest"), "MYPY_CACHE_DIR=" + filepath.Join(cache, "mypy"),
		// An installation is tried again as a whole; each tool's own retries would multiply with that.
		"PIP_RETRIES=1", "PIP_DEFAULT_TIMEOUT=30", "npm_config_fetch_retries=1", "npm_config_fetch_timeout=60000",
		"PIP_CACHE_DIR=" + filepath.Join(shared, "pip"),
		"npm_config_cache=" + filepath.Join(shared, "npm"), "npm_config_update_notifier=false", "npm_config_fund=false",
		"YARN_CACHE_FOLDER=" + filepath.Join(shared, "yarn"), "YARN_GLOBAL_FOLDER=" + filepath.Join(shared, "yarn-global"), "YARN_ENABLE_TELEMETRY=0",
		"CARGO_HOME=" + filepath.Join(shared, "cargo"), "CARGO_TARGET_DIR=" + filepath.Join(cache, "target"), "CARGO_TERM_COLOR=never",
		"MAVEN_OPTS=-Dmaven.repo.local=" + filepath.Join(shared, "m2"), "GRADLE_USER_HOME=" + filepath.Join(shared, "gradle"),
		"BUNDLE_PATH=" + filepath.Join(shared, "bundle"), "COMPOSER_HOME=" + filepath.Join(shared, "composer"),
		"NUGET_PACKAGES=" + filepath.Join(shared, "nuget"), "DOTNET_CLI_TELEMETRY_OPTOUT=1", "MIX_HOME=" + filepath.Join(shared, "mix"), "HEX_HOME=" + filepath.Join(shared, "hex"),
	}
	if s.Verifier.config.GoModCache != "" {
		// The modules that this machine has already, read-only; the sums in go.sum still hold.
		env = append(env, "GOPROXY="+s.goModProxy(), "GONOSUMDB=*")
	}
	dir := filepath.Join(s.clone.Dir(), filepath.FromSlash(p.dir))
	for _, e := range p.env {
		env = append(env, strings.ReplaceAll(e, srcDir, filepath.Join(dir, "src")))
	}
	return env
}

// goModProxy is this machine's module cache as a proxy.
func (s *session) goModProxy() string {
	return "file://" + filepath.Join(s.Verifier.config.GoModCache, "cache", "download")
}

// makeDir makes a directory below the clone's root. What ran in the sandbox may have put links
// there; they are not followed out of the root.
func (s *session) makeDir(dir string) error {
	root, err := os.OpenRoot(s.clone.Root())
	if err != nil {
		return err
	}
	defer root.Close()
	inside, err := filepath.Rel(s.clone.Root(), dir)
	if err != nil {
		return err
	}
	return root.MkdirAll(inside, 0o700)
}

// virtualEnv is the project's virtual environment, "" where it has none. Configured commands run
// in the one of the root's project.
func (s *session) virtualEnv(p project) string {
	if p.ecosystem == configured {
		p.ecosystem = "python"
	}
	if p.ecosystem != "python" {
		return ""
	}
	dir := filepath.Join(s.cacheDir(p), "venv")
	if _, err := os.Lstat(filepath.Join(dir, "bin", "python3")); err != nil {
		return ""
	}
	return dir
}

// configured is the ecosystem of the configuration's own commands.
const configured = "configured"

// run runs one job of a project and returns what its output says.
func (s *session) run(ctx context.Context, p project, j job, reach reach) (ran, error) {
	cache := s.cacheDir(p)
	if err := s.makeDir(cache); err != nil {
		return ran{}, fmt.Errorf("make the cache directory: %w", err)
	}
	args := make([]string, len(j.args))
	for i, a := range j.args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(a, cachePlaceholder, cache), rootPlaceholder, s.clone.Root())
	}
	if args[0] == "python3" && p.interpreter.path != "" {
		args[0] = p.interpreter.path
	}
	first := p.bin
	if venv := s.virtualEnv(p); venv != "" {
		first = filepath.Join(venv, "bin")
	}
	if first != "" {
		// The sandbox sets the search path, so that only a shell inside can put something before it.
		args = append([]string{"/bin/sh", "-c", `PATH="$0:$PATH"; export PATH; exec "$@"`, first}, args...)
	}
	workdir, err := filepath.Rel(s.clone.Root(), filepath.Join(s.clone.Dir(), filepath.FromSlash(p.dir)))
	if err != nil {
		return ran{}, err
	}
	env := s.environment(p)
	for _, e := range j.env {
		env = append(env, strings.ReplaceAll(e, cachePlaceholder, cache))
	}
	command := loop.Command{
		Args: args, Dir: s.clone.Root(), Workdir: workdir, Env: env, Limits: s.limits,
		Network: reach.hosts, Mirrors: reach.mirrors,
	}
	for _, name := range j.secrets {
		secret, known := s.Verifier.config.Secrets[name]
		if !known {
			return ran{}, fmt.Errorf("the secret %s is not configured on this server any more", name)
		}
		value := secret.Value
		if secret.File != "" {
			value = insideSecrets + name
			command.Mounts = append(command.Mounts, loop.Mount{Source: secret.File, Target: value})
		}
		command.Env = append(command.Env, name+"="+value)
	}
	if cache := s.Verifier.config.GoModCache; cache != "" && p.ecosystem == "go" {
		command.Mounts = append(command.Mounts, loop.Mount{Source: filepath.Join(cache, "cache", "download")})
	}
	began := time.Now()
	result, err := s.Verifier.config.Runner.Run(ctx, command)
	if err != nil {
		return ran{}, fmt.Errorf("run %s: %w", j.command(), err)
	}
	s.log.Debug().Str("command", j.command()).Str("dir", p.dir).Int("exit_code", result.ExitCode).Dur("took", time.Since(began)).Msg("ran")
	output := joinOutput(result)
	code := result.ExitCode
	report, err := feedback.Read(ctx, strings.NewReader(string(output)), feedback.Options{
		ExitCode: &code, Command: cmp.Or(j.speaks, j.command()), Root: filepath.Join(s.clone.Dir(), filepath.FromSlash(p.dir)),
		TimedOut: result.Reason == loop.EndTimeout, OOMKilled: result.Reason == loop.EndOOM, Manifest: s.manifest, Cases: true,
	})
	if err != nil {
		return ran{}, fmt.Errorf("read the output of %s: %w", j.command(), err)
	}
	if j.direct && result.ExitCode == 0 && result.Reason == loop.EndExited {
		report = believeExit(report)
	}
	return ran{project: p, job: j, result: result, report: report, output: output}, nil
}

// insideSecrets is the directory inside in which installations find secrets that are files, where
// images for containers have theirs, too.
const insideSecrets = "/run/secrets/"

// reach is what an installation may reach: what the repository's configuration names, and what
// this machine's own tools are configured with. The zero value is nothing at all.
type reach struct{ hosts, mirrors []string }

// believeExit takes out of a report what a tool that ended with 0 cannot have found: a program
// under test printed it.
func believeExit(report feedback.Report) feedback.Report {
	if report.Status == feedback.StatusPass {
		return report
	}
	report.Cases = slices.DeleteFunc(report.Cases, func(c feedback.Case) bool { return c.Status == feedback.CaseFailed })
	report.Failures, report.Status, report.Class, report.Rule = nil, feedback.StatusPass, feedback.ClassNone, "exit-code"
	return report
}

// joinOutput is what a person would have seen: standard output, then standard error.
func joinOutput(result loop.CommandResult) []byte {
	if len(result.Stderr) == 0 {
		return result.Stdout
	}
	out := slices.Clone(result.Stdout)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return append(out, result.Stderr...)
}

// ran is one job that was run.
type ran struct {
	project project
	job     job
	result  loop.CommandResult
	report  feedback.Report
	output  []byte
}

// red says whether the job failed: by its exit code or by what it reports.
func (r ran) red() bool { return r.result.ExitCode != 0 || r.report.Status != feedback.StatusPass }

// Setup installs dependencies. What cannot be installed is found by the environment stage, with
// the installation's own output, so a failure here is no error.
func (v *Verifier) Setup(ctx context.Context, clone loop.Clone, config loop.VerifyConfig) error {
	s, err := v.open(ctx, clone, config, loop.CommandLimits{})
	if err != nil {
		return err
	}
	if len(config.Setup) > 0 {
		own := project{dir: ".", ecosystem: configured}
		for _, command := range config.Setup {
			if err := s.install(ctx, own, job{args: []string{"sh", "-c", command}}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.survey(ctx); err != nil {
		return err
	}
	root, err := os.OpenRoot(clone.Dir())
	if err != nil {
		return fmt.Errorf("read the worktree: %w", err)
	}
	defer root.Close()
	var done []string
	for _, p := range s.projects {
		if !slices.Contains(done, p.ecosystem) {
			done = append(done, p.ecosystem)
			if err := s.installAll(ctx, p.ecosystem, sharedKey(root.FS(), clone.Owner(), p.ecosystem, s.projects, s.config)); err != nil {
				return err
			}
		}
		if p.ecosystem == "go" {
			if err := s.seedGo(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// install runs one installation, again where it failed, since networks do.
func (s *session) install(ctx context.Context, p project, j job) error {
	network := reach{hosts: s.config.Network}
	if s.Verifier.config.Hosts != nil && j.network != "" {
		network.mirrors = s.Verifier.config.Hosts(ctx, j.network)
	}
	j.env = slices.Clone(j.env)
	if s.Verifier.config.GoModCache != "" {
		// An installation may go further than this machine's module cache, which environment names alone;
		// empty, the go command says itself what it is configured with.
		j.env = append(j.env, "GOPROXY=")
	}
	j.env = append(j.env, s.Verifier.config.InstallEnv...)
	j.secrets = s.config.Secrets
	if s.config.InstallScripts {
		j.args = slices.DeleteFunc(slices.Clone(j.args), func(a string) bool { return slices.Contains(noScripts, a) })
	} else {
		j.env = append(j.env, noScriptsEnv(s.projects)...)
		if len(j.secrets) > 0 {
			// pip builds what it finds as source only, and building runs the package's code.
			j.env = append(j.env, "PIP_ONLY_BINARY=:all:")
		}
	}
	if p.ecosystem == "go" && s.Verifier.config.GoModCache != "" {
		// What is there already comes first.
		j.args = append([]string{"sh", "-c", `GOPROXY="$0,$(go env GOPROXY)" exec "$@"`, s.goModProxy()}, j.args...)
	}
	registry := fmt.Sprintf("%s\x00%s\x00%q", s.clone.Owner(), j.network, network)
	if why := s.notReached(registry); why != "" && j.network != "" {
		s.broken.Store(s.cacheDir(p), why)
		return nil
	}
	var tried [][]string
	for try := 1; ; try++ {
		r, err := s.run(ctx, p, j, network)
		if err != nil {
			return err
		}
		if r.result.ExitCode == 0 {
			return nil
		}
		if other := otherWay(j.args, r.output, tried); other != nil {
			s.log.Info().Str("command", j.command()).Str("why", tellingLine(string(r.output))).Msg("installing in another way")
			tried = append(tried, j.args)
			j.args, try = other, 0
			continue
		}
		s.log.Warn().Str("command", j.command()).Int("try", try).Int("exit_code", r.result.ExitCode).Msg("installation failed")
		if try == s.Verifier.config.InstallTries || len(network.hosts)+len(network.mirrors) == 0 || r.result.ExitCode == exitNotFound {
			s.broken.Store(s.cacheDir(p), tellingLine(string(r.output)))
			return nil
		}
		if noNetwork.Match(r.output) {
			why := tellingLine(string(r.output))
			s.unreached.Store(registry, unreached{until: time.Now().Add(unreachedLife), why: why})
			s.broken.Store(s.cacheDir(p), why)
			return nil
		}
	}
}

// noScripts are the arguments with which package managers run no script of the packages that they
// install.
var noScripts = []string{"--ignore-scripts", "--no-scripts"}

// noScriptsEnv says the same to those that are started by a repository's own setup commands: npm, pnpm and yarn 1, or a
// later yarn, which ends at a variable of the other. `cargo fetch` runs nothing by itself.
func noScriptsEnv(projects []project) []string {
	yarn := "YARN_IGNORE_SCRIPTS=true"
	if slices.ContainsFunc(projects, project.laterYarn) {
		yarn = "YARN_ENABLE_SCRIPTS=false"
	}
	return []string{"npm_config_ignore_scripts=true", yarn}
}

// exitNotFound is the shell's exit code for a program that is not there.
const exitNotFound = 127
