package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

// RerankFiles is how many files a model is asked to order: fifty hold 97 % of the files that fixes change.
const RerankFiles = 50

const (
	purposeRank = "rank"
	// maxRankIssue bounds the issue in that call, in bytes: some 1,000 tokens. Its beginning says what it is about.
	maxRankIssue = 4_000
	// maxRankLine bounds a file's line, in bytes: with 50 of them some 3,000 tokens.
	maxRankLine = 220
	// maxRankNames bounds the names of a file that are shown, best first.
	maxRankNames = 6
	// maxRanked is how many files of the answer count.
	maxRanked = 10
)

// Rerank asks a model once which of the located files must be changed to solve an issue, and puts those first; the rest
// keeps its order. The call has some 4,500 tokens at most. An answer that is malformed or names no file of the list
// changes nothing. With an error the files come back as they were.
//
// The loop does not ask it by itself: its first prompt shows a dozen files within its budget, and nine times of ten the
// right one is among the first ten already, so that every task would pay for what helps few. A coder that needs
// another file reads it.
func Rerank(ctx context.Context, model loop.Model, issue string, located []loop.Located) ([]loop.Located, error) {
	list := located[:min(len(located), RerankFiles)]
	if len(list) < 2 {
		return located, nil
	}
	var files strings.Builder
	for i, l := range list {
		files.WriteString(rankLine(i+1, l) + "\n")
	}
	prompt, err := prompts.Rank(prompts.RankData{Issue: prompts.Cut(issue, maxRankIssue), Files: files.String()})
	if err != nil {
		return located, err
	}
	reply, err := model.Complete(ctx, loop.ModelRequest{
		Role: loop.RolePlanner, Purpose: purposeRank, Schema: json.RawMessage(fields("files", listOf(whole))), SchemaName: "rank",
		Messages: []loop.Message{{Speaker: loop.SpeakerSystem, Text: prompt.System}, {Speaker: loop.SpeakerUser, Text: prompt.User}},
	})
	if err != nil {
		return located, fmt.Errorf("ask the model to order %d files: %w", len(list), err)
	}
	return reorder(located, rankedNumbers(reply.JSON, len(list))), nil
}

// rankLine is a file with its number and the names of its best places.
func rankLine(number int, l loop.Located) string {
	var names []string
	for _, s := range l.Spans {
		if s.Symbol != "" && !slices.Contains(names, s.Symbol) && len(names) < maxRankNames {
			names = append(names, s.Symbol)
		}
	}
	line := fmt.Sprintf("%d %s", number, strings.ToValidUTF8(strings.Join(strings.Fields(l.Path), " "), "?"))
	if len(names) > 0 {
		line += ": " + strings.Join(names, ", ")
	}
	return prompts.Cut(line, maxRankLine)
}

// rankedNumbers reads the numbers of an answer that are in a list of n, each once. It accepts any bytes.
func rankedNumbers(answer json.RawMessage, n int) []int {
	var reply struct{ Files []json.RawMessage }
	if json.Unmarshal(answer, &reply) != nil {
		return nil
	}
	var numbers []int
	for _, raw := range reply.Files {
		var k int
		if json.Unmarshal([]byte(strings.Trim(string(raw), `"`)), &k) == nil && k >= 1 && k <= n && !slices.Contains(numbers, k) && len(numbers) < maxRanked {
			numbers = append(numbers, k)
		}
	}
	return numbers
}

// reorder puts the files with the given numbers, from 1, first. Scores stay falling: a file that moves takes the score
// of its new place.
func reorder(located []loop.Located, numbers []int) []loop.Located {
	out := make([]loop.Located, 0, len(located))
	for _, n := range numbers {
		out = append(out, located[n-1])
	}
	for i, l := range located {
		if !slices.Contains(numbers, i+1) {
			out = append(out, l)
		}
	}
	for i := range out {
		out[i].Score = located[i].Score
	}
	return out
}
