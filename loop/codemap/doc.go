// Package codemap finds the places of a repository that a text is about, and shows them in few tokens.
// In goes a loop.Tree and an issue's text; out come ranked files with spans, a context packed to a budget of
// tokens, outlines, instruction files and search results.
// Every file is indexed lexically and kept by blob id, so a new commit costs only what it changed; syntax
// trees are built for the few best files alone. With a cache directory all of that outlives the process.
// It never runs a program, never writes to the repository, and never shows secret, binary or generated giants.
package codemap
