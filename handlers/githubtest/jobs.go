package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// actionsSlug is the App as which GitHub Actions writes its check runs.
const actionsSlug = "github-actions"

// job is a job of a workflow run. Its id is that of its check run, as on GitHub.
type job struct {
	run   int64 // the workflow run
	check *CheckRun
	log   string
}

// FailJob has a job of GitHub Actions end with a failure on a commit and returns its id, which is that of
// its check run as well. The log is what the job printed.
func (s *Server) FailJob(repo, sha, name, log string) (id int64, err error) {
	err = s.As("ghost").with(repo, func(r *repository, _ actor) error {
		status, conclusion := "in_progress", "failure"
		k, err := s.createRun(r, s.appNamed(actionsSlug), CheckRunInput{Name: &name, HeadSHA: sha, Status: &status})
		if err != nil {
			return err
		}
		j := &job{run: s.nextID(), check: k, log: log}
		r.jobs = append(r.jobs, j)
		id = k.ID
		status = "completed"
		details := fmt.Sprintf("%s/actions/runs/%d/job/%d", s.html(r), j.run, k.ID)
		return s.updateRun(k, CheckRunInput{Status: &status, Conclusion: &conclusion, DetailsURL: &details})
	})
	return id, err
}

func (s *Server) jsonJob(j *job) obj {
	k := j.check
	url := s.api(k.repo)
	return obj{
		"id": k.ID, "run_id": j.run, "run_url": fmt.Sprintf("%s/actions/runs/%d", url, j.run), "run_attempt": 1, "node_id": k.NodeID, "head_sha": k.HeadSHA,
		"head_branch": orNil(k.suite.Branch), "url": fmt.Sprintf("%s/actions/jobs/%d", url, k.ID), "html_url": k.DetailsURL, "status": k.Status,
		"conclusion": orNil(k.Conclusion), "created_at": stamp(k.suite.CreatedAt), "started_at": stamp(startOf(k)), "completed_at": stampOrNil(k.CompletedAt),
		"name": k.Name, "steps": []obj{}, "check_run_url": fmt.Sprintf("%s/check-runs/%d", url, k.ID), "labels": []string{}, "runner_id": nil, "runner_name": nil,
		"runner_group_id": nil, "runner_group_name": nil, "workflow_name": "CI",
	}
}

func startOf(k *CheckRun) time.Time {
	if k.StartedAt.IsZero() {
		return k.suite.CreatedAt
	}
	return k.StartedAt
}

func (c *call) listJobs() (reply, error) {
	run, err := c.number("run")
	if err != nil {
		return reply{}, err
	}
	var out []*job
	for _, j := range c.repo.jobs {
		if j.run == run {
			out = append(out, j)
		}
	}
	if len(out) == 0 {
		return reply{}, notFound()
	}
	return ok(obj{"total_count": len(out), "jobs": mapAll(page(c, out), c.jsonJob)})
}

func (c *call) jobByPath() (*job, error) {
	id, err := c.number("id")
	if err != nil {
		return nil, err
	}
	for _, j := range c.repo.jobs {
		if j.check.ID == id {
			return j, nil
		}
	}
	return nil, notFound()
}

func (c *call) getJob() (reply, error) {
	j, err := c.jobByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonJob(j))
}

// getJobLogs answers as GitHub does: with a short-lived address on another host, which takes no token.
func (c *call) getJobLogs() (reply, error) {
	j, err := c.jobByPath()
	if err != nil {
		return reply{}, err
	}
	c.header.Set("Location", fmt.Sprintf("%s%s%s/%d", strings.Replace(c.base, "127.0.0.1", "localhost", 1), logPath, c.repo.full(), j.check.ID))
	return reply{status: http.StatusFound}, nil
}

// logPath is where the logs themselves are.
const logPath = "/-/logs/"

// serveLog hands a log out. The storage behind GitHub refuses requests that carry a token of GitHub's.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "InvalidAuthenticationInfo", http.StatusBadRequest)
		return
	}
	text, found := s.logAt(strings.TrimPrefix(r.URL.Path, logPath))
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte(text)) // the client may have had enough
}

func (s *Server) logAt(place string) (text string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repos {
		for _, j := range r.jobs {
			if place == fmt.Sprintf("%s/%d", r.full(), j.check.ID) {
				return j.log, true
			}
		}
	}
	return "", false
}

// SetStatus has somebody set a commit status, as the CI does that knows no check runs.
func (a Actor) SetStatus(repo, sha, state, context, description string) error {
	return a.with(repo, func(r *repository, by actor) error {
		return a.s.setStatus(r, by, &commitStatus{SHA: sha, State: state, Context: cmp.Or(context, "default"), Detail: description})
	})
}
