package githubtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"
)

func TestCheckRunLimits(t *testing.T) {
	w := newWorld(t)
	annotation := &github.CheckRunAnnotation{
		Path: github.String("main.go"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("failure"), Message: github.String("m"),
	}
	many := func(n int) (out []*github.CheckRunAnnotation) {
		for range n {
			out = append(out, annotation)
		}
		return out
	}
	output := func(change func(*github.CheckRunOutput)) func(*github.CreateCheckRunOptions) {
		return func(o *github.CreateCheckRunOptions) {
			o.Output = &github.CheckRunOutput{Title: github.String("t"), Summary: github.String("s")}
			change(o.Output)
		}
	}
	action := func(label, description, identifier string) func(*github.CreateCheckRunOptions) {
		return func(o *github.CreateCheckRunOptions) {
			o.Actions = []*github.CheckRunAction{{Label: label, Description: description, Identifier: identifier}}
		}
	}
	cases := []struct {
		name   string
		change func(o *github.CreateCheckRunOptions)
		ok     bool
	}{
		{"nothing special", func(*github.CreateCheckRunOptions) {}, true},
		{"no name", func(o *github.CreateCheckRunOptions) { o.Name = "" }, false},
		{"unknown commit", func(o *github.CreateCheckRunOptions) { o.HeadSHA = strings.Repeat("a", 40) }, false},
		{"branch instead of a commit", func(o *github.CreateCheckRunOptions) { o.HeadSHA = "main" }, false},
		{"completed without a conclusion", func(o *github.CreateCheckRunOptions) { o.Status = github.String("completed") }, false},
		{"unknown conclusion", func(o *github.CreateCheckRunOptions) { o.Conclusion = github.String("green") }, false},
		{"unknown status", func(o *github.CreateCheckRunOptions) { o.Status = github.String("running") }, false},
		{"50 annotations", output(func(o *github.CheckRunOutput) { o.Annotations = many(50) }), true},
		{"51 annotations", output(func(o *github.CheckRunOutput) { o.Annotations = many(51) }), false},
		{"summary at the limit", output(func(o *github.CheckRunOutput) { o.Summary = github.String(strings.Repeat("é", 65_535)) }), true},
		{"summary too long", output(func(o *github.CheckRunOutput) { o.Summary = github.String(strings.Repeat("x", 65_536)) }), false},
		{"text too long", output(func(o *github.CheckRunOutput) { o.Text = github.String(strings.Repeat("x", 65_536)) }), false},
		{"no summary", output(func(o *github.CheckRunOutput) { o.Summary = nil }), false},
		{"annotation of line 0", output(func(o *github.CheckRunOutput) {
			o.Annotations = []*github.CheckRunAnnotation{{Path: github.String("a"), StartLine: github.Int(0), EndLine: github.Int(0), AnnotationLevel: github.String("failure"), Message: github.String("m")}}
		}), false},
		{"annotation with columns over lines", output(func(o *github.CheckRunOutput) {
			o.Annotations = []*github.CheckRunAnnotation{{Path: github.String("a"), StartLine: github.Int(1), EndLine: github.Int(2), StartColumn: github.Int(1), AnnotationLevel: github.String("failure"), Message: github.String("m")}}
		}), false},
		{"annotation of an unknown level", output(func(o *github.CheckRunOutput) {
			o.Annotations = []*github.CheckRunAnnotation{{Path: github.String("a"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("error"), Message: github.String("m")}}
		}), false},
		{"action at the limits", action(strings.Repeat("l", 20), strings.Repeat("d", 40), strings.Repeat("i", 20)), true},
		{"action label too long", action(strings.Repeat("l", 21), "d", "i"), false},
		{"action description too long", action("l", strings.Repeat("d", 41), "i"), false},
		{"action identifier too long", action("l", "d", strings.Repeat("i", 21)), false},
		{"four actions", func(o *github.CreateCheckRunOptions) {
			a := &github.CheckRunAction{Label: "l", Description: "d", Identifier: "i"}
			o.Actions = []*github.CheckRunAction{a, a, a, a}
		}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := github.CreateCheckRunOptions{Name: "autocode", HeadSHA: w.head}
			c.change(&o)
			_, _, err := w.inst.Checks.CreateCheckRun(w.ctx, testOwner, testName, o)
			if c.ok {
				w.must(err)
			} else {
				w.wantStatus(err, http.StatusUnprocessableEntity)
			}
		})
	}
}

func TestCheckRunLife(t *testing.T) {
	w := newWorld(t)
	k, _, err := w.inst.Checks.CreateCheckRun(w.ctx, testOwner, testName, github.CreateCheckRunOptions{
		Name: "autocode", HeadSHA: w.head, Status: github.String("in_progress"), ExternalID: github.String("run/1/whole"),
		Output: &github.CheckRunOutput{Title: github.String("Proving"), Summary: github.String("…")},
	})
	w.must(err)
	if err := w.As("mary").PressButton(testRepo, k.GetID(), "retry"); err == nil {
		t.Error("a button of a running check run could be pressed")
	}
	for range 2 {
		k, _, err = w.inst.Checks.UpdateCheckRun(w.ctx, testOwner, testName, k.GetID(), github.UpdateCheckRunOptions{
			Name: "autocode", Conclusion: github.String("success"),
			Output: &github.CheckRunOutput{Title: github.String("Proved"), Summary: github.String("Green"), Annotations: []*github.CheckRunAnnotation{
				{Path: github.String("main.go"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("notice"), Message: github.String("m")},
			}},
		})
		w.must(err)
	}
	if k.GetStatus() != "completed" || k.GetExternalID() != "run/1/whole" || k.GetOutput().GetAnnotationsCount() != 2 || k.CompletedAt == nil {
		t.Errorf("check run %v: a conclusion completes, annotations add up, the external id stays", k)
	}
	own := w.CheckRuns(testRepo, w.head)
	if len(own) != 1 || own[0].Title != "Proved" || len(own[0].Annotations) != 2 {
		t.Errorf("inspected %+v", own)
	}
}

func TestCheckRunsOfAnotherApp(t *testing.T) {
	w := newWorld(t)
	name, conclusion := "build", "failure"
	id, err := w.OtherApp("ci").CreateCheckRun(testRepo, CheckRunInput{Name: &name, HeadSHA: w.head, Conclusion: &conclusion})
	w.must(err)
	_, _, err = w.inst.Checks.UpdateCheckRun(w.ctx, testOwner, testName, id, github.UpdateCheckRunOptions{Name: "build", Conclusion: github.String("success")})
	w.wantStatus(err, http.StatusForbidden)
	suites, _, err := w.inst.Checks.ListCheckSuitesForRef(w.ctx, testOwner, testName, "main", nil)
	w.must(err)
	if suites.GetTotal() != 1 || suites.CheckSuites[0].GetConclusion() != "failure" || suites.CheckSuites[0].GetApp().GetSlug() != "ci" {
		t.Errorf("suites %v", suites)
	}
}

func TestListCheckRunsFilters(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"unit", "unit", "lint"} {
		_, _, err := w.inst.Checks.CreateCheckRun(w.ctx, testOwner, testName, github.CreateCheckRunOptions{Name: name, HeadSHA: w.head, Conclusion: github.String("success")})
		w.must(err)
	}
	cases := []struct {
		name string
		o    *github.ListCheckRunsOptions
		want int
	}{
		{"latest by default", nil, 2},
		{"all", &github.ListCheckRunsOptions{Filter: github.String("all")}, 3},
		{"by name", &github.ListCheckRunsOptions{CheckName: github.String("lint")}, 1},
		{"by status", &github.ListCheckRunsOptions{Status: github.String("queued")}, 0},
		{"by App", &github.ListCheckRunsOptions{AppID: github.Int64(1)}, 0},
	}
	for _, c := range cases {
		got, _, err := w.inst.Checks.ListCheckRunsForRef(w.ctx, testOwner, testName, "main", c.o)
		w.must(err)
		if got.GetTotal() != c.want || len(got.CheckRuns) != c.want {
			t.Errorf("%s: %d check runs, want %d", c.name, got.GetTotal(), c.want)
		}
	}
}
