// Package guard decides from a diff what must not reach GitHub.
//
// In goes a loop.GuardRequest: the diff between base and candidate, both trees, both verified outcomes, the policy of
// the repository and the limits; out come findings, each with rule, severity, file and line. Rules lists what it looks
// for. It reads trees and parses them (loop/syntax), and never runs anything; an error means that it could not judge, so
// that nothing may be pushed. What a rule cannot see in the text, the count of tests against the base shows.
package guard
