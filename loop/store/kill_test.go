package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/store"
)

// The environment of the child process of TestKill.
const (
	childDir  = "AUTOCODE_STORE_TEST_DIR"
	childURL  = "AUTOCODE_STORE_TEST_URL"
	childFrom = "AUTOCODE_STORE_TEST_FROM"
)

const (
	// mostCommits is how many commits a child may make before it is killed, at most.
	mostCommits = 40
	// lastSeq is the number of snapshots that each run of the test has in the end.
	lastSeq = 5
	// window is how many deliveries the child has under way at a time.
	window = 4
	// patience only bounds a test that would hang.
	patience = 5 * time.Minute
)

// TestKill kills a process that receives deliveries, starts a run for each and drives it, again and
// again at a random commit, and then looks whether anything that was acknowledged is lost, or
// anything was done twice.
func TestKill(t *testing.T) {
	if os.Getenv(childFrom) != "" {
		child(t)
		return
	}
	t.Run("sqlite", func(t *testing.T) {
		killRepeatedly(t, store.Config{DataDir: t.TempDir()}, 30)
	})
	t.Run("postgres", func(t *testing.T) {
		killRepeatedly(t, store.Config{URL: startPostgres(t).database(t)}, 10) // slower: leases must expire
	})
}

// brisk is a configuration for short waits: on PostgreSQL a killed worker's lease must expire.
func brisk(c store.Config) store.Config {
	c.Logger = zerolog.Nop()
	c.LeaseTTL, c.SweepInterval = 300*time.Millisecond, 20*time.Millisecond
	return c
}

// party is what the child and, in the end, the parent do with a store.
type party struct {
	*store.Store
	say func(format string, args ...any)
}

func (p party) deliver(ctx context.Context, d loop.Delivery) error {
	issue, err := strconv.Atoi(string(d.Payload))
	if err != nil {
		return err
	}
	task := loop.Task{Repo: loop.Repo{ID: int64(issue%3 + 1), Owner: "o", Name: "r"}, Issue: loop.Issue{Number: issue}}
	list, err := p.Runs(ctx, loop.RunFilter{Repo: "o/r", Issue: issue})
	if err != nil || len(list) > 0 {
		return err // a delivery that was interrupted after its effect
	}
	snapshot, _, err := p.StartRun(ctx, task, loop.Run{}, loop.Snapshot{})
	if err != nil {
		return err
	}
	p.say("started %s %d\n", snapshot.Run.ID, issue)
	return nil
}

func (p party) drive(ctx context.Context, run string) error {
	lease, snapshot, err := p.Acquire(ctx, run, fmt.Sprint("worker-", os.Getpid()))
	if err != nil {
		return err
	}
	for snapshot.Seq < lastSeq {
		if err := p.RecordUsage(ctx, lease, loop.Usage{PromptTokens: 1}); err != nil {
			return err
		}
		p.say("spent %s\n", run)
		snapshot.Seq++
		snapshot.Phase = loop.PhaseCoding
		if snapshot.Seq == lastSeq {
			snapshot.Phase = loop.PhaseDone
		}
		if err := p.Save(ctx, lease, snapshot); err != nil {
			return err
		}
		p.say("saved %s %d\n", run, snapshot.Seq)
	}
	return nil
}

// child works until it is killed, and says on standard output what was committed.
func child(t *testing.T) {
	from, err := strconv.Atoi(os.Getenv(childFrom))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, brisk(store.Config{DataDir: os.Getenv(childDir), URL: os.Getenv(childURL)}))
	var mutex sync.Mutex
	p := party{Store: s, say: func(format string, args ...any) {
		mutex.Lock()
		defer mutex.Unlock()
		fmt.Printf(format, args...)
	}}
	go s.Work(t.Context(), p.drive, p.deliver)
	changes, err := s.Watch(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for issue := from; ; issue++ {
		if _, err := s.Receive(t.Context(), delivery(issue)); err != nil {
			t.Fatal(err)
		}
		p.say("received %d\n", issue)
		for {
			stats, err := s.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if stats.Open+stats.Deliveries < window {
				break
			}
			select {
			case <-changes:
			case <-time.After(10 * time.Millisecond): // the handling of a delivery is no change of a run
			}
		}
	}
}

func delivery(issue int) loop.Delivery {
	return loop.Delivery{ID: fmt.Sprint("delivery-", issue), Key: fmt.Sprint("key-", issue), Event: "issues", Payload: []byte(strconv.Itoa(issue))}
}

// ledger is what the children said.
type ledger struct {
	received int            // the last issue whose delivery was acknowledged
	saved    map[string]int // the last snapshot of a run
	spent    map[string]int // lines of a run's ledger
	started  map[int]string // the run of an issue
}

func (l *ledger) note(t *testing.T, line string) {
	t.Helper()
	var run string
	var n int
	switch {
	case scan(line, "received %d", &n):
		l.received = max(l.received, n)
	case scan(line, "started %s %d", &run, &n):
		if other := l.started[n]; other != "" && other != run {
			t.Errorf("issue %d has the runs %s and %s", n, other, run)
		}
		l.started[n] = run
	case scan(line, "spent %s", &run):
		l.spent[run]++
	case scan(line, "saved %s %d", &run, &n):
		if n <= l.saved[run] {
			t.Errorf("snapshot %d of run %s was stored twice", n, run)
		}
		l.saved[run] = n
	default:
		t.Fatalf("the child says %q", line)
	}
}

func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}

func killRepeatedly(t *testing.T, c store.Config, kills int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	said := &ledger{saved: map[string]int{}, spent: map[string]int{}, started: map[int]string{}}
	for range kills {
		oneLife(t, c, said, 1+random.IntN(mostCommits))
	}

	s := open(t, brisk(c))
	p := party{Store: s, say: func(string, ...any) {}}
	changes, err := s.Watch(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Work(ctx, p.drive, p.deliver) }()
	for deadline := time.After(patience); ; {
		stats, err := s.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Open+stats.Deliveries == 0 {
			break
		}
		select {
		case <-changes:
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			t.Fatalf("the work does not end: %+v", stats)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	check(t, s, said)
	t.Logf("%d kills, %d deliveries", kills, said.received)
}

// oneLife runs a child until it has said a number of lines, and kills it.
func oneLife(t *testing.T, c store.Config, said *ledger, lines int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), childDir+"="+c.DataDir, childURL+"="+c.URL, childFrom+"="+strconv.Itoa(said.received+1))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() // ends with the kill; its error is that kill
	defer cmd.Process.Kill()
	watchdog := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer watchdog.Stop()
	scanner := bufio.NewScanner(out)
	n := 0
	for scanner.Scan() {
		said.note(t, scanner.Text())
		if n++; n == lines {
			cmd.Process.Kill()
		}
		// What was said between the kill and the end counts as well.
	}
	if n < lines {
		t.Fatalf("the child ended by itself, or hung, after %d lines of %d", n, lines)
	}
}

// check compares the store with what the children said.
func check(t *testing.T, s *store.Store, said *ledger) {
	t.Helper()
	runs := 0
	for issue := 1; issue <= said.received; issue++ {
		if fresh, err := s.Receive(t.Context(), delivery(issue)); err != nil || fresh {
			t.Errorf("delivery of issue %d is lost (error %v)", issue, err)
		}
		list, err := s.Runs(t.Context(), loop.RunFilter{Issue: issue})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 {
			t.Errorf("issue %d has %d runs", issue, len(list))
			continue
		}
		runs++
		run := list[0].Run.ID
		if other := said.started[issue]; other != "" && other != run {
			t.Errorf("issue %d has run %s, %s was acknowledged", issue, run, other)
		}
		snapshots, err := s.Snapshots(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		for i, snapshot := range snapshots {
			if snapshot.Seq != i+1 {
				t.Errorf("run %s: snapshot %d has number %d", run, i+1, snapshot.Seq)
			}
		}
		if len(snapshots) != lastSeq {
			t.Errorf("run %s has %d snapshots", run, len(snapshots))
		}
		lines, err := s.Ledger(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) < said.spent[run] || len(lines) < lastSeq-1 {
			t.Errorf("run %s has %d lines in the ledger, %d were acknowledged", run, len(lines), said.spent[run])
		}
	}
	if runs == 0 {
		t.Error("nothing was done at all")
	}
}
