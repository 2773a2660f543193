package loop

import "context"

// VerifyRequest asks for the verification of a clone's worktree as it is now.
type VerifyRequest struct {
	Clone  Clone
	Config VerifyConfig
	// Base is the verified base commit, nil while the base itself is being verified.
	Base *Outcome
	// BaseCommit and HeadCommit are written into the verdict.
	BaseCommit, HeadCommit string
	// Changed lists the paths that differ from the base: what they touch is verified first.
	Changed []string
	// Only limits the stages; empty: all.
	Only []StageName
	// Spec, where given, lets coverage and acceptance know what is asked for.
	Spec *Spec
	// Limits are the bounds of each command.
	Limits CommandLimits
}

// Verifier runs a repository's verification in the sandbox.
type Verifier interface {
	// Setup installs what the worktree's dependencies need, with the network that the
	// configuration allows; it does nothing where there is nothing to install.
	Setup(ctx context.Context, clone Clone, config VerifyConfig) error
	// Verify runs the pyramid. A red result is an Outcome, not an error; an error means that
	// nothing could be learnt (no sandbox).
	Verify(ctx context.Context, request VerifyRequest) (Outcome, error)
	// Prove verifies the request's HeadCommit in a clean room: a fresh clone without anything of
	// the worktree, protected tests put back as they are on the base, and each criterion of the
	// spec proved by its kind. The outcome's verdict has Acceptance and CleanRoom set.
	Prove(ctx context.Context, request VerifyRequest) (Outcome, error)
	// ConfigKey identifies what the outcome depends on besides the commit, for the cache of
	// baselines.
	ConfigKey(config VerifyConfig) string
}

// GuardRequest is what the guard judges: a diff between two trees.
type GuardRequest struct {
	Diff       Diff
	BaseTree   Tree
	HeadTree   Tree
	Base, Head *Outcome // may be nil before verification
	Policy     PathPolicy
	Limits     Limits
	// Declared lists the files that the coder said it would change; nil: not checked.
	Declared []string
	Spec     *Spec
}

// Guard finds what must not reach GitHub.
type Guard interface {
	// Check returns every finding, ordered by severity, file and line. An error means that it
	// could not judge; then nothing may be pushed.
	Check(ctx context.Context, request GuardRequest) ([]Finding, error)
}

// Explainer is a Guard that can say what its rules mean.
type Explainer interface {
	// Explain returns a rule's sentence, "" where there is no such rule.
	Explain(rule string) string
}
