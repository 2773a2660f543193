package loop

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// repoConfig is `.github/autocode.yml` as written. ParseConfig turns it into a Config; nothing
// else reads it.
type repoConfig struct {
	Model struct {
		Planner string `yaml:"planner" json:"planner,omitempty" jsonschema:"description=Name of the planner's model; must be one that the server offers."`
		Coder   string `yaml:"coder" json:"coder,omitempty"`
		Critic  string `yaml:"critic" json:"critic,omitempty"`
	} `yaml:"model" json:"model,omitempty"`
	Budget struct {
		Rounds     int     `yaml:"rounds" json:"rounds,omitempty" jsonschema:"minimum=1"`
		Minutes    int     `yaml:"minutes" json:"minutes,omitempty" jsonschema:"minimum=1"`
		ModelCalls int     `yaml:"model_calls" json:"model_calls,omitempty" jsonschema:"minimum=1"`
		Tokens     int     `yaml:"tokens" json:"tokens,omitempty" jsonschema:"minimum=1"`
		USD        float64 `yaml:"usd" json:"usd,omitempty" jsonschema:"minimum=0"`
		Files      int     `yaml:"files" json:"files,omitempty" jsonschema:"minimum=1"`
		Lines      int     `yaml:"lines" json:"lines,omitempty" jsonschema:"minimum=1"`
	} `yaml:"budget" json:"budget,omitempty"`
	Sandbox struct {
		Image   string   `yaml:"image" json:"image,omitempty"`
		CPU     float64  `yaml:"cpu" json:"cpu,omitempty" jsonschema:"minimum=0"`
		Memory  string   `yaml:"memory" json:"memory,omitempty" jsonschema:"description=Like 512m or 2g."`
		Network []string `yaml:"network" json:"network,omitempty" jsonschema:"description=Hosts that setup commands may reach; a leading dot allows subdomains."`
	} `yaml:"sandbox" json:"sandbox,omitempty"`
	Setup   []string `yaml:"setup" json:"setup,omitempty"`
	Install struct {
		Scripts bool     `yaml:"scripts" json:"scripts,omitempty" jsonschema:"description=Packages may run their own scripts while they are installed."`
		Secrets []string `yaml:"secrets" json:"secrets,omitempty" jsonschema:"description=Names of secrets that the server's configuration allows this repository; only the installation sees them."`
	} `yaml:"install" json:"install,omitempty"`
	Verify struct {
		Compile           []string `yaml:"compile" json:"compile,omitempty"`
		Lint              []string `yaml:"lint" json:"lint,omitempty"`
		Types             []string `yaml:"types" json:"types,omitempty"`
		Unit              []string `yaml:"unit" json:"unit,omitempty"`
		Coverage          []string `yaml:"coverage" json:"coverage,omitempty"`
		Integration       []string `yaml:"integration" json:"integration,omitempty"`
		E2E               []string `yaml:"e2e" json:"e2e,omitempty"`
		Security          []string `yaml:"security" json:"security,omitempty"`
		CoverageThreshold *float64 `yaml:"coverage_threshold" json:"coverage_threshold,omitempty" jsonschema:"minimum=0,maximum=100"`
		TimeoutMinutes    int      `yaml:"timeout_minutes" json:"timeout_minutes,omitempty" jsonschema:"minimum=1"`
	} `yaml:"verify" json:"verify,omitempty"`
	Paths struct {
		Protected []string `yaml:"protected" json:"protected,omitempty"`
		Approval  []string `yaml:"approval" json:"approval,omitempty"`
	} `yaml:"paths" json:"paths,omitempty"`
	Autonomy   Autonomy `yaml:"autonomy" json:"autonomy,omitempty" jsonschema:"enum=plan,enum=approve-plan,enum=pull-request"`
	Publish    publish  `yaml:"publish" json:"publish,omitempty" jsonschema:"enum=final,enum=rounds"`
	Checks     checksOn `yaml:"checks" json:"checks,omitempty" jsonschema:"enum=own,enum=all,description=With all the check run autocode is put on everybody's pull requests as skipped\\, for a branch protection that requires it."`
	Candidates int      `yaml:"candidates" json:"candidates,omitempty" jsonschema:"minimum=1,maximum=5"`
	Critic     *bool    `yaml:"critic" json:"critic,omitempty"`
	Labels     struct {
		Trigger   string `yaml:"trigger" json:"trigger,omitempty"`
		NeedsInfo string `yaml:"needs_info" json:"needs_info,omitempty"`
	} `yaml:"labels" json:"labels,omitempty"`
}

// publish is PublishWhen as written.
type publish = PublishWhen

// checksOn is ChecksOn as written.
type checksOn = ChecksOn

// maxConfigBytes bounds `.github/autocode.yml`; real ones are below 4 kB.
const maxConfigBytes = 256 << 10

// ParseConfig reads a repository's configuration. What it leaves out is the ceiling's; what it
// sets can only lower the ceiling. Every fault is found at once: the error joins one ConfigFault
// for each.
func ParseConfig(file string, raw []byte, ceiling Config) (Config, error) {
	if len(raw) > maxConfigBytes {
		return Config{}, ConfigFault{File: file, Problem: fmt.Sprintf("%d bytes, at most %d are read", len(raw), maxConfigBytes)}
	}
	if BlankYAML(raw) {
		return ceiling, nil
	}
	var root yaml.Node
	if err := yaml.Load(raw, &root); err != nil {
		return Config{}, YAMLFaults(file, raw, err)
	}
	var written repoConfig
	p := &configParser{file: file, root: &root}
	var unread []ConfigFault // what did not decode; the rest did, and is checked all the same
	if err := yaml.Load(raw, &written, yaml.WithKnownFields()); err != nil {
		unread = yamlFaults(file, raw, err)
	}
	config := p.apply(written, ceiling)
	// A value that could not be read is not missing or zero as well.
	checked := slices.DeleteFunc(p.faults, func(f ConfigFault) bool {
		return slices.ContainsFunc(unread, func(u ConfigFault) bool { return u.Key == "" || f.Key == u.Key || strings.HasPrefix(u.Key, f.Key+".") })
	})
	if faults := append(unread, checked...); len(faults) > 0 {
		return Config{}, joinFaults(faults)
	}
	return config, nil
}

// configParser checks values and remembers what is wrong with them.
type configParser struct {
	file   string
	root   *yaml.Node
	faults []ConfigFault
}

// fault records a problem of a key, with the place where the key's value stands.
func (p *configParser) fault(key, format string, args ...any) {
	line, column, _ := position(p.root, strings.Split(key, "."))
	p.faults = append(p.faults, ConfigFault{
		File: p.file, Line: line, Column: column, Key: key, Problem: fmt.Sprintf(format, args...),
	})
}

// written says whether the file has a key, so that a zero can be told from nothing.
func (p *configParser) written(key string) bool {
	_, _, found := position(p.root, strings.Split(key, "."))
	return found
}

// apply checks what was written and lays it over the ceiling.
func (p *configParser) apply(w repoConfig, ceiling Config) Config {
	c := ceiling
	c.Models = map[Role]string{}
	for role, name := range ceiling.Models {
		c.Models[role] = name
	}
	for role, name := range map[Role]string{RolePlanner: w.Model.Planner, RoleCoder: w.Model.Coder, RoleCritic: w.Model.Critic} {
		if name != "" {
			c.Models[role] = name
		}
	}
	for key, n := range map[string]int{
		"budget.rounds": w.Budget.Rounds, "budget.minutes": w.Budget.Minutes, "budget.model_calls": w.Budget.ModelCalls,
		"budget.tokens": w.Budget.Tokens, "budget.files": w.Budget.Files, "budget.lines": w.Budget.Lines,
		"candidates": w.Candidates, "verify.timeout_minutes": w.Verify.TimeoutMinutes,
	} {
		if n < 0 || n == 0 && p.written(key) {
			p.fault(key, "is %d; must be at least 1", n)
		}
	}
	p.positive("budget.usd", w.Budget.USD)
	c.Limits = ceiling.Limits.Lower(Limits{
		Rounds: w.Budget.Rounds, Wall: minutes(w.Budget.Minutes), ModelCalls: w.Budget.ModelCalls,
		Tokens: w.Budget.Tokens, USD: w.Budget.USD, Files: w.Budget.Files, Lines: w.Budget.Lines,
	})
	p.sandbox(w, &c)
	p.verify(w, &c)
	p.patterns("paths.protected", w.Paths.Protected)
	p.patterns("paths.approval", w.Paths.Approval)
	c.Paths.Protected = append(slices.Clone(ceiling.Paths.Protected), w.Paths.Protected...)
	c.Paths.Approval = append(slices.Clone(ceiling.Paths.Approval), w.Paths.Approval...)
	p.choices(w, ceiling, &c)
	return c
}

// positive wants a number above zero where the file has the key; what is no number is none.
func (p *configParser) positive(key string, n float64) {
	if p.written(key) && !(n > 0 && n <= math.MaxFloat64) {
		p.fault(key, "is %g; must be a number above 0", n)
	}
}

// minutes is a time of n minutes; what overflows is the longest there is.
func minutes(n int) time.Duration {
	if most := int(math.MaxInt64 / time.Minute); n > most {
		n = most
	}
	return time.Duration(n) * time.Minute
}

// patterns wants path patterns that can match something.
func (p *configParser) patterns(key string, list []string) {
	for _, pattern := range list {
		switch {
		case strings.TrimSpace(pattern) == "":
			p.fault(key, "has an empty pattern; write a path like docs/** or *.sql")
		case strings.HasPrefix(pattern, "!"):
			p.fault(key, "%q begins with !; a path cannot be taken off the list", pattern)
		}
	}
}

// commands wants commands that can be run.
func (p *configParser) commands(key string, list []string) {
	for _, command := range list {
		if strings.TrimSpace(command) == "" || strings.ContainsRune(command, 0) {
			p.fault(key, "has an empty command; write a shell command, or [] to switch the stage off")
		}
	}
}

func (p *configParser) sandbox(w repoConfig, c *Config) {
	if w.Sandbox.Image != "" {
		c.Sandbox.Image = w.Sandbox.Image
	}
	p.positive("sandbox.cpu", w.Sandbox.CPU)
	if w.Sandbox.CPU > 0 {
		c.Sandbox.CPUs = lowerOf(c.Sandbox.CPUs, w.Sandbox.CPU)
	}
	if w.Sandbox.Memory != "" {
		memory, err := ParseBytes(w.Sandbox.Memory)
		if err != nil {
			p.fault("sandbox.memory", "%s", err)
		} else {
			c.Sandbox.Memory = lowerOf(c.Sandbox.Memory, memory)
		}
	}
	if w.Sandbox.Network != nil {
		c.Sandbox.Network = w.Sandbox.Network
	}
	for _, host := range w.Sandbox.Network {
		if host == "" || strings.ContainsAny(host, " /:@*\t\n") {
			p.fault("sandbox.network", "%q is not a host name; write example.org, or .example.org with its subdomains", host)
		}
	}
	c.Verify.Network = c.Sandbox.Network
}

// lowerOf lowers a ceiling; a ceiling of 0 is none.
func lowerOf[N int64 | float64](ceiling, want N) N {
	if ceiling > 0 && ceiling < want {
		return ceiling
	}
	return want
}

func (p *configParser) verify(w repoConfig, c *Config) {
	p.commands("setup", w.Setup)
	if w.Setup != nil {
		c.Verify.Setup = w.Setup
	}
	c.Verify.InstallScripts = w.Install.Scripts
	for _, name := range w.Install.Secrets {
		if !slices.ContainsFunc(c.Grants, func(g SecretGrant) bool { return g.Name == name }) {
			p.fault("install.secrets", "%q is not a secret that the server's configuration allows this repository", name)
		} else if !slices.Contains(c.Verify.Secrets, name) {
			c.Verify.Secrets = append(c.Verify.Secrets, name)
		}
	}
	commands := map[StageName][]string{}
	for stage, list := range c.Verify.Commands {
		commands[stage] = list
	}
	for stage, list := range map[StageName][]string{
		StageCompile: w.Verify.Compile, StageLint: w.Verify.Lint, StageTypes: w.Verify.Types, StageUnit: w.Verify.Unit,
		StageCoverage: w.Verify.Coverage, StageIntegration: w.Verify.Integration, StageE2E: w.Verify.E2E, StageSecurity: w.Verify.Security,
	} {
		p.commands("verify."+string(stage), list)
		if list != nil {
			commands[stage] = list // an empty list switches the stage off
		}
	}
	if len(commands) > 0 {
		c.Verify.Commands = commands
	}
	if t := w.Verify.CoverageThreshold; t != nil {
		if !(*t >= 0 && *t <= 100) { // what is no number is neither
			p.fault("verify.coverage_threshold", "is %g; must be between 0 and 100 percent", *t)
		}
		c.Verify.CoverageThreshold = t
	}
	if w.Verify.TimeoutMinutes > 0 {
		c.Verify.Timeout = time.Duration(lowerOf(int64(c.Verify.Timeout), int64(minutes(w.Verify.TimeoutMinutes))))
	}
}

func (p *configParser) choices(w repoConfig, ceiling Config, c *Config) {
	levels := []Autonomy{AutonomyPlan, AutonomyApprovePlan, AutonomyPullRequest}
	switch {
	case w.Autonomy == "":
	case !slices.Contains(levels, w.Autonomy):
		p.fault("autonomy", "%q is not one of plan, approve-plan, pull-request", w.Autonomy)
	case slices.Index(levels, w.Autonomy) < slices.Index(levels, ceiling.Autonomy):
		c.Autonomy = w.Autonomy
	}
	switch w.Publish {
	case "":
	case PublishFinal, PublishRounds:
		c.Publish = w.Publish
	default:
		p.fault("publish", "%q is not one of final, rounds", w.Publish)
	}
	switch w.Checks {
	case "":
	case ChecksOwn, ChecksAll:
		c.Checks = w.Checks
	default:
		p.fault("checks", "%q is not one of own, all", w.Checks)
	}
	if w.Candidates > MaxCandidates {
		p.fault("candidates", "is %d; at most %d", w.Candidates, MaxCandidates)
	} else if w.Candidates > 0 {
		c.Candidates = w.Candidates
		if ceiling.Candidates > 0 {
			c.Candidates = min(ceiling.Candidates, w.Candidates)
		}
	}
	if w.Critic != nil {
		c.Critic = *w.Critic
	}
	p.label("labels.trigger", w.Labels.Trigger, &c.Labels.Trigger)
	p.label("labels.needs_info", w.Labels.NeedsInfo, &c.Labels.NeedsInfo)
}

// label takes over a label's name.
func (p *configParser) label(key, name string, field *string) {
	const longest = 50 // characters, GitHub's limit
	if name == "" {
		return
	}
	if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "\n\t,") || utf8.RuneCountInString(name) > longest {
		p.fault(key, "%q is not a label's name: one line of at most %d characters without a comma", name, longest)
	}
	*field = name
}

// ParseBytes reads a size such as 512m, 2g or 1048576: a number with an optional k, m, g or t,
// powers of 1024, a trailing b or ib ignored.
func ParseBytes(text string) (int64, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "b"), "i")
	shift := 0
	for unit, s := range map[string]int{"k": 10, "m": 20, "g": 30, "t": 40} {
		if strings.HasSuffix(t, unit) {
			t, shift = strings.TrimSuffix(t, unit), s
			break
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n <= 0 || n > (1<<62)>>shift {
		return 0, fmt.Errorf("%q is not a size; write a number with k, m, g or t, like 512m", text)
	}
	return n << shift, nil
}
