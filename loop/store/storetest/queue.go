package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// finish is a handler that ends the runs it is given and tells which they were.
func (b *bench) finish(calls chan<- string) func(context.Context, string) error {
	backend := b.Backend
	return func(ctx context.Context, run string) error {
		lease, snapshot, err := backend.Acquire(ctx, run, "finisher")
		if err != nil {
			return err
		}
		signals, err := backend.Heartbeat(ctx, lease, snapshot.SeenSignal)
		if err != nil {
			return err
		}
		for _, signal := range signals {
			snapshot.SeenSignal = signal.ID
		}
		snapshot.Seq++
		snapshot.Phase = loop.PhaseDone
		if err := backend.Save(ctx, lease, snapshot); err != nil {
			return err
		}
		calls <- run
		return nil
	}
}

func delivery(id, key string) loop.Delivery {
	return loop.Delivery{ID: id, Event: "issues", Key: key, Payload: []byte(`{"action":"labeled"}`)}
}

// receive stores a delivery and says whether it was new.
func (b *bench) receive(d loop.Delivery) bool {
	b.Helper()
	fresh, err := b.Receive(b.Context(), d)
	if err != nil {
		b.Fatalf("receive %s: %v", d.ID, err)
	}
	return fresh
}

func testInbox(t *testing.T, suite Suite) {
	t.Run("what is known by id or key does nothing", func(t *testing.T) {
		b := open(t, suite, 1)
		for _, c := range []struct {
			name string
			loop.Delivery
			fresh bool
		}{
			{"new", delivery("1", "k1"), true},
			{"same id", delivery("1", "k1"), false},
			{"same id, other key", delivery("1", "k2"), false},
			{"other id, same key", delivery("2", "k1"), false},
			{"other id, no key", delivery("3", ""), true},
			{"another without a key", delivery("4", ""), true},
		} {
			if got := b.receive(c.Delivery); got != c.fresh {
				t.Errorf("%s: fresh is %v", c.name, got)
			}
		}
		calls := make(chan string, 10)
		b.work(nil, func(_ context.Context, d loop.Delivery) error { calls <- d.ID; return nil })
		got := map[string]int{}
		for range 3 {
			got[next(b, calls)]++
		}
		b.end()
		close(calls)
		for id := range calls {
			got[id]++
		}
		same(t, got, map[string]int{"1": 1, "3": 1, "4": 1})
	})
	t.Run("a delivery comes back whole", func(t *testing.T) {
		b := open(t, suite, 1)
		want := delivery("1", "k")
		want.Payload = []byte("{\"x\": \"\x00\xff\"}")
		want.Received = b.clock.Now().Add(-time.Minute)
		b.receive(want)
		calls := make(chan loop.Delivery, 1)
		b.work(nil, func(_ context.Context, d loop.Delivery) error { calls <- d; return nil })
		same(t, next(b, calls), want)
	})
	t.Run("one without an id is refused", func(t *testing.T) {
		b := open(t, suite, 1)
		if _, err := b.Receive(t.Context(), delivery("", "k")); err == nil {
			t.Error("it was stored")
		}
	})
	t.Run("of many at once exactly one is new", func(t *testing.T) {
		b := open(t, suite, 1)
		fresh := make(chan bool, 32)
		for i := range cap(fresh) {
			go func() {
				ok, err := b.Receive(t.Context(), delivery(fmt.Sprint(i), "same"))
				if err != nil {
					t.Error(err)
				}
				fresh <- ok
			}()
		}
		n := 0
		for range cap(fresh) {
			if next(b, fresh) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d were new", n)
		}
	})
}

func testQueue(t *testing.T, suite Suite) {
	t.Run("a delivery is handled while every worker for runs is busy", func(t *testing.T) {
		b := open(t, suite, 2)
		hold := make(chan struct{})
		defer close(hold)
		busy := make(chan string, 10)
		calls := make(chan string, 10)
		b.start(1, 1)
		b.start(2, 1)
		b.work(func(ctx context.Context, run string) error {
			busy <- run
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return nil
		}, func(_ context.Context, d loop.Delivery) error { calls <- d.ID; return nil })
		next(b, busy)
		next(b, busy)
		b.receive(delivery("1", ""))
		next(b, calls)
	})
	t.Run("a slow delivery does not hold up the next", func(t *testing.T) {
		b := open(t, suite, 1)
		hold := make(chan struct{})
		defer close(hold)
		calls := make(chan string, 10)
		b.work(nil, func(ctx context.Context, d loop.Delivery) error {
			calls <- d.ID
			if d.ID == "slow" {
				select {
				case <-hold:
				case <-ctx.Done():
				}
			}
			return nil
		})
		b.receive(delivery("slow", ""))
		next(b, calls)
		b.receive(delivery("fast", ""))
		next(b, calls)
	})

	// Errors and panics are tried again, with growing distance.
	failures := map[string]func() error{
		"error": func() error { return errors.New("no luck") },
		"panic": func() error { panic("no luck") },
	}
	for name, fail := range failures {
		t.Run("a delivery that ends in "+name+" is tried again later", func(t *testing.T) {
			b := open(t, suite, 1)
			calls := make(chan time.Time, 10)
			n := 0
			b.work(nil, func(context.Context, loop.Delivery) error {
				n++
				calls <- b.clock.Now()
				if n < 4 {
					return fail()
				}
				return nil
			})
			b.receive(delivery("1", ""))
			b.growing(calls, 4)
		})
		t.Run("a run that ends in "+name+" is tried again later", func(t *testing.T) {
			b := open(t, suite, 1)
			calls := make(chan time.Time, 10)
			done := make(chan string, 1)
			finish := b.finish(done)
			n := 0
			b.start(1, 1)
			b.work(func(ctx context.Context, run string) error {
				n++
				calls <- b.clock.Now()
				if n < 4 {
					return fail()
				}
				return finish(ctx, run)
			}, nil)
			b.growing(calls, 4)
			next(b, done)
		})
	}
	t.Run("a run that is released by a handler that fails waits all the same", func(t *testing.T) {
		b := open(t, suite, 1)
		calls := make(chan time.Time, 10)
		b.start(1, 1)
		b.work(func(ctx context.Context, run string) error {
			lease, _, err := b.Acquire(ctx, run, "w")
			if err != nil {
				return err
			}
			calls <- b.clock.Now()
			if err := b.Release(ctx, lease, 0); err != nil {
				return err
			}
			return errors.New("no luck")
		}, nil)
		b.growing(calls, 4)
	})
	t.Run("a handler that leaves its lease behind is called again", func(t *testing.T) {
		b := open(t, suite, 1)
		calls := make(chan time.Time, 10)
		b.start(1, 1)
		b.work(func(ctx context.Context, run string) error {
			_, _, err := b.Acquire(ctx, run, "w")
			calls <- b.clock.Now()
			return err
		}, nil)
		b.growing(calls, 4)
	})
	t.Run("a lost lease is not an error of the run", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		calls := make(chan string, 10)
		b.work(func(ctx context.Context, run string) error {
			b.acquire(run, "someone else")
			calls <- run
			return fmt.Errorf("drive: %w", loop.ErrLeaseLost)
		}, nil)
		next(b, calls)
		b.end()
		if _, _, err := b.Acquire(t.Context(), run, "w"); !errors.Is(err, loop.ErrLeaseLost) {
			t.Errorf("the other's lease is gone: %v", err)
		}
	})
	t.Run("a run that was released with a delay is driven after it", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, _ := b.acquire(run, "w")
		began := b.clock.Now()
		if err := b.Release(t.Context(), lease, time.Minute); err != nil {
			t.Fatal(err)
		}
		calls := make(chan string, 1)
		b.work(b.finish(calls), nil)
		turn(b, calls)
		if waited := b.clock.Now().Sub(began); waited < time.Minute {
			t.Errorf("driven after %s", waited)
		}
	})
	t.Run("a signal drives a delayed run at once", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, _ := b.acquire(run, "w")
		if err := b.Release(t.Context(), lease, time.Hour); err != nil {
			t.Fatal(err)
		}
		calls := make(chan string, 1)
		b.work(b.finish(calls), nil)
		b.signal(run, loop.SignalStop)
		next(b, calls)
	})
	t.Run("a second call of Work is refused", func(t *testing.T) {
		b := open(t, suite, 1)
		calls := make(chan string, 1)
		b.work(b.finish(calls), nil)
		b.start(1, 1)
		next(b, calls)
		if err := b.Work(t.Context(), b.noDrive, b.noDeliver); err == nil {
			t.Error("two calls of Work run")
		}
	})
}

// growing checks that n calls come with growing distance: each at least twice the last one, from a
// second on. The clock runs ahead of the queue, so that there is no upper bound to check.
func (b *bench) growing(calls <-chan time.Time, n int) {
	b.Helper()
	last, least := next(b, calls), time.Second
	for range n - 1 {
		call := turn(b, calls)
		if got := call.Sub(last); got < least {
			b.Errorf("distance %s, must be %s at least", got, least)
		}
		last, least = call, 2*least
	}
}

func testFairness(t *testing.T, suite Suite) {
	t.Run("a thousand runs of one repository leave each other one its turn", func(t *testing.T) {
		b := open(t, suite, 1)
		const flood = 1000
		for i := range flood {
			b.start(1, i+1)
		}
		b.start(2, 1)
		b.start(3, 1)
		order := make(chan int64, flood+2)
		b.work(func(ctx context.Context, run string) error {
			snapshot, err := b.Snapshot(ctx, run)
			if err != nil {
				return err
			}
			order <- snapshot.Task.Repo.ID
			<-ctx.Done() // the first run that came lasts until the queue is stopped …
			return ctx.Err()
		}, nil)
		next(b, order)
		b.end()
		b.work(func(ctx context.Context, run string) error { // … then the others get their turn
			lease, snapshot, err := b.Acquire(ctx, run, "w")
			if err != nil {
				return err
			}
			order <- snapshot.Task.Repo.ID
			snapshot.Seq++
			snapshot.Phase = loop.PhaseDone
			return b.Save(ctx, lease, snapshot)
		}, nil)
		seen := map[int64]int{}
		for i := range 6 {
			seen[next(b, order)] = i
		}
		if _, second := seen[2]; !second {
			t.Error("repository 2 was not served among the first six")
		}
		if _, third := seen[3]; !third {
			t.Error("repository 3 was not served among the first six")
		}
	})
	t.Run("long runs of one repository never take the last worker", func(t *testing.T) {
		b := open(t, suite, 3)
		for i := range 20 {
			b.start(1, i+1)
		}
		order := make(chan int64, 30)
		b.work(func(ctx context.Context, run string) error {
			snapshot, err := b.Snapshot(ctx, run)
			if err != nil {
				return err
			}
			order <- snapshot.Task.Repo.ID
			<-ctx.Done()
			return ctx.Err()
		}, nil)
		next(b, order)
		next(b, order)
		b.start(2, 1)
		if got := next(b, order); got != 2 {
			t.Errorf("repository %d has the last worker", got)
		}
	})
}

func testRecovery(t *testing.T, suite Suite) {
	t.Run("the queue's end interrupts runs and gives them back", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		calls := make(chan string, 1)
		b.work(func(ctx context.Context, run string) error {
			if _, _, err := b.Acquire(ctx, run, "w"); err != nil {
				return err
			}
			calls <- run
			<-ctx.Done()
			return ctx.Err()
		}, nil)
		next(b, calls)
		b.end()
		b.reopen(1)
		b.work(b.finish(calls), nil)
		if got := next(b, calls); got != run {
			t.Errorf("run %s is driven, must be %s", got, run)
		}
	})
	t.Run("the queue's end lets deliveries finish", func(t *testing.T) {
		b := open(t, suite, 1)
		began, goOn := make(chan string, 1), make(chan struct{})
		b.work(nil, func(ctx context.Context, d loop.Delivery) error {
			began <- d.ID
			<-goOn
			return ctx.Err()
		})
		b.receive(delivery("1", ""))
		next(b, began)
		time.AfterFunc(time.Millisecond, func() { close(goOn) }) // after end has begun, or before: both must do
		b.end()
		b.reopen(1)
		calls := make(chan string, 10)
		b.work(b.finish(calls), nil)
		b.start(1, 1)
		next(b, calls)
	})
	t.Run("what nobody worked on is there after a restart", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		b.receive(delivery("1", ""))
		b.reopen(1)
		runs, deliveries := make(chan string, 1), make(chan string, 1)
		b.work(b.finish(runs), func(_ context.Context, d loop.Delivery) error { deliveries <- d.ID; return nil })
		if got := next(b, runs); got != run {
			t.Errorf("run %s is driven, must be %s", got, run)
		}
		next(b, deliveries)
	})
	t.Run("the run of a worker that went silent is handed on", func(t *testing.T) {
		b := open(t, suite, 1)
		run := b.start(1, 1).Run.ID
		lease, _ := b.acquire(run, "silent")
		began := b.clock.Now()
		calls := make(chan string, 1)
		b.work(b.finish(calls), nil)
		if got := turn(b, calls); got != run {
			t.Errorf("run %s is driven, must be %s", got, run)
		}
		// The clock runs ahead of the queue a little, so that only the lower bound is exact.
		if waited := b.clock.Now().Sub(began); waited < LeaseTTL {
			t.Errorf("handed on after %s", waited)
		}
		_, err := b.Heartbeat(t.Context(), lease, 0)
		b.is(err, loop.ErrLeaseLost, "heartbeat of the silent worker")
	})
	if suite.Shared {
		t.Run("two processes share the work and never a run", func(t *testing.T) {
			b := open(t, suite, 2)
			other := suite.Open(t, "main", Options{Workers: 2, Clock: b.clock})
			defer other.Close()
			const runs, deliveries = 40, 60
			for i := range runs {
				b.start(int64(i%5+1), i+1)
			}
			for i := range deliveries {
				b.receive(delivery(fmt.Sprint(i), ""))
			}
			drove, handled := make(chan string, 2*runs), make(chan string, 2*deliveries)
			deliver := func(_ context.Context, d loop.Delivery) error { handled <- d.ID; return nil }
			b.work(b.finish(drove), deliver)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- other.Work(ctx, (&bench{T: t, Backend: other}).finish(drove), deliver) }()
			seen := map[string]int{}
			for range runs {
				seen[next(b, drove)]++
			}
			for range deliveries {
				seen[next(b, handled)]++
			}
			cancel()
			if err := next(b, ended); err != nil {
				t.Error(err)
			}
			b.end()
			if len(seen) != runs+deliveries || len(drove)+len(handled) != 0 {
				t.Errorf("%d of %d were done, %d more than once", len(seen), runs+deliveries, runs+deliveries-len(seen)+len(drove)+len(handled))
			}
		})
	}
}
