package loop

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The steps of the phase publishing; each is stored before the next begins, so that a restart
// repeats at most one of them, and each is looked up before it is made.
const (
	stepProved = "proved" // Final is fixed and confirmed by the clean room
	stepPushed = "pushed" // Final is on the branch
)

// publish fixes the one commit that is pushed, proves it, pushes it and shows it. Where the run is
// bound for another end it pushes the best guarded state as a draft instead.
func (d *drive) publish(ctx context.Context) (ended, error) {
	s := &d.s
	if s.Step == "" {
		result, err := d.proveFinal(ctx)
		if err != nil || result.result != ResultOK {
			return result, err
		}
		s.Step = stepProved
		if err := d.save(ctx); err != nil {
			return ended{}, err
		}
	}
	if s.Step == stepProved {
		result, err := d.push(ctx)
		if err != nil || result.result != ResultOK {
			return result, err
		}
		s.Step, s.Pushed = stepPushed, s.Final
		if err := d.save(ctx); err != nil {
			return ended{}, err
		}
	}
	return d.show(ctx)
}

// proveFinal makes the commit that will be pushed and has it judged.
func (d *drive) proveFinal(ctx context.Context) (ended, error) {
	s := &d.s
	if v := s.Verdict; v != nil && v.CleanRoom && v.Pass && v.Head == s.Final && s.Ending == "" {
		return ok() // proved before a person was asked to approve it
	}
	baseline, err := d.verifiedBase(ctx)
	if err != nil {
		return ended{}, err
	}
	if s.Ending != "" {
		if s.Best < 0 {
			return with(ResultNothing, "there is no state that could be shown")
		}
		if c := s.Rounds[s.Best]; s.Head != c.Commit {
			s.Head, s.Verdict = c.Commit, c.Verdict
		}
	}
	clone, err := d.workClone(ctx)
	if err != nil {
		return ended{}, err
	}
	final := s.Head
	if s.Head != s.Start {
		if s.conflicted() {
			final, err = clone.Squash(ctx, s.Merge.Into, s.Head, FinalMessage(*s), s.Merge.With)
		} else {
			final, err = clone.Squash(ctx, s.Start, s.Head, FinalMessage(*s))
		}
		if err != nil {
			return ended{}, err
		}
		if err := d.keep(ctx, clone, final); err != nil {
			return ended{}, err
		}
	}
	s.Final = final
	diff, err := clone.Diff(ctx, s.Base, final)
	if err != nil {
		return ended{}, err
	}
	s.Changes = changesOf(diff, s.line(), s.Plan)
	if s.Ending != "" {
		// A hand-over shows what it has; the round's own verdict says what is red. The guard holds.
		findings, err := d.guard(ctx, clone, final, diff, nil)
		if err != nil {
			return ended{}, err
		}
		if blocks(findings) || needsApproval(findings) && !slices.Contains(s.Approved, ApproveChange) {
			s.Best = -1
			return with(ResultNothing, "The guard does not let the best state out: %s", findings[0])
		}
		return ok()
	}
	outcome, err := d.Verifier.Prove(ctx, VerifyRequest{
		Clone: clone, Config: s.Config.Verify, Base: baseline, BaseCommit: s.Base, HeadCommit: final,
		Changed: diff.Paths(), Spec: s.Spec, Limits: d.commandLimits(),
	})
	if err != nil {
		return ended{}, err
	}
	if err := d.judge(ctx, clone, diff, final, len(s.Rounds), s.shownCandidate(), &outcome); err != nil {
		return ended{}, err
	}
	v := outcome.Verdict
	s.Verdict = &v
	if c := s.Current(); c != nil && c.Commit == s.Head {
		c.Verdict, c.Guard = &v, v.Guard
		s.Best = best(s.Rounds)
	}
	if s.Run.Trigger == TriggerRerun {
		return ok() // red or green, it is shown
	}
	if !v.Pass {
		return with(ResultRefused, "%s", whyNot(v))
	}
	if needsApproval(v.Guard) && !slices.Contains(s.Approved, ApproveChange) {
		f := v.Guard[slices.IndexFunc(v.Guard, func(f Finding) bool { return f.Severity == SeverityApprove })]
		s.Pending = &Approval{Key: ApproveChange, Reason: f.Message}
		return with(ResultApproval, "%s (%s)", f.Message, place(f.File, f.Line))
	}
	return ok()
}

// whyNot says in a sentence what a clean room did not confirm.
func whyNot(v Verdict) string {
	if !stagesPass(&v) {
		return firstFailure(&v)
	}
	if v.Blocked() {
		return "the guard blocks it: " + v.blocking().String()
	}
	var unproved []string
	for _, a := range v.Acceptance {
		if a.Proof == ProofNone {
			unproved = append(unproved, fmt.Sprintf("%s (%s)", a.ID, a.Note))
		}
	}
	return "unproved: " + few(unproved)
}

func needsApproval(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == SeverityApprove })
}

// push puts Final on the task's branch, after asking once more whether it may.
func (d *drive) push(ctx context.Context) (ended, error) {
	s := &d.s
	if stop, err := d.unwanted(ctx); err != nil || stop.result != ResultNone {
		return stop, err
	}
	clone, err := d.workClone(ctx)
	if err != nil {
		return ended{}, err
	}
	if d.secretsMatter() {
		workflow, err := d.secretWorkflow(ctx, clone, s.Final)
		if err != nil {
			return ended{}, err
		}
		if workflow != "" && s.Ending != "" {
			return with(ResultNothing, "Nothing was pushed: that would start %s, which names secrets, with code that a model wrote for an issue by %s, who has no write access",
				workflow, s.Task.Issue.Author)
		}
		if workflow != "" {
			s.Pending = &Approval{Key: ApproveSecrets, Reason: workflow}
			return with(ResultApproval, "pushing would start %s, which names secrets, with code that a model wrote for an issue by %s, who has no write access",
				workflow, s.Task.Issue.Author)
		}
	}
	if s.BaseNow, err = d.movedBase(ctx); err != nil {
		return ended{}, err
	}
	return d.pushCommit(ctx, clone, s.Final)
}

// workflowRefusal is what GitHub says to an App that pushes a change of a workflow without the permission.
var workflowRefusal = regexp.MustCompile(`refusing to allow [^)\n]* workflow [^)\n]*permission`)

// movedBase returns the default branch's commit where it is no longer the one that the change was
// made against, else "".
func (d *drive) movedBase(ctx context.Context) (string, error) {
	repo := d.s.Task.Repo
	if repo.DefaultBranch == "" {
		return "", nil
	}
	now, err := d.Workspace.RemoteHead(ctx, repo, repo.DefaultBranch)
	if err != nil || now == d.s.Base {
		return "", err
	}
	return now, nil
}

// BaseMovedText tells people that the base moved on while the change was made, "" where it did not.
func BaseMovedText(s Snapshot) string {
	if s.BaseNow == "" {
		return ""
	}
	const shown = 12 // digits of a commit, enough in any repository
	return fmt.Sprintf("%s has moved on meanwhile: this was made and proved on `%.*s`, and the branch is at `%.*s` now. Bring the pull request up to date before you merge it, so that its checks see both; `/autocode retry` does it, too.",
		Code(s.Task.Repo.DefaultBranch), shown, s.Base, shown, s.BaseNow)
}

// branchTries bounds the search for a free branch name.
const branchTries = 20

// freeBranch names the task's branch: one that does not exist yet.
func (d *drive) freeBranch(ctx context.Context) (string, error) {
	name := BranchName(d.Settings.BranchPrefix, d.s.Task.Issue)
	for i := 1; i <= branchTries; i++ {
		candidate := name
		if i > 1 {
			candidate = fmt.Sprintf("%s-%d", name, i)
		}
		head, err := d.Workspace.RemoteHead(ctx, d.s.Task.Repo, candidate)
		if err != nil {
			return "", err
		}
		if head == "" {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("%d branches named %s… exist already; remove some", branchTries, name)
}

// notSlug is everything that does not belong into a branch name.
var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// BranchName is PREFIX/NUMBER-SLUG, of ASCII letters, digits and dashes only, at most 60
// characters of slug.
func BranchName(prefix string, issue Issue) string {
	const longest = 60
	slug := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(issue.Title), "-"), "-")
	if len(slug) > longest {
		slug = strings.Trim(slug[:longest], "-")
	}
	parts := []string{}
	if issue.Number > 0 {
		parts = append(parts, fmt.Sprint(issue.Number))
	}
	if slug != "" {
		parts = append(parts, slug)
	}
	if len(parts) == 0 {
		parts = append(parts, "change")
	}
	return prefix + "/" + strings.Join(parts, "-")
}

// show puts check runs and pull request in place.
func (d *drive) show(ctx context.Context) (ended, error) {
	s := &d.s
	if err := d.Publisher.StartCheck(ctx, *s, s.Final); err != nil {
		return ended{}, fmt.Errorf("start the check run: %w", err)
	}
	pull, err := d.Publisher.OpenPull(ctx, *s)
	if err != nil {
		return ended{}, fmt.Errorf("open the pull request: %w", err)
	}
	s.Pull = &pull
	if err := d.save(ctx); err != nil {
		return ended{}, err
	}
	if s.Verdict != nil {
		v := *s.Verdict
		v.Head = s.Final
		if err := d.Publisher.FinishChecks(ctx, *s, v); err != nil {
			return ended{}, fmt.Errorf("complete the check runs: %w", err)
		}
	} else if err := d.Publisher.SettleChecks(ctx, *s, "this state was not verified"); err != nil {
		return ended{}, fmt.Errorf("settle the check runs: %w", err)
	}
	ready := s.Ending == "" && s.Verdict != nil && s.Verdict.Pass
	pull, err = d.Publisher.UpdatePull(ctx, *s, ready)
	if err != nil {
		return ended{}, fmt.Errorf("update the pull request: %w", err)
	}
	s.Pull = &pull
	return ok()
}

// FinalMessage is the message of the commit that is pushed.
func FinalMessage(s Snapshot) string {
	kind := map[Kind]string{
		KindBug: "fix", KindFeature: "feat", KindRefactor: "refactor", KindTests: "test", KindDependency: "build", KindDocs: "docs",
	}[specKind(s.Spec)]
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", kind, shorten(cmp.Or(harmless(s.Task.Issue.Title), "a change"), longestSubject))
	if c := s.Shown(); c != nil && c.RootCause != "" {
		fmt.Fprintf(&b, "\n%s\n", trailer.ReplaceAllString(harmless(c.RootCause), "$1 -"))
	}
	if s.Task.Issue.Number > 0 {
		fmt.Fprintf(&b, "\nFixes #%d\n", s.Task.Issue.Number)
	}
	return b.String()
}

// ciDirective matches what would switch off other people's checks, or forge a trailer
// (security.md, case 100).
var ciDirective = regexp.MustCompile(`(?i)\[[\s\p{Z}]*((?:skip|no)[\s\p{Z}_-]+[a-z]+|[a-z]+[\s\p{Z}_-]+skip)[\s\p{Z}]*\]|\*\*\*(NO_CI)\*\*\*`)

// trailer matches a paragraph that git would read as a trailer, were it the last of a message.
var trailer = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)\s*:`)

// reference matches what GitHub reads as a closing keyword's issue or a person in a commit message.
var reference = regexp.MustCompile(`#([0-9])|(?i)\bGH-([0-9])|@([A-Za-z0-9])|/issues/([0-9])`)

// longestSubject is the length, in characters, up to which tools show the subject of a commit whole.
const longestSubject = 72

// harmless folds a foreign text into one paragraph that closes no issue, calls nobody, and switches
// no checks off.
func harmless(text string) string {
	// Folded first, since folding joins what stood on two lines; nothing is taken out without a trace,
	// since that, too, joins what stood around it.
	return reference.ReplaceAllString(ciDirective.ReplaceAllString(oneParagraph(Visible(text)), "($1$2)"), "$1$2$3$4")
}

// shorten cuts a text to a number of characters.
func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return text
}

// oneParagraph folds a text into one paragraph, so that no line of it can be read as a trailer.
func oneParagraph(text string) string { return strings.Join(strings.Fields(text), " ") }

func specKind(spec *Spec) Kind {
	if spec == nil {
		return KindBug
	}
	return spec.Kind
}

// secretsUse matches a workflow's use of a secret; GITHUB_TOKEN is everybody's.
var secretsUse = regexp.MustCompile(`secrets\s*(?:\.\s*([A-Za-z_][A-Za-z0-9_]*)|\[|:\s*inherit)`)

// secretWorkflow returns a workflow of a commit's tree that names secrets, "" where there is none.
func (d *drive) secretWorkflow(ctx context.Context, clone Clone, commit string) (string, error) {
	tree, err := clone.Tree(ctx, commit)
	if err != nil {
		return "", err
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Path, ".github/workflows/") {
			continue
		}
		text, err := tree.Read(ctx, f.Path)
		if err != nil {
			return "", err
		}
		for _, use := range secretsUse.FindAllSubmatch(text, -1) {
			if string(use[1]) != "GITHUB_TOKEN" {
				return f.Path, nil
			}
		}
	}
	return "", nil
}

// learn remembers what failed and what fixed it, once a run has ended.
func (d *drive) learn(ctx context.Context) error {
	s := &d.s
	if s.Best < 0 {
		return nil
	}
	r := s.Rounds[s.Best]
	signature := s.Task.Issue.Title
	for _, earlier := range s.Rounds {
		if earlier.Verdict != nil && !earlier.Verdict.Pass {
			signature += "\n" + Fingerprint(*earlier.Verdict)
			break
		}
	}
	return d.Knowledge.Learn(ctx, Lesson{
		Repo: s.Task.Repo.FullName(), Run: s.Run.ID, Signature: signature, Problem: s.Task.Issue.Title,
		Change: r.RootCause, Files: r.Files, Worked: s.Phase == PhaseDone, At: d.Clock.Now(),
	})
}
