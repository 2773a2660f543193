package githubtest

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// closing finds the issues that a merge closes.
var closing = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)\b`)

// merge puts a merge commit on the base branch and closes the pull request and what it fixes.
func (s *Server) merge(p *PullRequest, by actor) (string, error) {
	r := p.issue.repo
	switch {
	case p.issue.State != StateOpen:
		return "", fail(http.StatusMethodNotAllowed, "Pull Request is not open")
	case p.Draft:
		return "", fail(http.StatusMethodNotAllowed, "Pull Request is still a draft")
	}
	tree, err := r.git("merge-tree", "--write-tree", p.BaseSHA, p.HeadSHA)
	if err != nil {
		return "", fail(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	message := fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s", p.Number, p.HeadOwner, p.HeadBranch, p.issue.Title)
	sha, err := r.commit(strings.TrimSpace(tree), []string{p.BaseSHA, p.HeadSHA}, message, s.identity(by))
	if err != nil {
		return "", err
	}
	if _, err := r.git("update-ref", "refs/heads/"+p.BaseBranch, sha, p.BaseSHA); err != nil {
		return "", err
	}
	p.MergeSHA, p.MergedAt, p.mergedBy = sha, s.clock(), by.user
	s.note(p.issue, by, Event{Event: "merged", commit: sha})
	s.setState(p.issue, by, StateClosed, nil)
	if err := s.syncRefs(r, by); err != nil {
		return "", err
	}
	if p.BaseBranch != r.DefaultBranch {
		return sha, nil
	}
	for _, m := range closing.FindAllStringSubmatch(p.issue.Body, -1) {
		n, err := strconv.Atoi(m[1])
		if i := r.issues[n]; err == nil && i != nil && !i.IsPull && i.State == StateOpen {
			s.setState(i, by, StateClosed, nil)
		}
	}
	return sha, nil
}
