package githubtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// PullRequest is what a pull request has besides its issue, which holds title, body, labels and
// timeline.
type PullRequest struct {
	ID     int64
	NodeID string
	Number int
	Draft  bool
	// HeadOwner is the owner of the repository that holds the head branch.
	HeadOwner  string
	HeadBranch string
	HeadSHA    string
	BaseBranch string
	BaseSHA    string
	// MergedAt and MergeSHA are set once it is merged.
	MergedAt time.Time
	MergeSHA string
	// Reviewers are the logins of those asked for a review.
	Reviewers []string
	// Title, Body, State and Labels are copied from the issue when the pull request is inspected.
	Title, Body string
	State       State
	Labels      []string

	issue    *Issue
	headRepo *repository
	mergedBy *user
	reviews  []*Review
	comments []*ReviewComment
}

// clone is the pull request as it is now, with the texts of its issue.
func (p *PullRequest) clone() PullRequest {
	out := *p
	out.Title, out.Body, out.State = p.issue.Title, p.issue.Body, p.issue.State
	out.Labels, out.Reviewers = slices.Clone(p.issue.Labels), slices.Clone(p.Reviewers)
	return out
}

func (s *Server) pullURL(p *PullRequest) string {
	return fmt.Sprintf("%s/pulls/%d", s.api(p.issue.repo), p.Number)
}

// pullInput is what a pull request is made of.
type pullInput struct {
	Title, Body, Head, Base string
	Draft                   bool
	MaintainerCanModify     *bool `json:"maintainer_can_modify"`
}

// openPull makes a pull request after all of GitHub's refusals.
func (s *Server) openPull(r *repository, by actor, in pullInput) (*PullRequest, error) {
	if strings.TrimSpace(in.Title) == "" {
		return nil, invalid("PullRequest", "title", "missing_field")
	}
	if err := checkBody("PullRequest", in.Body); err != nil {
		return nil, err
	}
	baseSHA, found := r.refs["refs/heads/"+in.Base]
	if !found {
		return nil, invalid("PullRequest", "base", "invalid")
	}
	headRepo, branch := r, in.Head
	if owner, name, qualified := strings.Cut(in.Head, ":"); qualified {
		branch = name
		headRepo = s.inNetwork(r, owner)
	}
	if headRepo == nil || headRepo.refs["refs/heads/"+branch] == "" {
		return nil, invalid("PullRequest", "head", "invalid")
	}
	headSHA := headRepo.refs["refs/heads/"+branch]
	for _, p := range r.pulls {
		if p.issue.State == StateOpen && p.headRepo == headRepo && p.HeadBranch == branch && p.BaseBranch == in.Base {
			return nil, invalidCustom("PullRequest", "", fmt.Sprintf("A pull request already exists for %s:%s.", headRepo.Owner.Login, branch))
		}
	}
	if headRepo != r {
		if _, err := r.git("fetch", "--quiet", "--no-tags", headRepo.dir, headSHA); err != nil {
			return nil, err
		}
	}
	count, err := r.git("rev-list", "--count", baseSHA+".."+headSHA)
	if err != nil {
		return nil, err
	}
	if count == "0" {
		return nil, invalidCustom("PullRequest", "", fmt.Sprintf("No commits between %s and %s", in.Base, branch))
	}
	if _, err := r.git("merge-base", baseSHA, headSHA); err != nil {
		return nil, invalidCustom("PullRequest", "", fmt.Sprintf("The %s branch has no history in common with %s", branch, in.Base))
	}
	if in.Draft && r.noDrafts {
		return nil, unprocessable("Draft pull requests are not supported in this repository.")
	}
	i := s.newIssue(r, by, in.Title, in.Body, true)
	p := &PullRequest{
		ID: s.nextID(), Number: i.Number, Draft: in.Draft, HeadOwner: headRepo.Owner.Login, HeadBranch: branch, HeadSHA: headSHA,
		BaseBranch: in.Base, BaseSHA: baseSHA, issue: i, headRepo: headRepo,
	}
	p.NodeID = s.nodeID("PR", p.ID, p)
	r.pulls[p.Number] = p
	if err := s.keepHead(p); err != nil {
		return nil, err
	}
	s.emitPull(p, by, "opened", nil)
	s.wake()
	return p, nil
}

// inNetwork finds the repository of an owner among a repository and its forks.
func (s *Server) inNetwork(r *repository, owner string) *repository {
	for _, o := range s.repos {
		if strings.EqualFold(o.Owner.Login, owner) && (o == r || o.parent == r || r.parent == o) {
			return o
		}
	}
	return nil
}

// keepHead keeps refs/pull/N/head, which anybody who can read may fetch.
func (s *Server) keepHead(p *PullRequest) error {
	_, err := p.issue.repo.git("update-ref", fmt.Sprintf("refs/pull/%d/head", p.Number), p.HeadSHA)
	return err
}

// syncPulls follows a branch that moved: heads are synchronised or closed, bases move along.
func (s *Server) syncPulls(moved *repository, branch, sha string, by actor) error {
	for _, r := range s.repos {
		for _, p := range r.pulls {
			if p.issue.State != StateOpen {
				continue
			}
			if r == moved && p.BaseBranch == branch && sha != zeroSHA {
				p.BaseSHA = sha
			}
			if p.headRepo != moved || p.HeadBranch != branch {
				continue
			}
			if sha == zeroSHA {
				s.setState(p.issue, by, StateClosed, nil)
				continue
			}
			if r != moved {
				if _, err := r.git("fetch", "--quiet", "--no-tags", moved.dir, sha); err != nil {
					return err
				}
			}
			before := p.HeadSHA
			p.HeadSHA = sha
			p.issue.UpdatedAt = s.clock()
			if err := s.keepHead(p); err != nil {
				return err
			}
			s.emitPull(p, by, "synchronize", obj{"before": before, "after": sha})
		}
	}
	return nil
}

func (s *Server) emitPull(p *PullRequest, by actor, action string, more obj) {
	payload := obj{"number": p.Number, "pull_request": s.fullPull(p)}
	for k, v := range more {
		payload[k] = v
	}
	s.emit(p.issue.repo, by, "pull_request", action, payload)
}

// setDraft moves a pull request between draft and ready.
func (s *Server) setDraft(p *PullRequest, by actor, draft bool) error {
	if p.Draft == draft {
		return nil
	}
	if draft && p.issue.repo.noDrafts {
		return fail(http.StatusUnprocessableEntity, "Draft pull requests are not supported in this repository.")
	}
	p.Draft = draft
	p.issue.UpdatedAt = s.clock()
	action, event := "ready_for_review", "ready_for_review"
	if draft {
		action, event = "converted_to_draft", "convert_to_draft"
	}
	s.note(p.issue, by, Event{Event: event})
	s.emitPull(p, by, action, nil)
	s.wake()
	return nil
}

func (s *Server) pullSide(r *repository, branch, sha string) obj {
	if r == nil {
		return obj{"label": "unknown:" + branch, "ref": branch, "sha": sha, "user": nil, "repo": nil}
	}
	return obj{"label": r.Owner.Login + ":" + branch, "ref": branch, "sha": sha, "user": s.jsonUser(r.Owner), "repo": s.jsonRepo(r)}
}

// jsonPull is the "simple" pull request of lists.
func (s *Server) jsonPull(p *PullRequest) obj {
	i := p.issue
	url, page := s.pullURL(p), s.issuePage(i)
	var body any
	if i.Body != "" {
		body = i.Body
	}
	out := obj{
		"id": p.ID, "node_id": p.NodeID, "url": url, "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch",
		"issue_url": s.issueURL(i), "commits_url": url + "/commits", "review_comments_url": url + "/comments",
		"review_comment_url": s.api(i.repo) + "/pulls/comments{/number}", "comments_url": s.issueURL(i) + "/comments",
		"statuses_url": s.api(i.repo) + "/statuses/" + p.HeadSHA, "number": p.Number, "state": i.State, "locked": i.Locked,
		"title": i.Title, "user": s.jsonUser(i.user), "body": body, "labels": s.jsonLabels(i), "milestone": nil, "active_lock_reason": nil,
		"created_at": stamp(i.CreatedAt), "updated_at": stamp(i.UpdatedAt), "closed_at": stampOrNil(i.ClosedAt), "merged_at": stampOrNil(p.MergedAt),
		"merge_commit_sha": orNil(p.MergeSHA), "assignee": nil, "assignees": s.people(i.Assignees), "requested_reviewers": s.people(p.Reviewers), "requested_teams": []any{},
		"head": s.pullSide(p.headRepo, p.HeadBranch, p.HeadSHA), "base": s.pullSide(i.repo, p.BaseBranch, p.BaseSHA),
		"author_association": i.repo.association(i.user), "auto_merge": nil, "draft": p.Draft,
		"_links": obj{
			"self": obj{"href": url}, "html": obj{"href": page}, "issue": obj{"href": s.issueURL(i)}, "comments": obj{"href": s.issueURL(i) + "/comments"},
			"review_comments": obj{"href": url + "/comments"}, "review_comment": obj{"href": s.api(i.repo) + "/pulls/comments{/number}"},
			"commits": obj{"href": url + "/commits"}, "statuses": obj{"href": s.api(i.repo) + "/statuses/" + p.HeadSHA},
		},
	}
	if len(i.Assignees) > 0 {
		out["assignee"] = s.jsonUser(s.userNamed(i.Assignees[0]))
	}
	return out
}

// fullPull adds what a single pull request has.
func (s *Server) fullPull(p *PullRequest) obj {
	r := p.issue.repo
	out := s.jsonPull(p)
	files, _ := p.files() // a head that is gone has no files
	added, deleted := totals(files)
	commits, _ := p.commits()
	mergeable, state := true, "clean"
	if _, err := r.git("merge-tree", "--write-tree", p.BaseSHA, p.HeadSHA); err != nil {
		mergeable, state = false, "dirty"
	} else if p.Draft {
		state = "draft"
	}
	maps.Copy(out, obj{
		"merged": p.MergeSHA != "", "mergeable": mergeable, "rebaseable": mergeable, "mergeable_state": state, "merged_by": s.jsonUser(p.mergedBy),
		"comments": len(r.commentsOf(p.Number)), "review_comments": len(p.comments), "maintainer_can_modify": false,
		"commits": len(commits), "additions": added, "deletions": deleted, "changed_files": len(files),
	})
	return out
}

func (p *PullRequest) mergeBase() (string, error) {
	return p.issue.repo.git("merge-base", p.BaseSHA, p.HeadSHA)
}

func (p *PullRequest) files() ([]diffFile, error) {
	base, err := p.mergeBase()
	if err != nil {
		return nil, err
	}
	return p.issue.repo.diff(base, p.HeadSHA)
}

func (p *PullRequest) commits() ([]commitInfo, error) {
	return p.issue.repo.log("--reverse", p.BaseSHA+".."+p.HeadSHA, "--")
}

func (c *call) pullByPath() (*PullRequest, error) {
	n, err := c.number("number")
	if err != nil {
		return nil, err
	}
	if p := c.repo.pulls[int(n)]; p != nil {
		return p, nil
	}
	return nil, notFound()
}

func (c *call) listPulls() (reply, error) {
	head, base := c.query("head"), c.query("base")
	var out []*PullRequest
	for _, p := range c.repo.pulls {
		if !stateMatches(p.issue.State, c.query("state")) || base != "" && p.BaseBranch != base {
			continue
		}
		// GitHub ignores a head without an owner.
		if strings.Contains(head, ":") && !strings.EqualFold(head, p.HeadOwner+":"+p.HeadBranch) {
			continue
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *PullRequest) int {
		if c.query("direction") == "asc" {
			return a.Number - b.Number
		}
		return b.Number - a.Number
	})
	return ok(mapAll(page(c, out), c.jsonPull))
}

func (c *call) listPullsOfCommit() (reply, error) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	var out []*PullRequest
	for _, p := range c.repo.pulls {
		commits, err := p.commits()
		if err != nil {
			return reply{}, err
		}
		if slices.ContainsFunc(commits, func(i commitInfo) bool { return i.sha == sha }) {
			out = append(out, p)
		}
	}
	return ok(mapAll(page(c, out), c.jsonPull))
}

func (c *call) createPull() (reply, error) {
	var in pullInput
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	p, err := c.openPull(c.repo, c.who.actor(), in)
	if err != nil {
		return reply{}, err
	}
	c.header.Set("Location", c.pullURL(p))
	return created(c.fullPull(p))
}

func (c *call) getPull() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	if accept := c.r.Header.Get("Accept"); strings.Contains(accept, "diff") || strings.Contains(accept, "patch") {
		base, err := p.mergeBase()
		if err != nil {
			return reply{}, err
		}
		return c.rawDiff(base, p.HeadSHA)
	}
	return ok(c.fullPull(p))
}

func (c *call) updatePull() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	if err := c.mayWriteOver(p.issue.user); err != nil {
		return reply{}, err
	}
	var in struct {
		Title, Body, Base *string
		State             *State
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if in.Base != nil && *in.Base != p.BaseBranch {
		sha, found := c.repo.refs["refs/heads/"+*in.Base]
		if !found {
			return reply{}, invalid("PullRequest", "base", "invalid")
		}
		p.BaseBranch, p.BaseSHA = *in.Base, sha
	}
	if in.State != nil && *in.State == StateOpen && p.issue.State == StateClosed && p.headRepo.refs["refs/heads/"+p.HeadBranch] == "" {
		return reply{}, invalidCustom("PullRequest", "state", fmt.Sprintf("state cannot be changed. The %s branch has been deleted.", p.HeadBranch))
	}
	if err := c.editIssue(p.issue, c.who.actor(), issueEdit{Title: in.Title, Body: in.Body, State: in.State}); err != nil {
		return reply{}, err
	}
	return ok(c.fullPull(p))
}

func (c *call) listPullFiles() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	files, err := p.files()
	if err != nil {
		return reply{}, err
	}
	return ok(mapAll(page(c, files), func(f diffFile) obj { return c.jsonFile(f, p.HeadSHA) }))
}

func (c *call) listPullCommits() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	infos, err := p.commits()
	if err != nil {
		return reply{}, err
	}
	return ok(mapAll(page(c, infos), c.jsonCommit))
}

func (c *call) isMerged() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	if p.MergeSHA != "" {
		return noContent()
	}
	return reply{}, notFound()
}

func (c *call) getReviewers() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(obj{"users": c.people(p.Reviewers), "teams": []any{}})
}

// requestReviewers asks collaborators; the author and outsiders are refused.
func (c *call) requestReviewers() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	var in struct {
		Reviewers []string
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	for _, login := range in.Reviewers {
		u := c.users[strings.ToLower(login)]
		if u == p.issue.user && u != nil {
			return reply{}, fail(http.StatusUnprocessableEntity, "Review cannot be requested from pull request author.")
		}
		if u == nil || c.repo.role(u) == roleNone {
			return reply{}, fail(http.StatusUnprocessableEntity, "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the %s repository.", c.repo.full())
		}
	}
	for _, login := range in.Reviewers {
		u := c.userNamed(login)
		if slices.Contains(p.Reviewers, u.Login) {
			continue
		}
		p.Reviewers = append(p.Reviewers, u.Login)
		c.note(p.issue, c.who.actor(), Event{Event: "review_requested", assignee: u})
		c.emitPull(p, c.who.actor(), "review_requested", obj{"requested_reviewer": c.jsonUser(u)})
	}
	return created(c.jsonPull(p))
}

func (c *call) removeReviewers() (reply, error) {
	p, err := c.pullByPath()
	if err != nil {
		return reply{}, err
	}
	var in struct {
		Reviewers []string
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	p.Reviewers = slices.DeleteFunc(p.Reviewers, func(l string) bool {
		return slices.ContainsFunc(in.Reviewers, func(o string) bool { return strings.EqualFold(l, o) })
	})
	return ok(c.jsonPull(p))
}
