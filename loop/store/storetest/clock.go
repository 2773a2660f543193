package storetest

import (
	"sync"
	"time"
)

// Clock is a loop.Clock that stands still until it is advanced.
type Clock struct {
	mutex  sync.Mutex
	now    time.Time
	alarms []alarm
}

type alarm struct {
	at time.Time
	to chan time.Time
}

// NewClock returns a clock that starts at the machine's time, which the database's own clock
// shows too.
func NewClock() *Clock { return &Clock{now: time.Now().UTC().Truncate(time.Microsecond)} }

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// After fires once the clock was advanced by d.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	to := make(chan time.Time, 1)
	if d <= 0 {
		to <- c.now
		return to
	}
	c.alarms = append(c.alarms, alarm{at: c.now.Add(d), to: to})
	return to
}

// Advance turns the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
	var left []alarm
	for _, a := range c.alarms {
		if a.at.After(c.now) {
			left = append(left, a)
			continue
		}
		a.to <- c.now
	}
	c.alarms = left
}
