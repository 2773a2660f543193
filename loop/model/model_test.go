package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

func TestFailures(t *testing.T) {
	limited := modeltest.Reply{Status: http.StatusTooManyRequests, Text: "slow down"}
	later := func(after string) modeltest.Reply {
		r := limited
		r.Headers = map[string]string{"Retry-After": after}
		return r
	}
	ok := modeltest.Reply{Text: "fine"}
	tests := []struct {
		name    string
		replies []modeltest.Reply
		fault   loop.ModelFault // "": it works in the end
		calls   int
		slept   time.Duration // exactly, with a jitter of one half
		says    string
	}{
		{"answers at once", []modeltest.Reply{ok}, "", 1, 0, ""},
		{"429 and 500 pass", []modeltest.Reply{limited, {Status: 500, Text: "oops"}, ok}, "", 3, 500*time.Millisecond + time.Second, ""},
		{"Retry-After in seconds", []modeltest.Reply{later("7"), ok}, "", 2, 7*time.Second + 500*time.Millisecond, ""},
		{"Retry-After as a date", []modeltest.Reply{later("Sun, 01 Nov 2026 12:00:20 GMT"), ok}, "", 2, 20*time.Second + 500*time.Millisecond, ""},
		{"Retry-After beyond what may be waited", []modeltest.Reply{later("3600")}, loop.ModelRateLimited, 1, 0, "slow down"},
		{"429 for ever", []modeltest.Reply{limited, limited, limited, limited, limited}, loop.ModelRateLimited, 5, 7500 * time.Millisecond, "429"},
		{"no credit", []modeltest.Reply{{Status: 429, Text: "You exceeded your current quota (insufficient_quota)"}}, loop.ModelRateLimited, 1, 0, "quota"},
		{"wrong key", []modeltest.Reply{{Status: 401, Text: "Incorrect API key provided: " + testKey}}, loop.ModelUnauthorised, 1, 0, "[key]"},
		{"forbidden", []modeltest.Reply{{Status: 403, Text: "no"}}, loop.ModelUnauthorised, 1, 0, ""},
		{"unknown model", []modeltest.Reply{{Status: 404, Text: "The model does not exist"}}, loop.ModelRejected, 1, 0, "does not exist"},
		{"bad request for a known reason", []modeltest.Reply{{Status: 400, Text: "invalid model name"}}, loop.ModelRejected, 1, 0, ""},
		{"overflow", []modeltest.Reply{{Status: 400, Text: "This model's maximum context length is 8192 tokens"}}, loop.ModelOverflow, 1, 0, ""},
		{"filtered", []modeltest.Reply{{Status: 400, Text: "blocked by content_filter"}}, loop.ModelRefused, 1, 0, ""},
		{"refusal field", []modeltest.Reply{{Refusal: "I must not"}}, loop.ModelRefused, 1, 0, "I must not"},
		{"refusal in words", []modeltest.Reply{{Text: "I’m sorry, but I can’t help with that."}}, loop.ModelRefused, 1, 0, ""},
		{"filter stops the reply", []modeltest.Reply{{Text: "The", Finish: "content_filter"}}, loop.ModelRefused, 1, 0, ""},
		{"empty once", []modeltest.Reply{{}, ok}, "", 2, 0, ""},
		{"empty twice", []modeltest.Reply{{}, {}}, loop.ModelMalformed, 2, 0, "empty"},
		{"no choices once", []modeltest.Reply{{Misbehave: modeltest.NoChoices}, ok}, "", 2, 500 * time.Millisecond, ""},
		{"cut body once", []modeltest.Reply{{Text: "fine", Misbehave: modeltest.InvalidJSON}, ok}, "", 2, 500 * time.Millisecond, ""},
		{"connection dropped once", []modeltest.Reply{{Misbehave: modeltest.Drop}, ok}, "", 2, 500 * time.Millisecond, ""},
		{"too large", []modeltest.Reply{{Misbehave: modeltest.Huge}}, loop.ModelBroken, 1, 0, "larger than the limit"},
		{"gzip bomb", []modeltest.Reply{{Misbehave: modeltest.GzipBomb}}, loop.ModelBroken, 1, 0, "larger than the limit"},
		{"unexpected question", nil, loop.ModelRejected, 1, 0, "What now?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules := []modeltest.Rule{}
			if len(test.replies) > 0 {
				rules = append(rules, modeltest.Rule{Name: test.name, Replies: test.replies})
			}
			server := serveRules(t, rules...)
			m, c := build(t, server, func(c *model.Config) { c.MaxReplyBytes = 1 << 20 })
			reply, err := m.Complete(context.Background(), question())
			if test.fault == "" {
				if err != nil || reply.Text != "fine" {
					t.Fatalf("reply %q, error %v", reply.Text, err)
				}
			} else {
				if got := faultOf(t, err); got != test.fault {
					t.Fatalf("fault %s (%v), want %s", got, err, test.fault)
				}
				if !strings.Contains(err.Error(), test.says) {
					t.Errorf("error %q does not say %q", err, test.says)
				}
				if strings.Contains(err.Error(), testKey) {
					t.Errorf("the key is in the error: %v", err)
				}
			}
			if n := len(server.Questions()); n != test.calls || len(reply.Usage) != test.calls {
				t.Errorf("%d requests and %d ledger lines, want %d", n, len(reply.Usage), test.calls)
			}
			if c.total() != test.slept {
				t.Errorf("slept %v, want %v", c.total(), test.slept)
			}
			for _, u := range reply.Usage {
				if u.Purpose != "code" || u.Role != loop.RoleCoder || u.Model != modeltest.ModelName || u.At.IsZero() {
					t.Errorf("incomplete ledger line %+v", u)
				}
			}
			if unused := server.Unused(); len(unused) > 0 {
				t.Errorf("never given: %v", unused)
			}
		})
	}
}

func TestSlowAnswersEnd(t *testing.T) {
	for _, how := range []modeltest.Misbehaviour{modeltest.Drip, modeltest.Hang} {
		t.Run(string(how), func(t *testing.T) {
			server := serve(t, modeltest.Reply{Misbehave: how}, modeltest.Reply{Misbehave: how})
			m, _ := build(t, server, func(c *model.Config) { c.Default.Timeout = 30 * time.Millisecond })
			reply, err := m.Complete(context.Background(), question())
			if faultOf(t, err) != loop.ModelUnreachable || len(reply.Usage) != 2 {
				t.Fatalf("%v after %d requests", err, len(reply.Usage))
			}
			if u := reply.Usage[0]; !u.Estimated || u.PromptTokens == 0 || u.Error == "" {
				t.Errorf("a request that ran out of time may have cost something: %+v", u)
			}
		})
	}
}

func TestStopIsTold(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m, _ := build(t, serve(t), func(c *model.Config) {
		c.Transport = carrier(func(r *http.Request) (*http.Response, error) {
			cancel() // the stop comes while the request is under way
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
	})
	reply, err := m.Complete(ctx, question())
	if !errors.Is(err, context.Canceled) || len(reply.Usage) != 1 {
		t.Fatalf("%v %+v", err, reply.Usage)
	}
}

func TestNobodyListens(t *testing.T) {
	m, _ := build(t, serve(t), func(c *model.Config) {
		c.Retry.Attempts = 2
		c.Transport = carrier(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("dial tcp 127.0.0.1:9: connect: connection refused")
		})
	})
	reply, err := m.Complete(context.Background(), question())
	if faultOf(t, err) != loop.ModelUnreachable || len(reply.Usage) != 2 || reply.Usage[0].PromptTokens != 0 {
		t.Fatalf("%v %+v", err, reply.Usage)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	m, _ := build(t, serve(t), func(c *model.Config) {
		c.Transport = carrier(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "elsewhere.example.com" {
				t.Error("the key was carried elsewhere")
			}
			return &http.Response{StatusCode: http.StatusMovedPermanently, Body: http.NoBody, Request: r,
				Header: http.Header{"Location": {"https://elsewhere.example.com/v1"}}}, nil
		})
	})
	if _, err := m.Complete(context.Background(), question()); faultOf(t, err) != loop.ModelRejected || !strings.Contains(err.Error(), "redirects") {
		t.Fatal(err)
	}
}

func TestLearnsWhatAnEndpointTakes(t *testing.T) {
	refuse := func(text string) modeltest.Reply { return modeltest.Reply{Status: 400, Text: text} }
	tests := []struct {
		name    string
		request loop.ModelRequest
		refusal []modeltest.Reply
		absent  string // in the last request's body
		present string
	}{
		{"temperature", question(), []modeltest.Reply{refuse("Unsupported value: 'temperature' does not support 0 with this model.")}, `"temperature"`, ""},
		{"max_tokens", question(), []modeltest.Reply{refuse("Unsupported parameter: 'max_tokens' is not supported, use 'max_completion_tokens' instead.")}, `"max_tokens"`, `"max_completion_tokens"`},
		{"no limit at all", question(), []modeltest.Reply{refuse("max_tokens: unknown field"), refuse("max_completion_tokens: unknown field")}, `max_completion_tokens`, ""},
		{"system role", question(), []modeltest.Reply{refuse("System role not supported")}, `"system"`, "# autocode: code"},
		{"tools", toolQuestion(), []modeltest.Reply{refuse("registry/tiny does not support tools")}, `"tools"`, "read_file(path, start?)"},
		{"tools, llama.cpp", toolQuestion(), []modeltest.Reply{{Status: 500, Text: "tools param requires --jinja flag"}}, `"tools"`, "# Actions"},
		{"tools, router", toolQuestion(), []modeltest.Reply{{Status: 404, Text: "No endpoints found that support tool use"}}, `"tools"`, "# Actions"},
		{"no reason given", toolQuestion(), []modeltest.Reply{refuse("Bad Request")}, `"tools"`, "# Actions"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := serve(t, append(test.refusal, modeltest.Reply{Text: "fine"}, modeltest.Reply{Text: "again"})...)
			m, c := build(t, server, func(c *model.Config) { c.Default.MaxOutput = 99 })
			for range 2 {
				if _, err := m.Complete(context.Background(), test.request); err != nil {
					t.Fatal(err)
				}
			}
			asked := server.Questions()
			if len(asked) != len(test.refusal)+2 {
				t.Fatalf("%d requests: what was learnt was forgotten", len(asked))
			}
			last := string(asked[len(asked)-1].Body)
			if strings.Contains(last, test.absent) || !strings.Contains(last, test.present) {
				t.Errorf("the last request should have %q and not %q: %s", test.present, test.absent, last)
			}
			if c.total() != 0 {
				t.Errorf("it waited %v for nothing", c.total())
			}
		})
	}
}

func TestReasoningModelsOfTheLibrary(t *testing.T) {
	// go-openai refuses some parameters by the model's name before anything is sent.
	server := serve(t, modeltest.Reply{Text: "fine"})
	m, _ := build(t, server, func(c *model.Config) {
		c.Default.Model = "o3-mini"
		c.Default.MaxOutput = 99
	})
	reply, err := m.Complete(context.Background(), question())
	if err != nil || len(reply.Usage) != 1 {
		t.Fatalf("%v, %d ledger lines", err, len(reply.Usage))
	}
	body := string(server.Questions()[0].Body)
	if strings.Contains(body, "temperature") || !strings.Contains(body, "max_completion_tokens") {
		t.Error(body)
	}
}

func TestTemperatureIsAnExactZero(t *testing.T) {
	half := 0.5
	for _, test := range []struct {
		name string
		set  *float64
		want string
	}{{"unset", nil, `"temperature":0,`}, {"set", &half, `"temperature":0.5,`}} {
		t.Run(test.name, func(t *testing.T) {
			server := serve(t, modeltest.Reply{Text: "fine"})
			m, _ := build(t, server, func(c *model.Config) { c.Default.Temperature = test.set })
			request := question()
			request.Messages[0].Text += ` "temperature":1e-45`
			if _, err := m.Complete(context.Background(), request); err != nil {
				t.Fatal(err)
			}
			body := string(server.Questions()[0].Body)
			if !strings.Contains(body, test.want) || !strings.Contains(body, `\"temperature\":1e-45`) {
				t.Error(body)
			}
		})
	}
}

func TestToolCalls(t *testing.T) {
	server := serve(t, modeltest.Reply{Calls: []modeltest.Call{
		{Name: "read_file", Arguments: map[string]any{"path": "a.go"}},
		{Name: "read_file", Raw: `{"path": "b.go",}`},
		{Name: "read_file", Raw: `not json`},
	}})
	m, _ := build(t, server, nil)
	reply, err := m.Complete(context.Background(), toolQuestion())
	if err != nil || len(reply.Calls) != 3 {
		t.Fatalf("%v %+v", err, reply.Calls)
	}
	for i, want := range []string{`{"path":"a.go"}`, `{"path":"b.go"}`, `"not json"`} {
		if got := string(reply.Calls[i].Arguments); got != want {
			t.Errorf("arguments %d: %s, want %s", i, got, want)
		}
	}
}

func TestFlattenedConversation(t *testing.T) {
	server := serve(t, modeltest.Reply{Status: 400, Text: "tools are not supported"}, modeltest.Reply{Text: "fine"})
	m, _ := build(t, server, nil)
	q := toolQuestion()
	q.Messages = append(q.Messages,
		loop.Message{Speaker: loop.SpeakerAssistant, Calls: []loop.ToolCall{{ID: "c1", Name: "read_file", Arguments: json.RawMessage(`{"path":"a.go"}`)}}},
		loop.Message{Speaker: loop.SpeakerTool, CallID: "c1", Text: "package a"})
	if _, err := m.Complete(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	last := server.Questions()[1]
	if got := last.Messages[2]; got.Role != "assistant" || got.Text != `{"action": "read_file", "arguments": {"path":"a.go"}}` {
		t.Errorf("%+v", got)
	}
	if got := last.Messages[3]; got.Role != "user" || got.Text != "Result of read_file:\npackage a" {
		t.Errorf("%+v", got)
	}
}

func TestContinuesCutReplies(t *testing.T) {
	server := serve(t,
		modeltest.Reply{Text: "one two three four", Finish: "length"},
		modeltest.Reply{Text: "two three four five", Finish: "length"},
		modeltest.Reply{Text: " six"})
	m, _ := build(t, server, nil)
	reply, err := m.Complete(context.Background(), question())
	if err != nil || reply.Text != "one two three four five six" || len(reply.Usage) != 3 {
		t.Fatalf("%q %v %d", reply.Text, err, len(reply.Usage))
	}
}

func TestContinuationIsBounded(t *testing.T) {
	server := serveRules(t, modeltest.Rule{Name: "never ends", Repeat: true, Replies: []modeltest.Reply{{Text: "la", Finish: "length"}}})
	m, _ := build(t, server, nil)
	reply, err := m.Complete(context.Background(), question())
	if err != nil || len(reply.Usage) != 4 || reply.Text != "lalalala" {
		t.Fatalf("%q %v %d", reply.Text, err, len(reply.Usage))
	}
}

func TestThoughtsAreNoReply(t *testing.T) {
	tests := []struct {
		name  string
		reply modeltest.Reply
		want  string
	}{
		{"think tags", modeltest.Reply{Text: "<think>\nhm {\"a\": 1}\n</think>\n\nfine"}, "fine"},
		{"only the closing tag", modeltest.Reply{Text: "hm, let me see\n</think>\nfine"}, "fine"},
		{"tag inside a file", modeltest.Reply{Text: "a.md\n<<<<<<< SEARCH\n=======\n</think>\n>>>>>>> REPLACE"}, "a.md\n<<<<<<< SEARCH\n=======\n</think>\n>>>>>>> REPLACE"},
		{"reasoning beside the text", modeltest.Reply{Text: "fine", Reasoning: "hm"}, "fine"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := build(t, serve(t, test.reply), nil)
			reply, err := m.Complete(context.Background(), question())
			if err != nil || reply.Text != test.want {
				t.Fatalf("%q %v", reply.Text, err)
			}
		})
	}
}

func TestReasoningInPlaceOfText(t *testing.T) {
	r := modeltest.Reply{Reasoning: "fine", Misbehave: modeltest.NullContent}
	m, _ := build(t, serve(t, r, r), nil)
	if reply, err := m.Complete(context.Background(), question()); err != nil || reply.Text != "fine" {
		t.Fatalf("%q %v", reply.Text, err)
	}
}

func TestLedgerPrices(t *testing.T) {
	server := serve(t, modeltest.Reply{Text: strings.Repeat("word ", 400)}, modeltest.Reply{Text: "four words in all", NoUsage: true})
	m, _ := build(t, server, func(c *model.Config) {
		c.Default.Free = false
		c.Default.Price = &model.Price{Prompt: 2, Completion: 10}
	})
	reply, err := m.Complete(context.Background(), question())
	if err != nil {
		t.Fatal(err)
	}
	u := reply.Usage[0]
	if want := (float64(u.PromptTokens)*2 + float64(u.CompletionTokens)*10) / 1e6; u.CompletionTokens != 500 || u.USD != want || u.Estimated {
		t.Errorf("%+v, want %g USD", u, want)
	}
	reply, err = m.Complete(context.Background(), question())
	if err != nil {
		t.Fatal(err)
	}
	if u := reply.Usage[0]; !u.Estimated || u.CompletionTokens != 4 || u.PromptTokens == 0 || u.USD == 0 {
		t.Errorf("%+v", u)
	}
}

func TestContextThatIsKnown(t *testing.T) {
	server := serve(t)
	m, _ := build(t, server, func(c *model.Config) { c.Default.Context = 2000 })
	q := question()
	q.Messages[1].Text = strings.Repeat("word ", 1500)
	_, err := m.Complete(context.Background(), q)
	if faultOf(t, err) != loop.ModelOverflow || len(server.Questions()) != 0 {
		t.Fatalf("%v", err)
	}
}

func TestRolesStrongAndFallback(t *testing.T) {
	server := serveRules(t,
		modeltest.Rule{Name: "down", Model: "planner", Replies: []modeltest.Reply{{Status: 401, Text: "no"}}},
		modeltest.Rule{Name: "second", Model: "spare", Replies: []modeltest.Reply{{Text: "from the spare"}}},
		modeltest.Rule{Name: "strong", Model: "large", Replies: []modeltest.Reply{{Text: "from the large"}}},
		modeltest.Rule{Name: "plain", Model: modeltest.ModelName, Replies: []modeltest.Reply{{Text: "from the plain"}}},
	)
	m, _ := build(t, server, func(c *model.Config) {
		c.Roles = map[loop.Role]model.RoleConfig{
			loop.RolePlanner: {Endpoint: model.Endpoint{Model: "planner"}, Fallback: &model.Endpoint{Model: "spare"}},
			loop.RoleCoder:   {Strong: &model.Endpoint{Model: "large"}},
		}
	})
	ask := func(role loop.Role, strong bool) loop.ModelReply {
		q := question()
		q.Role, q.Strong = role, strong
		reply, err := m.Complete(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if r := ask(loop.RolePlanner, false); r.Text != "from the spare" || len(r.Usage) != 2 || r.Usage[0].Error == "" {
		t.Errorf("%+v", r)
	}
	if r := ask(loop.RoleCoder, true); r.Text != "from the large" {
		t.Errorf("%+v", r)
	}
	if r := ask(loop.RoleCritic, true); r.Text != "from the plain" {
		t.Errorf("%+v", r)
	}
}

func TestModelsByName(t *testing.T) {
	server := serveRules(t, modeltest.Rule{Name: "offered", Model: "tiny", Replies: []modeltest.Reply{{Text: "from the tiny"}}})
	m, _ := build(t, server, func(c *model.Config) { c.Offered = []model.Endpoint{{Model: "tiny"}} })
	q := question()
	q.Model = "tiny"
	if reply, err := m.Complete(context.Background(), q); err != nil || reply.Text != "from the tiny" || reply.Usage[0].Model != "tiny" {
		t.Errorf("%+v %v", reply, err)
	}
	q.Model = "huge"
	if _, err := m.Complete(context.Background(), q); faultOf(t, err) != loop.ModelRejected || !strings.Contains(err.Error(), "tiny") {
		t.Errorf("%v", err)
	}
}

func TestDiscover(t *testing.T) {
	server := serve(t)
	if name, err := model.Discover(context.Background(), server.URL(), testKey); err != nil || name != modeltest.ModelName {
		t.Errorf("%q %v", name, err)
	}
	if _, err := model.Discover(context.Background(), server.URL()+"/nothing", testKey); err == nil || strings.Contains(err.Error(), testKey) {
		t.Errorf("%v", err)
	}
}

// TestDiscoverElsewhere: what a server that is no endpoint says is not shown as a page.
func TestDiscoverElsewhere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = w.Write([]byte("<!DOCTYPE HTML>\n<html>\n<body>Unsupported method</body>\n</html>\n"))
	}))
	defer server.Close()
	_, err := model.Discover(t.Context(), server.URL, testKey)
	if err == nil || !strings.Contains(err.Error(), "501") || strings.ContainsAny(err.Error(), "\n>") {
		t.Errorf("%v", err)
	}
}

func TestConfigurationFaults(t *testing.T) {
	sound := model.Endpoint{BaseURL: "https://api.example.com/v1", Model: "m", Free: true}
	tests := []struct {
		name   string
		change func(*model.Endpoint)
		says   string
	}{
		{"no model", func(e *model.Endpoint) { e.Model = "" }, "AUTOCODE_MODEL"},
		{"no URL", func(e *model.Endpoint) { e.BaseURL = "" }, "OPENAI_BASE_URL"},
		{"plain http elsewhere", func(e *model.Endpoint) { e.BaseURL = "http://models.example.com/v1" }, "loopback"},
		{"password in the URL", func(e *model.Endpoint) { e.BaseURL = "https://u:p@example.com/v1" }, "OPENAI_API_KEY"},
		{"other scheme", func(e *model.Endpoint) { e.BaseURL = "ftp://example.com/v1" }, "https"},
		{"neither price nor free", func(e *model.Endpoint) { e.Free = false }, `the model "m" has no price`},
		{"negative price", func(e *model.Endpoint) { e.Price = &model.Price{Prompt: -1} }, "negative"},
		{"hot", func(e *model.Endpoint) { hot := 2.5; e.Temperature = &hot }, "temperature"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := sound
			test.change(&e)
			_, err := model.New(model.Config{Default: model.RoleConfig{Endpoint: e}})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("%v does not say %q", err, test.says)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("one fault of the default is told more than once: %v", err)
			}
		})
	}
	if _, err := model.New(model.Config{Default: model.RoleConfig{Endpoint: sound}}); err != nil {
		t.Error(err)
	}
	other := model.Config{Default: model.RoleConfig{Endpoint: sound}, Roles: map[loop.Role]model.RoleConfig{loop.RoleCoder: {Endpoint: model.Endpoint{
		BaseURL: "https://other.example.com/v1", Model: "big"}}}}
	if _, err := model.New(other); err == nil || !strings.Contains(err.Error(), `"big" has no price`) {
		t.Errorf("a model elsewhere is not free because the default is: %v", err)
	}
}
