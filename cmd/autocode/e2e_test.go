package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// quickSample is the sample whose own commands are quick.
const quickSample = "python"

// stage is the demo's world for one test: the real server, store, git and sandbox in this process,
// the stand-in GitHub, and a scripted model.
type stage struct {
	*demo
	t    testing.TB
	ctx  context.Context
	repo string
	one  sample
	gate *gate // before the model
	// tune changes the server's parts before it works; nil: not at all.
	tune func(*server)
}

// change makes a stage another one than usual, before anything is there but the sample.
type change func(*githubtest.RepositoryOptions, *stage)

// newStage brings everything up, with a repository made by options (its files those of the sample
// unless it says otherwise) and a model that answers by the script.
func newStage(t testing.TB, script modeltest.Script, changes ...change) *stage {
	t.Helper()
	if ok, err := condition("sandbox"); err != nil || !ok {
		t.Skipf("no bubblewrap here (%v)", err)
	}
	const patience = 5 * time.Minute // no run here takes a tenth of it on quiet cores
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	one, err := loadSample(quickSample)
	if err != nil {
		t.Fatal(err)
	}
	if script.Rules == nil {
		script = one.Script
	}
	w := &stage{demo: &demo{story: io.Discard, dir: t.TempDir()}, t: t, ctx: ctx, repo: demoOwner + "/shiftbook", one: one}
	t.Cleanup(w.close)
	w.must(func() error { w.demo.script, err = modeltest.New(script); return err })
	w.gate = newGate(t, w.script.URL())
	w.must(func() error {
		w.github, err = githubtest.New(githubtest.Options{Dir: filepath.Join(w.dir, "github")})
		return err
	})
	options := githubtest.RepositoryOptions{Owner: demoOwner, Name: "shiftbook", Files: one.Files}
	for _, change := range changes {
		change(&options, w)
	}
	w.must(func() error { _, err := w.github.CreateRepository(options); return err })
	w.must(func() error { return w.github.SetRole(w.repo, demoMaintainer, githubtest.RoleAdmin) })
	w.must(func() error { return w.github.SetRole(w.repo, demoReporter, githubtest.RoleRead) })
	w.serve()
	return w
}

// settings are those of a server against this stage's GitHub and model.
func (w *stage) settings(secret string) settings {
	w.t.Helper()
	s, err := loadSettings("", func(string) string { return "" })
	if err != nil {
		w.t.Fatal(err)
	}
	s.Model = modelConfig{BaseURL: w.gate.url, Name: modeltest.ModelName, Free: true}
	s.Ceiling.Candidates = 1 // the script has one answer a round
	s.DataDir, s.GitHub.WebURL, s.GitHub.V3URL, s.GitHub.V4URL = filepath.Join(w.dir, "data"), w.github.URL(), w.github.V3URL()+"/", w.github.V4URL()
	s.GitHub.AppID, s.GitHub.WebhookSecret, s.PrivateKeyPEM = w.github.AppID(), secret, w.github.PrivateKeyPEM()
	return s
}

func (w *stage) serve() {
	w.t.Helper()
	const secret = "a secret of this test"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	if w.server, err = newServer(w.ctx, w.settings(secret), zerolog.Nop(), silent{}, listener); err != nil {
		w.t.Fatal(errors.Join(err, listener.Close()))
	}
	if w.tune != nil {
		w.tune(w.server)
	}
	w.github.SetWebhook(w.server.address()+"/api/github/hook", secret)
	var run context.Context
	run, w.stop = context.WithCancel(w.ctx)
	w.stopped = make(chan error, 1)
	go func() { w.stopped <- w.server.run(run) }()
}

func (w *stage) must(do func() error) {
	w.t.Helper()
	if err := do(); err != nil {
		w.t.Fatal(err)
	}
}

// file files the sample's issue.
func (w *stage) file() int {
	w.t.Helper()
	number, err := w.github.As(demoReporter).CreateIssue(w.repo, w.one.Title, w.one.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return number
}

// label files the sample's issue and puts the label on it.
func (w *stage) label() int {
	w.t.Helper()
	number := w.file()
	w.must(func() error { return w.github.As(demoMaintainer).Label(w.repo, number, loop.DefaultLabel) })
	return number
}

// say comments as the maintainer.
func (w *stage) say(number int, text string) {
	w.t.Helper()
	w.must(func() error { _, err := w.github.As(demoMaintainer).Comment(w.repo, number, text); return err })
}

// end waits for the end of the issue's newest run.
func (w *stage) end(issue int) loop.Snapshot {
	w.t.Helper()
	s, err := w.wait(w.ctx, w.repo, issue)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// progress is the one progress comment.
func (w *stage) progress(issue int) githubtest.Comment {
	w.t.Helper()
	var found []githubtest.Comment
	for _, c := range w.github.Comments(w.repo, issue) {
		if strings.Contains(c.Body, "<!-- autocode:progress") {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d progress comments", len(found))
	}
	return found[0]
}

// comment waits until autocode has said the text.
func (w *stage) comment(number int, text string) {
	w.t.Helper()
	w.must(func() error {
		return w.github.Wait(w.ctx, func() bool {
			return slices.ContainsFunc(w.github.Comments(w.repo, number), func(c githubtest.Comment) bool {
				return c.Author == "autocode[bot]" && strings.Contains(c.Body, text)
			})
		})
	})
}

func validates(t *testing.T, name string, value any) {
	t.Helper()
	text, err := loop.Schema(name)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(instance); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// TestLabelBecomesPullRequest is the main job, and then what can be asked for on its pull request.
func TestLabelBecomesPullRequest(t *testing.T) {
	w := newStage(t, modeltest.Script{})
	issue := w.label()
	s := w.end(issue)
	if s.Phase != loop.PhaseDone || len(s.Rounds) != 2 {
		t.Fatalf("%s after %d rounds: %s", s.Phase, len(s.Rounds), s.Ended)
	}
	pull := whole(t, w.github, w.repo, issue)
	if edits := w.progress(issue).Edits; len(edits) < 3 {
		t.Errorf("the progress comment was edited %d times", len(edits))
	}
	if got, err := w.github.Issue(w.repo, issue); err != nil || len(got.Reactions) != 1 || got.Reactions[0].Content != "eyes" {
		t.Errorf("reactions %+v (%v)", got.Reactions, err)
	}
	for _, part := range []string{"AC1", "AC2", demoMaintainer, "fails on the base and passes on the head", "shiftbook/clock.py", "green", "git revert", "Fixes #1"} {
		if !strings.Contains(pull.Body, part) {
			t.Errorf("the pull request does not say %q:\n%s", part, pull.Body)
		}
	}
	if s.Verdict == nil || !s.Verdict.Pass || !s.Verdict.CleanRoom {
		t.Errorf("verdict %+v", s.Verdict)
	}
	validates(t, "verify", s.Verdict)
	validates(t, "snapshot", s)
	ledger, err := w.server.parts.store.Ledger(w.ctx, s.Run.ID)
	if err != nil || len(ledger) != s.Spent.ModelCalls || len(ledger) != 3 {
		t.Errorf("ledger %v (%v), spent %+v", ledger, err, s.Spent)
	}
	if missing := w.github.Unimplemented(); len(missing) > 0 {
		t.Errorf("the stand-in lacks %v", missing)
	}
	if asked := w.script.Unexpected(); len(asked) > 0 {
		t.Errorf("the model was asked %v", asked)
	}

	if _, err := w.github.As(demoMaintainer).Comment(w.repo, pull.Number, "/autocode status"); err != nil {
		t.Fatal(err)
	}
	w.comment(pull.Number, "is done")
}

// TestSecondServerIsRefused: two servers on one data directory would fight.
func TestSecondServerIsRefused(t *testing.T) {
	w := newStage(t, modeltest.Script{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = newServer(w.ctx, w.settings("x"), zerolog.Nop(), silent{}, listener)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(w.dir, "data")) {
		t.Errorf("a second server on the same directory: %v", err)
	}
}

// whole checks what a run leaves on GitHub: one of each, and nothing open.
func whole(t testing.TB, github *githubtest.Server, repo string, issue int) githubtest.PullRequest {
	t.Helper()
	pulls := github.PullRequests(repo)
	if len(pulls) != 1 || pulls[0].Draft {
		t.Fatalf("%s: pull requests %+v", repo, pulls)
	}
	progress, results := 0, 0
	for _, c := range github.Comments(repo, issue) {
		switch {
		case strings.Contains(c.Body, "<!-- autocode:progress"):
			progress++
			if !strings.Contains(c.Body, "is done") {
				t.Errorf("%s: the progress comment ends with:\n%s", repo, c.Body)
			}
		case strings.Contains(c.Body, "is ready for review"):
			results++
		}
	}
	if progress != 1 || results != 1 {
		t.Errorf("%s: %d progress comments, %d results", repo, progress, results)
	}
	if got := github.Branches(repo); len(got) != 2 {
		t.Errorf("%s: branches %v", repo, got)
	}
	runs, names := github.CheckRuns(repo, pulls[0].HeadSHA), map[string]int{}
	for _, run := range runs {
		names[run.Name]++
		if run.Status != "completed" || run.Conclusion != "success" || run.ExternalID == "" || names[run.Name] > 1 {
			t.Errorf("%s: check run %s is %s, %s, %q", repo, run.Name, run.Status, run.Conclusion, run.ExternalID)
		}
	}
	if names["autocode"] != 1 || len(runs) < 3 {
		t.Errorf("%s: check runs %v", repo, names)
	}
	return pulls[0]
}
