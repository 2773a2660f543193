package agent

// Config holds the agent's own bounds; the zero value of each means its default.
type Config struct {
	// MaxSteps bounds the replies of the coder in one round.
	MaxSteps int
	// PlannerBudget and CoderBudget are the tokens of packed code in a first message.
	PlannerBudget int
	CoderBudget   int
	// HistoryBudget is how many tokens the conversation after the first message may have before
	// old results are left out.
	HistoryBudget int
	// Commands lists the beginnings of commands that run_command may run, "go test" for example;
	// empty: any, since the sandbox is the boundary. With a list no shell is involved.
	Commands []string
}

// The defaults. A planner needs to recognise places, a coder to copy from them; 7k and 12k tokens
// hold most issues' files whole and keep a call under a few cents with a large model.
const (
	defaultMaxSteps      = 20
	defaultPlannerBudget = 7_000
	defaultCoderBudget   = 12_000
	defaultHistoryBudget = 16_000
)

func (c Config) withDefaults() Config {
	for _, f := range []struct {
		value    *int
		fallback int
	}{
		{&c.MaxSteps, defaultMaxSteps}, {&c.PlannerBudget, defaultPlannerBudget},
		{&c.CoderBudget, defaultCoderBudget}, {&c.HistoryBudget, defaultHistoryBudget},
	} {
		if *f.value <= 0 {
			*f.value = f.fallback
		}
	}
	return c
}
