package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/store/storetest"
)

// inside opens a store on a clock of its own.
func inside(t *testing.T, dir string) (*Store, *storetest.Clock) {
	t.Helper()
	clock := storetest.NewClock()
	s, err := Open(t.Context(), Config{DataDir: dir, Logger: zerolog.Nop(), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, clock
}

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		failures int
		want     time.Duration
	}{
		{0, time.Second}, {1, time.Second}, {2, 2 * time.Second}, {4, 8 * time.Second},
		{9, 256 * time.Second}, {10, maxDeliveryDelay}, {20, maxDeliveryDelay}, {21, maxDeliveryDelay}, {1 << 40, maxDeliveryDelay},
	} {
		if got := backoff(c.failures, maxDeliveryDelay); got != c.want {
			t.Errorf("after %d failures %s, must be %s", c.failures, got, c.want)
		}
	}
}

func TestShareOfARepository(t *testing.T) {
	for _, c := range []struct{ workers, want int }{{1, 1}, {2, 1}, {3, 2}, {8, 7}} {
		if got := (Config{Workers: c.workers}).perRepository(); got != c.want {
			t.Errorf("of %d workers %d, must be %d", c.workers, got, c.want)
		}
	}
}

func TestBind(t *testing.T) {
	const query = "SELECT ? WHERE a IN (?, ?)"
	if got := sqlite.bind(query); got != query {
		t.Errorf("sqlite: %s", got)
	}
	if got, want := postgres.bind(query), "SELECT $1 WHERE a IN ($2, $3)"; got != want {
		t.Errorf("postgres: %s, must be %s", got, want)
	}
}

func TestIDsSortByTime(t *testing.T) {
	clock := storetest.NewClock()
	var ids []string
	for range 200 {
		ids = append(ids, newID(clock.Now()))
		clock.Advance(time.Millisecond)
	}
	if !slices.IsSorted(ids) {
		t.Error("ids are out of order")
	}
	for _, id := range ids {
		if len(id) != 16 || strings.Trim(id, idAlphabet) != "" {
			t.Errorf("id %q", id)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"punctuation", "pkg/date.go:17: got 5, want 4", "pkg date go 17 got want"},
		{"camel case", "parseHTTPDate in TestX", "parsehttpdate parse httpdate in testx test"},
		{"twice", "day Day DAY", "day"},
		{"too long", strings.Repeat("a", maxWord+1) + " b2", "b2"},
		{"no words", "— \"' \x00\xff & | !", ""},
		{"other scripts", "Größe 日本語", "größe 日本語"},
	} {
		if got := strings.Join(words(c.text, maxWords), " "); got != c.want {
			t.Errorf("%s: %q, must be %q", c.name, got, c.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("pkg/date.go:17: parseHTTPDate 'x' \x00\xff")
	f.Fuzz(func(t *testing.T, text string) {
		list := words(text, 50)
		if len(list) > 50 {
			t.Errorf("%d words", len(list))
		}
		for _, word := range list {
			for _, r := range word {
				if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
					t.Errorf("word %q could end a quoted search term", word)
				}
			}
		}
	})
}

func TestWriterKeepsChangesApart(t *testing.T) {
	s, _ := inside(t, t.TempDir())
	put := func(ctx context.Context, key string, failure error) error {
		return s.write(ctx, func(ctx context.Context, c tx) error {
			if _, err := c.exec(ctx, "INSERT INTO turns (repo_key, at) VALUES (?, 0)", key); err != nil {
				return err
			}
			return failure
		})
	}
	no := errors.New("no")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	hold := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { // keeps the writer busy, so that what follows shares one commit
		s.write(t.Context(), func(context.Context, tx) error { <-hold; return nil })
	})
	outcomes := map[string]error{}
	var mutex sync.Mutex
	for i := range 3 * maxGroup {
		group.Go(func() {
			key, ctx, failure := fmt.Sprint("good ", i), t.Context(), error(nil)
			switch i % 3 {
			case 1:
				key, failure = fmt.Sprint("bad ", i), no
			case 2:
				key, ctx = fmt.Sprint("gone ", i), gone
			}
			err := put(ctx, key, failure)
			mutex.Lock()
			defer mutex.Unlock()
			outcomes[key] = err
		})
	}
	close(hold)
	group.Wait()
	for key, err := range outcomes {
		switch kind, _, _ := strings.Cut(key, " "); {
		case kind == "good" && err != nil, kind == "bad" && !errors.Is(err, no), kind == "gone" && !errors.Is(err, context.Canceled):
			t.Errorf("%s: error %v", key, err)
		}
	}
	stored, err := s.names(t.Context(), "SELECT repo_key FROM turns")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range stored {
		if !strings.HasPrefix(key, "good ") {
			t.Errorf("%s was stored", key)
		}
	}
	if len(stored) != maxGroup {
		t.Errorf("%d of %d were stored", len(stored), maxGroup)
	}
	s.Close()
	if err := put(t.Context(), "late", nil); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestStatementsMayBeNested(t *testing.T) {
	s, _ := inside(t, t.TempDir())
	err := s.write(t.Context(), func(ctx context.Context, c tx) error {
		for i := range 3 {
			if _, err := c.exec(ctx, "INSERT INTO turns (repo_key, at) VALUES (?, ?)", fmt.Sprint(i), i); err != nil {
				return err
			}
		}
		const query = "SELECT at FROM turns WHERE at >= ? ORDER BY at"
		var pairs []string
		err := c.each(ctx, func(outer *sql.Rows) error {
			var a int
			if err := outer.Scan(&a); err != nil {
				return err
			}
			return c.each(ctx, func(inner *sql.Rows) error {
				var b int
				err := inner.Scan(&b)
				pairs = append(pairs, fmt.Sprint(a, b))
				return err
			}, query, a)
		}, query, 0)
		if want := "0 0,0 1,0 2,1 1,1 2,2 2"; strings.Join(pairs, ",") != want {
			t.Errorf("pairs %v, must be %s", pairs, want)
		}
		for i := range 2 * maxStatements { // more texts than are kept
			var got int
			if err := c.row(ctx, fmt.Sprintf("SELECT %d", i)).Scan(&got); err != nil || got != i {
				t.Errorf("statement %d gives %d, error %v", i, got, err)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRestartGoesOnAtOnce(t *testing.T) {
	dir := t.TempDir()
	s, _ := inside(t, dir)
	task := loop.Task{Repo: loop.Repo{ID: 1, Owner: "o", Name: "r"}, Issue: loop.Issue{Number: 1}}
	first, _, err := s.StartRun(t.Context(), task, loop.Run{}, loop.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	lease, _, err := s.Acquire(t.Context(), first.Run.ID, "killed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receive(t.Context(), loop.Delivery{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "1"}); err != nil || !ok {
		t.Fatalf("taken %v, error %v", ok, err)
	}
	s.Close() // without a word to lease and delivery, as a kill does

	s, _ = inside(t, dir) // on a clock that nobody turns
	if _, err := s.Heartbeat(t.Context(), lease, 0); !errors.Is(err, loop.ErrLeaseLost) {
		t.Errorf("the killed worker's lease: %v", err)
	}
	runs, deliveries := make(chan string, 1), make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go s.Work(ctx, func(ctx context.Context, run string) error {
		runs <- run
		<-ctx.Done()
		return ctx.Err()
	}, func(_ context.Context, d loop.Delivery) error { deliveries <- d.ID; return nil })
	if got := <-runs; got != first.Run.ID {
		t.Errorf("run %s is driven", got)
	}
	<-deliveries
}

// TestTwoTicketsAreOneTry: a delivery that waited long has two tickets. After a failure the second must not bring the
// next try on before its time.
func TestTwoTicketsAreOneTry(t *testing.T) {
	s, clock := inside(t, t.TempDir())
	if _, err := s.Receive(t.Context(), loop.Delivery{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(ticketPatience + time.Second)
	if err := s.wakeDeliveries(t.Context(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	var tickets int
	if err := s.reader().row(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'delivery'").Scan(&tickets); err != nil || tickets != 2 {
		t.Fatalf("%d tickets, error %v", tickets, err)
	}
	taken, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "1"})
	if err != nil || !ok {
		t.Fatalf("taken %v, error %v", ok, err)
	}
	if err := s.settleDelivery(t.Context(), taken, errors.New("no luck"), false); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "1"}); err != nil || ok {
		t.Errorf("the second ticket made a try at once: %v, error %v", ok, err)
	}
	if _, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "1", Attempts: 1}); err != nil || !ok {
		t.Errorf("the next try's ticket is refused: %v, error %v", ok, err)
	}
}

func TestOldDeliveries(t *testing.T) {
	s, clock := inside(t, t.TempDir())
	receive := func(id string) loop.Delivery {
		t.Helper()
		if _, err := s.Receive(t.Context(), loop.Delivery{ID: id, Payload: []byte(id)}); err != nil {
			t.Fatal(err)
		}
		d, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: id})
		if err != nil || !ok {
			t.Fatalf("taken %v, error %v", ok, err)
		}
		return d
	}
	settle := func(d loop.Delivery, failure error) {
		t.Helper()
		if err := s.settleDelivery(t.Context(), d, failure, false); err != nil {
			t.Fatal(err)
		}
	}
	count := func(where string, want int) {
		t.Helper()
		var got int
		if err := s.reader().row(t.Context(), "SELECT count(*) FROM deliveries WHERE "+where).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%d deliveries with %s, must be %d", got, where, want)
		}
	}
	handled, failing, pending := receive("handled"), receive("failing"), receive("pending")
	settle(handled, nil)
	settle(failing, errors.New("no luck"))
	settle(pending, errors.New("no luck"))
	count("state = 'pending'", 2)

	clock.Advance(giveUpAfter + time.Minute)
	if err := s.wakeDeliveries(t.Context(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	again, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "failing", Attempts: 1})
	if err != nil || !ok {
		t.Fatalf("taken %v, error %v", ok, err)
	}
	settle(again, errors.New(strings.Repeat("é \x00", 1000)))
	count("state = 'failed' AND length(error) BETWEEN 300 AND 1000", 1)

	clock.Advance(keepPayload)
	if err := s.prune(t.Context(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	count("payload IS NULL", 2)
	count("id = 'pending' AND payload IS NOT NULL", 1)
	if fresh, err := s.Receive(t.Context(), loop.Delivery{ID: "handled"}); err != nil || fresh {
		t.Errorf("a replay is fresh: %v, error %v", fresh, err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stats.Deliveries != 1 || stats.FailedDeliveries != 1 || stats.OldestDelivery < keepPayload {
		t.Errorf("stats %+v", stats)
	}

	clock.Advance(keepDelivery)
	if err := s.prune(t.Context(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	count("1 = 1", 1)
}

func TestLongDeliveryStaysInHand(t *testing.T) {
	s, clock := inside(t, t.TempDir())
	if _, err := s.Receive(t.Context(), loop.Delivery{ID: "long"}); err != nil {
		t.Fatal(err)
	}
	if !s.hands.take("long") || s.hands.take("long") {
		t.Fatal("a delivery must be taken in hand once")
	}
	if _, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "long"}); err != nil || !ok {
		t.Fatalf("taken %v, error %v", ok, err)
	}
	for range 10 {
		clock.Advance(DefaultLeaseTTL / 2)
		if err := s.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "long", Attempts: 1}); err != nil || ok {
		t.Errorf("it was handed on while it was in hand: %v, error %v", ok, err)
	}
	s.hands.drop("long") // its process died
	clock.Advance(DefaultLeaseTTL + time.Second)
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.takeDelivery(t.Context(), deliveryJob{ID: "long", Attempts: 1}); err != nil || !ok {
		t.Errorf("it was not handed on: %v, error %v", ok, err)
	}
}

func TestStats(t *testing.T) {
	s, clock := inside(t, t.TempDir())
	for i := range 4 {
		task := loop.Task{Repo: loop.Repo{ID: 1, Owner: "o", Name: "r"}, Issue: loop.Issue{Number: i + 1}}
		first, _, err := s.StartRun(t.Context(), task, loop.Run{}, loop.Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue // ready
		}
		lease, snapshot, err := s.Acquire(t.Context(), first.Run.ID, "w")
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 1: // active
		case 2:
			err = s.Release(t.Context(), lease, time.Minute) // delayed
		case 3:
			snapshot.Seq, snapshot.Phase = 2, loop.PhaseDone
			err = s.Save(t.Context(), lease, snapshot)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Receive(t.Context(), loop.Delivery{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	got, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "{Phases:map[done:1 queued:3] Open:3 Active:1 Ready:1 Delayed:1 Deliveries:1 OldestDelivery:1s FailedDeliveries:0}"
	if fmt.Sprintf("%+v", got) != want {
		t.Errorf("%+v, must be %s", got, want)
	}
}
