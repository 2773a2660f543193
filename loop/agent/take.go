package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/edit"
	"github.com/seed-7a986423/autocode/prompts"
)

// take does what a reply says: its blocks first, then its actions.
func (t *turn) take(ctx context.Context, reply loop.ModelReply) error {
	calls := reply.Calls
	native := len(calls) > 0 && calls[0].ID != ""
	if native {
		t.talk.assistant(reply.Text, calls)
	} else {
		t.talk.assistant(reply.Text, nil)
	}
	called, isEdit := calledEdits(calls)
	if called != "" && !hasMarkers(reply.Text) {
		reply.Text = strings.TrimSpace(reply.Text + "\n\n" + called)
	}
	t.learn(parseHeader(reply.Text))
	hasBlocks := len(edit.Parse([]byte(reply.Text)).Blocks) > 0
	if converted, isDiff := diffToBlocks(reply.Text); !hasBlocks && isDiff {
		reply.Text, hasBlocks = converted, true
	}

	applied, failed := false, false
	switch {
	case hasBlocks:
		t.pending = reply.Text
		fallthrough
	case t.pending != "" && len(calls) == 0:
		var err error
		if applied, err = t.apply(ctx, native); err != nil {
			return err
		}
		failed = !applied
	}
	switch {
	case t.end != "":
		return nil
	case len(calls) > 0:
		// With tool calls each must be answered, whatever became of the blocks.
		return t.actions(ctx, calls, isEdit, native, applied, failed)
	case applied:
		t.finish(loop.CodeEdited, t.closing(reply.Text))
		return nil
	case failed:
		return nil
	case len(t.edited) > 0:
		// Words alone after edits are the end.
		t.finish(loop.CodeEdited, t.closing(reply.Text))
		return nil
	}
	kind := prompts.TurnNothing
	if otherForm.MatchString(reply.Text) {
		kind = prompts.TurnDiff
	}
	if _, over := t.stuck("a reply without blocks or actions: " + reply.Text); over {
		return nil
	}
	return t.correct(kind, prompts.TurnData{})
}

// otherForm recognises changes in another form than blocks.
var otherForm = regexp.MustCompile("(?m)^(diff --git |@@ -|--- a/|\\+\\+\\+ b/|\\*\\*\\* Begin Patch)|(?s)```[a-z]*\n.{80,}```")

// diffForm is the head of a diff.
var diffForm = regexp.MustCompile(`(?m)^--- .*\n\+\+\+ `)

// hasMarkers says whether a text holds blocks, whole or in part.
func hasMarkers(text string) bool {
	return marker.MatchString(text) || strings.Contains(text, "\n<<<<<")
}

// learn takes over what a reply's header adds.
func (t *turn) learn(h header) {
	if h.rootCause != "" {
		t.head.rootCause = h.rootCause
	}
	maps.Copy(t.head.remarks, h.remarks)
	for _, f := range h.files {
		if !slices.Contains(t.head.files, f) {
			t.head.files = append(t.head.files, f)
		}
		if why := h.why[f]; why != "" {
			t.head.why[f] = why
		}
	}
}

// closing is what a reply says besides header and blocks, for the record; usually nothing.
func (t *turn) closing(reply string) string {
	if marker.MatchString(reply) || strings.Contains(reply, "<<<<<") {
		return ""
	}
	return prompts.Line(reply)
}

// apply tries the pending blocks. Where it does not apply them the model has been told why.
func (t *turn) apply(ctx context.Context, native bool) (applied bool, err error) {
	reply := []byte(t.pending)
	if !prompts.SourceMayChange(t.request.Strategy) {
		t.pending = ""
		return false, t.refuse(prompts.TurnNoEdits, prompts.TurnData{}, native)
	}
	dry, err := edit.Apply(ctx, t.root, reply, edit.Options{DryRun: true})
	if err != nil {
		return false, fmt.Errorf("try the edits: %w", err)
	}
	if !dry.OK() {
		t.pending = ""
		return false, t.refuseFor(dry.Text(), prompts.TurnBlocks, prompts.TurnData{Errors: prompts.Data("Errors", dry.Text())}, native)
	}
	paths := touched(reply, dry)
	if bad := t.protected(paths); len(bad) > 0 {
		t.pending = ""
		return false, t.refuse(prompts.TurnProtected, prompts.TurnData{Files: bad}, native)
	}
	if t.head.rootCause == "" && t.lastCause() == "" && !t.asked {
		t.asked = true
		return false, t.refuse(prompts.TurnHeader, prompts.TurnData{}, native)
	}
	if outside := t.undeclared(paths); len(outside) > 0 {
		return false, t.refuse(prompts.TurnOutside, prompts.TurnData{Files: outside}, native)
	}
	before := t.contents(paths)
	t.pending = ""
	done, err := edit.Apply(ctx, t.root, reply, edit.Options{})
	if err != nil {
		return false, fmt.Errorf("apply the edits: %w", err)
	}
	if !done.OK() {
		return false, t.refuseFor(done.Text(), prompts.TurnBlocks, prompts.TurnData{Errors: prompts.Data("Errors", done.Text())}, native)
	}
	if after := t.contents(paths); slices.EqualFunc(before, after, bytes.Equal) {
		return false, t.refuse(prompts.TurnUnchanged, prompts.TurnData{}, native)
	}
	for _, p := range paths {
		if !slices.Contains(t.edited, p) {
			t.edited = append(t.edited, p)
		}
	}
	return true, nil
}

// refuse tells the model why its blocks were not applied, and notices when that goes in circles.
func (t *turn) refuse(kind prompts.Turn, data prompts.TurnData, native bool) error {
	return t.refuseFor(string(kind)+" "+strings.Join(data.Files, " ")+data.Errors, kind, data, native)
}

// refuseFor is refuse with the reason in words: the first line is what a person is told where the coder
// is stuck on it.
func (t *turn) refuseFor(why string, kind prompts.Turn, data prompts.TurnData, native bool) error {
	if _, over := t.stuck("blocks refused: " + why); over {
		return nil
	}
	text, err := prompts.Correct(kind, data)
	if err != nil {
		return err
	}
	if native {
		// Tool calls must be answered before anything else is said.
		t.talk.held = append(t.talk.held, text)
		return nil
	}
	t.talk.user(text, "(the blocks were refused: "+string(kind)+")")
	return nil
}

// touched lists the paths that a reply really changes, both names of renames.
func touched(reply []byte, result edit.Result) []string {
	var paths []string
	for _, a := range result.Applied {
		paths = append(paths, a.Path)
	}
	for _, b := range edit.Parse(reply).Blocks {
		if b.Action == edit.ActionRename && slices.Contains(paths, b.Path) {
			paths = append(paths, b.To)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (t *turn) protected(paths []string) []string {
	var bad []string
	for _, p := range paths {
		if protects(alwaysProtected, p) || protects(t.request.Config.Paths.Protected, p) || secretFile(p) {
			bad = append(bad, p)
		}
	}
	return bad
}

// undeclared lists the paths that neither FILES of this round, nor the plan where the reply named
// no files, nor an earlier round of this run allows.
func (t *turn) undeclared(paths []string) []string {
	var outside []string
	for _, p := range paths {
		declared := slices.Contains(t.head.files, p) || len(t.head.files) == 0 && t.implied(p)
		for _, r := range t.request.Attempts {
			declared = declared || slices.Contains(r.Files, p)
		}
		if !declared {
			outside = append(outside, p)
		}
	}
	return outside
}

// contents reads files as they are now; nil stands for one that is not there.
func (t *turn) contents(paths []string) [][]byte {
	list := make([][]byte, len(paths))
	for i, p := range paths {
		if content, err := t.root.ReadFile(p); err == nil {
			list[i] = append([]byte{}, content...)
		}
	}
	return list
}

// actions carries out the actions of a reply, in order, until one ends the round. Those that isEdit
// names were blocks in another form and are only answered.
func (t *turn) actions(ctx context.Context, calls []loop.ToolCall, isEdit []bool, native, applied, failed bool) error {
	var results, short []string
	for i, call := range calls {
		switch {
		case i >= maxActions:
			t.answer(call, native, &results, "not done: at most "+fmt.Sprint(maxActions)+" actions a reply")
			continue
		case isEdit[i] && applied:
			t.answer(call, native, &results, "taken as a block, and applied")
			continue
		case isEdit[i]:
			t.answer(call, native, &results, "taken as a block, and not applied")
			continue
		}
		result, err := t.act(ctx, call, failed)
		if err != nil {
			return err
		}
		if t.end != "" {
			return nil
		}
		t.answer(call, native, &results, result)
		if !native {
			short = append(short, leftOut(call))
		}
	}
	if applied {
		text, err := prompts.Correct(prompts.TurnAfterActions, prompts.TurnData{})
		if err != nil {
			return err
		}
		results = append(results, text)
	}
	results = append(results, t.talk.held...)
	t.talk.held = nil
	if len(results) > 0 {
		t.talk.user(strings.Join(results, "\n\n"), or(strings.Join(short, "\n"), "(an earlier remark)"))
	}
	return nil
}

// answer hands a result to the model in the way that it asked.
func (t *turn) answer(call loop.ToolCall, native bool, results *[]string, result string) {
	if native {
		t.talk.tool(call, result)
		return
	}
	*results = append(*results, "Result of "+call.Name+":\n"+result)
}

// act carries out one action. Actions that end the round set its end.
func (t *turn) act(ctx context.Context, call loop.ToolCall, failed bool) (string, error) {
	if err := t.before(ctx); err != nil {
		return "", err
	}
	a, err := decodeArguments(call.Arguments)
	if err != nil {
		return err.Error(), nil
	}
	switch name := actionName(call.Name); name {
	case actAsk:
		if strings.TrimSpace(a.Question) == "" {
			return "the question is empty", nil
		}
		t.choices = filled(a.Choices)
		t.finish(loop.CodeAsk, a.Question)
	case actApproval:
		t.finish(loop.CodeApproval, or(a.Reason, a.Message, "the coder asks for approval without saying of what"))
	case actGiveUp:
		t.finish(loop.CodeGiveUp, or(a.Reason, a.Message, "the coder gave up without a reason"))
	case actFinal:
		return t.final(or(a.Message, a.Reason, ""), failed)
	case actRead, actSearch, actList, actRun:
		result, err := t.look(ctx, name, a)
		if err != nil {
			return "", err
		}
		return t.noticed(call, result)
	default:
		return t.look(ctx, name, a)
	}
	return "", nil
}

// final ends the round, unless blocks of the same reply could not be applied.
func (t *turn) final(message string, failed bool) (string, error) {
	switch {
	case failed || t.pending != "":
		if _, over := t.stuck("final_answer although the blocks were not applied"); over {
			return "", nil
		}
		return "not done: your blocks were not applied", nil
	case len(t.edited) > 0:
		t.finish(loop.CodeEdited, message)
	default:
		t.finish(loop.CodeNothing, message)
	}
	return "", nil
}

func or(texts ...string) string {
	for _, s := range texts {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// noticed adds a remark to the result of an action that brought the same before.
func (t *turn) noticed(call loop.ToolCall, result string) (string, error) {
	again, over := t.stuck(call.Name + " " + canonical(call.Arguments) + "\n" + result)
	if over || !again {
		return result, nil
	}
	remark, err := prompts.Correct(prompts.TurnTwice, prompts.TurnData{})
	if err != nil {
		return "", err
	}
	return result + "\n\n" + remark, nil
}

// canonical writes arguments so that the order of their keys makes no difference.
func canonical(raw json.RawMessage) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
