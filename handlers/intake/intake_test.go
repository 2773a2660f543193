package intake

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

const secret = "canary-webhook-secret"

// inbox remembers deliveries as the store does: once per id and key.
type inbox struct {
	mutex sync.Mutex
	ids   map[string]bool
	kept  []loop.Delivery
	err   error
}

// Receive implements loop.Inbox.
func (b *inbox) Receive(_ context.Context, d loop.Delivery) (bool, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.err != nil {
		return false, b.err
	}
	if b.ids == nil {
		b.ids = map[string]bool{}
	}
	if b.ids[d.ID] || d.Key != "" && b.ids[d.Key] {
		return false, nil
	}
	b.ids[d.ID] = true
	if d.Key != "" {
		b.ids[d.Key] = true
	}
	b.kept = append(b.kept, d)
	return true, nil
}

type clock struct{}

func (clock) Now() time.Time                       { return time.Unix(1_700_000_000, 0) }
func (clock) After(time.Duration) <-chan time.Time { return nil }

// handler records what it is given.
type handler struct {
	events []string
	got    []string
	err    error
}

func (h *handler) Handles() []string { return h.events }

func (h *handler) Handle(_ context.Context, event, delivery string, _ []byte) error {
	h.got = append(h.got, event+" "+delivery)
	return h.err
}

func newIntake(t *testing.T, box *inbox) *Intake {
	t.Helper()
	in, err := New(box, secret, clock{}, &handler{events: []string{"issues", "issue_comment", "check_run", "installation", "installation_repositories"}})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func signature(body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// post sends a signed delivery; change may spoil it.
func post(in http.Handler, event, id string, body []byte, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodPost, "/api/github/hook", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("X-GitHub-Delivery", id)
	r.Header.Set("X-Hub-Signature-256", signature(body))
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	in.ServeHTTP(w, r)
	return w.Result()
}

func labeled(label string) []byte {
	return []byte(fmt.Sprintf(`{"action":"labeled","label":{"name":%q},"issue":{"id":7,"number":1,"updated_at":"2026-01-02T03:04:05Z"},"repository":{"id":3},"installation":{"id":4}}`, label))
}

// refused checks an answer and that nothing was stored.
func refused(t *testing.T, box *inbox, response *http.Response, status int) {
	t.Helper()
	if response.StatusCode != status {
		t.Errorf("status %d, want %d", response.StatusCode, status)
	}
	if len(box.kept) != 0 {
		t.Errorf("%d deliveries were stored", len(box.kept))
	}
}

func TestDeliveryIsStoredThenAnswered(t *testing.T) {
	box := &inbox{}
	body := labeled("autocode")
	if r := post(newIntake(t, box), "issues", "d1", body, nil); r.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d", r.StatusCode)
	}
	if len(box.kept) != 1 || box.kept[0].ID != "d1" || box.kept[0].Event != "issues" || !bytes.Equal(box.kept[0].Payload, body) || box.kept[0].Received != (clock{}).Now() {
		t.Errorf("%+v", box.kept)
	}
}

func TestAttack01NoSignature(t *testing.T) {
	box := &inbox{}
	refused(t, box, post(newIntake(t, box), "issues", "d", labeled("a"), func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }), http.StatusUnauthorized)
}

func TestAttack02SHA1Only(t *testing.T) {
	box := &inbox{}
	body := labeled("a")
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write(body)
	refused(t, box, post(newIntake(t, box), "issues", "d", body, func(r *http.Request) {
		r.Header.Del("X-Hub-Signature-256")
		r.Header.Set("X-Hub-Signature", "sha1="+hex.EncodeToString(mac.Sum(nil)))
	}), http.StatusUnauthorized)
}

func TestAttack03OneByteChanged(t *testing.T) {
	box := &inbox{}
	body := labeled("a")
	refused(t, box, post(newIntake(t, box), "issues", "d", body, func(r *http.Request) {
		changed := bytes.Replace(body, []byte(`"id":7`), []byte(`"id":8`), 1)
		r.Body = io.NopCloser(bytes.NewReader(changed))
	}), http.StatusUnauthorized)
}

func TestAttack04EmptySecret(t *testing.T) {
	if _, err := New(&inbox{}, "", clock{}); err == nil || !strings.Contains(err.Error(), "GITHUB_APP_WEBHOOK_SECRET") {
		t.Errorf("error %v", err)
	}
}

func TestAttack05StrangeSignatures(t *testing.T) {
	body := labeled("a")
	good := signature(body)
	for name, values := range map[string][]string{
		"short": {good[:20]}, "long": {good + "00"}, "doubled": {good, good}, "not hex": {"sha256=" + strings.Repeat("zz", 32)}, "no scheme": {good[7:]},
		"empty": {""}, "other scheme": {"sha512=" + good[7:]}, "list": {good + ", " + good},
	} {
		t.Run(name, func(t *testing.T) {
			box := &inbox{}
			refused(t, box, post(newIntake(t, box), "issues", "d", body, func(r *http.Request) { r.Header["X-Hub-Signature-256"] = values }), http.StatusUnauthorized)
		})
	}
}

func TestAttack06SameDeliveryID(t *testing.T) {
	box := &inbox{}
	in := newIntake(t, box)
	for range 3 {
		if r := post(in, "issues", "d", labeled("a"), nil); r.StatusCode != http.StatusAccepted {
			t.Fatalf("status %d", r.StatusCode)
		}
	}
	if len(box.kept) != 1 {
		t.Errorf("%d stored", len(box.kept))
	}
}

func TestAttack07SameBodyNewID(t *testing.T) {
	box := &inbox{}
	in := newIntake(t, box)
	for i := range 3 {
		post(in, "issues", fmt.Sprint("d", i), labeled("a"), nil)
	}
	if len(box.kept) != 1 {
		t.Errorf("%d stored", len(box.kept))
	}
	// One issue opened with two labels sends two events with one time.
	post(in, "issues", "other", labeled("b"), nil)
	if len(box.kept) != 2 {
		t.Errorf("%d stored after another label", len(box.kept))
	}
	// The buttons of a check repeat their payload.
	press := []byte(`{"action":"requested_action","requested_action":{"identifier":"retry"},"check_run":{"id":5},"repository":{"id":3}}`)
	post(in, "check_run", "p1", press, nil)
	post(in, "check_run", "p2", press, nil)
	if len(box.kept) != 4 {
		t.Errorf("%d stored after two presses", len(box.kept))
	}
}

func TestAttack08EventHeaderSwapped(t *testing.T) {
	issue := labeled("a")
	comment := []byte(`{"action":"created","issue":{"id":7},"comment":{"id":8},"repository":{"id":3}}`)
	review := []byte(`{"action":"submitted","pull_request":{"id":7},"review":{"id":8},"repository":{"id":3}}`)
	for name, c := range map[string]struct {
		event string
		body  []byte
	}{
		"comment as issue": {"issues", comment}, "issue as comment": {"issue_comment", issue}, "issue as check run": {"check_run", issue},
		"issue as installation": {"installation", issue}, "review as pull request": {"pull_request", review}, "issue as repository": {"repository", issue},
		"comment as review remark": {"pull_request_review_comment", comment},
	} {
		t.Run(name, func(t *testing.T) {
			box := &inbox{}
			in, err := New(box, secret, clock{}, &handler{events: []string{c.event}})
			if err != nil {
				t.Fatal(err)
			}
			refused(t, box, post(in, c.event, "d", c.body, nil), http.StatusBadRequest)
		})
	}
}

func TestAttack09LargeAndSlow(t *testing.T) {
	box := &inbox{}
	in := newIntake(t, box)
	large := append(labeled("a"), bytes.Repeat([]byte(" "), 30<<20)...)
	refused(t, box, post(in, "issues", "d", large, nil), http.StatusRequestEntityTooLarge)
	// Without a Content-Length the size shows only on the way.
	refused(t, box, post(in, "issues", "d", large, func(r *http.Request) { r.ContentLength = -1 }), http.StatusRequestEntityTooLarge)

	in.BodyTimeout = time.Millisecond
	server := httptest.NewServer(in)
	defer server.Close()
	line, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	// The body that is promised never comes.
	if _, err := fmt.Fprintf(line, "POST /api/github/hook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-GitHub-Event: issues\r\n"+
		"X-GitHub-Delivery: d\r\nX-Hub-Signature-256: %s\r\nContent-Length: 100\r\n\r\n", signature(nil)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(line), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	refused(t, box, response, http.StatusRequestTimeout)
}

// TestLargeIsAnswered: a client that sends the whole of a payload before it reads hears why it was refused,
// in place of a broken connection.
func TestLargeIsAnswered(t *testing.T) {
	for name, header := range map[string]string{
		"length told": fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBody+5<<20), "length unknown": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", maxBody+5<<20),
	} {
		t.Run(name, func(t *testing.T) {
			box := &inbox{}
			server := httptest.NewServer(newIntake(t, box))
			defer server.Close()
			line, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer line.Close()
			if _, err := io.WriteString(line, "POST /api/github/hook HTTP/1.1\r\nHost: localhost\r\n"+header); err != nil {
				t.Fatal(err)
			}
			if _, err := line.Write(make([]byte, maxBody+5<<20)); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(line), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			refused(t, box, response, http.StatusRequestEntityTooLarge)
		})
	}
}

// TestTimesInEveryForm: GitHub writes the times of installations in seconds.
func TestTimesInEveryForm(t *testing.T) {
	for name, c := range map[string]struct{ event, body string }{
		"installation": {"installation", `{"action":"deleted","installation":{"id":4,"created_at":1525109898,"updated_at":1525109899},"repositories":[]}`},
		"repositories": {"installation_repositories", `{"action":"removed","installation":{"id":4,"updated_at":1525109899},"repository_selection":"selected","repositories_removed":[{"id":3}]}`},
		"issue":        {"issues", `{"action":"closed","issue":{"id":7,"updated_at":1525109899},"repository":{"id":3,"updated_at":1525109899}}`},
		"null":         {"issues", `{"action":"closed","issue":{"id":7,"updated_at":null},"repository":{"id":3}}`},
	} {
		t.Run(name, func(t *testing.T) {
			box := &inbox{}
			if r := post(newIntake(t, box), c.event, "d", []byte(c.body), nil); r.StatusCode != http.StatusAccepted || len(box.kept) != 1 {
				t.Errorf("status %d, %d stored", r.StatusCode, len(box.kept))
			}
		})
	}
}

func TestAttack11BadJSON(t *testing.T) {
	for name, body := range map[string]string{
		"deep": strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "deep list": `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}",
		"invalid UTF-8": "{\"a\":\"\xff\"}", "no object": `[1]`, "null": "null", "cut": `{"a":`, "empty": "", "two": `{} {}`, "text": "hello",
	} {
		t.Run(name, func(t *testing.T) {
			box := &inbox{}
			refused(t, box, post(newIntake(t, box), "issues", "d", []byte(body), nil), http.StatusBadRequest)
		})
	}
}

func TestHeaders(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"no event": func(r *http.Request) { r.Header.Del("X-GitHub-Event") }, "no delivery": func(r *http.Request) { r.Header.Del("X-GitHub-Delivery") },
		"long": func(r *http.Request) { r.Header.Set("X-GitHub-Delivery", strings.Repeat("x", 1000)) }, "two events": func(r *http.Request) { r.Header.Add("X-GitHub-Event", "push") },
		"control": func(r *http.Request) { r.Header.Set("X-GitHub-Event", "issues\tx") },
	} {
		t.Run(name, func(t *testing.T) {
			box := &inbox{}
			refused(t, box, post(newIntake(t, box), "issues", "d", labeled("a"), change), http.StatusBadRequest)
		})
	}
	box := &inbox{}
	refused(t, box, post(newIntake(t, box), "issues", "d", labeled("a"), func(r *http.Request) { r.Method = http.MethodGet }), http.StatusMethodNotAllowed)
}

// TestStoreDown: GitHub is told, so that the delivery can be sent again.
func TestStoreDown(t *testing.T) {
	box := &inbox{err: errors.New("disk full")}
	refused(t, box, post(newIntake(t, box), "issues", "d", labeled("a"), nil), http.StatusServiceUnavailable)
}

// TestUnknownEventsAreAcknowledged: what nobody handles is no error.
func TestUnknownEventsAreAcknowledged(t *testing.T) {
	box := &inbox{}
	in := newIntake(t, box)
	for _, event := range []string{"ping", "star", "projects_v2_item"} {
		if r := post(in, event, event, []byte(`{"zen":"x"}`), nil); r.StatusCode/100 != 2 {
			t.Errorf("%s: status %d", event, r.StatusCode)
		}
	}
	for _, d := range box.kept {
		if err := in.Deliver(context.Background(), d); err != nil {
			t.Errorf("%s: %v", d.Event, err)
		}
	}
}

func TestDeliver(t *testing.T) {
	h := &handler{events: []string{"issues"}}
	in, err := New(&inbox{}, secret, clock{}, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Deliver(context.Background(), loop.Delivery{ID: "d", Event: "issues", Payload: labeled("a")}); err != nil || len(h.got) != 1 {
		t.Errorf("%v, %v", err, h.got)
	}
	h.err = errors.New("GitHub is down")
	if err := in.Deliver(context.Background(), loop.Delivery{ID: "d", Event: "issues"}); !errors.Is(err, h.err) {
		t.Errorf("error %v", err)
	}
}

func TestAttack90IntakeHidesItsSecret(t *testing.T) {
	in := newIntake(t, &inbox{})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, in); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%d", []byte(secret))[1:20]) {
			t.Errorf("%s: %s", verb, text)
		}
	}
}

func FuzzDedupeKey(f *testing.F) {
	f.Add("issues", labeled("a"))
	f.Add("check_run", []byte(`{"check_run":null}`))
	f.Fuzz(func(t *testing.T, event string, payload []byte) {
		key, fits := dedupeKey(event, payload)
		if len(key) > maxKey || !fits && key != "" {
			t.Errorf("key %q, fits %v", key, fits)
		}
		if again, _ := dedupeKey(event, payload); again != key {
			t.Errorf("%q, then %q", key, again)
		}
	})
}

// TestForm: a webhook whose content type is form is a delivery like any other; its signature is that of
// the raw body.
func TestForm(t *testing.T) {
	form := func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	box := &inbox{}
	in := newIntake(t, box)
	body := []byte(url.Values{"payload": {string(labeled("autocode"))}}.Encode())
	if got := post(in, "issues", "d1", body, form); got.StatusCode != http.StatusAccepted {
		t.Fatalf("answered with %d", got.StatusCode)
	}
	if len(box.kept) != 1 || !bytes.Equal(box.kept[0].Payload, labeled("autocode")) {
		t.Errorf("stored %+v", box.kept)
	}
	refused(t, &inbox{}, post(newIntake(t, &inbox{}), "issues", "d2", body, func(r *http.Request) {
		form(r)
		r.Header.Set("X-Hub-Signature-256", signature(labeled("autocode"))) // of what is in it
	}), http.StatusUnauthorized)
	for name, text := range map[string]string{"no payload": "a=b", "two": "payload=%7B%7D&payload=%7B%7D", "no JSON": "payload=x", "no form": "%zz"} {
		t.Run(name, func(t *testing.T) {
			box := &inbox{}
			refused(t, box, post(newIntake(t, box), "issues", "d3", []byte(text), form), http.StatusBadRequest)
		})
	}
}
