package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers/publish"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/workspace"
)

// runCmd does the whole loop on a local repository and leaves a branch.
type runCmd struct {
	Repo     string `default:"." type:"path" help:"The repository; its working tree, index and HEAD are left alone."`
	Issue    string `placeholder:"FILE" help:"File with the issue: its first line is the title, the rest the body; - for standard input."`
	Branch   string `placeholder:"NAME" help:"Name of the branch that is left; default autocode/<title>."`
	Base     string `placeholder:"REV" help:"Branch to start from; default: the one that is checked out."`
	ModelURL string `placeholder:"URL" help:"OpenAI-compatible endpoint; default OPENAI_BASE_URL."`
	Out      string `placeholder:"DIR" help:"Where the artifacts go; default: below the data directory." type:"path"`
	Config   string `placeholder:"FILE" help:"Configuration; default autocode.yaml where it exists."`
	Verbose  bool   `short:"v" help:"Log every step to standard error."`

	Text []string `arg:"" optional:"" help:"The issue's text, where no --issue is given."`
}

// runResult is the last line on standard output.
type runResult struct {
	Run         string        `json:"run"`
	Phase       loop.Phase    `json:"phase"`
	Reason      string        `json:"reason"`
	Branch      string        `json:"branch,omitempty"`
	Base        string        `json:"base,omitempty"`
	Commit      string        `json:"commit,omitempty"`
	Draft       bool          `json:"draft"`
	Artifacts   string        `json:"artifacts"`
	PullRequest string        `json:"pull_request,omitempty"`
	Verify      *loop.Verdict `json:"verify,omitempty"`
	Rounds      int           `json:"rounds"`
	// Candidates are the rounds that made several solutions, with what came out of each.
	Candidates []roundCandidates `json:"candidates,omitempty"`
	Ledger     ledgerTotal       `json:"ledger"`
	Seconds    float64           `json:"seconds"`
}

// ledgerTotal sums the ledger.
type ledgerTotal struct {
	ModelCalls int     `json:"model_calls"`
	Tokens     int     `json:"tokens"`
	USD        float64 `json:"usd"`
}

// roundCandidates are the solutions of a round that made several: which was chosen, and why.
type roundCandidates struct {
	Round  int          `json:"round"`
	Chosen int          `json:"chosen"`
	Choice string       `json:"choice"`
	Tried  []loop.Tried `json:"tried"`
}

func candidatesOf(rounds []loop.Round) []roundCandidates {
	var list []roundCandidates
	for _, r := range rounds {
		if len(r.Candidates) > 0 {
			list = append(list, roundCandidates{Round: r.Number, Chosen: r.Candidate, Choice: r.Choice, Tried: r.Candidates})
		}
	}
	return list
}

func totalOf(s loop.Spent) ledgerTotal {
	return ledgerTotal{ModelCalls: s.ModelCalls, Tokens: s.Tokens, USD: s.USD}
}

// Run drives one run to its end.
func (c *runCmd) Run(ctx context.Context, std streams) error {
	title, body, err := c.issue(std)
	if err != nil {
		return usageError(err)
	}
	s, err := loadSettings(c.Config, os.Getenv)
	if err != nil {
		return usageError(err)
	}
	if err := completeModel(ctx, &s, c.ModelURL, std); err != nil {
		return err
	}
	if os.Getenv("AUTOCODE_DATA_DIR") == "" {
		if s.DataDir, err = localDataDir(c.Repo); err != nil {
			return err
		}
	}
	if err := checkRepository(ctx, c.Repo); err != nil {
		return err
	}
	log := newLogger(std.err, true, personsLevel(c.Verbose))
	out := c.Out
	if out == "" {
		out = filepath.Join(s.DataDir, "out", time.Now().UTC().Format("20060102-150405.000"))
	}
	parts, err := wire(ctx, wiring{
		settings: s, log: log, publisher: publish.Local{Dir: out}, allowFile: true, goModCache: goModCache(), cacheDir: toolchainCache(), observer: &teller{out: std.err},
	})
	if err != nil {
		return err
	}
	defer parts.close()
	if err := parts.workspace.Reap(ctx, func(string) bool { return false }); err != nil {
		log.Warn().Err(err).Msg("old clones could not be removed")
	}
	task, run := c.task(title, body)
	fmt.Fprintf(std.err, "%s, from its last commit: what is not committed is not seen, and the working tree is left alone\n\n", c.Repo)
	began := time.Now()
	first, _, err := parts.store.StartRun(ctx, task, run, loop.NewSnapshot(task, run, loop.Snapshot{}))
	if err != nil {
		return err
	}
	final, err := driveLocally(ctx, parts, first.Run.ID)
	if err != nil {
		return interrupted(ctx, err, c.Repo, first.Run.ID)
	}
	return report(ctx, parts, final, out, time.Since(began), std)
}

// personsLevel is what a command logs that a person watches: the story tells what happened, so warnings that
// the run copes with would say it twice.
func personsLevel(verbose bool) zerolog.Level {
	if verbose {
		return zerolog.DebugLevel
	}
	return zerolog.ErrorLevel
}

// checkRepository finds out, before anything is made, whether there is a repository to work on. One without commits
// is the run's to tell.
func checkRepository(ctx context.Context, dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usageError(fmt.Errorf("--repo %s: there is no such directory", dir))
	}
	_, err := workspace.OpenTree(ctx, dir, "")
	if err != nil && !errors.Is(err, loop.ErrEmptyRepository) {
		return usageError(err)
	}
	return nil
}

// interrupted says how to go on where the person at the keyboard ended a local run.
func interrupted(ctx context.Context, err error, repo, run string) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted; autocode resume --repo %s %s goes on from here", repo, run)
}

// issue reads title and body.
func (c *runCmd) issue(std streams) (title, body string, err error) {
	text := strings.Join(c.Text, " ")
	switch {
	case c.Issue != "" && text != "":
		return "", "", errors.New("--issue and a text: give one of them")
	case c.Issue == "-" || c.Issue == "" && text == "-":
		raw, err := readAll(std.in)
		if err != nil {
			return "", "", fmt.Errorf("read the issue from standard input: %w", err)
		}
		text = string(raw)
	case c.Issue != "":
		raw, err := os.ReadFile(c.Issue)
		if err != nil {
			return "", "", fmt.Errorf("read the issue: %w", err)
		}
		text = string(raw)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return "", "", errors.New("there is no issue: give --issue FILE or a text")
	}
	title, body, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimLeft(title, "# ")), strings.TrimSpace(body), nil
}

// task names the local repository.
func (c *runCmd) task(title, body string) (loop.Task, loop.Run) {
	who := "local"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	task := loop.Task{
		Repo:   loop.Repo{Owner: "local", Name: filepath.Base(c.Repo), CloneURL: c.Repo, DefaultBranch: c.Base},
		Source: loop.SourceCLI, Requester: who, Created: time.Now(),
		Issue: loop.Issue{Title: title, Body: body, Author: who, AuthorTrusted: true},
	}
	return task, loop.Run{Trigger: loop.TriggerCLI, RequestedBy: who, Branch: c.Branch, Created: time.Now()}
}

// localDataDir keeps the state of local runs in the user's cache, per repository.
func localDataDir(repo string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the state of local runs (set AUTOCODE_DATA_DIR): %w", err)
	}
	sum := sha256.Sum256([]byte(repo))
	const enough = 12
	return filepath.Join(cache, "autocode", filepath.Base(repo)+"-"+hex.EncodeToString(sum[:])[:enough]), nil
}

// toolchainCache is where compiled standard libraries are kept between commands, "" for nowhere.
func toolchainCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "autocode", "toolchains")
}

// goModCache is this machine's module cache, "" where there is none.
func goModCache() string {
	dir := os.Getenv("GOMODCACHE")
	if dir == "" {
		gopath := os.Getenv("GOPATH")
		if gopath == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return ""
			}
			gopath = filepath.Join(home, "go")
		}
		dir = filepath.Join(filepath.SplitList(gopath)[0], "pkg", "mod")
	}
	if _, err := os.Stat(filepath.Join(dir, "cache", "download")); err != nil {
		return ""
	}
	return dir
}

// driveLocally drives a run to where it ends or waits. An error from outside is tried again a few
// times, as the server's queue would.
func driveLocally(ctx context.Context, parts *parts, run string) (loop.Snapshot, error) {
	const tries = 3
	for try := 1; ; try++ {
		err := parts.engine.Drive(ctx, run)
		if err != nil && (ctx.Err() != nil || try == tries) {
			return loop.Snapshot{}, err
		}
		snapshot, readErr := parts.store.Snapshot(ctx, run)
		if readErr != nil {
			return loop.Snapshot{}, readErr
		}
		if err == nil && (snapshot.Phase.Ended() || snapshot.Phase.Waits()) {
			return snapshot, nil
		}
		parts.engine.Log.Error().Err(err).Msg("trying again")
	}
}

// report writes the artifacts and the last line. A run that did not end as done is a failure.
func report(ctx context.Context, parts *parts, s loop.Snapshot, out string, took time.Duration, std streams) error {
	names, err := parts.store.Artifacts(ctx, s.Run.ID)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !loop.Readable(name) {
			continue // the commits are in the repository, the records are for autocode replay
		}
		data, err := parts.store.Artifact(ctx, s.Run.ID, name)
		if err != nil {
			return err
		}
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("write the artifact %s: %w", name, err)
		}
	}
	result := runResult{
		Run: s.Run.ID, Phase: s.Phase, Reason: s.Ended, Base: s.Base, Artifacts: out, Verify: s.Verdict, Rounds: len(s.Rounds), Candidates: candidatesOf(s.Rounds),
		Ledger: totalOf(s.Spent), Seconds: took.Seconds(),
	}
	if s.Phase.Waits() {
		result.Reason = s.Decision.Reason
	}
	if s.Pull != nil {
		result.Branch, result.Commit, result.Draft, result.PullRequest = s.Run.Branch, s.Final, s.Pull.Draft, s.Pull.URL
	}
	tellResult(s, result, std)
	encoder := json.NewEncoder(std.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(result); err != nil {
		return err
	}
	if s.Phase != loop.PhaseDone {
		return &exitError{code: exitFailed}
	}
	return nil
}

// tellResult says to a person what is there now, where, and what can be done with it.
func tellResult(s loop.Snapshot, r runResult, std streams) {
	repo := s.Task.Repo.CloneURL
	fmt.Fprintf(std.err, "\n%s after %.1f s, %d round(s), %d model calls, %d tokens, $%.2f: %s\n", r.Phase, r.Seconds, r.Rounds, r.Ledger.ModelCalls, r.Ledger.Tokens, r.Ledger.USD, loop.Inline(r.Reason))
	if r.Branch != "" {
		state := "ready"
		if r.Draft {
			state = "a draft, the best state so far"
		}
		fmt.Fprintf(std.err, "branch     %s (%s)\n           git -C %s diff %.12s %s\n", r.Branch, state, repo, r.Base, r.Branch)
	}
	fmt.Fprintf(std.err, "artifacts  %s\n", r.Artifacts)
	resume := fmt.Sprintf("autocode resume --repo %s %s", repo, r.Run)
	switch s.Phase {
	case loop.PhaseClarifying:
		fmt.Fprintf(std.err, "next       %s --answer TEXT\n", resume)
	case loop.PhaseApproving:
		fmt.Fprintf(std.err, "next       %s --approve\n", resume)
	case loop.PhaseEscalated, loop.PhaseFailed, loop.PhaseStopped:
		fmt.Fprintf(std.err, "next       notices.md among the artifacts says what was tried; %s\n", resume)
	case loop.PhaseQueued, loop.PhasePreparing, loop.PhaseSpecifying, loop.PhasePlanning, loop.PhaseCoding, loop.PhaseVerifying,
		loop.PhaseReviewing, loop.PhasePublishing, loop.PhaseDone:
	}
}
