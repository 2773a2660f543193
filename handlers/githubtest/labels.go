package githubtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLabel is GitHub's limit on a label's name.
const maxLabel = 50

// defaultColor is the grey that GitHub gives to labels made without a colour.
const defaultColor = "ededed"

// label is a label of a repository.
type label struct {
	ID          int64
	NodeID      string
	Name        string
	Color       string
	Description string
	standard    bool
}

// labelRef is a label as clients send it: a name, or an object with one.
type labelRef struct{ Name string }

// UnmarshalJSON reads either form.
func (l *labelRef) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &l.Name)
	}
	var o struct{ Name string }
	err := json.Unmarshal(data, &o)
	l.Name = o.Name
	return err
}

func names(refs []labelRef) []string {
	out := []string{}
	for _, r := range refs {
		out = append(out, r.Name)
	}
	return out
}

func (r *repository) label(name string) *label {
	for _, l := range r.labels {
		if strings.EqualFold(l.Name, name) {
			return l
		}
	}
	return nil
}

func (s *Server) addLabel(r *repository, name, color, description string) *label {
	l := &label{ID: s.nextID(), Name: name, Color: color, Description: description}
	l.NodeID = s.nodeID("LA", l.ID, l)
	r.labels = append(r.labels, l)
	return l
}

// ensureLabel finds a label or makes it, as GitHub does when a label is put on an issue.
func (s *Server) ensureLabel(r *repository, by actor, name string) *label {
	if l := r.label(name); l != nil {
		return l
	}
	l := s.addLabel(r, name, defaultColor, "")
	s.emit(r, by, "label", "created", obj{"label": s.jsonLabel(r, l)})
	return l
}

func (s *Server) jsonLabel(r *repository, l *label) obj {
	out := obj{
		"id": l.ID, "node_id": l.NodeID, "url": s.api(r) + "/labels/" + url.PathEscape(l.Name), "name": l.Name,
		"color": l.Color, "default": l.standard, "description": nil,
	}
	if l.Description != "" {
		out["description"] = l.Description
	}
	return out
}

func (s *Server) jsonLabels(i *Issue) []obj {
	return mapAll(i.Labels, func(name string) obj { return s.jsonLabel(i.repo, i.repo.label(name)) })
}

// putLabel puts one label on an issue.
func (s *Server) putLabel(i *Issue, by actor, name string) {
	l := s.ensureLabel(i.repo, by, name)
	if slices.Contains(i.Labels, l.Name) {
		return
	}
	i.Labels = append(i.Labels, l.Name)
	i.UpdatedAt = s.clock()
	s.note(i, by, Event{Event: "labeled", Label: l.Name, label: l})
	s.emitIssue(i, by, "labeled", obj{"label": s.jsonLabel(i.repo, l)})
	s.wake()
}

// dropLabel takes one off; false where it was not on.
func (s *Server) dropLabel(i *Issue, by actor, name string) bool {
	l := i.repo.label(name)
	if l == nil || !slices.Contains(i.Labels, l.Name) {
		return false
	}
	i.Labels = slices.DeleteFunc(i.Labels, func(n string) bool { return n == l.Name })
	i.UpdatedAt = s.clock()
	s.note(i, by, Event{Event: "unlabeled", Label: l.Name, label: l})
	s.emitIssue(i, by, "unlabeled", obj{"label": s.jsonLabel(i.repo, l)})
	s.wake()
	return true
}

func (s *Server) setLabels(i *Issue, by actor, want []string) {
	for _, have := range slices.Clone(i.Labels) {
		if !slices.ContainsFunc(want, func(n string) bool { return strings.EqualFold(n, have) }) {
			s.dropLabel(i, by, have)
		}
	}
	for _, name := range want {
		s.putLabel(i, by, name)
	}
}

func (c *call) listRepoLabels() (reply, error) {
	return ok(mapAll(page(c, c.repo.labels), func(l *label) obj { return c.jsonLabel(c.repo, l) }))
}

func (c *call) getLabel() (reply, error) {
	l := c.repo.label(c.r.PathValue("name"))
	if l == nil {
		return reply{}, notFound()
	}
	return ok(c.jsonLabel(c.repo, l))
}

func (c *call) createLabel() (reply, error) {
	var in struct{ Name, Color, Description string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	switch {
	case in.Name == "":
		return reply{}, invalid("Label", "name", "missing_field")
	case utf8.RuneCountInString(in.Name) > maxLabel:
		return reply{}, invalidCustom("Label", "name", "name is too long (maximum is 50 characters)")
	case c.repo.label(in.Name) != nil:
		return reply{}, invalid("Label", "name", "already_exists")
	}
	if in.Color == "" {
		in.Color = defaultColor
	}
	l := c.addLabel(c.repo, in.Name, strings.TrimPrefix(in.Color, "#"), in.Description)
	c.emit(c.repo, c.who.actor(), "label", "created", obj{"label": c.jsonLabel(c.repo, l)})
	return created(c.jsonLabel(c.repo, l))
}

func (c *call) updateLabel() (reply, error) {
	l := c.repo.label(c.r.PathValue("name"))
	if l == nil {
		return reply{}, notFound()
	}
	var in struct {
		NewName            string `json:"new_name"`
		Color, Description *string
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if in.NewName != "" {
		for _, i := range c.repo.issues {
			if at := slices.Index(i.Labels, l.Name); at >= 0 {
				i.Labels[at] = in.NewName
			}
		}
		l.Name = in.NewName
	}
	if in.Color != nil {
		l.Color = *in.Color
	}
	if in.Description != nil {
		l.Description = *in.Description
	}
	return ok(c.jsonLabel(c.repo, l))
}

func (c *call) deleteLabel() (reply, error) {
	l := c.repo.label(c.r.PathValue("name"))
	if l == nil {
		return reply{}, notFound()
	}
	c.removeLabel(c.repo, l, c.who.actor())
	return noContent()
}

// removeLabel deletes a label from the repository and from all that carries it.
func (s *Server) removeLabel(r *repository, l *label, by actor) {
	for _, i := range r.issues {
		i.Labels = slices.DeleteFunc(i.Labels, func(n string) bool { return n == l.Name })
	}
	r.labels = slices.DeleteFunc(r.labels, func(o *label) bool { return o == l })
	s.emit(r, by, "label", "deleted", obj{"label": s.jsonLabel(r, l)})
	s.wake()
}

func (c *call) listIssueLabels() (reply, error) {
	i, err := c.issueByPath(read)
	if err != nil {
		return reply{}, err
	}
	return ok(page(c, c.jsonLabels(i)))
}

// labelsOfBody reads {"labels": [...]} or the bare array that clients send too.
func (c *call) labelsOfBody() ([]string, error) {
	var list []labelRef
	if json.Unmarshal(c.body, &list) == nil {
		return names(list), nil
	}
	var in struct{ Labels []labelRef }
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	return names(in.Labels), nil
}

func (c *call) changeLabels(change func(*Issue, []string) error) (reply, error) {
	i, err := c.issueByPath(write)
	if err != nil {
		return reply{}, err
	}
	if c.who.isUser() && c.repo.role(c.who.token.user).rank() < RoleTriage.rank() {
		return reply{}, fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	want, err := c.labelsOfBody()
	if err != nil {
		return reply{}, err
	}
	if err := change(i, want); err != nil {
		return reply{}, err
	}
	return ok(c.jsonLabels(i))
}

func (c *call) addIssueLabels() (reply, error) {
	return c.changeLabels(func(i *Issue, want []string) error {
		for _, name := range want {
			c.putLabel(i, c.who.actor(), name)
		}
		return nil
	})
}

func (c *call) setIssueLabels() (reply, error) {
	return c.changeLabels(func(i *Issue, want []string) error {
		c.setLabels(i, c.who.actor(), want)
		return nil
	})
}

func (c *call) clearIssueLabels() (reply, error) {
	rep, err := c.changeLabels(func(i *Issue, _ []string) error {
		c.setLabels(i, c.who.actor(), nil)
		return nil
	})
	if err != nil {
		return rep, err
	}
	return noContent()
}

func (c *call) removeIssueLabel() (reply, error) {
	return c.changeLabels(func(i *Issue, _ []string) error {
		if !c.dropLabel(i, c.who.actor(), c.r.PathValue("name")) {
			return fail(http.StatusNotFound, "Label does not exist")
		}
		return nil
	})
}
