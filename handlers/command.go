package handlers

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7a986423/autocode/loop"
)

// Verb is what a command asks for.
type Verb string

// The commands.
const (
	VerbRetry   Verb = "retry"
	VerbStop    Verb = "stop"
	VerbStatus  Verb = "status"
	VerbResume  Verb = "resume"
	VerbApprove Verb = "approve"
	VerbPlan    Verb = "plan"
	VerbBudget  Verb = "budget"
	VerbHelp    Verb = "help"
)

// verbs lists the commands with their help.
var verbs = []struct {
	verb Verb
	help string
}{
	{VerbRetry, "`/autocode retry [guidance]`: another run from where the pull request stands, with your guidance"},
	{VerbStop, "`/autocode stop`: end the run; the best state so far is pushed"},
	{VerbStatus, "`/autocode status`: where the run stands"},
	{VerbResume, "`/autocode resume`: go on with a run that stopped, was handed over or waits"},
	{VerbApprove, "`/autocode approve`: approve what waits for approval"},
	{VerbPlan, "`/autocode plan`: show the spec and the plan"},
	{VerbBudget, "`/autocode budget +2rounds`, `+10m`, `+$1`, `+50ktokens`: raise a limit of the run"},
	{VerbHelp, "`/autocode help`: this list"},
}

// Command is a command as a person wrote it.
type Command struct {
	Verb Verb
	// Rest is what stood behind the verb, the lines below it included.
	Rest string
	// Unknown is the word that is no command; Verb is help then.
	Unknown string
}

// commandLine matches the first line of a command: the slash form or a mention of the App.
var commandLine = regexp.MustCompile(`(?i)^(?:/autocode|@([a-z0-9-]+)(?:\[bot\])?)(?:[ \t:,]+(?:please[ \t,]+)?(\S+)(.*)|[ \t:,]*)$`)

// ParseCommand reads a comment. The command is its first non-blank line; quotes, code fences,
// indented code and HTML comments are no commands (security.md, case 17).
func ParseCommand(body, appSlug string) (Command, bool) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u00a0", " ", "\u3000", " ", "\u2009", " ", "\u202f", " ").Replace(body), "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		const codeIndent = 4 // spaces; more is a code block in Markdown
		if indent := len(line) - len(strings.TrimLeft(line, " ")); indent >= codeIndent || strings.HasPrefix(strings.TrimLeft(line, " "), "\t") {
			return Command{}, false
		}
		m := commandLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || m[1] != "" && !strings.EqualFold(m[1], appSlug) {
			return Command{}, false
		}
		rest := loop.Visible(strings.TrimSpace(strings.Join(append([]string{strings.TrimSpace(m[3])}, lines[i+1:]...), "\n")))
		word := strings.ToLower(strings.TrimRight(m[2], ".,;:!?"))
		if word == "" {
			return Command{Verb: VerbHelp}, true
		}
		for _, v := range verbs {
			if word == string(v.verb) {
				return Command{Verb: v.verb, Rest: rest}, true
			}
		}
		return Command{Verb: VerbHelp, Unknown: m[2]}, true
	}
	return Command{}, false
}

// isCommand says whether a comment is a command, hence no part of the conversation.
func isCommand(body, appSlug string) bool {
	_, is := ParseCommand(body, appSlug)
	return is
}

// helpText lists the commands; to an unknown one it says so in one line.
func helpText(unknown string) string {
	if unknown != "" {
		var names []string
		for _, v := range verbs {
			names = append(names, string(v.verb))
		}
		return fmt.Sprintf("I do not know %s; I understand %s. `/autocode help` tells more.", loop.Code(loop.Inline(unknown)), strings.Join(names, ", "))
	}
	var b strings.Builder
	b.WriteString("I understand:\n\n")
	for _, v := range verbs {
		fmt.Fprintf(&b, "- %s\n", v.help)
	}
	return b.String()
}

// budgetTerm matches one term of a budget command.
var budgetTerm = regexp.MustCompile(`(?i)^\+?(\$?)(\d+(?:\.\d+)?)(k?)(rounds?|m|min|minutes?|tokens?|calls?|usd|\$)?$`)

// Ceilings of what one budget command may add; more is a typing error.
const (
	mostRounds  = 20
	mostMinutes = 240
	mostUSD     = 100
	mostTokens  = 5_000_000
	mostCalls   = 500
)

// ParseBudget reads the rest of a budget command, like "+2rounds +10m +$1".
func ParseBudget(text string) (loop.Limits, error) {
	var more loop.Limits
	terms := strings.Fields(text)
	if len(terms) == 0 {
		return more, fmt.Errorf("say what to add: `+2rounds`, `+10m`, `+$1` or `+50ktokens`")
	}
	for _, term := range terms {
		m := budgetTerm.FindStringSubmatch(term)
		if m == nil {
			return loop.Limits{}, fmt.Errorf("%s is not like `+2rounds`, `+10m`, `+$1` or `+50ktokens`", loop.Code(term))
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil || n <= 0 || math.IsInf(n, 0) {
			return loop.Limits{}, fmt.Errorf("%s adds nothing", loop.Code(term))
		}
		if m[3] != "" {
			n *= 1000
		}
		unit := strings.ToLower(m[4])
		over := false
		switch {
		case m[1] == "$" || unit == "usd" || unit == "$":
			more.USD, over = more.USD+n, n > mostUSD
		case strings.HasPrefix(unit, "round"):
			more.Rounds, over = more.Rounds+int(n), n > mostRounds
		case strings.HasPrefix(unit, "m"):
			more.Wall, over = more.Wall+time.Duration(n*float64(time.Minute)), n > mostMinutes
		case strings.HasPrefix(unit, "token"):
			more.Tokens, over = more.Tokens+int(n), n > mostTokens
		case strings.HasPrefix(unit, "call"):
			more.ModelCalls, over = more.ModelCalls+int(n), n > mostCalls
		default:
			return loop.Limits{}, fmt.Errorf("%s lacks a unit: rounds, m, $ or tokens", loop.Code(term))
		}
		if over {
			return loop.Limits{}, fmt.Errorf("%s is more than one command may add", loop.Code(term))
		}
	}
	return more, nil
}
