package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The schemas of structured replies. Every property is required and no other is allowed, as the
// strict mode of endpoints demands; what a model leaves out is filled in where that is safe.

// fields builds the schema of an object from names and the JSON of their schemas, in order.
func fields(pairs ...string) string {
	var properties, required []string
	for i := 0; i+1 < len(pairs); i += 2 {
		properties = append(properties, fmt.Sprintf("%q:%s", pairs[i], pairs[i+1]))
		required = append(required, fmt.Sprintf("%q", pairs[i]))
	}
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`,
		strings.Join(properties, ","), strings.Join(required, ","))
}

func listOf(schema string) string { return `{"type":"array","items":` + schema + `}` }

func oneOf(values ...string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = fmt.Sprintf("%q", v)
	}
	return `{"type":"string","enum":[` + strings.Join(quoted, ",") + `]}`
}

const (
	text    = `{"type":"string"}`
	whole   = `{"type":"integer"}`
	boolean = `{"type":"boolean"}`
)

func stepsSchema() string {
	return listOf(fields("id", text, "title", text, "files", listOf(text),
		"depends_on", listOf(text), "acceptance", listOf(text), "risk", text))
}

// specSchema is the spec with its plan.
func specSchema() json.RawMessage {
	criterion := fields("id", text, "given", text, "when", text, "then", text,
		"proof", oneOf("red-green", "green-green", "review"), "test_hook", text)
	return json.RawMessage(fields(
		"goal", text,
		"kind", oneOf("bug", "feature", "refactor", "tests", "dependency", "docs"),
		"criteria", listOf(criterion),
		"constraints", listOf(text), "out_of_scope", listOf(text),
		"questions", listOf(fields("text", text, "choices", listOf(text))),
		"zone", oneOf("green", "amber", "red"), "zone_why", text,
		"nothing_to_do", text,
		"steps", stepsSchema(),
		"need", listOf(text),
	))
}

// planSchema is a plan alone.
func planSchema() json.RawMessage { return json.RawMessage(fields("steps", stepsSchema())) }

// reviewSchema is the critic's reply.
func reviewSchema() json.RawMessage {
	finding := fields("blocking", boolean, "file", text, "line", whole, "msg", text)
	return json.RawMessage(fields(
		"scores", fields("correctness", whole, "security", whole, "readability", whole, "scope", whole),
		"findings", listOf(finding),
		"summary", text,
	))
}
