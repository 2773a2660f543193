package workspace

import (
	"context"
	"errors"
	"regexp"
	"time"
)

const (
	// remoteTries is how often git asks a remote in all. What takes longer than these is left to the run,
	// which rests and comes back to the whole phase.
	remoteTries = 4
	// remotePause is the pause before the second try; each further one doubles it.
	remotePause = 500 * time.Millisecond
)

// passing is what git says of trouble on the way to a remote or in it that is often gone a moment later.
var passing = regexp.MustCompile(`(?i)returned error: (?:429|5\d\d)|RPC failed|early EOF|unexpected disconnect|hung up|connection (?:reset|refused|timed out)|` +
	`could not resolve host|failed to connect|empty reply from server|recv failure|timeout was reached`)

// remote runs a command that asks a remote, again where it met passing trouble. A push may be repeated: it says
// which commit it expects there.
func (w *Workspace) remote(ctx context.Context, c call) ([]byte, error) {
	pause := remotePause
	for try := 1; ; try++ {
		out, err := w.git.run(ctx, c)
		var failed *Error
		if err == nil || try == remoteTries || !errors.As(err, &failed) || failed.Err != nil || !passing.MatchString(failed.Stderr) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(pause):
		}
		pause *= 2
	}
}
