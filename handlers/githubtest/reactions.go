package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Reaction is one person's reaction.
type Reaction struct {
	ID        int64
	User      string
	Content   string
	CreatedAt time.Time

	user *user
}

// reactionKinds are GitHub's eight reactions.
var reactionKinds = []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}

// jsonRollup is the summary of reactions that issues and comments carry.
func (s *Server) jsonRollup(list []Reaction, url string) obj {
	out := obj{"url": url + "/reactions", "total_count": len(list)}
	for _, kind := range reactionKinds {
		out[kind] = 0
	}
	for _, r := range list {
		if n, isInt := out[r.Content].(int); isInt {
			out[r.Content] = n + 1
		}
	}
	return out
}

func (s *Server) jsonReaction(r Reaction) obj {
	return obj{"id": r.ID, "node_id": fmt.Sprintf("REA_%d", r.ID), "user": s.jsonUser(r.user), "content": r.Content, "created_at": stamp(r.CreatedAt)}
}

// react adds a reaction; one that is there already is returned as it is.
func (s *Server) react(list *[]Reaction, by actor, content string) (r Reaction, isNew bool, err error) {
	if !slices.Contains(reactionKinds, content) {
		return Reaction{}, false, invalid("Reaction", "content", "invalid")
	}
	for _, have := range *list {
		if have.user == by.user && have.Content == content {
			return have, false, nil
		}
	}
	r = Reaction{ID: s.nextID(), User: by.user.login(), Content: content, CreatedAt: s.clock(), user: by.user}
	*list = append(*list, r)
	s.wake()
	return r, true, nil
}

// reactionsByPath finds the list of what the path names: an issue, a comment or a review comment.
func (c *call) reactionsByPath(kind string, l level) (*[]Reaction, error) {
	switch kind {
	case "issue":
		i, err := c.issueByPath(l)
		if err != nil {
			return nil, err
		}
		return &i.Reactions, nil
	case "comment":
		m, err := c.commentByPath(l)
		if err != nil {
			return nil, err
		}
		return &m.Reactions, nil
	}
	m, err := c.reviewCommentByPath()
	if err != nil {
		return nil, err
	}
	return &m.Reactions, nil
}

func listReactions(kind string) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		list, err := c.reactionsByPath(kind, read)
		if err != nil {
			return reply{}, err
		}
		var out []Reaction
		for _, r := range *list {
			if want := c.query("content"); want == "" || want == r.Content {
				out = append(out, r)
			}
		}
		return ok(mapAll(page(c, out), c.jsonReaction))
	}
}

func createReaction(kind string) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		list, err := c.reactionsByPath(kind, write)
		if err != nil {
			return reply{}, err
		}
		var in struct{ Content string }
		if err := c.decode(&in); err != nil {
			return reply{}, err
		}
		r, isNew, err := c.react(list, c.who.actor(), in.Content)
		if err != nil {
			return reply{}, err
		}
		if isNew {
			return created(c.jsonReaction(r))
		}
		return ok(c.jsonReaction(r))
	}
}

func deleteReaction(kind string) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		list, err := c.reactionsByPath(kind, write)
		if err != nil {
			return reply{}, err
		}
		id, err := c.number("reaction")
		if err != nil {
			return reply{}, err
		}
		at := slices.IndexFunc(*list, func(r Reaction) bool { return r.ID == id })
		if at < 0 {
			return reply{}, notFound()
		}
		if (*list)[at].user != c.who.actor().user {
			return reply{}, fail(http.StatusForbidden, "You cannot delete another user's reaction.")
		}
		*list = slices.Delete(*list, at, at+1)
		return noContent()
	}
}
