package githubtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// deliveryTimeout is how long GitHub waits for an answer to a webhook.
	deliveryTimeout = 10 * time.Second
	// maxHookAnswer is how much of the receiver's answer is kept.
	maxHookAnswer = 64 << 10
)

// Delivery is one webhook sent, or about to be.
type Delivery struct {
	// ID counts attempts; a redelivery has a new one and the old GUID.
	ID     int64
	GUID   string
	Event  string
	Action string
	// Payload is the body as it is signed.
	Payload    json.RawMessage
	Redelivery bool
	// Done says that the attempt is over; Status is the receiver's, 0 where it could not be reached.
	Done   bool
	Status int
	Answer string
	Err    string
	At     time.Time
	// Took is how long the receiver needed.
	Took time.Duration

	headers      http.Header
	request      http.Header
	installation int64
	repository   int64
}

// dispatcher sends deliveries one after the other.
type dispatcher struct {
	client *http.Client
	note   func()
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu         sync.Mutex
	more       *sync.Cond
	url        string
	secret     []byte
	deliveries []*Delivery
	next       int
	held       bool
	closed     bool
}

func newDispatcher(note func()) *dispatcher {
	ctx, cancel := context.WithCancel(context.Background())
	d := &dispatcher{client: &http.Client{Timeout: deliveryTimeout}, note: note, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	d.more = sync.NewCond(&d.mu)
	go d.loop()
	return d
}

// stop ends the delivery, the one under way included.
func (d *dispatcher) stop() {
	d.cancel()
	d.mu.Lock()
	d.closed = true
	d.more.Broadcast()
	d.mu.Unlock()
	<-d.done
}

// add queues a delivery; without a webhook address nothing is sent or kept.
func (d *dispatcher) add(v *Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.url == "" {
		return
	}
	d.deliveries = append(d.deliveries, v)
	d.more.Signal()
}

func (d *dispatcher) loop() {
	defer close(d.done)
	for {
		d.mu.Lock()
		for !d.closed && (d.held || d.next >= len(d.deliveries)) {
			d.more.Wait()
		}
		if d.closed {
			d.mu.Unlock()
			return
		}
		v, url, secret := d.deliveries[d.next], d.url, d.secret
		d.next++
		d.mu.Unlock()
		d.send(v, url, secret)
		d.note()
	}
}

// sign makes a signature header's value.
func sign(algorithm string, make func() hash.Hash, secret, body []byte) string {
	mac := hmac.New(make, secret)
	mac.Write(body)
	return algorithm + "=" + hex.EncodeToString(mac.Sum(nil))
}

// send posts one delivery and notes the answer.
func (d *dispatcher) send(v *Delivery, url string, secret []byte) {
	start := time.Now()
	status, answer, headers, err := d.post(v, url, secret)
	d.mu.Lock()
	defer d.mu.Unlock()
	v.Done, v.Status, v.Answer, v.headers, v.Took = true, status, answer, headers, time.Since(start)
	if err != nil {
		v.Err = err.Error()
	}
}

func (d *dispatcher) post(v *Delivery, url string, secret []byte) (int, string, http.Header, error) {
	req, err := http.NewRequestWithContext(d.ctx, http.MethodPost, url, bytes.NewReader(v.Payload))
	if err != nil {
		return 0, "", nil, fmt.Errorf("make the webhook request: %w", err)
	}
	req.Header = v.request.Clone()
	if len(secret) > 0 {
		req.Header.Set("X-Hub-Signature", sign("sha1", sha1.New, secret, v.Payload))
		req.Header.Set("X-Hub-Signature-256", sign("sha256", sha256.New, secret, v.Payload))
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, "", nil, fmt.Errorf("deliver the webhook: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxHookAnswer))
	return resp.StatusCode, string(answer), resp.Header, err
}

// newGUID makes a delivery's id, a random UUID.
func newGUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, by its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// SetWebhook says where the App's webhooks go and what signs them. Events before that are lost, as
// they are for an App without a webhook.
func (s *Server) SetWebhook(url, secret string) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.url, s.hooks.secret = url, []byte(secret)
}

// HoldWebhooks keeps deliveries back until the returned function is called.
func (s *Server) HoldWebhooks() (release func()) {
	set := func(held bool) {
		s.hooks.mu.Lock()
		defer s.hooks.mu.Unlock()
		s.hooks.held = held
		s.hooks.more.Broadcast()
	}
	set(true)
	return func() { set(false) }
}

// Deliveries returns what was sent or waits to be, in order.
func (s *Server) Deliveries() []Delivery {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	out := make([]Delivery, 0, len(s.hooks.deliveries))
	for _, v := range s.hooks.deliveries {
		out = append(out, *v)
	}
	return out
}

// WaitDeliveries waits until every delivery queued so far is over.
func (s *Server) WaitDeliveries(ctx context.Context) error {
	return s.Wait(ctx, func() bool {
		return !slices.ContainsFunc(s.Deliveries(), func(v Delivery) bool { return !v.Done })
	})
}

// Redeliver sends a delivery again, with the same GUID and body.
func (s *Server) Redeliver(id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redeliver(id)
}

func (s *Server) redeliver(id int64) error {
	old := s.hooks.find(id)
	if old == nil {
		return fmt.Errorf("redeliver %d: there is no such delivery", id)
	}
	v := *old
	v.ID, v.Redelivery, v.At = s.nextID(), true, s.clock()
	v.Done, v.Status, v.Answer, v.Err, v.headers = false, 0, "", "", nil
	s.hooks.add(&v)
	return nil
}

func (d *dispatcher) find(id int64) *Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.deliveries {
		if v.ID == id {
			found := *v
			return &found
		}
	}
	return nil
}

// eventPermission is what an App needs for an event to reach it; others need metadata only.
var eventPermission = map[string]string{
	"issues": issues, "issue_comment": issues, "label": issues, "pull_request": pulls, "pull_request_review": pulls,
	"pull_request_review_comment": pulls, "check_run": checks, "check_suite": checks, "push": contents, "create": contents,
	"delete": contents, "status": statuses,
}

// wanted says whether an event reaches the App: it subscribes and has the permission. What an App
// does not subscribe to, but gets always, is about its own check runs and installations.
func (s *Server) wanted(event, action string, i *installation, ownCheck bool) bool {
	switch event {
	case "installation", "installation_repositories":
		return true
	}
	if !i.Suspended.IsZero() {
		return false
	}
	need := eventPermission[event]
	granted := need == "" || levels[i.Perms[need]] >= read || event == "issue_comment" && levels[i.Perms[pulls]] >= read
	if !granted {
		return false
	}
	if event == "check_run" || event == "check_suite" {
		switch action {
		case "requested", "rerequested", "requested_action":
			return ownCheck && levels[i.Perms[checks]] >= write
		}
	}
	return slices.Contains(s.app.Events, event)
}

// emit sends a repository's event to the App, if it is installed there.
func (s *Server) emit(r *repository, by actor, event, action string, payload obj) {
	inst := s.installationOf(r)
	if inst == nil || !s.wanted(event, action, inst, isOurs(payload, s.app)) {
		return
	}
	repo := s.jsonRepo(r)
	if event == "push" {
		// The one event whose repository carries numbers for times, and a stargazers count twice.
		repo["created_at"], repo["pushed_at"] = r.CreatedAt.Unix(), r.PushedAt.Unix()
		repo["stargazers"], repo["master_branch"] = 0, r.DefaultBranch
		if owner, isObj := repo["owner"].(obj); isObj {
			owner["name"], owner["email"] = r.Owner.Login, nil
		}
	}
	payload["repository"] = repo
	if r.Owner.Type == "Organization" {
		payload["organization"] = s.jsonOrg(r.Owner)
	}
	payload["installation"] = obj{"id": inst.ID, "node_id": inst.NodeID}
	s.deliver(inst, by, event, action, payload, r.ID)
}

func isOurs(payload obj, ours *app) bool {
	for _, key := range []string{"check_run", "check_suite"} {
		if o, isObj := payload[key].(obj); isObj {
			a, _ := o["app"].(obj)
			return a["id"] == ours.ID
		}
	}
	return false
}

func (s *Server) jsonOrg(u *user) obj {
	api := s.V3URL() + "/orgs/" + u.Login
	return obj{
		"login": u.Login, "id": u.ID, "node_id": u.NodeID, "url": api, "repos_url": api + "/repos", "events_url": api + "/events",
		"hooks_url": api + "/hooks", "issues_url": api + "/issues", "members_url": api + "/members{/member}",
		"public_members_url": api + "/public_members{/member}", "avatar_url": s.base + "/avatars/" + u.Login, "description": "",
	}
}

// emitInstallation sends an event about the installation itself.
func (s *Server) emitInstallation(i *installation, by actor, event, action string, payload obj) {
	payload["installation"] = s.jsonInstallation(i)
	s.deliver(i, by, event, action, payload, 0)
}

// deliver signs nothing yet: the secret of the moment of sending counts.
func (s *Server) deliver(i *installation, by actor, event, action string, payload obj, repo int64) {
	if action != "" {
		payload["action"] = action
	}
	payload["sender"] = s.jsonUser(by.user)
	if by.user == nil || by.user.deleted {
		payload["sender"] = s.jsonUser(s.userNamed("ghost"))
	}
	body, err := json.Marshal(payload)
	if err != nil {
		panic(fmt.Sprintf("githubtest: payload of %s cannot be encoded: %v", event, err)) // a bug of this package
	}
	guid := newGUID()
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "*/*")
	h.Set("User-Agent", "GitHub-Hookshot/githubtest")
	h.Set("X-GitHub-Event", event)
	h.Set("X-GitHub-Delivery", guid)
	h.Set("X-GitHub-Hook-ID", strconv.FormatInt(s.app.ID, 10))
	h.Set("X-GitHub-Hook-Installation-Target-ID", strconv.FormatInt(s.app.ID, 10))
	h.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	h.Set("X-GitHub-Enterprise-Host", s.base[len("http://"):])
	h.Set("X-GitHub-Enterprise-Version", "3.19.0")
	s.hooks.add(&Delivery{
		ID: s.nextID(), GUID: guid, Event: event, Action: action, Payload: body, At: s.clock(), request: h,
		installation: i.ID, repository: repo,
	})
}

// jsonDelivery is the App's view of one delivery.
func (s *Server) jsonDelivery(v *Delivery, full bool) obj {
	status := "OK"
	if v.Status >= http.StatusBadRequest || v.Status == 0 {
		status = "Invalid HTTP Response: " + strconv.Itoa(v.Status)
	}
	var repo any
	if v.repository != 0 {
		repo = v.repository
	}
	out := obj{
		"id": v.ID, "guid": v.GUID, "delivered_at": stamp(v.At), "redelivery": v.Redelivery, "duration": v.Took.Seconds(), "status": status,
		"status_code": v.Status, "event": v.Event, "action": orNil(v.Action), "installation_id": v.installation, "repository_id": repo,
	}
	if full {
		out["url"] = ""
		out["request"] = obj{"headers": flat(v.request), "payload": v.Payload}
		out["response"] = obj{"headers": flat(v.headers), "payload": v.Answer}
	}
	return out
}

// flat shows headers as GitHub does, with one value each.
func flat(h http.Header) map[string]string {
	out := map[string]string{}
	for k := range h {
		out[k] = h.Get(k)
	}
	return out
}

func (c *call) listDeliveries() (reply, error) {
	all := c.Deliveries()
	slices.Reverse(all)
	return ok(mapAll(page(c, all), func(v Delivery) obj { return c.jsonDelivery(&v, false) }))
}

func (c *call) deliveryByPath() (*Delivery, error) {
	id, err := c.number("id")
	if err != nil {
		return nil, err
	}
	if v := c.hooks.find(id); v != nil {
		return v, nil
	}
	return nil, notFound()
}

func (c *call) getDelivery() (reply, error) {
	v, err := c.deliveryByPath()
	if err != nil {
		return reply{}, err
	}
	return ok(c.jsonDelivery(v, true))
}

func (c *call) redeliverRoute() (reply, error) {
	v, err := c.deliveryByPath()
	if err != nil {
		return reply{}, err
	}
	if err := c.redeliver(v.ID); err != nil {
		return reply{}, err
	}
	return reply{http.StatusAccepted, obj{}}, nil
}

func (c *call) hookConfig() (reply, error) {
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	return ok(obj{"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": c.hooks.url})
}

func (c *call) updateHookConfig() (reply, error) {
	var in struct{ URL, Secret *string }
	if err := c.decode(&in); err != nil {
		return reply{}, err
	}
	c.hooks.mu.Lock()
	if in.URL != nil {
		c.hooks.url = *in.URL
	}
	if in.Secret != nil {
		c.hooks.secret = []byte(*in.Secret)
	}
	c.hooks.mu.Unlock()
	return c.hookConfig()
}
