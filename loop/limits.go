package loop

import (
	"fmt"
	"time"
)

// Limits bound a run. A zero is not "unlimited" but "none": Check fails closed.
type Limits struct {
	Rounds     int           `json:"rounds"`
	Wall       time.Duration `json:"wall_ns"` // working time; waiting for a person does not count
	ModelCalls int           `json:"model_calls"`
	Tokens     int           `json:"tokens"` // prompt and completion together
	USD        float64       `json:"usd"`
	Files      int           `json:"files"` // changed files
	Lines      int           `json:"lines"` // added and removed lines
	// TaskUSD bounds all runs of a task, RepoDayUSD all runs of a repository in 24 hours;
	// TaskTokens and RepoDayTokens do the same for models that are declared free.
	TaskUSD       float64 `json:"task_usd"`
	TaskTokens    int     `json:"task_tokens"`
	RepoDayUSD    float64 `json:"repo_day_usd"`
	RepoDayTokens int     `json:"repo_day_tokens"`
}

// DefaultLimits let an ordinary task end; money and tokens are what a medium task of a
// large model costs at the end of 2026, times three.
func DefaultLimits() Limits {
	return Limits{
		Rounds: 5, Wall: 20 * time.Minute, ModelCalls: 60, Tokens: 600_000, USD: 3,
		Files: 20, Lines: 800,
		TaskUSD: 9, TaskTokens: 1_800_000, RepoDayUSD: 30, RepoDayTokens: 10_000_000,
	}
}

// Lower returns l with every limit that other sets (not zero) and that is smaller.
func (l Limits) Lower(other Limits) Limits {
	l.Rounds = lower(l.Rounds, other.Rounds)
	l.Wall = lower(l.Wall, other.Wall)
	l.ModelCalls = lower(l.ModelCalls, other.ModelCalls)
	l.Tokens = lower(l.Tokens, other.Tokens)
	l.USD = lower(l.USD, other.USD)
	l.Files = lower(l.Files, other.Files)
	l.Lines = lower(l.Lines, other.Lines)
	l.TaskUSD = lower(l.TaskUSD, other.TaskUSD)
	l.TaskTokens = lower(l.TaskTokens, other.TaskTokens)
	l.RepoDayUSD = lower(l.RepoDayUSD, other.RepoDayUSD)
	l.RepoDayTokens = lower(l.RepoDayTokens, other.RepoDayTokens)
	return l
}

func lower[N int | float64 | time.Duration](a, b N) N {
	if b > 0 && b < a {
		return b
	}
	return a
}

// Raise returns l with more added, as `/autocode budget` asks for.
func (l Limits) Raise(more Limits) Limits {
	l.Rounds += more.Rounds
	l.Wall += more.Wall
	l.ModelCalls += more.ModelCalls
	l.Tokens += more.Tokens
	l.USD += more.USD
	l.TaskUSD += more.USD
	l.TaskTokens += more.Tokens
	return l
}

// Spent is what a run, or several, used up.
type Spent struct {
	Rounds     int           `json:"rounds"`
	Wall       time.Duration `json:"wall_ns"`
	ModelCalls int           `json:"model_calls"`
	Tokens     int           `json:"tokens"`
	USD        float64       `json:"usd"`
}

// Add returns the sum.
func (s Spent) Add(u Usage) Spent {
	s.ModelCalls++
	s.Tokens += u.PromptTokens + u.CompletionTokens
	s.USD += u.USD
	return s
}

// LimitName names a limit in decisions, metrics and comments.
type LimitName string

// The limits.
const (
	LimitRounds        LimitName = "rounds"
	LimitWall          LimitName = "wall-time"
	LimitModelCalls    LimitName = "model-calls"
	LimitTokens        LimitName = "tokens"
	LimitUSD           LimitName = "usd"
	LimitTaskUSD       LimitName = "task-usd"
	LimitTaskTokens    LimitName = "task-tokens"
	LimitRepoDayUSD    LimitName = "repo-day-usd"
	LimitRepoDayTokens LimitName = "repo-day-tokens"
)

// LimitError says that a limit is reached. The step that asked was not begun.
type LimitError struct {
	Limit LimitName
	Used  string
	Of    string
}

// Error names the limit, what was used and what to do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit %s is used up (%s of %s); %s", e.Limit, e.Used, e.Of, e.Limit.remedy())
}

// remedy says what a person can do where a limit is used up.
func (n LimitName) remedy() string {
	raise := func(term string) string {
		return fmt.Sprintf("`/autocode budget %s` adds some, then `/autocode resume` goes on", term)
	}
	switch n {
	case LimitRounds:
		return raise("+2rounds")
	case LimitWall:
		return raise("+10m")
	case LimitModelCalls:
		return raise("+20calls")
	case LimitTokens, LimitTaskTokens:
		return raise("+100ktokens")
	case LimitUSD, LimitTaskUSD:
		return raise("+$1")
	case LimitRepoDayUSD, LimitRepoDayTokens:
		return "it counts the last 24 hours of all runs of the repository: `/autocode resume` goes on later, or the server's configuration allows more"
	}
	return "the server's configuration allows more"
}

// Spending is what limits are checked against: this run, all runs of its task (this one
// included), and all runs of its repository in the last 24 hours (this one included).
type Spending struct {
	Run     Spent
	Task    Spent
	RepoDay Spent
}

// plus is the spending after more was spent by the run.
func (s Spending) plus(more Spent) Spending {
	for _, part := range []*Spent{&s.Run, &s.Task, &s.RepoDay} {
		part.Wall += more.Wall
		part.ModelCalls += more.ModelCalls
		part.Tokens += more.Tokens
		part.USD += more.USD
	}
	return s
}

// Check returns a *LimitError when anything is used up, nil when one more step may begin.
// Rounds are not checked here but by Decide, which counts a round before it begins.
func (l Limits) Check(s Spending) error {
	over := func(name LimitName, reached bool, used, of any) error {
		if !reached {
			return nil
		}
		return &LimitError{Limit: name, Used: fmt.Sprint(used), Of: fmt.Sprint(of)}
	}
	for _, err := range []error{
		over(LimitWall, s.Run.Wall >= l.Wall, s.Run.Wall.Round(time.Second), l.Wall),
		over(LimitModelCalls, s.Run.ModelCalls >= l.ModelCalls, s.Run.ModelCalls, l.ModelCalls),
		over(LimitTokens, s.Run.Tokens >= l.Tokens, s.Run.Tokens, l.Tokens),
		over(LimitUSD, s.Run.USD >= l.USD, dollars(s.Run.USD), dollars(l.USD)),
		over(LimitTaskTokens, s.Task.Tokens >= l.TaskTokens, s.Task.Tokens, l.TaskTokens),
		over(LimitTaskUSD, s.Task.USD >= l.TaskUSD, dollars(s.Task.USD), dollars(l.TaskUSD)),
		over(LimitRepoDayTokens, s.RepoDay.Tokens >= l.RepoDayTokens, s.RepoDay.Tokens, l.RepoDayTokens),
		over(LimitRepoDayUSD, s.RepoDay.USD >= l.RepoDayUSD, dollars(s.RepoDay.USD), dollars(l.RepoDayUSD)),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func dollars(usd float64) string { return fmt.Sprintf("$%.2f", usd) }
