package agent

import (
	"encoding/json"
	"strings"

	"github.com/seed-7a986423/autocode/loop"
)

// actionName names what a coder may do besides writing blocks.
type actionName string

// The actions. Edits are no action but blocks in the text of a reply.
const (
	actRead     actionName = "read_file"
	actSearch   actionName = "search_code"
	actList     actionName = "list_files"
	actRun      actionName = "run_command"
	actAsk      actionName = "ask_for_clarification"
	actApproval actionName = "require_human_approval"
	actGiveUp   actionName = "give_up"
	actFinal    actionName = "final_answer"
)

// maxActions bounds the actions of one reply.
const maxActions = 8

// actionNames lists the actions in the order in which models are told of them.
var actionNames = []actionName{actRead, actSearch, actList, actRun, actAsk, actApproval, actGiveUp, actFinal}

// arguments are those of all actions together.
type arguments struct {
	Path     string   `json:"path"`
	Start    int      `json:"start"`
	End      int      `json:"end"`
	Pattern  string   `json:"pattern"`
	Glob     string   `json:"glob"`
	Dir      string   `json:"dir"`
	Command  string   `json:"command"`
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
	Reason   string   `json:"reason"`
	Message  string   `json:"message"`
}

// tool describes an action; the properties after the required ones may be left out.
func tool(name actionName, description, required string, properties ...string) loop.Tool {
	var list []string
	for i := 0; i+1 < len(properties); i += 2 {
		list = append(list, `"`+properties[i]+`":`+properties[i+1])
	}
	quoted := ""
	if required != "" {
		quoted = `"` + strings.ReplaceAll(required, " ", `","`) + `"`
	}
	return loop.Tool{Name: string(name), Description: description, Parameters: json.RawMessage(
		`{"type":"object","properties":{` + strings.Join(list, ",") + `},"required":[` + quoted + `]}`)}
}

// tools are the same in every call, in the same order, so that prompts stay cached.
func tools() []loop.Tool {
	return []loop.Tool{
		tool(actRead, "Lines start to end of a file (from 1; at most 400), exact text.", "path", "path", text, "start", whole, "end", whole),
		tool(actSearch, "Lines that match a regular expression (RE2), as path:line: text. glob limits the paths.", "pattern", "pattern", text, "glob", text),
		tool(actList, "Files and directories of a directory; \"\" is the root.", "dir", "dir", text),
		tool(actRun, "Run a command in the sandbox, in the repository's root, without network, without git (there is no .git inside): a build, one test, a snippet that shows what the code does.", "command", "command", text),
		tool(actAsk, "Ask a person, only where two readings lead to different code.", "question", "question", text, "choices", listOf(text)),
		tool(actApproval, "Ask for a person's approval of something that is not yours to decide.", "reason", "reason", text),
		tool(actGiveUp, "End because it cannot be done; say what you found.", "reason", "reason", text),
		tool(actFinal, "End: nothing (more) has to change; say why.", "message", "message", text),
	}
}
