// Package loop is the story of autocode in one place: what a task, a run, a round and a verdict
// are, which phase follows which and why (Decide), what may be spent (Limits), and the engine
// that drives a run from one stored snapshot to the next.
//
// In go a Task and the implementations of this package's interfaces (model, workspace, sandbox,
// verifier, guard, publisher, store); out come snapshots, and through the Publisher a pull request.
// It never talks to a network, a database, git or a process by itself, and never reads the clock
// or the environment except through what it is given.
package loop
