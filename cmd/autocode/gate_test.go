package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// gate stands before the scripted model, so that a test can make something happen while the model
// is being asked.
type gate struct {
	// url is the model's base URL through the gate.
	url   string
	asked atomic.Int64
	hook  atomic.Pointer[func(n int, r *http.Request)]
	end   atomic.Pointer[func()]
	close func()
}

// newGate opens a gate before the model of that base URL.
func newGate(t testing.TB, model string) *gate {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(model, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	// Requests are cancelled on purpose here, and the scripted model may be down: no word about it.
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The server notices that a client has gone only once it has read the body; hooks wait for that.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		n := int(g.asked.Add(1))
		if hook := g.hook.Load(); hook != nil {
			(*hook)(n, r)
		}
		proxy.ServeHTTP(w, r)
		if end := g.end.Load(); end != nil {
			(*end)()
		}
	}))
	g.url, g.close = server.URL+"/v1", func() {
		server.CloseClientConnections()
		server.Close()
	}
	t.Cleanup(g.close)
	return g
}

// before calls do with the number of each question, from 1, before the model hears it.
func (g *gate) before(do func(n int, r *http.Request)) { g.hook.Store(&do) }

// at calls do before the question of that number.
func (g *gate) at(n int, do func(r *http.Request)) {
	g.before(func(asked int, r *http.Request) {
		if asked == n {
			do(r)
		}
	})
}

// around calls begin before each question and end after its answer.
func (g *gate) around(begin, end func()) {
	g.before(func(int, *http.Request) { begin() })
	g.end.Store(&end)
}
