package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// GitHub's limits on check runs.
const (
	maxAnnotations       = 50
	maxOutputText        = 65_535
	maxActions           = 3
	maxActionLabel       = 20
	maxActionDescription = 40
	maxActionIdentifier  = 20
)

var (
	checkStatuses    = []string{"queued", "in_progress", "completed", "waiting", "requested", "pending"}
	checkConclusions = []string{"action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"}
	annotationLevels = []string{"notice", "warning", "failure"}
)

// CheckRun is a check run.
type CheckRun struct {
	ID          int64
	NodeID      string
	Name        string
	HeadSHA     string
	ExternalID  string
	DetailsURL  string
	Status      string
	Conclusion  string
	StartedAt   time.Time
	CompletedAt time.Time
	Title       string
	Summary     string
	Text        string
	Annotations []Annotation
	Actions     []CheckAction
	// App is the slug of the App that wrote it.
	App string

	app   *app
	suite *checkSuite
	repo  *repository
	// hasOutput says whether an output was ever given.
	hasOutput bool
}

// Annotation is a remark of a check run at a place in a file.
type Annotation struct {
	Path            string  `json:"path"`
	StartLine       int     `json:"start_line"`
	EndLine         int     `json:"end_line"`
	StartColumn     *int    `json:"start_column"`
	EndColumn       *int    `json:"end_column"`
	AnnotationLevel string  `json:"annotation_level"`
	Message         string  `json:"message"`
	Title           *string `json:"title"`
	RawDetails      *string `json:"raw_details"`
}

// CheckAction is a button.
type CheckAction struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

func (k *CheckRun) clone() CheckRun {
	out := *k
	out.Annotations, out.Actions = slices.Clone(k.Annotations), slices.Clone(k.Actions)
	return out
}

// CheckRunInput is the body of creating or changing a check run; nil fields stay as they are.
type CheckRunInput struct {
	Name        *string        `json:"name"`
	HeadSHA     string         `json:"head_sha"`
	DetailsURL  *string        `json:"details_url"`
	ExternalID  *string        `json:"external_id"`
	Status      *string        `json:"status"`
	StartedAt   *time.Time     `json:"started_at"`
	Conclusion  *string        `json:"conclusion"`
	CompletedAt *time.Time     `json:"completed_at"`
	Output      *CheckOutput   `json:"output"`
	Actions     *[]CheckAction `json:"actions"`
}

// CheckOutput is the output of a check run; annotations are added to those that are there.
type CheckOutput struct {
	Title       *string      `json:"title"`
	Summary     *string      `json:"summary"`
	Text        *string      `json:"text"`
	Annotations []Annotation `json:"annotations"`
}

// check enforces the limits.
func (in CheckRunInput) check() error {
	const resource = "CheckRun"
	tooLong := func(field string, s *string) error {
		if s != nil && utf8.RuneCountInString(*s) > maxOutputText {
			return invalidCustom(resource, field, fmt.Sprintf("%s exceeds a maximum of %d characters", field, maxOutputText))
		}
		return nil
	}
	if in.Status != nil && !slices.Contains(checkStatuses, *in.Status) {
		return invalid(resource, "status", "invalid")
	}
	if in.Conclusion != nil && !slices.Contains(checkConclusions, *in.Conclusion) {
		return invalid(resource, "conclusion", "invalid")
	}
	if in.Status != nil && *in.Status == "completed" && in.Conclusion == nil {
		return invalidCustom(resource, "conclusion", "a completed check run needs a conclusion")
	}
	if o := in.Output; o != nil {
		if o.Summary == nil {
			return invalid(resource, "summary", "missing_field")
		}
		if err := tooLong("summary", o.Summary); err != nil {
			return err
		}
		if err := tooLong("text", o.Text); err != nil {
			return err
		}
		if len(o.Annotations) > maxAnnotations {
			return invalidCustom(resource, "annotations", fmt.Sprintf("annotations exceeds a maximum quantity of %d", maxAnnotations))
		}
		for _, a := range o.Annotations {
			if err := a.check(); err != nil {
				return err
			}
		}
	}
	if in.Actions == nil {
		return nil
	}
	if len(*in.Actions) > maxActions {
		return invalidCustom(resource, "actions", fmt.Sprintf("actions exceeds a maximum quantity of %d", maxActions))
	}
	for _, a := range *in.Actions {
		if n := utf8.RuneCountInString(a.Label); n == 0 || n > maxActionLabel {
			return invalidCustom(resource, "actions", fmt.Sprintf("action label must have 1 to %d characters", maxActionLabel))
		}
		if n := utf8.RuneCountInString(a.Description); n == 0 || n > maxActionDescription {
			return invalidCustom(resource, "actions", fmt.Sprintf("action description must have 1 to %d characters", maxActionDescription))
		}
		if n := utf8.RuneCountInString(a.Identifier); n == 0 || n > maxActionIdentifier {
			return invalidCustom(resource, "actions", fmt.Sprintf("action identifier must have 1 to %d characters", maxActionIdentifier))
		}
	}
	return nil
}

// maxAnnotationText is 64 KB, the limit on an annotation's message and details.
const maxAnnotationText = 64 << 10

func (a Annotation) check() error {
	const resource = "CheckRun"
	switch {
	case a.Path == "" || strings.HasPrefix(a.Path, "/"):
		return invalidCustom(resource, "annotations", "annotation path must be relative to the repository")
	case a.StartLine < 1 || a.EndLine < a.StartLine:
		return invalidCustom(resource, "annotations", "annotation lines must be positive and in order")
	case (a.StartColumn != nil || a.EndColumn != nil) && a.StartLine != a.EndLine:
		return invalidCustom(resource, "annotations", "annotation columns need start_line and end_line to be the same")
	case !slices.Contains(annotationLevels, a.AnnotationLevel):
		return invalidCustom(resource, "annotations", "annotation_level is not notice, warning or failure")
	case a.Message == "" || len(a.Message) > maxAnnotationText:
		return invalidCustom(resource, "annotations", "annotation message must have 1 to 64 KB")
	case a.RawDetails != nil && len(*a.RawDetails) > maxAnnotationText:
		return invalidCustom(resource, "annotations", "annotation raw_details must have at most 64 KB")
	}
	return nil
}

// createRun makes a check run for an App.
func (s *Server) createRun(r *repository, a *app, in CheckRunInput) (*CheckRun, error) {
	if in.Name == nil || *in.Name == "" {
		return nil, invalid("CheckRun", "name", "missing_field")
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	if !isSHA(in.HeadSHA) || r.resolve(in.HeadSHA) != in.HeadSHA {
		return nil, unprocessable("Validation Failed", fmt.Sprintf("No commit found for SHA: %s", in.HeadSHA))
	}
	k := &CheckRun{ID: s.nextID(), HeadSHA: in.HeadSHA, Status: "queued", StartedAt: s.clock(), App: a.Slug, app: a, repo: r}
	k.NodeID = s.nodeID("CR", k.ID, k)
	k.suite = s.suiteFor(r, a, in.HeadSHA)
	r.runs = append(r.runs, k)
	s.applyRun(k, in)
	s.emitRun(k, actor{a.bot, a}, "created", nil)
	if k.Status == "completed" {
		s.emitRun(k, actor{a.bot, a}, "completed", nil)
	}
	s.settleSuite(k.suite)
	s.wake()
	return k, nil
}

// updateRun changes a check run.
func (s *Server) updateRun(k *CheckRun, in CheckRunInput) error {
	if err := in.check(); err != nil {
		return err
	}
	was := k.Status
	s.applyRun(k, in)
	if was != "completed" && k.Status == "completed" {
		s.emitRun(k, actor{k.app.bot, k.app}, "completed", nil)
	}
	s.settleSuite(k.suite)
	s.wake()
	return nil
}

func (s *Server) applyRun(k *CheckRun, in CheckRunInput) {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&k.Name, in.Name)
	set(&k.DetailsURL, in.DetailsURL)
	set(&k.ExternalID, in.ExternalID)
	set(&k.Status, in.Status)
	if in.StartedAt != nil {
		k.StartedAt = *in.StartedAt
	}
	if in.Conclusion != nil {
		k.Status, k.Conclusion, k.CompletedAt = "completed", *in.Conclusion, s.clock()
	} else if in.Status != nil {
		k.Conclusion, k.CompletedAt = "", time.Time{}
	}
	if in.CompletedAt != nil && k.Status == "completed" {
		k.CompletedAt = *in.CompletedAt
	}
	if in.Output != nil {
		k.hasOutput = true
		set(&k.Title, in.Output.Title)
		set(&k.Summary, in.Output.Summary)
		set(&k.Text, in.Output.Text)
		k.Annotations = append(k.Annotations, in.Output.Annotations...)
	}
	if in.Actions != nil {
		k.Actions = slices.Clone(*in.Actions)
	}
}

func (s *Server) emitRun(k *CheckRun, by actor, action string, more obj) {
	run := s.jsonRun(k)
	run["check_suite"] = s.hookSuite(k.suite)
	payload := obj{"check_run": run}
	for key, v := range more {
		payload[key] = v
	}
	s.emit(k.repo, by, "check_run", action, payload)
}

// pullsAt are the open pull requests of this repository whose head a commit is.
func (s *Server) pullsAt(r *repository, sha string) []obj {
	out := []obj{}
	for _, n := range sortedNumbers(r.pulls) {
		p := r.pulls[n]
		if p.HeadSHA != sha || p.issue.State != StateOpen || p.headRepo != r {
			continue // a fork's pull request is never listed
		}
		tiny := obj{"id": r.ID, "url": s.api(r), "name": r.Name}
		out = append(out, obj{
			"id": p.ID, "number": p.Number, "url": s.pullURL(p),
			"head": obj{"ref": p.HeadBranch, "sha": p.HeadSHA, "repo": tiny}, "base": obj{"ref": p.BaseBranch, "sha": p.BaseSHA, "repo": tiny},
		})
	}
	return out
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *Server) jsonRun(k *CheckRun) obj {
	url := fmt.Sprintf("%s/check-runs/%d", s.api(k.repo), k.ID)
	page := fmt.Sprintf("%s/runs/%d", s.html(k.repo), k.ID)
	details := k.DetailsURL
	if details == "" {
		details = page
	}
	out := obj{
		"id": k.ID, "node_id": k.NodeID, "head_sha": k.HeadSHA, "external_id": k.ExternalID, "url": url, "html_url": page, "details_url": details,
		"status": k.Status, "conclusion": orNil(k.Conclusion), "started_at": stampOrNil(k.StartedAt), "completed_at": stampOrNil(k.CompletedAt),
		"output": obj{"title": nil, "summary": nil, "text": nil, "annotations_count": len(k.Annotations), "annotations_url": url + "/annotations"},
		"name":   k.Name, "check_suite": obj{"id": k.suite.ID}, "app": s.jsonApp(k.app), "pull_requests": s.pullsAt(k.repo, k.HeadSHA),
	}
	if k.hasOutput {
		o := out["output"].(obj)
		o["title"], o["summary"], o["text"] = orNil(k.Title), orNil(k.Summary), orNil(k.Text)
	}
	return out
}

// runByPath finds the check run of the path; only the App that made it may write it.
func (c *call) runByPath(own bool) (*CheckRun, error) {
	id, err := c.number("id")
	if err != nil {
		return nil, err
	}
	for _, k := range c.repo.runs {
		if k.ID != id {
			continue
		}
		if own && k.app != c.who.app {
			return nil, fail(http.StatusForbidden, "Invalid app_id `%d` - check run can only be modified by the GitHub App that created it.", c.who.app.ID)
		}
		return k, nil
	}
	return nil, notFound()
}

func (c *call) createCheckRun() (reply, error) {
	var in CheckRunInput
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	k, err := c.createRun(c.repo, c.who.app, in)
	if err != nil {
		return reply{}, err
	}
	return created(c.jsonRun(k))
}

func (c *call) updateCheckRun() (reply, error) {
	k, err := c.runByPath(true)
	if err != nil {
		return reply{}, err
	}
	var in CheckRunInput
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	if err := c.updateRun(k, in); err != nil {
		return reply{}, err
	}
	return ok(c.jsonRun(k))
}

func (c *call) getCheckRun() (reply, error) {
	k, err := c.runByPath(false)
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonRun(k))
}

func (c *call) listAnnotations() (reply, error) {
	k, err := c.runByPath(false)
	if err != nil {
		return reply{}, err
	}
	return ok(mapAll(page(c, k.Annotations), func(a Annotation) obj {
		return obj{
			"path": a.Path, "start_line": a.StartLine, "end_line": a.EndLine, "start_column": a.StartColumn, "end_column": a.EndColumn,
			"annotation_level": a.AnnotationLevel, "title": a.Title, "message": a.Message, "raw_details": a.RawDetails,
			"blob_href": fmt.Sprintf("%s/blob/%s/%s", c.html(c.repo), k.HeadSHA, a.Path),
		}
	}))
}

// listRuns serves the runs of a ref or a suite with GitHub's filters; "latest", the default, keeps
// the newest of each name and App.
func (c *call) listRuns(runs []*CheckRun) (reply, error) {
	latest := map[string]int64{}
	key := func(k *CheckRun) string { return fmt.Sprint(k.app.ID, "/", k.suite.ID, "/", k.Name) }
	for _, k := range runs {
		latest[key(k)] = max(latest[key(k)], k.ID)
	}
	var out []*CheckRun
	for _, k := range slices.Backward(runs) {
		switch {
		case c.query("filter") != "all" && latest[key(k)] != k.ID,
			c.query("check_name") != "" && c.query("check_name") != k.Name,
			c.query("status") != "" && c.query("status") != k.Status,
			c.query("app_id") != "" && c.query("app_id") != fmt.Sprint(k.app.ID):
			continue
		}
		out = append(out, k)
	}
	return ok(obj{"total_count": len(out), "check_runs": mapAll(page(c, out), c.jsonRun)})
}

func (c *call) listRunsOfRef() (reply, error) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	if sha == "" {
		return reply{}, fail(http.StatusUnprocessableEntity, "No commit found for SHA: %s", c.r.PathValue("ref"))
	}
	var runs []*CheckRun
	for _, k := range c.repo.runs {
		if k.HeadSHA == sha {
			runs = append(runs, k)
		}
	}
	return c.listRuns(runs)
}

func (c *call) rerequestRun() (reply, error) {
	k, err := c.runByPath(true)
	if err != nil {
		return reply{}, err
	}
	c.rerequestCheck(k, c.who.actor())
	return created(obj{})
}

// rerequestCheck does what the button Re-run does.
func (s *Server) rerequestCheck(k *CheckRun, by actor) {
	k.suite.Status, k.suite.Conclusion = "queued", ""
	s.emitRun(k, by, "rerequested", nil)
	s.wake()
}
