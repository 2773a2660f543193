// Package agent is the part of the loop that thinks by a language model: the planner that turns
// an issue into spec and plan, the coder that edits a worktree, and the critic that reviews.
//
// In go loop's requests, with model, index, tree, clone and sandbox behind loop's interfaces; out
// come validated specs and plans, edits in the worktree with their root cause, and reviews.
//
// It never runs a command outside the Runner, never follows a link or reads a secret file for a
// prompt, never edits what is protected or undeclared, and never takes a model's word for "done".
package agent
