package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// Stats are counts for metrics and the panel.
type Stats struct {
	// Phases counts all runs by phase.
	Phases map[loop.Phase]int
	// Open counts runs that have not ended, Active those that a worker has, Ready those that
	// wait for a worker, Delayed those that wait for the time of their next try.
	Open, Active, Ready, Delayed int
	// Deliveries that are not handled yet, how old the oldest is, and those that were given up.
	Deliveries       int
	OldestDelivery   time.Duration
	FailedDeliveries int
}

// Stats counts runs and what waits in the queue, all at one instant: a delivery that becomes a run
// meanwhile is counted once. That is why it is one statement; between two of them the delivery
// could be handled, and its run be seen by neither.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	now := s.now()
	stats := Stats{Phases: map[loop.Phase]int{}}
	err := s.reader().each(ctx, func(rows *sql.Rows) error {
		var phase loop.Phase // empty for deliveries
		var state string     // empty for runs
		var n, open, active, ready, delayed int
		var oldest int64
		if err := rows.Scan(&phase, &state, &n, &open, &active, &ready, &delayed, &oldest); err != nil {
			return err
		}
		switch state {
		case "":
			stats.Phases[phase] = n
			stats.Open, stats.Active = stats.Open+open, stats.Active+active
			stats.Ready, stats.Delayed = stats.Ready+ready, stats.Delayed+delayed
		case "failed":
			stats.FailedDeliveries = n
		default:
			stats.Deliveries += n
			stats.OldestDelivery = max(stats.OldestDelivery, now.Sub(fromMicros(oldest)))
		}
		return nil
	}, `SELECT phase, '', count(*), sum(CASE WHEN ended = 0 THEN 1 ELSE 0 END), sum(CASE WHEN lease_until IS NOT NULL THEN 1 ELSE 0 END),
		sum(CASE WHEN ready_at <= ? THEN 1 ELSE 0 END), sum(CASE WHEN ready_at > ? THEN 1 ELSE 0 END), 0 FROM runs GROUP BY phase
		UNION ALL
		SELECT '', state, count(*), 0, 0, 0, 0, min(received_at) FROM deliveries WHERE state IN ('pending', 'handling', 'failed') GROUP BY state`,
		micros(now), micros(now))
	if err != nil {
		return Stats{}, fmt.Errorf("count runs and deliveries: %w", err)
	}
	return stats, nil
}
