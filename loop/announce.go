package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-7a986423/autocode/feedback"
)

// announce tells people what they must know about the state that is about to be stored: first
// what they must react to, as a comment of its own, then the progress comment. Every notice has
// a key, so that a restart between this and the save says nothing twice.
func (d *drive) announce(ctx context.Context) error {
	s := d.s
	if notice, needed := noticeFor(s); needed {
		if err := d.Publisher.Tell(ctx, s, notice); err != nil {
			return fmt.Errorf("tell people about %s: %w", s.Phase, err)
		}
	}
	if s.Phase == PhaseClarifying {
		d.s.Asked++
	}
	if s.Phase.Ended() {
		if err := d.answerRemarks(ctx); err != nil {
			return err
		}
		if err := d.learn(ctx); err != nil {
			d.log.Warn().Err(err).Msg("the lesson of this run is lost")
		}
		if s.Phase != PhaseDone {
			if err := d.Publisher.SettleChecks(ctx, s, s.Ended); err != nil {
				return fmt.Errorf("settle the check runs: %w", err)
			}
		}
	}
	if err := d.Publisher.Progress(ctx, s); err != nil {
		if s.Phase.Ended() || s.Phase.Waits() {
			return fmt.Errorf("update the progress comment: %w", err)
		}
		// The next phase brings it up to date.
		d.log.Warn().Err(err).Msg("the progress comment is behind")
	}
	return nil
}

// noticeFor returns the comment that a phase calls for.
func noticeFor(s Snapshot) (Notice, bool) {
	switch s.Phase {
	case PhaseClarifying:
		if s.Question == nil {
			return Notice{}, false
		}
		return Notice{Kind: NoticeQuestion, Key: fmt.Sprintf("question-%d", s.Asked), Markdown: questionText(s)}, true
	case PhaseApproving:
		if s.Pending == nil {
			return Notice{}, false
		}
		return Notice{
			Kind: NoticeApproval, Key: fmt.Sprintf("approval-%s-%d", s.Pending.Key, times(s)), Markdown: approvalText(s),
		}, true
	case PhaseDone:
		switch {
		case s.Pull != nil:
			return Notice{Kind: NoticeResult, Key: "result", Markdown: resultText(s)}, true
		case s.Config.Autonomy == AutonomyPlan && s.Plan != nil:
			return Notice{Kind: NoticePlan, Key: "plan", Markdown: PlanMarkdown(s)}, true
		default:
			return Notice{Kind: NoticeAnswer, Key: "answer", Markdown: answerText(s)}, true
		}
	case PhaseEscalated, PhaseFailed:
		return Notice{Kind: NoticeHandOver, Key: fmt.Sprintf("hand-over-%d", times(s)), Markdown: handOverText(s)}, true
	case PhaseStopped:
		if s.Pull == nil {
			return Notice{}, false // the progress comment says it
		}
		return Notice{Kind: NoticeResult, Key: fmt.Sprintf("stopped-%d", times(s)), Markdown: resultText(s)}, true
	case PhaseQueued, PhasePreparing, PhaseSpecifying, PhasePlanning, PhaseCoding, PhaseVerifying, PhaseReviewing, PhasePublishing:
	}
	return Notice{}, false
}

// times counts how often the run has come to the phase in which it is: a resumed run that ends
// again says so again.
func times(s Snapshot) int {
	n := 0
	for _, d := range s.History {
		if d.Next == s.Phase {
			n++
		}
	}
	return n
}

func questionText(s Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### A question before I go on\n\n")
	for _, q := range asked(s) {
		fmt.Fprintf(&b, "%s\n", Quote(q.Text))
		for i, c := range q.Choices {
			fmt.Fprintf(&b, "%d. %s\n", i+1, Inline(c))
		}
		b.WriteString("\n")
	}
	if local(s) {
		fmt.Fprintf(&b, "Answer with %s.\n", Code(localResume(s)+" --answer TEXT"))
		return b.String()
	}
	b.WriteString("Answer in a comment here (with write access), or comment `/autocode resume` to vouch for an answer that somebody else gave above. `/autocode stop` ends it.\n")
	return b.String()
}

func approvalText(s Snapshot) string {
	var b strings.Builder
	switch s.Pending.Key {
	case ApprovePlan:
		fmt.Fprintf(&b, "### This plan waits for approval\n\n%s\n\n%s", Inline(s.Decision.Reason), PlanMarkdown(s))
	default:
		fmt.Fprintf(&b, "### This waits for approval\n\n%s\n\nNothing has been pushed.\n", Quote(s.Decision.Reason))
		if len(s.Changes) > 0 && s.Pending.Key != ApproveRequest {
			b.WriteString("\nFiles of the change:\n")
			for _, c := range s.Changes {
				fmt.Fprintf(&b, "- %s\n", ChangeText(c))
			}
		}
	}
	if local(s) {
		fmt.Fprintf(&b, "\n%s goes on.\n", Code(localResume(s)+" --approve"))
		return b.String()
	}
	b.WriteString("\n`/autocode approve` goes on, `/autocode stop` ends it.\n")
	return b.String()
}

func resultText(s Snapshot) string {
	var b strings.Builder
	state := "ready for review"
	if s.Pull.Draft || s.Pull.NoDrafts && s.Phase != PhaseDone {
		state = "a draft"
	}
	name := fmt.Sprintf("#%d", s.Pull.Number)
	if local(s) {
		name = "The branch " + Code(s.Run.Branch)
	}
	fmt.Fprintf(&b, "### %s is %s\n\n%s\n", name, state, s.Pull.URL)
	if s.Verdict != nil {
		for _, a := range s.Verdict.Acceptance {
			fmt.Fprintf(&b, "- %s: %s\n", Inline(a.ID), ProofText(a))
		}
	}
	if s.unverified() {
		fmt.Fprintf(&b, "%s\n", UnverifiedText)
	}
	if s.Phase == PhaseDone && s.Pull.Draft && !local(s) {
		b.WriteString("\nEvery check passed, but GitHub did not let me take it out of draft: *Ready for review* on its page does.\n")
	}
	if moved := BaseMovedText(s); moved != "" {
		fmt.Fprintf(&b, "\n%s\n", moved)
	}
	fmt.Fprintf(&b, "\n%s\n", SpentText(s.Spent))
	return b.String()
}

// UnverifiedText is the honest word about a draft that no check has seen.
const UnverifiedText = "Nothing was verified in this state: the run ended before its checks did. Only the guard has read it. Resuming the run verifies it."

// unverified says that what the run pushed was not verified.
func (s *Snapshot) unverified() bool {
	return s.Verdict == nil && s.Pushed != "" && s.Pushed == s.Final && s.Shown() != nil
}

func answerText(s Snapshot) string {
	again := "`/autocode retry` with more detail tries again."
	if local(s) {
		again = "`autocode run` with more detail tries again."
	}
	return fmt.Sprintf("### Nothing to change\n\n%s\n\nNo pull request was opened. %s\n", Quote(s.Ended), again)
}

func handOverText(s Snapshot) string {
	var b strings.Builder
	title := "I hand this over"
	if s.Phase == PhaseFailed {
		title = "I could not go on"
	}
	fmt.Fprintf(&b, "### %s\n\n%s\n\n", title, Quote(s.Ended))
	if s.Pull != nil {
		fmt.Fprintf(&b, "%s\n\n", pullState(s))
		if s.unverified() {
			fmt.Fprintf(&b, "%s\n\n", UnverifiedText)
		}
	}
	if len(s.Rounds) > 0 {
		b.WriteString("What was tried:\n\n")
		for _, r := range s.Rounds {
			fmt.Fprintf(&b, "%d. %s: %s\n", r.Number, Inline(firstSentence(r.RootCause, string(r.End))), Inline(r.Outcome()))
		}
		b.WriteString("\n")
	}
	b.WriteString(knownText(s))
	if s.Verdict != nil && !s.Verdict.Pass {
		b.WriteString("What is still red:\n\n")
		const shown = 5
		for i, f := range s.Verdict.Failures() {
			if i == shown {
				fmt.Fprintf(&b, "- and %d more\n", len(s.Verdict.Failures())-shown)
				break
			}
			fmt.Fprintf(&b, "- %s %s\n", Code(place(f.File, f.Line)), Inline(firstLine(f.Message)))
		}
		for _, a := range s.Verdict.Acceptance {
			if a.Proof == ProofNone {
				fmt.Fprintf(&b, "- %s: %s\n", Inline(a.ID), ProofText(a))
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s\n\nWhat to try next: %s%s\n", SpentText(s.Spent), advice(s), goOnText(s))
	return b.String()
}

// pullState says what the pull request of a run that did not succeed holds.
func pullState(s Snapshot) string {
	switch {
	case local(s):
		return fmt.Sprintf("The best state is on the branch %s.", Code(s.Run.Branch))
	case s.Pushed == "" || s.Pushed == s.Run.From:
		return fmt.Sprintf("#%d is as it was before this run.", s.Pull.Number)
	case s.Pull.Draft || s.Pull.NoDrafts:
		return fmt.Sprintf("The best state is the draft #%d.", s.Pull.Number)
	default:
		return fmt.Sprintf("The best state is #%d.", s.Pull.Number)
	}
}

// local says whether a run was asked for at the command line: there is no issue or pull request to comment on.
func local(s Snapshot) bool { return s.Task.Source == SourceCLI }

// localResume is the command line that goes on with a local run.
func localResume(s Snapshot) string {
	return fmt.Sprintf("autocode resume --repo %s %s", s.Task.Repo.CloneURL, s.Run.ID)
}

// goOnText says how a person goes on with a run that was handed over.
func goOnText(s Snapshot) string {
	if local(s) {
		return fmt.Sprintf("%s goes on from here (with a higher `budget` in `autocode.yaml` where a limit was reached); with `--answer TEXT` it is told what you know.", Code(localResume(s)))
	}
	return "`/autocode resume` goes on from here (with `/autocode budget +2rounds` before it where a limit was reached), `/autocode retry <guidance>` starts again with what you know."
}

// knownText is what the run found out and a person need not find out again.
func knownText(s Snapshot) string {
	var lines []string
	if best := s.Shown(); best != nil && len(best.Files) > 0 {
		names := make([]string, len(best.Files))
		for i, f := range best.Files {
			names[i] = Code(f)
		}
		lines = append(lines, fmt.Sprintf("the change of round %d is in %s", best.Number, strings.Join(names, ", ")))
	}
	if s.Verdict != nil {
		proved := 0
		for _, a := range s.Verdict.Acceptance {
			if a.Proof != ProofNone {
				proved++
			}
		}
		if n := len(s.Verdict.Acceptance); n > 0 {
			lines = append(lines, fmt.Sprintf("%d of %d criteria are proved", proved, n))
		}
		if unit, ran := s.Verdict.Stages[StageUnit]; ran && unit.Tests != nil {
			lines = append(lines, fmt.Sprintf("%d tests pass, %d fail, %d of these failed before as well", unit.Tests.Passed, len(unit.Tests.Failed), len(unit.Tests.Preexisting)))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "What is known:\n\n- " + strings.Join(lines, "\n- ") + "\n\n"
}

// advice is what a person could do about the way in which a run failed, in a sentence or two.
func advice(s Snapshot) string {
	if s.Verdict != nil && !s.Verdict.Pass {
		switch s.Verdict.Class {
		case feedback.ClassEnvironment, feedback.ClassInfrastructure:
			return "The environment is at fault and not the code: name what it lacks under `setup` in `.github/autocode.yml`, or on the server. "
		case feedback.ClassTimeout, feedback.ClassOOM:
			return "The checks ran out of time or memory: give them more under `sandbox`, or say which of them are enough under `verify`, in `.github/autocode.yml`. "
		case feedback.ClassFlaky:
			return "A test fails now and then: mend it, or take it out of the checks under `verify` in `.github/autocode.yml`. "
		case feedback.ClassCode, feedback.ClassNone:
		}
	}
	if len(s.Rounds) == 0 {
		return ""
	}
	switch last := s.Rounds[len(s.Rounds)-1]; {
	case last.Refused != "":
		return "The last change was refused (" + Inline(last.Refused) + "): if the issue really asks for it, say so in the guidance; else name another way. "
	case last.End == CodeStalled, last.End == CodeGiveUp, last.End == CodeNothing:
		return "The coder found no change to make: name the file or the function where it belongs, or an example with its expected result. "
	case s.Verdict != nil && !s.Verdict.Pass && len(s.Verdict.Failures()) > 0:
		f := s.Verdict.Failures()[0]
		name := f.ID
		if name == "" {
			name = place(f.File, f.Line)
		}
		return "Say what " + Code(name) + " should really expect, or what the cause above misses; a commit of yours on the branch is taken up by resume. "
	}
	return ""
}

// firstSentence returns the first sentence of a text, or the fallback where it is empty.
func firstSentence(text, fallback string) string {
	text = oneParagraph(text)
	if text == "" {
		return fallback
	}
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i+1]
	}
	return text
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
