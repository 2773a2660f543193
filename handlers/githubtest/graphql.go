package githubtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// gqlObject is a value of the GraphQL schema: its type and the fields that are modelled.
type gqlObject struct {
	typename string
	fields   gqlFields
}

// gqlFields are the resolvers of an object's fields, by name.
type gqlFields map[string]func(args map[string]any) (any, error)

// gqlError is an error in GraphQL's answer, which is 200 nevertheless.
type gqlError struct{ kind, message string }

func (e *gqlError) Error() string { return e.message }

// errUnmodelled says that a field is not there.
var errUnmodelled = errors.New("not modelled")

// gqlCall is one GraphQL request while it is executed, with the lock held.
type gqlCall struct {
	*Server
	who *principal
}

// serveGraphQL answers the mutations for drafts and queries about texts and their edits; anything
// else is 501 with the operation's text.
func (s *Server) serveGraphQL(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil {
		s.finish(w, r, "GRAPHQL", nil, reply{}, body, fail(http.StatusBadRequest, "Problems parsing JSON"))
		return
	}
	op, err := parseGraphQL(in.Query, in.Variables)
	route := "GRAPHQL"
	if err == nil && len(op.selections) > 0 {
		route += " " + op.selections[0].name
	}
	fault := s.takeFault(route, r)
	if fault.before(r) {
		s.record(r, route, nil, body, 0)
		hangUp()
	}
	if fault.status() != 0 {
		s.finishFault(w, r, route, body, fault)
		return
	}
	c := &call{Server: s, r: r, header: http.Header{}}
	var answer obj
	if err != nil {
		answer = obj{"errors": []obj{{"message": "Parse error: " + err.Error()}}}
		err = nil
	} else {
		answer, err = s.runGraphQL(c, op)
	}
	if errors.Is(err, errUnmodelled) {
		s.notImplemented(w, r, "GRAPHQL "+strings.Join(strings.Fields(in.Query), " ")+" ("+err.Error()+")")
		return
	}
	if fault.dropAfter() {
		s.record(r, route, c.who, body, 0)
		hangUp()
	}
	s.finish(w, r, route, c, reply{http.StatusOK, answer}, body, err)
}

// runGraphQL authenticates and executes with the lock held.
func (s *Server) runGraphQL(c *call, op operation) (obj, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, err := s.authenticate(c.r)
	if err != nil {
		return nil, err
	}
	if who == nil || who.isApp() {
		return nil, fail(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	}
	c.who = who
	if err := s.spendRate(c); err != nil {
		return nil, err
	}
	g := &gqlCall{s, who}
	root := g.query()
	if op.kind == "mutation" {
		root = g.mutation()
	}
	data, failures := obj{}, []obj{}
	for _, sel := range op.selections {
		value, err := g.field(root, sel)
		var failed *gqlError
		switch {
		case errors.As(err, &failed):
			failures = append(failures, obj{"type": failed.kind, "path": []string{sel.alias}, "message": failed.message})
			value = nil
		case err != nil:
			return nil, err
		}
		data[sel.alias] = value
	}
	answer := obj{"data": data}
	if len(failures) > 0 {
		answer["errors"] = failures
	}
	s.wake()
	return answer, nil
}

// field resolves one field of an object and what is selected below it.
func (g *gqlCall) field(o *gqlObject, sel selection) (any, error) {
	if sel.name == "__typename" {
		return o.typename, nil
	}
	resolve := o.fields[sel.name]
	if resolve == nil {
		return nil, fmt.Errorf("%s.%s is %w", o.typename, sel.name, errUnmodelled)
	}
	value, err := resolve(sel.args)
	if err != nil {
		return nil, err
	}
	return g.project(value, sel.sub)
}

// project applies a selection to a value.
func (g *gqlCall) project(value any, sub []selection) (any, error) {
	switch v := value.(type) {
	case *gqlObject:
		if v == nil {
			return nil, nil
		}
		out := obj{}
		return out, g.fill(out, v, sub)
	case []*gqlObject:
		list := []any{}
		for _, one := range v {
			p, err := g.project(one, sub)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
		return list, nil
	}
	return value, nil
}

// interfaces are the abstract types that a fragment may name.
var interfaces = map[string]bool{"Node": true, "Comment": true, "Actor": true, "Updatable": true, "Reactable": true, "Labelable": true}

func (g *gqlCall) fill(out obj, o *gqlObject, sub []selection) error {
	for _, sel := range sub {
		if sel.on != "" {
			if sel.on == o.typename || interfaces[sel.on] {
				if err := g.fill(out, o, sel.sub); err != nil {
					return err
				}
			}
			continue
		}
		value, err := g.field(o, sel)
		if err != nil {
			return err
		}
		out[sel.alias] = value
	}
	return nil
}

// plain makes a resolver of a value that needs no arguments.
func plain(v any) func(map[string]any) (any, error) {
	return func(map[string]any) (any, error) { return v, nil }
}

func (g *gqlCall) query() *gqlObject {
	return &gqlObject{"Query", gqlFields{
		"viewer": plain(g.actorObject(g.who.actor().user)),
		"node": func(args map[string]any) (any, error) {
			id, _ := args["id"].(string)
			return g.node(id)
		},
		"repository": func(args map[string]any) (any, error) {
			r := g.repos[repoKey(fmt.Sprint(args["owner"]), fmt.Sprint(args["name"]))]
			if r == nil || !g.canSee(g.who, r) {
				return nil, &gqlError{"NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%v/%v'.", args["owner"], args["name"])}
			}
			return g.repoObject(r), nil
		},
	}}
}

func (g *gqlCall) mutation() *gqlObject {
	return &gqlObject{"Mutation", gqlFields{
		"markPullRequestReadyForReview": g.draftMutation("MarkPullRequestReadyForReviewPayload", false),
		"convertPullRequestToDraft":     g.draftMutation("ConvertPullRequestToDraftPayload", true),
	}}
}

func (g *gqlCall) draftMutation(typename string, draft bool) func(map[string]any) (any, error) {
	return func(args map[string]any) (any, error) {
		in, _ := args["input"].(map[string]any)
		id, _ := in["pullRequestId"].(string)
		p, isPull := g.nodes[id].(*PullRequest)
		if !isPull || !g.canSee(g.who, p.issue.repo) {
			return nil, noNode(id)
		}
		if !g.allows(g.who, p.issue.repo, perm{pulls, write}) || g.who.isUser() && g.who.token.user != p.issue.user && p.issue.repo.role(g.who.token.user).rank() < RoleWrite.rank() {
			return nil, &gqlError{"FORBIDDEN", refusedByGH}
		}
		if err := g.setDraft(p, g.who.actor(), draft); err != nil {
			var failed *apiError
			if errors.As(err, &failed) {
				return nil, &gqlError{"UNPROCESSABLE", failed.message}
			}
			return nil, err
		}
		return &gqlObject{typename, gqlFields{
			"clientMutationId": plain(in["clientMutationId"]),
			"pullRequest":      plain(g.pullObject(p)),
		}}, nil
	}
}

func noNode(id string) error {
	return &gqlError{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'", id)}
}

// node finds what a global id stands for, if the caller may read it.
func (g *gqlCall) node(id string) (any, error) {
	var r *repository
	name := issues
	var out *gqlObject
	switch o := g.nodes[id].(type) {
	case *Issue:
		r, out = o.repo, g.issueObject(o)
	case *PullRequest:
		r, name, out = o.issue.repo, pulls, g.pullObject(o)
	case *Comment:
		r, out = o.repo, g.commentObject(o)
		if r.issues[o.Number].IsPull {
			name = pulls
		}
	case *ReviewComment:
		r, name, out = o.pull.issue.repo, pulls, g.reviewCommentObject(o)
	case *repository:
		r, name, out = o, metadata, g.repoObject(o)
	default:
		return nil, noNode(id)
	}
	if !g.canSee(g.who, r) {
		return nil, noNode(id)
	}
	if !g.allows(g.who, r, perm{name, read}) {
		return nil, &gqlError{"FORBIDDEN", refusedByGH}
	}
	return out, nil
}

func (g *gqlCall) actorObject(u *user) *gqlObject {
	if u == nil || u.deleted {
		return nil
	}
	login := strings.TrimSuffix(u.Login, "[bot]") // GraphQL calls bots without the suffix
	return &gqlObject{u.Type, gqlFields{
		"login": plain(login), "id": plain(u.NodeID), "databaseId": plain(u.ID), "url": plain(g.base + "/" + u.Login),
	}}
}

func (g *gqlCall) repoObject(r *repository) *gqlObject {
	issue := func(wantIssue, wantPull bool, kind string) func(map[string]any) (any, error) {
		return func(args map[string]any) (any, error) {
			n, _ := args["number"].(float64)
			i := r.issues[int(n)]
			if i == nil || i.IsPull && !wantPull || !i.IsPull && !wantIssue {
				return nil, &gqlError{"NOT_FOUND", fmt.Sprintf("Could not resolve to %s with the number of %d.", kind, int(n))}
			}
			return g.node(i.nodeID())
		}
	}
	return &gqlObject{"Repository", gqlFields{
		"id": plain(r.NodeID), "databaseId": plain(r.ID), "name": plain(r.Name), "nameWithOwner": plain(r.full()), "url": plain(g.html(r)),
		"isPrivate": plain(r.Private), "isArchived": plain(r.Archived), "owner": plain(g.actorObject(r.Owner)),
		"issue": issue(true, false, "an Issue"), "pullRequest": issue(false, true, "a PullRequest"),
		"issueOrPullRequest": issue(true, true, "an issue or pull request"),
	}}
}

// text are the fields that every text on GitHub has.
func (g *gqlCall) text(typename, node string, id int64, url string, by *user, body string, made, changed time.Time, edits []Edit) *gqlObject {
	var lastEdited, editor any
	if len(edits) > 0 {
		last := edits[len(edits)-1]
		lastEdited, editor = stamp(last.At), g.actorObject(g.users[strings.ToLower(last.By)])
	}
	return &gqlObject{typename, gqlFields{
		"id": plain(node), "databaseId": plain(id), "fullDatabaseId": plain(fmt.Sprint(id)), "url": plain(url), "author": plain(g.actorObject(by)),
		"body": plain(body), "createdAt": plain(stamp(made)), "updatedAt": plain(stamp(changed)), "lastEditedAt": plain(lastEdited),
		"editor": plain(editor), "includesCreatedEdit": plain(len(edits) > 0),
		"userContentEdits": func(args map[string]any) (any, error) { return g.edits(edits, args) },
	}}
}

// edits is the connection of a text's versions, the newest first; GitHub calls the whole text of a
// version its diff, and the original is the last of them.
func (g *gqlCall) edits(edits []Edit, args map[string]any) (any, error) {
	if len(edits) == 0 {
		return (*gqlObject)(nil), nil
	}
	first, isNumber := args["first"].(float64)
	if !isNumber || first < 0 || first > maxPerPage {
		return nil, &gqlError{"MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value to properly paginate the `userContentEdits` connection."}
	}
	var nodes []*gqlObject
	for k := len(edits) - 1; k >= 0 && len(nodes) < int(first); k-- {
		e := edits[k]
		nodes = append(nodes, &gqlObject{"UserContentEdit", gqlFields{
			"createdAt": plain(stamp(e.At)), "editedAt": plain(stamp(e.At)), "updatedAt": plain(stamp(e.At)), "deletedAt": plain(nil),
			"diff": plain(e.Body), "editor": plain(g.actorObject(g.users[strings.ToLower(e.By)])),
		}})
	}
	pageInfo := &gqlObject{"PageInfo", gqlFields{
		"hasNextPage": plain(len(nodes) < len(edits)), "endCursor": plain(fmt.Sprint(len(nodes))),
	}}
	return &gqlObject{"UserContentEditConnection", gqlFields{
		"totalCount": plain(len(edits)), "nodes": plain(nodes), "pageInfo": plain(pageInfo),
	}}, nil
}

func (g *gqlCall) issueObject(i *Issue) *gqlObject {
	o := g.text("Issue", i.nodeID(), i.ID, g.issuePage(i), i.user, i.Body, i.CreatedAt, i.UpdatedAt, i.Edits)
	o.fields["number"], o.fields["title"], o.fields["state"] = plain(i.Number), plain(i.Title), plain(strings.ToUpper(string(i.State)))
	o.fields["closed"], o.fields["locked"] = plain(i.State == StateClosed), plain(i.Locked)
	o.fields["repository"] = func(map[string]any) (any, error) { return g.repoObject(i.repo), nil }
	return o
}

func (g *gqlCall) pullObject(p *PullRequest) *gqlObject {
	o := g.issueObject(p.issue)
	o.typename = "PullRequest"
	o.fields["databaseId"], o.fields["fullDatabaseId"] = plain(p.ID), plain(fmt.Sprint(p.ID))
	o.fields["isDraft"], o.fields["merged"] = plain(p.Draft), plain(false)
	o.fields["headRefName"], o.fields["headRefOid"] = plain(p.HeadBranch), plain(p.HeadSHA)
	o.fields["baseRefName"], o.fields["baseRefOid"] = plain(p.BaseBranch), plain(p.BaseSHA)
	return o
}

func (g *gqlCall) commentObject(m *Comment) *gqlObject {
	i := m.repo.issues[m.Number]
	url := fmt.Sprintf("%s#issuecomment-%d", g.issuePage(i), m.ID)
	o := g.text("IssueComment", m.NodeID, m.ID, url, m.user, m.Body, m.CreatedAt, m.UpdatedAt, m.Edits)
	o.fields["issue"] = func(map[string]any) (any, error) { return g.issueObject(i), nil }
	return o
}

func (g *gqlCall) reviewCommentObject(m *ReviewComment) *gqlObject {
	url := fmt.Sprintf("%s#discussion_r%d", g.issuePage(m.pull.issue), m.ID)
	o := g.text("PullRequestReviewComment", m.NodeID, m.ID, url, m.user, m.Body, m.CreatedAt, m.UpdatedAt, m.Edits)
	o.fields["path"] = plain(m.Path)
	return o
}
