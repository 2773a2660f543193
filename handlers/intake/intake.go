package intake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// Limits of a delivery.
const (
	// maxBody is GitHub's own limit for a payload (25 MB).
	maxBody = 25 << 20
	// maxDrained is how much of a larger body is thrown away, so that its sender hears why.
	maxDrained = 2 * maxBody
	// maxDepth bounds nesting of JSON; GitHub's deepest payloads have about ten levels.
	maxDepth = 64
	// maxHeader bounds the two headers that are stored.
	maxHeader = 128
	// bodyTimeout is how long a payload may take to arrive; GitHub itself gives up after ten seconds.
	bodyTimeout = 10 * time.Second
)

// Intake is the webhook endpoint and the dispatcher of stored deliveries.
type Intake struct {
	// BodyTimeout is how long a payload may take to arrive; New sets it to 10 s.
	BodyTimeout time.Duration

	inbox    loop.Inbox
	secret   []byte
	clock    loop.Clock
	handlers map[string]githubapp.EventHandler
	next     http.Handler
}

// New returns the endpoint. An empty secret is refused, since GitHub's libraries take it for
// "unsigned is fine".
func New(inbox loop.Inbox, secret string, clock loop.Clock, handlers ...githubapp.EventHandler) (*Intake, error) {
	if secret == "" {
		return nil, errors.New("the webhook secret is empty: anybody could send events; set GITHUB_APP_WEBHOOK_SECRET")
	}
	in := &Intake{BodyTimeout: bodyTimeout, inbox: inbox, secret: []byte(secret), clock: clock, handlers: map[string]githubapp.EventHandler{}}
	for _, h := range handlers {
		for _, event := range h.Handles() {
			in.handlers[event] = h
		}
	}
	in.next = githubapp.NewEventDispatcher(handlers, secret,
		githubapp.WithScheduler(in), githubapp.WithErrorCallback(onError), githubapp.WithResponseCallback(onResponse))
	return in, nil
}

// Format prints the endpoint without its secret, whatever the verb (security.md, case 90).
func (in *Intake) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{webhook endpoint, %d events}", len(in.handlers))
}

// ServeHTTP answers 202 once a delivery is stored, or was before; 401 without a valid signature,
// 413 when it is too large, 400 when it is no JSON object or lacks GitHub's headers.
func (in *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "GitHub sends webhooks by POST", http.StatusMethodNotAllowed)
		return
	}
	// Servers that cannot do it, in tests, have no slow clients either.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(in.BodyTimeout))
	if r.ContentLength > maxBody {
		tooLarge(w, r.Body)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		tooLarge(w, r.Body)
		return
	}
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.Header().Set("Connection", "close")
			http.Error(w, "the payload took too long to arrive", http.StatusRequestTimeout)
			return
		}
		http.Error(w, "the payload did not arrive whole", http.StatusBadRequest)
		return
	}
	if !in.signed(r.Header, body) {
		http.Error(w, "no valid X-Hub-Signature-256", http.StatusUnauthorized)
		return
	}
	raw := body
	if body, err = payloadOf(r.Header, raw); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if problem := checkPayload(r.Header, body); problem != "" {
		http.Error(w, problem, http.StatusBadRequest)
		return
	}
	// The dispatcher is given what was checked, as JSON whatever the content type, and takes the
	// SHA-256 signature only.
	inner := r.Clone(r.Context())
	inner.Header.Del("X-Hub-Signature")
	inner.Header.Set("Content-Type", "application/json")
	if len(raw) != len(body) { // out of a form: the dispatcher checks what it is given
		inner.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(in.mac(body)))
	}
	inner.Body = io.NopCloser(bytes.NewReader(body))
	inner.ContentLength = int64(len(body))
	in.next.ServeHTTP(w, inner)
}

// tooLarge answers 413. A connection that is closed while its client still sends takes the answer with
// it, hence some more of the body is read, and thrown away, before that.
func tooLarge(w http.ResponseWriter, rest io.Reader) {
	w.Header().Set("Connection", "close")
	http.Error(w, "the payload is larger than GitHub ever sends", http.StatusRequestEntityTooLarge)
	_ = http.NewResponseController(w).Flush()
	_, _ = io.Copy(io.Discard, io.LimitReader(rest, maxDrained))
}

// signed says whether exactly one SHA-256 signature is there and holds.
func (in *Intake) signed(header http.Header, body []byte) bool {
	signatures := header.Values("X-Hub-Signature-256")
	if len(signatures) != 1 {
		return false
	}
	digits, found := strings.CutPrefix(signatures[0], "sha256=")
	if !found {
		return false
	}
	given, err := hex.DecodeString(digits)
	if err != nil || len(given) != sha256.Size {
		return false
	}
	return hmac.Equal(given, in.mac(body))
}

// mac is the signature of a body under the secret.
func (in *Intake) mac(body []byte) []byte {
	mac := hmac.New(sha256.New, in.secret)
	mac.Write(body)
	return mac.Sum(nil)
}

// payloadOf returns the JSON of a signed body: the body itself, or, for webhooks whose content type is
// set to form, the parameter "payload" (GitHub's webhook reference, "content_type").
func payloadOf(header http.Header, body []byte) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["payload"]) != 1 {
		return nil, errors.New("the form has no parameter payload")
	}
	return []byte(form.Get("payload")), nil
}

// checkPayload returns what is wrong with a signed delivery, "" when nothing is.
func checkPayload(header http.Header, body []byte) string {
	for _, name := range []string{"X-GitHub-Event", "X-GitHub-Delivery"} {
		value := header.Get(name)
		if value == "" || len(header.Values(name)) != 1 || len(value) > maxHeader || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "the header " + name + " is missing or malformed"
		}
	}
	if !utf8.Valid(body) {
		return "the payload is not UTF-8"
	}
	if depth(body) > maxDepth {
		return fmt.Sprintf("the payload is nested deeper than %d levels", maxDepth)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil || object == nil {
		return "the payload is not a JSON object"
	}
	return ""
}

// depth is how deep the brackets of a JSON text nest, without decoding it.
func depth(body []byte) int {
	deepest, level := 0, 0
	inString, escaped := false, false
	for _, b := range body {
		switch {
		case escaped:
			escaped = false
		case inString && b == '\\':
			escaped = true
		case b == '"':
			inString = !inString
		case inString:
		case b == '{' || b == '[':
			level++
			deepest = max(deepest, level)
		case b == '}' || b == ']':
			level--
		}
	}
	return deepest
}

// Schedule implements githubapp.Scheduler: it stores the delivery with its job.
func (in *Intake) Schedule(ctx context.Context, d githubapp.Dispatch) error {
	key, fits := dedupeKey(d.EventType, d.Payload)
	if !fits {
		zerolog.Ctx(ctx).Warn().Str("event", d.EventType).Msg("the payload is not of the event that the header names; ignored")
		return errMismatch
	}
	_, err := in.inbox.Receive(ctx, loop.Delivery{
		ID: d.DeliveryID, Event: d.EventType, Payload: d.Payload, Received: in.clock.Now(), Key: key,
	})
	if err != nil {
		return fmt.Errorf("store delivery %s: %w", d.DeliveryID, err)
	}
	return nil
}

// errMismatch is answered with 400: the HMAC does not cover the event header (security.md, case 8).
var errMismatch = errors.New("the payload does not fit the event that the header names")

// Deliver calls the handler of a stored delivery. Events without a handler are done.
func (in *Intake) Deliver(ctx context.Context, d loop.Delivery) error {
	handler, known := in.handlers[d.Event]
	if !known {
		return nil
	}
	log := zerolog.Ctx(ctx).With().Str("delivery", d.ID).Str("event", d.Event).Logger()
	return handler.Handle(log.WithContext(ctx), d.Event, d.ID, d.Payload)
}

func onError(w http.ResponseWriter, r *http.Request, err error) {
	var invalid githubapp.ValidationError
	switch {
	case errors.Is(err, errMismatch), errors.As(err, &invalid):
		http.Error(w, "the delivery is malformed", http.StatusBadRequest)
	default:
		// GitHub shows the delivery as failed, and it can be redelivered.
		zerolog.Ctx(r.Context()).Error().Err(err).Msg("a delivery could not be stored")
		http.Error(w, "the delivery could not be stored; it may be redelivered", http.StatusServiceUnavailable)
	}
}

func onResponse(w http.ResponseWriter, _ *http.Request, _ string, _ bool) {
	w.WriteHeader(http.StatusAccepted)
}
