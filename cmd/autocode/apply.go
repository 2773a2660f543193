package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/seed-7a986423/autocode/loop/edit"
)

// applyCmd applies a model's reply to a working tree.
type applyCmd struct {
	Repo   string `default:"." placeholder:"DIR" help:"Working tree to change."`
	DryRun bool   `help:"Tell what would be applied and write nothing."`
	Reply  string `arg:"" optional:"" default:"-" help:"File with the reply, - or nothing for standard input."`
}

// Run implements the command.
func (c *applyCmd) Run(ctx context.Context, std streams) error {
	root, err := os.OpenRoot(c.Repo)
	if err != nil {
		return usageError(fmt.Errorf("open the repository: %w", err))
	}
	defer root.Close()
	in := std.in
	if c.Reply != "-" {
		f, err := os.Open(c.Reply)
		if err != nil {
			return usageError(fmt.Errorf("open the reply: %w", err))
		}
		defer f.Close()
		in = f
	}
	// One byte more than is allowed shows that there was more.
	reply, err := io.ReadAll(io.LimitReader(in, edit.MaxReply+1))
	if err != nil {
		return usageError(fmt.Errorf("read the reply: %w", err))
	}
	result, err := edit.Apply(ctx, root, reply, edit.Options{DryRun: c.DryRun})
	if encodeErr := newLineEncoder(std.out).Encode(result); err == nil {
		err = encodeErr
	}
	if err != nil {
		return err
	}
	if !result.OK() {
		return errors.New("nothing was applied; the errors are on standard output")
	}
	return nil
}
