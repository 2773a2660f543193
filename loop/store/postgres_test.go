package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/store"
	"github.com/seed-7a986423/autocode/loop/store/storetest"
)

// cluster is a PostgreSQL server of the test's own, on a unix socket in a temporary directory.
type cluster struct {
	dir      string
	made     atomic.Int32
	template sync.Once
}

// startPostgres starts a server that ends with the test. The test is skipped where the machine has
// no PostgreSQL.
func startPostgres(t testing.TB) *cluster {
	t.Helper()
	bin := postgresPrograms()
	if bin == "" {
		missing(t, "PostgreSQL's initdb and postgres (Debian package postgresql)")
	}
	// Not t.TempDir: a socket's path has at most 107 bytes.
	dir, err := os.MkdirTemp("", "autocode-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attributes := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // postgres refuses to run as root
		attributes.Credential = credential(t, dir)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "autocode", "--auth", "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8")
	initdb.SysProcAttr = attributes
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300")
	server.SysProcAttr = attributes
	server.Dir = dir
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGQUIT) // at once: nothing of it is kept
		server.Wait()
		log.Close()
	})
	c := &cluster{dir: dir}
	db := c.admin(t)
	for deadline := time.Now().Add(patience); db.PingContext(t.Context()) != nil; {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("PostgreSQL does not come up:\n%s", text)
		}
		select {
		case <-t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return c
}

// postgresPrograms is the directory of the newest server that is installed.
func postgresPrograms() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is fixed and valid
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

// credential is the user that the server runs as, who is given the directory.
func credential(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		missing(t, "a user to run PostgreSQL as")
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// missing skips a test for want of a component, or fails it where everything must run.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
		t.Fatalf("%s is not there", what)
	}
	t.Skipf("%s is not there", what)
}

func (c *cluster) url(database string) string {
	return "postgres:///" + database + "?user=autocode&host=" + url.QueryEscape(c.dir)
}

func (c *cluster) admin(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// database makes an empty database, its tables ready, and returns its URL.
func (c *cluster) database(t testing.TB) string {
	t.Helper()
	c.template.Do(func() {
		c.create(t, "made", "template1")
		if err := open(t, store.Config{URL: c.url("made")}).Close(); err != nil {
			t.Fatal(err)
		}
	})
	return c.create(t, fmt.Sprintf("t%d", c.made.Add(1)), "made")
}

// create makes a database as a copy of another one.
func (c *cluster) create(t testing.TB, name, template string) string {
	t.Helper()
	db := c.admin(t)
	defer db.Close()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	return c.url(name)
}

func TestPostgresFirstStartsTakeTurns(t *testing.T) {
	c := startPostgres(t)
	address := c.create(t, "empty", "template1")
	const servers = 4
	faults := make(chan error, servers)
	for range servers {
		go func() {
			s, err := store.Open(context.WithoutCancel(t.Context()), store.Config{URL: address})
			if err == nil {
				err = s.Close()
			}
			faults <- err
		}()
	}
	for range servers {
		if err := <-faults; err != nil {
			t.Error(err)
		}
	}
}

// TestPostgresTicketsOfADeadProcess plays a process that fetched a delivery's ticket from the shared
// queue and died before it took the delivery in hand: others must not wait for more than a lease.
func TestPostgresTicketsOfADeadProcess(t *testing.T) {
	clock := storetest.NewClock()
	c := store.Config{URL: startPostgres(t).database(t), Logger: zerolog.Nop(), Clock: clock}
	s := open(t, c)
	if _, err := s.Receive(t.Context(), delivery(1)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	taken, err := db.ExecContext(t.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{dead}' WHERE kind = 'delivery'")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := taken.RowsAffected(); n != 1 || err != nil {
		t.Fatalf("%d tickets taken (error %v)", n, err)
	}

	clock.Advance(store.DefaultLeaseTTL + time.Second)
	handled := make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- s.Work(ctx, func(context.Context, string) error { return nil }, func(_ context.Context, d loop.Delivery) error {
			handled <- d.ID
			return nil
		})
	}()
	select {
	case id := <-handled:
		if want := delivery(1).ID; id != want {
			t.Errorf("delivery %q was handled, not %q", id, want)
		}
	case <-time.After(patience):
		t.Error("the delivery is not handled, a lease after its ticket's holder died")
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
