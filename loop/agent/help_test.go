package agent_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/agent"
	"github.com/seed-7a986423/autocode/loop/model"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// mapTree is a commit made of a map.
type mapTree map[string]string

func (m mapTree) Commit() string { return "c0ffee" }

func (m mapTree) Files(context.Context) ([]loop.TreeFile, error) {
	var list []loop.TreeFile
	for p, content := range m {
		list = append(list, loop.TreeFile{Path: p, Mode: loop.ModeRegular, Blob: p, Size: int64(len(content))})
	}
	slices.SortFunc(list, func(a, b loop.TreeFile) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

func (m mapTree) Read(_ context.Context, p string) ([]byte, error) {
	content, ok := m[p]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(content), nil
}

func (m mapTree) ReadAll(_ context.Context, blobs []string, _ int64, each func(string, []byte) error) error {
	for _, b := range blobs {
		if err := each(b, []byte(m[b])); err != nil {
			return err
		}
	}
	return nil
}

func (m mapTree) History(context.Context, int) ([]loop.HistoryCommit, error) { return nil, nil }

// wordIndex is an index that knows nothing but words; it shows whole files.
type wordIndex struct{ packs *int }

func (wordIndex) Locate(ctx context.Context, tree loop.Tree, query string, top int) ([]loop.Located, error) {
	files, err := tree.Files(ctx)
	if err != nil {
		return nil, err
	}
	var list []loop.Located
	for _, f := range files {
		stem := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))
		if strings.Contains(query, stem) && len(list) < top {
			list = append(list, loop.Located{Path: f.Path, Score: 1})
		}
	}
	return list, nil
}

func (x wordIndex) Pack(ctx context.Context, tree loop.Tree, located []loop.Located, always []string, budget int) (string, error) {
	if x.packs != nil {
		*x.packs = budget
	}
	paths := slices.Clone(always)
	for _, l := range located {
		if !slices.Contains(paths, l.Path) {
			paths = append(paths, l.Path)
		}
	}
	var b strings.Builder
	for _, p := range paths {
		content, err := tree.Read(ctx, p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "## %s\n%s\n", p, content)
	}
	return b.String(), nil
}

func (wordIndex) Outline(context.Context, loop.Tree, string) (string, error) {
	return "1-900 func Long", nil
}

func (wordIndex) Memory(ctx context.Context, tree loop.Tree, _ []string) (string, error) {
	content, err := tree.Read(ctx, "AGENTS.md")
	if err != nil {
		return "", nil
	}
	return string(content), nil
}

func (wordIndex) Search(ctx context.Context, tree loop.Tree, pattern, _ string, limit int) (loop.Matches, error) {
	form, err := regexp.Compile(pattern)
	if err != nil {
		return loop.Matches{}, err
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return loop.Matches{}, err
	}
	var hits loop.Matches
	for _, f := range files {
		content, err := tree.Read(ctx, f.Path)
		if err != nil {
			return loop.Matches{}, err
		}
		before := hits.Count
		for i, line := range strings.Split(string(content), "\n") {
			if !form.MatchString(line) {
				continue
			}
			if hits.Count++; len(hits.Lines) < limit {
				hits.Lines = append(hits.Lines, fmt.Sprintf("%s:%d: %s", f.Path, i+1, line))
			}
		}
		if hits.Count > before {
			hits.Files++
		}
	}
	return hits, nil
}

func (wordIndex) Tokens(text string) int { return len(text) / 4 }

// dirClone is a worktree without git: enough for what the coder asks of a clone.
type dirClone struct {
	loop.Clone // everything that the coder must not ask for
	dir        string
	tree       mapTree
}

func (c dirClone) Dir() string                                     { return c.dir }
func (c dirClone) Head() string                                    { return "c0ffee" }
func (c dirClone) Tree(context.Context, string) (loop.Tree, error) { return c.tree, nil }

// echoRunner says what it was asked to run.
type echoRunner struct {
	ran    *[]string
	output string
}

func (r echoRunner) Run(_ context.Context, c loop.Command) (loop.CommandResult, error) {
	*r.ran = append(*r.ran, strings.Join(c.Args, "|"))
	return loop.CommandResult{ExitCode: 1, Reason: loop.EndExited, Stdout: []byte(r.output)}, nil
}

func (r echoRunner) InsidePath(string, string) string { return "/work" }

// scene is a round of the coder on a small repository with a scripted model.
type scene struct {
	files   mapTree
	rules   []modeltest.Rule
	config  agent.Config
	change  func(*loop.CodeRequest)
	output  string
	prepare func(dir string)
}

// played is how a scene came out.
type played struct {
	result loop.CodeResult
	err    error
	dir    string
	server *modeltest.Server
	ran    []string
}

var shop = mapTree{
	"cart.go":      "package shop\n\n// Total adds prices.\nfunc Total(prices []int) int {\n\tsum := 1\n\tfor _, p := range prices {\n\t\tsum += p\n\t}\n\treturn sum\n}\n",
	"cart_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestEmpty(t *testing.T) {\n\tif len(\"\") != 0 {\n\t\tt.Fatal()\n\t}\n}\n",
	"label.go":     "package shop\n\n// Label names the shop.\nfunc Label() string { return \"shop\" }\n",
	"go.mod":       "module example.com/shop\n",
	"AGENTS.md":    "Write tests.\n",
}

var shopSpec = loop.Spec{
	Schema: loop.SpecSchema, Goal: "Total starts at nothing", Kind: loop.KindBug, Zone: loop.ZoneGreen,
	Criteria: []loop.Criterion{{ID: "AC1", Then: "the total of nothing is 0", TestHook: "shop.TestTotalOfNothing", Proof: loop.ProofRedGreen}},
}

var shopPlan = loop.Plan{Schema: loop.PlanSchema, Steps: []loop.Step{{ID: "S1", Title: "mend Total", Files: []string{"cart.go", "cart_test.go"}}}}

func scripted(t *testing.T, rules []modeltest.Rule) (*modeltest.Server, loop.Model) {
	t.Helper()
	server, err := modeltest.New(modeltest.Script{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	m, err := model.New(model.Config{Default: model.RoleConfig{Endpoint: model.Endpoint{BaseURL: server.URL(), Model: modeltest.ModelName, Free: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return server, m
}

func play(t *testing.T, s scene) played {
	t.Helper()
	if s.files == nil {
		s.files = shop
	}
	p := played{dir: t.TempDir()}
	for name, content := range s.files {
		full := filepath.Join(p.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s.prepare != nil {
		s.prepare(p.dir)
	}
	var m loop.Model
	p.server, m = scripted(t, s.rules)
	request := loop.CodeRequest{
		Task: loop.Task{Issue: loop.Issue{Title: "Total is wrong", Body: "The total in cart is one too high."}},
		Spec: shopSpec, Plan: shopPlan, Round: 1, Model: m, Index: wordIndex{}, Strategy: loop.StrategyImplement,
		Clone: dirClone{dir: p.dir, tree: s.files}, Runner: echoRunner{ran: &p.ran, output: s.output}, Config: loop.DefaultConfig(),
	}
	if s.change != nil {
		s.change(&request)
	}
	p.result, p.err = agent.NewCoder(s.config).Code(context.Background(), request)
	return p
}

func (p played) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// inTurn is a rule whose replies are texts.
func inTurn(texts ...string) []modeltest.Rule {
	rule := modeltest.Rule{Name: "in turn", Purpose: "code"}
	for _, text := range texts {
		rule.Replies = append(rule.Replies, modeltest.Reply{Text: text})
	}
	return []modeltest.Rule{rule}
}

// block writes an edit block.
func block(file, search, replace string) string {
	return file + "\n<<<<<<< SEARCH\n" + search + "\n=======\n" + replace + "\n>>>>>>> REPLACE\n"
}

const causeAndFiles = "ROOT CAUSE: The sum starts at 1.\nFILES:\ncart.go - start at 0\ncart_test.go - the test of AC1\n\n"

var (
	fix      = block("cart.go", "\tsum := 1", "\tsum := 0")
	newTest  = block("cart_test.go", "func TestEmpty(t *testing.T) {", "func TestTotalOfNothing(t *testing.T) {\n\tif got := Total(nil); got != 0 {\n\t\tt.Fatalf(\"got %d\", got)\n\t}\n}\n\nfunc TestEmpty(t *testing.T) {")
	solution = causeAndFiles + fix + "\n" + newTest
)
