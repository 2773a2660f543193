package model_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model"
)

// raw is an answer as it comes over the wire.
type raw struct {
	status int
	header map[string]string
	body   string
}

func completion(message, finish string) raw {
	return raw{body: `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish + `"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`}
}

func says(text string) raw {
	return completion(`{"role":"assistant","content":`+quoted(text)+`}`, "stop")
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

func refused(status int, message string) raw {
	return raw{status: status, body: `{"error":{"message":` + quoted(message) + `}}`}
}

// wired makes a model whose endpoint gives the answers in turn; sent are the bodies that it got.
func wired(t *testing.T, answers ...raw) (m *model.Model, c *clock, sent *[]string) {
	t.Helper()
	sent = &[]string{}
	m, c = build(t, serve(t), func(config *model.Config) {
		config.Default.MaxOutput = 99
		config.Transport = carrier(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			if *sent = append(*sent, string(body)); len(*sent) > len(answers) {
				t.Fatalf("request %d is one too many: %s", len(*sent), body)
			}
			a := answers[len(*sent)-1]
			response := &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(bytes.NewReader([]byte(a.body))), Request: r}
			if a.status == 0 {
				response.StatusCode = http.StatusOK
			}
			for name, value := range a.header {
				response.Header.Set(name, value)
			}
			return response, nil
		})
	})
	return m, c, sent
}

const streamed = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"fi"}}]}

data: {"choices":[{"index":0,"delta":{"content":"ne"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}

data: [DONE]
`

// TestEndpointsOfEveryKind gives answers as endpoints really give them.
func TestEndpointsOfEveryKind(t *testing.T) {
	const schemaAnswer = `{"goal": "g", "kind": "bug", "tags": []}`
	tests := []struct {
		name    string
		request loop.ModelRequest
		answers []raw
		want    string          // the text, or the object, or the calls
		fault   loop.ModelFault // instead
		says    string          // in the error
	}{
		{"streams whatever it is asked", question(), []raw{{body: streamed}}, "fine", "", ""},
		{"streams calls in parts", toolQuestion(), []raw{{body: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"pa"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\": \"a\"}"}}]}}]}
data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
`}}, `x read_file {"path":"a"}`, "", ""},
		{"answers in streams only", question(), []raw{refused(400, "This model only support stream mode, please enable the stream parameter to access the model."), {body: streamed}}, "fine", "", ""},
		{"a stream that breaks off", question(), []raw{{body: strings.Join(strings.SplitAfter(streamed, "\n")[:2], "")}, says("fine")}, "fine", "", ""},
		{"an error in a stream", question(), []raw{{body: "data: {\"error\":{\"message\":\"maximum context length is 4096 tokens\",\"code\":400}}\n"}}, "", loop.ModelOverflow, "4096"},
		{"200 with an error object", question(), []raw{{body: `{"error":{"message":"Provider returned error","code":502}}`}, says("fine")}, "fine", "", ""},
		{"200 with an error in words", question(), []raw{{body: `{"object":"error","message":"prompt is too long: 210000 tokens > 200000 maximum"}`}}, "", loop.ModelOverflow, "210000"},
		{"a page instead of an answer", question(), []raw{{body: "<html>login</html>"}, {body: "<html>login</html>"}, {body: "<html>login</html>"}, {body: "<html>login</html>"}, {body: "<html>login</html>"}}, "", loop.ModelBroken, "not a chat completion"},
		{"no /v1", question(), []raw{{status: 404, body: "404 page not found"}}, "", loop.ModelRejected, "/v1"},
		{"unknown model", question(), []raw{refused(404, "The model `x` does not exist or you do not have access to it.")}, "", loop.ModelRejected, "AUTOCODE_MODEL"},
		{"unknown model, Ollama", question(), []raw{{status: 404, body: `{"error":"model 'x' not found, try pulling it first"}`}}, "", loop.ModelRejected, "AUTOCODE_MODEL"},
		{"no schema, no object, plain", structuredQuestion(), []raw{
			refused(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
			refused(400, "'response_format.type' must be 'text'; json_object is not supported"), says("Here:\n```json\n" + schemaAnswer + "\n```")}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"prose around, single quotes, comments", structuredQuestion(), []raw{says("Sure!\n{'goal': 'g', // it\n'kind': 'Bug', 'tags': 'x',}\nHope it helps {smile}.")}, `{"goal":"g","kind":"bug","tags":["x"]}`, "", ""},
		{"two objects, the second corrects", structuredQuestion(), []raw{says(`{"goal": "no", "kind": "bug", "tags": []} Wait: ` + schemaAnswer)}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"NaN and numbers in strings", structuredQuestion(), []raw{says(`{"goal": "g", "kind": "bug", "tags": NaN, "count": "7"}`)}, `{"count":7,"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"the object inside a wrapper's call", structuredQuestion(), []raw{completion(`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"answer","arguments":`+quoted(schemaAnswer)+`}}]}`, "tool_calls")}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"cut off in an object, continued", structuredQuestion(), []raw{
			completion(`{"role":"assistant","content":`+quoted(`{"goal": "g", "ki`)+`}`, "length"), says(`nd": "bug", "tags": []}`)}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"thought in its own field only", structuredQuestion(), []raw{completion(`{"role":"assistant","content":"","reasoning_content":`+quoted("So: "+schemaAnswer)+`}`, "stop")}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"a thought never closed", structuredQuestion(), []raw{says("<think>\nSo: " + schemaAnswer)}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"a draft in the thought", structuredQuestion(), []raw{says(`<think>{"goal": "draft", "kind": "bug", "tags": []}</think>` + schemaAnswer)}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"a call without an id", toolQuestion(), []raw{completion(`{"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"functions.readFile","arguments":"{\"path\": \"a\", \"start\": \"2\"}"}}]}`, "tool_calls")}, `call_2_0 read_file {"path":"a","start":2}`, "", ""},
		{"a call that is cut off", toolQuestion(), []raw{completion(`{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"path\": \"a/ver"}}]}`, "length")}, `1 read_file "{\"path\": \"a/ver"`, "", ""},
		{"a call in the text", toolQuestion(), []raw{says("<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tool_call>")}, ` read_file {"path":"a"}`, "", ""},
		{"content in parts", question(), []raw{completion(`{"role":"assistant","content":[{"type":"text","text":"fine"}]}`, "stop")}, "fine", "", ""},
		{"content in parts, thoughts among them", question(), []raw{completion(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"fi"},"ne"]}`, "stop")}, "fine", "", ""},
		{"content as an object", question(), []raw{completion(`{"role":"assistant","content":{"type":"text","text":"fine"}}`, "stop")}, "fine", "", ""},
		{"a stream of parts", question(), []raw{{body: strings.ReplaceAll(streamed, `"content":"ne"`, `"content":[{"type":"text","text":"ne"}]`)}}, "fine", "", ""},
		{"a stream that ends without a reason", question(), []raw{{body: strings.Replace(streamed, `,"finish_reason":"stop"`, "", 1)}}, "fine", "", ""},
		{"a stream with odd parts", question(), []raw{{body: ": wait\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" + strings.Replace(streamed, `"index":0`, `"index":"0","logprobs":[]`, 1)}}, "fine", "", ""},
		{"a stream without its end", question(), []raw{{body: strings.Replace(streamed, "data: [DONE]\n", "", 1)}}, "fine", "", ""},
		{"a mark of the byte order", question(), []raw{{body: "\ufeff" + says("fine").body}}, "fine", "", ""},
		{"numbers with fractions", question(), []raw{{body: `{"id":7,"created":1.7e9,"model":null,"choices":[{"index":"0","message":{"role":1,"content":"fine","annotations":{}},"finish_reason":null}],"usage":{"prompt_tokens":1000.0,"completion_tokens":"2","cost":0.1,"prompt_tokens_details":[]}}`}}, "fine", "", ""},
		{"no usage, legacy fields null", question(), []raw{{body: `{"choices":[{"message":{"content":"fine","function_call":null,"tool_calls":null,"audio":null},"finish_reason":"stop"}],"usage":null}`}}, "fine", "", ""},
		{"thought in its field by another name", structuredQuestion(), []raw{completion(`{"role":"assistant","content":null,"reasoning":`+quoted("So: "+schemaAnswer)+`}`, "stop")}, `{"goal":"g","kind":"bug","tags":[]}`, "", ""},
		{"arguments as an object", toolQuestion(), []raw{completion(`{"role":"assistant","tool_calls":[{"id":5,"function":{"name":"read_file","arguments":{"path":"a"}}}]}`, "tool_calls")}, `call_2_0 read_file {"path":"a"}`, "", ""},
		{"max_tokens too large", question(), []raw{refused(400, "max_tokens is too large: 99. This model supports at most 16 completion tokens"), refused(400, "max_completion_tokens is too large: 99"), says("fine")}, "fine", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _, sent := wired(t, test.answers...)
			reply, err := m.Complete(context.Background(), test.request)
			if len(*sent) != len(test.answers) {
				t.Errorf("%d requests, want %d", len(*sent), len(test.answers))
			}
			if test.fault != "" {
				if faultOf(t, err) != test.fault || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, want %s saying %q", err, test.fault, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := reply.Text
			for _, call := range reply.Calls {
				got = call.ID + " " + call.Name + " " + string(call.Arguments)
			}
			if len(test.request.Schema) > 0 {
				got = string(reply.JSON)
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestStreamsAreLearnt(t *testing.T) {
	m, _, sent := wired(t, refused(400, "stream must be set to true"), raw{body: streamed}, raw{body: streamed})
	for range 2 {
		reply, err := m.Complete(context.Background(), question())
		if err != nil || reply.Text != "fine" {
			t.Fatalf("%q %v", reply.Text, err)
		}
		if u := reply.Usage[len(reply.Usage)-1]; u.PromptTokens != 7 || u.Estimated {
			t.Errorf("the stream's usage is lost: %+v", u)
		}
	}
	if !strings.Contains((*sent)[2], `"stream":true`) || strings.Contains((*sent)[0], `"stream":true`) {
		t.Error("the wish for a stream should be sent once it is known to be needed, and not before")
	}
}

// TestOverflowInEveryVendorsWords: what does not fit must be told from what is refused.
func TestOverflowInEveryVendorsWords(t *testing.T) {
	for _, answer := range []raw{
		refused(400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."),
		refused(400, "prompt is too long: 210000 tokens > 200000 maximum"),
		refused(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575)."),
		refused(400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
		refused(400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
		refused(422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"),
		refused(400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
		refused(400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
		refused(400, "Input is too long for requested model."),
		refused(500, "context shift is disabled"),
		refused(400, "the request exceeds the available context size, try increasing it"),
		refused(413, "Request Entity Too Large"),
		refused(429, "Request too large for gpt-x in organization o on tokens per min (TPM): Limit 10000, Requested 13000."),
		refused(400, "Please reduce the length of the messages or completion."),
	} {
		m, _, sent := wired(t, answer)
		if _, err := m.Complete(context.Background(), question()); faultOf(t, err) != loop.ModelOverflow || len(*sent) != 1 {
			t.Errorf("%s after %d requests for %s", faultOf(t, err), len(*sent), answer.body)
		}
	}
	for _, answer := range []raw{
		refused(400, "messages: text content blocks must be non-empty"),
		refused(503, "The engine is currently overloaded: the request exceeds the available capacity"),
	} {
		m, _, _ := wired(t, answer, answer, answer, answer, answer, answer, answer, answer, answer)
		if _, err := m.Complete(context.Background(), question()); faultOf(t, err) == loop.ModelOverflow {
			t.Errorf("an overflow of %s", answer.body)
		}
	}
}

func TestWhenToComeBack(t *testing.T) {
	const jitter = 500 * time.Millisecond // one half of the base
	tests := []struct {
		name   string
		answer raw
		want   time.Duration
	}{
		{"milliseconds", raw{status: 429, header: map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, body: "{}"}, 1500*time.Millisecond + jitter},
		{"seconds with a unit", raw{status: 503, header: map[string]string{"Retry-After": "3s"}, body: "{}"}, 3*time.Second + jitter},
		{"in words", refused(429, "Rate limit reached. Please try again in 7.5s."), 7500*time.Millisecond + jitter},
		{"in words, milliseconds", refused(429, "Please try again in 250ms."), 250*time.Millisecond + jitter},
		{"in words, minutes", refused(429, "Retry after 1 minute."), time.Minute + jitter},
		{"a date that has passed", raw{status: 429, header: map[string]string{"Retry-After": "Sat, 31 Oct 2026 12:00:00 GMT"}, body: "{}"}, jitter},
		{"nonsense", raw{status: 429, header: map[string]string{"Retry-After": "soon"}, body: "{}"}, jitter},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, c, _ := wired(t, test.answer, says("fine"))
			if _, err := m.Complete(context.Background(), question()); err != nil || c.total() != test.want {
				t.Errorf("%v, waited %v, want %v", err, c.total(), test.want)
			}
		})
	}
}
