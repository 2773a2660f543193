package intake_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/handlers/intake"
)

// instant is a clock whose short waits are over at once; long ones never are.
type instant struct{}

func (instant) Now() time.Time { return time.Now() }

func (instant) After(d time.Duration) <-chan time.Time {
	const short = 5 * time.Second
	if d > short {
		return nil
	}
	fired := make(chan time.Time, 1)
	fired <- time.Now()
	return fired
}

// TestRelay reads a relay in smee's form: what is signed arrives, what is not does not, and a broken
// connection is made anew.
func TestRelay(t *testing.T) {
	const secret, body = "canary", `{"action":"opened","text":"ä < > & \"q\" \\n","n":1}`
	sign := func(text string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(text))
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	event := func(delivery, signature, body string) string {
		return fmt.Sprintf("id: 1\ndata: {\"x-github-event\":\"issues\",\"x-github-delivery\":%q,\"x-hub-signature-256\":%q,\"content-type\":\"application/json\",\"body\":%s,\"query\":{},\"timestamp\":1}\n\n", delivery, signature, body)
	}
	asText, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	streams := []string{
		"retry: 10\nevent: ready\ndata: {}\n\n: comment\n\nevent: ping\ndata: {}\n\n" + event("one", sign(body), body),
		"data: not json\n\ndata: {\"query\":{}}\n\n" + event("forged", sign("other"), body) + event("unsigned", "", body) + event("half", sign(body), body)[:40],
		strings.ReplaceAll(event("two", sign(body), string(asText)), "\n", "\r\n"),
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	connections := 0
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("accepts %q", r.Header.Get("Accept"))
		}
		connections++
		switch n := connections; {
		case n == 1:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		case n-2 < len(streams):
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, streams[n-2])
		default:
			<-r.Context().Done()
		}
	}))
	defer relay.Close()
	type got struct{ delivery, body string }
	var all []got
	to := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var text strings.Builder
		buffer := make([]byte, len(body)+1)
		n, _ := r.Body.Read(buffer)
		text.Write(buffer[:n])
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(text.String()))
		if r.Header.Get("X-Hub-Signature-256") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			http.Error(w, "no valid signature", http.StatusUnauthorized)
			return
		}
		all = append(all, got{r.Header.Get("X-GitHub-Delivery"), text.String()})
		if len(all) == 2 {
			cancel()
		}
	})
	r := &intake.Relay{URL: relay.URL, To: to, Clock: instant{}, Client: relay.Client()}
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0] != (got{"one", body}) || all[1] != (got{"two", body}) {
		t.Errorf("%+v", all)
	}
}
