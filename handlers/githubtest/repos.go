package githubtest

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// repository is one repository with everything in it.
type repository struct {
	ID            int64
	NodeID        string
	Owner         *user
	Name          string
	Private       bool
	Archived      bool
	Description   string
	DefaultBranch string
	CreatedAt     time.Time
	PushedAt      time.Time
	parent        *repository
	noDrafts      bool
	uninstalled   bool
	protected     map[string]bool

	tool gitTool
	dir  string
	// refs are the refs as last seen; what differs from them after a push makes the events.
	refs map[string]string

	collaborators map[*user]Role
	labels        []*label
	issues        map[int]*Issue
	lastNumber    int
	comments      []*Comment
	pulls         map[int]*PullRequest
	runs          []*CheckRun
	suites        []*checkSuite
	statuses      []*commitStatus
	jobs          []*job
}

// RepositoryOptions describe a repository to create.
type RepositoryOptions struct {
	Owner, Name string
	// Private hides it from those without a role.
	Private bool
	// DefaultBranch is main where empty.
	DefaultBranch string
	Description   string
	// Files are committed as the first commit; nil makes a repository without commits.
	Files fs.FS
	// Dir is the same from a directory; a .git in it is left out.
	Dir string
	// NoDrafts refuses draft pull requests with 422, as private repositories on free plans do.
	NoDrafts bool
	// NotInstalled keeps the App off this repository.
	NotInstalled bool
}

// initialDate makes the first commit of a sample repository the same on every day.
const initialDate = "2024-01-02T03:04:05Z"

func repoKey(owner, name string) string { return strings.ToLower(owner + "/" + name) }

// CreateRepository makes a repository and puts the App on it. The owner becomes an organisation
// unless a person of that name exists. It returns the numeric id.
func (s *Server) CreateRepository(o RepositoryOptions) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repos[repoKey(o.Owner, o.Name)] != nil {
		return 0, fmt.Errorf("create repository %s/%s: it exists already", o.Owner, o.Name)
	}
	if o.Owner == "" || o.Name == "" || strings.ContainsAny(o.Owner+o.Name, "/\\ ") {
		return 0, fmt.Errorf("create repository %q/%q: owner and name must be plain words", o.Owner, o.Name)
	}
	r := s.newRepository(s.orgNamed(o.Owner), o.Name)
	r.Private, r.Description, r.noDrafts, r.uninstalled = o.Private, o.Description, o.NoDrafts, o.NotInstalled
	if o.DefaultBranch != "" {
		r.DefaultBranch = o.DefaultBranch
	}
	if err := r.init(); err != nil {
		return 0, err
	}
	if err := r.firstCommit(o); err != nil {
		return 0, err
	}
	s.repos[repoKey(o.Owner, o.Name)] = r
	if r.Owner.Type == "User" {
		r.collaborators[r.Owner] = RoleAdmin
	}
	for _, name := range []string{"bug", "documentation", "enhancement", "good first issue"} {
		s.addLabel(r, name, defaultColor, "")
	}
	if !o.NotInstalled {
		s.install(r.Owner)
	}
	refs, err := r.listRefs()
	if err != nil {
		return 0, err
	}
	r.refs = refs
	s.wake()
	return r.ID, nil
}

func (s *Server) newRepository(owner *user, name string) *repository {
	r := &repository{
		ID: s.nextID(), Owner: owner, Name: name, DefaultBranch: "main", CreatedAt: s.clock(), PushedAt: s.clock(),
		protected: map[string]bool{}, tool: s.git, dir: filepath.Join(s.dir, owner.Login, name+".git"),
		refs: map[string]string{}, collaborators: map[*user]Role{}, issues: map[int]*Issue{}, pulls: map[int]*PullRequest{},
	}
	r.NodeID = s.nodeID("R", r.ID, r)
	return r
}

// init makes the bare repository with the server's rules as its update hook.
func (r *repository) init() error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("make the repository's directory: %w", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=" + r.DefaultBranch, "."},
		{"config", "http.receivepack", "true"},
		{"config", "uploadpack.allowAnySHA1InWant", "true"}, // GitHub serves any reachable commit by its hash
		{"config", "uploadpack.allowFilter", "true"},
		{"config", "receive.fsckObjects", "false"},
		{"config", "core.logAllRefUpdates", "false"},
		{"config", "gc.auto", "0"},
	} {
		if _, err := r.git(args...); err != nil {
			return err
		}
	}
	return r.installHook()
}

// firstCommit commits the given files.
func (r *repository) firstCommit(o RepositoryOptions) error {
	tree := o.Dir
	if o.Files != nil {
		tmp, err := os.MkdirTemp("", "githubtest-files-")
		if err != nil {
			return fmt.Errorf("make a directory for the files: %w", err)
		}
		defer func() { _ = os.RemoveAll(tmp) }() // a leftover in the temporary directory is no failure
		if err := os.CopyFS(tmp, o.Files); err != nil {
			return fmt.Errorf("copy the files: %w", err)
		}
		tree = tmp
	}
	if tree == "" {
		return nil
	}
	tree, err := filepath.Abs(tree)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", o.Dir, err)
	}
	index := filepath.Join(r.dir, "githubtest-index")
	defer func() { _ = os.Remove(index) }()
	env := []string{"GIT_DIR=" + r.dir, "GIT_WORK_TREE=" + tree, "GIT_INDEX_FILE=" + index}
	if _, err := r.tool.run(tree, nil, env, "add", "--all", "--force", "."); err != nil {
		return err
	}
	sha, err := r.tool.run(tree, nil, env, "write-tree")
	if err != nil {
		return err
	}
	commit, err := r.commit(strings.TrimSpace(sha), nil, "Initial commit", identity{"Sample Author", "author@example.com", initialDate})
	if err != nil {
		return err
	}
	_, err = r.git("update-ref", "refs/heads/"+r.DefaultBranch, commit)
	return err
}

// identity is who writes a commit, and when.
type identity struct{ name, email, date string }

// commit makes a commit object.
func (r *repository) commit(tree string, parents []string, message string, by identity) (string, error) {
	args := []string{"commit-tree", tree, "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	env := []string{
		"GIT_AUTHOR_NAME=" + by.name, "GIT_AUTHOR_EMAIL=" + by.email, "GIT_AUTHOR_DATE=" + by.date,
		"GIT_COMMITTER_NAME=" + by.name, "GIT_COMMITTER_EMAIL=" + by.email, "GIT_COMMITTER_DATE=" + by.date,
	}
	out, err := r.tool.run(r.dir, []byte(message), env, args...)
	return strings.TrimSpace(out), err
}

// repoNamed finds "owner/name".
func (s *Server) repoNamed(full string) (*repository, error) {
	owner, name, _ := strings.Cut(full, "/")
	if r := s.repos[repoKey(owner, name)]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("repository %s does not exist on the stand-in GitHub", full)
}

func (s *Server) repoByID(id int64) *repository {
	for _, r := range s.repos {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// role is what a person may do here.
func (r *repository) role(u *user) Role {
	if role, given := r.collaborators[u]; given {
		return role
	}
	return roleNone
}

func (r *repository) full() string { return r.Owner.Login + "/" + r.Name }

// api is the repository's REST address.
func (s *Server) api(r *repository) string { return s.V3URL() + "/repos/" + r.full() }

// html is the repository's page.
func (s *Server) html(r *repository) string { return s.base + "/" + r.full() }

func (r *repository) openIssues() int {
	n := 0
	for _, i := range r.issues {
		if i.State == StateOpen {
			n++
		}
	}
	return n
}

func (s *Server) jsonRepo(r *repository) obj {
	api, html := s.api(r), s.html(r)
	visibility := "public"
	if r.Private {
		visibility = "private"
	}
	out := obj{
		"id": r.ID, "node_id": r.NodeID, "name": r.Name, "full_name": r.full(), "private": r.Private, "owner": s.jsonUser(r.Owner),
		"html_url": html, "description": nil, "fork": r.parent != nil, "url": api, "homepage": nil, "language": nil,
		"clone_url": html + ".git", "git_url": "git" + strings.TrimPrefix(html, "http") + ".git", "ssh_url": "git@127.0.0.1:" + r.full() + ".git",
		"svn_url": html, "mirror_url": nil, "forks_count": 0, "forks": 0, "stargazers_count": 0, "watchers_count": 0, "watchers": 0,
		"size": 1, "default_branch": r.DefaultBranch, "open_issues_count": r.openIssues(), "open_issues": r.openIssues(),
		"is_template": false, "topics": []string{}, "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false,
		"has_downloads": true, "has_discussions": false, "archived": r.Archived, "disabled": false, "visibility": visibility,
		"pushed_at": stamp(r.PushedAt), "created_at": stamp(r.CreatedAt), "updated_at": stamp(r.PushedAt), "license": nil,
		"allow_forking": true, "web_commit_signoff_required": false,
	}
	if r.Description != "" {
		out["description"] = r.Description
	}
	for name, path := range repoLinks {
		out[name+"_url"] = api + path
	}
	return out
}

// repoLinks are the URL templates that every repository object carries.
var repoLinks = map[string]string{
	"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}", "branches": "/branches{/branch}",
	"collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}", "commits": "/commits{/sha}",
	"compare": "/compare/{base}...{head}", "contents": "/contents/{+path}", "contributors": "/contributors", "deployments": "/deployments",
	"downloads": "/downloads", "events": "/events", "forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}",
	"git_tags": "/git/tags{/sha}", "hooks": "/hooks", "issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}",
	"issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}", "languages": "/languages", "merges": "/merges",
	"milestones": "/milestones{/number}", "notifications": "/notifications{?since,all,participating}", "pulls": "/pulls{/number}",
	"releases": "/releases{/id}", "stargazers": "/stargazers", "statuses": "/statuses/{sha}", "subscribers": "/subscribers",
	"subscription": "/subscription", "tags": "/tags", "teams": "/teams", "trees": "/git/trees{/sha}",
}

func (c *call) getRepo() (reply, error) {
	out := c.jsonRepo(c.repo)
	out["network_count"], out["subscribers_count"] = 0, 0
	if c.who.isUser() {
		out["permissions"] = permissionBits(c.repo.role(c.who.token.user))
	}
	return ok(out)
}

// getContents serves a file with its content or a directory's listing.
func (c *call) getContents() (reply, error) {
	r, path := c.repo, strings.Trim(c.r.PathValue("path"), "/")
	ref := c.query("ref")
	commit := r.resolve(ref)
	if commit == "" {
		if ref != "" {
			return reply{}, fail(http.StatusNotFound, "No commit found for the ref %s", ref)
		}
		return reply{}, fail(http.StatusNotFound, "This repository is empty.")
	}
	if ref == "" {
		ref = r.DefaultBranch
	}
	entries, err := r.lsTree(commit, path)
	if err != nil || path != "" && len(entries) == 0 {
		return reply{}, notFound()
	}
	if path != "" && len(entries) == 1 && entries[0].path == path && entries[0].kind != "tree" {
		e := entries[0]
		data, err := r.blob(e.sha)
		if err != nil {
			return reply{}, err
		}
		if strings.Contains(c.r.Header.Get("Accept"), "raw") {
			c.header.Set("Content-Type", "application/vnd.github.raw; charset=utf-8")
			return ok(data)
		}
		out := c.jsonContent(e, ref)
		out["encoding"], out["content"] = "base64", wrap60(base64.StdEncoding.EncodeToString(data))
		return ok(out)
	}
	return ok(mapAll(entries, func(e treeEntry) obj { return c.jsonContent(e, ref) }))
}

// contentKinds translates git's words for a tree entry.
var contentKinds = map[string]string{"blob": "file", "tree": "dir", "commit": "submodule"}

func (c *call) jsonContent(e treeEntry, ref string) obj {
	kind := contentKinds[e.kind]
	gitURL := fmt.Sprintf("%s/git/%ss/%s", c.api(c.repo), e.kind, e.sha)
	url := fmt.Sprintf("%s/contents/%s?ref=%s", c.api(c.repo), e.path, ref)
	page := fmt.Sprintf("%s/blob/%s/%s", c.html(c.repo), ref, e.path)
	out := obj{
		"type": kind, "size": e.size, "name": filepath.Base(e.path), "path": e.path, "sha": e.sha, "url": url, "git_url": gitURL,
		"html_url": page, "download_url": nil, "_links": obj{"self": url, "git": gitURL, "html": page},
	}
	if kind == "file" {
		out["download_url"] = fmt.Sprintf("%s/raw/%s/%s", c.html(c.repo), ref, e.path)
	}
	return out
}

// wrap60 breaks base64 into the lines of 60 characters that GitHub sends.
func wrap60(s string) string {
	const width = 60
	var b strings.Builder
	for part := range slices.Chunk([]byte(s), width) {
		b.Write(part)
		b.WriteByte('\n')
	}
	return b.String()
}
