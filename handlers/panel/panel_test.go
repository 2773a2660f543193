package panel

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// fixed is a store with one run.
type fixed struct{ snapshot loop.Snapshot }

func (f fixed) Runs(context.Context, loop.RunFilter) ([]loop.RunInfo, error) {
	return []loop.RunInfo{{Task: f.snapshot.Task, Run: f.snapshot.Run, Phase: f.snapshot.Phase}}, nil
}

func (f fixed) Snapshot(_ context.Context, run string) (loop.Snapshot, error) {
	if run != f.snapshot.Run.ID {
		return loop.Snapshot{}, loop.ErrNotFound
	}
	return f.snapshot, nil
}

func (fixed) Ledger(context.Context, string) ([]loop.Usage, error)     { return nil, nil }
func (fixed) Artifacts(context.Context, string) ([]string, error)      { return nil, nil }
func (fixed) Artifact(context.Context, string, string) ([]byte, error) { return nil, loop.ErrNotFound }
func (fixed) Watch(context.Context, string) (<-chan struct{}, error)   { return nil, nil }

// page asks as a browser on this machine does.
func page(t *testing.T, s loop.Snapshot, method, path, remote string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, nil)
	r.RemoteAddr = remote
	w := httptest.NewRecorder()
	New(fixed{s}).ServeHTTP(w, r)
	return w
}

const here = "127.0.0.1:1234"

// TestRounds: a round of several candidates tells what each came to and why one was chosen, those in progress how far
// they are; a stage is called by its name.
func TestRounds(t *testing.T) {
	verdict := loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Pass: true, Tests: &loop.Tests{Passed: 2}}}}
	s := loop.Snapshot{
		Run:   loop.Run{ID: "r1", Number: 1},
		Task:  loop.Task{Repo: loop.Repo{Owner: "acme", Name: "shop"}, Issue: loop.Issue{Number: 7, Title: "It is <b>wrong</b>"}},
		Phase: loop.PhaseVerifying,
		Rounds: []loop.Round{{
			Number: 2, Candidate: 2, Choice: "1 of 2 candidates was green; number 2 was chosen because no other came to the verification", Verdict: &verdict,
			Candidates: []loop.Tried{{Number: 1, Outcome: "no candidate: it gave up"}, {Number: 2, Variation: loop.VariationLeast, RootCause: "the sum", Outcome: "green"}},
		}},
		Candidates: []loop.Candidate{
			{Number: 1, Measure: &loop.Measure{Failures: 3}}, {Number: 2, Same: 1}, {Number: 3, Made: loop.Round{RootCause: "the rate"}},
		},
	}
	w := page(t, s, http.MethodGet, "/runs/r1", here)
	body := w.Body.String()
	for _, want := range []string{
		"<td>2 (least) · chosen</td><td>the sum</td><td>green</td>", "<td>1</td><td></td><td>no candidate: it gave up</td>", "was chosen because",
		"In progress: 3 candidates", "red, 3 failures", "the same change as number 1", "to be verified: the rate",
		"<td>unit</td>", "It is &lt;b&gt;wrong&lt;/b&gt;",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
}

// TestWhoMaySee: this machine only, and nobody can change anything.
func TestWhoMaySee(t *testing.T) {
	s := loop.Snapshot{Run: loop.Run{ID: "r1", Number: 1}, Task: loop.Task{Issue: loop.Issue{Title: "It breaks"}}, Phase: loop.PhaseDone}
	for _, c := range []struct {
		name, method, path, remote string
		want                       int
	}{
		{"the list", http.MethodGet, "/", here, http.StatusOK},
		{"a run", http.MethodGet, "/runs/r1", here, http.StatusOK},
		{"no such run", http.MethodGet, "/runs/r2", here, http.StatusNotFound},
		{"no such page", http.MethodGet, "/else", here, http.StatusNotFound},
		{"from elsewhere", http.MethodGet, "/", "192.0.2.1:1234", http.StatusForbidden},
		{"writing to the list", http.MethodPost, "/", here, http.StatusMethodNotAllowed},
		{"deleting a run", http.MethodDelete, "/runs/r1", here, http.StatusMethodNotAllowed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := page(t, s, c.method, c.path, c.remote).Code; got != c.want {
				t.Errorf("%s %s from %s: %d, want %d", c.method, c.path, c.remote, got, c.want)
			}
		})
	}
}
