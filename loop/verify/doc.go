// Package verify runs a repository's own checks in the sandbox and turns them into a verdict.
//
// In go a clone's worktree, the repository's configuration and the verified base commit; out comes
// a loop.Outcome: stages, failing cases, what is new, fixed, old or flaky, and in the clean room the
// proof of each acceptance criterion. What the configuration leaves out is detected per directory; a
// script that chains linters, builds and tests is taken apart into its commands (script.go), and the
// unit stage measures coverage as it runs (coverable.go).
// It never runs anything outside the sandbox, never believes a printed result against an exit code,
// and never changes the source. Services, compose files and browsers are not started: integration
// and end-to-end run as the configuration's commands.
package verify
