package publish

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// locks serialises what is done under one key within this process.
type locks struct {
	mutex sync.Mutex
	held  map[string]*lock
}

// lock counts who holds it or waits for it, so that it can be forgotten.
type lock struct {
	sync.Mutex
	users int
}

// take waits for a key and returns the function that gives it back.
func (l *locks) take(key string) (release func()) {
	l.mutex.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	m := l.held[key]
	if m == nil {
		m = &lock{}
		l.held[key] = m
	}
	m.users++
	l.mutex.Unlock()
	m.Lock()
	return func() {
		m.Unlock()
		l.mutex.Lock()
		defer l.mutex.Unlock()
		if m.users--; m.users == 0 {
			delete(l.held, key)
		}
	}
}

// mostKept bounds each of the publisher's memories; what is forgotten costs one look-up.
const mostKept = 4096

// memory is what this process remembers of its own effects on GitHub, so that they are not looked up
// each time. It starts empty, and a failed effect is forgotten, since nobody knows whether it was had.
type memory[V any] struct{ kept *lru.Cache[string, V] }

func newMemory[V any]() memory[V] {
	kept, err := lru.New[string, V](mostKept)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return memory[V]{kept}
}

func (m memory[V]) get(key string) (V, bool) { return m.kept.Get(key) }
func (m memory[V]) put(key string, value V)  { m.kept.Add(key, value) }
func (m memory[V]) forget(key string)        { m.kept.Remove(key) }
