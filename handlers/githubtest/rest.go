package githubtest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxRequestBody is far above what any modelled route takes; it only bounds memory.
	maxRequestBody = 64 << 20
	// defaultPerPage and maxPerPage are GitHub's page sizes.
	defaultPerPage = 30
	maxPerPage     = 100
	docsURL        = "https://docs.github.com/rest"
)

// obj is a JSON object under construction.
type obj = map[string]any

// reply is what a handler answers; a nil body means none.
type reply struct {
	status int
	body   any
}

func ok(body any) (reply, error)      { return reply{http.StatusOK, body}, nil }
func created(body any) (reply, error) { return reply{http.StatusCreated, body}, nil }
func noContent() (reply, error)       { return reply{status: http.StatusNoContent}, nil }

// apiError is an error that GitHub would answer with.
type apiError struct {
	status  int
	message string
	// errors are the entries of a 422, objects or strings.
	errors []any
	// docs is the documentation's address where clients look at it; empty is the general one.
	docs string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s", e.status, e.message) }

func fail(status int, format string, args ...any) error {
	return &apiError{status: status, message: fmt.Sprintf(format, args...)}
}

func notFound() error { return fail(http.StatusNotFound, "Not Found") }

// invalid is a 422 about one field of a resource.
func invalid(resource, field, code string) error {
	return unprocessable("Validation Failed", obj{"resource": resource, "field": field, "code": code})
}

// invalidCustom is a 422 with a sentence of its own.
func invalidCustom(resource, field, message string) error {
	e := obj{"resource": resource, "code": "custom", "message": message}
	if field != "" {
		e["field"] = field
	}
	return unprocessable("Validation Failed", e)
}

// unprocessable is a 422 with its entries.
func unprocessable(message string, entries ...any) error {
	return &apiError{status: http.StatusUnprocessableEntity, message: message, errors: entries}
}

// call is one REST request while its handler runs, with the server's lock held.
type call struct {
	*Server
	r      *http.Request
	who    *principal
	repo   *repository
	body   []byte
	header http.Header
}

// decode reads the JSON body into v; an empty body leaves v as it is.
func (c *call) decode(v any) error {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fail(http.StatusUnprocessableEntity, "Invalid request.\n\nFor '%s', %s is not a %s.", kind.Field, kind.Value, kind.Type)
		}
		return fail(http.StatusBadRequest, "Problems parsing JSON")
	}
	return nil
}

// number reads a numeric path value; anything else does not exist.
func (c *call) number(name string) (int64, error) {
	n, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil {
		return 0, notFound()
	}
	return n, nil
}

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// page cuts one page out of the items and sets the Link header as GitHub does.
func page[T any](c *call, items []T) []T {
	per := defaultPerPage
	if n, err := strconv.Atoi(c.query("per_page")); err == nil && n > 0 {
		per = min(n, maxPerPage)
	}
	at := 1
	if n, err := strconv.Atoi(c.query("page")); err == nil && n > 0 {
		at = n
	}
	last := max(1, (len(items)+per-1)/per)
	var links []string
	add := func(rel string, n int) {
		q := c.r.URL.Query()
		q.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.base+"/api/v3", shown.Replace(c.r.URL.EscapedPath()), q.Encode(), rel))
	}
	if at > 1 {
		add("prev", min(at-1, last))
	}
	if at < last {
		add("next", at+1)
		add("last", last)
	}
	if at > 1 {
		add("first", 1)
	}
	if len(links) > 0 {
		c.header.Set("Link", strings.Join(links, ", "))
	}
	from := min((at-1)*per, len(items))
	return items[from:min(from+per, len(items))]
}

// mapAll renders every item; the result is never nil, so that JSON shows [] and not null.
func mapAll[T any](items []T, render func(T) obj) []obj {
	out := make([]obj, 0, len(items))
	for _, item := range items {
		out = append(out, render(item))
	}
	return out
}

// handle registers a route with what it needs of its caller.
func (s *Server) handle(pattern string, n need, fn func(*call) (reply, error)) {
	s.patterns = append(s.patterns, pattern)
	s.rest.HandleFunc(hidden.Replace(pattern), func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
		if err != nil {
			s.finish(w, r, pattern, nil, reply{}, nil, fail(http.StatusRequestEntityTooLarge, "body cannot be read: %v", err))
			return
		}
		fault := s.takeFault(pattern, r)
		if fault.before(r) {
			s.record(r, pattern, nil, body, 0)
			hangUp()
		}
		if fault.status() != 0 {
			s.finishFault(w, r, pattern, body, fault)
			return
		}
		c := &call{Server: s, r: r, body: body, header: http.Header{}}
		rep, err := s.run(c, n, fn)
		if fault.dropAfter() {
			s.record(r, pattern, c.who, body, 0)
			hangUp()
		}
		s.finish(w, r, pattern, c, rep, body, err)
	})
}

// Routes returns the REST routes that are implemented, as in [Request.Route].
func (s *Server) Routes() []string { return slices.Clone(s.patterns) }

// run authenticates, authorises and executes with the lock held.
func (s *Server) run(c *call, n need, fn func(*call) (reply, error)) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.r.UserAgent() == "" {
		return reply{}, fail(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
	}
	who, err := s.authenticate(c.r)
	if err != nil {
		return reply{}, err
	}
	c.who = who
	if err := s.spendRate(c); err != nil {
		return reply{}, err
	}
	if err := s.authorise(c, n); err != nil {
		return reply{}, err
	}
	return fn(c)
}

// finish writes the answer with GitHub's headers, ETag and error shape.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, pattern string, c *call, rep reply, body []byte, err error) {
	var who *principal
	h := w.Header()
	if c != nil {
		who = c.who
		for k, v := range c.header {
			h[k] = v
		}
	}
	var failed *apiError
	switch {
	case errors.As(err, &failed):
		e := obj{"message": failed.message, "documentation_url": cmp.Or(failed.docs, docsURL), "status": strconv.Itoa(failed.status)}
		if len(failed.errors) > 0 {
			e["errors"] = failed.errors
		}
		rep = reply{failed.status, e}
	case err != nil:
		rep = reply{http.StatusInternalServerError, obj{"message": err.Error(), "documentation_url": docsURL, "status": "500"}}
	}
	var out []byte
	if rep.body != nil {
		if raw, isRaw := rep.body.([]byte); isRaw {
			out = raw
		} else if out, err = json.Marshal(rep.body); err != nil {
			rep.status, out = http.StatusInternalServerError, []byte(`{"message":"answer cannot be encoded"}`)
		}
		if h.Get("Content-Type") == "" {
			h.Set("Content-Type", "application/json; charset=utf-8")
		}
	}
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("X-GitHub-Request-Id", fmt.Sprintf("%X", sha256.Sum256([]byte(r.URL.String())))[:16])
	h.Set("Cache-Control", "private, max-age=60, s-maxage=60")
	if rep.status == http.StatusOK && r.Method == http.MethodGet {
		sum := sha256.Sum256(append([]byte(h.Get("Link")), out...))
		tag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		h.Set("ETag", tag)
		if etagMatches(r.Header.Get("If-None-Match"), tag) {
			rep.status, out = http.StatusNotModified, nil
			h.Del("Content-Type")
			s.refundRate(who)
		}
	}
	s.rateHeaders(h, who)
	s.record(r, pattern, who, body, rep.status)
	w.WriteHeader(rep.status)
	_, _ = w.Write(out) // the client may be gone
}

func etagMatches(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		t = strings.TrimSpace(t)
		if t == "*" || t != "" && strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// refPath finds the routes whose ref may contain slashes, which clients send unescaped.
var refPath = regexp.MustCompile(`^(/repos/[^/]+/[^/]+/(?:commits|branches)/)(.+?)(/(?:check-runs|check-suites|status|statuses|pulls|comments|protection))?$`)

// collectionPath finds /issues/comments and the like, which net/http's patterns cannot tell from
// /issues/{number}; hidden and shown translate between GitHub's paths and the mux's.
var (
	collectionPath = regexp.MustCompile(`^(/repos/[^/]+/[^/]+/(?:issues|pulls))/(comments|events)(/|$)`)
	hidden         = strings.NewReplacer("/issues/comments", "/issues:comments", "/issues/events", "/issues:events", "/pulls/comments", "/pulls:comments")
	shown          = strings.NewReplacer("/issues:comments", "/issues/comments", "/issues:events", "/issues/events", "/pulls:comments", "/pulls/comments")
)

// muxPath is a request's escaped path in the form in which the routes are registered.
func muxPath(escaped string) string {
	if m := refPath.FindStringSubmatch(escaped); m != nil && strings.Contains(m[2], "/") {
		return m[1] + strings.ReplaceAll(m[2], "/", "%2F") + m[3]
	}
	return collectionPath.ReplaceAllString(escaped, "$1:$2$3")
}

// serveREST routes a request, by way of a redirect where the repository has been renamed.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request) {
	if to := s.redirect(r); to != "" {
		status := http.StatusMovedPermanently
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			status = http.StatusTemporaryRedirect // keeps method and body
		}
		w.Header().Set("Location", to)
		s.finish(w, r, r.Method+" (renamed)", nil, reply{status, obj{"message": http.StatusText(status), "url": to, "documentation_url": docsURL}}, nil, nil)
		return
	}
	r = s.byName(r)
	if raw := muxPath(r.URL.EscapedPath()); raw != r.URL.EscapedPath() {
		r = withPath(r, raw)
	}
	if _, pattern := s.rest.Handler(r); pattern == "" {
		s.notImplemented(w, r, r.Method+" "+shown.Replace(r.URL.Path))
		return
	}
	s.rest.ServeHTTP(w, r)
}

// redirect is the address by id for a request that uses a former name, or "".
func (s *Server) redirect(r *http.Request) string {
	part := strings.SplitN(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/", 4)
	if len(part) < 3 || part[0] != "repos" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, moved := s.moved[repoKey(part[1], part[2])]
	if !moved || s.repos[repoKey(part[1], part[2])] != nil {
		return ""
	}
	to := fmt.Sprintf("%s/repositories/%d", s.V3URL(), id)
	if len(part) == 4 {
		to += "/" + part[3]
	}
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	return to
}

// idPath finds the addresses by id, which GitHub has for everything below a repository.
var idPath = regexp.MustCompile(`^/repositories/(\d+)(/.*)?$`)

// byName turns an address by id into the one by name.
func (s *Server) byName(r *http.Request) *http.Request {
	m := idPath.FindStringSubmatch(r.URL.EscapedPath())
	if m == nil {
		return r
	}
	id, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return r
	}
	s.mu.Lock()
	repo := s.repoByID(id)
	s.mu.Unlock()
	if repo == nil {
		return withPath(r, "/repos/0/0") // what is not found must not tell why
	}
	return withPath(r, "/repos/"+repo.full()+m[2])
}

// withPath is a request with another escaped path.
func withPath(r *http.Request, escaped string) *http.Request {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return r
	}
	u := *r.URL
	u.Path, u.RawPath = path, escaped
	r = r.WithContext(r.Context()) // a shallow copy, whose address may be changed
	r.URL = &u
	return r
}

// notImplemented answers 501 and remembers what was asked.
func (s *Server) notImplemented(w http.ResponseWriter, r *http.Request, what string) {
	s.mu.Lock()
	s.unimplemented = append(s.unimplemented, what)
	s.mu.Unlock()
	s.finish(w, r, what, nil, reply{}, nil, fail(http.StatusNotImplemented, "the stand-in GitHub does not implement %s", what))
}
