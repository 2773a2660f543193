package agent

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

const (
	// shownFailures bounds the failures in a prompt: the first ones usually explain the rest.
	shownFailures = 8
	// maxUndone bounds the undone change that is shown, in bytes.
	maxUndone = 12_000
	// maxRefusal, maxLessons and maxMessage bound other texts, in bytes; what is longer than that
	// has its point at the beginning.
	maxRefusal = 2_000
	maxLessons = 3_000
	maxMessage = 1_500
	// maxAlways bounds the files that the packed code begins with.
	maxAlways = 10
)

// brief writes the coder's first message with a budget of tokens for code.
func (t *turn) brief(ctx context.Context, budget int) (prompts.Prompt, error) {
	r := t.request
	failures, more := t.failures()
	always := t.always(failures)
	// What is the same in every round comes of what is: a prompt that begins alike is cached.
	asked := issueText(r.Task, r.Run, r.Answers) + "\n" + r.Spec.Goal
	query := asked
	for _, c := range r.Spec.Criteria {
		query += "\n" + c.Then + " " + c.TestHook
	}
	for _, f := range failures {
		query += "\n" + f.File + " " + f.Message
	}
	code, ranked, err := t.survey.pack(ctx, query, always, budget)
	if err != nil {
		return prompts.Prompt{}, err
	}
	memory, err := t.survey.memory(ctx, append(slices.Clone(always), ranked...))
	if err != nil {
		return prompts.Prompt{}, err
	}
	data := prompts.CodeData{
		Issue: prompts.NewIssue(r.Task, r.Run, r.Answers), Spec: r.Spec, Plan: r.Plan, Code: code,
		Repo: prompts.Repository{
			Tests: verifiedBy(r.Baseline), TestIDs: likelyIDs(r.Baseline, asked+strings.Join(r.Plan.Files(), " ")),
			Red: redOnBase(r.Baseline), NoTestRuns: r.Baseline != nil && r.Baseline.Verdict.NoTestRuns(), Memory: memory, Lessons: prompts.Cut(r.Lessons, maxLessons),
		},
		Round: r.Round, Remarks: len(r.Run.Remarks), Strategy: r.Strategy, Variation: r.Variation, Failures: failures, More: more,
		Findings: t.findings(), Review: r.Review.Blocking(), Refused: prompts.Cut(r.Refused, maxRefusal),
		UndonePatch: prompts.Cut(r.UndonePatch, maxUndone), Attempts: attempts(r.Attempts),
		Protected: r.Config.Paths.Protected, MaxSteps: t.config.MaxSteps, Commands: t.config.Commands,
	}
	data.State, data.FilesOf = t.shownState()
	if r.Verdict != nil {
		data.Reasons, data.Logs = t.reds(*r.Verdict)
		data.Unproved = unproved(*r.Verdict, r.Strategy)
	}
	return prompts.Code(data)
}

// failures lists those of the last verdict, the ones that the base does not have first.
func (t *turn) failures() (shown []loop.Failure, more int) {
	if t.request.Verdict == nil {
		return nil, 0
	}
	before := map[string]bool{}
	for _, stage := range t.request.Verdict.Stages {
		if stage.Tests != nil {
			for _, id := range stage.Tests.Preexisting {
				before[id] = true
			}
		}
	}
	var fresh []loop.Failure
	for _, f := range t.request.Verdict.Failures() {
		if !before[f.ID] {
			f.Message = prompts.Cut(f.Message, maxMessage)
			fresh = append(fresh, f)
		}
	}
	shown = fresh[:min(len(fresh), shownFailures)]
	return shown, len(fresh) - len(shown)
}

// always lists the files that the code must show: those of the plan and of earlier rounds, those
// that fail, the tests that hooks name, and the tests beside the plan's files.
func (t *turn) always(failures []loop.Failure) []string {
	var list []string
	add := func(p string) {
		if p != "" && len(list) < maxAlways && t.survey.exists(p) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, s := range t.request.Plan.Steps {
		for _, f := range s.Files {
			add(f)
		}
	}
	for _, f := range failures {
		add(f.File)
	}
	for _, round := range t.request.Attempts {
		if !round.RolledBack {
			for _, f := range round.Files {
				add(f)
			}
		}
	}
	for _, c := range t.request.Spec.Criteria {
		add(t.survey.hookFile(c.TestHook))
	}
	for _, f := range t.request.Plan.Files() {
		tests := t.survey.companions(f)
		for _, test := range tests[:min(len(tests), 1)] {
			add(test)
		}
	}
	return list
}

// findings adds what each finding's rule means.
func (t *turn) findings() []prompts.Finding {
	var list []prompts.Finding
	for _, f := range t.request.Findings {
		meaning := ""
		if t.request.Explain != nil {
			meaning = t.request.Explain(f.Rule)
		}
		list = append(list, prompts.Finding{Finding: f, Meaning: meaning})
	}
	return list
}

// shownState says which state of the files the round begins from, and the round that made it.
func (t *turn) shownState() (state prompts.State, round int) {
	head, attempts := t.request.Clone.Head(), t.request.Attempts
	undone := len(attempts) > 0 && attempts[len(attempts)-1].RolledBack
	for _, r := range slices.Backward(attempts) {
		if r.Commit != head || r.RolledBack {
			continue
		}
		if undone {
			return prompts.StateUndoneKept, r.Number
		}
		return prompts.StateKept, r.Number
	}
	inherited := t.request.Run.From != ""
	switch {
	case undone && inherited:
		return prompts.StateUndoneInherited, 0
	case undone:
		return prompts.StateUndoneBase, 0
	case inherited:
		return prompts.StateInherited, 0
	}
	return prompts.StateBase, 0
}

// attempts tells earlier rounds: their cause whole, and what is known of how they came out.
func attempts(rounds []loop.Round) []prompts.Attempt {
	var list []prompts.Attempt
	for _, r := range rounds {
		cause := r.RootCause
		if cause == "" {
			cause = "no root cause given"
		}
		list = append(list, prompts.Attempt{Number: r.Number, RootCause: cause, Files: r.Files, Outcome: outcomeOf(r)})
	}
	return list
}

// outcomeOf says how a round came out, a line each: what the checks said, what the guard refused
// and where, which criteria were proved, and whether it was undone.
func outcomeOf(r loop.Round) []string {
	var lines []string
	blocked := 0
	for _, f := range r.Guard {
		if f.Severity == loop.SeverityBlock {
			blocked++
			lines = append(lines, fmt.Sprintf("the guard blocks it: %s at %s: %s", f.Rule, placeOf(f.File, f.Line), f.Message))
		}
	}
	switch {
	case r.Verdict != nil:
		lines = append(checked(*r.Verdict), lines...)
		if len(r.Verdict.Acceptance) == 0 {
			for _, id := range slices.Sorted(maps.Keys(r.Hooks)) {
				lines = append(lines, fmt.Sprintf("%s: its test %s", id, r.Hooks[id]))
			}
		}
	case r.Refused != "" && blocked > 0:
		lines = append(lines, "it was not tested")
	case r.Refused != "":
		lines = append(lines, "refused before it was tested: "+r.Refused)
	default:
		lines = append(lines, strings.TrimSpace("ended as "+string(r.End)+" "+r.Message))
	}
	if r.RolledBack {
		lines = append(lines, "its change was undone")
	}
	return lines
}

// checked tells a verdict in lines: the checks, then the criteria.
func checked(v loop.Verdict) []string {
	const named = 4 // ids; all of the last round's are listed with their messages anyway
	var ids []string
	failures := v.Failures()
	for _, f := range failures {
		name := f.ID
		if name == "" && f.File != "" {
			name = placeOf(f.File, f.Line)
		}
		if name != "" && len(ids) < named && !slices.Contains(ids, name) {
			ids = append(ids, name)
		}
	}
	lines := []string{"every check is green"}
	switch {
	case len(failures) > 0:
		lines[0] = fmt.Sprintf("red, %d failures: %s", len(failures), strings.Join(ids, ", "))
	default:
		if red := redStages(v); len(red) > 0 {
			lines[0] = "red: " + strings.Join(red, ", ")
		}
	}
	for _, a := range v.Acceptance {
		line := a.ID + " is proved (" + string(a.Proof) + ")"
		if a.Proof == loop.ProofNone || a.Proof == "" {
			line = strings.TrimSuffix(a.ID+" is not proved: "+a.Note, ": ")
		}
		lines = append(lines, line)
	}
	return lines
}

// redStages names the stages that ran and failed.
func redStages(v loop.Verdict) []string {
	var red []string
	for _, name := range loop.Stages() {
		if stage, ran := v.Stages[name]; ran && !stage.NotRun && !stage.Pass {
			red = append(red, string(name))
		}
	}
	return red
}

// placeOf is file:line, or file where the line is not known.
func placeOf(file string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}

// reds tells why stages without a failing case are red, and whose logs can be read.
func (t *turn) reds(v loop.Verdict) (reasons, logs []string) {
	for _, name := range loop.Stages() {
		stage, ran := v.Stages[name]
		if !ran || stage.NotRun || stage.Pass {
			continue
		}
		if stage.Reason != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s", name, stage.Reason))
		} else if len(stage.Errors) == 0 && (stage.Tests == nil || len(stage.Tests.Failures) == 0) {
			code := ""
			if stage.ExitCode != nil {
				code = fmt.Sprintf(" with exit code %d", *stage.ExitCode)
			}
			reasons = append(reasons, fmt.Sprintf("%s: `%s` failed%s", name, stage.Command, code))
		}
		if t.request.Log != nil {
			if _, found := t.request.Log(string(name)); found {
				logs = append(logs, string(name))
			}
		}
	}
	return reasons, logs
}

// unproved lists the criteria whose proof is missing, where the round is about them.
func unproved(v loop.Verdict, strategy loop.Strategy) []loop.Acceptance {
	if strategy != loop.StrategyProve {
		return nil
	}
	var list []loop.Acceptance
	for _, a := range v.Acceptance {
		if a.Proof == loop.ProofNone || a.Proof == "" {
			list = append(list, a)
		}
	}
	return list
}

// implied says whether a file is declared without being named: the plan names it, or it is the
// test file of one that the plan names.
func (t *turn) implied(file string) bool {
	planned := t.request.Plan.Files()
	if slices.Contains(planned, file) {
		return true
	}
	return isTest(file) && slices.ContainsFunc(planned, func(p string) bool {
		return testStem(p) == testStem(file) && path.Ext(p) == path.Ext(file)
	})
}
