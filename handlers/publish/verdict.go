package publish

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// Conclusion is the conclusion of the check run `autocode`: success only for a run that is not bound
// for another end, never neutral, which would satisfy a required check.
func Conclusion(s loop.Snapshot, v loop.Verdict) string {
	switch {
	case s.Phase == loop.PhaseApproving:
		return "action_required"
	case s.Phase == loop.PhaseVerifying && v.Pass:
		return "action_required" // a green round is not proved yet: it must not satisfy a required check
	case s.Ending == loop.PhaseStopped:
		return "cancelled"
	case v.Pass && s.Ending == "":
		return "success"
	case v.Class == feedback.ClassTimeout:
		return "timed_out"
	default:
		return "failure"
	}
}

func stageConclusion(stage loop.Stage) string {
	if stage.Pass {
		return "success"
	}
	return "failure"
}

// wholeOutput renders the verdict: a table that can be read in ten seconds, then the evidence,
// then verify.json in a fold.
func (p *Publisher) wholeOutput(s loop.Snapshot, v loop.Verdict) output {
	out := output{title: p.plain(title(v), maxTitle)}
	var b strings.Builder
	b.WriteString(StageTable(v))
	if red := redText(v); red != "" {
		b.WriteString("\n**Red**\n\n" + red)
	}
	if text := EvidenceText(v); text != "" {
		b.WriteString("\n" + text)
	}
	if len(v.Guard) > 0 {
		b.WriteString("\n**Guard**\n\n")
		for _, f := range v.Guard {
			fmt.Fprintf(&b, "- %s %s %s\n", f.Severity, loop.Code(at(f.File, f.Line)), loop.Inline(f.Message))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", loop.SpentText(s.Spent))
	out.summary = p.post(b.String(), maxOutput)
	out.text = p.verdictFold(v)
	for _, name := range loop.Stages() {
		out.annotations = append(out.annotations, p.annotations(v.Stages[name])...)
	}
	for _, f := range v.Guard {
		out.annotations = append(out.annotations, p.annotation(loop.Failure{File: f.File, Line: f.Line, Message: f.Message, Rule: f.Rule}, "warning")...)
	}
	return out
}

// title is the one line that lists of checks show.
func title(v loop.Verdict) string {
	if v.Pass {
		n := 0
		if t := v.Stages[loop.StageUnit].Tests; t != nil {
			n = t.Passed
		}
		return fmt.Sprintf("green: %d tests passed, %d criteria proved", n, len(v.Acceptance))
	}
	failures := v.Failures()
	if len(failures) == 0 && v.Blocked() {
		for _, f := range v.Guard {
			if f.Severity == loop.SeverityBlock {
				return "refused by the guard: " + loop.Inline(f.String())
			}
		}
	}
	if len(failures) == 0 {
		return "not proved: " + strings.ReplaceAll(v.NextAction, "_", " ")
	}
	return fmt.Sprintf("red: %d failure(s), first: %s", len(failures), loop.Inline(failures[0].Message))
}

// redText lists the first failures, a line each.
func redText(v loop.Verdict) string {
	var b strings.Builder
	const shown = 10
	failures := v.Failures()
	for i, f := range failures {
		if i == shown {
			fmt.Fprintf(&b, "- and %d more\n", len(failures)-shown)
			break
		}
		message, _, _ := strings.Cut(f.Message, "\n")
		fmt.Fprintf(&b, "- %s\n", strings.Join(slices.DeleteFunc([]string{loop.Code(at(f.File, f.Line)), loop.Code(f.ID), loop.Inline(message)},
			func(part string) bool { return part == "" }), " "))
	}
	return b.String()
}

// StageTable renders the stages of a verdict.
func StageTable(v loop.Verdict) string {
	var b strings.Builder
	b.WriteString("| stage | result | detail |\n|---|---|---|\n")
	for _, name := range loop.Stages() {
		st, there := v.Stages[name]
		if !there {
			continue
		}
		result := "passed"
		switch {
		case st.NotRun:
			result = "not run"
		case !st.Pass:
			result = "**failed**"
		}
		var detail []string
		if t := st.Tests; t != nil {
			detail = append(detail, fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, len(t.Failed), t.Skipped))
			for _, part := range []struct {
				what string
				ids  []string
			}{{"fixed", t.Fixed}, {"broken", t.Regressions}, {"failing before", t.Preexisting}, {"flaky", t.Flaky}, {"altered by the change", t.Altered}} {
				if len(part.ids) > 0 {
					detail = append(detail, fmt.Sprintf("%d %s", len(part.ids), part.what))
				}
			}
		}
		if len(st.Errors) > 0 {
			detail = append(detail, fmt.Sprintf("%d finding(s)", len(st.Errors)))
		}
		if st.Total != nil {
			detail = append(detail, fmt.Sprintf("%.1f %% in all", *st.Total))
		}
		if st.Changed != nil {
			detail = append(detail, fmt.Sprintf("%.1f %% of changed lines", *st.Changed))
		}
		if st.Reason != "" {
			detail = append(detail, cell(st.Reason))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, result, strings.Join(detail, "; "))
	}
	return b.String()
}

// EvidenceText lists how each criterion was proved, and the tests that changed colour.
func EvidenceText(v loop.Verdict) string {
	var b strings.Builder
	if len(v.Acceptance) > 0 {
		b.WriteString("**Acceptance**\n\n")
		for _, a := range v.Acceptance {
			fmt.Fprintf(&b, "- %s: %s\n", loop.Inline(a.ID), loop.ProofText(a))
			if a.Proof == loop.ProofRedGreen && a.Note != "" {
				fmt.Fprintf(&b, "  on the base: %s\n", loop.Code(loop.Inline(a.Note)))
			}
		}
	}
	for _, name := range []loop.StageName{loop.StageUnit, loop.StageIntegration, loop.StageE2E} {
		t := v.Stages[name].Tests
		if t == nil {
			continue
		}
		for _, part := range []struct {
			what string
			ids  []string
		}{{"Fixed", t.Fixed}, {"Broken", t.Regressions}, {"Failing before already", t.Preexisting}, {"Flaky", t.Flaky},
			{"Altered by the change (as they were, they fail now)", t.Altered}} {
			if len(part.ids) == 0 {
				continue
			}
			const shown = 20
			fmt.Fprintf(&b, "\n**%s**\n\n", part.what)
			for i, id := range part.ids {
				if i == shown {
					fmt.Fprintf(&b, "- and %d more\n", len(part.ids)-shown)
					break
				}
				fmt.Fprintf(&b, "- %s\n", loop.Code(id))
			}
		}
	}
	return b.String()
}

// verdictFold puts verify.json into a fold. Where it is too long for GitHub, failures are left out
// from the end, never characters.
func (p *Publisher) verdictFold(v loop.Verdict) string {
	for {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return ""
		}
		if utf8.RuneCount(text) <= maxOutput {
			fold := "<details><summary>verify.json</summary>\n\n" + loop.Fence("json", p.Redactor.String(visible(string(text)))) + "\n\n</details>"
			if utf8.RuneCountInString(fold) <= maxOutput {
				return fold
			}
		}
		if !shorten(&v) {
			return "verify.json is too long to be shown here; it is stored with the run."
		}
	}
}

// shorten halves the longest list of a verdict; false when nothing is left to shorten.
func shorten(v *loop.Verdict) bool {
	stages := make(map[loop.StageName]loop.Stage, len(v.Stages))
	cut := false
	for name, st := range v.Stages {
		if n := len(st.Errors); n > 0 {
			st.Errors, cut = st.Errors[:n/2], true
		}
		if st.Tests != nil {
			t := *st.Tests
			if n := len(t.Failures); n > 0 {
				t.Failures, cut = t.Failures[:n/2], true
			} else {
				for _, list := range []*[]string{&t.Failed, &t.Preexisting, &t.Fixed, &t.Regressions, &t.Flaky, &t.Altered} {
					if n := len(*list); n > 0 {
						*list, cut = (*list)[:n/2], true
					}
				}
			}
			st.Tests = &t
		}
		stages[name] = st
	}
	v.Stages = stages
	return cut
}

func (p *Publisher) stageOutput(name loop.StageName, stage loop.Stage) output {
	v := loop.Verdict{Stages: map[loop.StageName]loop.Stage{name: stage}}
	var b strings.Builder
	b.WriteString(StageTable(v) + "\n" + EvidenceText(v))
	if stage.Command != "" {
		fmt.Fprintf(&b, "\n%s\n", loop.Fence("sh", stage.Command))
	}
	failures := stage.Errors
	if stage.Tests != nil {
		failures = slices.Concat(failures, stage.Tests.Failures)
	}
	for _, f := range failures {
		if b.Len() > maxOutput*utf8.UTFMax {
			break // the rest would be cut off anyway
		}
		fmt.Fprintf(&b, "\n%s %s\n\n%s\n", loop.Code(at(f.File, f.Line)), loop.Code(f.ID), loop.Fence("", f.Message))
	}
	t := "passed"
	if !stage.Pass {
		t = fmt.Sprintf("failed: %d failure(s)", len(failures))
	}
	return output{title: t, summary: p.post(b.String(), maxOutput), annotations: p.annotations(stage)}
}

// mostShown bounds the annotations of a stage: each fifty cost a request, and nobody reads more of
// them in a diff. The rest is in verify.json.
const mostShown = 250

// annotations puts a stage's failures at their lines.
func (p *Publisher) annotations(stage loop.Stage) []*github.CheckRunAnnotation {
	var list []*github.CheckRunAnnotation
	failures := stage.Errors
	if stage.Tests != nil {
		failures = slices.Concat(failures, stage.Tests.Failures)
	}
	for _, f := range failures[:min(len(failures), mostShown)] {
		list = append(list, p.annotation(f, "failure")...)
	}
	return list
}

// annotation renders one failure; GitHub wants a path within the repository, a line and a message.
func (p *Publisher) annotation(f loop.Failure, level string) []*github.CheckRunAnnotation {
	path := visible(f.File)
	if path == "" || strings.HasPrefix(path, "/") || strings.Contains(path, "\n") {
		return nil
	}
	line := max(f.Line, 1)
	message := strings.TrimSpace(p.Redactor.String(visible(f.Message)))
	if message == "" {
		message = "failed"
	}
	message = short(message, maxMessage/utf8.UTFMax) // GitHub counts bytes
	name := f.ID
	if name == "" {
		name = f.Rule
	}
	a := &github.CheckRunAnnotation{Path: &path, StartLine: &line, EndLine: &line, AnnotationLevel: &level, Message: &message}
	if name = p.plain(name, maxTitle); name != "" {
		a.Title = &name
	}
	return []*github.CheckRunAnnotation{a}
}

// short cuts a text to n characters.
func short(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

func at(file string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}
