// Package githubtest is a GitHub on loopback, for tests and for the demo.
//
// In come REST, GraphQL and git requests of an App, and Go calls that act as people ([Server.As]);
// out go GitHub's own JSON shapes, signed webhooks, small HTML pages and real git over smart HTTP.
// GitHub's permissions and limits are enforced, and what is not modelled is answered with 501 and
// remembered ([Server.Unimplemented]), so that no test passes by silence.
// It never listens beyond the address given, never merges, and never calls anything but its webhook.
package githubtest
