package agent

import (
	"fmt"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

// talk is the conversation of a round. Its first message holds spec, plan, code and the last
// failures and is never shortened here; what follows is, oldest first, when it grows.
type talk struct {
	count  func(string) int
	budget int // tokens after the first message
	system string
	first  string
	rest   []said
	// held are corrections that wait until the tool calls of a reply are answered.
	held []string
}

// said is one message with what stands for it once it is left out.
type said struct {
	message loop.Message
	short   string
	cut     bool
}

// keptWhole is how many of the newest messages are never shortened: the last exchange and the
// one before it.
const keptWhole = 4

// maxShort is the size in bytes up to which a reply is not worth shortening: it holds actions.
const maxShort = 600

func (t *talk) assistant(text string, calls []loop.ToolCall) {
	if strings.TrimSpace(text) == "" && len(calls) == 0 {
		text = "(nothing)" // endpoints refuse an empty message
	}
	short := "(an earlier reply, left out)"
	if len(text) <= maxShort {
		short = text
	} else if h := parseHeader(text); h.rootCause != "" {
		short = "ROOT CAUSE: " + h.rootCause + "\nFILES:\n" + strings.Join(h.files, "\n") + "\n(the blocks are left out)"
	}
	t.add(said{message: loop.Message{Speaker: loop.SpeakerAssistant, Text: text, Calls: calls}, short: short})
}

// user adds a message of the loop; short stands for it once there is no room.
func (t *talk) user(text, short string) {
	t.add(said{message: loop.Message{Speaker: loop.SpeakerUser, Text: text}, short: short})
}

func (t *talk) tool(call loop.ToolCall, result string) {
	t.add(said{
		message: loop.Message{Speaker: loop.SpeakerTool, Text: result, CallID: call.ID},
		short:   leftOut(call),
	})
}

// leftOut stands for the result of an action.
func leftOut(call loop.ToolCall) string {
	const shown = 200 // bytes; enough of the arguments to ask again
	return fmt.Sprintf("(the result of %s %s is left out to save room; ask again if you need it)",
		call.Name, prompts.Cut(string(call.Arguments), shown))
}

func (t *talk) add(s said) {
	t.rest = append(t.rest, s)
	if t.size() > t.budget {
		t.shorten(keptWhole)
	}
}

func (t *talk) size() int {
	tokens := 0
	for _, s := range t.rest {
		tokens += t.count(s.message.Text)
	}
	return tokens
}

// shorten leaves out messages from the oldest on, down to half the budget, so that the beginning
// of the conversation does not change with every reply and stays cached. The newest are kept.
func (t *talk) shorten(kept int) {
	const part = 2
	for i := 0; i < len(t.rest)-kept && t.size() > t.budget/part; i++ {
		s := &t.rest[i]
		if !s.cut && len(s.message.Text) > len(s.short) {
			s.message.Text, s.cut = s.short, true
		}
	}
}

// squeeze leaves out all that can be: the conversation did not fit the model's context.
func (t *talk) squeeze() {
	budget := t.budget
	t.budget = 0
	const lastExchange = 2
	t.shorten(lastExchange)
	t.budget = budget
}

// messages is the conversation as the model gets it.
func (t *talk) messages() []loop.Message {
	list := []loop.Message{
		{Speaker: loop.SpeakerSystem, Text: t.system},
		{Speaker: loop.SpeakerUser, Text: t.first},
	}
	for _, s := range t.rest {
		list = append(list, s.message)
	}
	return list
}
