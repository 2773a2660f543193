// Package syntax answers what a source text is made of: whether it parses, which functions, types and
// constants it defines, and which names it calls.
// In go a path, a language and bytes; out come plain values with lines that count from 1.
// Parsing is by tree-sitter, and by the language's own parser where the standard library or go.mod has
// one (Go, JSON, YAML). Every call is bounded in size and time and safe for concurrent use.
// It never reads a file, never runs anything, and never fails on foreign text: what it cannot judge, it calls fine.
package syntax
