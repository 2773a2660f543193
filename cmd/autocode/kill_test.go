package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

const (
	// defaultKills keeps the test short; AUTOCODE_TEST_KILLS asks for more (make kills).
	defaultKills = 6
	// killPatience bounds one run with its restarts.
	killPatience = 5 * time.Minute
	// killDelay is up to how long after a request the kill may come: what a run does between two
	// requests (clone, build, tests, clean room) takes about as long.
	killDelay = 800 * time.Millisecond
)

// process is `autocode serve` as a process of its own, started again whenever it is killed.
type process struct {
	t       testing.TB
	path    string
	env     []string
	address string
	log     bytes.Buffer

	mutex  sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{}
	closed atomic.Bool
}

// start starts the program, and again after each end, until close.
func (p *process) start() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	cmd := exec.Command(p.path, "serve")
	cmd.Env, cmd.Stderr, cmd.Dir = p.env, &p.log, p.t.TempDir()
	if err := cmd.Start(); err != nil {
		p.t.Error(err)
		return
	}
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
		if !p.closed.Load() {
			p.start()
		}
	}()
}

// kill is kill -9.
func (p *process) kill() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
}

// pid is the program's at the moment.
func (p *process) pid() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.cmd.Process.Pid
}

func (p *process) close() {
	p.closed.Store(true)
	p.mutex.Lock()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	ended := p.ended
	p.mutex.Unlock()
	<-ended
	if p.t.Failed() {
		p.t.Logf("the server said:\n%s", p.log.String())
	}
}

// page reads a page of the panel; "" while the server is down.
func (p *process) page(path string) string {
	response, err := http.Get(p.address + path)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

// until asks again and again whether another process has come so far.
func until(ctx context.Context, t testing.TB, what string, reached func() bool) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !reached() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, ctx.Err())
		}
	}
}

// killPoint is a moment of a run: at a request that it makes, counted from the last kill or the label.
type killPoint struct {
	// model counts questions to the model, else every request to GitHub, API and git, and the model.
	model bool
	at    int
	// delay after the request's arrival; 0: before it is answered.
	delay time.Duration
}

func (k killPoint) String() string {
	what := "request"
	if k.model {
		what = "question to the model"
	}
	if k.delay == 0 {
		return fmt.Sprintf("%s %d, before its answer", what, k.at)
	}
	return fmt.Sprintf("%s %d and %d ms", what, k.at, k.delay.Milliseconds())
}

// killer counts what a run asks of GitHub and of the model, and kills at the points of a plan.
type killer struct {
	p *process

	mutex           sync.Mutex
	plan            []killPoint
	asked, question int
	timer           *time.Timer
	done            []killPoint
}

// begin makes the plan of the next run.
func (k *killer) begin(plan ...killPoint) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.plan, k.asked, k.question, k.done = plan, 0, 0, nil
}

// end returns the points that were killed at; a kill that is still to come is called off.
func (k *killer) end() []killPoint {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.plan = nil
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	return k.done
}

// see counts a request and kills where it is the point.
func (k *killer) see(model bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.asked++
	if model {
		k.question++
	}
	if len(k.plan) == 0 || k.timer != nil {
		return
	}
	next := k.plan[0]
	count := k.asked
	if next.model {
		count = k.question
	}
	if count < next.at || next.model && !model {
		return
	}
	if next.delay == 0 {
		k.kill()
		return
	}
	k.timer = time.AfterFunc(next.delay, func() {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		if k.timer != nil {
			k.kill()
		}
	})
}

// kill kills at the first point of the plan. The caller holds the mutex.
func (k *killer) kill() {
	k.p.kill()
	k.done, k.plan = append(k.done, k.plan[0]), k.plan[1:]
	k.asked, k.question, k.timer = 0, 0, nil
}

// draw draws the plan of a run that makes so many requests and questions.
func draw(random *rand.Rand, requests, questions int) []killPoint {
	var plan []killPoint
	for most := requests; ; most = max(1, most/2) { // what is left of the run after a kill is shorter
		k := killPoint{at: 1 + random.IntN(most)}
		if random.IntN(4) == 0 {
			k.model, k.at = true, 1+random.IntN(questions)
		}
		if random.IntN(2) == 0 {
			k.delay = 1 + time.Duration(random.Int64N(int64(killDelay)))
		}
		plan = append(plan, k)
		if random.IntN(4) != 0 {
			return plan
		}
	}
}

// number reads a number from the environment.
func number(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestKills kills the server, again and again and sometimes twice in a run, at points drawn at random
// from all that a run asks of GitHub (API and git) and of the model, and lets it start again: nothing
// is lost, and nothing is there twice. AUTOCODE_TEST_KILLS says how many kills, AUTOCODE_TEST_KILL_SEED
// repeats what was drawn before.
func TestKills(t *testing.T) {
	if ok, err := condition("sandbox"); err != nil || !ok {
		t.Skipf("no bubblewrap here (%v)", err)
	}
	kills := int(number(t, "AUTOCODE_TEST_KILLS", defaultKills))
	seed := number(t, "AUTOCODE_TEST_KILL_SEED", rand.Uint64())
	t.Logf("%d kills, AUTOCODE_TEST_KILL_SEED=%d", kills, seed)
	random := rand.New(rand.NewPCG(seed, 0))

	one, err := loadSample(quickSample)
	if err != nil {
		t.Fatal(err)
	}
	script, err := modeltest.New(always(one.Script)) // a step in flight is asked for again
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	github, err := githubtest.New(githubtest.Options{Dir: filepath.Join(t.TempDir(), "github")})
	if err != nil {
		t.Fatal(err)
	}
	defer github.Close()
	gate := newGate(t, script.URL())
	p := serveProcess(t, github, gate.url)
	defer p.close()
	k := &killer{p: p}
	github.Fault(githubtest.Fault{Route: "*", Times: -1, Match: func(*http.Request) bool { k.see(false); return false }})
	gate.before(func(int, *http.Request) { k.see(true) })

	play := func(name string, plan ...killPoint) (killed []killPoint) {
		ctx, cancel := context.WithTimeout(t.Context(), killPatience)
		defer cancel()
		full := demoOwner + "/" + name
		if _, err := github.CreateRepository(githubtest.RepositoryOptions{Owner: demoOwner, Name: name, Files: one.Files}); err != nil {
			t.Fatal(err)
		}
		if err := github.SetRole(full, demoMaintainer, githubtest.RoleAdmin); err != nil {
			t.Fatal(err)
		}
		number, err := github.As(demoMaintainer).CreateIssue(full, one.Title, one.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := github.WaitDeliveries(ctx); err != nil {
			t.Fatal(err)
		}
		// GitHub does not send again what nobody took, hence the label waits for the server.
		until(ctx, t, "the server is up", func() bool { return p.page("/readyz") != "" })
		k.begin(plan...)
		began := time.Now()
		if err := github.As(demoMaintainer).Label(full, number, loop.DefaultLabel); err != nil {
			t.Fatal(err)
		}
		until(ctx, t, fmt.Sprintf("%s, to be killed at %v", name, plan), func() bool {
			row := p.page("/")
			i := strings.Index(row, "<td>"+full+"</td>")
			if i < 0 {
				return false
			}
			row, _, _ = strings.Cut(row[i:], "</tr>")
			return strings.Contains(row, `class="phase done"`)
		})
		killed = k.end()
		whole(t, github, full, number)
		t.Logf("%s is whole after %.1f s; killed at %v", name, time.Since(began).Seconds(), killed)
		return killed
	}
	play("whole")
	requests, questions := k.asked, k.question
	if requests == 0 || questions == 0 {
		t.Fatalf("only %d requests, %d questions", requests, questions)
	}
	total, again := 0, 0
	for i := 0; total < kills && !t.Failed(); i++ {
		killed := play(fmt.Sprintf("killed-%d", i), draw(random, requests, questions)...)
		total += len(killed)
		if len(killed) > 1 {
			again++
		}
		if i > 2*kills {
			t.Fatalf("%d runs, and only %d kills hit one", i, total)
		}
	}
	t.Logf("%d kills, %d runs killed more than once; each run makes %d requests, %d of them to the model", total, again, requests, questions)
	if missing := github.Unimplemented(); len(missing) > 0 {
		t.Errorf("the stand-in lacks %v", missing)
	}
}

// serveProcess starts the real program on a free port, with the stand-in as its GitHub.
func serveProcess(t testing.TB, github *githubtest.Server, modelURL string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "autocode") // under this name the test binary is the program
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	const secret = "a secret of this test"
	p := &process{t: t, path: path, address: "http://" + address, env: append(os.Environ(),
		"AUTOCODE_LISTEN="+address, "AUTOCODE_DATA_DIR="+filepath.Join(t.TempDir(), "data"), "AUTOCODE_PUBLIC_URL=http://"+address,
		"GITHUB_WEB_URL="+github.URL(), "GITHUB_V3_API_URL="+github.V3URL()+"/", "GITHUB_V4_API_URL="+github.V4URL(),
		fmt.Sprintf("GITHUB_APP_INTEGRATION_ID=%d", github.AppID()), "GITHUB_APP_WEBHOOK_SECRET="+secret,
		"GITHUB_APP_PRIVATE_KEY="+string(github.PrivateKeyPEM()),
		"OPENAI_BASE_URL="+modelURL, "AUTOCODE_MODEL="+modeltest.ModelName, "AUTOCODE_MODEL_FREE=true")}
	p.start()
	ctx, cancel := context.WithTimeout(t.Context(), killPatience)
	defer cancel()
	until(ctx, t, "the server starts", func() bool { return p.page("/healthz") != "" })
	github.SetWebhook(p.address+"/api/github/hook", secret)
	return p
}
