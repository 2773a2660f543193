// Package publish is everything that autocode says to GitHub: progress comment, notices, check
// runs, pull request, and the questions that must be asked before acting.
//
// In go snapshots and verdicts; out come REST and GraphQL calls, each looked up by its key before
// it is made, so that a restart repeats nothing. Untrusted text passes a Redactor, which the server's
// log uses as well, and Sanitize on its way.
// It never pushes, never merges, and never takes an error for a yes.
package publish
