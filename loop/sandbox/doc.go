// Package sandbox runs commands that nobody trusts: a repository's build scripts and tests, and
// whatever a model wants to try.
//
// In: a Command (program, one writable directory, limits, allowed hosts). Out: a Result (how it
// ended, cut output, time and memory used). Two runners keep one contract: bubblewrap with an
// init of our own as process 1 (see Guest), and Docker's API.
// It never runs a command unconfined, never holds a token, and never passes the caller's
// environment, descriptors or home directory on.
package sandbox
