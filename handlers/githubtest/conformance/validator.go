package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Violation is one request or answer that the description does not allow.
type Violation struct {
	// What is "request" or "answer".
	What string
	// Method and Path are of the request; Status is of the answer, 0 for requests.
	Method, Path string
	Status       int
	Err          error
}

func (v Violation) String() string {
	if v.Status == 0 {
		return fmt.Sprintf("%s of %s %s: %v", v.What, v.Method, v.Path, v.Err)
	}
	return fmt.Sprintf("%s %d of %s %s: %v", v.What, v.Status, v.Method, v.Path, v.Err)
}

// Validator checks requests and answers. It is safe for concurrent use.
type Validator struct {
	doc       *openapi3.T
	templates []template

	mu         sync.Mutex
	violations []Violation
	seen       map[string]int
}

// New loads the description from below a directory as [File] says; [ErrAbsent] where it is not.
func New(dir string) (*Validator, error) {
	doc, err := load(File(dir))
	if err != nil {
		return nil, err
	}
	return &Validator{doc: doc, templates: compile(doc), seen: map[string]int{}}, nil
}

// ForTest is New for tests, from [DefaultDir]: where the description is absent it skips, or fails if
// every component is required, and at the end it fails the test for each violation.
func ForTest(t testing.TB, required bool) *Validator {
	t.Helper()
	dir, err := DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	v, err := New(dir)
	if errors.Is(err, ErrAbsent) {
		message := fmt.Sprintf("component npm @octokit/openapi@%s is absent: npm install --no-save --prefix %s @octokit/openapi@%s", Version, dir, Version)
		if required {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, violation := range v.Violations() {
			t.Error(violation)
		}
	})
	return v
}

// Violations returns what was found so far.
func (v *Validator) Violations() []Violation {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.violations)
}

// Seen returns the operations that passed through, as "METHOD path template", sorted.
func (v *Validator) Seen() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []string
	for op := range v.seen {
		out = append(out, op)
	}
	slices.Sort(out)
	return out
}

// Wrap checks everything that passes through a transport; nil is the default transport.
func (v *Validator) Wrap(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) { return v.roundTrip(next, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// find matches a request with an operation of the description.
func (v *Validator) find(r *http.Request) (*routers.Route, map[string]string) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3")
	for _, t := range v.templates {
		m := t.pattern.FindStringSubmatch(path)
		if m == nil {
			continue
		}
		item := v.doc.Paths.Value(t.path)
		op := item.GetOperation(r.Method)
		if op == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range t.names {
			value, err := url.PathUnescape(m[i+1])
			if err != nil {
				value = m[i+1]
			}
			params[name] = value
		}
		return &routers.Route{Spec: v.doc, Path: t.path, PathItem: item, Method: r.Method, Operation: op}, params
	}
	return nil, nil
}

func (v *Validator) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read the request to check it: %w", err)
		}
		if err := r.Body.Close(); err != nil {
			return nil, fmt.Errorf("close the request's body: %w", err)
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer to check it: %w", err)
	}
	if err := resp.Body.Close(); err != nil {
		return nil, fmt.Errorf("close the answer's body: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if !strings.HasPrefix(r.URL.Path, "/api/v3/") && r.URL.Host != "api.github.com" {
		return resp, nil // GraphQL, git and pages are not described
	}
	v.check(r, body, resp, answer)
	return resp, nil
}

// Webhook checks the payload of one event; action is "" for the events that have none.
func (v *Validator) Webhook(event, action string, payload []byte) error {
	name := strings.ReplaceAll(strings.TrimSuffix(event+"-"+action, "-"), "_", "-")
	item := v.doc.Paths.Value(webhookPath + name)
	if item == nil {
		return fmt.Errorf("the description has no webhook %s", name)
	}
	var value any
	if err := json.Unmarshal(payload, &value); err != nil {
		return fmt.Errorf("payload of %s: %w", name, err)
	}
	schema := item.Post.RequestBody.Value.Content.Get("application/json").Schema.Value
	if err := schema.VisitJSON(value, openapi3.MultiErrors(), openapi3.SetSchemaErrorMessageCustomizer(brief)); err != nil {
		return fmt.Errorf("payload of %s: %w", name, err)
	}
	return nil
}

// brief is a schema error without the schema and the value, which are pages long.
func brief(err *openapi3.SchemaError) string {
	return "/" + strings.Join(err.JSONPointer(), "/") + ": " + err.Reason
}

// check validates one exchange and notes the violations.
func (v *Validator) check(r *http.Request, body []byte, resp *http.Response, answer []byte) {
	operation := ""
	note := func(what string, status int, err error) {
		if excepted(operation, what, body) {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.violations = append(v.violations, Violation{what, r.Method, r.URL.Path, status, err})
	}
	route, params := v.find(r)
	if route == nil {
		if known(r) {
			return
		}
		note("request", 0, errors.New("the description has no such operation"))
		return
	}
	operation = route.Method + " " + route.Path
	v.mu.Lock()
	v.seen[operation]++
	v.mu.Unlock()
	copied := r.Clone(context.Background())
	copied.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) == 0 {
		copied.Body = http.NoBody
	}
	in := &openapi3filter.RequestValidationInput{
		Request: copied, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true, MultiError: true,
			// Refusals are described for some routes only.
			IncludeResponseStatus: resp.StatusCode < http.StatusBadRequest,
		},
	}
	in.Options.WithCustomSchemaErrorFunc(brief)
	// A request that was refused as malformed is not the client's claim to conform.
	if resp.StatusCode < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			note("request", 0, err)
		}
	}
	// Authentication, rate limits and the stand-in's own troubles are described for no route.
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusNotModified:
		return
	}
	if resp.StatusCode >= http.StatusInternalServerError || !strings.Contains(resp.Header.Get("Content-Type"), "application/json") && len(answer) > 0 {
		return
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(answer)), Options: in.Options,
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		note("answer", resp.StatusCode, err)
	}
}
