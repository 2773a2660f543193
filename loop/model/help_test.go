package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

const testKey = "sk-canary-0123456789"

// clock never sleeps but remembers how long it should have.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	c.now = c.now.Add(d)
	return ctx.Err()
}

func (c *clock) total() time.Duration {
	var sum time.Duration
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// serve starts a scripted model that gives the replies in turn.
func serve(t *testing.T, replies ...modeltest.Reply) *modeltest.Server {
	t.Helper()
	if len(replies) == 0 {
		return serveRules(t)
	}
	return serveRules(t, modeltest.Rule{Name: "any", Replies: replies})
}

func serveRules(t *testing.T, rules ...modeltest.Rule) *modeltest.Server {
	t.Helper()
	server, err := modeltest.New(modeltest.Script{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

func endpointOf(server *modeltest.Server) model.Endpoint {
	return model.Endpoint{BaseURL: server.URL(), Key: testKey, Model: modeltest.ModelName, Free: true}
}

// build makes a model on a server, with a clock that does not sleep.
func build(t *testing.T, server *modeltest.Server, change func(*model.Config)) (*model.Model, *clock) {
	t.Helper()
	c := &clock{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	config := model.Config{Default: model.RoleConfig{Endpoint: endpointOf(server)}, Clock: c, Random: func() float64 { return 0.5 }}
	if change != nil {
		change(&config)
	}
	m, err := model.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return m, c
}

// carrier is a RoundTripper made of a function.
type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// question is a plain request.
func question() loop.ModelRequest {
	return loop.ModelRequest{Role: loop.RoleCoder, Purpose: "code", Messages: []loop.Message{
		{Speaker: loop.SpeakerSystem, Text: "# autocode: code"},
		{Speaker: loop.SpeakerUser, Text: "What now?"},
	}}
}

// structuredQuestion asks for JSON.
func structuredQuestion() loop.ModelRequest {
	q := question()
	q.SchemaName = "answer"
	q.Schema = json.RawMessage(`{"type":"object","properties":{
		"goal":{"type":"string","minLength":1},"kind":{"type":"string","enum":["bug","feature"]},
		"tags":{"type":"array","items":{"type":"string"}},"count":{"type":"integer"}},
		"required":["goal","kind","tags"],"additionalProperties":false}`)
	return q
}

func toolQuestion() loop.ModelRequest {
	q := question()
	q.Tools = []loop.Tool{{Name: "read_file", Description: "Reads.", Parameters: json.RawMessage(
		`{"type":"object","properties":{"path":{"type":"string"},"start":{"type":"integer"}},"required":["path"]}`)}}
	return q
}

// faultOf returns the fault of a model's error.
func faultOf(t *testing.T, err error) loop.ModelFault {
	t.Helper()
	var fault *loop.ModelError
	if !errors.As(err, &fault) {
		t.Fatalf("error is %v, not a *loop.ModelError", err)
	}
	return fault.Fault
}
