package verify

import (
	"testing"

	"github.com/seed-7a986423/autocode/feedback"
	"github.com/seed-7a986423/autocode/loop"
)

// TestExcuseForeign: what another version of a linter finds is no fault of a commit that nothing is compared with.
func TestExcuseForeign(t *testing.T) {
	mypy := ran{job: job{stage: loop.StageTypes, args: []string{"mypy"}}, report: feedback.Report{Status: feedback.StatusFail}}
	own := ran{job: job{stage: loop.StageTypes, args: []string{"npm", "run", "lint"}}, report: feedback.Report{Status: feedback.StatusFail}}
	for _, c := range []struct {
		name string
		runs []ran
		base *loop.Outcome
		pass bool
	}{
		{"the machine's linter, no base", []ran{mypy}, nil, true},
		{"the machine's linter, against a base", []ran{mypy}, &loop.Outcome{}, false},
		{"the project's linter", []ran{own}, nil, false},
		{"both", []ran{mypy, own}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			stage := loop.Stage{Errors: []loop.Failure{{Message: "unused"}}}
			(&session{foreign: map[string]bool{"mypy": true}}).excuseForeign(&stage, c.runs, c.base)
			if stage.Pass != c.pass || stage.Pass != (stage.Reason != "") {
				t.Errorf("pass %v, reason %q", stage.Pass, stage.Reason)
			}
		})
	}
}
