package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// publishRound pushes a verified round and shows its check runs, where the configuration asks for
// `publish: rounds`. Nothing goes out that the guard did not pass, that a person must approve first,
// or that would start workflows with secrets for an outsider's issue (security.md, rule 12): such a
// round stays here, and the final push asks.
func (d *drive) publishRound(ctx context.Context, clone Clone) (ended, error) {
	s := &d.s
	if !d.roundGoesOut() {
		return ok()
	}
	if stop, err := d.unwanted(ctx); err != nil || stop.result != ResultNone {
		return stop, err
	}
	if d.secretsMatter() {
		workflow, err := d.secretWorkflow(ctx, clone, s.Head)
		if err != nil {
			return ended{}, err
		}
		if workflow != "" {
			d.log.Info().Str("workflow", workflow).Msg("the round is not pushed: a workflow names secrets, and the issue's author has no write access")
			return ok()
		}
	}
	if result, err := d.pushCommit(ctx, clone, s.Head); err != nil || result.result != ResultOK {
		return result, err
	}
	s.Pushed = s.Head
	if err := d.save(ctx); err != nil {
		return ended{}, err
	}
	if err := d.Publisher.FinishChecks(ctx, *s, *s.Verdict); err != nil {
		return ended{}, fmt.Errorf("show the round's check runs: %w", err)
	}
	return ok()
}

// roundGoesOut says whether the current round may be pushed by itself.
func (d *drive) roundGoesOut() bool {
	s := &d.s
	v := s.Verdict
	return s.Config.Publish == PublishRounds && s.Task.Source != SourceCLI && s.Run.Trigger != TriggerRerun &&
		s.Head != s.Start && !s.conflicted() && v != nil && !v.Blocked() &&
		(!needsApproval(v.Guard) || slices.Contains(s.Approved, ApproveChange))
}

// secretsMatter says whether a push must first be looked through for workflows that name secrets.
func (d *drive) secretsMatter() bool {
	s := &d.s
	return !s.Config.TrustCI && !s.Task.Issue.AuthorTrusted && !slices.Contains(s.Approved, ApproveSecrets)
}

// pushCommit puts a commit on the task's branch, which is named first where it has no name yet.
func (d *drive) pushCommit(ctx context.Context, clone Clone, commit string) (ended, error) {
	s := &d.s
	repo := s.Task.Repo
	expect := s.Run.From
	if s.Pushed != "" {
		expect = s.Pushed
	}
	if s.Run.Branch == "" {
		branch, err := d.freeBranch(ctx)
		if err != nil {
			return ended{}, err
		}
		s.Run.Branch = branch
		// The name is stored before the push: a restart must find its own branch again.
		if err := d.save(ctx); err != nil {
			return ended{}, err
		}
	}
	there, err := d.Workspace.RemoteHead(ctx, repo, s.Run.Branch)
	if err != nil {
		return ended{}, err
	}
	if there == commit {
		return ok() // pushed before a crash
	}
	err = d.Workspace.Push(ctx, repo, clone, commit, s.Run.Branch, expect)
	if errors.Is(err, ErrHeadMoved) {
		return with(ResultMoved, "somebody pushed to `%s` meanwhile, and nothing was overwritten; `/autocode resume` goes on from there", s.Run.Branch)
	}
	if errors.Is(err, ErrNoAccess) && workflowRefusal.MatchString(err.Error()) {
		return with(ResultWorkflows, "GitHub refuses the push for want of the workflows permission, which this App does not ask for: %s. "+
			"Merge `%s` into `%s` yourself, then comment `/autocode resume`", workflowRefusal.FindString(err.Error()), repo.DefaultBranch, s.Run.Branch)
	}
	if err != nil {
		return ended{}, err
	}
	return ok()
}
