package verify

import (
	"regexp"
	"time"
)

// unreached is a registry that could not be reached.
type unreached struct {
	until time.Time
	why   string
}

// unreachedLife is how long a registry that could not be reached is not asked again: the clones of
// one run are set up within it, and a network that came back is found by the next.
const unreachedLife = 2 * time.Minute

// noNetwork finds what installers say where a host has no address or may not be reached: trying
// again at once finds the same. Refused, reset and slow connections are tried again.
var noNetwork = regexp.MustCompile(`(?i)(?:could not|couldn't) resolve (?:host|proxy)|temporary failure in name resolution|name or service not known|no address associated|` +
	`nodename nor servname|\bENOTFOUND\b|\bEAI_AGAIN\b|no such host|could not reach host|UnknownHostException|network is unreachable|dns error|` +
	`tunnel connection failed: 403|proxy responded with 403|CONNECT tunnel failed, response 403`)

// notReached is why a registry need not be asked, "" where it may.
func (v *Verifier) notReached(registry string) string {
	known, _ := v.unreached.Load(registry)
	if last, is := known.(unreached); is && time.Now().Before(last.until) {
		return last.why
	}
	return ""
}
