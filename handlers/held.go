package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-7a986423/autocode/loop"
)

// atWork says that an event has to wait for the end of a run. It is a loop.ErrLater.
type atWork struct {
	run    string
	number int
	phase  loop.Phase
}

func (a atWork) Error() string { return fmt.Sprintf("run %d is %s", a.number, a.phase) }

// Unwrap has the queue come back.
func (a atWork) Unwrap() error { return loop.ErrLater }

// waitFor is the error for an event that is looked at after a run.
func waitFor(s loop.Snapshot) error { return atWork{s.Run.ID, s.Run.Number, s.Phase} }

// busy says that a run will come to an end or a question by itself.
func busy(p loop.Phase) bool { return !p.Ended() && !p.Waits() }

// held remembers which deliveries wait for which run, so that coming back to one asks nothing of GitHub
// while the run is at work. What a restart forgets is found out again at the first look.
type held struct {
	mutex sync.Mutex
	runs  map[string]string // by delivery
}

func (h *held) get(delivery string) (run string, waits bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	run, waits = h.runs[delivery]
	return run, waits
}

func (h *held) put(delivery, run string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.runs == nil || len(h.runs) >= mostRemembered {
		h.runs = map[string]string{}
	}
	h.runs[delivery] = run
}

func (h *held) forget(delivery string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.runs, delivery)
}

// still returns the reason to go on waiting, nil where there is none.
func (h *Handlers) still(ctx context.Context, delivery string) error {
	run, waits := h.held.get(delivery)
	if !waits {
		return nil
	}
	s, err := h.Store.Snapshot(ctx, run)
	if err == nil && busy(s.Phase) {
		return waitFor(s)
	}
	h.held.forget(delivery)
	return nil
}

// hold remembers a delivery whose handling ended with atWork.
func (h *Handlers) hold(delivery string, err error) {
	var wait atWork
	if errors.As(err, &wait) {
		h.held.put(delivery, wait.run)
	}
}
