// Package store keeps what must survive a kill: tasks, runs, snapshots, signals, the ledger,
// artifacts, webhook deliveries and lessons, and the queue that drives runs and deliveries.
//
// In go loop's values, out come the same after a crash, on SQLite in a data directory or on
// PostgreSQL; Store implements loop.Store, loop.Queue, loop.Inbox and loop.Knowledge.
// It never lets a transaction out, never decides what a run does next, and never trusts River's
// tables: a job is a ticket that says "look", what there is to do stands in our own tables.
package store
