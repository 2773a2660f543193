package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
)

// TestPersonPushed: what a person pushed meanwhile is never overwritten, and resume goes on from it.
func TestPersonPushed(t *testing.T) {
	w := newWorld(t)
	w.verdicts = []func() (loop.Verdict, error){says(red("TestA")), says(red("TestA")), says(red("TestA")), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseEscalated, "")
	theirs := w.git.commit(s.Pushed, "by a person", map[string]string{"a.go": "by a person", "b.go": "old"})
	w.git.branches[s.Run.Branch] = theirs
	w.signal(loop.SignalResume, "")
	s = w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if w.git.branches[s.Run.Branch] != theirs || s.Start != theirs {
		t.Errorf("the branch is at %.8s, the person's commit is %.8s", w.git.branches[s.Run.Branch], theirs)
	}
}

// TestPersonPushedThenHandOver: what was best before a person pushed lacks their work, so that it is
// not what a hand-over shows.
func TestPersonPushedThenHandOver(t *testing.T) {
	w := newWorld(t)
	w.verdicts = []func() (loop.Verdict, error){says(red("A")), says(red("A"))}
	s := w.drive(t)
	wants(t, s, loop.PhaseEscalated, "")
	theirs := w.git.commit(s.Pushed, "by a person", map[string]string{"a.go": "old", "b.go": "by a person"})
	w.git.branches[s.Run.Branch] = theirs
	w.verdicts = []func() (loop.Verdict, error){says(red("A", "B", "C"))}
	w.signal(loop.SignalResume, "")
	s = w.drive(t)
	wants(t, s, loop.PhaseEscalated, "")
	if tree := w.git.objects[w.git.branches[s.Run.Branch]]; tree["b.go"] != "by a person" {
		t.Errorf("the branch holds %v:\n%s", tree, story(s))
	}
}

// TestChangesAreThoseOfTheFinalDiff: a file whose change was undone, or put back later, is none of them.
func TestChangesAreThoseOfTheFinalDiff(t *testing.T) {
	w := newWorld(t)
	write := func(why string, files map[string]string) func(loop.CodeRequest) (loop.CodeResult, error) {
		return func(r loop.CodeRequest) (loop.CodeResult, error) {
			result := loop.CodeResult{End: loop.CodeEdited, RootCause: why, Why: map[string]string{}}
			for f, text := range files {
				r.Clone.(*fakeClone).work[f] = text
				result.Files, result.Why[f] = append(result.Files, f), why
			}
			return result, nil
		}
	}
	w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){
		write("first", map[string]string{"a.go": "1", "b.go": "1"}),
		write("second", map[string]string{"c.go": "2"}),
		write("third", map[string]string{"b.go": "old", "d.go": "3"}),
	}
	w.verdicts = []func() (loop.Verdict, error){says(red("A", "B")), says(red("!TestOld")), says(green())}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	var got []string
	for _, c := range s.Changes {
		got = append(got, c.Path+": "+c.Why)
	}
	if want := []string{"a.go: first", "d.go: third"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	if message := loop.FinalMessage(s); !strings.Contains(message, "third") {
		t.Errorf("message\n%s", message)
	}
}

func TestHeadMoved(t *testing.T) {
	w := newWorld(t)
	w.failing["push"] = fmt.Errorf("push: %w", loop.ErrHeadMoved)
	wants(t, w.drive(t), loop.PhaseEscalated, "/autocode resume")
}

func TestRetryFromPullRequest(t *testing.T) {
	w := newWorld(t)
	first := w.drive(t)
	spec, plan, was := goodSpec(), goodPlan(), red("TestA")
	w.start(loop.Run{ID: "r1", Number: 2, Trigger: loop.TriggerRetry, From: first.Final, Branch: first.Run.Branch, PullRequest: 7, Guidance: "use less"},
		loop.Snapshot{Base: first.Base, Spec: &spec, Plan: &plan, Verdict: &was, Pull: first.Pull})
	w.requests, w.codes = nil, []func(loop.CodeRequest) (loop.CodeResult, error){edit("b.go")}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if w.git.parents[s.Final] != first.Final || w.git.branches[first.Run.Branch] != s.Final {
		t.Errorf("the new commit is not on top of the pull request's head")
	}
	if r := w.requests[0]; r.Strategy != loop.StrategyFollowUp || r.Verdict == nil || r.Run.Guidance != "use less" {
		t.Errorf("the coder was told %s, %v", r.Strategy, r.Verdict)
	}
}

// TestHandOverSaysWhatThePullRequestHolds: a run that comes to nothing leaves the pull request as it is, and
// does not call it a draft.
func TestHandOverSaysWhatThePullRequestHolds(t *testing.T) {
	w := newWorld(t)
	first := w.drive(t)
	spec, plan := goodSpec(), goodPlan()
	w.start(loop.Run{ID: "r1", Number: 2, Trigger: loop.TriggerRetry, From: first.Final, Branch: first.Run.Branch, PullRequest: 7},
		loop.Snapshot{Base: first.Base, Spec: &spec, Plan: &plan, Pull: first.Pull})
	w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){codeEnd(loop.CodeGiveUp, "too hard")}
	wants(t, w.drive(t), loop.PhaseEscalated, "too hard")
	said := ""
	for _, notice := range w.hub.notices {
		if notice.Kind == loop.NoticeHandOver {
			said = notice.Markdown
		}
	}
	if want := fmt.Sprintf("#%d is as it was before this run.", first.Pull.Number); !strings.Contains(said, want) || strings.Contains(said, "draft") {
		t.Errorf("%s\nwant %q", said, want)
	}
}

func TestRerun(t *testing.T) {
	for name, verdict := range map[string]loop.Verdict{"green": green(), "red": red("TestA")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first := w.drive(t)
			calls := len(w.store.ledger)
			spec, plan := goodSpec(), goodPlan()
			w.start(loop.Run{ID: "r1", Number: 2, Trigger: loop.TriggerRerun, From: first.Final, Branch: first.Run.Branch, PullRequest: 7},
				loop.Snapshot{Base: first.Base, Spec: &spec, Plan: &plan, Pull: first.Pull})
			w.verdicts, w.proofs = []func() (loop.Verdict, error){says(verdict)}, []func() (loop.Verdict, error){says(verdict)}
			s := w.drive(t)
			wants(t, s, loop.PhaseDone, name)
			if len(w.store.ledger) != calls || len(w.pushes) != 1 {
				t.Errorf("%d model calls, %d pushes", len(w.store.ledger)-calls, len(w.pushes))
			}
			if w.hub.pull.Draft != (name == "red") {
				t.Errorf("draft is %v", w.hub.pull.Draft)
			}
		})
	}
}

func TestBaseMoved(t *testing.T) {
	w := newWorld(t)
	base := w.git.branches["main"]
	w.codes = []func(loop.CodeRequest) (loop.CodeResult, error){func(r loop.CodeRequest) (loop.CodeResult, error) {
		w.git.branches["main"] = w.git.commit(base, "meanwhile", map[string]string{"c.go": "new"})
		return edit("a.go")(r)
	}}
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "ready")
	if s.Base != base || w.git.parents[s.Final] != base {
		t.Error("the change is not made against the commit that was verified")
	}
}

// TestBaseIsMergedIn: a run that goes on with a pull request brings a moved base in; conflicts are the
// coder's, and what is pushed is one merge commit on top of both.
func TestBaseIsMergedIn(t *testing.T) {
	for name, c := range map[string]struct {
		trigger loop.Trigger
		theirs  map[string]string // main meanwhile
		codes   []func(loop.CodeRequest) (loop.CodeResult, error)
		coded   int
	}{
		"no conflict":                {loop.TriggerBase, map[string]string{"a.go": "old", "b.go": "old", "c.go": "new"}, nil, 0},
		"no conflict, with guidance": {loop.TriggerRetry, map[string]string{"a.go": "old", "b.go": "old", "c.go": "new"}, []func(loop.CodeRequest) (loop.CodeResult, error){edit("b.go")}, 1},
		"conflict":                   {loop.TriggerBase, map[string]string{"a.go": "theirs", "b.go": "old"}, []func(loop.CodeRequest) (loop.CodeResult, error){edit("a.go")}, 1},
		"markers are left":           {loop.TriggerBase, map[string]string{"a.go": "theirs", "b.go": "old"}, []func(loop.CodeRequest) (loop.CodeResult, error){edit("b.go"), edit("a.go")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first := w.drive(t)
			theirs := w.git.commit(first.Base, "meanwhile", c.theirs)
			w.git.branches["main"] = theirs
			spec, plan := goodSpec(), goodPlan()
			w.start(loop.Run{ID: "r1", Number: 2, Trigger: c.trigger, From: first.Final, Branch: first.Run.Branch, PullRequest: 7},
				loop.Snapshot{Base: first.Base, Spec: &spec, Plan: &plan, Verdict: first.Verdict, Pull: first.Pull})
			w.requests, w.codes = nil, c.codes
			s := w.drive(t)
			wants(t, s, loop.PhaseDone, "ready")
			if len(w.requests) != c.coded {
				t.Fatalf("the coder was asked %d times, want %d:\n%s", len(w.requests), c.coded, story(s))
			}
			if s.Base != theirs || s.Merge == nil || w.git.branches[s.Run.Branch] != s.Final {
				t.Errorf("base %.8s, merge %+v", s.Base, s.Merge)
			}
			parents := w.git.parents[s.Final]
			if s.Final != s.Merge.Commit && parents == s.Merge.Commit {
				parents = w.git.parents[s.Merge.Commit]
			}
			if want := first.Final + " " + theirs; parents != want {
				t.Errorf("what is pushed has the parents %q, want %q", parents, want)
			}
			for path, text := range w.git.objects[s.Final] {
				if strings.Contains(text, "<<<<<<<") {
					t.Errorf("%s: %s", path, text)
				}
			}
			if c.coded > 0 && len(s.Merge.Conflicts) > 0 && !strings.Contains(w.requests[0].Run.Guidance, "a.go") {
				t.Errorf("the coder was told %q", w.requests[0].Run.Guidance)
			}
		})
	}
}

// TestRenamedInMidRun: a run goes on under the name that its repository has by now, whichever phase
// meets the old one first.
func TestRenamedInMidRun(t *testing.T) {
	w := newWorld(t)
	w.hub.renamed = "gadgets"
	s := w.drive(t)
	wants(t, s, loop.PhaseDone, "")
	if s.Task.Repo.Name != "gadgets" || !strings.Contains(s.Task.Repo.CloneURL, "gadgets") {
		t.Errorf("repository %+v", s.Task.Repo)
	}
}

// TestTokenTakenForBad: a run goes on with a new token.
func TestTokenTakenForBad(t *testing.T) {
	w := newWorld(t)
	w.hub.badToken = true
	wants(t, w.drive(t), loop.PhaseDone, "")
}

// TestWorkflowsPermission: a push that GitHub refuses for want of the permission is handed over, naming it.
func TestWorkflowsPermission(t *testing.T) {
	w := newWorld(t)
	w.failing["push"] = fmt.Errorf("push: refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission: %w", loop.ErrNoAccess)
	s := w.drive(t)
	wants(t, s, loop.PhaseEscalated, "workflows permission")
	if !strings.Contains(s.Ended, ".github/workflows/ci.yml") {
		t.Error(s.Ended)
	}
}

// TestPublishRounds: every round that the guard passed is on the branch with its check runs; what
// the guard refused, what waits for approval, and what secrets forbid is not.
func TestPublishRounds(t *testing.T) {
	everyRound := func(c *loop.Config) { c.Publish = loop.PublishRounds }
	block := func() []loop.Finding {
		return []loop.Finding{{Rule: "secret", Severity: loop.SeverityBlock, File: "a.go", Message: "a key"}}
	}
	none := func() []loop.Finding { return nil }
	t.Run("red, then green", func(t *testing.T) {
		w := newWorld(t)
		w.configure(everyRound)
		w.verdicts = []func() (loop.Verdict, error){says(red("TestA")), says(green())}
		s := w.drive(t)
		wants(t, s, loop.PhaseDone, "ready")
		if want := []string{s.Rounds[0].Commit, s.Rounds[1].Commit, s.Final}; !slices.Equal(w.pushes, want) {
			t.Errorf("pushed %v, want %v", w.pushes, want)
		}
		if w.git.branches[s.Run.Branch] != s.Final || w.hub.pulls != 1 || w.hub.checks[s.Rounds[0].Commit] != "failure" || w.hub.checks[s.Final] != "success" {
			t.Errorf("%d pull requests, check runs %v", w.hub.pulls, w.hub.checks)
		}
	})
	t.Run("by default only the finished one", func(t *testing.T) {
		w := newWorld(t)
		w.verdicts = []func() (loop.Verdict, error){says(red("TestA")), says(green())}
		s := w.drive(t)
		if !slices.Equal(w.pushes, []string{s.Final}) {
			t.Errorf("pushed %v", w.pushes)
		}
	})
	t.Run("refused after verification", func(t *testing.T) {
		w := newWorld(t)
		w.configure(everyRound)
		w.guards = []func() []loop.Finding{none, block, none}
		s := w.drive(t)
		wants(t, s, loop.PhaseDone, "ready")
		if slices.Contains(w.pushes, s.Rounds[0].Commit) {
			t.Error("a round was pushed that the guard refused")
		}
	})
	t.Run("a person must approve", func(t *testing.T) {
		w := newWorld(t)
		w.configure(everyRound)
		w.guards = []func() []loop.Finding{func() []loop.Finding {
			return []loop.Finding{{Rule: "migration", Severity: loop.SeverityApprove, File: "a.go", Message: "a migration"}}
		}}
		wants(t, w.drive(t), loop.PhaseApproving, "a migration")
		w.pushed(t, 0)
	})
	t.Run("a workflow names secrets", func(t *testing.T) {
		w := newWorld(t)
		w.configure(everyRound)
		s := w.store.newest()
		s.Task.Issue.AuthorTrusted = false
		w.store.snapshots = nil
		w.store.put(s)
		w.git.branches["main"] = w.git.commit("", "first", map[string]string{".github/workflows/ci.yml": "env: ${{ secrets.KEY }}"})
		wants(t, w.drive(t), loop.PhaseApproving, "ci.yml")
		w.pushed(t, 0)
	})
	t.Run("no longer wanted", func(t *testing.T) {
		w := newWorld(t)
		w.configure(everyRound)
		w.verdicts = []func() (loop.Verdict, error){func() (loop.Verdict, error) {
			w.hub.standing = loop.Standing{Reason: "the label is gone"}
			return red("TestA"), nil
		}}
		wants(t, w.drive(t), loop.PhaseStopped, "label is gone")
		w.pushed(t, 0)
	})
	t.Run("a person pushed between two rounds", func(t *testing.T) {
		w := newWorld(t)
		w.configure(everyRound)
		theirs := ""
		w.verdicts = []func() (loop.Verdict, error){says(red("TestA")), func() (loop.Verdict, error) {
			theirs = w.git.commit(w.pushes[0], "by a person", map[string]string{"a.go": "theirs"})
			w.git.branches[w.store.newest().Run.Branch] = theirs
			return red("TestB"), nil
		}}
		s := w.drive(t)
		wants(t, s, loop.PhaseEscalated, "/autocode resume")
		if w.git.branches[s.Run.Branch] != theirs {
			t.Error("it was overwritten")
		}
	})
	t.Run("trouble at each effect", func(t *testing.T) {
		script := func(w *world) {
			w.configure(everyRound)
			w.verdicts = []func() (loop.Verdict, error){func() (loop.Verdict, error) {
				if len(w.store.newest().Rounds) < 2 {
					return red("TestA"), nil
				}
				return green(), nil
			}}
		}
		plain := newWorld(t)
		script(plain)
		plain.drive(t)
		for _, late := range []bool{false, true} {
			for at := 1; at <= plain.effects; at++ {
				w := newWorld(t)
				script(w)
				w.failAt, w.late = at, late
				for try := 0; try < 3 && !w.store.newest().Phase.Ended(); try++ {
					_ = w.engine().Drive(context.Background(), "r1")
				}
				s := w.settled(t)
				if s.Phase != loop.PhaseDone || w.hub.pulls != 1 || len(w.git.branches) != 2 || w.git.branches[s.Run.Branch] != s.Final {
					t.Fatalf("effect %d, late %v: %s, %d pull requests, branches %v:\n%s", at, late, s.Phase, w.hub.pulls, w.git.branches, story(s))
				}
			}
		}
	})
}
