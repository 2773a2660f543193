package loop_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// ceiling is a server's configuration with a value in each field.
func ceiling() loop.Config {
	c := loop.DefaultConfig()
	c.Models = map[loop.Role]string{loop.RolePlanner: "large"}
	c.Sandbox = loop.SandboxConfig{CPUs: 4, Memory: 4 << 30, Network: []string{"proxy.example"}}
	c.Verify = loop.VerifyConfig{Timeout: 10 * time.Minute, Network: []string{"proxy.example"}}
	c.Paths.Protected = []string{"deploy/**"}
	c.TrustCI = true
	c.Grants = []loop.SecretGrant{{Name: "NPM_TOKEN"}, {Name: "NETRC"}}
	return c
}

func TestParseConfig(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       func(*loop.Config)
	}{
		{"empty", "", func(*loop.Config) {}},
		{"a comment only", "# nothing yet\n\n  # really\n", func(*loop.Config) {}},
		{"null sections", "budget:\nverify:\npaths:\n", func(*loop.Config) {}},
		{"model", "model: {planner: small, coder: medium}", func(c *loop.Config) {
			c.Models = map[loop.Role]string{loop.RolePlanner: "small", loop.RoleCoder: "medium"}
		}},
		{"budget lowers", "budget: {rounds: 2, minutes: 3, model_calls: 4, tokens: 5, usd: 0.5, files: 6, lines: 7}", func(c *loop.Config) {
			c.Limits.Rounds, c.Limits.Wall, c.Limits.ModelCalls, c.Limits.Tokens = 2, 3*time.Minute, 4, 5
			c.Limits.USD, c.Limits.Files, c.Limits.Lines = 0.5, 6, 7
		}},
		{"budget cannot raise", "budget: {rounds: 99, minutes: 999999999999999, model_calls: 9999, tokens: 99999999, usd: 1e9, files: 9999, lines: 99999}", func(*loop.Config) {}},
		{"sandbox", "sandbox: {image: 'debian:12', cpu: 0.5, memory: 512m, network: [proxy.example.org, .example.org]}", func(c *loop.Config) {
			c.Sandbox = loop.SandboxConfig{Image: "debian:12", CPUs: 0.5, Memory: 512 << 20, Network: []string{"proxy.example.org", ".example.org"}}
			c.Verify.Network = c.Sandbox.Network
		}},
		{"sandbox cannot raise", "sandbox: {cpu: 64, memory: 1t}", func(*loop.Config) {}},
		{"no network", "sandbox: {network: []}", func(c *loop.Config) {
			c.Sandbox.Network, c.Verify.Network = []string{}, []string{}
		}},
		{"setup", "setup: [make deps]", func(c *loop.Config) { c.Verify.Setup = []string{"make deps"} }},
		{"install", "install: {scripts: true, secrets: [NETRC, NETRC]}", func(c *loop.Config) { c.Verify.InstallScripts, c.Verify.Secrets = true, []string{"NETRC"} }},
		{"verify", "verify:\n  compile: [make]\n  lint: []\n  unit: [make test]\n  coverage_threshold: 70\n  timeout_minutes: 2\n", func(c *loop.Config) {
			threshold := 70.0
			c.Verify.Commands = map[loop.StageName][]string{loop.StageCompile: {"make"}, loop.StageLint: {}, loop.StageUnit: {"make test"}}
			c.Verify.CoverageThreshold, c.Verify.Timeout = &threshold, 2*time.Minute
		}},
		{"every stage", "verify: {types: [t], coverage: [c], integration: [i], e2e: [e], security: [s]}", func(c *loop.Config) {
			c.Verify.Commands = map[loop.StageName][]string{
				loop.StageTypes: {"t"}, loop.StageCoverage: {"c"}, loop.StageIntegration: {"i"}, loop.StageE2E: {"e"}, loop.StageSecurity: {"s"},
			}
		}},
		{"a time-out cannot be raised", "verify: {timeout_minutes: 999999999999999}", func(*loop.Config) {}},
		{"paths add to the server's", "paths: {protected: [api/**], approval: ['*.sql']}", func(c *loop.Config) {
			c.Paths = loop.PathPolicy{Protected: []string{"deploy/**", "api/**"}, Approval: []string{"*.sql"}}
		}},
		{"autonomy", "autonomy: approve-plan", func(c *loop.Config) { c.Autonomy = loop.AutonomyApprovePlan }},
		{"checks", "checks: all", func(c *loop.Config) { c.Checks = loop.ChecksAll }},
		{"publish", "publish: rounds", func(c *loop.Config) { c.Publish = loop.PublishRounds }},
		{"candidates", "candidates: 3", func(c *loop.Config) { c.Candidates = 3 }},
		{"critic", "critic: true", func(c *loop.Config) { c.Critic = true }},
		{"labels", "labels: {trigger: 'bot please', needs_info: tell me}", func(c *loop.Config) {
			c.Labels = loop.LabelConfig{Trigger: "bot please", NeedsInfo: "tell me"}
		}},
		{"an anchor", "x: &a\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := loop.ParseConfig("autocode.yml", []byte(c.text), ceiling())
			if c.want == nil {
				if err == nil {
					t.Fatal("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := ceiling()
			c.want(&want)
			if got, want := jsonOf(t, got), jsonOf(t, want); got != want {
				t.Errorf("configuration\n%s, want\n%s", got, want)
			}
		})
	}
}

func TestParseConfigAutonomyCannotBeRaised(t *testing.T) {
	low := ceiling()
	low.Autonomy = loop.AutonomyPlan
	got, err := loop.ParseConfig("f", []byte("autonomy: pull-request"), low)
	if err != nil || got.Autonomy != loop.AutonomyPlan {
		t.Errorf("%s, %v", got.Autonomy, err)
	}
}

// TestParseConfigFaults: each fault has its place and key, in words for the file's author, all at once.
func TestParseConfigFaults(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", 'b'+i, 'b'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i, 'a'+i)
	}
	for _, c := range []struct {
		name, text string
		want       []string // each fault, in this order; those that end in … only begin so
	}{
		{"an unknown key", "setupp: []\n", []string{"f.yml:1:1: setupp: there is no such key"}},
		{"an unknown key below another", "budget:\n  rouns: 2\n", []string{"f.yml:2:3: budget.rouns: there is no such key"}},
		{"a word for a number", "budget:\n  rounds: many\n", []string{`f.yml:2:11: budget.rounds: "many" is not a whole number`}},
		{"half a round", "budget:\n  rounds: 2.5\n", []string{`f.yml:2:11: budget.rounds: "2.5" is not a whole number`}},
		{"a word for a list", "setup: make\n", []string{`f.yml:1:8: setup: "make" is not a list`}},
		{"a list for a section", "budget: [1]\n", []string{"f.yml:1:9: budget: a list is not a mapping of keys"}},
		{"a list for the whole", "- a\n", []string{"f.yml:1:1: a list is not a mapping of keys"}},
		{"a mapping for a word", "autonomy: {a: b}\n", []string{"f.yml:1:11: autonomy: a mapping is not a text"}},
		{"neither true nor false", "critic: maybe\n", []string{`f.yml:1:9: critic: "maybe" is not true or false`}},
		{"a key twice", "critic: true\ncritic: false\n", []string{"f.yml:2:1: critic: mapping key …"}},
		{"no YAML", "a: b: c\n", []string{"f.yml:1:5: mapping values are not allowed …"}},
		{"a tab", "budget:\n\trounds: 1\n", []string{"f.yml:2:1: found character that cannot start any token…"}},
		{"two documents", "critic: true\n---\ncritic: true\n", []string{"f.yml: expected single document…"}},
		{"zero rounds", "budget:\n  rounds: 0\n", []string{"f.yml:2:11: budget.rounds: is 0; must be at least 1"}},
		{"less than nothing", "budget: {lines: -1, tokens: -5}\n", []string{
			"f.yml:1:17: budget.lines: is -1; must be at least 1", "f.yml:1:29: budget.tokens: is -5; must be at least 1",
		}},
		{"money that is no number", "budget: {usd: .nan}\n", []string{"f.yml:1:15: budget.usd: is NaN; must be a number above 0"}},
		{"endless money", "budget: {usd: .inf}\n", []string{"f.yml:1:15: budget.usd: is +Inf; must be a number above 0"}},
		{"a secret that is not allowed", "install: {secrets: [NPM_TOKEN, GITHUB_TOKEN]}\n", []string{
			`f.yml:1:20: install.secrets: "GITHUB_TOKEN" is not a secret that the server's configuration allows this repository`,
		}},
		{"no money", "budget: {usd: 0}\n", []string{"f.yml:1:15: budget.usd: is 0; must be a number above 0"}},
		{"a processor that is none", "sandbox: {cpu: -1}\n", []string{"f.yml:1:16: sandbox.cpu: is -1; must be a number above 0"}},
		{"a size that is none", "sandbox: {memory: lots}\n", []string{`f.yml:1:19: sandbox.memory: "lots" is not a size…`}},
		{"hosts that are none", "sandbox: {network: ['https://a', '*', 'a:22', '']}\n", []string{
			`f.yml:1:20: sandbox.network: "" is not a host name…`, `f.yml:1:20: sandbox.network: "*" is not a host name…`,
			`f.yml:1:20: sandbox.network: "a:22" is not a host name…`, `f.yml:1:20: sandbox.network: "https://a" is not a host name…`,
		}},
		{"empty commands", "setup: ['']\nverify: {unit: [' ']}\n", []string{"f.yml:1:8: setup: has an empty command…", "f.yml:2:16: verify.unit: has an empty command…"}},
		{"a threshold over 100", "verify: {coverage_threshold: 101}\n", []string{"f.yml:1:30: verify.coverage_threshold: is 101; must be between 0 and 100 percent"}},
		{"a threshold that is no number", "verify: {coverage_threshold: .nan}\n", []string{"f.yml:1:30: verify.coverage_threshold: is NaN; must be between 0 and 100 percent"}},
		{"patterns that match nothing", "paths: {protected: ['!a', '']}\n", []string{
			`f.yml:1:20: paths.protected: "!a" begins with !…`, "f.yml:1:20: paths.protected: has an empty pattern…",
		}},
		{"words that are none", "autonomy: full\npublish: never\ncandidates: 9\n", []string{
			`f.yml:1:11: autonomy: "full" is not one of plan, approve-plan, pull-request`,
			`f.yml:2:10: publish: "never" is not one of final, rounds`, "f.yml:3:13: candidates: is 9; at most 5",
		}},
		{"a label of two lines", "labels: {trigger: \"a\\nb\"}\n", []string{`f.yml:1:19: labels.trigger: "a\nb" is not a label's name…`}},
		{"too large", strings.Repeat("# comment\n", 30_000), []string{"f.yml: 300000 bytes, at most 262144 are read"}},
		{"too deep", strings.Repeat("[", 20_000), []string{"f.yml:1:10001: exceeded max depth of 10000"}},
		{"no UTF-8", "\xff\xfe\x00", []string{"f.yml: incomplete UTF-16 character"}},
		{"an alias bomb", bomb, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loop.ParseConfig("f.yml", []byte(c.text), ceiling())
			if err == nil {
				t.Fatal("accepted")
			}
			if _, again := loop.ParseConfig("f.yml", []byte(c.text), ceiling()); again.Error() != err.Error() {
				t.Errorf("told otherwise the second time:\n%s\n%s", err, again)
			}
			var fault loop.ConfigFault
			if !errors.As(err, &fault) || fault.File != "f.yml" {
				t.Errorf("no ConfigFault: %#v", err)
			}
			if c.want == nil {
				return
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(c.want) {
				t.Fatalf("faults:\n%s\nwant:\n%s", err, strings.Join(c.want, "\n"))
			}
			for i, want := range c.want {
				if begin, cut := strings.CutSuffix(want, "…"); got[i] != want && !(cut && strings.HasPrefix(got[i], begin)) {
					t.Errorf("fault %d:\n%s\nwant:\n%s", i+1, got[i], want)
				}
			}
		})
	}
}

// FuzzParseConfig: whatever is written, the answer is a configuration within the ceiling, or faults.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{"", "budget: {rounds: 2}", "verify: {unit: [a]}", "a: &a [*a]", "- x", "\x00", "sandbox: {memory: 2g}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		top := ceiling()
		c, err := loop.ParseConfig("f.yml", raw, top)
		if err != nil {
			return
		}
		if c.Limits.Lower(top.Limits) != c.Limits || c.Sandbox.Memory > top.Sandbox.Memory || c.Sandbox.CPUs > top.Sandbox.CPUs || c.Verify.Timeout > top.Verify.Timeout {
			t.Errorf("over the ceiling: %+v", c)
		}
		_ = jsonOf(t, c) // it is stored in every snapshot
	})
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "512m": 512 << 20, "2G": 2 << 30, "2gb": 2 << 30, "2GiB": 2 << 30, " 1k ": 1 << 10, "1t": 1 << 40, "1048576": 1 << 20,
		"": 0, "0": 0, "-1m": 0, "1.5g": 0, "lots": 0, "9999999999t": 0, "m": 0, "1 0": 0,
	} {
		got, err := loop.ParseBytes(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}
