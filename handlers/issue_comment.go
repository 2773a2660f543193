package handlers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// issueComment obeys commands in comments and takes answers to open questions.
type issueComment struct{ *Handlers }

// Handles names the event.
func (issueComment) Handles() []string { return []string{"issue_comment"} }

// Handle gates on the action: a comment that was edited into a command is none (case 21).
func (h issueComment) Handle(ctx context.Context, _, _ string, payload []byte) error {
	event, ok := decode[github.IssueCommentEvent](ctx, payload)
	if !ok || event.GetAction() != "created" || event.GetIssue().GetNumber() <= 0 || event.GetComment().GetID() == 0 || h.bot(event.GetSender()) {
		return nil
	}
	repo, known, err := h.repository(ctx, event.GetRepo(), event.GetInstallation())
	if err != nil {
		return err
	}
	if !known {
		return ignore(ctx, "the repository is not one of this installation")
	}
	comment := event.GetComment()
	t := thread{
		repo: repo, number: event.GetIssue().GetNumber(), isPull: event.GetIssue().IsPullRequest(),
		comment: comment.GetID(), event: fmt.Sprint(comment.GetID()), by: event.GetSender(), at: comment.GetCreatedAt().Time,
	}
	command, is := ParseCommand(comment.GetBody(), h.AppSlug)
	if !is {
		return h.answer(ctx, t, comment.GetBody())
	}
	return h.command(ctx, t, command)
}

// command checks authority and caps, reacts, and obeys.
func (h *Handlers) command(ctx context.Context, t thread, c Command) error {
	by := strings.ToLower(login(t.by))
	person, here := capAllows, capAllows
	if h.caps.count("event "+t.event, 1, h.Clock.Now()) == capAllows { // an event that is tried again counts once
		person = h.caps.count("person "+by, mostByPerson, h.Clock.Now())
		here = h.caps.count(fmt.Sprintf("thread %d#%d", t.repo.ID, t.number), mostInThread, h.Clock.Now())
	}
	switch {
	case person == capSilent || here == capSilent:
		return ignore(ctx, "too many commands of %s or in #%d", by, t.number)
	case person == capTells || here == capTells:
		if may, err := h.authorised(ctx, t.repo, t.by); err != nil || !may {
			return ignore(ctx, "too many commands of %s, who has no write access", by)
		}
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("many"),
			fmt.Sprintf("That was a lot of commands at once; I listen again in %d minutes.", int(capWindow.Minutes())))
	}
	if may, err := h.authorised(ctx, t.repo, t.by); err != nil {
		return err
	} else if !may {
		return h.refuse(ctx, t.repo, t.number, login(t.by))
	}
	if err := h.react(ctx, t, loop.ReactionSeen); err != nil {
		return err
	}
	return h.obey(ctx, t, c)
}

// thread is where a command was given, and by whom.
type thread struct {
	repo   loop.Repo
	number int
	isPull bool
	// comment is what reactions go to, 0 where there is none (buttons); onReview says that it is a
	// remark of a review.
	comment  int64
	onReview bool
	// event makes replies unique: the same event again gets no second one.
	event string
	by    *github.User
	at    time.Time
}

// key makes a reply unique for the command that it answers.
func (t thread) key(what string) string { return what + "-" + t.event }

// react reacts where there is something to react to.
func (h *Handlers) react(ctx context.Context, t thread, reaction loop.Reaction) error {
	if t.comment == 0 {
		return nil
	}
	return h.Forge.React(ctx, t.repo, t.comment, t.onReview, reaction)
}

// answer takes a comment as the answer to an open question, where its author may give one.
func (h issueComment) answer(ctx context.Context, t thread, body string) error {
	s, found, err := h.newest(ctx, t.repo, t.number, t.isPull)
	if err != nil || !found || s.Phase != loop.PhaseClarifying {
		return err
	}
	if may, err := h.authorised(ctx, t.repo, t.by); err != nil {
		return err
	} else if !may {
		return nil // the answer stays there for somebody to vouch for
	}
	if err := h.react(ctx, t, loop.ReactionSeen); err != nil {
		return err
	}
	return h.signal(ctx, s.Run.ID, loop.Signal{Kind: loop.SignalAnswer, By: login(t.by), Text: loop.ChosenAnswer(s, readable(body))})
}

// obey does what a command asks for; every way out says something visible.
func (h *Handlers) obey(ctx context.Context, t thread, c Command) error {
	if c.Verb == VerbHelp {
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("help"), helpText(c.Unknown))
	}
	s, found, err := h.newest(ctx, t.repo, t.number, t.isPull)
	if err != nil {
		return err
	}
	if !found {
		label, err := h.trigger(ctx, t.repo)
		if err != nil {
			return err
		}
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("none"),
			fmt.Sprintf("There is no run here. The label %s on an issue starts one.", loop.Code(label)))
	}
	by := login(t.by)
	switch c.Verb {
	case VerbRetry:
		return h.retry(ctx, t, s, followUp{trigger: loop.TriggerRetry, guidance: c.Rest})
	case VerbStop:
		if s.Phase.Ended() {
			return h.Forge.Reply(ctx, t.repo, t.number, t.key("stop"), fmt.Sprintf("The run has ended already (%s).", s.Phase))
		}
		return h.tell(ctx, t, s, loop.Signal{Kind: loop.SignalStop, By: by})
	case VerbStatus:
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("status"), h.Status(s))
	case VerbResume:
		return h.resume(ctx, t, s)
	case VerbApprove:
		if s.Phase != loop.PhaseApproving {
			return h.Forge.Reply(ctx, t.repo, t.number, t.key("approve"), "Nothing waits for approval here.")
		}
		return h.tell(ctx, t, s, loop.Signal{Kind: loop.SignalApprove, By: by})
	case VerbPlan:
		text := loop.PlanMarkdown(s)
		if text == "" {
			text = "There is no spec yet."
		}
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("plan"), text)
	case VerbBudget:
		more, err := ParseBudget(c.Rest)
		if err != nil {
			return h.Forge.Reply(ctx, t.repo, t.number, t.key("budget"), "That budget is not clear: "+err.Error())
		}
		if err := h.signal(ctx, s.Run.ID, loop.Signal{Kind: loop.SignalBudget, By: by, Text: c.Rest, More: more}); err != nil {
			return err
		}
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("budget"),
			fmt.Sprintf("Added %s to run %d.", loop.Code(c.Rest), s.Run.Number))
	case VerbHelp:
	}
	return nil
}

// tell sends a signal, and shows by a reaction that it was taken; what follows shows in the progress
// comment.
func (h *Handlers) tell(ctx context.Context, t thread, s loop.Snapshot, signal loop.Signal) error {
	if err := h.signal(ctx, s.Run.ID, signal); err != nil {
		return err
	}
	return h.react(ctx, t, loop.ReactionDone)
}

// signal sends one signal; a run that is gone needs none.
func (h *Handlers) signal(ctx context.Context, run string, signal loop.Signal) error {
	signal.At = h.Clock.Now()
	if err := h.Store.Signal(ctx, run, signal); err != nil && !errors.Is(err, loop.ErrNotFound) {
		return fmt.Errorf("signal %s to run %s: %w", signal.Kind, run, err)
	}
	return nil
}

// resume goes on with a run, and vouches for what the issue's author answered meanwhile.
func (h *Handlers) resume(ctx context.Context, t thread, s loop.Snapshot) error {
	if s.Phase == loop.PhaseDone || !s.Phase.Ended() && !s.Phase.Waits() {
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("resume"), fmt.Sprintf("There is nothing to resume: the run is %s.", s.Phase))
	}
	vouched := ""
	if s.Phase == loop.PhaseClarifying {
		comments, err := h.Forge.Thread(ctx, t.repo, t.number)
		if err != nil {
			return fmt.Errorf("read the answers: %w", err)
		}
		vouched = answers(comments, s, t.at, h.AppSlug)
	}
	return h.tell(ctx, t, s, loop.Signal{Kind: loop.SignalResume, By: login(t.by), Text: vouched})
}

// answers joins what the issue's author wrote below the newest question of a run and before a moment.
func answers(comments []loop.ThreadComment, s loop.Snapshot, before time.Time, appSlug string) string {
	asked := 0
	for i, c := range comments {
		if strings.HasPrefix(c.Key, s.Run.ID+"/question-") {
			asked = i + 1
		}
	}
	var texts []string
	for _, c := range comments[asked:] {
		// Without a question in the thread the time of the decision to ask has to do.
		if asked == 0 && c.At.Before(s.Decision.At.Truncate(time.Second)) || c.Bot {
			continue
		}
		if c.Author == s.Task.Issue.Author && c.Updated.Before(before) && !isCommand(c.Body, appSlug) {
			texts = append(texts, loop.ChosenAnswer(s, readable(c.Body)))
		}
	}
	return strings.Join(texts, "\n\n")
}

// Caps on retries (security.md, case 22): more in an hour is a mistake or an attack.
const (
	retriesWindow = time.Hour
	mostRetries   = 10
)

// followUp is what another run of a task is to do.
type followUp struct {
	trigger  loop.Trigger
	guidance string
	remarks  []loop.Remark
}

// text is what the coder is told: what was said as a whole, and each remark by its number.
func (f followUp) text() string {
	return strings.TrimSpace(f.guidance + "\n\n" + loop.RemarkGuidance(f.remarks))
}

// inTheWay answers who asks for another run while one is there. Words are kept: a review, or a retry with
// guidance, is looked at again after a run that is at work. A retry that says nothing more than the run
// that is there is turned away, and so is everything while only a person can end the wait.
func (h *Handlers) inTheWay(ctx context.Context, t thread, last loop.Snapshot, f followUp) error {
	text := fmt.Sprintf("Run %d is still %s; `/autocode stop` ends it first.", last.Run.Number, last.Phase)
	keep := busy(last.Phase) && (f.guidance != "" || len(f.remarks) > 0)
	switch {
	case keep:
		text = fmt.Sprintf("Run %d is still %s; this comes after it. `/autocode stop` ends it, and then this begins at once.", last.Run.Number, last.Phase)
	case last.Phase == loop.PhaseClarifying:
		text = fmt.Sprintf("Run %d waits for an answer on #%d: answer there, or `/autocode stop` ends it, and ask again then.", last.Run.Number, last.Task.Issue.Number)
	case last.Phase == loop.PhaseApproving:
		text = fmt.Sprintf("Run %d waits for approval: `/autocode approve` lets it go on, `/autocode stop` ends it; ask again then.", last.Run.Number)
	}
	if err := h.Forge.Reply(ctx, t.repo, t.number, t.key("retry"), text); err != nil || !keep {
		return err
	}
	return waitFor(last)
}

// retry starts another run of the task: from the pull request's head where there is one.
func (h *Handlers) retry(ctx context.Context, t thread, last loop.Snapshot, f followUp) error {
	if !last.Phase.Ended() {
		if f.trigger == loop.TriggerRerun || f.trigger == loop.TriggerCI || f.trigger == loop.TriggerBase {
			return ignore(ctx, "run %d is at work", last.Run.Number) // the same button twice
		}
		return h.inTheWay(ctx, t, last, f)
	}
	runs, err := h.Store.Runs(ctx, loop.RunFilter{Task: last.Task.ID})
	if err != nil {
		return err
	}
	recent := 0
	for _, r := range runs {
		if h.Clock.Now().Sub(r.Run.Created) < retriesWindow {
			recent++
		}
	}
	if recent >= mostRetries {
		return h.Forge.Reply(ctx, t.repo, t.number, t.key("retry"), fmt.Sprintf("%d runs in an hour are enough; please look at what they found first.", recent))
	}
	run := loop.Run{
		TaskID: last.Task.ID, Trigger: f.trigger, RequestedBy: login(t.by), RequesterID: t.by.GetID(), Guidance: f.text(), Remarks: f.remarks,
		Branch: last.Run.Branch, Created: h.Clock.Now(),
	}
	inherited := loop.Snapshot{}
	if last.Pull != nil {
		head, err := h.Forge.PullHead(ctx, t.repo, last.Pull.Number)
		if err != nil {
			return fmt.Errorf("look at the pull request: %w", err)
		}
		switch {
		case head.Fork:
			return h.Forge.Reply(ctx, t.repo, t.number, t.key("retry"), "This pull request comes from a fork; I never push there.")
		case head.Open && head.Branch == last.Run.Branch:
			run.From, run.PullRequest = head.Head, head.Number
			inherited = last
		default:
			run.Branch = "" // closed: a new branch, a new pull request
		}
	}
	task := last.Task
	task.Requester, task.Repo = login(t.by), t.repo // as it is called now
	return h.start(ctx, task, run, inherited)
}
