package loop_test

import (
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

func TestRemarkAnswers(t *testing.T) {
	const before, after = "before", "after"
	edited := []loop.Round{{Commit: after, Files: []string{"a.go"}}}
	said := func(done bool, why string) []loop.Round {
		return []loop.Round{{Commit: after, Files: []string{"a.go"}, Remarks: map[int]loop.RemarkReply{1: {Done: done, Why: why}}}}
	}
	for name, c := range map[string]struct {
		phase  loop.Phase
		pushed string
		rounds []loop.Round
		want   string // empty: there is no answer yet
	}{
		"at work":                      {loop.PhaseCoding, before, edited, ""},
		"the coder says done":          {loop.PhaseDone, after, said(true, "renamed"), "Done in commit after.\n\n> renamed"},
		"the coder says no":            {loop.PhaseDone, after, said(false, "it is public"), "Not done, because:\n\n> it is public"},
		"the coder says no, without":   {loop.PhaseDone, after, said(false, ""), "no reason was given"},
		"no word, file changed":        {loop.PhaseDone, after, edited, "Done in commit after, which changes `a.go`"},
		"no word, file not changed":    {loop.PhaseDone, after, nil, "found nothing to change in `a.go`"},
		"nothing was pushed":           {loop.PhaseDone, before, nil, "without a new commit"},
		"nothing to do, with a reason": {loop.PhaseDone, before, said(false, "it is so already"), "> it is so already"},
		"done is not believed":         {loop.PhaseEscalated, before, said(true, "renamed"), "without a new commit"},
		"stopped":                      {loop.PhaseStopped, after, said(true, "renamed"), "Not done"},
		"undone round":                 {loop.PhaseDone, after, []loop.Round{{Commit: "x", RolledBack: true, Files: []string{"a.go"}, Remarks: map[int]loop.RemarkReply{1: {Done: true}}}}, "found nothing to change"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := loop.RemarkAnswers(loop.Snapshot{
				Phase: c.phase, Pushed: c.pushed, Rounds: c.rounds, Ended: "the limit is used up",
				Run: loop.Run{From: before, Remarks: []loop.Remark{{ID: 7, Path: "a.go", Line: 3, Text: "rename"}}},
			})
			if c.want == "" && len(answers) == 0 {
				return
			}
			if len(answers) != 1 || answers[0].Comment != 7 || !strings.Contains(answers[0].Markdown, c.want) {
				t.Errorf("%+v, want %q", answers, c.want)
			}
		})
	}
}
