// Package handlers turns GitHub's events into tasks and signals: one file per event.
//
// In goes a stored delivery; out comes a run started in the store, a signal to one, or a reply.
// Each handler decodes, gates on the action, asks GitHub whether the person may, and delegates;
// what an event leads to is decided in package loop. It never trusts a payload for authority, never
// obeys a bot, and never does an effect that a second delivery would do twice.
package handlers
