package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// lockPoll is how often a lock held by another process is asked for again.
const lockPoll = 50 * time.Millisecond

// keyed holds one lock per key within this process.
type keyed struct {
	mu    sync.Mutex
	slots map[string]chan struct{}
}

// lock waits for the key's lock, or for the end of ctx.
func (k *keyed) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	if k.slots == nil {
		k.slots = map[string]chan struct{}{}
	}
	slot, ok := k.slots[key]
	if !ok {
		slot = make(chan struct{}, 1)
		k.slots[key] = slot
	}
	k.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// lockFile waits for the exclusive lock of a file, against other processes. The file stays open
// while it is locked; a child that inherits it keeps the lock until it ends, so that a fetch that
// outlives a killed server is waited for.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close() // the lock's error is the one that matters
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			_ = f.Close() // nothing was written
			return nil, fmt.Errorf("wait for the lock %s: %w", path, context.Cause(ctx))
		}
	}
}
