// Package model asks language models on behalf of the loop. It is the only importer of go-openai.
//
// In go loop.ModelRequests and a Config that says which endpoint, model, price and limits each
// role has; out come replies whose JSON satisfies the schema that was asked for, one ledger line
// per request sent, and *loop.ModelErrors that say why a model could not be had.
//
// It never invents an answer, never writes a key into an error or a log, and never
// calls a model whose price it does not know unless that model is declared free.
package model
