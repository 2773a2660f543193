package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/store"
)

// rate is the load that a webhook must be answered under, in deliveries a second.
const rate = 500

// webhook is a payload of 12 KB that compresses about as well as GitHub's.
func webhook(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 0))
	var b bytes.Buffer
	for b.Len() < 12<<10 {
		fmt.Fprintf(&b, `"some_url":"https://api.github.com/repos/octo/repo/%x","id":%d,`, random.Uint64(), random.Uint32())
	}
	return b.Bytes()
}

// BenchmarkReceive stores deliveries at 500 a second while they are handled, and reports how long
// the store takes for one and how long until its handler begins. Run it with -benchtime 5000x.
func BenchmarkReceive(b *testing.B) {
	for _, database := range []string{"sqlite", "postgres"} {
		for _, working := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/working=%v", database, working), func(b *testing.B) {
				c := store.Config{Logger: zerolog.Nop()}
				if database == "sqlite" {
					c.DataDir = b.TempDir()
				} else {
					c.URL = startPostgres(b).database(b)
				}
				benchmarkReceive(b, open(b, c), working)
			})
		}
	}
}

func benchmarkReceive(b *testing.B, s *store.Store, working bool) {
	payloads := make([][]byte, 64)
	for i := range payloads {
		payloads[i] = webhook(i)
	}
	begun := make(chan time.Duration, b.N)
	if working {
		go s.Work(b.Context(), func(context.Context, string) error { return nil }, func(_ context.Context, d loop.Delivery) error {
			begun <- time.Since(d.Received)
			return nil
		})
	}
	stored := make(chan time.Duration, b.N)
	b.ResetTimer()
	start := time.Now()
	for i := range b.N {
		at := start.Add(time.Duration(i) * time.Second / rate)
		time.Sleep(time.Until(at)) // the pace is what is measured under
		go func() {
			id, asked := fmt.Sprint(i), time.Now()
			if _, err := s.Receive(b.Context(), loop.Delivery{ID: id, Key: id, Event: "issues", Payload: payloads[i%len(payloads)], Received: asked}); err != nil {
				b.Error(err)
			}
			stored <- time.Since(asked)
		}()
	}
	report(b, "stored", stored)
	if working {
		report(b, "begun", begun)
	}
}

// report waits for b.N durations and reports their quantiles.
func report(b *testing.B, what string, from <-chan time.Duration) {
	all := make([]time.Duration, b.N)
	for i := range all {
		all[i] = <-from
	}
	slices.Sort(all)
	for _, q := range []int{50, 99} {
		b.ReportMetric(float64(all[(len(all)-1)*q/100].Microseconds())/1000, fmt.Sprintf("ms-%s-p%d", what, q))
	}
}

// BenchmarkStart measures from the start of a run to the call of its handler.
func BenchmarkStart(b *testing.B) {
	s := open(b, store.Config{DataDir: b.TempDir(), Logger: zerolog.Nop()})
	begun := make(chan struct{}, 1)
	go s.Work(b.Context(), func(ctx context.Context, run string) error {
		lease, snapshot, err := s.Acquire(ctx, run, "w")
		if err != nil {
			return err
		}
		snapshot.Seq, snapshot.Phase = 2, loop.PhaseDone
		if err := s.Save(ctx, lease, snapshot); err != nil {
			return err
		}
		begun <- struct{}{}
		return nil
	}, nil)
	b.ResetTimer()
	for i := range b.N {
		task := loop.Task{Repo: loop.Repo{ID: 1, Owner: "o", Name: "r"}, Issue: loop.Issue{Number: i + 1}}
		if _, _, err := s.StartRun(b.Context(), task, loop.Run{}, loop.Snapshot{}); err != nil {
			b.Fatal(err)
		}
		<-begun
	}
}

// BenchmarkOpen measures the first start in an empty directory, migrations included.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		open(b, store.Config{DataDir: b.TempDir(), Logger: zerolog.Nop()}).Close()
	}
}
