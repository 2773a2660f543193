// Package modeltest is the scripted model: an OpenAI-compatible server on 127.0.0.1 that answers
// by rules which its owner wrote, for tests and for the demonstration.
//
// In goes a Script (Go values, YAML or JSON); out come chat completions, or, on purpose, every
// way in which real endpoints misbehave. A question that no rule answers is an HTTP error that
// names the question: it never invents an answer, and everything it says bears the name
// "scripted-model".
package modeltest
