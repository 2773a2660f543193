// Package coverage reads the reports of coverage tools: Go's profiles, Cobertura, LCOV, JaCoCo's XML,
// coverage.py's JSON and V8's own.
//
// In goes a report as its tool wrote it; out comes which lines of which files were run. It knows
// nothing of repositories, never opens a file, and takes a report for foreign text: whatever stands
// in it, memory stays bounded.
package coverage
