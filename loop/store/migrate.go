package store

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/rivermigrate"
)

// migrate brings our tables and River's up to date.
func (s *Store) migrate(ctx context.Context) error {
	gooseDialect := goose.DialectSQLite3
	if s.dialect == postgres {
		gooseDialect = goose.DialectPostgres
	}
	files, err := fs.Sub(migrations, "migrations/"+string(s.dialect))
	if err != nil {
		return fmt.Errorf("find migrations: %w", err)
	}
	ours, err := goose.NewProvider(gooseDialect, s.main, files, goose.WithDisableGlobalRegistry(true), goose.WithTableName("autocode_migration"))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	if _, err := ours.Up(ctx); err != nil {
		return fmt.Errorf("migrate tables: %w", err)
	}
	rivers, err := rivermigrate.New(s.driver, &rivermigrate.Config{Logger: s.riverLog()})
	if err != nil {
		return fmt.Errorf("prepare the queue's migrations: %w", err)
	}
	if _, err := rivers.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue's tables: %w", err)
	}
	return nil
}
