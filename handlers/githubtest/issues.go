package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// State of an issue or pull request.
type State string

// The states.
const (
	StateOpen   State = "open"
	StateClosed State = "closed"
)

const (
	// maxBody is GitHub's limit on the body of an issue, pull request or comment, in characters.
	maxBody = 65_536
	// maxTitle is its limit on titles.
	maxTitle = 256
)

// Edit is one version of a text.
type Edit struct {
	At   time.Time
	By   string
	Body string
}

// Issue is an issue, or the issue side of a pull request.
type Issue struct {
	ID          int64
	NodeID      string
	Number      int
	IsPull      bool
	Title, Body string
	State       State
	StateReason string
	// Author is a login; "" once the account is deleted.
	Author    string
	Labels    []string
	Assignees []string
	Locked    bool
	Reactions []Reaction
	CreatedAt time.Time
	UpdatedAt time.Time
	ClosedAt  time.Time
	// Edits are the versions of the body, the original first; empty while it was never edited.
	Edits []Edit
	// Timeline are the events, in order.
	Timeline []Event

	user     *user
	closedBy *user
	via      *app
	repo     *repository
}

// Event is something that happened to an issue.
type Event struct {
	ID    int64
	Event string
	Actor string
	// Label is the label's name of labeled and unlabeled.
	Label     string
	CreatedAt time.Time

	user     *user
	via      *app
	commit   string
	rename   [2]string
	assignee *user
	label    *label
}

// Comment is a comment on an issue or pull request.
type Comment struct {
	ID        int64
	NodeID    string
	Number    int
	Author    string
	Body      string
	Reactions []Reaction
	CreatedAt time.Time
	UpdatedAt time.Time
	Edits     []Edit

	user *user
	via  *app
	repo *repository
}

func (i *Issue) clone() Issue {
	out := *i
	out.Author = i.user.login()
	out.Labels, out.Assignees = slices.Clone(i.Labels), slices.Clone(i.Assignees)
	out.Reactions, out.Edits, out.Timeline = slices.Clone(i.Reactions), slices.Clone(i.Edits), slices.Clone(i.Timeline)
	return out
}

func (m *Comment) clone() Comment {
	out := *m
	out.Author = m.user.login()
	out.Reactions, out.Edits = slices.Clone(m.Reactions), slices.Clone(m.Edits)
	return out
}

// login is the name of an account that may be gone.
func (u *user) login() string {
	if u == nil || u.deleted {
		return ""
	}
	return u.Login
}

// checkBody enforces the limit on texts.
func checkBody(resource, body string) error {
	if utf8.RuneCountInString(body) > maxBody {
		return invalidCustom(resource, "body", fmt.Sprintf("body is too long (maximum is %d characters)", maxBody))
	}
	return nil
}

// newIssue makes an issue or the issue side of a pull request, without events.
func (s *Server) newIssue(r *repository, by actor, title, body string, pull bool) *Issue {
	r.lastNumber++
	now := s.clock()
	i := &Issue{
		ID: s.nextID(), Number: r.lastNumber, IsPull: pull, Title: title, Body: body, State: StateOpen,
		CreatedAt: now, UpdatedAt: now, user: by.user, via: by.via, repo: r,
	}
	if !pull {
		i.NodeID = s.nodeID("I", i.ID, i)
	}
	r.issues[i.Number] = i
	return i
}

// openIssue makes an issue and sends its events: opened, then labeled for each label.
func (s *Server) openIssue(r *repository, by actor, title, body string, labels, assignees []string) (*Issue, error) {
	if strings.TrimSpace(title) == "" {
		return nil, invalid("Issue", "title", "missing_field")
	}
	if utf8.RuneCountInString(title) > maxTitle {
		return nil, invalidCustom("Issue", "title", fmt.Sprintf("title is too long (maximum is %d characters)", maxTitle))
	}
	if err := checkBody("Issue", body); err != nil {
		return nil, err
	}
	i := s.newIssue(r, by, title, body, false)
	var added []*label
	for _, name := range labels {
		l := s.ensureLabel(r, by, name)
		if !slices.Contains(i.Labels, l.Name) {
			i.Labels = append(i.Labels, l.Name)
			added = append(added, l)
		}
	}
	s.emitIssue(i, by, "opened", nil)
	for _, l := range added {
		s.note(i, by, Event{Event: "labeled", Label: l.Name, label: l})
		s.emitIssue(i, by, "labeled", obj{"label": s.jsonLabel(r, l)})
	}
	s.assign(i, by, assignees)
	s.wake()
	return i, nil
}

// note adds to the timeline.
func (s *Server) note(i *Issue, by actor, e Event) {
	e.ID, e.CreatedAt, e.user, e.Actor, e.via = s.nextID(), s.clock(), by.user, by.user.login(), by.via
	i.Timeline = append(i.Timeline, e)
}

// emitIssue sends an issues event, or the pull_request event of the same action.
func (s *Server) emitIssue(i *Issue, by actor, action string, more obj) {
	if i.IsPull {
		s.emitPull(i.repo.pulls[i.Number], by, action, more)
		return
	}
	payload := obj{"issue": s.jsonIssue(i)}
	for k, v := range more {
		payload[k] = v
	}
	s.emit(i.repo, by, "issues", action, payload)
}

// issueEdit is what may be changed of an issue or the issue side of a pull request; nil leaves.
type issueEdit struct {
	Title, Body *string
	State       *State
	StateReason *string
	Labels      *[]string
	Assignees   *[]string
}

// editIssue applies an edit and sends the events.
func (s *Server) editIssue(i *Issue, by actor, e issueEdit) error {
	resource := "Issue"
	if i.IsPull {
		resource = "PullRequest"
	}
	if e.Title != nil && strings.TrimSpace(*e.Title) == "" {
		return invalid(resource, "title", "missing_field")
	}
	if e.Body != nil {
		if err := checkBody(resource, *e.Body); err != nil {
			return err
		}
	}
	if e.State != nil && *e.State != StateOpen && *e.State != StateClosed {
		return invalid(resource, "state", "invalid")
	}
	changes := obj{}
	now := s.clock()
	if e.Title != nil && *e.Title != i.Title {
		changes["title"] = obj{"from": i.Title}
		s.note(i, by, Event{Event: "renamed", rename: [2]string{i.Title, *e.Title}})
		i.Title = *e.Title
	}
	if e.Body != nil && *e.Body != i.Body {
		changes["body"] = obj{"from": i.Body}
		i.Edits = withEdit(i.Edits, Edit{i.CreatedAt, i.user.login(), i.Body}, Edit{now, by.user.login(), *e.Body})
		i.Body = *e.Body
	}
	i.UpdatedAt = now
	if len(changes) > 0 {
		s.emitIssue(i, by, "edited", obj{"changes": changes})
	}
	if e.Labels != nil {
		s.setLabels(i, by, *e.Labels)
	}
	if e.Assignees != nil {
		s.assign(i, by, *e.Assignees)
	}
	if e.State != nil && *e.State != i.State {
		s.setState(i, by, *e.State, e.StateReason)
	}
	s.wake()
	return nil
}

// assign makes the assignees those given and sends an event for each that comes or goes.
func (s *Server) assign(i *Issue, by actor, want []string) {
	had := i.Assignees
	i.Assignees = slices.Clone(want)
	tell := func(action string, login string) {
		u := s.userNamed(login)
		s.note(i, by, Event{Event: action, assignee: u})
		s.emitIssue(i, by, action, obj{"assignee": s.jsonUser(u)})
	}
	for _, login := range had {
		if !slices.Contains(want, login) {
			tell("unassigned", login)
		}
	}
	for _, login := range want {
		if !slices.Contains(had, login) {
			tell("assigned", login)
		}
	}
}

func withEdit(edits []Edit, original, next Edit) []Edit {
	if len(edits) == 0 {
		edits = append(edits, original)
	}
	return append(edits, next)
}

func (s *Server) setState(i *Issue, by actor, state State, reason *string) {
	i.State = state
	action := "closed"
	if state == StateOpen {
		action, i.ClosedAt, i.closedBy, i.StateReason = "reopened", time.Time{}, nil, "reopened"
	} else {
		i.ClosedAt, i.closedBy, i.StateReason = s.clock(), by.user, "completed"
		if reason != nil && *reason != "" {
			i.StateReason = *reason
		}
	}
	s.note(i, by, Event{Event: action})
	s.emitIssue(i, by, action, nil)
}

func (s *Server) issueURL(i *Issue) string {
	return fmt.Sprintf("%s/issues/%d", s.api(i.repo), i.Number)
}

func (s *Server) issuePage(i *Issue) string {
	kind := "issues"
	if i.IsPull {
		kind = "pull"
	}
	return fmt.Sprintf("%s/%s/%d", s.html(i.repo), kind, i.Number)
}

// association is what an author is to a repository.
func (r *repository) association(u *user) string {
	switch {
	case u == nil || u.deleted:
		return "NONE"
	case u == r.Owner:
		return "OWNER"
	case r.role(u) != roleNone:
		if r.Owner.Type == "Organization" {
			return "MEMBER"
		}
		return "COLLABORATOR"
	}
	return "NONE"
}

func (s *Server) people(logins []string) []any {
	out := []any{}
	for _, l := range logins {
		out = append(out, s.jsonUser(s.userNamed(l)))
	}
	return out
}

func (s *Server) jsonIssue(i *Issue) obj {
	url := s.issueURL(i)
	out := obj{
		"id": i.ID, "node_id": i.nodeID(), "url": url, "repository_url": s.api(i.repo), "labels_url": url + "/labels{/name}",
		"comments_url": url + "/comments", "events_url": url + "/events", "html_url": s.issuePage(i), "number": i.Number,
		"title": i.Title, "user": s.jsonUser(i.user), "labels": s.jsonLabels(i), "state": i.State, "locked": i.Locked,
		"assignee": nil, "assignees": s.people(i.Assignees), "milestone": nil, "comments": len(i.repo.commentsOf(i.Number)),
		"created_at": stamp(i.CreatedAt), "updated_at": stamp(i.UpdatedAt), "closed_at": stampOrNil(i.ClosedAt),
		"author_association": i.repo.association(i.user), "active_lock_reason": nil, "body": nil, "closed_by": s.jsonUser(i.closedBy),
		"reactions": s.jsonRollup(i.Reactions, url), "timeline_url": url + "/timeline", "performed_via_github_app": s.viaApp(i.via), "state_reason": nil,
	}
	if i.Body != "" {
		out["body"] = i.Body
	}
	if len(i.Assignees) > 0 {
		out["assignee"] = s.jsonUser(s.userNamed(i.Assignees[0]))
	}
	if i.StateReason != "" {
		out["state_reason"] = i.StateReason
	}
	if i.IsPull {
		p := i.repo.pulls[i.Number]
		page := s.issuePage(i)
		out["draft"] = p.Draft
		out["pull_request"] = obj{"url": s.pullURL(p), "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch", "merged_at": stampOrNil(p.MergedAt)}
	}
	return out
}

func (i *Issue) nodeID() string {
	if i.IsPull {
		return i.repo.pulls[i.Number].NodeID
	}
	return i.NodeID
}

// issueByPath finds the issue of the path and checks the permission that its kind needs.
func (c *call) issueByPath(l level) (*Issue, error) {
	n, err := c.number("number")
	if err != nil {
		return nil, err
	}
	i := c.repo.issues[int(n)]
	if i == nil {
		return nil, notFound()
	}
	return i, c.requireOn(i, l)
}

func (c *call) getIssue() (reply, error) {
	i, err := c.issueByPath(read)
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonIssue(i))
}

func (c *call) listIssues() (reply, error) {
	state, since := c.query("state"), c.query("since")
	var out []*Issue
	for _, i := range c.repo.issues {
		if !stateMatches(i.State, state) || since != "" && stamp(i.UpdatedAt) < since {
			continue
		}
		if who := c.query("creator"); who != "" && !strings.EqualFold(i.user.login(), who) {
			continue
		}
		if !hasAll(i.Labels, c.query("labels")) {
			continue
		}
		out = append(out, i)
	}
	newest := c.query("direction") != "asc"
	slices.SortFunc(out, func(a, b *Issue) int {
		order := a.Number - b.Number
		if c.query("sort") == "updated" && !a.UpdatedAt.Equal(b.UpdatedAt) {
			order = a.UpdatedAt.Compare(b.UpdatedAt)
		}
		if newest {
			return -order
		}
		return order
	})
	return ok(mapAll(page(c, out), c.jsonIssue))
}

func stateMatches(s State, want string) bool {
	return want == "all" || want == "" && s == StateOpen || want == string(s)
}

func hasAll(labels []string, want string) bool {
	for name := range strings.SplitSeq(want, ",") {
		if name != "" && !slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, name) }) {
			return false
		}
	}
	return true
}

func (c *call) createIssue() (reply, error) {
	var in struct {
		Title     any
		Body      string
		Labels    []labelRef
		Assignees []string
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	title, _ := in.Title.(string)
	labels := names(in.Labels)
	if c.who.isUser() && c.repo.role(c.who.token.user).rank() < RoleTriage.rank() {
		labels, in.Assignees = nil, nil // silently dropped for those without the right, as on GitHub
	}
	i, err := c.openIssue(c.repo, c.who.actor(), title, in.Body, labels, in.Assignees)
	if err != nil {
		return reply{}, err
	}
	c.header.Set("Location", c.issueURL(i))
	return created(c.jsonIssue(i))
}

func (c *call) updateIssue() (reply, error) {
	i, err := c.issueByPath(write)
	if err != nil {
		return reply{}, err
	}
	var in struct {
		Title, Body *string
		State       *State
		StateReason *string `json:"state_reason"`
		Labels      *[]labelRef
		Assignees   *[]string
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if err := c.mayTriage(i.user); err != nil {
		return reply{}, err
	}
	edit := issueEdit{Title: in.Title, Body: in.Body, State: in.State, StateReason: in.StateReason, Assignees: in.Assignees}
	if in.Labels != nil {
		list := names(*in.Labels)
		edit.Labels = &list
	}
	if err := c.editIssue(i, c.who.actor(), edit); err != nil {
		return reply{}, err
	}
	return ok(c.jsonIssue(i))
}

// mayTriage refuses a person who neither wrote a thing nor has the triage role.
func (c *call) mayTriage(author *user) error {
	if c.who.isUser() && c.who.token.user != author && c.repo.role(c.who.token.user).rank() < RoleTriage.rank() {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	return nil
}

func (c *call) addAssignees() (reply, error) { return c.changeAssignees(http.StatusCreated, true) }

func (c *call) removeAssignees() (reply, error) { return c.changeAssignees(http.StatusOK, false) }

// changeAssignees adds or removes; those who cannot read the repository are ignored, as on GitHub.
func (c *call) changeAssignees(status int, add bool) (reply, error) {
	i, err := c.issueByPath(write)
	if err != nil {
		return reply{}, err
	}
	var in struct{ Assignees []string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	want := slices.DeleteFunc(slices.Clone(i.Assignees), func(l string) bool { return !add && slices.Contains(in.Assignees, l) })
	for _, login := range in.Assignees {
		if u := c.users[strings.ToLower(login)]; add && u != nil && c.repo.role(u) != roleNone && !slices.Contains(want, u.Login) {
			want = append(want, u.Login)
		}
	}
	c.assign(i, c.who.actor(), want)
	return reply{status, c.jsonIssue(i)}, nil
}
