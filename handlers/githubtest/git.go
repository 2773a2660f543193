package githubtest

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"strings"
)

//go:embed hook.sh
var updateHook []byte

// hookMode makes the hook executable.
const hookMode = 0o755

func (r *repository) installHook() error {
	if err := os.MkdirAll(filepath.Join(r.dir, "hooks"), hookMode); err != nil {
		return fmt.Errorf("make the hooks' directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "hooks", "update"), updateHook, hookMode); err != nil {
		return fmt.Errorf("write the update hook: %w", err)
	}
	return nil
}

// gitServices are the paths below OWNER/REPO(.git) that belong to the smart protocol.
var gitServices = []string{"/info/refs", "/git-upload-pack", "/git-receive-pack"}

func isGitPath(path string) bool {
	_, _, service := splitGitPath(path)
	return service != ""
}

// splitGitPath takes /OWNER/REPO.git/SERVICE apart; GitHub serves it without .git too.
func splitGitPath(path string) (owner, name, service string) {
	for _, suffix := range gitServices {
		base, found := strings.CutSuffix(path, suffix)
		if !found {
			continue
		}
		owner, name, found = strings.Cut(strings.Trim(base, "/"), "/")
		if !found || strings.Contains(name, "/") {
			continue
		}
		return owner, strings.TrimSuffix(name, ".git"), suffix
	}
	return "", "", ""
}

// serveGit checks the token as GitHub does and lets git http-backend do the rest.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	owner, name, service := splitGitPath(r.URL.Path)
	push := service == "/git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	route := "GIT " + strings.TrimPrefix(strings.TrimPrefix(service, "/"), "git-")
	fault := s.takeFault(route, r)
	if fault.before(r) {
		s.record(r, route, nil, nil, 0)
		hangUp()
	}
	if fault.status() != 0 {
		s.finishFault(w, r, route, nil, fault)
		return
	}
	repo, who, status, message := s.admitGit(r, owner, name, push)
	if status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		s.record(r, route, who, nil, status)
		http.Error(w, message, status)
		return
	}
	if !strings.EqualFold(owner+"/"+name, repo.Owner.Login+"/"+repo.Name) { // a former name
		s.record(r, route, who, nil, http.StatusMovedPermanently)
		http.Redirect(w, r, fmt.Sprintf("%s/%s/%s.git%s?%s", s.URL(), repo.Owner.Login, repo.Name, service, r.URL.RawQuery), http.StatusMovedPermanently)
		return
	}
	if service != "/git-receive-pack" {
		out := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		s.backend(out, r, repo, who, service)
		s.record(r, route, who, nil, out.status)
		if fault.dropAfter() {
			hangUp()
		}
		return
	}
	out := &heldWriter{header: http.Header{}, status: http.StatusOK}
	s.backend(out, r, repo, who, service)
	s.mu.Lock()
	err := s.syncRefs(repo, who.actor())
	s.mu.Unlock()
	if err != nil {
		s.record(r, route, who, nil, http.StatusInternalServerError)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.record(r, route, who, nil, out.status)
	if fault.dropAfter() {
		hangUp()
	}
	out.release(w)
}

// admitGit decides who may fetch and push; a status other than 0 refuses.
func (s *Server) admitGit(r *http.Request, owner, name string, push bool) (*repository, *principal, int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, err := s.authenticate(r)
	if err != nil {
		var failed *apiError
		if errors.As(err, &failed) && failed.status == http.StatusForbidden {
			return nil, nil, http.StatusForbidden, failed.message
		}
		return nil, nil, http.StatusUnauthorized, "Invalid username or password."
	}
	repo := s.repos[repoKey(owner, name)]
	if repo == nil {
		repo = s.repoByID(s.moved[repoKey(owner, name)]) // GitHub redirects git from a former name
	}
	hidden := repo == nil || !s.canSee(who, repo)
	switch {
	case hidden && who == nil, push && who == nil, who.isApp():
		return nil, who, http.StatusUnauthorized, "Authentication required."
	case hidden:
		return nil, who, http.StatusNotFound, "Repository not found."
	case push && repo.Archived:
		return nil, who, http.StatusForbidden, "This repository was archived so it is read-only."
	case push && !s.allows(who, repo, perm{contents, write}):
		return nil, who, http.StatusForbidden, "Write access to repository not granted."
	case !push && !s.allows(who, repo, perm{contents, read}):
		return nil, who, http.StatusForbidden, "Read access to repository not granted."
	}
	return repo, who, 0, ""
}

// backend runs git http-backend for one request.
func (s *Server) backend(w http.ResponseWriter, r *http.Request, repo *repository, who *principal, service string) {
	// CGI needs a Content-Length, and git sends what exceeds http.postBuffer in chunks.
	body, err := os.CreateTemp(s.dir, "body-")
	if err != nil {
		http.Error(w, fmt.Sprintf("make a file for the request's body: %v", err), http.StatusInternalServerError)
		return
	}
	defer func() { _, _ = body.Close(), os.Remove(body.Name()) }()
	size, err := io.Copy(body, r.Body)
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("buffer the request's body: %v", err), http.StatusInternalServerError)
		return
	}
	in := r.Clone(r.Context())
	in.Body, in.ContentLength, in.TransferEncoding = body, size, nil
	in.Header.Del("Authorization") // hooks need not see it
	url := *r.URL
	// The directory may be called otherwise than the address: names are case-insensitive and change.
	url.Path, url.RawPath = "/"+filepath.ToSlash(filepath.Base(filepath.Dir(repo.dir)))+"/"+filepath.Base(repo.dir)+service, ""
	in.URL = &url
	mayWorkflows := "no"
	s.mu.Lock()
	if !who.isInst() || s.allows(who, repo, perm{workflows, write}) {
		mayWorkflows = "yes"
	}
	env := append(s.git.environment(),
		"GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+who.name(),
		"GIT_PROTOCOL="+r.Header.Get("Git-Protocol"), "GITHUBTEST_WORKFLOWS="+mayWorkflows)
	s.mu.Unlock()
	h := cgi.Handler{Path: s.git.backend, Dir: repo.dir, Env: env, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0)}
	h.ServeHTTP(w, in)
}

// heldWriter keeps an answer back until its effects are in the books, so that a client that has it
// finds them there; it also knows the status.
type heldWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *heldWriter) Header() http.Header         { return w.header }
func (w *heldWriter) WriteHeader(status int)      { w.status = status }
func (w *heldWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

// release sends the answer.
func (w *heldWriter) release(to http.ResponseWriter) {
	for k, v := range w.header {
		to.Header()[k] = v
	}
	to.WriteHeader(w.status)
	_, _ = to.Write(w.body.Bytes()) // the client may be gone
}

// statusWriter streams an answer and remembers its status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
