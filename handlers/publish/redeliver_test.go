package publish

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
)

// TestRedeliver: what GitHub could not deliver is asked for again, once, oldest first; what arrived,
// or was refused, is not.
func TestRedeliver(t *testing.T) {
	w := newWorld(t)
	var mutex sync.Mutex
	status := http.StatusAccepted
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		got = append(got, r.Header.Get("X-GitHub-Delivery"))
		rw.WriteHeader(status)
	}))
	defer server.Close()
	answer := func(code int) {
		mutex.Lock()
		defer mutex.Unlock()
		status, got = code, nil
	}
	// send labels the issue anew and returns the ids of the deliveries, whatever became of them.
	send := func(label string) []string {
		t.Helper()
		before := len(w.Deliveries())
		w.must(w.As("mary").Label(testRepo, w.issue, label))
		w.must(w.WaitDeliveries(w.ctx))
		return idsOf(w.Deliveries()[before:])
	}
	w.SetWebhook(server.URL, "secret")
	send("arrived")
	answer(http.StatusUnauthorized)
	send("refused")
	answer(http.StatusBadGateway)
	missed := send("bad gateway")
	w.SetWebhook("http://127.0.0.1:1", "secret") // nobody listens
	missed = append(missed, send("down")...)

	w.SetWebhook(server.URL, "secret")
	answer(http.StatusAccepted)
	n, err := w.Clients.Redeliver(w.ctx)
	w.must(err)
	w.must(w.WaitDeliveries(w.ctx))
	mutex.Lock()
	if n != len(missed) || !slices.Equal(got, missed) {
		t.Errorf("%d asked for, %v arrived, want %v", n, got, missed)
	}
	mutex.Unlock()
	if n, err = w.Clients.Redeliver(w.ctx); n != 0 || err != nil {
		t.Errorf("the second time %d (%v)", n, err)
	}
	answer(http.StatusBadGateway)
	send("later")
	client, err := w.Clients.App()
	w.must(err)
	for age, want := range map[time.Duration]bool{time.Hour: true, -time.Hour: false} {
		if list, err := missedDeliveries(w.ctx, client, w.clock.Now().Add(-age)); err != nil || len(list) > 0 != want {
			t.Errorf("since %s: %v (%v)", age, list, err)
		}
	}
}

func idsOf(deliveries []githubtest.Delivery) (ids []string) {
	for _, d := range deliveries {
		ids = append(ids, d.GUID)
	}
	return ids
}
