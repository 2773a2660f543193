package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// undonePatchMax bounds the diff of a rolled-back round that the next prompt shows, in bytes.
const undonePatchMax = 12_000

// code does one round's coding: the coder edits a worktree, the result is committed, cut to the
// declared files and shown to the guard. A round that makes several candidates gives each a clone of
// its own.
func (d *drive) code(ctx context.Context) (ended, error) {
	s := &d.s
	clone, err := d.workClone(ctx)
	if err != nil {
		return ended{}, err
	}
	// An interrupted round may have left edits behind.
	if err := clone.Reset(ctx, s.Head, true); err != nil {
		return ended{}, err
	}
	s.dropStaleCandidates()
	s.Candidates = slices.DeleteFunc(s.Candidates, Candidate.unmade)
	round := Round{Number: len(s.Rounds) + 1, Strategy: s.Strategy, Strong: s.Strong, Parent: s.Head}
	request, err := d.codeRequest(ctx, clone, round.Number)
	if err != nil {
		return ended{}, err
	}
	n, err := d.candidates(ctx)
	if err != nil {
		return ended{}, err
	}
	if n > 1 {
		return d.codeSeveral(ctx, clone, n, request, round)
	}
	c, err := d.makeCandidate(ctx, request, Candidate{Number: 1, Made: round})
	if err != nil {
		return ended{}, err
	}
	return d.take(c)
}

// makeCandidate lets the coder make one candidate in the request's clone. It changes nothing of the
// run's state.
func (d *drive) makeCandidate(ctx context.Context, request CodeRequest, c Candidate) (Candidate, error) {
	round := &c.Made
	round.At = d.Clock.Now()
	defer func() { round.Duration = d.Clock.Now().Sub(round.At) }()
	result, err := d.Coder.Code(ctx, request)
	round.End, round.RootCause, round.Files, round.Why = result.End, result.RootCause, result.Files, result.Why
	round.Message, round.Steps, round.Remarks = result.Message, result.Steps, result.Remarks
	if err != nil {
		var model *ModelError
		if errors.As(err, &model) && (model.Fault == ModelMalformed || model.Fault == ModelRefused || model.Fault == ModelOverflow) {
			// The reply is of no use, but the next round may ask in another way.
			return c, c.refuse(err.Error())
		}
		return c, err
	}
	c.Detail = result.Message
	switch result.End {
	case CodeAsk:
		c.Result, c.Question = ResultQuestion, &Question{Text: result.Message, Choices: result.Choices}
	case CodeApproval:
		c.Result = ResultApproval
	case CodeNothing:
		c.Result = ResultNothing
	case CodeGiveUp:
		c.Result = ResultGaveUp
	case CodeStalled:
		c.Result = ResultStalled
	case CodeEdited:
		c.Detail = ""
		err = d.commitCandidate(ctx, request.Clone, &c)
	default:
		c.Result, c.Detail = ResultError, fmt.Sprintf("the coder ended with the unknown word %q", result.End)
	}
	return c, err
}

// commitCandidate commits the worktree and decides whether it is worth verifying.
func (d *drive) commitCandidate(ctx context.Context, clone Clone, c *Candidate) error {
	round := &c.Made
	commit, undeclared, err := d.commitDeclared(ctx, clone, *round)
	if err != nil {
		return err
	}
	if commit == round.Parent {
		return c.refuse("the edits change nothing")
	}
	round.Commit = commit
	if len(undeclared) > 0 {
		round.Message = strings.TrimSpace(round.Message + "\nLeft out, since FILES did not name them: " + few(undeclared))
	}
	if err := d.keep(ctx, clone, commit); err != nil {
		return err
	}
	if left, err := d.markersLeft(ctx, clone, commit); err != nil {
		return err
	} else if left != "" {
		return c.refuse("conflict markers are left in " + left)
	}
	diff, err := clone.Diff(ctx, d.s.Base, commit)
	if err != nil {
		return err
	}
	round.Added, round.Removed = diff.Count()
	c.Change = changeID(diff)
	if round.Guard, err = d.guard(ctx, clone, commit, diff, nil); err != nil {
		return err
	}
	if blocks(round.Guard) {
		return c.refuse(blocking(round.Guard).String())
	}
	c.Result = ResultOK
	return nil
}

// take makes a candidate the round's own and returns how its coding came out.
func (d *drive) take(c Candidate) (ended, error) {
	s := &d.s
	if c.Result == ResultQuestion {
		s.Question = c.Question
	}
	if c.Result == ResultApproval {
		s.Pending = &Approval{Key: ApproveRequest, Reason: c.Detail}
	}
	if c.Result == ResultQuestion || c.Result == ResultApproval || c.Result == ResultError {
		return ended{result: c.Result, detail: c.Detail}, nil // nothing was tried yet
	}
	if c.Made.Commit != "" {
		s.Head, s.Verdict, s.Review = c.Made.Commit, nil, nil
	}
	s.Rounds = append(s.Rounds, c.Made)
	s.Spent.Rounds = len(s.Rounds)
	s.Best = best(s.Rounds)
	return ended{result: c.Result, detail: c.Detail}, nil
}

// commitDeclared commits what the coder declared and puts everything else back: build output and
// caches that a repository forgot to ignore must not get into the change.
func (d *drive) commitDeclared(ctx context.Context, clone Clone, round Round) (commit string, undeclared []string, err error) {
	commit, err = clone.Commit(ctx, commitMessage(d.s.Run.ID, round))
	if err != nil || commit == round.Parent {
		return commit, nil, err
	}
	diff, err := clone.Diff(ctx, round.Parent, commit)
	if err != nil {
		return "", nil, err
	}
	for _, path := range diff.Paths() {
		if !slices.Contains(round.Files, path) {
			undeclared = append(undeclared, path)
		}
	}
	if len(undeclared) == 0 {
		return commit, nil, nil
	}
	if err := clone.Restore(ctx, round.Parent, undeclared); err != nil {
		return "", nil, err
	}
	if commit, err = clone.Commit(ctx, commitMessage(d.s.Run.ID, round)); err != nil {
		return "", nil, err
	}
	left, err := clone.Diff(ctx, round.Parent, commit)
	if err != nil {
		return "", nil, err
	}
	if len(left.Files) == 0 {
		return round.Parent, undeclared, clone.Reset(ctx, round.Parent, true)
	}
	if commit, err = clone.Squash(ctx, round.Parent, commit, commitMessage(d.s.Run.ID, round)); err != nil {
		return "", nil, err
	}
	return commit, undeclared, clone.Reset(ctx, commit, true)
}

// guard asks the guard about everything between the base and a commit.
func (d *drive) guard(ctx context.Context, clone Clone, commit string, diff Diff, head *Outcome) ([]Finding, error) {
	s := &d.s
	baseTree, err := clone.Tree(ctx, s.Base)
	if err != nil {
		return nil, err
	}
	headTree, err := clone.Tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	findings, err := d.Guard.Check(ctx, GuardRequest{
		Diff: diff, BaseTree: baseTree, HeadTree: headTree, Base: d.baseline, Head: head,
		Policy: s.Config.Paths, Limits: s.Config.Limits, Spec: s.Spec,
	})
	if err != nil {
		return nil, fmt.Errorf("the guard could not judge the change: %w", err)
	}
	return findings, nil
}

// codeRequest gathers what the coder is shown in a round.
func (d *drive) codeRequest(ctx context.Context, clone Clone, number int) (CodeRequest, error) {
	s := &d.s
	baseline, err := d.verifiedBase(ctx)
	if err != nil {
		return CodeRequest{}, err
	}
	lessons, err := d.lessons(ctx)
	if err != nil {
		return CodeRequest{}, err
	}
	request := CodeRequest{
		Task: s.Task, Run: s.Run, Spec: *s.Spec, Plan: *s.Plan, Round: number,
		Model: meteredModel{d: d}, Strong: s.Strong, Index: d.Index, Clone: clone, Runner: d.Runner, Config: s.Config,
		Strategy: s.Strategy, Verdict: s.Verdict, Baseline: baseline, Attempts: s.Rounds, Review: s.Review,
		Answers: s.Answers, Lessons: lessons, Before: d.checkLimits, Log: d.storedLog(ctx),
	}
	if explainer, can := d.Guard.(Explainer); can {
		request.Explain = explainer.Explain
	}
	last := s.Current()
	if last == nil {
		return request, nil
	}
	request.Findings, request.Kept = last.Guard, last.Commit != "" && last.Commit == s.Head
	if !blocks(last.Guard) {
		request.Refused = last.Refused
	}
	if last.Verdict != nil && (request.Verdict == nil || last.RolledBack) {
		request.Verdict = last.Verdict
	}
	if last.RolledBack && last.Commit != "" {
		diff, err := clone.Diff(ctx, last.Parent, last.Commit)
		if err != nil {
			return CodeRequest{}, err
		}
		request.UndonePatch = cut(diff.Patch, undonePatchMax)
	}
	return request, nil
}

// storedLog reads the logs of the last verdict.
func (d *drive) storedLog(ctx context.Context) func(name string) ([]byte, bool) {
	return func(name string) ([]byte, bool) {
		last := d.s.Current()
		if last == nil {
			return nil, false
		}
		log, err := d.Store.Artifact(ctx, d.s.Run.ID, logName(roundLabel(last.Number, last.Candidate), name))
		return log, err == nil
	}
}

// roundLabel names a round in artifacts, with the candidate where it made several (0: it did not).
func roundLabel(round, candidate int) string {
	if candidate == 0 {
		return fmt.Sprintf("round-%d", round)
	}
	return fmt.Sprintf("round-%d-candidate-%d", round, candidate)
}

// logName is the artifact that holds the raw output of a stage in a round.
func logName(label, stage string) string { return "logs/" + label + "/" + stage + ".log" }

// commitMessage is the message of a round's own commit, which is never pushed by default.
func commitMessage(run string, round Round) string {
	return fmt.Sprintf("autocode: round %d of run %s", round.Number, run)
}

// place is file:line, or file where the line is not known.
func place(file string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}

// cut shortens a text to at most max bytes at the end of a line and says so.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	head := text[:max]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i]
	}
	return fmt.Sprintf("%s\n[%d more bytes left out]\n", head, len(text)-len(head))
}
