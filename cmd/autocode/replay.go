package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// replayCmd goes through a recorded run without network or model.
type replayCmd struct {
	RunID  string `arg:"" name:"run" help:"The run's id, as autocode status lists it."`
	Repo   string `placeholder:"DIR" type:"path" help:"The repository that autocode run was given; default: the server's runs."`
	Step   int    `placeholder:"N" help:"Print this step whole, as JSON: the state that was decided on, what was sent to models and what came back."`
	Config string `placeholder:"FILE" help:"Configuration; default autocode.yaml where it exists."`
}

// Run prints the steps. It fails where today's rules decide a step otherwise than they did.
func (c *replayCmd) Run(ctx context.Context, std streams) error {
	db, err := openRecord(ctx, c.Config, c.Repo)
	if err != nil {
		return err
	}
	defer db.Close()
	steps, err := loop.Replay(ctx, db, c.RunID)
	if errors.Is(err, loop.ErrNotFound) {
		return usageError(fmt.Errorf("%w; autocode status lists the runs", err))
	}
	if err != nil {
		return err
	}
	if c.Step != 0 {
		if c.Step < 1 || c.Step > len(steps) {
			return usageError(fmt.Errorf("there is no step %d; run %s has %d", c.Step, c.RunID, len(steps)))
		}
		encoder := json.NewEncoder(std.out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(steps[c.Step-1])
	}
	other := 0
	for _, step := range steps {
		printStep(std.out, step)
		if len(step.Differences()) > 0 {
			other++
		}
	}
	if other > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("today's rules decide %d of %d steps otherwise", other, len(steps))}
	}
	fmt.Fprintf(std.out, "%d steps; today's rules decide each of them in the same way\n", len(steps))
	return nil
}

// printStep prints a step in a few lines: calls first, as they came before the decision.
func printStep(out io.Writer, step loop.ReplayStep) {
	d := step.Record.Decision
	fmt.Fprintf(out, "%3d  %-12s round %d\n", step.Number, d.From, d.Round)
	for _, call := range step.Calls {
		prompt, completion, usd := 0, 0, 0.0
		for _, u := range call.Reply.Usage {
			prompt, completion, usd = prompt+u.PromptTokens, completion+u.CompletionTokens, usd+u.USD
		}
		fmt.Fprintf(out, "       %s, %s: %d messages, %d + %d tokens, $%.4f\n", call.Request.Role, call.Request.Purpose, len(call.Request.Messages), prompt, completion, usd)
		if n := len(call.Request.Messages); n > 0 {
			fmt.Fprintf(out, "         sent: %s\n", short(call.Request.Messages[n-1].Text))
		}
		fmt.Fprintf(out, "         back: %s\n", short(replyText(call)))
	}
	if v := step.Record.State.Verdict; v != nil && (d.From == loop.PhaseVerifying || d.From == loop.PhasePublishing) {
		colour := "red"
		if v.Pass {
			colour = "green"
		}
		fmt.Fprintf(out, "       verdict: %s, class %s, next action %s\n", colour, v.Class, v.NextAction)
	}
	fmt.Fprintf(out, "       → %s [%s] %s\n", d.Next, d.Rule, loop.Inline(d.Reason))
	for _, difference := range step.Differences() {
		fmt.Fprintf(out, "       today: %s\n", difference)
	}
}

// replyText is what a model answered: words, actions or its fault.
func replyText(call loop.ModelCall) string {
	if call.Error != "" {
		return call.Error
	}
	if text := strings.TrimSpace(call.Reply.Text); text != "" {
		return text
	}
	var names []string
	for _, c := range call.Reply.Calls {
		names = append(names, c.Name+" "+string(c.Arguments))
	}
	return strings.Join(names, "; ")
}
