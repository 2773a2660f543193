package githubtest

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed pages.html.tmpl
var pageText string

// pageTemplates are parsed once; templates are safe for concurrent use and never change.
var pageTemplates = template.Must(template.New("pages").Parse(pageText))

// pageView is what the pages show.
type pageView struct {
	// Repos are all repositories, for the first page only.
	Repos       []string
	Base, Repo  string
	Private     bool
	Description string
	Issues      []Issue
	Pulls       []PullRequest

	Issue    Issue
	Pull     *PullRequest
	Comments []Comment
	Reviews  []Review
	Remarks  []ReviewComment
	Runs     []CheckRun
	Commits  []pageCommit
	Files    []pageFile
}

type pageCommit struct{ SHA, Message, Author string }

type pageFile struct {
	Path, Status   string
	Added, Deleted int
	Lines          []pageLine
}

type pageLine struct{ Class, Text string }

// servePage serves the pages for people, and the two forms of the set-up and login flows.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /login/oauth/authorize":
		s.authorize(w, r)
		return
	case "POST /login/oauth/access_token":
		s.accessToken(w, r)
		return
	case "POST /settings/apps/new", "POST /organizations/" + organizationOf(r.URL.Path) + "/settings/apps/new":
		s.newAppPage(w, r)
		return
	case "GET /":
		s.showPage(w, "index", s.indexView())
		return
	case "GET /favicon.ico":
		w.WriteHeader(http.StatusNoContent)
		return
	}
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	view, name := s.viewOf(part)
	switch {
	case r.Method != http.MethodGet:
		s.notImplemented(w, r, r.Method+" "+r.URL.Path)
	case name == "":
		http.NotFound(w, r)
	default:
		s.showPage(w, name, view)
	}
}

func (s *Server) showPage(w http.ResponseWriter, name string, view pageView) {
	var out bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&out, name, view); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = w.Write(out.Bytes()) // the client may be gone
}

func (s *Server) indexView() pageView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := pageView{Base: s.base}
	for _, r := range s.repos {
		v.Repos = append(v.Repos, r.full())
	}
	slices.Sort(v.Repos)
	return v
}

// viewOf finds the page of a path; "" is none. Private repositories are shown too: whoever reaches
// the stand-in's port runs it.
func (s *Server) viewOf(part []string) (pageView, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(part) < 2 {
		return pageView{}, ""
	}
	r := s.repos[repoKey(part[0], part[1])]
	if r == nil {
		return pageView{}, ""
	}
	v := pageView{Base: s.base, Repo: r.full(), Private: r.Private, Description: r.Description}
	switch {
	case len(part) == 2, len(part) == 3 && (part[2] == "issues" || part[2] == "pulls"):
		for _, n := range sortedNumbers(r.issues) {
			if r.issues[n].IsPull {
				v.Pulls = append(v.Pulls, r.pulls[n].clone())
			} else {
				v.Issues = append(v.Issues, r.issues[n].clone())
			}
		}
		return v, "repo"
	case len(part) == 4 && part[2] == "runs":
		for _, k := range r.runs {
			if strconv.FormatInt(k.ID, 10) == part[3] {
				v.Runs = []CheckRun{k.clone()}
				return v, "run"
			}
		}
		return v, ""
	case len(part) < 4:
		return v, ""
	}
	n, err := strconv.Atoi(part[3])
	i := r.issues[n]
	if err != nil || i == nil {
		return v, ""
	}
	v.Issue = i.clone()
	for _, m := range r.commentsOf(n) {
		v.Comments = append(v.Comments, m.clone())
	}
	if !i.IsPull {
		return v, "issue"
	}
	s.viewPull(&v, r.pulls[n])
	return v, "pull"
}

// viewPull adds what a pull request's page shows besides.
func (s *Server) viewPull(v *pageView, p *PullRequest) {
	r := p.issue.repo
	shown := p.clone()
	v.Pull = &shown
	for _, review := range p.reviews {
		v.Reviews = append(v.Reviews, *review)
	}
	for _, m := range p.comments {
		v.Remarks = append(v.Remarks, *m)
	}
	for _, k := range r.runs {
		if k.HeadSHA == p.HeadSHA {
			v.Runs = append(v.Runs, k.clone())
		}
	}
	infos, _ := p.commits() // a head that is gone shows no commits and no files
	for _, i := range infos {
		v.Commits = append(v.Commits, pageCommit{i.sha, i.message, i.authorName})
	}
	files, _ := p.files()
	for _, f := range files {
		one := pageFile{Path: f.path, Status: f.status, Added: f.added, Deleted: f.deleted}
		for line := range strings.SplitSeq(f.patch, "\n") {
			one.Lines = append(one.Lines, pageLine{lineClass(line), line})
		}
		v.Files = append(v.Files, one)
	}
}

func lineClass(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"):
		return "hunk"
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	}
	return "same"
}
