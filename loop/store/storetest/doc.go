// Package storetest is the conformance suite of the store: what every database must keep of the
// promises of loop.Store, loop.Queue, loop.Inbox and loop.Knowledge.
//
// In go a function that opens a store and a test; out come the test's failures. It never sleeps:
// time is a clock that the suite turns, and everything else is waited for by a signal.
package storetest
