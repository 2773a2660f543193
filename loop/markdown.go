package loop

import (
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode"
)

// Visible removes from a foreign text what a reader cannot see, hence what hides from the person who
// vouches for it: zero-width, bidirectional, tag, filler and control characters, and what is no UTF-8.
// Line ends become "\n".
func Visible(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Co, r):
			return -1
		case r >= 0xE0000 && r <= 0xE0FFF: // tags and further variation selectors
			return -1
		case r >= 0xFE00 && r <= 0xFE0F, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r >= 0x180B && r <= 0x180F,
			r == 0x2800, r == 0x3164, r == 0xFFA0:
			return -1 // variation selectors, joiners, blanks and fillers that show nothing
		}
		return r
	}, text)
}

// Untrusted text gets into Markdown by one of these three ways only; the publisher's sanitiser
// is the second line of defence (security.md, rule 9).

// Quote renders a text as a block quote: it can end no fence and start no command.
func Quote(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = "> " + line
	}
	return strings.Join(lines, "\n")
}

// Inline folds a text into one line of at most 300 characters.
func Inline(text string) string {
	const longest = 300
	runes := []rune(oneParagraph(text))
	if len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return string(runes)
}

// Code renders a text as inline code, with more backticks around it than it holds.
func Code(text string) string {
	text = oneParagraph(text)
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		pad = " "
	}
	return fence + pad + text + pad + fence
}

// Fence renders a text as a code block, with a longer fence than any that it holds.
func Fence(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// PlanMarkdown renders spec and plan for a person.
func PlanMarkdown(s Snapshot) string {
	var b strings.Builder
	if s.Spec != nil {
		fmt.Fprintf(&b, "**Goal** %s\n\n", Inline(s.Spec.Goal))
		for _, c := range s.Spec.Criteria {
			fmt.Fprintf(&b, "- **%s** %s\n", Inline(c.ID), CriterionText(c))
		}
		fmt.Fprintf(&b, "\n**Risk** %s: %s\n\n", s.Spec.Zone, Inline(s.Spec.ZoneWhy))
	}
	if s.Plan != nil {
		b.WriteString("**Steps**\n\n")
		for i, step := range s.Plan.Steps {
			var files []string
			for _, f := range step.Files {
				files = append(files, Code(f))
			}
			fmt.Fprintf(&b, "%d. %s (%s)\n", i+1, Inline(step.Title), strings.Join(files, ", "))
		}
	}
	return b.String()
}

// CriterionText renders a criterion as one line.
func CriterionText(c Criterion) string {
	var parts []string
	if c.Given != "" {
		parts = append(parts, "given "+Inline(c.Given))
	}
	if c.When != "" {
		parts = append(parts, "when "+Inline(c.When))
	}
	return strings.Join(append(parts, "then "+Inline(c.Then)), ", ")
}

// ProofText says how a criterion was proved, or why it was not.
func ProofText(a Acceptance) string {
	switch a.Proof {
	case ProofRedGreen:
		return fmt.Sprintf("%s fails on the base and passes on the head", Code(a.Hook))
	case ProofGreenGreen:
		return fmt.Sprintf("%s passes on the base and on the head", Code(a.Hook))
	case ProofReview:
		return "by review"
	case ProofNone:
		text := "unproved"
		if a.Hook != "" {
			var sides []string
			for _, side := range []struct {
				name  string
				state ProofState
			}{{"base", a.Base}, {"head", a.Head}} {
				if side.state != "" { // "": it did not come to run there
					sides = append(sides, fmt.Sprintf("%s %s", side.name, side.state))
				}
			}
			text += fmt.Sprintf(" (%s: %s)", Code(a.Hook), strings.Join(sides, ", "))
		}
		if a.Note != "" {
			text += ": " + Inline(a.Note)
		}
		return text
	}
	return string(a.Proof)
}

// ChangeText says what happened to a file, how much of it changed, and why.
func ChangeText(c Change) string {
	text := Code(c.Path)
	switch c.Op {
	case OpAdd:
		text += " (new"
	case OpDelete:
		text += " (deleted"
	case OpRename:
		text += " (was " + Code(c.OldPath)
	case OpModify:
		text += " (changed"
	}
	text += fmt.Sprintf(", +%d −%d)", c.Added, c.Removed)
	if c.Why != "" {
		text += ": " + Inline(c.Why)
	}
	return text
}

// SpentText says what a run used up so far.
func SpentText(s Spent) string {
	return fmt.Sprintf("%d round(s), %d model calls, %d tokens, %s, %s",
		s.Rounds, s.ModelCalls, s.Tokens, dollars(s.USD), s.Wall.Round(time.Second))
}

// Markdown renders a review as review.md.
func (r Review) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Review\n\n%s\n\n", r.Summary)
	names := make([]string, 0, len(r.Scores))
	for name := range r.Scores {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&b, "- %s: %d of 5\n", name, r.Scores[name])
	}
	b.WriteString("\n")
	for _, f := range r.Findings {
		kind := "note"
		if f.Blocking {
			kind = "blocking"
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", kind, place(f.File, f.Line), f.Message)
	}
	return b.String()
}
