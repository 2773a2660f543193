// Package sandboxtest is the conformance suite of sandbox runners: what every Runner does, however
// it confines. It is for tests alone.
//
// In: a way to make a Runner whose root has a POSIX shell and the usual small tools. Out: test
// failures. It never skips by itself.
package sandboxtest
