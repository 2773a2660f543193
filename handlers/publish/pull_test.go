package publish

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-7a986423/autocode/handlers/githubtest"
	"github.com/seed-7a986423/autocode/loop"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, text)
	}
}

// fixed takes out of a text what differs from run to run.
func (w *world) fixed(text string) string {
	return strings.NewReplacer(w.head, "0123456789abcdef0123456789abcdef01234567", w.URL(), "https://github.example").Replace(text)
}

func TestTexts(t *testing.T) {
	w := newWorld(t)
	s := w.finished(true)
	golden(t, "pull-green.md", w.fixed(PullTitle(s)+"\n\n"+PullBody(s)))
	golden(t, "check-green.md", w.fixed(w.wholeOutput(s, *s.Verdict).title+"\n\n"+w.wholeOutput(s, *s.Verdict).summary))
	red := w.finished(false)
	red.Ending, red.Decision.Reason = loop.PhaseEscalated, "The same failures at the same places twice."
	second := red.Rounds[0]
	second.Number = 2
	blocked := w.verdict(true)
	blocked.Pass, blocked.Acceptance = false, nil
	blocked.Guard = []loop.Finding{{Rule: "test-skipped", Severity: loop.SeverityBlock, File: "fix_test.txt", Line: 7, Message: "a test is skipped"}}
	red.Rounds = append(red.Rounds, second, loop.Round{Number: 3, Commit: "c3", Verdict: &blocked, RolledBack: true, Hooks: map[string]loop.CaseStatus{"AC1": loop.CasePassed}})
	golden(t, "pull-red.md", w.fixed(PullTitle(red)+"\n\n"+PullBody(red)))
	golden(t, "check-red.md", w.fixed(w.wholeOutput(red, *red.Verdict).title+"\n\n"+w.wholeOutput(red, *red.Verdict).summary))
	red.Phase, red.Ended = loop.PhaseEscalated, "The same failures at the same places twice."
	golden(t, "progress-red.md", w.fixed(Sanitize(progressText(red, "https://panel.example/runs/r1"), maxComment)))
}

// TestLongBody: under the limit whatever a run brings, with what matters, nothing cut in the middle.
func TestLongBody(t *testing.T) {
	w := newWorld(t)
	s := w.finished(false)
	s.Ending, s.Decision.Reason = loop.PhaseEscalated, strings.Repeat("because ", 20_000)
	for i := range 300 {
		s.Spec.Criteria = append(s.Spec.Criteria, loop.Criterion{ID: fmt.Sprint("AC", i+2), Then: strings.Repeat("then ", 100)})
		r := s.Rounds[0]
		r.Number, r.RootCause, r.Refused = i+2, strings.Repeat("cause ", 1000), strings.Repeat("x", 500)
		r.Files = append(r.Files, fmt.Sprintf("dir/file%d.go", i))
		s.Rounds = append(s.Rounds, r)
	}
	body := PullBody(s)
	if n := utf8.RuneCountInString(body); n > maxComment {
		t.Errorf("%d characters", n)
	}
	for _, part := range []string{"## What was asked", "Fixes #", "git revert", "<details><summary>Rounds</summary>", marker("pull", "t1")} {
		if !strings.Contains(body, part) {
			t.Errorf("%q is missing", part)
		}
	}
	if strings.Count(body, "<details>") != strings.Count(body, "</details>") || strings.Count(body, "```")%2 != 0 {
		t.Error("something is left open")
	}
}

// TestDraftAndReady: to and fro, by GraphQL.
func TestDraftAndReady(t *testing.T) {
	w := newWorldOver(t, conforming(t))
	s := w.finished(true)
	pull, err := w.OpenPull(w.ctx, s)
	w.must(err)
	if !pull.Draft || pull.NoDrafts || pull.Head != w.head || !pull.Open || pull.NodeID == "" {
		t.Errorf("opened %+v", pull)
	}
	for _, ready := range []bool{true, true, false, true} {
		s.Pull = &pull
		pull, err = w.UpdatePull(w.ctx, s, ready)
		w.must(err)
		there, err := w.PullRequest(testRepo, pull.Number)
		w.must(err)
		if there.Draft == ready || pull.Draft == ready {
			t.Errorf("draft %v, ready %v", there.Draft, ready)
		}
	}
	issue, err := w.Server.Issue(testRepo, pull.Number)
	w.must(err)
	if !strings.Contains(issue.Body, fmt.Sprintf("\nFixes #%d\n", w.issue)) || issue.Title != "fix: It breaks" {
		t.Errorf("%s\n%s", issue.Title, issue.Body)
	}
}

// TestNoDrafts: a repository that refuses drafts gets a normal pull request titled WIP.
func TestNoDrafts(t *testing.T) {
	w := newWorld(t, func(o *githubtest.RepositoryOptions) { o.NoDrafts, o.Private = true, true })
	s := w.finished(true)
	pull, err := w.OpenPull(w.ctx, s)
	w.must(err)
	title := func() string {
		t.Helper()
		issue, err := w.Server.Issue(testRepo, pull.Number)
		w.must(err)
		return issue.Title
	}
	if pull.Draft || !pull.NoDrafts || title() != "WIP: fix: It breaks" {
		t.Errorf("%+v, %s", pull, title())
	}
	w.restart(nil)
	pull, err = w.OpenPull(w.ctx, s) // after a crash
	w.must(err)
	if !pull.NoDrafts {
		t.Errorf("found again %+v", pull)
	}
	s.Pull = &pull
	pull, err = w.UpdatePull(w.ctx, s, true)
	w.must(err)
	if title() != "fix: It breaks" {
		t.Errorf("ready: %s", title())
	}
	s.Pull = &pull
	_, err = w.UpdatePull(w.ctx, s, false)
	w.must(err)
	if title() != "WIP: fix: It breaks" {
		t.Errorf("back: %s", title())
	}
}

// TestPullOfTheBranch: only the branch's own open pull request counts, none of a fork.
func TestPullOfTheBranch(t *testing.T) {
	w := newWorld(t)
	fork, err := w.As("eve").Fork(testRepo)
	w.must(err)
	_, err = w.As("eve").PushFiles(fork, branch, "x", map[string][]byte{"a": []byte("b")})
	w.must(err)
	foreign, err := w.As("eve").OpenPull(testRepo, "evil", "x", "eve:"+branch, "main", false)
	w.must(err)
	w.restart(nil)
	w.s.Run.Created = w.clock.Now() // not later than the process: it must look
	first, err := w.OpenPull(w.ctx, w.finished(true))
	w.must(err)
	if first.Number == foreign {
		t.Fatal("the fork's was taken")
	}
	again, err := w.publisher(nil).OpenPull(w.ctx, w.finished(true))
	w.must(err)
	if again.Number != first.Number {
		t.Errorf("#%d, then #%d", first.Number, again.Number)
	}
	w.must(w.As("mary").Close(testRepo, first.Number))
	next, err := w.publisher(nil).OpenPull(w.ctx, w.finished(true))
	w.must(err)
	if next.Number == first.Number {
		t.Error("a closed pull request was taken")
	}
}
