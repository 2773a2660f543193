// Package panel is the control panel: pages on what the loop does, live.
//
// In go the store's lists, snapshots and ledger; out come HTML pages and a stream of events, all
// served from the binary. This first panel only reads, and is for loopback: it knows no login.
package panel
