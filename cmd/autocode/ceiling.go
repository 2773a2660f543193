package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// ceiling builds what no repository can exceed.
func (s *settings) ceiling() []error {
	c := loop.DefaultConfig()
	faults := s.limits(&c.Limits)
	c.Verify.Timeout = defaultTimeout
	faults = append(faults, minutes(&c.Verify.Timeout, "sandbox.timeout_minutes", s.Sandbox.Minutes))
	c.Verify.Network = s.Sandbox.Network
	box, wrong := s.confinement()
	c.Sandbox, faults = box, append(faults, wrong...)
	c.Critic, c.Autonomy, c.TrustCI = s.Critic, s.Autonomy, s.CI == "trusted"
	if s.Candidates < 0 || s.Candidates > loop.MaxCandidates {
		faults = append(faults, fmt.Errorf("candidates: %d is not between 1 and %d, nor 0, which leaves it to the recipe", s.Candidates, loop.MaxCandidates))
	}
	c.Candidates = s.Candidates
	c.Labels = loop.LabelConfig{Trigger: s.Labels.Trigger, NeedsInfo: s.Labels.NeedsInfo}
	switch s.Autonomy {
	case loop.AutonomyPlan, loop.AutonomyApprovePlan, loop.AutonomyPullRequest:
	default:
		faults = append(faults, fmt.Errorf("autonomy: %q is not one of plan, approve-plan, pull-request", s.Autonomy))
	}
	s.Ceiling = c
	return slices.DeleteFunc(faults, func(err error) bool { return err == nil })
}

// limits lowers or raises the default limits as the configuration says.
func (s *settings) limits(l *loop.Limits) []error {
	b := s.Budget
	return []error{
		count(&l.Rounds, "budget.rounds", b.Rounds),
		minutes(&l.Wall, "budget.minutes", b.Minutes),
		count(&l.ModelCalls, "budget.model_calls", b.ModelCalls),
		count(&l.Tokens, "budget.tokens", b.Tokens),
		count(&l.Files, "budget.files", b.Files),
		count(&l.Lines, "budget.lines", b.Lines),
		count(&l.TaskTokens, "budget.task_tokens", b.TaskTokens),
		count(&l.RepoDayTokens, "budget.repo_day_tokens", b.RepoDayTokens),
		money(&l.USD, "budget.usd", b.USD),
		money(&l.TaskUSD, "budget.task_usd", b.TaskUSD),
		money(&l.RepoDayUSD, "budget.repo_day_usd", b.RepoDayUSD),
	}
}

// count takes a value of the configuration. One that is left out, nil, keeps the default; a 0 that somebody wrote is no
// way to ask for that.
func count(field *int, key string, value *int) error {
	switch {
	case value == nil:
	case *value < 1:
		return fmt.Errorf("%s: is %d; must be at least 1", key, *value)
	default:
		*field = *value
	}
	return nil
}

// minutes is count for a time.
func minutes(field *time.Duration, key string, value *int) error {
	n := int(*field / time.Minute)
	err := count(&n, key, value)
	*field = time.Duration(n) * time.Minute
	return err
}

// money is count for US dollars.
func money(field *float64, key string, value *float64) error {
	switch {
	case value == nil:
	case *value <= 0:
		return fmt.Errorf("%s: is %g; must be more than 0", key, *value)
	default:
		*field = *value
	}
	return nil
}

// confinement builds the sandbox's part.
func (s *settings) confinement() (loop.SandboxConfig, []error) {
	var faults []error
	c := loop.SandboxConfig{Image: s.Sandbox.Image, CPUs: s.Sandbox.CPU, Memory: defaultMemory, Network: s.Sandbox.Network}
	if s.Sandbox.Memory != "" {
		memory, err := loop.ParseBytes(s.Sandbox.Memory)
		if err != nil {
			faults = append(faults, fmt.Errorf("sandbox.memory: %w", err))
		}
		c.Memory = memory
	}
	switch s.Sandbox.Runner {
	case "", runnerBubblewrap:
		if s.Sandbox.DockerHost != "" {
			faults = append(faults, errors.New("sandbox.docker_host: is of no use without sandbox.runner: docker"))
		}
	case runnerDocker:
		if !sandbox.ImageByDigest(s.Sandbox.Image) {
			faults = append(faults, fmt.Errorf("sandbox.image: %q does not name an image by digest (name@sha256:… or sha256:…), which sandbox.runner: docker needs", s.Sandbox.Image))
		}
	default:
		faults = append(faults, fmt.Errorf("sandbox.runner: %q is not one of %s, %s", s.Sandbox.Runner, runnerBubblewrap, runnerDocker))
	}
	return c, faults
}
