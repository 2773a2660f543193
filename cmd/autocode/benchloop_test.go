package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"github.com/seed-7a986423/autocode/handlers/publish"
	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

var benchLoop = flag.Bool("bench-loop", false, "play every case of the loop's bench, not only the first of each language")

// benchCase is a small broken project with a model that behaves in one way, and how the run must end.
type benchCase struct {
	name    string
	project string // testdata/benchloop/NAME.txtar
	// replies are the coder's, in turn, the last one again and again; SOLUTION stands for the project's.
	replies []modeltest.Reply
	// need is what the planner asks to see before it gives the spec; empty: nothing.
	need string
	// spec stands in for the project's where it is not empty.
	spec string
	// files are added to the repository.
	files map[string]string
	// review is the critic's first reply; it is content afterwards.
	review string
	end    loop.Phase
	// rounds is the number of rounds that the run should need, calls the number of the model's.
	rounds, calls int
	// seen is a text that the model must have been shown on the way.
	seen string
	// holds is a text that the pushed tree's file must hold, as path: text; empty: nothing is looked at.
	holds [2]string
}

// texts are replies without anything else.
func texts(list ...string) []modeltest.Reply {
	replies := make([]modeltest.Reply, len(list))
	for i, text := range list {
		replies[i].Text = text
	}
	return replies
}

// edits is a reply that changes one place of one file.
func edits(file, search, replace string) string {
	return "ROOT CAUSE: It is in " + file + ".\nFILES:\n" + file + " - the change\n\n" + file +
		"\n<<<<<<< SEARCH\n" + search + "\n=======\n" + replace + "\n>>>>>>> REPLACE\n"
}

const solution = "SOLUTION"

// benchCases are the ways in which models misbehave, the tame ones first.
func benchCases() []benchCase {
	readAgain := `{"action": "read_file", "arguments": {"path": "lib/slug.js"}}`
	skipped := edits("tests/test_longest.py", "    def test_none(self):", "    @unittest.skip('later')\n    def test_none(self):")
	return []benchCase{
		{name: "right at once", project: "go", replies: texts(solution), end: loop.PhaseDone, rounds: 1, calls: 2},
		{name: "right at once", project: "python", replies: texts(solution), end: loop.PhaseDone, rounds: 1, calls: 2},
		{name: "right at once", project: "node", replies: texts(solution), end: loop.PhaseDone, rounds: 1, calls: 2},
		{name: "right at once", project: "shell", replies: texts(solution), end: loop.PhaseDone, rounds: 1, calls: 2},
		{name: "wrong file, then the right one", project: "go", end: loop.PhaseDone, rounds: 2, calls: 3,
			replies: texts(edits("label/label.go", `func Name() string { return "shop" }`, `func Name() string { return "store" }`), solution)},
		{name: "malformed reply, then a diff, then blocks", project: "python", end: loop.PhaseDone, rounds: 1, calls: 4,
			replies: texts("I would change the loop.", "--- a/words/longest.py\n+++ b/words/longest.py\n@@ -5 +5 @@\n-nothing like it\n+x\n", solution)},
		{name: "repeats itself, then solves it", project: "node", end: loop.PhaseDone, rounds: 2, calls: 5, seen: "You did exactly this before",
			replies: texts(readAgain, readAgain, readAgain, solution)},
		{name: "repeats itself for ever", project: "node", end: loop.PhaseEscalated, rounds: 2, calls: 7, replies: texts(readAgain)},
		{name: "fixes one and breaks another", project: "python", end: loop.PhaseDone, rounds: 2, calls: 3, seen: "The change of the last round was undone",
			replies: texts(solution+"\n"+edits("words/longest.py", "    return text.upper()", "    return text"), solution),
			holds:   [2]string{"words/longest.py", "text.upper()"}},
		{name: "deletes a test, then does it right", project: "go", end: loop.PhaseDone, rounds: 2, calls: 3, seen: "test-deleted",
			replies: texts(edits("cart/cart_test.go", "func TestCount(t *testing.T) {\n\tif got := Count([]int{2, 3}); got != 2 {\n\t\tt.Errorf(\"got %d, want 2\", got)\n\t}\n}", "var _ testing.TB"), solution),
			holds:   [2]string{"cart/cart_test.go", "func TestCount"}},
		{name: "skips a test again and again", project: "python", end: loop.PhaseEscalated, rounds: 3, calls: 4, seen: "contest it", replies: texts(skipped)},
		{name: "skips a test and contests the refusal", project: "python", end: loop.PhaseApproving, rounds: 2, calls: 4, seen: "contest it",
			replies: texts(skipped, skipped, `{"action": "require_human_approval", "arguments": {"reason": "test-skipped: the test is wrong"}}`)},
		{name: "weakens a test, then does it right", project: "shell", end: loop.PhaseDone, rounds: 2, calls: 3,
			replies: texts(edits("tests/greet.t", `check "greets by name" "hello ann" ann`, `check "greets the world" "hello " `), solution)},
		{name: "hard-codes the result, the critic sees it", project: "go", end: loop.PhaseDone, rounds: 2, calls: 5,
			files:   map[string]string{".github/autocode.yml": "critic: true\n"},
			replies: texts(solution+"\n"+edits("cart/cart.go", "\tfor _, p := range prices {", "\tif len(prices) == 2 {\n\t\treturn 5\n\t}\n\tfor _, p := range prices {"), edits("cart/cart.go", "\tif len(prices) == 2 {\n\t\treturn 5\n\t}\n", "")),
			review:  `{"scores": {"correctness": 1, "security": 5, "readability": 2, "scope": 5}, "findings": [{"blocking": true, "file": "cart/cart.go", "line": 8, "msg": "two prices always give 5"}], "summary": "hard-coded"}`},
		{name: "needs a person's answer", project: "go", end: loop.PhaseClarifying, rounds: 0, calls: 1,
			spec: `{"goal": "Total is right", "kind": "bug", "criteria": [], "constraints": [], "out_of_scope": [], "questions": [{"text": "Net or gross?", "choices": ["net", "gross"]}], "zone": "green", "zone_why": "x", "nothing_to_do": "", "steps": []}`},
		{name: "edits a file that it did not declare", project: "node", end: loop.PhaseDone, rounds: 1, calls: 3, seen: "not under FILES",
			replies: texts(strings.Replace(edits("lib/slug.js", "function slug(text) {", "function slug(text) { // a link"), "lib/slug.js - the change", "lib/other.js - the change", 1), solution)},
		{name: "asks to see what it was not shown", project: "python", end: loop.PhaseDone, rounds: 1, calls: 3, seen: "There is no `words/gone.py` in the repository",
			need: `"words/longest.py:longest", "tests", "words/gone.py"`, replies: texts(solution)},
		{name: "cut-off reply", project: "shell", end: loop.PhaseDone, rounds: 1, calls: 3, replies: []modeltest.Reply{{Text: "FIRST HALF", Finish: "length"}, {Text: "SECOND HALF"}}},
		{name: "thinks aloud", project: "go", end: loop.PhaseDone, rounds: 1, calls: 2,
			replies: texts("<think>\nPerhaps so:\ncart/cart.go\n<<<<<<< SEARCH\n\tsum := 1\n=======\n\tsum := 7\n>>>>>>> REPLACE\n</think>\n" + solution)},
		{name: "no tool calls, actions by text", project: "python", end: loop.PhaseDone, rounds: 1, calls: 3, seen: "words[:-1]",
			replies: texts("Let me look.\n```json\n{\"action\": \"run_command\", \"arguments\": {\"command\": \"cat words/longest.py\"}}\n```", solution)},
		{name: "gives up", project: "shell", end: loop.PhaseEscalated, rounds: 2, calls: 3, replies: texts(`{"action": "give_up", "arguments": {"reason": "too hard"}}`)},
		{name: "declines", project: "shell", end: loop.PhaseEscalated, rounds: 3, calls: 4, replies: texts("I'm sorry, but I can't help with that.")},
		{name: "flaky test", project: "python", end: loop.PhaseDone, rounds: 1, calls: 2, replies: texts(solution),
			files: map[string]string{"tests/test_flaky.py": "import os\nimport unittest\n\n\nclass TestFlaky(unittest.TestCase):\n    def test_second_time(self):\n        seen = os.path.exists('.seen')\n        open('.seen', 'w').close()\n        self.assertTrue(seen)\n"}},
		{name: "refactoring, green before and after", project: "go", end: loop.PhaseDone, rounds: 1, calls: 2,
			spec:    specOf("refactor", "green-green", "", "cart/cart.go"),
			replies: texts(edits("cart/cart.go", "// Count is the number of the prices.\nfunc Count(prices []int) int { return len(prices) }", "// Count is how many prices there are.\nfunc Count(prices []int) int {\n\treturn len(prices)\n}"))},
		{name: "refactoring that changes behaviour", project: "python", end: loop.PhaseDone, rounds: 2, calls: 3,
			spec:    specOf("refactor", "red-green", "", "words/longest.py"),
			replies: texts(edits("words/longest.py", "    return text.upper()", "    return text"), edits("words/longest.py", "    return text.upper()", "    return str.upper(text)"))},
		{name: "dependency: the language's version", project: "go", end: loop.PhaseDone, rounds: 1, calls: 2,
			spec: specOf("dependency", "green-green", "", "go.mod"), replies: texts(edits("go.mod", "go 1.21", "go 1.22"))},
		{name: "documentation, proved by reading", project: "node", end: loop.PhaseDone, rounds: 1, calls: 2,
			spec: specOf("docs", "review", "", "lib/slug.js"), replies: texts(edits("lib/slug.js", "// slug makes a text fit for a link.", "// slug makes a text fit for a link: lower case, a dash for each blank."))},
		{name: "broken environment", project: "node", end: loop.PhaseEscalated, rounds: -1, calls: -1, replies: texts(solution),
			files: map[string]string{"package.json": "{\n  \"name\": \"slugs\",\n  \"version\": \"1.0.0\",\n  \"private\": true,\n  \"scripts\": {\n    \"test\": \"no-such-test-runner --all\"\n  }\n}\n"}},
	}
}

// specOf is a spec of one criterion and a plan of one step.
func specOf(kind, proof, hook, file string) string {
	return fmt.Sprintf(`{"goal": "it is better", "kind": %q, "criteria": [{"id": "AC1", "given": "", "when": "", "then": "it is better", "proof": %q, "test_hook": %q}], "constraints": [], "out_of_scope": [], "questions": [], "zone": "green", "zone_why": "small", "nothing_to_do": "", "steps": [{"id": "S1", "title": "make it better", "files": [%q], "depends_on": [], "acceptance": ["AC1"], "risk": "none"}]}`, kind, proof, hook, file)
}

// benchProject is a project as it lies in testdata.
type benchProject struct {
	title, body, spec, solution string
	files                       map[string]string
}

func readBenchProject(t *testing.T, name string) benchProject {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "benchloop", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	p := benchProject{files: map[string]string{}}
	for _, f := range archive.Files {
		switch rest, isRepo := strings.CutPrefix(f.Name, "repo/"); {
		case isRepo:
			p.files[rest] = string(f.Data)
		case f.Name == "issue.md":
			p.title, p.body, _ = strings.Cut(string(f.Data), "\n")
		case f.Name == "spec.json":
			p.spec = string(f.Data)
		case f.Name == "solution.txt":
			p.solution = string(f.Data)
		}
	}
	return p
}

// script is what the model answers in a case.
func (c benchCase) script(p benchProject) modeltest.Script {
	spec := p.spec
	if c.spec != "" {
		spec = c.spec
	}
	half := strings.Index(p.solution, "=======") + len("=======\n")
	fill := strings.NewReplacer(solution, p.solution, "FIRST HALF", p.solution[:half], "SECOND HALF", p.solution[half:])
	replies := make([]modeltest.Reply, len(c.replies))
	for i, r := range c.replies {
		r.Text = fill.Replace(r.Text)
		replies[i] = r
	}
	specs := texts(spec)
	if c.need != "" {
		specs = texts(`{"goal": "", "kind": "bug", "criteria": [], "constraints": [], "out_of_scope": [], "questions": [], "zone": "green", "zone_why": "", "nothing_to_do": "", "steps": [], "need": [`+c.need+`]}`, spec)
	}
	rules := []modeltest.Rule{{Name: "spec", Purpose: "spec", Replies: specs}}
	if len(replies) > 0 {
		rules = append(rules, modeltest.Rule{Name: "code", Purpose: "code", Replies: replies, Repeat: true})
	}
	if c.review != "" {
		content := `{"scores": {"correctness": 5, "security": 5, "readability": 5, "scope": 5}, "findings": [], "summary": "good"}`
		rules = append(rules, modeltest.Rule{Name: "review", Purpose: "review", Replies: texts(c.review, content), Repeat: true})
	}
	return modeltest.Script{Rules: rules}
}

// benchRepository makes a repository of files with one commit.
func benchRepository(t *testing.T, files ...map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, list := range files {
		for name, content := range list {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	benchGit(t, dir, "init", "-q", "-b", "main")
	benchGit(t, dir, "add", "-A")
	benchGit(t, dir, "-c", "user.name=Shop", "-c", "user.email=shop@example.com", "commit", "-q", "-m", "The shop opens")
	return dir
}

func benchGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// playBench drives a run of the case and returns how it ended, with what the model was asked.
func (c benchCase) play(t *testing.T, cache string) (loop.Snapshot, []modeltest.Question, string) {
	t.Helper()
	const patience = 10 * time.Minute // a case takes seconds, a first compilation of a standard library minutes
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := readBenchProject(t, c.project)
	repo := benchRepository(t, p.files, c.files)
	server, err := modeltest.New(c.script(p))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s, err := loadSettings("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s.Model = modelConfig{BaseURL: server.URL(), Name: modeltest.ModelName, Free: true}
	s.Ceiling.Candidates = 1 // a script has one answer a round
	s.DataDir = t.TempDir()
	parts, err := wire(ctx, wiring{
		settings: s, log: zerolog.Nop(), publisher: publish.Local{Dir: t.TempDir()}, allowFile: true, cacheDir: cache, observer: silent{},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer parts.close()
	task, run := (&runCmd{Repo: repo, Branch: "autocode/bench"}).task(p.title, p.body)
	first, _, err := parts.store.StartRun(ctx, task, run, loop.NewSnapshot(task, run, loop.Snapshot{}))
	if err != nil {
		t.Fatal(err)
	}
	final, err := driveLocally(ctx, parts, first.Run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if unexpected := server.Unexpected(); len(unexpected) > 0 {
		t.Errorf("questions without an answer: %v", unexpected)
	}
	return final, server.Questions(), repo
}

// judge compares how a run ended with how it should.
func (c benchCase) judge(t *testing.T, s loop.Snapshot, asked []modeltest.Question, repo string) {
	t.Helper()
	if s.Phase != c.end {
		t.Errorf("it ended as %s (%s), should be %s", s.Phase, s.Decision.Reason, c.end)
	}
	if c.rounds >= 0 && len(s.Rounds) != c.rounds {
		t.Errorf("%d rounds, should be %d", len(s.Rounds), c.rounds)
	}
	if c.calls >= 0 && s.Spent.ModelCalls != c.calls {
		t.Errorf("%d calls, should be %d", s.Spent.ModelCalls, c.calls)
	}
	found := c.seen == ""
	for _, q := range asked {
		for _, m := range q.Messages {
			found = found || m.Role != "assistant" && strings.Contains(m.Text, c.seen)
		}
	}
	if !found {
		t.Errorf("the model was never shown %q", c.seen)
	}
	if c.end == loop.PhaseDone && (s.Pull == nil || s.Pull.Draft) {
		t.Error("it ended as done without a pull request that is ready")
	}
	if c.holds[0] != "" && s.Final != "" {
		if text := benchGit(t, repo, "show", s.Run.Branch+":"+c.holds[0]); !strings.Contains(text, c.holds[1]) {
			t.Errorf("%s lacks %q:\n%s", c.holds[0], c.holds[1], text)
		}
	}
}

// TestBenchLoop plays small broken projects with models that misbehave, each in its way, through
// the whole loop with real git, sandbox and toolchains, and prints how each run ended. Without
// -bench-loop only the first case of each language is played.
func TestBenchLoop(t *testing.T) {
	if ok, err := condition("sandbox"); err != nil || !ok {
		t.Skipf("no bubblewrap here (%v)", err)
	}
	tools := map[string]string{"go": "go", "python": "python3", "node": "node", "shell": "make"}
	cache := t.TempDir()
	if *benchLoop {
		cache = toolchainCache() // as for autocode run: a standard library takes minutes to compile
	}
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "project\tthe model\tended\tshould\trounds\tcalls\ttokens\t")
	right, played := 0, 0
	seen := map[string]bool{}
	for _, c := range benchCases() {
		if !*benchLoop && seen[c.project] {
			continue
		}
		seen[c.project] = true
		t.Run(c.project+"/"+c.name, func(t *testing.T) {
			needTool(t, tools[c.project])
			s, asked, repo := c.play(t, cache)
			c.judge(t, s, asked, repo)
			played++
			mark := ""
			if !t.Failed() {
				right++
			} else {
				mark = "WRONG"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", c.project, c.name, s.Phase, c.end, len(s.Rounds), s.Spent.ModelCalls, s.Spent.Tokens, mark)
		})
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s%d of %d end as they should", table.String(), right, played)
}
