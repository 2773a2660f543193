package model_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

func TestJSONIsFoundAndRepaired(t *testing.T) {
	const want = `{"goal":"a","kind":"bug","tags":["x"]}`
	tests := []struct{ name, text, want string }{
		{"clean", want, want},
		{"fenced", "Here you are:\n```json\n" + want + "\n```\nGood luck!", want},
		{"fence never closed", "```json\n" + want, want},
		{"prose around", "Sure! " + want + " Anything else?", want},
		{"trailing commas", `{"goal": "a", "kind": "bug", "tags": ["x",],}`, want},
		{"single quotes", `{'goal': 'a', 'kind': 'bug', 'tags': ['x']}`, want},
		{"bare keys", `{goal: "a", kind: bug, tags: ["x"]}`, want},
		{"comments", "{\n// the goal\n\"goal\": \"a\", /* sort */ \"kind\": \"bug\", # why\n\"tags\": [\"x\"]}", want},
		{"missing commas", "{\"goal\": \"a\"\n\"kind\": \"bug\"\n\"tags\": [\"x\"]}", want},
		{"cut off", `{"goal":"a","kind":"bug","tags":["x"`, want},
		{"cut off in a string", `{"goal":"a","kind":"bug","tags":["x`, want},
		{"raw newline", "{\"goal\":\"a\nb\",\"kind\":\"bug\",\"tags\":[]}", `{"goal":"a\nb","kind":"bug","tags":[]}`},
		{"unescaped quotes", `{"goal":"say "a" twice","kind":"bug","tags":[]}`, `{"goal":"say \"a\" twice","kind":"bug","tags":[]}`},
		{"Python", `{"goal": 'a', 'kind': "bug", "tags": None}`, `{"goal":"a","kind":"bug","tags":[]}`},
		{"two objects, the last counts", `{"goal":"draft","kind":"bug","tags":[]} no, better: ` + want, want},
		{"two parts", `{"goal":"a","kind":"bug"} and {"tags":["x"],"kind":"bug","goal":"a"}`, want},
		{"thoughts first", "<think>{\"goal\": \"no\"}</think>" + want, want},
		{"other spellings", `{"goal":"a","kind":"Bug","tags":"x","count":"3"}`, `{"count":3,"goal":"a","kind":"bug","tags":["x"]}`},
		{"unknown property", `{"goal":"a","kind":"bug","tags":["x"],"note":"!"}`, want},
		{"missing list", `{"goal":"a","kind":"bug"}`, `{"goal":"a","kind":"bug","tags":[]}`},
		{"a wrapper", `{"spec": {"goal":"a","kind":"bug"}, "more": {"tags":["x"]}}`, want},
		{"keys in other spellings", `{"Goal":"a","KIND":"bug","tgs":["x"]}`, want},
		{"one key of its own for the one that is missing", `{"aim":"a","kind":"bug","tags":["x"]}`, want},
		{"a number as people write it", `{"goal":"a","kind":"bug","tags":["x"],"count":"4/5"}`, `{"count":4,"goal":"a","kind":"bug","tags":["x"]}`},
		{"a list at the top", "[" + want + "]", want},
		{"cut off by a fence", "```json\n{\"goal\":\"a\",\"kind\":\"bug\",\"tags\":[\"x\"\n```", want},
		{"surrogate pair", `{"goal":"\ud83d\ude00",kind:"bug"}`, `{"goal":"😀","kind":"bug","tags":[]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := serve(t, modeltest.Reply{Text: test.text})
			m, _ := build(t, server, nil)
			reply, err := m.Complete(context.Background(), structuredQuestion())
			if err != nil {
				t.Fatal(err)
			}
			if string(reply.JSON) != test.want {
				t.Errorf("got %s, want %s", reply.JSON, test.want)
			}
		})
	}
}

func TestJSONIsAskedForAgain(t *testing.T) {
	const good = `{"goal":"a","kind":"bug","tags":[]}`
	server := serveRules(t,
		modeltest.Rule{Name: "first", Purpose: "code", Replies: []modeltest.Reply{{Text: `{"goal":"","kind":"chore"}`}}},
		modeltest.Rule{Name: "repair", Purpose: "repair", Last: []string{"/kind", "'bug', 'feature'"}, Replies: []modeltest.Reply{{Text: good}}},
	)
	m, _ := build(t, server, nil)
	reply, err := m.Complete(context.Background(), structuredQuestion())
	if err != nil || string(reply.JSON) != good {
		t.Fatalf("%s %v", reply.JSON, err)
	}
	if reply.Usage[0].Purpose != "code" || reply.Usage[1].Purpose != "repair" {
		t.Errorf("%+v", reply.Usage)
	}
}

func TestRepairsAreBounded(t *testing.T) {
	server := serveRules(t, modeltest.Rule{Name: "prose", Repeat: true, Replies: []modeltest.Reply{{Text: "I would rather talk."}}})
	m, _ := build(t, server, nil)
	reply, err := m.Complete(context.Background(), structuredQuestion())
	if faultOf(t, err) != loop.ModelMalformed || len(reply.Usage) != 3 || !strings.Contains(err.Error(), "no JSON object") {
		t.Fatalf("%v after %d", err, len(reply.Usage))
	}
}

func TestJSONFormatsAreLearnt(t *testing.T) {
	good := modeltest.Reply{Text: `{"goal":"a","kind":"bug","tags":[]}`}
	server := serve(t,
		modeltest.Reply{Status: 400, Text: "response_format of type json_schema is not supported"},
		modeltest.Reply{Status: 400, Text: "This response_format type is unavailable now"},
		good, good)
	m, _ := build(t, server, nil)
	for range 2 {
		if _, err := m.Complete(context.Background(), structuredQuestion()); err != nil {
			t.Fatal(err)
		}
	}
	var formats []string
	for _, q := range server.Questions() {
		formats = append(formats, q.Format)
	}
	if got := strings.Join(formats, ","); got != "json_schema,json_object,," {
		t.Errorf("formats %q", got)
	}
	if last := server.Questions()[3].Last(); !strings.Contains(last, `"required":["goal"`) && !strings.Contains(last, `"required"`) {
		t.Errorf("the schema is not in the prompt: %s", last)
	}
}
