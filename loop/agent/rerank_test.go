package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// rankModel answers with one text and remembers what it was asked.
type rankModel struct {
	answer string
	err    error
	asked  []loop.ModelRequest
}

func (m *rankModel) Complete(_ context.Context, r loop.ModelRequest) (loop.ModelReply, error) {
	m.asked = append(m.asked, r)
	return loop.ModelReply{JSON: json.RawMessage(m.answer)}, m.err
}

func locatedFiles(n int) []loop.Located {
	var list []loop.Located
	for i := range n {
		list = append(list, loop.Located{Path: fmt.Sprintf("f%d", i+1), Score: float64(n - i)})
	}
	return list
}

func TestRerank(t *testing.T) {
	cases := []struct {
		name, answer string
		err          error
		want         string
	}{
		{"the named first, the rest as it was", `{"files":[3,2]}`, nil, "f3 f2 f1 f4"},
		{"numbers as text", `{"files":["4"]}`, nil, "f4 f1 f2 f3"},
		{"not in the list, twice, no numbers", `{"files":[9,0,-1,2,2,"f1",null,1.5]}`, nil, "f2 f1 f3 f4"},
		{"none", `{"files":[]}`, nil, "f1 f2 f3 f4"},
		{"of another shape", `{"files":{"a":1}}`, nil, "f1 f2 f3 f4"},
		{"no JSON", `the third one`, nil, "f1 f2 f3 f4"},
		{"empty", ``, nil, "f1 f2 f3 f4"},
		{"the model fails", `{"files":[3]}`, errors.New("gone"), "f1 f2 f3 f4"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := &rankModel{answer: c.answer, err: c.err}
			got, err := Rerank(t.Context(), m, "the issue", locatedFiles(4))
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			var paths []string
			for i, l := range got {
				if paths = append(paths, l.Path); l.Score != float64(4-i) {
					t.Errorf("scores do not fall: %+v", got)
				}
			}
			if strings.Join(paths, " ") != c.want {
				t.Errorf("got %v, want %s", paths, c.want)
			}
			if len(m.asked) != 1 {
				t.Errorf("%d calls, want one", len(m.asked))
			}
		})
	}
}

func TestRerankIsCheap(t *testing.T) {
	list := locatedFiles(80)
	for i := range list {
		list[i].Path = strings.Repeat("very/long/directory\n", 30) + list[i].Path
		list[i].Spans = []loop.Span{{Start: 1, End: 2, Symbol: strings.Repeat("Symbol", 100)}}
	}
	m := &rankModel{answer: `{}`}
	if _, err := Rerank(t.Context(), m, strings.Repeat("words of a long issue ", 50_000), list); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, message := range m.asked[0].Messages {
		size += len(message.Text)
	}
	if tokens := size / 3; tokens > 6_000 {
		t.Errorf("the call has about %d tokens", tokens)
	}
	if m.asked[0].Purpose != "rank" || strings.Contains(m.asked[0].Messages[1].Text, "\n51 ") {
		t.Errorf("purpose %s; more than %d files are shown", m.asked[0].Purpose, RerankFiles)
	}
	if _, err := Rerank(t.Context(), m, "x", locatedFiles(1)); err != nil || len(m.asked) != 1 {
		t.Errorf("a model was asked to order one file: %v", err)
	}
}
