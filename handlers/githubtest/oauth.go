package githubtest

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// oauthState is the codes given out by the login page, each with the person it stands for.
type oauthState struct {
	login string
	codes map[string]string
}

// SetLogin says who is signed in at the stand-in's web pages, for the OAuth login.
func (s *Server) SetLogin(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oauth.login = login
	s.userNamed(login)
}

// OAuthClient returns the App's OAuth client id and secret.
func (s *Server) OAuthClient() (id, secret string) { return s.app.ClientID, s.app.ClientSecret }

// authorize is the OAuth page: the person signed in agrees at once.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	login := s.oauth.login
	code := newToken("")
	s.oauth.codes[code] = login
	s.mu.Unlock()
	to, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case q.Get("client_id") != s.app.ClientID:
		http.Error(w, "unknown client_id", http.StatusNotFound)
	case login == "":
		http.Error(w, "nobody is signed in: call SetLogin", http.StatusForbidden)
	case err != nil || to.Host == "":
		http.Error(w, "redirect_uri is missing", http.StatusBadRequest)
	default:
		values := to.Query()
		values.Set("code", code)
		values.Set("state", q.Get("state"))
		to.RawQuery = values.Encode()
		http.Redirect(w, r, to.String(), http.StatusFound)
	}
}

// accessToken exchanges the code of the OAuth page for a person's token.
func (s *Server) accessToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	login, known := s.oauth.codes[r.PostFormValue("code")]
	delete(s.oauth.codes, r.PostFormValue("code"))
	good := known && r.PostFormValue("client_secret") == s.app.ClientSecret
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	answer := obj{"error": "bad_verification_code", "error_description": "The code passed is incorrect or expired."}
	if good {
		answer = obj{"access_token": s.UserToken(login), "token_type": "bearer", "scope": ""}
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// organizationOf is the organisation of a path below /organizations.
func organizationOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/organizations/"), "/")
	return name
}

// newAppPage is the end of GitHub's manifest page: the person's click is taken for granted.
func (s *Server) newAppPage(w http.ResponseWriter, r *http.Request) {
	code, redirect, err := s.acceptManifest(r.PostFormValue("manifest"))
	to, err2 := url.Parse(redirect)
	if err != nil || err2 != nil || redirect == "" {
		http.Error(w, "the manifest cannot be read or has no redirect_url", http.StatusUnprocessableEntity)
		return
	}
	values := to.Query()
	values.Set("code", code)
	values.Set("state", r.URL.Query().Get("state"))
	to.RawQuery = values.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// convertManifest hands out the credentials of a new App, once.
func (c *call) convertManifest() (reply, error) {
	code := c.r.PathValue("code")
	m, known := c.manifests[code]
	if !known {
		return reply{}, notFound()
	}
	delete(c.manifests, code)
	name, _ := m.manifest["name"].(string)
	a := &app{ID: c.nextID(), Slug: slug(name), Name: name, Permissions: map[string]string{}, Events: []string{}}
	if perms, isMap := m.manifest["default_permissions"].(map[string]any); isMap {
		for k, v := range perms {
			a.Permissions[k] = fmt.Sprint(v)
		}
	}
	if events, isList := m.manifest["default_events"].([]any); isList {
		for _, e := range events {
			a.Events = append(a.Events, fmt.Sprint(e))
		}
	}
	c.addApp(a)
	out := c.jsonApp(a)
	out["client_secret"], out["webhook_secret"] = a.ClientSecret, newToken("")
	out["pem"] = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(m.key)}))
	return created(out)
}

// slug makes a name fit for a URL as GitHub does: letters, digits and single hyphens.
func slug(name string) string {
	out := make([]rune, 0, len(name))
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			out = append(out, r)
		case r >= 'A' && r <= 'Z':
			out = append(out, r-'A'+'a')
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	return string(out)
}
