// Package setup makes the GitHub App that autocode runs as, by GitHub's manifest flow: a local page asks
// which features are wanted, GitHub asks the person to confirm, and the credentials that it hands out
// are written to files that only their owner can read. In: a browser on this machine. Out: two files.
// It never sends a credential anywhere, and never overwrites one.
package setup
