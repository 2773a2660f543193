package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrUnmergeable is returned by Clone.Merge for two commits that git cannot merge at all, such as
// those without a common past.
var ErrUnmergeable = errors.New("git cannot merge these commits")

// Merge is what came of merging one commit into another.
type Merge struct {
	// Commit has both as parents; it is the first one where there was nothing to merge in.
	Commit string
	// Conflicts are the files that Commit holds with git's conflict markers.
	Conflicts []string
}

// BaseMerge is the base branch as it was merged into a pull request's head at the start of a run.
type BaseMerge struct {
	Into      string   `json:"into"`   // the pull request's head
	With      string   `json:"with"`   // the head of the base branch
	Commit    string   `json:"commit"` // the merge, from which the run starts
	Conflicts []string `json:"conflicts,omitempty"`
}

// mergeBase brings the base branch into a pull request that a run goes on with, where it has moved
// since. Conflicts stay in the files, for the coder; what is pushed in the end is one merge commit
// that holds their solution.
func (d *drive) mergeBase(ctx context.Context, tip string) error {
	s := &d.s
	if s.Run.From == "" || s.Base == tip || s.Head != s.Start || len(s.Rounds) > 0 || s.Run.Trigger == TriggerRerun {
		return nil
	}
	clone, err := d.Workspace.Open(ctx, s.Task.Repo, s.Run.ID, s.Start)
	if err != nil {
		return err
	}
	defer func() { d.logClose(clone.Close()) }()
	merge, err := clone.Merge(ctx, tip, fmt.Sprintf("Merge %s into %s", s.Task.Repo.DefaultBranch, s.Run.Branch))
	if errors.Is(err, ErrUnmergeable) {
		d.log.Warn().Err(err).Msg("the base branch is left as it is")
		return nil
	}
	if err != nil {
		return err
	}
	s.Base, s.Verdict, d.baseline = tip, nil, nil
	if merge.Commit == s.Start {
		return nil
	}
	bundle, err := clone.Bundle(ctx, tip, merge.Commit)
	if err != nil {
		return fmt.Errorf("bundle the merge %s: %w", merge.Commit, err)
	}
	if err := d.Store.PutArtifact(ctx, d.lease, bundleName(merge.Commit), bundle); err != nil {
		return err
	}
	s.Merge = &BaseMerge{Into: s.Start, With: tip, Commit: merge.Commit, Conflicts: merge.Conflicts}
	s.Start, s.Head = merge.Commit, merge.Commit
	if len(merge.Conflicts) > 0 {
		s.Run.Guidance = strings.TrimSpace(s.Run.Guidance + fmt.Sprintf(
			"\n\nThe base branch was merged in. These files hold conflicts between markers of the kind <<<<<<<, ======= and >>>>>>>: %s. "+
				"Solve each so that what both sides wanted holds, and leave no marker.", few(merge.Conflicts)))
	}
	return nil
}

// conflicted says that the run is to solve conflicts with the base branch.
func (s *Snapshot) conflicted() bool { return s.Merge != nil && len(s.Merge.Conflicts) > 0 }

// markersLeft returns the first file of a commit that still holds the markers of a conflict, "" where
// none does.
func (d *drive) markersLeft(ctx context.Context, clone Clone, commit string) (string, error) {
	if !d.s.conflicted() {
		return "", nil
	}
	tree, err := clone.Tree(ctx, commit)
	if err != nil {
		return "", err
	}
	for _, path := range d.s.Merge.Conflicts {
		text, err := tree.Read(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // one side deleted it, and that was the solution
		}
		if err != nil {
			return "", err
		}
		open, shut := false, false
		for line := range bytes.Lines(text) {
			open = open || bytes.HasPrefix(line, []byte("<<<<<<< "))
			shut = shut || bytes.HasPrefix(line, []byte(">>>>>>> "))
		}
		if open && shut {
			return path, nil
		}
	}
	return "", nil
}

// ruleBaseMerged verifies a pull request into which the base was merged without conflicts, where
// nothing else was asked for.
func ruleBaseMerged(s *Snapshot) (Decision, bool) {
	if s.Phase != PhasePreparing || s.Last != ResultOK || s.Run.Trigger != TriggerBase || s.Spec == nil || s.Plan == nil || s.conflicted() {
		return Decision{}, false
	}
	return Decision{Action: ActionContinue, Next: PhaseVerifying, Reason: "the base was merged in without conflicts"}, true
}
