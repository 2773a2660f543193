package handlers_test

import (
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

// TestEveryRemarkIsAnswered: all of one review together start one run, and each of its threads gets one
// answer, however often the end of the run is announced, and by whichever process.
func TestEveryRemarkIsAnswered(t *testing.T) {
	w := newWorld(t)
	w.must(w.SetRole(repo, "rob", githubtest.RoleWrite))
	w.label("mary", w.issue())
	number, head := w.pull("autocode/1-it", nil)
	_, err := w.As("rob").Review(repo, number, githubtest.ReviewChangesRequested, "Two things.",
		githubtest.LineComment{Path: "fix.txt", Line: 1, Body: "why x?"},
		githubtest.LineComment{Path: "fix.txt", Line: 2, Body: "rename y, @everybody"},
		githubtest.LineComment{Path: "other.txt", Line: 9, Body: "and here"})
	w.must(err)
	w.handle()
	all := w.runs()
	if len(all) != 2 || len(all[0].Run.Remarks) != 3 || all[0].Run.From != head {
		t.Fatalf("%d runs, the newest %+v", len(all), all[0].Run)
	}
	for _, part := range []string{"Two things.", "Remark 1 at fix.txt:1: why x?", "Remark 2 at fix.txt:2: rename y", "Remark 3 at other.txt:9: and here"} {
		if !strings.Contains(all[0].Run.Guidance, part) {
			t.Errorf("the guidance lacks %q:\n%s", part, all[0].Run.Guidance)
		}
	}
	const commit = "cccccccccccccccccccccccccccccccccccccccc"
	s := w.put(func(s *loop.Snapshot) {
		s.Phase, s.Pushed = loop.PhaseDone, commit
		s.Rounds = []loop.Round{{Commit: commit, Files: []string{"fix.txt"}, Remarks: map[int]loop.RemarkReply{
			1: {Done: true, Why: "x is the bound"}, 2: {Why: "y is part of the public interface, see @everybody"},
		}}}
	})
	for range 2 {
		for _, answer := range loop.RemarkAnswers(s) {
			w.must(w.publisher.AnswerRemark(w.ctx, s, answer))
		}
		w.restart()
	}
	answers := map[int]string{}
	for _, c := range w.ReviewComments(repo, number) {
		if c.InReplyTo == 0 {
			continue
		}
		for i, r := range s.Run.Remarks {
			if r.ID == c.InReplyTo {
				answers[i+1] += c.Body
			}
		}
	}
	for i, want := range map[int]string{1: "Done in commit " + commit, 2: "Not done, because:", 3: "found nothing to change in `other.txt`"} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("remark %d is answered with %q, want %q", i, answers[i], want)
		}
		if strings.Count(answers[i], "<!-- autocode:remark") != 1 || strings.Contains(answers[i], " @everybody") {
			t.Errorf("remark %d: %q", i, answers[i])
		}
	}
}
