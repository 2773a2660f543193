package handlers_test

import (
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// TestAnswerByNumber: the number of a choice is as good as its words, by a person with write access and by
// the reporter whom one vouches for.
func TestAnswerByNumber(t *testing.T) {
	one := []loop.Question{{Text: "Round how?", Choices: []string{"up", "to even"}}}
	two := append(one[:1:1], loop.Question{Text: "Where?", Choices: []string{"here", "there"}})
	const even = "to even (to the question: Round how?)"
	for name, c := range map[string]struct {
		questions []loop.Question
		answer    string
		want      string
	}{
		"number":           {one, "2", even},
		"with a dot":       {one, " 2. ", even},
		"in brackets":      {one, "(2)", even},
		"as an option":     {one, "Option 2", even},
		"no such choice":   {one, "3", "3"},
		"none":             {one, "0", "0"},
		"words":            {one, "2 decimals, to even", "2 decimals, to even"},
		"two questions":    {two, "2", "2"},
		"without choices":  {[]loop.Question{{Text: "How many?"}}, "2", "2"},
		"a version number": {one, "2.1", "2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range []string{"mary", "olga"} {
				w := newWorld(t)
				number := w.issue()
				w.label("mary", number)
				w.put(func(s *loop.Snapshot) {
					s.Phase, s.Spec, s.Question, s.Decision.At = loop.PhaseClarifying, &loop.Spec{Questions: c.questions}, &c.questions[0], w.clock.Now()
				})
				w.say(by, number, c.answer)
				if by == "olga" {
					w.say("mary", number, "/autocode resume")
				}
				signals := w.signals()
				if len(signals) != 1 || signals[0].Text != c.want {
					t.Errorf("by %s: %+v, want %q", by, signals, c.want)
				}
			}
		})
	}
}
