package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (r *repository) commentsOf(number int) []*Comment {
	var out []*Comment
	for _, m := range r.comments {
		if m.Number == number {
			out = append(out, m)
		}
	}
	return out
}

func (r *repository) comment(id int64) *Comment {
	for _, m := range r.comments {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// addComment writes a comment and sends its event.
func (s *Server) addComment(i *Issue, by actor, body string) (*Comment, error) {
	if strings.TrimSpace(body) == "" {
		return nil, invalidCustom("IssueComment", "body", "Body cannot be blank")
	}
	if err := checkBody("IssueComment", body); err != nil {
		return nil, err
	}
	if i.Locked && i.repo.role(by.user).rank() < RoleWrite.rank() && by.via == nil {
		return nil, fail(http.StatusForbidden, "Unable to create comment because issue is locked.")
	}
	now := s.clock()
	m := &Comment{ID: s.nextID(), Number: i.Number, Body: body, CreatedAt: now, UpdatedAt: now, user: by.user, via: by.via, repo: i.repo}
	m.NodeID = s.nodeID("IC", m.ID, m)
	i.repo.comments = append(i.repo.comments, m)
	i.UpdatedAt = now
	s.emitComment(m, by, "created", nil)
	s.wake()
	return m, nil
}

func (s *Server) editComment(m *Comment, by actor, body string) error {
	if strings.TrimSpace(body) == "" {
		return invalidCustom("IssueComment", "body", "Body cannot be blank")
	}
	if err := checkBody("IssueComment", body); err != nil {
		return err
	}
	old := m.Body
	m.UpdatedAt = s.clock()
	if old != body {
		m.Edits = withEdit(m.Edits, Edit{m.CreatedAt, m.user.login(), old}, Edit{m.UpdatedAt, by.user.login(), body})
	}
	m.Body = body
	s.emitComment(m, by, "edited", obj{"changes": obj{"body": obj{"from": old}}})
	s.wake()
	return nil
}

func (s *Server) deleteComment(m *Comment, by actor) {
	m.repo.comments = slices.DeleteFunc(m.repo.comments, func(o *Comment) bool { return o == m })
	delete(s.nodes, m.NodeID)
	s.emitComment(m, by, "deleted", nil)
	s.wake()
}

func (s *Server) emitComment(m *Comment, by actor, action string, more obj) {
	payload := obj{"issue": s.jsonIssue(m.repo.issues[m.Number]), "comment": s.jsonComment(m)}
	for k, v := range more {
		payload[k] = v
	}
	s.emit(m.repo, by, "issue_comment", action, payload)
}

func (s *Server) jsonComment(m *Comment) obj {
	i := m.repo.issues[m.Number]
	url := fmt.Sprintf("%s/issues/comments/%d", s.api(m.repo), m.ID)
	return obj{
		"id": m.ID, "node_id": m.NodeID, "url": url, "html_url": fmt.Sprintf("%s#issuecomment-%d", s.issuePage(i), m.ID),
		"body": m.Body, "user": s.jsonUser(m.user), "created_at": stamp(m.CreatedAt), "updated_at": stamp(m.UpdatedAt),
		"issue_url": s.issueURL(i), "author_association": m.repo.association(m.user),
		"performed_via_github_app": s.viaApp(m.via), "reactions": s.jsonRollup(m.Reactions, url),
	}
}

// commentByPath finds the comment of the path and checks the permission that its thread needs.
func (c *call) commentByPath(l level) (*Comment, error) {
	id, err := c.number("id")
	if err != nil {
		return nil, err
	}
	m := c.repo.comment(id)
	if m == nil {
		return nil, notFound()
	}
	return m, c.requireOn(c.repo.issues[m.Number], l)
}

func (c *call) listIssueComments() (reply, error) {
	i, err := c.issueByPath(read)
	if err != nil {
		return reply{}, err
	}
	return c.replyComments(c.repo.commentsOf(i.Number))
}

func (c *call) listRepoComments() (reply, error) { return c.replyComments(c.repo.comments) }

func (c *call) replyComments(all []*Comment) (reply, error) {
	since := c.query("since")
	var out []*Comment
	for _, m := range all {
		if since == "" || stamp(m.UpdatedAt) >= since {
			out = append(out, m)
		}
	}
	if c.query("direction") == "desc" {
		slices.Reverse(out)
	}
	return ok(mapAll(page(c, out), c.jsonComment))
}

func (c *call) createComment() (reply, error) {
	i, err := c.issueByPath(write)
	if err != nil {
		return reply{}, err
	}
	var in struct{ Body string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	m, err := c.addComment(i, c.who.actor(), in.Body)
	if err != nil {
		return reply{}, err
	}
	c.header.Set("Location", fmt.Sprintf("%s/issues/comments/%d", c.api(c.repo), m.ID))
	return created(c.jsonComment(m))
}

func (c *call) getComment() (reply, error) {
	m, err := c.commentByPath(read)
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonComment(m))
}

func (c *call) updateComment() (reply, error) {
	m, err := c.commentByPath(write)
	if err != nil {
		return reply{}, err
	}
	if err := c.mayWriteOver(m.user); err != nil {
		return reply{}, err
	}
	var in struct{ Body string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if err := c.editComment(m, c.who.actor(), in.Body); err != nil {
		return reply{}, err
	}
	return ok(c.jsonComment(m))
}

func (c *call) removeComment() (reply, error) {
	m, err := c.commentByPath(write)
	if err != nil {
		return reply{}, err
	}
	if err := c.mayWriteOver(m.user); err != nil {
		return reply{}, err
	}
	c.deleteComment(m, c.who.actor())
	return noContent()
}

// mayWriteOver lets a person change another's text with write access only.
func (c *call) mayWriteOver(author *user) error {
	if c.who.isUser() && c.who.token.user != author && c.repo.role(c.who.token.user).rank() < RoleWrite.rank() {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	return nil
}
