package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/seed-7a986423/autocode/loop"
)

// maxComment is GitHub's limit for a comment's body, in characters.
const maxComment = 65_536

// marker hides a key in a comment, by which it is found again. It is the comment's last line.
func marker(kind, key string) string { return fmt.Sprintf("<!-- autocode:%s %s -->", kind, key) }

// markOf is the marker of a comment of autocode's own, "" where there is none. A person may paste a
// marker, and a quoted text may hold one: only the last line of the App's own comment counts.
func (p *Publisher) markOf(c *github.IssueComment) string {
	if c.GetUser().GetLogin() != p.AppSlug+"[bot]" {
		return ""
	}
	body := strings.TrimSpace(c.GetBody())
	last := body[strings.LastIndexByte(body, '\n')+1:]
	if strings.HasPrefix(last, "<!-- autocode:") && strings.HasSuffix(last, " -->") {
		return last
	}
	return ""
}

// replyKey is the key of a reply or notice, "" for every other comment.
func (p *Publisher) replyKey(c *github.IssueComment) string {
	key, isReply := strings.CutPrefix(strings.TrimSuffix(p.markOf(c), " -->"), "<!-- autocode:reply ")
	if !isReply {
		return ""
	}
	return key
}

// thread is what is known of autocode's own comments on an issue or pull request.
type thread struct {
	ids    map[string]int64 // by their marker
	listed time.Time
	// failed is when a comment was tried last of which nobody knows whether it was made.
	failed time.Time
	// whole says that there are no others.
	whole bool
}

// ownComment returns the id of autocode's own comment with a marker, 0 where there is none. GitHub's lists
// may be behind, so that the absence of a comment that may have been made a moment ago, by a process that
// died or by a request that failed, is believed after a while only. Of what is told of a fresh run no
// other process has made any. The caller holds the thread's lock.
func (p *Publisher) ownComment(ctx context.Context, client *github.Client, repo loop.Repo, number int, mark string, fresh bool) (int64, error) {
	key := threadKey(repo, number)
	t, there := p.own.get(key)
	if !there || p.Shared {
		if !there {
			t = &thread{ids: map[string]int64{}}
		}
		if err := p.list(ctx, client, repo, number, t); err != nil {
			return 0, err
		}
		p.own.put(key, t)
	}
	if id := t.ids[mark]; id != 0 || t.whole && !p.Shared {
		return id, nil
	}
	doubtful := t.failed
	if !fresh && p.began.After(doubtful) {
		doubtful = p.began
	}
	if doubtful.IsZero() {
		return 0, nil
	}
	if sure := doubtful.Add(listLag); t.listed.Before(sure) {
		if err := p.until(ctx, sure); err != nil {
			return 0, err
		}
		if err := p.list(ctx, client, repo, number, t); err != nil {
			return 0, err
		}
	}
	t.whole, t.failed = true, time.Time{}
	return t.ids[mark], nil
}

// list reads a thread. What this process made itself stays known where the list does not show it yet.
func (p *Publisher) list(ctx context.Context, client *github.Client, repo loop.Repo, number int, t *thread) error {
	began, found := p.Clock.Now(), map[string]int64{}
	err := pages(func(options github.ListOptions) (int, *github.Response, error) {
		comments, response, err := client.Issues.ListComments(ctx, repo.Owner, repo.Name, number, &github.IssueListCommentsOptions{ListOptions: options})
		for _, c := range comments {
			if mark := p.markOf(c); mark != "" && found[mark] == 0 {
				found[mark] = c.GetID() // the oldest, should there be two
			}
		}
		return len(comments), response, err
	})
	if err != nil {
		return access(err, "look for the comment", repo)
	}
	maps.Copy(t.ids, found)
	t.listed = began
	return nil
}

// comment makes a comment with a marker. The caller holds the thread's lock.
func (p *Publisher) comment(ctx context.Context, client *github.Client, repo loop.Repo, number int, mark, markdown string) error {
	body := p.post(markdown, maxComment-len(mark)-1) + "\n" + mark
	key := threadKey(repo, number)
	made, _, err := client.Issues.CreateComment(ctx, repo.Owner, repo.Name, number, &github.IssueComment{Body: &body})
	t, known := p.own.get(key)
	if !known {
		t = &thread{ids: map[string]int64{}} // others pushed it out of the memory
	}
	if err != nil {
		t.whole, t.failed = false, p.Clock.Now()
		return access(err, "comment", repo)
	}
	t.ids[mark] = made.GetID()
	if !p.Shared {
		return nil
	}
	// Another process may have made the same comment in the same moment: the older one stays.
	if err := p.list(ctx, client, repo, number, t); err != nil || t.ids[mark] == made.GetID() {
		return err
	}
	_, err = client.Issues.DeleteComment(ctx, repo.Owner, repo.Name, made.GetID())
	if status(err) == http.StatusNotFound {
		return nil
	}
	return access(err, "remove the second comment", repo)
}

// Progress edits the task's one progress comment, or makes it.
func (p *Publisher) Progress(ctx context.Context, s loop.Snapshot) error {
	repo, number := s.Task.Repo, s.Task.Issue.Number
	if number == 0 {
		return nil
	}
	client, err := p.Clients.rest(repo)
	if err != nil {
		return err
	}
	defer p.locks.take(threadKey(repo, number))()
	if err := p.answered(ctx, client, s); err != nil {
		return unheard(ctx, err)
	}
	text, mark := progressText(s, p.RunURL(s.Run.ID)), marker("progress", s.Task.ID)
	// Cost and time alone are no reason to edit: they come along with the next event.
	essence := progressHead(s)
	if before, there := p.shown.get(s.Task.ID); there && before == essence && !p.Shared {
		return nil
	}
	id, err := p.ownComment(ctx, client, repo, number, mark, p.fresh(s))
	if err != nil {
		return unheard(ctx, err)
	}
	if id != 0 {
		body := p.post(text, maxComment-len(mark)-1) + "\n" + mark
		_, _, err := client.Issues.EditComment(ctx, repo.Owner, repo.Name, id, &github.IssueComment{Body: &body})
		switch {
		case err == nil:
			p.shown.put(s.Task.ID, essence)
			return nil
		case status(err) != http.StatusNotFound:
			return unheard(ctx, access(err, "edit the progress comment", repo))
		}
		// Somebody deleted it: a new one is made.
		if t, there := p.own.get(threadKey(repo, number)); there {
			delete(t.ids, mark)
		}
	}
	if err := p.comment(ctx, client, repo, number, mark, text); err != nil {
		return unheard(ctx, err)
	}
	p.shown.put(s.Task.ID, essence)
	return nil
}

// Tell makes a comment of its own, once per run and key: on the pull request where there is one,
// else on the issue.
func (p *Publisher) Tell(ctx context.Context, s loop.Snapshot, notice loop.Notice) error {
	number := s.Task.Issue.Number
	if s.Run.PullRequest != 0 {
		number = s.Run.PullRequest
	}
	if number == 0 {
		return nil
	}
	if err := p.reply(ctx, s.Task.Repo, number, s.Run.ID+"/"+notice.Key, notice.Markdown, p.fresh(s)); err != nil {
		return err
	}
	if notice.Kind != loop.NoticeQuestion || s.Task.Issue.Number == 0 {
		return nil
	}
	client, err := p.Clients.rest(s.Task.Repo)
	if err != nil {
		return err
	}
	repo := s.Task.Repo
	_, _, err = client.Issues.AddLabelsToIssue(ctx, repo.Owner, repo.Name, s.Task.Issue.Number, []string{p.needsInfo(s)})
	return unheard(ctx, access(err, "put the label on", repo))
}

// needsInfo is the label that says that a person must answer: the repository's, else the server's.
func (p *Publisher) needsInfo(s loop.Snapshot) string {
	return cmp.Or(s.Config.Labels.NeedsInfo, p.Labels.NeedsInfo)
}

// answered takes the label off that says that a person must answer, once it is so no more.
func (p *Publisher) answered(ctx context.Context, client *github.Client, s loop.Snapshot) error {
	effect := fmt.Sprintf("answered %s %d", s.Run.ID, s.Asked)
	if _, did := p.done.get(effect); did || s.Asked == 0 || s.Phase == loop.PhaseClarifying {
		return nil
	}
	repo := s.Task.Repo
	_, err := client.Issues.RemoveLabelForIssue(ctx, repo.Owner, repo.Name, s.Task.Issue.Number, p.needsInfo(s))
	if err != nil && status(err) != http.StatusNotFound {
		return access(err, "take the label off", repo)
	}
	p.done.put(effect, struct{}{})
	return nil
}

// Reply comments once per key.
func (p *Publisher) Reply(ctx context.Context, repo loop.Repo, number int, key, markdown string) error {
	return p.reply(ctx, repo, number, key, markdown, false)
}

// reply is Reply, with what is known of the run that it is about.
func (p *Publisher) reply(ctx context.Context, repo loop.Repo, number int, key, markdown string, fresh bool) error {
	client, err := p.Clients.rest(repo)
	if err != nil {
		return err
	}
	defer p.locks.take(threadKey(repo, number))()
	mark := marker("reply", key)
	id, err := p.ownComment(ctx, client, repo, number, mark, fresh)
	if err != nil || id != 0 {
		return unheard(ctx, err)
	}
	return unheard(ctx, p.comment(ctx, client, repo, number, mark, markdown))
}

// phaseText says what a phase is doing, for people; short phases share the text of what follows.
var phaseText = map[loop.Phase]string{
	loop.PhaseQueued: "is getting ready: cloning, building and testing the base", loop.PhasePreparing: "is getting ready: cloning, building and testing the base",
	loop.PhaseSpecifying: "is writing down what is asked for and planning", loop.PhasePlanning: "is writing down what is asked for and planning",
	loop.PhaseClarifying: "waits for an answer", loop.PhaseApproving: "waits for approval",
	loop.PhaseCoding: "is changing the code, building and testing it", loop.PhaseVerifying: "is changing the code, building and testing it",
	loop.PhaseReviewing: "is reviewing, proving in the clean room and publishing", loop.PhasePublishing: "is reviewing, proving in the clean room and publishing",
	loop.PhaseDone: "is done", loop.PhaseEscalated: "has handed over", loop.PhaseStopped: "has stopped", loop.PhaseFailed: "has failed",
}

// progressText is the progress comment: what is happening, the round, what is red, cost and time
// so far, how to stop.
func progressText(s loop.Snapshot, page string) string {
	var b strings.Builder
	b.WriteString(progressHead(s))
	fmt.Fprintf(&b, "\n%s so far.", loop.SpentText(s.Spent))
	if !s.Phase.Ended() && s.Task.Source != loop.SourceCLI { // at the command line Ctrl-C does
		b.WriteString(" `/autocode stop` ends it, `/autocode status` tells more.")
	}
	if page != "" {
		fmt.Fprintf(&b, " [Details](%s)", page)
	}
	b.WriteString("\n")
	return b.String()
}

// progressHead is the part of the progress comment that only an event changes.
func progressHead(s loop.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**autocode** %s", phaseText[s.Phase])
	n := len(s.Rounds)
	if s.Phase == loop.PhaseCoding || len(s.Candidates) > 0 {
		n = min(n+1, max(n, s.Config.Limits.Rounds)) // the round that begins is not in the list yet
	}
	if n > 0 {
		fmt.Fprintf(&b, ", round %d of %d", n, s.Config.Limits.Rounds)
	}
	if text := candidatesText(s); text != "" {
		fmt.Fprintf(&b, ", %s", text)
	}
	if s.Run.Number > 1 {
		fmt.Fprintf(&b, " (run %d)", s.Run.Number)
	}
	b.WriteString(".\n")
	if s.Ended != "" {
		fmt.Fprintf(&b, "\n%s\n", loop.Quote(s.Ended))
	}
	switch {
	case s.Pull == nil:
	case s.Task.Source == loop.SourceCLI:
		fmt.Fprintf(&b, "\nBranch: %s\n", loop.Code(s.Run.Branch))
	default:
		fmt.Fprintf(&b, "\nPull request: #%d\n", s.Pull.Number)
	}
	if moved := loop.BaseMovedText(s); moved != "" && s.Phase.Ended() {
		fmt.Fprintf(&b, "\n%s\n", moved)
	}
	rounds := s.Rounds
	if n := len(rounds); n > 0 && !s.Phase.Ended() && rounds[n-1].Verdict == nil && rounds[n-1].Refused == "" {
		rounds = rounds[:n-1] // nothing came out of it yet
	}
	if len(rounds) > 0 {
		b.WriteString("\n| round | what came out |\n|---|---|\n")
		for _, r := range rounds {
			fmt.Fprintf(&b, "| %d | %s |\n", r.Number, cell(r.Outcome()))
		}
	}
	return b.String()
}

// candidatesText says how far the candidates of the round in progress are, "" where it makes one only.
func candidatesText(s loop.Snapshot) string {
	if len(s.Candidates) == 0 || s.Phase.Ended() {
		return ""
	}
	verified, green := 0, 0
	for _, c := range s.Candidates {
		if c.Measure != nil {
			verified++
			if c.Measure.Green {
				green++
			}
		}
	}
	return fmt.Sprintf("%d candidate(s) made, %d verified, %d green", len(s.Candidates), verified, green)
}

// cell makes a text fit into a table.
func cell(text string) string { return strings.ReplaceAll(loop.Inline(text), "|", `\|`) }

// StatusText answers `/autocode status`.
func (p *Publisher) StatusText(s loop.Snapshot) string {
	text := progressText(s, p.RunURL(s.Run.ID))
	if s.Decision.Rule != "" {
		text += fmt.Sprintf("\nLast decision at %s: %s (rule %s).\n", s.Decision.At.UTC().Format(time.RFC3339), loop.Inline(s.Decision.Reason), loop.Code(s.Decision.Rule))
	}
	return text
}
