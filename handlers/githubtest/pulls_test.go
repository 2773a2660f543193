package githubtest

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"
)

func TestPullRefusals(t *testing.T) {
	w := newWorld(t)
	_, err := w.As("mary").PushFiles(testRepo, "topic", "More", map[string][]byte{"t": []byte("t")})
	w.must(err)
	_, _, err = w.inst.Git.CreateRef(w.ctx, testOwner, testName, &github.Reference{Ref: github.String("refs/heads/same"), Object: &github.GitObject{SHA: &w.head}})
	w.must(err)
	cases := []struct {
		name, head, base, title, want string
		status                        int
	}{
		{"good", "topic", "main", "x", "", 0},
		{"a second one", "topic", "main", "x", "already exists", 422},
		{"a second one, qualified", "acme:topic", "main", "x", "already exists", 422},
		{"head is missing", "nowhere", "main", "x", "head", 422},
		{"base is missing", "topic", "nowhere", "x", "base", 422},
		{"another owner without a fork", "eve:topic", "main", "x", "head", 422},
		{"no commits between", "same", "main", "x", "No commits between", 422},
		{"no title", "topic", "main", " ", "title", 422},
	}
	for _, c := range cases {
		_, _, err := w.inst.PullRequests.Create(w.ctx, testOwner, testName, &github.NewPullRequest{Title: &c.title, Head: &c.head, Base: &c.base})
		if c.status == 0 {
			w.must(err)
			continue
		}
		w.wantStatus(err, c.status)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestDraftsRefused(t *testing.T) {
	w := newWorld(t, func(_ *Options, r *RepositoryOptions) { r.Private, r.NoDrafts = true, true })
	_, err := w.As("mary").PushFiles(testRepo, "topic", "More", map[string][]byte{"t": []byte("t")})
	w.must(err)
	o := &github.NewPullRequest{Title: github.String("x"), Head: github.String("topic"), Base: github.String("main"), Draft: github.Bool(true)}
	_, _, err = w.inst.PullRequests.Create(w.ctx, testOwner, testName, o)
	w.wantStatus(err, http.StatusUnprocessableEntity)
	if !strings.Contains(err.Error(), "Draft pull requests are not supported") {
		t.Errorf("message %v", err)
	}
	o.Draft = nil
	_, _, err = w.inst.PullRequests.Create(w.ctx, testOwner, testName, o)
	w.must(err)
}

func TestPullFollowsItsBranch(t *testing.T) {
	w := newWorld(t)
	n := w.pull("topic")
	get := func() *github.PullRequest {
		t.Helper()
		p, _, err := w.inst.PullRequests.Get(w.ctx, testOwner, testName, n)
		w.must(err)
		return p
	}
	p := get()
	if !p.GetMergeable() || p.GetMergeableState() != "draft" || p.GetChangedFiles() != 1 || p.GetAdditions() != 1 {
		t.Errorf("fresh: %v", p)
	}
	sha, err := w.As("mary").PushFiles(testRepo, "topic", "Clash", map[string][]byte{"main.go": []byte("package topic\n")})
	w.must(err)
	_, err = w.As("mary").PushFiles(testRepo, "main", "Clash too", map[string][]byte{"main.go": []byte("package base\n")})
	w.must(err)
	p = get()
	if p.GetHead().GetSHA() != sha || p.GetMergeable() || p.GetMergeableState() != "dirty" {
		t.Errorf("after a conflict: head %s, mergeable %v, %s", p.GetHead().GetSHA(), p.GetMergeable(), p.GetMergeableState())
	}
	dir := filepath.Join(t.TempDir(), "c")
	mustGit(t, ".", "clone", "--quiet", w.CloneURL(testRepo), dir)
	mustGit(t, dir, "fetch", "--quiet", "origin", "refs/pull/"+itoa(n)+"/head")
	if got := mustGit(t, dir, "rev-parse", "FETCH_HEAD"); got != sha {
		t.Errorf("refs/pull/%d/head is %s, want %s", n, got, sha)
	}
	w.must(w.As("mary").DeleteBranch(testRepo, "topic"))
	if got := get(); got.GetState() != "closed" {
		t.Errorf("state %s after the branch was deleted", got.GetState())
	}
	if _, resp, err := w.inst.PullRequests.Merge(w.ctx, testOwner, testName, n, "", nil); err == nil || resp.StatusCode != http.StatusNotImplemented {
		t.Errorf("merging: %v, want 501", err)
	}
	if got := w.Unimplemented(); len(got) != 1 || !strings.Contains(got[0], "PUT /repos/acme/widgets/pulls/") {
		t.Errorf("unimplemented %v", got)
	}
}

func TestForkPull(t *testing.T) {
	w := newWorld(t)
	w.sink("s3cret")
	fork, err := w.As("eve").Fork(testRepo)
	w.must(err)
	sha, err := w.As("eve").PushFiles(fork, "patch", "From outside", map[string][]byte{"p": []byte("p")})
	w.must(err)
	n, err := w.As("eve").OpenPull(testRepo, "From a fork", "", "eve:patch", "main", false)
	w.must(err)
	p, _, err := w.inst.PullRequests.Get(w.ctx, testOwner, testName, n)
	w.must(err)
	if p.GetHead().GetRepo().GetFullName() != "eve/widgets" || !p.GetHead().GetRepo().GetFork() || p.GetHead().GetSHA() != sha {
		t.Errorf("head %v", p.GetHead())
	}
	_, err = w.As("eve").PushFiles(fork, "patch", "Again", map[string][]byte{"p": []byte("q")})
	w.must(err)
	files, _, err := w.inst.PullRequests.ListFiles(w.ctx, testOwner, testName, n, nil)
	w.must(err)
	if len(files) != 1 || !strings.Contains(files[0].GetPatch(), "+q") {
		t.Errorf("files %v", files)
	}
	if got := strings.Join(w.events(), " "); got != "pull_request.opened pull_request.synchronize" {
		t.Errorf("events %s: the App is not installed on the fork", got)
	}
	list, _, err := w.inst.PullRequests.List(w.ctx, testOwner, testName, &github.PullRequestListOptions{Head: "acme:patch", State: "all"})
	w.must(err)
	if len(list) != 0 {
		t.Errorf("the fork's pull request was found under another owner")
	}
}

func TestReviewRules(t *testing.T) {
	w := newWorld(t)
	n := w.pull("topic")
	cases := []struct {
		name  string
		as    string
		state ReviewState
		body  string
		ok    bool
	}{
		{"own pull request", "mary", ReviewApproved, "good", false},
		{"comment on one's own", "mary", ReviewCommented, "note", true},
		{"empty request for changes", "rita", ReviewChangesRequested, " ", false},
		{"approval without words", "rita", ReviewApproved, "", true},
	}
	for _, c := range cases {
		if _, err := w.As(c.as).Review(testRepo, n, c.state, c.body); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if got := w.Reviews(testRepo, n); len(got) != 2 || got[1].State != ReviewApproved {
		t.Errorf("reviews %+v", got)
	}
}

func TestMergeByAPerson(t *testing.T) {
	w := newWorld(t)
	issue := w.issue()
	n := w.pull("topic")
	w.must(w.As("mary").EditIssue(testRepo, n, "Change", "Fixes #"+itoa(issue)))
	if _, err := w.As("mary").Merge(testRepo, n); err == nil {
		t.Fatal("a draft was merged")
	}
	w.must(w.As("mary").SetDraft(testRepo, n, false))
	sha, err := w.As("mary").Merge(testRepo, n)
	w.must(err)
	p, _, err := w.inst.PullRequests.Get(w.ctx, testOwner, testName, n)
	w.must(err)
	if !p.GetMerged() || p.GetState() != "closed" || p.GetMergeCommitSHA() != sha || p.GetMergedBy().GetLogin() != "mary" || p.GetChangedFiles() != 1 {
		t.Errorf("pull request %v", p)
	}
	if got := w.Branch(testRepo, "main"); got != sha {
		t.Errorf("main is at %s, want %s", got, sha)
	}
	i, err := w.Issue(testRepo, issue)
	w.must(err)
	if i.State != StateClosed {
		t.Error("the issue that it fixes is still open")
	}
	if _, err := w.As("mary").Merge(testRepo, n); err == nil {
		t.Error("it was merged twice")
	}
}
