package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// maxGroup is how many changes share one commit at most: enough to clear what piles up behind a
// slow moment of the disk, few enough that the first does not wait long for the last.
const maxGroup = 64

// errClosed is returned for a change after Close.
var errClosed = errors.New("the store is closed")

// writer makes all changes of a SQLite database, one after the other on its one connection.
// What waits while a commit is under way goes into the next one together, each change behind a
// savepoint, so that one that fails takes no other with it. Nothing waits for company: a change
// that comes alone is committed alone.
type writer struct {
	db      *sql.DB
	changes chan *change
	done    chan struct{}

	mutex  sync.RWMutex // guards closed and the end of changes
	closed bool
}

// change is one caller's share of a commit.
type change struct {
	ctx    context.Context
	do     func(ctx context.Context, raw *sql.Tx) error
	err    error
	result chan error
}

func newWriter(db *sql.DB) *writer {
	w := &writer{db: db, changes: make(chan *change, maxGroup), done: make(chan struct{})}
	go w.run()
	return w
}

// do makes one change and returns once it is durable. A context that ends before the change has
// begun keeps it from being made; one that ends later does not.
func (w *writer) do(ctx context.Context, do func(ctx context.Context, raw *sql.Tx) error) error {
	c := &change{ctx: ctx, do: do, result: make(chan error, 1)}
	w.mutex.RLock()
	if w.closed {
		w.mutex.RUnlock()
		return errClosed
	}
	select {
	case w.changes <- c:
		w.mutex.RUnlock()
	case <-ctx.Done():
		w.mutex.RUnlock()
		return ctx.Err()
	}
	return <-c.result
}

// close waits for the changes that were accepted.
func (w *writer) close() {
	w.mutex.Lock()
	if !w.closed {
		w.closed = true
		close(w.changes)
	}
	w.mutex.Unlock()
	<-w.done
}

func (w *writer) run() {
	defer close(w.done)
	for first := range w.changes {
		w.commit(first)
	}
}

// commit makes first and everything else that waits once the connection is free.
func (w *writer) commit(first *change) {
	ctx := context.Background() // the group outlives each of its callers' contexts
	group := []*change{first}
	raw, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		first.result <- fmt.Errorf("begin transaction: %w", err)
		return
	}
	made := w.apply(ctx, raw, first)
	for made == nil && len(group) < maxGroup {
		next := w.waiting()
		if next == nil {
			break
		}
		group = append(group, next)
		made = w.apply(ctx, raw, next)
	}
	if made == nil {
		if err := raw.Commit(); err != nil {
			made = fmt.Errorf("commit: %w", err)
		}
	}
	if made != nil {
		made = errors.Join(made, rollback(raw))
	}
	for _, c := range group {
		if made != nil {
			c.err = made
		}
		c.result <- c.err
	}
}

// waiting returns a change that waits already, or nil.
func (w *writer) waiting() *change {
	select {
	case next := <-w.changes:
		return next
	default:
		return nil
	}
}

// apply makes one change of a group. The error is one of the transaction as a whole; a change's
// own is kept in it.
func (w *writer) apply(ctx context.Context, raw *sql.Tx, c *change) error {
	if c.err = c.ctx.Err(); c.err != nil {
		return nil
	}
	if _, err := raw.ExecContext(ctx, "SAVEPOINT one"); err != nil {
		return fmt.Errorf("begin change: %w", err)
	}
	// The values of the caller's context are for River's hooks; its end must not cut a change in two.
	c.err = c.do(context.WithoutCancel(c.ctx), raw)
	if c.err != nil {
		if _, err := raw.ExecContext(ctx, "ROLLBACK TO one"); err != nil {
			return fmt.Errorf("undo change: %w", err)
		}
	}
	if _, err := raw.ExecContext(ctx, "RELEASE one"); err != nil {
		return fmt.Errorf("end change: %w", err)
	}
	return nil
}
