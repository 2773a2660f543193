package loop_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// faulty compares a validation's faults with what is wanted: each line begins so, in this order.
func faulty(t *testing.T, err error, want []string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	if len(got) != len(want) {
		t.Fatalf("faults %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("fault %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestSpecValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*loop.Spec)
		want   []string
	}{
		{"good", func(*loop.Spec) {}, nil},
		{"another version", func(s *loop.Spec) { s.Schema = "v0" }, []string{`schema: is "v0"`}},
		{"no goal", func(s *loop.Spec) { s.Goal = "" }, []string{"goal: is empty"}},
		{"unknown words", func(s *loop.Spec) { s.Kind, s.Zone = "wish", "blue" }, []string{`kind: "wish"`, `zone: "blue"`}},
		{"no criteria", func(s *loop.Spec) { s.Criteria = nil }, []string{"criteria: there are none"}},
		{"no criteria but a question", func(s *loop.Spec) { s.Criteria, s.Questions = nil, []loop.Question{{Text: "?"}} }, nil},
		{"no criteria since nothing is to do", func(s *loop.Spec) { s.Criteria, s.NothingToDo = nil, "it is so" }, nil},
		{"an id twice", func(s *loop.Spec) { s.Criteria = append(s.Criteria, s.Criteria[0]) }, []string{`criteria[1].id: "AC1"`}},
		{"no id, nothing to observe, no proof", func(s *loop.Spec) { s.Criteria[0] = loop.Criterion{} }, []string{"criteria[0].id", "criteria[0].then", `criteria[0].proof: ""`}},
		{"proof none is not asked for", func(s *loop.Spec) { s.Criteria[0].Proof = loop.ProofNone }, []string{"criteria[0].proof: a criterion is asked for"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := goodSpec()
			c.change(&s)
			faulty(t, s.Validate(), c.want)
		})
	}
}

func TestPlanValidate(t *testing.T) {
	step := func(id string, files []string, after ...string) loop.Step {
		return loop.Step{ID: id, Files: files, DependsOn: after, Parallelizable: true, Acceptance: []string{"AC1"}}
	}
	a, b := []string{"a.go"}, []string{"b.go"}
	for _, c := range []struct {
		name  string
		steps []loop.Step
		want  []string
	}{
		{"one step", []loop.Step{step("S1", a)}, nil},
		{"one after the other, on the same file", []loop.Step{step("S1", a), step("S2", a, "S1")}, nil},
		{"after each other by way of a third", []loop.Step{step("S1", a), step("S2", b, "S1"), step("S3", a, "S2")}, nil},
		{"side by side on other files", []loop.Step{step("S1", a), step("S2", b)}, nil},
		{"side by side on the same file", []loop.Step{step("S1", a), step("S2", a)}, []string{`steps "S1" and "S2" may run side by side but both write a.go`}},
		{"none", nil, []string{"steps: there are none"}},
		{"an id twice", []loop.Step{step("S1", a), step("S1", b)}, []string{`steps[1].id: "S1"`}},
		{"no id", []loop.Step{step("", a)}, []string{`steps[0].id: ""`}},
		{"an unknown step before", []loop.Step{step("S1", a, "S9")}, []string{`steps[0].depends_on: there is no step "S9"`}},
		{"after itself", []loop.Step{step("S1", a, "S1")}, []string{"steps: depends_on has a cycle"}},
		{"in a circle", []loop.Step{step("S1", a, "S3"), step("S2", b, "S1"), step("S3", a, "S2")}, []string{"steps: depends_on has a cycle"}},
		{"too many files", []loop.Step{step("S1", []string{"1", "2", "3", "4", "5", "6"})}, []string{"steps[0].files: 6 files, at most 5"}},
		{"too many tokens", []loop.Step{{ID: "S1", Files: a, TokenBudget: 20_001}}, []string{"steps[0].token_budget: 20001, at most 20000"}},
		{"an unknown criterion", []loop.Step{{ID: "S1", Files: a, Acceptance: []string{"AC7"}}}, []string{`steps[0].acceptance: the spec has no criterion "AC7"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			faulty(t, loop.Plan{Schema: loop.PlanSchema, Steps: c.steps}.Validate(goodSpec()), c.want)
		})
	}
	faulty(t, loop.Plan{Steps: []loop.Step{step("S1", a)}}.Validate(goodSpec()), []string{`schema: is ""`})
}

func TestPlanOrder(t *testing.T) {
	p := loop.Plan{Steps: []loop.Step{{ID: "S3", DependsOn: []string{"S2"}}, {ID: "S1", Files: []string{"b", "a"}}, {ID: "S2", DependsOn: []string{"S1"}, Files: []string{"a"}}}}
	steps, acyclic := p.Order()
	var ids []string
	for _, s := range steps {
		ids = append(ids, s.ID)
	}
	if !acyclic || !slices.Equal(ids, []string{"S1", "S2", "S3"}) {
		t.Errorf("order %v, %v", ids, acyclic)
	}
	if got := p.Files(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("files %v", got)
	}
}

// TestLimitsCheck: each limit stops the step after the one that reached it, names itself, and says what to do.
func TestLimitsCheck(t *testing.T) {
	l := loop.Limits{
		Rounds: 5, Wall: time.Minute, ModelCalls: 3, Tokens: 100, USD: 1, TaskUSD: 2, TaskTokens: 200, RepoDayUSD: 3, RepoDayTokens: 300,
	}
	for _, c := range []struct {
		name  string
		spent loop.Spending
		limit loop.LimitName
		says  string
	}{
		{"nothing", loop.Spending{}, "", ""},
		{"just below", loop.Spending{Run: loop.Spent{Wall: time.Minute - 1, ModelCalls: 2, Tokens: 99, USD: 0.99}, Task: loop.Spent{Tokens: 199, USD: 1.99}, RepoDay: loop.Spent{Tokens: 299, USD: 2.99}}, "", ""},
		{"wall", loop.Spending{Run: loop.Spent{Wall: time.Minute}}, loop.LimitWall, "1m0s of 1m0s); `/autocode budget +10m`"},
		{"calls", loop.Spending{Run: loop.Spent{ModelCalls: 3}}, loop.LimitModelCalls, "3 of 3); `/autocode budget +20calls`"},
		{"tokens", loop.Spending{Run: loop.Spent{Tokens: 120}}, loop.LimitTokens, "120 of 100); `/autocode budget +100ktokens`"},
		{"money", loop.Spending{Run: loop.Spent{USD: 1}}, loop.LimitUSD, "$1.00 of $1.00); `/autocode budget +$1`"},
		{"task's money", loop.Spending{Task: loop.Spent{USD: 2}}, loop.LimitTaskUSD, "budget +$1"},
		{"task's tokens", loop.Spending{Task: loop.Spent{Tokens: 200}}, loop.LimitTaskTokens, "budget +100ktokens"},
		{"the day's money", loop.Spending{RepoDay: loop.Spent{USD: 3}}, loop.LimitRepoDayUSD, "24 hours"},
		{"the day's tokens", loop.Spending{RepoDay: loop.Spent{Tokens: 300}}, loop.LimitRepoDayTokens, "24 hours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := l.Check(c.spent)
			var limit *loop.LimitError
			if !errors.As(err, &limit) {
				if c.limit != "" || err != nil {
					t.Fatalf("error %v", err)
				}
				return
			}
			if limit.Limit != c.limit || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %s", limit.Limit, err)
			}
		})
	}
	if (loop.Limits{}).Check(loop.Spending{}) == nil {
		t.Error("limits of zero allow something")
	}
}

func TestLimitsLowerAndRaise(t *testing.T) {
	l := loop.DefaultLimits()
	if got := l.Lower(loop.Limits{}); got != l {
		t.Errorf("nothing lowers: %+v", got)
	}
	everything := loop.Limits{Rounds: 1, Wall: 1, ModelCalls: 1, Tokens: 1, USD: 0.1, Files: 1, Lines: 1, TaskUSD: 0.1, TaskTokens: 1, RepoDayUSD: 0.1, RepoDayTokens: 1}
	if got := l.Lower(everything); got != everything {
		t.Errorf("not everything is lowered: %+v", got)
	}
	if got := everything.Lower(l); got != everything {
		t.Errorf("raised: %+v", got)
	}
	raised := l.Raise(loop.Limits{Rounds: 2, Wall: time.Minute, ModelCalls: 3, Tokens: 4, USD: 0.5})
	want := l
	want.Rounds, want.Wall, want.ModelCalls, want.Tokens, want.USD = l.Rounds+2, l.Wall+time.Minute, l.ModelCalls+3, l.Tokens+4, l.USD+0.5
	want.TaskTokens, want.TaskUSD = l.TaskTokens+4, l.TaskUSD+0.5
	if raised != want {
		t.Errorf("raised to %+v, want %+v", raised, want)
	}
}
