// Package conformance checks GitHub traffic against GitHub's own OpenAPI description.
//
// In go the description (npm's @octokit/openapi, fetched outside of the tree) and an
// [net/http.RoundTripper]; out come the violations of the requests and answers that pass through.
// It says nothing about paths that the description lacks, and its blind spots are listed in blind.go.
// It never fetches anything by itself, and it never changes the traffic.
package conformance
