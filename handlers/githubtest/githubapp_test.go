package githubtest

import (
	"testing"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/shurcooL/githubv4"
)

// TestGoGithubapp uses the clients that the server itself uses, configured by addresses alone.
func TestGoGithubapp(t *testing.T) {
	w := newWorld(t)
	config := githubapp.Config{WebURL: w.URL(), V3APIURL: w.V3URL(), V4APIURL: w.V4URL()}
	config.App.IntegrationID, config.App.PrivateKey, config.App.WebhookSecret = w.AppID(), string(w.PrivateKeyPEM()), "s3cret"
	creator, err := githubapp.NewDefaultCachingClientCreator(config)
	w.must(err)
	app, err := creator.NewAppClient()
	w.must(err)
	inst, _, err := app.Apps.FindRepositoryInstallation(w.ctx, testOwner, testName)
	w.must(err)
	v3, err := creator.NewInstallationClient(inst.GetID())
	w.must(err)
	n := w.pull("topic")
	p, _, err := v3.PullRequests.Get(w.ctx, testOwner, testName, n)
	w.must(err)
	v4, err := creator.NewInstallationV4Client(inst.GetID())
	w.must(err)
	var ready struct {
		Mark struct {
			PullRequest struct{ IsDraft bool }
		} `graphql:"markPullRequestReadyForReview(input: $input)"`
	}
	w.must(v4.Mutate(w.ctx, &ready, githubv4.MarkPullRequestReadyForReviewInput{PullRequestID: p.GetNodeID()}, nil))
	if ready.Mark.PullRequest.IsDraft {
		t.Error("still a draft")
	}
	var query struct {
		Node struct {
			PullRequest struct {
				LastEditedAt     *githubv4.DateTime
				UserContentEdits *struct {
					Nodes []struct {
						EditedAt githubv4.DateTime
						Diff     *githubv4.String
					}
				} `graphql:"userContentEdits(first: 10)"`
			} `graphql:"... on PullRequest"`
		} `graphql:"node(id: $id)"`
	}
	ask := func() {
		t.Helper()
		w.must(v4.Query(w.ctx, &query, map[string]any{"id": githubv4.ID(p.GetNodeID())}))
	}
	ask()
	if query.Node.PullRequest.LastEditedAt != nil {
		t.Error("edited before it was")
	}
	w.must(w.As("mary").EditIssue(testRepo, n, "Change", "another body"))
	ask()
	if edits := query.Node.PullRequest.UserContentEdits; edits == nil || len(edits.Nodes) != 2 || *edits.Nodes[0].Diff != "another body" {
		t.Errorf("edits %+v", edits)
	}
	if got := w.Unimplemented(); len(got) != 0 {
		t.Errorf("unimplemented %v", got)
	}
}
