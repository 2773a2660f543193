package githubtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// SetRole gives a person a role on a repository.
func (s *Server) SetRole(repo, login string, role Role) error {
	return s.As(login).with(repo, func(r *repository, by actor) error {
		r.collaborators[by.user] = role
		s.wake()
		return nil
	})
}

// RemoveRole takes a person's role away.
func (s *Server) RemoveRole(repo, login string) error {
	return s.As(login).with(repo, func(r *repository, by actor) error {
		delete(r.collaborators, by.user)
		s.wake()
		return nil
	})
}

// ProtectBranch refuses force-pushes to and the deletion of a branch.
func (s *Server) ProtectBranch(repo, branch string) error {
	return s.As("ghost").with(repo, func(r *repository, _ actor) error {
		r.protected["refs/heads/"+branch] = true
		list := strings.Join(sortedKeys(r.protected), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(r.dir, "githubtest-protected"), []byte(list), 0o644); err != nil {
			return fmt.Errorf("protect %s of %s: %w", branch, repo, err)
		}
		return nil
	})
}

// Archive makes a repository read-only and sends its event.
func (a Actor) Archive(repo string) error {
	return a.with(repo, func(r *repository, by actor) error {
		r.Archived = true
		a.s.emit(r, by, "repository", "archived", obj{})
		return nil
	})
}

// Unarchive makes it writable again.
func (a Actor) Unarchive(repo string) error {
	return a.with(repo, func(r *repository, by actor) error {
		r.Archived = false
		a.s.emit(r, by, "repository", "unarchived", obj{})
		return nil
	})
}

// Rename renames a repository; requests for the old name are redirected.
func (a Actor) Rename(repo, name string) error {
	return a.with(repo, func(r *repository, by actor) error {
		delete(a.s.repos, repoKey(r.Owner.Login, r.Name))
		a.s.moved[repoKey(r.Owner.Login, r.Name)] = r.ID
		old := r.Name
		r.Name = name
		a.s.repos[repoKey(r.Owner.Login, name)] = r
		a.s.emit(r, by, "repository", "renamed", obj{"changes": obj{"repository": obj{"name": obj{"from": old}}}})
		return nil
	})
}

// DeleteRepository deletes a repository.
func (a Actor) DeleteRepository(repo string) error {
	return a.with(repo, func(r *repository, by actor) error {
		a.s.emit(r, by, "repository", "deleted", obj{})
		delete(a.s.repos, repoKey(r.Owner.Login, r.Name))
		return nil
	})
}

// withInstallation finds the installation of an account.
func (a Actor) withInstallation(account string, do func(i *installation, by actor) error) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, i := range a.s.installations {
		if strings.EqualFold(i.Account.Login, account) {
			defer a.s.wake()
			return do(i, actor{user: a.s.userNamed(a.login)})
		}
	}
	return fmt.Errorf("the App is not installed on %s", account)
}

func (s *Server) tinyRepos(list []*repository) []obj {
	return mapAll(list, func(r *repository) obj {
		return obj{"id": r.ID, "node_id": r.NodeID, "name": r.Name, "full_name": r.full(), "private": r.Private}
	})
}

// Suspend suspends the installation of an account: its tokens stop working.
func (a Actor) Suspend(account string) error {
	return a.withInstallation(account, func(i *installation, by actor) error {
		i.Suspended = a.s.clock()
		a.s.emitInstallation(i, by, "installation", "suspend", obj{"repositories": a.s.tinyRepos(a.s.reposOf(i)), "requester": nil})
		return nil
	})
}

// Unsuspend ends that.
func (a Actor) Unsuspend(account string) error {
	return a.withInstallation(account, func(i *installation, by actor) error {
		i.Suspended = time.Time{}
		a.s.emitInstallation(i, by, "installation", "unsuspend", obj{"repositories": a.s.tinyRepos(a.s.reposOf(i)), "requester": nil})
		return nil
	})
}

// Uninstall removes the App from an account.
func (a Actor) Uninstall(account string) error {
	return a.withInstallation(account, func(i *installation, by actor) error {
		a.s.emitInstallation(i, by, "installation", "deleted", obj{"repositories": a.s.tinyRepos(a.s.reposOf(i)), "requester": nil})
		delete(a.s.installations, i.ID)
		return nil
	})
}

// Install puts the App on an account, with all of its repositories, and sends the event.
func (a Actor) Install(account string) error {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, r := range a.s.repos {
		if strings.EqualFold(r.Owner.Login, account) {
			r.uninstalled = false
		}
	}
	i := a.s.install(a.s.orgNamed(account))
	by := actor{user: a.s.userNamed(a.login)}
	a.s.emitInstallation(i, by, "installation", "created", obj{"repositories": a.s.tinyRepos(a.s.reposOf(i)), "requester": nil})
	a.s.wake()
	return nil
}

// RemoveFromInstallation takes one repository out of its installation.
func (a Actor) RemoveFromInstallation(repo string) error {
	return a.changeSelection(repo, true, "removed", "repositories_removed")
}

// AddToInstallation adds one repository.
func (a Actor) AddToInstallation(repo string) error {
	return a.changeSelection(repo, false, "added", "repositories_added")
}

func (a Actor) changeSelection(repo string, out bool, action, key string) error {
	a.s.mu.Lock()
	r, err := a.s.repoNamed(repo)
	a.s.mu.Unlock()
	if err != nil {
		return err
	}
	return a.withInstallation(r.Owner.Login, func(i *installation, by actor) error {
		r.uninstalled = out
		payload := obj{"repositories_added": []obj{}, "repositories_removed": []obj{}, "repository_selection": i.selection(), "requester": nil}
		payload[key] = a.s.tinyRepos([]*repository{r})
		a.s.emitInstallation(i, by, "installation_repositories", action, payload)
		return nil
	})
}

// SetPermission changes what the installation of an account grants; "" takes a permission away.
func (s *Server) SetPermission(account, name, level string) error {
	return s.As("ghost").withInstallation(account, func(i *installation, _ actor) error {
		if level == "" {
			delete(i.Perms, name)
		} else {
			i.Perms[name] = level
		}
		return nil
	})
}

// OtherApp acts as another App, which writes check runs of its own.
type OtherApp struct {
	s    *Server
	slug string
}

// OtherApp returns the App of that name, which is installed everywhere.
func (s *Server) OtherApp(slug string) OtherApp { return OtherApp{s, slug} }

// CreateCheckRun writes a check run on a commit and returns its id.
func (o OtherApp) CreateCheckRun(repo string, in CheckRunInput) (id int64, err error) {
	err = o.s.As("ghost").with(repo, func(r *repository, _ actor) error {
		k, err := o.s.createRun(r, o.s.appNamed(o.slug), in)
		if err == nil {
			id = k.ID
		}
		return err
	})
	return id, err
}
