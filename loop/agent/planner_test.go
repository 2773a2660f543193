package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7a986423/autocode/loop"
	"github.com/seed-7a986423/autocode/loop/agent"
	"github.com/seed-7a986423/autocode/loop/model/modeltest"
)

// specJSON is a sound reply of the planner with its steps exchanged.
func specJSON(steps string) string {
	return `{"goal": "Total starts at nothing", "kind": "bug",
 "criteria": [{"id": "C1", "given": "no prices", "when": "Total is called", "then": "it is 0", "proof": "red-green", "test_hook": "` + "`shop.TestTotalOfNothing`" + `"}],
 "constraints": [], "out_of_scope": [], "questions": [], "zone": "green", "zone_why": "pure function", "nothing_to_do": "none",
 "steps": ` + steps + `}`
}

const goodSteps = `[{"id": "S1", "title": "start at 0", "files": ["./cart.go", "cart_test.go"], "depends_on": [], "acceptance": ["C1"], "risk": "none"}]`

func specify(t *testing.T, files mapTree, change func(*loop.SpecRequest), replies ...string) (loop.Spec, *loop.Plan, *modeltest.Server, error) {
	t.Helper()
	rule := modeltest.Rule{Name: "spec", Purpose: "spec"}
	for _, r := range replies {
		rule.Replies = append(rule.Replies, modeltest.Reply{Text: r})
	}
	server, m := scripted(t, []modeltest.Rule{rule})
	request := loop.SpecRequest{
		Task:  loop.Task{Issue: loop.Issue{Title: "Total is wrong", Body: "The total in cart is one too high."}},
		Model: m, Index: wordIndex{}, Tree: files,
		Baseline: &loop.Outcome{
			Verdict: loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Command: "go test ./..."}}},
			Cases:   map[string]loop.CaseStatus{"example.com/shop.TestCartTotal": loop.CasePassed, "example.com/shop.TestOther": loop.CasePassed},
		},
	}
	if change != nil {
		change(&request)
	}
	spec, plan, err := agent.NewPlanner(agent.Config{}).Specify(context.Background(), request)
	return spec, plan, server, err
}

func TestSpecAndPlanInOneCall(t *testing.T) {
	spec, draft, server, err := specify(t, shop, nil, specJSON(goodSteps))
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Validate(); err != nil {
		t.Error(err)
	}
	if c := spec.Criteria[0]; c.ID != "AC1" || c.TestHook != "shop.TestTotalOfNothing" || spec.NothingToDo != "" {
		t.Errorf("%+v", spec)
	}
	prompt := server.Questions()[0].Messages[1].Text
	for _, want := range []string{"`go test ./...`", "- `example.com/shop.TestCartTotal`", "one too high", "sum := 1", "- cart_test.go", "Write tests."} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	plan, err := agent.NewPlanner(agent.Config{}).Plan(context.Background(), loop.PlanRequest{
		SpecRequest: loop.SpecRequest{Index: wordIndex{}, Tree: shop}, Spec: spec, Draft: draft}) // no model: none is asked
	if err != nil {
		t.Fatal(err)
	}
	step := plan.Steps[0]
	if err := plan.Validate(spec); err != nil || !slices.Equal(step.Files, []string{"cart.go", "cart_test.go"}) || step.TokenBudget == 0 || step.Rollback == "" || step.Minutes == 0 || !slices.Equal(step.Acceptance, []string{"AC1"}) {
		t.Errorf("%+v %v", plan, err)
	}
}

func TestSpecFaultsGoBack(t *testing.T) {
	faulty := strings.Replace(specJSON(goodSteps), "`shop.TestTotalOfNothing`", "", 1)
	_, _, server, err := specify(t, shop, nil, faulty, specJSON(goodSteps))
	if err != nil {
		t.Fatal(err)
	}
	if last := server.Questions()[1].Last(); !strings.Contains(last, "criteria[0].test_hook: is empty") {
		t.Error(last)
	}
	_, _, server, err = specify(t, shop, nil, faulty, faulty, faulty)
	var fault *loop.ModelError
	if !errors.As(err, &fault) || fault.Fault != loop.ModelMalformed || len(server.Questions()) != 3 {
		t.Errorf("%v after %d questions", err, len(server.Questions()))
	}
}

func TestPlannerAsksToSee(t *testing.T) {
	asks := func(places string) string {
		return strings.Replace(specJSON("[]"), `"steps": []`, `"steps": [], "need": `+places, 1)
	}
	want := func(places string, shown ...string) {
		t.Helper()
		spec, plan, server, err := specify(t, bigShop, nil, asks(places), specJSON(goodSteps))
		if err != nil || len(spec.Criteria) != 1 || plan == nil || len(server.Questions()) != 2 {
			t.Fatalf("%s: %d questions, %+v, %v", places, len(server.Questions()), spec, err)
		}
		for _, text := range shown {
			if last := server.Questions()[1].Last(); !strings.Contains(last, text) {
				t.Errorf("asked for %s, the planner is not shown %q:\n%s", places, text, last)
			}
		}
	}
	want(`["py/rates.py"]`, "x = 1")
	want(`["`+"`rates.py:x`"+`"]`, "## py/rates.py")
	want(`["py/shop.py::x", "py/tests/test_rates.py#x()"]`, "from rates import x", "import rates")
	want(`["price"]`, "## api/price.go")
	want(`["py"]`, "shop.py", "tests/ (1 files)")
	want(`["src/gone.py", "py/rates.py"]`, "There is no `src/gone.py`", "x = 1")

	// It is shown places once; then the spec has to come.
	_, _, server, err := specify(t, bigShop, nil, asks(`["py"]`), strings.Replace(asks(`["api"]`), "`shop.TestTotalOfNothing`", "", 1), specJSON(goodSteps))
	if err != nil || !strings.Contains(server.Questions()[2].Last(), "test_hook: is empty") {
		t.Errorf("%v: %s", err, server.Questions()[2].Last())
	}
}

func TestSpecForASmallContext(t *testing.T) {
	server, m := scripted(t, []modeltest.Rule{{Name: "small", Purpose: "spec", Replies: []modeltest.Reply{{Status: 400, Text: "context window exceeded"}, {Text: specJSON(goodSteps)}}}})
	budget := 0
	_, _, err := agent.NewPlanner(agent.Config{PlannerBudget: 900}).Specify(context.Background(), loop.SpecRequest{
		Task: loop.Task{Issue: loop.Issue{Title: "Total is wrong"}}, Model: m, Index: wordIndex{packs: &budget}, Tree: shop})
	if err != nil || budget != 300 || len(server.Unused()) != 0 {
		t.Errorf("%v, budget %d", err, budget)
	}
}

func TestQuestions(t *testing.T) {
	only := strings.Replace(specJSON(goodSteps), `"questions": []`, `"questions": [{"text": "Net or gross?", "choices": ["net", "gross"]}]`, 1)
	spec, _, _, err := specify(t, shop, nil, only)
	if err != nil || len(spec.Questions) != 0 || !strings.Contains(spec.Constraints[0], "Net or gross?") {
		t.Errorf("a spec with a criterion needs no answer: %+v %v", spec, err)
	}
	at := strings.Index(only, `"criteria"`)
	without := only[:at] + `"criteria": [],` + only[strings.Index(only, ` "constraints"`):]
	spec, _, _, err = specify(t, shop, nil, without)
	if err != nil || len(spec.Questions) != 1 || spec.Questions[0].Choices[1] != "gross" {
		t.Errorf("%+v %v", spec, err)
	}
	answered := func(r *loop.SpecRequest) { r.Answers = []string{"net", "net, I said"} }
	if spec, _, server, err := specify(t, shop, answered, without, specJSON(goodSteps)); err != nil || len(spec.Questions) != 0 || !strings.Contains(server.Questions()[1].Last(), "have answered already") {
		t.Errorf("%+v %v", spec, err)
	}
}

// bigShop has directories, twins of names, and more files than a step may have.
var bigShop = mapTree{
	"web/cart.go": "package web\n", "api/cart.go": "package api\n", "api/price.go": "package api\n", "api/price_test.go": "package api\n",
	"a/1.go": "x", "a/2.go": "x", "a/3.go": "x", "a/4.go": "x", "a/5.go": "x", "a/6.go": "x", "a/huge.go": strings.Repeat("x", 90_000),
	"py/rates.py": "x = 1\n", "py/shop.py": "from rates import x\n", "py/tests/test_rates.py": "import rates\n",
}

func TestPlansAreTidied(t *testing.T) {
	spec := shopSpec
	tests := []struct {
		name  string
		steps []loop.Step
		fault string // told to the model; "": the plan is used without a call
		check func(loop.Plan) bool
	}{
		{"a name that exists once", []loop.Step{{ID: "S1", Files: []string{"price.go"}}}, "", func(p loop.Plan) bool { return p.Steps[0].Files[0] == "api/price.go" }},
		{"tests that belong to it", []loop.Step{{ID: "S1", Files: []string{"py/rates.py"}}}, "", func(p loop.Plan) bool {
			return slices.Contains(p.Impact, "py/tests/test_rates.py") && slices.Contains(p.Impact, "py/shop.py:1")
		}},
		{"a new file beside others", []loop.Step{{ID: "S1", Files: []string{"api/tax.go"}}}, "", func(p loop.Plan) bool { return strings.Contains(p.Steps[0].Rollback, "remove api/tax.go") }},
		{"a name that exists twice", []loop.Step{{ID: "S1", Files: []string{"cart.go"}}}, "could be any of api/cart.go, web/cart.go", nil},
		{"a directory that does not exist", []loop.Step{{ID: "S1", Files: []string{"internal/price.go"}}}, "did you mean api/price.go?", nil},
		{"a directory", []loop.Step{{ID: "S1", Files: []string{"api"}}}, "is a directory", nil},
		{"outside", []loop.Step{{ID: "S1", Files: []string{"../x.go"}}}, "not a path relative", nil},
		{"no files", []loop.Step{{ID: "S1"}}, "there are none", nil},
		{"no steps", []loop.Step{}, "there are none", nil},
		{"a cycle", []loop.Step{{ID: "S1", Files: []string{"a/1.go"}, DependsOn: []string{"S2"}}, {ID: "S2", Files: []string{"a/2.go"}, DependsOn: []string{"S1"}}}, "cycle", nil},
		{"an unknown step", []loop.Step{{ID: "S1", Files: []string{"a/1.go"}, DependsOn: []string{"S9"}}}, `no step "S9"`, nil},
		{"no ids", []loop.Step{{Files: []string{"a/1.go"}}, {Files: []string{"a/2.go"}}}, "", func(p loop.Plan) bool {
			return p.Steps[1].ID == "S2" && p.Steps[0].Parallelizable && slices.Equal(p.Steps[1].Acceptance, []string{"AC1"})
		}},
		{"too many files", []loop.Step{{ID: "S1", Files: []string{"a/1.go", "a/2.go", "a/3.go", "a/4.go", "a/5.go", "a/6.go"}}, {ID: "S2", Files: []string{"api/price.go"}, DependsOn: []string{"S1"}}}, "", func(p loop.Plan) bool {
			return len(p.Steps) == 3 && p.Steps[1].DependsOn[0] == "S1.1" && p.Steps[2].DependsOn[0] == "S1.2"
		}},
		{"too many tokens", []loop.Step{{ID: "S1", Files: []string{"a/huge.go", "a/1.go"}}}, "", func(p loop.Plan) bool { return len(p.Steps) == 2 && p.Steps[0].TokenBudget == loop.MaxStepTokens }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server, m := scripted(t, []modeltest.Rule{{Name: "plan", Purpose: "plan", Replies: []modeltest.Reply{{Text: `{"steps": [{"id": "S1", "files": ["api/price.go"]}]}`}}}})
			plan, err := agent.NewPlanner(agent.Config{}).Plan(context.Background(), loop.PlanRequest{
				SpecRequest: loop.SpecRequest{Index: wordIndex{}, Tree: bigShop, Model: m}, Spec: spec, Draft: &loop.Plan{Steps: test.steps}})
			if err != nil {
				t.Fatal(err)
			}
			if err := plan.Validate(spec); err != nil {
				t.Error(err)
			}
			asked := server.Questions()
			if test.fault == "" {
				if len(asked) != 0 || !test.check(plan) {
					t.Errorf("%d questions, %+v", len(asked), plan)
				}
				return
			}
			if len(asked) != 1 || !strings.Contains(asked[0].Last(), test.fault) {
				t.Errorf("%d questions; the model should be told %q: %+v", len(asked), test.fault, asked)
			}
		})
	}
}

func TestPlanIsSalvaged(t *testing.T) {
	bad := modeltest.Reply{Text: `{"steps": [{"id": "S1", "files": ["api/price.go", "no/such/cart.go"]}]}`}
	_, m := scripted(t, []modeltest.Rule{{Name: "plan", Repeat: true, Replies: []modeltest.Reply{bad}}})
	plan, err := agent.NewPlanner(agent.Config{}).Plan(context.Background(), loop.PlanRequest{
		SpecRequest: loop.SpecRequest{Index: wordIndex{}, Tree: bigShop, Model: m}, Spec: shopSpec,
		Draft: &loop.Plan{Steps: []loop.Step{{ID: "S1", Files: []string{"web/cart.go", "nowhere/cart.go"}}}}})
	if err != nil || plan.Validate(shopSpec) != nil || !slices.Contains(plan.Files(), "web/cart.go") || slices.Contains(plan.Files(), "nowhere/cart.go") {
		t.Errorf("%+v %v", plan, err)
	}
}

func TestReviewStaysInsideTheDiff(t *testing.T) {
	server, m := scripted(t, []modeltest.Rule{{Name: "review", Purpose: "review", Replies: []modeltest.Reply{{Text: `{"scores": {"correctness": 9, "security": 4, "readability": 0, "scope": 3}, "summary": " Fine. ", "findings": [
 {"blocking": true, "file": "./cart.go", "line": 5, "msg": "negative prices"},
 {"blocking": "yes", "file": "cart.go", "line": "90-92", "severity": "high", "message": "far away"},
 {"blocking": true, "file": "label.go", "line": 1, "message": "elsewhere"},
 {"blocking": true, "file": "cart.go", "line": 0, "msg": "no line"},
 {"blocking": false, "file": "", "line": 0, "msg": ""}]}`}}}})
	diff := loop.Diff{Patch: "-\tsum := 1\n+\tsum := 0\n", Files: []loop.FileDiff{{Path: "cart.go", Op: loop.OpModify, Lines: []loop.DiffLine{
		{Op: loop.LineContext, Old: 4, New: 4, Text: "func Total"}, {Op: loop.LineRemoved, Old: 5, Text: "\tsum := 1"}, {Op: loop.LineAdded, New: 5, Text: "\tsum := 0"}}}}}
	review, err := agent.NewCritic(agent.Config{}).Review(context.Background(), loop.ReviewRequest{
		Task: loop.Task{Issue: loop.Issue{Title: "Total is wrong"}}, Spec: shopSpec, Model: m, Index: wordIndex{}, Tree: shop, Diff: diff,
		Verdict: loop.Verdict{Stages: map[loop.StageName]loop.Stage{loop.StageUnit: {Pass: true, Tests: &loop.Tests{Passed: 3}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(review.Findings) != 4 || len(review.Blocking()) != 1 || review.Blocking()[0].File != "cart.go" {
		t.Errorf("%+v", review.Findings)
	}
	if review.Scores["correctness"] != 5 || review.Scores["readability"] != 1 || review.Summary != "Fine." {
		t.Errorf("%+v", review)
	}
	if q := server.Questions()[0].Messages[1].Text; !strings.Contains(q, "unit: green, 3 passed, 0 failed") || !strings.Contains(q, "+\tsum := 0") {
		t.Error(q)
	}
}
