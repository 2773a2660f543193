package publish

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-7a986423/autocode/loop"
)

// maxPullTitle is GitHub's limit.
const maxPullTitle = 256

// PullTitle is the first line of the final commit's message: conventional, without what would
// notify somebody or switch off CI.
func PullTitle(s loop.Snapshot) string {
	line, _, _ := strings.Cut(loop.FinalMessage(s), "\n")
	return short(safeTitle(line), maxPullTitle-len(wip))
}

// PullBody says what was asked, what was done, what proves it and how to undo it.
func PullBody(s loop.Snapshot) string {
	return pullBody(s, func(text string, limit int) string { return Sanitize(NewRedactor().String(visible(text)), limit) })
}

// section is a part of the pull request's body.
type section struct {
	// title stands over the section, or on its fold.
	title string
	text  func(loop.Snapshot) string
}

// sections are the parts of the body in their order.
var sections = []section{
	{"What was asked", askedSection}, {"This is a draft", stateSection}, {"Evidence", evidenceSection},
	{"What was changed and why", changeSection}, {"Risk", riskSection}, {"Rollback", rollbackSection}, {"Cost", costSection}, {"Rounds", roundsSection},
}

const (
	// mostSection bounds one section, so that the body stays under GitHub's limit with all of them.
	mostSection = 7_000 // characters
	// foldOver is the length of a body from which on the least important sections are folded: beyond
	// it nobody reads from top to bottom.
	foldOver = 12_000 // characters
)

// pullBody renders the body with clean, which neutralises a text and cuts it at a line. Where it is
// long, the last sections are folded first; the frame around them, `Fixes` and the marker are ours
// and stand outside of what is neutralised.
func pullBody(s loop.Snapshot, clean func(text string, limit int) string) string {
	texts := make([]string, len(sections))
	total := 0
	for i, part := range sections {
		texts[i] = strings.TrimSpace(clean(strings.TrimSpace(part.text(s)), mostSection))
		total += utf8.RuneCountInString(texts[i])
	}
	folded := len(sections)
	for kept := total; kept > foldOver && folded > 1; {
		folded--
		kept -= utf8.RuneCountInString(texts[folded])
	}
	var b strings.Builder
	for i, part := range sections {
		switch {
		case texts[i] == "":
		case i >= folded:
			fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n%s\n\n</details>\n\n", part.title, texts[i])
		default:
			fmt.Fprintf(&b, "## %s\n\n%s\n\n", part.title, texts[i])
		}
	}
	if s.Task.Issue.Number > 0 {
		fmt.Fprintf(&b, "Fixes #%d\n\n", s.Task.Issue.Number)
	}
	return b.String() + marker("pull", s.Task.ID)
}

func askedSection(s loop.Snapshot) string {
	var b strings.Builder
	if s.Spec != nil {
		fmt.Fprintf(&b, "%s\n\n", loop.Inline(s.Spec.Goal))
		for _, c := range s.Spec.Criteria {
			fmt.Fprintf(&b, "- **%s** %s\n", loop.Inline(c.ID), loop.CriterionText(c))
		}
		for _, c := range s.Spec.Constraints {
			fmt.Fprintf(&b, "- constraint: %s\n", loop.Inline(c))
		}
		for _, c := range s.Spec.OutOfScope {
			fmt.Fprintf(&b, "- out of scope: %s\n", loop.Inline(c))
		}
	}
	fmt.Fprintf(&b, "\nRequested by %s", loop.Code(s.Run.RequestedBy))
	if s.Task.Issue.Author != "" {
		fmt.Fprintf(&b, ", reported by %s", loop.Code(s.Task.Issue.Author))
	}
	b.WriteString(".\n")
	return b.String()
}

// stateSection is the honest report of a pull request that is not green.
func stateSection(s loop.Snapshot) string {
	if s.Ending == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", loop.Quote(s.Decision.Reason))
	if s.Verdict != nil && !s.Verdict.Pass {
		b.WriteString("Still red:\n\n" + redText(*s.Verdict))
	}
	return b.String()
}

func evidenceSection(s loop.Snapshot) string {
	if s.Verdict == nil {
		return "None: this state was not verified."
	}
	where := "in the working clone"
	if s.Verdict.CleanRoom {
		where = "in a clean room: a fresh clone of the commit, without network"
	}
	return fmt.Sprintf("Verified %s.\n\n%s\n%s", where, StageTable(*s.Verdict), EvidenceText(*s.Verdict))
}

func changeSection(s loop.Snapshot) string {
	var b strings.Builder
	if r := s.Shown(); r != nil && r.RootCause != "" {
		fmt.Fprintf(&b, "%s\n\n", loop.Quote(r.RootCause))
	}
	if r := s.Shown(); r != nil && r.Choice != "" {
		fmt.Fprintf(&b, "Round %d: %s.\n\n", r.Number, loop.Inline(r.Choice))
	}
	for _, c := range s.Changes {
		fmt.Fprintf(&b, "- %s\n", loop.ChangeText(c))
	}
	return b.String()
}

func riskSection(s loop.Snapshot) string {
	var b strings.Builder
	if s.Spec != nil {
		fmt.Fprintf(&b, "Zone %s: %s\n", s.Spec.Zone, loop.Inline(s.Spec.ZoneWhy))
	}
	if moved := loop.BaseMovedText(s); moved != "" {
		fmt.Fprintf(&b, "\n%s\n", moved)
	}
	if len(s.Changes) > 0 {
		added, removed := 0, 0
		for _, c := range s.Changes {
			added, removed = added+c.Added, removed+c.Removed
		}
		fmt.Fprintf(&b, "\n%d lines added, %d removed in %d file(s).\n", added, removed, len(s.Changes))
	}
	if s.Verdict != nil {
		for _, f := range s.Verdict.Guard {
			fmt.Fprintf(&b, "- %s: %s (%s)\n", f.Severity, loop.Inline(f.Message), loop.Code(at(f.File, f.Line)))
		}
	}
	if s.Review != nil {
		fmt.Fprintf(&b, "\nReview: %s\n", loop.Inline(s.Review.Summary))
	}
	return b.String()
}

func costSection(s loop.Snapshot) string {
	return loop.SpentText(s.Spent)
}

func rollbackSection(s loop.Snapshot) string {
	commit := s.Final
	if commit == "" {
		commit = "HEAD"
	}
	if s.Base != "" && s.Start != "" && s.Start != s.Base {
		commit = s.Base + ".." + commit // earlier runs are in the pull request as well
	}
	return fmt.Sprintf("Before the merge, close this pull request and delete the branch %s. After it:\n\n%s",
		loop.Code(s.Run.Branch), loop.Fence("sh", "git revert --no-edit "+commit+"   # rebased or fast-forwarded\n"+
			"git revert --no-edit <squash commit>   # squashed\ngit revert --no-edit -m 1 <merge commit>   # merged"))
}

func roundsSection(s loop.Snapshot) string {
	if len(s.Rounds) < 2 {
		return ""
	}
	var b strings.Builder
	for _, r := range s.Rounds {
		fmt.Fprintf(&b, "%d. %s\n", r.Number, loop.Inline(r.Outcome()))
	}
	return b.String()
}
