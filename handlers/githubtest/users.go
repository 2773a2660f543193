package githubtest

import (
	"maps"
	"net/url"
	"strings"
	"time"
)

// user is a person, an organisation or a bot.
type user struct {
	ID        int64
	NodeID    string
	Login     string
	Type      string
	CreatedAt time.Time
	// deleted accounts are shown as null on what they wrote.
	deleted bool
}

// Role is what a collaborator may do, in GitHub's words.
type Role string

// The roles, ascending.
const (
	RoleRead     Role = "read"
	RoleTriage   Role = "triage"
	RoleWrite    Role = "write"
	RoleMaintain Role = "maintain"
	RoleAdmin    Role = "admin"
	roleNone     Role = "none"
)

// rank orders the roles.
func (r Role) rank() int {
	switch r {
	case roleNone:
		return 0
	case RoleRead:
		return 1
	case RoleTriage:
		return 2
	case RoleWrite:
		return 3
	case RoleMaintain:
		return 4
	case RoleAdmin:
		return 5
	}
	return 0
}

// permission is the legacy name that the collaborator endpoint answers with.
func (r Role) permission() string {
	switch r {
	case RoleMaintain:
		return "write"
	case RoleTriage:
		return "read"
	case RoleRead, RoleWrite, RoleAdmin, roleNone:
		return string(r)
	}
	return "none"
}

// allows says what a person may do with a role. Writing issues and pull requests is open to all
// who can read; the handlers ask for more where GitHub does.
func (r Role) allows(p perm, private bool) bool {
	canRead := !private || r.rank() >= RoleRead.rank()
	switch {
	case p.level <= read:
		return canRead
	case p.name == issues || p.name == pulls:
		return canRead
	case p.name == checks:
		return false // only Apps write check runs
	case p.level == admin || p.name == adminPerm:
		return r == RoleAdmin
	}
	return r.rank() >= RoleWrite.rank()
}

// addUser makes an account, or finds it.
func (s *Server) addUser(login, kind string) *user {
	key := strings.ToLower(login)
	if u := s.users[key]; u != nil {
		return u
	}
	u := &user{ID: s.nextID(), Login: login, Type: kind, CreatedAt: s.clock()}
	u.NodeID = s.nodeID("U", u.ID, u)
	s.users[key] = u
	return u
}

func (s *Server) userNamed(login string) *user {
	if strings.HasSuffix(login, "[bot]") {
		return s.addUser(login, "Bot")
	}
	return s.addUser(login, "User")
}

func (s *Server) orgNamed(login string) *user { return s.addUser(login, "Organization") }

// DeleteUser deletes an account: what it wrote stays, with null for its author.
func (s *Server) DeleteUser(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.users[strings.ToLower(login)]; u != nil {
		u.deleted = true
		delete(s.users, strings.ToLower(login))
	}
	s.wake()
}

// AddUser makes a person's account and returns its id; a login ending in [bot] is a bot.
func (s *Server) AddUser(login string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.userNamed(login).ID
}

// jsonUser is the "simple user"; nil for a deleted account.
func (s *Server) jsonUser(u *user) any {
	if u == nil || u.deleted {
		return nil
	}
	api := s.V3URL() + "/users/" + url.PathEscape(u.Login)
	html := s.base + "/" + u.Login
	if u.Type == "Bot" {
		html = s.base + "/apps/" + strings.TrimSuffix(u.Login, "[bot]")
	}
	return obj{
		"login": u.Login, "id": u.ID, "node_id": u.NodeID, "avatar_url": s.base + "/avatars/" + url.PathEscape(u.Login), "gravatar_id": "",
		"url": api, "html_url": html, "followers_url": api + "/followers", "following_url": api + "/following{/other_user}",
		"gists_url": api + "/gists{/gist_id}", "starred_url": api + "/starred{/owner}{/repo}", "subscriptions_url": api + "/subscriptions",
		"organizations_url": api + "/orgs", "repos_url": api + "/repos", "events_url": api + "/events{/privacy}",
		"received_events_url": api + "/received_events", "type": u.Type, "site_admin": false, "user_view_type": "public",
	}
}

func (s *Server) jsonFullUser(u *user) obj {
	out, _ := s.jsonUser(u).(obj)
	maps.Copy(out, obj{
		"name": u.Login, "company": nil, "blog": "", "location": nil, "email": nil, "hireable": nil, "bio": nil,
		"public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
		"created_at": stamp(u.CreatedAt), "updated_at": stamp(u.CreatedAt),
	})
	return out
}

func (c *call) getUser() (reply, error) {
	u := c.users[strings.ToLower(c.r.PathValue("login"))]
	if u == nil {
		return reply{}, notFound()
	}
	return ok(c.jsonFullUser(u))
}

func (c *call) getSelf() (reply, error) { return ok(c.jsonFullUser(c.who.token.user)) }

func (c *call) getPermission() (reply, error) {
	u := c.users[strings.ToLower(c.r.PathValue("login"))]
	if u == nil {
		return reply{}, notFound()
	}
	role := c.repo.role(u)
	if role == roleNone && !c.repo.Private {
		role = RoleRead // everyone can read a public repository
	}
	person, _ := c.jsonUser(u).(obj)
	person["permissions"] = permissionBits(role)
	person["role_name"] = string(role)
	return ok(obj{"permission": role.permission(), "role_name": string(role), "user": person})
}

func (c *call) isCollaborator() (reply, error) {
	if u := c.users[strings.ToLower(c.r.PathValue("login"))]; u == nil || c.repo.role(u) == roleNone {
		return reply{}, notFound()
	}
	return noContent()
}

func permissionBits(r Role) obj {
	return obj{
		"pull": r.rank() >= RoleRead.rank(), "triage": r.rank() >= RoleTriage.rank(), "push": r.rank() >= RoleWrite.rank(),
		"maintain": r.rank() >= RoleMaintain.rank(), "admin": r == RoleAdmin,
	}
}

// stamp is GitHub's way to write a time.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func stampOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t)
}
