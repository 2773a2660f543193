package store

import (
	"context"
	"sync"
	"time"
)

// watchPoll is how often other processes' changes are looked for on PostgreSQL: a person who
// watches a page does not notice less.
const watchPoll = time.Second

// hub tells watchers of changes that this process makes.
type hub struct {
	mutex    sync.Mutex
	watchers map[*watcher]struct{}
	closed   bool
}

// watcher is one listener; a second change before it looked is the same to it as the first.
type watcher struct {
	run    string // "": all runs
	notice chan struct{}
}

func newHub() *hub { return &hub{watchers: map[*watcher]struct{}{}} }

func (h *hub) add(run string) *watcher {
	w := &watcher{run: run, notice: make(chan struct{}, 1)}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		close(w.notice)
		return w
	}
	h.watchers[w] = struct{}{}
	return w
}

func (h *hub) remove(w *watcher) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if _, known := h.watchers[w]; known {
		delete(h.watchers, w)
		close(w.notice)
	}
}

func (h *hub) changed(run string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for w := range h.watchers {
		if w.run == "" || run == "" || w.run == run {
			select {
			case w.notice <- struct{}{}:
			default:
			}
		}
	}
}

func (h *hub) ended() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.closed
}

func (h *hub) close() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.closed = true
	for w := range h.watchers {
		delete(h.watchers, w)
		close(w.notice)
	}
}

// Watch returns a channel that gets a value after each change of a run (a snapshot, a signal), or
// of any run where run is "". Changes that come close together give one value: the reader looks at
// the store for what is new. The channel is closed when the context or the store ends. It has no
// value for the state at the start; read that after Watch, so that nothing falls between.
func (s *Store) Watch(ctx context.Context, run string) (<-chan struct{}, error) {
	last := int64(0)
	if s.dialect == postgres {
		var err error
		if last, err = s.version(ctx, run); err != nil {
			return nil, err
		}
	}
	w := s.hub.add(run)
	context.AfterFunc(ctx, func() { s.hub.remove(w) })
	if s.dialect == postgres {
		go s.pollVersion(ctx, run, last)
	}
	return w.notice, nil
}

// version counts the changes of a run, or of all.
func (s *Store) version(ctx context.Context, run string) (version int64, err error) {
	query, args := "SELECT coalesce(sum(version), 0) FROM runs", []any{}
	if run != "" {
		query, args = query+" WHERE id = ?", append(args, run)
	}
	if err := s.reader().row(ctx, query, args...).Scan(&version); err != nil {
		return 0, notFound(err, "watch run %q", run)
	}
	return version, nil
}

// pollVersion notices what other processes change.
func (s *Store) pollVersion(ctx context.Context, run string, last int64) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.clock.After(watchPoll):
		}
		version, err := s.version(ctx, run)
		if err != nil {
			if s.hub.ended() {
				return
			}
			if ctx.Err() == nil {
				s.log.Warn().Err(err).Msg("changes could not be looked for; the next look tries again")
			}
			continue
		}
		if version != last {
			last = version
			s.hub.changed(run)
		}
	}
}
