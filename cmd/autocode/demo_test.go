package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestDemoContract: with --json the last line on standard output is the result, in the form that
// programs rely on; the story goes to standard error.
func TestDemoContract(t *testing.T) {
	if ok, err := condition("sandbox"); err != nil || !ok {
		t.Skipf("no bubblewrap here (%v)", err)
	}
	for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_KEY", "AUTOCODE_MODEL"} {
		t.Setenv(name, "") // a live model would be asked
	}
	var out, story bytes.Buffer
	command := demoCmd{Repo: quickSample, Exit: true, JSON: true}
	if err := command.Run(t.Context(), streams{in: strings.NewReader(""), out: &out, err: &story}); err != nil {
		t.Fatalf("%v\n%s", err, story.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 1 {
		t.Errorf("%d lines on standard output:\n%s", len(lines), out.String())
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string][]string{
		"": {"issue", "pull_request", "check_runs", "verify", "ledger", "seconds"}, "issue": {"repository", "number", "title", "url"},
		"pull_request": {"number", "url", "draft", "head", "body"}, "verify": {"schema", "pass", "stages", "acceptance"}, "ledger": {"model_calls", "tokens", "usd"},
	} {
		object := map[string]json.RawMessage{}
		if name == "" {
			object = result
		} else if err := json.Unmarshal(result[name], &object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, key := range keys {
			if _, there := object[key]; !there {
				t.Errorf("%s lacks %q: %s", name, key, lines[len(lines)-1])
			}
		}
	}
	var checks []demoCheck
	if err := json.Unmarshal(result["check_runs"], &checks); err != nil || !slices.ContainsFunc(checks, func(c demoCheck) bool { return c.Name == "autocode" && c.Conclusion == "success" }) {
		t.Errorf("check runs %s (%v)", result["check_runs"], err)
	}
	for _, part := range []string{"scripted model", "[red]", "[green]", "fails on the base and passes on the head", "ready for review"} {
		if !strings.Contains(story.String(), part) {
			t.Errorf("the story does not say %q:\n%s", part, story.String())
		}
	}
}
