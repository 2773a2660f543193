package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// demoCmd shows the main job on a stand-in GitHub on loopback.
type demoCmd struct {
	Repo     string `default:"go" enum:"go,python,node,all" help:"Sample repository: go, python, node or all."`
	ModelURL string `placeholder:"URL" help:"OpenAI-compatible endpoint of a live model; default OPENAI_BASE_URL, else a scripted model."`
	Exit     bool   `help:"End when the pull request is there, instead of staying up."`
	JSON     bool   `name:"json" help:"Print the result as JSON, as the last line on standard output; the story goes to standard error."`
}

// The people and the organisation of the demo.
const (
	demoOwner      = "acme"
	demoMaintainer = "maintainer"
	demoReporter   = "reporter"
)

// demoResult is the last line with --json.
type demoResult struct {
	Issue       demoIssue     `json:"issue"`
	PullRequest demoPull      `json:"pull_request"`
	CheckRuns   []demoCheck   `json:"check_runs"`
	Verify      *loop.Verdict `json:"verify"`
	// Candidates are the rounds that made several solutions.
	Candidates []roundCandidates `json:"candidates,omitempty"`
	Ledger     ledgerTotal       `json:"ledger"`
	Seconds    float64           `json:"seconds"`
	Model      string            `json:"model"`
	Phase      loop.Phase        `json:"phase"`
	Reason     string            `json:"reason"`
}

type demoIssue struct {
	Repository string `json:"repository"`
	Number     int    `json:"number"`
	Title      string `json:"title"`
	URL        string `json:"url"`
}

type demoPull struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Draft  bool   `json:"draft"`
	Head   string `json:"head"`
	Title  string `json:"title"`
	Body   string `json:"body"`
}

type demoCheck struct {
	Name       string `json:"name"`
	Conclusion string `json:"conclusion"`
	Title      string `json:"title"`
}

// Run brings everything up, labels the issues and tells what happens.
func (c *demoCmd) Run(ctx context.Context, std streams) error {
	story := std.out
	if c.JSON {
		story = std.err
	}
	names := []string{c.Repo}
	if c.Repo == "all" {
		names = sampleNames
	}
	d := &demo{story: story}
	defer d.close()
	if err := d.start(ctx, names, c.ModelURL, std); err != nil {
		return err
	}
	results, err := d.play(ctx, names)
	if ctx.Err() != nil {
		return errors.New("interrupted; what the demo made is gone")
	}
	if err != nil {
		return err
	}
	for _, r := range results {
		d.tell(r)
		if c.JSON {
			encoder := json.NewEncoder(std.out)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
	}
	if !c.Exit {
		fmt.Fprintf(story, "\nStill up until you press Ctrl-C: the panel %s, the stand-in GitHub %s\n", d.server.address(), d.github.URL())
		<-ctx.Done()
	}
	if slices.ContainsFunc(results, func(r demoResult) bool { return r.Phase != loop.PhaseDone }) {
		return &exitError{code: exitFailed}
	}
	return nil
}

// demo holds what the demo brought up, in the order in which it is taken down.
type demo struct {
	story   io.Writer
	dir     string
	script  *modeltest.Server
	github  *githubtest.Server
	server  *server
	stop    context.CancelFunc
	stopped chan error
	model   string
	samples map[string]sample
}

// start brings up the model, the stand-in GitHub with its repositories, and the real server.
func (d *demo) start(ctx context.Context, names []string, modelURL string, std streams) error {
	s, err := loadSettings("", withoutGitHub(os.Getenv))
	if err != nil {
		return usageError(err)
	}
	d.samples = map[string]sample{}
	var script modeltest.Script
	for _, name := range names {
		one, err := loadSample(name)
		if err != nil {
			return err
		}
		d.samples[name] = one
		script.Rules = append(script.Rules, one.Script.Rules...)
	}
	if modelURL == "" && s.checkModel() != nil {
		if d.script, err = modeltest.New(script); err != nil {
			return err
		}
		s.Model = modelConfig{BaseURL: d.script.URL(), Name: modeltest.ModelName, Free: true}
		s.Ceiling.Candidates = 1 // the script has one answer a round
	} else if err := completeModel(ctx, &s, modelURL, std); err != nil {
		return err
	}
	d.model = s.Model.Name
	if d.dir, err = os.MkdirTemp("", "autocode-demo-"); err != nil {
		return err
	}
	if d.github, err = githubtest.New(githubtest.Options{Dir: filepath.Join(d.dir, "github")}); err != nil {
		return fmt.Errorf("start the stand-in GitHub: %w", err)
	}
	for _, name := range names {
		if err := d.repository(name); err != nil {
			return err
		}
	}
	secret := rand.Text()
	s.DataDir, s.GitHub.WebURL, s.GitHub.V3URL, s.GitHub.V4URL = filepath.Join(d.dir, "data"), d.github.URL(), d.github.V3URL()+"/", d.github.V4URL()
	s.GitHub.AppID, s.GitHub.WebhookSecret, s.PrivateKeyPEM = d.github.AppID(), secret, d.github.PrivateKeyPEM()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	s.PublicURL = "http://" + listener.Addr().String()
	if d.server, err = newServer(ctx, s, newLogger(std.err, true, personsLevel(false)), &teller{out: d.story}, listener); err != nil {
		return errors.Join(err, listener.Close())
	}
	d.github.SetWebhook(d.server.address()+"/api/github/hook", secret)
	var run context.Context
	run, d.stop = context.WithCancel(ctx)
	d.stopped = make(chan error, 1)
	go func() { d.stopped <- d.server.run(run) }()
	fmt.Fprintf(d.story, "stand-in GitHub  %s\nserver and panel %s\nmodel            %s\n\n", d.github.URL(), d.server.address(), d.modelText())
	return nil
}

// withoutGitHub hides a real GitHub's settings from the demo.
func withoutGitHub(getenv func(string) string) func(string) string {
	return func(name string) string {
		if strings.HasPrefix(name, "GITHUB_") || name == "AUTOCODE_DATABASE_URL" {
			return ""
		}
		return getenv(name)
	}
}

// modelText says plainly whether the answers are scripted.
func (d *demo) modelText() string {
	if d.script != nil {
		return d.model + " (a scripted model: its answers were written beforehand, the first patch wrong on purpose)"
	}
	return d.model + " (live)"
}

// repository makes a sample repository with its people.
func (d *demo) repository(name string) error {
	full := demoOwner + "/" + name
	if _, err := d.github.CreateRepository(githubtest.RepositoryOptions{Owner: demoOwner, Name: name, Files: d.samples[name].Files}); err != nil {
		return err
	}
	if err := d.github.SetRole(full, demoMaintainer, githubtest.RoleAdmin); err != nil {
		return err
	}
	return d.github.SetRole(full, demoReporter, githubtest.RoleRead)
}

// play files the issues, labels them and waits for the ends of their runs.
func (d *demo) play(ctx context.Context, names []string) ([]demoResult, error) {
	began := time.Now()
	numbers := map[string]int{}
	for _, name := range names {
		one, full := d.samples[name], demoOwner+"/"+name
		number, err := d.github.As(demoReporter).CreateIssue(full, one.Title, one.Body)
		if err != nil {
			return nil, err
		}
		numbers[name] = number
		fmt.Fprintf(d.story, "%s#%d by %s: %s\n", full, number, demoReporter, one.Title)
		if err := d.github.As(demoMaintainer).Label(full, number, loop.DefaultLabel); err != nil {
			return nil, err
		}
		fmt.Fprintf(d.story, "%s puts the label %s on it\n\n", demoMaintainer, loop.DefaultLabel)
	}
	var results []demoResult
	for _, name := range names {
		s, err := d.wait(ctx, demoOwner+"/"+name, numbers[name])
		if err != nil {
			return nil, err
		}
		results = append(results, d.result(name, numbers[name], s, time.Since(began)))
	}
	return results, nil
}

// wait returns the state in which the run of an issue ended, or waits for a person.
func (d *demo) wait(ctx context.Context, repo string, issue int) (loop.Snapshot, error) {
	db := d.server.parts.store
	changes, err := db.Watch(ctx, "")
	if err != nil {
		return loop.Snapshot{}, err
	}
	for {
		runs, err := db.Runs(ctx, loop.RunFilter{Repo: repo, Issue: issue})
		if err != nil {
			return loop.Snapshot{}, err
		}
		if len(runs) > 0 && (runs[0].Phase.Ended() || runs[0].Phase.Waits()) {
			return db.Snapshot(ctx, runs[0].Run.ID)
		}
		select {
		case <-ctx.Done():
			return loop.Snapshot{}, ctx.Err()
		case err := <-d.stopped:
			return loop.Snapshot{}, errors.Join(errors.New("the server stopped"), err)
		case <-changes:
		}
	}
}

// result reads what GitHub shows now.
func (d *demo) result(name string, number int, s loop.Snapshot, took time.Duration) demoResult {
	full := demoOwner + "/" + name
	r := demoResult{
		Issue:     demoIssue{Repository: full, Number: number, Title: d.samples[name].Title, URL: fmt.Sprintf("%s/%s/issues/%d", d.github.URL(), full, number)},
		CheckRuns: []demoCheck{}, Verify: s.Verdict, Candidates: candidatesOf(s.Rounds), Ledger: totalOf(s.Spent), Seconds: took.Seconds(), Model: d.model, Phase: s.Phase, Reason: s.Ended,
	}
	if s.Pull == nil {
		return r
	}
	if pull, err := d.github.PullRequest(full, s.Pull.Number); err == nil {
		r.PullRequest = demoPull{
			Number: pull.Number, URL: fmt.Sprintf("%s/%s/pull/%d", d.github.URL(), full, pull.Number), Draft: pull.Draft, Head: pull.HeadSHA,
			Title: pull.Title, Body: pull.Body,
		}
	}
	for _, run := range d.github.CheckRuns(full, s.Pull.Head) {
		r.CheckRuns = append(r.CheckRuns, demoCheck{Name: run.Name, Conclusion: run.Conclusion, Title: run.Title})
	}
	return r
}

// tell shows the result to a person.
func (d *demo) tell(r demoResult) {
	fmt.Fprintf(d.story, "\n%s\n%s#%d: %s after %.1f s, %d model calls, %d tokens\n", strings.Repeat("─", 80),
		r.Issue.Repository, r.Issue.Number, r.Phase, r.Seconds, r.Ledger.ModelCalls, r.Ledger.Tokens)
	if r.Reason != "" {
		fmt.Fprintf(d.story, "%s\n", r.Reason)
	}
	if r.PullRequest.Number == 0 {
		return
	}
	state := "ready for review"
	if r.PullRequest.Draft {
		state = "draft"
	}
	fmt.Fprintf(d.story, "\npull request #%d (%s): %s\n%s\n\n%s\n\ncheck runs on %.12s:\n", r.PullRequest.Number, state, r.PullRequest.Title, r.PullRequest.URL,
		indent(r.PullRequest.Body), r.PullRequest.Head)
	for _, c := range r.CheckRuns {
		fmt.Fprintf(d.story, "  %-24s %-10s %s\n", c.Name, c.Conclusion, c.Title)
	}
}

// indent sets a text off.
func indent(text string) string {
	return "  │ " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  │ ")
}

// close takes everything down; what the demo made on disk goes with it.
func (d *demo) close() {
	if d.stop != nil {
		d.stop()
		<-d.stopped
	}
	if d.github != nil {
		d.github.Close()
	}
	if d.script != nil {
		d.script.Close()
	}
	if d.dir != "" {
		os.RemoveAll(d.dir)
	}
}
