package loop

import (
	"slices"
	"strings"
	"time"
)

// Autonomy is how far autocode goes by itself. Merging does not exist.
type Autonomy string

// The levels of autonomy.
const (
	AutonomyPlan        Autonomy = "plan"         // posts the plan and ends
	AutonomyApprovePlan Autonomy = "approve-plan" // posts the plan and waits for approval
	AutonomyPullRequest Autonomy = "pull-request"
)

// PublishWhen says which commits are pushed.
type PublishWhen string

// When commits are pushed.
const (
	PublishFinal  PublishWhen = "final"  // only the finished one
	PublishRounds PublishWhen = "rounds" // each round that the guard passed, with its check runs, and the finished one
)

// ChecksOn says which pull requests get the check run `autocode`.
type ChecksOn string

// Which pull requests get the check run.
const (
	ChecksOwn ChecksOn = "own" // autocode's own
	ChecksAll ChecksOn = "all" // others' as well, skipped: for a branch protection that requires it
)

// Config is the validated configuration of a repository, merged with the server's ceilings.
// Nothing else of `.github/autocode.yml` reaches the rest of the code.
type Config struct {
	Models   map[Role]string `json:"models,omitempty"`
	Limits   Limits          `json:"limits"`
	Sandbox  SandboxConfig   `json:"sandbox"`
	Verify   VerifyConfig    `json:"verify"`
	Paths    PathPolicy      `json:"paths"`
	Autonomy Autonomy        `json:"autonomy"`
	Publish  PublishWhen     `json:"publish"`
	Checks   ChecksOn        `json:"checks,omitempty"`
	// Candidates is how many solutions a round makes where the recipe wants several, 1 to 5; 0: as
	// many as the recipe says.
	Candidates int         `json:"candidates"`
	Critic     bool        `json:"critic"`
	Labels     LabelConfig `json:"labels"`
	// TrustCI is the server's alone (`ci: trusted`): workflows that name secrets may be started
	// by a push without approval.
	TrustCI bool `json:"trust_ci,omitempty"`
	// Grants are the server's alone: which secrets installations may have, and in which repositories.
	// A state does not keep them: what a repository asked for and may have stands in Verify.Secrets.
	Grants []SecretGrant `json:"-"`
}

// SecretGrant lets repositories ask for one of the server's secrets during `setup`.
type SecretGrant struct {
	Name string
	// Repositories are OWNER/NAME or OWNER/*; letter case does not count, as on GitHub.
	Repositories []string
}

// grantsFor returns c with the grants that hold for a repository.
func (c Config) grantsFor(repository string) Config {
	owner, _, _ := strings.Cut(repository, "/")
	c.Grants = slices.DeleteFunc(slices.Clone(c.Grants), func(g SecretGrant) bool {
		return !slices.ContainsFunc(g.Repositories, func(r string) bool {
			return strings.EqualFold(r, repository) || strings.EqualFold(r, owner+"/*")
		})
	})
	return c
}

// SandboxConfig bounds the commands of a repository.
type SandboxConfig struct {
	Image   string   `json:"image,omitempty"`
	CPUs    float64  `json:"cpu,omitempty"`
	Memory  int64    `json:"memory,omitempty"` // bytes
	Network []string `json:"network,omitempty"`
}

// coverageAdvised says that nobody configured a threshold of coverage: then it is advice and no gate.
func (c *Config) coverageAdvised() bool { return c.Verify.CoverageThreshold == nil }

// VerifyConfig says how a repository is verified; what it leaves out is detected.
type VerifyConfig struct {
	// Setup commands run before verification, with the network that Network allows.
	Setup   []string `json:"setup,omitempty"`
	Network []string `json:"network,omitempty"`
	// InstallScripts lets packages run their own scripts while they are installed.
	InstallScripts bool `json:"install_scripts,omitempty"`
	// Secrets are the names of the server's secrets that installations have, and no other command.
	Secrets []string `json:"secrets,omitempty"`
	// Commands replace the detected ones, by stage; each is run by `sh -c` in the sandbox.
	Commands map[StageName][]string `json:"commands,omitempty"`
	// CoverageThreshold is the least percentage of changed lines that tests run. nil: 60 is advised, a round is spent on it,
	// and what it leaves is told; 0: nothing is measured.
	CoverageThreshold *float64 `json:"coverage_threshold,omitempty"`
	// Timeout bounds one command; 0: the sandbox's default.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}

// PathPolicy says which paths need more than the loop. Patterns are as in .gitignore without
// negation. What is protected by default cannot be taken off the list.
type PathPolicy struct {
	Protected []string `json:"protected,omitempty"` // never changed
	Approval  []string `json:"approval,omitempty"`  // changed only with a person's approval
}

// LabelConfig names the labels.
type LabelConfig struct {
	Trigger   string `json:"trigger"`
	NeedsInfo string `json:"needs_info"`
}

// The labels where nothing else is configured.
const (
	DefaultLabel          = "autocode"
	DefaultNeedsInfoLabel = "autocode:needs-info"
)

// DefaultConfig is the configuration of a repository without `.github/autocode.yml`.
func DefaultConfig() Config {
	return Config{
		Limits:   DefaultLimits(),
		Autonomy: AutonomyPullRequest,
		Publish:  PublishFinal,
		Checks:   ChecksOwn,
		Labels:   LabelConfig{Trigger: DefaultLabel, NeedsInfo: DefaultNeedsInfoLabel},
	}
}
