package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// graphql posts an operation and returns the status and the decoded answer.
func (w *world) graphql(token, query string, variables obj) (int, map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(obj{"query": query, "variables": variables})
	w.must(err)
	status, answer, _ := w.plain(http.MethodPost, "/api/graphql", "Bearer "+token, string(body))
	var out map[string]any
	w.must(json.Unmarshal([]byte(answer), &out))
	return status, out
}

func TestDraftMutations(t *testing.T) {
	w := newWorld(t)
	n := w.pull("topic")
	p, err := w.PullRequest(testRepo, n)
	w.must(err)
	token := w.token(nil)
	cases := []struct {
		name, query string
		variables   obj
		draft       bool
	}{
		{"inline", fmt.Sprintf(`mutation { markPullRequestReadyForReview(input: {pullRequestId: %q}) { pullRequest { id isDraft } } }`, p.NodeID), nil, false},
		{"variables", `mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }`, obj{"id": p.NodeID}, true},
		{
			"as the shurcooL client writes it", `mutation($input:MarkPullRequestReadyForReviewInput!){markPullRequestReadyForReview(input:$input){pullRequest{number,isDraft},clientMutationId}}`,
			obj{"input": obj{"pullRequestId": p.NodeID, "clientMutationId": "7"}}, false,
		},
		{"named, aliased, with a fragment", `mutation M($id: ID!) { made: convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { ...P } } } fragment P on PullRequest { isDraft }`, obj{"id": p.NodeID}, true},
	}
	for _, c := range cases {
		status, out := w.graphql(token, c.query, c.variables)
		now, err := w.PullRequest(testRepo, n)
		w.must(err)
		if status != http.StatusOK || out["errors"] != nil || now.Draft != c.draft {
			t.Errorf("%s: status %d, draft %v, answer %v", c.name, status, now.Draft, out)
		}
	}
	status, out := w.graphql(w.token(map[string]string{"pull_requests": "read"}), cases[0].query, nil)
	if status != http.StatusOK || !strings.Contains(fmt.Sprint(out["errors"]), "Resource not accessible by integration") {
		t.Errorf("without the permission: %d %v", status, out)
	}
	status, out = w.graphql(token, cases[1].query, obj{"id": "PR_nothing"})
	if status != http.StatusOK || !strings.Contains(fmt.Sprint(out["errors"]), "NOT_FOUND") {
		t.Errorf("unknown node: %d %v", status, out)
	}
}

func TestEditsOfTexts(t *testing.T) {
	c := &clock{now: time.Now()}
	w := newWorld(t, func(o *Options, _ *RepositoryOptions) { o.Now = c.Now })
	n := w.issue()
	id, err := w.As("alice").Comment(testRepo, n, "first")
	w.must(err)
	const query = `query($id:ID!){node(id:$id){... on Issue{lastEditedAt userContentEdits(first:10){totalCount nodes{editedAt diff editor{login}}}} ... on IssueComment{lastEditedAt userContentEdits(first:1){nodes{editedAt diff}}}}}`
	ask := func(node string) map[string]any {
		t.Helper()
		status, out := w.graphql(w.token(nil), query, obj{"id": node})
		if status != http.StatusOK || out["errors"] != nil {
			t.Fatalf("status %d, answer %v", status, out)
		}
		return out["data"].(map[string]any)["node"].(map[string]any)
	}
	i, err := w.Issue(testRepo, n)
	w.must(err)
	if got := ask(i.NodeID); got["lastEditedAt"] != nil || got["userContentEdits"] != nil {
		t.Errorf("never edited: %v", got)
	}
	made := stamp(c.Now())
	c.add(time.Minute)
	edited := stamp(c.Now())
	w.must(w.As("mary").EditIssue(testRepo, n, i.Title, "evil"))
	want := map[string]any{"lastEditedAt": edited, "userContentEdits": map[string]any{"totalCount": 2.0, "nodes": []any{
		map[string]any{"editedAt": edited, "diff": "evil", "editor": map[string]any{"login": "mary"}},
		map[string]any{"editedAt": made, "diff": i.Body, "editor": map[string]any{"login": "alice"}},
	}}}
	if got := ask(i.NodeID); !reflect.DeepEqual(got, want) {
		t.Errorf("edited issue\n got %v\nwant %v", got, want)
	}
	w.must(w.As("alice").EditComment(testRepo, id, "second"))
	m := w.Comments(testRepo, n)[0]
	want = map[string]any{"lastEditedAt": edited, "userContentEdits": map[string]any{"nodes": []any{map[string]any{"editedAt": edited, "diff": "second"}}}}
	if got := ask(m.NodeID); !reflect.DeepEqual(got, want) {
		t.Errorf("edited comment\n got %v\nwant %v", got, want)
	}
	status, out := w.graphql(w.token(nil), `{repository(owner:"acme",name:"widgets"){issue(number:1){__typename title author{login}}} viewer{login}}`, nil)
	if status != http.StatusOK || !strings.Contains(fmt.Sprint(out), "It breaks") || !strings.Contains(fmt.Sprint(out), "autocode") {
		t.Errorf("by number: %d %v", status, out)
	}
}

func TestGraphQLElsewhere(t *testing.T) {
	w := newWorld(t)
	token := w.token(nil)
	status, out := w.graphql(token, `query { repository(owner: "acme", name: "widgets") { stargazerCount } }`, nil)
	if status != http.StatusNotImplemented || !strings.Contains(fmt.Sprint(out["message"]), "stargazerCount") {
		t.Errorf("what is not modelled: %d %v", status, out)
	}
	if got := w.Unimplemented(); len(got) != 1 || !strings.Contains(got[0], "stargazerCount") {
		t.Errorf("unimplemented %v", got)
	}
	if status, out := w.graphql(token, `query { `, nil); status != http.StatusOK || !strings.Contains(fmt.Sprint(out["errors"]), "Parse error") {
		t.Errorf("broken query: %d %v", status, out)
	}
	if status, _ := w.graphql("ghs_wrong", `{viewer{login}}`, nil); status != http.StatusUnauthorized {
		t.Errorf("wrong token: %d", status)
	}
}

func FuzzParseGraphQL(f *testing.F) {
	for _, seed := range []string{
		`{viewer{login}}`, `query Q($a:[ID!]! = ["x"], $b:Int){node(id:$a){... on Issue{id}}}`, `mutation{m(input:{a:[1,2],b:"\u00e9",c:null,d:ENUM}){x}}`,
		`fragment F on T{...F} query{...F}`, `{a(b:"""x "y" z"""){c:d}}`, "{#c\n}", `{`, `query(`, `{a(b:{c:`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		op, err := parseGraphQL(text, nil)
		if err != nil {
			return
		}
		var walk func([]selection)
		walk = func(list []selection) {
			for _, sel := range list {
				if sel.spread != "" || sel.on == "" && !isName(sel.name) {
					t.Errorf("%q: a selection without a name: %+v", text, sel)
				}
				walk(sel.sub)
			}
		}
		walk(op.selections)
	})
}
