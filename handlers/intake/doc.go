// Package intake receives GitHub's webhooks and loses none.
//
// In go HTTP requests; out comes a stored delivery with its job, committed in one transaction
// before the answer 202, and later, on a worker, a call of the event's handler. Size, signature
// (HMAC-SHA256 over the raw body) and JSON are checked here, before go-githubapp's dispatcher sees
// anything. It never handles an event inside the request, and never decides what an event means.
package intake
