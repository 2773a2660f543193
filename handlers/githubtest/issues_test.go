package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"
)

func TestIssueLimits(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	long, longest := strings.Repeat("é", maxBody+1), strings.Repeat("é", maxBody)
	cases := []struct {
		name string
		do   func() error
		want int
	}{
		{"issue without a title", func() error {
			_, _, err := w.inst.Issues.Create(w.ctx, testOwner, testName, &github.IssueRequest{Body: github.String("x")})
			return err
		}, 422},
		{"issue body too long", func() error {
			_, _, err := w.inst.Issues.Create(w.ctx, testOwner, testName, &github.IssueRequest{Title: github.String("x"), Body: &long})
			return err
		}, 422},
		{"comment too long", func() error {
			_, _, err := w.inst.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: &long})
			return err
		}, 422},
		{"comment as long as may be", func() error {
			_, _, err := w.inst.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: &longest})
			return err
		}, 0},
		{"empty comment", func() error {
			_, _, err := w.inst.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String(" ")})
			return err
		}, 422},
		{"comment on nothing", func() error {
			_, _, err := w.inst.Issues.CreateComment(w.ctx, testOwner, testName, 99, &github.IssueComment{Body: github.String("x")})
			return err
		}, 404},
		{"unknown reaction", func() error {
			_, _, err := w.inst.Reactions.CreateIssueReaction(w.ctx, testOwner, testName, n, "cheers")
			return err
		}, 422},
		{"label that is there", func() error {
			_, _, err := w.inst.Issues.CreateLabel(w.ctx, testOwner, testName, &github.Label{Name: github.String("BUG")})
			return err
		}, 422},
		{"label that is not on it", func() error {
			_, err := w.inst.Issues.RemoveLabelForIssue(w.ctx, testOwner, testName, n, "bug")
			return err
		}, 404},
		{"state that does not exist", func() error {
			_, _, err := w.inst.Issues.Edit(w.ctx, testOwner, testName, n, &github.IssueRequest{State: github.String("shut")})
			return err
		}, 422},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.do(); c.want == 0 {
				w.must(err)
			} else {
				w.wantStatus(err, c.want)
			}
		})
	}
	if got := w.status(http.MethodPost, "/api/v3/repos/"+testRepo+"/issues", "token "+w.UserToken("mary"), `{"title":`); got != http.StatusBadRequest {
		t.Errorf("broken JSON: status %d", got)
	}
}

func TestReactionIsOnce(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	a, first, err := w.inst.Reactions.CreateIssueReaction(w.ctx, testOwner, testName, n, "eyes")
	w.must(err)
	b, second, err := w.inst.Reactions.CreateIssueReaction(w.ctx, testOwner, testName, n, "eyes")
	w.must(err)
	if a.GetID() != b.GetID() || first.StatusCode != http.StatusCreated || second.StatusCode != http.StatusOK {
		t.Errorf("ids %d and %d, statuses %d and %d", a.GetID(), b.GetID(), first.StatusCode, second.StatusCode)
	}
	i, err := w.Issue(testRepo, n)
	w.must(err)
	if len(i.Reactions) != 1 || i.Reactions[0].User != "autocode[bot]" {
		t.Errorf("reactions %+v", i.Reactions)
	}
}

func TestPaginationAndETag(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	const count = 7
	for k := range count {
		_, err := w.As("alice").Comment(testRepo, n, fmt.Sprint("comment ", k))
		w.must(err)
	}
	var bodies []string
	o := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 3}}
	pages := 0
	for {
		list, resp, err := w.inst.Issues.ListComments(w.ctx, testOwner, testName, n, o)
		w.must(err)
		pages++
		for _, m := range list {
			bodies = append(bodies, m.GetBody())
		}
		if resp.NextPage == 0 {
			break
		}
		if resp.LastPage != 3 {
			t.Errorf("last page %d", resp.LastPage)
		}
		o.Page = resp.NextPage
	}
	if pages != 3 || len(bodies) != count || !slices.IsSorted(bodies) {
		t.Errorf("%d pages, comments %v", pages, bodies)
	}

	path := fmt.Sprintf("/api/v3/repos/%s/issues/%d", testRepo, n)
	ask := func(tag string) (int, http.Header) {
		req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.URL()+path, nil)
		w.must(err)
		req.Header.Set("If-None-Match", tag)
		resp, err := http.DefaultClient.Do(req)
		w.must(err)
		w.must(resp.Body.Close())
		return resp.StatusCode, resp.Header
	}
	_, h := ask("")
	status, again := ask(h.Get("ETag"))
	if status != http.StatusNotModified || again.Get("X-RateLimit-Used") != h.Get("X-RateLimit-Used") {
		t.Errorf("status %d, used %s then %s: a 304 costs nothing", status, h.Get("X-RateLimit-Used"), again.Get("X-RateLimit-Used"))
	}
	w.must(w.As("mary").Label(testRepo, n, "bug"))
	if status, _ := ask(h.Get("ETag")); status != http.StatusOK {
		t.Errorf("status %d after a change", status)
	}
}

func TestTimelineTellsWhoLabelled(t *testing.T) {
	c := &clock{now: time.Now()}
	w := newWorld(t, func(o *Options, _ *RepositoryOptions) { o.Now = c.Now })
	n := w.issue()
	c.add(10 * time.Second)
	w.must(w.As("mary").Label(testRepo, n, "autocode"))
	want := c.Now().UTC().Truncate(time.Second)
	_, _, err := w.inst.Issues.AddLabelsToIssue(w.ctx, testOwner, testName, n, []string{"autocode:running"})
	w.must(err)
	list, _, err := w.inst.Issues.ListIssueTimeline(w.ctx, testOwner, testName, n, nil)
	w.must(err)
	if len(list) != 2 || list[0].GetEvent() != "labeled" || list[0].GetActor().GetLogin() != "mary" || !list[0].GetCreatedAt().Time.Equal(want) || list[0].GetLabel().GetName() != "autocode" {
		t.Fatalf("timeline %v", list)
	}
	_, body, _ := w.plain(http.MethodGet, fmt.Sprintf("/api/v3/repos/%s/issues/%d/events", testRepo, n), "", "")
	if strings.Count(body, `"performed_via_github_app":null`) != 1 || !strings.Contains(body, `"slug":"autocode"`) {
		t.Errorf("the App is not named on its own event: %s", body)
	}
}

func TestArchivedIsReadOnly(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.must(w.As("mary").Archive(testRepo))
	_, _, err := w.inst.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("x")})
	w.wantStatus(err, http.StatusForbidden)
	_, _, err = w.inst.Issues.Get(w.ctx, testOwner, testName, n)
	w.must(err)
}
