package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// Servers whose parser does not fit the model, and models that were trained on another form, leave
// tool calls in the text of a reply. The forms read here are JSON as describeTools asks for it and
// in its many variants, the tags of Qwen, Llama, Claude, GLM and Cline, the marks of DeepSeek,
// Kimi and gpt-oss, ReAct's lines, and calls in the manner of Python. A form that was not closed
// is no call: half an argument may mean something else.

const (
	// maxWritten bounds the calls that are read out of one reply.
	maxWritten = 16
	// maxWrittenText is how much of a reply's end is searched, in bytes: a reply that acts is
	// short, and a hostile one must not take a processor's time.
	maxWrittenText = 64 << 10
	// maxStarts bounds the places where an object is looked for.
	maxStarts = 64
)

// blockForm covers an edit block, whose content is no place for calls.
var blockForm = regexp.MustCompile(`(?ms)^[ \t]*<{5,9}[ \t]*\w.*?^[ \t]*>{5,9}.*?$`)

// toolbox is the tools of a request, by name.
type toolbox struct {
	tools  []loop.Tool
	shapes map[string]map[string]any // the parameters' schema by the tool's name
}

func newToolbox(tools []loop.Tool) toolbox {
	b := toolbox{tools: tools, shapes: map[string]map[string]any{}}
	for _, t := range tools {
		var shape map[string]any
		if json.Unmarshal(t.Parameters, &shape) == nil {
			b.shapes[t.Name] = shape
		}
	}
	return b
}

// decorated are the prefixes that models put before the name of a tool.
var decorated = regexp.MustCompile(`(?i)^(functions?|tools?|default_api|actions?)[.:/]+`)

// numbered is how some models count their calls: "read_file:0".
var numbered = regexp.MustCompile(`:\d+$`)

// plain takes off what models add to a tool's name: "functions.read_file", "readFile", "Read-File",
// "read_file:0" and "read_file()" are all read_file. known is false for a name that is none.
func (b toolbox) plain(name string) (plain string, known bool) {
	fold := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
	}
	name = strings.TrimSpace(name)
	bare := strings.Trim(decorated.ReplaceAllString(name, ""), "`'\"* ")
	bare = fold(strings.TrimSuffix(numbered.ReplaceAllString(bare, ""), "()"))
	for _, t := range b.tools {
		if fold(t.Name) == bare {
			return t.Name, true
		}
	}
	return name, false
}

// call makes a call of what was read; the arguments are brought nearer to the tool's schema.
func (b toolbox) call(name string, arguments map[string]any) loop.ToolCall {
	plain, _ := b.plain(name)
	properties, _ := b.shapes[plain]["properties"].(map[string]any)
	settled := map[string]any{}
	for key, value := range arguments {
		if shape, isObject := properties[key].(map[string]any); isObject {
			value = coerce(value, shape)
		}
		settled[key] = value
	}
	raw, err := json.Marshal(settled)
	if err != nil {
		raw = json.RawMessage("{}")
	}
	return loop.ToolCall{Name: plain, Arguments: raw}
}

// settle brings calls that came as such into form: names as the tools have them, arguments in the
// types of the schema, an id for each, since some servers leave it out and none takes it empty.
func (b toolbox) settle(calls []loop.ToolCall, turn int) []loop.ToolCall {
	for i, c := range calls {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", turn, i)
		}
		var arguments map[string]any
		if decodeExact(c.Arguments, &arguments) {
			calls[i] = b.call(c.Name, arguments)
		} else {
			calls[i].Name, _ = b.plain(c.Name)
		}
		calls[i].ID = id
	}
	return calls
}

// decodeExact decodes JSON without turning numbers into floats.
func decodeExact(raw json.RawMessage, into any) bool {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	return decoder.Decode(into) == nil
}

// written finds the calls in a reply's text. The first form in which there is one counts. Calls
// of tools that do not exist are kept only where their form leaves no doubt that a call was meant.
func (b toolbox) written(text string) []loop.ToolCall {
	bare := blockForm.ReplaceAllString(text, "")
	hasBlocks := bare != text
	bare = bare[max(0, len(bare)-maxWrittenText):] // calls stand at the end
	for _, form := range []func(string) []loop.ToolCall{b.tagged, b.marked, b.objects, b.reAct} {
		if calls := form(bare); len(calls) > 0 {
			return calls[:min(len(calls), maxWritten)]
		}
	}
	if hasBlocks {
		return nil // a line of code beside edits is no call
	}
	return b.pythonic(bare)
}

var (
	functionTag  = regexp.MustCompile(`(?s)<function\s*[= ]\s*(?:name\s*=\s*)?["']?([\w.:/-]+)["']?\s*>(.*?)</function>`)
	invokeTag    = regexp.MustCompile(`(?s)<(?:\w+:)?invoke\s+name\s*=\s*["']([^"']+)["']\s*>(.*?)</(?:\w+:)?invoke>`)
	glmTag       = regexp.MustCompile(`(?s)<tool_call>\s*([\w.:/-]+)\s*((?:<arg_key>.*?</arg_value>\s*)*)</tool_call>`)
	parameterTag = regexp.MustCompile(`(?s)<(?:\w+:)?parameter\s*[= ]\s*(?:name\s*=\s*)?["']?([\w-]+)["']?[^>]*>(.*?)</(?:\w+:)?parameter>`)
	argumentTag  = regexp.MustCompile(`(?s)<arg_key>\s*([\w-]+)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>`)
)

// tagged reads calls in tags.
func (b toolbox) tagged(text string) []loop.ToolCall {
	var calls []loop.ToolCall
	for _, form := range []*regexp.Regexp{functionTag, invokeTag, glmTag} {
		for _, m := range form.FindAllStringSubmatch(text, maxWritten) {
			if arguments, ok := tagArguments(m[2]); ok {
				calls = append(calls, b.call(m[1], arguments))
			}
		}
		if len(calls) > 0 {
			return calls
		}
	}
	for _, t := range b.tools {
		calls = append(calls, b.elements(t.Name, text)...)
	}
	return calls
}

// tagArguments reads the content of a call's tag: parameters in tags, or one object.
func tagArguments(body string) (map[string]any, bool) {
	arguments := map[string]any{}
	for _, form := range []*regexp.Regexp{parameterTag, argumentTag} {
		for _, p := range form.FindAllStringSubmatch(body, -1) {
			arguments[p[1]] = tagValue(p[2])
		}
	}
	if len(arguments) > 0 || strings.TrimSpace(body) == "" {
		return arguments, true
	}
	object, _, ok := closedObject(strings.TrimSpace(body))
	return object, ok
}

// tagValue is a value in a tag: a list where it is one, else the text without the line breaks that
// only set it off.
func tagValue(text string) any {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "[") {
		var list []any
		if json.Unmarshal([]byte(trimmed), &list) == nil {
			return list
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n"), "\n")
}

// elements reads calls whose tag is the tool's name and whose children are its arguments.
func (b toolbox) elements(name, text string) []loop.ToolCall {
	properties, _ := b.shapes[name]["properties"].(map[string]any)
	var calls []loop.ToolCall
	begin, end := "<"+name+">", "</"+name+">"
	for len(calls) < maxWritten {
		_, rest, found := strings.Cut(text, begin)
		if !found {
			break
		}
		body, after, closed := strings.Cut(rest, end)
		if !closed {
			break
		}
		text = after
		arguments, _, isObject := closedObject(strings.TrimSpace(body))
		if !isObject {
			arguments = map[string]any{}
			for property := range properties {
				_, value, has := strings.Cut(body, "<"+property+">")
				if value, _, ended := strings.Cut(value, "</"+property+">"); has && ended {
					arguments[property] = tagValue(value)
				}
			}
		}
		if len(arguments) > 0 || strings.TrimSpace(body) == "" {
			calls = append(calls, b.call(name, arguments))
		}
	}
	return calls
}

// markedCall is a name between the special tokens of DeepSeek, Kimi and gpt-oss, or after "call:";
// an object with the arguments follows it.
var markedCall = []*regexp.Regexp{
	regexp.MustCompile(`<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?\s*([\w.:/-]+)\s*(?:<｜tool▁sep｜>)?\s*(?:` + "```" + `(?:json)?)?\s*`),
	regexp.MustCompile(`<\|tool_call_begin\|>\s*([\w.:/-]+)\s*<\|tool_call_argument_begin\|>\s*`),
	regexp.MustCompile(`\bto=([\w.:/-]+)[^{\n]{0,80}<\|message\|>\s*`),
}

// marked reads calls that special tokens mark.
func (b toolbox) marked(text string) []loop.ToolCall {
	var calls []loop.ToolCall
	for _, form := range markedCall {
		for _, at := range form.FindAllStringSubmatchIndex(text, maxWritten) {
			if object, _, ok := closedObject(text[at[1]:]); ok {
				calls = append(calls, b.call(text[at[2]:at[3]], object))
			}
		}
	}
	return calls
}

// closedObject reads the object at the beginning of a text, forgivingly, but not one that is cut
// off: what is missing could change what is meant.
func closedObject(text string) (object map[string]any, read int, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return nil, 0, false
	}
	value, read, ok := parseLenient(text)
	object, isObject := value.(map[string]any)
	if !ok || !isObject || read == 0 || text[read-1] != '}' {
		return nil, 0, false
	}
	return object, read, true
}

// objectStart is where an object with a key begins.
var objectStart = regexp.MustCompile(`\{\s*["'“]?[A-Za-z_]\w*["'”]?\s*:`)

// objects reads calls that are JSON objects.
func (b toolbox) objects(text string) []loop.ToolCall {
	var calls, unknown []loop.ToolCall
	for tries := 0; len(calls) < maxWritten && tries < maxStarts; tries++ {
		at := objectStart.FindStringIndex(text)
		if at == nil {
			break
		}
		text = text[at[0]:]
		object, read, ok := closedObject(text)
		if !ok {
			text = text[1:]
			continue
		}
		found, sure := b.ofObject(object, 0)
		switch {
		case len(found) == 0:
			text = text[1:]
			continue
		case sure:
			calls = append(calls, found...)
		default:
			unknown = append(unknown, found...)
		}
		text = text[read:]
	}
	if len(calls) > 0 {
		return calls
	}
	return unknown
}

// The keys under which models write the name and the arguments of a call, and lists of calls.
var (
	nameKeys     = []string{"action", "name", "tool", "tool_name", "function", "function_name", "command", "recipient_name", "tool_call", "function_call"}
	argumentKeys = []string{"arguments", "args", "parameters", "params", "input", "action_input", "tool_input", "kwargs"}
	listKeys     = []string{"tool_calls", "actions", "calls", "tool_uses", "tools"}
)

// ofObject reads the calls that an object stands for; sure is false where the tool does not exist.
func (b toolbox) ofObject(object map[string]any, depth int) (calls []loop.ToolCall, sure bool) {
	const deepest = 2 // a list of calls, or a call with its function in an object of its own
	for _, key := range nameKeys {
		switch value := object[key].(type) {
		case string:
			_, known := b.plain(value)
			arguments, given := argumentsIn(object, key)
			if !known && (!given || !callName.MatchString(value)) {
				continue
			}
			return []loop.ToolCall{b.call(value, arguments)}, known
		case map[string]any:
			if depth < deepest {
				if inner, sure := b.ofObject(value, depth+1); len(inner) > 0 {
					return inner, sure
				}
			}
		}
	}
	for _, key := range listKeys {
		list, isList := object[key].([]any)
		if !isList || depth >= deepest {
			continue
		}
		for _, item := range list {
			if one, isObject := item.(map[string]any); isObject {
				inner, known := b.ofObject(one, depth+1)
				calls, sure = append(calls, inner...), sure || known
			}
		}
		if len(calls) > 0 {
			return calls, sure
		}
	}
	if len(object) == 1 {
		for key, value := range object { // {"read_file": {"path": …}}
			arguments, isObject := value.(map[string]any)
			if plain, known := b.plain(key); known && isObject {
				return []loop.ToolCall{b.call(plain, arguments)}, true
			}
		}
	}
	return nil, false
}

// callName is what the name of a tool looks like.
var callName = regexp.MustCompile(`^[a-z]+([._-]?[a-zA-Z0-9]+)+$`)

// argumentsIn are those under a key of their own, packed in a string or not, else what else the
// object holds; given says that they had a key.
func argumentsIn(object map[string]any, nameKey string) (arguments map[string]any, given bool) {
	for _, key := range argumentKeys {
		switch value := object[key].(type) {
		case map[string]any:
			return value, true
		case string:
			if inner, _, ok := closedObject(strings.TrimSpace(value)); ok {
				return inner, true
			}
		}
	}
	arguments = map[string]any{}
	for key, value := range object {
		if key != nameKey && key != "thought" && key != "thoughts" && key != "type" && key != "id" {
			arguments[key] = value
		}
	}
	return arguments, false
}

// reActName and reActInput are the lines of ReAct prompts, which old fine-tunings still follow.
var (
	reActName  = regexp.MustCompile(`(?mi)^[\s*_#>-]*action[\s*_]*:[\s*_]*` + "`?" + `([\w.:/-]+)` + "`?" + `[ \t*]*$`)
	reActInput = regexp.MustCompile(`(?i)^\s*[*_]*action[ _]input[\s*_]*:[\s*_]*`)
)

func (b toolbox) reAct(text string) []loop.ToolCall {
	var calls []loop.ToolCall
	for _, at := range reActName.FindAllStringSubmatchIndex(text, maxWritten) {
		name, known := b.plain(text[at[2]:at[3]])
		if !known {
			continue
		}
		rest := text[at[1]:]
		input := reActInput.FindStringIndex(rest)
		if input == nil {
			continue
		}
		rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(rest[input[1]:], "```json"), "```"), " \n")
		if object, _, ok := closedObject(rest); ok {
			calls = append(calls, b.call(name, object))
			continue
		}
		// A bare input is the one argument that the tool needs.
		line, _, _ := strings.Cut(rest, "\n")
		if needed := b.required(name); len(needed) == 1 && !strings.HasPrefix(line, "{") {
			calls = append(calls, b.call(name, map[string]any{needed[0]: strings.Trim(strings.TrimSpace(line), "`\"'")}))
		}
	}
	return calls
}

func (b toolbox) required(name string) []string {
	var needed []string
	list, _ := b.shapes[name]["required"].([]any)
	for _, item := range list {
		if key, isText := item.(string); isText {
			needed = append(needed, key)
		}
	}
	return needed
}

// pythonCall is a line that is nothing but a call, perhaps printed or in a list.
var pythonCall = regexp.MustCompile("(?m)^[ \\t>`*,-]*\\[?(?:print\\()?((?:[A-Za-z_]\\w*\\.)?[A-Za-z_]\\w*)\\(")

// nextCall is another call on the same line, in a list.
var nextCall = regexp.MustCompile(`^,\s*[A-Za-z_][\w.]*\(`)

// pythonic reads calls in the manner of Python. Their arguments must be the tool's own.
func (b toolbox) pythonic(text string) []loop.ToolCall {
	var calls []loop.ToolCall
	for tries := 0; len(calls) < maxWritten && tries < maxStarts; tries++ {
		at := pythonCall.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		name, known := b.plain(text[at[2]:at[3]])
		text = text[at[1]:]
		if !known {
			continue
		}
		inside, rest, closed := parenthesised(text)
		end, _, _ := strings.Cut(rest, "\n")
		if !closed || strings.Trim(end, " \t\r)],;`*") != "" && !nextCall.MatchString(end) {
			continue
		}
		if arguments, ok := b.pythonArguments(name, inside); ok {
			calls = append(calls, b.call(name, arguments))
			text = rest
		}
	}
	return calls
}

// parenthesised splits a text at the parenthesis that closes one that was open before it.
func parenthesised(text string) (inside, rest string, closed bool) {
	depth, quote := 1, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return text[:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

// pythonArguments reads arguments by name and by place; ok is false where they are not the tool's.
func (b toolbox) pythonArguments(name, inside string) (arguments map[string]any, ok bool) {
	properties, _ := b.shapes[name]["properties"].(map[string]any)
	needed := b.required(name)
	arguments = map[string]any{}
	p := &lenient{text: inside}
	for place := 0; ; {
		p.separators()
		if !p.more() {
			break
		}
		start, key := p.at, ""
		if _, size := p.quote(); size == 0 {
			key, _ = p.key()
		}
		if p.space(); key == "" || !p.more() || p.text[p.at] != '=' {
			p.at = start
			if place >= len(needed) {
				return nil, false
			}
			key = needed[place]
			place++
		} else {
			p.at++
		}
		value, read := p.value(0)
		if _, isProperty := properties[key]; !read || !isProperty {
			return nil, false
		}
		arguments[key] = value
	}
	missing := slices.ContainsFunc(needed, func(key string) bool { _, has := arguments[key]; return !has })
	return arguments, !missing
}
