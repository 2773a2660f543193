package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/seed-7a986423/autocode/feedback"
)

// feedbackCmd turns a log into a report.
type feedbackCmd struct {
	Tool      string `default:"auto" help:"Tool that wrote the log; auto finds out by command and content."`
	ExitCode  *int   `help:"Exit code of the command, 128+N for signal N."`
	Command   string `help:"Command line that ran."`
	Root      string `help:"Project root; paths below it are printed relative to it."`
	Format    string `default:"json" enum:"json,text" help:"json or text."`
	TimedOut  bool   `help:"The command was ended for its time."`
	OOMKilled bool   `name:"oom-killed" help:"The command was ended for its memory."`
	Budget    int    `default:"0" help:"Characters of all failures together (0: the default)."`
	File      string `arg:"" optional:"" default:"-" help:"Log file, - for standard input."`
}

// Run implements the command. It exits 0 whenever the log was read, whatever the log says.
func (c *feedbackCmd) Run(ctx context.Context, std streams) error {
	in := std.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return usageError(fmt.Errorf("open log: %w", err))
		}
		defer f.Close()
		in = f
	}
	report, err := feedback.Read(ctx, in, feedback.Options{
		Tool: c.Tool, ExitCode: c.ExitCode, Command: c.Command, Root: c.Root,
		TimedOut: c.TimedOut, OOMKilled: c.OOMKilled, Budget: c.Budget,
	})
	// A log that opens and cannot be read, as a directory, is as wrong a name as one that does not open.
	var unreadable *fs.PathError
	if errors.Is(err, feedback.ErrUnknownTool) || errors.As(err, &unreadable) {
		return usageError(err)
	}
	if err != nil {
		return err
	}
	if c.Format == "text" {
		return writeReport(std.out, &report)
	}
	enc := json.NewEncoder(std.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// writeReport prints a report for people.
func writeReport(out io.Writer, r *feedback.Report) error {
	var b strings.Builder
	b.WriteString(r.Summary + "\n")
	for _, f := range r.Failures {
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		head := strings.TrimSpace(strings.Join([]string{place, f.ID}, " "))
		fmt.Fprintf(&b, "\n%s [%s]\n", strings.TrimSpace(head), f.Kind)
		for l := range strings.Lines(f.Message) {
			b.WriteString("  " + strings.TrimRight(l, "\n") + "\n")
		}
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "\n%d more left out\n", r.Omitted)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
