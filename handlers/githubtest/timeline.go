package githubtest

import (
	"cmp"
	"fmt"
	"slices"
)

// jsonEvent is the "issue event"; the timeline uses the same object.
func (s *Server) jsonEvent(i *Issue, e Event) obj {
	out := obj{
		"id": e.ID, "node_id": fmt.Sprintf("LE_%d", e.ID), "url": fmt.Sprintf("%s/issues/events/%d", s.api(i.repo), e.ID),
		"actor": s.jsonUser(e.user), "event": e.Event, "commit_id": nil, "commit_url": nil,
		"created_at": stamp(e.CreatedAt), "performed_via_github_app": s.viaApp(e.via),
	}
	if e.commit != "" {
		out["commit_id"], out["commit_url"] = e.commit, s.api(i.repo)+"/commits/"+e.commit
	}
	if e.label != nil {
		out["label"] = obj{"name": e.Label, "color": e.label.Color}
	}
	if e.Event == "renamed" {
		out["rename"] = obj{"from": e.rename[0], "to": e.rename[1]}
	}
	switch e.Event {
	case "assigned", "unassigned":
		out["assignee"], out["assigner"] = s.jsonUser(e.assignee), s.jsonUser(e.user)
	case "review_requested":
		out["requested_reviewer"], out["review_requester"] = s.jsonUser(e.assignee), s.jsonUser(e.user)
	}
	if e.Event == "closed" {
		out["state_reason"] = nil
		if !i.IsPull && i.StateReason != "" {
			out["state_reason"] = i.StateReason
		}
	}
	return out
}

func (c *call) listIssueEvents() (reply, error) {
	i, err := c.issueByPath(read)
	if err != nil {
		return reply{}, err
	}
	return ok(mapAll(page(c, i.Timeline), func(e Event) obj { return c.jsonEvent(i, e) }))
}

func (c *call) getIssueEvent() (reply, error) {
	id, err := c.number("id")
	if err != nil {
		return reply{}, err
	}
	for _, i := range c.repo.issues {
		for _, e := range i.Timeline {
			if e.ID == id {
				out := c.jsonEvent(i, e)
				out["issue"] = c.jsonIssue(i)
				return ok(out)
			}
		}
	}
	return reply{}, notFound()
}

func (c *call) listRepoEvents() (reply, error) {
	type pair struct {
		i *Issue
		e Event
	}
	var all []pair
	for _, i := range c.repo.issues {
		for _, e := range i.Timeline {
			all = append(all, pair{i, e})
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(b.e.ID, a.e.ID) })
	return ok(mapAll(page(c, all), func(p pair) obj {
		out := c.jsonEvent(p.i, p.e)
		out["issue"] = c.jsonIssue(p.i)
		return out
	}))
}

// listTimeline mixes events, comments, reviews and commits in the order in which they happened.
func (c *call) listTimeline() (reply, error) {
	i, err := c.issueByPath(read)
	if err != nil {
		return reply{}, err
	}
	type entry struct {
		id   int64
		body obj
	}
	var all []entry
	for _, e := range i.Timeline {
		all = append(all, entry{e.ID, c.jsonEvent(i, e)})
	}
	for _, m := range c.repo.commentsOf(i.Number) {
		o := c.jsonComment(m)
		o["event"], o["actor"] = "commented", o["user"]
		all = append(all, entry{m.ID, o})
	}
	if i.IsPull {
		for _, v := range c.repo.pulls[i.Number].reviews {
			o := c.jsonReview(v)
			o["event"] = "reviewed"
			all = append(all, entry{v.ID, o})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	return ok(mapAll(page(c, all), func(e entry) obj { return e.body }))
}
