package githubtest

import (
	"cmp"
	"fmt"
	"slices"
)

// Actor does what a person does in the browser; get one from [Server.As].
type Actor struct {
	s     *Server
	login string
}

// As acts as a person, whose account is made when it does not exist; a login ending in [bot] acts as
// a bot. Roles are not checked, so that a test can make happen what GitHub allows by detours only, as
// an outsider's label by an issue form; the API with [Server.UserToken] does check them.
func (s *Server) As(login string) Actor { return Actor{s, login} }

// with runs an effect with the lock held.
func (a Actor) with(repo string, do func(r *repository, by actor) error) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	r, err := a.s.repoNamed(repo)
	if err != nil {
		return err
	}
	return do(r, actor{user: a.s.userNamed(a.login)})
}

func (a Actor) withIssue(repo string, number int, do func(i *Issue, by actor) error) error {
	return a.with(repo, func(r *repository, by actor) error {
		i := r.issues[number]
		if i == nil {
			return fmt.Errorf("%s#%d does not exist on the stand-in GitHub", repo, number)
		}
		return do(i, by)
	})
}

// CreateIssue opens an issue and returns its number; labels given at once send events of their own.
func (a Actor) CreateIssue(repo, title, body string, labels ...string) (number int, err error) {
	err = a.with(repo, func(r *repository, by actor) error {
		i, err := a.s.openIssue(r, by, title, body, labels, nil)
		if err == nil {
			number = i.Number
		}
		return err
	})
	return number, err
}

// Label puts a label on an issue or pull request.
func (a Actor) Label(repo string, number int, name string) error {
	return a.withIssue(repo, number, func(i *Issue, by actor) error {
		a.s.putLabel(i, by, name)
		return nil
	})
}

// Unlabel takes a label off.
func (a Actor) Unlabel(repo string, number int, name string) error {
	return a.withIssue(repo, number, func(i *Issue, by actor) error {
		if !a.s.dropLabel(i, by, name) {
			return fmt.Errorf("%s#%d has no label %q", repo, number, name)
		}
		return nil
	})
}

// DeleteLabel deletes a label from the repository.
func (a Actor) DeleteLabel(repo, name string) error {
	return a.with(repo, func(r *repository, by actor) error {
		l := r.label(name)
		if l == nil {
			return fmt.Errorf("%s has no label %q", repo, name)
		}
		a.s.removeLabel(r, l, by)
		return nil
	})
}

// Comment writes a comment and returns its id.
func (a Actor) Comment(repo string, number int, body string) (id int64, err error) {
	err = a.withIssue(repo, number, func(i *Issue, by actor) error {
		m, err := a.s.addComment(i, by, body)
		if err == nil {
			id = m.ID
		}
		return err
	})
	return id, err
}

func (a Actor) withComment(repo string, id int64, do func(m *Comment, by actor) error) error {
	return a.with(repo, func(r *repository, by actor) error {
		m := r.comment(id)
		if m == nil {
			return fmt.Errorf("%s has no comment %d", repo, id)
		}
		return do(m, by)
	})
}

// EditComment changes a comment's text.
func (a Actor) EditComment(repo string, id int64, body string) error {
	return a.withComment(repo, id, func(m *Comment, by actor) error { return a.s.editComment(m, by, body) })
}

// DeleteComment deletes a comment.
func (a Actor) DeleteComment(repo string, id int64) error {
	return a.withComment(repo, id, func(m *Comment, by actor) error {
		a.s.deleteComment(m, by)
		return nil
	})
}

// EditIssue changes title and body of an issue or pull request.
func (a Actor) EditIssue(repo string, number int, title, body string) error {
	return a.withIssue(repo, number, func(i *Issue, by actor) error {
		return a.s.editIssue(i, by, issueEdit{Title: &title, Body: &body})
	})
}

// Close closes an issue or pull request.
func (a Actor) Close(repo string, number int) error { return a.setState(repo, number, StateClosed) }

// Reopen opens it again.
func (a Actor) Reopen(repo string, number int) error { return a.setState(repo, number, StateOpen) }

func (a Actor) setState(repo string, number int, state State) error {
	return a.withIssue(repo, number, func(i *Issue, by actor) error {
		return a.s.editIssue(i, by, issueEdit{State: &state})
	})
}

// DeleteIssue deletes an issue.
func (a Actor) DeleteIssue(repo string, number int) error {
	return a.withIssue(repo, number, func(i *Issue, by actor) error {
		a.s.emitIssue(i, by, "deleted", nil)
		delete(i.repo.issues, number)
		delete(a.s.nodes, i.NodeID)
		i.repo.comments = slices.DeleteFunc(i.repo.comments, func(m *Comment) bool { return m.Number == number })
		return nil
	})
}

// LockIssue restricts comments to those with write access.
func (a Actor) LockIssue(repo string, number int) error {
	return a.withIssue(repo, number, func(i *Issue, by actor) error {
		i.Locked = true
		a.s.note(i, by, Event{Event: "locked"})
		a.s.emitIssue(i, by, "locked", nil)
		return nil
	})
}

// OpenPull opens a pull request; head is a branch or OWNER:BRANCH of a fork.
func (a Actor) OpenPull(repo, title, body, head, base string, draft bool) (number int, err error) {
	err = a.with(repo, func(r *repository, by actor) error {
		p, err := a.s.openPull(r, by, pullInput{Title: title, Body: body, Head: head, Base: base, Draft: draft})
		if err == nil {
			number = p.Number
		}
		return err
	})
	return number, err
}

func (a Actor) withPull(repo string, number int, do func(p *PullRequest, by actor) error) error {
	return a.withIssue(repo, number, func(i *Issue, by actor) error {
		if !i.IsPull {
			return fmt.Errorf("%s#%d is an issue, not a pull request", repo, number)
		}
		return do(i.repo.pulls[number], by)
	})
}

// SetDraft converts a pull request to a draft or marks it ready.
func (a Actor) SetDraft(repo string, number int, draft bool) error {
	return a.withPull(repo, number, func(p *PullRequest, by actor) error { return a.s.setDraft(p, by, draft) })
}

// Review submits a review with its line comments and returns its id.
func (a Actor) Review(repo string, number int, state ReviewState, body string, remarks ...LineComment) (id int64, err error) {
	err = a.withPull(repo, number, func(p *PullRequest, by actor) error {
		v, err := a.s.addReview(p, by, state, body, remarks)
		if err == nil {
			id = v.ID
		}
		return err
	})
	return id, err
}

// ReviewComment writes a single comment on a line, outside a review, and returns its id.
func (a Actor) ReviewComment(repo string, number int, remark LineComment) (id int64, err error) {
	err = a.withPull(repo, number, func(p *PullRequest, by actor) error {
		m, err := a.s.newReviewComment(p, by, remark, 0)
		if err != nil {
			return err
		}
		id = m.ID
		a.s.emitReviewComment(m, by, "created", nil)
		return nil
	})
	return id, err
}

func (a Actor) withRun(repo string, id int64, do func(k *CheckRun, by actor) error) error {
	return a.with(repo, func(r *repository, by actor) error {
		for _, k := range r.runs {
			if k.ID == id {
				return do(k, by)
			}
		}
		return fmt.Errorf("%s has no check run %d", repo, id)
	})
}

// PressButton presses a button of a completed check run.
func (a Actor) PressButton(repo string, checkRun int64, identifier string) error {
	return a.withRun(repo, checkRun, func(k *CheckRun, by actor) error {
		shown := k.Status == "completed" && slices.ContainsFunc(k.Actions, func(b CheckAction) bool { return b.Identifier == identifier })
		if !shown {
			return fmt.Errorf("check run %q (%s) shows no button %q", k.Name, k.Status, identifier)
		}
		a.s.emitRun(k, by, "requested_action", obj{"requested_action": obj{"identifier": identifier}})
		return nil
	})
}

// RerequestCheck presses Re-run of one check run.
func (a Actor) RerequestCheck(repo string, checkRun int64) error {
	return a.withRun(repo, checkRun, func(k *CheckRun, by actor) error {
		a.s.rerequestCheck(k, by)
		return nil
	})
}

// RerequestSuite presses Re-run all checks of the suite that a check run belongs to.
func (a Actor) RerequestSuite(repo string, checkRun int64) error {
	return a.withRun(repo, checkRun, func(k *CheckRun, by actor) error {
		a.s.rerequestSuite(k.suite, by)
		return nil
	})
}

// PushFiles commits files to a branch, which is made from the default branch where it does not
// exist, and returns the commit. A nil content removes the file.
func (a Actor) PushFiles(repo, branch, message string, files map[string][]byte) (sha string, err error) {
	err = a.with(repo, func(r *repository, by actor) error {
		if r.Archived {
			return fmt.Errorf("push to %s: the repository is archived", repo)
		}
		ref := "refs/heads/" + branch
		old := r.refs[ref]
		parent := cmp.Or(old, r.refs["refs/heads/"+r.DefaultBranch])
		var changes []fileChange
		for _, path := range sortedKeys(files) {
			ch := fileChange{path: path}
			if files[path] != nil {
				if ch.sha, err = r.writeBlob(files[path]); err != nil {
					return err
				}
			}
			changes = append(changes, ch)
		}
		tree, err := r.writeTree(parent, changes)
		if err != nil {
			return err
		}
		var parents []string
		if parent != "" {
			parents = []string{parent}
		}
		if sha, err = r.commit(tree, parents, message, a.s.identity(by)); err != nil {
			return err
		}
		if _, err := r.git("update-ref", ref, sha, cmp.Or(old, zeroSHA)); err != nil {
			return err
		}
		return a.s.syncRefs(r, by)
	})
	return sha, err
}

// DeleteBranch deletes a branch; open pull requests from it are closed.
func (a Actor) DeleteBranch(repo, branch string) error {
	return a.with(repo, func(r *repository, by actor) error {
		if _, err := r.git("update-ref", "-d", "refs/heads/"+branch); err != nil {
			return err
		}
		return a.s.syncRefs(r, by)
	})
}

// Fork forks a repository to the actor's account and returns "login/name".
func (a Actor) Fork(repo string) (full string, err error) {
	err = a.with(repo, func(r *repository, by actor) error {
		if a.s.repos[repoKey(by.user.Login, r.Name)] != nil {
			return fmt.Errorf("fork %s: %s/%s exists already", repo, by.user.Login, r.Name)
		}
		f := a.s.newRepository(by.user, r.Name)
		f.parent, f.Private, f.DefaultBranch, f.uninstalled = r, r.Private, r.DefaultBranch, true
		f.collaborators[by.user] = RoleAdmin
		if err := f.init(); err != nil {
			return err
		}
		if _, err := f.git("fetch", "--quiet", r.dir, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
			return err
		}
		if f.refs, err = f.listRefs(); err != nil {
			return err
		}
		a.s.repos[repoKey(by.user.Login, r.Name)] = f
		full = f.full()
		return nil
	})
	return full, err
}

// Merge merges a pull request by a merge commit, as its button does; over the API it is not offered,
// since autocode never merges. A "fixes #n" in the body closes that issue.
func (a Actor) Merge(repo string, number int) (sha string, err error) {
	err = a.withPull(repo, number, func(p *PullRequest, by actor) error {
		sha, err = a.s.merge(p, by)
		return err
	})
	return sha, err
}

// TransferIssue moves an issue to another repository, where it gets a new number.
func (a Actor) TransferIssue(repo string, number int, to string) (newNumber int, err error) {
	err = a.withIssue(repo, number, func(i *Issue, by actor) error {
		target, err := a.s.repoNamed(to)
		if err != nil {
			return err
		}
		moved := a.s.newIssue(target, actor{user: i.user}, i.Title, i.Body, false)
		newNumber = moved.Number
		a.s.emitIssue(i, by, "transferred", obj{"changes": obj{"new_issue": a.s.jsonIssue(moved), "new_repository": a.s.jsonRepo(target)}})
		delete(i.repo.issues, number)
		a.s.wake()
		return nil
	})
	return newNumber, err
}
