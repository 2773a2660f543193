package agent

import (
	"encoding/json"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// Models that were trained on editing tools call one although none is offered, or put their blocks
// into the argument of an action. What such a call says is said as exactly as by a block, so it is
// written as one, and the edit engine then matches it as strictly as any.

// The names under which editing tools of other agents take their arguments.
var (
	editPaths  = []string{"path", "file_path", "file", "filename", "target_file"}
	editOld    = []string{"old_str", "old_string", "old_text", "search", "old", "find", "original"}
	editNew    = []string{"new_str", "new_string", "new_text", "replace", "replacement", "new", "updated"}
	editWhole  = []string{"content", "contents", "file_text", "text"}
	editBlocks = []string{"edits", "blocks", "diff", "patch", "input", "edit", "changes", "message", "reason", "answer", "content"}
)

// calledEdits returns the blocks that calls hold, and says of each call whether it was an edit and
// nothing else.
func calledEdits(calls []loop.ToolCall) (blocks string, isEdit []bool) {
	isEdit = make([]bool, len(calls))
	var all []string
	for i, call := range calls {
		var given map[string]any
		if json.Unmarshal(call.Arguments, &given) != nil {
			continue
		}
		if text := embedded(given); text != "" {
			all = append(all, text)
			isEdit[i] = !isAction(call.Name)
			continue
		}
		if isAction(call.Name) {
			continue
		}
		if text := oneEdit(given); text != "" {
			all = append(all, text)
			isEdit[i] = true
		}
	}
	return strings.Join(all, "\n"), isEdit
}

// embedded is the argument that holds blocks or a diff.
func embedded(given map[string]any) string {
	for _, key := range editBlocks {
		text, _ := given[key].(string)
		if marker.MatchString(text) || strings.Contains(text, "\n<<<<<") || diffForm.MatchString(text) {
			if p := textOf(given, editPaths); p != "" && !strings.Contains(text, p) {
				text = p + "\n" + text
			}
			return text
		}
	}
	return ""
}

// oneEdit is the block of a call with an old and a new text, or with the whole of a file, which
// the edit engine takes for a new file only. Several edits of one file may come as a list.
func oneEdit(given map[string]any) string {
	file := textOf(given, editPaths)
	if file == "" {
		return ""
	}
	if list, isList := given["edits"].([]any); isList {
		var all []string
		for _, item := range list {
			one, _ := item.(map[string]any)
			if text := replacing(file, one); text != "" {
				all = append(all, text)
			}
		}
		return strings.Join(all, "\n")
	}
	if text := replacing(file, given); text != "" {
		return text
	}
	if whole := textOf(given, editWhole); whole != "" {
		return writeBlock(file, "", whole)
	}
	return ""
}

// replacing is the block of an old and a new text; the new one may be empty.
func replacing(file string, given map[string]any) string {
	old := textOf(given, editOld)
	if old == "" {
		return ""
	}
	for _, key := range editNew {
		if _, isText := given[key].(string); isText {
			return writeBlock(file, old, textOf(given, []string{key}))
		}
	}
	return ""
}

func textOf(given map[string]any, keys []string) string {
	for _, key := range keys {
		if text, isText := given[key].(string); isText && text != "" {
			return text
		}
	}
	return ""
}

// writeBlock writes a block with markers of a length that its content does not have.
func writeBlock(file, search, replace string) string {
	const shortest, longest = 5, 9
	length := 7
	for n := shortest; n <= longest; n++ {
		if !strings.Contains(search+replace, strings.Repeat("<", n)) && !strings.Contains(search+replace, strings.Repeat("=", n)) &&
			!strings.Contains(search+replace, strings.Repeat(">", n)) {
			length = n
			break
		}
	}
	line := func(text string) string {
		if text == "" || strings.HasSuffix(text, "\n") {
			return text
		}
		return text + "\n"
	}
	return file + "\n" + strings.Repeat("<", length) + " SEARCH\n" + line(search) + strings.Repeat("=", length) + "\n" +
		line(replace) + strings.Repeat(">", length) + " REPLACE\n"
}

func isAction(name string) bool {
	for _, known := range actionNames {
		if string(known) == name {
			return true
		}
	}
	return false
}
