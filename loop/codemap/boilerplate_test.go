package codemap

import (
	"fmt"
	"strings"
	"testing"
)

func TestFormsSayNothing(t *testing.T) {
	files := map[string]string{
		".github/ISSUE_TEMPLATE/bug.yml":   "body:\n  - type: textarea\n    attributes:\n      label: Which zebra do you ride?\n      description: \"Tell the stable master about saddles.\"\n",
		".github/PULL_REQUEST_TEMPLATE.md": "## Checklist\n- [ ] I have run the zebra saddle linter\n",
		"stable/zebra.go":                  "package stable\n\n// Zebra has saddles; a linter checks the saddle of a zebra that you ride.\nfunc Zebra(saddle, linter, ride, master int) {}\n",
		"stable/hay.go":                    "package stable\n\n// Hay is fed in the morning.\nfunc Hay(morning int) {}\n",
	}
	base := newTree(files)
	for i := range repeatedLine {
		base = base.with(fmt.Sprint("c", i), fmt.Sprint("Change ", i), map[string]string{"stable/hay.go": files["stable/hay.go"]})
		base.history[0].Body = "Zebra saddles were **oiled** before this release\nfoo"
	}
	cases := []struct{ name, query, want string }{
		{"headings of a YAML form", "Hay is late\n### Which zebra do you ride?\n\nTell the stable master about saddles.\n", "stable/hay.go"},
		{"a ticked box", "Hay is late\n- [x] I have run the zebra saddle linter", "stable/hay.go"},
		{"a line of many messages", "Hay is late\n\nZebra saddles were oiled before this release.", "stable/hay.go"},
		{"the title stays, whatever it is", "Zebra saddles were oiled before this release", "stable/zebra.go"},
		{"a line of the author's own", "Food is late\n\nThe saddle linter of the zebra that I ride", "stable/zebra.go"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := locate(t, base, c.query, 1); len(got) != 1 || got[0] != c.want {
				t.Errorf("got %q, want %s", got, c.want)
			}
		})
	}
	t.Run("short lines are kept", func(t *testing.T) {
		_, v, err := New(Config{}).open(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.withoutForm("title\nfoo\nZebra saddles were oiled before this release\nbar"); got != "title\nfoo\nbar" {
			t.Errorf("got %q", got)
		}
	})
}

func TestChosen(t *testing.T) {
	pieces := make([]chunk, 12)
	for i := range pieces {
		pieces[i] = chunk{start: int32(50*i + 1), end: int32(50*i + 50)} // 600 lines
	}
	best := []scoredChunk{{7, 10}, {2, 5}, {4, 0.5}}
	cases := []struct {
		name        string
		rank, named int
		best        []scoredChunk
		want        string
	}{
		{"the best file is shown whole, its best chunk first", 0, 0, best, "[7 2 4 0 1 3 5 6 8 9 10 11]"},
		{"so is the second if it is short", 1, 0, best, "[7 2 4 0 1 3 5 6 8 9 10 11]"},
		{"of the third only what is not weak", 2, 0, best, "[7 2]"},
		{"unless the text names it", 2, 3, best, "[7 2 4]"},
		{"later files get few", 15, 0, []scoredChunk{{1, 9}, {2, 9}, {3, 9}, {4, 9}}, "[1 2 3]"},
		{"nothing is known", 5, 0, nil, "[]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.TrimSpace(fmt.Sprint(chosen(pieces, c.best, c.rank, c.named))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
