package githubtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"
)

func TestPages(t *testing.T) {
	w := newWorld(t)
	issue, err := w.As("alice").CreateIssue(testRepo, "It <b>breaks</b>", "<script>alert(1)</script>", "bug")
	w.must(err)
	_, err = w.As("mary").Comment(testRepo, issue, "I see & wonder")
	w.must(err)
	_, _, err = w.inst.Reactions.CreateIssueReaction(w.ctx, testOwner, testName, issue, "eyes")
	w.must(err)
	n := w.pull("topic")
	p, err := w.PullRequest(testRepo, n)
	w.must(err)
	run, _, err := w.inst.Checks.CreateCheckRun(w.ctx, testOwner, testName, github.CreateCheckRunOptions{
		Name: "autocode / unit", HeadSHA: p.HeadSHA, Conclusion: github.String("failure"),
		Output: &github.CheckRunOutput{Title: github.String("One red"), Summary: github.String("| stage | red |"), Annotations: []*github.CheckRunAnnotation{
			{Path: github.String("topic.txt"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("failure"), Message: github.String("wants 5")},
		}},
	})
	w.must(err)
	cases := []struct {
		path   string
		status int
		want   []string
	}{
		{"/", 200, []string{"acme/widgets"}},
		{"/acme/widgets", 200, []string{"#1 It &lt;b&gt;breaks", "Change", "draft"}},
		{"/acme/widgets/issues/1", 200, []string{"&lt;script&gt;alert", "I see &amp; wonder", "eyes by autocode[bot]", "bug", "alice"}},
		{"/acme/widgets/pull/2", 200, []string{"draft", "autocode / unit", "| stage | red |", "topic.txt:1", "wants 5", "&#43;new", "Change topic"}},
		{"/acme/widgets/runs/" + itoa(int(run.GetID())), 200, []string{"One red"}},
		{"/acme/widgets/issues/99", 404, nil},
		{"/acme/nothing", 404, nil},
		{"/favicon.ico", 204, nil},
	}
	for _, c := range cases {
		status, body, header := w.plain(http.MethodGet, c.path, "", "")
		if status != c.status {
			t.Errorf("%s: status %d, want %d", c.path, status, c.status)
		}
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q:\n%s", c.path, want, body)
			}
		}
		if status == http.StatusOK && (!strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(body, "<script>")) {
			t.Errorf("%s could run a script", c.path)
		}
	}
}

func TestUnknownRoutes(t *testing.T) {
	w := newWorld(t)
	cases := []struct{ method, path, want string }{
		{http.MethodGet, "/api/v3/repos/acme/widgets/actions/runs", "GET /repos/acme/widgets/actions/runs"},
		{http.MethodPut, "/api/v3/repos/acme/widgets/pulls/1/merge", "PUT /repos/acme/widgets/pulls/1/merge"},
		{http.MethodDelete, "/acme/widgets", "DELETE /acme/widgets"},
	}
	for k, c := range cases {
		status, body, _ := w.plain(c.method, c.path, "", "")
		if status != http.StatusNotImplemented || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
		if got := w.Unimplemented(); len(got) != k+1 || got[k] != c.want {
			t.Errorf("unimplemented %v", got)
		}
	}
}

func TestAddressesPointToItself(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	i, _, err := w.inst.Issues.Get(w.ctx, testOwner, testName, n)
	w.must(err)
	repo, _, err := w.inst.Repositories.Get(w.ctx, testOwner, testName)
	w.must(err)
	for _, url := range []string{i.GetURL(), i.GetHTMLURL(), i.GetCommentsURL(), i.GetRepositoryURL(), repo.GetURL(), repo.GetHTMLURL()} {
		if !strings.HasPrefix(url, w.URL()+"/") {
			t.Errorf("%s points elsewhere", url)
			continue
		}
		if got := w.status(http.MethodGet, strings.TrimPrefix(url, w.URL()), "", ""); got != http.StatusOK {
			t.Errorf("%s: status %d", url, got)
		}
	}
	mustGit(t, ".", "ls-remote", repo.GetCloneURL())
}
