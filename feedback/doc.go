// Package feedback turns the raw output of a build, test, lint or install tool into a report that a person or a
// model understands at once.
//
// In: bytes of a log (streamed, any size) and what the caller knows of the run (command, exit code, root, kills).
// Out: a Report: status, class, counts, and the failures with id, file, line, message, expected and actual.
// It never runs anything, never writes, and never trusts a line only because it looks like a result.
//
// # How a log is read
//
// lines.go splits the stream, clean.go takes off escapes and overwrites, prefix.go takes off what CI systems and
// container runners put in front of a line and tells interleaved streams apart. Each stream offers its lines to the
// readers of the tools that are awake (read.go). A tool wakes when the command names it (command.go) or when a
// line holds one of its markers. What the readers found is put together in combine.go and classified in classify.go.
//
// # Adding a tool
//
// Write one file with a type that implements reader, describe it in a tool value with its name, markers and
// commands, and add that value to the slice in registry.go. See the comments on tool, reader and claim in tool.go,
// and on sink in sink.go; tsc.go is a short example.
package feedback
