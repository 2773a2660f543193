package agent_test

import (
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// TestRepliesOfRealModels plays the shapes in which models really answer. Each must come to the
// right edit, in as few replies as it can, or be told plainly what to send instead.
func TestRepliesOfRealModels(t *testing.T) {
	const fence = "```"
	read := map[string]any{"path": "label.go"}
	call := func(name string, arguments map[string]any) modeltest.Call {
		return modeltest.Call{Name: name, Arguments: arguments}
	}
	reply := func(text string, calls ...modeltest.Call) modeltest.Reply {
		return modeltest.Reply{Text: text, Calls: calls}
	}
	says := func(text string) modeltest.Reply { return reply(text) }
	done := reply("", call("final_answer", map[string]any{"message": "done"}))
	doneInWords := says(`{"action": "final_answer", "message": "done"}`)
	oldNew := map[string]any{"path": "cart.go", "old_str": "\tsum := 1", "new_str": "\tsum := 0"}
	half := strings.Index(solution, "sum := 0")
	tests := []struct {
		name    string
		replies []modeltest.Reply
		told    string // somewhere in what the model was told
	}{
		{"as asked", []modeltest.Reply{says(solution)}, ""},
		{"thoughts before", []modeltest.Reply{says("<think>" + block("cart.go", "\tsum := 1", "\tsum := 9") + "</think>\n" + solution)}, ""},
		{"thoughts between header and blocks", []modeltest.Reply{says(causeAndFiles + "<think>\n" + block("cart.go", "\tsum := 1", "\tsum := 9") + "</think>\n" + fix)}, ""},
		{"thoughts in their own field", []modeltest.Reply{{Reasoning: "Perhaps sum := 9?", Text: solution}}, ""},
		{"everything in the field of the thoughts", []modeltest.Reply{{Reasoning: solution}, {Reasoning: solution}}, ""},
		{"a thought never closed, twice, then right", []modeltest.Reply{says("<think>\n" + solution), says("<think>\n" + solution), says(solution)}, "neither edit blocks"},
		{"headings", []modeltest.Reply{says("## Root Cause\nThe sum starts at 1.\n\n## Files\n- `cart.go`: start at 0\n\n" + fix)}, ""},
		{"bold, colon inside", []modeltest.Reply{says("**Root cause:** The sum starts at 1.\n\n**Files:**\n1. `cart.go` - start at 0\n\n" + fix)}, ""},
		{"bold, colon outside", []modeltest.Reply{says("**Root Cause**: The sum starts at 1.\n**Files**:\n* cart.go\n\n" + fix)}, ""},
		{"a heading with a number", []modeltest.Reply{says("### 1. ROOT CAUSE\nThe sum starts at 1.\n### 2. FILES\ncart.go\n### 3. Changes\n" + fix)}, ""},
		{"no FILES, the plan's file", []modeltest.Reply{says("ROOT CAUSE: The sum starts at 1.\n\n" + fix)}, ""},
		{"FILES in a fence", []modeltest.Reply{says("ROOT CAUSE: The sum starts at 1.\n\nFILES:\n" + fence + "\ncart.go - start at 0\n" + fence + "\n\n" + fix)}, ""},
		{"all in one fence", []modeltest.Reply{says(fence + "\n" + causeAndFiles + fix + fence)}, ""},
		{"blocks in a fence with the path in its info", []modeltest.Reply{says(causeAndFiles + fence + "go cart.go\n" + strings.TrimPrefix(fix, "cart.go\n") + fence)}, ""},
		{"a file in a table of FILES", []modeltest.Reply{says("ROOT CAUSE: The sum starts at 1.\n\nFILES:\n| file | change |\n|---|---|\n| cart.go | start at 0 |\n\n" + fix)}, ""},
		{"a diff", []modeltest.Reply{says(causeAndFiles + fence + "diff\n--- a/cart.go\n+++ b/cart.go\n@@ -4,3 +4,3 @@\n func Total(prices []int) int {\n-\tsum := 1\n+\tsum := 0\n \tfor _, p := range prices {\n" + fence)}, ""},
		{"another tool's patch, then right", []modeltest.Reply{says(causeAndFiles + "*** Begin Patch\n*** Update File: cart.go\n@@\n-\tsum := 1\n+\tsum := 0\n*** End Patch"), says(solution)}, "not as a diff"},
		{"the whole file in a fence, then right", []modeltest.Reply{says(causeAndFiles + fence + "go\n" + strings.Replace(shop["cart.go"], ":= 1", ":= 0", 1) + fence), says(solution)}, "not as a diff or a whole file"},
		{"cut off in a block, continued", []modeltest.Reply{{Text: solution[:half], Finish: "length"}, says(solution[half:])}, ""},
		{"a look and the blocks in one reply", []modeltest.Reply{says(solution + "\n{\"action\": \"read_file\", \"path\": \"label.go\"}"), doneInWords}, "Your blocks are applied"},
		{"a look and the blocks in one reply, by a call", []modeltest.Reply{reply(solution, call("read_file", read)), done}, "Your blocks are applied"},
		{"blocks and final_answer", []modeltest.Reply{reply(solution, call("final_answer", map[string]any{"message": "done"}))}, ""},
		{"the blocks inside final_answer", []modeltest.Reply{reply("", call("final_answer", map[string]any{"message": solution}))}, ""},
		{"the blocks in an action of its own", []modeltest.Reply{reply(causeAndFiles, call("edit", map[string]any{"edits": fix})), done}, "taken as a block, and applied"},
		{"str_replace", []modeltest.Reply{reply(causeAndFiles, call("str_replace_editor", oldNew)), done}, "applied"},
		{"str_replace in words", []modeltest.Reply{says(causeAndFiles + "<function=edit_file>\n<parameter=path>cart.go</parameter>\n<parameter=old_string>\n\tsum := 1\n</parameter>\n<parameter=new_string>\n\tsum := 0\n</parameter>\n</function>"), doneInWords}, "applied"},
		{"str_replace that fits nowhere, then right", []modeltest.Reply{reply(causeAndFiles, call("str_replace_editor", map[string]any{"path": "cart.go", "old_str": "\tsum := 7", "new_str": "\tsum := 0"})), says(solution)}, "not-found"},
		{"a list of edits", []modeltest.Reply{reply(causeAndFiles, call("multi_edit", map[string]any{"file_path": "cart.go", "edits": []any{map[string]any{"old_string": "\tsum := 1", "new_string": "\tsum := 0"}}})), done}, "applied"},
		{"a patch in a call", []modeltest.Reply{reply(causeAndFiles, call("apply_patch", map[string]any{"patch": "--- a/cart.go\n+++ b/cart.go\n@@ -5 +5 @@\n-\tsum := 1\n+\tsum := 0\n"})), done}, "applied"},
		{"a whole file written over one that exists, then right", []modeltest.Reply{reply(causeAndFiles, call("write_file", map[string]any{"path": "cart.go", "content": "package shop\n"})), says(solution)}, "not applied"},
		{"several calls, one malformed", []modeltest.Reply{{Calls: []modeltest.Call{call("read_file", read), {Name: "read_file", Raw: "{path"}}}, says(solution)}, "no JSON object"},
		{"an action that does not exist", []modeltest.Reply{reply("", call("open_browser", map[string]any{"url": "x"})), says(solution)}, "There is no action open_browser"},
		{"an action that does not exist, in tags", []modeltest.Reply{says("<invoke name=\"web_search\"><parameter name=\"q\">x</parameter></invoke>"), says(solution)}, "There is no action web_search"},
		{"arguments under other names", []modeltest.Reply{reply("", call("read_file", map[string]any{"file_path": "label.go", "start_line": "3", "end_line": "3"})), says(solution)}, "Label names the shop"},
		{"a command as a list", []modeltest.Reply{reply("", call("run_command", map[string]any{"command": []any{"bash", "-lc", "cat cart.go | head"}})), says(solution)}, "exit code"},
		{"a look in the manner of Python", []modeltest.Reply{says(fence + "python\nread_file(\"label.go\")\n" + fence), says(solution)}, "Label names the shop"},
		{"a look in tags", []modeltest.Reply{says("<tool_call>\n<function=read_file>\n<parameter=path>\nlabel.go\n</parameter>\n</function>\n</tool_call>"), says(solution)}, "Label names the shop"},
		{"nothing at all, then right", []modeltest.Reply{{}, says(solution)}, ""},
		{"a promise, then right", []modeltest.Reply{says("I will now fix the total in cart.go."), says(solution)}, "neither edit blocks nor an action"},
		{"header only, then the blocks", []modeltest.Reply{says(causeAndFiles), says(fix)}, ""},
		{"CRLF", []modeltest.Reply{says(strings.ReplaceAll(solution, "\n", "\r\n"))}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := play(t, scene{rules: []modeltest.Rule{{Name: "in turn", Purpose: "code", Replies: test.replies}}})
			if p.err != nil || p.result.End != loop.CodeEdited {
				t.Fatalf("%s (%s) %v", p.result.End, p.result.Message, p.err)
			}
			if got := p.read(t, "cart.go"); !strings.Contains(got, "sum := 0") {
				t.Errorf("cart.go is %s", got)
			}
			if p.result.RootCause != "The sum starts at 1." {
				t.Errorf("the root cause is %q", p.result.RootCause)
			}
			if unused := p.server.Unused(); len(unused) > 0 {
				t.Errorf("never given: %v", unused)
			}
			var told strings.Builder
			for _, q := range p.server.Questions() {
				for _, m := range q.Messages[2:] {
					told.WriteString(m.Text + "\n")
				}
			}
			if !strings.Contains(told.String(), test.told) {
				t.Errorf("it was not told %q but %s", test.told, told.String())
			}
		})
	}
}
