package agent

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

// Coder edits a worktree by thinking, acting and observing.
type Coder struct{ config Config }

var _ loop.Coder = (*Coder)(nil)

// NewCoder returns a coder.
func NewCoder(config Config) *Coder { return &Coder{config: config.withDefaults()} }

const purposeCode = "code"

// Code plays one round. A model's fault is an error; whatever else the model does has a CodeEnd.
func (c *Coder) Code(ctx context.Context, request loop.CodeRequest) (loop.CodeResult, error) {
	t, err := newTurn(ctx, c.config, request)
	if err != nil {
		return loop.CodeResult{}, err
	}
	defer t.root.Close()
	err = t.play(ctx)
	return t.result(), err
}

// turn is the state of one round of the coder.
type turn struct {
	config  Config
	request loop.CodeRequest
	survey  *survey
	root    *os.Root
	talk    talk

	head    header
	asked   bool   // for a header that was missing
	pending string // a reply whose blocks wait for ROOT CAUSE or FILES
	edited  []string
	outputs map[string]string // of commands, by the name that reads them
	ran     int
	seen    map[string]int // actions with their results
	steps   int

	end     loop.CodeEnd
	message string
	choices []string
}

func newTurn(ctx context.Context, config Config, request loop.CodeRequest) (*turn, error) {
	tree, err := request.Clone.Tree(ctx, request.Clone.Head())
	if err != nil {
		return nil, fmt.Errorf("read the round's first commit: %w", err)
	}
	s, err := newSurvey(ctx, request.Index, tree)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(request.Clone.Dir())
	if err != nil {
		return nil, fmt.Errorf("open the worktree: %w", err)
	}
	t := &turn{
		config: config, request: request, survey: s, root: root,
		head: header{why: map[string]string{}, remarks: map[int]loop.RemarkReply{}}, outputs: map[string]string{}, seen: map[string]int{},
	}
	prompt, err := t.brief(ctx, config.CoderBudget)
	if err != nil {
		root.Close()
		return nil, err
	}
	t.talk = talk{count: request.Index.Tokens, budget: config.HistoryBudget, system: prompt.System, first: prompt.User}
	return t, nil
}

// fewLeft is when the model is told to come to an end, in replies.
const fewLeft = 2

// play is the whole round: ask, do what the reply says, until it has an end. The limits are
// checked before each call.
func (t *turn) play(ctx context.Context) error {
	for t.steps < t.config.MaxSteps && t.end == "" {
		if err := t.before(ctx); err != nil {
			return err
		}
		reply, err := t.ask(ctx)
		if err != nil {
			return err
		}
		t.steps++
		if err := t.take(ctx, reply); err != nil {
			return err
		}
		if left := t.config.MaxSteps - t.steps; t.end == "" && left > 0 && left <= fewLeft {
			if err := t.correct(prompts.TurnFewLeft, prompts.TurnData{Left: left}); err != nil {
				return err
			}
		}
	}
	switch {
	case t.end != "":
	case len(t.edited) > 0:
		t.finish(loop.CodeEdited, "the replies were used up; the edits so far stand")
	default:
		t.finish(loop.CodeStalled, fmt.Sprintf("no edit after %d replies", t.steps))
	}
	return nil
}

func (t *turn) before(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.request.Before == nil {
		return nil
	}
	return t.request.Before(ctx)
}

// ask calls the model. A conversation that does not fit its context is cut down, at first without
// loss of what the last exchange said, and asked again.
func (t *turn) ask(ctx context.Context) (loop.ModelReply, error) {
	reply, err := t.complete(ctx)
	for _, part := range shrinks[1:] {
		if !overflows(err) {
			break
		}
		prompt, briefErr := t.brief(ctx, t.config.CoderBudget/part)
		if briefErr != nil {
			return loop.ModelReply{}, briefErr
		}
		t.talk.first = prompt.User
		t.talk.squeeze()
		if err := t.before(ctx); err != nil {
			return loop.ModelReply{}, err
		}
		reply, err = t.complete(ctx)
	}
	return reply, err
}

func (t *turn) complete(ctx context.Context) (loop.ModelReply, error) {
	return t.request.Model.Complete(ctx, loop.ModelRequest{
		Role: loop.RoleCoder, Purpose: purposeCode, Messages: t.talk.messages(), Tools: tools(), Strong: t.request.Strong,
	})
}

// finish ends the round.
func (t *turn) finish(end loop.CodeEnd, message string) {
	t.end, t.message = end, strings.TrimSpace(message)
	maps.Copy(t.head.remarks, remarksIn(message))
}

// correct tells the model what was wrong.
func (t *turn) correct(kind prompts.Turn, data prompts.TurnData) error {
	text, err := prompts.Correct(kind, data)
	if err != nil {
		return err
	}
	t.talk.user(text, "("+string(kind)+")")
	return nil
}

// stuck counts something that happened and ends the round when it happens for the third time
// in the same way; the second time it says so.
func (t *turn) stuck(key string) (again, over bool) {
	const pointedOut, tooOften = 2, 3 // told once, then the round ends
	t.seen[key]++
	if t.seen[key] >= tooOften {
		if len(t.edited) > 0 {
			t.finish(loop.CodeEdited, "the coder repeated itself; the edits before that stand")
		} else {
			t.finish(loop.CodeStalled, "the coder did the same three times: "+firstLine(key))
		}
		return true, true
	}
	return t.seen[key] == pointedOut, false
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return prompts.Line(line)
}

// result is what the engine is told.
func (t *turn) result() loop.CodeResult {
	files := slices.Clone(t.head.files)
	why := map[string]string{}
	for _, f := range t.edited {
		if !slices.Contains(files, f) {
			files = append(files, f)
		}
		if reason := t.head.why[f]; reason != "" {
			why[f] = reason
		}
	}
	cause := t.head.rootCause
	if cause == "" && len(t.edited) > 0 {
		cause = t.lastCause()
	}
	end := t.end
	if end == "" {
		end = loop.CodeStalled
	}
	return loop.CodeResult{
		End: end, RootCause: cause, Files: files, Why: why, Message: t.message, Choices: t.choices, Remarks: t.head.remarks, Steps: t.steps,
	}
}

// lastCause is the root cause of the newest round that gave one.
func (t *turn) lastCause() string {
	for _, r := range slices.Backward(t.request.Attempts) {
		if r.RootCause != "" {
			return r.RootCause
		}
	}
	return ""
}
