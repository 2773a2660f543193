package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	openai "github.com/sashabaranov/go-openai"
	"github.com/tiktoken-go/tokenizer"

	"github.com/seed-7a986423/autocode/loop"
)

// Model plays the roles of loop by the configured endpoints. It is safe for concurrent use.
type Model struct {
	roles    map[loop.Role]cast
	offered  []*endpoint
	clock    Clock
	random   func() float64
	retry    Retry
	maxReply int64
	secrets  []string

	codecOnce sync.Once
	codec     tokenizer.Codec
}

// cast says who plays a role.
type cast struct{ main, strong, fallback *endpoint }

var _ loop.Model = (*Model)(nil)

// purposeRepair is the ledger's word for calls that ask for a corrected reply.
const purposeRepair = "repair"

const (
	// maxContinuations bounds how often a cut-off reply is continued.
	maxContinuations = 3
	// maxRepairs bounds how often a model is asked to correct its JSON.
	maxRepairs = 2
	// repairQuote is how much of a faulty reply is shown to the model again, in bytes.
	repairQuote = 12_000
	// maxFaults bounds the faults that are named in a repair.
	maxFaults = 12
	// replyReserve is the room that a reply needs at least in a context, in tokens.
	replyReserve = 1_024
)

// Complete asks the model of a role. Errors are *loop.ModelError; Usage is set with them too.
func (m *Model) Complete(ctx context.Context, request loop.ModelRequest) (loop.ModelReply, error) {
	c, known := m.roles[request.Role]
	if !known {
		return loop.ModelReply{}, &loop.ModelError{Fault: loop.ModelRejected, Err: fmt.Errorf("there is no role %q", request.Role)}
	}
	first := c.main
	if request.Model != "" {
		named, err := m.named(request)
		if err != nil {
			return loop.ModelReply{}, err
		}
		first = named
	}
	if request.Strong && c.strong != nil {
		first = c.strong
	}
	reply, err := m.ask(ctx, first, request)
	if c.fallback == nil || !worthFallback(err) || ctx.Err() != nil {
		return reply, err
	}
	again, fallbackErr := m.ask(ctx, c.fallback, request)
	again.Usage = append(reply.Usage, again.Usage...)
	return again, fallbackErr
}

// named finds the configured model of a request's name: the role's own, or any that the server
// offers or has in another role. What nobody priced cannot be asked for.
func (m *Model) named(request loop.ModelRequest) (*endpoint, error) {
	own := m.roles[request.Role]
	candidates := []*endpoint{own.main, own.strong, own.fallback}
	candidates = append(candidates, m.offered...)
	for _, role := range roles {
		candidates = append(candidates, m.roles[role].main, m.roles[role].strong, m.roles[role].fallback)
	}
	var names []string
	for _, e := range candidates {
		if e == nil {
			continue
		}
		if e.Model == request.Model {
			return e, nil
		}
		if !slices.Contains(names, e.Model) {
			names = append(names, e.Model)
		}
	}
	return nil, &loop.ModelError{Fault: loop.ModelRejected, Model: request.Model, Err: fmt.Errorf(
		"the server offers no model of this name; it has %s", strings.Join(names, ", "))}
}

// worthFallback says whether another endpoint could do better.
func worthFallback(err error) bool {
	var fault *loop.ModelError
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Fault {
	case loop.ModelUnreachable, loop.ModelUnauthorised, loop.ModelRateLimited, loop.ModelBroken, loop.ModelRejected:
		return true
	case loop.ModelMalformed, loop.ModelRefused, loop.ModelOverflow:
	}
	return false
}

// ask has one endpoint answer a request.
func (m *Model) ask(ctx context.Context, e *endpoint, request loop.ModelRequest) (loop.ModelReply, error) {
	var reply loop.ModelReply
	if err := m.fits(e, request.Messages); err != nil {
		return reply, err
	}
	a, err := m.converse(ctx, e, request, request.Messages, &reply.Usage)
	if err != nil {
		return reply, err
	}
	box := newToolbox(request.Tools)
	reply.Text, reply.Calls = a.text, box.settle(a.calls, len(request.Messages))
	if len(reply.Calls) == 0 && len(request.Tools) > 0 {
		reply.Calls = box.written(a.text)
	}
	if len(request.Schema) == 0 {
		return reply, nil
	}
	checker, err := newChecker(request.Schema)
	if err != nil {
		return reply, &loop.ModelError{Fault: loop.ModelRejected, Model: e.Model, Err: err}
	}
	object, faults := checker.find(a.structured())
	for repair := 0; len(faults) > 0; repair++ {
		if repair == maxRepairs {
			return reply, &loop.ModelError{Fault: loop.ModelMalformed, Model: e.Model, Err: fmt.Errorf(
				"no valid JSON after %d repairs: %s", maxRepairs, strings.Join(faults, "; "))}
		}
		fix := request
		fix.Purpose = purposeRepair
		messages := append(request.Messages[:len(request.Messages):len(request.Messages)],
			loop.Message{Speaker: loop.SpeakerAssistant, Text: cut(orNothing(reply.Text), repairQuote)},
			loop.Message{Speaker: loop.SpeakerUser, Text: repairText(faults)})
		a, err = m.converse(ctx, e, fix, messages, &reply.Usage)
		if err != nil {
			return reply, err
		}
		reply.Text = a.text
		object, faults = checker.find(a.structured())
	}
	reply.JSON = object
	return reply, nil
}

// orNothing keeps an assistant's message from being empty, which endpoints refuse.
func orNothing(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(nothing)"
	}
	return text
}

// repairText asks for a corrected object and names the faults.
func repairText(faults []string) string {
	if len(faults) > maxFaults {
		faults = faults[:maxFaults]
	}
	return RepairMarker + "\nThat reply cannot be used:\n- " + strings.Join(faults, "\n- ") +
		"\nReply with the whole corrected JSON object and nothing else."
}

// fits refuses a request that cannot fit a context whose size is known, since some servers cut
// prompts in silence.
func (m *Model) fits(e *endpoint, messages []loop.Message) error {
	if e.Context == 0 {
		return nil
	}
	tokens := 0
	for _, msg := range messages {
		tokens += m.count(msg.Text)
	}
	if tokens+replyReserve <= e.Context {
		return nil
	}
	return &loop.ModelError{Fault: loop.ModelOverflow, Model: e.Model,
		Err: fmt.Errorf("the request has %d tokens, the context %d", tokens, e.Context)}
}

// continueText asks for the rest of a cut-off reply.
const continueText = "Your reply was cut off. Go on exactly where it stopped, in the middle of the line if need be. Repeat nothing and add no introduction."

// converse gets one whole answer: cut-off ones are continued, an empty one is asked for again.
func (m *Model) converse(ctx context.Context, e *endpoint, request loop.ModelRequest, messages []loop.Message, ledger *[]loop.Usage) (answer, error) {
	a, err := m.exchange(ctx, e, request, messages, ledger)
	if err == nil && a.empty() && len(request.Schema) > 0 && strings.Contains(a.reasoning, "{") {
		a.text = strings.TrimSpace(a.reasoning) // whatever it is, it is checked against the schema
	}
	if err == nil && a.empty() && a.refusal == "" && a.finish != openai.FinishReasonContentFilter {
		first := a
		a, err = m.exchange(ctx, e, request, messages, ledger)
		if err == nil && a.empty() {
			// Servers whose reasoning parser does not fit the model put everything there.
			a.text = strings.TrimSpace(a.reasoning)
			if a.text == "" {
				a.text = strings.TrimSpace(first.reasoning)
			}
		}
	}
	if err != nil {
		return answer{}, err
	}
	for range maxContinuations {
		if a.finish != openai.FinishReasonLength || len(a.calls) > 0 || a.text == "" || int64(len(a.text)) > m.maxReply {
			break
		}
		rest, err := m.exchange(ctx, e, request, append(messages[:len(messages):len(messages)],
			loop.Message{Speaker: loop.SpeakerAssistant, Text: a.text},
			loop.Message{Speaker: loop.SpeakerUser, Text: continueText}), ledger)
		if err != nil {
			return answer{}, err
		}
		a.text, a.finish, a.calls = join(a.text, rest.text), rest.finish, rest.calls
		if rest.text == "" {
			break
		}
	}
	return a, judge(e, a)
}

// judge turns an answer that is none into an error.
func judge(e *endpoint, a answer) error {
	fail := func(fault loop.ModelFault, format string, args ...any) error {
		return &loop.ModelError{Fault: fault, Model: e.Model, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case a.refusal != "":
		return fail(loop.ModelRefused, "it declines: %s", cut(a.refusal, maxMessage))
	case a.finish == openai.FinishReasonContentFilter:
		return fail(loop.ModelRefused, "the provider's content filter stopped the reply")
	case a.empty() && a.finish == openai.FinishReasonLength:
		return fail(loop.ModelMalformed, "the reply's length was used up before anything was said; raise the output limit")
	case a.empty():
		return fail(loop.ModelMalformed, "the reply is empty, twice")
	case len(a.calls) == 0 && isRefusal(a.text):
		return fail(loop.ModelRefused, "it declines: %s", cut(strings.TrimSpace(a.text), maxMessage))
	}
	return nil
}

// structured is where an object is looked for: models that were asked for one sometimes call a tool
// of their own invention with it.
func (a answer) structured() string {
	if strings.TrimSpace(a.text) != "" {
		return a.text
	}
	var arguments []string
	for _, c := range a.calls {
		arguments = append(arguments, string(c.Arguments))
	}
	return strings.Join(arguments, "\n")
}

func (a answer) empty() bool { return strings.TrimSpace(a.text) == "" && len(a.calls) == 0 }

// count counts tokens by the tokenizer of the large models of 2026; others differ by a few
// percent, which an estimate bears.
func (m *Model) count(text string) int {
	m.codecOnce.Do(func() {
		codec, err := tokenizer.Get(tokenizer.O200kBase)
		if err == nil {
			m.codec = codec
		}
	})
	if m.codec != nil {
		if n, err := m.codec.Count(text); err == nil {
			return n
		}
	}
	const bytesPerToken = 4 // the usual rule of thumb
	return (len(text) + bytesPerToken - 1) / bytesPerToken
}
