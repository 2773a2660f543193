package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
)

const (
	// migrationLock is the advisory lock that makes concurrent first starts take turns.
	migrationLock = 0x6175746f636f6465 // "autocode"
	// claimLock makes processes choose the next run one after the other, so that each choice
	// sees the last one.
	claimLock = migrationLock + 1
	// poolConnections is what a process needs beyond one per worker: deliveries, heartbeats,
	// the panel.
	poolConnections = 16
)

// openPostgres connects to the database of Config.URL.
func (s *Store) openPostgres(ctx context.Context) error {
	s.dialect = postgres
	config, err := pgxpool.ParseConfig(s.config.URL)
	if err != nil {
		return fmt.Errorf("database URL: %w", err) // pgx leaves the password out of this error
	}
	config.MaxConns = max(config.MaxConns, int32(s.config.Workers)+poolConnections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	s.closers = append(s.closers, func() error { pool.Close(); return nil })
	if err := pool.Ping(ctx); err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	// River takes connections out of the listener's pool for good, so it has one of its own.
	listening := config.Copy()
	listening.MaxConns, listening.MinConns = 1, 0
	listener, err := pgxpool.NewWithConfig(ctx, listening)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	s.closers = append(s.closers, func() error { listener.Close(); return nil })
	s.main = stdlib.OpenDBFromPool(pool)
	s.main.SetMaxOpenConns(int(config.MaxConns))
	s.read = s.main
	s.closers = append(s.closers, s.main.Close)
	s.driver = riverdatabasesql.NewWithPgxListener(s.main, listener)

	lock, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer lock.Release()
	if _, err := lock.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return fmt.Errorf("wait for another process's migrations: %w", err)
	}
	err = s.migrate(ctx)
	if _, unlocking := lock.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrationLock)); unlocking != nil {
		err = errors.Join(err, fmt.Errorf("let other processes migrate: %w", unlocking))
	}
	return err
}

// readSkew measures how far the database server's clock is ahead of the machine's. A clock that
// was given is believed.
func (s *Store) readSkew(ctx context.Context) error {
	if _, machine := s.clock.(machineClock); !machine {
		return nil
	}
	before := s.clock.Now()
	var there int64
	if err := s.main.QueryRowContext(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&there); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	after := s.clock.Now()
	here := before.Add(after.Sub(before) / 2)
	s.skew.Store(int64(time.UnixMicro(there).Sub(here)))
	return nil
}
