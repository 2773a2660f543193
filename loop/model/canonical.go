package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Endpoints call themselves compatible and differ in the types of what they send: times and counts with a
// fraction, content as a list of parts, arguments as objects, a mark of the byte order. go-openai gives
// the whole answer up for one of them.

// text is a text as endpoints write it: a string, null, or parts of which those with a text count.
type text string

// UnmarshalJSON implements json.Unmarshaler; no form is refused.
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	type part struct {
		Text string `json:"text"`
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		parts = []json.RawMessage{raw}
	}
	for _, raw := range parts {
		var p part
		if json.Unmarshal(raw, &p) != nil {
			_ = json.Unmarshal(raw, &p.Text) // what is neither says nothing
		}
		*t += text(p.Text)
	}
	return nil
}

// count is a number of tokens: whole, with a fraction, or as a string; 0 where it is none.
type count int

// UnmarshalJSON implements json.Unmarshaler; no form is refused.
func (c *count) UnmarshalJSON(raw []byte) error {
	const most = 1e12 // far beyond every context, and within every int
	if n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64); err == nil && n > 0 && n < most {
		*c = count(n)
	}
	return nil
}

// loose is what is read of an answer.
type loose struct {
	Choices []struct {
		Message struct {
			Content   text        `json:"content"`
			Thoughts  text        `json:"reasoning_content"`
			Reasoning text        `json:"reasoning"` // the same in other words
			Refusal   text        `json:"refusal"`
			Calls     []looseCall `json:"tool_calls"`
		} `json:"message"`
		Finish text `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
		Details    struct {
			Cached count `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// looseCall is a tool call; the arguments are a string, as the API prescribes, or an object.
type looseCall struct {
	ID       text `json:"id"`
	Function struct {
		Name      text            `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// byteOrderMark begins what some servers write.
var byteOrderMark = []byte("\ufeff")

// canonical writes an answer as the API prescribes it, as far as it is read. What has no choices, a
// list of models or an error, is left as it came.
func canonical(body []byte) []byte {
	body = bytes.TrimPrefix(body, byteOrderMark)
	var l loose
	var odd *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &l); err != nil && !errors.As(err, &odd) || l.Choices == nil {
		return body
	}
	choices := []any{}
	for i, c := range l.Choices {
		message := map[string]any{"role": "assistant", "content": c.Message.Content, "refusal": c.Message.Refusal, "reasoning_content": c.Message.Thoughts}
		if c.Message.Thoughts == "" {
			message["reasoning_content"] = c.Message.Reasoning
		}
		var calls []any
		for _, call := range c.Message.Calls {
			calls = append(calls, map[string]any{"id": call.ID, "type": "function", "function": map[string]any{
				"name": call.Function.Name, "arguments": argumentsText(call.Function.Arguments),
			}})
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		choices = append(choices, map[string]any{"index": i, "message": message, "finish_reason": c.Finish})
	}
	answer := map[string]any{"object": "chat.completion", "choices": choices}
	if l.Usage != nil {
		answer["usage"] = map[string]any{
			"prompt_tokens": l.Usage.Prompt, "completion_tokens": l.Usage.Completion, "prompt_tokens_details": map[string]any{"cached_tokens": l.Usage.Details.Cached},
		}
	}
	whole, err := json.Marshal(answer)
	if err != nil {
		return body // only raw parts could fail, and there are none
	}
	return whole
}

// argumentsText is a tool call's arguments as the string that the API prescribes.
func argumentsText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
