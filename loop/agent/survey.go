package agent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/prompts"
)

// survey is what is known of a repository at one commit before a model is asked.
type survey struct {
	index loop.Index
	tree  loop.Tree
	files map[string]loop.TreeFile
	paths []string // sorted
}

func newSurvey(ctx context.Context, index loop.Index, tree loop.Tree) (*survey, error) {
	list, err := tree.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", tree.Commit(), err)
	}
	s := &survey{index: index, tree: tree, files: make(map[string]loop.TreeFile, len(list))}
	for _, f := range list {
		s.files[f.Path] = f
		s.paths = append(s.paths, f.Path)
	}
	slices.Sort(s.paths)
	return s, nil
}

// pack locates a query and renders the code that a prompt shows, fenced as data. The paths in
// always come first. It also returns the ranked paths.
func (s *survey) pack(ctx context.Context, query string, always []string, budget int) (code string, ranked []string, err error) {
	const top = 12 // a dozen files is more than a budget holds
	located, err := s.index.Locate(ctx, s.tree, prompts.Cut(query, maxQuery), top)
	if err != nil {
		return "", nil, fmt.Errorf("locate the issue: %w", err)
	}
	located = slices.DeleteFunc(located, func(l loop.Located) bool { return secretFile(l.Path) })
	for _, l := range located {
		ranked = append(ranked, l.Path)
	}
	always = slices.DeleteFunc(slices.Clone(always), secretFile)
	packed, err := s.index.Pack(ctx, s.tree, located, always, budget)
	if err != nil {
		return "", nil, fmt.Errorf("pack the code: %w", err)
	}
	return prompts.Data("Exact text of files; heads like === path:first-last are not part of them", packed), ranked, nil
}

// maxQuery bounds what the locator is asked, in bytes: issues with whole logs in them.
const maxQuery = 40_000

// memory renders the instruction files for a set of paths.
func (s *survey) memory(ctx context.Context, paths []string) (string, error) {
	text, err := s.index.Memory(ctx, s.tree, paths)
	if err != nil {
		return "", fmt.Errorf("read the instruction files: %w", err)
	}
	return prompts.Cut(text, maxMemory), nil
}

// maxMemory bounds the instruction files of a prompt together, in bytes: about 2k tokens. A file
// of 60 lines is seldom longer than a third of it.
const maxMemory = 8_000

// exists says whether a path is a file of the commit.
func (s *survey) exists(p string) bool { _, ok := s.files[p]; return ok }

// hasDir says whether a directory has files in the commit; the root always has.
func (s *survey) hasDir(dir string) bool {
	if dir == "." || dir == "" {
		return true
	}
	at, _ := slices.BinarySearch(s.paths, dir+"/")
	return at < len(s.paths) && strings.HasPrefix(s.paths[at], dir+"/")
}

// endingIn lists the files whose path ends in /p.
func (s *survey) endingIn(p string) []string {
	var found []string
	for _, f := range s.paths {
		if strings.HasSuffix(f, "/"+p) {
			found = append(found, f)
		}
	}
	return found
}

// companions lists the test files that belong to a source file by their name, nearest first.
func (s *survey) companions(source string) []string {
	if isTest(source) {
		return nil
	}
	stem := testStem(source)
	var found []string
	for _, f := range s.paths {
		if isTest(f) && testStem(f) == stem && path.Ext(f) == path.Ext(source) {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int {
		return cmp.Compare(distance(source, a), distance(source, b))
	})
	return found
}

// distance counts the directories in which two paths differ.
func distance(a, b string) int {
	as, bs := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	common := 0
	for common < len(as) && common < len(bs) && as[common] == bs[common] {
		common++
	}
	return len(as) + len(bs) - 2*common
}

var (
	testName = regexp.MustCompile(`(?i)(^test_|_test\.|[._-]test\.|[._-]spec\.|_spec\.|tests?\.(java|kt|cs|swift|scala|php)$|^conftest\.py$|^test\.)`)
	testDir  = regexp.MustCompile(`(?i)(^|/)(tests?|__tests__|specs?|testing)(/|$)`)
	stemTrim = regexp.MustCompile(`(?i)^test[_-]|[._-](test|spec)s?$|tests?$`)
)

// isTest says whether a path looks like a test's.
func isTest(p string) bool {
	return testName.MatchString(path.Base(p)) || testDir.MatchString(path.Dir(p))
}

// testStem is a file's name without extension and without what marks a test.
func testStem(p string) string {
	base := path.Base(p)
	base = strings.TrimSuffix(base, path.Ext(base))
	if trimmed := stemTrim.ReplaceAllString(base, ""); trimmed != "" {
		base = trimmed
	}
	return strings.ToLower(base)
}

// hookFile is the file that a test hook names, "" where it names none.
func (s *survey) hookFile(hook string) string {
	dir := ""
	if before, after, ok := strings.Cut(hook, "//"); ok {
		dir, hook = before, after
	}
	for _, separator := range []string{"::", " > ", " › "} {
		name, _, found := strings.Cut(hook, separator)
		if found && s.exists(path.Join(dir, name)) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// verifiedBy lists the commands of a verdict's stages, each once.
func verifiedBy(outcome *loop.Outcome) []string {
	if outcome == nil {
		return nil
	}
	var commands []string
	add := func(dir, command string) {
		if command == "" {
			return
		}
		if dir != "" && dir != "." {
			command += " (in " + dir + ")"
		}
		if !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	for _, name := range loop.Stages() {
		stage, ran := outcome.Verdict.Stages[name]
		if !ran || stage.NotRun || name == loop.StageEnvironment {
			continue
		}
		if len(stage.Parts) == 0 {
			add("", stage.Command)
		}
		for _, p := range stage.Parts {
			add(p.Dir, p.Command)
		}
	}
	return commands
}

// shownIDs is how many existing test ids a prompt shows: enough to see how they are spelled.
const shownIDs = 6

// likelyIDs picks ids of existing tests that share words with a query, by how rare a word is among all ids: what every
// id says (test, the package's name) says nothing. Cases of a parametrized test stand for their test.
func likelyIDs(outcome *loop.Outcome, query string) []string {
	if outcome == nil {
		return nil
	}
	tests := map[string]map[string]bool{} // id to its words
	rarity := map[string]float64{}        // word to the number of ids with it, then to its weight
	for id := range outcome.Cases {
		id = withoutCase(id)
		if tests[id] != nil {
			continue
		}
		tests[id] = map[string]bool{}
		for _, w := range words(id) {
			if !tests[id][w] {
				tests[id][w] = true
				rarity[w]++
			}
		}
	}
	for w, n := range rarity {
		rarity[w] = math.Log(float64(len(tests)) / n)
	}
	wanted := map[string]bool{}
	for _, w := range words(query) {
		wanted[w] = true
	}
	type scored struct {
		id    string
		score float64
	}
	var list []scored
	for id, has := range tests {
		score := 0.0
		for w := range has {
			if wanted[w] {
				score += rarity[w]
			}
		}
		list = append(list, scored{id, score / math.Sqrt(float64(len(has)))}) // long ids share words by chance
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	var ids []string
	for _, s := range list[:min(len(list), shownIDs)] {
		ids = append(ids, s.id)
	}
	slices.Sort(ids)
	return ids
}

// withoutCase is the id of a parametrized test without its case, as pytest writes it: test_total[a-1].
func withoutCase(id string) string {
	name, _, found := strings.Cut(id, "[")
	if found && strings.HasSuffix(id, "]") && strings.Contains(name, "::") {
		return name
	}
	return id
}

var wordForm = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// words splits a text into its lower-case words, identifiers included; short ones are noise.
func words(text string) []string {
	const shortest = 3
	var list []string
	for _, w := range wordForm.FindAllString(text, -1) {
		if len(w) >= shortest {
			list = append(list, strings.ToLower(w))
		}
	}
	return list
}

// redOnBase lists failures that the base has already, a few.
func redOnBase(outcome *loop.Outcome) []loop.Failure {
	if outcome == nil {
		return nil
	}
	const shown = 5
	failures := outcome.Verdict.Failures()
	return failures[:min(len(failures), shown)]
}

// issueText is what the locator is asked about an issue.
func issueText(task loop.Task, run loop.Run, answers []string) string {
	parts := []string{task.Issue.Title, task.Issue.Body, run.Guidance}
	for _, c := range task.Issue.Comments {
		parts = append(parts, c.Body)
	}
	return strings.Join(append(parts, answers...), "\n")
}
