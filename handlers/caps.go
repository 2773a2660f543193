package handlers

import (
	"sync"
	"time"
)

// Caps on commands (security.md, case 22): more in the window is a mistake or an attack. Runs have a
// cap of their own, which survives a restart; these only keep the conversation quiet.
const (
	capWindow      = 10 * time.Minute
	mostByPerson   = 20
	mostInThread   = 30
	mostRemembered = 10_000 // keys; when there are more, all are forgotten
)

// caps counts the commands of each person and thread in a window.
type caps struct {
	mutex sync.Mutex
	seen  map[string]*window
}

// window counts since it began.
type window struct {
	began time.Time
	count int
}

// verdictOfCap says what becomes of a command.
type verdictOfCap int

const (
	capAllows verdictOfCap = iota
	capTells               // the first one too many: it is said once
	capSilent
)

// count counts one more command under a key.
func (c *caps) count(key string, most int, now time.Time) verdictOfCap {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.seen == nil || len(c.seen) >= mostRemembered {
		c.seen = map[string]*window{}
	}
	w := c.seen[key]
	if w == nil || now.Sub(w.began) >= capWindow {
		w = &window{began: now}
		c.seen[key] = w
	}
	w.count++
	switch {
	case w.count <= most:
		return capAllows
	case w.count == most+1:
		return capTells
	default:
		return capSilent
	}
}
