package githubtest

import (
	"fmt"
	"slices"
)

// inspect runs a read with the lock held.
func (s *Server) inspect(repo string, read func(r *repository)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repoNamed(repo)
	if err != nil {
		return err
	}
	read(r)
	return nil
}

// Issue returns an issue, or the issue side of a pull request.
func (s *Server) Issue(repo string, number int) (out Issue, err error) {
	found := false
	err = s.inspect(repo, func(r *repository) {
		if i := r.issues[number]; i != nil {
			out, found = i.clone(), true
		}
	})
	if err == nil && !found {
		err = fmt.Errorf("%s#%d does not exist on the stand-in GitHub", repo, number)
	}
	return out, err
}

// Issues returns the issues of a repository without its pull requests, by number. A repository that
// does not exist has none; the same holds for the lists below.
func (s *Server) Issues(repo string) (out []Issue) {
	_ = s.inspect(repo, func(r *repository) {
		for _, n := range sortedNumbers(r.issues) {
			if !r.issues[n].IsPull {
				out = append(out, r.issues[n].clone())
			}
		}
	})
	return out
}

// Comments returns the comments on an issue or pull request, in order.
func (s *Server) Comments(repo string, number int) (out []Comment) {
	_ = s.inspect(repo, func(r *repository) {
		for _, m := range r.commentsOf(number) {
			out = append(out, m.clone())
		}
	})
	return out
}

// PullRequests returns the pull requests of a repository, by number.
func (s *Server) PullRequests(repo string) (out []PullRequest) {
	_ = s.inspect(repo, func(r *repository) {
		for _, n := range sortedNumbers(r.pulls) {
			out = append(out, r.pulls[n].clone())
		}
	})
	return out
}

// PullRequest returns one pull request.
func (s *Server) PullRequest(repo string, number int) (PullRequest, error) {
	for _, p := range s.PullRequests(repo) {
		if p.Number == number {
			return p, nil
		}
	}
	return PullRequest{}, fmt.Errorf("%s#%d is not a pull request of the stand-in GitHub", repo, number)
}

// Reviews returns the reviews of a pull request, in order.
func (s *Server) Reviews(repo string, number int) (out []Review) {
	_ = s.inspect(repo, func(r *repository) {
		if p := r.pulls[number]; p != nil {
			for _, v := range p.reviews {
				out = append(out, *v)
			}
		}
	})
	return out
}

// ReviewComments returns the comments on lines of a pull request, in order.
func (s *Server) ReviewComments(repo string, number int) (out []ReviewComment) {
	_ = s.inspect(repo, func(r *repository) {
		if p := r.pulls[number]; p != nil {
			for _, m := range p.comments {
				one := *m
				one.Reactions, one.Edits = slices.Clone(m.Reactions), slices.Clone(m.Edits)
				out = append(out, one)
			}
		}
	})
	return out
}

// CheckRuns returns the check runs on a commit, in order of creation; sha "" means on all commits.
func (s *Server) CheckRuns(repo, sha string) (out []CheckRun) {
	_ = s.inspect(repo, func(r *repository) {
		for _, k := range r.runs {
			if sha == "" || k.HeadSHA == sha {
				out = append(out, k.clone())
			}
		}
	})
	return out
}

// Branch returns the commit of a branch, or "".
func (s *Server) Branch(repo, branch string) (sha string) {
	_ = s.inspect(repo, func(r *repository) { sha = r.refs["refs/heads/"+branch] })
	return sha
}

// Branches returns the branches of a repository, sorted.
func (s *Server) Branches(repo string) (out []string) {
	_ = s.inspect(repo, func(r *repository) {
		for _, ref := range sortedKeys(r.refs) {
			if name, isBranch := cutBranch(ref); isBranch {
				out = append(out, name)
			}
		}
	})
	return out
}

// CloneURL returns the address for git, without credentials.
func (s *Server) CloneURL(repo string) string { return s.base + "/" + repo + ".git" }

// InstallationID returns the installation that reaches a repository, or 0.
func (s *Server) InstallationID(repo string) (id int64) {
	_ = s.inspect(repo, func(r *repository) {
		if i := s.installationOf(r); i != nil {
			id = i.ID
		}
	})
	return id
}
