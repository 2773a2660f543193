package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/seed-7a986423/autocode/loop"
)

// endpoint is one configured model with its client.
type endpoint struct {
	Endpoint
	client    *openai.Client
	abilities *abilities
}

func newEndpoint(e Endpoint, known *abilities, transport http.RoundTripper, limit int64) *endpoint {
	config := openai.DefaultConfig(e.Key)
	config.BaseURL = e.BaseURL
	config.HTTPClient = newDoer(transport, limit)
	if e.Timeout == 0 {
		e.Timeout = DefaultTimeout
	}
	return &endpoint{Endpoint: e, client: openai.NewClientWithConfig(config), abilities: known}
}

// answer is what one request brought.
type answer struct {
	text      string
	reasoning string
	calls     []loop.ToolCall
	finish    openai.FinishReason
	refusal   string
}

// maxGuesses bounds how often a request is repeated with one ability less: there are six
// abilities, two of them with two levels.
const maxGuesses = 8

// maxTimeouts bounds how often a request that ran out of its time is sent: it is paid each time.
const maxTimeouts = 2

// exchange sends one request until it is answered, leaving off what the endpoint does not take
// and waiting where that helps. Each request that was sent adds a line to the ledger.
func (m *Model) exchange(ctx context.Context, e *endpoint, request loop.ModelRequest, messages []loop.Message, ledger *[]loop.Usage) (answer, error) {
	s := e.abilities.get()
	guesses, timeouts := 0, 0
	for attempt := 1; ; {
		w := e.wire(request, messages, s)
		a, t, usage, err := m.send(ctx, e, request, w, s.noWhole)
		if t.sent {
			*ledger = append(*ledger, usage)
		}
		if err == nil {
			if guesses > 0 {
				e.abilities.learn(s)
			}
			return a, nil
		}
		f := classify(ctx, t, err)
		if less, ok := m.leaveOff(f, s, w); ok && guesses < maxGuesses && ctx.Err() == nil {
			s = less
			guesses++
			continue
		}
		if f.timeout {
			timeouts++
		}
		final := &loop.ModelError{Fault: f.fault, Model: e.Model, Err: m.reason(ctx, f)}
		if !f.retry || attempt >= m.retry.Attempts || timeouts >= maxTimeouts {
			return answer{}, final
		}
		wait, ok := m.pause(t, attempt)
		if !ok {
			return answer{}, final
		}
		if err := m.clock.Sleep(ctx, wait); err != nil {
			return answer{}, &loop.ModelError{Fault: f.fault, Model: e.Model, Err: errors.Join(final.Err, err)}
		}
		attempt++
	}
}

// reason is the error behind a ModelError: the endpoint's words without keys, or the context's
// own error, so that a caller can tell a stop from a fault.
func (m *Model) reason(ctx context.Context, f failure) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.New(redact(f.message, m.secrets))
}

// leaveOff returns the skills to try next after a failure that has to do with them.
func (m *Model) leaveOff(f failure, s skills, w openai.ChatCompletionRequest) (skills, bool) {
	uses := map[ability]bool{
		abilityFormat:      w.ResponseFormat != nil,
		abilityTools:       len(w.Tools) > 0,
		abilityTemperature: w.Temperature != 0,
		abilityLimit:       w.MaxTokens > 0 || w.MaxCompletionTokens > 0,
		abilityWhole:       true,
		abilitySystem:      len(w.Messages) > 0 && w.Messages[0].Role == openai.ChatMessageRoleSystem,
	}
	if uses[f.lacks] {
		return s.without(f.lacks)
	}
	if !f.guess {
		return s, false
	}
	// The order of what is most often refused.
	for _, a := range []ability{abilityFormat, abilityTools, abilityLimit, abilityTemperature} {
		if uses[a] {
			return s.without(a)
		}
	}
	return s, false
}

// pause is how long to wait before the next attempt; ok is false where the endpoint asks for
// more than may be waited.
func (m *Model) pause(t *trace, attempt int) (wait time.Duration, ok bool) {
	if asked, given := retryAfter(t, m.clock.Now()); given {
		if asked > m.retry.MaxRetryAfter {
			return 0, false
		}
		// A little more than asked for, so that many callers do not come back together.
		return asked + time.Duration(m.random()*float64(m.retry.Base)), true
	}
	ceiling := m.retry.Base << (attempt - 1)
	if ceiling <= 0 || ceiling > m.retry.Max {
		ceiling = m.retry.Max
	}
	return time.Duration(m.random() * float64(ceiling)), true
}

// errNoChoice says that an answer has no message in it.
var errNoChoice = errors.New("there is no choice in it")

// send sends one request and prices it.
func (m *Model) send(ctx context.Context, e *endpoint, request loop.ModelRequest, w openai.ChatCompletionRequest, stream bool) (answer, *trace, loop.Usage, error) {
	t := &trace{stream: stream}
	limited, cancel := context.WithTimeout(withTrace(ctx, t), e.Timeout)
	defer cancel()
	usage := loop.Usage{Role: request.Role, Purpose: request.Purpose, Model: e.Model, At: m.clock.Now()}
	response, err := e.client.CreateChatCompletion(limited, w)
	if err == nil && len(response.Choices) == 0 {
		err = errNoChoice
	}
	usage.Duration = m.clock.Now().Sub(usage.At)
	if err != nil {
		f := classify(ctx, t, err)
		usage.Error = redact(string(f.fault)+": "+f.message, m.secrets)
		if f.costs {
			usage.PromptTokens, usage.Estimated = m.count(promptText(w)), true
			usage.USD = e.cost(usage)
		}
		return answer{}, t, usage, err
	}
	a := read(response.Choices[0])
	m.fill(&usage, e, w, response.Usage, a)
	return a, t, usage, nil
}

// fill completes a ledger line from what the endpoint told, or by counting where it told nothing.
func (m *Model) fill(usage *loop.Usage, e *endpoint, w openai.ChatCompletionRequest, told openai.Usage, a answer) {
	usage.PromptTokens, usage.CompletionTokens = max(told.PromptTokens, 0), max(told.CompletionTokens, 0)
	if told.PromptTokensDetails != nil {
		usage.CachedTokens = min(max(told.PromptTokensDetails.CachedTokens, 0), usage.PromptTokens)
	}
	if usage.PromptTokens == 0 {
		usage.PromptTokens, usage.Estimated = m.count(promptText(w)), true
	}
	if usage.CompletionTokens == 0 {
		text := a.text + a.reasoning
		for _, c := range a.calls {
			text += c.Name + string(c.Arguments)
		}
		usage.CompletionTokens = m.count(text)
		usage.Estimated = usage.Estimated || text != ""
	}
	usage.USD = e.cost(*usage)
}

// cost prices a ledger line; a free model costs nothing.
func (e *endpoint) cost(u loop.Usage) float64 {
	if e.Price == nil {
		return 0
	}
	cached := e.Price.Cached
	if cached == 0 {
		cached = e.Price.Prompt
	}
	const perMillion = 1e6
	return (float64(u.PromptTokens-u.CachedTokens)*e.Price.Prompt +
		float64(u.CachedTokens)*cached +
		float64(u.CompletionTokens)*e.Price.Completion) / perMillion
}

// read takes an answer out of a choice.
func read(choice openai.ChatCompletionChoice) answer {
	message := choice.Message
	a := answer{
		text: stripThinking(message.Content), reasoning: message.ReasoningContent,
		finish: choice.FinishReason, refusal: message.Refusal,
	}
	if a.text == "" {
		for _, part := range message.MultiContent {
			a.text += part.Text
		}
		a.text = stripThinking(a.text)
	}
	if a.text == "" && a.reasoning == "" {
		a.reasoning = message.Content // a thought that was never closed
	}
	for _, c := range message.ToolCalls {
		if c.Function.Name == "" {
			continue
		}
		a.calls = append(a.calls, loop.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: arguments(c.Function.Arguments)})
	}
	return a
}

// arguments makes valid JSON of a tool call's arguments: repaired where that is possible, else
// the raw text as a string, which no action takes for an object. What is cut off is not repaired:
// half a command is another command.
func arguments(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	if object, _, ok := closedObject(strings.TrimSpace(text)); ok {
		if raw, err := json.Marshal(object); err == nil {
			return raw
		}
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func promptText(w openai.ChatCompletionRequest) string {
	var text string
	for _, msg := range w.Messages {
		text += msg.Content + "\n"
		for _, c := range msg.ToolCalls {
			text += c.Function.Name + c.Function.Arguments
		}
	}
	return text
}
