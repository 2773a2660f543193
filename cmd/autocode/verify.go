package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/verify"
	"github.com/seed-7a986423/autocode/loop/workspace"
)

// verifyCmd verifies a repository's HEAD and prints verify.json.
type verifyCmd struct {
	Repo      string   `default:"." type:"path" help:"The repository; it is cloned, not touched."`
	Base      string   `placeholder:"REV" help:"Compare with this commit: what is new, fixed, old."`
	Head      string   `placeholder:"REV" default:"HEAD" help:"What to verify."`
	Stage     []string `placeholder:"NAME,…" help:"Only these stages: environment, compile, lint, types, unit, coverage, integration, e2e, security."`
	CleanRoom bool     `help:"Prove it in a clean room, as before a pull request; needs --base."`
	Config    string   `placeholder:"FILE" help:"Server configuration; default autocode.yaml where it exists."`
	Verbose   bool     `short:"v" help:"Log every command to standard error."`
}

// Run prints the verdict; red is exit code 1.
func (c *verifyCmd) Run(ctx context.Context, std streams) error {
	if c.CleanRoom && c.Base == "" {
		return usageError(errors.New("--clean-room compares with a base: give --base REV"))
	}
	var stages []loop.StageName
	for _, name := range c.Stage {
		if !slices.Contains(loop.Stages(), loop.StageName(name)) {
			return usageError(fmt.Errorf("--stage: there is no stage %q; there are %v", name, loop.Stages()))
		}
		stages = append(stages, loop.StageName(name))
	}
	s, err := loadSettings(c.Config, os.Getenv)
	if err != nil {
		return usageError(err)
	}
	level := zerolog.WarnLevel
	if c.Verbose {
		level = zerolog.DebugLevel
	}
	log := newLogger(std.err, true, level)
	ctx = log.WithContext(ctx)
	runner, err := newRunner(s, log)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "autocode-verify-")
	if err != nil {
		return err
	}
	verifier, err := newVerifier(runner, s.installSecrets(), goModCache(), toolchainCache(), filepath.Join(scratch, "installed"), log)
	if err != nil {
		return err
	}
	space, err := workspace.New(workspace.Config{Root: scratch, AllowFile: true})
	if err != nil {
		return err
	}
	defer func() {
		space.Close()
		os.RemoveAll(scratch)
	}()
	verdict, err := c.verify(ctx, verifier, space, s, stages)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(std.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(verdict); err != nil {
		return err
	}
	if !verdict.Pass {
		return &exitError{code: exitFailed}
	}
	return nil
}

// verify opens the clones and compares.
func (c *verifyCmd) verify(ctx context.Context, verifier *verify.Verifier, space *workspace.Workspace, s settings, stages []loop.StageName) (loop.Verdict, error) {
	repo := loop.Repo{Owner: "local", Name: filepath.Base(c.Repo), CloneURL: c.Repo}
	clone, err := space.Open(ctx, repo, "verify", c.Head)
	if err != nil {
		return loop.Verdict{}, usageError(err)
	}
	defer clone.Close()
	config, err := localConfig(ctx, clone, s.Ceiling)
	if err != nil {
		return loop.Verdict{}, usageError(err)
	}
	request := loop.VerifyRequest{Clone: clone, Config: config.Verify, HeadCommit: clone.Head(), Only: stages, Limits: loop.CommandLimits{
		Memory: config.Sandbox.Memory, CPUs: config.Sandbox.CPUs, Timeout: config.Verify.Timeout,
	}}
	if c.Base != "" {
		base, err := space.Open(ctx, repo, "verify", c.Base)
		if err != nil {
			return loop.Verdict{}, usageError(err)
		}
		defer base.Close()
		if err := verifier.Setup(ctx, base, config.Verify); err != nil {
			return loop.Verdict{}, err
		}
		before := request
		before.Clone, before.HeadCommit, before.BaseCommit = base, base.Head(), base.Head()
		outcome, err := verifier.Verify(ctx, before)
		if err != nil {
			return loop.Verdict{}, err
		}
		diff, err := clone.Diff(ctx, base.Head(), clone.Head())
		if err != nil {
			return loop.Verdict{}, err
		}
		request.Base, request.BaseCommit, request.Changed = &outcome, base.Head(), diff.Paths()
	}
	if c.CleanRoom {
		outcome, err := verifier.Prove(ctx, request)
		return outcome.Verdict, err
	}
	if err := verifier.Setup(ctx, clone, config.Verify); err != nil {
		return loop.Verdict{}, err
	}
	outcome, err := verifier.Verify(ctx, request)
	return outcome.Verdict, err
}

// localConfig reads the configuration of the commit that is verified.
func localConfig(ctx context.Context, clone loop.Clone, ceiling loop.Config) (loop.Config, error) {
	tree, err := clone.Tree(ctx, clone.Head())
	if err != nil {
		return loop.Config{}, err
	}
	raw, err := tree.Read(ctx, loop.ConfigPath)
	if errors.Is(err, os.ErrNotExist) {
		return ceiling, nil
	}
	if err != nil {
		return loop.Config{}, err
	}
	return loop.ParseConfig(loop.ConfigPath, raw, ceiling)
}
