package handlers_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// examplesVersion is the release of npm's @octokit/webhooks-examples that the test was written for.
const examplesVersion = "7.6.1"

// example is the payloads of one event.
type example struct {
	Name     string            `json:"name"`
	Examples []json.RawMessage `json:"examples"`
}

// examples loads GitHub's own example payloads, of github.com and of Enterprise Server. They are
// fetched outside of the tree; where they are absent the test is skipped, or fails where every
// component is required.
func examples(t *testing.T) map[string][]example {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "autocode", "webhooks-examples-"+examplesVersion)
	files, err := filepath.Glob(filepath.Join(dir, "node_modules", "@octokit", "webhooks-examples", "*", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		message := fmt.Sprintf("component npm @octokit/webhooks-examples@%s is absent: npm install --no-save --prefix %s @octokit/webhooks-examples@%s", examplesVersion, dir, examplesVersion)
		if os.Getenv("AUTOCODE_TEST_REQUIRE") == "all" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	all := map[string][]example{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var list []example
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(filepath.Dir(file))] = list
	}
	return all
}

// deliver posts a signed payload and has whatever was stored handled; it returns the answer's status.
func (w *world) deliver(event, id string, payload []byte) (int, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(payload)
	r := httptest.NewRequest(http.MethodPost, "/api/github/hook", bytes.NewReader(payload))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("X-GitHub-Delivery", id)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer := httptest.NewRecorder()
	w.intake.ServeHTTP(answer, r)
	var err error
	for _, d := range w.inbox.take() {
		err = errors.Join(err, w.intake.Deliver(w.ctx, d))
	}
	return answer.Code, err
}

// TestEveryExamplePayload: each of GitHub's examples ends in a defined way, also when it comes from an
// installation that there is, and also when any part of it is null or missing.
func TestEveryExamplePayload(t *testing.T) {
	handled := map[string]bool{"issues": true, "issue_comment": true, "pull_request": true, "pull_request_review": true,
		"pull_request_review_comment": true, "check_run": true, "check_suite": true, "push": true, "installation": true, "installation_repositories": true, "repository": true, "status": true}
	for server, list := range examples(t) {
		t.Run(server, func(t *testing.T) {
			w := newWorld(t)
			n, refused := 0, 0
			for _, e := range list {
				for i, payload := range e.Examples {
					n++
					status, err := w.deliver(e.Name, fmt.Sprintf("%s-%s-%d", server, e.Name, i), payload)
					if status != http.StatusAccepted && status != http.StatusOK && status != http.StatusBadRequest || err != nil {
						t.Errorf("%s %d: status %d, %v", e.Name, i, status, err)
					}
					if status == http.StatusBadRequest {
						refused++
						t.Logf("%s %d is refused", e.Name, i)
					}
					if !handled[e.Name] || server != "api.github.com" {
						continue
					}
					var whole map[string]json.RawMessage
					if err := json.Unmarshal(payload, &whole); err != nil {
						t.Fatal(err)
					}
					whole["installation"] = fmt.Appendf(nil, `{"id":%d}`, w.InstallationID(repo))
					for part := range whole {
						for _, value := range []string{"null", "{}", `"text"`, ""} {
							broken := map[string]json.RawMessage{}
							for k, v := range whole {
								broken[k] = v
							}
							if broken[part] = json.RawMessage(value); value == "" {
								delete(broken, part)
							}
							text, err := json.Marshal(broken)
							w.must(err)
							// Straight to the handler: the intake may be changed one day.
							if err := w.intake.Deliver(w.ctx, loop.Delivery{ID: "x", Event: e.Name, Payload: text}); err != nil {
								t.Errorf("%s %d with %s = %q: %v", e.Name, i, part, value, err)
							}
						}
					}
				}
			}
			w.none()
			if n == 0 || refused > 0 {
				t.Errorf("%d of %d are refused", refused, n)
			}
			if got := strings.Join(w.Unimplemented(), ", "); got != "" {
				t.Errorf("unimplemented %s", got)
			}
		})
	}
}
