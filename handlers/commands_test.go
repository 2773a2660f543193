package handlers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/handlers"
	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

func TestParseCommand(t *testing.T) {
	const no = handlers.Verb("")
	cases := []struct {
		name, body string
		verb       handlers.Verb
		rest       string
		unknown    string
	}{
		{"plain", "/autocode retry", "retry", "", ""},
		{"guidance", "/autocode retry use a mutex", "retry", "use a mutex", ""},
		{"several lines", "/autocode retry use a mutex\n\n- not a channel\n- and test it", "retry", "use a mutex\n\n- not a channel\n- and test it", ""},
		{"lines below", "/autocode retry\nuse a mutex", "retry", "use a mutex", ""},
		{"CRLF", "/autocode retry a\r\nb\r\n", "retry", "a\nb", ""},
		{"leading blank lines and spaces", "\n \n   /autocode stop", "stop", "", ""},
		{"trailing spaces", "/autocode   status  \t", "status", "", ""},
		{"tab between", "/autocode\tstatus", "status", "", ""},
		{"no-break space", "/autocode\u00a0status", "status", "", ""},
		{"ideographic space", "/autocode\u3000stop", "stop", "", ""},
		{"politely", "@autocode please retry with care", "retry", "with care", ""},
		{"politely, without a verb", "/autocode please", "help", "", "please"},
		{"capitals", "/AutoCode STOP", "stop", "", ""},
		{"punctuation", "/autocode stop!", "stop", "", ""},
		{"mention", "@autocode retry please", "retry", "please", ""},
		{"mention of the bot", "@autocode[bot] stop", "stop", "", ""},
		{"mention with a colon", "@autocode: status", "status", "", ""},
		{"mention in capitals", "@AutoCode status", "status", "", ""},
		{"alone", "/autocode", "help", "", ""},
		{"budget", "/autocode budget +2rounds +$1", "budget", "+2rounds +$1", ""},
		{"unknown", "/autocode dance", "help", "", "dance"},
		{"hidden characters in the guidance", "/autocode retry a\u200bb", "retry", "ab", ""},
		{"other mention", "@autocoder retry", no, "", ""},
		{"other word", "/autocoder retry", no, "", ""},
		{"glued", "/autocoderetry", no, "", ""},
		{"in the second line", "please\n/autocode stop", no, "", ""},
		{"in a quote", "> /autocode stop", no, "", ""},
		{"in a fence", "```\n/autocode stop\n```", no, "", ""},
		{"indented code", "    /autocode stop", no, "", ""},
		{"indented by a tab", "\t/autocode stop", no, "", ""},
		{"indented by space and tab", " \t/autocode stop", no, "", ""},
		{"in an HTML comment", "<!--\n/autocode stop\n-->", no, "", ""},
		{"in an HTML comment on the line", "<!-- x --> /autocode stop", no, "", ""},
		{"in code", "`/autocode stop`", no, "", ""},
		{"in a list", "- /autocode stop", no, "", ""},
		{"split by a hidden character", "/auto\u200bcode stop", no, "", ""},
		{"empty", "", no, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, is := handlers.ParseCommand(c.body, "autocode")
			if is != (c.verb != no) || got.Verb != c.verb || is && got.Unknown == "" && got.Rest != c.rest || got.Unknown != c.unknown {
				t.Errorf("%+v, %v", got, is)
			}
		})
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add("/autocode retry x")
	f.Add("> /autocode stop")
	f.Add("@autocode\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		c, is := handlers.ParseCommand(body, "autocode")
		if is && c.Verb == "" || !is && c != (handlers.Command{}) {
			t.Errorf("%+v, %v", c, is)
		}
		if is && c.Rest != loop.Visible(c.Rest) {
			t.Errorf("hidden characters in %q", c.Rest)
		}
	})
}

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]string{
		"+2rounds": "2 0s 0 0.00", "2 rounds": "", "+10m": "0 10m0s 0 0.00", "+$1": "0 0s 0 1.00", "+1.5usd": "0 0s 0 1.50", "+50ktokens": "0 0s 50000 0.00",
		"+1round +5min +$0.5": "1 5m0s 0 0.50", "": "", "lots": "", "+0rounds": "", "-1rounds": "", "+1000rounds": "", "+$1000": "", "+1": "", "+1e9rounds": "",
	} {
		more, err := handlers.ParseBudget(text)
		got := ""
		if err == nil {
			got = fmt.Sprintf("%d %s %d %.2f", more.Rounds, more.Wall, more.Tokens, more.USD)
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, err)
		}
	}
}

func FuzzParseBudget(f *testing.F) {
	f.Add("+2rounds +10m +$1")
	f.Fuzz(func(t *testing.T, text string) {
		more, err := handlers.ParseBudget(text)
		if err != nil && more != (loop.Limits{}) {
			t.Errorf("%+v with %v", more, err)
		}
		if more.Rounds < 0 || more.Wall < 0 || more.Tokens < 0 || more.USD < 0 || more.ModelCalls < 0 {
			t.Errorf("%q takes away: %+v", text, more)
		}
	})
}

// reactions lists what autocode put on a comment.
func (w *world) reactions(number int, comment int64) string {
	w.t.Helper()
	var all []string
	for _, c := range w.Comments(repo, number) {
		if c.ID == comment {
			for _, r := range c.Reactions {
				all = append(all, r.Content)
			}
		}
	}
	return strings.Join(all, " ")
}

// TestEveryCommandIsAnswered: a reaction, and a visible end or a signal.
func TestEveryCommandIsAnswered(t *testing.T) {
	cases := []struct {
		name, command string
		phase         loop.Phase
		reply, signal string
		reactions     string
	}{
		{"help", "help", loop.PhaseCoding, "I understand", "", "eyes"},
		{"unknown", "dance", loop.PhaseCoding, "I do not know", "", "eyes"},
		{"status", "status", loop.PhaseCoding, "changing the code", "", "eyes"},
		{"stop", "stop", loop.PhaseCoding, "", "stop", "eyes +1"},
		{"stop at the end", "stop", loop.PhaseDone, "has ended already", "", "eyes"},
		{"resume while at work", "resume", loop.PhaseCoding, "nothing to resume", "", "eyes"},
		{"resume", "resume", loop.PhaseEscalated, "", "resume", "eyes +1"},
		{"approve", "approve", loop.PhaseApproving, "", "approve", "eyes +1"},
		{"approve nothing", "approve", loop.PhaseCoding, "Nothing waits", "", "eyes"},
		{"plan", "plan", loop.PhaseCoding, "There is no spec yet", "", "eyes"},
		{"budget", "budget +2rounds", loop.PhaseCoding, "Added", "budget", "eyes"},
		{"budget unclear", "budget lots", loop.PhaseCoding, "not clear", "", "eyes"},
		{"retry at work", "retry", loop.PhaseCoding, "still coding", "", "eyes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			n := w.issue()
			w.label("mary", n)
			w.put(func(s *loop.Snapshot) {
				s.Phase = c.phase
				s.Pending = &loop.Approval{Key: loop.ApprovePlan}
			})
			id := w.say("mary", n, "/autocode "+c.command)
			if got := w.reactions(n, id); got != c.reactions {
				t.Errorf("reactions %q, want %q", got, c.reactions)
			}
			if c.reply != "" {
				w.said(n, c.reply, 1)
			} else if got := len(w.own(n)); got != 1 {
				t.Errorf("%d comments", got)
			}
			if got := w.kinds(); got != c.signal {
				t.Errorf("signals %q, want %q", got, c.signal)
			}
		})
	}
}

// TestCommandWithoutARun: said so, nothing started.
func TestCommandWithoutARun(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.say("mary", n, "/autocode retry")
	w.none()
	w.said(n, "There is no run here", 1)
}

// TestRetryOnTheIssue: a new run of the same task, with the guidance.
func TestRetryOnTheIssue(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.label("mary", n)
	w.put(func(s *loop.Snapshot) { s.Phase = loop.PhaseFailed })
	w.say("mary", n, "/autocode retry try harder\nand longer")
	runs := w.runs()
	if len(runs) != 2 || runs[0].Run.Number != 2 || runs[0].Run.Guidance != "try harder\nand longer" || runs[0].Run.Trigger != loop.TriggerRetry || runs[0].Task.ID != runs[1].Task.ID {
		t.Errorf("runs %+v", runs)
	}
	w.said(n, "autocode:progress", 1)
}

// pull takes the run to its end with a real pull request.
func (w *world) pull(branch string, change func(*loop.Snapshot)) (number int, head string) {
	w.t.Helper()
	head, err := w.As("mary").PushFiles(repo, branch, "fix", map[string][]byte{"fix.txt": []byte("x\n")})
	w.must(err)
	number, err = w.As("mary").OpenPull(repo, "fix", "body", branch, "main", true)
	w.must(err)
	w.put(func(s *loop.Snapshot) {
		s.Phase, s.Run.Branch, s.Pushed, s.Final = loop.PhaseDone, branch, head, head
		s.Pull = &loop.PullRequest{Number: number, Head: head, Open: true}
		if change != nil {
			change(s)
		}
	})
	w.handle()
	return number, head
}

// TestRetryOnThePullRequest: from its head, on its branch.
func TestRetryOnThePullRequest(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	number, head := w.pull("autocode/1-it", nil)
	w.say("mary", number, "/autocode retry more tests")
	runs := w.runs()
	if len(runs) != 2 || runs[0].Run.From != head || runs[0].Run.PullRequest != number || runs[0].Run.Branch != "autocode/1-it" {
		t.Errorf("runs %+v", runs)
	}
}

// TestRetryOfAClosedPullRequest: a new branch and pull request.
func TestRetryOfAClosedPullRequest(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	number, _ := w.pull("autocode/1-it", nil)
	w.must(w.As("mary").Close(repo, number))
	w.say("mary", number, "/autocode retry")
	if runs := w.runs(); len(runs) != 2 || runs[0].Run.From != "" || runs[0].Run.PullRequest != 0 || runs[0].Run.Branch != "" {
		t.Errorf("runs %+v", runs)
	}
}

func TestAttack16OwnComment(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.label("mary", n)
	w.must(w.publisher.Reply(w.ctx, w.started().Task.Repo, n, "x", "/autocode stop"))
	w.say(w.AppSlug()+"[bot]", n, "/autocode stop")
	w.handle()
	if got := w.kinds(); got != "" {
		t.Errorf("signals %q", got)
	}
}

func TestAttack17CommandInAQuoteFenceOrComment(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.label("mary", n)
	for _, text := range []string{"> /autocode stop", "```\n/autocode stop\n```", "<!--\n/autocode stop\n-->", "    /autocode stop", "`/autocode stop`"} {
		w.say("mary", n, text)
	}
	if got := w.kinds(); got != "" {
		t.Errorf("signals %q", got)
	}
}

func TestAttack20RetryOnAForksPullRequest(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.label("mary", n)
	fork, err := w.As("eve").Fork(repo)
	w.must(err)
	_, err = w.As("eve").PushFiles(fork, "evil", "x", map[string][]byte{"a": []byte("b")})
	w.must(err)
	number, err := w.As("eve").OpenPull(repo, "evil", "x", "eve:evil", "main", false)
	w.must(err)
	w.say("mary", number, "/autocode retry")
	w.said(number, "There is no run here", 1)
	// Even where a run claims the pull request for its own.
	w.put(func(s *loop.Snapshot) {
		s.Phase, s.Run.Branch, s.Pull = loop.PhaseDone, "evil", &loop.PullRequest{Number: number, Open: true}
	})
	w.say("mary", number, "/autocode retry")
	w.said(number, "from a fork", 1)
	if len(w.runs()) != 1 {
		t.Errorf("%d runs", len(w.runs()))
	}
}

func TestAttack21EditedComment(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.label("mary", n)
	id := w.say("mary", n, "nice weather")
	w.must(w.As("mary").EditComment(repo, id, "/autocode stop"))
	w.handle()
	if got := w.kinds(); got != "" {
		t.Errorf("signals %q", got)
	}
}

func TestAttack22HundredRetries(t *testing.T) {
	w := newWorld(t)
	n := w.issue()
	w.label("mary", n)
	for range 100 {
		w.put(func(s *loop.Snapshot) { s.Phase = loop.PhaseFailed })
		_, err := w.As("mary").Comment(repo, n, "/autocode retry")
		w.must(err)
		w.handle()
		if w.runs()[0].Phase.Ended() {
			break // refused for the first time
		}
	}
	for range 40 {
		_, err := w.As("mary").Comment(repo, n, "/autocode retry")
		w.must(err)
	}
	w.handle()
	if got := len(w.runs()); got != 10 {
		t.Errorf("%d runs in an hour", got)
	}
	w.said(n, "runs in an hour are enough", 11)
	w.said(n, "a lot of commands", 1)
}

// TestAnswers: a person with write access answers, others are vouched for.
func TestAnswers(t *testing.T) {
	ask := func(t *testing.T) (*world, int) {
		w := newWorld(t)
		n := w.issue()
		w.say("olga", n, "an older remark")
		w.label("mary", n)
		s := w.put(func(s *loop.Snapshot) {
			s.Phase, s.Question, s.Decision.At = loop.PhaseClarifying, &loop.Question{Text: "Which?"}, w.clock.Now()
		})
		w.must(w.publisher.Tell(w.ctx, s, loop.Notice{Kind: loop.NoticeQuestion, Key: "question-0", Markdown: "Which?"}))
		w.handle()
		return w, n
	}
	t.Run("by a maintainer", func(t *testing.T) {
		w, n := ask(t)
		issue, err := w.Issue(repo, n)
		w.must(err)
		if !strings.Contains(strings.Join(issue.Labels, " "), loop.DefaultNeedsInfoLabel) {
			t.Errorf("labels %v", issue.Labels)
		}
		id := w.say("mary", n, "the second one")
		signals := w.signals()
		if len(signals) != 1 || signals[0].Kind != loop.SignalAnswer || signals[0].Text != "the second one" || w.reactions(n, id) != "eyes" {
			t.Errorf("signals %+v", signals)
		}
		// Once it goes on the label is taken off.
		s := w.put(func(s *loop.Snapshot) { s.Phase, s.Asked = loop.PhaseSpecifying, 1 })
		w.must(w.publisher.Progress(w.ctx, s))
		w.must(w.publisher.Progress(w.ctx, s))
		issue, err = w.Issue(repo, n)
		w.must(err)
		if strings.Contains(strings.Join(issue.Labels, " "), loop.DefaultNeedsInfoLabel) {
			t.Errorf("labels %v", issue.Labels)
		}
	})
	t.Run("by the reporter, vouched for", func(t *testing.T) {
		w, n := ask(t)
		w.say("olga", n, "the first one<!-- psst -->")
		w.say("eve", n, "neither")
		if got := w.kinds(); got != "" {
			t.Fatalf("signals %q before anybody vouched", got)
		}
		w.say("mary", n, "/autocode resume")
		signals := w.signals()
		if len(signals) != 1 || signals[0].Kind != loop.SignalResume || signals[0].Text != "the first one" {
			t.Errorf("signals %+v", signals)
		}
	})
}

// TestButtons: they do what the commands do, with the presser's authority.
func TestButtons(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	number, head := w.pull("autocode/1-it", nil)
	s := w.started()
	w.must(w.publisher.StartCheck(w.ctx, s, head))
	verdict := loop.Verdict{Head: head, Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Pass: false}}}
	w.must(w.publisher.FinishChecks(w.ctx, s, verdict))
	w.handle()
	runs := w.CheckRuns(repo, head)
	whole := runs[len(runs)-1].ID
	for _, k := range runs {
		if k.Name == "autocode" {
			whole = k.ID
		}
	}
	w.must(w.As("rita").PressButton(repo, whole, "retry"))
	w.must(w.As("rita").PressButton(repo, whole, "retry"))
	w.handle()
	w.said(number, "write access", 1)
	w.must(w.As("mary").PressButton(repo, whole, "retry"))
	w.must(w.As("mary").PressButton(repo, whole, "retry"))
	w.handle()
	if all := w.runs(); len(all) != 2 || all[0].Run.Trigger != loop.TriggerRetry {
		t.Errorf("%d runs", len(all))
	}
	w.said(number, "is still queued", 1)
}

// TestRerun: GitHub's own button repeats the verification.
func TestRerun(t *testing.T) {
	for name, press := range map[string]func(a githubtest.Actor, run int64) error{
		"check run": func(a githubtest.Actor, run int64) error { return a.RerequestCheck(repo, run) },
		"suite":     func(a githubtest.Actor, run int64) error { return a.RerequestSuite(repo, run) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.label("mary", w.issue())
			_, head := w.pull("autocode/1-it", nil)
			w.must(w.publisher.FinishChecks(w.ctx, w.started(), loop.Verdict{Head: head, Pass: true}))
			w.handle()
			run := w.CheckRuns(repo, head)[0].ID
			w.must(press(w.As("mary"), run))
			w.must(press(w.As("mary"), run)) // the same payload while the effect runs
			w.handle()
			if all := w.runs(); len(all) != 2 || all[0].Run.Trigger != loop.TriggerRerun {
				t.Errorf("%d runs: %+v", len(all), all[0].Run)
			}
		})
	}
}

// TestReviews: what a reviewer with write access asks for becomes the next run's guidance.
func TestReviews(t *testing.T) {
	remark := githubtest.LineComment{Path: "fix.txt", Line: 1, Body: "why x?"}
	for name, c := range map[string]struct {
		by      string
		state   githubtest.ReviewState
		body    string
		remarks []githubtest.LineComment
		runs    int
	}{
		"changes requested":  {"rob", githubtest.ReviewChangesRequested, "please rename", []githubtest.LineComment{remark}, 2},
		"remarks":            {"rob", githubtest.ReviewCommented, "", []githubtest.LineComment{remark}, 2},
		"a word of thanks":   {"rob", githubtest.ReviewCommented, "thanks!", nil, 1},
		"approval":           {"rob", githubtest.ReviewApproved, "good", nil, 1},
		"without any access": {"eve", githubtest.ReviewChangesRequested, "please rename", []githubtest.LineComment{remark}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(w.SetRole(repo, "rob", githubtest.RoleWrite))
			w.label("mary", w.issue())
			number, _ := w.pull("autocode/1-it", nil)
			_, err := w.As(c.by).Review(repo, number, c.state, c.body, c.remarks...)
			w.must(err)
			w.handle()
			all := w.runs()
			if len(all) != c.runs {
				t.Fatalf("%d runs, want %d", len(all), c.runs)
			}
			if c.runs == 2 && (all[0].Run.Trigger != loop.TriggerReview || !strings.Contains(all[0].Run.Guidance, "fix.txt:1: why x?")) {
				t.Errorf("run %+v", all[0].Run)
			}
		})
	}
}

// TestCommandInARemark: a command on a line of the diff.
func TestCommandInARemark(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	number, _ := w.pull("autocode/1-it", nil)
	_, err := w.As("mary").ReviewComment(repo, number, githubtest.LineComment{Path: "fix.txt", Line: 1, Body: "/autocode status"})
	w.must(err)
	w.handle()
	w.said(number, "is done", 1)
	if r := w.ReviewComments(repo, number)[0].Reactions; len(r) != 1 {
		t.Errorf("reactions %+v", r)
	}
}

// TestOtherAppsSuites: red checks of others are repaired, once per head.
func TestOtherAppsSuites(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	_, head := w.pull("autocode/1-it", nil)
	fail := func() {
		t.Helper()
		_, err := w.OtherApp("some-ci").CreateCheckRun(repo, githubtest.CheckRunInput{
			Name: ptr("build"), HeadSHA: head, Status: ptr("completed"), Conclusion: ptr("failure"), Output: &githubtest.CheckOutput{
				Title: ptr("it does not build"), Summary: ptr("see line 1"), Annotations: []githubtest.Annotation{{Path: "fix.txt", StartLine: 1, EndLine: 1, AnnotationLevel: "failure", Message: "no x"}},
			},
		})
		w.must(err)
		w.handle()
	}
	fail()
	all := w.runs()
	if len(all) != 2 || all[0].Run.Trigger != loop.TriggerCI || all[0].Run.From != head || all[0].Run.RequestedBy != "mary" {
		t.Fatalf("%d runs: %+v", len(all), all[0].Run)
	}
	for _, part := range []string{"build", "it does not build", "fix.txt:1: no x"} {
		if !strings.Contains(all[0].Run.Guidance, part) {
			t.Errorf("%q is missing in %q", part, all[0].Run.Guidance)
		}
	}
	w.put(func(s *loop.Snapshot) {
		s.Phase, s.Pull = loop.PhaseDone, &loop.PullRequest{Number: all[0].Run.PullRequest, Head: head, Open: true}
	})
	w.clock.tick(pause)
	_, err := w.OtherApp("second-ci").CreateCheckRun(repo, githubtest.CheckRunInput{Name: ptr("another"), HeadSHA: head, Status: ptr("completed"), Conclusion: ptr("failure")})
	w.must(err)
	w.handle()
	if got := len(w.runs()); got != 2 {
		t.Errorf("%d runs after the second red suite on the same head", got)
	}
}

func ptr(text string) *string { return &text }

// TestClosedPullRequest: what became of it is remembered, and stops a run on it.
func TestClosedPullRequest(t *testing.T) {
	w := newWorld(t)
	w.label("mary", w.issue())
	number, _ := w.pull("autocode/1-it", func(s *loop.Snapshot) { s.Phase = loop.PhaseVerifying })
	w.must(w.As("mary").Close(repo, number))
	w.handle()
	if got := w.kinds(); got != "cancel" {
		t.Errorf("signals %q", got)
	}
}
