package conformance

import (
	"bytes"
	"net/http"
	"strings"
)

// Blind is what the description cannot tell: rules that GitHub has and does not describe, and
// traffic that is not described at all. What it tells wrongly is in the exceptions below.
var Blind = []string{
	"a completed check run without a conclusion: GitHub answers 422, the description allows it",
	"limits on lengths (65,535 characters, 50 annotations) are described in part only",
	"formats of dates and URIs in answers are not checked by the library",
	"answers 401, 403, 429 and 5xx are described for few routes and not checked; 404 and 422 where described",
	"GraphQL, git and the web pages are not described",
}

// exception is traffic that breaks the description although GitHub itself takes or sends it.
type exception struct {
	// operations are those it is about; nil means all.
	operations []string
	// what is "request" or "answer".
	what   string
	reason string
	// applies looks at the body that was sent.
	applies func(body []byte) bool
}

// isArray says whether a body is a bare JSON array.
func isArray(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) }

func always([]byte) bool { return true }

var exceptions = []exception{
	{
		operations: []string{"POST /repos/{owner}/{repo}/issues/{issue_number}/labels", "PUT /repos/{owner}/{repo}/issues/{issue_number}/labels"},
		what:       "request", reason: "labels as a bare array: go-github and others send it, GitHub takes it", applies: isArray,
	},
	{
		what: "request", reason: "null instead of no body: what Go clients send for absent options",
		applies: func(body []byte) bool { return string(bytes.TrimSpace(body)) == "null" },
	},
	{
		operations: []string{"POST /repos/{owner}/{repo}/pulls/{pull_number}/comments"},
		what:       "request", reason: "an answer in a thread needs neither path nor commit",
		applies: func(body []byte) bool { return bytes.Contains(body, []byte(`"in_reply_to"`)) },
	},
	{
		operations: []string{"GET /app/installations"},
		what:       "answer", reason: "the account is described as a user and an enterprise at the same time", applies: always,
	},
}

// undescribed are operations that GitHub has and does not describe.
var undescribed = []string{"GET /repositories/"}

// excepted says whether a violation is one of the known mistakes of the description.
func excepted(operation, what string, body []byte) bool {
	for _, e := range exceptions {
		if e.what != what || !e.applies(body) {
			continue
		}
		if e.operations == nil {
			return true
		}
		for _, op := range e.operations {
			if op == operation {
				return true
			}
		}
	}
	return false
}

// known says whether an operation without a description is expected.
func known(r *http.Request) bool {
	op := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/v3")
	for _, prefix := range undescribed {
		if strings.HasPrefix(op, prefix) {
			return true
		}
	}
	return false
}
