package store

import (
	"context"
	"embed"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed migrations
var migrations embed.FS

// databaseName is the SQLite file in a data directory.
const databaseName = "autocode.db"

// readConnections is how many readers SQLite serves at a time, beside the one writer.
const readConnections = 4

// openSQLite opens the data directory's database: one connection that writes, since more than one
// only wait for each other (measured: tails of a second), and a few that read, which a
// write-ahead log lets pass.
//
// synchronous is FULL: an acknowledged webhook has reached the disk, not just the kernel, so that
// it survives a loss of power and not only a kill. What it costs is one fsync per commit, which
// the writer spreads over everything that waits at the moment; against NORMAL, 500 webhooks a
// second of 12 KB made no difference that could be told from the noise of the disk.
func (s *Store) openSQLite(ctx context.Context) error {
	s.dialect = sqlite
	if err := makeDataDir(s.config.DataDir); err != nil {
		return err
	}
	lock, err := lockDirectory(s.config.DataDir)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, lock.Close)

	path, err := filepath.Abs(filepath.Join(s.config.DataDir, databaseName))
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	file := "file://" + (&url.URL{Path: path}).EscapedPath()
	s.main, err = openCached(file + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-16000)")
	if err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	s.main.SetMaxOpenConns(1)
	s.closers = append(s.closers, s.main.Close)
	if err := s.main.PingContext(ctx); err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	s.driver = riversqlite.New(s.main)
	if err := s.migrate(ctx); err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}

	s.read, err = openCached(file + "?_pragma=busy_timeout(10000)&_pragma=query_only(1)&_pragma=cache_size(-4000)")
	if err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	s.read.SetMaxOpenConns(readConnections)
	s.read.SetMaxIdleConns(readConnections)
	s.closers = append(s.closers, s.read.Close)
	s.writer = newWriter(s.main)
	return nil
}
