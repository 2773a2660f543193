package loop

import (
	"context"
	"encoding/json"
	"time"
)

// Role is a part that a model plays; each may be another model.
type Role string

// The roles.
const (
	RolePlanner Role = "planner"
	RoleCoder   Role = "coder"
	RoleCritic  Role = "critic"
)

// Speaker is who wrote a message.
type Speaker string

// The speakers of a conversation.
const (
	SpeakerSystem    Speaker = "system"
	SpeakerUser      Speaker = "user"
	SpeakerAssistant Speaker = "assistant"
	SpeakerTool      Speaker = "tool"
)

// Message is one message of a conversation with a model.
type Message struct {
	Speaker Speaker    `json:"role"`
	Text    string     `json:"content"`
	Calls   []ToolCall `json:"tool_calls,omitempty"`   // of the assistant
	CallID  string     `json:"tool_call_id,omitempty"` // of a tool's answer
}

// Tool is an action that a model may ask for.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema
}

// ToolCall is a model's wish for an action.
type ToolCall struct {
	// ID names the call in its answer. It is empty where the model wrote the call into its text:
	// then the result is told in words.
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ModelRequest is one call of a model.
type ModelRequest struct {
	Role Role `json:"role"`
	// Purpose is what the call is for, a short stable word for ledger and metrics: "spec", "plan",
	// "code", "repair", "review".
	Purpose  string    `json:"purpose"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	// Schema asks for one JSON object that satisfies it; the implementation uses the endpoint's
	// structured replies where it has them, and extraction and repair elsewhere.
	Schema json.RawMessage `json:"schema,omitempty"`
	// SchemaName names the schema, letters and underscores.
	SchemaName string `json:"schema_name,omitempty"`
	// Model names one of the models that the server's configuration offers, as a repository's
	// configuration may; empty: the role's own.
	Model string `json:"model,omitempty"`
	// Strong asks for the stronger model of the role (escalation); the same one where none is
	// configured.
	Strong bool `json:"strong,omitempty"`
	// Temperature from 0 to 2; nil: the configured one.
	Temperature *float64 `json:"temperature,omitempty"`
}

// ModelReply is a model's answer.
type ModelReply struct {
	Text  string          `json:"text"`
	JSON  json.RawMessage `json:"json,omitempty"` // the object, when Schema was set
	Calls []ToolCall      `json:"tool_calls,omitempty"`
	// Usage has one entry per request that was really sent, repairs and continuations included.
	Usage []Usage `json:"usage"`
}

// Usage is one line of the ledger.
type Usage struct {
	Role             Role          `json:"role"`
	Purpose          string        `json:"purpose"`
	Model            string        `json:"model"`
	PromptTokens     int           `json:"prompt_tokens"`
	CachedTokens     int           `json:"cached_tokens,omitempty"`
	CompletionTokens int           `json:"completion_tokens"`
	USD              float64       `json:"usd"`
	Duration         time.Duration `json:"duration_ns"`
	At               time.Time     `json:"at"`
	Error            string        `json:"error,omitempty"` // a call that failed but may have cost something
	// Estimated says that the endpoint told no usage and the tokens were counted here.
	Estimated bool `json:"estimated,omitempty"`
}

// Model asks a language model. It retries what is worth retrying and repairs what can be
// repaired; an error is final. Usage of the reply is set also where an error is returned.
type Model interface {
	Complete(ctx context.Context, request ModelRequest) (ModelReply, error)
}

// ModelFault says why a model could not be had, for the person who reads the hand-over.
type ModelFault string

// The faults of a model's endpoint.
const (
	ModelUnreachable  ModelFault = "unreachable"  // connection refused, name not found, time-out
	ModelUnauthorised ModelFault = "unauthorised" // 401, 403
	ModelRateLimited  ModelFault = "rate-limited" // 429 until the retries were used up
	ModelBroken       ModelFault = "broken"       // 5xx until the retries were used up, no JSON, too large
	ModelRejected     ModelFault = "rejected"     // 400, 404: the request or the model's name
	ModelMalformed    ModelFault = "malformed"    // answers that could not be repaired
	ModelRefused      ModelFault = "refused"      // the model declines to do it
	ModelOverflow     ModelFault = "overflow"     // the request does not fit the model's context
)

// ModelError is the error of Model.Complete.
type ModelError struct {
	Fault ModelFault
	Model string
	Err   error
}

// Error says which model failed, how and why.
func (e *ModelError) Error() string {
	return "model " + e.Model + ": " + string(e.Fault) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }
