package agent

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// tidy brings a model's plan into the form of plan.json: paths as the repository spells them,
// what can be computed filled in, large steps split. What cannot be mended is a fault.
func (s *survey) tidy(plan loop.Plan, spec loop.Spec) (loop.Plan, []string) {
	var faults []string
	plan.Schema = loop.PlanSchema
	plan.Steps = slices.Clone(plan.Steps)
	number(plan.Steps)
	for i := range plan.Steps {
		step := &plan.Steps[i]
		var files []string
		for _, f := range step.Files {
			p, fault := s.place(f)
			if fault != "" {
				faults = append(faults, fmt.Sprintf("steps[%d].files: %s", i, fault))
				continue
			}
			if !slices.Contains(files, p) {
				files = append(files, p)
			}
		}
		if len(files) == 0 && len(faults) == 0 {
			faults = append(faults, fmt.Sprintf("steps[%d].files: there are none; name the files to change or create", i))
		}
		step.Files = files
		step.Acceptance = known(step.Acceptance, spec)
		if step.DependsOn == nil {
			step.DependsOn = []string{}
		}
	}
	if len(faults) == 0 {
		coverAll(plan.Steps, spec)
		plan.Steps = s.splitSteps(plan.Steps)
		s.estimate(plan.Steps)
	}
	for _, err := range split(plan.Validate(spec)) {
		faults = append(faults, err.Error())
	}
	return plan, faults
}

// number gives ids to steps whose ids are empty or not unique.
func number(steps []loop.Step) {
	seen := map[string]bool{}
	sound := true
	for _, step := range steps {
		sound = sound && step.ID != "" && !seen[step.ID]
		seen[step.ID] = true
	}
	if sound {
		return
	}
	for i := range steps {
		steps[i].ID = fmt.Sprintf("S%d", i+1)
	}
}

// known keeps the criteria that the spec has.
func known(ids []string, spec loop.Spec) []string {
	kept := []string{}
	for _, id := range ids {
		if slices.ContainsFunc(spec.Criteria, func(c loop.Criterion) bool { return c.ID == id }) {
			kept = append(kept, id)
		}
	}
	return kept
}

// coverAll gives criteria that no step serves to the last step.
func coverAll(steps []loop.Step, spec loop.Spec) {
	if len(steps) == 0 {
		return
	}
	for _, c := range spec.Criteria {
		if !slices.ContainsFunc(steps, func(step loop.Step) bool { return slices.Contains(step.Acceptance, c.ID) }) {
			last := &steps[len(steps)-1]
			last.Acceptance = append(last.Acceptance, c.ID)
		}
	}
}

// place finds the path that a model means. A name that exists once is that file; a new file may
// be made where the repository has a directory, or beside nothing of its name.
func (s *survey) place(given string) (p, fault string) {
	p = strings.Trim(strings.TrimSpace(given), "`*'\"")
	p = strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(p, "(new)")), "./")
	if p == "" {
		return "", "a path is empty"
	}
	if path.IsAbs(p) || strings.ContainsAny(p, "\\\x00\n\r") || p != path.Clean(p) || p == ".." || strings.HasPrefix(p, "../") {
		if path.Clean(p) == strings.TrimSuffix(p, "/") && s.hasDir(strings.TrimSuffix(p, "/")) {
			return "", fmt.Sprintf("%q is a directory; name files", given)
		}
		return "", fmt.Sprintf("%q is not a path relative to the repository's root", given)
	}
	if s.exists(p) {
		return p, ""
	}
	if s.hasDir(p) {
		return "", fmt.Sprintf("%q is a directory; name files", given)
	}
	switch same := s.endingIn(p); {
	case len(same) == 1:
		return same[0], ""
	case len(same) > 1 && !strings.Contains(p, "/"):
		return "", fmt.Sprintf("%q could be any of %s; give the whole path", given, strings.Join(same[:min(len(same), 4)], ", "))
	}
	if dir := path.Dir(p); !s.hasDir(dir) {
		if same := s.endingIn(path.Base(p)); len(same) > 0 {
			return "", fmt.Sprintf("there is no %q; did you mean %s?", given, strings.Join(same[:min(len(same), 4)], " or "))
		}
	}
	return p, ""
}

// splitSteps cuts steps over the limits of a plan into parts that follow one another; steps that
// depended on the whole depend on its last part.
func (s *survey) splitSteps(steps []loop.Step) []loop.Step {
	var all []loop.Step
	last := map[string]string{}
	for _, step := range steps {
		parts := s.parts(step.Files)
		for i, files := range parts {
			part := step
			part.Files = files
			part.DependsOn = slices.Clone(step.DependsOn)
			if len(parts) > 1 {
				part.ID = fmt.Sprintf("%s.%d", step.ID, i+1)
				part.Title = fmt.Sprintf("%s (part %d of %d)", step.Title, i+1, len(parts))
				if i > 0 {
					part.DependsOn = []string{fmt.Sprintf("%s.%d", step.ID, i)}
				}
				last[step.ID] = part.ID
			}
			all = append(all, part)
		}
	}
	for i := range all {
		for j, d := range all[i].DependsOn {
			if end, split := last[d]; split {
				all[i].DependsOn[j] = end
			}
		}
	}
	return all
}

// parts groups files so that each group stays within a step's limits.
func (s *survey) parts(files []string) [][]string {
	var parts [][]string
	var group []string
	budget := 0
	for _, f := range files {
		cost := s.tokensOf(f)
		if len(group) > 0 && (len(group) == loop.MaxStepFiles || budget+cost > loop.MaxStepTokens) {
			parts, group, budget = append(parts, group), nil, 0
		}
		group, budget = append(group, f), budget+cost
	}
	return append(parts, group)
}

// What a step costs, roughly: its files are read once, and a change is written for each.
const (
	bytesPerToken   = 4
	tokensPerChange = 1_500
)

func (s *survey) tokensOf(file string) int {
	return min(int(s.files[file].Size)/bytesPerToken+tokensPerChange, loop.MaxStepTokens)
}

// estimate fills in what follows from a step's files.
func (s *survey) estimate(steps []loop.Step) {
	const minutesPerFile = 2 // writing and verifying, measured on nothing but experience
	for i := range steps {
		step := &steps[i]
		step.TokenBudget = 0
		var existing, fresh []string
		for _, f := range step.Files {
			step.TokenBudget += s.tokensOf(f)
			if s.exists(f) {
				existing = append(existing, f)
			} else {
				fresh = append(fresh, f)
			}
		}
		step.TokenBudget = min(step.TokenBudget, loop.MaxStepTokens)
		step.Minutes = minutesPerFile * len(step.Files)
		var undo []string
		if len(existing) > 0 {
			undo = append(undo, "restore "+strings.Join(existing, ", ")+" from the base")
		}
		if len(fresh) > 0 {
			undo = append(undo, "remove "+strings.Join(fresh, ", "))
		}
		step.Rollback = strings.Join(undo, "; ")
		step.Parallelizable = len(step.DependsOn) == 0 && len(steps) > 1 && !sharesFiles(steps, i)
	}
}

func sharesFiles(steps []loop.Step, i int) bool {
	for j := range steps {
		if j != i && slices.ContainsFunc(steps[i].Files, func(f string) bool { return slices.Contains(steps[j].Files, f) }) {
			return true
		}
	}
	return false
}

// salvage makes a plan of one step from whatever files of the model's plans are sound, else from
// the best ranked source file: the coder is not bound to it.
func (s *survey) salvage(plan loop.Plan, request loop.PlanRequest, ranked []string) (loop.Plan, bool) {
	named := plan.Files()
	if request.Draft != nil {
		named = append(named, request.Draft.Files()...)
	}
	var files []string
	for _, f := range named {
		if p, fault := s.place(f); fault == "" && !slices.Contains(files, p) && len(files) < loop.MaxStepFiles {
			files = append(files, p)
		}
	}
	if len(files) == 0 && len(ranked) > 0 {
		files = ranked[:1]
	}
	saved, faults := s.tidy(loop.Plan{Steps: []loop.Step{{ID: "S1", Title: request.Spec.Goal, Files: files,
		Risk: "the planner found no valid plan; these are the files it named, or the likeliest one"}}}, request.Spec)
	return saved, len(files) > 0 && len(faults) == 0
}

// genericStems are names that say nothing about who uses a file.
var genericStems = regexp.MustCompile(`^(index|main|init|__init__|utils?|helpers?|common|types|base|core|app|lib|mod)$`)

// withImpact adds the tests that belong to the plan's files and files that mention them by name.
func (s *survey) withImpact(ctx context.Context, plan loop.Plan) (loop.Plan, error) {
	const most, lines, shortest = 10, 40, 4
	declared := plan.Files()
	plan.Impact = nil
	add := func(p string) {
		file, _, _ := strings.Cut(p, ":")
		if len(plan.Impact) < most && !slices.Contains(declared, file) &&
			!slices.ContainsFunc(plan.Impact, func(have string) bool { have, _, _ = strings.Cut(have, ":"); return have == file }) {
			plan.Impact = append(plan.Impact, p)
		}
	}
	for _, f := range declared {
		for _, t := range s.companions(f) {
			add(t)
		}
		stem := testStem(f)
		if isTest(f) || !s.exists(f) || len(stem) < shortest || genericStems.MatchString(stem) {
			continue
		}
		// Lines that import the file by its name, in the languages that import files.
		found, err := s.index.Search(ctx, s.tree, `(import|from|require|include|use)\b.*\b`+regexp.QuoteMeta(stem)+`\b`, "", lines)
		if err != nil {
			return loop.Plan{}, fmt.Errorf("look for users of %s: %w", f, err)
		}
		for _, line := range found.Lines {
			file, rest, _ := strings.Cut(line, ":")
			at, _, _ := strings.Cut(rest, ":")
			add(file + ":" + at)
		}
	}
	return plan, nil
}
