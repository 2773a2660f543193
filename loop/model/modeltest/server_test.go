package modeltest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, text, fault string }{
		{"YAML", "rules:\n- name: spec\n  purpose: spec\n  contains: [cart]\n  replies:\n  - text: |\n      hello\n  repeat: true\n", ""},
		{"JSON", `{"rules": [{"name": "a", "replies": [{"calls": [{"name": "read_file", "arguments": {"path": "a"}}]}]}]}`, ""},
		{"unknown key", "rules:\n- name: a\n  answers: []\n", "answers"},
		{"no replies", "rules:\n- name: a\n", "has no replies"},
		{"unknown misbehaviour", "rules:\n- name: a\n  replies: [{misbehave: sulk}]\n", "sulk"},
		{"no YAML", "rules: [", "read the script"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := modeltest.Parse([]byte(test.text))
			if test.fault == "" && err != nil || test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
				t.Errorf("%v, want %q", err, test.fault)
			}
		})
	}
}

// ask sends messages and returns status and body.
func ask(t *testing.T, url string, messages ...string) (int, string) {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var list []message
	for i, m := range messages {
		role := "user"
		if i == 0 {
			role = "system"
		}
		list = append(list, message{role, m})
	}
	raw, err := json.Marshal(map[string]any{"model": "m", "messages": list})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestRules(t *testing.T) {
	server, err := modeltest.New(modeltest.Script{Rules: []modeltest.Rule{
		{Name: "repair", Purpose: "repair", Replies: []modeltest.Reply{{Text: "R"}}},
		{Name: "cart", Purpose: "code", Contains: []string{"cart"}, Lacks: []string{"red"}, Replies: []modeltest.Reply{{Text: "A"}, {Text: "B"}}},
		{Name: "red", Purpose: "code", Last: []string{"red"}, Replies: []modeltest.Reply{{Text: "C"}}, Repeat: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const code = "# autocode: code\nrules"
	for _, step := range []struct {
		messages []string
		status   int
		want     string
	}{
		{[]string{code, "the cart"}, 200, `"A"`},
		{[]string{code, "the cart", "# autocode: repair\nno JSON"}, 200, `"R"`},
		{[]string{code, "the cart is red"}, 200, `"C"`},
		{[]string{code, "the cart is red"}, 200, `"C"`},
		{[]string{code, "the cart"}, 200, `"B"`},
		{[]string{code, "the cart"}, http.StatusExpectationFailed, "the cart"},
		{[]string{"# autocode: plan", "the cart"}, http.StatusExpectationFailed, `purpose \"plan\"`},
	} {
		status, body := ask(t, server.URL(), step.messages...)
		if status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%q: %d %s", step.messages, status, body)
		}
		if status == 200 && !strings.Contains(body, modeltest.ModelName) {
			t.Errorf("an answer does not say that it is scripted: %s", body)
		}
	}
	if len(server.Unexpected()) != 2 || len(server.Unused()) != 0 || len(server.Questions()) != 7 {
		t.Errorf("%v %v", server.Unexpected(), server.Unused())
	}
}

func TestToolCallsNeedTools(t *testing.T) {
	server, err := modeltest.New(modeltest.Script{Rules: []modeltest.Rule{{Name: "x", Replies: []modeltest.Reply{{Calls: []modeltest.Call{{Name: "read_file"}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if status, body := ask(t, server.URL(), "s", "u"); status == 200 || !strings.Contains(body, "no tools") {
		t.Errorf("%d %s", status, body)
	}
}
