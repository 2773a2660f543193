package githubtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/handlers/githubtest/conformance"
)

// driveEvents makes every event happen that the stand-in can send.
func driveEvents(w *world) {
	w.t.Helper()
	mary, alice := w.As("mary"), w.As("alice")
	n, err := alice.CreateIssue(testRepo, "It breaks", "Steps", "bug")
	w.must(err)
	w.must(mary.Label(testRepo, n, "autocode"))
	w.must(mary.Unlabel(testRepo, n, "autocode"))
	w.must(alice.EditIssue(testRepo, n, "It breaks badly", "Better steps"))
	id, err := alice.Comment(testRepo, n, "More")
	w.must(err)
	w.must(alice.EditComment(testRepo, id, "Even more"))
	w.must(alice.DeleteComment(testRepo, id))
	w.must(alice.Close(testRepo, n))
	w.must(mary.Reopen(testRepo, n))
	w.must(mary.LockIssue(testRepo, n))
	w.must(mary.DeleteLabel(testRepo, "autocode"))
	p := w.pull("topic")
	w.must(mary.SetDraft(testRepo, p, false))
	w.must(mary.SetDraft(testRepo, p, true))
	w.must(mary.Label(testRepo, p, "bug"))
	w.must(mary.Unlabel(testRepo, p, "bug"))
	w.must(mary.EditIssue(testRepo, p, "Change it", "because"))
	w.must(w.SetRole(testRepo, "rita", RoleAdmin))
	_, _, err = w.inst.PullRequests.RequestReviewers(w.ctx, testOwner, testName, p, github.ReviewersRequest{Reviewers: []string{"rita"}})
	w.must(err)
	_, err = w.As("rita").Review(testRepo, p, ReviewChangesRequested, "No", LineComment{Path: "topic.txt", Line: 1, Body: "why?"})
	w.must(err)
	_, err = alice.Comment(testRepo, p, "On the pull request")
	w.must(err)
	sha, err := mary.PushFiles(testRepo, "topic", "More", map[string][]byte{"topic.txt": []byte("newer\n")})
	w.must(err)
	run, _, err := w.inst.Checks.CreateCheckRun(w.ctx, testOwner, testName, github.CreateCheckRunOptions{
		Name: "autocode", HeadSHA: sha, Conclusion: github.String("failure"),
		Output:  &github.CheckRunOutput{Title: github.String("Red"), Summary: github.String("One fails")},
		Actions: []*github.CheckRunAction{{Label: "Retry", Description: "Run again", Identifier: "retry"}},
	})
	w.must(err)
	w.must(mary.PressButton(testRepo, run.GetID(), "retry"))
	w.must(mary.RerequestCheck(testRepo, run.GetID()))
	w.must(mary.RerequestSuite(testRepo, run.GetID()))
	name, conclusion := "build", "failure"
	_, err = w.OtherApp("ci").CreateCheckRun(testRepo, CheckRunInput{Name: &name, HeadSHA: sha, Conclusion: &conclusion})
	w.must(err)
	w.must(mary.Close(testRepo, p))
	w.must(mary.DeleteBranch(testRepo, "topic"))
	w.must(mary.DeleteIssue(testRepo, n))
	w.must(w.SetPermission(testOwner, statuses, "write"))
	_, _, err = w.withToken(w.token(nil)).Repositories.CreateStatus(w.ctx, testOwner, testName, w.head, &github.RepoStatus{State: github.String("pending")})
	w.must(err)
	w.must(mary.Archive(testRepo))
	w.must(mary.Unarchive(testRepo))
	_, err = w.CreateRepository(RepositoryOptions{Owner: testOwner, Name: "other", Files: sample})
	w.must(err)
	moving, err := alice.CreateIssue(testRepo, "Elsewhere", "")
	w.must(err)
	_, _, err = w.inst.Issues.AddAssignees(w.ctx, testOwner, testName, moving, []string{"mary"})
	w.must(err)
	_, _, err = w.inst.Issues.RemoveAssignees(w.ctx, testOwner, testName, moving, []string{"mary"})
	w.must(err)
	_, err = mary.TransferIssue(testRepo, moving, "acme/other")
	w.must(err)
	p = w.pull("merging")
	w.must(mary.SetDraft(testRepo, p, false))
	_, err = mary.Merge(testRepo, p)
	w.must(err)
	w.must(mary.Rename(testRepo, "gadgets"))
	w.must(mary.Suspend(testOwner))
	w.must(mary.Unsuspend(testOwner))
	w.must(mary.RemoveFromInstallation("acme/gadgets"))
	w.must(mary.AddToInstallation("acme/gadgets"))
	w.must(mary.DeleteRepository("acme/gadgets"))
	w.must(mary.Uninstall(testOwner))
	w.must(mary.Install(testOwner))
}

func TestWebhooksOfEverything(t *testing.T) {
	w := newWorld(t)
	w.must(w.SetPermission(testOwner, statuses, "write"))
	sink := w.sink("s3cret")
	driveEvents(w)
	got := w.events()
	want := []string{
		"issues.opened", "issues.labeled", "label.created", "issues.labeled", "issues.unlabeled", "issues.edited",
		"issue_comment.created", "issue_comment.edited", "issue_comment.deleted", "issues.closed", "issues.reopened", "issues.locked", "label.deleted",
		"create", "push", "check_suite.requested", "pull_request.opened", "pull_request.ready_for_review", "pull_request.converted_to_draft",
		"pull_request.labeled", "pull_request.unlabeled", "pull_request.edited", "pull_request.review_requested",
		"pull_request_review.submitted", "pull_request_review_comment.created", "issue_comment.created",
		"push", "check_suite.requested", "pull_request.synchronize", "check_run.created", "check_run.completed", "check_suite.completed",
		"check_run.requested_action", "check_run.rerequested", "check_suite.rerequested", "check_run.created", "check_run.completed", "check_suite.completed",
		"pull_request.closed", "delete", "push", "issues.deleted", "status", "repository.archived", "repository.unarchived",
		"issues.opened", "issues.assigned", "issues.unassigned", "issues.transferred",
		"create", "push", "check_suite.requested", "pull_request.opened", "pull_request.ready_for_review", "pull_request.closed", "push", "check_suite.requested",
		"repository.renamed",
		"installation.suspend", "installation.unsuspend", "installation_repositories.removed", "installation_repositories.added",
		"repository.deleted", "installation.deleted", "installation.created",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events\n got %v\nwant %v", got, want)
	}
	for _, hook := range sink.list {
		event, err := github.ParseWebHook(hook.event, hook.body)
		if err != nil {
			t.Errorf("%s does not decode: %v", hook.event, err)
			continue
		}
		if with, has := event.(interface{ GetInstallation() *github.Installation }); !has || with.GetInstallation().GetID() == 0 {
			t.Errorf("%s has no installation", hook.event)
		}
		if with, has := event.(interface{ GetSender() *github.User }); !has || with.GetSender().GetLogin() == "" {
			t.Errorf("%s has no sender", hook.event)
		}
		for _, name := range []string{"X-Hub-Signature", "X-Hub-Signature-256", "X-GitHub-Delivery", "X-GitHub-Hook-ID", "X-GitHub-Hook-Installation-Target-Type"} {
			if hook.header.Get(name) == "" {
				t.Errorf("%s has no %s", hook.event, name)
			}
		}
	}
}

func TestWebhooksConform(t *testing.T) {
	v := conformance.ForTest(t, requireAll())
	w := newWorld(t)
	w.must(w.SetPermission(testOwner, statuses, "write"))
	w.sink("s3cret")
	driveEvents(w)
	w.events()
	for _, d := range w.Deliveries() {
		if err := v.Webhook(d.Event, d.Action, d.Payload); err != nil {
			t.Error(err)
		}
	}
}

func TestWebhookSenders(t *testing.T) {
	w := newWorld(t)
	w.sink("s3cret")
	n := w.issue()
	_, _, err := w.inst.Issues.CreateComment(w.ctx, testOwner, testName, n, &github.IssueComment{Body: github.String("hello")})
	w.must(err)
	w.events()
	var senders []string
	for _, d := range w.Deliveries() {
		var p struct {
			Sender  struct{ Login, Type string }
			Comment struct {
				App *struct{ Slug string } `json:"performed_via_github_app"`
			}
		}
		w.must(json.Unmarshal(d.Payload, &p))
		senders = append(senders, p.Sender.Login+" "+p.Sender.Type)
		if p.Comment.App != nil {
			senders = append(senders, "via "+p.Comment.App.Slug)
		}
	}
	if want := []string{"alice User", "autocode[bot] Bot", "via autocode"}; !slices.Equal(senders, want) {
		t.Errorf("senders %v, want %v", senders, want)
	}
}

func TestWebhookFilters(t *testing.T) {
	cases := []struct {
		name   string
		change func(o *Options, r *RepositoryOptions)
		do     func(w *world)
		want   []string
	}{
		{"not subscribed", func(o *Options, _ *RepositoryOptions) { o.Events = []string{"push"} }, func(w *world) { w.issue() }, nil},
		{"no permission", func(o *Options, _ *RepositoryOptions) { o.Permissions = map[string]string{"contents": "read"} }, func(w *world) { w.issue() }, nil},
		{"not installed", func(_ *Options, r *RepositoryOptions) { r.NotInstalled = true }, func(w *world) { w.issue() }, nil},
		{"suspended", nil, func(w *world) {
			w.must(w.As("mary").Suspend(testOwner))
			w.issue()
		}, []string{"installation.suspend"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			change := c.change
			if change == nil {
				change = func(*Options, *RepositoryOptions) {}
			}
			w := newWorld(t, change)
			w.sink("s3cret")
			c.do(w)
			if got := w.events(); !slices.Equal(got, c.want) {
				t.Errorf("events %v, want %v", got, c.want)
			}
		})
	}
}

func TestRedeliver(t *testing.T) {
	w := newWorld(t)
	sink := w.sink("s3cret")
	w.issue()
	w.events()
	first := w.Deliveries()[0]
	w.must(w.Redeliver(first.ID))
	w.events()
	if len(sink.list) != 2 || sink.list[0].guid != sink.list[1].guid || string(sink.list[0].body) != string(sink.list[1].body) {
		t.Errorf("the redelivery differs: %v", sink.list)
	}
	again := w.Deliveries()[1]
	if !again.Redelivery || again.ID == first.ID {
		t.Errorf("redelivery %+v", again)
	}
	if w.Redeliver(1) == nil {
		t.Error("redelivering what does not exist succeeded")
	}
}

func TestDeliveryIsNotRetried(t *testing.T) {
	w := newWorld(t)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no", http.StatusInternalServerError) }))
	defer srv.Close()
	w.SetWebhook(srv.URL, "")
	w.issue()
	w.must(w.WaitDeliveries(w.ctx))
	d := w.Deliveries()
	if len(d) != 1 || d[0].Status != http.StatusInternalServerError || !strings.Contains(d[0].Answer, "no") {
		t.Errorf("deliveries %+v", d)
	}
	w.SetWebhook("http://127.0.0.1:1", "")
	w.issue()
	w.must(w.WaitDeliveries(w.ctx))
	if d := w.Deliveries(); len(d) != 2 || d[1].Err == "" || d[1].Status != 0 {
		t.Errorf("deliveries %+v", d)
	}
}

func TestHoldWebhooks(t *testing.T) {
	w := newWorld(t)
	w.sink("s3cret")
	release := w.HoldWebhooks()
	w.issue()
	if d := w.Deliveries(); len(d) != 1 || d[0].Done {
		t.Fatalf("held deliveries %+v", d)
	}
	release()
	if got := w.events(); len(got) != 1 {
		t.Fatalf("events %v", got)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if err := w.Wait(ctx, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Fatalf("err %v", err)
	}
}
