package publish

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/handlers/githubtest/conformance"
	"github.com/seed-7a986423/autocode/loop"
)

const (
	testRepo = "acme/widgets"
	branch   = "autocode/1-it-breaks"
	// patience only bounds a test that would hang.
	patience = 5 * time.Minute
)

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// testClock stands still; what waits for it goes on at once, and how long it would have waited is kept.
type testClock struct {
	mutex sync.Mutex
	now   time.Time
	waits []time.Duration
}

func (c *testClock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

func (c *testClock) After(d time.Duration) <-chan time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.waits = append(c.waits, d)
	fired := make(chan time.Time, 1)
	fired <- c.now
	return fired
}

func (c *testClock) tick(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
}

// world is a stand-in GitHub with one labelled issue and a pushed branch, and a publisher.
type world struct {
	*githubtest.Server
	*Publisher
	t     *testing.T
	ctx   context.Context
	clock *testClock
	// transport carries the publisher's requests.
	transport http.RoundTripper
	issue     int
	head      string
	s         loop.Snapshot
}

func newWorld(t *testing.T, change ...func(*githubtest.RepositoryOptions)) *world {
	return newWorldOver(t, nil, change...)
}

func newWorldOver(t *testing.T, transport http.RoundTripper, change ...func(*githubtest.RepositoryOptions)) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(zerolog.New(zerolog.NewTestWriter(t)).WithContext(context.Background()), patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, clock: &testClock{now: time.Now().Truncate(time.Second)}, transport: transport}
	var err error
	w.Server, err = githubtest.New(githubtest.Options{Key: testKey(), Now: w.clock.Now, AppNow: time.Now})
	w.must(err)
	t.Cleanup(func() { _ = w.Server.Close() })
	options := githubtest.RepositoryOptions{Owner: "acme", Name: "widgets", Files: fstest.MapFS{"main.go": {Data: []byte("package main\n")}}}
	for _, f := range change {
		f(&options)
	}
	_, err = w.CreateRepository(options)
	w.must(err)
	w.must(w.SetRole(testRepo, "mary", githubtest.RoleWrite))
	w.issue, err = w.As("olga").CreateIssue(testRepo, "It breaks", "text")
	w.must(err)
	w.must(w.As("mary").Label(testRepo, w.issue, loop.DefaultLabel))
	w.head, err = w.As("mary").PushFiles(testRepo, branch, "fix", map[string][]byte{"fix.txt": []byte("x\n")})
	w.must(err)
	w.restart(nil)
	repo, err := w.Repository(w.ctx, w.InstallationID(testRepo), w.repoID(), "acme", "widgets")
	w.must(err)
	w.clock.tick(time.Second)
	task := loop.Task{ID: "t1", Repo: repo, Source: loop.SourceIssue, Requester: "mary", Issue: loop.Issue{Number: w.issue, Title: "It breaks", Author: "olga"}}
	run := loop.Run{ID: "r1", TaskID: "t1", Number: 1, Trigger: loop.TriggerLabel, RequestedBy: "mary", Branch: branch, Created: w.clock.Now()}
	w.s = loop.NewSnapshot(task, run, loop.Snapshot{})
	w.ResetRequests()
	return w
}

// repoID asks the stand-in itself.
func (w *world) repoID() int64 {
	w.t.Helper()
	clients, err := NewClients(w.clientConfig())
	w.must(err)
	client, err := clients.rest(loop.Repo{Owner: "acme", Name: "widgets", Installation: w.InstallationID(testRepo)})
	w.must(err)
	r, _, err := client.Repositories.Get(w.ctx, "acme", "widgets")
	w.must(err)
	return r.GetID()
}

func (w *world) clientConfig() ClientConfig {
	return ClientConfig{
		WebURL: w.URL(), V3URL: w.V3URL(), V4URL: w.V4URL(), AppID: w.AppID(), PrivateKey: w.PrivateKeyPEM(), Timeout: patience, Clock: w.clock, Transport: w.transport,
	}
}

// publisher is a new process's.
func (w *world) publisher(change func(*Config)) *Publisher {
	w.t.Helper()
	clients, err := NewClients(w.clientConfig())
	w.must(err)
	config := Config{
		Clients: clients, AppID: w.AppID(), AppSlug: w.AppSlug(), Clock: w.clock, RunURL: func(run string) string { return "https://panel.example/runs/" + run },
		Labels: loop.LabelConfig{Trigger: loop.DefaultLabel, NeedsInfo: loop.DefaultNeedsInfoLabel},
	}
	if change != nil {
		change(&config)
	}
	p, err := New(config)
	w.must(err)
	return p
}

// restart forgets everything that the process held in memory.
func (w *world) restart(change func(*Config)) {
	w.t.Helper()
	w.Publisher = w.publisher(change)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// description is loaded once, since that takes seconds.
var description = sync.OnceValues(func() (*conformance.Validator, error) {
	dir, err := conformance.DefaultDir()
	if err != nil {
		return nil, err
	}
	return conformance.New(dir)
})

// conforming is a transport that checks each request against GitHub's own description.
func conforming(t *testing.T) http.RoundTripper {
	t.Helper()
	v, err := description()
	if errors.Is(err, conformance.ErrAbsent) {
		if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skipf("component npm @octokit/openapi@%s: %v", conformance.Version, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := len(v.Violations())
	t.Cleanup(func() {
		for _, violation := range v.Violations()[before:] {
			t.Error(violation)
		}
	})
	return v.Wrap(nil)
}

// ownTexts lists autocode's comments in a thread.
func (w *world) ownTexts(number int) []string {
	var texts []string
	for _, c := range w.Comments(testRepo, number) {
		if c.Author == w.Server.AppSlug()+"[bot]" {
			texts = append(texts, c.Body)
		}
	}
	return texts
}

// at is the snapshot in a phase.
func (w *world) at(phase loop.Phase) loop.Snapshot {
	s := w.s
	s.Phase = phase
	return s
}

// verdict is one of a clean room: three stages, one criterion proved.
func (w *world) verdict(pass bool) loop.Verdict {
	tests := &loop.Tests{Passed: 41, Fixed: []string{"pkg/TestB"}}
	if !pass {
		tests.Failed = []string{"pkg/TestA"}
		tests.Failures = []loop.Failure{{ID: "pkg/TestA", File: "fix.txt", Line: 1, Message: "want 5, got 4", Expected: "5", Actual: "4"}}
	}
	return loop.Verdict{
		Schema: loop.VerdictSchema, Task: "t1", Run: "r1", Round: 1, Head: w.head, Pass: pass, CleanRoom: true,
		Stages: map[loop.StageName]loop.Stage{
			loop.StageEnvironment: {Pass: true}, loop.StageCompile: {Pass: true, Command: "go build ./..."}, loop.StageLint: {NotRun: true, Reason: "none configured"},
			loop.StageUnit: {Pass: pass, Tests: tests, Command: "go test ./..."},
		},
		Acceptance: []loop.Acceptance{{ID: "AC1", Proof: loop.ProofRedGreen, Hook: "pkg/TestB", Base: loop.ProofFail, Head: loop.ProofPass, Note: "want 2, got 1"}},
		NextAction: "publish",
	}
}

// finished is the snapshot of a run that is about to be shown.
func (w *world) finished(pass bool) loop.Snapshot {
	s := w.at(loop.PhasePublishing)
	v := w.verdict(pass)
	s.Base, s.Start, s.Head, s.Final, s.Pushed, s.Step, s.Verdict = "b", "b", w.head, w.head, w.head, "pushed", &v
	s.Spec = &loop.Spec{
		Schema: loop.SpecSchema, Goal: "It does not break", Kind: loop.KindBug, Zone: loop.ZoneGreen, ZoneWhy: "a small function",
		Criteria: []loop.Criterion{{ID: "AC1", When: "it is called", Then: "it works", TestHook: "pkg/TestB", Proof: loop.ProofRedGreen}},
	}
	s.Rounds = []loop.Round{{Number: 1, Commit: w.head, RootCause: "Off by one.", Files: []string{"fix.txt"}, Why: map[string]string{"fix.txt": "the bound"}, Verdict: &v, Added: 3, Removed: 1}}
	s.Changes = []loop.Change{{Path: "fix.txt", Op: loop.OpModify, Added: 3, Removed: 1, Why: "the bound"}}
	s.Spent = loop.Spent{Rounds: 1, ModelCalls: 4, Tokens: 12_345, USD: 0.12, Wall: 95 * time.Second}
	s.Best = 0
	return s
}

// check finds a check run of the head by its name.
func (w *world) check(name string) githubtest.CheckRun {
	w.t.Helper()
	var found []githubtest.CheckRun
	for _, k := range w.CheckRuns(testRepo, w.head) {
		if k.Name == name {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d check runs %q", len(found), name)
	}
	return found[0]
}

// calls prints the requests so far by route.
func (w *world) calls() (total int, list string) {
	var b strings.Builder
	for _, r := range w.Requests() {
		total++
		fmt.Fprintln(&b, r.Route)
	}
	return total, b.String()
}
