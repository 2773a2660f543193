package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

// maxFaults is how often the faults of a reply go back to the model.
const maxFaults = 2

// shrinks are the parts of a budget that are tried when a prompt does not fit a model's context.
var shrinks = []int{1, 3, 9}

// shrinking tries again with less code while the model says that a prompt does not fit.
func shrinking(budget int, try func(budget int) error) error {
	var err error
	for _, part := range shrinks {
		if err = try(budget / part); !overflows(err) {
			return err
		}
	}
	return err
}

// overflows says whether a model failed because the request did not fit its context.
func overflows(err error) bool {
	var fault *loop.ModelError
	return errors.As(err, &fault) && fault.Fault == loop.ModelOverflow
}

// faulty is what keeps a structured reply from being taken: its faults, or the code that it asked to see, rendered.
type faulty struct {
	faults []string
	more   string
}

// structured asks for one JSON object until take finds nothing against it; faults go back at most maxFaults times.
// The conversation grows at its end only, so that its beginning stays cached.
func structured(ctx context.Context, model loop.Model, request loop.ModelRequest, prompt prompts.Prompt, take func(json.RawMessage) (faulty, error)) error {
	request.Messages = []loop.Message{
		{Speaker: loop.SpeakerSystem, Text: prompt.System},
		{Speaker: loop.SpeakerUser, Text: prompt.User},
	}
	for again := 0; ; {
		reply, err := model.Complete(ctx, request)
		if err != nil {
			return err
		}
		against, err := take(reply.JSON)
		if err != nil {
			return err
		}
		next := against.more
		switch {
		case next != "":
		case len(against.faults) == 0:
			return nil
		case again == maxFaults:
			return &loop.ModelError{Fault: loop.ModelMalformed, Model: "of the " + string(request.Role), Err: fmt.Errorf(
				"the %s is unusable after %d corrections: %s", request.Purpose, maxFaults, strings.Join(against.faults, "; "))}
		default:
			again++
			if next, err = prompts.Faults(against.faults); err != nil {
				return err
			}
		}
		request.Messages = append(request.Messages,
			loop.Message{Speaker: loop.SpeakerAssistant, Text: string(reply.JSON)},
			loop.Message{Speaker: loop.SpeakerUser, Text: next})
	}
}
