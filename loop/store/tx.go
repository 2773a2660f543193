package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// dialect is which database is spoken to; it is also the directory of its migrations.
type dialect string

const (
	sqlite   dialect = "sqlite"
	postgres dialect = "postgres"
)

// bind turns the ? of our statements into what the database wants. No statement of ours has a
// question mark of another meaning.
func (d dialect) bind(query string) string {
	if d != postgres {
		return query
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

// marks is a list of n question marks for IN; n must not be 0.
func marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// anys turns texts into arguments.
func anys(texts []string) []any {
	args := make([]any, len(texts))
	for i, t := range texts {
		args[i] = t
	}
	return args
}

// executor is what *sql.DB and *sql.Tx have in common.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// conn speaks our statements to the database, in a transaction or outside of one.
type conn struct {
	executor
	dialect dialect
}

// exec returns the number of rows that were changed.
func (c conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := c.ExecContext(ctx, c.dialect.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (c conn) row(ctx context.Context, query string, args ...any) *sql.Row {
	return c.QueryRowContext(ctx, c.dialect.bind(query), args...)
}

// each calls scan for every row of the result.
func (c conn) each(ctx context.Context, scan func(rows *sql.Rows) error, query string, args ...any) error {
	rows, err := c.QueryContext(ctx, c.dialect.bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// tx is one transaction.
type tx struct {
	conn
	raw *sql.Tx
}

// forUpdate is the clause that locks the selected rows where rows can be locked; on SQLite the
// transaction is the only one that writes.
func (t tx) forUpdate() string {
	if t.dialect == postgres {
		return " FOR UPDATE"
	}
	return ""
}

// reader is for statements outside of transactions that only read.
func (s *Store) reader() conn { return conn{executor: s.read, dialect: s.dialect} }

// write runs do in a transaction, which is committed when it returns nil. do may run while the
// caller's context ends; it must not change anything but through the transaction and variables
// that only it and the caller know.
func (s *Store) write(ctx context.Context, do func(ctx context.Context, t tx) error) error {
	if s.writer != nil {
		return s.writer.do(ctx, func(ctx context.Context, raw *sql.Tx) error {
			return do(ctx, tx{conn: conn{executor: raw, dialect: s.dialect}, raw: raw})
		})
	}
	raw, err := s.main.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := do(ctx, tx{conn: conn{executor: raw, dialect: s.dialect}, raw: raw}); err != nil {
		return errors.Join(err, rollback(raw))
	}
	if err := raw.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func rollback(raw *sql.Tx) error {
	if err := raw.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// notFound turns the driver's word for an absent row into ours.
func notFound(err error, what string, args ...any) error {
	what = fmt.Sprintf(what, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, loop.ErrNotFound)
	}
	return fmt.Errorf("%s: %w", what, err)
}
