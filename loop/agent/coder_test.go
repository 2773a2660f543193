package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/agent"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

func TestOneCallSolves(t *testing.T) {
	p := play(t, scene{rules: inTurn(solution)})
	if p.err != nil || p.result.End != loop.CodeEdited || p.result.Steps != 1 {
		t.Fatalf("%+v %v", p.result, p.err)
	}
	if p.result.RootCause != "The sum starts at 1." || p.result.Why["cart.go"] != "start at 0" || !slices.Equal(p.result.Files, []string{"cart.go", "cart_test.go"}) {
		t.Errorf("%+v", p.result)
	}
	if !strings.Contains(p.read(t, "cart.go"), "sum := 0") || !strings.Contains(p.read(t, "cart_test.go"), "TestTotalOfNothing") {
		t.Error("the edits are not in the worktree")
	}
	first := p.server.Questions()[0].Messages[1].Text
	for _, part := range []string{"\tsum := 1\n", "func TestEmpty", "shop.TestTotalOfNothing", "Write tests.", "one too high"} {
		if !strings.Contains(first, part) {
			t.Errorf("the first message lacks %q", part)
		}
	}
}

// TestCoderEnds plays replies of every kind and looks at how the round ends.
func TestCoderEnds(t *testing.T) {
	read := `{"action": "read_file", "arguments": {"path": "label.go"}}`
	tests := []struct {
		name    string
		scene   scene
		end     loop.CodeEnd
		steps   int
		told    string // in the last question
		message string
	}{
		{"prose only, then the blocks", scene{rules: inTurn("I think the sum is wrong.", solution)}, loop.CodeEdited, 2, "neither edit blocks nor an action", ""},
		{"a whole function, then the blocks", scene{rules: inTurn("Change it so:\n```go\nfunc Total(prices []int) int {\n\tsum := 0\n\tfor _, p := range prices {\n\t\tsum += p\n\t}\n\treturn sum\n}\n```\n", solution)}, loop.CodeEdited, 2, "not as a diff", ""},
		{"a diff", scene{rules: inTurn(causeAndFiles + "```diff\n--- a/cart.go\n+++ b/cart.go\n@@ -4,3 +4,3 @@ package shop\n func Total(prices []int) int {\n-\tsum := 1\n+\tsum := 0\n \tfor _, p := range prices {\n```\n")}, loop.CodeEdited, 1, "", ""},
		{"a diff that does not fit, then the blocks", scene{rules: inTurn(causeAndFiles+"--- a/cart.go\n+++ b/cart.go\n@@ -5 +5 @@\n-\tsum := 7\n+\tsum := 0\n", solution)}, loop.CodeEdited, 2, "not-found", ""},
		{"SEARCH that is not there, then right", scene{rules: inTurn(causeAndFiles+block("cart.go", "\tsum := 2", "\tsum := 0"), solution)}, loop.CodeEdited, 2, "sum := 1", ""},
		{"ambiguous block, then right", scene{
			files: mapTree{"cart.go": "package shop\n\nvar a = 1\nvar b = 1\n\nfunc f() {\n\ta = 2\n}\n\nfunc g() {\n\ta = 2\n}\n"},
			rules: inTurn(causeAndFiles+block("cart.go", "\ta = 2", "\ta = 3"), causeAndFiles+block("cart.go", "func g() {\n\ta = 2", "func g() {\n\ta = 3"))}, loop.CodeEdited, 2, "ambiguous", ""},
		{"broken syntax, then right", scene{rules: inTurn(causeAndFiles+block("cart.go", "\tsum := 1", "\tsum := ((0"), solution)}, loop.CodeEdited, 2, "conflict", ""},
		{"blocks without a header", scene{rules: inTurn(fix+newTest, causeAndFiles)}, loop.CodeEdited, 2, "Your blocks were read and are kept", ""},
		{"no header even when asked: the plan's files", scene{rules: inTurn(fix, "OK, done.")}, loop.CodeEdited, 2, "", ""},
		{"another file, then named", scene{rules: inTurn(causeAndFiles+block("label.go", `func Label() string { return "shop" }`, `func Label() string { return "store" }`), "FILES:\nlabel.go - it prints the total")}, loop.CodeEdited, 2, "not under FILES", ""},
		{"another file, never named", scene{rules: inTurn(causeAndFiles+block("label.go", `func Label() string { return "shop" }`, `func Label() string { return "store" }`), "I must change it.", "I must change it.")}, loop.CodeStalled, 3, "", "same three times"},
		{"protected file", scene{
			files: mapTree{".github/workflows/ci.yml": "on: push\n", "cart.go": shop["cart.go"]},
			rules: inTurn("ROOT CAUSE: CI.\nFILES:\n.github/workflows/ci.yml\n"+block(".github/workflows/ci.yml", "on: push", "on: []"), `{"action":"give_up","reason":"CI is not mine"}`)}, loop.CodeGiveUp, 2, "must not be changed", "CI is not mine"},
		{"protected by the repository", scene{
			rules:  inTurn(solution, `{"action":"require_human_approval","reason":"cart.go is protected"}`),
			change: func(r *loop.CodeRequest) { r.Config.Paths.Protected = []string{"/cart.go"} }}, loop.CodeApproval, 2, "`cart.go`", "cart.go is protected"},
		{"blocks that change nothing", scene{rules: inTurn(causeAndFiles+block("cart.go", "\tsum := 1", "\tsum := 1"), solution)}, loop.CodeEdited, 2, "", ""},
		{"looks first, by text", scene{rules: inTurn("Let me see.\n"+read, solution)}, loop.CodeEdited, 2, "Label names the shop", ""},
		{"looks first, under a name of its own", scene{rules: inTurn(`{"name": "functions.readFile", "arguments": {"path": "label.go"}}`, solution)}, loop.CodeEdited, 2, "Label names the shop", ""},
		{"looks first, tagged", scene{rules: inTurn("<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"label.go\"}}\n</tool_call>", solution)}, loop.CodeEdited, 2, "Label names the shop", ""},
		{"the same three times", scene{rules: inTurn(read, read, read)}, loop.CodeStalled, 3, "You did exactly this before", "same three times"},
		{"the same blocks three times", scene{rules: inTurn(causeAndFiles+block("cart.go", "nothing like it", "x"), causeAndFiles+block("cart.go", "nothing like it", "x"), causeAndFiles+block("cart.go", "nothing like it", "x"))}, loop.CodeStalled, 3, "", ""},
		{"steps used up", scene{config: agent.Config{MaxSteps: 3}, rules: inTurn(
			`{"action":"list_files","dir":""}`, `{"action":"search_code","pattern":"sum"}`, `{"action":"search_code","pattern":"p"}`)}, loop.CodeStalled, 3, "1 reply is left", "no edit after 3"},
		{"a question", scene{rules: inTurn(`{"action":"ask_for_clarification","arguments":{"question":"Which total?","choices":["net","gross"]}}`)}, loop.CodeAsk, 1, "", "Which total?"},
		{"nothing to change", scene{rules: inTurn(`{"action":"final_answer","message":"It is right already."}`)}, loop.CodeNothing, 1, "", "right already"},
		{"unknown action by text is prose", scene{rules: inTurn(`{"action":"push","branch":"main"}`, solution)}, loop.CodeEdited, 2, "neither edit blocks", ""},
		{"environment: no edits", scene{
			change: func(r *loop.CodeRequest) { r.Strategy = loop.StrategyEnvironment },
			rules:  inTurn(solution, `{"action":"give_up","reason":"libfoo is missing"}`)}, loop.CodeGiveUp, 2, "no file may be changed", "libfoo"},
		{"path outside", scene{rules: inTurn("ROOT CAUSE: x.\nFILES:\n../cart.go\n"+block("../cart.go", "a", "b"), solution)}, loop.CodeEdited, 2, "unsafe-path", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := play(t, test.scene)
			if p.err != nil {
				t.Fatal(p.err)
			}
			if p.result.End != test.end || p.result.Steps != test.steps {
				t.Errorf("ended as %s after %d steps (%s), want %s after %d", p.result.End, p.result.Steps, p.result.Message, test.end, test.steps)
			}
			if !strings.Contains(p.result.Message, test.message) {
				t.Errorf("message %q", p.result.Message)
			}
			asked := p.server.Questions()
			var told strings.Builder
			for _, m := range asked[len(asked)-1].Messages[2:] {
				told.WriteString(m.Text + "\n")
			}
			if !strings.Contains(told.String(), test.told) {
				t.Errorf("it was not told %q but %s", test.told, told.String())
			}
			if unused := p.server.Unused(); len(unused) > 0 {
				t.Errorf("never given: %v", unused)
			}
			if test.end != loop.CodeEdited && p.read(t, "cart.go") != test.scene.cart() {
				t.Error("the worktree was changed")
			}
		})
	}
}

// cart is cart.go as the scene begins.
func (s scene) cart() string {
	if s.files != nil {
		return s.files["cart.go"]
	}
	return shop["cart.go"]
}

func TestActionsByToolCalls(t *testing.T) {
	call := func(name string, arguments map[string]any) modeltest.Call {
		return modeltest.Call{Name: name, Arguments: arguments}
	}
	p := play(t, scene{output: "--- FAIL: TestEmpty\n/work/cart_test.go:6: no", rules: []modeltest.Rule{{Name: "tools", Replies: []modeltest.Reply{
		{Calls: []modeltest.Call{
			call("read_file", map[string]any{"path": "cart.go", "start": 4, "end": "5"}),
			call("search_code", map[string]any{"pattern": "sum +="}),
			call("list_files", map[string]any{"dir": "."}),
			call("run_command", map[string]any{"command": "go test ./..."}),
			call("fly", map[string]any{}),
			{Name: "read_file", Raw: "no object"},
		}},
		{Text: solution, Calls: []modeltest.Call{call("run_command", map[string]any{"command": "go vet ./..."})}},
		{Calls: []modeltest.Call{call("final_answer", map[string]any{"message": "Done."})}},
	}}}})
	if p.err != nil || p.result.End != loop.CodeEdited || p.result.Steps != 3 || p.result.Message != "Done." {
		t.Fatalf("%+v %v", p.result, p.err)
	}
	if want := []string{"sh|-c|go test ./...", "sh|-c|go vet ./..."}; !slices.Equal(p.ran, want) {
		t.Errorf("ran %q", p.ran)
	}
	answers := p.server.Questions()[1].Messages[3:]
	for i, want := range []string{"cart.go, lines 4-5 of 10:\nfunc Total(prices []int) int {\n\tsum := 1\n", "no line matches", "cart_test.go", "exit code 1\nOutput (data):\n```text\n--- FAIL: TestEmpty\ncart_test.go:6: no", "There is no action fly", "no JSON object"} {
		if i >= len(answers) || answers[i].Role != "tool" || !strings.Contains(answers[i].Text, want) {
			t.Errorf("answer %d should have %q: %+v", i, want, answers[i])
		}
	}
	if last := p.server.Questions()[2].Last(); !strings.Contains(last, "Your blocks are applied") {
		t.Error(last)
	}
}

func TestBadBlocksBesideToolCalls(t *testing.T) {
	p := play(t, scene{rules: []modeltest.Rule{{Name: "tools", Replies: []modeltest.Reply{
		{Text: causeAndFiles + block("cart.go", "nothing like it", "x"), Calls: []modeltest.Call{{Name: "final_answer", Arguments: map[string]any{"message": "Done."}}}},
		{Text: solution},
	}}}})
	if p.err != nil || p.result.End != loop.CodeEdited || p.result.Steps != 2 {
		t.Fatalf("%+v %v", p.result, p.err)
	}
	messages := p.server.Questions()[1].Messages
	if got := messages[3]; got.Role != "tool" || !strings.Contains(got.Text, "blocks were not applied") {
		t.Errorf("the call must be answered first: %+v", got)
	}
	if got := messages[4]; got.Role != "user" || !strings.Contains(got.Text, "not-found") {
		t.Errorf("%+v", got)
	}
}

func TestCommandsByAllowList(t *testing.T) {
	p := play(t, scene{config: agent.Config{Commands: []string{"go test", "go vet"}}, rules: inTurn(
		`{"action":"run_command","command":"go test ./..."} {"action":"run_command","command":"go test ./... ; curl x"} {"action":"run_command","command":"git push"}`,
		`{"action":"give_up","reason":"enough"}`)})
	if !slices.Equal(p.ran, []string{"go|test|./..."}) {
		t.Errorf("ran %q", p.ran)
	}
	last := p.server.Questions()[1].Last()
	if !strings.Contains(last, "without shell signs") || !strings.Contains(last, "may not be run") {
		t.Error(last)
	}
}

func TestReadsAreSafe(t *testing.T) {
	const canary = "canary-5f3a"
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	files := mapTree{"cart.go": shop["cart.go"], ".env": canary, "deploy/server.pem": canary, ".env.example": "PORT=1\n", "blob.bin": "a\x00" + canary, "AGENTS.md": "x\n"}
	var actions []string
	for _, p := range []string{"link.txt", "linked/secret.txt", ".env", "deploy/server.pem", "blob.bin", "../secret.txt", outside, ".git/config", "pipe", "deploy", "no.go", `..\\x`} {
		actions = append(actions, `{"action":"read_file","path":"`+p+`"}`)
	}
	p := play(t, scene{files: files, rules: inTurn(strings.Join(actions[:6], "\n"), strings.Join(actions[6:], "\n"), `{"action":"read_file","path":".env.example"} {"action":"search_code","pattern":"PORT"}`, `{"action":"give_up","reason":"enough"}`),
		prepare: func(dir string) {
			for _, step := range []error{
				os.Symlink(outside, filepath.Join(dir, "link.txt")),
				os.Symlink(filepath.Dir(outside), filepath.Join(dir, "linked")),
				os.MkdirAll(filepath.Join(dir, ".git"), 0o755),
				os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(canary), 0o600),
				mkfifo(filepath.Join(dir, "pipe")),
			} {
				if step != nil {
					t.Fatal(step)
				}
			}
		}})
	if p.err != nil {
		t.Fatal(p.err)
	}
	asked := p.server.Questions()
	for _, m := range asked[len(asked)-1].Messages {
		if m.Role != "assistant" && strings.Contains(m.Text, canary) {
			t.Errorf("a secret got into the prompt: %s", m.Text)
		}
	}
	if last := asked[len(asked)-1].Last(); !strings.Contains(last, "PORT=1") {
		t.Errorf("an example of a secret file is none: %s", last)
	}
}

func TestLimitsEndTheRound(t *testing.T) {
	calls := 0
	limit := &loop.LimitError{Limit: loop.LimitTokens, Used: "2", Of: "2"}
	p := play(t, scene{rules: inTurn(`{"action":"list_files","dir":""}`), change: func(r *loop.CodeRequest) {
		r.Before = func(context.Context) error {
			if calls++; calls > 2 {
				return limit
			}
			return nil
		}
	}})
	var got *loop.LimitError
	if !errors.As(p.err, &got) || len(p.server.Questions()) != 1 {
		t.Fatalf("%v after %d questions", p.err, len(p.server.Questions()))
	}
}

func TestEndpointWithoutTools(t *testing.T) {
	p := play(t, scene{rules: []modeltest.Rule{
		{Name: "refuses tools", Replies: []modeltest.Reply{{Status: 400, Text: "this model does not support tools"}}},
		{Name: "acts by text", Contains: []string{"# Actions", "- read_file(path, end?, start?)"}, Replies: []modeltest.Reply{
			{Text: `{"action": "read_file", "arguments": {"path": "label.go"}}`}, {Text: solution}}},
	}})
	if p.err != nil || p.result.End != loop.CodeEdited || p.result.Steps != 2 || len(p.server.Questions()) != 3 {
		t.Fatalf("%+v %v", p.result, p.err)
	}
}

func TestContextOverflowIsCutDown(t *testing.T) {
	budget := 0
	p := play(t, scene{
		change: func(r *loop.CodeRequest) { r.Index = wordIndex{packs: &budget} },
		rules: []modeltest.Rule{{Name: "small", Replies: []modeltest.Reply{
			{Status: 400, Text: "maximum context length is 4096 tokens"}, {Status: 400, Text: "prompt is too long"}, {Text: solution}}}}})
	if p.err != nil || p.result.End != loop.CodeEdited || budget != 12_000/9 {
		t.Fatalf("%+v %v, budget %d", p.result, p.err, budget)
	}
}

func TestHistoryIsShortened(t *testing.T) {
	long := strings.Repeat("x := 1 // padding\n", 390)
	files := mapTree{"cart.go": shop["cart.go"], "cart_test.go": shop["cart_test.go"]}
	var replies []string
	for _, name := range []string{"qa", "qb", "qc", "qd", "qe", "qf"} {
		files[name+".txt"] = "head of " + name + "\n" + long
		replies = append(replies, `{"action":"read_file","path":"`+name+`.txt"}`)
	}
	p := play(t, scene{files: files, config: agent.Config{HistoryBudget: 6000}, rules: inTurn(append(replies, solution)...)})
	if p.err != nil || p.result.End != loop.CodeEdited {
		t.Fatalf("%+v %v", p.result, p.err)
	}
	asked := p.server.Questions()
	last := asked[len(asked)-1]
	var all strings.Builder
	for _, m := range last.Messages {
		all.WriteString(m.Text)
	}
	if strings.Contains(all.String(), "head of qa\n") || !strings.Contains(all.String(), `the result of read_file {"path":"qa.txt"} is left out`) || !strings.Contains(all.String(), "head of qf\n") {
		t.Error("the oldest results should be left out, the newest kept")
	}
	if asked[0].Messages[1].Text != last.Messages[1].Text {
		t.Error("the first message must stay as it is")
	}
}

func TestLongOutputsAreCutWithAnAnchor(t *testing.T) {
	var lines []string
	for range 2000 {
		lines = append(lines, "noise noise")
	}
	lines[1000] = "the needle"
	p := play(t, scene{output: strings.Join(lines, "\n"), rules: inTurn(`{"action":"run_command","command":"make"}`,
		`{"action":"read_file","path":"output:1","start":1001,"end":1001}`, `{"action":"give_up","reason":"enough"}`)})
	asked := p.server.Questions()
	if first := asked[1].Last(); len(first) > 8000 || !strings.Contains(first, "read_file output:1, start") || strings.Contains(first, "needle") {
		t.Errorf("%d bytes: %s", len(first), first)
	}
	if second := asked[2].Last(); !strings.Contains(second, "the needle") {
		t.Error(second)
	}
}

func TestLaterRoundsAreToldWhatHappened(t *testing.T) {
	verdict := &loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Tests: &loop.Tests{
		Failures:    []loop.Failure{{ID: "shop.TestTotalOfNothing", File: "cart_test.go", Line: 6, Message: "got 1", Expected: "0", Actual: "1"}, {ID: "shop.TestOld", Message: "old trouble"}},
		Preexisting: []string{"shop.TestOld"},
	}}}, Acceptance: []loop.Acceptance{{ID: "AC1", Proof: loop.ProofNone, Note: "its test fails on the head"}}}
	p := play(t, scene{rules: inTurn(fix), change: func(r *loop.CodeRequest) {
		r.Round, r.Strategy, r.Verdict = 2, loop.StrategyFixTests, verdict
		r.Attempts = []loop.Round{{Number: 1, RootCause: "Perhaps the loop.", Files: []string{"cart.go"}, Verdict: verdict, Commit: "c0ffee"}}
		r.Log = func(name string) ([]byte, bool) { return []byte("log"), name == "unit" }
	}})
	if p.err != nil || p.result.End != loop.CodeEdited || p.result.RootCause != "Perhaps the loop." || !slices.Contains(p.result.Files, "cart.go") {
		t.Fatalf("%+v %v", p.result, p.err)
	}
	first := p.server.Questions()[0].Messages[1].Text
	for _, want := range []string{"`shop.TestTotalOfNothing` at cart_test.go:6", "expected: 0", "got: 1", "1. cart.go: Perhaps the loop.\n   → red, 2 failures: shop.TestTotalOfNothing, shop.TestOld", "AC1 is not proved: its test fails on the head", "hold the change of round 1", "`log:unit`"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first message lacks %q", want)
		}
	}
	if strings.Contains(first, "old trouble") {
		t.Error("failures that the base has are not the coder's")
	}
}

// TestGuardIsExplained: where nothing but the guard stands in the way, the coder is told what it
// says, what the rule means, which files it sees, and that it may contest it.
func TestGuardIsExplained(t *testing.T) {
	finding := loop.Finding{Rule: "test-deleted", Severity: loop.SeverityBlock, File: "cart_test.go", Line: 5, Message: "the test TestEmpty is gone"}
	p := play(t, scene{rules: inTurn(`{"action":"require_human_approval","reason":"test-deleted at cart_test.go:5: the issue asks to delete it"}`), change: func(r *loop.CodeRequest) {
		r.Round, r.Strategy = 3, loop.StrategyRethink
		r.Findings, r.UndonePatch = []loop.Finding{finding}, "-func TestEmpty"
		r.Explain = func(rule string) string { return "a test is deleted (" + rule + ")" }
		r.Attempts = []loop.Round{
			{Number: 1, RootCause: "One.", Files: []string{"cart.go"}, Commit: "c0ffee", Verdict: &loop.Verdict{}},
			{Number: 2, RootCause: "Two.", Files: []string{"cart_test.go"}, Commit: "decaf", Parent: "c0ffee", Guard: []loop.Finding{finding}, Refused: "test-deleted", RolledBack: true},
		}
	}})
	if p.err != nil || p.result.End != loop.CodeApproval || !strings.Contains(p.result.Message, "the issue asks to delete it") {
		t.Fatalf("a contest must reach a person: %+v %v", p.result, p.err)
	}
	first := p.server.Questions()[0].Messages[1].Text
	for _, want := range []string{
		"contest it", "the rule: a test is deleted (test-deleted)", "the guard blocks it: test-deleted at cart_test.go:5", "it was not tested",
		"was undone: the files shown hold the change of round 1 and nothing later",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the first message lacks %q:\n%s", want, first[strings.Index(first, "# This round"):])
		}
	}
	for _, lie := range []string{"hold the last change already", "0 failures"} {
		if strings.Contains(first, lie) {
			t.Errorf("the first message says %q", lie)
		}
	}
}
