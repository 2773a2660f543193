package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

// Critic reviews green candidates by a model that sees spec, diff and verdict.
type Critic struct{ config Config }

var _ loop.Critic = (*Critic)(nil)

// NewCritic returns a critic.
func NewCritic(config Config) *Critic { return &Critic{config: config.withDefaults()} }

const purposeReview = "review"

const (
	// maxPatch is how much of a diff the critic is shown, in bytes: about 12k tokens, more than
	// the default limit of changed lines.
	maxPatch = 48_000
	// patchPerCode is how many bytes of diff a token of code around it goes with: 4k tokens of
	// code beside the longest diff.
	patchPerCode = 12
	// maxFindings bounds what a coder can be asked to answer to.
	maxFindings = 20
	// nearby is how far from a changed line a finding may point: the context that diffs show.
	nearby = 3
)

// Review returns scores and findings. A blocking finding that points outside the diff is kept as
// a remark.
func (c *Critic) Review(ctx context.Context, request loop.ReviewRequest) (loop.Review, error) {
	s, err := newSurvey(ctx, request.Index, request.Tree)
	if err != nil {
		return loop.Review{}, err
	}
	var changed []string
	for _, f := range request.Diff.Files {
		if f.Op != loop.OpDelete && s.exists(f.Path) && !isTest(f.Path) {
			changed = append(changed, f.Path)
		}
	}
	var review loop.Review
	err = shrinking(maxPatch, func(room int) error {
		code := ""
		if len(changed) > 0 {
			query := request.Spec.Goal + "\n" + strings.Join(changed, "\n")
			var err error
			if code, _, err = s.pack(ctx, query, changed, min(room/patchPerCode, c.config.PlannerBudget)); err != nil {
				return err
			}
		}
		prompt, err := prompts.Review(prompts.ReviewData{
			Issue: prompts.NewIssue(request.Task, loop.Run{}, nil), Spec: request.Spec,
			Patch: prompts.Cut(request.Diff.Patch, room), Cut: len(request.Diff.Patch) > room,
			Verified: stageLines(request.Verdict), Acceptance: request.Verdict.Acceptance, Code: code,
		})
		if err != nil {
			return err
		}
		return structured(ctx, request.Model, loop.ModelRequest{
			Role: loop.RoleCritic, Purpose: purposeReview, Schema: reviewSchema(), SchemaName: "review",
		}, prompt, func(raw json.RawMessage) (faulty, error) {
			review = loop.Review{}
			if err := json.Unmarshal(raw, &review); err != nil {
				return faulty{faults: []string{err.Error()}}, nil
			}
			return faulty{}, nil
		})
	})
	if err != nil {
		return loop.Review{}, err
	}
	return settle(review, request.Diff), nil
}

// stageLines tells what the machine verified.
func stageLines(v loop.Verdict) []string {
	var lines []string
	for _, name := range loop.Stages() {
		stage, ran := v.Stages[name]
		if !ran || stage.NotRun {
			continue
		}
		line := string(name) + ": red"
		if stage.Pass {
			line = string(name) + ": green"
		}
		if stage.Tests != nil {
			line += fmt.Sprintf(", %d passed, %d failed", stage.Tests.Passed, len(stage.Tests.Failed))
		}
		lines = append(lines, line)
	}
	return lines
}

// dimensions are what a review scores, from worst to best.
var dimensions = []string{"correctness", "security", "readability", "scope"}

const (
	worst = 1
	best  = 5
)

// settle brings a review into bounds: every score from 1 to 5, blocking findings inside the diff.
func settle(review loop.Review, diff loop.Diff) loop.Review {
	scores := map[string]int{}
	for _, d := range dimensions {
		scores[d] = min(max(review.Scores[d], worst), best)
	}
	review.Scores = scores
	kept := []loop.ReviewFinding{}
	for _, f := range review.Findings {
		f.Message = strings.TrimSpace(f.Message)
		f.File = strings.TrimPrefix(strings.Trim(strings.TrimSpace(f.File), "`"), "./")
		if f.Message == "" || len(kept) == maxFindings {
			continue
		}
		f.Blocking = f.Blocking && inDiff(diff, f.File, f.Line)
		f.Line = max(f.Line, 0)
		kept = append(kept, f)
	}
	review.Findings = kept
	review.Summary = strings.TrimSpace(review.Summary)
	return review
}

// inDiff says whether a line of the new file is one that the diff shows as changed, or near one.
// Where a diff only removes, the lines around the gap count.
func inDiff(diff loop.Diff, file string, line int) bool {
	if line <= 0 {
		return false
	}
	for _, f := range diff.Files {
		if f.Path != file {
			continue
		}
		at := 0 // the new file's line before a removed one
		for _, l := range f.Lines {
			if l.New > 0 {
				at = l.New
			}
			if l.Op != loop.LineContext && line >= at-nearby && line <= at+nearby {
				return true
			}
		}
	}
	return false
}
