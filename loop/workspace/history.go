package workspace

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// maxHistory bounds the commits of one History: more say nothing new about where things are.
const maxHistory = 20_000

// History lists the newest commits that lead to the tree's, itself included, at most n (and never
// more than 20,000), newest first.
func (t *tree) History(ctx context.Context, n int) ([]loop.HistoryCommit, error) {
	if n <= 0 {
		return nil, nil
	}
	// The marker is not guessable, so that neither a message nor a file's name can pretend to be
	// the start of a commit.
	marker := rand.Text()
	out, err := t.git.run(ctx, t.call("log", "-z", "--name-only", "--no-renames", "--no-show-signature",
		"--no-mailmap", "--no-textconv", "--no-ext-diff", "--no-color", "--encoding=UTF-8",
		"--diff-merges=first-parent", "--ignore-submodules=none",
		"--format="+marker+"%H %ct%n%B", "--max-count="+strconv.Itoa(min(n, maxHistory)), "--end-of-options", t.commit, "--"))
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", t.commit, err)
	}
	return parseHistory(string(out), marker)
}

// parseHistory reads NUL-separated tokens: for each commit "MARKER<id> <seconds>\n<message>",
// then its paths, the first of which has a line feed before it.
func parseHistory(out, marker string) ([]loop.HistoryCommit, error) {
	var commits []loop.HistoryCommit
	first := false
	for token := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		head, isCommit := strings.CutPrefix(token, marker)
		if !isCommit {
			if len(commits) == 0 {
				if token == "" {
					continue
				}
				return nil, fmt.Errorf("history starts with %q instead of a commit", token)
			}
			if first {
				token, first = strings.TrimPrefix(token, "\n"), false
			}
			last := &commits[len(commits)-1]
			last.Files = append(last.Files, token)
			continue
		}
		c, err := parseHistoryCommit(head)
		if err != nil {
			return nil, err
		}
		commits = append(commits, c)
		first = true
	}
	return commits, nil
}

func parseHistoryCommit(head string) (loop.HistoryCommit, error) {
	line, message, _ := strings.Cut(head, "\n")
	id, seconds, _ := strings.Cut(line, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		// A commit without a readable date is a fault of some old histories.
		at = 0
	}
	if !isObjectID(id) {
		return loop.HistoryCommit{}, fmt.Errorf("history: %q is not a commit id", id)
	}
	subject, body, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	return loop.HistoryCommit{
		ID: id, Subject: strings.TrimSpace(subject), Body: strings.TrimSpace(body), At: time.Unix(at, 0).UTC(),
	}, nil
}
