package loop_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// compile returns a validator for one of the published schemas.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := loop.Schema(name)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name+".json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// instance turns a value into what a validator reads.
func instance(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func verdict() loop.Verdict {
	code := 1
	total := 81.2
	v := loop.Verdict{
		Task: "t", Run: "r", Round: 2, Base: "b", Head: "h", Class: feedback.ClassCode,
		Stages: map[loop.StageName]loop.Stage{
			loop.StageCompile: {Pass: true, DurationMS: 12, Command: "go build ./...", ExitCode: new(int)},
			loop.StageUnit: {ExitCode: &code, Tests: &loop.Tests{
				Passed: 41, Failed: []string{"pkg/TestA"}, Skipped: 1,
				Failures:    []loop.Failure{{ID: "pkg/TestA", File: "a_test.go", Line: 17, Message: "got 4", Expected: "5", Actual: "4"}},
				Regressions: []string{"pkg/TestA"},
			}},
			loop.StageCoverage: {Pass: true, Total: &total},
			loop.StageE2E:      {NotRun: true, Reason: "unit failed"},
		},
		Acceptance: []loop.Acceptance{{ID: "AC1", Proof: loop.ProofRedGreen, Hook: "pkg/TestB", Base: loop.ProofFail, Head: loop.ProofPass}},
		Guard:      []loop.Finding{{Rule: "test-deleted", Severity: loop.SeverityBlock, File: "a_test.go", Line: 3, Message: "gone"}},
	}
	v.Settle()
	return v
}

func TestSchemasAcceptWhatIsWritten(t *testing.T) {
	v := verdict()
	spec := loop.Spec{Schema: loop.SpecSchema, Goal: "g", Kind: loop.KindBug, Zone: loop.ZoneGreen,
		Criteria: []loop.Criterion{{ID: "AC1", Then: "t", TestHook: "pkg/TestB", Proof: loop.ProofRedGreen}}}
	plan := loop.Plan{Schema: loop.PlanSchema, Steps: []loop.Step{{ID: "S1", Files: []string{"a.go"}}}}
	snapshot := loop.Snapshot{
		Schema: loop.SnapshotSchema, Seq: 3, Phase: loop.PhaseCoding, Spec: &spec, Plan: &plan, Verdict: &v,
		Rounds: []loop.Round{{Number: 1, Verdict: &v, At: time.Unix(0, 0)}}, Config: loop.DefaultConfig(), Best: -1,
	}
	for name, value := range map[string]any{
		"verify": v, "spec": spec, "plan": plan, "snapshot": snapshot,
		"report": feedback.Report{Tool: "go", Status: feedback.StatusPass, Class: feedback.ClassNone, Failures: []feedback.Failure{}},
		"config": map[string]any{"budget": map[string]any{"rounds": 3}, "autonomy": "plan"},
	} {
		if err := compile(t, name).Validate(instance(t, value)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemasRefuseWhatIsWrong(t *testing.T) {
	for name, text := range map[string]string{
		"verify":   `{"schema":"autocode.verify/v1","pass":"yes","stages":{},"acceptance":[],"guard":[],"class":"code","next_action":"none"}`,
		"spec":     `{"schema":"autocode.spec/v1","goal":"g","kind":"wish","criteria":[],"zone":"green","zone_why":""}`,
		"plan":     `{"schema":"autocode.plan/v1"}`,
		"snapshot": `{"schema":"autocode.snapshot/v1","phase":"dreaming"}`,
		"config":   `{"budgets":{}}`,
	} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if compile(t, name).Validate(value) == nil {
			t.Errorf("%s accepts %s", name, text)
		}
	}
	if _, err := loop.Schema("nothing"); err == nil {
		t.Error("an unknown schema is no error")
	}
}

func TestStageSurvivesItsJSON(t *testing.T) {
	want := verdict()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got loop.Verdict
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Stages[loop.StageE2E]; !s.NotRun || s.Reason != "unit failed" {
		t.Errorf("a stage that did not run came back as %+v", s)
	}
	if s := got.Stages[loop.StageUnit]; s.NotRun || s.Tests == nil || s.Tests.Skipped != 1 || s.Tests.Failed[0] != "pkg/TestA" {
		t.Errorf("a stage with tests came back as %+v", s)
	}
	if got.Stages[loop.StageCompile].Tests != nil {
		t.Error("a stage without tests came back with some")
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
