package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// The defaults of Config.
const (
	// DefaultWorkers is for a machine that also runs the repositories' tests.
	DefaultWorkers = 4
	// DefaultLeaseTTL lets another worker go on within 30 s of a kill, and outlasts a long pause
	// of a busy machine; holders should renew their lease three or four times in it.
	DefaultLeaseTTL = 15 * time.Second
	// DefaultSweepInterval is how late a delayed retry, or work whose worker died, may start.
	DefaultSweepInterval = time.Second
	// DefaultFetchCooldown bounds the queue's throughput to workers ÷ cooldown.
	DefaultFetchCooldown = 10 * time.Millisecond
	// DefaultStopGrace is how long deliveries in progress may go on when the server stops.
	DefaultStopGrace = 5 * time.Second
)

// minWorkersForShare is from how many workers on one is kept free for other repositories.
const minWorkersForShare = 2

// Config says where and how a store works. Zero values take the defaults above.
type Config struct {
	// URL of a PostgreSQL database; empty: SQLite in DataDir.
	URL string
	// DataDir is the directory of the SQLite database; it is made where it is missing.
	DataDir string
	// Workers is how many runs this process drives at a time. A single repository gets all but
	// one of them, so that a thousand runs of one never hold up the first run of another.
	Workers int
	// LeaseTTL is how long a lease lives without a heartbeat.
	LeaseTTL time.Duration
	// SweepInterval is how often expired leases and due retries are looked for.
	SweepInterval time.Duration
	// FetchCooldown is the least time between two looks into the queue.
	FetchCooldown time.Duration
	// StopGrace is how long Work waits for deliveries in progress once its context ended.
	StopGrace time.Duration
	Logger    zerolog.Logger
	// Clock tells the time; nil: the machine's.
	Clock loop.Clock
}

// Store is one open database. It is safe for concurrent use.
type Store struct {
	config  Config
	log     zerolog.Logger
	clock   loop.Clock
	dialect dialect
	codec   codec

	// main does all writes and River's work; read is for everything that only reads. On
	// PostgreSQL they are the same.
	main, read *sql.DB
	writer     *writer // nil on PostgreSQL
	driver     riverdriver.Driver[*sql.Tx]
	insert     *river.Client[*sql.Tx] // only enqueues
	closers    []func() error

	hub   *hub
	skew  atomic.Int64 // ns that the database's clock is ahead of ours
	seats seats
	hands hands

	mutex  sync.Mutex // guards the rest
	work   *work      // the call of Work in progress; nil: none
	closed bool
}

// Store keeps every promise of loop's four interfaces.
var (
	_ loop.Store     = (*Store)(nil)
	_ loop.Queue     = (*Store)(nil)
	_ loop.Inbox     = (*Store)(nil)
	_ loop.Knowledge = (*Store)(nil)
)

// Open opens the database, brings its tables up to date and, on SQLite, takes the data directory
// for this process and sets work that a killed process left behind free again.
func Open(ctx context.Context, config Config) (*Store, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	values, err := newCodec()
	if err != nil {
		return nil, err
	}
	s := &Store{config: config, log: config.Logger, clock: config.Clock, codec: values, hub: newHub()}
	s.seats.busy = map[string]int{}
	s.hands.held = map[string]struct{}{}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if s.config.URL == "" {
		err = s.openSQLite(ctx)
	} else {
		err = s.openPostgres(ctx)
	}
	if err != nil {
		return err
	}
	s.insert, err = river.NewClient(s.driver, s.riverConfig())
	if err != nil {
		return fmt.Errorf("make queue: %w", err)
	}
	if s.dialect == sqlite {
		return s.recoverAll(ctx)
	}
	return s.readSkew(ctx)
}

// Close ends the use of the store; a call of Work in progress is ended first.
func (s *Store) Close() error {
	s.mutex.Lock()
	first := !s.closed
	s.closed = true
	current := s.work
	s.mutex.Unlock()
	if !first {
		return nil
	}
	if current != nil {
		current.stop()
		<-current.done
	}
	s.hub.close()
	if s.writer != nil {
		s.writer.close()
	}
	var faults []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		faults = append(faults, s.closers[i]())
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

func (c Config) withDefaults() (Config, error) {
	if c.URL == "" && c.DataDir == "" {
		return c, errors.New("open store: neither a database URL nor a data directory is given")
	}
	if c.Workers < 0 || c.LeaseTTL < 0 || c.SweepInterval < 0 || c.FetchCooldown < 0 || c.StopGrace < 0 {
		return c, errors.New("open store: a negative number of workers or duration")
	}
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	orDefault := func(value *time.Duration, otherwise time.Duration) {
		if *value == 0 {
			*value = otherwise
		}
	}
	orDefault(&c.LeaseTTL, DefaultLeaseTTL)
	orDefault(&c.SweepInterval, DefaultSweepInterval)
	orDefault(&c.FetchCooldown, DefaultFetchCooldown)
	orDefault(&c.StopGrace, DefaultStopGrace)
	if c.Clock == nil {
		c.Clock = machineClock{}
	}
	return c, nil
}

// perRepository is how many runs of one repository this process drives at a time.
func (c Config) perRepository() int {
	if c.Workers < minWorkersForShare {
		return c.Workers
	}
	return c.Workers - 1
}

// machineClock is the real time.
type machineClock struct{}

func (machineClock) Now() time.Time                         { return time.Now() }
func (machineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// now is the time that leases are measured by: the database server's where several processes
// share one, so that a host with a wrong clock neither steals leases nor loses its own.
func (s *Store) now() time.Time {
	return s.clock.Now().Add(time.Duration(s.skew.Load())).UTC()
}

// riverLog hands River's warnings and errors to our log.
func (s *Store) riverLog() *slog.Logger {
	return slog.New(zerolog.NewSlogHandler(s.log.Level(max(zerolog.WarnLevel, s.log.GetLevel())).With().Str("part", "river").Logger()))
}

// makeDataDir makes the data directory: its files hold the texts of private repositories.
func makeDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	return nil
}
