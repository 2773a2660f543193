package publish

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// perRepo begins the routes below a repository.
const perRepo = " /repos/{owner}/{repo}"

// lacks makes the stand-in answer a route as servers do that do not have it.
func (w *world) lacks(status int, routes ...string) {
	for _, route := range routes {
		w.Fault(githubtest.Fault{Route: route, Status: status, Times: -1})
	}
}

// TestServerLacks: what a GitHub may lack, an old Enterprise Server for instance, costs its own
// effect and nothing else.
func TestServerLacks(t *testing.T) {
	checkRuns := []string{"POST" + perRepo + "/check-runs", "PATCH" + perRepo + "/check-runs/{id}", "GET" + perRepo + "/commits/{ref}/check-runs"}
	for _, c := range []struct {
		name   string
		routes []string
		draft  bool
		checks int
	}{
		{name: "check runs", routes: checkRuns},
		{name: "reactions", routes: []string{"POST" + perRepo + "/issues/{number}/reactions"}, checks: 4},
		{name: "events of issues", routes: []string{"GET" + perRepo + "/issues/{number}/events"}, checks: 4},
		{name: "GraphQL", routes: []string{"GRAPHQL markPullRequestReadyForReview", "GRAPHQL repository"}, draft: true, checks: 4},
	} {
		for _, status := range []int{http.StatusNotFound, http.StatusNotImplemented} {
			t.Run(fmt.Sprintf("%s, answered with %d", c.name, status), func(t *testing.T) {
				w := newWorld(t)
				w.lacks(status, c.routes...)
				label, err := w.LabelEvent(w.ctx, w.s.Task.Repo, w.issue, loop.DefaultLabel)
				w.must(err)
				if label.Actor != "mary" {
					t.Errorf("the label was put on by %q", label.Actor)
				}
				s := w.play()
				w.restart(nil)
				w.must(w.SettleChecks(w.ctx, s, "nothing is open"))
				pulls := w.PullRequests(testRepo)
				if len(pulls) != 1 || pulls[0].Draft != c.draft || s.Pull.Draft != c.draft {
					t.Errorf("pull requests %+v, known as %+v", pulls, s.Pull)
				}
				if runs := w.CheckRuns(testRepo, w.head); len(runs) != c.checks {
					t.Errorf("%d check runs, want %d", len(runs), c.checks)
				}
				if texts := w.ownTexts(w.issue); len(texts) != 2 {
					t.Errorf("%d comments", len(texts))
				}
			})
		}
	}
}

// TestCloneURL: git goes to the configured server, whatever the answer says.
func TestCloneURL(t *testing.T) {
	for name, c := range map[string][2]string{
		"the server's own":        {"https://github.com/acme/widgets.git", "https://github.com/acme/widgets.git"},
		"none":                    {"", "https://github.com/acme/widgets.git"},
		"another server's":        {"https://github.example/acme/widgets.git", "https://github.com/acme/widgets.git"},
		"one that begins alike":   {"https://github.com.example/acme/widgets.git", "https://github.com/acme/widgets.git"},
		"the same in plain text":  {"http://github.com/acme/widgets.git", "https://github.com/acme/widgets.git"},
		"the server's, elsewhere": {"https://github.com/scm/acme/widgets.git", "https://github.com/scm/acme/widgets.git"},
	} {
		p := &Publisher{Config: Config{Clients: &Clients{config: ClientConfig{WebURL: "https://github.com/"}}}}
		r := &github.Repository{CloneURL: &c[0], Name: github.String("widgets"), Owner: &github.User{Login: github.String("acme")}}
		if got := p.cloneURL(r); got != c[1] {
			t.Errorf("%s: %s, want %s", name, got, c[1])
		}
	}
}

// pageServer lists numbers in pages, with links to the next page or, as behind some proxies, without.
func pageServer(t *testing.T, all int, links bool) *github.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		perPage, _ := strconv.Atoi(r.FormValue("per_page"))
		page, _ := strconv.Atoi(r.FormValue("page"))
		page = max(page, 1)
		var list []map[string]int
		for i := (page - 1) * perPage; i < min(page*perPage, all); i++ {
			list = append(list, map[string]int{"id": i + 1})
		}
		if links && page*perPage < all {
			w.Header().Set("Link", fmt.Sprintf(`<%s?per_page=%d&page=%d>; rel="next"`, r.URL.Path, perPage, page+1))
		}
		text, _ := json.Marshal(list)
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	client := github.NewClient(nil)
	client.BaseURL, _ = url.Parse(server.URL + "/")
	return client
}

// TestPages: every entry once, with Link headers and without.
func TestPages(t *testing.T) {
	for _, links := range []bool{true, false} {
		for _, all := range []int{0, 1, 99, 100, 101, 200, 250} {
			client := pageServer(t, all, links)
			seen := map[int64]int{}
			err := pages(func(options github.ListOptions) (int, *github.Response, error) {
				comments, response, err := client.Issues.ListComments(t.Context(), "o", "r", 1, &github.IssueListCommentsOptions{ListOptions: options})
				for _, c := range comments {
					seen[c.GetID()]++
				}
				return len(comments), response, err
			})
			if err != nil || len(seen) != all {
				t.Errorf("links %v: %d of %d entries (%v)", links, len(seen), all, err)
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("links %v, %d entries: entry %d came %d times", links, all, id, n)
				}
			}
		}
	}
}

// moment is a second of an afternoon.
func moment(second int) time.Time { return time.Date(2026, 3, 4, 15, 0, second, 0, time.UTC) }

// TestNewestLabelling: the history counts by its times, in whichever order it is listed.
func TestNewestLabelling(t *testing.T) {
	at := func(second int) happening { return happening{id: int64(second), at: moment(second)} }
	labelled := func(second int, actor string) happening {
		h := at(second)
		h.kind, h.actor, h.label = "labeled", actor, "AutoCode"
		return h
	}
	taken := func(second int) happening {
		h := at(second)
		h.kind, h.label = "unlabeled", "autocode"
		return h
	}
	renamed := func(second int, from string) happening {
		h := at(second)
		h.kind, h.from = "renamed", from
		return h
	}
	sameSecond := taken(5)
	sameSecond.at = moment(4)
	for _, c := range []struct {
		name         string
		history      []happening
		actor, title string
	}{
		{"once", []happening{labelled(1, "mary")}, "mary", ""},
		{"taken off", []happening{labelled(1, "mary"), taken(2)}, "", ""},
		{"newest first", []happening{labelled(3, "olga"), taken(2), labelled(1, "mary")}, "olga", ""},
		{"newest first, taken off", []happening{taken(2), labelled(1, "mary")}, "", ""},
		{"put on and taken off within a second", []happening{sameSecond, labelled(4, "mary")}, "", ""},
		{"account deleted", []happening{labelled(1, "")}, "", ""},
		{"renamed before", []happening{renamed(1, "old"), labelled(2, "mary")}, "mary", ""},
		{"renamed after, twice", []happening{renamed(4, "second"), labelled(2, "mary"), renamed(3, "first")}, "mary", "first"},
		{"nothing", nil, "", ""},
	} {
		got, there := newestLabelling(c.history, "autocode")
		if there != (c.actor != "") || got.Actor != c.actor || got.Title != c.title {
			t.Errorf("%s: %+v, %v", c.name, got, there)
		}
	}
}

// TestPullsWithoutFilter: a server that does not know the filter by head sends every pull request.
func TestPullsWithoutFilter(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		other := fmt.Sprintf("other-%d", i)
		_, err := w.As("olga").PushFiles(testRepo, other, "other", map[string][]byte{other: []byte("x")})
		w.must(err)
		_, err = w.As("olga").OpenPull(testRepo, other, "", other, "main", false)
		w.must(err)
	}
	s := w.finished(true)
	first, err := w.OpenPull(w.ctx, s)
	w.must(err)
	w.restart(func(c *Config) {
		clients := w.clientConfig()
		clients.Transport = unfiltered{http.DefaultTransport}
		c.Clients, err = NewClients(clients)
	})
	w.must(err)
	s.Pull = &first
	again, err := w.OpenPull(w.ctx, s)
	w.must(err)
	if again.Number != first.Number {
		t.Errorf("pull request %d, want %d", again.Number, first.Number)
	}
}

// unfiltered takes the filter by head out of requests.
type unfiltered struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (u unfiltered) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/pulls") {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		query.Del("head")
		r.URL.RawQuery = query.Encode()
	}
	return u.next.RoundTrip(r)
}
