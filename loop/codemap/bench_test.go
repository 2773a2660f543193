package codemap

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/workspace"
)

// The benchmark of `make bench-locate`. It mines bug-fix commits of the clones that it is given, at run time:
// the message is the query, with the names of the changed files taken out; the files and lines of the parent
// that the fix changed, tests, docs and build files left out, are the truth. Nothing of it is stored.
var (
	benchRepos = flag.String("repos", "", "clones to mine, separated by blanks; none: the benchmark is skipped")
	benchCases = flag.Int("cases", 25, "most cases of one clone")
)

const (
	minedHistory = 8000 // commits that are looked at
	minedFiles   = 15   // a fix changes at most so many files,
	minedGold    = 5    // and so many sources
	minedMessage = 80   // bytes that the message has at least: shorter ones say nothing
	minedLonger  = 1000 // bytes of it that are used
)

// packedTokens are the budgets: a planner's, a coder's and a large one.
var packedTokens = [...]int{7_000, 12_000, 20_000}

var (
	minedFix   = regexp.MustCompile(`(?i)\b(fix(es|ed)?|bug|crash(es)?|regression|broken|incorrect(ly)?|wrong(ly)?|leaks?|panics?|race|deadlock)\b`)
	minedOther = regexp.MustCompile(`(?i)^merge |\b(typos?|readme|docs?|lint|ci|tests?|changelog|release|bump|revert|warnings?|spelling)\b`)
	minedNoise = regexp.MustCompile(`(?mi)^(signed-off-by|co-authored-by|reviewed-by|cc|change-id|git-svn-id):.*$|https?://\S+|\(?((fix|close|resolve)[sd]?\s+)?(GH-)?#\d+\)?|^\s*(fix|bug|bugfix|perf)(\([^)]*\))?!?:`)
)

// minedCase is one fix of the past.
type minedCase struct {
	fix, query string
	gold       []string
}

// tally sums measures over cases.
type tally struct {
	cases                     int
	r1, r3, r5, r10, r50, mrr float64
}

func (s *tally) add(ranking, gold []string) {
	s.cases++
	first := 0
	for i, p := range ranking[:min(50, len(ranking))] {
		if !slices.Contains(gold, p) {
			continue
		}
		if first == 0 {
			first = i + 1
			s.mrr += 1 / float64(first)
		}
		share := 1 / float64(len(gold))
		for k, at := range map[int]*float64{1: &s.r1, 3: &s.r3, 5: &s.r5, 10: &s.r10, 50: &s.r50} {
			if i < k {
				*at += share
			}
		}
	}
}

func (s *tally) String() string {
	f := 100 / float64(max(s.cases, 1))
	return fmt.Sprintf("%5d  %5.1f  %5.1f  %5.1f  %5.1f  %5.1f  %5.1f", s.cases, s.r1*f, s.r3*f, s.r5*f, s.r10*f, s.r50*f, s.mrr*f)
}

func TestBenchLocate(t *testing.T) {
	repos := strings.Fields(*benchRepos)
	if len(repos) == 0 {
		t.Skip("no clones to mine: give -args -repos \"DIR …\" (make bench-locate)")
	}
	const methods = 3
	names := [methods]string{"autocode locate", "BM25, bodies and paths", "keyword count"}
	var all [methods]tally
	var hunks, planned, plannedTokens float64
	var covered [len(packedTokens)]float64
	for _, repo := range repos {
		head, err := workspace.OpenTree(t.Context(), repo, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\n%s\n", path.Base(strings.TrimSuffix(strings.TrimSuffix(repo, "/.git"), "/repo")))
		benchSpeed(t, head)
		index := New(Config{})
		var here [methods]tally
		for _, c := range mine(t, repo, head) {
			tree, err := workspace.OpenTree(t.Context(), repo, c.fix+"^1")
			if err != nil {
				t.Fatal(err)
			}
			located, err := index.Locate(t.Context(), tree, c.query, 50)
			if err != nil {
				t.Fatal(err)
			}
			s, v, err := index.open(t.Context(), tree)
			if err != nil {
				t.Fatal(err)
			}
			rankings := [methods][]string{paths(located), s.baseline(v, c.query, true), s.baseline(v, c.query, false)}
			for i, r := range rankings {
				here[i].add(r, c.gold)
				all[i].add(r, c.gold)
			}
			counted := 0.0
			for i, budget := range packedTokens {
				text, err := index.Pack(t.Context(), tree, located, nil, budget)
				if err != nil {
					t.Fatal(err)
				}
				if n, of := hunksShown(t, repo, c, tree, text); of > 0 {
					covered[i] += float64(n) / float64(of)
					counted = 1
				}
			}
			hunks += counted
			text, err := index.Pack(t.Context(), tree, located, c.gold, packedTokens[1])
			if err != nil {
				t.Fatal(err)
			}
			if n, of := hunksShown(t, repo, c, tree, text); of > 0 {
				planned += float64(n) / float64(of)
				plannedTokens += float64(index.Tokens(text))
			}
		}
		printTable(names[:], here[:])
	}
	fmt.Printf("\nall\n")
	printTable(names[:], all[:])
	fmt.Printf("changed places where a plan names the files: %.1f %% inside %.0f tokens on average, of %d\n",
		100*planned/max(hunks, 1), plannedTokens/max(hunks, 1), packedTokens[1])
	for i, budget := range packedTokens {
		fmt.Printf("changed places inside %6d packed tokens: %.1f %%\n", budget, 100*covered[i]/max(hunks, 1))
	}
}

func printTable(names []string, rows []tally) {
	fmt.Printf("  %-24s cases    @1     @3     @5    @10    @50    MRR\n", "recall")
	for i := range rows {
		fmt.Printf("  %-24s %s\n", names[i], rows[i].String())
	}
}

// mine picks fixes evenly over a history.
func mine(t *testing.T, repo string, head loop.Tree) []minedCase {
	history, err := head.History(t.Context(), minedHistory)
	if err != nil {
		t.Fatal(err)
	}
	var out []minedCase
	for _, c := range history {
		if len(c.Files) == 0 || len(c.Files) > minedFiles || !minedFix.MatchString(c.Subject) || minedOther.MatchString(c.Subject) {
			continue
		}
		query := c.Subject + "\n" + c.Body
		var gold []string
		for _, f := range c.Files {
			query = strings.ReplaceAll(query, f, "")
			query = strings.ReplaceAll(query, path.Base(f), "")
			if classOf(f) == classSource {
				gold = append(gold, f)
			}
		}
		query = strings.TrimSpace(minedNoise.ReplaceAllString(query, ""))
		if len(query) >= minedMessage && len(gold) > 0 && len(gold) <= minedGold {
			out = append(out, minedCase{c.ID, query[:min(len(query), minedLonger)], gold})
		}
	}
	var picked []minedCase
	for i := 0; i < len(out) && len(picked) < *benchCases; i += max(1, len(out) / *benchCases) {
		c := out[i]
		parent, err := workspace.OpenTree(t.Context(), repo, c.fix+"^1")
		if err != nil {
			continue // the first commit has no parent
		}
		files, err := parent.Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.gold = slices.DeleteFunc(c.gold, func(g string) bool {
			return !slices.ContainsFunc(files, func(f loop.TreeFile) bool { return f.Path == g })
		})
		if len(c.gold) > 0 {
			picked = append(picked, c)
		}
	}
	return picked
}

// baseline ranks by BM25 of bodies and path words, or by the plain count of the query's words, with the
// classes of files ranked apart as the real ranking does.
func (s *shelf) baseline(v *view, text string, bm bool) []string {
	q := parseQuery(text)
	q.order = slices.DeleteFunc(q.order, func(term string) bool { return q.joined[term] })
	q.pairs = nil
	s.mu.RLock()
	defer s.mu.RUnlock()
	m := s.match(q)
	found, length, docs := m.scan(v)
	byFile := map[int]*hits{}
	for i := range found {
		byFile[found[i].file] = &found[i]
	}
	for i, f := range v.files {
		for _, id := range append(slices.Clone(f.name.dirs), f.name.base...) {
			for _, term := range m.sets[m.set[id]] {
				if byFile[i] == nil {
					byFile[i] = &hits{file: i, counts: make([]float32, len(m.terms))}
				}
				byFile[i].counts[term]++
			}
		}
	}
	weigh := m.idf(found, docs)
	score := map[string]float64{}
	for i, h := range byFile {
		f := v.files[i]
		value := 0.0
		for _, n := range h.counts {
			value += float64(n)
		}
		if bm {
			value = bm25(h.counts, weigh, float64(h.length)*float64(docs)/float64(max(length, 1)))
		}
		score[f.path] = value * standing[f.class]
	}
	return slices.SortedFunc(maps.Keys(score), func(a, b string) int {
		if score[a] != score[b] {
			if score[a] > score[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

var (
	hunkHead  = regexp.MustCompile(`^@@ -(\d+)`)
	shownHead = regexp.MustCompile(`(?m)^={3,17} (.+):(\d+)-(\d+)(?: |$)`)
)

// hunksShown counts the places of the parent that a fix changed, and how many of them a packed text shows.
func hunksShown(t *testing.T, repo string, c minedCase, parent loop.Tree, text string) (shown, of int) {
	fix, err := workspace.OpenTree(t.Context(), repo, c.fix)
	if err != nil {
		t.Fatal(err)
	}
	ranges := map[string][]lineRange{}
	for _, m := range shownHead.FindAllStringSubmatch(text, -1) {
		ranges[m[1]] = append(ranges[m[1]], lineRange{atoi(m[2]), atoi(m[3])})
	}
	for _, g := range c.gold {
		before, err := parent.Read(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		after, err := fix.Read(t.Context(), g)
		if err != nil {
			after = nil // deleted
		}
		for _, line := range changed(string(diff.Diff("a", before, "b", after))) {
			of++
			if slices.ContainsFunc(ranges[g], func(r lineRange) bool { return line >= r.start && line <= r.end }) {
				shown++
			}
		}
	}
	return shown, of
}

// changed lists the first old line of every run of changes in a unified diff.
func changed(unified string) []int {
	var out []int
	line, inside, started := 0, false, false
	for l := range strings.Lines(unified) {
		if m := hunkHead.FindStringSubmatch(l); m != nil {
			line, _ = strconv.Atoi(m[1])
			inside, started = false, true
			continue
		}
		if !started {
			continue
		}
		edit := l[0] == '-' || l[0] == '+'
		if edit && !inside {
			out = append(out, max(line, 1))
		}
		if inside = edit; l[0] != '+' {
			line++
		}
	}
	return out
}

// editedTree is a tree after a commit that changes some files.
type editedTree struct {
	loop.Tree
	edited map[string][]byte // by blob
	files  []loop.TreeFile
}

func (e *editedTree) Commit() string                                 { return "edited-" + e.Tree.Commit() }
func (e *editedTree) Files(context.Context) ([]loop.TreeFile, error) { return e.files, nil }
func (e *editedTree) ReadAll(ctx context.Context, blobs []string, limit int64, each func(string, []byte) error) error {
	var rest []string
	for _, b := range blobs {
		if text, ok := e.edited[b]; !ok {
			rest = append(rest, b)
		} else if err := each(b, text); err != nil {
			return err
		}
	}
	return e.Tree.ReadAll(ctx, rest, limit, each)
}

// benchSpeed prints what indexing and asking cost at a commit.
func benchSpeed(t *testing.T, tree loop.Tree) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	index := New(Config{})
	began := time.Now()
	stats, err := index.Load(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	cold := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)

	files, err := tree.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	edit := &editedTree{Tree: tree, edited: map[string][]byte{}, files: slices.Clone(files)}
	texts := memoryTree(t, tree, files)
	began = time.Now()
	if err := newShelf().read(t.Context(), texts, slices.Sorted(maps.Keys(texts.texts))); err != nil {
		t.Fatal(err)
	}
	lexical := time.Since(began)
	for i := 0; i < len(files) && len(edit.edited) < 10; i++ {
		if text, ok := texts.texts[files[i].Blob]; ok && classOf(files[i].Path) == classSource {
			blob := fmt.Sprintf("edited%d", i)
			edit.edited[blob] = append([]byte("changed line\n"), text...)
			edit.files[i].Blob = blob
		}
	}
	began = time.Now()
	if _, err := index.Load(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	again := time.Since(began)

	const query = "Crash when the configuration file is missing: `open config: no such file` is returned by the parser\nThe default value of the option should be used instead, and the error handler must not panic"
	var times []time.Duration
	for range 9 {
		began = time.Now()
		if _, err := index.Locate(t.Context(), tree, query, 50); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	first := times[0]
	slices.Sort(times)
	mb := float64(stats.Bytes) / 1e6
	fmt.Printf("  %d files, %.1f MB: cold %d ms with git (%.0f MB/s), lexical index alone %.0f MB/s, %.0f files/s; after a commit of 10 files %d ms; query %d ms, the first %d ms; heap %.1f times the source\n",
		stats.Files, mb, cold.Milliseconds(), mb/cold.Seconds(), mb/lexical.Seconds(), float64(stats.Files)/lexical.Seconds(),
		again.Milliseconds(), times[len(times)/2].Milliseconds(), first.Milliseconds(),
		(float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(stats.Bytes))
}

// textTree has contents at hand, so that indexing is measured without git.
type textTree struct {
	loop.Tree
	texts map[string][]byte
}

func (m *textTree) ReadAll(_ context.Context, blobs []string, _ int64, each func(string, []byte) error) error {
	for _, b := range blobs {
		if err := each(b, m.texts[b]); err != nil {
			return err
		}
	}
	return nil
}

func memoryTree(t *testing.T, tree loop.Tree, files []loop.TreeFile) *textTree {
	m := &textTree{Tree: tree, texts: map[string][]byte{}}
	var blobs []string
	for _, f := range files {
		if readable(f, classOf(f.Path)) {
			blobs = append(blobs, f.Blob)
		}
	}
	slices.Sort(blobs)
	err := tree.ReadAll(t.Context(), slices.Compact(blobs), maxBlob, func(blob string, content []byte) error {
		if kindOf(content) == blobText {
			m.texts[blob] = slices.Clone(content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
