package workspace

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// basicAuth is the credential part of the header that GitHub takes for an installation token.
func basicAuth(token string) string {
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
}

// authorize gives a call what it needs to talk to the source's server, a fresh token included.
//
// The token travels in the environment of this one git process, as the value of a configuration
// key that is bound to the server's URL. Arguments are readable by every user of the machine, a
// URL ends up in messages and reflogs, a credential helper is run by a shell, and a file outlives
// a kill; the environment is readable by the server's own user alone and ends with the process.
// Redirections are not followed, so that the header goes to no other host.
func (w *Workspace) authorize(ctx context.Context, c call, src source, access loop.Access) (call, error) {
	c.protocols = src.url.Scheme
	if w.config.CAFile != "" {
		c.config = append(c.config, setting{"http.sslCAInfo", w.config.CAFile})
	}
	if w.config.Proxy != "" {
		c.config = append(c.config, setting{"http.proxy", w.config.Proxy})
	}
	if w.config.Tokens == nil {
		return c, nil
	}
	token, _, err := w.config.Tokens.Token(ctx, src.repo, access)
	if err != nil {
		return call{}, fmt.Errorf("token to %s %s: %w", access, src.repo.FullName(), err)
	}
	if token == "" {
		return c, nil
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return call{}, errors.New("the token source returned a token with white space or control characters")
	}
	c.secret = token
	c.config = append(c.config, setting{
		"http." + src.url.Scheme + "://" + src.url.Host + "/.extraHeader", "Authorization: Basic " + basicAuth(token),
	})
	return c, nil
}
