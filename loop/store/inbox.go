package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/seed-7a986423/autocode/loop"
)

// deliveryState is where a delivery stands.
type deliveryState string

const (
	deliveryPending  deliveryState = "pending"  // has a ticket, or a time at which it gets one
	deliveryHandling deliveryState = "handling" // a process has it in hand
	deliveryHandled  deliveryState = "handled"
	deliveryFailed   deliveryState = "failed" // given up; kept for a person to see
)

const (
	// ticketPatience is how long a delivery's ticket may lie in the queue before another is
	// written, at most. A ticket too many does nothing, so that it need not be exact.
	ticketPatience = time.Minute
	// giveUpAfter is the age at which a delivery that still fails is given up: what it tells is
	// no longer how things are on GitHub.
	giveUpAfter = 24 * time.Hour
	// maxDeliveryDelay and maxRunDelay cap the distance between two tries.
	maxDeliveryDelay = 5 * time.Minute
	maxRunDelay      = 10 * time.Minute
	// firstDelay is the distance between the first try and the second.
	firstDelay = time.Second
	// laterDelay is the distance between two looks at a delivery that waits for a run to end.
	laterDelay = 15 * time.Second
	// maxStoredError is how much of an error is kept with a delivery, in bytes.
	maxStoredError = 1000
)

// backoff is the distance after the n-th failure in a row, n from 1.
func backoff(n int, most time.Duration) time.Duration {
	if n > 20 { // 2^20 s is beyond every cap
		return most
	}
	return min(firstDelay<<max(n-1, 0), most)
}

// ticketDue is when a delivery whose ticket was written now gets another. Where several processes
// share a queue, one that dies takes the tickets with it that it has fetched and not begun: those
// deliveries are handed on as soon as those it has begun, a lease's time later. Where one process
// has the queue to itself, the next one begins with new tickets (recoverAll), and a long queue is
// the only reason for an old ticket.
func (s *Store) ticketDue(now time.Time) time.Time {
	if s.dialect == postgres {
		return now.Add(min(s.config.LeaseTTL, ticketPatience))
	}
	return now.Add(ticketPatience)
}

// Receive implements loop.Inbox.
func (s *Store) Receive(ctx context.Context, delivery loop.Delivery) (fresh bool, err error) {
	if delivery.ID == "" {
		return false, errors.New("receive: the delivery has no id")
	}
	blob, err := s.codec.pack(delivery.Payload)
	if err != nil {
		return false, fmt.Errorf("receive delivery %s: %w", delivery.ID, err)
	}
	now := s.now()
	if delivery.Received.IsZero() {
		delivery.Received = now
	}
	key := sql.NullString{String: clean(delivery.Key), Valid: delivery.Key != ""}
	id := clean(delivery.ID)
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, `INSERT INTO deliveries (id, key, event, state, received_at, due_at, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, id, key, clean(delivery.Event), string(deliveryPending),
			micros(delivery.Received), micros(s.ticketDue(now)), blob)
		if err != nil {
			return fmt.Errorf("store delivery %s: %w", delivery.ID, err)
		}
		fresh = n == 1
		if !fresh {
			return nil
		}
		return s.deliveryTickets(ctx, t, deliveryJob{ID: id})
	})
	if err != nil {
		return false, err
	}
	return fresh, nil
}

// deliveryTickets enqueues jobs for deliveries.
func (s *Store) deliveryTickets(ctx context.Context, t tx, tickets ...deliveryJob) error {
	jobs := make([]river.InsertManyParams, len(tickets))
	for i, ticket := range tickets {
		jobs[i] = river.InsertManyParams{Args: ticket}
	}
	if _, err := s.insert.InsertManyFastTx(ctx, t.raw, jobs); err != nil {
		return fmt.Errorf("enqueue delivery: %w", err)
	}
	return nil
}

// takeDelivery takes a pending delivery in hand. ok is false where another ticket was faster: it is not pending, or
// waits for its next try already.
func (s *Store) takeDelivery(ctx context.Context, ticket deliveryJob) (delivery loop.Delivery, ok bool, err error) {
	var received int64
	var key sql.NullString
	var blob []byte
	id, due := ticket.ID, s.now().Add(s.config.LeaseTTL)
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		return t.row(ctx, "UPDATE deliveries SET state = ?, due_at = ?, attempts = attempts + 1 WHERE id = ? AND state = ? AND attempts = ? RETURNING event, key, received_at, payload",
			string(deliveryHandling), micros(due), id, string(deliveryPending), ticket.Attempts).Scan(&delivery.Event, &key, &received, &blob)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return loop.Delivery{}, false, nil
	}
	if err != nil {
		return loop.Delivery{}, false, fmt.Errorf("take delivery %s: %w", id, err)
	}
	payload, err := s.codec.unpack(blob)
	if err != nil {
		return loop.Delivery{}, false, fmt.Errorf("take delivery %s: %w", id, err)
	}
	delivery.ID, delivery.Key, delivery.Received, delivery.Payload = id, key.String, fromMicros(received), payload
	return delivery, true, nil
}

// settleDelivery notes how a delivery's handling ended. interrupted says that we ended it: then
// the try does not count.
func (s *Store) settleDelivery(ctx context.Context, delivery loop.Delivery, failure error, interrupted bool) error {
	now := s.now()
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		if failure == nil {
			_, err := t.exec(ctx, "UPDATE deliveries SET state = ?, handled_at = ?, error = '' WHERE id = ?", string(deliveryHandled), micros(now), delivery.ID)
			return err
		}
		if errors.Is(failure, loop.ErrLater) && now.Sub(delivery.Received) <= giveUpAfter {
			_, err := t.exec(ctx, "UPDATE deliveries SET state = ?, due_at = ?, attempts = attempts - 1 WHERE id = ? AND state = ?",
				string(deliveryPending), micros(now.Add(laterDelay)), delivery.ID, string(deliveryHandling))
			return err
		}
		if interrupted {
			_, err := t.exec(ctx, "UPDATE deliveries SET state = ?, due_at = ?, attempts = attempts - 1 WHERE id = ? AND state = ?",
				string(deliveryPending), micros(now), delivery.ID, string(deliveryHandling))
			return err
		}
		var attempts int
		if err := t.row(ctx, "SELECT attempts FROM deliveries WHERE id = ?", delivery.ID).Scan(&attempts); err != nil {
			return err
		}
		state, due := deliveryPending, now.Add(backoff(attempts, maxDeliveryDelay))
		if now.Sub(delivery.Received) > giveUpAfter {
			state = deliveryFailed
		}
		text := failure.Error()
		text = clean(text[:min(len(text), maxStoredError)]) // after the cut, which may part a letter
		_, err := t.exec(ctx, "UPDATE deliveries SET state = ?, due_at = ?, error = ? WHERE id = ? AND state = ?",
			string(state), micros(due), text, delivery.ID, string(deliveryHandling))
		return err
	})
	if err != nil {
		return fmt.Errorf("note the end of delivery %s: %w", delivery.ID, err)
	}
	return nil
}
