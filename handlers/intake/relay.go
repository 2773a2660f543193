package intake

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/seed-7a986423/autocode/loop"
)

// Relay reads webhooks from a relay for servers that GitHub cannot reach: server-sent events in smee's
// form, each with the headers and the body of one delivery. It believes the relay nothing: what it
// reads goes the way of every webhook, signature first.
type Relay struct {
	URL string
	// To takes the deliveries: an Intake.
	To     http.Handler
	Clock  loop.Clock
	Client *http.Client
}

// Bounds of the connection to a relay.
const (
	firstReconnect = time.Second
	lastReconnect  = time.Minute
	// relaySilence is how long a relay may say nothing, not even its sign of life, which smee gives
	// every 30 seconds.
	relaySilence = 2 * time.Minute
	// maxEvent bounds one event: a body of GitHub's largest size, escaped, with its headers.
	maxEvent = 2 * maxBody
)

// Run reads until the context ends, and connects again whenever the connection breaks.
func (r *Relay) Run(ctx context.Context) error {
	log := zerolog.Ctx(ctx)
	delay := firstReconnect
	for {
		heard, err := r.read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if heard {
			delay = firstReconnect
		}
		log.Warn().Err(err).Dur("again_in", delay).Msg("the webhook relay's connection ended")
		select {
		case <-ctx.Done():
			return nil
		case <-r.Clock.After(delay + rand.N(delay)):
		}
		delay = min(delay*2, lastReconnect)
	}
}

// errSilence ends a connection that is dead without having been closed.
var errSilence = errors.New("the relay said nothing for too long")

// read takes events from one connection; heard says whether there was any.
func (r *Relay) read(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return false, fmt.Errorf("the relay's address: %w", err)
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := r.Client.Do(request)
	if err != nil {
		return false, fmt.Errorf("connect to the relay: %w", err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		return false, fmt.Errorf("the relay answers %s, %q: is that the address of a channel?", response.Status, kind)
	}
	alive := make(chan struct{}, 1)
	go r.watch(ctx, alive, cancel)
	lines := bufio.NewReaderSize(response.Body, 64<<10)
	var event relayEvent
	for {
		line, err := readLine(lines, maxEvent)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return heard, err
		}
		heard = true
		select {
		case alive <- struct{}{}:
		default:
		}
		if len(line) > 0 {
			if err := event.add(line); err != nil {
				return heard, err
			}
			continue
		}
		if len(event.data) > 0 && (event.name == "" || event.name == "message") {
			r.deliver(ctx, event.data)
		}
		event = relayEvent{}
	}
}

// watch ends a connection on which nothing comes any more.
func (r *Relay) watch(ctx context.Context, alive <-chan struct{}, end context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-alive:
		case <-r.Clock.After(relaySilence):
			end(errSilence)
			return
		}
	}
}

// readLine reads one line without its end.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most {
			return nil, fmt.Errorf("an event of over %d bytes", most)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, errors.New("the relay closed the connection")
		default:
			return nil, err
		}
	}
}

// relayEvent is a server-sent event so far.
type relayEvent struct {
	name string
	data []byte
}

// add takes one field of the event.
func (e *relayEvent) add(line []byte) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		if len(e.data)+len(value) > maxEvent {
			return fmt.Errorf("an event of over %d bytes", maxEvent)
		}
		if len(e.data) > 0 {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
	return nil
}

// deliver hands one relayed delivery to the intake, as GitHub would have.
func (r *Relay) deliver(ctx context.Context, data []byte) {
	log := zerolog.Ctx(ctx)
	request, err := relayed(ctx, data)
	if err != nil {
		log.Warn().Err(err).Msg("the relay sent something that is no webhook")
		return
	}
	answer := httptest.NewRecorder()
	r.To.ServeHTTP(answer, request)
	level := log.Debug()
	if answer.Code >= http.StatusBadRequest {
		level = log.Warn()
	}
	level.Int("status", answer.Code).Str("delivery", request.Header.Get("X-GitHub-Delivery")).Msg("relayed: " + strings.TrimSpace(answer.Body.String()))
}

// relayed builds the request of a delivery. The body is taken byte by byte as the relay wrote it: it
// has decoded GitHub's JSON and written it anew, and the signature holds where that made no difference.
func relayed(ctx context.Context, data []byte) (*http.Request, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("decode the event: %w", err)
	}
	body := []byte(fields["body"])
	if len(body) == 0 {
		return nil, errors.New("the event has no body")
	}
	var text string
	if json.Unmarshal(body, &text) == nil {
		body = []byte(text) // a relay that does not decode
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"X-GitHub-Event", "X-GitHub-Delivery", "X-Hub-Signature-256", "Content-Type"} {
		var value string
		if raw, there := fields[strings.ToLower(name)]; there && json.Unmarshal(raw, &value) == nil {
			request.Header.Set(name, value)
		}
	}
	return request, nil
}
