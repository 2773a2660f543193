package model

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/seed-7a986423/autocode/loop"
)

// RepairMarker is the first line of a message that asks for a corrected JSON reply; the scripted
// model knows such calls by it.
const RepairMarker = "# autocode: repair"

// wire builds the request as the endpoint is believed to take it. Messages and tools keep their
// order, so that the prefix of a conversation stays the same from call to call.
func (e *endpoint) wire(request loop.ModelRequest, messages []loop.Message, s skills) openai.ChatCompletionRequest {
	w := openai.ChatCompletionRequest{Model: e.Model}
	if !s.noTemperature {
		w.Temperature = temperature(request.Temperature, e.Temperature)
	}
	if e.MaxOutput > 0 {
		switch s.limit {
		case limitOld:
			w.MaxTokens = e.MaxOutput
		case limitNew:
			w.MaxCompletionTokens = e.MaxOutput
		case limitNone:
		}
	}
	if len(request.Tools) > 0 {
		if s.noTools {
			messages = flatten(messages, request.Tools)
		} else {
			for _, t := range request.Tools {
				w.Tools = append(w.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
					Name: t.Name, Description: t.Description, Parameters: t.Parameters,
				}})
			}
		}
	}
	if len(request.Schema) > 0 {
		switch s.format {
		case formatSchema:
			w.ResponseFormat = &openai.ChatCompletionResponseFormat{
				Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
				JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
					Name: schemaName(request.SchemaName), Schema: request.Schema, Strict: true,
				},
			}
		case formatObject:
			w.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
			messages = withSchema(messages, request.Schema)
		case formatPlain:
			messages = withSchema(messages, request.Schema)
		}
	}
	if s.noSystem {
		messages = withoutSystem(messages)
	}
	for _, m := range merge(messages) {
		w.Messages = append(w.Messages, wireMessage(m))
	}
	return w
}

// temperature picks the request's or the endpoint's; 0 is written as the smallest number, which
// the library does not leave out and rewrite turns into 0.
func temperature(wanted, configured *float64) float32 {
	t := 0.0
	switch {
	case wanted != nil:
		t = *wanted
	case configured != nil:
		t = *configured
	}
	if t == 0 {
		return math.SmallestNonzeroFloat32
	}
	return float32(t)
}

func schemaName(name string) string {
	if name == "" {
		return "reply"
	}
	return name
}

func wireMessage(m loop.Message) openai.ChatCompletionMessage {
	w := openai.ChatCompletionMessage{Role: string(m.Speaker), Content: m.Text, ToolCallID: m.CallID}
	for _, c := range m.Calls {
		w.ToolCalls = append(w.ToolCalls, openai.ToolCall{
			ID: c.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Name, Arguments: string(c.Arguments)},
		})
	}
	return w
}

// withSchema puts the schema at the end of the last message, for endpoints that do not take it
// as a parameter.
func withSchema(messages []loop.Message, schema json.RawMessage) []loop.Message {
	return appendText(messages, "Reply with one JSON object and nothing else: no prose, no code fence. It must satisfy this JSON Schema:\n"+string(schema))
}

// appendText adds a paragraph to the last message, or a user message where that is not a user's.
func appendText(messages []loop.Message, text string) []loop.Message {
	messages = slices.Clone(messages)
	if last := len(messages) - 1; last >= 0 && messages[last].Speaker == loop.SpeakerUser {
		messages[last].Text += "\n\n" + text
		return messages
	}
	return append(messages, loop.Message{Speaker: loop.SpeakerUser, Text: text})
}

// flatten tells a conversation with tools to an endpoint that has none: the tools are described
// at the end of the system message, calls and results become text.
func flatten(messages []loop.Message, tools []loop.Tool) []loop.Message {
	names := map[string]string{}
	flat := make([]loop.Message, 0, len(messages)+1)
	for _, m := range messages {
		text := m.Text
		for _, c := range m.Calls {
			names[c.ID] = c.Name
			text += "\n" + actionText(c.Name, c.Arguments)
		}
		switch m.Speaker {
		case loop.SpeakerTool:
			flat = append(flat, loop.Message{Speaker: loop.SpeakerUser, Text: "Result of " + names[m.CallID] + ":\n" + text})
		case loop.SpeakerSystem, loop.SpeakerUser, loop.SpeakerAssistant:
			flat = append(flat, loop.Message{Speaker: m.Speaker, Text: strings.TrimSpace(text)})
		}
	}
	described := describeTools(tools)
	if len(flat) > 0 && flat[0].Speaker == loop.SpeakerSystem {
		flat[0].Text += "\n\n" + described
		return flat
	}
	return append([]loop.Message{{Speaker: loop.SpeakerSystem, Text: described}}, flat...)
}

// actionText is how an action is written where there are no tool calls.
func actionText(name string, arguments json.RawMessage) string {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	return fmt.Sprintf(`{"action": %q, "arguments": %s}`, name, arguments)
}

// describeTools lists tools in words, for endpoints without tool calls.
func describeTools(tools []loop.Tool) string {
	var b strings.Builder
	b.WriteString("# Actions\nTo act, end your reply with one JSON object per action, each on a line of its own:\n" +
		`{"action": "name", "arguments": {…}}` + "\nThe actions, with their arguments (? marks what may be left out):\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "- %s(%s): %s\n", t.Name, strings.Join(parameterNames(t.Parameters), ", "), t.Description)
	}
	return strings.TrimRight(b.String(), "\n")
}

// parameterNames lists a schema's properties, the required ones first and in their order.
func parameterNames(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var optional []string
	for name := range s.Properties {
		if !slices.Contains(s.Required, name) {
			optional = append(optional, name+"?")
		}
	}
	slices.Sort(optional)
	return append(slices.Clone(s.Required), optional...)
}

// withoutSystem puts the system's text before the first user message.
func withoutSystem(messages []loop.Message) []loop.Message {
	var system []string
	var rest []loop.Message
	for _, m := range messages {
		if m.Speaker == loop.SpeakerSystem {
			system = append(system, m.Text)
			continue
		}
		rest = append(rest, m)
	}
	return append([]loop.Message{{Speaker: loop.SpeakerUser, Text: strings.Join(system, "\n\n")}}, rest...)
}

// merge joins neighbouring messages of users, since the templates of some models insist that
// the speakers alternate.
func merge(messages []loop.Message) []loop.Message {
	var merged []loop.Message
	for _, m := range messages {
		if last := len(merged) - 1; last >= 0 && m.Speaker == loop.SpeakerUser && merged[last].Speaker == loop.SpeakerUser {
			merged[last].Text += "\n\n" + m.Text
			continue
		}
		merged = append(merged, m)
	}
	return merged
}
