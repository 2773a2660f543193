package conformance

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small is a description with one operation and one webhook.
const small = `{
 "openapi": "3.0.3", "info": {"title": "small", "version": "1"},
 "paths": {
  "/repos/{owner}/{repo}/issues": {
   "post": {
    "parameters": [
     {"name": "owner", "in": "path", "required": true, "schema": {"type": "string"}},
     {"name": "repo", "in": "path", "required": true, "schema": {"type": "string"}}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {
     "type": "object", "required": ["title"], "additionalProperties": false, "properties": {"title": {"type": "string"}}}}}},
    "responses": {"201": {"description": "made", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/issue"}}}}}}},
  "/not/in/use": {"get": {"responses": {"200": {"description": "ok"}}}}},
 "x-webhooks": {"issues-labeled": {"post": {"requestBody": {"content": {"application/json": {"schema": {
  "type": "object", "required": ["action", "issue"], "properties": {"issue": {"$ref": "#/components/schemas/issue"}}}}}},
  "responses": {"200": {"description": "ok"}}}}},
 "components": {"schemas": {
  "issue": {"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}, "user": {"$ref": "#/components/schemas/user"}}},
  "user": {"type": "object", "required": ["login"]},
  "unused": {"type": "object"}}}}`

func smallValidator(t *testing.T) *Validator {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Dir(File(dir)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(File(dir), []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNewWithoutDescription(t *testing.T) {
	if _, err := New(t.TempDir()); !errors.Is(err, ErrAbsent) {
		t.Fatalf("err %v, want ErrAbsent", err)
	}
}

func TestTrim(t *testing.T) {
	v := smallValidator(t)
	if v.doc.Paths.Value("/not/in/use") != nil || v.doc.Components.Schemas["unused"] != nil {
		t.Error("what is not in use was kept")
	}
	if v.doc.Components.Schemas["user"] == nil {
		t.Error("what is referred to indirectly was lost")
	}
}

func TestWrapFindsViolations(t *testing.T) {
	cases := []struct {
		name, path, body, answer string
		want                     string
	}{
		{"all is well", "/api/v3/repos/o/r/issues", `{"title": "x"}`, `{"number": 1}`, ""},
		{"field that does not exist", "/api/v3/repos/o/r/issues", `{"title": "x", "titel": "y"}`, `{"number": 1}`, "titel"},
		{"missing field", "/api/v3/repos/o/r/issues", `{}`, `{"number": 1}`, "title"},
		{"answer of another type", "/api/v3/repos/o/r/issues", `{"title": "x"}`, `{"number": "1"}`, "/number"},
		{"answer lacks a field of a part", "/api/v3/repos/o/r/issues", `{"title": "x"}`, `{"number": 1, "user": {}}`, "login"},
		{"unknown operation", "/api/v3/repos/o/r/issuez", `{}`, `{}`, "no such operation"},
		{"GraphQL is not looked at", "/api/graphql", `{}`, `{}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				if err != nil || string(got) != c.body {
					t.Errorf("the server got %q, %v", got, err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer srv.Close()
			v := smallValidator(t)
			client := &http.Client{Transport: v.Wrap(nil)}
			resp, err := client.Post(srv.URL+c.path, "application/json", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != c.answer {
				t.Errorf("the client got %q, %v", got, err)
			}
			found := v.Violations()
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("violations %v", found)
			case c.want != "" && (len(found) != 1 || !strings.Contains(found[0].String(), c.want)):
				t.Errorf("violations %v, want one about %s", found, c.want)
			}
		})
	}
}

func TestWebhook(t *testing.T) {
	v := smallValidator(t)
	cases := []struct{ name, event, action, body, want string }{
		{"all is well", "issues", "labeled", `{"action": "labeled", "issue": {"number": 1}}`, ""},
		{"missing field", "issues", "labeled", `{"action": "labeled"}`, "issue"},
		{"wrong type below", "issues", "labeled", `{"action": "labeled", "issue": {"number": "1"}}`, "/issue/number"},
		{"unknown event", "issues", "eaten", `{}`, "no webhook issues-eaten"},
		{"no JSON", "issues", "labeled", `{`, "payload of issues-labeled"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := v.Webhook(c.event, c.action, []byte(c.body))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("err %v, want %q", err, c.want)
			}
		})
	}
}
