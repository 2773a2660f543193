package handlers_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers"
	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/handlers/intake"
	"github.com/seed-7a986423/autocode/handlers/publish"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/store"
)

const (
	repo   = "acme/widgets"
	secret = "canary-webhook-secret"
	// pause lies between two things that people do. The App's tokens are made by the machine's clock,
	// hence a test must not run far ahead of it.
	pause = 3 * time.Second
	// patience only bounds a test that would hang.
	patience = 5 * time.Minute
)

// key is made once, since making one takes longer than most tests.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// clock stands still until it is moved.
type clock struct {
	mutex sync.Mutex
	now   time.Time
}

func (c *clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// After fires at once: what waits in these tests has waited long enough.
func (c *clock) After(time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	fired <- c.Now()
	return fired
}

func (c *clock) tick(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
}

// inbox keeps deliveries until the test has them handled.
type inbox struct {
	mutex sync.Mutex
	seen  map[string]bool
	kept  []loop.Delivery
}

// Receive implements loop.Inbox.
func (b *inbox) Receive(_ context.Context, d loop.Delivery) (bool, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.seen[d.ID] || d.Key != "" && b.seen[d.Key] {
		return false, nil
	}
	b.seen[d.ID] = true
	if d.Key != "" {
		b.seen[d.Key] = true
	}
	b.kept = append(b.kept, d)
	return true, nil
}

func (b *inbox) take() []loop.Delivery {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	all := b.kept
	b.kept = nil
	return all
}

// world is a stand-in GitHub, a real store, and the handlers between them.
type world struct {
	*githubtest.Server
	t         *testing.T
	ctx       context.Context
	clock     *clock
	store     *store.Store
	inbox     *inbox
	intake    *intake.Intake
	handlers  *handlers.Handlers
	publisher *publish.Publisher
	// later are deliveries that wait for a run; the queue comes back to them.
	later []loop.Delivery
}

func newWorld(t *testing.T, change ...func(*handlers.Handlers)) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(zerolog.New(zerolog.NewTestWriter(t)).WithContext(context.Background()), patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, clock: &clock{now: time.Now().Truncate(time.Second)}, inbox: &inbox{seen: map[string]bool{}}}
	var err error
	w.Server, err = githubtest.New(githubtest.Options{Key: key(), Now: w.clock.Now, AppNow: time.Now})
	w.must(err)
	t.Cleanup(func() { _ = w.Server.Close() })
	_, err = w.CreateRepository(githubtest.RepositoryOptions{Owner: "acme", Name: "widgets", Files: fstest.MapFS{"main.go": {Data: []byte("package main\n")}}})
	w.must(err)
	w.must(w.SetRole(repo, "mary", githubtest.RoleWrite))
	w.must(w.SetRole(repo, "rita", githubtest.RoleRead))
	w.must(w.SetRole(repo, "theo", githubtest.RoleTriage))
	w.store, err = store.Open(ctx, store.Config{DataDir: t.TempDir(), Clock: w.clock})
	w.must(err)
	t.Cleanup(func() { _ = w.store.Close() })
	w.restart(change...)
	return w
}

// restart makes everything that a process holds in memory anew.
func (w *world) restart(change ...func(*handlers.Handlers)) {
	w.t.Helper()
	clients, err := publish.NewClients(publish.ClientConfig{
		WebURL: w.URL(), V3URL: w.V3URL(), V4URL: w.V4URL(), AppID: w.AppID(), PrivateKey: w.PrivateKeyPEM(), Timeout: patience, Clock: w.clock,
	})
	w.must(err)
	labels := loop.LabelConfig{Trigger: loop.DefaultLabel, NeedsInfo: loop.DefaultNeedsInfoLabel}
	w.publisher, err = publish.New(publish.Config{Clients: clients, AppID: w.AppID(), AppSlug: w.AppSlug(), Labels: labels, Clock: w.clock})
	w.must(err)
	w.handlers = &handlers.Handlers{
		Store: w.store, Knowledge: w.store, Forge: w.publisher, Acknowledge: w.publisher.Acknowledge, Status: w.publisher.StatusText,
		AppSlug: w.AppSlug(), Labels: labels, Clock: w.clock,
	}
	for _, f := range change {
		f(w.handlers)
	}
	w.intake, err = intake.New(w.inbox, secret, w.clock, w.handlers.All()...)
	w.must(err)
	server := httptest.NewServer(w.intake)
	w.t.Cleanup(server.Close)
	w.SetWebhook(server.URL, secret)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// handle has all deliveries handled, each again until it succeeds, as the queue does.
func (w *world) handle() {
	w.t.Helper()
	const tries = 5
	w.must(w.WaitDeliveries(w.ctx))
	waiting := append(w.later, w.inbox.take()...)
	w.later = nil
	for _, d := range waiting {
		for try := 1; ; try++ {
			err := w.intake.Deliver(w.ctx, d)
			if err == nil {
				break
			}
			if errors.Is(err, loop.ErrLater) {
				w.later = append(w.later, d)
				break
			}
			if try == tries {
				w.t.Fatalf("%s fails each time: %v", d.Event, err)
			}
		}
	}
}

// issue opens an issue of an outsider's.
func (w *world) issue() int {
	w.t.Helper()
	n, err := w.As("olga").CreateIssue(repo, "It breaks", "Steps: the original text")
	w.must(err)
	w.clock.tick(pause)
	return n
}

// label has somebody put the trigger label on and handles the event.
func (w *world) label(login string, number int) {
	w.t.Helper()
	w.must(w.As(login).Label(repo, number, loop.DefaultLabel))
	w.handle()
}

// say comments a moment later and handles the event.
func (w *world) say(login string, number int, text string) int64 {
	w.t.Helper()
	w.clock.tick(pause)
	id, err := w.As(login).Comment(repo, number, text)
	w.must(err)
	w.handle()
	return id
}

// runs lists all runs, newest first.
func (w *world) runs() []loop.RunInfo {
	w.t.Helper()
	runs, err := w.store.Runs(w.ctx, loop.RunFilter{})
	w.must(err)
	return runs
}

// started is the newest snapshot of the only run.
func (w *world) started() loop.Snapshot {
	w.t.Helper()
	runs := w.runs()
	if len(runs) != 1 {
		w.t.Fatalf("%d runs, want 1", len(runs))
	}
	s, err := w.store.Snapshot(w.ctx, runs[0].Run.ID)
	w.must(err)
	return s
}

// none checks that nothing was started.
func (w *world) none() {
	w.t.Helper()
	if runs := w.runs(); len(runs) != 0 {
		w.t.Fatalf("%d runs were started", len(runs))
	}
}

// own lists what autocode said in a thread.
func (w *world) own(number int) []string {
	var texts []string
	for _, c := range w.Comments(repo, number) {
		if c.Author == w.AppSlug()+"[bot]" {
			texts = append(texts, c.Body)
		}
	}
	return texts
}

// said checks that exactly n of autocode's comments hold a text.
func (w *world) said(number int, text string, n int) {
	w.t.Helper()
	found := 0
	for _, c := range w.own(number) {
		if strings.Contains(c, text) {
			found++
		}
	}
	if found != n {
		w.t.Errorf("%d comments say %q, want %d:\n%s", found, text, n, strings.Join(w.own(number), "\n---\n"))
	}
}

// put takes the newest run to a state, as a worker would.
func (w *world) put(change func(*loop.Snapshot)) loop.Snapshot {
	w.t.Helper()
	id := w.runs()[0].Run.ID
	lease, s, err := w.store.Acquire(w.ctx, id, "test")
	w.must(err)
	s.Seq++
	change(&s)
	w.must(w.store.Save(w.ctx, lease, s))
	if !s.Phase.Ended() && !s.Phase.Waits() {
		w.must(w.store.Release(w.ctx, lease, 0))
	}
	return s
}

// signals returns what was said to the newest run and not taken into account.
func (w *world) signals() []loop.Signal {
	w.t.Helper()
	lease, s, err := w.store.Acquire(w.ctx, w.runs()[0].Run.ID, "test")
	w.must(err)
	signals, err := w.store.Heartbeat(w.ctx, lease, s.SeenSignal)
	w.must(err)
	w.must(w.store.Release(w.ctx, lease, 0))
	return signals
}

// kinds lists the kinds of the signals.
func (w *world) kinds() string {
	w.t.Helper()
	var kinds []string
	for _, s := range w.signals() {
		kinds = append(kinds, string(s.Kind))
	}
	return strings.Join(kinds, " ")
}
