package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Script is what the scripted model knows.
type Script struct {
	Rules []Rule `yaml:"rules" json:"rules"`
}

// Rule answers the questions that it matches. The first rule of a script that matches and has a
// reply left answers.
type Rule struct {
	Name string `yaml:"name" json:"name"`
	// Purpose is the word after "# autocode: " in the first line of the system message: spec,
	// plan, code, review; or repair, where the last message asks for corrected JSON. Empty: any.
	Purpose string `yaml:"purpose" json:"purpose,omitempty"`
	// Model is the model's name in the request; empty: any.
	Model string `yaml:"model" json:"model,omitempty"`
	// Contains lists texts that must all occur in the messages, Lacks such as must not.
	Contains []string `yaml:"contains" json:"contains,omitempty"`
	Lacks    []string `yaml:"lacks" json:"lacks,omitempty"`
	// Last lists texts that must all occur in the last message.
	Last []string `yaml:"last" json:"last,omitempty"`
	// Replies are given in turn, each once; with Repeat the last one again and again.
	Replies []Reply `yaml:"replies" json:"replies"`
	Repeat  bool    `yaml:"repeat" json:"repeat,omitempty"`
}

// Reply is one answer. The zero value is an empty one.
type Reply struct {
	Text      string `yaml:"text" json:"text,omitempty"`
	Reasoning string `yaml:"reasoning" json:"reasoning,omitempty"`
	Refusal   string `yaml:"refusal" json:"refusal,omitempty"`
	// Calls are tool calls. They are refused, as a rule's fault, where the request has no tools.
	Calls []Call `yaml:"calls" json:"calls,omitempty"`
	// Finish is the finish_reason; empty: stop, or tool_calls.
	Finish string `yaml:"finish" json:"finish,omitempty"`
	// NoUsage leaves the usage out.
	NoUsage bool `yaml:"no_usage" json:"no_usage,omitempty"`
	// Status other than 0 and 200 is an error with Text as its message.
	Status int `yaml:"status" json:"status,omitempty"`
	// Headers are added, Retry-After for instance.
	Headers map[string]string `yaml:"headers" json:"headers,omitempty"`
	// Misbehave spoils the answer on its way.
	Misbehave Misbehaviour `yaml:"misbehave" json:"misbehave,omitempty"`
}

// Call is a tool call of a Reply.
type Call struct {
	Name      string         `yaml:"name" json:"name"`
	Arguments map[string]any `yaml:"arguments" json:"arguments"`
	// Raw stands in for Arguments where they are to be no JSON.
	Raw string `yaml:"raw" json:"raw,omitempty"`
}

// Misbehaviour is a way to spoil an answer.
type Misbehaviour string

// The ways to misbehave.
const (
	Behaves     Misbehaviour = ""
	InvalidJSON Misbehaviour = "invalid-json" // the body is cut in the middle
	NullContent Misbehaviour = "null-content" // content is null, as beside reasoning
	NoChoices   Misbehaviour = "no-choices"
	Drip        Misbehaviour = "drip"      // bytes come one by one and never end
	Hang        Misbehaviour = "hang"      // no answer at all
	Drop        Misbehaviour = "drop"      // the connection is closed
	Huge        Misbehaviour = "huge"      // far more than any reply
	GzipBomb    Misbehaviour = "gzip-bomb" // the same, compressed
)

var misbehaviours = []Misbehaviour{Behaves, InvalidJSON, NullContent, NoChoices, Drip, Hang, Drop, Huge, GzipBomb}

// Parse reads a script from YAML or JSON. Unknown keys are errors.
func Parse(text []byte) (Script, error) {
	var script Script
	if err := yaml.Load(text, &script, yaml.WithKnownFields()); err != nil {
		return Script{}, fmt.Errorf("read the script of the scripted model: %w", err)
	}
	return script, script.Validate()
}

// Validate reports every rule that could never answer.
func (s Script) Validate() error {
	var faults []error
	for i, r := range s.Rules {
		if len(r.Replies) == 0 {
			faults = append(faults, fmt.Errorf("rules[%d] (%s): has no replies", i, r.Name))
		}
		for j, reply := range r.Replies {
			if !known(reply.Misbehave) {
				faults = append(faults, fmt.Errorf("rules[%d].replies[%d].misbehave: %q is not one of %q", i, j, reply.Misbehave, misbehaviours[1:]))
			}
		}
	}
	return errors.Join(faults...)
}

func known(m Misbehaviour) bool {
	for _, k := range misbehaviours {
		if k == m {
			return true
		}
	}
	return false
}

// Question is a request to the scripted model, laid out for rules and for tests.
type Question struct {
	Model    string
	Purpose  string
	Messages []QuestionMessage
	Tools    []string
	// Format is the type of response_format, empty where there is none.
	Format string
	Body   json.RawMessage
}

// QuestionMessage is one message of a Question.
type QuestionMessage struct{ Role, Text string }

var purposeLine = regexp.MustCompile(`^# autocode: ([a-z-]+)`)

// all is every message's text, one after the other.
func (q Question) all() string {
	var b strings.Builder
	for _, m := range q.Messages {
		b.WriteString(m.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// Last is the text of the last message.
func (q Question) Last() string {
	if len(q.Messages) == 0 {
		return ""
	}
	return q.Messages[len(q.Messages)-1].Text
}

// purpose reads the marker of the last message, then that of the first.
func (q Question) purpose() string {
	if m := purposeLine.FindStringSubmatch(q.Last()); m != nil && len(q.Messages) > 1 {
		return m[1]
	}
	if len(q.Messages) > 0 {
		if m := purposeLine.FindStringSubmatch(q.Messages[0].Text); m != nil {
			return m[1]
		}
	}
	return ""
}

// matches says whether the rule is meant for the question.
func (r Rule) matches(q Question) bool {
	if r.Purpose != "" && r.Purpose != q.Purpose || r.Model != "" && r.Model != q.Model {
		return false
	}
	all, last := q.all(), q.Last()
	for _, text := range r.Contains {
		if !strings.Contains(all, text) {
			return false
		}
	}
	for _, text := range r.Lacks {
		if strings.Contains(all, text) {
			return false
		}
	}
	for _, text := range r.Last {
		if !strings.Contains(last, text) {
			return false
		}
	}
	return true
}
