package modeltest

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ModelName is the name of the scripted model wherever a model's name is shown.
const ModelName = "scripted-model"

// maxQuestion bounds a request's body: far more than any prompt.
const maxQuestion = 32 << 20

// Server is a running scripted model.
type Server struct {
	script   Script
	listener net.Listener
	server   *http.Server
	stop     chan struct{}
	served   chan struct{}

	mu         sync.Mutex
	given      []int // replies given, by rule
	questions  []Question
	unexpected []string
}

// New starts a scripted model on a free port of 127.0.0.1. Close ends it.
func New(script Script) (*Server, error) {
	if err := script.Validate(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the scripted model: %w", err)
	}
	s := &Server{
		script: script, listener: listener, stop: make(chan struct{}), served: make(chan struct{}),
		given: make([]int, len(script.Rules)),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": ModelName, "object": "model", "owned_by": "autocode"}}})
	})
	const headerTime = 10 * time.Second // the callers are on the same machine
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: headerTime}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // ends with ErrServerClosed
	}()
	return s, nil
}

// URL is the base URL, up to and including /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Close ends the server and every answer that still hangs.
func (s *Server) Close() error {
	close(s.stop)
	err := s.server.Close()
	<-s.served
	return err
}

// Questions lists what was asked so far.
func (s *Server) Questions() []Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Question(nil), s.questions...)
}

// Unexpected lists the questions that no rule answered, one line each.
func (s *Server) Unexpected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.unexpected...)
}

// Unused names the replies that were never given; a test that scripted them did not test them.
func (s *Server) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var unused []string
	for i, r := range s.script.Rules {
		for j := s.given[i]; j < len(r.Replies); j++ {
			unused = append(unused, fmt.Sprintf("rule %d (%s) reply %d", i, r.Name, j))
		}
	}
	return unused
}

// choose finds the reply to a question and counts it.
func (s *Server) choose(q Question) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions = append(s.questions, q)
	for i, r := range s.script.Rules {
		if !r.matches(q) {
			continue
		}
		n := s.given[i]
		if n >= len(r.Replies) {
			if !r.Repeat {
				continue
			}
			n = len(r.Replies) - 1
		}
		s.given[i]++
		return r.Replies[n], true
	}
	return Reply{}, false
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err != nil {
		writeError(w, http.StatusRequestEntityTooLarge, "the question is too large")
		return
	}
	q, err := parseQuestion(body)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	reply, ok := s.choose(q)
	if !ok {
		const shown = 300 // enough to recognise the question
		line := fmt.Sprintf("purpose %q, %d messages, the last one: %.*s", q.Purpose, len(q.Messages), shown, q.Last())
		s.mu.Lock()
		s.unexpected = append(s.unexpected, line)
		s.mu.Unlock()
		// This status is final for clients: they neither retry it nor try other parameters.
		writeError(w, http.StatusExpectationFailed, "the scripted model has no answer to this question: "+line)
		return
	}
	if len(reply.Calls) > 0 && len(q.Tools) == 0 {
		writeError(w, http.StatusExpectationFailed, "the scripted model's rule answers with tool calls, but the request has no tools")
		return
	}
	s.answer(r.Context(), w, q, reply)
}

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, q Question, reply Reply) {
	for name, value := range reply.Headers {
		w.Header().Set(name, value)
	}
	if reply.Status != 0 && reply.Status != http.StatusOK {
		writeError(w, reply.Status, reply.Text)
		return
	}
	body := completion(q, reply)
	switch reply.Misbehave {
	case Behaves, NullContent, NoChoices:
		writeJSON(w, http.StatusOK, body)
	case InvalidJSON:
		raw, _ := json.Marshal(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw[:len(raw)/2])
	case Hang:
		s.wait(ctx)
	case Drip:
		s.drip(ctx, w)
	case Drop:
		panic(http.ErrAbortHandler)
	case Huge:
		s.flood(ctx, w)
	case GzipBomb:
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		s.flood(ctx, packed)
		_ = packed.Close()
	}
}

func (s *Server) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.stop:
	}
}

// drip sends a byte now and then, for as long as somebody listens.
func (s *Server) drip(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	const between = 5 * time.Millisecond
	tick := time.NewTicker(between)
	defer tick.Stop()
	for {
		if _, err := w.Write([]byte(" ")); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-s.stop:
			return
		}
	}
}

// flood writes 64 MB of one long string.
func (s *Server) flood(ctx context.Context, w io.Writer) {
	const size, chunk = 64 << 20, 1 << 20
	block := []byte(strings.Repeat("a", chunk))
	_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"`)
	for range size / chunk {
		if ctx.Err() != nil {
			return
		}
		if _, err := w.Write(block); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, `"}}]}`)
}

// parseQuestion lays a request out.
func parseQuestion(body []byte) (Question, error) {
	var wire struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		ResponseFormat struct {
			Type string `json:"type"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Question{}, fmt.Errorf("the request is not JSON: %w", err)
	}
	q := Question{Model: wire.Model, Format: wire.ResponseFormat.Type, Body: body}
	for _, m := range wire.Messages {
		var text string
		if len(m.Content) > 0 && json.Unmarshal(m.Content, &text) != nil {
			text = string(m.Content)
		}
		q.Messages = append(q.Messages, QuestionMessage{Role: m.Role, Text: text})
	}
	for _, t := range wire.Tools {
		q.Tools = append(q.Tools, t.Function.Name)
	}
	q.Purpose = q.purpose()
	return q, nil
}

// completion builds the body of an answer.
func completion(q Question, reply Reply) map[string]any {
	message := map[string]any{"role": "assistant", "content": reply.Text}
	if reply.Misbehave == NullContent {
		message["content"] = nil
	}
	if reply.Reasoning != "" {
		message["reasoning_content"] = reply.Reasoning
	}
	if reply.Refusal != "" {
		message["refusal"] = reply.Refusal
	}
	finish := "stop"
	if len(reply.Calls) > 0 {
		finish = "tool_calls"
		message["tool_calls"] = toolCalls(reply.Calls, len(q.Messages))
	}
	if reply.Finish != "" {
		finish = reply.Finish
	}
	body := map[string]any{
		"id": "scripted", "object": "chat.completion", "model": ModelName,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
	}
	if reply.Misbehave == NoChoices {
		body["choices"] = []any{}
	}
	if !reply.NoUsage {
		prompt, written := tokens(q.all()), tokens(reply.Text+reply.Reasoning)
		body["usage"] = map[string]any{"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
	}
	return body
}

// toolCalls writes calls with ids that are unique within the conversation.
func toolCalls(calls []Call, messages int) []any {
	var list []any
	for i, c := range calls {
		arguments := c.Raw
		if arguments == "" {
			raw, err := json.Marshal(c.Arguments)
			if err != nil {
				raw = []byte("{}")
			}
			arguments = string(raw)
		}
		list = append(list, map[string]any{
			"id": fmt.Sprintf("call_%d_%d", messages, i+1), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": arguments},
		})
	}
	return list
}

// tokens estimates by the rule of thumb of four bytes a token: a scripted model has none.
func tokens(text string) int {
	const bytesPerToken = 4
	return (len(text) + bytesPerToken - 1) / bytesPerToken
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a caller that is gone needs no answer
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": "scripted_model_error"}})
}
