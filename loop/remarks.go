package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Remark begins a conversation on a line of autocode's own pull request. Those of a review become the
// feedback of one run together, and that run answers each in its own thread.
type Remark struct {
	// ID is the comment's, to which the answer replies.
	ID   int64  `json:"id"`
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // 0: of the whole file
	Text string `json:"text"`
}

// RemarkReply is what the coder said about one remark.
type RemarkReply struct {
	Done bool   `json:"done"`
	Why  string `json:"why,omitempty"`
}

// RemarkAnswer is the answer to a remark, for its thread.
type RemarkAnswer struct {
	Comment  int64
	Markdown string
}

// RemarkGuidance renders remarks for the coder, who answers by their numbers.
func RemarkGuidance(remarks []Remark) string {
	var b strings.Builder
	for i, r := range remarks {
		fmt.Fprintf(&b, "Remark %d at %s: %s\n", i+1, place(r.Path, r.Line), r.Text)
	}
	return b.String()
}

// RemarkAnswers says of every remark of an ended run whether it was done, and in which commit, or why
// not. That something was done is never the coder's word alone: there must be a new commit that passed.
func RemarkAnswers(s Snapshot) []RemarkAnswer {
	if !s.Phase.Ended() {
		return nil
	}
	fresh := s.Phase == PhaseDone && s.Pushed != "" && s.Pushed != s.Run.From
	changed, said := s.changedFiles(), s.remarkReplies()
	var answers []RemarkAnswer
	for i, r := range s.Run.Remarks {
		reply, spoken := said[i+1]
		var text string
		switch {
		case !fresh && spoken && reply.Why != "" && s.Phase == PhaseDone:
			text = "Not done, because:\n\n" + Quote(Inline(reply.Why))
		case !fresh:
			text = "Not done, because the run ended without a new commit:\n\n" + Quote(Inline(s.Ended))
		case spoken && !reply.Done:
			text = "Not done, because:\n\n" + Quote(Inline(or(reply.Why, "no reason was given")))
		case spoken:
			text = "Done in commit " + s.Pushed + "."
			if reply.Why != "" {
				text += "\n\n" + Quote(Inline(reply.Why))
			}
		case slices.Contains(changed, r.Path):
			text = fmt.Sprintf("Done in commit %s, which changes %s.", s.Pushed, Code(r.Path))
		default:
			text = fmt.Sprintf("Not done, because commit %s found nothing to change in %s. `/autocode retry <guidance>` says it in other words.", s.Pushed, Code(r.Path))
		}
		answers = append(answers, RemarkAnswer{Comment: r.ID, Markdown: text + "\n"})
	}
	return answers
}

// changedFiles lists what the rounds that stand have changed.
func (s *Snapshot) changedFiles() []string {
	var files []string
	for _, r := range s.Rounds {
		if r.Commit != "" && !r.RolledBack {
			files = append(files, r.Files...)
		}
	}
	return files
}

// remarkReplies is what the coder said about each remark last, in the rounds that stand.
func (s *Snapshot) remarkReplies() map[int]RemarkReply {
	said := map[int]RemarkReply{}
	for _, r := range s.Rounds {
		if r.RolledBack {
			continue
		}
		for number, reply := range r.Remarks {
			said[number] = reply
		}
	}
	return said
}

func or(text, fallback string) string {
	if strings.TrimSpace(text) == "" {
		return fallback
	}
	return text
}

// answerRemarks answers the conversations that the run was started by, once it has ended.
func (d *drive) answerRemarks(ctx context.Context) error {
	for _, answer := range RemarkAnswers(d.s) {
		if err := d.Publisher.AnswerRemark(ctx, d.s, answer); err != nil {
			return fmt.Errorf("answer the review: %w", err)
		}
	}
	return nil
}
