// Package guest is process 1 of the bubblewrap sandbox: it reaps, sets limits, cuts output, watches
// over memory and disk where the kernel does not, bridges to the egress proxy, and ends everything.
//
// In: a Spec on an inherited pipe. Out: a Report on another, both closed to the command.
// It runs in its own init function: Go initialises packages by their dependencies and then by name,
// and this one needs little more than os, so that a start does not pay for the rest of a large
// program (thirty times as much). It must therefore never import fmt's heavier relatives: no
// encoding/json, net, regexp, path/filepath, os/signal or runtime/debug (a test holds that).
package guest
