package githubtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// checkSuite gathers the check runs of one App on one commit.
type checkSuite struct {
	ID                 int64
	NodeID             string
	Branch             string
	SHA, Before        string
	Status, Conclusion string
	CreatedAt          time.Time
	UpdatedAt          time.Time
	app                *app
	repo               *repository
}

func sortedNumbers[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

// suiteFor finds or makes the suite of an App on a commit.
func (s *Server) suiteFor(r *repository, a *app, sha string) *checkSuite {
	for _, u := range r.suites {
		if u.app == a && u.SHA == sha {
			return u
		}
	}
	branch := ""
	for _, ref := range sortedKeys(r.refs) {
		if name, isBranch := cutBranch(ref); isBranch && r.refs[ref] == sha {
			branch = name
			break
		}
	}
	now := s.clock()
	u := &checkSuite{ID: s.nextID(), Branch: branch, SHA: sha, Status: "queued", CreatedAt: now, UpdatedAt: now, app: a, repo: r}
	u.NodeID = s.nodeID("CS", u.ID, u)
	r.suites = append(r.suites, u)
	return u
}

// requestSuite is what a push does for an App that may write checks.
func (s *Server) requestSuite(r *repository, branch, sha, before string, by actor) {
	inst := s.installationOf(r)
	if inst == nil || levels[inst.Perms[checks]] < write {
		return
	}
	for _, u := range r.suites {
		if u.app == s.app && u.SHA == sha {
			return // the commit was pushed before, to another branch
		}
	}
	u := s.suiteFor(r, s.app, sha)
	u.Branch, u.Before = branch, before
	s.emit(r, by, "check_suite", "requested", obj{"check_suite": s.hookSuite(u)})
}

// worst orders conclusions by how much they say about the whole.
var worst = []string{"failure", "timed_out", "cancelled", "action_required", "stale", "success", "neutral", "skipped"}

// settleSuite derives a suite's status from its runs and sends check_suite completed at the end.
func (s *Server) settleSuite(u *checkSuite) {
	done, conclusion := true, ""
	for _, k := range u.repo.runs {
		if k.suite != u {
			continue
		}
		if k.Status != "completed" {
			done = false
		} else if conclusion == "" || slices.Index(worst, k.Conclusion) < slices.Index(worst, conclusion) {
			conclusion = k.Conclusion
		}
	}
	was := u.Status
	u.UpdatedAt = s.clock()
	if !done {
		u.Status, u.Conclusion = "in_progress", ""
		return
	}
	u.Status, u.Conclusion = "completed", conclusion
	if was != "completed" {
		s.emit(u.repo, actor{u.app.bot, u.app}, "check_suite", "completed", obj{"check_suite": s.hookSuite(u)})
	}
}

func (s *Server) headCommit(r *repository, sha string) any {
	info, err := r.readCommit(sha)
	if err != nil {
		return nil
	}
	return obj{
		"id": info.sha, "tree_id": info.tree, "message": info.message, "timestamp": stamp(info.commitDate),
		"author": obj{"name": info.authorName, "email": info.authorEmail}, "committer": obj{"name": info.committer, "email": info.committerMail},
	}
}

func (s *Server) hookSuite(u *checkSuite) obj {
	out := s.jsonSuite(u)
	delete(out, "repository")
	return out
}

func (s *Server) jsonSuite(u *checkSuite) obj {
	url := fmt.Sprintf("%s/check-suites/%d", s.api(u.repo), u.ID)
	n := 0
	for _, k := range u.repo.runs {
		if k.suite == u {
			n++
		}
	}
	return obj{
		"id": u.ID, "node_id": u.NodeID, "head_branch": orNil(u.Branch), "head_sha": u.SHA, "status": u.Status, "conclusion": orNil(u.Conclusion),
		"url": url, "before": cmp.Or(u.Before, zeroSHA), "after": u.SHA, "pull_requests": s.pullsAt(u.repo, u.SHA), "app": s.jsonApp(u.app),
		"repository": s.jsonRepo(u.repo), "created_at": stamp(u.CreatedAt), "updated_at": stamp(u.UpdatedAt), "rerequestable": true, "runs_rerequestable": true,
		"head_commit": s.headCommit(u.repo, u.SHA), "latest_check_runs_count": n, "check_runs_url": url + "/check-runs",
	}
}

func (c *call) listSuitesOfRef() (reply, error) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	if sha == "" {
		return reply{}, fail(http.StatusUnprocessableEntity, "No commit found for SHA: %s", c.r.PathValue("ref"))
	}
	var out []*checkSuite
	for _, u := range c.repo.suites {
		if u.SHA == sha && (c.query("app_id") == "" || c.query("app_id") == fmt.Sprint(u.app.ID)) {
			out = append(out, u)
		}
	}
	return ok(obj{"total_count": len(out), "check_suites": mapAll(page(c, out), c.jsonSuite)})
}

func (c *call) suiteByPath() (*checkSuite, error) {
	id, err := c.number("id")
	if err != nil {
		return nil, err
	}
	for _, u := range c.repo.suites {
		if u.ID == id {
			return u, nil
		}
	}
	return nil, notFound()
}

func (c *call) getSuite() (reply, error) {
	u, err := c.suiteByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonSuite(u))
}

func (c *call) listRunsOfSuite() (reply, error) {
	u, err := c.suiteByPath()
	if err != nil {
		return reply{}, err
	}
	var runs []*CheckRun
	for _, k := range c.repo.runs {
		if k.suite == u {
			runs = append(runs, k)
		}
	}
	return c.listRuns(runs)
}

func (c *call) rerequestSuiteRoute() (reply, error) {
	u, err := c.suiteByPath()
	if err != nil {
		return reply{}, err
	}
	if u.app != c.who.app {
		return reply{}, fail(http.StatusForbidden, refusedByGH)
	}
	c.rerequestSuite(u, c.who.actor())
	return created(obj{})
}

func (s *Server) rerequestSuite(u *checkSuite, by actor) {
	u.Status, u.Conclusion = "queued", ""
	s.emit(u.repo, by, "check_suite", "rerequested", obj{"check_suite": s.hookSuite(u)})
	s.wake()
}

// commitStatus is one status of the older API.
type commitStatus struct {
	ID                                  int64
	SHA, State, Context, Target, Detail string
	CreatedAt                           time.Time
	user                                *user
}

var statusStates = []string{"error", "failure", "pending", "success"}

func (s *Server) jsonStatus(r *repository, t *commitStatus) obj {
	return obj{
		"id": t.ID, "node_id": fmt.Sprintf("SC_%d", t.ID), "url": s.api(r) + "/statuses/" + t.SHA, "avatar_url": nil, "state": t.State,
		"description": orNil(t.Detail), "target_url": orNil(t.Target), "context": t.Context, "created_at": stamp(t.CreatedAt),
		"updated_at": stamp(t.CreatedAt), "creator": s.jsonUser(t.user),
	}
}

func (c *call) createStatus() (reply, error) {
	sha := c.r.PathValue("sha")
	if !isSHA(sha) || c.repo.resolve(sha) != sha {
		return reply{}, unprocessable("No commit found for SHA: " + sha)
	}
	var in struct {
		State, Context, Description string
		TargetURL                   string `json:"target_url"`
	}
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if !slices.Contains(statusStates, in.State) {
		return reply{}, invalid("Status", "state", "invalid")
	}
	t := &commitStatus{SHA: sha, State: in.State, Context: cmp.Or(in.Context, "default"), Target: in.TargetURL, Detail: in.Description}
	if err := c.setStatus(c.repo, c.who.actor(), t); err != nil {
		return reply{}, err
	}
	return created(c.jsonStatus(c.repo, t))
}

// setStatus stores a status and tells of it.
func (s *Server) setStatus(r *repository, by actor, t *commitStatus) error {
	info, err := r.readCommit(t.SHA)
	if err != nil {
		return err
	}
	t.ID, t.CreatedAt, t.user = s.nextID(), s.clock(), by.user
	r.statuses = append(r.statuses, t)
	s.emit(r, by, "status", "", obj{
		"id": t.ID, "sha": t.SHA, "name": r.full(), "target_url": orNil(t.Target), "context": t.Context, "description": orNil(t.Detail),
		"state": t.State, "commit": s.repoCommit(r, info), "branches": []obj{}, "created_at": stamp(t.CreatedAt), "updated_at": stamp(t.CreatedAt),
	})
	return nil
}

func (c *call) statusesOfRef() (string, []*commitStatus) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	var out []*commitStatus
	for _, t := range slices.Backward(c.repo.statuses) {
		if t.SHA == sha {
			out = append(out, t)
		}
	}
	return sha, out
}

func (c *call) listStatuses() (reply, error) {
	_, all := c.statusesOfRef()
	return ok(mapAll(page(c, all), func(t *commitStatus) obj { return c.jsonStatus(c.repo, t) }))
}

// combinedStatus is the newest status of each context and what they say together.
func (c *call) combinedStatus() (reply, error) {
	sha, all := c.statusesOfRef()
	if sha == "" {
		return reply{}, notFound()
	}
	seen := map[string]bool{}
	var latest []*commitStatus
	state := "success"
	if len(all) == 0 {
		state = "pending"
	}
	for _, t := range all {
		if seen[t.Context] {
			continue
		}
		seen[t.Context] = true
		latest = append(latest, t)
		switch t.State {
		case "error", "failure":
			state = "failure"
		case "pending":
			if state == "success" {
				state = "pending"
			}
		}
	}
	return ok(obj{
		"state": state, "sha": sha, "total_count": len(latest), "repository": c.jsonRepo(c.repo), "url": c.api(c.repo) + "/commits/" + sha + "/status",
		"commit_url": c.api(c.repo) + "/commits/" + sha,
		"statuses":   mapAll(page(c, latest), func(t *commitStatus) obj { return c.jsonStatus(c.repo, t) }),
	})
}
