package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// Some endpoints answer in a stream whatever they are asked, others refuse to answer otherwise.
// Both are read as what they amount to: the deltas are put together to one answer.

// streamPrefix begins a line of data of a server-sent event.
const streamPrefix = "data:"

// streamEnd is the data of the event after the last one.
const streamEnd = "[DONE]"

// isStream says whether a body is a stream of events and not one object.
func isStream(body []byte) bool {
	start := bytes.TrimLeft(body[:min(len(body), 512)], " \t\r\n\ufeff")
	return bytes.HasPrefix(start, []byte(streamPrefix)) || bytes.HasPrefix(start, []byte("event:")) || bytes.HasPrefix(start, []byte(": "))
}

// delta is what one event of a stream adds.
type delta struct {
	Choices []struct {
		Delta struct {
			Content          text `json:"content"`
			ReasoningContent text `json:"reasoning_content"`
			Reasoning        text `json:"reasoning"` // the same in other words
			Refusal          text `json:"refusal"`
			ToolCalls        []struct {
				Index    *int `json:"index"`
				ID       text `json:"id"`
				Function struct {
					Name      text            `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		FinishReason text `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// streamedCall is a tool call as it grows.
type streamedCall struct {
	ID        string
	Name      string
	Arguments strings.Builder
}

// assemble makes one answer of a stream. An error in it is the answer; a stream that ended with neither
// a reason for its end nor its last event was cut off, which is an answer without choices.
func assemble(body []byte) []byte {
	var content, reasoning, refusal strings.Builder
	var calls []*streamedCall
	var usage json.RawMessage
	finish, ended := "", false
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), streamPrefix)
		if !ok {
			continue
		}
		if strings.TrimSpace(data) == streamEnd {
			ended = true
			continue
		}
		var d delta
		var odd *json.UnmarshalTypeError
		if err := json.Unmarshal([]byte(data), &d); err != nil && !errors.As(err, &odd) {
			continue // what is no event of ours
		}
		if len(d.Error) > 0 && string(d.Error) != "null" {
			return []byte(data)
		}
		if len(d.Usage) > 0 && string(d.Usage) != "null" {
			usage = d.Usage
		}
		if len(d.Choices) == 0 {
			continue
		}
		choice := d.Choices[0]
		content.WriteString(string(choice.Delta.Content))
		if choice.Delta.ReasoningContent == "" {
			choice.Delta.ReasoningContent = choice.Delta.Reasoning
		}
		reasoning.WriteString(string(choice.Delta.ReasoningContent))
		refusal.WriteString(string(choice.Delta.Refusal))
		if choice.FinishReason != "" {
			finish = string(choice.FinishReason)
		}
		for _, c := range choice.Delta.ToolCalls {
			at := len(calls) - 1
			switch {
			case c.Index != nil:
				at = *c.Index
			case c.ID != "" || at < 0: // without an index, an id begins a new call
				at = len(calls)
			}
			const most = 128 // calls of one answer; an index beyond it is nonsense
			if at < 0 || at >= most {
				continue
			}
			for len(calls) <= at {
				calls = append(calls, &streamedCall{})
			}
			if c.ID != "" {
				calls[at].ID = string(c.ID)
			}
			calls[at].Name += string(c.Function.Name)
			calls[at].Arguments.WriteString(argumentsText(c.Function.Arguments))
		}
	}
	if finish == "" && ended && content.Len()+refusal.Len()+len(calls) > 0 {
		finish = string(openai.FinishReasonStop) // it says that it is whole, if not why
	}
	answer := map[string]any{"object": "chat.completion", "choices": []any{}}
	if usage != nil {
		answer["usage"] = usage
	}
	if finish != "" {
		message := map[string]any{"role": "assistant", "content": content.String(), "reasoning_content": reasoning.String(), "refusal": refusal.String()}
		var list []any
		for _, c := range slices.DeleteFunc(calls, func(c *streamedCall) bool { return c.Name == "" }) {
			list = append(list, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments.String()}})
		}
		if list != nil {
			message["tool_calls"] = list
		}
		answer["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}
	}
	whole, err := json.Marshal(answer)
	if err != nil {
		return body // usage that is no JSON: the caller finds the stream unreadable
	}
	return whole
}

// streaming asks for a stream in a request's body, which the library writes for one answer only.
func streaming(body []byte) []byte {
	var request map[string]json.RawMessage
	if json.Unmarshal(body, &request) != nil {
		return body
	}
	request["stream"] = json.RawMessage("true")
	again, err := json.Marshal(request)
	if err != nil {
		return body
	}
	return again
}
