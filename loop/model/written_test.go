package model

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func testTool(name, parameters string) loop.Tool {
	return loop.Tool{Name: name, Parameters: json.RawMessage(parameters)}
}

// hands are tools of the kinds that the coder has.
var hands = []loop.Tool{
	testTool("read_file", `{"type":"object","properties":{"path":{"type":"string"},"start":{"type":"integer"},"end":{"type":"integer"}},"required":["path"]}`),
	testTool("search_code", `{"type":"object","properties":{"pattern":{"type":"string"},"glob":{"type":"string"}},"required":["pattern"]}`),
	testTool("list_files", `{"type":"object","properties":{"dir":{"type":"string"}},"required":["dir"]}`),
	testTool("run_command", `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
	testTool("give_up", `{"type":"object","properties":{"reason":{"type":"string"}},"required":["reason"]}`),
	testTool("ask_for_clarification", `{"type":"object","properties":{"question":{"type":"string"},"choices":{"type":"array","items":{"type":"string"}}},"required":["question"]}`),
}

func TestWrittenCalls(t *testing.T) {
	const read, fence = `read_file {"path":"a"}`, "```"
	tests := []struct{ name, text, want string }{
		{"as asked for", `{"action": "read_file", "arguments": {"path": "a"}}`, read},
		{"flat", `go {"action": "read_file", "path": "a"} on`, read},
		{"packed in a string", `{"name": "read_file", "arguments": "{\"path\": \"a\"}"}`, read},
		{"arguments first", `{"arguments": {"path": "a"}, "name": "read_file"}`, read},
		{"a thought first", `{"thought": "I must see a.", "action": "read_file", "action_input": {"path": "a"}}`, read},
		{"OpenAI's own form", `{"id": "1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a\"}"}}`, read},
		{"a list of calls", `{"tool_calls": [{"name": "read_file", "arguments": {"path": "a"}}, {"name": "list_files", "arguments": {"dir": ""}}]}`, read + `; list_files {"dir":""}`},
		{"a list, Mistral", `[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a"}}]`, read},
		{"the tool is the key", `{"read_file": {"path": "a"}}`, read},
		{"in a fence", fence + "json\n{\n \"tool\": \"list_files\",\n \"args\": {\"dir\": \"\"}\n}\n" + fence, `list_files {"dir":""}`},
		{"two on a line", `{"action":"list_files"} {"action":"give_up","reason":"x"}`, `list_files {}; give_up {"reason":"x"}`},
		{"single quotes, trailing comma", `{'action': 'read_file', 'arguments': {'path': 'a',},}`, read},
		{"comments", "{\"action\": \"read_file\", // to see it\n\"arguments\": {\"path\": \"a\"}}", read},
		{"numbers as strings", `{"action": "read_file", "arguments": {"path": "a", "start": "3"}}`, `read_file {"path":"a","start":3}`},
		{"a number where a text belongs", `{"action": "search_code", "arguments": {"pattern": 42}}`, `search_code {"pattern":"42"}`},
		{"one choice instead of a list", `{"action": "ask_for_clarification", "arguments": {"question": "Q?", "choices": "net"}}`, `ask_for_clarification {"choices":["net"],"question":"Q?"}`},
		{"one of three is malformed", `{"action":"read_file","path":"a"} {"action": read {"action":"list_files","dir":"b"}`, read + `; list_files {"dir":"b"}`},
		{"Qwen", "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>", read},
		{"Qwen's coder", "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n<parameter=start>\n3\n</parameter>\n</function>\n</tool_call>", `read_file {"path":"a","start":3}`},
		{"Llama", `<function=read_file>{"path": "a"}</function>`, read},
		{"Claude", "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a</parameter>\n</invoke>\n</function_calls>", read},
		{"GLM", "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>", read},
		{"Cline", "<read_file>\n<path>a</path>\n</read_file>", read},
		{"DeepSeek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n" + fence + "json\n{\"path\":\"a\"}\n" + fence + "<｜tool▁call▁end｜>", read},
		{"DeepSeek, newer", `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path":"a"}<｜tool▁call▁end｜>`, read},
		{"Kimi", `<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|>`, read},
		{"gpt-oss", `<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a"}<|call|>`, read},
		{"ReAct", "Thought: look.\nAction: read_file\nAction Input: {\"path\": \"a\"}\n", read},
		{"ReAct, bare input", "Thought: look.\n**Action:** `read_file`\n**Action Input:** a\nObservation:", read},
		{"Python", `read_file("a")`, read},
		{"Python, by name, printed", fence + "tool_code\nprint(default_api.read_file(path='a', start=3))\n" + fence, `read_file {"path":"a","start":3}`},
		{"Python, a list of two", `[read_file(path="a"), list_files(dir="b(c")]`, read + `; list_files {"dir":"b(c"}`},
		{"Python, another's function", `read_file(handle, mode="r")`, ""},
		{"Python, in prose", "I would call read_file(path) and go on.", ""},
		{"Python beside blocks", "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\nread_file(\"a\")\n", ""},
		{"a tool of its own, in no doubt", `<function=edit_file>{"path": "a"}</function>`, `edit_file {"path":"a"}`},
		{"a tool of its own, JSON", `{"action": "apply_patch", "arguments": {"patch": "x"}}`, `apply_patch {"patch":"x"}`},
		{"another object", `{"name": "shop", "version": 1}`, ""},
		{"the form itself", `Use {"action": "…", "arguments": {…}}.`, ""},
		{"inside a block", "a.json\n<<<<<<< SEARCH\n=======\n{\"action\": \"give_up\"}\n>>>>>>> REPLACE\n", ""},
		{"cut off", `{"action": "run_command", "arguments": {"command": "rm -rf bu`, ""},
		{"cut off, in tags", "<function=run_command>\n<parameter=command>rm -rf bu", ""},
		{"cut off after a tag", `<function=run_command>{"command": "rm -rf bu</function>`, ""},
		{"prose", "The action is to read the file a.", ""},
	}
	box := newToolbox(hands)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, c := range box.written(test.text) {
				got = append(got, c.Name+" "+string(c.Arguments))
				if c.ID != "" {
					t.Error("a call in the text has no id")
				}
			}
			if strings.Join(got, "; ") != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func FuzzWrittenCalls(f *testing.F) {
	for _, seed := range []string{`{"action": "read_file"`, "<function=a><parameter=b>", "<｜tool▁call▁begin｜>x{", "to=a<|message|>{}", "Action: read_file\nAction Input: {", `read_file(path="a", (`, "<read_file><path>"} {
		f.Add(seed)
	}
	box := newToolbox(hands)
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range box.written(text) {
			var object map[string]any
			if c.Name == "" || json.Unmarshal(c.Arguments, &object) != nil {
				t.Fatalf("%q %s", c.Name, c.Arguments)
			}
		}
		stripThinking(text)
		assemble([]byte(text))
	})
}

func TestThinkingIsTakenOff(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"before", "<think>\nhm {\"a\": 1}\n</think>\n\nyes", "yes"},
		{"twice", "<think>a</think>\n<reasoning>b</reasoning>\nyes", "yes"},
		{"upper case, with an attribute", "<Thinking depth=\"2\">a</THINKING>yes", "yes"},
		{"opening tag lost", "hm, so\n</think>\nyes", "yes"},
		{"never closed", "<think>hm", ""},
		{"Kimi", "◁think▷hm◁/think▷yes", "yes"},
		{"gpt-oss", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>", "yes"},
		{"the template's token at the end", "yes<|im_end|>\n", "yes"},
		{"a tag in a file's content", "a.md\n<<<<<<< SEARCH\n=======\n</think>\n>>>>>>> REPLACE", "a.md\n<<<<<<< SEARCH\n=======\n</think>\n>>>>>>> REPLACE"},
		{"in the middle", "yes\n<think>hm</think>\nno", "yes\n<think>hm</think>\nno"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := stripThinking(test.text); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
