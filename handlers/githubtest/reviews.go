package githubtest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ReviewState is what a review says.
type ReviewState string

// The states of a submitted review.
const (
	ReviewApproved         ReviewState = "APPROVED"
	ReviewChangesRequested ReviewState = "CHANGES_REQUESTED"
	ReviewCommented        ReviewState = "COMMENTED"
)

// reviewEvents translates the verb of the request.
var reviewEvents = map[string]ReviewState{"APPROVE": ReviewApproved, "REQUEST_CHANGES": ReviewChangesRequested, "COMMENT": ReviewCommented}

// Review is a submitted review.
type Review struct {
	ID          int64
	NodeID      string
	Author      string
	Body        string
	State       ReviewState
	CommitID    string
	SubmittedAt time.Time

	user *user
	pull *PullRequest
}

// ReviewComment is a comment on a line of a pull request's diff.
type ReviewComment struct {
	ID        int64
	NodeID    string
	ReviewID  int64
	Author    string
	Path      string
	Line      int
	Side      string
	Body      string
	CommitID  string
	InReplyTo int64
	Reactions []Reaction
	CreatedAt time.Time
	UpdatedAt time.Time
	Edits     []Edit

	user *user
	pull *PullRequest
}

// LineComment is a remark of a review to be.
type LineComment struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Side string `json:"side"`
	Body string `json:"body"`
}

// addReview submits a review with its comments and sends the events of both.
func (s *Server) addReview(p *PullRequest, by actor, state ReviewState, body string, remarks []LineComment) (*Review, error) {
	if by.user == p.issue.user && state != ReviewCommented {
		return nil, unprocessable("Unprocessable Entity", "Can not approve or request changes on your own pull request")
	}
	if strings.TrimSpace(body) == "" && state != ReviewApproved && len(remarks) == 0 {
		return nil, unprocessable("Unprocessable Entity", "Review body can't be blank")
	}
	if err := checkBody("PullRequestReview", body); err != nil {
		return nil, err
	}
	v := &Review{ID: s.nextID(), Author: by.user.login(), Body: body, State: state, CommitID: p.HeadSHA, SubmittedAt: s.clock(), user: by.user, pull: p}
	v.NodeID = s.nodeID("PRR", v.ID, v)
	p.reviews = append(p.reviews, v)
	p.issue.UpdatedAt = s.clock()
	var made []*ReviewComment
	for _, remark := range remarks {
		m, err := s.newReviewComment(p, by, remark, 0)
		if err != nil {
			return nil, err
		}
		m.ReviewID = v.ID
		made = append(made, m)
	}
	s.emit(p.issue.repo, by, "pull_request_review", "submitted", obj{"review": s.hookReview(v), "pull_request": s.jsonPull(p)})
	for _, m := range made {
		s.emitReviewComment(m, by, "created", nil)
	}
	s.wake()
	return v, nil
}

func (s *Server) newReviewComment(p *PullRequest, by actor, in LineComment, inReplyTo int64) (*ReviewComment, error) {
	if strings.TrimSpace(in.Body) == "" {
		return nil, invalidCustom("PullRequestReviewComment", "body", "body can't be blank")
	}
	if err := checkBody("PullRequestReviewComment", in.Body); err != nil {
		return nil, err
	}
	if in.Path == "" {
		return nil, invalid("PullRequestReviewComment", "path", "missing_field")
	}
	if in.Side == "" {
		in.Side = "RIGHT"
	}
	now := s.clock()
	m := &ReviewComment{
		ID: s.nextID(), Author: by.user.login(), Path: in.Path, Line: in.Line, Side: in.Side, Body: in.Body, CommitID: p.HeadSHA,
		InReplyTo: inReplyTo, CreatedAt: now, UpdatedAt: now, user: by.user, pull: p,
	}
	m.NodeID = s.nodeID("PRRC", m.ID, m)
	p.comments = append(p.comments, m)
	p.issue.UpdatedAt = now
	return m, nil
}

func (s *Server) emitReviewComment(m *ReviewComment, by actor, action string, more obj) {
	payload := obj{"comment": s.jsonReviewComment(m), "pull_request": s.jsonPull(m.pull)}
	for k, v := range more {
		payload[k] = v
	}
	s.emit(m.pull.issue.repo, by, "pull_request_review_comment", action, payload)
}

func (s *Server) jsonReview(v *Review) obj {
	p := v.pull
	page := fmt.Sprintf("%s#pullrequestreview-%d", s.issuePage(p.issue), v.ID)
	return obj{
		"id": v.ID, "node_id": v.NodeID, "user": s.jsonUser(v.user), "body": v.Body, "state": v.State, "html_url": page,
		"pull_request_url": s.pullURL(p), "submitted_at": stamp(v.SubmittedAt), "commit_id": v.CommitID, "author_association": p.issue.repo.association(v.user),
		"_links": obj{"html": obj{"href": page}, "pull_request": obj{"href": s.pullURL(p)}},
	}
}

// hookReview is the review of a webhook, whose state is in small letters.
func (s *Server) hookReview(v *Review) obj {
	out := s.jsonReview(v)
	out["state"] = strings.ToLower(string(v.State))
	return out
}

// hunk is the part of the diff that a comment stands at; one line suffices for people.
func (m *ReviewComment) hunk() string { return fmt.Sprintf("@@ -%d,1 +%d,1 @@", m.Line, m.Line) }

func (s *Server) jsonReviewComment(m *ReviewComment) obj {
	p := m.pull
	url := fmt.Sprintf("%s/pulls/comments/%d", s.api(p.issue.repo), m.ID)
	page := fmt.Sprintf("%s#discussion_r%d", s.issuePage(p.issue), m.ID)
	var review, line any
	if m.ReviewID != 0 {
		review = m.ReviewID
	}
	if m.Line > 0 && m.CommitID == p.HeadSHA {
		line = m.Line // an outdated comment has no line any more
	}
	out := obj{
		"id": m.ID, "node_id": m.NodeID, "url": url, "html_url": page, "pull_request_review_id": review, "diff_hunk": m.hunk(), "path": m.Path,
		"position": line, "original_position": m.Line, "commit_id": p.HeadSHA, "original_commit_id": m.CommitID, "user": s.jsonUser(m.user),
		"body": m.Body, "created_at": stamp(m.CreatedAt), "updated_at": stamp(m.UpdatedAt), "pull_request_url": s.pullURL(p),
		"author_association": p.issue.repo.association(m.user), "reactions": s.jsonRollup(m.Reactions, url),
		"start_line": nil, "original_start_line": nil, "start_side": nil, "line": line, "original_line": m.Line, "side": m.Side, "subject_type": "line",
		"_links": obj{"self": obj{"href": url}, "html": obj{"href": page}, "pull_request": obj{"href": s.pullURL(p)}},
	}
	if m.InReplyTo != 0 {
		out["in_reply_to_id"] = m.InReplyTo
	}
	return out
}

func (c *call) listReviews() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(mapAll(page(c, p.reviews), c.jsonReview))
}

func (c *call) reviewByPath() (*PullRequest, *Review, error) {
	p, err := c.pullByPath()
	if err != nil {
		return nil, nil, err
	}
	id, err := c.number("review")
	if err != nil {
		return nil, nil, err
	}
	for _, v := range p.reviews {
		if v.ID == id {
			return p, v, nil
		}
	}
	return nil, nil, notFound()
}

func (c *call) getReview() (reply, error) {
	_, v, err := c.reviewByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonReview(v))
}

func (c *call) listCommentsOfReview() (reply, error) {
	p, v, err := c.reviewByPath()
	if err != nil {
		return reply{}, err
	}
	var out []*ReviewComment
	for _, m := range p.comments {
		if m.ReviewID == v.ID {
			out = append(out, m)
		}
	}
	return ok(mapAll(page(c, out), c.jsonReviewComment))
}

func (c *call) createReview() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	var in struct {
		Body, Event string
		Comments    []LineComment
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	state, known := reviewEvents[in.Event]
	if !known {
		// Without an event GitHub keeps a pending review, which nobody else sees.
		return reply{}, fail(http.StatusNotImplemented, "the stand-in GitHub does not implement pending reviews")
	}
	v, err := c.addReview(p, c.who.actor(), state, in.Body, in.Comments)
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonReview(v))
}

func (c *call) listPullComments() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(mapAll(page(c, p.comments), c.jsonReviewComment))
}

func (c *call) createPullComment() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	var in struct {
		LineComment
		InReplyTo int64 `json:"in_reply_to"`
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if in.InReplyTo != 0 {
		return c.replyTo(p, in.InReplyTo, in.Body)
	}
	m, err := c.newReviewComment(p, c.who.actor(), in.LineComment, 0)
	if err != nil {
		return reply{}, err
	}
	c.emitReviewComment(m, c.who.actor(), "created", nil)
	return created(c.jsonReviewComment(m))
}

func (c *call) replyComment() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	id, err := c.number("id")
	if err != nil {
		return reply{}, err
	}
	var in struct{ Body string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	return c.replyTo(p, id, in.Body)
}

func (c *call) replyTo(p *PullRequest, id int64, body string) (reply, error) {
	for _, parent := range p.comments {
		if parent.ID != id {
			continue
		}
		if parent.InReplyTo != 0 {
			id = parent.InReplyTo
		}
		m, err := c.newReviewComment(p, c.who.actor(), LineComment{Path: parent.Path, Line: parent.Line, Side: parent.Side, Body: body}, id)
		if err != nil {
			return reply{}, err
		}
		c.emitReviewComment(m, c.who.actor(), "created", nil)
		return created(c.jsonReviewComment(m))
	}
	return reply{}, notFound()
}

func (c *call) reviewCommentByPath() (*ReviewComment, error) {
	id, err := c.number("id")
	if err != nil {
		return nil, err
	}
	for _, p := range c.repo.pulls {
		for _, m := range p.comments {
			if m.ID == id {
				return m, nil
			}
		}
	}
	return nil, notFound()
}

func (c *call) getPullComment() (reply, error) {
	m, err := c.reviewCommentByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonReviewComment(m))
}

func (c *call) updatePullComment() (reply, error) {
	m, err := c.reviewCommentByPath()
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
	if err := c.editReviewComment(m, c.who.actor(), in.Body); err != nil {
		return reply{}, err
	}
	return ok(c.jsonReviewComment(m))
}

func (s *Server) editReviewComment(m *ReviewComment, by actor, body string) error {
	if err := checkBody("PullRequestReviewComment", body); err != nil {
		return err
	}
	old := m.Body
	m.UpdatedAt = s.clock()
	if old != body {
		m.Edits = withEdit(m.Edits, Edit{m.CreatedAt, m.user.login(), old}, Edit{m.UpdatedAt, by.user.login(), body})
	}
	m.Body = body
	s.emitReviewComment(m, by, "edited", obj{"changes": obj{"body": obj{"from": old}}})
	return nil
}
