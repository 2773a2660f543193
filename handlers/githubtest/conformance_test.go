package githubtest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/handlers/githubtest/conformance"
)

// TestConformance drives every REST route that the stand-in has with go-github, through GitHub's
// own description: whatever does not decode fails at once, whatever the description does not allow
// fails at the end.
func TestConformance(t *testing.T) {
	v := conformance.ForTest(t, requireAll())
	w := newWorldOver(t, v.Wrap(nil))
	driveAll(t, w)
	driveRefusals(w)
	if got := w.Unimplemented(); len(got) > 0 {
		t.Errorf("not implemented: %v", got)
	}
	t.Logf("%d operations of the description were seen", len(v.Seen()))
	if len(v.Seen()) < 90 {
		t.Errorf("only %d operations were seen: the test lost some", len(v.Seen()))
	}
}

// TestEveryRouteDecodes is the same without the description.
func TestEveryRouteDecodes(t *testing.T) {
	w := newWorld(t)
	driveAll(t, w)
	if got := w.Unimplemented(); len(got) > 0 {
		t.Errorf("not implemented: %v", got)
	}
	var unused []string
	counts := w.RequestCounts()
	for _, route := range w.Routes() {
		if counts[route] == 0 && !slices.Contains(routesElsewhere, route) {
			unused = append(unused, route)
		}
	}
	if len(unused) > 0 {
		t.Errorf("routes that no call reached:\n%s", strings.Join(unused, "\n"))
	}
}

// routesElsewhere are tested where more of them is looked at.
var routesElsewhere = []string{
	"POST /app-manifests/{code}/conversions", "DELETE /installation/token",
}

// driver calls and fails on the first error.
type driver struct {
	*world
	n int
}

func (d *driver) ok(_ any, _ *github.Response, err error) {
	d.t.Helper()
	d.n++
	if err != nil {
		d.t.Errorf("call %d: %v", d.n, err)
	}
}

func (d *driver) done(_ *github.Response, err error) {
	d.t.Helper()
	d.ok(nil, nil, err)
}

func driveAll(t *testing.T, w *world) {
	t.Helper()
	d := &driver{world: w}
	d.sink("s3cret")
	d.driveApp()
	d.driveRepo()
	d.driveGitData()
	d.driveIssues()
	d.drivePulls()
	d.driveChecks()
	w.must(w.WaitDeliveries(w.ctx))
	d.ok(w.app.Apps.ListHookDeliveries(w.ctx, nil))
	last := w.Deliveries()[0].ID
	d.ok(w.app.Apps.GetHookDelivery(w.ctx, last))
	// go-github takes GitHub's 202 for an error of its own kind.
	_, _, err := w.app.Apps.RedeliverHookDelivery(w.ctx, last)
	if _, accepted := err.(*github.AcceptedError); err != nil && !accepted {
		t.Error(err)
	}
}

// driveRefusals makes calls that GitHub refuses: their answers are described too.
func driveRefusals(w *world) {
	w.t.Helper()
	_, err := w.As("mary").PushFiles(testRepo, "again", "Again", map[string][]byte{"again.txt": []byte("x\n")})
	w.must(err)
	annotations := make([]*github.CheckRunAnnotation, maxAnnotations+1)
	for k := range annotations {
		annotations[k] = &github.CheckRunAnnotation{
			Path: github.String("a"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("notice"), Message: github.String("m"),
		}
	}
	calls := []struct {
		name   string
		status int
		do     func() error
	}{
		{"no such issue", 404, func() error { _, _, err := w.inst.Issues.Get(w.ctx, testOwner, testName, 999); return err }},
		{"no such repository", 404, func() error { _, _, err := w.inst.Repositories.Get(w.ctx, testOwner, "nothing"); return err }},
		{"no such file", 404, func() error {
			_, _, _, err := w.inst.Repositories.GetContents(w.ctx, testOwner, testName, "nothing", nil)
			return err
		}},
		{"no such ref", 404, func() error { _, _, err := w.inst.Git.GetRef(w.ctx, testOwner, testName, "heads/nothing"); return err }},
		{"no such commit", 422, func() error {
			_, _, err := w.inst.Repositories.GetCommit(w.ctx, testOwner, testName, "nothing", nil)
			return err
		}},
		{"ref that exists", 422, func() error {
			_, _, err := w.inst.Git.CreateRef(w.ctx, testOwner, testName, &github.Reference{Ref: github.String("refs/heads/main"), Object: &github.GitObject{SHA: &w.head}})
			return err
		}},
		{"not a fast forward", 422, func() error {
			_, _, err := w.inst.Git.UpdateRef(w.ctx, testOwner, testName, &github.Reference{Ref: github.String("refs/heads/again"), Object: &github.GitObject{SHA: &w.head}}, false)
			return err
		}},
		{"label that exists", 422, func() error {
			_, _, err := w.inst.Issues.CreateLabel(w.ctx, testOwner, testName, &github.Label{Name: github.String("bug")})
			return err
		}},
		{"no commits between", 422, func() error {
			_, _, err := w.inst.PullRequests.Create(w.ctx, testOwner, testName, &github.NewPullRequest{Title: github.String("x"), Head: github.String("main"), Base: github.String("main")})
			return err
		}},
		{"too many annotations", 422, func() error {
			_, _, err := w.inst.Checks.CreateCheckRun(w.ctx, testOwner, testName, github.CreateCheckRunOptions{
				Name: "x", HeadSHA: w.head, Output: &github.CheckRunOutput{Title: github.String("t"), Summary: github.String("s"), Annotations: annotations},
			})
			return err
		}},
		{"no such check run", 404, func() error { _, _, err := w.inst.Checks.GetCheckRun(w.ctx, testOwner, testName, 1); return err }},
		{"no such comment", 404, func() error { _, _, err := w.inst.Issues.GetComment(w.ctx, testOwner, testName, 1); return err }},
		{"no such person", 404, func() error { _, _, err := w.inst.Users.Get(w.ctx, "nobody-at-all"); return err }},
		{"no such installation", 404, func() error { _, _, err := w.app.Apps.GetInstallation(w.ctx, 1); return err }},
	}
	for _, c := range calls {
		w.t.Log(c.name)
		w.wantStatus(c.do(), c.status)
	}
}

func (d *driver) driveApp() {
	d.ok(d.app.Apps.Get(d.ctx, ""))
	d.ok(d.app.Apps.ListInstallations(d.ctx, nil))
	d.ok(d.app.Apps.GetInstallation(d.ctx, d.InstallationID(testRepo)))
	d.ok(d.app.Apps.FindRepositoryInstallation(d.ctx, testOwner, testName))
	d.ok(d.app.Apps.FindOrganizationInstallation(d.ctx, testOwner))
	d.ok(d.app.Apps.FindUserInstallation(d.ctx, testOwner))
	d.ok(d.app.Apps.GetHookConfig(d.ctx))
	d.ok(d.app.Apps.UpdateHookConfig(d.ctx, &github.HookConfig{Secret: github.String("s3cret")}))
	d.ok(d.app.Apps.CreateInstallationToken(d.ctx, d.InstallationID(testRepo), &github.InstallationTokenOptions{
		Repositories: []string{testName}, Permissions: &github.InstallationPermissions{Contents: github.String("read")},
	}))
	d.ok(d.inst.Apps.ListRepos(d.ctx, nil))
	d.ok(d.inst.Apps.Get(d.ctx, d.AppSlug()))
	d.ok(d.inst.Users.Get(d.ctx, "mary"))
	d.ok(d.as("mary").Users.Get(d.ctx, ""))
	d.ok(d.inst.RateLimit.Get(d.ctx))
	d.ok(d.inst.Meta.Get(d.ctx))
}

func (d *driver) driveRepo() {
	repo, _, err := d.inst.Repositories.Get(d.ctx, testOwner, testName)
	d.must(err)
	d.ok(d.as("mary").Repositories.Get(d.ctx, testOwner, testName))
	d.ok(d.inst.Repositories.GetByID(d.ctx, repo.GetID()))
	file, _, _, err := d.inst.Repositories.GetContents(d.ctx, testOwner, testName, "docs/readme.md", nil)
	d.must(err)
	if text, err := file.GetContent(); err != nil || text != "# Widgets\n" {
		d.t.Errorf("content %q, %v", text, err)
	}
	_, dir, _, err := d.inst.Repositories.GetContents(d.ctx, testOwner, testName, "docs", nil)
	d.must(err)
	if len(dir) != 2 || dir[1].GetType() != "dir" {
		d.t.Errorf("listing of docs: %v", dir)
	}
	d.ok(d.inst.Repositories.GetPermissionLevel(d.ctx, testOwner, testName, "mary"))
	d.ok(d.inst.Repositories.IsCollaborator(d.ctx, testOwner, testName, "mary"))
	d.ok(d.inst.Repositories.ListBranches(d.ctx, testOwner, testName, nil))
	d.ok(d.inst.Repositories.GetBranch(d.ctx, testOwner, testName, "main", 0))
	d.ok(d.inst.Repositories.ListCommits(d.ctx, testOwner, testName, nil))
	d.ok(d.inst.Repositories.GetCommit(d.ctx, testOwner, testName, "main", nil))
	d.must(d.SetPermission(testOwner, statuses, "write"))
	status := d.withToken(d.token(nil))
	d.ok(status.Repositories.CreateStatus(d.ctx, testOwner, testName, d.head, &github.RepoStatus{State: github.String("success"), Context: github.String("ci")}))
	d.ok(status.Repositories.GetCombinedStatus(d.ctx, testOwner, testName, "main", nil))
	d.ok(status.Repositories.ListStatuses(d.ctx, testOwner, testName, "main", nil))
}

func (d *driver) driveGitData() {
	git := d.inst.Git
	blob, _, err := git.CreateBlob(d.ctx, testOwner, testName, &github.Blob{Content: github.String("hi\n"), Encoding: github.String("utf-8")})
	d.must(err)
	d.ok(git.GetBlob(d.ctx, testOwner, testName, blob.GetSHA()))
	base, _, err := git.GetTree(d.ctx, testOwner, testName, "main", true)
	d.must(err)
	tree, _, err := git.CreateTree(d.ctx, testOwner, testName, base.GetSHA(), []*github.TreeEntry{
		{Path: github.String("hi.txt"), Mode: github.String("100644"), Type: github.String("blob"), SHA: blob.SHA},
		{Path: github.String("main.go"), Mode: github.String("100644"), Type: github.String("blob")},
		{Path: github.String("inline.txt"), Mode: github.String("100644"), Type: github.String("blob"), Content: github.String("inline")},
	})
	d.must(err)
	commit, _, err := git.CreateCommit(d.ctx, testOwner, testName, &github.Commit{
		Message: github.String("By the API"), Tree: tree, Parents: []*github.Commit{{SHA: &d.head}},
	}, nil)
	d.must(err)
	d.ok(git.GetCommit(d.ctx, testOwner, testName, commit.GetSHA()))
	ref := &github.Reference{Ref: github.String("refs/heads/feature/api"), Object: &github.GitObject{SHA: &d.head}}
	d.ok(git.CreateRef(d.ctx, testOwner, testName, ref))
	ref.Object.SHA = commit.SHA
	d.ok(git.UpdateRef(d.ctx, testOwner, testName, ref, false))
	d.ok(git.GetRef(d.ctx, testOwner, testName, "heads/feature/api"))
	d.ok(git.ListMatchingRefs(d.ctx, testOwner, testName, &github.ReferenceListOptions{Ref: "heads/feature"}))
	d.ok(d.inst.Repositories.GetBranch(d.ctx, testOwner, testName, "feature/api", 0))
	d.ok(d.inst.Repositories.GetCommit(d.ctx, testOwner, testName, "feature/api", nil))
	d.ok(d.inst.Repositories.CompareCommits(d.ctx, testOwner, testName, "main", "feature/api", nil))
	tag, _, err := git.CreateTag(d.ctx, testOwner, testName, &github.Tag{
		Tag: github.String("v1"), Message: github.String("one"), Object: &github.GitObject{SHA: &d.head, Type: github.String("commit")},
	})
	d.must(err)
	d.ok(git.GetTag(d.ctx, testOwner, testName, tag.GetSHA()))
	d.ok(git.CreateRef(d.ctx, testOwner, testName, &github.Reference{Ref: github.String("refs/heads/gone/soon"), Object: &github.GitObject{SHA: &d.head}}))
	d.done(git.DeleteRef(d.ctx, testOwner, testName, "heads/gone/soon"))
}

func (d *driver) driveIssues() {
	is := d.inst.Issues
	i, _, err := is.Create(d.ctx, testOwner, testName, &github.IssueRequest{Title: github.String("A bug"), Body: github.String("It breaks"), Labels: &[]string{"bug"}})
	d.must(err)
	n := i.GetNumber()
	d.ok(is.Get(d.ctx, testOwner, testName, n))
	d.ok(is.ListByRepo(d.ctx, testOwner, testName, &github.IssueListByRepoOptions{State: "all"}))
	d.ok(is.Edit(d.ctx, testOwner, testName, n, &github.IssueRequest{Body: github.String("It breaks often"), State: github.String("closed"), StateReason: github.String("not_planned")}))
	d.ok(is.Edit(d.ctx, testOwner, testName, n, &github.IssueRequest{State: github.String("open"), Assignees: &[]string{"mary"}}))
	d.ok(is.AddAssignees(d.ctx, testOwner, testName, n, []string{"mary", "nobody"}))
	d.ok(is.RemoveAssignees(d.ctx, testOwner, testName, n, []string{"mary"}))
	d.ok(is.CreateLabel(d.ctx, testOwner, testName, &github.Label{Name: github.String("autocode"), Color: github.String("0e8a16"), Description: github.String("for autocode")}))
	d.ok(is.EditLabel(d.ctx, testOwner, testName, "autocode", &github.Label{Color: github.String("0e8a17")}))
	d.ok(is.GetLabel(d.ctx, testOwner, testName, "autocode"))
	d.ok(is.ListLabels(d.ctx, testOwner, testName, nil))
	d.ok(is.AddLabelsToIssue(d.ctx, testOwner, testName, n, []string{"autocode", "new one"}))
	d.ok(is.ListLabelsByIssue(d.ctx, testOwner, testName, n, nil))
	d.done(is.RemoveLabelForIssue(d.ctx, testOwner, testName, n, "new one"))
	d.ok(is.ReplaceLabelsForIssue(d.ctx, testOwner, testName, n, []string{"bug"}))
	d.done(is.RemoveLabelsForIssue(d.ctx, testOwner, testName, n))
	d.done(is.DeleteLabel(d.ctx, testOwner, testName, "autocode"))
	events, _, err := is.ListIssueEvents(d.ctx, testOwner, testName, n, nil)
	d.must(err)
	if len(events) == 0 || events[0].GetEvent() != "labeled" || events[0].GetLabel().GetName() != "bug" {
		d.t.Errorf("events: %v", events)
	}
	d.ok(is.GetEvent(d.ctx, testOwner, testName, events[0].GetID()))
	d.ok(is.ListRepositoryEvents(d.ctx, testOwner, testName, nil))
	m, _, err := is.CreateComment(d.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("Looking")})
	d.must(err)
	d.ok(is.ListIssueTimeline(d.ctx, testOwner, testName, n, nil))
	d.ok(is.GetComment(d.ctx, testOwner, testName, m.GetID()))
	d.ok(is.EditComment(d.ctx, testOwner, testName, m.GetID(), &github.IssueComment{Body: github.String("Looked")}))
	d.ok(is.ListComments(d.ctx, testOwner, testName, n, nil))
	d.ok(is.ListComments(d.ctx, testOwner, testName, 0, nil))
	re := d.inst.Reactions
	r, _, err := re.CreateIssueReaction(d.ctx, testOwner, testName, n, "eyes")
	d.must(err)
	d.ok(re.ListIssueReactions(d.ctx, testOwner, testName, n, nil))
	d.done(re.DeleteIssueReaction(d.ctx, testOwner, testName, n, r.GetID()))
	r, _, err = re.CreateIssueCommentReaction(d.ctx, testOwner, testName, m.GetID(), "rocket")
	d.must(err)
	d.ok(re.ListIssueCommentReactions(d.ctx, testOwner, testName, m.GetID(), nil))
	d.done(re.DeleteIssueCommentReaction(d.ctx, testOwner, testName, m.GetID(), r.GetID()))
	d.done(is.DeleteComment(d.ctx, testOwner, testName, m.GetID()))
}

func (d *driver) drivePulls() {
	_, err := d.As("mary").PushFiles(testRepo, "fix/it", "Fix it", map[string][]byte{"fix.txt": []byte("fixed\n"), "main.go": nil})
	d.must(err)
	d.must(d.SetRole(testRepo, "rita", RoleMaintain))
	pr := d.inst.PullRequests
	p, _, err := pr.Create(d.ctx, testOwner, testName, &github.NewPullRequest{
		Title: github.String("Fix it"), Body: github.String("why"), Head: github.String("fix/it"), Base: github.String("main"), Draft: github.Bool(true),
	})
	d.must(err)
	n := p.GetNumber()
	d.ok(pr.Get(d.ctx, testOwner, testName, n))
	d.ok(pr.GetRaw(d.ctx, testOwner, testName, n, github.RawOptions{Type: github.Diff}))
	d.ok(pr.List(d.ctx, testOwner, testName, &github.PullRequestListOptions{Head: testOwner + ":fix/it"}))
	d.ok(pr.Edit(d.ctx, testOwner, testName, n, &github.PullRequest{Title: github.String("Fix it well")}))
	d.ok(pr.ListFiles(d.ctx, testOwner, testName, n, nil))
	d.ok(pr.ListCommits(d.ctx, testOwner, testName, n, nil))
	if merged, _, err := pr.IsMerged(d.ctx, testOwner, testName, n); err != nil || merged {
		d.t.Errorf("merged %v, %v", merged, err)
	}
	d.ok(pr.ListPullRequestsWithCommit(d.ctx, testOwner, testName, "fix/it", nil))
	v, _, err := d.as("mary").PullRequests.CreateReview(d.ctx, testOwner, testName, n, &github.PullRequestReviewRequest{
		Body: github.String("Please change"), Event: github.String("REQUEST_CHANGES"),
		Comments: []*github.DraftReviewComment{{Path: github.String("fix.txt"), Line: github.Int(1), Side: github.String("RIGHT"), Body: github.String("why?")}},
	})
	d.must(err)
	d.ok(pr.ListReviews(d.ctx, testOwner, testName, n, nil))
	d.ok(pr.GetReview(d.ctx, testOwner, testName, n, v.GetID()))
	comments, _, err := pr.ListReviewComments(d.ctx, testOwner, testName, n, v.GetID(), nil)
	d.must(err)
	d.ok(pr.ListComments(d.ctx, testOwner, testName, n, nil))
	d.ok(pr.CreateComment(d.ctx, testOwner, testName, n, &github.PullRequestComment{
		Body: github.String("see here"), Path: github.String("fix.txt"), Line: github.Int(1), CommitID: p.Head.SHA, Side: github.String("RIGHT"),
	}))
	d.ok(pr.CreateCommentInReplyTo(d.ctx, testOwner, testName, n, "because", comments[0].GetID()))
	req, err := d.inst.NewRequest(http.MethodPost, "repos/"+testRepo+"/pulls/"+itoa(n)+"/comments/"+itoa(int(comments[0].GetID()))+"/replies", obj{"body": "so"})
	d.must(err)
	d.done(d.inst.Do(d.ctx, req, &github.PullRequestComment{}))
	d.ok(pr.GetComment(d.ctx, testOwner, testName, comments[0].GetID()))
	d.ok(pr.EditComment(d.ctx, testOwner, testName, comments[0].GetID(), &github.PullRequestComment{Body: github.String("why really?")}))
	re := d.inst.Reactions
	r, _, err := re.CreatePullRequestCommentReaction(d.ctx, testOwner, testName, comments[0].GetID(), "+1")
	d.must(err)
	d.ok(re.ListPullRequestCommentReactions(d.ctx, testOwner, testName, comments[0].GetID(), nil))
	d.done(re.DeletePullRequestCommentReaction(d.ctx, testOwner, testName, comments[0].GetID(), r.GetID()))
	d.ok(pr.RequestReviewers(d.ctx, testOwner, testName, n, github.ReviewersRequest{Reviewers: []string{"rita"}}))
	d.ok(pr.ListReviewers(d.ctx, testOwner, testName, n, nil))
	d.done(pr.RemoveReviewers(d.ctx, testOwner, testName, n, github.ReviewersRequest{Reviewers: []string{"rita"}}))
	d.ok(d.inst.Issues.Get(d.ctx, testOwner, testName, n))
	d.ok(d.inst.Issues.ListIssueTimeline(d.ctx, testOwner, testName, n, nil))
	d.ok(pr.Edit(d.ctx, testOwner, testName, n, &github.PullRequest{State: github.String("closed")}))
}

func (d *driver) driveChecks() {
	ch := d.inst.Checks
	k, _, err := ch.CreateCheckRun(d.ctx, testOwner, testName, github.CreateCheckRunOptions{
		Name: "autocode", HeadSHA: d.head, Status: github.String("in_progress"), ExternalID: github.String("run/1"),
		DetailsURL: github.String("http://127.0.0.1/x"), StartedAt: &github.Timestamp{Time: time.Unix(1_700_000_000, 0)},
	})
	d.must(err)
	d.ok(ch.UpdateCheckRun(d.ctx, testOwner, testName, k.GetID(), github.UpdateCheckRunOptions{
		Name: "autocode", Conclusion: github.String("success"),
		Output: &github.CheckRunOutput{Title: github.String("Green"), Summary: github.String("All green"), Annotations: []*github.CheckRunAnnotation{
			{Path: github.String("main.go"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("notice"), Message: github.String("here")},
		}},
		Actions: []*github.CheckRunAction{{Label: "Retry", Description: "Run it again", Identifier: "retry"}},
	}))
	d.ok(ch.GetCheckRun(d.ctx, testOwner, testName, k.GetID()))
	d.ok(ch.ListCheckRunAnnotations(d.ctx, testOwner, testName, k.GetID(), nil))
	d.ok(ch.ListCheckRunsForRef(d.ctx, testOwner, testName, "main", nil))
	suites, _, err := ch.ListCheckSuitesForRef(d.ctx, testOwner, testName, "main", nil)
	d.must(err)
	id := suites.CheckSuites[0].GetID()
	d.ok(ch.GetCheckSuite(d.ctx, testOwner, testName, id))
	d.ok(ch.ListCheckRunsCheckSuite(d.ctx, testOwner, testName, id, nil))
	d.must(d.SetPermission(testOwner, actions, "read"))
	job, err := d.FailJob(testOwner+"/"+testName, d.head, "build", "it fails\n")
	d.must(err)
	ac := d.withToken(d.token(nil)).Actions
	one, _, err := ac.GetWorkflowJobByID(d.ctx, testOwner, testName, job)
	d.ok(one, nil, err)
	d.ok(ac.ListWorkflowJobs(d.ctx, testOwner, testName, one.GetRunID(), nil))
	d.ok(ac.GetWorkflowJobLogs(d.ctx, testOwner, testName, job, 0))
	d.done(ch.ReRequestCheckRun(d.ctx, testOwner, testName, k.GetID()))
	d.done(ch.ReRequestCheckSuite(d.ctx, testOwner, testName, id))
}
