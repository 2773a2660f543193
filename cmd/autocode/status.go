package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers/publish"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/store"
)

// statusCmd lists runs, or what was learnt from them.
type statusCmd struct {
	Lessons string `placeholder:"OWNER/NAME" help:"List what was learnt in this repository: what failed, what was done, whether it worked."`
	Forget  int64  `placeholder:"ID" help:"Delete the lesson of this id; no run is shown it again."`

	Repo   string `placeholder:"DIR" type:"path" help:"Runs of autocode run on this repository; default: the server's."`
	Config string `placeholder:"FILE" help:"Configuration; default autocode.yaml where it exists."`
}

// dataSettings are the settings with the data directory of a local repository, where one is named.
func dataSettings(config, repo string) (settings, error) {
	s, err := loadSettings(config, os.Getenv)
	if err != nil {
		return settings{}, usageError(err)
	}
	if repo != "" && os.Getenv("AUTOCODE_DATA_DIR") == "" {
		s.DataDir, err = localDataDir(repo)
	}
	return s, err
}

// openRecord opens the store that holds the runs of a server, or of autocode run on a repository. One that was never
// made is not made here: there is nothing to tell of.
func openRecord(ctx context.Context, config, repo string) (*store.Store, error) {
	s, err := dataSettings(config, repo)
	if err != nil {
		return nil, err
	}
	if s.DatabaseURL == "" {
		if _, err := os.Stat(s.DataDir); errors.Is(err, os.ErrNotExist) {
			return nil, usageError(fmt.Errorf("%s: there is no data directory; name a repository with --repo, or set AUTOCODE_DATA_DIR", s.DataDir))
		}
	}
	return store.Open(ctx, store.Config{URL: s.DatabaseURL, DataDir: s.DataDir, Logger: zerolog.Nop()})
}

// Run prints a line for each run, newest first.
func (c *statusCmd) Run(ctx context.Context, std streams) error {
	db, err := openRecord(ctx, c.Config, c.Repo)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Forget != 0 {
		return db.Forget(ctx, c.Forget)
	}
	if c.Lessons != "" {
		return listLessons(ctx, db, c.Lessons, std)
	}
	runs, err := db.Runs(ctx, loop.RunFilter{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tREPOSITORY\tISSUE\tPHASE\tROUND\tUPDATED\tSPENT\tREASON")
	for _, r := range runs {
		issue := short(r.Task.Issue.Title)
		if r.Task.Issue.Number > 0 { // local runs have no number
			issue = fmt.Sprintf("#%d %s", r.Task.Issue.Number, issue)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.Run.ID, r.Task.Repo.FullName(), issue,
			r.Phase, r.Round, r.Updated.Format(time.DateTime), loop.SpentText(r.Spent), short(r.Decision.Reason))
	}
	return table.Flush()
}

// listLessons prints a line for each lesson of a repository, newest first.
func listLessons(ctx context.Context, db *store.Store, repo string, std streams) error {
	const most = 200 // lines that a person still reads
	lessons, err := db.Lessons(ctx, repo, most)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tRUN\tPROBLEM\tCHANGE\tWORKED\tAT")
	for _, l := range lessons {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%t\t%s\n", l.ID, l.Run, short(l.Problem), short(l.Change), l.Worked, l.At.Format(time.DateTime))
	}
	return table.Flush()
}

// short cuts a text for a table.
func short(text string) string {
	const enough = 60
	runes := []rune(loop.Inline(text))
	if len(runes) > enough {
		return string(runes[:enough-1]) + "…"
	}
	return string(runes)
}

// resumeCmd goes on with a local run that was interrupted, stopped, handed over or asked something.
type resumeCmd struct {
	RunID    string `arg:"" name:"run" help:"The run's id, as autocode status lists it."`
	Repo     string `default:"." type:"path" help:"The repository that autocode run was given."`
	Answer   string `help:"The answer to its question, or guidance."`
	Approve  bool   `help:"Approve what waits for approval."`
	ModelURL string `placeholder:"URL" help:"OpenAI-compatible endpoint; default OPENAI_BASE_URL."`
	Config   string `placeholder:"FILE" help:"Configuration; default autocode.yaml where it exists."`
	Verbose  bool   `short:"v" help:"Log every step to standard error."`
}

// Run drives the run on.
func (c *resumeCmd) Run(ctx context.Context, std streams) error {
	s, err := dataSettings(c.Config, c.Repo)
	if err != nil {
		return err
	}
	if err := completeModel(ctx, &s, c.ModelURL, std); err != nil {
		return err
	}
	out := filepath.Join(s.DataDir, "out", c.RunID)
	parts, err := wire(ctx, wiring{
		settings: s, log: newLogger(std.err, true, personsLevel(c.Verbose)), publisher: publish.Local{Dir: out}, allowFile: true,
		goModCache: goModCache(), cacheDir: toolchainCache(), observer: &teller{out: std.err},
	})
	if err != nil {
		return err
	}
	defer parts.close()
	before, err := parts.store.Snapshot(ctx, c.RunID)
	if errors.Is(err, loop.ErrNotFound) {
		return usageError(fmt.Errorf("there is no run %q; autocode status --repo %s lists them", c.RunID, c.Repo))
	}
	if err != nil {
		return err
	}
	signal := loop.Signal{Kind: loop.SignalResume, By: before.Run.RequestedBy, Text: c.Answer, At: time.Now()}
	switch {
	case before.Phase == loop.PhaseApproving && c.Approve:
		signal.Kind = loop.SignalApprove
	case before.Phase == loop.PhaseApproving:
		return usageError(fmt.Errorf("run %s waits for approval (%s): give --approve", c.RunID, before.Decision.Reason))
	case before.Phase == loop.PhaseClarifying && c.Answer == "":
		return usageError(fmt.Errorf("run %s waits for an answer (%s): give --answer", c.RunID, before.Decision.Reason))
	case before.Phase == loop.PhaseDone:
		return usageError(fmt.Errorf("run %s is done; start another with autocode run", c.RunID))
	}
	began := time.Now()
	if before.Phase.Ended() || before.Phase.Waits() {
		if err := parts.store.Signal(ctx, c.RunID, signal); err != nil {
			return err
		}
	}
	final, err := driveLocally(ctx, parts, c.RunID)
	if err != nil {
		return interrupted(ctx, err, c.Repo, c.RunID)
	}
	return report(ctx, parts, final, out, time.Since(began), std)
}
