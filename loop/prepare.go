package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/feedback"
)

// ConfigPath is where a repository's configuration lies, on its default branch only.
const ConfigPath = ".github/autocode.yml"

// prepare acknowledges the task, makes the clone, reads the configuration and verifies the base.
func (d *drive) prepare(ctx context.Context) (ended, error) {
	s := &d.s
	if s.Started.IsZero() {
		s.Started = d.Clock.Now()
	}
	if err := d.Publisher.Acknowledge(ctx, *s); err != nil {
		return ended{}, fmt.Errorf("acknowledge: %w", err)
	}
	if stop, err := d.unwanted(ctx); err != nil || stop.result != ResultNone {
		return stop, err
	}
	clone, err := d.Workspace.Open(ctx, s.Task.Repo, s.Run.ID, "")
	if err != nil {
		return ended{}, err
	}
	defer func() { d.logClose(clone.Close()) }()
	tip := clone.Head()
	config, faults, err := d.readConfig(ctx, clone, tip)
	if err != nil {
		return ended{}, err
	}
	if faults != nil {
		return with(ResultRefused, "%s\nMend it on the default branch, then comment `/autocode resume`.", faults)
	}
	s.Config = config
	s.Config.Limits = config.Limits.Raise(s.Raised)
	if s.Base == "" {
		s.Base = tip
	}
	if s.Start == "" {
		s.Start = s.Base
		if s.Run.From != "" {
			s.Start = s.Run.From
		}
	}
	if s.Head == "" {
		s.Head = s.Start
		s.Best = -1
	}
	if err := d.adopt(ctx); err != nil {
		return ended{}, err
	}
	if err := d.mergeBase(ctx, tip); err != nil {
		return ended{}, fmt.Errorf("merge the base in: %w", err)
	}
	outcome, err := d.verifiedBase(ctx)
	if err != nil {
		return ended{}, err
	}
	switch outcome.Verdict.Class {
	case feedback.ClassEnvironment, feedback.ClassInfrastructure:
		if env := outcome.Verdict.Stages[StageEnvironment]; !env.NotRun && !env.Pass {
			return with(ResultNoTools, "%s", firstFailure(&outcome.Verdict))
		}
	case feedback.ClassCode, feedback.ClassFlaky, feedback.ClassTimeout, feedback.ClassOOM, feedback.ClassNone:
	}
	return ok()
}

// adopt goes on from what somebody pushed to the branch since this run last did.
func (d *drive) adopt(ctx context.Context) error {
	s := &d.s
	if s.Run.Branch == "" || s.Pushed == "" {
		return nil // nothing was pushed yet, or its push will find it there
	}
	there, err := d.Workspace.RemoteHead(ctx, s.Task.Repo, s.Run.Branch)
	if err != nil {
		return err
	}
	own := there == s.Final || slices.ContainsFunc(s.Rounds, func(r Round) bool { return r.Commit == there })
	switch {
	case there == "" || there == s.Pushed:
	case own:
		s.Pushed = there // pushed by this run, which was interrupted before it could note it
	default:
		d.log.Info().Str("commit", there).Msg("somebody pushed to the branch; the run goes on from there")
		s.Start, s.Head, s.Pushed, s.Final = there, there, there, ""
		s.Verdict, s.Review, s.Best = nil, nil, -1
		for i := range s.Rounds {
			s.Rounds[i].Superseded = true
		}
		d.closeClone()
	}
	return nil
}

// unwanted asks GitHub whether the task may still go on.
func (d *drive) unwanted(ctx context.Context) (ended, error) {
	standing, err := d.Publisher.Standing(ctx, d.s.Task, d.s.Run)
	if err != nil {
		return ended{}, fmt.Errorf("ask GitHub whether the task is still wanted: %w", err)
	}
	switch {
	case standing.Archived:
		return with(ResultNoAccess, "the repository is archived, hence read-only")
	case !standing.Wanted:
		return with(ResultCancel, "%s", standing.Reason)
	case !standing.Authorised:
		return with(ResultCancel, "%s has no write access to the repository any more", d.s.Run.RequestedBy)
	}
	return ended{}, nil
}

// readConfig reads the repository's configuration at a commit. Faults of its author are returned
// as faults, not as an error.
func (d *drive) readConfig(ctx context.Context, clone Clone, commit string) (config Config, faults, err error) {
	ceiling := d.Settings.Ceiling
	if d.s.Task.Source != SourceCLI { // on a person's own machine there is one repository, theirs
		ceiling = ceiling.grantsFor(d.s.Task.Repo.FullName())
	}
	tree, err := clone.Tree(ctx, commit)
	if err != nil {
		return Config{}, nil, err
	}
	raw, err := tree.Read(ctx, ConfigPath)
	if errors.Is(err, fs.ErrNotExist) {
		return ceiling, nil, nil
	}
	if err != nil {
		return Config{}, nil, err
	}
	config, faults = ParseConfig(ConfigPath, raw, ceiling)
	return config, faults, nil
}

// verifiedBase returns the verification of the base commit, from the store where it is known.
func (d *drive) verifiedBase(ctx context.Context) (*Outcome, error) {
	if d.baseline != nil {
		return d.baseline, nil
	}
	s := &d.s
	repo := s.Task.Repo.FullName()
	key := s.Base + "/" + d.Verifier.ConfigKey(s.Config.Verify)
	outcome, err := d.Store.Baseline(ctx, repo, key)
	if err == nil {
		d.baseline, s.BaselineKey = &outcome, key
		return d.baseline, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	clone, err := d.Workspace.Open(ctx, s.Task.Repo, s.Run.ID, s.Base)
	if err != nil {
		return nil, err
	}
	defer func() { d.logClose(clone.Close()) }()
	if err := d.Verifier.Setup(ctx, clone, s.Config.Verify); err != nil {
		return nil, err
	}
	outcome, err = d.Verifier.Verify(ctx, VerifyRequest{
		Clone: clone, Config: s.Config.Verify, BaseCommit: s.Base, HeadCommit: s.Base, Limits: d.commandLimits(),
	})
	if err != nil {
		return nil, fmt.Errorf("verify the base: %w", err)
	}
	if err := d.Store.PutBaseline(ctx, repo, key, outcome); err != nil {
		return nil, err
	}
	d.baseline, s.BaselineKey = &outcome, key
	return d.baseline, nil
}

// workClone returns the run's clone, set to the current head with its dependencies installed.
// On another machine, or after a restart, it is made anew from the stored bundles.
func (d *drive) workClone(ctx context.Context) (Clone, error) {
	if d.clone == nil {
		bundles, err := d.bundles(ctx)
		if err != nil {
			return nil, err
		}
		clone, err := d.Workspace.Open(ctx, d.s.Task.Repo, d.s.Run.ID, d.s.Head, bundles...)
		if err != nil {
			return nil, err
		}
		d.clone, d.ready = clone, false
	}
	if !d.ready {
		if err := d.Verifier.Setup(ctx, d.clone, d.s.Config.Verify); err != nil {
			return nil, err
		}
		d.ready = true
	}
	if d.clone.Head() != d.s.Head {
		if err := d.clone.Reset(ctx, d.s.Head, true); err != nil {
			return nil, err
		}
	}
	return d.clone, nil
}

// bundles returns the stored commits of this run, oldest first.
func (d *drive) bundles(ctx context.Context) ([][]byte, error) {
	var bundles [][]byte
	seen := map[string]bool{}
	d.mutex.Lock()
	commits := d.commits()
	d.mutex.Unlock()
	for _, commit := range commits {
		if seen[commit] {
			continue
		}
		seen[commit] = true
		bundle, err := d.Store.Artifact(ctx, d.s.Run.ID, bundleName(commit))
		if errors.Is(err, ErrNotFound) {
			continue // the remote has it: the start of the run
		}
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, bundle)
	}
	return bundles, nil
}

// commits lists the commits that this run made and may need again.
func (d *drive) commits() []string {
	var commits []string
	if d.s.Merge != nil {
		commits = append(commits, d.s.Merge.Commit)
	}
	for _, r := range d.s.Rounds {
		if r.Commit != "" {
			commits = append(commits, r.Commit)
		}
	}
	for _, c := range d.s.Candidates {
		if c.Made.Commit != "" {
			commits = append(commits, c.Made.Commit)
		}
	}
	return append(commits, d.s.Head, d.s.Final)
}

// keep stores a commit so that any worker can take over from it.
func (d *drive) keep(ctx context.Context, clone Clone, commit string) error {
	bundle, err := clone.Bundle(ctx, d.s.Start, commit)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", commit, err)
	}
	return d.Store.PutArtifact(ctx, d.lease, bundleName(commit), bundle)
}

// bundleName is the artifact that holds a commit.
func bundleName(commit string) string { return bundlePrefix + commit }

const bundlePrefix = "bundles/"

// Readable tells the artifacts that are for people from those that only a resumed or replayed run reads.
func Readable(artifact string) bool {
	return !strings.HasPrefix(artifact, bundlePrefix) && !strings.HasPrefix(artifact, ReplayPrefix)
}

// commandLimits are the bounds of each command in the sandbox: the repository's, doubled once for
// a round that is about time or memory.
func (d *drive) commandLimits() CommandLimits {
	c := d.s.Config
	limits := CommandLimits{Memory: c.Sandbox.Memory, CPUs: c.Sandbox.CPUs, Timeout: c.Verify.Timeout}
	const more = 2
	switch d.s.Strategy {
	case StrategyTimeout:
		limits.Timeout *= more
	case StrategyMemory:
		limits.Memory *= more
	case StrategyImplement, StrategyFixCompile, StrategyFixTests, StrategyFixLint, StrategyRegression, StrategyRefused, StrategyGuard,
		StrategyReview, StrategyProve, StrategyCoverage, StrategyEnvironment, StrategyFlaky, StrategyRethink, StrategyFollowUp:
	}
	return limits
}

func (d *drive) logClose(err error) {
	if err != nil {
		d.log.Warn().Err(err).Msg("a clone could not be removed; it is reaped at the next start")
	}
}
