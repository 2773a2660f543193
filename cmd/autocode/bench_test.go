package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// The load of BenchmarkDeliveries: what mission.md's target for webhooks names.
const (
	deliveryRate = 500              // a second
	deliveryTime = 10 * time.Second // so long
	deliverySize = 12 << 10         // bytes, about a real issues event
)

// BenchmarkDeliveries sends 500 signed deliveries a second for 10 s over loopback, to the real server
// and, as the limit of machine and load generator, to a bare handler that verifies and drops.
func BenchmarkDeliveries(b *testing.B) {
	const secret = "a secret of this test"
	b.Run("bare", func(b *testing.B) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || !hmac.Equal([]byte(r.Header.Get("X-Hub-Signature-256")), []byte(signature(secret, body))) {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.WriteHeader(http.StatusAccepted)
		}))
		defer server.Close()
		for b.Loop() {
			deliver(b, server.URL, secret)
		}
	})
	b.Run("server", func(b *testing.B) {
		w := newStage(b, modeltest.Script{})
		for b.Loop() {
			ids := deliver(b, w.server.address()+"/api/github/hook", secret)
			lost := 0
			for _, id := range ids { // what is stored is not fresh a second time
				fresh, err := w.server.parts.store.Receive(b.Context(), loop.Delivery{ID: id, Event: "ping"})
				if err != nil {
					b.Fatal(err)
				}
				if fresh {
					lost++
				}
			}
			b.ReportMetric(float64(lost), "lost")
		}
	})
}

// deliver sends the load and reports how long the answers took. It returns the ids of the deliveries
// that were answered with 202.
func deliver(b *testing.B, url, secret string) (accepted []string) {
	b.Helper()
	const total = int(deliveryRate * deliveryTime / time.Second)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: total}}
	defer client.CloseIdleConnections()
	var mutex sync.Mutex
	var wait sync.WaitGroup
	var times []time.Duration
	refused := 0
	series := time.Now().UnixNano()
	before := processorTime(b)
	start := time.Now()
	for i := range total {
		id := fmt.Sprintf("%d-%d", series, i)
		body := issueEvent(series+int64(i), deliverySize)
		request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-GitHub-Event", "issues")
		request.Header.Set("X-GitHub-Delivery", id)
		request.Header.Set("X-Hub-Signature-256", signature(secret, body))
		at := start.Add(time.Duration(i) * time.Second / deliveryRate)
		time.Sleep(time.Until(at)) // the pace is what is measured under
		wait.Go(func() {
			response, err := client.Do(request)
			took := time.Since(at) // from when it was due, so that a stalled sender hides nothing
			mutex.Lock()
			defer mutex.Unlock()
			times = append(times, took)
			if err != nil {
				refused++
				return
			}
			response.Body.Close()
			if response.StatusCode != http.StatusAccepted {
				refused++
				return
			}
			accepted = append(accepted, id)
		})
	}
	wait.Wait()
	b.ReportMetric(milliseconds(quantile(times, 50)), "p50-ms")
	b.ReportMetric(milliseconds(quantile(times, 99)), "p99-ms")
	b.ReportMetric(float64(refused), "refused")
	b.ReportMetric(float64(total)/time.Since(start).Seconds(), "deliveries/s")
	// On a machine that others use as well this says more than the clock; the sender is in it.
	b.ReportMetric(milliseconds(processorTime(b)-before)/float64(total), "cpu-ms/delivery")
	return accepted
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// issueEvent is the payload of an issues event that leads to nothing, at least so many bytes long.
func issueEvent(n int64, size int) []byte {
	event := map[string]any{
		"action":       "edited",
		"issue":        map[string]any{"id": n, "number": n % 1000, "updated_at": "2026-01-02T03:04:05Z", "body": strings.Repeat("A line of a bug report. ", size/24)},
		"repository":   map[string]any{"id": 1, "name": "shiftbook", "owner": map[string]any{"login": demoOwner}},
		"installation": map[string]any{"id": 1},
	}
	body, err := json.Marshal(event)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return body
}

func signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func quantile(times []time.Duration, percent int) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)*percent/100]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkLabelToComment measures from the label to the progress comment, through the stand-in and
// its signed webhook. The repository has no commits, so that no run is at work meanwhile.
func BenchmarkLabelToComment(b *testing.B) {
	w := newStage(b, modeltest.Script{}, func(o *githubtest.RepositoryOptions, _ *stage) { o.Files = nil })
	const labels = 20
	for b.Loop() {
		var times []time.Duration
		for range labels {
			issue := w.file()
			began := time.Now()
			w.must(func() error { return w.github.As(demoMaintainer).Label(w.repo, issue, loop.DefaultLabel) })
			w.comment(issue, "<!-- autocode:progress")
			times = append(times, time.Since(began))
			w.end(issue)
		}
		b.ReportMetric(milliseconds(quantile(times, 50)), "median-ms")
		b.ReportMetric(milliseconds(quantile(times, 100)), "max-ms")
	}
}

// stopwatch adds up the time in which at least one of its things is going on.
type stopwatch struct {
	mutex  sync.Mutex
	going  int
	since  time.Time
	total  time.Duration
	beside time.Duration // of it, what the command inside did not take
}

func (s *stopwatch) start() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.going++; s.going == 1 {
		s.since = time.Now()
	}
}

func (s *stopwatch) stop(beside time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.beside += beside
	if s.going--; s.going == 0 {
		s.total += time.Since(s.since)
	}
}

// timedRunner times commands.
type timedRunner struct {
	confiner
	watch *stopwatch
}

// Run implements sandbox.Runner.
func (r timedRunner) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	r.watch.start()
	began := time.Now()
	result, err := r.confiner.Run(ctx, c)
	r.watch.stop(time.Since(began) - result.Wall)
	return result, err
}

// BenchmarkDemoRun measures the demo's run of a sample, from the label to the pull request that is
// ready, and what of it is neither the model's time nor that of the repository's own commands.
func BenchmarkDemoRun(b *testing.B) {
	for _, name := range sampleNames {
		b.Run(name, func(b *testing.B) {
			one, err := loadSample(name)
			if err != nil {
				b.Fatal(err)
			}
			var watch stopwatch
			w := newStage(b, always(one.Script), func(o *githubtest.RepositoryOptions, w *stage) {
				o.Files, w.one = one.Files, one
				w.tune = func(s *server) {
					settings := w.settings("")
					runner, err := newRunner(settings, zerolog.Nop())
					if err != nil {
						b.Fatal(err)
					}
					runner.confiner = timedRunner{runner.confiner, &watch}
					verifier, err := newVerifier(runner, nil, "", filepath.Join(settings.DataDir, "toolchains"), filepath.Join(settings.DataDir, "installed"), zerolog.Nop())
					if err != nil {
						b.Fatal(err)
					}
					s.parts.engine.Runner, s.parts.engine.Verifier = runner, verifier
				}
				w.gate.around(watch.start, func() { watch.stop(0) })
			})
			for b.Loop() {
				began := time.Now()
				if s := w.end(w.label()); s.Phase != loop.PhaseDone {
					b.Fatalf("the run is %s: %s", s.Phase, s.Ended)
				}
				total := time.Since(began)
				own := total - watch.total
				b.ReportMetric(total.Seconds(), "total-s")
				b.ReportMetric(own.Seconds()*1000, "own-ms")
				b.ReportMetric(100*own.Seconds()/total.Seconds(), "own-%")
				b.ReportMetric(milliseconds(watch.beside), "sandbox-ms")
				watch.total, watch.beside = 0, 0
			}
		})
	}
}

// BenchmarkMemory measures the resident memory of the real program: idle, and what each run adds while
// several wait for their model.
func BenchmarkMemory(b *testing.B) {
	one, err := loadSample(quickSample)
	if err != nil {
		b.Fatal(err)
	}
	script, err := modeltest.New(always(one.Script))
	if err != nil {
		b.Fatal(err)
	}
	defer script.Close()
	github, err := githubtest.New(githubtest.Options{Dir: filepath.Join(b.TempDir(), "github")})
	if err != nil {
		b.Fatal(err)
	}
	defer github.Close()
	gate := newGate(b, script.URL())
	release := make(chan struct{})
	waiting := make(chan struct{})
	gate.before(func(_ int, r *http.Request) {
		select {
		case waiting <- struct{}{}:
			<-release
		case <-release:
		}
	})
	p := serveProcess(b, github, gate.url)
	defer p.close()
	const runs = defaultWorkers
	for b.Loop() {
		idle := resident(b, p.pid())
		for i := range runs {
			full := fmt.Sprintf("%s/memory-%d", demoOwner, i)
			if _, err := github.CreateRepository(githubtest.RepositoryOptions{Owner: demoOwner, Name: fmt.Sprintf("memory-%d", i), Files: one.Files}); err != nil {
				b.Fatal(err)
			}
			if err := github.SetRole(full, demoMaintainer, githubtest.RoleAdmin); err != nil {
				b.Fatal(err)
			}
			issue, err := github.As(demoMaintainer).CreateIssue(full, one.Title, one.Body)
			if err != nil {
				b.Fatal(err)
			}
			if err := github.As(demoMaintainer).Label(full, issue, loop.DefaultLabel); err != nil {
				b.Fatal(err)
			}
		}
		for range runs {
			<-waiting
		}
		busy := resident(b, p.pid())
		b.ReportMetric(float64(idle)/(1<<20), "idle-MB")
		b.ReportMetric(float64(busy-idle)/runs/(1<<20), "MB/run")
		close(release)
	}
}

// resident is the resident memory of a process in bytes.
func resident(b *testing.B, pid int) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, "VmRSS:")
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return kilobytes << 10
	}
	b.Fatal("no VmRSS")
	return 0
}
