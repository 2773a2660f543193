package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// errTooLarge says that an answer was cut off at the limit.
var errTooLarge = errors.New("the answer is larger than the limit")

// trace is what one request really got, noted beside go-openai, whose errors keep too little.
type trace struct {
	stream bool // the endpoint answers in streams only
	sent   bool
	status int
	header http.Header
	body   []byte
}

// traceKey is the context key of a *trace.
type traceKey struct{}

func withTrace(ctx context.Context, t *trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// boundedDoer reads answers whole, up to a limit that counts unpacked bytes, so that neither a
// large answer nor a small compressed one can fill the memory.
type boundedDoer struct {
	client *http.Client
	limit  int64
}

// newDoer returns a doer that follows no redirects: a key is not to be carried elsewhere.
func newDoer(transport http.RoundTripper, limit int64) *boundedDoer {
	return &boundedDoer{limit: limit, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends one request and returns the answer with its body in memory.
func (d *boundedDoer) Do(request *http.Request) (*http.Response, error) {
	t, _ := request.Context().Value(traceKey{}).(*trace)
	if t == nil {
		t = &trace{}
	}
	t.sent = true
	if err := rewrite(request, t.stream); err != nil {
		return nil, err
	}
	response, err := d.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	t.status, t.header = response.StatusCode, response.Header
	if response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest {
		return nil, fmt.Errorf("the endpoint redirects to %q; set the base URL to where it really is", response.Header.Get("Location"))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, d.limit+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if int64(len(body)) > d.limit {
		return nil, fmt.Errorf("%w of %d bytes", errTooLarge, d.limit)
	}
	if isStream(body) {
		body = assemble(body)
	}
	t.body = body
	response.Body = io.NopCloser(bytes.NewReader(canonical(body)))
	response.ContentLength = -1
	return response, nil
}

// smallestTemperature is how go-openai writes the smallest number of its type. A temperature of 0
// has to be given to it so, since it leaves out what is 0; no string of a JSON text can hold these
// bytes, as its quotation marks would be escaped.
var smallestTemperature, zeroTemperature = []byte(`"temperature":1e-45`), []byte(`"temperature":0`)

// rewrite puts into a request what the library could not write: the 0, and the wish for a stream.
func rewrite(request *http.Request, stream bool) error {
	if request.Body == nil {
		return nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	body = bytes.Replace(body, smallestTemperature, zeroTemperature, 1)
	if stream {
		body = streaming(body)
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}
