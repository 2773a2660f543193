package loop

import (
	"fmt"
	"time"
)

// Action is what the decision engine says to do, in the five words of the design.
type Action string

// The actions.
const (
	ActionContinue  Action = "continue"  // the next phase
	ActionRetry     Action = "retry"     // another round, the same way
	ActionAdjust    Action = "adjust"    // another round, another way (stronger model, rollback)
	ActionEscalate  Action = "escalate"  // a person must go on
	ActionTerminate Action = "terminate" // the run ends
	ActionWait      Action = "wait"      // for a person
)

// Strategy is how a round goes about its work; the coder's prompt is chosen by it.
type Strategy string

// The strategies.
const (
	StrategyImplement   Strategy = "implement"   // the first round: meet the spec
	StrategyFixCompile  Strategy = "fix-compile" // it does not build: nothing else matters
	StrategyFixTests    Strategy = "fix-tests"   // failing cases
	StrategyFixLint     Strategy = "fix-lint"    // findings of linters and type checkers
	StrategyRegression  Strategy = "regression"  // the last round broke what passed; it was undone
	StrategyRefused     Strategy = "refused"     // the last candidate was refused before verification
	StrategyGuard       Strategy = "guard"       // the guard blocked the last candidate
	StrategyReview      Strategy = "review"      // the critic's blocking findings
	StrategyProve       Strategy = "prove"       // green, but criteria are unproved: tests are missing
	StrategyCoverage    Strategy = "coverage"    // green, but changed lines are not covered
	StrategyTimeout     Strategy = "timeout"     // something does not end
	StrategyMemory      Strategy = "memory"      // something takes too much memory
	StrategyEnvironment Strategy = "environment" // the environment is rebuilt; the source is not touched
	StrategyFlaky       Strategy = "flaky"       // a test changes its colour by itself
	StrategyRethink     Strategy = "rethink"     // no progress: another approach, with the stronger model
	StrategyFollowUp    Strategy = "follow-up"   // a retry's guidance, a review or failing CI on the pull request
)

// Decision is the engine's next action with its reason.
type Decision struct {
	Action Action `json:"action"`
	Next   Phase  `json:"next"`
	// Rule is the name of the rule that decided; README's table lists them all.
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	// Strategy, Strong and Rollback are for a next round.
	Strategy Strategy `json:"strategy,omitempty"`
	Strong   bool     `json:"strong,omitempty"`
	// Rollback undoes the current round's commit before the next one begins.
	Rollback bool `json:"rollback,omitempty"`
	// Ending is the end that the run goes to by way of publishing its best state as a draft.
	Ending Phase     `json:"ending,omitempty"`
	From   Phase     `json:"from"`
	Round  int       `json:"round,omitempty"`
	At     time.Time `json:"at"`
}

// String is one line for logs and terminals.
func (d Decision) String() string {
	return fmt.Sprintf("%s → %s [%s] %s", d.From, d.Next, d.Rule, d.Reason)
}
