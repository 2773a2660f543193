package githubtest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

const (
	// maxJWTLife is the longest life that GitHub accepts of an App's JWT.
	maxJWTLife = 10 * time.Minute
	// clockSkew is how far the client's clock may be ahead.
	clockSkew = time.Minute
	// tokenLife is the life of an installation token.
	tokenLife = time.Hour
	// tokenBytes is the randomness of a token; 18 bytes are the 36 characters that GitHub uses.
	tokenBytes = 18
)

// level orders what a permission allows.
type level int

const (
	none level = iota
	read
	write
	admin
)

var levels = map[string]level{"": none, "none": none, "read": read, "write": write, "admin": admin}

// token is an installation's or a user's token.
type token struct {
	value string
	user  *user
	inst  *installation
	// repos restricts an installation token; nil means all of the installation's.
	repos   map[int64]bool
	perms   map[string]string
	expires time.Time
}

// principal is who makes a request; nil is nobody.
type principal struct {
	// app is set for JWTs and installation tokens.
	app *app
	// token is set for installation and user tokens.
	token *token
}

func (p *principal) isApp() bool  { return p != nil && p.app != nil && p.token == nil }
func (p *principal) isInst() bool { return p != nil && p.token != nil && p.token.inst != nil }
func (p *principal) isUser() bool { return p != nil && p.token != nil && p.token.user != nil }

func (p *principal) name() string {
	switch {
	case p.isApp():
		return "app"
	case p.isInst():
		return p.app.bot.Login
	case p.isUser():
		return p.token.user.Login
	}
	return ""
}

// actor is who stands behind an effect: a person, or the bot of an App.
type actor struct {
	user *user
	via  *app
}

func (p *principal) actor() actor {
	switch {
	case p.isInst():
		return actor{p.app.bot, p.app}
	case p.isUser():
		return actor{user: p.token.user}
	}
	return actor{}
}

// authenticate finds out who asks. A credential that does not hold is 401, none is nobody.
func (s *Server) authenticate(r *http.Request) (*principal, error) {
	cred := credential(r)
	if cred == "" {
		return nil, nil
	}
	if strings.Count(cred, ".") == 2 {
		return s.authenticateJWT(cred)
	}
	t := s.tokens[cred]
	if t == nil || !t.expires.IsZero() && !s.now().Before(t.expires) {
		return nil, fail(http.StatusUnauthorized, "Bad credentials")
	}
	if t.inst == nil {
		return &principal{token: t}, nil
	}
	if s.installations[t.inst.ID] == nil {
		return nil, fail(http.StatusUnauthorized, "Bad credentials")
	}
	if !t.inst.Suspended.IsZero() {
		return nil, fail(http.StatusForbidden, "This installation has been suspended")
	}
	return &principal{app: t.inst.app, token: t}, nil
}

// credential takes the token out of an Authorization header of any of the forms that GitHub knows.
func credential(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch strings.ToLower(scheme) {
	case "bearer", "token":
		return strings.TrimSpace(value)
	case "basic":
		name, password, _ := r.BasicAuth()
		if password == "" || password == "x-oauth-basic" {
			return name
		}
		return password
	}
	return ""
}

// authenticateJWT checks signature, issuer and times of an App's JWT.
func (s *Server) authenticateJWT(raw string) (*principal, error) {
	// The library would take the real clock, so that the times are checked below.
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation())
	claims := jwt.RegisteredClaims{}
	if _, err := parser.ParseWithClaims(raw, &claims, func(*jwt.Token) (any, error) { return &s.key.PublicKey, nil }); err != nil {
		return nil, fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	now := s.appNow()
	switch {
	case claims.ExpiresAt == nil:
		return nil, fail(http.StatusUnauthorized, "Missing 'exp' claim in assertion")
	case claims.IssuedAt == nil:
		return nil, fail(http.StatusUnauthorized, "Missing 'iat' claim in assertion")
	case !now.Before(claims.ExpiresAt.Time):
		return nil, fail(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case claims.ExpiresAt.Sub(now) > maxJWTLife+clockSkew:
		return nil, fail(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	case claims.IssuedAt.After(now.Add(clockSkew)):
		return nil, fail(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.Issuer != fmt.Sprint(s.app.ID) && claims.Issuer != s.app.ClientID:
		return nil, fail(http.StatusUnauthorized, "'Issuer' claim ('iss') must be an Integer")
	}
	return &principal{app: s.app}, nil
}

// need says who may call a route.
type need struct {
	kind needKind
	// perms are alternatives, any of which suffices.
	perms []perm
}

type perm struct {
	name  string
	level level
}

type needKind string

const (
	needAnyone needKind = "anyone"
	needApp    needKind = "app"
	needInst   needKind = "installation"
	needUser   needKind = "user"
	needRepo   needKind = "repository"
)

// The permissions that routes ask for, by GitHub's names.
const (
	metadata  = "metadata"
	contents  = "contents"
	issues    = "issues"
	pulls     = "pull_requests"
	checks    = "checks"
	statuses  = "statuses"
	adminPerm = "administration"
	workflows = "workflows"
	actions   = "actions"
)

// refusedByGH is what GitHub says to an App without the permission.
const refusedByGH = "Resource not accessible by integration"

// reads and writes build the need of a repository route; several names are alternatives.
func reads(names ...string) need  { return repoNeed(read, names) }
func writes(names ...string) need { return repoNeed(write, names) }

func repoNeed(l level, names []string) need {
	n := need{kind: needRepo}
	for _, name := range names {
		n.perms = append(n.perms, perm{name, l})
	}
	return n
}

// authorise checks the need and finds the repository of the path.
func (s *Server) authorise(c *call, n need) error {
	switch n.kind {
	case needAnyone:
		return nil
	case needApp:
		if !c.who.isApp() {
			return fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
		}
		return nil
	case needInst:
		if !c.who.isInst() {
			return fail(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
		}
		return nil
	case needUser:
		switch {
		case c.who == nil:
			return fail(http.StatusUnauthorized, "Requires authentication")
		case !c.who.isUser():
			return fail(http.StatusForbidden, refusedByGH)
		}
		return nil
	case needRepo:
		return s.authoriseRepo(c, n)
	}
	return fail(http.StatusInternalServerError, "unknown need %q", n.kind)
}

// authoriseRepo answers 404 for what the caller may not see, 403 for what it may not do.
func (s *Server) authoriseRepo(c *call, n need) error {
	repo := s.repos[repoKey(c.r.PathValue("owner"), c.r.PathValue("repo"))]
	if repo == nil || c.who.isApp() {
		if c.who.isApp() {
			return fail(http.StatusUnauthorized, "A JSON web token was given where an installation access token is needed")
		}
		return notFound()
	}
	c.repo = repo
	if !s.canSee(c.who, repo) {
		return notFound()
	}
	wants := none
	allowed := false
	for _, p := range n.perms {
		wants = max(wants, p.level)
		allowed = allowed || s.allows(c.who, repo, p)
	}
	switch {
	case !allowed && c.who == nil:
		return fail(http.StatusUnauthorized, "Requires authentication")
	case !allowed && c.who.isInst():
		return fail(http.StatusForbidden, refusedByGH)
	case !allowed && wants >= write:
		return fail(http.StatusForbidden, "Must have write access to Repository.")
	case !allowed:
		return notFound()
	case wants >= write && repo.Archived:
		return fail(http.StatusForbidden, "Repository was archived so is read-only.")
	}
	return nil
}

// canSee says whether a repository exists for a caller.
func (s *Server) canSee(who *principal, repo *repository) bool {
	switch {
	case !repo.Private:
		return true
	case who.isInst():
		return who.token.covers(repo)
	case who.isUser():
		return repo.role(who.token.user) != roleNone
	}
	return false
}

// covers says whether an installation token reaches a repository.
func (t *token) covers(repo *repository) bool {
	return t.inst.covers(repo) && (t.repos == nil || t.repos[repo.ID])
}

// allows says whether a caller has one permission on a repository that it can see.
func (s *Server) allows(who *principal, repo *repository, p perm) bool {
	switch {
	case who.isInst():
		if who.token.covers(repo) {
			return levels[who.token.perms[p.name]] >= p.level
		}
		return !repo.Private && p.level <= read
	case who.isUser():
		return repo.role(who.token.user).allows(p, repo.Private)
	}
	return !repo.Private && p.level <= read
}

// requireOn is the second check of routes that serve issues and pull requests alike: an App needs
// the permission of what the number turns out to be.
func (c *call) requireOn(i *Issue, l level) error {
	name := issues
	if i.IsPull {
		// GitHub serves the issue side of a pull request with either permission.
		if c.allows(c.who, c.repo, perm{pulls, l}) {
			return nil
		}
	}
	if !c.allows(c.who, c.repo, perm{name, l}) {
		return fail(http.StatusForbidden, refusedByGH)
	}
	return nil
}

// newToken makes an unguessable token with a prefix of GitHub's.
func newToken(prefix string) string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails, by its documentation
	return prefix + hex.EncodeToString(b)
}

// UserToken makes a token with which requests act as a person.
func (s *Server) UserToken(login string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &token{value: newToken("ghu_"), user: s.userNamed(login)}
	s.tokens[t.value] = t
	return t.value
}

// ExpireTokens ends every installation token issued so far, as an hour's passing would.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.tokens, func(_ string, t *token) bool { return t.inst != nil })
	s.wake()
}

// nodeID makes the global id of an object and remembers what it stands for.
func (s *Server) nodeID(prefix string, id int64, object any) string {
	node := prefix + "_kwDO" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%08d", id))
	s.nodes[node] = object
	return node
}
